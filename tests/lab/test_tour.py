"""The tour of the index: what it prints is so."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

import tidegate as tg
from tidegate.engine.scan import ScanIndex
from tidegate.lab import tour
from tidegate.lab.workloads.trade import trade


def said() -> str:
    out = Console(file=io.StringIO(), width=120, highlight=False, soft_wrap=True)
    tour.tour(out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


@pytest.mark.slow
def test_it_prints_what_a_slow_index_finds() -> None:
    workload = trade(tour.RULES, seed=1)
    slow = ScanIndex(workload.schema)
    slow.add_many(workload.table())
    [event] = workload.events(1).to_pylist()
    wanting = sorted(map(str, slow.match(event)))
    printed = said()
    assert str(event) in printed
    assert f"{len(wanting)} rules want it; a scan of all {tour.RULES:,} finds the same" in printed
    assert f"{wanting[0]} no longer wants the event" in printed


def test_it_prints_how_all_rules_are_kept() -> None:
    lines = said().splitlines()
    [head] = [i for i, line in enumerate(lines) if line.split()[:1] == ["structure"]]
    table = lines[head + 1 : lines.index("", head)]
    table = [line for line in table if not line.strip().startswith("remembered besides")]
    counts = [int(re.split(r"  +", line.strip())[1].replace(",", "")) for line in table]
    assert sum(counts) == tour.RULES
    assert any("ranges, by key (symbol)" in line for line in table)


def test_it_admits_a_lost_match(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tg.Index.match

    def losing(index: tg.Index, event: Any) -> Any:
        return whole(index, event)[1:]

    monkeypatch.setattr(tg.Index, "match", losing)
    assert "finds OTHERS" in said()

"""The benchmark of pruning, too small for figures that mean anything."""

import gc
import json

import pytest

from bench import pruning
from tidegate.lab.workloads.auctions import auctions
from tidegate.overlay.filter import Event
from tidegate.overlay.policy.sources import Source
from tidegate.overlay.table import Table


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # a tenth of a second for each figure
    sizes = {"SUBSCRIPTIONS": 150, "EVENTS": 100, "LEARNED": 200, "TIMED": 2, "LINE": 40}
    for name, size in (
        sizes | {"SENT": 60, "OTHERS": 50, "FEW": 30, "SAMPLE": 50, "STEPS": 20}
    ).items():
        monkeypatch.setattr(pruning, name, size)
    monkeypatch.setattr(pruning, "TOLD", range(0, 21, 10))
    monkeypatch.setattr(pruning, "SHARES", (0.0, 1.0))


@pytest.mark.slow
def test_every_figure_is_measured() -> None:
    found = {figure.name: figure for figure in pruning.run()}
    assert all(json.loads(json.dumps(figure.as_dict())) for figure in found.values())
    for name in ("class 1", "class 2", "class 3", "classes 1-3"):
        for where in ("one broker", "a line of five"):
            cut = found.get(f"pruning, {name}: event in {where}, the cut-off")
            assert cut is not None
            assert "paper:" in cut.note
        whole = found[f"pruning, {name}: event in a line of five, 100% pruned"]
        assert "100% of the relief" in whole.note
        assert found[f"pruning, {name}: cut-off, in hundredths of all prunings"].ours <= 100
    for name in pruning.POLICIES:
        assert f"pruning, policies: {name}, bytes in tables" in found


def test_a_network_that_loses_events_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Table.match

    def match(table: Table, event: Event) -> list[Source]:
        found = whole(table, event)
        return found[1:] if table.pruned is not None and table.pruned.pruned else found

    monkeypatch.setattr(Table, "match", match)
    with pytest.raises(AssertionError):
        list(pruning.five_brokers("class 3", auctions(200, classes=[3])))

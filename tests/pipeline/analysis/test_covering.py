"""Filters are compared by their pieces: what is found is true, and little is asked."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

import tidegate as tg
from tests.engine.boxes.box_oracle import SCHEMAS, some_filter
from tests.pipeline.analysis.redundancy_oracle import all_pairs
from tidegate.algebra.normal import boxes
from tidegate.algebra.relate import covers, subsumed
from tidegate.lab.workloads import mixed
from tidegate.pipeline.analysis import covering, subsumption
from tidegate.pipeline.analysis.cells import Cells
from tidegate.pipeline.analysis.meanings import meaning, read
from tidegate.pipeline.analysis.pieces import of_boxes, pieces
from tidegate.pipeline.analysis.redundancy import examine
from tidegate.pipeline.analysis.scouts import Scouts


def rules(count: int, seed: int = 1) -> list[tg.Filter]:
    """Different rules of many people."""
    found: dict[bytes, tg.Filter] = {}
    for table in mixed.rules(count, seed):
        for row in table.to_pylist():
            f = tg.parse(row["filter"], mixed.SCHEMA)
            if f.parameters:
                f = f.bind(**{name: row[name] for name in f.parameters})
            if boxes(f) and f.form is not True:
                found.setdefault(meaning(f.form), f)
    return list(found.values())


def names(filters: Sequence[Any]) -> list[str]:
    return [f"{i:04}" for i in range(len(filters))]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
def test_the_pieces_of_a_filter_are_the_filter(schema: tg.Schema | None) -> None:
    rng = Random(3)
    several = 0
    for _ in range(300):
        f = some_filter(rng, schema)
        own = pieces(f) if boxes(f) else None
        if own is None:
            continue
        several += len(own) > 1
        union = of_boxes(tuple(own), schema)
        assert covers(f, union)
        assert covers(union, f)
    assert several > 20


def test_the_rules_of_many_people_are_what_all_pairs_say() -> None:
    filters = rules(160)
    found = examine(names(filters), filters, Cells(mixed.SCHEMA), 0).findings
    truths = all_pairs(names(filters), filters)
    for finding, truth in zip(found, truths, strict=True):
        assert (finding.coverer in truth.coverers) == bool(truth.coverers)
        assert finding.subsumed is (truth.subsumed and not truth.coverers)
    assert sum(bool(truth.coverers) for truth in truths) > 15


def test_the_algebra_is_asked_about_few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"covers": 0, "subsumed": 0}

    def counting(name: str, ask: Any) -> Any:
        def counted(*arguments: Any) -> bool:
            asked[name] += 1
            return bool(ask(*arguments))

        return counted

    monkeypatch.setattr(covering, "covers", counting("covers", covers))
    monkeypatch.setattr(subsumption, "subsumed", counting("subsumed", subsumed))
    filters = rules(1_500)
    examine(names(filters), filters, Cells(mixed.SCHEMA), 0)
    assert asked["covers"] < len(filters)
    assert asked["subsumed"] < len(filters)


def test_filters_on_few_of_many_attributes_are_not_copied_into_many_cells() -> None:
    filters = rules(1_500)
    cells = Cells.grown(filters, len(filters), 100, mixed.SCHEMA)
    copies = sum(len(cells.touched(boxes(f) or ())) for f in filters)
    assert copies < 1.5 * len(filters)


def test_without_room_less_is_found_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    filters = rules(400)
    whole = examine(names(filters), filters, Cells(mixed.SCHEMA), 0).findings
    assert all(finding.compared for finding in whole)
    monkeypatch.setattr(covering, "ROOM", 150)
    found = examine(names(filters), filters, Cells(mixed.SCHEMA), 0).findings
    assert 0 < sum(not finding.compared for finding in found) < len(filters)
    for finding, all_of_it, f in zip(found, whole, filters, strict=True):
        if finding.coverer is not None:
            assert covers(filters[int(finding.coverer)], f)
        assert all_of_it.coverer or finding.coverer is None
        assert all_of_it.subsumed or all_of_it.coverer or not finding.subsumed


@pytest.mark.slow
def test_scouts_cover_what_they_say_and_most_of_it() -> None:
    sample = {meaning(f.form): f for f in rules(2_000)}
    scouts, left = Scouts.found(sample, mixed.SCHEMA)
    assert len(scouts) > 10
    assert left.keys() < sample.keys()
    fresh = rules(500, seed=2)
    found = scouts.coverers(fresh)
    for f, scout in zip(fresh, found, strict=True):
        if scout is not None:
            assert covers(sample[scout], f)
            assert not covers(f, sample[scout])
    assert sum(scout is not None for scout in found) > 0.3 * len(fresh)
    itself = scouts.coverers([sample[scout] for scout, _ in scouts.boxes])
    assert all(by != scout for by, (scout, _) in zip(itself, scouts.boxes, strict=True))


def test_there_are_no_scouts_where_little_is_covered() -> None:
    alone = {bytes([i]): read(f"x = {i}", None, None) for i in range(100)}
    scouts, left = Scouts.found(alone, None)
    assert len(scouts) == 0
    assert left.keys() == alone.keys()
    assert scouts.coverers(list(alone.values())) == [None] * 100

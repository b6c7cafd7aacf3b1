"""Filters compared cell by cell are found to be what comparing all pairs finds."""

import os
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.engine.boxes.box_oracle import SCHEMAS, some_event, some_filter
from tests.families import mixed_event, mixed_filter
from tests.generate import TYPES
from tests.generate import events as generated_events
from tests.pipeline.analysis.redundancy_oracle import all_pairs, whole_language
from tidegate.algebra.normal import boxes
from tidegate.algebra.union import has_texts
from tidegate.filters.expression import predicates
from tidegate.pipeline.analysis import cells as cutting
from tidegate.pipeline.analysis import subsumption
from tidegate.pipeline.analysis.cells import Cells, Cut
from tidegate.pipeline.analysis.redundancy import Finding, examine

EXAMPLES = 200 if os.environ.get("TIDEGATE_LONG") == "1" else 15
EVERY_TYPE = tg.Schema(dict(TYPES))


def cell_by_cell(names: Sequence[str], filters: Sequence[tg.Filter], cells: Cells) -> list[Finding]:
    """The findings of all cells, put together."""
    inside: dict[int, list[int]] = {}
    for i, f in enumerate(filters):
        for cell in cells.touched(boxes(f) or ()):
            inside.setdefault(cell, []).append(i)
    found: list[list[Finding]] = [[] for _ in names]
    for cell, own in inside.items():
        here = examine([names[i] for i in own], [filters[i] for i in own], cells, cell)
        for i, finding in zip(own, here.findings, strict=True):
            found[i].append(finding)
    return [
        Finding(
            next((each.coverer for each in own if each.coverer is not None), None),
            min((each.same for each in own if each.same is not None), default=None),
            all(each.subsumed for each in own),
            own[0].by if len(own) == 1 else (),
        )
        for own in found
    ]


def assert_true(
    names: Sequence[str],
    filters: Sequence[tg.Filter],
    found: Sequence[Finding],
    events: Sequence[dict[str, Any]],
) -> None:
    """What was found is what all pairs say.

    Cells may know more: where a cut leaves a text of which a condition can be tried, the question
    is decided. Then no event may say otherwise.
    """
    truths = all_pairs(names, filters)
    for i, (name, finding, truth) in enumerate(zip(names, found, truths, strict=True)):
        if truth.coverers:
            assert finding.coverer in truth.coverers, name
        else:
            assert finding.coverer is None, name
            assert finding.subsumed or not truth.subsumed or finding.same, name
        first = min(truth.equal, default=name)
        assert finding.same == (first if first < name else None), name
        if finding.subsumed and not truth.subsumed:
            assert any(has_texts(box) for f in filters for box in boxes(f) or ())
            others = [f for j, f in enumerate(filters) if j != i and names[j] not in truth.equal]
            for event in events:
                if filters[i].matches(event):
                    assert any(f.matches(event) for f in others), (name, event)


def distinct(filters: Sequence[tg.Filter]) -> list[tg.Filter]:
    return [f for f in dict.fromkeys(filters) if boxes(f) and f.form is not True]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=list(SCHEMAS))
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32), size=st.sampled_from((3, 8, 1000)))
def test_cells_find_what_all_pairs_find(schema: tg.Schema | None, seed: int, size: int) -> None:
    rng = Random(seed)
    filters = distinct([some_filter(rng, schema) for _ in range(rng.choice((5, 15, 30)))])
    names = [f"{i:03}" for i in range(len(filters))]
    cells = Cells.grown(filters, len(filters), size, schema)
    events = [some_event(rng) for _ in range(200)]
    assert_true(names, filters, cell_by_cell(names, filters, cells), events)


def test_a_filter_lies_in_no_cell_where_no_event_can_be() -> None:
    """Below 'b' there are texts, below 5 numbers; what has no limit on y would lie in both."""
    cells = Cells(None)
    (text,), (number,) = (
        [Cut.at(p, None) for p in predicates(tg.parse(f).tree)] for f in ("y < 'b'", "y < 5")
    )
    below, above = cells._split(0, text)
    nowhere, rest = cells._split(below, number)
    free = tg.parse("x = 1")
    assert cells.touched(boxes(free) or ()) == [above, rest]
    assert nowhere not in cells.touched(boxes(tg.parse("y IS NOT NULL")) or ())
    assert len(cells) == 2
    assert not tg.overlaps(cells.clipped(free, above), cells.clipped(free, rest))


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32), size=st.sampled_from((3, 8, 1000)))
def test_all_families_may_meet_on_one_attribute(seed: int, size: int) -> None:
    rng = Random(seed)
    filters = distinct([mixed_filter(rng) for _ in range(rng.choice((5, 15, 30)))])
    names = [f"{i:03}" for i in range(len(filters))]
    cells = Cells.grown(filters, len(filters), size, None)
    events = [mixed_event(rng) for _ in range(200)]
    assert_true(names, filters, cell_by_cell(names, filters, cells), events)


@pytest.mark.slow
@pytest.mark.parametrize("schema", [None, EVERY_TYPE], ids=("untyped", "typed"))
def test_the_whole_language_is_compared(
    schema: tg.Schema | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "_LARGER_PART", 1.0)  # cut where it helps little, as few would
    monkeypatch.setattr(cutting, "_PAIRS", 2.0)
    monkeypatch.setattr(cutting, "_COPIES", 20.0)
    monkeypatch.setattr(subsumption, "_PIECES", 20_000)
    monkeypatch.setattr(subsumption, "_OTHERS_TAKEN_AWAY", 1_000)
    filters = whole_language(Random(7), 45, schema)
    names = [f"{i:03}" for i in range(len(filters))]
    cells = Cells.grown(filters, len(filters), 8, schema)
    assert len(cells) > 3
    events = [mixed_event(Random(i)) | e for i, e in enumerate(generated_events(Random(8), 500))]
    assert_true(names, filters, cell_by_cell(names, filters, cells), events)

"""Of wide zones, an event leaves the entries that meet all their conditions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.kernel_fuzz import Case, small_sizes
from tidegate.engine.index import Index
from tidegate.engine.partition.arrays import NO_ROW, Entries
from tidegate.engine.segments.segment import Segment
from tidegate.engine.single import single_events, wide_zones
from tidegate.filters.schema import Schema


def left_and_expected(segment: Segment, event: dict[str, Any]) -> list[tuple[int, int, int]]:
    """The words of all wide zones: checkpoints and flips, conditions one by one, and all bits."""
    schema = segment.table.conditions.schema
    places = {
        name: single_events.place_of(event, name, schema, single_events.own_line(name, schema))
        for name in segment.attributes
    }
    rows = segment.single._rows
    truth, axes, ranks = rows.truth(places)
    assert not truth[-1]
    found = []
    for partition, zones in rows.partitions:
        if zones is None:
            continue
        left = single_events._left(zones, axes, ranks).tolist()
        assert not any(left[len(zones.zones) :])
        for place, zone in enumerate(zones.zones.tolist()):
            expected, everything = _looked_up(partition.entries, zone, truth.tolist())
            assert int(zones.entries[place]) == everything
            assert zones.heads[zone] == len(truth) - 1
            found.append((left[place], expected, everything))
    return found


def _looked_up(entries: Entries, zone: int, truth: list[int]) -> tuple[int, int]:
    head = int(entries.zone_head[zone])
    first, last = entries.zone_entry[zone : zone + 2].tolist()
    held = 0
    for entry in range(first, last):
        refs = entries.refs[entries.ref_start[entry] : entries.ref_start[entry + 1]].tolist()
        refs += [] if head == NO_ROW else [head]
        held |= all(truth[ref] for ref in refs) << (entry - first)
    return held, (1 << (last - first)) - 1


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_what_is_left_is_what_meets_all_conditions(seed: int) -> None:
    with small_sizes():
        case = Case(seed, blocks=3)
        segment = case.compiled()
        for event in case.events(40):
            for left, expected, _ in left_and_expected(segment, event):
                assert left == expected


def conjunctions(count: int) -> Index:
    """Ranges on three attributes, equalities on two of them, and now and then a text."""
    index = Index(Schema({"a": "bigint", "b": "double", "c": "bigint", "d": "string"}))
    rng = np.random.default_rng(count)
    for id, (low, high, other) in enumerate(rng.integers(0, 100, (count, 3)).tolist()):
        if id % 5 == 0:
            index.add(id, f"a = {low} AND b > {other}")
        elif id % 7 == 0:
            index.add(id, f"a < {high} AND d LIKE '%{other % 10}%'")
        elif id % 3 == 0:
            index.add(id, f"a NOT BETWEEN {min(low, high)} AND {max(low, high)} AND b >= {other}")
        elif id % 3 == 1:
            index.add(id, f"(c IS NULL OR c <= {other}) AND a > {low}")
        else:
            index.add(id, f"b < {low} AND c > {other} AND a <> {high} AND d IS NOT NULL")
    index.flush()
    return index


@pytest.mark.parametrize("count", [300, 3_000])
def test_checkpoints_and_flips_add_up(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough entries for many checkpoints on each axis, and events on, before and after them."""
    monkeypatch.setattr(wide_zones, "_ENTRIES_WORTH_BIT_MAPS", 4)
    index = conjunctions(count)
    (live,) = index._content.lives
    rng = np.random.default_rng(1)
    seen = 0
    for a, b, c in [(-1, -1, -1), (1000, 1000, 1000), *rng.integers(-1, 101, (60, 3)).tolist()]:
        for event in ({"a": a, "b": b + 0.5, "c": c, "d": f"{a}"}, {"a": a, "b": float(b)}):
            words = left_and_expected(live.segment, event)
            assert [left for left, _, _ in words] == [expected for _, expected, _ in words]
            seen += sum(0 < left < everything for left, _, everything in words)
            assert sorted(index.match(event)) == sorted(
                index.match_batch([event])["subscription"].to_pylist()
            )
    assert seen > 100
    partitions = [zones for _, zones in live.segment.single._rows.partitions if zones]
    assert any(0 < len(zones.zones) < len(zones.heads) for zones in partitions)
    checkpoints = [np.diff(zones.ladder.bit_start) // len(zones.entries) for zones in partitions]
    assert max(each.max() for each in checkpoints) > (3 if count > 1_000 else 1)


def test_few_entries_have_no_wide_zones() -> None:
    index = conjunctions(300)
    index.match({"a": 1, "b": 1.0})
    (live,) = index._content.lives
    assert [zones for _, zones in live.segment.single._rows.partitions if zones] == []

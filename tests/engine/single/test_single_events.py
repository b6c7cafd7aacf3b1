"""One event meets what a batch of one meets, and the kernels write only where there is room."""

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tidegate as tg
from tests.engine.kernel_fuzz import Case, pairs, small_sizes
from tidegate.engine.index import Index
from tidegate.engine.primitives.integer_arrays import ZONE
from tidegate.engine.segments.segment import Segment
from tidegate.engine.single import single_events, single_kernels
from tidegate.engine.sweep import sweep_kernels

GUARD = -77
GAP = 80  # more than a kernel writes at once


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_one_event_meets_what_it_meets_in_a_batch(seed: int) -> None:
    with small_sizes():
        case = Case(seed, blocks=3)
        index = Index(case.schema)
        case.add_to(index)
        for removed in (False, True):
            if removed:
                there = [id for id in range(case.size) if id in index]
                index.remove_many(case.rng.sample(there, len(there) // 3))
            mixed, table = case.events(70), case.table(70)
            for events, batch in ((mixed, mixed), (table.to_pylist(), table)):
                alone = [index.match(event) for event in events]
                found = [(row, id) for row, ids in enumerate(alone) for id in ids]
                assert sorted(found) == pairs(index.match_batch(batch))
                assert [len(ids) for ids in alone] == index.count_batch(batch).tolist()


@pytest.mark.parametrize("schema", [None, "boolean", "bigint", "int", "double", "string", "date"])
def test_plain_values_lie_where_all_values_lie(schema: str | None) -> None:
    """The short ways to a value's place lead where the long one does."""
    own = None if schema is None else tg.Schema({"x": schema})
    values: list[Any] = [
        *(None, True, False, 0, -1, 2**31, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**38),
        *(0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 5e-324, np.float32(0.1), np.int8(5)),
        *("", "a", "é", "\ud800", "a\ud800", Decimal("1.5"), Decimal("NaN"), dt.date(2024, 2, 29)),
        *(dt.datetime(2024, 2, 29), b"bytes", [1], {"y": 1}, Level(3), Name("a")),
    ]
    for value in values:
        short = single_events.place_of({"x": value}, "x", own, single_events.own_line("x", own))
        long = single_events.place_of({"y": {"x": value}}, "y.x", _nested(schema), None)
        assert repr(short) == repr(long)


class Level(int):
    """An integer of a type of its own."""


class Name(str):
    """A string of a type of its own."""


def _nested(schema: str | None) -> tg.Schema | None:
    return None if schema is None else tg.Schema({"y.x": schema})


def guarded(monkeypatch: pytest.MonkeyPatch, segment: Segment, event: dict[str, Any]) -> list[int]:
    """The codes that an event meets; every kernel has the room it is promised, and no more."""

    def within(kernel: Callable[..., int]) -> Callable[..., int]:
        def call(*given: Any) -> int:
            out = given[-1]
            room = min(len(out), len(segment) + ZONE)
            guards = np.full(room + 2 * GAP, GUARD, np.int32)
            count = kernel(*given[:-1], guards[GAP : GAP + room])
            assert (guards[:GAP] == GUARD).all()
            assert (guards[GAP + room :] == GUARD).all()
            out[:count] = guards[GAP : GAP + count]
            return count

        return call

    with monkeypatch.context() as patched:
        patched.setattr(single_kernels, "meet", within(single_kernels.meet))
        patched.setattr(sweep_kernels, "meet", within(sweep_kernels.meet))
        codes: list[int] = segment.single.match(event, np.empty(0, np.uint64), {}).tolist()
    return codes


@pytest.mark.parametrize("seed", range(1, 9))
def test_codes_are_written_with_a_zone_more_to_spare(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_sizes():
        case = Case(seed, blocks=3)
        segment = case.compiled()
        index = Index(case.schema)
        case.add_to(index)
    ids = segment.ids.to_pylist()
    for event in case.events(60):
        codes = guarded(monkeypatch, segment, event)
        assert sorted(ids[code] for code in codes) == sorted(index.match(event))


def test_conditions_hold_on_the_axes_an_event_has() -> None:
    """Two axes: conditions 1 and 3 on the first, 3 and 4 on the second; 0, 2 and 5 on none."""
    pieces: tuple[NDArray[Any], ...] = (
        np.array([0, 2, 4], np.int64),
        np.array([1, 3, 3, 4], np.uint32),
        np.array([0, 2, 1, 0], np.uint32),
        np.array([1, 3, 2, 2], np.uint32),
    )

    def held(axes: list[int], ranks: list[int]) -> list[int]:
        truth = np.zeros(8, np.uint8)
        truth[[0, 7]] = GUARD % 256
        single_kernels.hold(  # type: ignore[call-arg]
            np.array(axes, np.int64), np.array(ranks, np.int64), *pieces, truth[1:7]
        )
        assert truth[[0, 7]].tolist() == [GUARD % 256] * 2
        return np.flatnonzero(truth[1:7]).tolist()

    assert held([], []) == []
    assert held([0], [0]) == [1]
    assert held([0], [1]) == []
    assert held([0], [2]) == [3]
    assert held([0], [3]) == []
    assert held([1], [1]) == [3, 4]
    assert held([0, 1], [0, 0]) == [1, 4]
    assert held([1, 0], [2, 2]) == [3]


def test_nobody_is_met_where_nobody_is() -> None:
    index = Index()
    assert list(index.match({"x": 1})) == []
    index.add(1, "x = 1 AND x = 2")
    index.flush()
    assert list(index.match({"x": 1})) == []
    assert list(index.match({})) == []

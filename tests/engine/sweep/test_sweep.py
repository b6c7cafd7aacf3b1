"""Sweeps find what a comparison with every range finds, and write only where there is room."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import tidegate as tg
from tests.engine.kernel_fuzz import Case, small_sizes
from tidegate.engine.conditions.key_table import NO_GROUP
from tidegate.engine.index import Index
from tidegate.engine.primitives.integer_arrays import ZONE
from tidegate.engine.sweep import sweep_kernels as kernels
from tidegate.engine.sweep.sweep import Sweep

GUARD = -77
GAP = 80  # more than a kernel writes at once
ALL_ALIVE = np.empty(0, np.uint64)
FORMS = ("k = :k", "k = :k AND x >= :a", "x <= :b AND k = :k AND y > :a", "k = :k AND y < :b")
COUNT: Any = kernels.count
WRITE: Any = kernels.write
Parts = list[tuple[kernels.Spans, kernels.SweptEvents]]


NAMES = ("a", "b", "", "é", "ab", "\0", "😀", "z")


class Swept:
    """The sweeps of a segment, a batch, and which codes each event meets by comparing."""

    def __init__(self, seed: int, form: str, size: int) -> None:
        rng = Random(seed)
        case = Case(seed, blocks=0)
        case.schema = tg.Schema({"k": "string", "x": "bigint", "y": "double"}) if seed % 2 else None
        rows = rng.choice((32, 63, 64, 65, 300))
        again = rng.choice((1, 3))  # subscribers of each filter, at least
        names = [rng.choice(NAMES) for _ in range(rows)]
        low = [rng.randint(-5, 40) for _ in range(rows)]
        high = [start + rng.randint(-1, 30) for start in low]
        columns: dict[str, list[Any]] = {"k": names * again}
        if ":a" in form:
            columns["a"] = low * again
        if ":b" in form:
            columns["b"] = high * again
        table = pa.table({"id": range(rows * again), **columns})
        case.blocks = [(form, table)]
        with small_sizes():
            self.segment = case.compiled()
        self.sweeps = self.segment.sweeps
        assert self.sweeps
        events: dict[str, list[Any]] = {
            "k": [rng.choice((*NAMES[:7], "nobody", None)) for _ in range(size)],
            "x": [rng.choice((None, rng.randint(-9, 80))) for _ in range(size)],
            "y": [rng.choice((None, rng.randint(-9, 80) / 2)) for _ in range(size)],
        }
        kinds = {"k": pa.string(), "x": pa.int64(), "y": pa.float64()}
        self.table = pa.table({name: pa.array(events[name], kinds[name]) for name in kinds})
        encoded = case.encoded(self.table)
        self.parts: list[Parts] = [list(sweep.events(encoded)) for sweep in self.sweeps]
        ids = self.segment.ids.to_pylist()
        self.wanted = []
        for k, x, y in zip(*events.values(), strict=True):
            held = {
                id
                for id in range(rows * again)
                if k == names[id % rows]
                and ("x >=" not in form or (x is not None and x >= low[id % rows]))
                and ("x <=" not in form or (x is not None and x <= high[id % rows]))
                and ("y >" not in form or (y is not None and y > low[id % rows]))
                and ("y <" not in form or (y is not None and y < high[id % rows]))
            }
            self.wanted.append({code for code, id in enumerate(ids) if id in held})


def bits(codes: set[int], size: int) -> NDArray[np.uint64]:
    """A bit map in which these codes are alive."""
    found = np.zeros(size // 64 + 1, np.uint64)
    for code in codes:
        found[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    return found


def arguments(sweep: Sweep, part: tuple[kernels.Spans, kernels.SweptEvents], alive: Any) -> Any:
    """What the kernels are given of a sweep, as far as it is not empty."""
    code_start, living = (each if len(each) else None for each in (sweep.code_start, alive))
    spans, events = part
    axes = kernels.axes(spans, events)
    groups = (sweep.group_start, sweep.zone_start, code_start)
    return (*groups, spans, *axes, events, living, sweep.first_code)


def written(
    sweep: Sweep, part: tuple[kernels.Spans, kernels.SweptEvents], alive: Any, start: int, room: int
) -> tuple[int, list[tuple[int, int]]]:
    """Up to which event there was room, and the pairs; nothing is written outside of it."""
    rows, codes = (np.full(room + 2 * GAP, GUARD, np.int32) for _ in range(2))
    here = slice(GAP, GAP + room)
    stop, count = WRITE(*arguments(sweep, part, alive), start, rows[here], codes[here])
    assert count <= room
    for array in (rows, codes):
        assert (array[:GAP] == GUARD).all()
        assert (array[GAP + room :] == GUARD).all()
    pairs = zip(rows[here][:count].tolist(), codes[here][:count].tolist(), strict=True)
    return stop, list(pairs)


def codes_of(sweep: Sweep) -> set[int]:
    return set(range(sweep.first_code, sweep.first_code + sweep.codes))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(1, 7))
def test_sweeps_find_what_comparing_finds(seed: int, form: str) -> None:
    for size in (1, 63, 64, 65, 300):
        swept = Swept(seed, form, size)
        living = set(Random(seed).sample(range(len(swept.segment)), len(swept.segment) // 2))
        for sweep, parts in zip(swept.sweeps, swept.parts, strict=True):
            for alive in (ALL_ALIVE, bits(living, len(swept.segment))):
                kept = codes_of(sweep) & living if len(alive) else codes_of(sweep)
                expected = {
                    (row, code) for row, codes in enumerate(swept.wanted) for code in codes & kept
                }
                counts, found = np.zeros(size, np.int64), []
                for spans, events in parts:
                    COUNT(*arguments(sweep, (spans, events), alive), counts)
                    room = size * sweep.codes + ZONE
                    stop, pairs = written(sweep, (spans, events), alive, 0, room)
                    assert stop == len(events.row)
                    found += pairs
                assert len(found) == len(expected)
                assert set(found) == expected
                assert counts.tolist() == [len(codes & kept) for codes in swept.wanted]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("room", [0, 1, 63, 64, 65, 127, 128, 500])
def test_pairs_are_written_as_far_as_there_is_room(seed: int, form: str, room: int) -> None:
    swept = Swept(seed, form, 65)
    for sweep, parts in zip(swept.sweeps, swept.parts, strict=True):
        wanted = [codes & codes_of(sweep) for codes in swept.wanted]
        for part in parts:
            rows = part[1].row.tolist()
            start = 0
            while start < len(rows):
                stop, pairs = written(sweep, part, ALL_ALIVE, start, room)
                expected = {(row, code) for row in rows[start:stop] for code in wanted[row]}
                assert len(pairs) == len(expected)
                assert set(pairs) == expected
                if stop == start:  # not even one event's: it is asked for with more room
                    most = max(len(wanted[rows[start]]), np.diff(sweep.group_start).max())
                    assert most + ZONE > room
                    stop += 1
                start = stop


@pytest.mark.parametrize("form", FORMS)
def test_no_events_meet_nothing(form: str) -> None:
    nothing = np.empty(0, np.int32)
    none = kernels.SweptEvents(nothing, nothing, nothing, nothing)
    for sweep in Swept(1, form, 1).sweeps:
        own = sweep.range_lines.own
        assert own is not None
        given = arguments(sweep, (sweep.spans(own), none), ALL_ALIVE)
        COUNT(*given, np.empty(0, np.int64))
        assert written(sweep, (sweep.spans(own), none), ALL_ALIVE, 0, 0) == (0, [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_single_events_are_written_with_a_zone_more_to_spare(seed: int, form: str) -> None:
    swept = Swept(seed, form, 65)
    living = set(range(0, len(swept.segment), 2))
    for alive in (ALL_ALIVE, bits(living, len(swept.segment))):
        for sweep, parts in zip(swept.sweeps, swept.parts, strict=True):
            kept = codes_of(sweep) & living if len(alive) else codes_of(sweep)
            for spans, events in parts:
                for place, row in enumerate(events.row.tolist()):
                    if events.group[place] == NO_GROUP:
                        assert not swept.wanted[row] & kept
                        continue
                    codes = met(sweep, spans, events, place, alive)
                    assert len(codes) == len(set(codes))
                    assert set(codes) == swept.wanted[row] & kept


def met(
    sweep: Sweep, spans: kernels.Spans, events: kernels.SweptEvents, place: int, alive: Any
) -> list[int]:
    """The codes that one event meets; nothing is written outside of the room that there is."""
    size, room = len(events.row), sweep.codes + ZONE
    out = np.full(room + 2 * GAP, GUARD, np.int32)
    least, most = events.least[place::size].copy(), events.most[place::size].copy()
    count = kernels.meet(
        sweep.group_start, sweep.zone_start, sweep.code_start, *spans[:4], sweep.first_code, least,
        most, alive, int(events.group[place]), out[GAP : GAP + room],
    )  # fmt: skip
    assert (out[:GAP] == GUARD).all()
    assert (out[GAP + room :] == GUARD).all()
    codes: list[int] = out[GAP : GAP + count].tolist()
    return codes


def test_an_event_may_meet_more_than_was_expected() -> None:
    """Room for pairs is guessed from the events before, and more is found if need be."""
    count = 40_000
    table = pa.table({"id": range(count), "k": ["a", "b"] * (count // 2), "x": range(count)})
    index = Index()
    index.add_many(table, filter="k = :k AND x >= :x")
    assert any(each.name == "ranges, by key (k)" for each in index.describe().structures)
    for largest in (10, 10, count, 10, count // 2):
        batch = pa.table({"k": ["a", "a", "b", "c"], "x": [largest, 3, largest, largest]})
        expected = [(largest + 2) // 2, 2, (largest + 1) // 2, 0]
        if largest == count:
            expected = [count // 2, 2, count // 2, 0]
        found = index.match_batch(batch)
        assert np.bincount(found["event"].to_numpy(), minlength=4).tolist() == expected
        assert index.count_batch(batch).tolist() == expected
        ids = found["subscription"].cast(pa.int64()).to_numpy()
        names = np.array(["a", "b"])[ids % 2]
        assert (names == np.array(batch["k"].to_pylist())[found["event"].to_numpy()]).all()
        assert len(set(zip(found["event"].to_pylist(), ids.tolist(), strict=True))) == len(found)


@pytest.mark.parametrize("typed", [True, False])
def test_ranges_open_on_either_side_share_a_group(typed: bool) -> None:
    """Their low ends are not in the order in which the entries stand."""
    size = 200
    ends = np.random.default_rng(5).integers(-400, 400, (3, size)).astype(np.float64)
    keys = ["a", "b"] * (size // 2)
    blocks: list[tuple[str, dict[str, Any]]] = [
        ("k = :k AND x >= :a", {"a": ends[0]}),
        ("k = :k AND x < :b", {"b": ends[1]}),
        ("k = :k AND x >= :a AND x < :b", {"a": ends[2], "b": ends[2] + 30}),
    ]
    index = Index(tg.Schema({"k": "string", "x": "double"}) if typed else None)
    with small_sizes():
        for place, (text, columns) in enumerate(blocks):
            own = range(place * size, (place + 1) * size)
            index.add_many(pa.table({"id": own, "k": keys, **columns}), filter=text)
        index.flush()
    x = np.arange(-420.0, 420.0, 3)
    value = x[:, None]
    parts = [value >= ends[0], value < ends[1], (value >= ends[2]) & (value < ends[2] + 30)]
    held = np.concatenate(parts, axis=1) & (np.array(keys * 3) == "a")
    batch = pa.table({"k": ["a"] * len(x), "x": x})
    found = index.match_batch(batch)
    ids = found["subscription"].cast(pa.int64()).to_numpy()
    pairs = np.zeros(held.shape, np.int64)
    np.add.at(pairs, (found["event"].to_numpy(), ids), 1)
    assert (pairs == held).all()
    assert index.count_batch(batch).tolist() == held.sum(axis=1).tolist()
    for row in range(0, len(x), 10):
        assert sorted(index.match({"k": "a", "x": x[row]})) == np.flatnonzero(held[row]).tolist()

"""What does it cost to keep filters under the filters that cover them, and to move them there?

Two workloads. *trade*: alert rules on symbols, popular by Zipf's law, with ranges of prices
(`lab.workloads.trade`); more than half of them are roots. *nested*: ranges in ranges, eight in
each, put in in random order: the heap of degree d that the paper reckons with.

At each size, filters are added and removed one by one. Then their limits move: a third of them
become wider, a third narrower, a third shift. In place, that is `Poset.update`; the baseline takes
the same filters back to where they were by removing and adding them. Last, events are matched.
Other baselines: a scan of all filters, as `papers.scan` does it, asked what a new filter is covered
by and what it covers, or what an event matches; and the engine's box store, in the notes.

Jayaram, Jayalath, Eugster (Middleware 2010) print no figure for the poset alone. They reckon that
removing a filter is linear in the size of the poset and adding one logarithmic, and that an update
finds its node at once. In their networks, that made events arrive up to 6 times as soon after a
change, and up to 8 times as many of them (5.6, Table 1). What is found is checked against the box
store.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import tidegate as tg
from bench.figure import Figure, timed
from tidegate.algebra.normal import boxes
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.filters.filter import Filter
from tidegate.lab.workloads.trade import trade
from tidegate.papers.poset.poset import Poset
from tidegate.papers.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIZES = (1_000, 10_000, 100_000)
SAMPLE = 300  # filters that are added, removed and moved at each size
SCANNED = 3  # for which everything is scanned
EVENTS = 20
FAN = 8  # ranges in a range, of those that are nested
STEP = 0.01  # of the width of a range, by which a limit moves

PAPER = {
    "insert": "the paper reckons with O(log n) once the place is known, O(n) to look for the same",
    "remove": "the paper reckons with O(n)",
    "update": "the paper: the node is found in O(1); in its networks, up to 8 times the throughput",
    "match": "the paper evaluates the poset, and nothing under what an event does not match",
}


class Work(NamedTuple):
    """Filters, what becomes of some of the last ones, and events."""

    schema: tg.Schema
    filters: list[Filter]
    moved: list[Filter]
    events: list[dict[str, Any]]


def figures() -> Iterator[Figure]:
    """Both workloads at each size."""
    for size in SIZES:
        yield from measure("trade", trade_work(size))
        yield from measure("nested", nested_work(size))


def trade_work(size: int) -> Work:
    """Rules on trades; their ranges of prices move."""
    rules = trade(size, seed=1)
    patterns: dict[str, Filter] = {}
    filters, moved = [], []
    for row, each in enumerate(rules.table().to_pylist()):
        pattern = patterns.setdefault(each["filter"], tg.parse(each["filter"], rules.schema))
        values = {name: each[name] for name in pattern.parameters}
        filters.append(pattern.bind(**values))
        if row >= size - SAMPLE:
            low, high = move(values["low"], values["high"], row)
            moved.append(pattern.bind(**{**values, "low": low, "high": high}))
    return Work(rules.schema, filters, moved, rules.events(EVENTS).to_pylist())


def nested_work(size: int) -> Work:
    """Ranges in ranges, each a little smaller than the eighth of the one around it."""
    schema = tg.Schema({"x": "double"})
    pattern = tg.parse("x BETWEEN :low AND :high", schema)
    ranges = [(0.0, 1.0)]
    for i in range(1, size):
        low, high = ranges[(i - 1) // FAN]
        step = (high - low) / FAN
        start = low + (i - 1) % FAN * step
        ranges.append((start + step / 20, start + step * 19 / 20))
    rng = random.Random(1)
    rng.shuffle(ranges)
    last = [move(low, high, i) for i, (low, high) in enumerate(ranges[-SAMPLE:])]
    return Work(
        schema,
        [pattern.bind(low=low, high=high) for low, high in ranges],
        [pattern.bind(low=low, high=high) for low, high in last],
        [{"x": rng.random()} for _ in range(EVENTS)],
    )


def move(low: float, high: float, row: int) -> tuple[float, float]:
    """Where the ends of a range move: apart, together, or both the same way."""
    step = STEP * (high - low) + 1e-12
    return ((low - step, high + step), (low + step, high - step), (low + step, high + step))[
        row % 3
    ]


def measure(name: str, work: Work) -> Iterator[Figure]:
    """All figures of one workload at one size."""
    for f in (*work.filters, *work.moved):
        boxes(f)  # which is the same work for everybody
    size, last = len(work.filters), work.filters[-len(work.moved) :]
    numbers = range(size - len(last), size)
    of = f"poset, {name}, {size:,}"
    poset, store, scan = Poset(work.schema), BoxStore(work.schema), Scan()
    handles = [store.add(f) for f in work.filters[: numbers[0]]]
    for number, f in enumerate(work.filters):
        scan.add(number, f)
        if number not in numbers:
            poset.add(number, f)
    added, compared = _add(poset, numbers, last)
    beside = _add_boxes(store, handles, last)
    scanned = _scan(scan, last)
    shape = f"{len(poset.roots):,} roots, {poset.nbytes / size:,.0f} bytes a filter"
    yield _figure(f"{of}: insert", added, scanned, "scan", beside, f"{compared}; {shape}", "insert")
    yield _removal(of, poset, store, handles, work, numbers)
    yield _update(of, poset, store, handles, work, numbers)
    yield _match(of, poset, store, handles, scan, work)


def _figure(
    name: str, ours: float, base: float, kind: str, store: float, told: str, claim: str
) -> Figure:
    note = f"baseline: {kind}; box store {store:,.3g} µs; {told}; {PAPER[claim]}"
    return Figure(name, ours, base, base / ours, "µs", note=note)


def _add(poset: Poset, numbers: range, filters: Sequence[Filter]) -> tuple[float, str]:
    before = poset.compared
    with timed() as adding:
        for number, f in zip(numbers, filters, strict=True):
            poset.add(number, f)
    asked = (poset.compared - before) / len(numbers)
    return adding.seconds / len(numbers) * 1e6, f"the algebra was asked {asked:.1f} times"


def _add_boxes(store: BoxStore, handles: list[int], filters: Sequence[Filter]) -> float:
    with timed() as adding:
        handles += [store.add(f) for f in filters]
    return adding.seconds / len(filters) * 1e6


def _scan(scan: Scan, filters: Sequence[Filter]) -> float:
    """What it takes to ask every filter whether it covers a new one, and is covered by it."""
    with timed() as asking:
        for f in filters[:SCANNED]:
            scan.containing(f)
            scan.contained(f)
    return asking.seconds / min(SCANNED, len(filters)) * 1e6


def _removal(
    of: str, poset: Poset, store: BoxStore, handles: list[int], work: Work, numbers: range
) -> Figure:
    """Remove the last filters; then add them again."""
    with timed() as removing:
        for number in numbers:
            poset.remove(number)
    with timed() as beside:
        for number in numbers:
            store.remove(handles[number])
    del handles[numbers[0] :]
    last = work.filters[numbers[0] :]
    added, _ = _add(poset, numbers, last)
    _add_boxes(store, handles, last)
    _check(poset, store, handles, last)
    cost, base = (watch.seconds / len(last) * 1e6 for watch in (removing, beside))
    told = f"adding the same {added:,.3g} µs"
    return Figure(
        f"{of}: remove",
        cost,
        base,
        base / cost,
        "µs",
        note=f"baseline: box store; {told}; {PAPER['remove']}",
    )


def _update(
    of: str, poset: Poset, store: BoxStore, handles: list[int], work: Work, numbers: range
) -> Figure:
    """Move filters in place, and back by removing and adding them."""
    last = work.filters[numbers[0] :]
    bounds: Counter[str] = Counter()
    with timed() as moving:
        for number, f in zip(numbers, work.moved, strict=True):
            poset.update(number, f)
            bounds[poset.change.bound.name.lower()] += 1
    with timed() as beside:
        for number, f in zip(numbers, work.moved, strict=True):
            store.remove(handles[number])
            handles[number] = store.add(f)
    _check(poset, store, handles, work.moved)
    with timed() as renewing:
        for number, f in zip(numbers, last, strict=True):
            poset.remove(number)
            poset.add(number, f)
    for number, f in zip(numbers, last, strict=True):
        store.remove(handles[number])
        handles[number] = store.add(f)
    _check(poset, store, handles, last)
    cost, base, boxed = (w.seconds / len(last) * 1e6 for w in (moving, renewing, beside))
    told = "the bound became " + ", ".join(f"{n} {kind}" for kind, n in sorted(bounds.items()))
    return _figure(f"{of}: update", cost, base, "remove and add", boxed, told, "update")


def _match(
    of: str, poset: Poset, store: BoxStore, handles: list[int], scan: Scan, work: Work
) -> Figure:
    numbers = {handle: number for number, handle in enumerate(handles)}
    store.stab(work.events[0])
    before = poset.asked
    with timed() as matching:
        found = [poset.match(event) for event in work.events]
    asked = (poset.asked - before) / len(work.events)
    with timed() as beside:
        boxed = [store.stab(event) for event in work.events]
    few = max(1, min(EVENTS, 200_000 // len(scan)))
    with timed() as scanning:
        for event in work.events[:few]:
            scan.match(event)
    for one, other in zip(found, boxed, strict=True):
        assert sorted(one) == sorted(numbers[handle] for handle in other.tolist())
    cost, boxes_cost = (w.seconds / len(work.events) * 1e6 for w in (matching, beside))
    hits = sum(map(len, found)) / len(found)
    told = f"{asked:,.0f} of {len(poset):,} filters asked, {hits:,.1f} found"
    base = scanning.seconds / few * 1e6
    return _figure(f"{of}: match", cost, base, "scan", boxes_cost, told, "match")


def _check(poset: Poset, store: BoxStore, handles: list[int], filters: Sequence[Filter]) -> None:
    """Both know the same of filters: what covers them, and what they cover."""
    numbers = {handle: number for number, handle in enumerate(handles)}
    for f in itertools.islice(filters, 0, None, 10):
        for question in ("containing", "contained"):
            found = sorted(getattr(poset, question)(f))
            owed = sorted(numbers[handle] for handle in getattr(store, question)(f).tolist())
            assert found == owed, (question, str(f))

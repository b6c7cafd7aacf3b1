"""What does an event take on decision diagrams, and what on a naive table of the same filters?

Baseline: the naive table of Li, Hou and Jacobsen (2005), a scan of all subscriptions one after the
other, each predicate by predicate until one fails. Ours is compiled (`scan`): in plain Python it
would be a hundred times as slow, and say nothing. Beside both stand the engine's `Index` and
`BoxStore`. All of them find the same, which is checked for every event. Of the paper's times
(Table 2), ratios can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench.figure import Figure, timed
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.index import Index
from tidegate.filters.expression import predicates
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed
from tidegate.jit import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tidegate.papers.mbd.mbd import MBD

    Events = list[dict[str, Any]]
    Table = dict[int, Filter]

PRINTED = {  # Table 2: MBD and naive, in ms
    ("A", "as they are"): (68.73, 300.71),
    ("A", "covered"): (19.16, 73.41),
    ("A", "merged perfectly"): (13.31, 49.89),
    ("A", "merged imperfectly"): (9.96, 43.83),
    ("B", "as they are"): (82.28, 300.92),
    ("B", "covered"): (38.15, 165.38),
    ("B", "merged perfectly"): (33.37, 152.21),
    ("B", "merged imperfectly"): (29.19, 141.06),
}


def routing(name: str, stage: str, table: MBD, events: Events) -> Figure:
    """An event, one by one: diagrams beside the scan; the engine's structures in the note."""
    filters = {number: table.get(number) for number in table}
    table.match_numbers(events[0])
    with timed() as own:
        found = [table.match_numbers(event) for event in events]
    with timed() as held:
        for event in events:
            table.predicates.holding(event)
    with timed() as batched:
        many = table.match_batch(events)
    naive, seconds = scanned(filters, events)
    theirs = engine(filters, naive, table, events)
    for ours, batch, base in zip(found, many, naive, strict=True):
        assert np.array_equal(np.sort(ours), base), (name, stage)
        assert sorted(batch) == base.tolist(), (name, stage)
    cost, first, each = (w.seconds / len(events) * 1e6 for w in (own, held, batched))
    printed = PRINTED[name, stage]
    times = printed[1] / printed[0]
    return Figure(
        f"diagrams, set {name} {stage}: route",
        cost,
        seconds * 1e6,
        seconds * 1e6 / cost,
        "µs",
        note=f"{len(table):,} subscriptions, {np.mean([len(f) for f in found]):.1f} of them found; "
        f"{first:.1f} µs of it for the predicates; {each:.1f} µs each of {len(events)} at once; "
        f"{theirs}; baseline: compiled scan; "
        f"in the paper {printed[0]} ms and {printed[1]} ms, ×{times:.1f}",
        aim=f"at least the paper's {times:.1f} times the scan" if stage == "as they are" else "",
        met=stage != "as they are" or seconds * 1e6 >= times * cost,
    )


def engine(filters: Table, owed: list[NDArray[np.int64]], table: MBD, events: Events) -> str:
    """What the engine's structures take for the same, in words."""
    index, boxes = Index(table.schema), BoxStore(table.schema)
    index.add_many(pa.table({"id": list(filters), "filter": list(map(str, filters.values()))}))
    index.flush()
    handles = {boxes.add(f): number for number, f in filters.items()}
    index.match(events[0])
    boxes.stab(events[0])
    with timed() as indexed:
        found = [index.match(event) for event in events]
    with timed() as stabbed:
        boxed = [boxes.stab(event) for event in events]
    for one, other, expected in zip(found, boxed, owed, strict=True):
        mine = sorted(handles[handle] for handle in other.tolist())
        assert sorted(one) == mine == expected.tolist()
    return (
        f"our Index {indexed.seconds / len(events) * 1e6:.1f} µs, "
        f"our BoxStore {stabbed.seconds / len(events) * 1e6:.1f} µs"
    )


@dataclass(frozen=True)
class Naive:
    """Subscriptions as a naive table has them: one predicate after the other.

    A predicate holds for the values of its attribute from `lows` to `highs`, or for all others if
    it is negated.
    """

    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]
    attributes: NDArray[np.int32]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    negated: NDArray[np.bool_]


def naive_table(filters: Table, names: list[str]) -> Naive:
    """The subscriptions, which are conjunctions of predicates that are one range or all but one."""
    starts, rows = [0], []
    for f in filters.values():
        for p in predicates(f.tree):
            [bounds] = [b for line, b in allowed(p, f.schema).spans.items() if line == "bigint"]
            negated = len(bounds) == 4
            assert negated or len(bounds) == 2, "a list"
            low, high = bounds[1:3] if negated else bounds
            rows.append((names.index(p.attribute), low, high - 1, negated))
        starts.append(len(rows))
    columns = list(zip(*rows, strict=True))
    return Naive(
        np.array(list(filters), np.int64),
        np.array(starts, np.int64),
        np.array(columns[0], np.int32),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.bool_),
    )


@kernel
def scan(
    starts: NDArray[np.int64],
    attributes: NDArray[np.int32],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    negated: NDArray[np.bool_],
    values: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """The subscriptions that an event matches, each looked at until a predicate fails."""
    count = 0
    for row in range(len(starts) - 1):
        place, stop = starts[row], starts[row + 1]
        while place < stop:
            value = values[attributes[place]]
            if (lows[place] <= value <= highs[place]) == negated[place]:
                break
            place += 1
        if place == stop:
            found[count] = row
            count += 1
    return count


def scanned(filters: Table, events: Events) -> tuple[list[NDArray[np.int64]], float]:
    """What the scan finds for each event, in rising order, and the seconds of one."""
    names = list(events[0])
    naive = naive_table(filters, names)
    arrays = naive.starts, naive.attributes, naive.lows, naive.highs, naive.negated
    room = np.empty(len(filters) + 1, np.int64)
    points = [np.array([event[name] for name in names], np.int64) for event in events]
    scan(*arrays, points[0], room)
    found = []
    with timed() as watch:
        for values in points:
            count = scan(*arrays, values, room)
            found.append(np.sort(naive.numbers[room[:count]]))
    return found, watch.seconds / len(events)

"""What does an event take on decision diagrams, and what on a naive table of the same filters?

Baseline: the naive table of Li, Hou and Jacobsen (2005), a scan of all subscriptions one after the
other, each predicate by predicate until one fails. Ours is compiled
(`lab.experiments.naive_scan`). Beside both stand the engine's `Index` and
`BoxStore`. All of them find the same, which is checked for every event. Of the paper's times
(Table 2), ratios can be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench.figure import Figure, timed
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.index import Index
from tidegate.filters.filter import Filter
from tidegate.lab.experiments.naive_scan import scanned

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

"""What does an event take on a naive table?

The naive table of Li, Hou and Jacobsen (2005): a scan of all subscriptions one after the other,
each predicate by predicate until one fails. Ours is compiled: in plain Python it would be a hundred
times as slow, and say nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.expression import predicates
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed
from tidegate.jit import kernel
from tidegate.lab.stopwatch import timed


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


def naive_table(filters: Mapping[int, Filter], names: list[str]) -> Naive:
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


def scanned(
    filters: Mapping[int, Filter], events: Sequence[Mapping[str, Any]]
) -> tuple[list[NDArray[np.int64]], float]:
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

"""Which links do the events of a batch go to, and for which of their entries?

Matching gives pairs of an event and an entry, in any order. Here they are put in order: by link,
then by event, and those of one event by the age of their entries. So what goes to a link is one
stretch of the arrays, without a copy, and events leave on a link in the order in which they came.

The order is made by counting (Seward's *distribution counting*, 1954), first by event and then by
link, in time linear in pairs, events and links.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel
from tidegate.overlay.pairs import Rows


class Found(NamedTuple):
    """Pairs of an event and an entry, column by column."""

    rows: Rows
    links: Rows  # by number
    numbers: NDArray[np.int64]  # of the entries, by age
    owns: NDArray[np.int64]  # their ids on the link


_NO_ROWS: Final = np.empty(0, np.int32)
NOTHING: Final = Found(_NO_ROWS, _NO_ROWS, np.empty(0, np.int64), np.empty(0, np.int64))


class Goals(NamedTuple):
    """What goes where: to `links[i]` the events of `rows` from `bounds[i]` to `bounds[i + 1]`.

    The event `rows[k]` goes there for the entries `owns` from `starts[k]` to `starts[k + 1]`.
    """

    links: Rows  # by number, ascending
    bounds: Rows
    rows: Rows
    starts: Rows
    owns: NDArray[np.int64]


@kernel
def _distribute(keys: Rows, order: Rows, counts: Rows, out: Rows) -> None:
    """Put places in the order of their keys, which are below the number of counts less one."""
    for i in range(len(counts)):
        counts[i] = 0
    for place in order:
        counts[keys[place] + 1] += 1
    for i in range(1, len(counts)):
        counts[i] += counts[i - 1]
    for place in order:
        key = keys[place]
        out[counts[key]] = place
        counts[key] += 1


@kernel
def _by_age(order: Rows, starts: Rows, numbers: NDArray[np.int64]) -> None:
    """Put the places between two starts in the order of their numbers."""
    for group in range(len(starts) - 1):
        first = starts[group]
        for i in range(first + 1, starts[group + 1]):
            place = order[i]
            number = numbers[place]
            j = i
            while j > first and numbers[order[j - 1]] > number:
                order[j] = order[j - 1]
                j -= 1
            order[j] = place


_FEW_ALIKE = 64  # pairs of one event and one link that are sorted by insertion


def in_order(found: Found, events: Rows, links: int) -> Goals:
    """The links that events go to, by the pairs that were found; they stand in these rows.

    >>> one = Found(
    ...     *(np.array(column, np.int32) for column in ([1, 0, 1], [0, 0, 0], [7, 8, 5])),
    ...     np.array([70, 80, 50]),
    ... )
    >>> for column in in_order(one, np.array([4, 6], np.int32), links=1):
    ...     print(column.tolist(), end=" ")
    [0] [0, 2] [4, 6] [0, 1, 3] [80, 50, 70]
    """
    size = len(found.rows)
    if not size:
        zero = np.zeros(1, np.int32)
        return Goals(_NO_ROWS, zero, _NO_ROWS, zero, found.owns)
    order, other = np.arange(size, dtype=np.int32), np.empty(size, np.int32)
    _distribute(found.rows, order, np.empty(len(events) + 1, np.int32), other)
    _distribute(found.links, other, np.empty(links + 1, np.int32), order)
    on, of = found.links[order], found.rows[order]
    new = np.flatnonzero((on[1:] != on[:-1]) | (of[1:] != of[:-1])) + 1
    starts = np.concatenate(([0], new, [size])).astype(np.int32)
    if int(np.diff(starts).max()) <= _FEW_ALIKE:
        _by_age(order, starts, found.numbers)
    else:
        order = np.lexsort((found.numbers, found.rows, found.links)).astype(np.int32)
    owns = found.owns[order]
    first = starts[:-1]
    firsts, rows = on[first], events[of[first]]
    ends = np.flatnonzero(firsts[1:] != firsts[:-1]) + 1
    bounds = np.concatenate(([0], ends, [len(rows)])).astype(np.int32)
    return Goals(firsts[bounds[:-1]], bounds, rows, starts, owns)

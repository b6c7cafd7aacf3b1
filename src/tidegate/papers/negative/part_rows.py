"""Which filters' parts does a box overlap, and which filter holds it?

The parts of all filters of a negative space, in one array that is looked through from beginning to
end. It is asked when a filter goes: by the exact space once for each of its parts, with a good
share of the array for an answer; by the approximate one once for all pieces that the filter took.
"""

from bisect import bisect_right
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel
from tidegate.papers.negative.box_tree import move

Integers: TypeAlias = NDArray[np.int64]

_ROWS: Final = 64
_NOBODY: Final = -1


class PartRows:
    """Integer boxes by the numbers of their filters, in the order in which they came.

    >>> rows = PartRows(dimensions=1)
    >>> rows.add(7, np.array([[0, 5], [9, 10]]))
    >>> rows.overlapping(np.array([4, 8])).tolist()
    [[0, 5]]
    >>> rows.heirs(np.array([[1, 3], [4, 6]]))
    ({7: [0]}, [1])
    >>> rows.pop(7).tolist(), len(rows)
    ([[0, 5], [9, 10]], 0)
    """

    def __init__(self, dimensions: int) -> None:
        self._ends = np.empty((_ROWS, 2 * dimensions), np.int64)
        self._alive = np.zeros(_ROWS, np.bool_)
        self._used = 0
        self._count = 0
        self._where: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> int:
        """How many rows there are, those not in use included."""
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return self._ends.nbytes + self._alive.nbytes

    def growth(self, rows: int) -> int:
        """How many bytes more it takes to have so many rows more, at most."""
        if self._used + rows <= len(self._ends):
            return 0
        return max(_ROWS, self._count // 2, rows) * (8 * self._ends.shape[1] + 1)

    def add(self, number: int, ends: Integers) -> None:
        """Have these boxes under a number that is free."""
        if self._used + len(ends) > len(self._ends):
            self._compact(room=max(_ROWS, self._count // 2, len(ends)))
        start, stop = self._used, self._used + len(ends)
        self._ends[start:stop] = ends
        self._alive[start:stop] = True
        self._where[number] = (start, stop)
        self._used = stop
        self._count += len(ends)

    def pop(self, number: int) -> Integers:
        """Forget the boxes under a number, if there are any, and return them."""
        start, stop = self._where.pop(number, (0, 0))
        self._alive[start:stop] = False
        self._count -= stop - start
        found = self._ends[start:stop].copy()
        if self._used > 2 * self._count + _ROWS:
            self._compact(room=_ROWS)
        return found

    def overlapping(self, box: Integers) -> Integers:
        """The boxes that overlap this one."""
        found = np.empty((self._count, self._ends.shape[1]), np.int64)
        return found[: _overlapping(self._ends, self._alive, self._used, box, found)]

    def heirs(self, boxes: Integers) -> tuple[dict[int, list[int]], list[int]]:
        """Which of other boxes each filter holds alone, the first that does; and the rest."""
        rows = np.empty(len(boxes), np.int64)
        _find_holders(self._ends, self._alive, self._used, boxes, rows)
        owners = [(start, number) for number, (start, stop) in self._where.items() if start < stop]
        starts = [start for start, _ in owners]  # ascending, since rows are added at the end
        found: dict[int, list[int]] = {}
        rest: list[int] = []
        for i, row in enumerate(rows.tolist()):
            if row == _NOBODY:
                rest.append(i)
            else:
                found.setdefault(owners[bisect_right(starts, row) - 1][1], []).append(i)
        return found, rest

    def relabel(self, dimension: int, old: Integers, new: Integers) -> None:
        """Move the ends in a dimension that are at `old` places to the `new` ones; both ascend."""
        move(self._ends[: self._used, 2 * dimension : 2 * dimension + 2], old, new)

    def widen(self, more: Integers) -> None:
        """Have more dimensions, along which every box reaches from end to end."""
        rows = np.broadcast_to(more, (len(self._ends), len(more)))
        self._ends = np.ascontiguousarray(np.concatenate([self._ends, rows], axis=1))

    def _compact(self, room: int) -> None:
        """Close the holes, and leave so much room behind."""
        count, width = self._count, self._ends.shape[1]
        ends = np.empty((count + room, width), np.int64)
        alive = self._alive[: self._used]
        ends[:count] = self._ends[: self._used][alive]
        before = np.concatenate([[0], np.cumsum(alive)])
        self._where = {
            number: (int(before[start]), int(before[stop]))
            for number, (start, stop) in self._where.items()
        }
        self._ends, self._used = ends, count
        self._alive = np.zeros(count + room, np.bool_)
        self._alive[:count] = True


@kernel
def _overlapping(
    ends: Integers, alive: NDArray[np.bool_], used: int, box: Integers, found: Integers
) -> int:
    count = 0
    for row in range(used):
        inside = alive[row]
        for k in range(0, box.size, 2):
            if not inside:
                break
            inside = ends[row, k] < box[k + 1] and ends[row, k + 1] > box[k]
        if inside:
            for k in range(box.size):
                found[count, k] = ends[row, k]
            count += 1
    return count


@kernel
def _find_holders(
    ends: Integers, alive: NDArray[np.bool_], used: int, boxes: Integers, rows: Integers
) -> None:
    for i in range(len(boxes)):
        rows[i] = _NOBODY
        for row in range(used):
            holds = alive[row]
            for k in range(0, boxes.shape[1], 2):
                if not holds:
                    break
                holds = ends[row, k] <= boxes[i, k] and ends[row, k + 1] >= boxes[i, k + 1]
            if holds:
                rows[i] = row
                break

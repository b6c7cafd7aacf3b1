"""Which boxes does a growing set of boxes cover together?

A broker keeps from forwarding a subscription that the ones it has forwarded already cover
together: "subscription subsumption" in Jafarpour, Hore, Mehrotra, Venkatasubramanian (Middleware
2008), whose active subscriptions are the boxes of a `Coverage`. Boxes here are plain integers, a
closed interval per dimension, so the set is two arrays and the question one call of the compiled
search in `kernels`, which works out the *negative space* inside the box in question instead of
keeping that of the whole domain. Adding a box is an append and removing it a swap, so the paper's
unsubscription (Fig. 7), which has to rebuild negative space, becomes removing and asking again.
"""

from collections.abc import Sequence
from operator import index
from typing import Final, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ends: TypeAlias = Sequence[SupportsIndex] | NDArray[np.integer]

DEFAULT_BUDGET: Final = 100_000


class Coverage:
    """A set of boxes, and whether their union contains another box.

    Ends are integers of 64 bits, both included. Answers are exact: `subsumes` says True or False
    only when that is so, and None when more than `budget` fragments of the box would have to be
    looked at (counted in `exhausted`; to be taken for "no", which only forwards more). `fragments`
    counts those looked at so far. Memory is 16 bytes per box and dimension, up to twice that while
    there is room to grow. One thread at a time.

    The subscriptions of the paper's Fig. 2, of which the first two subsume the third:

    >>> coverage = Coverage(dimensions=2)
    >>> first = coverage.add((175, 180), (510, 680))
    >>> second = coverage.add((405, 110), (840, 540))
    >>> coverage.subsumes((380, 230), (720, 495))
    True
    >>> coverage.remove(first)
    >>> coverage.subsumes((380, 230), (720, 495))
    False
    """

    def __init__(self, dimensions: int, budget: int = DEFAULT_BUDGET) -> None:
        if dimensions < 1 or budget < 0:
            raise ValueError(
                f"a coverage needs at least one dimension and a budget of 0 or more, "
                f"not {dimensions} and {budget}"
            )
        self.dimensions: Final = dimensions
        self.budget: Final = budget
        self.exhausted = 0
        self.fragments = 0
        # One row per dimension, one column per box, in the first len(_handles) columns.
        self._lows = np.empty((dimensions, 64), np.int64)
        self._highs = np.empty((dimensions, 64), np.int64)
        self._handles: list[int] = []
        self._columns: dict[int, int] = {}
        self._next_handle = 0

    def __len__(self) -> int:
        return len(self._handles)

    def add(self, low: Ends, high: Ends) -> int:
        """Add a box, subsumed or not; the handle that removes it again is never given twice."""
        lower, upper = self._checked(low, high)
        column = len(self._handles)
        if column == self._lows.shape[1]:
            self._grow()
        self._lows[:, column] = lower
        self._highs[:, column] = upper
        handle = self._next_handle
        self._next_handle += 1
        self._handles.append(handle)
        self._columns[handle] = column
        return handle

    def remove(self, handle: int) -> None:
        """Remove the box with this handle; KeyError if there is none."""
        column = self._columns.pop(handle)
        last = len(self._handles) - 1
        moved = self._handles.pop()
        if column != last:
            self._lows[:, column] = self._lows[:, last]
            self._highs[:, column] = self._highs[:, last]
            self._handles[column] = moved
            self._columns[moved] = column

    def relabel(self, dimension: int, old: Sequence[int], new: Sequence[int]) -> None:
        """Move every end that lies at one of the `old` cuts to the `new` one; both ascend.

        A low end lies at a cut, a high end right before one; other ends stay where they are.
        """
        count = len(self._handles)
        before, after = np.array(old, np.int64), np.array(new, np.int64)
        for ends, shift in (
            (self._lows[dimension, :count], 0),
            (self._highs[dimension, :count], 1),
        ):
            places = np.minimum(np.searchsorted(before, ends + shift), len(before) - 1)
            at_cut = before[places] == ends + shift
            ends[at_cut] = after[places[at_cut]] - shift

    def subsumes(self, low: Ends, high: Ends) -> bool | None:
        """Whether the union of the boxes contains the box [low, high]; None if the budget ends."""
        # Here, so that importing Tidegate does not load the compiler.
        from tidegate.algebra import kernels

        lower, upper = self._checked(low, high)
        answer, fragments = kernels.subsumed(
            self._lows, self._highs, len(self._handles), lower, upper, self.budget
        )
        self.fragments += fragments
        if answer == kernels.EXHAUSTED:
            self.exhausted += 1
            return None
        return answer == kernels.SUBSUMED

    def _grow(self) -> None:
        """Make twice the room, and put large boxes first: one of them may settle a question."""
        lengths = (self._highs.view(np.uint64) - self._lows.view(np.uint64)).astype(np.float64) + 1
        order = np.argsort(-np.log2(lengths).sum(axis=0), kind="stable")
        self._lows = _wider(self._lows[:, order])
        self._highs = _wider(self._highs[:, order])
        self._handles = [self._handles[column] for column in order.tolist()]
        self._columns = {handle: column for column, handle in enumerate(self._handles)}

    def _checked(self, low: Ends, high: Ends) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ends of a box as arrays, if they are one."""
        lower, upper = _integers(low), _integers(high)
        if lower.shape != (self.dimensions,) or upper.shape != (self.dimensions,):
            raise ValueError(
                f"a box has one low and one high end in each of {self.dimensions} dimensions, "
                f"but these have the shapes {lower.shape} and {upper.shape}"
            )
        for dimension, (start, stop) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
            if start > stop:
                raise ValueError(f"a box from {start} to {stop} in dimension {dimension} is empty")
        return lower, upper


def _integers(ends: Ends) -> NDArray[np.int64]:
    """The ends as an array the kernels can read; nothing is rounded or wrapped around."""
    if isinstance(ends, np.ndarray) and ends.dtype == np.int64:
        return np.ascontiguousarray(ends)
    try:
        return np.array([index(end) for end in ends], np.int64)
    except OverflowError as error:
        raise ValueError(f"the ends of a box are integers of 64 bits, not {ends}") from error


def _wider(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same columns with as many free ones behind them."""
    wider = np.empty((columns.shape[0], 2 * columns.shape[1]), np.int64)
    wider[:, : columns.shape[1]] = columns
    return wider

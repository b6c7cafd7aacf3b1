"""Which pieces of the content space has each filter taken away?

The lists `CoveredBy` of Jafarpour, Hore, Mehrotra, Venkatasubramanian (Middleware 2008, Fig. 8):
what an approximate negative space has to give back when a filter goes.

Invariant: no two pieces overlap, of whatever filters, and every piece is covered by its filter.
"""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.papers.negative.box_tree import move
from tidegate.papers.negative.coordinates import Coordinates

Integers: TypeAlias = NDArray[np.int64]


class CoveredBy:
    """Pieces, one row each, by the numbers of their filters."""

    def __init__(self, coordinates: Coordinates) -> None:
        self._coordinates = coordinates
        self._pieces: dict[int, Integers] = {}
        self._nbytes = 0

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return self._nbytes

    def __iter__(self) -> Iterator[Integers]:
        """The pieces, filter by filter."""
        return map(self._widened, self._pieces.values())

    def add(self, number: int, pieces: Integers) -> None:
        """Have more pieces of a filter."""
        own = self._pieces.get(number)
        if own is not None:
            self._nbytes -= own.nbytes
            pieces = np.concatenate([self._widened(own), pieces])
        self._pieces[number] = pieces
        self._nbytes += pieces.nbytes

    def pop(self, number: int) -> Integers:
        """Forget the pieces of a filter, and return them."""
        pieces = self._pieces.pop(number, None)
        if pieces is None:
            return np.empty((0, len(self._coordinates.whole)), np.int64)
        self._nbytes -= pieces.nbytes
        return self._widened(pieces)

    def relabel(self, dimension: int, old: Integers, new: Integers) -> None:
        """Move the ends in a dimension that are at `old` places to the `new` ones; both ascend."""
        for pieces in self._pieces.values():
            if 2 * dimension < pieces.shape[1]:
                move(pieces[:, 2 * dimension : 2 * dimension + 2], old, new)

    def _widened(self, pieces: Integers) -> Integers:
        """Pieces with all dimensions: in those that have come since, they reach from end to end."""
        more = self._coordinates.whole[pieces.shape[1] :]
        rest = np.broadcast_to(more, (len(pieces), len(more)))
        return np.ascontiguousarray(np.concatenate([pieces, rest], axis=1))

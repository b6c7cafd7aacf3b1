"""Whose is each event of a batch?

Many events of a batch are of few publishers. So each name is there once, and every row has the
place of its own among them; whoever needs names one by one reads them as a sequence.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np

from tidegate.overlay.pairs import Rows


class Publishers(Sequence[str]):
    """The publishers of the rows of a batch.

    >>> own = Publishers.of(["a/x", "b/y", "a/x"])
    >>> own.names, own.places.tolist(), list(own)
    (('a/x', 'b/y'), [0, 1, 0], ['a/x', 'b/y', 'a/x'])
    """

    __slots__ = ("_written", "names", "places")

    def __init__(self, names: tuple[str, ...], places: Rows) -> None:
        self.names = names
        self.places = places
        self._written = b""

    def written(self, write: Callable[[list[str]], bytes]) -> bytes:
        """The names as bytes, written once."""
        if not self._written:
            self._written = write(list(self.names))
        return self._written

    @classmethod
    def of(cls, publishers: Sequence[str]) -> "Publishers":
        """Those of names row by row."""
        if isinstance(publishers, Publishers):
            return publishers
        places = {name: place for place, name in enumerate(dict.fromkeys(publishers))}
        return cls(tuple(places), np.array([places[name] for name in publishers], np.int32))

    @classmethod
    def one(cls, name: str, count: int) -> "Publishers":
        """One for all rows."""
        return cls((name,), np.zeros(count, np.int32))

    def some(self, rows: Rows) -> "Publishers":
        """Those of some rows; of none, where there are none."""
        return Publishers(self.names, self.places[rows] if len(self) else self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.places.tolist())

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        return list(self)[row] if isinstance(row, slice) else self.names[self.places[row]]

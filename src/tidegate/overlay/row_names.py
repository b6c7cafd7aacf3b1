"""A name for each row of a batch: its publisher, or the link it came on.

Many rows have few names. So each name is there once, and every row has the place of its own among
them; whoever needs names one by one reads them as a sequence.
"""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from tidegate.overlay.pairs import Rows


class RowNames(Sequence[str]):
    """The names of the rows of a batch.

    >>> own = RowNames.of(["a/x", "b/y", "a/x"])
    >>> own.names, own.places.tolist(), list(own)
    (('a/x', 'b/y'), [0, 1, 0], ['a/x', 'b/y', 'a/x'])
    """

    __slots__ = ("names", "places")

    def __init__(self, names: tuple[str, ...], places: Rows) -> None:
        self.names = names
        self.places = places

    @classmethod
    def of(cls, names: Sequence[str]) -> "RowNames":
        """Names that are given row by row."""
        if isinstance(names, RowNames):
            return names
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return cls(tuple(places), np.array([places[name] for name in names], np.int32))

    @classmethod
    def one(cls, name: str, count: int) -> "RowNames":
        """One for all rows."""
        return cls((name,), np.zeros(count, np.int32))

    def some(self, rows: Rows) -> "RowNames":
        """Those of some rows; of none, where there are none."""
        return RowNames(self.names, self.places[rows] if len(self) else self.places)

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

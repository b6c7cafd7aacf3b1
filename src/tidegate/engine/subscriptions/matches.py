"""The ids of the subscriptions that one event met."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.subscriptions.subscription import Id


class Matches(Sequence[Id]):
    """A sequence of ids, like a list of them; they are translated from codes when looked at.

    How many there are costs nothing, so an event that nobody wants, or everybody, is cheap to see.
    """

    def __init__(self, found: Sequence[tuple[pa.Array, NDArray[np.int32]]], others: list[Id]):
        self._found = found
        self._others = others
        self._length = sum(len(codes) for _, codes in found) + len(others)
        self._ids: list[Id] | None = None

    def _translated(self) -> list[Id]:
        if self._ids is None:
            ids: list[Id] = []
            for dictionary, codes in self._found:
                ids += dictionary.take(pa.array(codes)).to_pylist()
            self._ids = ids + self._others
        return self._ids

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Id: ...
    @overload
    def __getitem__(self, place: slice) -> list[Id]: ...
    def __getitem__(self, place: int | slice) -> Id | list[Id]:
        return self._translated()[place]

    def __iter__(self) -> Iterator[Id]:
        return iter(self._translated())

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, Matches):
            return self._translated() == other._translated()
        if isinstance(other, list):
            return self._translated() == other
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._translated())

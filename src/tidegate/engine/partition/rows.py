"""How do the events of a batch meet the conditions of a partition?

`Rows` are the conditions that some entry of a partition refers to. For a batch, `prepare` gives the
kernel what it makes the rows of each block from: the rank of every event on each axis that values
of the batch lie on (`axis`), the conditions as pieces of these axes, and, for conditions on text,
the bits of the whole batch.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.axis import Axis, Pieces
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.conditions.point_table import line_named
from tidegate.engine.conditions.text_search import hold
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.partition.arrays import NO_RANK, RowPieces
from tidegate.engine.primitives.offsets import starts

Order: TypeAlias = NDArray[np.int64]
Prepared: TypeAlias = tuple[RowPieces, NDArray[np.uint32], NDArray[np.uint64]]


class AxisTable:
    """The axes of all conditions of a segment, made as values on new lines come."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self._axes: dict[tuple[str, str], Axis] = {}

    @cached_property
    def by_attribute(self) -> dict[str, list[int]]:
        """The numbers of the conditions on each attribute."""
        found: dict[str, list[int]] = {}
        for number, condition in enumerate(self.conditions):
            found.setdefault(condition.attribute, []).append(number)
        return found

    def axis(self, attribute: str, name: str) -> Axis:
        """The axis of an attribute and the line of that name."""
        axis = self._axes.get((attribute, name))
        if axis is None:
            line = line_named(name, attribute, self.conditions.schema)
            numbers = self.by_attribute[attribute]
            numbered = [(number, self.conditions[number].allowed) for number in numbers]
            axis = self._axes[attribute, name] = Axis(line, numbered)
        return axis

    def absent(self, attribute: str) -> Pieces:
        """The conditions on an attribute that hold where it is absent, on an axis of one rank."""
        numbers = self.by_attribute[attribute]
        found = [number for number in numbers if self.conditions[number].allowed.absent]
        zeros = np.zeros(len(found), np.uint32)
        return Pieces(np.array(found, np.uint32), zeros, zeros + 1)

    def texts(self, attribute: str) -> list[int]:
        """The conditions on an attribute that are about its text."""
        return self._texts.get(attribute, [])

    @cached_property
    def _texts(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, condition in enumerate(self.conditions):
            if condition.allowed.texts:
                found.setdefault(condition.attribute, []).append(number)
        return found

    @property
    def nbytes(self) -> int:
        """The memory of the axes made so far."""
        return sum(axis.nbytes for axis in self._axes.values())


class Rows:
    """The conditions with these numbers."""

    def __init__(self, axes: AxisTable, numbers: NDArray[np.uint32]) -> None:
        self.axes = axes
        self._conditions = axes.conditions
        self._numbers = numbers
        self._by_attribute: dict[str, list[int]] = {}
        self._absent: dict[str, Pieces] = {}
        self._texts: dict[str, list[int]] = {}
        for number in numbers.tolist():
            condition = self._conditions[number]
            self._by_attribute.setdefault(condition.attribute, []).append(number)
            if condition.allowed.texts:
                self._texts.setdefault(condition.attribute, []).append(number)
        for attribute, mine in self._by_attribute.items():
            absent = [number for number in mine if self._conditions[number].allowed.absent]
            if absent:
                zeros = np.zeros(len(absent), np.uint32)
                self._absent[attribute] = Pieces(np.array(absent, np.uint32), zeros, zeros + 1)
        self._pieces: dict[tuple[str, str], Pieces] = {}

    @property
    def attributes(self) -> Sequence[str]:
        """The attributes with conditions."""
        return list(self._by_attribute)

    def pieces(self, attribute: str, name: str) -> Pieces:
        """The pieces of these conditions on an axis."""
        pieces = self._pieces.get((attribute, name))
        if pieces is None:
            everything = self.axes.axis(attribute, name).pieces
            mine = np.isin(everything.condition, self._numbers)
            pieces = Pieces(everything.condition[mine], everything.low[mine], everything.high[mine])
            self._pieces[attribute, name] = pieces
        return pieces

    def prepare(self, batch: EncodedBatch, order: Order) -> Prepared:
        """What the kernel needs for the events of the batch in that order."""
        axes: list[tuple[int, Pieces]] = []
        ranks: list[NDArray[np.uint32]] = []
        given_rows: list[int] = []
        given: list[NDArray[np.uint64]] = []
        place = _Places(order, batch.size)
        for attribute in self._by_attribute:
            column = batch.column(attribute)
            for number, stretch in enumerate(column.stretches):
                pieces = self.pieces(attribute, stretch.line.name)
                if len(pieces.condition):
                    axis = self.axes.axis(attribute, stretch.line.name)
                    axes.append((axis.size, pieces))
                    own = _ranks(batch, axis, attribute, number)
                    ranks.append(place.spread(own, stretch.rows))
                if stretch.texts:
                    for number in self._texts.get(attribute, ()):
                        held = hold(self._conditions[number].allowed, stretch.texts)
                        given_rows.append(number)
                        given.append(place.bits(held[stretch.keys], stretch.rows))
            if attribute in self._absent and len(column.absent):
                axes.append((1, self._absent[attribute]))
                rank = np.zeros(len(column.absent), np.uint32)
                ranks.append(place.spread(rank, column.absent))
        return (
            RowPieces(
                self._numbers,
                np.array([size for size, _ in axes], np.uint32),
                starts(np.array([len(pieces.condition) for _, pieces in axes])).astype(np.uint32),
                _joined([pieces.condition for _, pieces in axes], np.uint32),
                _joined([pieces.low for _, pieces in axes], np.uint32),
                _joined([pieces.high for _, pieces in axes], np.uint32),
                np.array(given_rows, np.uint32),
            ),
            _joined(ranks, np.uint32),
            _joined(given, np.uint64),
        )

    @property
    def nbytes(self) -> int:
        """The memory of what is kept about them here."""
        pieces = [*self._pieces.values(), *self._absent.values()]
        return self._numbers.nbytes + sum(3 * each.condition.nbytes for each in pieces)


def _ranks(batch: EncodedBatch, axis: Axis, attribute: str, stretch: int) -> NDArray[np.uint32]:
    """The ranks of one stretch of an attribute's column on an axis, worked out once a batch."""
    found: NDArray[np.uint32] = batch.remember(
        (axis, attribute, stretch), lambda: axis.ranks(batch.column(attribute).stretches[stretch])
    )
    return found


class _Places:
    """Where the events of a batch stand in an order that may leave some of them out."""

    def __init__(self, order: Order, size: int) -> None:
        self._order = order
        self._complete = len(order) == size
        self._unchanged = self._complete and bool((order[1:] > order[:-1]).all())
        self._size = size
        self._place: NDArray[np.int64] | None = None

    def _places(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        if self._place is None:
            self._place = np.full(self._size, -1, np.int64)
            self._place[self._order] = np.arange(len(self._order))
        return self._place[rows]

    def spread(self, ranks: NDArray[np.uint32], rows: NDArray[np.int32]) -> NDArray[np.uint32]:
        """The ranks of some rows as those of all events in order."""
        if len(rows) == self._size:
            return ranks if self._unchanged else ranks[self._order]
        found = np.full(len(self._order), NO_RANK, np.uint32)
        places = self._places(rows)
        here = places >= 0
        found[places[here]] = ranks[here]
        return found

    def bits(self, held: NDArray[np.bool_], rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """One bit for each event in order: whether it is held."""
        bools = np.zeros((len(self._order) + 63) // 64 * 64, np.bool_)
        places = self._places(rows)
        here = places >= 0
        bools[places[here]] = held[here]
        return np.packbits(bools, bitorder="little").view(np.uint64)


def _joined(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)

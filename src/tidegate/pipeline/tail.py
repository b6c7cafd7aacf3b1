"""What has changed since a base?

The **tail** is what was added or changed since, as an index of its own, and the ids of all that is
not as the base has it any more. A change says of a subscription what it is after it, but for what
an update leaves alone: its filter and subscriber are then those of the tail, if it has the id, or
of the base.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.engine.index import Index
from tidegate.filters.schema import Schema
from tidegate.pipeline import loading
from tidegate.pipeline.fold import in_order
from tidegate.pipeline.names import NOWHERE, AddedNames, Names, sorted_ids
from tidegate.pipeline.spelling import Rows

InBase: TypeAlias = Callable[[pa.Array], tuple[pa.Array, pa.Array]]
"""Finds the subscribers and the filters of ids, which are sorted, in the base."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the subscriptions of a version: an index, and who its numbers are."""

    index: Index
    names: Names


class Tail:
    """All changes since a base, as they add up."""

    def __init__(self, schema: Schema) -> None:
        self._names: Final = AddedNames()
        self._index: Final = Index(schema)
        self.part: Final = Part(self._index, self._names)
        self.changed: Final[list[pa.Array]] = []  # what is not as in the base: sorted ids

    def __len__(self) -> int:
        return len(self._names)

    def apply(self, rows: pa.Table, in_base: InBase) -> None:
        """Take in changes that came later than all that were taken in before."""
        changes = _latest(rows)
        self.changed.append(sorted_ids(changes.ids))
        before = self._names.forget(changes.ids)
        there = before[before != NOWHERE].tolist()
        self._index.remove_many(pa.array([n for n in there if n in self._index], pa.int64()))
        self._add(changes, np.flatnonzero(~changes.gone & (changes.added >= 0)), _made(changes))
        moved = ~changes.gone & (changes.added < 0)
        own = np.flatnonzero(moved & (before != NOWHERE))
        self._add(changes, own, (self._names.of(before[own])[1], self._names.texts(before[own])))
        others = np.flatnonzero(moved & (before == NOWHERE))
        others = others[_order(changes.ids.take(pa.array(others)))]
        self._add(changes, others, in_base(changes.ids.take(pa.array(others))))

    def _add(self, changes: "_Changes", which: Rows, said: tuple[pa.Array, pa.Array]) -> None:
        """Add those of the changed ids, of whom these are the subscribers and the filters."""
        subscribers, texts = said
        if len(which):
            numbers = self._names.add(changes.ids.take(pa.array(which)), subscribers, texts)
            parameters = changes.parameters.take(pa.array(changes.last[which]))
            loading.add(self._index, pa.array(numbers), texts, parameters)


@dataclass(frozen=True, slots=True)
class _Changes:
    """What became of each of some ids."""

    ids: pa.Array
    last: Rows  # the row with its last change
    added: Rows  # the row with its last addition; -1 if there is none
    gone: NDArray[np.bool_]
    rows: pa.Table

    @property
    def parameters(self) -> pa.Array:
        return self.rows["parameters"].combine_chunks()


def _latest(rows: pa.Table) -> _Changes:
    rows = rows.combine_chunks()
    codes = rows["id"].combine_chunks().dictionary_encode()
    code = codes.indices.to_numpy(zero_copy_only=False)
    order = in_order(rows)
    last = np.full(len(codes.dictionary), -1)
    last[code[order]] = order  # NumPy writes in order, so that the last one stays
    additions = order[pc.equal(rows["change"], "add").to_numpy()[order]]
    added = np.full(len(codes.dictionary), -1)
    added[code[additions]] = additions
    gone = pc.equal(rows["change"], "remove").to_numpy()[last]
    return _Changes(codes.dictionary, last, added, gone, rows)


def _made(changes: _Changes) -> tuple[pa.Array, pa.Array]:
    """The subscribers and filters of those that were added and are still there."""
    which = changes.added[~changes.gone & (changes.added >= 0)]
    taken = changes.rows.select(["subscriber", "filter"]).take(pa.array(which))
    return taken["subscriber"].combine_chunks(), taken["filter"].combine_chunks()


def _order(ids: pa.Array) -> Rows:
    order: Rows = pc.sort_indices(ids).to_numpy()
    return order

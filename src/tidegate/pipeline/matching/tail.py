"""What has changed since a base?

The **tail** is what was added or changed since, as an index of its own, and the ids of all that is
not as the base has it any more. A change says of a subscription what it is after it, but for what
an update leaves alone: its filter and subscriber are then those of the tail, if it has the id, or
of the base.

A tail that lives long does not grow with the changes: it has what is in it now, numbers that were
given back are given again, and of ids that came and went it knows what the base has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.pipeline.bases.names import NOWHERE, AddedNames, Names, sorted_ids
from tidegate.pipeline.kinds.kind import Kind, KindIndex
from tidegate.pipeline.store.fold import in_order
from tidegate.pipeline.store.literals import Rows

_NOTED: Final = 65_536  # ids, of which perhaps the base has never had any


class NamesOfBase(Protocol):
    """What a tail asks of its base; ids are sorted."""

    def known(self, ids: pa.Array) -> pa.Array:
        """Those of some ids that the base has."""

    def said(self, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The subscribers and the filters of ids that the base has."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the subscriptions of a version: an index, and who its numbers are."""

    index: KindIndex
    names: Names


class Tail:
    """All changes since a base, as they add up."""

    def __init__(self, kind: Kind) -> None:
        self._most = _NOTED
        self._names: Final = AddedNames()
        self._kind: Final = kind
        self._index: Final = kind.new_index()
        self.part: Final = Part(self._index, self._names)
        self._changed: list[tuple[int, pa.Array]] = []
        self.changes = 0  # that were taken in

    def __len__(self) -> int:
        return len(self._names)

    def apply(self, rows: pa.Table, base: NamesOfBase) -> None:
        """Take in changes that came later than all that were taken in before.

        The base is given each time and not kept: it has the tail, and what refers to itself stays,
        and keeps its files, until the interpreter searches for such.
        """
        changes = _latest(rows)
        before = self._names.forget(changes.ids)
        # Those that the tail has are noted already.
        self._note(changes.ids.filter(pa.array(before == NOWHERE)), base)
        there = before[before != NOWHERE].tolist()
        self._index.remove_many(pa.array([n for n in there if n in self._index], pa.int64()))
        self._add(changes, np.flatnonzero(~changes.gone & (changes.added >= 0)), _made(changes))
        moved = ~changes.gone & (changes.added < 0)
        own = np.flatnonzero(moved & (before != NOWHERE))
        self._add(changes, own, (self._names.of(before[own])[1], self._names.texts(before[own])))
        others = np.flatnonzero(moved & (before == NOWHERE))
        others = others[_order(changes.ids.take(pa.array(others)))]
        self._add(changes, others, base.said(changes.ids.take(pa.array(others))))
        self._names.free(before)

    def changed(self, since: int = 0) -> Iterator[pa.Array]:
        """What is not as the base has it: sorted ids, at least those of the changes `since`."""
        return (ids for last, ids in self._changed if last > since)

    def _note(self, ids: pa.Array, base: NamesOfBase) -> None:
        """Know of ids that they are not as in the base.

        Where there are as many as were noted last, both are noted as one, as in the logarithmic
        method: so an id is there a few times at most, however often it comes and goes. When there
        are many, those that the base does not have are left out: there are no more than twice as
        many as it has, or a few.
        """
        self.changes += 1
        together = ids
        while self._changed and len(self._changed[-1][1]) <= 2 * len(together):
            together = pa.concat_arrays([together, self._changed.pop()[1]]).unique()
        noted = sorted_ids(together)
        if len(noted) > self._most:
            noted = base.known(noted)
            self._most = max(_NOTED, 2 * len(noted))
        self._changed.append((self.changes, noted))

    def _add(self, changes: "_Changes", which: Rows, said: tuple[pa.Array, pa.Array]) -> None:
        """Add those of the changed ids, of whom these are the subscribers and the filters."""
        subscribers, texts = said
        if len(which):
            numbers = self._names.add(changes.ids.take(pa.array(which)), subscribers, texts)
            parameters = changes.parameters.take(pa.array(changes.last[which]))
            self._kind.add(self._index, pa.array(numbers), texts, parameters)


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

"""Who wants these events, at a version of the store?

A `Matcher` is a base (`bases`) and the changes since, applied to it. Every Python worker has its
own, kept from task to task (`matcher`): the base, or the machine's copy of a remote one, is mapped,
so that all workers of a machine share it, and what has changed since is in the worker's own memory.
Asked for a later version, a matcher applies the changes in between; asked for an earlier one, or
for one with a newer base that saves many changes, it is made anew.

Numbers are the ids of the index: those of the base's names, and from there on those of added ones.

Invariant: a matcher of a version finds what an index of `Store.subscriptions(version)` finds.
"""

from collections import OrderedDict
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.engine.ids import NOWHERE, IdTable
from tidegate.engine.index import Index
from tidegate.errors import StoreError
from tidegate.pipeline import bases, loading
from tidegate.pipeline.bases import Base
from tidegate.pipeline.fold import in_order
from tidegate.pipeline.spelling import Rows
from tidegate.pipeline.store import Store

_KEPT: Final = 2  # matchers of a worker, each of another store or schema
_WORTH: Final = 10_000  # changes that are worth opening a newer base


class Names:
    """Which subscription, of which subscriber, a number is."""

    def __init__(self, base: pa.Table) -> None:
        self._base = [base["id"].combine_chunks(), base["subscriber"].combine_chunks()]
        self._selves = bool(self._base[0].equals(self._base[1]))  # all are their own subscribers
        self._added: list[list[str]] = [[], []]
        self._arrays: list[pa.Array] | None = None
        self._table: IdTable | None = None
        self._numbers: dict[str, int] = {}  # of those added

    def find(self, ids: pa.Array) -> Rows:
        """The number of each id, or NOWHERE; of one that was removed, the one it had."""
        if self._table is None:
            self._table = IdTable(self._base[0])
        found = self._table.find(ids)
        for place, id in enumerate(ids.to_pylist()) if self._numbers else ():
            found[place] = self._numbers.get(id, found[place])
        return found

    def add(self, ids: pa.Array, subscribers: pa.Array) -> Rows:
        """New numbers for these."""
        first = len(self._base[0]) + len(self._added[0])
        self._selves &= bool(ids.equals(subscribers))
        self._added[0] += ids.to_pylist()
        self._added[1] += subscribers.to_pylist()
        self._arrays = None
        numbers = np.arange(first, first + len(ids))
        self._numbers.update(zip(ids.to_pylist(), numbers.tolist(), strict=True))
        return numbers

    def of(self, numbers: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
        """The ids and the subscribers."""
        count = len(self._base[0])
        later = numbers >= count
        if not later.any():
            taken = pa.array(numbers)
            ids = self._base[0].take(taken)
            return ids, ids if self._selves else self._base[1].take(taken)
        if self._arrays is None:
            self._arrays = [pa.array(each, pa.string()) for each in self._added]
        mask, own = pa.array(later), pa.array(numbers[later] - count)
        from_base = pa.array(np.where(later, 0, numbers), mask=later)
        ids, subscribers = (
            pc.replace_with_mask(base.take(from_base), mask, added.take(own))
            for base, added in zip(self._base, self._arrays, strict=True)
        )
        return ids, subscribers


class Matcher:
    """The subscriptions of a version, as an index and the names of its numbers."""

    def __init__(self, store: str, base: Base) -> None:
        names, names_held = bases.local(store, base.names)
        index, index_held = bases.local(store, base.index)
        bases.require_whole(names, base.names)
        with pa.memory_map(str(names)) as source:
            self.names = Names(pa.ipc.open_file(source).read_all())
        self.base = base
        self.version = base.version
        self.index = Index.open(index, apart=True)
        self.refused = base.refused
        self._held = names_held, index_held

    def advance(self, store: Store, version: int) -> None:
        """Apply the changes of the store since this matcher's version, up to another."""
        changes = store.changes(self.version, version)
        if len(changes):
            self._apply(changes.combine_chunks(), store, version)
        self.version = version

    def _apply(self, rows: pa.Table, store: Store, version: int) -> None:
        ids = rows["id"].combine_chunks()
        codes = ids.dictionary_encode()
        last = np.full(len(codes.dictionary), -1)
        added = np.full(len(codes.dictionary), -1)
        order = in_order(rows)
        code = codes.indices.to_numpy(zero_copy_only=False)
        last[code[order]] = order
        is_add = pc.equal(rows["change"], "add").to_numpy()
        added[code[order[is_add[order]]]] = order[is_add[order]]
        gone = pc.equal(rows["change"], "remove").to_numpy()[last]
        before = self.names.find(codes.dictionary)
        there = before != NOWHERE
        there[there] = [number in self.index for number in before[there].tolist()]
        leaving = before[there & (gone | (added >= 0))]
        self.index.remove_many(pa.array(leaving))
        parameters = rows["parameters"].combine_chunks()
        moved = np.flatnonzero(there & ~gone & (added < 0))
        if len(moved):
            refused = loading.update(
                self.index, pa.array(before[moved]), parameters.take(pa.array(last[moved]))
            )
            self.index.remove_many(pa.array([number for number, _ in refused], pa.int64()))
            self._refuse(refused)
        # what was refused before may be right with its new parameters
        righted = np.flatnonzero(~there & ~gone & (added < 0))
        if len(righted):
            texts = [store.get(codes.dictionary[row].as_py(), version).filter for row in righted]
            refused = loading.add(
                self.index,
                pa.array(before[righted]),
                pa.array(texts, pa.string()),
                parameters.take(pa.array(last[righted])),
            )
            self.refused -= len(righted)
            self._refuse(refused)
        new = np.flatnonzero(~gone & (added >= 0))
        if len(new):
            sources = pa.array(added[new])
            numbers = self.names.add(
                codes.dictionary.take(pa.array(new)),
                rows["subscriber"].combine_chunks().take(sources),
            )
            refused = loading.add(
                self.index,
                pa.array(numbers),
                rows["filter"].combine_chunks().take(sources),
                parameters.take(pa.array(last[new])),
            )
            self._refuse(refused)

    def _refuse(self, refused: loading.Refused) -> None:
        self.refused += len(refused)


_matchers: OrderedDict[tuple[str, str], Matcher] = OrderedDict()
_stores: dict[str, Store] = {}


def matcher(path: str, events: str, version: int) -> Matcher:
    """The matcher of a version for events of a schema, that of this process."""
    key = (path, events)
    there = bases.bases(path, events)
    base = next((each for each in reversed(there) if each.version <= version), None)
    if base is None:
        raise StoreError(f"version {version} of the store {path} is not compiled for these events")
    found = _matchers.pop(key, None)
    if found is not None and found.base not in there:
        found = None  # it has been vacuumed, or is of a store that was there before
    store = None if found is None else _stores.get(path)
    if store is None:
        store = _stores[path] = Store.open(path)
    if (
        found is None
        or found.version > version
        or (base.version > found.base.version and version - found.version > 0
            and len(store.changes(found.version, base.version)) > _WORTH)
    ):  # fmt: skip
        found = Matcher(path, base)
    if found.version < version:
        found.advance(store, version)
    _matchers[key] = found
    while len(_matchers) > _KEPT:
        _matchers.popitem(last=False)
    return found

"""Who wants these events, at a version of the store?

A `Matcher` is a base (`catalog`) and the changes since (`tail`). What was removed or changed is
taken out of the base's shards as these are opened, so an event is wanted by those whom the tail has
for it, and by those whom its shards have.

Which shards may have somebody for an event, the base's summary says. It knows nothing of what came
since, but that is all in the tail, which is matched for every event; what left made the summary too
wide at worst (law 2).

Every Python worker has matchers of its own, kept from task to task (`kept_matcher`): the base, or
the machine's copy of a remote one, is mapped, so that all workers of a machine share it; the tail
is in the worker's own memory. Asked for a later version, a matcher applies the changes in between;
asked for an earlier one, or for another base, it is made anew.

Invariant: a matcher of a version finds what an index of `Store.subscriptions(version)` finds.
"""

from collections import OrderedDict
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from tidegate.errors import StoreError
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.bases.catalog import Base, File
from tidegate.pipeline.bases.names import NOWHERE, MappedNames
from tidegate.pipeline.bases.summary_index import visited
from tidegate.pipeline.kinds.kind import KindIndex, ReadEvents
from tidegate.pipeline.matching.tail import Part, Tail
from tidegate.pipeline.store.literals import Rows
from tidegate.pipeline.store.objects import LocalFile
from tidegate.pipeline.store.store import Store

TAIL: Final = -1
"""The number of the tail, among the shards."""

Visits: TypeAlias = list[tuple[int, Rows | None]]
"""Shards, and the rows of the events that visit each; None: all events do."""

_MATCHERS_KEPT: Final = 2  # matchers of a worker, each of another base


class Matcher:
    """The subscriptions of a version."""

    def __init__(self, store: str, base: Base) -> None:
        self.base: Final = base
        self.version = base.version
        self.kind: Final = base.read_kind()
        self._path = store
        self._store = Store.open(store)
        self._tail = Tail(self.kind)
        self._names: dict[int, MappedNames] = {}
        self._shards: dict[int, Part] = {}
        self._clean: dict[int, int] = {}  # how many of the tail's changes each shard has seen
        self._summary: KindIndex | None = None
        self._held: list[LocalFile] = []  # copies of remote files stay as long as they are held

    def advance(self, version: int) -> None:
        """Apply the changes of the store since this matcher's version, up to another."""
        changes = self._store.changes(self.version, version)
        if len(changes):
            self._tail.apply(changes, self)
        self.version = version

    def part(self, shard: int) -> Part:
        """The subscriptions of a shard, or of the tail."""
        if shard == TAIL:
            return self._tail.part
        part = self._shards.get(shard)
        if part is None:
            index = self._index(self.base.shards[shard].index)
            part = self._shards[shard] = Part(index, self._names_of(shard))
        self._take_out(shard, part.index)
        return part

    def visits(self, events: ReadEvents) -> Visits:
        """Which shards, the tail among them, may have somebody for which of the events."""
        found: Visits = []
        if self.base.summary is None:
            found.append((0, None))
        else:
            if self._summary is None:
                self._summary = self._index(self.base.summary)
            seen = visited(self._summary, len(self.base.shards), events)
            found += [
                (shard, None if seen[shard].all() else np.flatnonzero(seen[shard]))
                for shard in np.flatnonzero(seen.any(axis=1)).tolist()
            ]
        if len(self._tail):
            found.append((TAIL, None))
        return found

    def wanted_since(self, events: ReadEvents) -> Rows:
        """The rows of the events that somebody in the tail wants."""
        return np.flatnonzero(events.counts(self._tail.part.index))

    def _take_out(self, shard: int, index: KindIndex) -> None:
        """Remove from a shard's index what is not as the base has it."""
        names = self._names_of(shard)
        for ids in self._tail.changed(self._clean.get(shard, 0)):
            found = names.find(ids)
            there = [number for number in found[found != NOWHERE].tolist() if number in index]
            index.remove_many(pa.array(there, pa.int64()))
        self._clean[shard] = self._tail.changes

    def known(self, ids: pa.Array) -> pa.Array:
        """Those of some ids, which are sorted, that the base has."""
        there = np.zeros(len(ids), np.bool_)
        for shard in range(len(self.base.shards)):
            there |= self._names_of(shard).find(ids) != NOWHERE
        return ids.filter(pa.array(there))

    def said(self, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The subscribers and the filters of ids, which are sorted."""
        subscribers: list[Any] = [None] * len(ids)
        texts: list[Any] = [None] * len(ids)
        left = np.arange(len(ids))
        for shard in range(len(self.base.shards)):
            if not len(left):
                break
            names = self._names_of(shard)
            found = names.find(ids.take(pa.array(left)))
            here = np.flatnonzero(found != NOWHERE)
            own = found[here]
            for place, subscriber, text in zip(
                left[here].tolist(),
                names.of(own)[1].to_pylist(),
                names.texts(own).to_pylist(),
                strict=True,
            ):
                subscribers[place], texts[place] = subscriber, text
            left = np.delete(left, here)
        if len(left):
            raise StoreError(
                f"a change of {ids[int(left[0])].as_py()!r} in the store {self._path} is of a "
                f"subscription that its base {self.base.name} does not have; {catalog.REMEDY}"
            )
        return pa.array(subscribers, pa.string()), pa.array(texts, pa.string())

    def _names_of(self, shard: int) -> MappedNames:
        names = self._names.get(shard)
        if names is None:
            file = self.base.shards[shard].names
            path = self._local(file)
            catalog.require_whole(path, file)
            with pa.memory_map(str(path)) as source:
                names = self._names[shard] = MappedNames(pa.ipc.open_file(source).read_all())
        return names

    def _index(self, file: File) -> KindIndex:
        return self.kind.open_index(self._local(file))

    def _local(self, file: File) -> Path:
        found = catalog.mapped(self._path, file)
        self._held.append(found)
        return found.path


_matchers: OrderedDict[tuple[str, str], Matcher] = OrderedDict()


def kept_matcher(store: str, base: str, version: int) -> Matcher:
    """The matcher of a version by a base of that name, that of this process."""
    key = (store, base)
    found = _matchers.pop(key, None)
    if found is None or found.version > version:
        found = Matcher(store, catalog.named(store, base))
    if found.version < version:
        found.advance(version)
    _matchers[key] = found
    while len(_matchers) > _MATCHERS_KEPT:
        _matchers.popitem(last=False)
    return found

"""Which subscriptions does an event meet? The index people use.

An `Index` is a few immutable **segments** (`segment`), the subscriptions added since, **pending**,
and for each segment a bit map of what is still **alive** in it. So every change is small: adding
appends, removing clears a bit, updating does both. Pending subscriptions are compiled into a
segment of their own as soon as there are enough of them, or when the next batch is matched.
Segments of like size are merged, aside, in a thread of its own, from their arrays and not from the
filters, and what was decided about their layout is decided anew (the logarithmic method of Bentley
and Saxe, 1980; Lucene keeps its index so). There are never more than `live.MOST` segments: if the
thread does not keep up, whoever would add one more merges some small ones first.

Threads: any number may read (`match`, `match_batch`, `count_batch`, `get`, …), and one may write at
a time; writers that come together wait for each other, readers for no longer than it takes to note
a change, or to merge small segments if there are too many. A change has taken effect when its call
returns. A reader works on one **version** of the
index from its beginning to its end: segments never change, and a bit map that a reader has seen is
copied before it is changed.
"""

import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.compile.compiler import Compiler
from tidegate.engine.conditions.meaning_cache import MOST_BYTES
from tidegate.engine.description import Cache, Description, Structure
from tidegate.engine.events.encoded_batch import EncodedBatch, encode
from tidegate.engine.file import index_file
from tidegate.engine.primitives import background
from tidegate.engine.primitives.gc_pause import put_off
from tidegate.engine.primitives.id_table import NOWHERE
from tidegate.engine.segments.live import (
    ALL_ALIVE,
    MOST,
    TOGETHER,
    Live,
    crowd,
    due,
    left,
    living_codes,
)
from tidegate.engine.segments.parameter_updates import Place, changed_rows
from tidegate.engine.segments.segment import Alive, Segment, compared_lines
from tidegate.engine.single.single_events import own_line, place_of
from tidegate.engine.subscriptions.matches import Matches
from tidegate.engine.subscriptions.subscription import (
    Block,
    Id,
    Subscription,
    changed,
    id_array,
    read_id,
    subscribe,
)
from tidegate.engine.subscriptions.table_columns import read_ids
from tidegate.engine.subscriptions.table_reader import read_changes, read_table
from tidegate.errors import SubscriptionError, TidegateError
from tidegate.filters.evaluate import Explanation
from tidegate.filters.expression import predicates
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.shapes import kept

Version: TypeAlias = tuple[tuple[Segment, Alive], ...]

_PENDING: Final = 8_192  # subscriptions that came one by one and are compiled together
_MANY: Final = 2_048  # that come together and are compiled at once; segments of so few are alike
_FEW: Final = 16  # pending subscriptions that a single event is compared with one by one
_CROWDED: Final = MOST // 2  # segments from which on one more, of a reader, has some merged
_CHECKED: Final = 8_192  # single changes after which it is looked whether something is due
_GONE: Final = (
    65_536  # removed subscriptions, or as many as there are, that writers do not wait for
)
_COUNTED: Final = 4_096  # attributes whose incomparable values are counted
_PAUSE: Final = 2.0  # seconds without a change, at least, after which what is left is merged


class Index:
    """Subscriptions, and which of them an event meets.

    >>> index = Index()
    >>> index.add("alice", "symbol = 'IBM' AND price < :limit", limit=10.0)
    >>> index.match({"symbol": "IBM", "price": 9.5})
    ['alice']
    >>> index.update("alice", limit=8.0)
    >>> index.match({"symbol": "IBM", "price": 9.5})
    []
    """

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema
        self._lock = threading.RLock()  # of what follows; held for moments only
        self._writing = threading.Lock()  # held by one writer during a change of many
        self._lives: list[Live] = []
        self._pending: dict[Id, Subscription] = {}
        self._size = 0
        self._kind: type | None = None  # of the ids
        self._incomparable: dict[str, int] = {}
        self._compiler = Compiler(schema)
        self._adding = threading.RLock()  # held by whoever adds a segment; taken before `_lock`
        self._taken: list[Live] = []  # are being merged
        self._merged = threading.Condition(self._lock)  # some are not any more
        self._merging: threading.Thread | None = None
        self._changed = 0
        self._wake = threading.Event()  # there is something to be merged before changes pause
        self._hurry = False  # what is left is not to be merged
        self._apart: Live | None = None  # is not merged with the others
        self._read_only = False

    # -- what is in it

    def __len__(self) -> int:
        return self._size

    def __contains__(self, id: object) -> bool:
        try:
            plain = read_id(id)
        except SubscriptionError:
            return False
        self._know_ids()
        with self._lock:
            return self._find(plain) is not None

    def get(self, id: Id, /) -> Subscription:
        """The subscription of that id; an unknown one is a `SubscriptionError`."""
        plain = read_id(id)
        self._know_ids()
        with self._lock:
            return self._subscription(plain, self._found(plain))

    def _know_ids(self) -> None:
        """Make the dictionaries of ids that are not made yet, while readers go on."""
        for live in self._lives:
            _ = live.segment.codes

    def _find(self, id: Id) -> "Subscription | tuple[Live, int] | None":
        pending = self._pending.get(id)
        if pending is not None:
            return pending
        for live in reversed(self._lives):
            code = live.segment.codes.get(id)
            if code != NOWHERE and live.has(code):
                return live, code
        return None

    def _found(self, id: Id) -> "Subscription | tuple[Live, int]":
        found = self._find(id)
        if found is None:
            raise SubscriptionError(f"there is no subscription {id!r}")
        return found

    def _subscription(self, id: Id, found: "Subscription | tuple[Live, int]") -> Subscription:
        if isinstance(found, Subscription):
            return found
        live, code = found
        return live.segment.sources.subscription(code, id)

    # -- changes

    def add(self, id: Id, filter: str | Filter, /, **parameters: Any) -> None:
        """Add a subscription; every parameter of the filter must be given, None is NULL.

        A filter is a text, or what `parse` made of one under the index's schema.
        """
        new = subscribe(id, filter, parameters, self.schema)
        with self._writing:
            self._know_ids()
            with self._lock:
                self._begin_change()
                self._require_new(new.id)
                self._pending[new.id] = new
                self._size += 1
            self._keep_up()

    def add_many(
        self, table: pa.Table | pa.RecordBatch, /, filter: str | Filter | None = None
    ) -> None:
        """Add the subscriptions of a table: all of them, or none if one is refused.

        The columns are `id`, `filter` (a text; not if all rows have the filter given here), and
        the parameters by name, where a null is NULL. Rows of one text are compiled together,
        without parsing their constants: a few texts with parameters are the fast way to add many.

        >>> index = Index()
        >>> rules = pa.table({"id": ["a", "b"], "symbol": ["IBM", "SAP"], "limit": [10.0, 99.0]})
        >>> index.add_many(rules, filter="symbol = :symbol AND price < :limit")
        >>> index.match({"symbol": "SAP", "price": 12.0})
        ['b']
        """
        with background.first(), put_off(len(table) if hasattr(table, "__len__") else 0):
            blocks, singles = read_table(table, filter, self.schema)
            if not blocks and not singles:
                return
            ids = [block.ids for block in blocks]
            if singles:
                ids.append(id_array([subscription.id for subscription in singles]))
            with self._writing:
                self._know_ids()
                with self._lock:
                    self._begin_change()
                    self._require_all_new(pa.concat_arrays(ids))
                self._change(blocks, singles)
        with self._writing:
            self._keep_up(looking=True)

    def update(self, id: Id, /, **parameters: Any) -> None:
        """Change parameters of a subscription, all of them at once; the others stay."""
        plain = read_id(id)
        with self._writing:
            self._know_ids()
            with self._lock:
                self._begin_change()
                found = self._found(plain)
                new = changed(self._subscription(plain, found), parameters, self.schema)
                self._take_out(plain, found)
                self._pending[plain] = new
            self._keep_up()

    def update_many(self, table: pa.Table | pa.RecordBatch, /) -> None:
        """Change the parameters a table has columns for, of the ids in it: all rows, or none.

        A cell is the new value of its row's parameter, a null sets it to NULL. Filters may have
        different parameters: of one that a row's filter does not have, the cell has to be null, and
        changes nothing; any other value there is a `ParameterError`. An id that is unknown, or
        there twice, is a `SubscriptionError`. Nothing is returned.
        """
        ids, columns = read_changes(table)
        with background.first(), self._writing:
            self._know_ids()
            self._begin_change()
            with self._lock:
                places = self._locate(ids)
                pending = {
                    row: self._pending[ids[row].as_py()]
                    for live, rows, _ in places
                    if live is None
                    for row in rows.tolist()
                }
            blocks, singles = changed_rows(ids, columns, places, pending, self.schema)
            self._change(blocks, singles, ids, places)
        with self._writing:
            self._keep_up(looking=True)

    def remove(self, id: Id, /) -> None:
        """Remove a subscription."""
        plain = read_id(id)
        with self._writing:
            self._know_ids()
            with self._lock:
                self._begin_change()
                self._take_out(plain, self._found(plain))
                self._size -= 1
            self._keep_up()

    def remove_many(self, ids: Iterable[Id] | pa.Array, /) -> None:
        """Remove subscriptions: all of them, or none if one is unknown."""
        leaving = read_ids(ids)
        with self._writing:
            self._know_ids()
            with self._lock:
                self._begin_change()
                self._drop(leaving, self._locate(leaving))
                self._size -= len(leaving)
            self._keep_up(looking=True)

    def _begin_change(self) -> None:
        if self._read_only:
            raise TidegateError("the index was opened to be read only")
        self._changed += 1

    def _require_new(self, id: Id) -> None:
        if self._find(id) is not None:
            raise SubscriptionError(f"there is a subscription {id!r} already")
        self._require_kind(id)

    def _require_kind(self, id: Id) -> None:
        if self._kind is None or not self._size:
            self._kind = type(id)
        elif type(id) is not self._kind:
            raise SubscriptionError("the ids of an index are all strings or all integers")

    def _require_all_new(self, ids: pa.Array) -> None:
        for live in self._lives:
            codes = live.segment.codes.find(ids)
            here = np.flatnonzero(codes != NOWHERE)
            known = here[live.have(codes[here])]
            if len(known):
                id = ids[int(known[0])].as_py()
                raise SubscriptionError(f"there is a subscription {id!r} already")
        if self._pending:
            again = next((id for id in ids.to_pylist() if id in self._pending), None)
            if again is not None:
                raise SubscriptionError(f"there is a subscription {again!r} already")
        self._require_kind(ids[0].as_py())

    def _locate(self, ids: pa.Array) -> list[Place]:
        """Where many subscriptions are: a segment, or None for the pending ones; which of the ids
        are there; and their codes. An unknown id is a `SubscriptionError`.
        """
        places: list[Place] = []
        left = np.arange(len(ids))
        if self._pending:
            here = np.array([id in self._pending for id in ids.to_pylist()], np.bool_)
            places.append((None, left[here], left[:0]))
            left = left[~here]
        for live in reversed(self._lives):
            codes = live.segment.codes.find(ids if len(left) == len(ids) else ids.take(left))
            here = (codes != NOWHERE) & live.have(codes)
            places.append((live, left[here], codes[here]))
            left = left[~here]
        if len(left):
            raise SubscriptionError(f"there is no subscription {ids[int(left[0])].as_py()!r}")
        return [place for place in places if len(place[1])]

    def _drop(self, ids: pa.Array, places: Sequence[Place]) -> None:
        """Take subscriptions out that are, or were a moment ago, in these places."""
        there = {id(live) for live in self._lives}
        if not all(id(live) in there for live, _, _ in places):  # merged since, or were pending
            places = self._locate(ids)
        for live, rows, codes in places:
            if live is None:
                for row in rows.tolist():
                    del self._pending[ids[row].as_py()]
            else:
                live.kill(codes)
        if any(not live.size for live in self._lives):
            self._lives = [live for live in self._lives if live.size]

    def _take_out(self, id: Id, found: "Subscription | tuple[Live, int]") -> None:
        if isinstance(found, Subscription):
            del self._pending[id]
            return
        live, code = found
        live.kill_one(code)
        if not live.size:
            self._lives.remove(live)

    def _change(
        self,
        blocks: list[Block],
        singles: list[Subscription],
        old: pa.Array | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        """Add many subscriptions, for old ones if any, which are in these places, in one step."""
        count = sum(len(block) for block in blocks) + len(singles)
        growth = count - (0 if old is None else len(old))
        if count < _MANY:
            new = singles + [each for block in blocks for each in block.subscriptions()]
            with self._lock:
                if old is not None:
                    self._drop(old, places)
                self._pending.update((subscription.id, subscription) for subscription in new)
                self._size += growth
        else:
            segment = self._compiled(blocks, singles)
            with self._adding:
                self._make_room()
                with self._lock:
                    if old is not None:
                        self._drop(old, places)
                    self._lives.append(Live(segment))
                    self._size += growth

    # -- compiling and merging

    def _compiled(self, blocks: list[Block], singles: list[Subscription]) -> Segment:
        with self._lock:
            ranged = {name for live in self._lives for name in live.segment.ranged}
        with background.first():
            return self._compiler.compile(blocks, singles, ranged)

    def _keep_up(self, *, looking: bool = False) -> None:
        """After a change: compile what is pending if it is much, and have merged what is due.

        A writer that has removed more than there is waits until that is gone.
        """
        if len(self._pending) >= _PENDING:
            self._version(waiting=True)
        elif not looking and self._changed % _CHECKED:
            return
        self._merge_if_due()
        while True:
            with self._lock:
                gone = [live for live in self._mergeable(self._lives) if live.dead]
                if sum(live.dead for live in gone) <= max(self._size, _GONE):
                    return
                if self._taken and not self._merged.wait(_PAUSE):
                    return  # until the next change
                gone = sorted(self._free(gone), key=lambda live: -live.dead)[:TOGETHER]
            self._merge(gone, know_ids=True)

    def _version(self, *, waiting: bool = False) -> Version:
        """What a reader works on; pending subscriptions are compiled first, aside.

        They stay pending if somebody else adds a segment just now, unless that is waited for.
        """
        with self._lock:
            version = tuple(live.version() for live in self._lives)
            if not self._pending:
                return version
            taken = dict(self._pending)
        segment = self._compiled([], list(taken.values()))
        if self._adding.acquire(blocking=waiting):
            try:
                self._make_room()
                with self._lock:
                    self._publish(segment, taken)
            finally:
                self._adding.release()
            self._merge_if_due(now=len(self._lives) > _CROWDED)
        return (*version, (segment, ALL_ALIVE))

    def _make_room(self) -> None:
        """See to it that there may be one segment more, which whoever calls is about to add."""
        while True:
            with self._lock:
                if len(self._lives) < MOST:
                    return
                chosen = crowd(self._free(self._lives), _MANY)
                if not chosen:  # others are at it, with all of them
                    self._merged.wait(_PAUSE)
            self._merge(chosen, know_ids=True)

    def _publish(self, segment: Segment, taken: dict[Id, Subscription]) -> None:
        """Put a segment in the place of the pending subscriptions it was made of."""
        live = Live(segment)
        stale = []
        for id, subscription in taken.items():
            if self._pending.get(id) is subscription:
                del self._pending[id]
            else:
                stale.append(segment.codes.get(id))
        if len(stale) < len(taken):
            self._lives.append(live)
            if stale:
                live.kill(np.array(stale))

    def flush(self) -> None:
        """Compile what is pending and merge everything into one segment, now.

        Where each subscription is kept is decided anew. Never needed, but a good moment may be
        known to the caller: after many changes, before saving.
        """
        with self._writing:
            self._version(waiting=True)
            self._hurry = True
            self._wake.set()
            try:
                self._wait()
                while (lives := self._unmerged()) is not None:
                    self._merge(lives)
            finally:
                self._hurry = False

    def _unmerged(self) -> list[Live] | None:
        """Some segments to be merged if there is to be one in the end; None if there is."""
        with self._lock:
            while self._taken and self._merged.wait(_PAUSE):
                pass
            if len(self._lives) < 2 and not any(live.dead for live in self._lives):
                return None
            return sorted(self._free(self._lives), key=lambda live: live.size)[:TOGETHER]

    def _wait(self) -> None:
        merging = self._merging
        if merging is not None:
            merging.join()

    def _merge_if_due(self, *, now: bool = True) -> None:
        """Have merged what is due, now or when changes pause, and what is left when they do."""
        with self._lock:
            is_due = bool(self._due())
            if is_due and now:
                self._wake.set()
            elif not is_due and not self._left():
                return
            if self._merging is None:
                self._merging = background.start(
                    self._merge_aside, self._wake.set, "tidegate-merge"
                )

    def _due(self) -> list[Live]:
        return due(self._mergeable(self._free(self._lives)), _MANY)[:TOGETHER]

    def _left(self) -> list[Live]:
        return left(self._mergeable(self._free(self._lives)))[:TOGETHER]

    def _free(self, lives: list[Live]) -> list[Live]:
        """Those that nobody merges just now."""
        return [live for live in lives if live not in self._taken]

    def _mergeable(self, lives: list[Live]) -> list[Live]:
        """Those that are not to stay as they are."""
        return [live for live in lives if live is not self._apart]

    def _merge_aside(self) -> None:
        """Merge what is due, and what is left when changes pause for as long as that took."""
        took = 0.0
        try:
            while True:
                with self._lock:
                    changed = self._changed
                    if not self._due() and (self._hurry or not self._left()):
                        self._merging = None
                        return
                woken = self._hurry or self._wake.wait(max(_PAUSE, took))
                with self._lock:
                    paused = not woken and self._changed == changed
                    chosen = self._due() if woken or paused else []
                    if not chosen:
                        self._wake.clear()
                        chosen = self._left() if paused else []
                background.step()
                if chosen:
                    start = time.perf_counter()
                    self._merge(chosen, know_ids=True)
                    took = time.perf_counter() - start
        except BaseException:
            with self._lock:
                self._merging = None
            raise

    def _merge(self, lives: list[Live], *, know_ids: bool = False) -> None:
        """Make one segment of several, and put it in their place.

        If changes go on, the next one needs its ids: they are entered here, aside.
        """
        with self._lock:
            lives = [live for live in self._free(self._lives) if live in lives]
            lives.sort(key=lambda live: -live.size)  # what the largest has stays as it is
            self._taken += lives
            versions = tuple(live.version() for live in lives)
        try:
            if lives:
                self._replace(lives, versions, know_ids)
        finally:
            with self._lock:
                self._taken = [live for live in self._taken if live not in lives]
                self._merged.notify_all()

    def _replace(self, lives: list[Live], versions: Version, know_ids: bool) -> None:
        kept = [living_codes(segment, alive) for segment, alive in versions]
        merged, place = self._compiler.merge([segment for segment, _ in versions], kept)
        if know_ids:
            _ = merged.codes
        with self._lock:
            new = Live(merged)
            before = 0
            for live, (_, alive), codes in zip(lives, versions, kept, strict=True):
                died = live.died_since(alive)
                if len(died):
                    new.kill(place[before + np.searchsorted(codes, died)])
                before += len(codes)
            rest = [live for live in self._lives if live not in lives]
            self._lives = [new, *rest] if new.size else rest
            if self._apart in lives:
                self._apart = None

    # -- files

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Write all subscriptions to a file, or replace one as a whole; `flush` comes first.

        Whoever has opened the file before keeps what was in it. Subscriptions that other threads
        change meanwhile are saved as they were before or after.

        >>> from tempfile import TemporaryDirectory
        >>> index = Index()
        >>> index.add("alice", "price < :limit", limit=10.0)
        >>> with TemporaryDirectory() as folder:
        ...     index.save(f"{folder}/rules.index")
        ...     Index.open(f"{folder}/rules.index").match({"price": 9.5})
        ['alice']
        """
        self.flush()
        with self._lock:
            version = tuple(live.version() for live in self._lives)
            pending, kind = list(self._pending.values()), self._kind
        if pending:
            version = (*version, (self._compiled([], pending), ALL_ALIVE))
        kept = [living_codes(segment, alive) for segment, alive in version]
        segment = None
        if len(version) == 1 and len(kept[0]) == len(version[0][0]):
            segment = version[0][0]
        elif any(len(codes) for codes in kept):  # somebody has changed something since
            segment = self._compiler.merge([each for each, _ in version], kept)[0]
        index_file.write(path, index_file.Saved(self.schema, kind, segment))

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], /, *, read_only: bool = False, apart: bool = False
    ) -> "Index":
        """The index that was saved in a file, which is mapped into memory and never written.

        Changes are kept in memory, beside what is mapped; an index opened `read_only` refuses them.
        When there are many, all of it is merged into a new index in memory; not so what is opened
        `apart`, for processes that share the file's memory: it stays mapped until `flush`.
        A file that is damaged, foreign or of another version is an `IndexFileError`; what cannot be
        seen without reading everything is found by the first match.

        >>> Index.open("nowhere")
        Traceback (most recent call last):
        ...
        tidegate.errors.IndexFileError: there is no file nowhere
        """
        saved = index_file.read(path)
        index = cls(saved.schema)
        index._kind = saved.kind
        if saved.segment is not None:
            index._lives.append(Live(saved.segment))
            index._size = len(saved.segment)
            index._apart = index._lives[0] if apart else None
        index._read_only = read_only
        return index

    # -- matching

    def match(self, event: Mapping[str, Any], /) -> Matches:
        """The ids of the subscriptions that want the event; a sequence like a list."""
        if not isinstance(event, Mapping):
            raise TidegateError(
                f"an event is a mapping of attributes, not a {type(event).__name__}"
            )
        with self._lock:
            version = tuple(live.version() for live in self._lives)
            pending = list(self._pending.values()) if len(self._pending) <= _FEW else None
        if pending is None:
            version, pending = self._version(), []
        strange: dict[str, str] = {}
        found = [
            (segment.ids, segment.single.match(event, alive, strange)) for segment, alive in version
        ]
        if strange or pending:
            self._count_strange(event, strange, version, pending)
        return Matches(found, [each.id for each in pending if each.bound.matches(event)])

    def _count_strange(
        self,
        event: Mapping[str, Any],
        strange: dict[str, str],
        version: Version,
        pending: list[Subscription],
    ) -> None:
        """Count the values that no predicate compares with, of any segment or pending one."""
        compared: dict[str, set[str]] = {}
        for each in pending:
            for predicate in predicates(each.bound.tree):
                lines = compared.setdefault(predicate.attribute, set())
                lines |= compared_lines(predicate, self.schema)
        for attribute in compared:
            own = own_line(attribute, self.schema)
            place = place_of(event, attribute, self.schema, own)
            if place is not None:
                strange[attribute] = place[0].name
        for attribute, line in strange.items():
            known = compared.get(attribute, set()).union(
                *[segment.compared.get(attribute, ()) for segment, _ in version]
            )
            if line not in known:
                self._count_incomparable({attribute: 1})

    def match_batch(self, batch: Any, /) -> pa.Table:
        """Which event meets which subscription, as pairs of an event's row and an id.

        A batch is an Arrow table or what speaks Arrow, a data frame, or a list of mappings; or what
        `engine.events.encoded_batch.encode` made of one, for several indexes to share. The ids are
        dictionary-encoded; within each chunk of the table, pairs are grouped by event.
        """
        version = self._version()
        encoded = self._encoded(batch, version)
        events, subscriptions = [], []
        for segment, alive in version:
            for rows, ids in segment.pairs(encoded, alive):
                events.append(rows)
                subscriptions.append(ids)
        kind = pa.dictionary(pa.int32(), pa.int64() if self._kind is int else pa.string())
        return pa.table(
            {
                "event": pa.chunked_array(events, pa.int32()),
                "subscription": pa.chunked_array(subscriptions, kind),
            }
        )

    def count_batch(self, batch: Any, /) -> NDArray[np.int64]:
        """How many subscriptions each event meets."""
        version = self._version()
        encoded = self._encoded(batch, version)
        counts = np.zeros(encoded.size, np.int64)
        for segment, alive in version:
            counts += segment.count(encoded, alive)
        return counts

    def explain(self, id: Id, event: Mapping[str, Any], /) -> Explanation:
        """Why the subscription wants the event, or does not."""
        return self.get(id).bound.explain(event)

    def _encoded(self, batch: Any, version: Version) -> EncodedBatch:
        if not isinstance(batch, EncodedBatch):
            encoded = encode(batch, self.schema)
        elif batch.batch.schema == self.schema:
            encoded = batch
        else:
            raise TidegateError("the batch was read under another schema than the index has")
        compared: dict[str, set[str]] = {}
        for segment, _ in version:
            for attribute, lines in segment.compared.items():
                compared.setdefault(attribute, set()).update(lines)
        found = {
            attribute: sum(
                len(stretch.rows)
                for stretch in encoded.column(attribute).stretches
                if stretch.line.name not in lines
            )
            for attribute, lines in compared.items()
        }
        self._count_incomparable(found)
        return encoded

    def _count_incomparable(self, found: Mapping[str, int]) -> None:
        with self._lock:
            for attribute, count in found.items():
                if count:
                    self._incomparable[attribute] = self._incomparable.pop(attribute, 0) + count
                    if len(self._incomparable) > _COUNTED:
                        del self._incomparable[next(iter(self._incomparable))]

    @property
    def incomparable(self) -> dict[str, int]:
        """Per attribute, how many values of events were of a family no predicate compares with.

        Of the 4,096 attributes on which such values came last.
        """
        with self._lock:
            return dict(self._incomparable)

    def describe(self) -> Description:
        """How many subscriptions sit in which structure, the memory of each, and of the caches."""
        with self._lock:
            lives, pending = list(self._lives), len(self._pending)
        structures: list[Structure] = []
        for live in lives:
            structures += live.segment.structures()
        removed = sum(live.dead for live in lives)
        known, shapes = self._compiler.meanings, kept(self.schema)
        caches = (
            Cache("what predicates mean", len(known), known.nbytes, MOST_BYTES),
            Cache(
                "shapes of texts, for all indexes", len(shapes), shapes.nbytes, shapes.most_bytes
            ),
        )
        found = tuple(structures)
        return Description(self._size, found, len(lives), pending, removed, MOST, caches)

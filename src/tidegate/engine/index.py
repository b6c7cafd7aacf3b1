"""Which subscriptions does an event meet? The index people use.

Its parts are `changes.content`, what is in it now: a few immutable segments and the subscriptions
added since; `changes.writer` and `changes.editor`, by which subscriptions come, change and go;
`changes.merger`, which compiles what is new and keeps the segments few, in a thread of its own; and
`file.index_file`, by which it is saved and opened. What is here is how events are matched with all
of that.

Threads: any number may read (`match`, `match_batch`, `count_batch`, `get`, …), and one may write at
a time; writers that come together wait for each other, readers for no longer than it takes to note
a change, or to merge small segments if there are too many. A change has taken effect when its call
returns.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.changes.content import Content, Version
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.changes.writer import Writer
from tidegate.engine.compile.compiler import Compiler
from tidegate.engine.conditions.meaning_cache import MOST_BYTES
from tidegate.engine.description import Cache, Description, Structure
from tidegate.engine.events.encoded_batch import EncodedBatch, encode
from tidegate.engine.file import index_file
from tidegate.engine.segments.live import MOST, Live
from tidegate.engine.segments.segment import Segment, compared_lines
from tidegate.engine.single.single_events import own_line, place_of
from tidegate.engine.subscriptions.matches import Matches
from tidegate.engine.subscriptions.subscription import Block, Id, Subscription
from tidegate.errors import TidegateError
from tidegate.filters.evaluate import Explanation
from tidegate.filters.expression import predicates
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.shapes import kept

_PENDING_ONE_BY_ONE: Final = 16  # pending subscriptions that a single event is compared with
_COUNTED: Final = 4_096  # attributes whose incomparable values are counted


class CodedPairs(NamedTuple):
    """Pairs of an event's row and the place of a subscription's id among those of a segment."""

    segment: Segment
    rows: NDArray[np.int32]
    codes: NDArray[np.int32]


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
        self._compiler = Compiler(schema)
        self._content = Content()
        self._merger = SegmentMerger(self._content, self._compiler)
        self._writer = Writer(self._content, self._merger, schema)
        self._incomparable: dict[str, int] = {}

    # -- what is in it

    def __len__(self) -> int:
        return self._content.size

    def __contains__(self, id: object) -> bool:
        return self._content.has(id)

    def get(self, id: Id, /) -> Subscription:
        """The subscription of that id; an unknown one is a `SubscriptionError`."""
        return self._content.get(id)

    # -- changes

    def add(self, id: Id, filter: str | Filter, /, **parameters: Any) -> None:
        """Add a subscription; every parameter of the filter must be given, None is NULL.

        A filter is a text, or what `parse` made of one under the index's schema.
        """
        self._writer.add(id, filter, parameters)

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
        self._writer.add_many(table, filter)

    def add_together(self, blocks: Sequence[Block], filters: Mapping[Id, Filter], /) -> None:
        """Add blocks, and filters without parameters under their ids: all of them, or none.

        All are compiled together, if they are many.

        >>> from tidegate import parse
        >>> index = Index()
        >>> index.add_together([], {"a": parse("price < 5"), "b": parse("price < 9")})
        >>> index.match({"price": 7})
        ['b']
        """
        self._writer.add_together(blocks, filters)

    def update(self, id: Id, /, **parameters: Any) -> None:
        """Change parameters of a subscription, all of them at once; the others stay."""
        self._writer.update(id, parameters)

    def update_many(self, table: pa.Table | pa.RecordBatch, /) -> None:
        """Change the parameters a table has columns for, of the ids in it: all rows, or none.

        A cell is the new value of its row's parameter, a null sets it to NULL. Filters may have
        different parameters: of one that a row's filter does not have, the cell has to be null, and
        changes nothing; any other value there is a `ParameterError`. An id that is unknown, or
        there twice, is a `SubscriptionError`. Nothing is returned.
        """
        self._writer.update_many(table)

    def remove(self, id: Id, /) -> None:
        """Remove a subscription."""
        self._writer.editor.remove(id)

    def remove_many(self, ids: Iterable[Id] | pa.Array, /) -> None:
        """Remove subscriptions: all of them, or none if one is unknown."""
        self._writer.editor.remove_many(ids)

    def flush(self) -> None:
        """Compile what is pending and merge everything into one segment, now.

        Where each subscription is kept is decided anew. Never needed, but a good moment may be
        known to the caller: after many changes, before saving.
        """
        self._writer.editor.flush()

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
        kind = self._content.kind
        index_file.write(path, index_file.Saved(self.schema, kind, self._merger.whole()))

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
        content = index._content
        content.kind = saved.kind
        if saved.segment is not None:
            content.lives.append(Live(saved.segment))
            content.size = len(saved.segment)
            index._merger.apart = content.lives[0] if apart else None
        index._writer.editor.read_only = read_only
        return index

    # -- matching

    def match(self, event: Mapping[str, Any], /) -> Matches:
        """The ids of the subscriptions that want the event; a sequence like a list."""
        found, pending = self.match_codes(event)
        return Matches([(segment.ids, codes) for segment, codes in found], pending)

    def match_codes(
        self, event: Mapping[str, Any], /
    ) -> tuple[list[tuple[Segment, NDArray[np.int32]]], list[Id]]:
        """The same as places among the ids of segments; and ids that are in no segment yet."""
        if not isinstance(event, Mapping):
            raise TidegateError(
                f"an event is a mapping of attributes, not a {type(event).__name__}"
            )
        content = self._content
        with content.lock:
            version = content.versions()
            few = len(content.pending) <= _PENDING_ONE_BY_ONE
            pending = list(content.pending.values()) if few else None
        if pending is None:
            version, pending = self._merger.version(), []
        strange: dict[str, str] = {}
        found = [
            (segment, segment.single.match(event, alive, strange)) for segment, alive in version
        ]
        if strange or pending:
            self._count_strange(event, strange, version, pending)
        return found, [each.id for each in pending if each.bound.matches(event)]

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
        version = self._merger.version()
        encoded = self._encoded(batch, version)
        events, subscriptions = [], []
        for segment, alive in version:
            for rows, ids in segment.pairs(encoded, alive):
                events.append(rows)
                subscriptions.append(ids)
        kind = pa.dictionary(pa.int32(), pa.int64() if self._content.kind is int else pa.string())
        return pa.table(
            {
                "event": pa.chunked_array(events, pa.int32()),
                "subscription": pa.chunked_array(subscriptions, kind),
            }
        )

    def match_coded(self, batch: Any, /) -> "list[CodedPairs]":
        """The same as arrays: for each segment that is met, rows, and places among its ids.

        A segment's ids never change: what is worked out about them can be kept beside it.
        """
        version = self._merger.version()
        encoded = self._encoded(batch, version)
        return [
            CodedPairs(segment, rows.to_numpy(), codes.to_numpy())
            for segment, alive in version
            for rows, codes in segment.coded_pairs(encoded, alive)
        ]

    def count_batch(self, batch: Any, /) -> NDArray[np.int64]:
        """How many subscriptions each event meets."""
        version = self._merger.version()
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
        with self._content.lock:
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
        with self._content.lock:
            return dict(self._incomparable)

    def describe(self) -> Description:
        """How many subscriptions sit in which structure, the memory of each, and of the caches."""
        content = self._content
        with content.lock:
            lives, pending, size = list(content.lives), len(content.pending), content.size
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
        return Description(size, found, len(lives), pending, removed, MOST, caches)

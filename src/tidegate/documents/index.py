"""Which subscriptions does a document meet? The index people use.

Subscriptions are XPath expressions. They are compiled into a few immutable segments
(`matching.segment`), and the bookkeeping of segments, of what is pending and what is removed is
that of the index of attributes (`engine.changes`): a change has taken effect when its call returns,
readers work on one whole version from beginning to end, and what is new is merged aside.

A document that cannot be read meets nobody. `match` raises the reason; `match_batch` and
`count_batch` raise the first one, or take a dictionary for the rows and reasons of all.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.documents import index_file
from tidegate.documents.explanation import DocumentExplanation, explain
from tidegate.documents.matching.compiler import Compiler
from tidegate.documents.matching.segment import Segment
from tidegate.documents.matching.trees import Trees, tree_of
from tidegate.documents.matching.writer import Writer
from tidegate.documents.reading.documents import Documents
from tidegate.documents.reading.limits import LIMITS, Limits
from tidegate.documents.reading.reader import Reader
from tidegate.documents.reading.rows import Rows, rows_of
from tidegate.documents.xpath import XPath
from tidegate.engine.changes.content import Content
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.description import Description, Structure
from tidegate.engine.segments.live import MOST, Live
from tidegate.engine.subscriptions.matches import Matches
from tidegate.engine.subscriptions.subscription import Id, Subscription
from tidegate.errors import DocumentError

_PENDING_ONE_BY_ONE: Final = 16  # pending subscriptions that a single document is compared with
_DOCUMENTS: Final = 256  # that are read at a time
_BYTES: Final = 2**20


class CodedPairs(NamedTuple):
    """Pairs of a document's row and the place of a subscription's id among those of a segment."""

    segment: Segment
    rows: NDArray[np.int32]
    codes: NDArray[np.int32]


class DocumentIndex:
    """Subscriptions to documents, and which of them a document meets.

    `namespaces` gives the URIs of the prefixes in filters that come as texts.

    >>> index = DocumentIndex()
    >>> index.add("alice", "//quote[symbol = 'IBM'][price < $limit]", limit=10)
    >>> index.match("<quote><symbol>IBM</symbol><price>9.5</price></quote>")
    ['alice']
    >>> index.update("alice", limit=8)
    >>> index.match("<quote><symbol>IBM</symbol><price>9.5</price></quote>")
    []
    """

    def __init__(
        self, *, namespaces: Mapping[str, str] | None = None, limits: Limits = LIMITS
    ) -> None:
        self.namespaces = dict(namespaces or {})
        self.limits = limits
        self._content = Content()
        self._merger = SegmentMerger(self._content, cast(Any, Compiler()))
        self._writer = Writer(self._content, self._merger, self.namespaces)
        self._readers: list[Reader] = []

    # -- what is in it

    def __len__(self) -> int:
        return self._content.size

    def __contains__(self, id: object) -> bool:
        return self._content.has(id)

    def get(self, id: Id, /) -> Subscription:
        """The subscription of that id; its `filter` is an `XPath`."""
        return self._content.get(id)

    # -- changes

    def add(self, id: Id, filter: str | XPath, /, **parameters: Any) -> None:
        """Add a subscription; every parameter of the filter must be given.

        A filter is a text, or what `parse_xpath` made of one.
        """
        self._writer.add(id, filter, parameters)

    def add_many(
        self, table: pa.Table | pa.RecordBatch, /, filter: str | XPath | None = None
    ) -> None:
        """Add the subscriptions of a table: all of them, or none if one is refused.

        The columns are `id`, `filter` (a text; not if all rows have the filter given here), and
        the parameters by name. Equal texts are read once.

        >>> index = DocumentIndex()
        >>> index.add_many(pa.table({"id": ["a", "b"], "filter": ["/a/b", "//c"]}))
        >>> index.match("<a><c/></a>")
        ['b']
        """
        self._writer.add_many(table, filter)

    def update(self, id: Id, /, **parameters: Any) -> None:
        """Change parameters of a subscription, all of them at once; the others stay."""
        self._writer.update(id, parameters)

    def update_many(self, table: pa.Table | pa.RecordBatch, /) -> None:
        """Change the parameters a table has columns for, of the ids in it: all rows, or none.

        A cell is the new value of its row's parameter, also a null. Of a parameter that a row's
        filter does not have, the cell has to be null, and changes nothing.

        >>> index = DocumentIndex()
        >>> index.add("a", "//a[b < $limit]", limit=1)
        >>> index.update_many(pa.table({"id": ["a"], "limit": [10]}))
        >>> index.match("<a><b>9</b></a>")
        ['a']
        """
        self._writer.update_many(table)

    def remove(self, id: Id, /) -> None:
        """Remove a subscription."""
        self._writer.editor.remove(id)

    def remove_many(self, ids: Iterable[Id] | pa.Array, /) -> None:
        """Remove subscriptions: all of them, or none if one is unknown."""
        self._writer.editor.remove_many(ids)

    def flush(self) -> None:
        """Compile what is pending and merge everything into one segment, now."""
        self._writer.editor.flush()

    # -- files

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Write all subscriptions to a file, or replace one as a whole; `flush` comes first.

        >>> from tempfile import TemporaryDirectory
        >>> index = DocumentIndex()
        >>> index.add("alice", "//a[b < $limit]", limit=10)
        >>> with TemporaryDirectory() as folder:
        ...     index.save(f"{folder}/patterns.index")
        ...     DocumentIndex.open(f"{folder}/patterns.index").match("<a><b>9</b></a>")
        ['alice']
        """
        self.flush()
        whole = cast(Segment | None, self._merger.whole())
        index_file.write(path, self.namespaces, self._content.kind, whole)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        /,
        *,
        read_only: bool = False,
        limits: Limits = LIMITS,
    ) -> "DocumentIndex":
        """The index that was saved in a file, which is mapped into memory and never written.

        A file that is damaged, foreign or of another version is an `IndexFileError`.
        """
        namespaces, kind, segment = index_file.read(path)
        index = cls(namespaces=namespaces, limits=limits)
        content = index._content
        content.kind = kind
        if segment is not None:
            content.lives.append(Live(cast(Any, segment)))
            content.size = len(segment)
        index._writer.editor.read_only = read_only
        return index

    # -- matching

    def match(self, document: bytes | str, /) -> Matches:
        """The ids of the subscriptions that want the document; a sequence like a list."""
        rows = rows_of([document])
        content = self._content
        with content.lock:
            version = content.versions()
            few = len(content.pending) <= _PENDING_ONE_BY_ONE
            pending = list(content.pending.values()) if few else None
        if pending is None:
            version, pending = self._merger.version(), []
        with self._reader() as reader:
            documents = reader.read(rows)
            if documents.refused:
                raise DocumentError(f"the document cannot be read: {documents.refused[0]}")
            trees = Trees(documents)
            found = []
            for segment, alive in cast(Any, version):
                _, codes = segment.pairs(documents, trees, alive, 0)
                found.append((segment.ids, codes.to_numpy()))
            others = [
                each.id
                for each in pending
                if any(trees.matches(p, 0) for p in cast(Any, each.bound).patterns)
            ]
        return Matches(found, others)

    def match_batch(self, documents: Any, /, refused: dict[int, str] | None = None) -> pa.Table:
        """Which document meets which subscription, as pairs of a document's row and an id.

        Documents are a list, or a column of an Arrow table of type binary or string; or what a
        `Reader` has read, so that several indexes can be asked for one reading. Those that cannot
        be read are put into `refused`, by row and with the reason; without it, the first one is a
        `DocumentError`. The ids are dictionary-encoded; within each chunk of the table, pairs are
        grouped by document.

        >>> index = DocumentIndex()
        >>> index.add("a", "//a")
        >>> index.match_batch(["<b/>", "<b><a/></b>"]).to_pydict()
        {'event': [1], 'subscription': ['a']}
        """
        events, subscriptions = [], []
        for segment, rows, codes in self._pairs(documents, refused):
            events.append(rows)
            subscriptions.append(pa.DictionaryArray.from_arrays(codes, segment.ids, safe=False))
        kind = pa.dictionary(pa.int32(), pa.int64() if self._content.kind is int else pa.string())
        return pa.table(
            {
                "event": pa.chunked_array(events, pa.int32()),
                "subscription": pa.chunked_array(subscriptions, kind),
            }
        )

    def match_coded(
        self, documents: Any, /, refused: dict[int, str] | None = None
    ) -> "list[CodedPairs]":
        """The same as arrays: for each segment that is met, rows, and places among its ids.

        A segment's ids never change: what is worked out about them can be kept beside it.
        """
        return [
            CodedPairs(segment, rows.to_numpy(), codes.to_numpy())
            for segment, rows, codes in self._pairs(documents, refused)
        ]

    def count_batch(
        self, documents: Any, /, refused: dict[int, str] | None = None
    ) -> NDArray[np.int64]:
        """How many subscriptions each document meets; `refused` as for `match_batch`."""
        given = _read_or_rows(documents)
        version = cast(Any, self._merger.version())
        counts = np.zeros(len(given), np.int64)
        for before, block, trees in self._blocks(given, refused):
            for segment, alive in version:
                counts[before : before + len(block)] += segment.count(block, trees, alive)
        return counts

    def explain(self, id: Id, document: bytes | str, /) -> DocumentExplanation:
        """Why the subscription wants the document, or does not."""
        subscription = self.get(id)
        with self._reader() as reader:
            documents = reader.read(rows_of([document]))
            if documents.refused:
                raise DocumentError(f"the document cannot be read: {documents.refused[0]}")
            return explain(cast(Any, subscription.bound), tree_of(documents, 0))

    def describe(self) -> Description:
        """How many subscriptions sit in which structure, and the memory of each."""
        content = self._content
        with content.lock:
            lives, pending, size = list(content.lives), len(content.pending), content.size
        structures: list[Structure] = []
        for live in lives:
            structures += live.segment.structures()
        removed = sum(live.dead for live in lives)
        return Description(size, tuple(structures), len(lives), pending, removed, MOST)

    def _pairs(
        self, documents: Any, refused: dict[int, str] | None
    ) -> Iterator[tuple[Segment, pa.Array, pa.Array]]:
        """Pairs of a document's row and a place among the ids of a segment, as they are found."""
        version = cast(Any, self._merger.version())
        for before, block, trees in self._blocks(_read_or_rows(documents), refused):
            for segment, alive in version:
                rows, codes = segment.pairs(block, trees, alive, before)
                if len(rows):
                    yield segment, rows, codes

    def _blocks(
        self, given: Rows | Documents, refused: dict[int, str] | None
    ) -> Iterator[tuple[int, Documents, Trees]]:
        """The documents a few at a time, read: how many came before, they, and their trees."""
        with self._reader() as reader:
            for before, documents in _blocks(given, reader):
                for row, reason in documents.refused.items():
                    if refused is None:
                        raise DocumentError(
                            f"the document in row {before + row} cannot be read: {reason}"
                        )
                    refused[before + row] = reason
                yield before, documents, Trees(documents)

    @contextmanager
    def _reader(self) -> Iterator[Reader]:
        """A reader that nobody else uses meanwhile."""
        with _readers:
            reader = self._readers.pop() if self._readers else None
        if reader is None:
            reader = Reader(self.limits)
        try:
            yield reader
        finally:
            with _readers:
                self._readers.append(reader)


_readers = threading.Lock()


def _read_or_rows(documents: Any) -> Rows | Documents:
    return documents if isinstance(documents, Documents) else rows_of(documents)


def _blocks(given: Rows | Documents, reader: Reader) -> Iterator[tuple[int, Documents]]:
    """Documents that are read, a few at a time, and how many came before."""
    if isinstance(given, Documents):
        yield 0, given
        return
    for before, block in given.blocks(_DOCUMENTS, _BYTES):
        yield before, reader.read(block)

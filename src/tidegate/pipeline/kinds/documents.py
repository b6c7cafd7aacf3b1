"""What are filters on XML documents to the pipeline?

Of each event, one column is a document, as text or as bytes. It is read once (`Reader`), a few
documents at a time, and what was read is matched with all shards. A document that cannot be read
makes the event malformed, with the reason.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.documents.index import DocumentIndex
from tidegate.documents.reading.documents import Documents as Read
from tidegate.documents.reading.reader import Reader
from tidegate.documents.reading.rows import rows_of
from tidegate.errors import SchemaError, TidegateError
from tidegate.pipeline.events.letter_case import differing
from tidegate.pipeline.events.malformed import ERROR, checked, quoted
from tidegate.pipeline.kinds.kind import Judged
from tidegate.pipeline.shards import pattern_plan
from tidegate.pipeline.store import load_index
from tidegate.pipeline.store.language import XML, Parsed
from tidegate.pipeline.store.literals import Rows
from tidegate.pipeline.store.pattern_language import PatternLanguage
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TOGETHER: Final = 256  # documents that are read at once
_BYTES: Final = 2**20  # of these, unless one has more
_NO_ROWS: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Documents:
    """Filters on documents; `column` is where events have theirs."""

    namespaces: Mapping[str, str] = field(default_factory=dict)
    column: str = ""
    name = XML

    @classmethod
    def of(cls, store: Store, events: "DataFrame", document: str | None) -> "Documents":
        """The kind of a store's filters, for these events."""
        if document is None:
            raise TidegateError(
                f"the store {store.path} has patterns for documents: say document=, the column of "
                "the events that has them"
            )
        _require_column(events, document)
        language = store.language
        assert isinstance(language, PatternLanguage)
        return cls(language.namespaces, document)

    @classmethod
    def compiled(cls, spelled: Any) -> "Documents":
        """The kind of a base."""
        return cls(dict(spelled["namespaces"]))

    def spelled(self) -> Any:
        """The namespaces: documents have no schema."""
        return {"kind": XML, "namespaces": dict(self.namespaces)}

    def new_index(self) -> DocumentIndex:
        """An empty index."""
        return DocumentIndex(namespaces=self.namespaces)

    def open_index(self, path: str | os.PathLike[str]) -> DocumentIndex:
        """The index in a file."""
        return DocumentIndex.open(path)

    def add(
        self, index: Any, numbers: pa.Array, filters: pa.Array, parameters: pa.Array
    ) -> load_index.Refused:
        """Add stored subscriptions."""
        return load_index.add(index, self._outline, numbers, filters, parameters)

    def _outline(self, text: str) -> Parsed:
        """A filter, read only if it may have parameters: the index reads the others itself."""
        return PatternLanguage(self.namespaces).read(text) if "$" in text else _PLAIN

    def plan(
        self, filters: pa.Array, parameters: pa.Array, count: int, events: pa.Table | None
    ) -> pattern_plan.PatternPlan:
        """Patterns that ask for the same seldom thing are together."""
        return pattern_plan.plan(filters, parameters, PatternLanguage(self.namespaces), count)

    def summary(self, filters: pa.Array, parameters: pa.Array, plan: Any) -> list[str]:
        """What a document must have for anybody to want it."""
        return pattern_plan.summary(filters, parameters, plan)

    def prepared(
        self, events: "DataFrame", columns: Sequence[str], corrupt: str | None
    ) -> "DataFrame":
        """The document and what comes out, and no other columns."""
        needed = dict.fromkeys([*columns, self.column, ERROR])
        return checked(events, None, corrupt).select(*map(quoted, needed))

    def warn(self, events: "DataFrame", refusals: Sequence[str]) -> None:
        """There is nothing to be misspelled."""

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A few documents, or one that is large."""
        lengths = pc.binary_length(batch.column(self.column)).fill_null(0)
        before = np.concatenate([_NO_ROWS, [0], np.cumsum(lengths.to_numpy(zero_copy_only=False))])
        start = 0
        while start < len(batch):
            fitting = int(np.searchsorted(before, before[start] + _BYTES, "right")) - 1
            stop = max(start + 1, min(fitting, start + _TOGETHER, len(batch)))
            yield batch.slice(start, stop - start)
            start = stop

    def judge(self, piece: pa.RecordBatch) -> Judged:
        """Documents that cannot be read are malformed."""
        errors = piece.column(ERROR)
        events = piece.drop_columns([ERROR])
        known = errors.is_valid()
        wrong, said = events.filter(known), errors.drop_null()
        if len(wrong):
            events = events.filter(pc.invert(known))
        read = self.read(events)
        refused = read.refused
        if refused:
            rows = pa.array(list(refused), pa.int64())
            wrong = pa.concat_batches([wrong, events.take(rows)])
            reasons = [f"{self.column}: {reason}" for reason in refused.values()]
            said = pa.concat_arrays([said, pa.array(reasons, pa.string())])
            read.leave_out(rows.to_numpy())
        return read, wrong, said

    def read(self, events: Any) -> "DocumentEvents":
        """Documents, read when somebody asks for what is in them."""
        return DocumentEvents(events, self.column)


class DocumentEvents:
    """Events with a document each.

    What was read is in the memory of a reader that all events of this process share, so it is read
    again if others were in between.
    """

    __slots__ = ("_column", "_kept", "_read", "events")

    def __init__(self, events: pa.RecordBatch, column: str) -> None:
        self.events = events
        self._column = events.column(column)
        self._read: Read | None = None
        self._kept: Rows | None = None  # the rows that are left of those that were read

    @property
    def refused(self) -> dict[int, str]:
        """The documents that cannot be read, and why."""
        return self._documents().refused

    def leave_out(self, rows: Rows) -> None:
        """Go on without some of the events."""
        left = np.ones(len(self.events), np.bool_)
        left[rows] = False
        self._kept = np.flatnonzero(left)
        self.events = self.events.filter(pa.array(left))

    def met(self, index: DocumentIndex, rows: Rows | None = None) -> tuple[Rows, Rows]:
        """Rows of events, and the numbers that they meet."""
        found = index.match_batch(self._documents(), {})
        events, numbers = [_NO_ROWS], [_NO_ROWS]
        for met, own in zip(found["event"].chunks, found["subscription"].chunks, strict=True):
            events.append(met.to_numpy())
            numbers.append(own.dictionary.to_numpy()[own.indices.to_numpy()])
        places, ids = np.concatenate(events), np.concatenate(numbers)
        if self._kept is not None:
            places = np.searchsorted(self._kept, places)
        if rows is None or len(rows) == len(self.events):
            return places, ids
        chosen = np.zeros(len(self.events), np.bool_)
        chosen[rows] = True
        here = chosen[places]
        return places[here], ids[here]

    def counts(self, index: DocumentIndex, rows: Rows | None = None) -> Rows:
        """How many each event meets."""
        counts = index.count_batch(self._documents(), {})
        if self._kept is not None:
            counts = counts[self._kept]
        return counts if rows is None else counts[rows]

    def _documents(self) -> Read:
        memory = _memory()
        if self._read is None or memory.owner is not self:
            self._read = memory.read(self._column, self)
        return self._read


class _Memory:
    """The memory that documents are read into, and whose they are now."""

    def __init__(self) -> None:
        self._reader = Reader()
        self.owner: DocumentEvents | None = None

    def read(self, column: pa.Array, owner: DocumentEvents) -> Read:
        self.owner = owner
        return self._reader.read(rows_of(column))


@cache
def _memory() -> _Memory:
    """That of this process."""
    return _Memory()


@dataclass(frozen=True, slots=True)
class _Plain:
    """A filter of which only this is known."""

    parameters: tuple[str, ...] = ()


_PLAIN: Final = _Plain()


def _require_column(events: "DataFrame", name: str) -> None:
    """Refuse a column that has no documents."""
    if events.columns.count(name) != 1:
        alike = differing([name], events.columns)
        hint = f"; there is {alike[name]!r}, and case counts" if alike else ""
        said = "more than one column" if name in events.columns else "no column"
        raise SchemaError(
            f"the events have {said} {name!r}{hint}; they have {', '.join(events.columns)}"
        )
    found = events.schema[name].dataType.simpleString()
    if found not in ("string", "binary"):
        raise SchemaError(f"documents are of type string or binary, and {name} is of type {found}")

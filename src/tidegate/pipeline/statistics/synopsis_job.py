"""Which paths do documents have, all over a cluster?

A synopsis is a sum over documents (`documents.synopsis`): every task makes one of its own, a few
tasks merge these, and the driver what is left of them. With a budget, each is compressed before it
is sent, so that a row is bounded, whatever the documents; then frequencies are estimates where
paths were merged.

Only what Spark Connect has, too, is used.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tidegate.documents.synopsis import Synopsis
from tidegate.errors import DocumentError, TidegateError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MERGERS: Final = 4  # tasks that put together what the others have made


@dataclass(frozen=True)
class Seen:
    """A synopsis of documents, and how many could not be read."""

    synopsis: Synopsis
    unreadable: int


def synopsis_of(events: "DataFrame", document: str, budget: int | None = None) -> Seen:
    """The synopsis of the documents in a column, of text or bytes; NULL is no document."""
    if document not in events.columns:
        known = ", ".join(events.columns)
        raise TidegateError(f"there is no column {document!r}, but {known}")
    column = events.select(f"`{document.replace('`', '``')}`").toDF("document")
    partial = column.mapInArrow(_Make(budget), "synopsis string, unreadable bigint")
    merged = partial.repartition(_MERGERS).mapInArrow(_Merge(budget), partial.schema).toArrow()
    return _merged(merged.to_batches(), budget)


@dataclass(frozen=True, slots=True)
class _Make:
    """What a task does with documents."""

    budget: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        synopsis, unreadable = Synopsis(), 0
        for batch in batches:
            for document in batch.column(0).to_pylist():
                if document is None:
                    continue
                try:
                    synopsis.add(document)
                except DocumentError:
                    unreadable += 1
        yield _row(synopsis, unreadable, self.budget)


@dataclass(frozen=True, slots=True)
class _Merge:
    """What a task does with what others have made."""

    budget: int | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = _merged(batches, self.budget)
        yield _row(seen.synopsis, seen.unreadable, self.budget)


def _merged(batches: "Iterator[pa.RecordBatch] | list[pa.RecordBatch]", budget: int | None) -> Seen:
    synopsis, unreadable = Synopsis(), 0
    for batch in batches:
        for row in batch.to_pylist():
            synopsis.merge(Synopsis.read(json.loads(row["synopsis"])))
            unreadable += row["unreadable"]
    if budget is not None:
        synopsis.compress(budget)
    return Seen(synopsis, unreadable)


def _row(synopsis: Synopsis, unreadable: int, budget: int | None) -> pa.RecordBatch:
    if budget is not None:
        synopsis.compress(budget)
    text = json.dumps(synopsis.plain(), separators=(",", ":"))
    return pa.record_batch(
        {"synopsis": pa.array([text]), "unreadable": pa.array([unreadable], pa.int64())}
    )

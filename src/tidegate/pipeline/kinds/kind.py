"""What does every kind of filters have to say?

The pipeline reads rows of a store, compiles them to shards, reads events, and asks who wants them.
How each of these is done hangs on what filters are on: a `Kind` says it, and nothing else in the
pipeline knows which kinds there are. (What a filter is to the store, its `Language` says.)

A kind is made for the events of one query: it knows their schema, or the column that documents are
in. It is immutable and small, and goes to every task.
"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.pipeline.store.literals import Rows
from tidegate.pipeline.store.load_index import FilterIndex, Refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class KindIndex(FilterIndex, Protocol):
    """An index of filters of one kind, whose ids are numbers."""

    def __len__(self) -> int: ...

    def __contains__(self, id: object) -> bool: ...

    def remove_many(self, ids: Any, /) -> None:
        """Remove subscriptions."""

    def save(self, path: str | os.PathLike[str], /) -> None:
        """Write all of it to a file."""


class Plan(Protocol):
    """Which shards subscriptions belong to; picklable and small."""

    def shards(self, ids: pa.Array, filters: pa.Array, parameters: pa.Array) -> NDArray[np.int32]:
        """The shards of stored subscriptions, one for each row."""


class ReadEvents(Protocol):
    """Some events, read once, so that several indexes can be asked about them."""

    @property
    def events(self) -> Any:
        """The events: what has as many rows."""

    def met(self, index: Any, rows: Rows | None = None) -> tuple[Rows, Rows]:
        """Rows of events, or of some of them, and the numbers that they meet in an index."""

    def counts(self, index: Any, rows: Rows | None = None) -> Rows:
        """How many subscriptions of an index each event meets, or each of some."""


Judged = tuple[ReadEvents, pa.RecordBatch, pa.Array]
"""Events that can be matched; the others, and what is wrong with each of these."""


class Kind(Protocol):
    """A kind of filters, for events that are alike."""

    @property
    def name(self) -> str:
        """The kind's own, as stores and bases have it."""

    def spelled(self) -> Any:
        """What filters are compiled for, in writing: equal if the same base serves."""

    # -- subscriptions

    def new_index(self) -> KindIndex:
        """An empty index."""

    def open_index(self, path: str | os.PathLike[str]) -> KindIndex:
        """The index in a file, mapped; it may be changed, the file is not."""

    def add(
        self, index: Any, numbers: pa.Array, filters: pa.Array, parameters: pa.Array
    ) -> Refused:
        """Add stored subscriptions under these numbers; those that were refused, and why."""

    def plan(
        self, filters: pa.Array, parameters: pa.Array, count: int, events: pa.Table | None
    ) -> Plan:
        """How to split subscriptions, of which this is a sample, into so many shards."""

    def summary(self, filters: pa.Array, parameters: pa.Array, plan: Any) -> list[str]:
        """A few filters without parameters that cover the subscriptions of a shard."""

    # -- events, on the driver

    def prepared(
        self, events: "DataFrame", columns: Sequence[str], corrupt: str | None
    ) -> "DataFrame":
        """The events as tasks get them, with a column `ERROR`; these columns come out."""

    def warn(self, events: "DataFrame", refusals: Sequence[str]) -> None:
        """Point out what is hardly meant, of events and of what was refused for them."""

    # -- events, in a task

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A batch as pieces of which each can be read at once."""

    def judge(self, piece: pa.RecordBatch) -> Judged:
        """Read events with a column `ERROR`, and tell apart those that are malformed."""

    def read(self, events: Any) -> ReadEvents:
        """Read events that are known not to be malformed."""

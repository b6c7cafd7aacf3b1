"""What are filters on attributes to the pipeline?

Events are records of a schema: the store's, to whose types their values are cast, or that of the
events themselves. Their columns are encoded once for all shards.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tidegate.engine.events.encoded_batch import encode
from tidegate.engine.index import Index
from tidegate.errors import TidegateError
from tidegate.filters.filter import parse
from tidegate.filters.notation import read_schema, spell_schema
from tidegate.filters.schema import Schema
from tidegate.pipeline.events.letter_case import warn_of_case
from tidegate.pipeline.events.malformed import checked, sound
from tidegate.pipeline.kinds.kind import Judged
from tidegate.pipeline.shards import shard_plan, summaries
from tidegate.pipeline.store import load_index
from tidegate.pipeline.store.language import ATTRIBUTES
from tidegate.pipeline.store.literals import Rows
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Attributes:
    """Filters on attributes."""

    schema: Schema
    declared: bool = False  # by the store, so that events are cast to it
    name = ATTRIBUTES

    @classmethod
    def of(cls, store: Store, events: "DataFrame", document: str | None) -> "Attributes":
        """The kind of a store's filters, for these events."""
        if document is not None:
            raise TidegateError(
                f"the store {store.path} has filters on attributes, not on documents: leave "
                "document= out, or keep patterns in a store with kind='xml'"
            )
        return cls(store.schema or Schema(events.schema), store.schema is not None)

    @classmethod
    def compiled(cls, spelled: Any) -> "Attributes":
        """The kind of a base."""
        return cls(read_schema(spelled))

    def spelled(self) -> Any:
        """The schema."""
        return spell_schema(self.schema)

    def new_index(self) -> Index:
        """An empty index."""
        return Index(self.schema)

    def open_index(self, path: str | os.PathLike[str]) -> Index:
        """The index in a file."""
        return Index.open(path, apart=True)

    def add(
        self, index: Any, numbers: pa.Array, filters: pa.Array, parameters: pa.Array
    ) -> load_index.Refused:
        """Add stored subscriptions."""
        read = partial(parse, schema=self.schema)
        return load_index.add(index, read, numbers, filters, parameters)

    def plan(
        self, filters: pa.Array, parameters: pa.Array, count: int, events: pa.Table | None
    ) -> shard_plan.Plan:
        """Cut the space of events where that tells most subscriptions apart."""
        return shard_plan.plan(filters, parameters, self.schema, count, events)

    def summary(self, filters: pa.Array, parameters: pa.Array, plan: Any) -> list[str]:
        """Boxes that cover all of them."""
        return [str(f) for f in summaries.summary(filters, parameters, self.schema, plan)]

    def prepared(
        self, events: "DataFrame", columns: Sequence[str], corrupt: str | None
    ) -> "DataFrame":
        """All columns, cast to the types of the store's schema."""
        return checked(events, self.schema if self.declared else None, corrupt)

    def warn(self, events: "DataFrame", refusals: Sequence[str]) -> None:
        """Point out names that differ only in case."""
        warn_of_case(events, self.schema if self.declared else None, refusals, stacklevel=4)

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """All at once."""
        yield batch

    def judge(self, piece: pa.RecordBatch) -> Judged:
        """Those that violate the schema are malformed."""
        events, wrong, errors = sound(piece, self.schema)
        return self.read(events), wrong, errors

    def read(self, events: Any) -> "EncodedEvents":
        """Encode events."""
        return EncodedEvents(events, self.schema)


class EncodedEvents:
    """Events whose columns are encoded when the first index asks for them."""

    __slots__ = ("_shared", "events")

    def __init__(self, events: Any, schema: Schema) -> None:
        self.events = events
        self._shared = encode(events, schema)

    def met(self, index: Index, rows: Rows | None = None) -> tuple[Rows, Rows]:
        """Rows of events, and the numbers that they meet."""
        if rows is None:
            return _met(index, self._shared)
        found, numbers = _met(index, self.events.take(pa.array(rows)))
        return rows[found], numbers

    def counts(self, index: Index, rows: Rows | None = None) -> Rows:
        """How many each event meets."""
        if rows is None:
            return index.count_batch(self._shared)
        return index.count_batch(self.events.take(pa.array(rows)))


def _met(index: Index, events: Any) -> tuple[Rows, Rows]:
    found = index.match_batch(events)
    rows = [np.empty(0, np.int64)]
    numbers = [np.empty(0, np.int64)]
    for events_met, own in zip(found["event"].chunks, found["subscription"].chunks, strict=True):
        rows.append(events_met.to_numpy())
        numbers.append(own.dictionary.to_numpy()[own.indices.to_numpy()])
    return np.concatenate(rows), np.concatenate(numbers)

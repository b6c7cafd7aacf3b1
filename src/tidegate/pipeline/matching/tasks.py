"""What does a task do that matches events?

Spark gives it batches of events and takes batches of rows back. There are three kinds: `InPlace`
matches events where they are; `Route` sends them to shards, and `AtShard` matches what was sent
there. All find their matcher by a `Source`, which says what the run uses, or has the micro-batch
pin it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from tidegate.errors import StoreError, TidegateError
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.matching.matcher import Matcher, matcher
from tidegate.pipeline.matching.notifications import Form, Notifier
from tidegate.pipeline.matching.routing import SHARD, SLOT, Router
from tidegate.pipeline.store import pins
from tidegate.pipeline.store.store import Store

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a task finds what it matches with, and the columns of what it is given."""

    store: str
    events: str  # the fingerprint of their schema
    version: int | None
    base: str | None
    shards: int | None
    names: tuple[str, ...]

    def matcher(self) -> Matcher:
        """The matcher of the version that the run, or the micro-batch, uses."""
        version, base = self.version, self.base
        if version is None or base is None:
            query, batch = _micro_batch()
        if version is None:
            version = pins.known(self.store, query, batch)
        if version is None:
            version = pins.pin(self.store, query, batch, Store.open(self.store).version())
        if base is None:
            newest = partial(self._newest, version)
            base = pins.choose(self.store, query, batch, self.events, newest)
        return matcher(self.store, base, version)

    def _newest(self, version: int) -> str:
        base = catalog.newest(self.store, self.events, version, self.shards)
        if base is None:
            raise StoreError(
                f"version {version} of the store {self.store} is not compiled for these events"
            )
        return base.name


def _micro_batch() -> tuple[str, int]:
    """The query and the batch that this task is of."""
    from pyspark import TaskContext

    context = TaskContext.get()
    query = context and context.getLocalProperty(_QUERY)
    batch = context and context.getLocalProperty(_BATCH)
    if not query or not batch:
        raise TidegateError(
            "Spark does not say which micro-batch this is: use tidegate.pipeline.match_stream"
        )
    return query, int(batch)


@dataclass(frozen=True, slots=True)
class InPlace:
    """What a task does that matches events where they are."""

    source: Source
    output: Form
    columns: tuple[str, ...]  # of the events that come out

    def __call__(self, batches: Batches) -> Batches:
        notifier = Notifier(self.source.matcher(), self.output, self.columns)
        for batch in batches:
            yield from notifier.notify(batch.rename_columns(list(self.source.names)))


@dataclass(frozen=True, slots=True)
class Route:
    """What a task does that sends events to shards."""

    source: Source
    partitions: int
    once: bool  # whether one row is owed for each event

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        router = Router(
            self.source.matcher(),
            self.partitions,
            once=self.once,
            turn=0 if context is None else context.partitionId(),
        )
        names = list(self.source.names)
        for batch in batches:
            for sent in router.route(batch.rename_columns(names)):
                yield sent.select([*names, SHARD, SLOT]).rename_columns(
                    [*batch.schema.names, SHARD, SLOT]
                )


@dataclass(frozen=True, slots=True)
class AtShard:
    """What a task does that matches events with the shard that each was sent to, as pairs."""

    source: Source
    columns: tuple[str, ...]

    def __call__(self, batches: Batches) -> Batches:
        notifier = Notifier(self.source.matcher(), "pairs", self.columns)
        for batch in batches:
            yield from notifier.arrived(batch.rename_columns([*self.source.names, SHARD, SLOT]))

"""What does a task do that matches events?

Spark gives it batches of events and takes batches of rows back. There are three kinds: `InPlace`
matches events where they are; `Route` sends them to shards, and `AtShard` matches what was sent
there. All find their matcher by the `Run` that they are part of. That of a streaming `match` names
no version: then the first task that asks pins one for its micro-batch, and all others read that
(`run`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from tidegate.pipeline.matching.notifications import Notifier
from tidegate.pipeline.matching.routing import SHARD, SLOT, Router
from tidegate.pipeline.matching.run import Run

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class InPlace:
    """What a task does that matches events where they are."""

    run: Run
    names: tuple[str, ...]  # of the columns that it is given

    def __call__(self, batches: Batches) -> Batches:
        wanted = self.run.wanted
        notifier = Notifier(self.run.find_matcher(), wanted.kind, wanted.output, wanted.columns)
        for batch in batches:
            yield from notifier.notify(batch.rename_columns(list(self.names)))


@dataclass(frozen=True, slots=True)
class Route:
    """What a task does that sends events to shards."""

    run: Run
    names: tuple[str, ...]  # of the columns that it is given
    partitions: int

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        router = Router(
            self.run.find_matcher(),
            self.run.wanted.kind,
            self.partitions,
            once=self.run.wanted.output != "pairs",
            turn=0 if context is None else context.partitionId(),
        )
        names = list(self.names)
        for batch in batches:
            for sent in router.route(batch.rename_columns(names)):
                yield sent.select([*names, SHARD, SLOT]).rename_columns(
                    [*batch.schema.names, SHARD, SLOT]
                )


@dataclass(frozen=True, slots=True)
class AtShard:
    """What a task does that matches events with the shard that each was sent to, as pairs."""

    run: Run
    names: tuple[str, ...]  # of the columns that it is given, but for those of the shard

    def __call__(self, batches: Batches) -> Batches:
        wanted = self.run.wanted
        notifier = Notifier(self.run.find_matcher(), wanted.kind, "pairs", wanted.columns)
        for batch in batches:
            yield from notifier.arrived(batch.rename_columns([*self.names, SHARD, SLOT]))

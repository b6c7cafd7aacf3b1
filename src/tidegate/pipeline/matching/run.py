"""What does a caller want, and with which subscriptions does a run match?

`Wanted` is what the caller said. The driver makes it once, of the arguments, and it goes as it is
to every micro-batch and every task. A `Run` is one use of it: a batch DataFrame has one, a stream
one for each micro-batch. It says which version of the store is matched, and by which base, or
leaves that to the pin of the micro-batch.

**Who pins a micro-batch.** All that is run of it, and run again, must match one version by one base
(`store.pins`), so whoever is first decides for all:

- in `match_stream`, the driver, which Spark calls for each micro-batch: it knows the base when it
  plans the batch, and need not have tasks ask;
- in a streaming `match`, the first task that asks, because that function only gives a DataFrame
  back: the query is the caller's, and the driver does nothing of ours when a micro-batch begins.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from tidegate.errors import StoreError, TidegateError
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.kinds.kind import Kind
from tidegate.pipeline.matching.matcher import Matcher, kept_matcher
from tidegate.pipeline.matching.notifications import Form
from tidegate.pipeline.store import pins
from tidegate.pipeline.store.store import Store

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to match events with, and what should come out."""

    store: str  # its path
    kind: Kind  # of the filters, for these events
    output: Form
    columns: tuple[str, ...]  # of the events that come out
    corrupt: str | None
    shards: int | None = None  # that a base must have, if that matters


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is wanted, at a version and by a base that is there already."""

    wanted: Wanted
    version: int | None = None  # None: the one that the micro-batch has pinned
    base: str | None = None  # its name; None: the one that the micro-batch has chosen
    sent_to: int = 0  # the shards that events are sent to; 0: they are matched where they are

    def find_matcher(self) -> Matcher:
        """In a task: the worker's matcher, of the version that all tasks of the run use."""
        store, version, base = self.wanted.store, self.version, self.base
        if version is None or base is None:
            query, batch = _micro_batch()
        if version is None:
            version = pins.known(store, query, batch)
        if version is None:
            version = pins.pin(store, query, batch, Store.open(store).version())
        if base is None:
            events = catalog.fingerprint(self.wanted.kind)
            base = pins.choose(store, query, batch, events, partial(self._newest, events, version))
        return kept_matcher(store, base, version)

    def _newest(self, events: str, version: int) -> str:
        base = catalog.newest(self.wanted.store, events, version, self.wanted.shards)
        if base is None:
            shards = "" if self.wanted.shards is None else f" and shards={self.wanted.shards}"
            raise StoreError(
                f"version {version} of the store {self.wanted.store} is not compiled for these "
                f"events: match some of them in a batch with version={version}{shards}, which "
                "compiles it, and start the query again"
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

"""How does a version of the store become a base?

A Spark job reads the version's Parquet files, folds all changes to one id into its state, and sorts
by id. A small store becomes one shard, in one task (`shard_builder`). Of a large one, a sample is
taken first, and with what is known of past events (`statistics`) a plan is made of which
subscriptions belong together (`shards`); rows are sent to their shards, and each shard is
built, and summarised, by a task of its own. The driver sees the sample, the summaries and the
manifest.
"""

import ctypes
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.pipeline.bases import catalog
from tidegate.pipeline.bases.catalog import Base
from tidegate.pipeline.bases.shard_builder import ROWS, Builder, Built
from tidegate.pipeline.kinds.kind import Kind, Plan
from tidegate.pipeline.statistics import statistics
from tidegate.pipeline.store import spark_reader
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY: Final = 20_000
"""Changes since a base that are worth a new one."""
ALONE: Final = 2_000_000
"""Subscriptions that are one shard, unless some number of shards is asked for."""
EACH: Final = 500_000
"""Subscriptions of a shard, on average, where there are more: the largest may have four times that,
and takes a gigabyte of memory for each million when it is built."""

_SHARD: Final = "shard"
_PLACED: Final = (
    f"id string, subscriber string, filter string, parameters map<string, string>, {_SHARD} int"
)
_BUILT: Final = f"{_SHARD} int, built string"


def compile_base(
    store: Store, spark: "SparkSession", kind: Kind, version: int, count: int | None = None
) -> Base:
    """Compile a version for events of one kind; the base that is there already, if there is.

    It has `count` shards, or as many as its size calls for.
    """
    known = catalog.newest(store.path, catalog.fingerprint(kind), version, count)
    if known is not None and known.version == version:
        return known
    started = time.time()
    if count is None:
        most = store.most(version)
        count = 1 if most <= ALONE else math.ceil(most / EACH)
    events, plan = None, None
    if count > 1:
        past = statistics.latest(store)
        events = None if past is None else past.sample
        few = spark_reader.sample(spark, store, version)
        columns = few["filter"].combine_chunks(), few["parameters"].combine_chunks()
        plan = kind.plan(*columns, count, events)
    builder = Builder(store.path, catalog.new_name(version, kind), version, kind, plan)
    rows = spark_reader.state(spark, store, version)
    if plan is None:
        placed = rows.selectExpr("*", f"0 AS {_SHARD}").coalesce(1)
    else:
        placed = rows.mapInArrow(_Place(plan), _PLACED).repartitionById(count, _SHARD)
    said = placed.sortWithinPartitions("id").mapInArrow(_Build(builder), _BUILT).toArrow()
    built = {
        shard: Built.read(json.loads(text))
        for shard, text in zip(*said.to_pydict().values(), strict=True)
    }
    for empty in set(range(count)).difference(built):
        built[empty] = builder.shard(empty, [])
    base = builder.base([built[shard] for shard in range(count)], events, started)
    return catalog.publish(store.path, base)


@dataclass(frozen=True, slots=True)
class _Place:
    """What a task does that says which shards subscriptions go to."""

    plan: Plan

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = pa.Table.from_batches([batch]).cast(ROWS).combine_chunks()
            columns = [rows[name].combine_chunks() for name in ("id", "filter", "parameters")]
            numbers = self.plan.shards(*columns)
            yield from rows.append_column(_SHARD, pa.array(numbers, pa.int32())).to_batches()


@dataclass(frozen=True, slots=True)
class _Build:
    """What a task does that builds shards, mostly one."""

    builder: Builder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        built = self._built([pa.Table.from_batches([batch]) for batch in batches])
        _give_back()
        for shard, each in built.items():
            said = {_SHARD: pa.array([shard], pa.int32()), "built": [json.dumps(asdict(each))]}
            yield pa.RecordBatch.from_pydict(said)

    def _built(self, tables: list[pa.Table]) -> dict[int, Built]:
        """The shards that rows are of; the list is emptied."""
        own = {shard for table in tables for shard in pc.unique(table[_SHARD]).to_pylist()}
        found = {}
        for shard in sorted(own):
            rows = [_of(shard, table) for table in tables]
            if len(own) == 1:
                tables.clear()
            found[shard] = self.builder.shard(shard, rows)
        return found


def _of(shard: int, table: pa.Table) -> pa.Table:
    """The rows of a shard, without the column that says which one it is."""
    where = pc.equal(table[_SHARD], shard)
    return (table if pc.all(where).as_py() else table.filter(where)).drop_columns([_SHARD])


def _give_back() -> None:
    """Give the memory that is free back to the system: the worker goes on to match."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # not every C library has it
        if trim is not None:
            trim(0)


def ensure_base(
    store: Store,
    spark: "SparkSession",
    kind: Kind,
    version: int,
    most: float = MANY,
    count: int | None = None,
) -> Base:
    """A base by which a version can be matched: one with few changes since, or a new one."""
    known = catalog.newest(store.path, catalog.fingerprint(kind), version, count)
    if known is not None and (
        math.isinf(most) or changes_since(store, known.version, version) <= most
    ):
        return known
    return compile_base(store, spark, kind, version, count)


def changes_since(store: Store, before: int, version: int) -> int:
    """How many changes the versions after one and up to another made."""
    commits = store.history(store.version() - before)
    return sum(
        each.added + each.updated + each.removed
        for each in commits
        if before < each.version <= version
    )


class KeepCompiled:
    """A thread that compiles a new base whenever many changes have come since the last one."""

    def __init__(
        self,
        store: Store,
        spark: "SparkSession",
        kind: Kind,
        *,
        shards: int | None = None,
        changes: int = MANY,
        seconds: float = 5.0,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.spark = spark
        self._store, self._kind = store, kind
        self._shards = shards
        self._changes, self._seconds = changes, seconds
        self._alive = alive  # whether anybody still needs new bases
        self._enough = threading.Event()
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="tidegate-compile", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._enough.wait(self._seconds) and self._alive():
            try:
                if self.lag()[1] > self._changes:
                    version = self._store.version()
                    compile_base(self._store, self.spark, self._kind, version, self._shards)
                self.error = None
            except Exception as error:  # matching goes on with the old base
                self.error = error

    def lag(self) -> tuple[int, int]:
        """The versions and the changes since the newest base."""
        version = self._store.version()
        fingerprint = catalog.fingerprint(self._kind)
        base = catalog.newest(self._store.path, fingerprint, version, self._shards)
        since = -1 if base is None else base.version
        return version - since, changes_since(self._store, since, version)

    def end(self) -> None:
        """Have the thread end when it is done with what it does."""
        self._enough.set()

    def stop(self) -> None:
        """Have the thread end, and wait for that."""
        self.end()
        self._thread.join(timeout=60)

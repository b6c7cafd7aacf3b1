"""How does a version of the store become a base?

A Spark job reads the version's Parquet files, folds all changes to one id into its state, sorts by
id, and in one task parses and checks the filters against the schema of the events, builds the index
(subscriptions of the same filter share an entry there), and writes the files of a base (`bases`).
The driver only sees the manifest.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tidegate.engine.index import Index
from tidegate.filters.schema import Schema
from tidegate.pipeline import bases, loading
from tidegate.pipeline.bases import Base
from tidegate.pipeline.objects import is_remote
from tidegate.pipeline.rows import SCHEMA
from tidegate.pipeline.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANY: Final = 20_000
"""Changes since a base that are worth a new one."""

_TASKS: Final = 64  # that fetch the files of a remote store, at most
_ROWS: Final = 10_000  # of a batch that they give to Spark

_STATE: Final = """
SELECT id, made.subscriber, made.filter, now.parameters FROM (
  SELECT id,
         max_by(struct(subscriber, filter), struct(version, place))
           FILTER (WHERE change = 'add') AS made,
         max_by(struct(change, parameters), struct(version, place)) AS now
  FROM {changes} GROUP BY id)
WHERE now.change <> 'remove'
"""


def compile_base(store: Store, spark: "SparkSession", schema: Schema, version: int) -> Base:
    """Compile a version for events of a schema; the base that is there already, if there is."""
    events = bases.fingerprint(schema)
    known = bases.newest(store.path, events, version)
    if known is not None and known.version == version:
        return known
    build = _builder(store.path, version, schema)
    if not store.files(version):
        (said,) = build(iter(()))
        return bases.from_manifest(json.loads(said["manifest"][0].as_py()))
    rows = state(spark, store, version).coalesce(1).sortWithinPartitions("id")
    (row,) = rows.mapInArrow(build, "manifest string").collect()
    return bases.from_manifest(json.loads(row["manifest"]))


def ensure_base(
    store: Store, spark: "SparkSession", schema: Schema, version: int, most: float = MANY
) -> Base:
    """A base by which a version can be matched: one with few changes since, or a new one."""
    known = bases.newest(store.path, bases.fingerprint(schema), version)
    if known is not None and (
        math.isinf(most) or changes_since(store, known.version, version) <= most
    ):
        return known
    return compile_base(store, spark, schema, version)


def changes_since(store: Store, before: int, version: int) -> int:
    """How many changes the versions after one and up to another made."""
    commits = store.history(store.version() - before)
    return sum(
        each.added + each.updated + each.removed
        for each in commits
        if before < each.version <= version
    )


def state(spark: "SparkSession", store: Store, version: int) -> "DataFrame":
    """The subscriptions of a version, from its files."""
    if is_remote(store.path):
        return spark.sql(_STATE, changes=_fetched(spark, store, version))
    return spark.sql(_STATE, changes=spark.read.parquet(*store.files(version)))


def _fetched(spark: "SparkSession", store: Store, version: int) -> "DataFrame":
    """The changes in the files of a version, which workers read as the store does.

    Spark itself would need an address of its own (`s3a`), and libraries and credentials for it.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    path, count = store.path, len(store.files(version))

    def fetch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        opened = Store.open(path)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from opened.rows(version, number).to_batches(max_chunksize=_ROWS)

    numbers = spark.range(0, count, 1, min(count, _TASKS))
    return numbers.mapInArrow(fetch, from_arrow_schema(SCHEMA))


def _builder(
    store: str, version: int, schema: Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from tidegate.pipeline.spelling import PARAMETERS

        started = time.time()
        empty = pa.schema(
            {
                "id": pa.string(),
                "subscriber": pa.string(),
                "filter": pa.string(),
                "parameters": PARAMETERS,
            }
        ).empty_table()
        tables = [empty, *(pa.Table.from_batches([b]).cast(empty.schema) for b in batches)]
        rows = pa.concat_tables(tables).combine_chunks()
        index = Index(schema)
        refused = loading.add(
            index,
            pa.array(np.arange(len(rows))),
            rows["filter"].combine_chunks(),
            rows["parameters"].combine_chunks(),
        )
        names = rows.select(["id", "subscriber"]).combine_chunks()
        reasons = [f"{names['id'][number].as_py()}: {error}" for number, error in refused]
        base = bases.write(store, version, schema, index, names, reasons, started)
        yield pa.RecordBatch.from_pydict({"manifest": [json.dumps(asdict(base))]})

    return build


class KeepCompiled:
    """A thread that compiles a new base whenever many changes have come since the last one."""

    def __init__(
        self,
        store: Store,
        spark: "SparkSession",
        schema: Schema,
        *,
        changes: int = MANY,
        seconds: float = 5.0,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.spark = spark
        self._store, self._schema = store, schema
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
                    compile_base(self._store, self.spark, self._schema, self._store.version())
                self.error = None
            except Exception as error:  # matching goes on with the old base
                self.error = error

    def lag(self) -> tuple[int, int]:
        """The versions and the changes since the newest base."""
        version = self._store.version()
        base = bases.newest(self._store.path, bases.fingerprint(self._schema), version)
        since = -1 if base is None else base.version
        return version - since, changes_since(self._store, since, version)

    def end(self) -> None:
        """Have the thread end when it is done with what it does."""
        self._enough.set()

    def stop(self) -> None:
        """Have the thread end, and wait for that."""
        self.end()
        self._thread.join(timeout=60)

"""How does Spark read a version of the store?

As the Parquet files that the version has, folded into the state of each subscription: a job, so
that no process has to hold all of it. Who only wants to see what subscriptions are like takes a
sample.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tidegate.pipeline.store.change_files import SCHEMA
from tidegate.pipeline.store.objects import is_remote
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SAMPLED: Final = 200_000
"""Subscriptions of a sample, about."""

_TASKS: Final = 64  # that fetch the files of a remote store, at most
_FETCHED: Final = 10_000  # rows of a batch that they give to Spark

_STATE: Final = """
SELECT id, made.subscriber, made.filter, now.parameters FROM (
  SELECT id,
         max_by(struct(subscriber, filter), struct(version, place))
           FILTER (WHERE change = 'add') AS made,
         max_by(struct(change, parameters), struct(version, place)) AS now
  FROM {changes} GROUP BY id)
WHERE now.change <> 'remove'
"""


def state(spark: "SparkSession", store: Store, version: int) -> "DataFrame":
    """The subscriptions of a version, from its files."""
    changes = _changes(spark, store, version)
    if store.only_added(version):
        return changes.select("id", "subscriber", "filter", "parameters")
    return spark.sql(_STATE, changes=changes)


def sample(spark: "SparkSession", store: Store, version: int) -> pa.Table:
    """The filters and parameters of some subscriptions: those whose ids have certain hashes."""
    every = max(1, store.most(version) // SAMPLED)
    changes = _changes(spark, store, version).where(f"pmod(xxhash64(id), {every}) = 0")
    some = spark.sql(_STATE, changes=changes).toArrow()
    columns = {
        name: some[name].cast(SCHEMA.field(name).type).combine_chunks()
        for name in ("filter", "parameters")
    }
    return pa.table(columns)


def _changes(spark: "SparkSession", store: Store, version: int) -> "DataFrame":
    """The changes in the files of a version."""
    from pyspark.sql.pandas.types import from_arrow_schema

    files = store.files(version)
    if files and not is_remote(store.path):
        return spark.read.parquet(*files)
    # Spark itself would need an address of its own (`s3a`), and libraries and credentials for it
    numbers = spark.range(0, len(files), 1, min(max(len(files), 1), _TASKS))
    return numbers.mapInArrow(_Fetch(store.path, version), from_arrow_schema(SCHEMA))


@dataclass(frozen=True, slots=True)
class _Fetch:
    """What a task does that reads files of a remote store, as the store does."""

    store: str
    version: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        opened = Store.open(self.store)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = opened.rows(self.version, number)
                yield from rows.to_batches(max_chunksize=_FETCHED)

"""How does a workload become a Spark DataFrame of any size?

Tables of a stream (`lab.workloads.streams`) are made by tasks, each by its number: nothing passes
through the driver, nothing is kept in memory but one table for each task. Rows and their content
are the same whatever the number of partitions and executors; only the order in which Spark hands
them out is its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from tidegate.errors import LabError
from tidegate.lab.workloads.streams import ROWS, What, stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame(
    spark: "SparkSession",
    workload: str,
    what: What,
    count: int,
    *,
    seed: int = 1,
    partitions: int | None = None,
) -> "DataFrame":
    """So many events or subscriptions of a workload; one partition for each table if not said."""
    made = stream(workload)
    if what not in ("subscriptions", "events"):
        raise LabError(f"a workload has subscriptions and events, not {what!r}")
    if count < 0:
        raise LabError(f"a workload has 0 rows or more, not {count}")
    if partitions is not None and partitions < 1:
        raise LabError(f"there is 1 partition or more, not {partitions}")
    tables = -(-count // ROWS)
    schema = from_arrow_schema(made.table(what, 0, seed, 1).schema)
    numbers = spark.range(0, tables, 1, partitions or max(1, tables))
    return numbers.mapInArrow(_Make(workload, what, count, seed), schema)


@dataclass(frozen=True, slots=True)
class _Make:
    """What a task does with the numbers of tables."""

    workload: str
    what: What
    count: int
    seed: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = stream(self.workload)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rows = min(ROWS, self.count - number * ROWS)
                yield from made.table(self.what, number, self.seed, rows).to_batches()

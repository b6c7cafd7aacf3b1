"""A driver on a cluster, for tests in which executors are processes of their own, and die.

`python cluster_driver.py FOLDER MASTER` does in one application what `test_cluster` looks at, and
leaves what it found in the folder. Executors get nothing but the folder to share.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bench.processes import executor, mapping
from tests.pipeline import streams
from tidegate.errors import TidegateError
from tidegate.lab.workloads.trade import trade
from tidegate.pipeline import Store, match
from tidegate.pipeline.matching.sinks import Sink
from tidegate.pipeline.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RULES = 200_000
FEW = 1_000
BATCHES = 3
SIZE = 400  # events of a batch
SHARDS = 3
DEADLY = 1  # the batch in which an executor dies
OPTIONS: dict[str, str] = {
    # both executors are there before the first task
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    "spark.sql.files.maxPartitionBytes": "6k",  # several tasks for a file of events
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
SEEN = "executor bigint, place string, home string, temporary string"


def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Where a task was run, after it has matched."""
    for _ in batches:
        pass
    row = {
        "executor": executor(),
        "place": os.getcwd(),
        "home": os.environ["HOME"],
        "temporary": os.environ["TMPDIR"],
    }
    yield pa.RecordBatch.from_pylist([row])


@dataclass(frozen=True)
class Deadly:
    """A step after matching, in which the executor is killed once: the store changes before."""

    stream: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            number = batch.column("number")[0].as_py()
            if number // 1000 == DEADLY and number % 1000 >= SIZE // 2 and self._first():
                self._change()
                os.kill(executor(), signal.SIGKILL)
                time.sleep(60)

    def _change(self) -> None:
        from tests.pipeline import streams  # not in every worker: it loads the engine

        streams.add_some(streams.Stream(self.stream).store, "while-dying", 10)

    def _first(self) -> bool:
        mark = self.stream / "executor-was-killed"
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


@dataclass(frozen=True)
class Dying:
    """A sink before which an executor dies; the store changes after every batch."""

    stream: streams.Stream
    sink: Sink

    def require(self, columns: Sequence[str]) -> None:
        self.sink.require(columns)

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        self.sink.commit(dying(self.stream, notifications), query, batch)
        streams.add_some(self.stream.store, f"after-{batch}", 10)


@dataclass(frozen=True)
class Appending:
    """A sink that does not know about tasks that are run again."""

    stream: streams.Stream

    def require(self, columns: Sequence[str]) -> None:
        pass

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        step = Append(self.stream.folder / "out")
        appended = notifications.mapInArrow(step, notifications.schema)
        dying(self.stream, appended).write.format("noop").mode("overwrite").save()


@dataclass(frozen=True)
class Append:
    """Writes what a task is given as it comes."""

    folder: Path

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = batch.select(["number", "subscription", "subscriber", "version"])
            with (self.folder / f"{os.getpid()}.json").open("a") as out:
                out.writelines(json.dumps([*row.values()]) + "\n" for row in rows.to_pylist())
            yield batch


def dying(stream: streams.Stream, notifications: "DataFrame") -> "DataFrame":
    return notifications.mapInArrow(Deadly(stream.folder), notifications.schema)


def batch(spark: "SparkSession", folder: Path) -> None:
    """Match the events of a stream as a whole, and see who did it."""
    stream = streams.Stream(folder / "plain")
    events = spark.read.schema(streams.EVENTS).json(str(stream.events))
    match(events, stream.store, shards=SHARDS).write.parquet(str(stream.folder / "out"))
    tasks = match(events, stream.store).mapInArrow(seen, SEEN).collect()
    (folder / "tasks.json").write_text(json.dumps([task.asDict() for task in tasks]))


def from_a_frame(spark: "SparkSession", folder: Path) -> None:
    """Match subscriptions of a DataFrame, which have to be where executors see them."""
    events = spark.read.schema(streams.EVENTS).json(str(folder / "plain" / "events"))
    rules = spark.createDataFrame([("half", "price < 50")], "id string, filter string")
    try:
        match(events, rules)
    except TidegateError as error:
        (folder / "refused").write_text(str(error))
    match(events, rules, scratch=str(folder)).write.parquet(str(folder / "framed"))


def large(spark: "SparkSession", folder: Path) -> None:
    """Match by few rules, then by an index of some size; both were compiled elsewhere."""
    for name, count in (("few", FEW), ("many", RULES)):
        rules = trade(count, seed=3)
        store = Store.create(folder / name, rules.schema)
        store.add_many(rules.table())
        streams.write_base(store, schema=rules.schema)
        events = spark.createDataFrame(rules.events(2_000)).repartition(4)
        match(events, store, columns=[]).write.format("noop").mode("overwrite").save()
        found = [asdict(each) for each in mapping(f"{store.path}/bases/")]
        workers = [each for each in found if each["pid"] != os.getpid()]
        (folder / f"{name}.json").write_text(json.dumps(workers))


def into_a_folder(spark: "SparkSession", folder: Path) -> None:
    """`match_stream` into a Parquet folder."""
    stream = streams.Stream(folder / "folder")
    stream.run(spark, Dying(stream, stream.sink), shards=SHARDS)


def into_sparks_own(spark: "SparkSession", folder: Path) -> None:
    """`match` into Spark's own sink."""
    stream = streams.Stream(folder / "spark")
    found = dying(stream, match(stream.source(spark), stream.store, shards=SHARDS))
    writer = found.writeStream.format("parquet").option("path", str(stream.folder / "out"))
    writer = writer.option("checkpointLocation", str(stream.checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


def into_a_careless_sink(spark: "SparkSession", folder: Path) -> None:
    """`match_stream` into something that is not exactly once."""
    stream = streams.Stream(folder / "careless")
    (stream.folder / "out").mkdir()
    stream.run(spark, Appending(stream))


STEPS = (batch, from_a_frame, large, into_a_folder, into_sparks_own, into_a_careless_sink)


def main() -> None:
    folder, master = Path(sys.argv[1]), sys.argv[2]
    options: dict[str, Any] = {**OPTIONS}
    with session(master, "tidegate-test-cluster", **options) as spark:
        for step in STEPS:
            started = time.perf_counter()
            step(spark, folder)
            print(step.__name__, f"{time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()

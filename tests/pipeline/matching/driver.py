"""A driver that matches a stream, for tests in which it is killed.

`python driver.py FOLDER` runs the stream of that folder (`streams`) to its end, in a Spark of its
own; events may be documents. What is to go wrong is said by variables of the environment:

- `DIE` is `PLACE:BATCH`: the whole driver, Python and Java, is killed in this batch, when it is
  - `written`: pinned and matched, but not yet at its place in the sink, and the store has changed;
  - `delivered`: the sink has it, the store has changed, but Spark does not know;
  - `changing`: the sink has it, and the store is in the middle of a commit;
- `KILL_WORKER` is a batch: in its middle, one Python worker is killed, once.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.pipeline import streams
from tests.pipeline.kinds.document_streams import opened
from tidegate.pipeline import ParquetFolder
from tidegate.pipeline.matching import match
from tidegate.pipeline.matching.tasks import InPlace
from tidegate.pipeline.store import delta_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def session(folder: Path) -> SparkSession:
    builder = SparkSession.builder.master("local[2,4]").appName("tidegate-test-driver")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@dataclass
class Deadly:
    """A sink in which the driver dies."""

    stream: streams.Stream
    spark: SparkSession
    place: str
    batch: int

    def require(self, columns: Sequence[str]) -> None:
        self.stream.sink.require(columns)

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        here = batch == self.batch
        if here and self.place == "written":
            write = ParquetFolder._write

            def write_and_die(*arguments: Any) -> None:
                write(*arguments)
                self.change()
                self.die()

            ParquetFolder._write = write_and_die  # type: ignore[assignment,method-assign]
        self.stream.sink.commit(notifications, query, batch)
        if here and self.place == "changing":
            delta_log.ChangeLog.append = self.die  # type: ignore[method-assign, assignment]
        self.change()
        if here:
            self.die()

    def change(self) -> None:
        self.stream.add_some(f"after-{self.stream.store.version()}", 10)

    def die(self, *arguments: Any) -> None:
        gateway: Any = self.spark.sparkContext._gateway
        os.kill(gateway.proc.pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)


def kill_worker(folder: Path, in_batch: int) -> None:
    """Have the worker die that is the first to come to the middle of this batch."""
    whole = InPlace
    mark = folder / "worker-was-killed"

    def deadly(*arguments: Any) -> Any:
        run = whole(*arguments)

        def in_the_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for found in run(batches):
                yield found
                mine = found.column("number")[0].as_py() // 1000 == in_batch
                if mine and not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)

        return in_the_worker

    setattr(match, "InPlace", deadly)  # noqa: B010


def main() -> None:
    folder = Path(sys.argv[1])
    spark = session(folder)
    if "KILL_WORKER" in os.environ:
        kill_worker(folder, int(os.environ["KILL_WORKER"]))
    place, _, batch = os.environ.get("DIE", "nowhere:-1").partition(":")
    stream = opened(folder)
    stream.run(spark, Deadly(stream, spark, place, int(batch)))


if __name__ == "__main__":
    main()

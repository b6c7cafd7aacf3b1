"""What do several executors gain, share and survive?

One cluster of two executors in processes of their own, with a core each, on this machine. The same
application runs with one of them and with both; the best of several runs counts. By the clock on
the wall, what others do on the machine counts as well; the CPU time of all processes of the cluster
says what an event costs. Then one executor is killed in the middle of a job.
`python -m bench.scale_cluster` prints the figures.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import tidegate
from bench.figure import Figure
from bench.processes import cpu_seconds, executor, private_memory
from tidegate.lab.workloads.trade import Trade, trade
from tidegate.pipeline import Store
from tidegate.pipeline.bases import compile_job
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching.match import match
from tidegate.pipeline.spark.cluster import Cluster, cluster
from tidegate.pipeline.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

SEED = 11
RULES = 1_000_000
COUNTED = 400_000  # events that are counted
PAIRED = 8_000  # events whose 840 matches are delivered
FILES = 16  # of events, each a task
RUNS = 3
FORMS = ("counts", "pairs")


def figures(rules: int = RULES) -> Iterator[Figure]:
    """Throughput with one executor and with two, memory, and what a killed one costs."""
    with tempfile.TemporaryDirectory() as folder, cluster(executors=2) as running:
        case = _Case(Path(folder), trade(rules, SEED), running)
        with driver(running, 1) as spark:
            case.compile(spark)
            one = {form: case.speed(spark, form) for form in FORMS}
        with driver(running, 2) as spark:
            two = {form: case.speed(spark, form) for form in FORMS}
            for form in FORMS:
                yield from _beside(f"{case.title}, {form}, two executors", two[form], one[form])
            yield case.memory()
            yield case.killed(spark)


def _beside(title: str, two: _Speed, one: _Speed) -> Iterator[Figure]:
    note = "baseline: one executor; each has a core"
    yield Figure(
        title, two.per_second, one.per_second, two.per_second / one.per_second, "events/s", note
    )
    yield Figure(
        f"{title}, CPU",
        two.per_cpu_second,
        one.per_cpu_second,
        two.per_cpu_second / one.per_cpu_second,
        "events/CPU s",
        note,
    )


@dataclass(frozen=True)
class _Speed:
    """Events by the clock on the wall, and by the CPU time of the whole cluster."""

    per_second: float
    per_cpu_second: float


def driver(running: Cluster, executors: int) -> Any:
    """A session with so many of the executors, all there before the first task."""
    roots = [Path(__file__).parents[1], Path(tidegate.__file__).parents[1]]
    options: dict[str, Any] = {
        "spark.cores.max": executors,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.sql.files.openCostInBytes": 2**30,  # so that no task has two files
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(str, roots)),
    }
    return session(running.master, "tidegate-bench", **options)


class _Case:
    """Rules in a store, and events of theirs in files."""

    def __init__(self, place: Path, workload: Trade, running: Cluster) -> None:
        self.place, self.workload = place, workload
        self.daemons = [daemon.pid for daemon in running.daemons]
        self.title = f"trade, {len(workload):,} subscriptions"
        self.store = Store.create(place / "store", workload.schema)
        self.store.add_many(workload.table())
        self._write("counts", COUNTED)
        self._write("pairs", PAIRED)
        self._write("few", 100 * FILES)

    def _write(self, name: str, count: int) -> None:
        (self.place / name).mkdir()
        drawn = self.workload.events(count)
        drawn = drawn.append_column("event", pa.array(np.arange(count)))
        for part in range(FILES):
            own = drawn.slice(part * count // FILES, count // FILES)
            pq.write_table(own, self.place / name / f"{part}.parquet")

    def compile(self, spark: SparkSession) -> None:
        compile_job.compile_base(
            self.store, spark, Attributes(self.workload.schema), self.store.version()
        )

    def matched(self, spark: SparkSession, events: str, form: Any) -> DataFrame:
        found = spark.read.parquet(str(self.place / events))
        return match(found, self.store, output=form, columns=["event"])

    def speed(self, spark: SparkSession, form: str) -> _Speed:
        """The best of several runs, of workers that have mapped the index before."""
        _to_nowhere(self.matched(spark, "few", form))
        job = self.matched(spark, form, form)
        count = COUNTED if form == "counts" else PAIRED
        runs = [self._timed(job) for _ in range(RUNS)]
        wall, cpu = (min(taken) for taken in zip(*runs, strict=True))
        return _Speed(count / wall, count / cpu)

    def _timed(self, job: DataFrame) -> tuple[float, float]:
        """Seconds, and CPU seconds."""
        started, used = time.perf_counter(), cpu_seconds(self.daemons)
        _to_nowhere(job)
        return time.perf_counter() - started, cpu_seconds(self.daemons) - used

    def memory(self) -> Figure:
        """What a worker has for itself after matching."""
        return private_memory(self.title, Path(self.store.path) / "bases")

    def killed(self, spark: SparkSession) -> Figure:
        """How much longer a job takes when an executor is killed in its middle."""
        job = self.matched(spark, "pairs", "pairs")
        unharmed = _Deadly(self.place / "never", alive=True)
        deadly = _Deadly(self.place / "killed")
        rows = {}
        seconds = {}
        for step in (unharmed, deadly):
            found = job.mapInArrow(step, "rows bigint")
            started = time.perf_counter()
            rows[step] = sum(row.rows for row in found.collect())
            seconds[step] = time.perf_counter() - started
        assert deadly.mark.exists()
        assert rows[deadly] == rows[unharmed], "notifications were lost or came twice"
        return Figure(
            f"{self.title}, pairs, lost by a killed executor",
            seconds[deadly] - seconds[unharmed],
            None,
            None,
            "s",
            note=f"{seconds[deadly]:.1f} s instead of {seconds[unharmed]:.1f} s; "
            f"{rows[deadly]:,} notifications, as many as without",
        )


@dataclass(frozen=True)
class _Deadly:
    """Counts notifications; half through the tasks, one kills its executor, unless all live."""

    mark: Path
    alive: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        count = 0
        for batch in batches:
            count += len(batch)
            if context.partitionId() == FILES // 2 and not self.alive and not self.mark.exists():
                self.mark.touch()
                os.kill(executor(), signal.SIGKILL)
        yield pa.RecordBatch.from_pydict({"rows": [count]})


def _to_nowhere(found: DataFrame) -> None:
    found.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    for figure in figures(*map(int, sys.argv[1:])):
        print(str(figure).replace("\\", ""), flush=True)

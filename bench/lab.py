"""How does a grid of the lab spread over executors?

200 points of the rehearsal (`lab.experiments.rehearsal`: primes, some tenths of a second of CPU
time each) on a standalone cluster on this machine, of executors with a core each: with one of them,
and with two. The rows must be the same, and those of this process.

By the clock on the wall, so this is for an idle machine: what others do counts as well. Starting
Spark and its workers is left out, as for a grid of hours it is nothing.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figure import Figure
from bench.scale_cluster import driver
from tidegate.lab.experiments.rehearsal import REHEARSAL
from tidegate.lab.runner.job import run as run_grid
from tidegate.lab.runner.results import Results
from tidegate.pipeline.spark.cluster import cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tidegate.lab.experiments.experiment import Experiment

SCALE = "paper"
AIM = 1.7
RUNS = 2  # of which the shorter one counts


def run() -> Iterator[Figure]:
    """One executor, then two."""
    seconds: dict[int, float] = {}
    points = len(REHEARSAL.size(SCALE).points)
    for executors in (1, 2):
        with cluster(executors=executors) as running, driver(running, executors) as spark:
            seconds[executors] = min(taken(spark, REHEARSAL, SCALE) for _ in range(RUNS))
    ratio = seconds[1] / seconds[2]
    yield Figure(
        f"lab: {points} points on two executors",
        seconds[2],
        seconds[1],
        ratio,
        "s",
        note="baseline one executor; by the clock on the wall",
        aim=f"at least {AIM} times as fast",
        met=ratio >= AIM,
    )


def taken(spark: SparkSession, experiment: Experiment, scale: str) -> float:
    """How long a grid takes; its rows are compared with some of this process."""
    context, cores = spark.sparkContext, spark.sparkContext.defaultParallelism
    context.parallelize(range(cores), cores).map(_ready).collect()  # workers load the lab
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        ran = run_grid([experiment], scale, Path(folder))  # in the session that is there
        seconds = time.perf_counter() - started
        ran.check()
        size = experiment.size(scale)
        assert ran.computed == len(size.points) * len(size.seeds), "points are missing"
        rows = Results(Path(folder)).rows(experiment.name, scale)
        for point in (size.points[0], size.points[-1]):
            [row] = rows.where(**point)
            counted = experiment.measure(point, row["seed"])
            assert all(row[k] == v for k, v in counted.items() if k not in experiment.timings)
    return seconds


def _ready(number: int) -> int:
    return number + len(REHEARSAL.sizes)

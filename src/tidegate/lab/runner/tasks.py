"""What has to be computed, and how does one task do it?

A **task** is one point with one seed. What is there already is not computed again, as long as code
and data are the same; where they are not, nobody is left to guess: the run stops and says so,
unless it is told to keep the old rows or to compute them again. A point that raises is told with
its parameters and spoils no other.
"""

import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

from tidegate.errors import LabError
from tidegate.lab.experiments.experiment import BESIDE, Experiment, Point, narrowed
from tidegate.lab.runner.code import machine, version
from tidegate.lab.runner.results import Results, read

Old: TypeAlias = Literal["refuse", "keep", "again"]


@dataclass(frozen=True)
class Task:
    """One point of an experiment with one seed, and where its row goes."""

    experiment: Experiment
    scale: str
    point: Point
    seed: int
    path: Path

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.point.items())
        return f"{self.experiment.name} at {values}, seed {self.seed}"


@dataclass(frozen=True)
class Failure:
    """A point that raised."""

    task: str
    reason: str
    trace: str


def planned(
    experiments: Iterable[Experiment],
    scale: str,
    results: Results,
    *,
    only: Mapping[str, str] | None = None,
    seeds: int | None = None,
    old: Old = "refuse",
) -> tuple[list[Task], int]:
    """What is left to compute, and how many points are finished."""
    left, done = [], 0
    for experiment in experiments:
        size = experiment.size(scale)
        if only:
            size = narrowed(experiment.name, size, only)
        repeats = size.seeds if seeds is None else tuple(range(1, seeds + 1))
        every = [
            Task(experiment, scale, point, seed, results.path(experiment.name, scale, point, seed))
            for seed in repeats
            for point in size.points
        ]
        finished = [task for task in every if task.path.exists()]
        if old != "keep":
            stale = _stale(experiment, finished)
            if stale and old == "refuse":
                raise LabError(_changed(experiment, stale, len(every)))
            finished = [task for task in finished if task.path not in stale]
        kept = {task.path for task in finished}
        left += [task for task in every if task.path not in kept]
        done += len(kept)
    return left, done


def _stale(experiment: Experiment, tasks: Iterable[Task]) -> dict[Path, str]:
    """Rows that other code has computed, or from other data, and which."""
    rows = {task.path: read(task.path) for task in tasks}
    found = {path: _origin(row["version"], row["data"]) for path, row in rows.items()}
    return {path: own for path, own in found.items() if own != _here(experiment)}


def _here(experiment: Experiment) -> str:
    return _origin(version(), experiment.data())


def _origin(code: str, data: str) -> str:
    return f"{code} with {data}" if data else code


def _changed(experiment: Experiment, stale: Mapping[Path, str], points: int) -> str:
    others = ", ".join(sorted(set(stale.values())))
    return (
        f"{len(stale)} of {points} points of {experiment.name} were computed by other code "
        f"or from other data ({others}; this is {_here(experiment)}). They are kept. Say --old "
        "keep to go on with rows of both, which name where they are from, or --old again to "
        "compute them anew"
    )


def compute(task: Task, results: Results) -> Failure | None:
    """Compute a point and write its row; what went wrong, if something did."""
    start = time.perf_counter()
    try:
        row = dict(task.experiment.measure(task.point, task.seed))
        taken = sorted(set(row) & (BESIDE | set(task.point)))
        if taken:
            raise LabError(f"a row has its own {taken[0]}")
        beside = {
            "experiment": task.experiment.name,
            "scale": task.scale,
            "seed": task.seed,
            "version": version(),
            "data": task.experiment.data(),
            "machine": machine(),
            "seconds": time.perf_counter() - start,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "timings": sorted(task.experiment.timings),
        }
        results.write(task.path, {**task.point, **row, **beside})
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Failure(str(task), reason, traceback.format_exc())
    return None

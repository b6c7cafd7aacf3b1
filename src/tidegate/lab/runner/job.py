"""How does a grid become a Spark job?

One task for each point and seed, the last points of a grid first, because they tend to be the
largest. Tasks write their own rows (`results`), so the folder is one that the driver and all
executors share; the driver may be killed, and what is finished is there.

Spark gives each core one task at a time. So a timing is taken while nothing else of this run is on
its core, and it is CPU time: see `lab.stopwatch`.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tidegate.errors import LabError
from tidegate.lab.experiments.experiment import Experiment
from tidegate.lab.runner.results import Results
from tidegate.lab.runner.tasks import Failure, Old, compute, planned
from tidegate.pipeline.spark.session import failures, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Watch: TypeAlias = Callable[["SparkSession", int], AbstractContextManager[None]]
"""Shows, while a block runs, how many of so many tasks are done."""


@dataclass(frozen=True)
class Ran:
    """What a run has done."""

    computed: int
    before: int  # points that were finished already
    failures: tuple[Failure, ...]

    def check(self) -> None:
        """Raise if points have failed, naming them."""
        if not self.failures:
            return
        told = "\n".join(f"  {each.task}: {each.reason}" for each in self.failures)
        raise LabError(
            f"{len(self.failures)} of {self.computed + len(self.failures)} points failed; the "
            f"others are kept, and only these are computed when it is run again:\n{told}"
        )


def run(
    experiments: Iterable[Experiment],
    scale: str,
    folder: Path,
    *,
    master: str = "local[*]",
    only: Mapping[str, str] | None = None,
    seeds: int | None = None,
    old: Old = "refuse",
    watch: Watch = lambda spark, count: nullcontext(),
) -> Ran:
    """Compute what is missing, and say what has failed."""
    results = Results(folder.absolute())
    results.require_room()
    tasks, done = planned(experiments, scale, results, only=only, seeds=seeds, old=old)
    if not tasks:
        return Ran(0, done, ())
    with failures(), session(master, "tidegate lab") as spark, watch(spark, len(tasks)):
        found = (
            spark.sparkContext.parallelize(tasks[::-1], len(tasks))
            .map(partial(compute, results=results))
            .collect()
        )
    failed = tuple(each for each in found if each is not None)
    return Ran(len(found) - len(failed), done, failed)

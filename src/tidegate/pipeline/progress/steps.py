"""How far has it come?

What commands show while Spark works: the tasks of a batch, or the steps of longer work.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.live import Live
from rich.markup import escape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Watch:
    """A watch that was just started."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def seconds(self) -> float:
        """Since then."""
        return time.monotonic() - self._start


class Tasks:
    """A line that says, whenever it is shown, how many tasks of Spark's are done."""

    def __init__(self, spark: "SparkSession", clock: Watch) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._clock = clock

    def __rich__(self) -> str:
        done, all = self.counted()
        tasks = f"{done:,} of {all:,} tasks" if all else "preparing"
        return f"matching: {tasks}, {self._clock.seconds():.0f} s"

    def counted(self) -> tuple[int, int]:
        """How many tasks of what is being done are done, and how many there are."""
        stages = [self._tracker.getStageInfo(each) for each in self._tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        return sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known)


def counted(events: "DataFrame") -> tuple["DataFrame", Callable[[], int]]:
    """The same events, and how many they were, once they have been read."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    seen = Observation()
    return events.observe(seen, count(lit(1)).alias("events")), lambda: int(seen.get["events"])


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done: its name, which step it is, and of how many."""

    name: str
    number: int
    of: int


class Steps:
    """What is being done, how much of it is, and how many steps are left, in a line.

    >>> line = Steps(lambda: (3, 12), Watch())
    >>> line.tell(Step("reading", 2, 8))
    >>> print(line)
    step 2 of 8, reading: 25%, 3 of 12 tasks; 6 steps left, 0 s
    """

    def __init__(self, counted: Callable[[], tuple[int, int]], clock: Watch) -> None:
        self._counted = counted
        self._clock = clock
        self._step: Step | None = None

    def tell(self, step: Step) -> None:
        """Be told that a step begins."""
        self._step = step

    def __str__(self) -> str:
        step, seconds = self._step, self._clock.seconds()
        if step is None:
            return f"preparing, {seconds:.0f} s"
        done, all = self._counted()
        share = f"{done / all:.0%}, {done:,} of {all:,} tasks" if all else "preparing"
        left = step.of - step.number
        then = f"{left} step{'s' * (left != 1)} left" if left else "the last step"
        return f"step {step.number} of {step.of}, {step.name}: {share}; {then}, {seconds:.0f} s"

    def __rich__(self) -> str:
        return escape(str(self))


EVERY: Final = 15.0
"""Seconds between two lines, where nobody watches a terminal."""


@contextmanager
def shown(steps: Steps, console: Console) -> Iterator[None]:
    """Show the line while a block runs: in place on a terminal, else as a new line now and then."""
    if console.is_terminal:
        with Live(steps, console=console, transient=True):
            yield
        return
    over = threading.Event()

    def write() -> None:
        while not over.wait(EVERY):
            console.print(str(steps), markup=False)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def rate(count: int, seconds: float) -> str:
    """So many a second."""
    found = count / max(seconds, 1e-3)
    return f"{found:,.0f}" if found >= 10 else f"{found:.1f}"

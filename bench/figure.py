"""One measured figure, and the clock it is measured with."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Figure:
    """What we measured, the baseline of the same run, and how often the one is the other.

    `ratio` says how many times better than the baseline we are; `aim` says in words what was aimed
    at, `met` whether it was reached (None of it where nothing was aimed at).
    """

    name: str
    ours: float
    baseline: float | None
    ratio: float | None
    unit: str
    note: str = ""
    aim: str = ""
    met: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The figure as one JSON line."""
        return asdict(self)

    def __str__(self) -> str:
        beside = "" if self.baseline is None else f"  baseline {self.baseline:,.6g}"
        times = "" if self.ratio is None else f"  ×{self.ratio:,.3g}"
        aim = f"  [aim: {self.aim}{'' if self.met else ' — MISSED'}]" if self.aim else ""
        note = f"  ({self.note})" if self.note else ""
        text = f"{self.name}: {self.ours:,.6g} {self.unit}{beside}{times}{aim}{note}"
        return text.replace("[", "\\[")


class Stopwatch:
    """CPU seconds of this process spent inside `with`."""

    seconds = 0.0


@contextmanager
def timed() -> Iterator[Stopwatch]:
    """Measure the CPU time of the block, the garbage collector kept out of it."""
    watch = Stopwatch()
    gc.collect()
    gc.disable()
    start = time.process_time()
    try:
        yield watch
    finally:
        watch.seconds = time.process_time() - start
        gc.enable()

"""One measured figure, and the clock it is measured with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tidegate.lab.stopwatch import Stopwatch, timed

__all__ = ["Figure", "Stopwatch", "timed"]


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

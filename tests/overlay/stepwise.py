"""Filters pruned to their end one pruning at a time: slow, and plain to see.

A pruner says what the best pruning of a filter is, and which events of its sample match one. That
is all it takes to be a `Courses`; whatever does it faster is compared with this.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tidegate.overlay.filter import Filter


@dataclass(frozen=True, slots=True)
class Pruning:
    """A filter with one part left out, and what that costs."""

    filter: Filter
    degradation: float


class OneByOne(Protocol):
    """A pruner that is asked about one filter, and one pruning of it, at a time."""

    @property
    def sample(self) -> int:
        """How many events there are in a sample."""

    def best(self, f: Filter, /) -> Pruning | None:
        """The filter with one part left out, where that costs least."""

    def met(self, f: Filter, /) -> int:
        """Which events of a sample match, a bit for each."""


class StepwiseCourses:
    """`Courses` by asking again and again."""

    def __init__(self, pruner: OneByOne, filters: Sequence[Filter]) -> None:
        self._pruner = pruner
        self._filters = filters
        self._prunings = [self._to_the_end(f) for f in filters]

    def _to_the_end(self, f: Filter) -> list[Pruning]:
        found = []
        while (best := self._pruner.best(f)) is not None:
            found.append(best)
            f = best.filter
        return found

    @property
    def sample(self) -> int:
        return self._pruner.sample

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(own) for own in self._prunings], np.int64)

    @property
    def degradations(self) -> NDArray[np.float64]:
        return np.array([each.degradation for own in self._prunings for each in own], np.float64)

    def pruned(self, place: int, steps: int, /) -> Filter:
        return self._prunings[place][steps - 1].filter if steps else self._filters[place]

    def matched(self, order: NDArray[np.int64], /) -> list[int]:
        found = 0
        for f in self._filters:
            found |= self._pruner.met(f)
        curve = [found.bit_count()]
        steps = [0] * len(self._filters)
        for place in order.tolist():
            steps[place] += 1
            found |= self._pruner.met(self.pruned(place, steps[place]))
            curve.append(found.bit_count())
        return curve

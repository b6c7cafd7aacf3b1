"""In which order are filters pruned, if all of them are pruned to their end?

The one that is rated lowest is first; when it is pruned, it is rated by what its next pruning
costs, and takes its place among the others. Of equal ratings, that of the filter which stands first
comes first. How each filter is pruned does not depend on the others, so all that is known before
(`Courses`), and the whole order is found in arrays before anything is done.

What a filter was rated at before the round may not be what its first pruning costs now. By the
paper's three **ways**, it is pruned all the same ("always"); or it waits if it is now worse than
what is rated next ("better"), or worse than it was by more than a tolerance ("within"): it is rated
*anew* then, by what it costs.

Paper: Bittner and Hinze, "Subscription Tree Pruning" (OTM 2006), section 4.4.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import allocating
from tidegate.overlay.filter import Filter, Pruner

WAYS: Final = ("always", "better", "within")
_BETTER: Final = WAYS.index("better")
_WITHIN: Final = WAYS.index("within")

Integers: TypeAlias = NDArray[np.int64]
Ratings: TypeAlias = NDArray[np.float64]


class Order:
    """Which filters are pruned one after the other, by their places, and at which ratings."""

    def __init__(
        self, places: Integers, ratings: Ratings, anew: Integers, anew_ratings: Ratings
    ) -> None:
        self.places: Final = places
        self._ratings = ratings
        self._anew = anew  # places, and after how many prunings
        self._anew_ratings = anew_ratings

    def __len__(self) -> int:
        return len(self.places)

    def steps(self, goal: int) -> Iterator[tuple[int, int]]:
        """Who is pruned, and how often, by the first so many prunings."""
        found, counts = np.unique(self.places[:goal], return_counts=True)
        return zip(found.tolist(), counts.tolist(), strict=True)

    def rated_anew(self, goal: int) -> Iterator[tuple[int, float]]:
        """Who was rated anew before the last of so many prunings, and at what."""
        before = self._anew[1] < goal
        places, ratings = self._anew[0, before], self._anew_ratings[before]
        return zip(places.tolist(), ratings.tolist(), strict=True)

    def dearest(self, goal: int) -> float:
        """The highest rating among the first so many prunings."""
        return float(self._ratings[:goal].max())


class Round:
    """Filters, each at its place, and how they are pruned to their end."""

    def __init__(self, pruner: Pruner, filters: Sequence[Filter]) -> None:
        self._courses = pruner.courses(filters)

    @cached_property
    def _firsts(self) -> Integers:
        return np.concatenate(([0], np.cumsum(self._courses.lengths)))

    def costs(self, place: int) -> list[float]:
        """What the prunings of a filter cost, one after the other."""
        start, end = self._firsts[place], self._firsts[place + 1]
        costs: list[float] = self._courses.degradations[start:end].tolist()
        return costs

    def first_costs(self) -> list[float | None]:
        """What the first pruning of each filter costs; None if there is none."""
        first = np.append(self._courses.degradations, 0.0)[self._firsts[:-1]].tolist()
        any_left = (self._courses.lengths > 0).tolist()
        return [cost if left else None for cost, left in zip(first, any_left, strict=True)]

    def pruned(self, place: int, steps: int) -> Filter:
        """A filter after so many prunings."""
        return self._courses.pruned(place, steps)

    def order(self, ratings: Sequence[float | None], way: int, tolerance: float) -> Order:
        """How all filters are pruned to their end, by what they are rated at."""
        rated = np.array([np.nan if rating is None else rating for rating in ratings])
        waiting = np.flatnonzero(~np.isnan(rated))
        room = len(self._courses.degradations)
        places, own = np.empty(room, np.int64), np.empty(room)
        anew, again = np.empty((2, len(waiting)), np.int64), np.empty(len(waiting))
        steps, count = order(
            waiting, rated, self._firsts, self._courses.degradations, way, tolerance,
            places, own, anew, again,
        )  # fmt: skip
        return Order(places[:steps], own[:steps], anew[:, :count], again[:count])

    def matched(self, done: Order | None = None) -> Sequence[int]:
        """How many events match one of the filters, before and after each pruning of an order."""
        return self._courses.matched(np.empty(0, np.int64) if done is None else done.places)


@allocating
def order(
    waiting: Integers,
    rated: Ratings,
    firsts: Integers,
    costs: Ratings,
    way: int,
    tolerance: float,
    places: Integers,
    ratings: Ratings,
    anew: Integers,
    again: Ratings,
) -> tuple[int, int]:
    """Write down who is pruned and at which rating, and who is rated anew; how many of both."""
    heap = [(rated[place], place) for place in waiting]
    heapify(heap)
    following = firsts.copy()
    steps = count = 0
    while heap:
        rating, place = heappop(heap)
        cost = costs[following[place]]
        if (way == _BETTER and len(heap) > 0 and cost > heap[0][0]) or (
            way == _WITHIN and cost > rating + tolerance
        ):
            heappush(heap, (cost, place))
            anew[0, count] = place
            anew[1, count] = steps
            again[count] = cost
            count += 1
            continue
        places[steps] = place
        ratings[steps] = rating
        steps += 1
        following[place] += 1
        if following[place] < firsts[place + 1]:
            heappush(heap, (costs[following[place]], place))
    return steps, count

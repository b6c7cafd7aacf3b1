"""The order of a round is that of a queue that is gone through one filter at a time."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.overlay.words import WordPruner
from tidegate.overlay.filter import Filter
from tidegate.overlay.policy.round import WAYS, Round


class Priced:
    """Courses that are nothing but their costs."""

    def __init__(self, costs: list[list[float]]) -> None:
        self.lengths: NDArray[np.int64] = np.array(list(map(len, costs)), np.int64)
        self.degradations: NDArray[np.float64] = np.array(
            [cost for own in costs for cost in own], np.float64
        )

    def pruned(self, place: int, steps: int, /) -> Filter:
        raise NotImplementedError

    def matched(self, order: NDArray[np.int64], /) -> list[int]:
        raise NotImplementedError


class Pricing(WordPruner):
    """A pruner that says what it was told."""

    def __init__(self, costs: list[list[float]]) -> None:
        super().__init__()
        self._costs = costs

    def courses(self, filters: Sequence[Filter], /) -> Any:
        return Priced(self._costs)


def one_by_one(
    costs: list[list[float]], ratings: list[float | None], way: str, tolerance: float
) -> tuple[list[tuple[int, float]], list[tuple[int, int, float]]]:
    """Who is pruned at which rating; and who is rated anew, after how many prunings, at what."""
    rated = {place: rating for place, rating in enumerate(ratings) if rating is not None}
    done = dict.fromkeys(rated, 0)
    steps: list[tuple[int, float]] = []
    anew: list[tuple[int, int, float]] = []
    while rated:
        rating, place = min((rating, place) for place, rating in rated.items())
        del rated[place]
        cost = costs[place][done[place]]
        worse = way == "better" and rated and cost > min(rated.values())
        if worse or (way == "within" and cost > rating + tolerance):
            rated[place] = cost
            anew.append((place, len(steps), cost))
            continue
        steps.append((place, rating))
        done[place] += 1
        if done[place] < len(costs[place]):
            rated[place] = costs[place][done[place]]
    return steps, anew


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(20))
def test_filters_are_pruned_in_the_order_of_their_ratings(seed: int, way: str) -> None:
    rng = Random(seed)
    few = [0.0, 0.1, 0.2, 0.5]  # so that many are equal
    costs = [[rng.choice(few) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(0, 9))]
    old = [None if not own else own[0] if rng.random() < 0.5 else rng.choice(few) for own in costs]
    tolerance = rng.choice([0.0, 0.15])
    steps, anew = one_by_one(costs, old, way, tolerance)
    found = Round(Pricing(costs), [])
    assert found.first_costs() == [own[0] if own else None for own in costs]
    assert [found.costs(place) for place in range(len(costs))] == costs
    order = found.order(old, WAYS.index(way), tolerance)
    assert order.places.tolist() == [place for place, _ in steps]
    for goal in range(1, len(steps) + 1):
        done = [place for place, _ in steps[:goal]]
        assert dict(order.steps(goal)) == {place: done.count(place) for place in done}
        assert order.dearest(goal) == max(rating for _, rating in steps[:goal])
        again = [(place, rating) for place, before, rating in anew if before < goal]
        assert list(order.rated_anew(goal)) == again

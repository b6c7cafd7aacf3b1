"""Filters pruned together, in arrays, become what they become one by one, to the last bit."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import tidegate as tg
from tests.overlay.histories import attributes
from tests.overlay.stepwise import Pruning, StepwiseCourses
from tests.overlay.test_attribute_pruner import EVERY, conditions, learned
from tidegate.algebra.prune import best_pruning
from tidegate.filters.expression import Truth, predicates
from tidegate.filters.filter import Filter as InLanguage
from tidegate.lab.workloads.auctions import CLASSES, auctions
from tidegate.overlay.attribute_courses import MOST_PREDICATES
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attribute_pruner import AttributePruner
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Filter
from tidegate.papers.counting.tree_bytes import normal

NONE = np.empty(0, np.int64)


class OneByOne:
    """Prunes as the algebra does, and asks every event whether it matches."""

    def __init__(self, pruner: AttributePruner, events: Sequence[Any]) -> None:
        self._share = pruner._share
        self._events = events
        self.sample = len(events)

    def best(self, f: Filter, /) -> Pruning | None:
        assert isinstance(f, AttributeFilter)
        tree = normal(f.filter.tree)
        if sum(1 for _ in predicates(tree)) > MOST_PREDICATES:
            return None
        found = best_pruning(InLanguage.of(tree, f.filter.schema), self._share)
        if found is None:
            return None
        return Pruning(AttributeFilter(found.filter), max(0.0, found.degradation))

    def met(self, f: Filter, /) -> int:
        return sum(1 << i for i, event in enumerate(self._events) if f.matches(event))


def agree(pruner: AttributePruner, events: Sequence[Any], filters: list[Any], rng: Random) -> int:
    """Compare all courses, and what matches when they are gone in a random order; how many."""
    slow = StepwiseCourses(OneByOne(pruner, events), filters)
    fast = pruner.courses(filters)
    assert fast.sample == slow.sample
    assert fast.lengths.tolist() == slow.lengths.tolist()
    assert fast.degradations.tolist() == slow.degradations.tolist()
    order = np.repeat(np.arange(len(filters)), slow.lengths)
    np.random.default_rng(rng.randrange(2**32)).shuffle(order)
    assert fast.matched(order) == slow.matched(order)
    for place, most in enumerate(slow.lengths.tolist()):
        for steps in range(most + 1):
            pruned, expected = fast.pruned(place, steps), slow.pruned(place, steps)
            assert isinstance(expected, AttributeFilter)
            assert pruned.filter.tree == normal(expected.filter.tree)
    return len(order)


@pytest.mark.parametrize("seed", range(25))
def test_random_filters(seed: int) -> None:
    rng = Random(seed)
    kind = Attributes()
    events = rng.choices(EVERY, weights=[rng.random() ** 4 for _ in EVERY], k=rng.randint(1, 150))
    pruner = learned(kind, events)
    filters = [kind.parse(conditions(rng, rng.randint(0, 4))) for _ in range(12)]
    agree(pruner, events, filters, rng)
    # what was made of them is pruned on from where it is
    courses = pruner.courses(filters)
    further = [
        courses.pruned(place, rng.randint(0, most))
        for place, most in enumerate(courses.lengths.tolist())
    ]
    agree(pruner, events, further, rng)


@pytest.mark.parametrize("typed", [False, True])
def test_filters_of_all_operators(typed: bool) -> None:
    own = attributes(2, typed=typed)
    assert isinstance(own.kind, Attributes)
    pruner = learned(own.kind, own.events)
    filters = [f for family in own.families for f in family]
    assert agree(pruner, own.events, filters, Random(1)) > 20


@pytest.mark.parametrize("k", CLASSES)
def test_filters_of_one_shape(k: int) -> None:
    workload = auctions(40, classes=[k])
    events = workload.events(200, seed=1).to_pylist()
    pruner = learned(Attributes(workload.schema), events)
    filters = [AttributeFilter(f) for f in workload.filters()]
    assert agree(pruner, events, filters, Random(k)) > 100


def test_filters_that_are_odd() -> None:
    kind = Attributes()
    events: list[Any] = [{"x": 1}, {"x": True}, {"x": float("nan")}, {}, {"x": "1", "ü": "\0"}]
    pruner = learned(kind, events)
    texts = [
        "x = 1 AND x = 1",
        "x = 1 AND x = 1D AND x = TRUE",
        "x = CAST('NaN' AS DOUBLE) AND x IS NULL",
        "(x = 1 OR x = 1) AND (x = 1 OR x IS NULL)",
        "`ü` = '\\0' AND x = '1'",
        " AND ".join(f"x != {i}" for i in range(40)),
        " OR ".join(f"(x = {i} AND y = {i})" for i in range(MOST_PREDICATES)),
        " AND ".join(f"(x = {i} OR y = {i})" for i in range(1_500)),
    ]
    filters = [kind.parse(text) for text in texts]
    filters += [AttributeFilter(InLanguage.of(Truth(value), None)) for value in (True, False)]
    agree(pruner, events, filters, Random(1))


def test_of_no_filters_there_are_no_courses_and_of_no_events_none_match() -> None:
    pruner = learned(Attributes(), [{"x": 1}])
    assert not len(pruner.courses([]).degradations)
    assert pruner.courses([]).matched(NONE) == [0]
    nothing = Attributes().pruner()
    f = AttributeFilter(tg.parse("x = 1 AND y = 1"))
    assert nothing.courses([f]).lengths.tolist() == [0]
    assert nothing.courses([f]).matched(NONE) == [0]


def test_more_filters_than_are_remembered_are_pruned_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tidegate.overlay import attribute_courses

    monkeypatch.setattr(attribute_courses, "_REMEMBERED", 3)
    rng = Random(1)
    kind = Attributes()
    pruner = learned(kind, EVERY)
    agree(pruner, EVERY, [kind.parse(conditions(rng, 3)) for _ in range(10)], rng)

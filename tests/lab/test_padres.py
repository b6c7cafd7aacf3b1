"""Sets A and B: as many distinct predicates as the paper says, and as many that are covered."""

import os
from collections import Counter

import pytest

import tidegate as tg
from bench.baselines import BruteForce
from tidegate.algebra.distribution import Uniform, probability
from tidegate.filters.expression import Operator, predicates
from tidegate.lab.workloads.covered import covered_share
from tidegate.lab.workloads.matching import ATTRIBUTES
from tidegate.lab.workloads.padres import (
    DISTINCT_A,
    DISTINCT_B,
    SUBSCRIPTIONS,
    Choices,
    conjunctions,
    set_a,
    set_b,
)

SETS = {"a": set_a, "b": set_b}
LONG = os.environ.get("TIDEGATE_LONG") == "1"
COUNT = SUBSCRIPTIONS if LONG else 20_000
SHARES = {"a": (0.74, 0.76), "b": (0.44, 0.46)} if LONG else {"a": (0.16, 0.24), "b": (0.03, 0.13)}


@pytest.mark.parametrize("name", SETS)
def test_the_ranges_match_what_the_filters_match(name: str) -> None:
    workload = SETS[name](1_000)
    events = workload.events(100)
    found = BruteForce(workload.ranges).pairs(workload.points(events))
    rows, filters = events.to_pylist(), list(workload.filters())
    expected = {(j, i) for j, e in enumerate(rows) for i, f in enumerate(filters) if f.matches(e)}
    assert set(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected
    assert expected


@pytest.mark.parametrize(("name", "distinct"), [("a", DISTINCT_A), ("b", DISTINCT_B)])
def test_subscriptions_are_made_of_so_many_distinct_predicates(name: str, distinct: int) -> None:
    workload = SETS[name]()
    pool = workload.pool.predicates
    assert len(workload) == SUBSCRIPTIONS
    assert len(set(pool)) == distinct
    assert set(workload.parts.ravel().tolist()) == {-1, *range(distinct)}
    assert Counter(p.attribute for p in pool) == dict.fromkeys(ATTRIBUTES, distinct // 20)
    assert {p.operator for p in pool} == {
        *(Operator.EQUAL, Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST)
    }


@pytest.mark.parametrize("name", SETS)
def test_as_many_are_covered_as_the_paper_says(name: str) -> None:
    """At the size of the paper in long runs; fewer subscriptions have a smaller share."""
    low, high = SHARES[name]
    assert low < covered_share(SETS[name](COUNT)) < high


def test_every_predicate_holds_for_some_values_and_not_for_others() -> None:
    for workload in (set_a(1), set_b(1)):
        pool = workload.pool
        widths = pool.highs - pool.lows + 1
        assert widths.min() == 1
        assert widths.max() == pool.values - 1


def test_choices_are_followed() -> None:
    choices = Choices(values=80, fewest=3, most=4, core=3, equalities=0.9, popularity=4.0)
    workload = conjunctions(4_000, 1_000, 1, choices)
    sizes: Counter[int] = Counter()
    operators: Counter[Operator] = Counter()
    attributes: Counter[str] = Counter()
    for f in workload.filters():
        asked = list(predicates(f.tree))
        sizes[len(asked)] += 1
        operators.update(p.operator for p in asked)
        attributes.update(p.attribute for p in asked)
        assert len(f.attributes) == len(asked)
    assert sizes.keys() == {3, 4}
    assert 0.88 < operators[Operator.EQUAL] / operators.total() < 0.92
    often = [attributes[name] for name in ATTRIBUTES]
    assert min(often[:3]) > 2 * max(often[3:])
    events = workload.events(2_000)
    assert {events[name].to_numpy().max() for name in ATTRIBUTES} == {79}


def test_a_seed_says_it_all() -> None:
    assert set_a(50, seed=5).table() == set_a(50, seed=5).table()
    assert set_a(50, seed=5).table() != set_a(50, seed=6).table()
    assert set_a(50, seed=5).events(9) == set_a(50, seed=5).events(9)
    assert set_a(50, seed=5).events(9) != set_a(50, seed=5).events(9, seed=1)


def test_the_schema_declares_what_the_events_have() -> None:
    workload = set_a(10)
    uniform = Uniform(workload.schema)
    third = probability(tg.parse("a3 < 7", workload.schema), uniform)
    assert third == pytest.approx(7 / 21)
    assert not workload.schema.checked

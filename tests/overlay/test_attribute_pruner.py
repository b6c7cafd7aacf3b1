"""What is left of filters on attributes covers them, and costs what the algebra says it does."""

import itertools
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest

import tidegate as tg
from tidegate.algebra.prune import merge_by_pruning, prune
from tidegate.algebra.selectivity import Selectivities, estimate
from tidegate.overlay import attribute_pruner
from tidegate.overlay.attribute_courses import MOST_PREDICATES
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attribute_pruner import AttributePruner
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Pruner

VALUES: dict[str, Sequence[Any]] = {
    "x": (None, 0, 1, 2, 3),
    "y": (None, 0, 1, 2),
    "s": (None, "a", "ab", "b"),
}
EVERY = [dict(zip(VALUES, values, strict=True)) for values in itertools.product(*VALUES.values())]
"""All events over a small domain."""


def conditions(rng: Random, depth: int) -> str:
    """A Boolean filter on the attributes of the domain."""
    if not depth or rng.random() < 0.2:
        name = rng.choice("xys")
        if name == "s":
            return rng.choice(["s = 'a'", "s >= 'ab'", "startswith(s, 'a')", "s IS NULL"])
        operator = rng.choice(["=", "<", "<=", ">", ">=", "!="])
        return f"{name} {operator} {rng.choice(VALUES[name][1:])}"
    parts = [conditions(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    return "(" + rng.choice([" AND ", " OR "]).join(parts) + ")"


def learned(kind: Attributes, events: Sequence[Any]) -> AttributePruner:
    pruner = kind.pruner()
    assert isinstance(pruner, AttributePruner)
    for event in events:
        pruner.count(event)
    pruner.learn(pruner.summary())
    return pruner


def path(pruner: AttributePruner, f: AttributeFilter) -> Iterator[AttributeFilter]:
    """All prunings of a filter, one after the other."""
    courses = pruner.courses([f])
    for steps in range(1, int(courses.lengths[0]) + 1):
        yield courses.pruned(0, steps)


def first(pruner: Pruner, f: AttributeFilter) -> str | None:
    """What the first pruning of a filter leaves of it."""
    courses = pruner.courses([f])
    return str(courses.pruned(0, 1)) if courses.lengths[0] else None


def matching(f: Any) -> set[int]:
    return {i for i, event in enumerate(EVERY) if f.matches(event)}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_pruned_covers_what_it_stands_for_on_every_event(seed: int) -> None:
    rng = Random(seed)
    kind = Attributes()
    pruner = learned(kind, rng.choices(EVERY, k=50))
    for _ in range(6):
        f = kind.parse(conditions(rng, 3))
        before = matching(f)
        for pruned in path(pruner, f):
            assert before <= matching(pruned), f"{f} -> {pruned}"
            before = matching(pruned)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_replaced_or_merged_covers_what_it_stands_for_on_every_event(seed: int) -> None:
    rng = Random(seed)
    kind = Attributes()
    pruner = learned(kind, rng.choices(EVERY, k=50))
    filters = {n: kind.parse(conditions(rng, 2)) for n in range(12)}
    changed = pruner.replaced(filters, rng.choice([0.3, 1.0]))
    for number, f in changed.items():
        assert matching(filters[number]) <= matching(f), f"{filters[number]} -> {f}"
    for merger in pruner.mergers(filters, rng.choice([0.0, 0.2, 1.0]), None):
        for number in merger.members:
            assert matching(filters[number]) <= matching(merger.filter)


def test_a_predicate_is_replaced_everywhere_by_one_that_is_there() -> None:
    kind = Attributes()
    pruner = learned(kind, [{"x": x, "y": x} for x in range(10)])
    texts = ["x < 3 AND y = 1", "x < 3 AND y = 2", "x < 4 AND y = 3", "x < 9"]
    filters = dict(enumerate(map(kind.parse, texts)))
    half = {n: str(f) for n, f in pruner.replaced(filters, 0.5).items()}
    assert half == {0: "x < 4 AND y = 1", 1: "x < 4 AND y = 2"}
    every = pruner.replaced(filters, 1.0)
    assert {n: str(f) for n, f in every.items()} == {n: f"x < 9 AND y = {n + 1}" for n in range(3)}


def test_a_constant_of_another_type_is_not_replaced_with_it() -> None:
    kind = Attributes()
    pruner = learned(kind, [{"x": 1}, {"x": True}, {"x": 2}])
    filters = dict(enumerate(map(kind.parse, ["x = 1", "x = TRUE", "x < 3"])))
    assert {n: str(f) for n, f in pruner.replaced(filters, 1.0).items()} == {0: "x < 3"}


def test_a_disjunction_is_pruned_to_a_merger() -> None:
    kind = Attributes()
    events = [{"a": i % 10, "b": i % 3, "c": i % 2} for i in range(60)]
    pruner = learned(kind, events)
    filters = dict(enumerate(map(kind.parse, ["a = 1 AND b = 2", "a = 1 AND c = 1", "a = 2"])))
    [merger] = pruner.mergers(filters, 0.1, None)
    assert (str(merger.filter), merger.members) == ("a = 1", (0, 1))
    assert 0 < merger.imt <= 0.1
    assert pruner.cost(merger.filter, [filters[0], filters[1]], None) == merger.imt
    assert not pruner.mergers(filters, 0.0, None)


@pytest.mark.parametrize("seed", range(10))
def test_a_disjunction_is_pruned_as_the_algebra_would_prune_it(seed: int) -> None:
    rng = Random(seed)
    kind = Attributes()
    pruner = learned(kind, rng.choices(EVERY, k=50))
    conjunctions = [f"x = 1 AND y {rng.choice('<>=')} {n} AND s >= 'a'" for n in range(3)]
    members = [kind.parse(text).filter for text in (*conjunctions, f"x = {seed % 3} AND y = 1")]
    limit = rng.choice([0.0, 0.05, 0.3])
    shares = Selectivities(pruner._share)
    whole = merge_by_pruning(members, shares, steps=0).filter
    assert pruner._narrowest(members, limit).filter == prune(whole, shares, limit=limit).filter


@pytest.mark.parametrize("seed", range(20))
def test_the_estimated_selectivity_lies_between_its_own_bounds(seed: int) -> None:
    """Against the events that were counted, for filters as they are and pruned."""
    rng = Random(seed)
    kind = Attributes()
    events = rng.choices(EVERY, weights=[rng.random() ** 4 for _ in EVERY], k=200)
    pruner = learned(kind, events)
    for _ in range(8):
        f = kind.parse(conditions(rng, 3))
        for each in (f, *path(pruner, f)):
            share = sum(each.matches(event) for event in events) / len(events)
            bounds = estimate(each.filter, pruner._known.share)
            assert bounds.minimum - 1e-9 <= share <= bounds.maximum + 1e-9
            assert bounds.minimum - 1e-9 <= bounds.average <= bounds.maximum + 1e-9


def test_what_is_counted_changes_nothing_until_it_is_learned() -> None:
    kind = Attributes()
    pruner = kind.pruner()
    f = kind.parse("x = 1 AND y = 1")
    assert not pruner.knows
    assert first(pruner, f) is None
    assert pruner.mergers({1: f, 2: f}, 1.0, None) == []
    assert pruner.cost(f, [f], None) == float("inf")
    for _ in range(9):
        pruner.count({"x": 1, "y": 2})
    pruner.learn(pruner.summary())
    assert first(pruner, f) == "y = 1"
    for _ in range(99):
        pruner.count({"x": 2, "y": 1})
    assert first(pruner, f) == "y = 1"
    assert pruner.counted == 99
    pruner.learn(pruner.summary())
    assert first(pruner, f) == "x = 1"


def test_events_of_the_sample_do_not_count_when_there_are_as_many_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attribute_pruner, "SAMPLE", 4)
    kind = Attributes()
    share = {}
    for count in (4, 7, 8):
        pruner = learned(kind, [*[{"x": 0}] * (count - 4), *[{"x": 1}] * 4])
        share[count] = pruner._share(tg.parse("x = 1").tree)  # type: ignore[arg-type]
    assert share == {4: 1.0, 7: 4 / 7, 8: 0.5 / 4}


def test_a_pruner_that_lost_its_counts_goes_on_from_what_it_learned() -> None:
    kind = Attributes()
    pruner = learned(kind, [{"x": i % 4} for i in range(40)])
    again = kind.pruner()
    again.learn(pruner.learned)
    assert again.summary() == pruner.summary()
    other = kind.pruner()
    other.learn(pruner.learned)
    other.restore(pruner.state())
    assert other.state() == pruner.state()


def test_a_filter_with_too_many_predicates_is_left_as_it_is() -> None:
    kind = Attributes()
    pruner = learned(kind, [{"x": 1}])
    parts = [f"(x = {i} AND y = {i})" for i in range(MOST_PREDICATES)]
    assert first(pruner, kind.parse(" OR ".join(parts))) is None
    assert first(pruner, kind.parse(" OR ".join(parts[: MOST_PREDICATES // 2]))) is not None


def test_a_pruner_of_a_schema_reads_values_as_its_types() -> None:
    schema = tg.Schema({"x": "double", "day": "date"})
    kind = Attributes(schema)
    pruner = learned(kind, [{"x": 1, "day": None}, {"x": 2.5}, {"x": None}, {"x": 4}])
    assert pruner._share(tg.parse("x < 3", schema).tree) == 0.5  # type: ignore[arg-type]

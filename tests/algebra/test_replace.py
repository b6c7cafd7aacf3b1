"""Replacing a predicate widens the filter, and nothing else is let through as a replacement."""

import random

import pytest

from tests.algebra import worlds
from tests.algebra.enumeration import NAMES
from tests.algebra.weighted import SCALE, SETTINGS, WORLDS, passing
from tidegate import Attribute, Filter, FilterError, FilterTypeError, Schema, parse
from tidegate.algebra.replace import best_replacement, replace_predicate, replacements
from tidegate.algebra.selectivity import degradation, estimate
from tidegate.filters.evaluate import holds
from tidegate.filters.expression import Predicate, predicates
from tidegate.filters.values import Value


def leaf(text: str, schema: Schema | None = None) -> Predicate:
    tree = parse(text, schema).tree
    assert isinstance(tree, Predicate)
    return tree


def test_all_occurrences_are_replaced() -> None:
    f = parse("a < 5 AND (b = 1 OR a < 5 AND c = 2) OR a <= 5")
    assert str(replace_predicate(f, leaf("a < 5"), leaf("a < 9"))) == (
        "(a < 9 AND (b = 1 OR (a < 9 AND c = 2))) OR a <= 5"
    )


def test_a_constant_of_another_family_is_another_predicate() -> None:
    f = parse("a = 1 OR a = TRUE")
    assert str(replace_predicate(f, leaf("a = 1"), leaf("a <= 1"))) == "a <= 1 OR a = TRUE"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a < 5", "a < 4"),
        ("a < 5", "b < 9"),
        ("a < 5", "a > 0"),
        ("a = 1", "a = TRUE"),
        ("a != 1", "a IS NULL"),
        ("a IS NOT NULL", "a < 5 "),
        ("a LIKE '%b'", "a LIKE '%c'"),
        ("a <=> 1", "a NOT IN (1, NULL)"),
    ],
)
def test_what_does_not_cover_is_refused(old: str, new: str) -> None:
    with pytest.raises(FilterError, match="does not cover"):
        replace_predicate(parse(old), leaf(old), leaf(new))
    assert replacements(parse(old), [leaf(new)]) == []


def test_a_predicate_that_is_not_there_cannot_be_replaced() -> None:
    with pytest.raises(FilterError, match="does not occur"):
        replace_predicate(parse("a < 5"), leaf("a < 4"), leaf("a < 9"))
    with pytest.raises(FilterError, match="does not occur"):
        replace_predicate(parse("a = 1"), leaf("a = TRUE"), leaf("a IS NOT NULL"))


def test_an_unbound_predicate_covers_nothing() -> None:
    with pytest.raises(FilterError, match="does not cover"):
        replace_predicate(parse("a < 5"), leaf("a < 5"), leaf("a < :limit"))


def test_domains_count_where_events_are_checked() -> None:
    limits = {"a": Attribute("bigint", low=0, high=9, nullable=False)}
    checked, unchecked = Schema(limits, checked=True), Schema(limits)
    swapped = replace_predicate(
        parse("a < 5", checked), leaf("a < 5", checked), leaf("a >= 0", checked)
    )
    assert str(swapped) == "a >= 0"
    with pytest.raises(FilterError):
        replace_predicate(parse("a < 5", unchecked), leaf("a < 5"), leaf("a >= 0"))
    with pytest.raises(FilterTypeError):
        replace_predicate(parse("a < 5", checked), leaf("a < 5"), leaf("a LIKE '%'"))


def covered(
    old: Predicate, new: Predicate, values: list[list[Value]], schema: Schema | None
) -> bool:
    """Whether each of the values that makes the one hold makes the other hold."""
    axis = NAMES.index(old.attribute)
    return new.attribute == old.attribute and all(
        holds(new, value, schema) for value in values[axis] if holds(old, value, schema)
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_exactly_the_covering_predicates_replace_and_no_event_is_lost(name: str) -> None:
    place = SETTINGS[name]()
    world = place.world
    rng = random.Random(f"replace {name}")
    texts = list(world.leaves)
    made = 0
    for condition in worlds.family(rng, place, 40 * SCALE):
        f = world.filter(condition)
        pool = [leaf(text, world.schema) for text in rng.sample(texts, 12)]
        found = replacements(f, pool)
        expected = {
            (str(old), str(new))
            for old in predicates(f.tree)
            for new in pool
            if str(old) != str(new) and covered(old, new, world.values, world.schema)
        }
        assert {(str(each.old), str(each.new)) for each in found} == expected
        mine = passing(f, world.values)
        for each in found:
            assert not (mine & ~passing(each.filter, world.values)).any(), f"{f} -> {each.filter}"
            assert replace_predicate(f, each.old, each.new) == each.filter
        made += len(found)
    assert made > 50


def test_conditions_on_text_replace_only_where_they_surely_cover() -> None:
    place = worlds.texts()
    rng = random.Random("replace texts")
    texts = [text for text in place.world.leaves if text.endswith(")") or "LIKE" in text]
    made = 0
    for _ in range(150 * SCALE):
        f: Filter = parse(" AND ".join(rng.sample(texts, 2)))
        pool = [leaf(text) for text in rng.sample(texts, 6)]
        for each in replacements(f, pool):
            assert covered(each.old, each.new, place.world.values, None), (
                f"{each.old} -> {each.new}"
            )
            made += 1
    assert made > 30


@pytest.mark.parametrize("name", WORLDS)
def test_the_best_replacement_degrades_least(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"best {name}")
    found = 0
    for _ in range(60 * SCALE):
        f = parse(world.tree(rng), world.schema)
        pool = [leaf(world.predicate(rng, rng.choice(NAMES)), world.schema) for _ in range(8)]
        best = best_replacement(f, pool, world.distribution)
        before = estimate(f, world.distribution)
        losses = [
            degradation(before, estimate(each.filter, world.distribution))
            for each in replacements(f, pool)
        ]
        if best is None:
            assert losses == []
            continue
        assert best.degradation == min(losses)
        assert best.degradation >= -1e-12
        assert not (world.passing(f) & ~world.passing(best.filter)).any()
        found += 1
    assert found > 20

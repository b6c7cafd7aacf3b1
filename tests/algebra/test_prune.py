"""Prunings lose no event, all of them are found, and the best one is taken."""

import random
from collections.abc import Iterator

import pytest

from tests.algebra import worlds
from tests.algebra.weighted import SCALE, WORLDS, Weighted, passing, together
from tidegate import Filter, parse
from tidegate.algebra import prune as module
from tidegate.algebra.prune import best_pruning, merge_by_pruning, prune
from tidegate.algebra.selectivity import degradation, estimate
from tidegate.filters.expression import (
    And,
    Node,
    Predicate,
    Truth,
    conjunction,
    disjunction,
    predicates,
)


def places(node: Node, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The paths to all nodes of a tree, but for the root."""
    if path:
        yield path
    if not isinstance(node, Predicate | Truth):
        for i, part in enumerate(node.parts):
            yield from places(part, (*path, i))


def made_true(node: Node, path: tuple[int, ...]) -> Node:
    """The tree with TRUE in that place, folded: TRUE vanishes in an AND and takes over an OR."""
    if not path:
        return Truth(True)
    assert not isinstance(node, Predicate | Truth)
    parts = [
        made_true(part, path[1:]) if i == path[0] else part for i, part in enumerate(node.parts)
    ]
    if isinstance(node, And):
        return conjunction([part for part in parts if part != Truth(True)])
    return Truth(True) if Truth(True) in parts else disjunction(parts)


def check_prunings(world: Weighted, f: Filter) -> int:
    """All prunings are valid and all valid ones are there; how many there are.

    Whatever is removed, it is as if TRUE stood in its place; so putting TRUE in each place in turn
    gives all prunings, without a word about where a removal is allowed.
    """
    found = module.prunings(f)
    mine = world.passing(f)
    for pruned in found:
        assert not (mine & ~world.passing(pruned)).any(), f"{f} -> {pruned} loses an event"
    expected = {str(made_true(f.tree, path)) for path in places(f.tree)} - {"TRUE", str(f)}
    assert {str(pruned) for pruned in found} == expected, str(f)
    assert len(found) == len(expected), f"{f}: one pruning twice"
    return len(found)


@pytest.mark.parametrize(
    ("text", "pruned"),
    [
        ("a = 1", []),
        ("a = 1 OR b = 2", []),
        ("a = 1 AND b = 2", ["b = 2", "a = 1"]),
        ("a = 1 AND b = 2 AND c = 3", ["b = 2 AND c = 3", "a = 1 AND c = 3", "a = 1 AND b = 2"]),
        ("a = 1 OR b = 2 AND c = 3", ["a = 1 OR c = 3", "a = 1 OR b = 2"]),
        ("a = 1 AND (b = 2 OR c = 3)", ["b = 2 OR c = 3", "a = 1"]),
        ("NOT (a = 1 OR b = 2)", ["b != 2", "a != 1"]),
        ("NOT (a = 1 AND b = 2)", []),
        ("a = 1 AND a = TRUE", ["a = TRUE", "a = 1"]),
        ("a = 1 AND a = 1", ["a = 1"]),
        ("TRUE", []),
    ],
)
def test_all_prunings(text: str, pruned: list[str]) -> None:
    assert [str(each) for each in module.prunings(parse(text))] == pruned


def test_only_who_asks_for_it_gets_the_filter_true() -> None:
    for text, also in (("a = 1", ["TRUE"]), ("a = 1 OR b = 2", ["TRUE"]), ("TRUE", [])):
        assert [str(each) for each in module.prunings(parse(text), allow_true=True)] == also
    assert "TRUE" not in map(str, module.prunings(parse("a = 1 AND b = 2"), allow_true=True))
    shares = {"a = 1": 0.5, "b = 2": 0.25}
    assert str(prune(parse("a = 1 AND b = 2"), shares).filter) == "b = 2"
    assert str(prune(parse("a = 1 AND b = 2"), shares, allow_true=True).filter) == "TRUE"


@pytest.mark.parametrize("name", WORLDS)
def test_prunings_are_valid_and_complete(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"prunings {name}")
    counts = [
        check_prunings(world, parse(world.tree(rng, 4), world.schema)) for _ in range(80 * SCALE)
    ]
    assert sum(count > 3 for count in counts) > 15


@pytest.mark.parametrize("checked", [True, False])
def test_prunings_lose_no_event_of_any_family(checked: bool) -> None:
    place = worlds.typed("moments", checked=True, limited=True) if checked else worlds.plain()
    rng = random.Random(f"families {checked}")
    for condition in worlds.family(rng, place, 60 * SCALE):
        f = place.world.filter(condition)
        mine = passing(f, place.world.values)
        for pruned in module.prunings(f):
            assert not (mine & ~passing(pruned, place.world.values)).any(), f"{f} -> {pruned}"


@pytest.mark.parametrize("name", WORLDS)
def test_the_best_pruning_degrades_least_and_repeating_it_keeps_to_the_limit(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"best {name}")
    steps_taken = 0
    for _ in range(60 * SCALE):
        f = parse(world.tree(rng), world.schema)
        before = estimate(f, world.distribution)
        losses = [
            degradation(before, estimate(pruned, world.distribution))
            for pruned in module.prunings(f)
        ]
        best = best_pruning(f, world.distribution)
        assert (best is None) is (not losses)
        if best is not None:
            assert best.degradation == min(losses)
            assert best.degradation >= -1e-12
        mine = world.passing(f)
        for steps, limit in ((1, None), (3, None), (None, 0.1), (2, 0.05), (None, None)):
            done = prune(f, world.distribution, steps, limit)
            assert not (mine & ~world.passing(done.filter)).any(), f"{f} -> {done.filter}"
            assert limit is None or done.degradation <= limit
            change = degradation(before, estimate(done.filter, world.distribution))
            assert done.degradation == pytest.approx(change)
            steps_taken += done.filter != f
        assert module.prunings(done.filter) == []  # neither steps nor a limit: to the end
    assert steps_taken > 20


def test_the_best_pruning_by_hand() -> None:
    f = parse("a = 1 AND (b = 2 OR c = 3 AND d = 4)")
    shares = {"a = 1": 0.5, "b = 2": 0.25, "c = 3": 0.5, "d = 4": 1.0}
    free = best_pruning(f, shares)
    assert free is not None
    assert (str(free.filter), free.degradation) == ("a = 1 AND (b = 2 OR c = 3)", 0.0)
    assert str(prune(f, shares, steps=0).filter) == str(f)
    # Among equals the smaller filter is taken: b and c can go for nothing, both at once is better.
    f = parse("a = 1 AND (b = 2 OR c = 3)")
    assert str(best_pruning(f, dict.fromkeys(("a = 1", "b = 2", "c = 3"), 1.0)).filter) == "a = 1"  # type: ignore[union-attr]


def test_what_pruning_makes_superfluous_is_dropped() -> None:
    f = parse("b = 1 OR a = 1 AND b = 1 AND c = 1 OR a = 1 AND b = 1 AND c = 1 AND d = 1")
    done = prune(f, lambda predicate: 0.5, steps=1)
    assert len(list(predicates(done.filter.tree))) < 5
    events = [
        {name: rng.choice((0, 1)) for name in "abcd"} for rng in map(random.Random, range(100))
    ]
    assert all(done.filter.matches(event) for event in events if f.matches(event))


def test_pruning_a_disjunction_merges_any_boolean_filters() -> None:
    members = [
        parse("a = 1 AND (b = 2 OR c = 3)"),
        parse("a = 1 AND d = 4"),
        parse("e = 5 OR f = 6 AND a = 1"),
    ]
    whole = merge_by_pruning(members, lambda predicate: 0.5, steps=0)
    assert (str(whole.filter), whole.degradation) == (
        "(a = 1 AND (b = 2 OR c = 3)) OR (a = 1 AND d = 4) OR e = 5 OR (f = 6 AND a = 1)",
        0.0,
    )
    shares = {"a = 1": 0.1} | dict.fromkeys(("b = 2", "c = 3", "d = 4", "e = 5", "f = 6"), 0.9)
    assert str(merge_by_pruning(members, shares).filter) == "a = 1 OR e = 5"
    with pytest.raises(ValueError, match="nothing to merge"):
        merge_by_pruning([], shares)


@pytest.mark.parametrize("name", WORLDS)
def test_a_merger_by_pruning_loses_no_event(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"merge by pruning {name}")
    for _ in range(25 * SCALE):
        members = [parse(world.tree(rng, 2), world.schema) for _ in range(rng.randint(1, 4))]
        union = together([world.passing(f) for f in members])
        sizes = []
        for steps in (0, 1, 2, 4):
            merger = merge_by_pruning(members, world.distribution, steps)
            assert not (union & ~world.passing(merger.filter)).any(), str(merger.filter)
            assert steps or (union == world.passing(merger.filter)).all()
            sizes.append(sum(1 for _ in predicates(merger.filter.tree)))
        assert sizes == sorted(sizes, reverse=True)

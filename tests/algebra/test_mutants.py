"""The checks catch what they are there for: a wrong step, put in on purpose, does not pass."""

import random
from collections.abc import Iterator

import pytest

from tests.algebra.test_prune import check_prunings
from tests.algebra.weighted import WORLDS, Weighted
from tidegate import Filter, parse
from tidegate.algebra import prune
from tidegate.filters.expression import Node, Or, disjunction

right = prune._without_one


def careless(node: Node) -> Iterator[Node]:
    """A pruning that leaves out parts of an OR too: what only they let through is lost."""
    yield from right(node)
    if isinstance(node, Or):
        for i in range(len(node.parts)):
            yield disjunction([*node.parts[:i], *node.parts[i + 1 :]])


def complaints(world: Weighted, filters: list[Filter]) -> list[str]:
    """What the check of prunings says about the filters that do not pass it."""
    found = []
    for f in filters:
        try:
            check_prunings(world, f)
        except AssertionError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_a_pruning_under_or_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"mutant {name}")
    filters = [parse(world.tree(rng, 4), world.schema) for _ in range(20)]
    assert complaints(world, filters) == []
    monkeypatch.setattr(prune, "_without_one", careless)
    assert any("loses an event" in complaint for complaint in complaints(world, filters))

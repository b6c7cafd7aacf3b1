"""A filter made of another one by moving constants is the one that would be read anew."""

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import families, generate
from tidegate.algebra.normal import boxes
from tidegate.filters.expression import Node, Predicate, map_predicates, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.moved import moved, remade

TEMPLATES = [
    "volume < :n",
    "volume BETWEEN :n AND :m",
    "volume BETWEEN :n AND :m AND price > :p AND symbol = 'a'",
    "volume > :n AND volume != :m AND flag",
    "volume <= :n OR price > :p",
    "symbol = 'a' AND (volume < :n OR price > :p)",
    "volume IS NULL OR volume < :n",
    "contains(symbol, :s) AND startswith(symbol, :s) AND volume < :n",
    "symbol LIKE :s AND symbol > :s",
    "volume IN (:n, :m, 3) AND NOT (volume = :n)",
    "(volume < :n) IS NOT TRUE AND price = :p",
    "trade.price > :p AND trade.note = :s",
    "volume = :n AND volume = :m",
]
VALUES: dict[str, list[Any]] = {
    "n": [-1, 0, 1, 2, 5, 32768, None],
    "m": [0, 1, 4, 32768, 2**24],
    "p": [-1.0, 0.0, 0.5, 100.0, float("nan")],
    "s": ["a", "ab", "", "日"],
}


@settings(max_examples=300)
@given(text=st.sampled_from(TEMPLATES), typed=st.booleans(), seed=st.integers(0, 2**32))
def test_what_is_taken_over_is_what_would_be_worked_out(text: str, typed: bool, seed: int) -> None:
    rng = Random(seed)
    schema = tg.Schema(generate.TYPES) if typed else None
    f = tg.parse(text, schema)
    values = {name: rng.choice(VALUES[name]) for name in f.parameters}
    at = f.bind(**values)
    for _ in range(4):
        if rng.random() < 0.9:
            boxes(at)  # and with it, its canonical form is known
        name = rng.choice(f.parameters)
        values[name] = rng.choice(VALUES[name])
        expected = f.bind(**values)
        at = moved(at, remade(at.tree, taking(expected.tree)))
        _check(at, expected)


def taking(tree: Node) -> Any:
    """Takes predicates of a tree where they differ."""
    following = iter(list(predicates(tree)))

    def change(predicate: Predicate) -> Predicate:
        new = next(following)
        return predicate if repr(new) == repr(predicate) else new

    return change


def _check(at: Filter, expected: Filter) -> None:
    assert str(at) == str(expected)
    assert at.form == expected.form
    assert hash(at) == hash(expected)
    assert at == expected
    assert at.attributes == expected.attributes
    found, owed = boxes(at), boxes(expected)
    assert found is not None
    assert owed is not None
    assert set(found) == set(owed)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_any_predicate_may_move_where_values_of_all_families_meet(seed: int) -> None:
    rng = Random(seed)
    parts = [families.on_one_attribute(rng, name) for name in "xy"]
    at = tg.parse(" AND ".join(f"({part})" for part in parts))
    for _ in range(3):
        boxes(at)
        was = rng.choice(list(predicates(at.tree)))
        new = rng.choice(
            list(predicates(tg.parse(families.on_one_attribute(rng, was.attribute)).tree))
        )
        tree = map_predicates(at.tree, lambda p, was=was, new=new: new if p is was else p)  # type: ignore[misc]
        at = moved(at, remade(at.tree, lambda p, was=was, new=new: new if p is was else p))  # type: ignore[misc]
        _check(at, Filter.of(tree, None))


def test_what_has_not_changed_is_the_same_object() -> None:
    f = tg.parse("a = 1 AND b < 2 AND (c = 3 OR d = 4)")
    new = tg.parse("b < 9").tree
    tree = remade(f.tree, lambda p: new if p.attribute == "b" else p)  # type: ignore[return-value,arg-type]
    assert tree.parts[0] is f.tree.parts[0]  # type: ignore[union-attr]
    assert tree.parts[2] is f.tree.parts[2]  # type: ignore[union-attr]

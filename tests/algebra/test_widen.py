"""A filter around several values covers that of now, keeps its shape, and is as wide as it can be.

The oracle is evaluation: on many events, what matches one of the filters that are to be covered
matches the wide one.
"""

import datetime as dt
import math
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import generate
from tidegate.algebra.relate import covers
from tidegate.algebra.widen import around, ranged, without
from tidegate.filters.notation import spell_tree

ORDERED = [
    "volume < :n",
    "volume <= :n AND price > :p",
    "volume BETWEEN :n AND :m",
    "NOT (volume BETWEEN :n AND :m)",
    "(volume < :n) IS NOT TRUE OR price >= :p",
    "NOT (volume >= :n AND (price < :p OR flag))",
    "volume > :n AND (price <= :p OR volume < :m)",
    "symbol >= :s AND NOT (symbol > :t)",
]
"""Templates of which the hull of all values has the same shape."""
OTHERS = [
    "volume = :n",
    "volume != :n AND price < :p",
    "volume IN (:n, :m) OR price > :p",
    "volume <=> :n",
    "volume IS DISTINCT FROM :n",
    "startswith(symbol, :s)",
    "NOT contains(symbol, :s) AND volume < :n",
    "symbol LIKE :s OR symbol = :t",
    "(volume = :n) IS NOT FALSE",
]
VALUES: dict[str, list[Any]] = {
    "n": [-1, 0, 1, 2, 5, 32768],
    "m": [0, 1, 4, 32768, 2**24, 0.5, math.inf],
    "p": [-1.0, 0.0, 0.5, 1.0, 100.0, -math.inf],
    "s": ["", "a", "ab", "b", "日"],
    "t": ["a", "ab%", "é"],
}
EVENTS = generate.events(Random(3), 250)


def drawn(f: tg.Filter, rng: Random) -> dict[str, Any]:
    return {name: rng.choice(VALUES[name]) for name in f.parameters}


def shape(f: tg.Filter) -> str:
    def hollow(spelled: Any) -> Any:
        if not isinstance(spelled, list):
            return spelled
        if spelled[0] in ("AND", "OR"):
            return [spelled[0], *map(hollow, spelled[1:])]
        return [*spelled[:3], len(spelled)]

    return repr(hollow(spell_tree(f.tree)))


@settings(max_examples=150)
@given(
    text=st.sampled_from(ORDERED + OTHERS),
    seed=st.integers(0, 2**32),
    typed=st.booleans(),
    count=st.integers(0, 4),
)
def test_around_covers_what_is_wanted_now_and_keeps_the_shape(
    text: str, seed: int, typed: bool, count: int
) -> None:
    rng = Random(seed)
    f = tg.parse(text, tg.Schema(generate.TYPES) if typed else None)
    now, others = drawn(f, rng), [drawn(f, rng) for _ in range(count)]
    wide = around(f, now, others)
    own = f.bind(**now)
    assert covers(wide, own) or "contains" in text or "LIKE" in text
    assert all(wide.matches(event) for event in EVENTS if own.matches(event))
    assert shape(wide) == shape(own)
    if text in ORDERED:
        for other in others:
            before = f.bind(**other)
            assert all(wide.matches(event) for event in EVENTS if before.matches(event))
    if not others:
        assert wide == own


@pytest.mark.parametrize(
    ("text", "now", "other", "expected"),
    [
        ("x < :v", 5, 7, "x < 7"),
        ("x > :v", 5, 7, "x > 5"),
        ("x = :v", 5, 7, "x = 5"),
        ("x != :v", 5, 7, "x != 5"),
        ("x IN (:v, 9)", 5, 7, "x IN (5, 9)"),
        ("x NOT IN (:v, 9)", 5, 9, "x NOT IN (9, 9)"),
        ("startswith(x, :v)", "ab", "a", "startswith(x, 'a')"),
        ("startswith(x, :v)", "ab", "b", "startswith(x, 'ab')"),
        ("contains(x, :v)", "abc", "b", "contains(x, 'b')"),
        ("NOT contains(x, :v)", "b", "abc", "NOT contains(x, 'abc')"),
        ("x < :v AND y < :v", 5, 7, "x < 7 AND y < 7"),
        ("x < :v AND y = :v", 5, 7, "x < 7 AND y = 5"),
        ("x BETWEEN :v AND 9 OR y > :v", 5, 7, "(x >= 5 AND x <= 9) OR y > 5"),
    ],
)
def test_each_predicate_takes_the_widest_of_its_values_or_that_of_now(
    text: str, now: Any, other: Any, expected: str
) -> None:
    assert str(around(tg.parse(text), {"v": now}, [{"v": other}])) == expected


MOMENT = dt.datetime(2026, 3, 1, 12)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        *(
            (kind, v)
            for kind in (None, "bigint", "double", "float")
            for v in (0, 5, 0.5, 2**53 + 1)
        ),
        *(("decimal(10,2)", v) for v in (5, 0.25)),
        *((kind, v) for kind in (None, "date", "timestamp") for v in (MOMENT.date(), MOMENT)),
        *((None, v) for v in (math.inf, -0.0, 1e-300, -(2**63))),
    ],
)
def test_an_equality_written_as_a_range_means_the_same(schema: str | None, value: Any) -> None:
    f = tg.parse(
        "x = :x AND y = :y", None if schema is None else tg.Schema({"x": schema, "y": "int"})
    )
    wide, own = ranged(f, {"x"}).bind(x=value, y=1), f.bind(x=value, y=1)
    assert str(wide).startswith("x >= ")
    assert covers(wide, own)
    assert covers(own, wide)


def test_only_plain_equalities_are_written_as_ranges() -> None:
    texts = ["x != :x", "x <=> :x", "x IN (:x)", "(x = :x) IS NOT TRUE", "NOT (x = :x)", "y = :y"]
    for text in texts:
        assert str(ranged(tg.parse(text), {"x"})) == str(tg.parse(text))
    assert str(ranged(tg.parse("x = :x OR y < 1"), {"x"})) == "(x >= :x AND x <= :x) OR y < 1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x < :v", "TRUE"),
        ("x < :v AND y = 1", "y = 1"),
        ("x < :v AND y < :w", "y < :w"),
        ("x < :v OR y = 1", "TRUE"),
        ("z = 2 AND (x < :v OR y = 1)", "z = 2"),
        ("z = 2 OR (x < :v AND y = 1)", "z = 2 OR y = 1"),
        ("NOT (x < :v OR y = 1)", "y != 1"),
        ("x IN (1, :v) AND x > 0", "x > 0"),
    ],
)
def test_without_a_parameter_its_predicates_are_taken_to_hold(text: str, expected: str) -> None:
    assert str(without(tg.parse(text), {"v"})) == expected

"""A value is in a long list by a look-up exactly if comparing it with each member says so."""

import datetime as dt
import math
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import generate
from tests.families import VALUES
from tidegate.filters import bounds, evaluate, listing
from tidegate.filters.evaluate import looked_up, verdict
from tidegate.filters.expression import Operator, Predicate, predicates
from tidegate.filters.listing import MANY, Listing
from tidegate.filters.values import normal

SEEDS = st.integers(0, 2**32)
EVERY_TYPE = tg.Schema(dict(generate.TYPES))
BY_FAMILY: dict[str, list[Any]] = {
    "number": [
        *(0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, Decimal("0.1"), Decimal("1.0"), Decimal("-0.0")),
        *(Decimal("5E-19"), Decimal("1E-30"), Decimal(10**20), Decimal(2**53 + 1), 0.1, 0.5, 1.0),
        *(0.0, -0.0, 2.0**53, math.nan, math.inf, -math.inf, 5e-324),
    ],
    "string": ["", "a", "A", "a ", "é", "e\u0301", "😀", "1", "true"],
    "boolean": [True, False],
    "date": [dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1, 1, 1)],
    "timestamp": [dt.datetime(1970, 1, 1), dt.datetime(2024, 2, 29, 12), dt.datetime(1, 1, 1)],
}
ASKED = [normal(value) for value in (*VALUES, *(v for pool in BY_FAMILY.values() for v in pool))]


def drawn(rng: Random) -> tuple[Any, ...]:
    """The constants of a list: of one family, with NULLs, with one type of number or several."""
    pool = rng.choice((*BY_FAMILY.values(), BY_FAMILY["number"]))
    if rng.random() < 0.5:
        kind = type(rng.choice(pool))
        pool = [value for value in pool if type(value) is kind]
    found = [rng.choice(pool) for _ in range(rng.choice((0, 1, 3, 20)))]
    if rng.random() < 0.3:
        found.append(None)
    return tuple(found)


@settings(max_examples=150)
@given(seed=SEEDS)
def test_a_look_up_says_what_comparisons_say_without_a_schema(seed: int) -> None:
    constants = drawn(Random(seed))
    listed = Listing(constants, None)
    predicate = Predicate("x", Operator.IN, constants)
    for value in ASKED:
        assert looked_up(listed, value, None) is verdict(predicate, value, None), (constants, value)


@pytest.mark.parametrize("schema", [None, EVERY_TYPE], ids=["untyped", "typed"])
@settings(max_examples=60)
@given(seed=SEEDS)
def test_filters_with_long_lists_match_as_they_are_evaluated(
    schema: tg.Schema | None, seed: int
) -> None:
    rng = Random(seed)
    events = generate.events(rng, 25)
    column = rng.choice(generate.COLUMNS)
    few = [
        generate.constant(rng, column, schema is not None).text for _ in range(rng.randint(1, 3))
    ]
    members = [rng.choice([*few, "NULL"] if rng.random() < 0.2 else few) for _ in range(MANY)]
    text = f"{column.name} {rng.choice(('IN', 'NOT IN'))} ({', '.join(members)})"
    if rng.random() < 0.3:
        text = f"({text}) IS NOT {rng.choice(('TRUE', 'FALSE'))}"
    try:
        f = tg.parse(text, schema)
    except tg.TidegateError:
        return  # a list whose types do not go together
    assert any(len(p.constants) >= MANY for p in predicates(f.tree))
    for event in events:
        assert f.matches(event) is evaluate.matches(f.tree, event, schema), (text, event)


def test_an_event_that_breaks_a_checked_schema_is_still_matched_as_the_list_reads() -> None:
    schema = tg.Schema({"x": tg.Attribute("bigint", low=0, high=9)}, checked=True)
    f = tg.parse(f"x IN ({', '.join(map(str, range(0, 100, 2)))})", schema)
    assert [f.matches({"x": x}) for x in (4, 5, 50, 51, None)] == [True, False, True, False, False]


def test_the_members_are_kept_once_and_with_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tg.parse(f"x IN ({', '.join(map(str, range(1000)))}) OR y NOT IN ({'1, ' * 50}2)")
    made: list[object] = []
    real = Listing._made

    def counted(self: Listing, value: Any) -> Any:
        made.append(value)
        return real(self, value)

    monkeypatch.setattr(listing.Listing, "_made", counted)
    for i in range(50):
        f.matches({"x": 2000 + i, "y": 1})
        f.matches({"x": 2000.5 + i, "y": "a"})
    assert made == [2000, 1, 2000.5], "one set for each list and each type of value"


def test_a_nan_among_the_members_is_found() -> None:
    """A set would find the same object only."""
    f = tg.parse(f"x IN ({', '.join(['1.5D'] * MANY)}, CAST('NaN' AS DOUBLE))")
    assert f.matches({"x": float("nan")})
    assert not tg.parse(f"x IN ({', '.join(['1.5D'] * MANY)})").matches({"x": float("nan")})


SETS = st.lists(st.integers(-20, 20), max_size=24, unique=True).map(
    lambda keys: tuple(sorted(keys)[: len(keys) & ~1])
)


@pytest.mark.parametrize("leaps", [0, 1, 3, 32])
def test_sets_meet_if_something_is_in_both(leaps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "_LEAPS", leaps)

    @settings(max_examples=200)
    @given(one=SETS, other=SETS)
    def agree(one: bounds.Bounds, other: bounds.Bounds) -> None:
        assert bounds.meets(one, other) is bool(bounds.meet(one, other))
        inside = all(bounds.has(other, key) for key in range(-20, 21) if bounds.has(one, key))
        assert bounds.within(one, other) is inside

    agree()


def test_values_are_rounded_as_spark_rounds_them() -> None:
    """Beside a bigint, a decimal(38,30) has 18 fractional digits left."""
    text = f"ratio IN ({', '.join(map(str, range(1, MANY)))}, 0, 9223372036854775807)"
    f = tg.parse(text, EVERY_TYPE)
    values = [Decimal(text) for text in ("4E-19", "5E-19", "0.1", "1.0000000000000000004")]
    assert [f.matches({"ratio": value}) for value in values] == [True, False, False, True]
    for value in values:
        event = {"ratio": value}
        assert f.matches(event) is evaluate.matches(f.tree, event, EVERY_TYPE)

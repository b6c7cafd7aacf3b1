"""Attribute filters as brokers see them: an index that answers as asking one by one does, and what
updates keep.
"""

import datetime as dt
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import generate
from tidegate.errors import TidegateError
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attribute_index import AttributeIndex
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.scan import ScanIndex

SCHEMA = tg.Schema(generate.TYPES)
EITHER = pytest.mark.parametrize("typed", [True, False], ids=["schema", "no schema"])
SEEDS = st.integers(0, 2**32)


@cache
def kind(typed: bool) -> Attributes:
    return Attributes(SCHEMA if typed else None)


def drawn(rng: Random, n: int, typed: bool) -> list[AttributeFilter]:
    return [kind(typed).parse(str(condition)) for condition in generate.filters(rng, n, typed)]


def same_answers(one: AttributeIndex, other: ScanIndex, f: AttributeFilter, event: Any) -> None:
    assert len(one) == len(other)
    assert sorted(one.match(event)) == sorted(other.match(event))
    assert sorted(one.containing(f)) == sorted(other.containing(f))
    assert sorted(one.contained(f)) == sorted(other.contained(f))
    assert sorted(one.overlapping(f)) == sorted(other.overlapping(f))


@EITHER
@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_index_answers_as_asking_one_filter_after_the_other_does(
    typed: bool, seed: int
) -> None:
    rng = Random(seed)
    filters, events = drawn(rng, 14, typed), generate.events(rng, 30)
    one, other = kind(typed).index(), ScanIndex()
    held: set[int] = set()
    for number in range(40):
        what = rng.choice(("add", "add", "add", "update", "remove"))
        f = rng.choice(filters)
        if what == "add":
            one.add(number, f)
            other.add(number, f)
            held.add(number)
        elif held:
            chosen = rng.choice(sorted(held))
            if what == "update":
                one.update(chosen, f)
                other.update(chosen, f)
            else:
                one.remove(chosen)
                other.remove(chosen)
                held.remove(chosen)
        if not number % 4:
            same_answers(one, other, rng.choice(filters), rng.choice(events))
    for event in events:
        assert sorted(one.match(event)) == sorted(other.match(event))


@EITHER
@settings(max_examples=25)
@given(seed=SEEDS)
def test_shape_and_values_are_the_whole_filter(typed: bool, seed: int) -> None:
    own = kind(typed)
    filters = drawn(Random(seed), 8, typed)
    for f in filters:
        again = own.read(own.plain(f))
        assert again == f
        assert (again.shape, again.values) == (f.shape, f.values)
        assert own.plain(own.reshaped(f, f.values)) == own.plain(f)
        for other in filters:
            if other.shape == f.shape:
                assert own.plain(own.reshaped(other, f.values)) == own.plain(f)
            if (other.shape, other.values) == (f.shape, f.values):
                assert other == f


@EITHER
@settings(max_examples=25)
@given(seed=SEEDS)
def test_other_constants_keep_the_shape(typed: bool, seed: int) -> None:
    own, rng = kind(typed), Random(seed)
    for f in drawn(rng, 8, typed):
        before = list(f.values)
        values = [rng.choice((value, rng.choice(f.values))) for value in f.values]
        try:
            changed = own.reshaped(f, values)
        except TidegateError:
            continue  # a constant of another type does not fit there
        assert changed.shape == f.shape
        assert own.plain(own.reshaped(changed, before)) == own.plain(f)
        assert f.values == before


def test_a_template_keeps_its_shape_whatever_is_bound() -> None:
    own = Attributes()
    text = "price BETWEEN :low AND :high AND symbol IN (:a, :b) OR volume IS NULL"
    one = own.parse(text, low=1, high=2, a="x", b="y")
    other = own.parse(text, low=-0.5, high=None, a="it's", b="?")
    assert one.shape == other.shape
    assert own.reshaped(one, other.values) == other
    assert one.values == ["1", "2", "'x'", "'y'"]
    assert one.shape != own.parse("price BETWEEN 1 AND 2 AND symbol IN ('x')").shape


def test_a_hole_is_no_constant() -> None:
    own = Attributes()
    assert own.parse("symbol = '?'").shape == own.parse("symbol = 'a'").shape
    assert own.parse("`?` = 'a'").shape != own.parse("symbol = 'a'").shape
    with pytest.raises(TidegateError):
        own.reshaped(own.parse("symbol = 'a'"), ["?"])


def test_constants_that_do_not_fit_are_refused() -> None:
    own = Attributes(tg.Schema({"price": "double", "symbol": "string"}))
    f = own.parse("price < 10 AND symbol LIKE 'a%'")
    for values in (["'x'", "'a%'", "'!'"], ["1"], [], None, "123", ["1", "2", "3"], [1, 2, 3]):
        with pytest.raises(TidegateError):
            own.reshaped(f, values)


VALUES: list[Any] = [
    *(None, True, 5, -7, 2**62, 0.5, -0.0, float("nan"), Decimal("1.50"), Decimal("1e20")),
    *("", "x", "it's", "5", "1e3", "ä%", "!%", "!", "2024-02-29", "2024-02-30", "true"),
    *(dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)),
]
CLAUSES = [
    "{n} < :a", "{n} BETWEEN :a AND :b", "NOT {n} <=> :a", "{n} IN (:a, 5, :b)", "{n} = 5",
    "{n} LIKE :a", "{n} LIKE 'a%'", "{n} LIKE :a ESCAPE '!'", "startswith({n}, :b)", "TRUE",
    "{n} IS NULL", "upper({n}) = :a", "{n} IN (:b)",
]  # fmt: skip


@EITHER
@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(CLAUSES), min_size=1, max_size=4),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
    SEEDS,
)
def test_many_values_of_one_text_are_bound_as_one_by_one(
    typed: bool, clauses: list[str], pool: list[Any], seed: int
) -> None:
    own, rng = kind(typed), Random(seed)
    names = [rng.choice(sorted(generate.TYPES)) for _ in clauses]
    joined = (clause.format(n=name) for clause, name in zip(clauses, names, strict=True))
    text = rng.choice((" AND ", " OR ")).join(joined)
    try:
        parameters = tg.parse(text, own.schema).parameters
    except TidegateError:
        return
    if not parameters:
        return
    rows = [{name: rng.choice(pool) for name in parameters} for _ in range(6)]
    columns = {name: [row[name] for row in rows] for name in parameters}
    try:
        expected = [own.parse(text, **row) for row in rows]
    except TidegateError as error:
        with pytest.raises(type(error)):
            own.parse_many(text, columns)
        return
    found = own.parse_many(text, columns)
    assert [own.plain(f) for f in found] == [own.plain(f) for f in expected]
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.values, one.size) == (other.shape, other.values, other.size)
        assert one == other
        assert one.filter.attributes == other.filter.attributes
        assert one.origin is not None
        assert other.origin is not None
        assert one.origin[0] is other.origin[0]
        assert repr(one.origin[1]) == repr(other.origin[1])


@pytest.mark.parametrize("columns", [{"x": [1]}, {"x": [1], "z": [2]}, {"x": [5], "y": [object()]}])
def test_columns_that_a_text_has_no_parameters_for_are_refused(columns: dict[str, Any]) -> None:
    with pytest.raises(TidegateError):
        Attributes().parse_many("price < :x OR price > :y", columns)


def test_no_values_make_no_filters() -> None:
    assert Attributes().parse_many("price < :x", {"x": []}) == []


def test_a_filter_is_bound() -> None:
    with pytest.raises(TidegateError, match="unbound parameters: :limit"):
        Attributes().parse("price < :limit")


@EITHER
@settings(max_examples=25)
@given(seed=SEEDS)
def test_equal_filters_hash_alike_and_mean_the_same(typed: bool, seed: int) -> None:
    rng = Random(seed)
    f = drawn(rng, 1, typed)[0]
    twin = kind(typed).parse(str(f))
    assert (twin, hash(twin), twin.size) == (f, hash(f), f.size)
    assert f.covers(twin)
    for event in generate.events(rng, 20):
        assert f.matches(event) == twin.matches(event) == f.filter.matches(event)


CHECKED = Attributes(
    tg.Schema(
        {
            "price": tg.Attribute("double", low=0.0),
            "side": tg.Attribute("string", values=["buy", "sell"], nullable=False),
            "trade.volume": tg.Attribute("bigint", low=1, high=100),
        },
        checked=True,
    )
)
LAWFUL = {"price": 5.0, "side": "buy", "trade": {"volume": 7}}


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({}, None),
        ({"price": 0.0}, None),
        ({"price": None}, None),
        ({"unknown": b"unknown"}, None),
        ({"trade": None}, None),
        ({"trade": {"volume": 100}}, None),
        ({"price": -1.0}, "price"),
        ({"price": "5"}, "price"),
        ({"price": b""}, "price"),
        ({"side": None}, "side"),
        ({"side": "hold"}, "side"),
        ({"side": {}}, "side"),
        ({"trade": {"volume": 101}}, "trade.volume"),
        ({"trade": {"volume": 1.5}}, "trade.volume"),
    ],
    ids=str,
)
def test_an_event_that_breaks_a_checked_schema_is_refused(
    change: dict[str, Any], broken: str | None
) -> None:
    said = CHECKED.event_refusal(LAWFUL | change)
    expected = f"the value of {broken} is not one that the schema allows"
    assert said == (None if broken is None else expected)


def test_a_schema_that_is_not_checked_refuses_no_event() -> None:
    own = Attributes(tg.Schema({"side": tg.Attribute("string", nullable=False)}))
    assert own.event_refusal({"side": 5}) is None
    assert Attributes().event_refusal({"side": object()}) is None
    for event in (None, 5, "side", [("side", 5)], {5: 5}):
        assert own.event_refusal(event) == "an event is attributes with their values"


def test_a_filter_of_another_kind_or_schema_is_refused() -> None:
    own = Attributes(tg.Schema({"price": "double"}))
    assert own.filter_refusal(own.parse("price < 5")) is None
    assert own.filter_refusal(Attributes(tg.Schema({"price": "double"})).parse("price < 5")) is None
    other = Attributes(tg.Schema({"price": "double"}, checked=True)).parse("price < 5")
    for stranger in (Attributes().parse("price < 5"), other):
        assert own.filter_refusal(stranger) == "it was read under another schema than the broker's"
    for nothing in (None, "price < 5", own.parse("price < 5").filter):
        assert own.filter_refusal(nothing) == "it is not a filter on attributes"

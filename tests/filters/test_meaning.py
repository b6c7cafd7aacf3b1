"""A predicate allows the values for which it holds: every operator, mode and kind of value."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generate import POOLS
from tidegate import Attribute, FilterTypeError, Schema, parse
from tidegate.filters.admission import admit
from tidegate.filters.evaluate import holds
from tidegate.filters.expression import PATTERNS, TEXT_OPERATORS, Mode, Operator, Predicate
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.values import OTHER, Constant, Value

FEWER = settings(max_examples=settings().max_examples // 8)  # than elsewhere: there are many cases
COMPARISONS = [op for op in Operator if op not in TEXT_OPERATORS | {Operator.IN, Operator.NULL}]
NUMBERS = (
    "tinyint",
    "bigint",
    "float",
    "double",
    "decimal(10,2)",
    "decimal(38,30)",
    "decimal(38,0)",
)
KINDS: dict[str, list[Constant]] = {
    "number": [value for name in NUMBERS for value in POOLS[name]],
    "string": POOLS["string"],
    "boolean": POOLS["boolean"],
    "date": POOLS["date"],
    "timestamp": POOLS["timestamp"],
}
FINE_DECIMALS = [
    Decimal(text) for text in ("0.1", "1.50", "1E-38", "-5E-19", "9" * 38, "1." + "3" * 37)
]
KINDS["number"] += FINE_DECIMALS
EVERYTHING: list[Value] = [
    None,
    OTHER,
    *dict.fromkeys(
        value for kind in ("string", "boolean", "date", "timestamp") for value in KINDS[kind]
    ),
    *KINDS["number"],
]


def some_constants(kind: str, operator: Operator) -> st.SearchStrategy[tuple[Constant, ...]]:
    """Constants for a predicate with that operator on values of that kind."""
    pool = KINDS[kind]
    if kind in ("date", "timestamp"):
        pool = KINDS["date"] + KINDS["timestamp"]
    one = st.sampled_from([*pool, None])
    if operator is Operator.NULL:
        return st.just(())
    if operator is Operator.IN:
        return st.lists(one, min_size=1, max_size=5).map(tuple)
    if operator in TEXT_OPERATORS:
        text = st.sampled_from([*POOLS["string"], None]) | st.text("ab%_", max_size=4)
        escape = st.sampled_from(["\\", "!"])
        return st.tuples(text, escape) if operator in PATTERNS else st.tuples(text)
    return st.tuples(one)


def admitted(asked: Predicate, schema: Schema | None) -> Predicate | None:
    try:
        return replace(asked, constants=admit(asked, schema))
    except FilterTypeError:
        return None


def check(asked: Predicate, schema: Schema | None, values: list[Value]) -> None:
    lines = {} if schema is None else {"lines": schema[asked.attribute].lines}
    possible = universe(asked.attribute, schema)
    for mode in Mode:
        predicate = replace(asked, mode=mode)
        held = allowed(predicate, schema)
        for value in values:
            expected = holds(predicate, value, schema)
            if schema is not None and schema.checked:
                expected = expected and possible.has(value, **lines)
            assert held.has(value, **lines) == expected, (str(predicate), value)


def operators_and_kinds() -> Iterator[tuple[Operator, str]]:
    for kind in KINDS:
        for operator in Operator:
            if kind == "string" or operator not in TEXT_OPERATORS:
                yield operator, kind


@pytest.mark.parametrize(("operator", "kind"), list(operators_and_kinds()))
@FEWER
@given(data=st.data())
def test_without_a_schema_a_predicate_allows_the_values_for_which_it_holds(
    operator: Operator, kind: str, data: st.DataObject
) -> None:
    constants = data.draw(some_constants(kind, operator))
    predicate = admitted(Predicate("x", operator, constants), None)
    if predicate is not None:
        check(predicate, None, EVERYTHING)


def operators_and_types() -> Iterator[tuple[Operator, str]]:
    for name in POOLS:
        for operator in Operator:
            if name == "string" or operator not in TEXT_OPERATORS:
                yield operator, name


@pytest.mark.parametrize(("operator", "name"), list(operators_and_types()))
@FEWER
@given(data=st.data())
def test_with_a_schema_a_predicate_allows_the_values_for_which_it_holds(
    operator: Operator, name: str, data: st.DataObject
) -> None:
    limited: dict[str, Any] = {"values": POOLS[name][1:3], "nullable": False}
    schema = Schema(
        {"x": Attribute(name, **data.draw(st.sampled_from([{}, limited])))},
        checked=data.draw(st.booleans()),
    )
    kind = schema["x"].type.family
    predicate = admitted(
        Predicate("x", operator, data.draw(some_constants(kind, operator))), schema
    )
    if predicate is not None:
        check(predicate, schema, [None, OTHER, *map(schema["x"].type.conform, POOLS[name])])


def test_most_drawn_predicates_are_admitted() -> None:
    """The two tests above would say nothing if the constants were refused."""
    for kind, pool in KINDS.items():
        for constant in pool:
            for operator in COMPARISONS:
                assert admitted(Predicate("x", operator, (constant,)), None), (kind, constant)
    for name, pool in POOLS.items():
        schema = Schema({"x": name})
        for constant in pool:
            for operator in (*COMPARISONS, Operator.IN):
                assert admitted(Predicate("x", operator, (constant,)), schema), (name, constant)


@pytest.mark.parametrize(
    ("text", "passing", "failing"),
    [
        ("x NOT IN (1, NULL)", [], [1, 2, None]),
        ("x IN (1, NULL)", [1, 1.0, Decimal("1.00")], [2, None, "1", True]),
        ("NOT (x NOT IN (1, NULL))", [1], [2, None]),
        ("x IN (NULL)", [], [1, None]),
        ("(x NOT IN (1, NULL)) IS NOT TRUE", [1, 2, None], ["1", True]),
        ("x IN (9007199254740993, 1.0D)", [2**53, 2**53 + 1, 1], [2**53 + 2]),
        ("x = 9007199254740993 OR x = 1.0D", [2**53 + 1, 1, 2.0**53], [2**53, 2**53 + 2]),
        ("x = 9007199254740992D", [2**53, 2**53 + 1, Decimal(2**53 + 1)], [2**53 + 2, 2**53 - 1]),
        ("x != NULL", [], [1, None, "a"]),
        ("x <=> NULL", [None], [1, "a", OTHER]),
        ("x IS DISTINCT FROM NULL", [1, "a", True, OTHER], [None]),
        ("x IS DISTINCT FROM 1", [2, None], [1, 1.0, "a", OTHER]),
        ("NOT (x <=> 1)", [2, None], [1, "a"]),
        ("x > CAST('Infinity' AS DOUBLE)", [float("nan")], [float("inf"), 2**63 - 1]),
        ("x = CAST('NaN' AS DOUBLE)", [float("nan")], [float("inf"), 1, None]),
        ("x = 0.0D", [0.0, -0.0, 0, Decimal("0.00")], [5e-324]),
        ("x BETWEEN 5 AND 1", [], [1, 3, 5]),
        ("x NOT BETWEEN 5 AND 1", [1, 3, 5], [None, "3"]),
        ("x NOT BETWEEN 1 AND NULL", [0], [1, 5, None]),
        ("x = ''", [""], [" ", None]),
        ("x > 'Z'", ["a", "é", "\ud7ff", "😀"], ["Z", "A", "", None]),
        ("x > '\uffff'", ["😀"], ["\uffff", "a"]),
        ("x NOT LIKE 'a%'", ["b", ""], ["a", "ab", None, 5]),
        ("x", [True], [False, None, 1, "true"]),
        ("NOT x", [False], [True, None, 0]),
        ("x IS NOT TRUE", [False, None], [True, 0]),
        ("x IS NOT NULL", [1, "a", False, OTHER], [None]),
    ],
)
def test_the_cases_people_get_wrong(text: str, passing: list[Any], failing: list[Any]) -> None:
    tree = parse(text)
    for values, expected in ((passing, True), (failing, False)):
        for value in values:
            event = {"x": b"bytes" if value is OTHER else value}
            assert tree.matches(event) is expected, (text, value)


def test_what_cannot_be_compared_is_in_neither_side() -> None:
    for value in EVERYTHING:
        held = [
            mode for mode in Mode if holds(Predicate("x", Operator.LESS, (5,), mode), value, None)
        ]
        if isinstance(value, str | bool) or value is OTHER:
            assert not held
        elif value is None:
            assert held == [Mode.NOT_TRUE, Mode.NOT_FALSE]

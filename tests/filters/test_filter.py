"""The filter as people hold it: parameters, binding, events, explanations, printing, equality."""

import copy
import datetime as dt
import enum
import json
import math
import os
import pickle
import subprocess
import sys
from collections import ChainMap, UserDict
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate import FilterTypeError, ParameterError, Schema, parse

SYMBOLS = "symbol = 'IBM' AND (price < :limit OR volume BETWEEN 1 AND 10)"


def test_the_example_of_the_issue_works() -> None:
    f = tg.parse(SYMBOLS, schema=None)
    assert f.parameters == ("limit",)
    assert f.attributes == {"symbol", "price", "volume"}
    bound = f.bind(limit=10.0)
    assert bound.matches({"symbol": "IBM", "price": 9.5})
    assert not bound.matches({"symbol": "IBM", "price": 10.5})
    assert bound.matches({"symbol": "IBM", "price": 10.5, "volume": 10})
    assert str(bound) == "symbol = 'IBM' AND (price < 10.0D OR (volume >= 1 AND volume <= 10))"
    schema = tg.Schema({"symbol": "string", "price": "double", "volume": "bigint"})
    assert tg.parse(SYMBOLS, schema).bind(limit="10").matches({"symbol": "IBM", "price": 9.5})


# Parameters


def test_parameters_come_in_the_order_of_the_text_and_once_each() -> None:
    f = parse("x > :b AND y IN (:a, :c, :b) AND z LIKE :a OR NOT w BETWEEN :d AND :c")
    assert f.parameters == ("b", "a", "c", "d")
    assert parse("x = 1").parameters == ()
    assert parse("x = ':a'").parameters == ()
    assert parse("x = :limit OR x = :Limit").parameters == ("limit", "Limit")


def test_parameters_may_be_bound_one_after_the_other() -> None:
    f = parse("price BETWEEN :low AND :high")
    half = f.bind(low=1)
    assert half.parameters == ("high",)
    assert str(half) == "price >= 1 AND price <= :high"
    assert half.bind(high=5) == f.bind(high=5).bind(low=1) == f.bind(low=1, high=5)
    assert f.parameters == ("low", "high")
    assert f.bind() == f
    with pytest.raises(ParameterError, match="unbound parameters: :high"):
        half.matches({"price": 3})


def test_unknown_parameters_are_refused_by_name() -> None:
    with pytest.raises(ParameterError, match="no parameter :limt; it has :limit"):
        parse("price < :limit").bind(limt=5)
    with pytest.raises(ParameterError, match="no parameter :limit; it has none"):
        parse("price < :limit").bind(limit=5).bind(limit=6)


def test_a_parameter_may_have_any_name() -> None:
    for name in ("self", "schema", "text", "from", "None", "class", "_"):
        f = parse(f"x = :{name}")
        assert f.parameters == (name,)
        assert f.bind(**{name: 5}).matches({"x": 5})


def test_a_parameter_bound_to_none_is_null() -> None:
    event = {"x": 1}
    assert not parse("x = :p").bind(p=None).matches(event)
    assert not parse("x != :p").bind(p=None).matches(event)
    assert not parse("x NOT IN (2, :p)").bind(p=None).matches(event)
    assert parse("x IN (1, :p)").bind(p=None).matches(event)
    assert parse("x <=> :p").bind(p=None).matches({})
    assert parse("x IS DISTINCT FROM :p").bind(p=None).matches(event)
    assert not parse("x LIKE :p").bind(p=None).matches({"x": "a"})
    assert parse("x = :p").bind(p=None) == parse("FALSE")


class Color(str, enum.Enum):  # noqa: UP042 - its str() is not its value
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


UTC_PLUS_2 = dt.timezone(dt.timedelta(hours=2))
BINDINGS: list[tuple[Any, str]] = [
    (5, "5"),
    (-(2**63), "-9223372036854775808"),
    (2**63, "9223372036854775808BD"),
    (True, "TRUE"),
    (1.5, "1.5D"),
    (-0.0, "-0.0D"),
    (math.nan, "CAST('NaN' AS DOUBLE)"),
    (-math.nan, "CAST('NaN' AS DOUBLE)"),
    (math.inf, "CAST('Infinity' AS DOUBLE)"),
    (-math.inf, "CAST('-Infinity' AS DOUBLE)"),
    (Decimal("1.50"), "1.50BD"),
    (Decimal("1E+2"), "100BD"),
    (Decimal("-0.0"), "0.0BD"),
    ("", "''"),
    ("it's\n\\", r"'it\'s\n\\'"),
    ("\0\x7f\u2028", r"'\u0000\u007f\u2028'"),
    ("😀", "'😀'"),
    ("\ud83d\ude00", "'😀'"),
    (dt.date(2024, 2, 29), "DATE '2024-02-29'"),
    (dt.datetime(2024, 2, 29, 12), "TIMESTAMP '2024-02-29 12:00:00'"),
    (dt.datetime(2024, 2, 29, 12, tzinfo=UTC_PLUS_2), "TIMESTAMP '2024-02-29 10:00:00'"),
    (dt.datetime(2024, 2, 29, 12, fold=1), "TIMESTAMP '2024-02-29 12:00:00'"),
    (None, "NULL"),
    (np.int8(5), "5"),
    (np.uint64(2**64 - 1), "18446744073709551615BD"),
    (np.float64(1.5), "1.5D"),
    (np.float32(0.1), "0.10000000149011612D"),
    (np.bool_(True), "TRUE"),
    (np.str_("a"), "'a'"),
    (np.datetime64("2024-02-29"), "DATE '2024-02-29'"),
    (np.datetime64("2024-02-29T12:00"), "TIMESTAMP '2024-02-29 12:00:00'"),
    (np.datetime64("NaT"), "NULL"),
    (pd.Timestamp("2024-02-29 12:00:00.123456789"), "TIMESTAMP '2024-02-29 12:00:00.123456'"),
    (pd.Timestamp("2024-02-29 12:00", tz="Europe/Paris"), "TIMESTAMP '2024-02-29 11:00:00'"),
    (pd.NaT, "NULL"),
    (pd.NA, "NULL"),
    (Color.RED, "'red'"),
    (Level.HIGH, "3"),
]


@pytest.mark.parametrize(("value", "spelled"), BINDINGS, ids=lambda value: ascii(value)[:40])
def test_a_bound_filter_is_the_filter_with_the_literal_in_place(value: Any, spelled: str) -> None:
    bound = parse("x = :p OR y = :q").bind(p=value)
    written = parse(f"x = {spelled} OR y = :q")
    assert str(bound) == str(written) == f"x = {spelled} OR y = :q"
    assert repr(bound.tree) == repr(written.tree)
    assert bound == written
    assert hash(bound) == hash(written)
    assert parse(str(bound)) == bound


@pytest.mark.parametrize(
    "value",
    [
        *(b"bytes", [1, 2], (1,), {"a": 1}, {1}, object(), 1j, 10**38, -(10**38), Decimal("NaN")),
        *(
            Decimal("Infinity"),
            Decimal(10) ** 38,
            Decimal("1E-39"),
            "\ud800",
            "a\udfff",
            dt.time(12),
        ),
        *(dt.timedelta(1), dt.datetime(1, 1, 1, tzinfo=UTC_PLUS_2), np.timedelta64(1, "s")),
        *(np.datetime64("20000-01-01"), np.array([1]), np.complex64(1), parse("x = 1"), range(3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_constant_cannot_be_bound(value: Any) -> None:
    with pytest.raises(FilterTypeError, match=":p"):
        parse("x = :p").bind(p=value)


def test_a_bound_constant_must_fit_its_place() -> None:
    for text, value in (
        ("x LIKE :p", 5),
        ("x LIKE :p", "a\\b"),
        ("x LIKE :p ESCAPE '!'", "a!"),
        ("startswith(x, :p)", True),
        ("x IN (1, :p)", "a"),
        ("x IN ('a', :p)", dt.date(2024, 1, 1)),
    ):
        with pytest.raises(FilterTypeError):
            parse(text).bind(p=value)


def test_under_a_schema_a_bound_constant_must_suit_the_attribute() -> None:
    schema = Schema("i BIGINT, d DOUBLE, day DATE, s STRING, b BOOLEAN")
    fitting: list[tuple[str, Any, str]] = [
        ("i = :p", "5", "i = 5"),
        ("d < :p", "1.5", "d < 1.5D"),
        ("day >= :p", "2024-02-29", "day >= DATE '2024-02-29'"),
        ("b = :p", "yes", "b = TRUE"),
        ("i IN (:p, 7)", 5, "i IN (5, 7)"),
        ("s = :p", "5", "s = '5'"),
        ("i = :p", None, "i = NULL"),
    ]
    for text, value, printed in fitting:
        assert str(parse(text, schema).bind(p=value)) == printed
    unfit: list[tuple[str, Any]] = [
        ("i = :p", "five"),
        ("i = :p", True),
        ("i < :p", 2**63),
        ("d < :p", dt.date(2024, 1, 1)),
        ("day = :p", "2024-02-30"),
        ("day = :p", 5),
        ("s = :p", 5),
        ("b = :p", 1),
        ("i IN (:p, 7)", "5"),
    ]
    for text, value in unfit:
        with pytest.raises(FilterTypeError):
            parse(text, schema).bind(p=value)
    with pytest.raises(FilterTypeError, match="no attribute price"):
        parse("price = :p", schema).bind(p=5)
    with pytest.raises(FilterTypeError, match="LIKE is for strings"):
        parse("i LIKE :p", schema).bind(p="5%")


# Events


EQUAL_VALUES: list[tuple[str, Any]] = [
    ("x = 5", 5),
    ("x = 5", np.int64(5)),
    ("x = 5", np.uint8(5)),
    ("x = 5", 5.0),
    ("x = 5", np.float16(5)),
    ("x = 5", Decimal("5.00")),
    ("x = 0.1F", np.float32(0.1)),
    ("x = 18446744073709551615", np.uint64(2**64 - 1)),
    ("x = 100000000000000000000", 10**20),
    ("x = CAST('NaN' AS DOUBLE)", np.float64("nan")),
    ("x = TRUE", np.bool_(True)),
    ("x = 'a'", np.str_("a")),
    ("x = 'red'", Color.RED),
    ("x = 3", Level.HIGH),
    ("x = DATE '2024-02-29'", dt.date(2024, 2, 29)),
    ("x = DATE '2024-02-29'", np.datetime64("2024-02-29")),
    ("x = TIMESTAMP '2024-02-29 10:00:00'", dt.datetime(2024, 2, 29, 12, tzinfo=UTC_PLUS_2)),
    ("x = TIMESTAMP '2024-02-29 10:00:00'", pd.Timestamp("2024-02-29 12:00", tz=UTC_PLUS_2)),
    ("x = TIMESTAMP '2024-02-29 12:00:00'", np.datetime64("2024-02-29T12:00:00.000000999", "ns")),
    ("x IS NULL", None),
    ("x IS NULL", pd.NaT),
    ("x IS NULL", pd.NA),
    ("x IS NULL", np.datetime64("NaT")),
    ("x IS NOT NULL", b"bytes"),
    ("x IS NOT NULL", [1]),
    ("x IS NOT NULL", {}),
    ("x IS NOT NULL", 10**50),
    ("x IS NOT NULL", math.nan),
    ("x IS NOT NULL", np.datetime64("20000-01-01")),
]


@pytest.mark.parametrize(("text", "value"), EQUAL_VALUES, ids=lambda value: ascii(value)[:40])
def test_events_may_hold_what_python_numpy_and_pandas_have(text: str, value: Any) -> None:
    assert parse(text).matches({"x": value})
    assert not parse(f"NOT ({text})").matches({"x": value})


@pytest.mark.parametrize(
    "value", [b"a", [1], {"a": 1}, 10**50, 1j, dt.time(1), np.timedelta64(1, "s")]
)
def test_what_no_filter_compares_with_is_present_and_nothing_else(value: Any) -> None:
    for text in (
        "x = 5",
        "x != 5",
        "x < 'a'",
        "x IN (1)",
        "x LIKE '%'",
        "x",
        "NOT x",
        "x <=> NULL",
    ):
        assert not parse(text).matches({"x": value}), text
    assert parse("x IS NOT NULL").matches({"x": value})
    assert parse("x IS DISTINCT FROM NULL").matches({"x": value})


def test_rows_of_pandas_and_numpy_are_events() -> None:
    frame = pd.DataFrame({"x": [1, 2], "s": ["a", None], "t": pd.to_datetime(["2024-01-01", None])})
    rows: list[Mapping[str, Any]] = [
        {str(name): value for name, value in row.items()} for row in frame.to_dict("records")
    ]
    assert [parse("x = 2").matches(row) for row in rows] == [False, True]
    assert [parse("t IS NULL").matches(row) for row in rows] == [False, True]
    assert [parse("t = TIMESTAMP '2024-01-01'").matches(row) for row in rows] == [True, False]


def test_an_event_may_be_any_mapping() -> None:
    event = {"x": {"y": 1}}
    for mapping in (event, UserDict(event), MappingProxyType(event), ChainMap({}, event)):
        assert parse("x.y = 1").matches(mapping)
    assert parse("x.y = 1").matches({"x": MappingProxyType({"y": 1})})


def test_paths_lead_into_nested_events_and_end_where_something_is_missing() -> None:
    f = parse("a.b.`c d`.e = 1")
    assert f.attributes == {"a.b.`c d`.e"}
    assert f.matches({"a": {"b": {"c d": {"e": 1}}}})
    events: list[dict[str, Any]] = [
        {},
        {"a": None},
        {"a": 5},
        {"a": {}},
        {"a": {"b": None}},
        {"a": {"b": [1]}},
        {"a": {"b": {"c d": {}}}},
        {"a.b.c d.e": 1},
    ]
    for event in events:
        assert not f.matches(event)
        assert parse("a.b.`c d`.e IS NULL").matches(event)
    assert parse("`a.b` = 1").matches({"a.b": 1})
    assert not parse("`a.b` = 1").matches({"a": {"b": 1}})
    assert parse("a IS NOT NULL").matches({"a": {}})
    assert not parse("a = 1").matches({"a": {"b": 1}})


def test_names_are_case_sensitive() -> None:
    assert parse("Price = 1").matches({"Price": 1})
    assert not parse("Price = 1").matches({"price": 1})


# Explanations


def test_an_explanation_says_what_held_what_failed_and_what_was_unknown() -> None:
    f = parse("symbol = 'IBM' AND (price < 10 OR NOT id IN (1, NULL)) AND note IS NULL AND TRUE")
    explanation = f.explain({"symbol": "IBM", "price": 12.5, "id": 2})
    assert explanation.passed is False
    assert str(explanation) == "\n".join(
        [
            "the event does not pass",
            "  ✗ all of",
            "    ✓ symbol = 'IBM': held, symbol is 'IBM'",
            "    ✗ one of",
            "      ✗ price < 10: failed, price is 12.5",
            "      ✗ id NOT IN (1, NULL): unknown, id is 2, and a comparison with NULL is unknown",
            "    ✓ note IS NULL: held, note is absent (NULL)",
            "    ✓ TRUE: a constant",
        ]
    )


def test_an_explanation_says_why_values_cannot_be_compared() -> None:
    assert str(parse("x < 5").explain({"x": "6"})) == (
        "the event does not pass\n"
        "  ✗ x < 5: failed, x is '6', a string, and cannot be compared with the constant"
    )
    assert "of a type no filter compares with" in str(parse("x < 5").explain({"x": b"6"}))
    assert str(parse("x IS NOT NULL").explain({"x": 5})) == (
        "the event passes\n  ✓ x IS NOT NULL: held, x is 5"
    )


@given(st.sampled_from([None, True, False, 1, "a", b"a"]), st.sampled_from([None, True, False]))
def test_an_explanation_agrees_with_the_match(x: Any, y: Any) -> None:
    event = {"x": x, "y": y}
    for text in ("x", "NOT x OR y", "x = 'a' IS NULL", "x = 1 AND y", "(x = 1 AND y) IS NOT TRUE"):
        f = parse(text)
        explanation = f.explain(event)
        assert explanation.passed == f.matches(event)
        assert str(explanation).startswith(
            "the event passes" if explanation.passed else "the event does"
        )
        marks = [line.strip()[0] for line in explanation.lines]
        assert marks[0] == ("✓" if explanation.passed else "✗")


# Printing, equality, pickling


def test_a_filter_shows_itself() -> None:
    f = parse("price<5")
    assert str(f) == "price < 5"
    assert repr(f) == "<Filter price < 5>"
    assert f"{f}" == "price < 5"


def test_equal_filters_are_one_in_a_set() -> None:
    filters = {parse("a = 1 AND b = 2"), parse("b = 2 AND a = 1"), parse("NOT (a != 1 OR b != 2)")}
    assert len(filters) == 1
    assert parse("b = 2 AND a IN (1)") in filters
    assert parse("b = 2") not in filters
    assert parse("a = 1") != "a = 1"
    assert parse("a = 1") != None  # noqa: E711


constants = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64),
    st.floats(),
    st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=9
    ),
    st.text(),
    st.dates(),
    st.datetimes(),
)


@given(constants, constants)
def test_any_bound_filter_prints_as_a_text_that_reads_back_equal(one: Any, other: Any) -> None:
    f = parse("x = :p OR NOT (y <=> :q AND x IN (:p)) OR z > :r").bind(p=one, q=other)
    back = parse(str(f))
    assert repr(back.tree) == repr(f.tree)
    assert back == f
    assert hash(back) == hash(f)
    full, again = f.bind(r=other), back.bind(r=other)
    assert full == again == parse(str(full))
    for value in (one, other):
        event = {"x": value, "y": value, "z": value}
        assert full.matches(event) == again.matches(event)


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("x = 1 AND (s LIKE '%a' OR NOT startswith(s, :p)) AND y IN (1.5, 1e0, NULL)", None),
        ("x > DATE '2024-02-29' OR x < TIMESTAMP '2024-02-29 12:00:00' OR x = 'a'", None),
        ("(x IN (:p, CAST('NaN' AS DOUBLE))) IS NOT FALSE", None),
        ("x = '5' AND day = '2024-02-29' AND s LIKE 'a%'", Schema("x BIGINT, day DATE, s STRING")),
        ("x = 5", Schema({"x": tg.Attribute("int", values=[1, 5])}, checked=True)),
        ("TRUE", None),
    ],
)
def test_a_filter_survives_pickling_and_copying(text: str, schema: Schema | None) -> None:
    f = parse(text, schema)
    hash(f)
    copies = [pickle.loads(pickle.dumps(f, protocol)) for protocol in range(2, 6)]
    for again in (*copies, copy.copy(f), copy.deepcopy(f)):
        assert again == f
        assert hash(again) == hash(f)
        assert str(again) == str(f)
        assert again.parameters == f.parameters
        assert again.attributes == f.attributes
        assert again.schema == f.schema


def test_errors_survive_pickling() -> None:
    for text, schema in (("price <", None), ("x = 'a'", Schema("x BIGINT"))):
        with pytest.raises(tg.FilterError) as caught:
            parse(text, schema)
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is type(caught.value)
        assert str(again) == str(caught.value)
        assert again.position == caught.value.position


ELSEWHERE = """
import pickle, sys
from tidegate import Schema, parse
f = pickle.load(sys.stdin.buffer)
same = parse(str(f), Schema({"x": f.schema["x"], "s": "string"}, checked=True))
print(f == same, hash(f) == hash(same), hash(f.schema) == hash(same.schema), len({f, same}))
"""


def test_hashes_are_right_in_another_process() -> None:
    """Strings hash differently there, so no hash may travel along."""
    schema = Schema(
        {"x": tg.Attribute("string", values=["a", "b", "c"]), "s": "string"}, checked=True
    )
    f = parse("x != 'a' AND s LIKE '%a'", schema)
    hash(f)
    hash(schema)
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        input=pickle.dumps(f),
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.decode().split() == ["True", "True", "True", "1"]


def test_events_from_json_need_no_preparation() -> None:
    event = json.loads('{"id": 12345678901234567890, "price": 1e400, "tags": ["a"], "open": null}')
    assert parse("id = 12345678901234567890").matches(event)
    assert parse("price = CAST('Infinity' AS DOUBLE)").matches(event)
    assert parse("tags IS NOT NULL AND open IS NULL AND missing IS NULL").matches(event)

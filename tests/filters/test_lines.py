"""On every line, the cut of a constant is what comparing value by value says."""

import datetime as dt
import math
import operator
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.generate import POOLS
from tidegate.filters.compare import compare, rounded, shared_scale
from tidegate.filters.lines import (
    ALL_LINES,
    BIGINT,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    TIMESTAMP,
    TOP,
    Line,
    cut,
    days,
    decimal_line,
    double_at,
    double_key,
    float_at,
    float_key,
    key_of,
    microseconds,
    single,
    value_at,
)
from tidegate.filters.types import read_type
from tidegate.filters.values import MAX_PRECISION, OTHER, Constant, decimal_type, normal

DECIMAL_TYPES = ["decimal(1,0)", "decimal(1,1)", "decimal(5,2)", "decimal(38,38)", "decimal(20,18)"]


def line_of(name: str) -> Line:
    if name == "any decimal":
        return DECIMAL
    line = read_type(name).line
    assert line is not None
    return line


LINES = {name: line_of(name) for name in ["any decimal", *DECIMAL_TYPES, *POOLS]}
FAMILIES = {name: "number" if "decimal" in name else read_type(name).family for name in LINES}
POOLED: dict[str, list[Constant]] = {
    kind: [value for name in POOLS if FAMILIES[name] == kind for value in POOLS[name]]
    for kind in {*FAMILIES.values()}
}
decimals = st.builds(
    lambda digits, exponent: Decimal(f"{digits}E{exponent}"),
    st.integers(1 - 10**38, 10**38 - 1),
    st.integers(-38, 0),
)
GENERATED: dict[str, st.SearchStrategy[Constant]] = {
    "boolean": st.booleans(),
    "number": st.one_of(
        st.integers(-(2**63), 2**63 - 1), st.floats(), decimals, st.integers(-5, 5)
    ),
    "string": st.text(max_size=4),
    "date": st.dates(),
    "timestamp": st.datetimes(),
}
MOMENTS = st.one_of(
    st.sampled_from([*POOLED["date"], *POOLED["timestamp"]]), st.dates(), st.datetimes()
)


def constants_for(name: str) -> st.SearchStrategy[Constant]:
    """Constants of all kinds that a value on the line is compared with."""
    kind = FAMILIES[name]
    if kind in ("date", "timestamp"):
        return MOMENTS
    return st.sampled_from(POOLED[kind]) | GENERATED[kind]


def is_on(line: Line, key: Any) -> bool:
    """Whether a value has that key (Python's dates end before Spark's do)."""
    if not line.low <= key < line.high:
        return False
    if line is DATE:
        return bool(days(dt.date.min) <= key <= days(dt.date.max))
    if line is TIMESTAMP:
        return bool(microseconds(dt.datetime.min) <= key <= microseconds(dt.datetime.max))
    if line is DECIMAL:
        return len(str(abs(key)).rstrip("0")) <= MAX_PRECISION
    return True


def around(line: Line, keys: tuple[Any, Any]) -> list[Any]:
    if line.name == "string":
        first, after = (key if key is not TOP else "\U0010ffff" * 5 for key in keys)
        tried = [first, after, first[:-1], after[:-1], first + "\0", after + "\0", "", "\0"]
    else:
        steps = [10**n for n in range(39)] if line is DECIMAL else [1, 2]
        tried = [key + step for key in keys for near in steps for step in (-near, 0, near)]
        tried += [line.low, line.high - 1]
    return [key for key in tried if is_on(line, key)]


def position(key: Any, first: Any, after: Any) -> int:
    return -1 if key < first else 0 if key < after else 1


@pytest.mark.parametrize("name", LINES)
@given(data=st.data())
def test_a_cut_agrees_with_comparing_the_values_around_it(name: str, data: st.DataObject) -> None:
    line = LINES[name]
    constant = data.draw(constants_for(name))
    first, after = cut(line, constant)
    assert line.low <= first <= after <= line.high
    for key in around(line, (first, after)):
        assert position(key, first, after) == compare(value_at(line, key), constant), key


@pytest.mark.parametrize("name", LINES)
@given(data=st.data())
def test_a_cut_agrees_with_comparing_any_value(name: str, data: st.DataObject) -> None:
    line = LINES[name]
    constant = data.draw(constants_for(name))
    cut_at = cut(line, constant)
    pool = POOLS.get(name, POOLS["decimal(38,30)"])
    for value in [*pool, data.draw(GENERATED[FAMILIES[name]])]:
        own = read_type(name).conform(value) if name != "any decimal" else normal(value)
        if own is OTHER or own is None or (line is DECIMAL and not isinstance(own, Decimal)):
            continue
        assert position(key_of(line, own), *cut_at) == compare(own, constant), own


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, line in LINES.items()
        if line.name in ("bigint", "decimal") and line != DECIMAL
    ],
)
@given(
    constant=st.sampled_from([c for c in POOLED["number"] if isinstance(c, int | Decimal)])
    | st.integers(-(2**63), 2**63 - 1)
    | decimals,
    scale=st.integers(0, 38),
)
def test_a_cut_with_rounding_agrees_with_comparing_rounded_values(
    name: str, constant: Constant, scale: int
) -> None:
    line = LINES[name]
    first, after = cut(line, constant, scale)
    goal = rounded(constant, scale)
    for key in around(line, (first, after)):
        value = rounded(value_at(line, key), scale)
        assert position(key, first, after) == compare(value, goal), key


def test_decimal_38_30_is_rounded_beside_wide_integers() -> None:
    """Beside a bigint's 20 digits, 18 digits are left for the fraction; ties go away from zero."""
    line = LINES["decimal(38,30)"]
    assert shared_scale((38, 30), (5,), listed=False) is None
    assert shared_scale((38, 30), (2**40,), listed=False) == 25
    assert shared_scale((38, 30), (2**40,), listed=True) == 18
    half = 10**12 // 2
    assert cut(line, 0, 18) == (1 - half, half)
    assert cut(line, 1, 18) == (10**30 - half, 10**30 + half)
    assert cut(line, -1, 18) == (-(10**30) - half + 1, -(10**30) + half + 1)


def test_doubles_and_integers_meet_as_sparks_cast_says() -> None:
    assert cut(BIGINT, 2.0**53) == (2**53, 2**53 + 2)
    assert cut(BIGINT, 2.0**53 + 2) == (2**53 + 2, 2**53 + 3)
    assert cut(BIGINT, 2.0**53 + 4) == (2**53 + 3, 2**53 + 6)
    assert cut(BIGINT, 2.0**63) == (2**63 - 512, 2**63)
    assert cut(BIGINT, -(2.0**63)) == (-(2**63), -(2**63) + 513)
    assert cut(BIGINT, math.nan) == cut(BIGINT, math.inf) == (2**63, 2**63)
    assert cut(BIGINT, -math.inf) == (-(2**63), -(2**63))
    assert cut(DOUBLE, 2**53 + 1) == cut(DOUBLE, 2.0**53)
    assert cut(DOUBLE, -0.0) == cut(DOUBLE, 0.0) == cut(DOUBLE, Decimal("-0.0")) == (0, 1)
    assert cut(DOUBLE, math.nan) == (DOUBLE.high - 1, DOUBLE.high)
    assert cut(FLOAT, 0.1) == (float_key(single(0.1)), float_key(single(0.1)))  # 0.1 lies between
    assert cut(FLOAT, 1e300) == (float_key(math.inf), float_key(math.inf))


@given(st.floats(), st.floats())
def test_keys_of_doubles_and_floats_keep_their_order(one: float, other: float) -> None:
    def sign(left: int, right: int) -> int:
        return (left > right) - (left < right)

    assert sign(double_key(one), double_key(other)) == compare(one, other)
    assert compare(double_at(double_key(one)), one) == 0
    assert DOUBLE.low <= double_key(one) < DOUBLE.high
    short, long = single(one), single(other)
    assert sign(float_key(short), float_key(long)) == compare(short, long)
    assert compare(float_at(float_key(short)), short) == 0
    assert FLOAT.low <= float_key(short) < FLOAT.high


@given(st.integers(DOUBLE.low, DOUBLE.high - 1), st.integers(FLOAT.low, FLOAT.high - 1))
def test_neighbouring_keys_are_neighbouring_numbers(double: int, float_: int) -> None:
    assert double_key(double_at(double)) == double
    assert float_key(float_at(float_)) == float_
    if double < double_key(math.inf):
        assert double_at(double + 1) == math.nextafter(double_at(double), math.inf)


@pytest.mark.parametrize("name", POOLS)
def test_every_value_is_where_its_key_says(name: str) -> None:
    line = LINES[name]
    for value in POOLS[name]:
        key = key_of(line, value)
        assert line.low <= key < line.high
        assert compare(value_at(line, key), value) == 0
        assert cut(line, value) == (key, key + "\0" if isinstance(key, str) else key + 1)


@settings(max_examples=50)
@given(decimals.filter(lambda value: decimal_type(value) is not None))
def test_every_decimal_has_a_place_on_the_finest_grid(value: Decimal) -> None:
    key = key_of(DECIMAL, value)
    assert value_at(DECIMAL, key) == value
    first, after = cut(DECIMAL, value)
    assert first == key < after


@given(st.text())
def test_the_top_lies_above_every_string_and_survives_pickling(text: str) -> None:
    for below, above in ((operator.lt, operator.gt), (operator.le, operator.ge)):
        assert below(text, TOP)
        assert above(TOP, text)
        assert not below(TOP, text)
        assert not above(text, TOP)
    assert text != TOP
    assert pickle.loads(pickle.dumps(TOP)) is TOP


@pytest.mark.parametrize("line", [*ALL_LINES, FLOAT], ids=lambda line: line.name)
def test_a_line_from_another_process_is_the_one_of_this(line: Line) -> None:
    assert pickle.loads(pickle.dumps(line)) is line
    own = decimal_line(7, 2)
    assert pickle.loads(pickle.dumps(own)) == own

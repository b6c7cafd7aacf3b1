"""The intervals of a column of constants are those that each predicate by itself allows."""

import datetime as dt
import math
import os
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tidegate import FilterTypeError, Schema, parse
from tidegate.engine.conditions.cuts import COMPARISONS, has_int64_keys, span
from tidegate.filters import bounds as b
from tidegate.filters.expression import Operator, Predicate
from tidegate.filters.lines import (
    BIGINT,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    OTHER_LINE,
    STRING,
    TIMESTAMP,
    Line,
    cut,
    decimal_line,
)
from tidegate.filters.meaning import allowed
from tidegate.filters.values import family

# There are hundreds of cases, each of which looks at whole columns.
FEWER = settings(max_examples=100 if os.environ.get("TIDEGATE_LONG") == "1" else 4)
OPERATORS = sorted(COMPARISONS, key=lambda operator: operator.name)
EMPTY = (0, -1)

INTEGERS = [
    *(
        sign * (2**power + near)
        for sign in (1, -1)
        for power in (24, 53, 62)
        for near in (-1, 0, 1)
    ),
    *(-(2**63), -(2**63) + 1, -(2**31) - 1, -129, -128, -1, 0, 1, 5, 127, 128, 2**31),
    *(2**63 - 1025, 2**63 - 513, 2**63 - 512, 2**63 - 2, 2**63 - 1, 999_999_999_999_999_999),
]
DOUBLES = [
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(0.5, -0.5, 0.1, -0.1, 0.01, 1.005, 99999999.99, 99999999.995, 127.5, -128.5, 5.0, 5.5),
    *(1e300, -1e300, 1e18, 1e19, 2.0**63, -(2.0**63), math.nextafter(2.0**63, 0), 2.0**64),
    *(2.0**53, 2.0**53 - 1, 2.0**53 + 2, -(2.0**53), 1 - 2.0**53, 2.0**51 / 100, 2.0**53 / 100),
    *(3.4028234663852886e38, 3.4028235677973366e38, 1.401298464324817e-45, 16777217.0, 1e39),
]
DAYS = [
    *(dt.date(1, 1, 1), dt.date(1, 1, 2), dt.date(1582, 10, 15), dt.date(1969, 12, 31)),
    *(dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 30), dt.date(9999, 12, 31)),
]
MOMENTS = [
    *(dt.datetime(day.year, day.month, day.day) for day in DAYS),
    *(dt.datetime(day.year, day.month, day.day, 23, 59, 59, 999_999) for day in DAYS),
    *(dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(2024, 2, 29, 12)),
]
BIG = st.integers(-(2**63), 2**63 - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    top = 10**precision - 1
    some = st.sampled_from([0, 1, -1, 5, min(10**scale, top), 10 ** (precision - 1), top, -top])
    return (some | st.integers(-top, top)).map(lambda n: Decimal(f"{n}E-{scale}"))


def within(low: int, high: int) -> st.SearchStrategy[int]:
    edges = [n for n in (*INTEGERS, low, high) if low <= n <= high]
    return st.sampled_from(edges) | st.integers(low, high)


CONSTANTS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), within(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), within(0, 2**64 - 1)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), st.sampled_from(DOUBLES) | st.floats()),
    "near decimals": (pa.float64(), st.integers(-(10**17), 10**17).map(lambda n: n / 100)),
    "near integers": (pa.float64(), st.integers(-(2**54), 2**54).map(lambda n: n / 2)),
    "beyond 2**53": (pa.float64(), BIG.map(float)),
    "decimal(10,2)": (pa.decimal128(10, 2), decimals(10, 2)),
    "decimal(18,0)": (pa.decimal128(18, 0), decimals(18, 0)),
    "decimal(18,18)": (pa.decimal128(18, 18), decimals(18, 18)),
    "decimal(18,6)": (pa.decimal128(18, 6), decimals(18, 6)),
    "decimal(38,0)": (pa.decimal128(38, 0), decimals(38, 0)),
    "decimal(38,30)": (pa.decimal128(38, 30), decimals(38, 30)),
    "small and wide": (pa.decimal128(38, 18), decimals(18, 18)),
    "small, wide and fine": (pa.decimal128(38, 30), decimals(18, 30)),
    "decimal(2,-3)": (pa.decimal128(2, -3), st.integers(-99, 99).map(lambda n: Decimal(n * 1000))),
    "decimal256": (pa.decimal256(38, 4), decimals(38, 4)),
    "dictionary": (pa.dictionary(pa.int8(), pa.int64()), st.sampled_from(INTEGERS)),
    "date32": (pa.date32(), st.sampled_from(DAYS) | st.dates()),
    "date64": (pa.date64(), st.sampled_from(DAYS) | st.dates()),
    "seconds": (
        pa.timestamp("s"),
        st.sampled_from(MOMENTS).map(lambda m: m.replace(microsecond=0)),
    ),
    "timestamp": (pa.timestamp("us"), st.sampled_from(MOMENTS) | st.datetimes()),
    "zoned": (
        pa.timestamp("us", "UTC"),
        st.sampled_from(MOMENTS).map(lambda m: m.replace(tzinfo=dt.UTC)),
    ),
    "string": (pa.string(), st.sampled_from(["", "5", "true", "2024-02-29"])),
    "null": (pa.null(), st.none()),
}
LINES = {
    "boolean": BOOLEAN,
    "bigint": BIGINT,
    "double": DOUBLE,
    "float": FLOAT,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "decimal(10,2)": decimal_line(10, 2),
    "decimal(18,0)": decimal_line(18, 0),
    "decimal(18,18)": decimal_line(18, 18),
    "other": OTHER_LINE,
}
TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)"),
    *("decimal(18,0)", "decimal(18,18)", "decimal(18,6)", "decimal(1,1)", "date", "timestamp"),
    "timestamp_ntz",
)


def intervals(
    operator: Operator, constants: Any, line: Line, schema: Schema | None = None
) -> list[tuple[int, int]]:
    low, high = span(operator, constants, line, None if schema is None else schema["x"])
    assert low.dtype == high.dtype == np.int64
    assert len(low) == len(high) == len(constants)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def bound(operator: Operator, constant: Any, schema: Schema | None) -> Predicate:
    """The predicate as a filter has it whose parameter is bound to the constant."""
    predicate = parse(f"x {operator.value} :c", schema).bind(c=constant).tree
    assert isinstance(predicate, Predicate)
    return predicate


def expected(predicate: Predicate, line: Line, schema: Schema | None) -> tuple[int, int]:
    bounds = allowed(predicate, schema).spans.get(line.name, ())
    if bounds and schema is None and line.name == "decimal":
        bounds = on_its_own_grid(predicate, line, bounds)
    assert len(bounds) in (0, 2)
    return (bounds[0], bounds[1] - 1) if bounds else EMPTY


def on_its_own_grid(predicate: Predicate, line: Line, fine: b.Bounds) -> b.Bounds:
    """Without a schema all decimals lie on one line; here are those of one scale."""
    first, after = cut(line, predicate.constants[0])
    low, high = {
        Operator.LESS: (line.low, first),
        Operator.AT_MOST: (line.low, after),
        Operator.GREATER: (after, line.high),
        Operator.AT_LEAST: (first, line.high),
    }.get(predicate.operator, (first, after))
    step = 10 ** (DECIMAL.scale - line.scale)
    for key in (line.low, first - 1, first, after - 1, after, line.high - 1):
        if line.low <= key < line.high:
            assert (low <= key < high) == b.has(fine, key * step)
    return (low, high) if low < high else ()


def drawn(data: st.DataObject, name: str) -> pa.Array:
    kind, values = CONSTANTS[name]
    array = pa.array(data.draw(st.lists(st.none() | values, min_size=1, max_size=16)), kind)
    return array.slice(data.draw(st.integers(0, 1)))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", CONSTANTS)
@FEWER
@given(data=st.data())
def test_without_a_schema_a_column_cuts_as_each_constant_does(
    name: str, line: str, data: st.DataObject
) -> None:
    array = drawn(data, name)
    for operator in OPERATORS:
        predicates = [bound(operator, value, None) for value in array.to_pylist()]
        assert intervals(operator, array, LINES[line]) == [
            expected(predicate, LINES[line], None) for predicate in predicates
        ]


def admitted(operator: Operator, constants: pa.Array, schema: Schema) -> Iterator[int]:
    """The rows whose constants the schema admits as they are."""
    for row, constant in enumerate(constants.to_pylist()):
        try:
            bound(operator, constant, schema)
        except FilterTypeError:
            continue
        if not isinstance(constant, str):
            yield row


@pytest.mark.parametrize("wanted", TYPES)
@pytest.mark.parametrize("name", CONSTANTS)
@FEWER
@given(data=st.data())
def test_with_a_schema_a_column_cuts_as_each_constant_does(
    name: str, wanted: str, data: st.DataObject
) -> None:
    schema = Schema({"x": wanted})
    line = schema["x"].type.line
    assert line is not None
    array = drawn(data, name)
    for operator in OPERATORS:
        fitting = array.take(pa.array(list(admitted(operator, array, schema)), pa.int64()))
        predicates = [bound(operator, value, schema) for value in fitting.to_pylist()]
        assert intervals(operator, fitting, line, schema) == [
            expected(predicate, line, schema) for predicate in predicates
        ]
        assert intervals(operator, fitting, OTHER_LINE, schema) == [EMPTY] * len(fitting)


EDGES: dict[str, pa.Array] = {
    "integers": pa.array(INTEGERS, pa.int64()),
    "doubles": pa.array(DOUBLES, pa.float64()),
    "decimals": pa.array(
        [Decimal(text) for text in ("0.00", "0.01", "-0.01", "0.10", "127.99", "-99999999.99")],
        pa.decimal128(10, 2),
    ),
    "long decimals": pa.array(
        [Decimal(Random(seed).randrange(10**17, 10**18)).scaleb(-6) for seed in range(50)],
        pa.decimal128(18, 6),
    ),
    "days": pa.array(DAYS, pa.date32()),
    "moments": pa.array(MOMENTS, pa.timestamp("us")),
    "booleans": pa.array([True, False, None]),
}


@pytest.mark.parametrize("wanted", [None, *TYPES])
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_edge_is_cut_where_it_is(operator: Operator, wanted: str | None) -> None:
    """The properties above draw from the same edges; here none is left out."""
    schema = None if wanted is None else Schema({"x": wanted})
    lines = list(LINES.values()) if schema is None else [schema["x"].type.line]
    compared = 0
    for array in EDGES.values():
        if schema is not None:
            array = array.take(pa.array(list(admitted(operator, array, schema)), pa.int64()))
        for line in lines:
            assert line is not None
            found = intervals(operator, array, line, schema)
            predicates = [bound(operator, value, schema) for value in array.to_pylist()]
            assert found == [expected(predicate, line, schema) for predicate in predicates]
            compared += sum(interval != EMPTY for interval in found)
    assert compared


@pytest.mark.parametrize("scale", [1, 2, 6, 18])
@given(
    st.integers(-(10**18) + 1, 10**18 - 1),
    st.integers(-2, 2),
    st.sampled_from([1, 3, 1_000, 10**9, 10**12]),
)
@example(2**51 - 1, 1, 1)
@example(2**51, -1, 1)
@example(2**53 + 1, 0, 1)
def test_a_double_beside_a_decimal_is_cut_by_what_spark_casts_to_it(
    scale: int, key: int, steps: int, divisor: int
) -> None:
    line = decimal_line(18, scale)
    double = key // divisor / 10**scale
    for _ in range(abs(steps)):
        double = math.nextafter(double, math.copysign(math.inf, steps))
    first, after = cut(line, double)
    array = pa.array([double], pa.float64())
    for operator, low, high in (
        (Operator.EQUAL, first, after),
        (Operator.LESS, line.low, first),
        (Operator.GREATER, after, line.high),
    ):
        wanted = (low, high - 1) if low < high else EMPTY
        assert intervals(operator, array, line) == [wanted]


@pytest.mark.parametrize(
    ("array", "line"),
    [
        (np.array([-(2**63), 0, 2**63 - 1]), BIGINT),
        (np.array([0.5, math.nan, -0.0, math.inf]), BIGINT),
        (np.array([0.5, math.nan, -0.0, math.inf])[::-2], DOUBLE),
        (np.array([True, False]), BOOLEAN),
        (np.array(["0001-01-01", "2024-02-29", "NaT"], "datetime64[D]"), DATE),
        (np.array(["0001-01-01", "2024-02-29T12:00", "NaT"], "datetime64[us]"), TIMESTAMP),
        (np.array([2**63, 5], np.uint64), BIGINT),
        (np.array([Decimal("1.50"), 2, None, 2**70, 2.5, "5", True], object), BIGINT),
        (np.array([Decimal("0." + "0" * 37 + "1"), Decimal("1E+30")], object), BIGINT),
        (np.array([], np.float64), DOUBLE),
        (np.array([], object), DOUBLE),
    ],
)
def test_a_numpy_array_is_read_value_by_value(array: NDArray[Any], line: Line) -> None:
    for operator in OPERATORS:
        predicates = [bound(operator, value, None) for value in array]
        assert intervals(operator, array, line) == [
            expected(predicate, line, None) for predicate in predicates
        ]


def test_a_decimal_too_fine_for_the_shared_type_is_rounded_as_spark_does() -> None:
    fine = pa.array([Decimal("0." + "0" * 30 + "1")], pa.decimal128(38, 31))
    assert intervals(Operator.EQUAL, fine, BIGINT) == [(0, 0)]
    assert intervals(Operator.LESS, fine, BIGINT) == [(BIGINT.low, 0)]
    assert intervals(Operator.AT_MOST, pa.array([0], pa.int64()), BIGINT) == [(BIGINT.low, 0)]


def test_intervals_keep_the_ends_of_the_bigints() -> None:
    ends = pa.array([-(2**63), 2**63 - 1], pa.int64())
    low, high = -(2**63), 2**63 - 1
    assert intervals(Operator.LESS, ends, BIGINT) == [EMPTY, (low, high - 1)]
    assert intervals(Operator.GREATER, ends, BIGINT) == [(low + 1, high), EMPTY]
    assert intervals(Operator.AT_MOST, ends, BIGINT) == [(low, low), (low, high)]
    assert intervals(Operator.AT_LEAST, ends, BIGINT) == [(low, high), (high, high)]
    infinite = pa.array([-math.inf, math.inf, math.nan])
    assert intervals(Operator.LESS, infinite, BIGINT) == [EMPTY, (low, high), (low, high)]
    assert intervals(Operator.AT_LEAST, infinite, BIGINT) == [(low, high), EMPTY, EMPTY]


def test_a_dictionary_may_hold_a_null() -> None:
    array = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 0], pa.int8()), pa.array([2**63, None], pa.uint64())
    )
    assert intervals(Operator.LESS, array, BIGINT) == [BIGINT_WHOLE, EMPTY, EMPTY, BIGINT_WHOLE]


BIGINT_WHOLE = (-(2**63), 2**63 - 1)


def test_days_that_no_timestamp_reaches_stand_outside_the_line() -> None:
    """No constant of the language is such a day, but an Arrow column may hold one."""
    days = pa.array([-(2**31), 2**31 - 1, -106_751_991, 106_751_991], pa.int32()).cast(pa.date32())
    schema = Schema({"x": "timestamp"})
    whole = (TIMESTAMP.low, TIMESTAMP.high - 1)
    near = 106_751_991 * 86_400_000_000
    assert intervals(Operator.EQUAL, days, TIMESTAMP, schema) == [
        *(EMPTY, EMPTY, (-near, -near), (near, near)),
    ]
    assert intervals(Operator.GREATER, days, TIMESTAMP, schema)[:2] == [whole, EMPTY]


@pytest.mark.parametrize(
    "constants",
    [
        pa.array([b"bytes"]),
        pa.array([[1]]),
        pa.array([10**40], pa.decimal256(50, 0)),
        pa.array([2**62], pa.timestamp("s")),
        np.array([1, b"bytes"], object),
    ],
)
def test_what_is_no_constant_is_refused(constants: Any) -> None:
    with pytest.raises(FilterTypeError, match="constant"):
        span(Operator.LESS, constants, BIGINT, None)


def test_lines_are_told_by_the_width_of_their_keys() -> None:
    assert all(has_int64_keys(line) for line in LINES.values())
    assert not any(has_int64_keys(line) for line in (STRING, DECIMAL, decimal_line(19, 2)))


def test_the_edges_reach_every_family() -> None:
    """What is compared above would say little if the constants were of other families."""
    families = {family(array.to_pylist()[0]) for array in EDGES.values()}
    assert families == {"number", "date", "timestamp", "boolean"}


def test_signalling_nans_are_nans() -> None:
    array = np.array([0x7FF0_0000_0000_0001, -0x000F_FFFF_FFFF_FFFF], np.int64).view(np.float64)
    schema = Schema({"x": "float"})
    for line, own in ((BIGINT, None), (DOUBLE, None), (FLOAT, schema)):
        whole = (line.low, line.high - 1)
        assert intervals(Operator.AT_MOST, array, line, own) == [whole, whole]

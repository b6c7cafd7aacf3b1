"""Values of parameters come back from their spelling as they were, one by one and in columns."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipeline import reading
from tidegate.filters.filter import constant
from tidegate.filters.literals import decode, spell
from tidegate.pipeline.store.literals import (
    KINDS,
    PARAMETERS,
    REFUSED,
    MapBuilder,
    given_columns,
    given_maps,
    read_literals,
    spell_column,
)

BIGINTS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats(allow_nan=True, allow_infinity=True)
DECIMALS = st.builds(
    lambda digits, scale: Decimal(digits).scaleb(-scale),
    st.integers(-(10**38) + 1, 10**38 - 1),
    st.integers(0, 38),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
DATES = st.dates()
MOMENTS = st.datetimes().map(lambda moment: moment.replace(fold=0))
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bigint": (pa.int64(), BIGINTS),
    "double": (pa.float64(), DOUBLES),
    "finite double": (pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    "decimal": (
        pa.decimal128(38, 10),
        st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-10)),
    ),
    "string": (pa.string(), TEXTS),
    "plain string": (pa.string(), st.text("abc", max_size=3)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), DATES),
    "timestamp": (pa.timestamp("us"), MOMENTS),
    "unsigned": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "null": (pa.null(), st.none()),
}
CONSTANTS = st.one_of(st.none(), st.booleans(), BIGINTS, DOUBLES, DECIMALS, TEXTS, DATES, MOMENTS)


@given(CONSTANTS)
@example(-0.0)
@example(math.nan)
@example(-math.inf)
@example(5e-324)
@example("\0\n'\"\\\u2028%_é😀")
@example(dt.date(1, 1, 1))
@example(dt.datetime(9999, 12, 31, 23, 59, 59, 999_999))
def test_a_constant_comes_back_with_its_type(value: Any) -> None:
    text = spell(value)
    assert reading.exact(decode(text)) == reading.exact(value) or (
        isinstance(value, Decimal) and decode(text) == value
    )
    literals = read_literals(pa.array([text]))
    assert literals.texts.to_pylist() == [text]
    assert KINDS[literals.kinds[0]] is type(decode(text))


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_a_column_is_spelled_as_its_values_are_one_by_one(name: str, data: st.DataObject) -> None:
    kind, values = COLUMNS[name]
    cells = data.draw(st.lists(st.none() | values, max_size=20))
    column = pa.array(cells, kind)
    literals = spell_column(column)
    constants = [constant("p", cell) for cell in column.to_pylist()]
    assert literals.texts.to_pylist() == [spell(each) for each in constants]
    assert [KINDS[kind] for kind in literals.kinds] == [type(each) for each in constants]
    again = read_literals(literals.texts)
    assert again.texts == literals.texts
    assert again.kinds.tolist() == literals.kinds.tolist()


@given(
    st.lists(
        st.none()
        | st.text("0123456789-+.eEDLB'\\\" xXtTn\u2028\x00", max_size=7)
        | CONSTANTS.map(spell)
        | st.decimals(allow_nan=False, allow_infinity=False).map("{:f}".format)
        | st.integers().map(str)
    )
)
def test_a_column_of_literals_is_read_as_each_of_them_is(texts: list[str | None]) -> None:
    literals = read_literals(pa.array(texts, pa.string()))
    for text, spelled, kind in zip(texts, literals.texts.to_pylist(), literals.kinds, strict=True):
        try:
            constant = None if text is None else decode(text.strip())
        except ValueError:
            assert (spelled, kind) == (text, REFUSED)
        else:
            assert (spelled, KINDS[kind]) == (spell(constant), type(constant))


MAPS = st.lists(
    st.none() | st.dictionaries(st.sampled_from("pqr"), st.none() | CONSTANTS.map(spell)),
    max_size=8,
)


@given(MAPS, st.integers(0, 3))
def test_maps_are_taken_apart_and_put_together_again(
    rows: list[dict[str, str | None] | None], skipped: int
) -> None:
    maps = pa.array([None if row is None else list(row.items()) for row in rows], PARAMETERS)
    maps = maps.slice(min(skipped, len(rows)))
    values = given_maps(maps)
    rebuilt = [dict[str, str | None]() for _ in maps]
    for name, value in values.items():
        for place, row in enumerate(value.rows):
            text = None if value.is_null[place] else value.literals.texts[place].as_py()
            rebuilt[row][name] = text
    assert rebuilt == [row or {} for row in rows[min(skipped, len(rows)) :]]


def test_maps_are_built_of_columns_of_some_rows() -> None:
    maps = MapBuilder(4)
    maps.put(np.array([3, 0]), {"a": pa.array(["1", "2"]), "b": pa.array(["3", "4"])})
    maps.put(np.array([2]), {"b": pa.array(["5"])})
    assert maps.finish().to_pylist() == [
        [("a", "2"), ("b", "4")],
        [],
        [("b", "5")],
        [("a", "1"), ("b", "3")],
    ]


def test_a_text_that_is_no_literal_is_kept_and_marked() -> None:
    literals = read_literals(pa.array(["ten", "10", None, "it's"]))
    assert literals.texts.to_pylist() == ["ten", "10", "NULL", "it's"]
    assert literals.kinds.tolist() == [REFUSED, KINDS.index(int), 0, REFUSED]


def test_the_rows_of_a_column_are_found() -> None:
    value = given_maps(pa.array([[("p", "1")], [], [("p", "2")]], PARAMETERS))["p"]
    assert value.where(np.array([2, 1, 0, 5])).tolist() == [1, -1, 0, -1]
    taken = value.literals.take(value.where(np.array([2, 1])))
    assert taken.texts.to_pylist() == ["2", "NULL"]
    assert given_columns({}) == {}

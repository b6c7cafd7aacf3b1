"""Row by row, a column says what looking at each event by itself says."""

import datetime as dt
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tidegate.engine.events.batch import Batch, Column
from tidegate.engine.events.python_values import plain_values
from tidegate.filters.evaluate import value_of
from tidegate.filters.lines import ALL_LINES, DECIMAL, Line, key_of
from tidegate.filters.valueset import line_of

Where = tuple[str, Any] | None

BIG = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats() | st.sampled_from([0.0, -0.0, 2.0**53, 0.1, 1e39, 3.4028235677973366e38])
TEXTS = st.text(st.characters(codec="utf-8"), max_size=4)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    top = 10**precision - 1
    return st.integers(-top, top).map(lambda n: Decimal(f"{n}E-{scale}"))


MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
ARROW: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "bool": (pa.bool_(), st.booleans()),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int16": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "uint32": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "int64": (pa.int64(), BIG),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float16": (pa.float16(), st.floats(width=16)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), DOUBLES),
    "decimal(10,2)": (pa.decimal128(10, 2), decimals(10, 2)),
    "decimal(18,0)": (pa.decimal128(18, 0), decimals(18, 0)),
    "decimal(38,30)": (pa.decimal128(38, 30), decimals(38, 30)),
    "decimal256": (pa.decimal256(38, 4), decimals(38, 4)),
    "string": (pa.string(), TEXTS),
    "large string": (pa.large_string(), TEXTS),
    "string view": (pa.string_view(), TEXTS),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    "dictionary of integers": (pa.dictionary(pa.int32(), pa.int64()), BIG),
    "date32": (pa.date32(), st.dates()),
    "date64": (pa.date64(), st.dates()),
    "seconds": (pa.timestamp("s"), MOMENTS.map(lambda m: m.replace(microsecond=0))),
    "microseconds": (pa.timestamp("us", "UTC"), MOMENTS.map(lambda m: m.replace(tzinfo=dt.UTC))),
    "binary": (pa.binary(), st.binary(max_size=3)),
    "list": (pa.list_(pa.int64()), st.lists(BIG, max_size=2)),
    "null": (pa.null(), st.none()),
}
TYPES = (
    *("boolean", "tinyint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,30)"),
    *("decimal(18,0)", "string", "date", "timestamp", "struct"),
)


def places(column: Column) -> list[Where]:
    """For each row the line and key of its value, None for absent; each row exactly once."""
    found: dict[int, Where] = dict.fromkeys(column.absent.tolist())
    assert len(found) == len(column.absent)
    for stretch in column.stretches:
        assert stretch.rows.tolist() == sorted(set(stretch.rows.tolist()))
        assert len(stretch.rows) == len(stretch.keys) > 0
        assert len(set(stretch.texts)) == len(stretch.texts)
        for row, key in zip(stretch.rows.tolist(), stretch.keys.tolist(), strict=True):
            assert row not in found
            found[row] = place(stretch.line, stretch.texts[key] if stretch.texts else key)
    assert sorted(found) == list(range(column.size))
    return [found[row] for row in range(column.size)]


def place(line: Line, key: Any) -> Where:
    """Decimals of all scales on one line, so that they can be compared."""
    return (line.name, key * 10 ** (DECIMAL.scale - line.scale) if line.name == "decimal" else key)


def expected(
    events: Sequence[Mapping[str, Any]], attribute: str, schema: tg.Schema | None
) -> list[Where]:
    lines = ALL_LINES if schema is None else schema[attribute].lines
    found: list[Where] = []
    for event in events:
        value = value_of(event, attribute, schema)
        line = None if value is None else line_of(value, lines)
        found.append(None if line is None else place(line, key_of(line, value)))
    return found


def drawn(data: st.DataObject, name: str) -> pa.Array:
    kind, values = ARROW[name]
    return pa.array(data.draw(st.lists(st.none() | values, max_size=12)), kind)


@pytest.mark.parametrize("name", ARROW)
@given(data=st.data())
def test_every_arrow_type_gives_the_values_of_its_events(name: str, data: st.DataObject) -> None:
    array = drawn(data, name)
    table = pa.table({"x": array})
    assert places(Batch(table).column("x")) == expected(table.to_pylist(), "x", None)


@pytest.mark.parametrize("wanted", TYPES)
@pytest.mark.parametrize("name", ARROW)
@settings(max_examples=100 if os.environ.get("TIDEGATE_LONG") == "1" else 12)
@given(data=st.data())
def test_a_schema_conforms_whole_columns_as_it_does_single_values(
    name: str, wanted: str, data: st.DataObject
) -> None:
    schema = tg.Schema({"x": wanted})
    table = pa.table({"x": drawn(data, name)})
    found = places(Batch(table, schema).column("x"))
    assert found == expected(table.to_pylist(), "x", schema)


@given(data=st.data())
def test_slices_and_chunks_are_read_from_where_they_start(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ARROW)))
    pieces = []
    for _ in range(data.draw(st.integers(1, 3))):
        array = drawn(data, name)
        start = data.draw(st.integers(0, len(array)))
        pieces.append(array.slice(start, data.draw(st.integers(0, len(array)))))
    table = pa.table({"x": pa.chunked_array(pieces, ARROW[name][0])})
    assert places(Batch(table).column("x")) == expected(table.to_pylist(), "x", None)


FAR: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "any date": (pa.date32(), st.integers(-(2**31), 2**31 - 1)),
    "any date64": (pa.date64(), BIG),
    **{f"any {unit}": (pa.timestamp(unit), BIG) for unit in ("s", "ms", "us", "ns")},
}


def kinds_within(kind: pa.DataType) -> list[pa.DataType]:
    """The types that a type is made of. Arrow refuses runs of days that are not whole."""
    if isinstance(kind, pa.BaseExtensionType):
        inner = [kind.storage_type]
    elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        inner = [kind.value_type]
    else:
        inner = [kind.field(place).type for place in range(kind.num_fields)]
    return [*inner, *(deeper for each in inner for deeper in kinds_within(each))]


@st.composite
def wrapped(draw: st.DrawFn, depth: int = 2) -> pa.Array:
    """An array of any type, encoded, put into an extension type or a union, sliced."""
    if not depth:
        kind, values = draw(st.sampled_from([*ARROW.values(), *FAR.values()]))
        given = draw(st.lists(st.none() | values, max_size=6))
        if (kind, values) in FAR.values():
            return pa.array(given, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)
        return pa.array(given, kind)
    inner = draw(wrapped(depth - 1))
    rows = st.integers(0, max(0, len(inner) - 1))
    match draw(st.sampled_from(["nothing", "dictionary", "runs", "extension", "union", "slice"])):
        case "dictionary" if len(inner):
            places = draw(st.lists(st.none() | rows, max_size=6))
            return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), inner)
        case "runs" if len(inner) and pa.date64() not in (inner.type, *kinds_within(inner.type)):
            ends = list(accumulate(draw(rows) + 1 for _ in range(len(inner))))
            return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), inner)
        case "extension" if not isinstance(inner.type, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(pa.opaque(inner.type, "t", "v"), inner)
        case "union":
            codes = [draw(st.integers(0, 1)) for _ in range(len(inner))]
            others = pa.array([str(row) for row in range(len(inner))])
            return pa.UnionArray.from_sparse(pa.array(codes, pa.int8()), [inner, others])
        case "slice":
            return inner.slice(draw(rows), draw(rows))
        case _:
            return inner


@settings(max_examples=2000 if os.environ.get("TIDEGATE_LONG") == "1" else 250)
@given(array=wrapped(), schema=st.sampled_from([None, *(tg.Schema({"x": t}) for t in TYPES)]))
def test_whole_columns_and_single_values_agree_however_they_are_wrapped(
    array: pa.Array, schema: tg.Schema | None
) -> None:
    table = pa.table({"x": array})
    batch = Batch(table, schema)
    events = [{"x": value} for value in plain_values(array)]
    assert expected(batch.mappings(["x"]), "x", schema) == expected(events, "x", schema)
    assert places(batch.column("x")) == expected(events, "x", schema)
    with suppress(OverflowError, pa.ArrowException):  # what Arrow itself can give to Python
        assert expected(events, "x", schema) == expected(table.to_pylist(), "x", schema)


@given(
    st.lists(
        st.none()
        | st.fixed_dictionaries(
            {},
            optional={"b": st.none() | BIG, "c": st.none() | st.fixed_dictionaries({"d": TEXTS})},
        ),
        max_size=8,
    )
)
def test_dotted_paths_lead_into_structs(structs: list[dict[str, Any] | None]) -> None:
    kind = pa.struct([("b", pa.int64()), ("c", pa.struct([("d", pa.string())]))])
    table = pa.table({"a": pa.array(structs, kind)})
    batch = Batch(table)
    for attribute in ("a", "a.b", "a.c", "a.c.d", "a.x", "a.b.x", "x", "x.y"):
        assert places(batch.column(attribute)) == expected(table.to_pylist(), attribute, None)


MIXED = st.one_of(
    *(st.none(), st.booleans(), BIG, st.integers(), DOUBLES, decimals(38, 38), TEXTS),
    *(st.dates(), MOMENTS, st.binary(max_size=2), st.lists(BIG, max_size=1)),
)


@pytest.mark.parametrize("wanted", [None, *TYPES])
@given(values=st.lists(MIXED, max_size=12))
def test_mappings_may_mix_their_types(wanted: str | None, values: list[Any]) -> None:
    schema = None if wanted is None else tg.Schema({"x": wanted})
    events: list[dict[str, Any]] = [{"x": value} for value in values] + [{}]
    assert places(Batch(events, schema).column("x")) == expected(events, "x", schema)


def test_a_pandas_frame_is_read_like_the_arrow_table_of_it() -> None:
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], "Int64"),
            "f": [1.5, -0.0, 2.5],
            "s": ["a", None, "b"],
            "t": pd.to_datetime(
                ["2024-01-01", None, "1969-12-31 23:59:59.999999"], format="ISO8601"
            ),
        }
    )
    batch = Batch(frame)
    assert len(batch) == 3
    assert places(batch.column("n")) == [("bigint", 1), None, ("bigint", 3)]
    assert places(batch.column("s")) == [("string", "a"), None, ("string", "b")]
    assert places(batch.column("t"))[1:] == [None, ("timestamp", -1)]
    assert places(batch.column("f"))[1] == ("double", 0)


def test_a_dictionary_may_hold_a_null_or_a_string_twice() -> None:
    codes = pa.array([0, 1, 2, None, 1], pa.int8())
    for texts in (["a", None, "b"], ["a", "b", "a"]):
        table = pa.table({"x": pa.DictionaryArray.from_arrays(codes, pa.array(texts))})
        assert places(Batch(table).column("x")) == expected(table.to_pylist(), "x", None)


def test_nanoseconds_are_cut_off_downwards() -> None:
    table = pa.table({"x": pa.array([1, 999, 1000, -1, None], pa.timestamp("ns"))})
    assert places(Batch(table).column("x")) == [
        *(("timestamp", key) for key in (0, 0, 1, -1)),
        None,
    ]


def test_a_missing_column_is_absent_everywhere() -> None:
    assert places(Batch(pa.table({"x": [1, 2]})).column("y")) == [None, None]
    assert places(Batch(pa.table({"x": pa.array([], pa.int64())})).column("y")) == []


@pytest.mark.parametrize("events", [5, "text", {"x": 1}, [1], [{"x": 1}, None]])
def test_what_is_no_batch_is_refused(events: Any) -> None:
    with pytest.raises(tg.TidegateError, match="not a"):
        Batch(events)


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(tg.TidegateError, match="2 columns named x"):
        Batch(table).column("x")

"""A table of subscriptions is read as its rows would be, one by one."""

import datetime as dt
import os
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.engine.events.test_batch import ARROW, TEXTS, TYPES
from tidegate.engine.subscriptions.subscription import ALIKE, Block, Subscription, subscribe
from tidegate.engine.subscriptions.table_columns import read_ids
from tidegate.engine.subscriptions.table_reader import read_table
from tidegate.errors import SubscriptionError

PLAIN = (pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.date32(), pa.timestamp("us"))
SHAPES = (
    *("x = :p", "x != :p", "x < :p", "x >= :p", "x <=> :p", "x BETWEEN :p AND :q"),
    *("x IN (:p, :q)", "x NOT IN (1, :p)", "x IN ('2024-02-29', :p)", "x IN (NULL, :p)"),
    *("x LIKE :p", "x NOT LIKE :p ESCAPE 'a'", "startswith(x, :p)", "contains(x, :p)"),
    *("x = :p AND NOT (x < :q OR x > :p)", "x IS NULL OR x > :q", "(x = :p) IS NOT TRUE"),
)


def rows_of(blocks: list[Block]) -> dict[Any, Subscription]:
    """All subscriptions of the blocks by id; each block is what it promises to be."""
    found = {}
    for block in blocks:
        assert len(block) == len(block.ids) > 0
        assert block.ids.type in (pa.string(), pa.int64())
        assert tuple(block.columns) == block.filter.parameters
        for column in block.columns.values():
            plain = column.type in PLAIN or pa.types.is_decimal128(column.type)
            assert plain or column.type == pa.null()
            assert len(column) == len(block)
        for row in range(len(block)):
            subscription = block.subscription(row)
            assert subscription.id not in found
            found[subscription.id] = subscription
    return found


def alone(text: str, row: dict[str, Any], schema: tg.Schema | None) -> tg.Filter | type[Exception]:
    """What `Filter.bind` makes of one row, or of which kind it is refused."""
    open_ = tg.parse(text, schema)
    try:
        return open_.bind(**{name: row[name] for name in open_.parameters})
    except tg.TidegateError as error:
        return type(error)


@pytest.mark.slow
@settings(max_examples=1_000 if os.environ.get("TIDEGATE_LONG") == "1" else 300)
@example("uint64", "int8", None, "x IN (:p, :q)", [(2**63, 5), (5, None), (2**64 - 1, -1)])
@example("string", "null", "date", "x IN ('2024-02-29', :p)", [("no date", None)])
@example("string", "null", "bigint", "x = :p", [("5", None), ("6", None), ("five", None)])
@example("null", "null", "date", "x NOT IN (1, :p)", [(None, None)])
@example("decimal(38,30)", "null", "bigint", "x >= :p", [(Decimal(5), None)])
@example("decimal256", "null", "bigint", "x < :p", [(Decimal(5), None), (Decimal(2**63), None)])
@example("string", "null", None, "x LIKE :p", [("a%", None), (None, None), ("a\\", None)])
@given(
    st.sampled_from(sorted(ARROW)),
    st.sampled_from(sorted(ARROW)),
    st.sampled_from([None, *TYPES]),
    st.sampled_from(SHAPES),
    st.data(),
)
def test_a_table_is_accepted_refused_and_understood_as_its_rows_are(
    first: str, second: str, wanted: str | None, text: str, data: Any
) -> None:
    schema = None if wanted is None else tg.Schema({"x": wanted})
    kinds = (ARROW[first], ARROW[second])
    if isinstance(data, list):
        rows = data
    else:
        drawn = st.tuples(*(st.none() | values for _, values in kinds))
        rows = data.draw(st.lists(drawn, min_size=1, max_size=6))
    cells = {
        name: pa.array([row[i] for row in rows], kind)
        for i, (name, (kind, _)) in enumerate(zip("pq", kinds, strict=True))
    }
    try:
        open_ = tg.parse(text, schema)
    except tg.FilterTypeError:
        return
    named = {name: cells[name] for name in open_.parameters}
    table = pa.table({"id": list(range(len(rows))), **named})
    expected = {row["id"]: alone(text, row, schema) for row in table.to_pylist()}
    refused = {kind for kind in expected.values() if isinstance(kind, type)}
    try:
        found = rows_of(read_table(table, open_, schema)[0])
    except tg.FilterTypeError:
        assert refused == {tg.FilterTypeError}
    else:
        assert refused == set()
        assert {id: s.bound for id, s in found.items()} == expected
        for id, s in found.items():
            one_by_one = subscribe(id, open_, {n: cells[n][id].as_py() for n in named}, schema)
            assert str(one_by_one.parameters) == str(s.parameters)


@given(
    st.lists(st.tuples(st.sampled_from(SHAPES[:6]), st.integers(-3, 3), st.none() | TEXTS)),
    st.sampled_from(["string", "large", "view", "dictionary", "chunked"]),
)
def test_rows_are_grouped_by_their_text_however_it_is_encoded(
    rows: list[tuple[str, int, str | None]], form: str
) -> None:
    texts = [text for text, _, _ in rows]
    column = pa.chunked_array([texts[:2], texts[2:3], texts[3:]], pa.string())
    match form:
        case "large":
            column = column.cast(pa.large_string())
        case "view":
            column = column.cast(pa.string_view())
        case "dictionary":
            column = column.combine_chunks().dictionary_encode()
        case "string":
            column = column.combine_chunks()
    p = [low if ":p" in text else None for text, low, _ in rows]
    q = [name if ":q" in text else None for text, _, name in rows]
    ids = [f"ø{i}" for i in range(len(rows))]
    cells = {"p": pa.array(p, pa.int8()), "q": pa.array(q, pa.large_string())}
    table = pa.table({"id": ids, "filter": column, **cells})
    blocks, singles = read_table(table, None, None)
    assert len(blocks) == len({text for text in texts if ":" in text or texts.count(text) >= ALIKE})
    found = rows_of(blocks) | {single.id: single for single in singles}
    assert len(singles) == len(rows) - sum(map(len, blocks))
    assert found.keys() == set(ids)
    for id, (text, low, name) in zip(ids, rows, strict=True):
        given = {"p": low, "q": name}
        bound = tg.parse(text).bind(**{n: given[n] for n in tg.parse(text).parameters})
        assert found[id].bound == bound
        assert found[id].filter == tg.parse(text)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([1, 2], pa.uint8()),
        pa.array([1, 2], pa.uint64()),
        pa.chunked_array([[1], [2]], pa.int32()),
        pa.array([9, 1, 2, 9], pa.int64()).slice(1, 2),
        pa.array([1, 2]).dictionary_encode(),
    ],
)
def test_integers_of_any_width_are_ids(ids: Any) -> None:
    found = rows_of(read_table(pa.table({"id": ids}), "x = 1", None)[0])
    assert list(found) == [1, 2]


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(["ä", "😀"]),
        pa.array(["ä", "😀"], pa.large_string()),
        pa.array(["ä", "😀"], pa.string_view()),
        pa.array(["ä", "😀"]).dictionary_encode(),
        pa.chunked_array([["ä"], [], ["😀"]], pa.string()),
        pa.array(["", "ä", "😀", ""]).slice(1, 2),
    ],
)
def test_strings_of_any_kind_are_ids(ids: Any) -> None:
    found = rows_of(read_table(pa.table({"id": ids}).to_batches()[0], "x = 1", None)[0])
    assert [*found] == ["ä", "😀"][: len(found)]
    assert list(rows_of(read_table(pa.table({"id": ids}), "x = 1", None)[0])) == ["ä", "😀"]


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        ({"filter": ["x = 1"]}, SubscriptionError, "no column id"),
        ({"id": ["a"]}, SubscriptionError, "no column filter"),
        ({"id": ["a", None], "filter": ["x = 1"] * 2}, SubscriptionError, "row 1 has no id"),
        ({"id": ["a", "b"], "filter": ["x = 1", None]}, SubscriptionError, "row 1 has no filter"),
        ({"id": [None], "filter": ["x = 1"]}, SubscriptionError, "row 0 has no id"),
        ({"id": ["a"], "filter": [None]}, SubscriptionError, "row 0 has no filter"),
        ({"id": [1.5], "filter": ["x = 1"]}, SubscriptionError, "strings or integers"),
        ({"id": [True], "filter": ["x = 1"]}, SubscriptionError, "strings or integers"),
        ({"id": ["a"], "filter": [5]}, SubscriptionError, "filters are texts"),
        ({"id": ["a", "b", "a"], "filter": ["x = 1"] * 3}, SubscriptionError, "'a' is given more"),
        ({"id": [7, 7], "filter": ["x = 1"] * 2}, SubscriptionError, "7 is given more"),
        ({"id": ["a"], "filter": ["x = :p"]}, tg.ParameterError, "no column for :p"),
        ({"id": ["a"], "filter": ["x = :id"]}, tg.ParameterError, "no column for :id"),
        ({"id": ["a"], "filter": ["x = 1"], "p": [1]}, tg.ParameterError, "no parameter :p"),
        ({"id": ["a"], "filter": ["x = "]}, tg.FilterSyntaxError, "position"),
        ({"id": ["a"], "filter": ["x = :p"], "p": [b"1"]}, tg.FilterTypeError, ":p"),
        ({"id": ["a"], "filter": ["x = :p"], "p": [[1]]}, tg.FilterTypeError, ":p"),
        ({"id": ["a"], "filter": ["x LIKE :p"], "p": [1]}, tg.FilterTypeError, "takes a string"),
        ({"id": ["a"], "filter": ["x LIKE :p"], "p": ["\\"]}, tg.FilterTypeError, "escape"),
    ],
)
def test_a_bad_table_is_refused(
    columns: dict[str, list[Any]], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        read_table(pa.table(columns), None, None)


@pytest.mark.parametrize("table", [None, 5, [{"id": 1}], {"id": [1]}])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(tg.TidegateError, match="Arrow table"):
        read_table(table, "x = 1", None)


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([1]), pa.array([2])], ["id", "p", "p"])
    with pytest.raises(tg.TidegateError, match="2 columns named p"):
        read_table(table, "x = :p", None)


def test_texts_that_are_not_utf8_are_refused() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    fine = pa.array(["x = :p"])
    for name in ("id", "filter", "p"):
        columns = {"id": fine, "filter": fine, "p": fine} | {name: broken}
        with pytest.raises(tg.TidegateError, match="UTF-8"):
            read_table(pa.table(columns), None, None)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([-719_163], pa.int32()).cast(pa.date32()),
        pa.array([2_932_897], pa.int32()).cast(pa.date32()),
        pa.array([2**62]).cast(pa.timestamp("s")),
        pa.array([-(2**62)]).cast(pa.timestamp("us")),
        pa.array([253_402_300_800]).cast(pa.timestamp("s")),
        pa.array([Decimal(10) ** 40], pa.decimal256(50, 0)),
        pa.array([Decimal("1E-40")], pa.decimal256(50, 45)),
    ],
)
def test_constants_that_python_has_no_value_for_are_refused(values: pa.Array) -> None:
    with pytest.raises(tg.FilterTypeError, match=":p"):
        read_table(pa.table({"id": [1], "p": values}), "x = :p", None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([-719_162]).cast(pa.int32()).cast(pa.date32()), dt.date(1, 1, 1)),
        (
            pa.array([253_402_300_799]).cast(pa.timestamp("s")),
            dt.datetime(9999, 12, 31, 23, 59, 59),
        ),
        (pa.array([-1]).cast(pa.timestamp("ns")), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)),
        (pa.array([0]).cast(pa.timestamp("ms", "Asia/Tokyo")), dt.datetime(1970, 1, 1)),
        (pa.array([Decimal(12300)], pa.decimal128(5, -2)), Decimal(12300)),
        (pa.array([Decimal("1.5")], pa.decimal256(60, 10)), Decimal("1.5")),
        (pa.array([2**63], pa.uint64()), Decimal(2**63)),
        (pa.array([1.5], pa.float16()), 1.5),
        (pa.array(["a"]).dictionary_encode(), "a"),
        (pa.DictionaryArray.from_arrays([0], pa.array(["a"], pa.string_view())), "a"),
        (pc.run_end_encode(pa.array(["a"])), "a"),
        (pa.array([Decimal("1.5")], pa.decimal64(5, 1)), Decimal("1.5")),
    ],
)
def test_constants_are_brought_to_plain_values(values: pa.Array, expected: Any) -> None:
    [block], [] = read_table(pa.table({"id": [1], "p": values}), "x = :p", None)
    assert block.subscription(0).parameters == {"p": expected}
    assert type(block.subscription(0).parameters["p"]) is type(expected)


def test_errors_say_in_which_row_they_are() -> None:
    schema = tg.Schema({"x": "date"})
    good, bad = ["x = :p"] * 4, ["x = :p", "x = :p", "x = = 1", "x = :p"]
    days = ["2024-01-01", "2024-01-02", "2024-01-01", "yesterday"]
    for texts, row in ((good, 3), (bad, 2)):
        table = pa.table({"id": ["a", "b", "c", "d"], "filter": texts, "p": days})
        with pytest.raises(tg.FilterError) as caught:
            read_table(table, None, schema)
        assert caught.value.__notes__ == [f"in row {row}, subscription {'abcd'[row]!r}"]
    table = pa.table({"id": [4, 5], "filter": ["x = :p", "x IS NULL"], "p": [None, "2024-01-01"]})
    with pytest.raises(tg.ParameterError) as refused:
        read_table(table, None, schema)
    assert refused.value.__notes__ == ["in row 1, subscription 5"]


def test_an_empty_table_has_no_blocks() -> None:
    for kind in (pa.string(), pa.int32(), pa.null()):
        empty = pa.table({"id": pa.array([], kind), "filter": pa.array([], pa.string())})
        assert read_table(empty, None, None) == ([], [])
        assert read_table(empty.drop_columns("filter"), "x = :p", None) == ([], [])


def test_a_given_filter_makes_a_column_named_filter_a_parameter() -> None:
    table = pa.table({"id": [1], "filter": ["abc"]})
    [block], [] = read_table(table, "x = :filter", None)
    assert str(block.subscription(0).bound) == "x = 'abc'"


def test_a_subscription_knows_its_filter_open_and_bound() -> None:
    subscription = subscribe("alice", "x < :p AND y = :q", {"p": np.int64(5), "q": None}, None)
    assert subscription.parameters == {"p": 5, "q": None}
    assert str(subscription.filter) == "x < :p AND y = :q"
    assert str(subscription.bound) == "x < 5 AND y = NULL"
    assert pickle.loads(pickle.dumps(subscription)) == subscription
    assert subscribe(1, tg.parse("x = 1"), {}, None).bound == tg.parse("x = 1")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, ":p, :q are missing"),
        ({"p": 1}, ":q is missing"),
        ({"p": 1, "q": 1, "r": 1, "s": 2}, "no parameter :r, :s"),
    ],
)
def test_all_parameters_and_no_others_are_given(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(tg.ParameterError, match=said):
        subscribe("a", "x < :p AND y = :q", parameters, None)


def test_a_filter_without_parameters_takes_none() -> None:
    with pytest.raises(tg.ParameterError, match="no parameter :p; it has none"):
        subscribe("a", "x < 1", {"p": 1}, None)


@pytest.mark.parametrize(
    "id", [None, True, 1.0, b"a", 2**63, -(2**63) - 1, "\ud800", ("a",), np.bool_(True), Decimal(1)]
)
def test_other_ids_are_refused(id: Any) -> None:
    with pytest.raises(SubscriptionError, match="an id is a string or a 64-bit integer"):
        subscribe(id, "x = 1", {}, None)


@pytest.mark.parametrize("id", ["", "ä😀", "a\0", 0, -(2**63), 2**63 - 1, np.int8(5), np.str_("a")])
def test_strings_and_64_bit_integers_are_ids(id: Any) -> None:
    found = subscribe(id, "x = 1", {}, None).id
    assert found == id
    assert type(found) in (int, str)


def test_a_filter_of_another_schema_is_refused() -> None:
    one, same, other = (tg.Schema({"x": kind}) for kind in ("int", "int", "double"))
    assert subscribe("a", tg.parse("x = 1", same), {}, one).id == "a"
    for own, schema in ((other, one), (None, one), (one, None)):
        with pytest.raises(tg.SchemaError, match="another schema"):
            subscribe("a", tg.parse("x = 1", own), {}, schema)
        with pytest.raises(tg.SchemaError, match="another schema"):
            read_table(pa.table({"id": [1]}), tg.parse("x = 1", own), schema)


def test_ids_come_as_arrays_and_iterables() -> None:
    assert read_ids(["a", "b"]).to_pylist() == ["a", "b"]
    assert read_ids(i for i in range(3)).type == pa.int64()
    assert read_ids([]).to_pylist() == []
    assert read_ids(np.arange(3)).to_pylist() == [0, 1, 2]
    assert read_ids(pa.array(["b", "a"]).dictionary_encode()).to_pylist() == ["b", "a"]
    for wrong in ("ab", b"ab", 5, None, ["a", 1], [None], ["a", "a"], [1.5], [True]):
        with pytest.raises(SubscriptionError):
            read_ids(wrong)

"""Batches of all sizes, types and layouts give an index the same events.

What the events are is decided by Arrow's own `to_pylist`, and who wants them by a scan; where the
batch is too large for that, by numpy.
"""

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tidegate as tg
from tests import generate
from tests.engine.events.test_batch import ARROW, MIXED, TYPES
from tests.engine.test_index import SCHEMA, AnyIndex, Event, attempt, check, pairs
from tidegate.engine.events.encoded_batch import encode
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex
from tidegate.engine.subscriptions.subscription import Id
from tidegate.errors import TidegateError
from tidegate.lab.workloads.trade import trade

SIZES = (0, 1, 63, 64, 65, 511, 512, 513)


class Known:
    """Subscriptions on generated events, and which of them want which event."""

    def __init__(self, schema: tg.Schema | None) -> None:
        rng = Random(16)
        self.events = generate.events(rng, 520)
        self.table = generate.arrow_table(self.events)
        self.index, scan = Index(schema), ScanIndex(schema)
        for id, condition in enumerate(generate.filters(rng, 60, schema is not None)):
            self.index.add(id, str(condition))
            scan.add(id, str(condition))
        for id, symbol in enumerate(generate.POOLS["string"]):
            for each in (self.index, scan):
                each.add(100 + id, "symbol = :s AND NOT price > 1.5D", s=symbol)
        self.index.flush()
        self.pairs = pairs(scan.match_batch(self.events))

    def of(self, start: int, stop: int) -> list[tuple[int, Id]]:
        """The pairs of the events from `start` to `stop`."""
        return [(row - start, id) for row, id in self.pairs if start <= row < stop]


@pytest.fixture(scope="module")
def known() -> dict[bool, Known]:
    return {True: Known(SCHEMA), False: Known(None)}


@pytest.mark.slow
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("size", SIZES)
def test_batches_of_all_sizes(known: dict[bool, Known], size: int, typed: bool) -> None:
    own = known[typed]
    expected = own.of(0, size)
    counts = np.bincount([row for row, _ in expected], minlength=size).tolist()
    head = own.table.slice(0, size)
    for batch in (own.events[:size], head, head.combine_chunks()):
        assert pairs(own.index.match_batch(batch)) == expected
        assert own.index.count_batch(batch).tolist() == counts


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("start", [0, 1, 3, 7, 8, 9])
def test_slices_that_start_anywhere(known: dict[bool, Known], start: int, typed: bool) -> None:
    own = known[typed]
    for size in (1, 63, 65, 511):
        stop = min(start + size, len(own.events))
        part = own.table.slice(start, size)
        assert pairs(own.index.match_batch(part)) == own.of(start, stop)
        (record,) = part.to_batches()
        assert pairs(own.index.match_batch(record)) == own.of(start, stop)
        counts = np.bincount([row for row, _ in own.of(start, stop)], minlength=size).tolist()
        assert own.index.count_batch(record).tolist() == counts


@pytest.mark.parametrize("typed", [True, False])
def test_chunks_of_uneven_sizes(known: dict[bool, Known], typed: bool) -> None:
    own = known[typed]
    cuts = [0, 1, 1, 64, 200, 263, 511, 513, 520]
    parts = [own.table.slice(a, b - a) for a, b in pairwise(cuts)]
    assert pairs(own.index.match_batch(pa.concat_tables(parts))) == own.pairs
    columns = {
        name: pa.chunked_array(
            [own.table[name].combine_chunks().slice(a, b - a) for a, b in bounds],
            own.table[name].type,
        )
        for number, name in enumerate(own.table.column_names)
        for bounds in [[(0, 17 * number), (17 * number, 520)]]
    }
    assert pairs(own.index.match_batch(pa.table(columns))) == own.pairs


@pytest.mark.parametrize("typed", [True, False])
def test_the_layouts_of_strings(known: dict[bool, Known], typed: bool) -> None:
    own = known[typed]
    place = own.table.column_names.index("symbol")
    plain = own.table["symbol"].combine_chunks()
    shuffled = pa.array([*generate.POOLS["string"][::-1], "nobody", "has this"])
    codes = pc.index_in(plain, shuffled).cast(pa.int8())
    layouts = {
        "large": plain.cast(pa.large_string()),
        "view": plain.cast(pa.string_view()),
        "dictionary": plain.dictionary_encode(),
        "large dictionary": plain.cast(pa.large_string()).dictionary_encode(),
        "given dictionary": pa.DictionaryArray.from_arrays(codes, shuffled),
        "dictionaries of chunks": pa.chunked_array(
            [plain.slice(0, 100).dictionary_encode(), plain.slice(100).dictionary_encode()]
        ),
    }
    for name, column in layouts.items():
        table = own.table.set_column(place, "symbol", column)
        for start, size in ((0, 520), (5, 500)):
            found = pairs(own.index.match_batch(table.slice(start, size)))
            assert found == own.of(start, start + size), name


@pytest.mark.parametrize("typed", [True, False])
def test_columns_are_found_in_any_order_and_among_others(
    known: dict[bool, Known], typed: bool
) -> None:
    own = known[typed]
    table = own.table.select(own.table.column_names[::-1])
    table = table.append_column("nobody asks", pa.array([b"x"] * 520))
    assert pairs(own.index.match_batch(table)) == own.pairs


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("name", ["symbol", "price", "id", "day", "trade", "flag", "ratio"])
def test_missing_and_all_null_columns_are_absent(name: str, typed: bool) -> None:
    schema = SCHEMA if typed else None
    rng = Random(17)
    events = generate.events(rng, 20)
    for event in events:
        event.pop(name, None)
    index, scan = Index(schema), ScanIndex(schema)
    leaves = [leaf for leaf in generate.each_operator(rng, typed) if leaf.column.path[0] == name]
    for id, leaf in enumerate(leaves):
        for each in (index, scan):
            each.add(f"{id}", str(leaf))
            each.add(f"not {id}", f"NOT ({leaf}) OR level > 5")
    full = generate.arrow_table(events)
    place = full.column_names.index(name)
    without = full.drop_columns(name)
    check(index, scan, events, full, without, without.append_column(name, pa.nulls(20)))
    check(
        index,
        scan,
        events,
        full.set_column(place, name, pa.nulls(20, pa.dictionary(pa.int8(), pa.string()))),
    )
    assert pairs(index.match_batch(pa.table({"other": [1, 2]}))) == pairs(
        scan.match_batch([{}, {}])
    )


FAMILIES: dict[str, list[str]] = {
    "number": [
        "x = 1",
        "x < 1.5D",
        "x >= 0.1",
        "NOT x = 0",
        "x IN (1, 5, 2.5)",
        "x > -5 AND x < 99",
    ],
    "string": [
        "x = 'a'",
        "x >= ''",
        "x < 'b'",
        "x LIKE '%a%'",
        "endswith(x, 'é')",
        "x NOT IN ('')",
    ],
    "boolean": ["x", "NOT x", "x = FALSE", "x IS NOT TRUE"],
    "date": ["x = DATE'2024-02-29'", "x < DATE'1970-01-01'", "NOT x > DATE'2000-01-01'"],
    "timestamp": ["x > TIMESTAMP'1970-01-01 00:00:00'", "x <= TIMESTAMP'2024-02-29 12:00:00.5'"],
    "any": ["x IS NULL", "x IS NOT NULL", "x <=> NULL", "(x = :p) IS NOT TRUE", "x IN (:p, NULL)"],
    "given": ["x = :p", "x < :p", "x >= :p", "NOT x = :p", "NOT (x <= :p)", "x <=> :p"],
}


def fill(index: AnyIndex, values: list[Any]) -> list[Any]:
    """Subscriptions of all families on x, and such with its own values; which were refused."""
    refused = []
    for texts in FAMILIES.values():
        for text in texts:
            some = values if ":p" in text else [None]
            for place, value in enumerate(some):
                given = {"p": value} if ":p" in text else {}
                id = f"{text} {place}"
                refused.append(attempt(lambda t=text, g=given, i=id: index.add(i, t, **g)))
    return refused


def compare(values: list[Any], batch: Any, events: list[Event], schema: tg.Schema | None) -> None:
    index, scan = Index(schema), ScanIndex(schema)
    assert fill(index, values) == fill(scan, values)
    check(index, scan, events, batch)


@pytest.mark.parametrize("name", ARROW)
@settings(max_examples=10)
@given(data=st.data())
def test_columns_of_every_arrow_type(name: str, data: st.DataObject) -> None:
    kind, values = ARROW[name]
    pieces = []
    for _ in range(data.draw(st.integers(1, 2))):
        array = pa.array(data.draw(st.lists(st.none() | values, max_size=9)), kind)
        start = data.draw(st.integers(0, len(array)))
        pieces.append(array.slice(start, data.draw(st.integers(0, 9))))
    wanted = data.draw(st.sampled_from([None, None, *TYPES]))
    schema = None if wanted is None else tg.Schema({"x": wanted})
    table = pa.table({"x": pa.chunked_array(pieces, kind)})
    events = table.to_pylist()
    compare([event["x"] for event in events[:3]], table, events, schema)


@settings(max_examples=60)
@given(st.lists(MIXED, max_size=12), st.sampled_from([None, None, *TYPES]))
def test_mappings_may_mix_types(values: list[Any], wanted: str | None) -> None:
    events: list[Event] = [{"x": value} for value in values] + [{}]
    schema = None if wanted is None else tg.Schema({"x": wanted})
    compare(values[:3], events, events, schema)


EXTREMES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.float64(), [math.nan, -math.nan, -0.0, 0.0, math.inf, -math.inf, 5e-324, -5e-324, 2.0**53]),
    (pa.float32(), [math.nan, -0.0, 0.0, math.inf, -math.inf, 1e-45, 3.4028234663852886e38]),
    (pa.int64(), [2**63 - 1, -(2**63), 0, -1, 2**53, 2**53 + 1, None]),
    (pa.uint64(), [2**64 - 1, 2**63, 2**63 - 1, 0, None]),
    (pa.decimal128(38, 0), [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(0), None]),
    (pa.decimal128(38, 38), [Decimal("1E-38"), Decimal("-1E-38"), Decimal("0.5"), Decimal(0)]),
    (pa.string(), ["", "\0", "a\0", "é", "e\u0301", "\ud7ff", "\ue000", "\uffff", "😀", None]),
    (pa.string(), ["\U00010000", "\U0010ffff", "a" * 200_000, "a" * 199_999 + "b", "ab" * 50_000]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), None]),
    (
        pa.timestamp("us", "UTC"),
        [dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, tzinfo=dt.UTC), None],
    ),
    (pa.bool_(), [True, False, None]),
]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(("kind", "values"), EXTREMES)
def test_values_at_the_ends_of_their_types(
    kind: pa.DataType, values: list[Any], typed: bool
) -> None:
    table = pa.table({"x": pa.array([*values, *values[::-1]], kind)})
    schema = tg.Schema(table.schema) if typed and kind != pa.uint64() else None
    compare(values, table, table.to_pylist(), schema)


def test_structs_lead_to_their_fields_wherever_they_start() -> None:
    structs = [
        None
        if i % 7 == 0
        else {"b": None if i % 5 == 0 else i, "c": None if i % 3 else {"d": str(i)}}
        for i in range(150)
    ]
    kind = pa.struct([("b", pa.int64()), ("c", pa.struct([("d", pa.string())]))])
    whole = pa.table({"a": pa.array(structs, kind)})
    texts = ("a IS NULL", "a.b > 70", "NOT a.b > 70", "a.c.d LIKE '1%'", "a.c IS NULL", "a.c.x = 1")
    index, scan = Index(), ScanIndex()
    for text in (*texts, "a.b IS NULL", "a.c.d = '9'", "NOT a.c.d = '9'", "a.b.x IS NULL"):
        index.add(text, text)
        scan.add(text, text)
    for start, size in ((0, 150), (1, 64), (8, 63), (13, 137)):
        part = whole.slice(start, size)
        check(index, scan, part.to_pylist(), part, part.combine_chunks(), *part.to_batches())
    holes = pa.StructArray.from_arrays(
        [pa.array([1, 99, 99]), pa.array([None] * 3, kind.field("c").type)],
        fields=[kind.field("b"), kind.field("c")],
        mask=pa.array([False, True, False]),
    )
    hidden = pa.table({"a": holes})  # a value stands behind the NULL struct of row 1
    check(index, scan, hidden.to_pylist(), hidden)
    check(index, scan, hidden.to_pylist()[1:], hidden.slice(1))


ODD_LAYOUTS: list[pa.Array] = [
    pc.run_end_encode(pa.array([1, 1, 5, None, None, 0])),
    pc.run_end_encode(pa.array(["a", "a", None, "é"])),
    pa.array([Decimal("1.5"), None, Decimal("0.1")], pa.decimal32(5, 2)),
    pa.array([Decimal("1.5"), None, Decimal("0.1")], pa.decimal64(15, 2)),
    pa.array([Decimal(12300), None, Decimal(0)], pa.decimal128(5, -2)),
    pa.DictionaryArray.from_arrays([0, 1, None, 0], pa.array(["a", "b"], pa.string_view())),
    pa.DictionaryArray.from_arrays([0, 1, None, 2], pa.array([1.5, None, 0.1])),
    pa.DictionaryArray.from_arrays([0, 1, None, 0], pa.array([Decimal("1.5"), Decimal("0.1")])),
    pa.DictionaryArray.from_arrays([1, 1, None, 0], pa.array([True, False])),
    pa.array([dt.time(1), None]),
    pa.array([dt.timedelta(1), None]),
    pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
]


@pytest.mark.parametrize("array", ODD_LAYOUTS, ids=lambda array: str(array.type))
def test_columns_of_seldom_seen_layouts(array: pa.Array) -> None:
    table = pa.table({"x": array})
    compare(array.to_pylist(), table, table.to_pylist(), None)
    part = table.slice(1)
    compare([], part, part.to_pylist(), None)


def test_only_columns_that_somebody_asks_for_are_read() -> None:
    index = Index()
    index.add("a", "x = 1")
    table = pa.Table.from_arrays(
        [pa.array([2, 1]), NOT_UTF8, pa.array([1, 2]), pa.array([1, 2])], ["x", "y", "z", "z"]
    )
    assert pairs(index.match_batch(table)) == [(1, "a")]
    for text in ("y = 'a'", "z = 1"):
        index.add("b", text)
        with pytest.raises(tg.TidegateError):
            index.match_batch(table)
        with pytest.raises(tg.TidegateError):
            index.count_batch(table)
        index.remove("b")
    assert index.count_batch(table).tolist() == [0, 1]


NOT_UTF8 = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(np.array([0, 2, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
)


def test_pandas_frames_are_read_as_their_arrow_tables() -> None:
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 3, 4], "Int64"),
            "f": [1.5, -0.0, math.nan, math.inf],
            "s": ["a", None, "b", "é"],
            "c": pd.Categorical(["x", "y", None, "x"]),
            "t": pd.to_datetime(["2024-02-29", None, "1969-12-31", "2024-03-01"]),
            "b": [True, False, True, True],
        },
        index=[7, 5, 5, 1],
    )
    events = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    index, scan = Index(), ScanIndex()
    texts = [
        "n > 1",
        "n IS NULL",
        "NOT f > 0",
        "f IS NULL",
        "s >= 'b'",
        "c = 'x'",
        "NOT c = 'x'",
        "b",
    ]
    for text in (*texts, "t >= TIMESTAMP'2024-02-29 00:00:00'", "n = 3 AND b", "f = 0"):
        index.add(text, text)
        scan.add(text, text)
    check(index, scan, events, frame)
    check(index, scan, events[1:3], frame.iloc[1:3])
    check(index, scan, [], frame.iloc[:0])


Column = NDArray[Any]
Mask = NDArray[np.bool_]


class Wide:
    """A hundred thousand events, a few filters, and by numpy which events they pass."""

    size = 100_000

    def __init__(self) -> None:
        rng = np.random.default_rng(18)
        n = self.size
        self.price = np.round(rng.normal(50, 30, n), 1)
        self.price[rng.random(n) < 0.01] = np.nan
        self.symbol = rng.integers(0, 500, n)
        self.volume = rng.integers(-5, 1_000_000, n)
        self.no_price, self.no_symbol = rng.random(n) < 0.05, rng.random(n) < 0.05
        names = pa.array([f"S{i:03}" for i in range(500)])
        self.table = pa.table(
            {
                "price": pa.array(self.price, mask=self.no_price),
                "symbol": names.take(pa.array(self.symbol, mask=self.no_symbol)),
                "volume": pa.array(self.volume),
            }
        )

    def filters(self) -> dict[str, Mask]:
        nan = np.isnan(self.price)
        cheap = (self.price < 10) & ~nan
        seven = self.symbol == 7
        here, named = ~self.no_price, ~self.no_symbol
        return {
            "price < 10": cheap & here,
            "NOT price < 10": ~cheap & here,
            "price IS NULL": self.no_price,
            "price > CAST('Infinity' AS DOUBLE)": nan & here,
            "symbol = 'S007' AND price < 10": seven & named & cheap & here,
            "symbol != 'S007'": ~seven & named,
            "symbol LIKE 'S1%' OR volume BETWEEN -5 AND 3": (
                (self.symbol // 100 == 1) & named | (self.volume <= 3)
            ),
            "endswith(symbol, '9') AND NOT (price < 10 OR volume < 500000)": (
                (self.symbol % 10 == 9) & named & ~cheap & here & (self.volume >= 500_000)
            ),
            "(price < 10) IS NOT TRUE AND symbol IN ('S001', 'S499')": (
                ~(cheap & here) & ((self.symbol == 1) | (self.symbol == 499)) & named
            ),
            "volume = 77": self.volume == 77,
            "TRUE": np.ones(self.size, bool),
            "absent > 1": np.zeros(self.size, bool),
        }


def rows_by_filter(found: pa.Table, ids: list[str]) -> dict[str, list[int]]:
    rows = found["event"].to_numpy()
    whose = pc.index_in(found["subscription"].cast(pa.string()), pa.array(ids)).to_numpy()
    return {id: np.sort(rows[whose == place]).tolist() for place, id in enumerate(ids)}


def test_a_hundred_thousand_events() -> None:
    wide = Wide()
    filters = wide.filters()
    index = Index()
    for text in filters:
        index.add(text, text)
    expected = {text: np.flatnonzero(mask).tolist() for text, mask in filters.items()}
    counts = sum(mask.astype(np.int64) for mask in filters.values())
    layouts: list[Callable[[], pa.Table]] = [
        lambda: wide.table,
        lambda: pa.concat_tables([wide.table.slice(0, 33_333), wide.table.slice(33_333)]),
    ]
    for layout in layouts:
        found = index.match_batch(layout())
        assert found.num_rows == np.sum(counts)
        assert rows_by_filter(found, list(filters)) == expected
        assert np.array_equal(index.count_batch(layout()), counts)
    tail = index.match_batch(wide.table.slice(99_937))
    assert rows_by_filter(tail, list(filters)) == {
        text: (np.flatnonzero(mask[99_937:])).tolist() for text, mask in filters.items()
    }


def test_indexes_may_share_a_batch_also_while_they_change() -> None:
    """What is kept of it is of the segments that were asked, never of those that came for them."""
    rules = trade(3_000, seed=2)
    table, events = rules.table(), rules.events(700)
    first, second = Index(rules.schema), Index(rules.schema)
    first.add_many(table.slice(0, 2_000))
    second.add_many(table.slice(2_000))
    shared = encode(events, rules.schema)
    for start in range(0, 2_000, 400):
        for index in (first, second):
            assert index.count_batch(shared).tolist() == index.count_batch(events).tolist()
            assert pairs(index.match_batch(shared)) == pairs(index.match_batch(events))
        first.remove_many(table["id"].slice(start, 200))
        first.update_many(table.select(["id", "low"]).slice(start + 200, 200))
        first.flush()


def test_a_batch_read_under_another_schema_is_refused() -> None:
    rules = trade(10, seed=2)
    index = Index(rules.schema)
    index.add_many(rules.table())
    for schema in (None, tg.Schema({"price": "double"})):
        with pytest.raises(TidegateError, match="under another schema"):
            index.count_batch(encode(rules.events(3), schema))

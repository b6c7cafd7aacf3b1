"""Columns of every type, from every source: the index, the scan and single events say the same.

Cell by cell: a column of an Arrow type, handed over by a library, as a batch and event by event.
The answers are those of `odd_columns`, worked out by hand. `docs/engine.md` shows the table.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest

import tidegate as tg
from tests.engine.events import odd_columns as odd
from tests.engine.events import odd_sources, odd_values
from tests.engine.events.odd_columns import ARROW, Seen
from tests.engine.events.odd_sources import SOURCES
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Pairs = set[tuple[int, int]]


class Asked:
    """An index, a scan and a box store of the same filters."""

    def __init__(self, attribute: str = "x", schema: tg.Schema | None = None) -> None:
        asked = odd.filters(attribute)
        self.tests: list[Callable[[Seen], bool]] = list(asked.values())
        self.index, self.scan, self.boxes = Index(schema), ScanIndex(schema), BoxStore(schema)
        for number, text in enumerate(asked):
            self.index.add(number, text)
            self.scan.add(number, text)
            assert self.boxes.add(tg.parse(text, schema)) == number
        self.index.flush()

    def right(self, seen: list[Seen]) -> Pairs:
        return {(row, i) for row, v in enumerate(seen) for i, t in enumerate(self.tests) if t(v)}

    def batches(self, make: Callable[[], Any]) -> Iterator[Pairs]:
        """What each says of a batch, made anew for each: a stream can be read only once."""
        for asked in (self.index, self.scan):
            pairs = asked.match_batch(make())
            events, ids = pairs["event"].to_pylist(), pairs["subscription"].to_pylist()
            yield set(zip(events, ids, strict=True))
            counts = asked.count_batch(make()).tolist()
            assert counts == [events.count(row) for row in range(len(counts))]
        starts, handles = self.boxes.stab_batch(make())
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        yield set(zip(rows.tolist(), handles.tolist(), strict=True))

    def events(self, events: list[dict[str, Any]]) -> Iterator[Pairs]:
        """What each says of the events, one by one."""
        for ask in (self.index.match, self.scan.match, self.boxes.stab):
            yield {(row, int(id)) for row, event in enumerate(events) for id in ask(event)}


@pytest.fixture(scope="module")
def asked() -> Asked:
    return Asked()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kind", ARROW)
def test_a_column_from_a_library_is_what_it_is(kind: str, source: str, asked: Asked) -> None:
    column, library = ARROW[kind], SOURCES[source]
    if (kind, source) in odd_sources.NONE:
        with pytest.raises(
            BaseException, match=r"(?i)not (implemented|support)|cannot create|could"
        ):
            library.batch(column.array)
        return
    in_batch = odd_sources.AS_BATCH.get((kind, source), column.seen)
    for found in asked.batches(lambda: library.batch(column.array)):
        assert found == asked.right(in_batch)
    if (kind, source) in odd_sources.NO_EVENTS:
        with pytest.raises(BaseException, match=r"range|too large|overflowed|pytz"):
            library.events(library.batch(column.array))
        return  # mappings of such values have a test of their own
    alone = odd_sources.AS_EVENTS.get((kind, source), in_batch)
    for found in asked.events(library.events(library.batch(column.array))):
        assert found == asked.right(alone)


@pytest.mark.parametrize("kind", ARROW)
def test_mappings_of_such_values_are_what_they_are(kind: str, asked: Asked) -> None:
    events, right = ARROW[kind].events(), asked.right(ARROW[kind].seen)
    for found in asked.batches(lambda: events):
        assert found == right
    for found in asked.events(events):
        assert found == right


@pytest.mark.parametrize("name", odd_values.PANDAS)
def test_a_column_that_only_pandas_has(name: str, asked: Asked) -> None:
    make, seen = odd_values.PANDAS[name]
    frame = pd.DataFrame({"x": make(), "another": make()})
    for found in asked.batches(lambda: frame):
        assert found == asked.right(seen)
    events = SOURCES["pandas"].events(frame)
    for found in (*asked.events(events), *asked.batches(lambda: events)):
        assert found == asked.right(seen)


@pytest.mark.parametrize("name", odd_values.POLARS)
def test_a_column_that_only_polars_has(name: str, asked: Asked) -> None:
    make, seen = odd_values.POLARS[name]
    frame = pl.DataFrame({"x": make(), "another": make()})
    for found in asked.batches(lambda: frame):
        assert found == asked.right(seen)
    events = frame.to_dicts()
    for found in (*asked.events(events), *asked.batches(lambda: events)):
        assert found == asked.right(seen)


@pytest.mark.parametrize("name", odd_values.DUCKDB)
def test_a_column_that_only_duckdb_has(name: str, asked: Asked) -> None:
    values, seen = odd_values.DUCKDB[name]
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT * FROM (VALUES {values}) AS t(x)")
        right = asked.right(seen)
        for found in asked.batches(lambda: relation):
            assert found == right


@pytest.mark.parametrize("name", odd_values.PYTHON)
def test_a_value_that_only_python_has(name: str, asked: Asked) -> None:
    value, seen = odd_values.PYTHON[name]
    events = [{"x": value}, {"x": None}, {}]
    right = asked.right([seen, None, None])
    for found in (*asked.batches(lambda: events), *asked.events(events)):
        assert found == right


TYPES = {
    "bigint": "number",
    "double": "number",
    "decimal(38,2)": "number",
    "string": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}


@pytest.mark.parametrize("wanted", TYPES)
def test_under_a_schema_all_say_the_same(wanted: str) -> None:
    schema = tg.Schema({"x": wanted})
    index, scan = Index(schema), ScanIndex(schema)
    texts = [text for family, _, text in odd.CONSTANTS if family == TYPES[wanted]]
    forms = ("x IS NULL", *(f"{n}x {o} {t}" for t in texts for o in "=<>" for n in ("", "NOT ")))
    for number, text in enumerate(forms):
        index.add(number, text)
        scan.add(number, text)
    index.flush()
    for kind in ARROW.values():
        table, events = SOURCES["Arrow"].batch(kind.array), kind.events()
        right = [sorted(scan.match(event)) for event in events]
        assert [sorted(index.match(event)) for event in events] == right
        for asked in (index, scan):
            pairs = asked.match_batch(table).to_pydict()
            found: list[list[int]] = [[] for _ in events]
            for row, id in zip(pairs["event"], pairs["subscription"], strict=True):
                found[row].append(id)
            assert [sorted(ids) for ids in found] == right


@pytest.mark.parametrize("kind", ["struct", "dictionary", "runs", "an extension", "a union"])
def test_paths_lead_into_structs_however_they_are_encoded(kind: str) -> None:
    asked = Asked("x.a")
    structs = pa.array([{"a": 1}, {"a": None}, None, {"a": 2}])
    storage = pa.ExtensionArray.from_storage(pa.opaque(structs.type, "t", "v"), structs)
    array = {
        "struct": structs,
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), structs),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), structs),
        "an extension": storage,
        "a union": pa.UnionArray.from_sparse(pa.array([0] * 4, pa.int8()), [structs]),
    }[kind]
    right = asked.right(odd.numbers(1, None, None, 2))
    for found in asked.batches(lambda: pa.table({"x": array})):
        assert found == right


def test_a_null_struct_hides_the_values_of_its_fields(asked: Asked) -> None:
    asked = Asked("x.a")
    mask = pa.array([True, False])
    array = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=mask)
    for found in asked.batches(lambda: pa.table({"x": array})):
        assert found == asked.right(odd.numbers(None, 2))


def test_chunks_whose_dictionaries_arrow_cannot_unify(asked: Asked) -> None:
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    second = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["b"]))
    table = pa.table({"x": pa.chunked_array([first, second])})
    for found in asked.batches(lambda: table):
        assert found == asked.right(odd.texts("a", None, "b"))


@pytest.mark.parametrize("kind", ["dense_union", "sparse_union", "runs of views", "binary_view"])
def test_slices_of_odd_columns_start_where_they_do(kind: str, asked: Asked) -> None:
    column = ARROW[kind]
    for start in range(len(column.seen)):
        table = pa.table({"x": column.array.slice(start, 2)})
        for found in asked.batches(lambda table=table: table):  # type: ignore[misc]
            assert found == asked.right(column.seen[start : start + 2])


def test_dates_and_timestamps_beyond_all_lines_are_at_their_ends(asked: Asked) -> None:
    ends = pa.array([2**63 - 1, -(2**63), None])
    for kind, family in ((pa.timestamp("s"), "timestamp"), (pa.date64(), "date")):
        table = pa.table({"x": ends.view(kind)})
        seen: list[Seen] = [(family, 2**99), (family, -(2**99)), None]
        for found in asked.batches(lambda table=table: table):  # type: ignore[misc]
            assert found == asked.right(seen)


UNREADABLE = {
    "2 columns named x": pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]),
    "no UTF-8": pa.table({"x": pa.array([b"\xff"]).view(pa.string())}),
    "2 fields named a": pa.table(
        {"x": pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])}
    ),
    "values that are not there": pa.table(
        {"x": pa.DictionaryArray.from_arrays(pa.array([9]), pa.array(["a"]), safe=False)}
    ),
    "names of 2 levels": pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("x", "a")])),
}


@pytest.mark.parametrize("reason", UNREADABLE)
def test_what_cannot_be_read_is_refused_by_all_for_the_same_reason(reason: str) -> None:
    asked = Asked("x.a" if "fields" in reason else "x")
    indexes = (asked.index.match_batch, asked.index.count_batch, asked.scan.match_batch)
    for ask in (*indexes, asked.boxes.stab_batch):
        with pytest.raises(tg.TidegateError, match=reason):
            ask(UNREADABLE[reason])


def test_a_column_that_nobody_asks_for_may_be_of_any_type() -> None:
    index, scan = Index(), ScanIndex()
    for each in (index, scan):
        each.add(1, "y = 1")
    arrays = {name: kind.array.slice(0, 2) for name, kind in ARROW.items()}
    odd_columns = pl.DataFrame(
        {"y": [1, 2], "a": pl.Series([2**100] * 2, dtype=pl.Int128),
         "b": pl.Series([object()] * 2, dtype=pl.Object)}
    )  # fmt: skip
    frame = pd.DataFrame({name: make()[:2] for name, (make, _) in odd_values.PANDAS.items()})
    frame["y"] = [1, 2]
    for batch in (pa.table({"y": [1, 2], **arrays}), odd_columns, frame):
        for each in (index, scan):
            assert each.match_batch(batch).to_pydict() == {"event": [0], "subscription": [1]}


def test_names_of_pandas_that_are_no_texts_are_spelled() -> None:
    frame = pd.DataFrame([[1, 2]], columns=[0, "a"])
    for each in (Index(), ScanIndex()):
        each.add(1, "`0` = 1 AND a = 2")
        assert each.count_batch(frame).tolist() == [1]
        twice = pd.DataFrame([[1, 2]], columns=[0, "0"])
        with pytest.raises(tg.TidegateError, match="2 columns named 0"):
            each.count_batch(twice)


# Columns of Spark, so that the answers written down by hand are Spark's, for far years, too.
ON_SPARK: dict[str, tuple[str, list[Seen]]] = {
    "n": ("ARRAY(1L, 2L, NULL)", odd.numbers(1, 2, None)),
    "m": ("ARRAY(1BD, 2.50BD, NULL)", odd.numbers(1, Decimal("2.5"), None)),
    "f": ("ARRAY(1F, 2.5F, NULL)", odd.numbers(1.0, 2.5, None)),
    "s": ("ARRAY('a', 'c', NULL)", odd.texts("a", "c", None)),
    "b": ("ARRAY(TRUE, FALSE, NULL)", odd.booleans(True, False, None)),
    "d": (
        "ARRAY(DATE_FROM_UNIX_DATE(6585322), DATE_FROM_UNIX_DATE(-800000), NULL)",
        odd.dates(6_585_322, -800_000, None),
    ),
    "t": (
        "ARRAY(TIMESTAMP_MICROS(568971820800000000), TIMESTAMP_MICROS(-62324985600000000), NULL)",
        odd.moments(odd.YEAR_20000 * 10**6, -62_324_985_600 * 10**6, None),
    ),
}


def test_spark_gives_the_answers_that_are_written_down(spark: "SparkSession") -> None:
    names = ", ".join(ON_SPARK)
    arrays = ", ".join(array for array, _ in ON_SPARK.values())
    asked = {
        text: (name, test)
        for name, (_, seen) in ON_SPARK.items()
        for text, test in odd.filters(name, seen[0][0] if seen[0] else None).items()
    }
    columns = ", ".join(f"COALESCE({text}, FALSE)" for text in asked)
    table = f"SELECT INLINE(ARRAYS_ZIP({arrays})) AS ({names})"
    found = spark.sql(f"SELECT {columns} FROM ({table})").collect()
    for row, answers in enumerate(found):
        for (text, (name, test)), answer in zip(asked.items(), answers, strict=True):
            assert answer is test(ON_SPARK[name][1][row]), (text, row)

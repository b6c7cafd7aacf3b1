"""Whatever speaks Arrow may bring events, subscriptions, ids and schemas, and takes the results."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import arro3.core
import duckdb
import nanoarrow as na  # type: ignore[import-untyped]
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.capsules import table_of
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex
from tidegate.pipeline import Store


class Stream:
    """Nothing but the interface: a stream that can be read once."""

    def __init__(self, table: pa.Table) -> None:
        self._reader = table.to_reader()
        self.read = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.read += 1
        return self._reader.__arrow_c_stream__(requested_schema)


class Batch:
    """Nothing but the interface: one batch."""

    def __init__(self, table: pa.Table) -> None:
        self._batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def _duckdb(table: pa.Table) -> Any:
    return duckdb.connect().from_arrow(table)


SPEAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow's reader": lambda table: table.to_reader(),
    "pyarrow's struct": lambda table: table.to_struct_array(),
    "pandas": lambda table: table.to_pandas(),
    "Polars": pl.DataFrame,
    "Polars' struct": lambda table: pl.DataFrame(table).to_struct("s"),
    "DuckDB": _duckdb,
    "nanoarrow": na.ArrayStream,
    "nanoarrow's array": lambda table: na.Array(table.combine_chunks().to_batches()[0]),
    "arro3": arro3.core.Table.from_arrow,
    "a stream": Stream,
    "a batch": Batch,
}

RULES = pa.table({"id": ["a", "b"], "symbol": ["IBM", "SAP"], "limit": [10.0, 99.0]})
TEXT = "symbol = :symbol AND price < :limit"
EVENTS = pa.table({"symbol": ["IBM", "SAP", "IBM"], "price": [9.5, 98.0, 11.0]})
PAIRS = [(0, "a"), (1, "b")]


def pairs(found: pa.Table) -> list[tuple[int, str]]:
    return sorted(zip(*found.to_pydict().values(), strict=True))


@pytest.fixture(params=[Index, ScanIndex])
def index(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_events_and_subscriptions_come_from_all(speaker: str, index: Any) -> None:
    speak = SPEAKERS[speaker]
    index.add_many(speak(RULES), filter=TEXT)
    assert pairs(index.match_batch(speak(EVENTS))) == PAIRS
    assert index.count_batch(speak(EVENTS)).tolist() == [1, 1, 0]
    index.update_many(speak(pa.table({"id": ["a"], "limit": [12.0]})))
    assert pairs(index.match_batch(speak(EVENTS))) == [*PAIRS, (2, "a")]


IDS: dict[str, Callable[[list[Any]], Any]] = {
    "pyarrow's chunks": lambda ids: pa.chunked_array([ids]),
    "pandas": pd.Series,
    "Polars": pl.Series,
    "nanoarrow": lambda ids: na.Array(pa.array(ids)),
    "arro3": lambda ids: arro3.core.Array.from_arrow(pa.array(ids)),
    "runs": lambda ids: pa.array(ids).dictionary_encode(),
}


@pytest.mark.parametrize("ids", [["a"], [1]])
@pytest.mark.parametrize("speaker", IDS)
def test_ids_come_from_all(speaker: str, ids: list[Any], index: Any) -> None:
    index.add(ids[0], "x = 1")
    index.remove_many(IDS[speaker](ids))
    assert len(index) == 0


@pytest.mark.parametrize("speaker", SPEAKERS)
def test_schemas_come_from_all(speaker: str) -> None:
    assert tg.Schema(SPEAKERS[speaker](EVENTS)) == tg.Schema(
        {"symbol": "string", "price": "double"}
    )


@pytest.mark.parametrize(
    "source",
    [
        EVENTS.schema,
        pl.DataFrame(EVENTS).schema,
        na.struct({"symbol": na.string(), "price": na.float64()}),
        arro3.core.Schema.from_arrow(EVENTS.schema),
    ],
    ids=["pyarrow", "Polars", "nanoarrow", "arro3"],
)
def test_schemas_alone_come_from_all(source: Any) -> None:
    assert tg.Schema(source) == tg.Schema({"symbol": "string", "price": "double"})


def test_the_schema_of_a_reader_leaves_the_reader_as_it_was(index: Any) -> None:
    reader = EVENTS.to_reader()
    assert list(tg.Schema(reader)) == ["symbol", "price"]
    index.add("a", "price < 10")
    assert index.count_batch(reader).tolist() == [1, 0, 0]


def test_a_stream_is_read_once(index: Any) -> None:
    index.add("a", "price < 10 OR symbol LIKE '%A%'")
    stream = Stream(EVENTS)
    assert index.count_batch(stream).tolist() == [1, 1, 0]
    assert stream.read == 1


def test_a_store_takes_them_too(tmp_path: Path) -> None:
    store = Store.create(str(tmp_path / "rules"))
    store.add_many(pl.DataFrame(RULES), filter=TEXT)
    store.update_many(_duckdb(pa.table({"id": ["a"], "limit": [12.0]})))
    assert store.get("a").parameters["limit"] == 12.0
    store.remove_many(pl.Series(["b"]))
    store.change(Stream(pa.table({"change": ["add"], "id": ["c"], "filter": ["price < 1"]})))
    assert store.subscriptions()["id"].to_pylist() == ["a", "c"]


def _events(index: Index) -> pa.Table:
    """Pairs in several chunks, each with a dictionary of its own."""
    index.add("c", "symbol = 'IBM'")
    found = index.match_batch(EVENTS)
    index.add("d", "price > 90")
    again = index.match_batch(EVENTS)
    assert again["subscription"].num_chunks > 1
    assert len(again) > len(found)
    return again


def test_results_go_to_all() -> None:
    index = Index()
    index.add_many(RULES, filter=TEXT)
    found = _events(index)
    right = [(0, "a"), (0, "c"), (1, "b"), (1, "d"), (2, "c")]
    assert pairs(found) == right
    for frame in (pl.DataFrame(found), pl.from_arrow(found)):
        assert isinstance(frame, pl.DataFrame)
        assert sorted(frame.rows()) == right
    assert sorted(duckdb.connect().from_arrow(found).fetchall()) == right
    assert sorted(found.to_pandas().itertuples(index=False, name=None)) == right
    assert pairs(pa.table(arro3.core.Table.from_arrow(found))) == right
    assert pairs(pa.table(na.ArrayStream(found))) == right


# -- what goes wrong at the other end


class Broken:
    """A producer that does what it is told."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._act()


class Panic(BaseException):
    """As a panic of Rust comes to Python."""


def _raise(error: BaseException) -> Any:
    raise error


def _broken_off() -> object:
    def batches() -> Iterator[pa.RecordBatch]:
        yield EVENTS.to_batches()[0]
        raise RuntimeError("the line is cut")

    return pa.RecordBatchReader.from_batches(EVENTS.schema, batches()).__arrow_c_stream__()


BROKEN: dict[str, Callable[[], Any]] = {
    "no such file": lambda: Broken(lambda: _raise(OSError("no such file"))),
    "out of bounds": lambda: Broken(lambda: _raise(Panic("out of bounds"))),
    "PyCapsule": lambda: Broken(lambda: 5),
    "the line is cut": lambda: Broken(_broken_off),
    "non-struct": lambda: pl.Series([1]),
    "null count": lambda: pl.Series([{"symbol": "IBM"}, None]),
    "released": lambda: spent(na.ArrayStream(EVENTS)),
}


def spent(stream: Any) -> Any:
    table_of(stream)
    return stream


@pytest.mark.parametrize("reason", BROKEN)
def test_errors_of_the_other_end_say_what_happened(reason: str, index: Any) -> None:
    index.add("a", "symbol = 'IBM'")
    for take in (index.match_batch, index.count_batch, index.add_many, index.update_many):
        with pytest.raises(tg.TidegateError, match=f"cannot be read as a table .*{reason}"):
            take(BROKEN[reason]())
    assert len(index) == 1


def test_an_interrupt_is_no_error_of_the_other_end(index: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        index.count_batch(Broken(lambda: _raise(KeyboardInterrupt())))


def test_a_broken_schema_is_a_schema_error() -> None:
    with pytest.raises(tg.SchemaError, match="no such file"):
        tg.Schema(BROKEN["no such file"]())
    with pytest.raises(tg.SchemaError, match="_pli128"):
        tg.Schema(pl.DataFrame({"x": pl.Series([1], dtype=pl.Int128)}))


@pytest.mark.parametrize("lazy", [pl.LazyFrame({"x": [1]}), pa.scalar(1), iter([{"x": 1}])])
def test_what_speaks_no_arrow_is_refused(lazy: Any, index: Any) -> None:
    with pytest.raises(tg.TidegateError, match="what speaks Arrow"):
        index.match_batch(lazy)
    with pytest.raises(tg.TidegateError, match="what speaks Arrow"):
        index.add_many(lazy)


ODD_PARAMETERS = {
    "runs of views": pa.RunEndEncodedArray.from_arrays(
        pa.array([1, 2], pa.int32()), pa.array(["a", "b"], pa.string_view())
    ),
    "chunks of dictionaries with nulls": pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a", None])),
            pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["b"])),
        ]
    ),
    "arrow.json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["a", "b"])),
}


@pytest.mark.parametrize("kind", ODD_PARAMETERS)
def test_parameters_may_be_encoded_in_any_way(kind: str, index: Any) -> None:
    index.add_many(pa.table({"id": [1, 2], "p": ODD_PARAMETERS[kind]}), filter="x = :p")
    assert [index.get(id).parameters["p"] for id in (1, 2)] == ["a", "b"]


def test_parameters_of_days_and_truths(index: Any) -> None:
    days = pa.array([86_400_005, -5]).view(pa.date64())
    truths = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8()))
    index.add_many(pa.table({"id": [1, 2], "d": days, "b": truths}), filter="x = :d AND y = :b")
    found = [index.get(id).parameters for id in (1, 2)]
    assert [str(each["d"]) for each in found] == ["1970-01-02", "1969-12-31"]
    assert [each["b"] for each in found] == [True, False]


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([b"a"], pa.binary_view())),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16], pa.binary(16))),
        pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
        pa.array([10**15]).view(pa.date64()),
        pa.DictionaryArray.from_arrays(pa.array([5]), pa.array(["a"]), safe=False),
    ],
    ids=str,
)
def test_parameters_that_are_none_are_refused(column: pa.Array, index: Any) -> None:
    with pytest.raises(tg.TidegateError, match=r"Arrow type|outside the years"):
        index.add_many(pa.table({"id": [1], "p": column}), filter="x = :p")
    assert len(index) == 0

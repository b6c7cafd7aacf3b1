"""The slow index gives Spark's answers, so that the fast one can be held against it."""

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests import generate
from tests.filters.test_spark import ask, store
from tidegate.engine.scan import ScanIndex
from tidegate.errors import IndexFileError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Pairs = set[tuple[int, int]]


def test_a_scan_finds_the_pairs_that_spark_finds(spark: "SparkSession", tmp_path: Path) -> None:
    rng = Random(31)
    events = generate.events(rng, 40)
    table = store(spark, events, tmp_path / "events.parquet")
    schema = tg.Schema(table.drop("row").schema)
    leaves = list(generate.each_operator(rng, True))
    texts: dict[tg.Schema | None, list[str]] = {
        schema: [str(condition) for condition in (*leaves, *generate.filters(rng, 250, True))],
        None: [str(condition) for condition in generate.filters(rng, 250, False)],
    }
    answers = ask(table, [*texts[schema], *texts[None]])
    for own in (schema, None):
        expected = {
            (row, id)
            for id, text in enumerate(texts[own])
            for row, passed in enumerate(answers[text])
            if passed
        }
        check(own, texts[own], events, expected)


def check(schema: tg.Schema | None, texts: list[str], events: list[Any], expected: Pairs) -> None:
    index = ScanIndex(schema)
    index.add_many(pa.table({"id": range(len(texts)), "filter": texts}))
    for batch in (events, generate.arrow_table(events)):
        assert pairs(index.match_batch(batch)) == expected
        counts = index.count_batch(batch).tolist()
        assert counts == [sum(1 for row, _ in expected if row == r) for r in range(len(events))]
    single = {(row, id) for row, event in enumerate(events) for id in index.match(event)}
    assert single == expected
    assert 0.2 < len(expected) / (len(events) * len(texts)) < 0.8


def pairs(found: pa.Table) -> Pairs:
    rows, ids = found["event"].to_pylist(), found["subscription"].to_pylist()
    assert len(set(zip(rows, ids, strict=True))) == len(rows)
    return set(zip(rows, ids, strict=True))


SCHEMAS = [
    None,
    tg.Schema({}),
    tg.Schema(generate.TYPES),
    tg.Schema("a STRUCT<b: ARRAY<INT>, `c d`: CHAR(3)> NOT NULL, e BINARY, f TIMESTAMP"),
    tg.Schema(pa.schema([("x", pa.uint64()), ("y", pa.decimal256(60, 5))])),
    tg.Schema(
        {
            "n": tg.Attribute("int", nullable=False, low=0, high=9),
            "s": tg.Attribute("string", low="b", high="c"),
            "t": tg.Attribute("string", values=["x", "", "😀"]),
            "v": tg.Attribute("tinyint", values=[1, 2, 3, 7]),
            "b": tg.Attribute("boolean", values=[True, False]),
            "d": tg.Attribute("double", low=float("-inf")),
            "m": tg.Attribute("decimal(5,2)", high=5),
        },
        checked=True,
    ),
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_saved_scan_comes_back(schema: tg.Schema | None, tmp_path: Path) -> None:
    rng = Random(5)
    index = ScanIndex(schema)
    if schema == tg.Schema(generate.TYPES):
        for id, condition in enumerate(generate.filters(rng, 50, True)):
            index.add(id, str(condition))
        index.add(-1, "price < :p AND symbol IN (:q, 'a') AND day > :d", p=1, q=None, d="2024-1-1")
    index.save(tmp_path / "index")
    again = ScanIndex.open(tmp_path / "index")
    assert again.schema == schema
    assert len(again) == len(index)
    assert [again.get(s.id) for s in index._subscriptions.values()] == list(
        index._subscriptions.values()
    )


def test_a_file_that_is_no_scan_is_refused(tmp_path: Path) -> None:
    index = ScanIndex()
    index.add("alice", "x = 1")
    path = tmp_path / "index"
    index.save(path)
    whole = path.read_bytes()

    def refused(content: bytes) -> None:
        path.write_bytes(content)
        with pytest.raises(IndexFileError):
            ScanIndex.open(path)

    for content in (b"", b"ARROW1", whole[:-1], whole[: len(whole) // 2], whole[8:]):
        refused(content)
    refused(whole.replace(b"tidegate scan", b"tidegate spam"))
    with pytest.raises(IndexFileError, match="no file"):
        ScanIndex.open(tmp_path / "nowhere")


def test_a_date_beyond_python_is_after_or_before_all_dates() -> None:
    index = ScanIndex()
    texts = ["x IS NULL", "x > DATE '9999-12-31'", "x < DATE '0001-01-01'", "NOT x = DATE '2024'"]
    for id, text in enumerate(texts):
        index.add(id, text)
    far: Any = pa.table({"x": pa.array([2**31 - 1, -(2**31)], pa.int32()).cast(pa.date32())})
    assert pairs(index.match_batch(far)) == {(0, 1), (0, 3), (1, 2), (1, 3)}

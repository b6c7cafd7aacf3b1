"""Workloads of any size: the same rows whoever makes them, wherever a table begins."""

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.documents.xpath import parse_xpath
from tidegate.errors import LabError
from tidegate.lab.runner.frames import frame
from tidegate.lab.workloads import streams
from tidegate.lab.workloads.streams import STREAMS, Stream, What, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOTH: tuple[What, What] = ("subscriptions", "events")


@pytest.fixture(autouse=True)
def _small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "ROWS", 40)


def whole(own: Stream, what: What, count: int, seed: int = 1) -> pa.Table:
    return pa.Table.from_batches(list(own.batches(what, count, seed)))


@pytest.mark.slow
@pytest.mark.parametrize("what", BOTH)
@pytest.mark.parametrize("name", STREAMS)
def test_a_larger_set_begins_with_the_smaller_one_and_tables_are_made_alone(
    name: str, what: What
) -> None:
    own = STREAMS[name]
    large, small = whole(own, what, 100), whole(own, what, 50)
    assert (large.num_rows, small.num_rows) == (100, 50)
    assert large.slice(0, 50).equals(small)
    assert own.table(what, 2, 1, 20).equals(large.slice(80, 20).combine_chunks())
    assert not whole(own, what, 100, seed=2).equals(large)
    tables = [large.slice(start, 40) for start in (0, 40)]
    assert (
        not tables[0]
        .drop_columns(["id"] if what == "subscriptions" else [])
        .equals(tables[1].drop_columns(["id"] if what == "subscriptions" else []))
    )


@pytest.mark.parametrize("name", STREAMS)
def test_subscriptions_are_what_an_index_reads(name: str) -> None:
    made = whole(STREAMS[name], "subscriptions", 90)
    assert made["id"].to_pylist() == list(range(90))
    if name == "news":
        assert all(parse_xpath(text) for text in made["filter"].to_pylist())
        return
    index = tg.Index()
    index.add_many(made)
    assert len(index) == 90
    events = whole(STREAMS[name], "events", 10)
    pairs = index.match_batch(events)
    assert pairs is not None


def test_all_tables_draw_from_what_they_have_in_common() -> None:
    """Predicates of a set are of one pool, so that some recur from table to table."""
    made = whole(STREAMS["set-a"], "subscriptions", 4_000)["filter"].to_pylist()
    parts = [{p for text in made[i : i + 1_000] for p in text.split(" AND ")} for i in (0, 3_000)]
    assert len(parts[0] & parts[1]) > len(parts[1]) / 2
    numbers = whole(STREAMS["trading"], "events", 100)["number"].to_pylist()
    assert all(after == before + 1 for before, after in pairwise(numbers))


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(LabError, match="no workload 'stocks'; there are: rectangles-2"):
        stream("stocks")
    with pytest.raises(LabError, match="0 rows or more, not -1"):
        list(STREAMS["trade"].batches("events", -1))


def test_a_frame_has_the_rows_of_the_stream_whatever_its_partitions(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "ROWS", 10_000)  # workers know of no other size
    rows = 20_500
    tried: tuple[tuple[What, tuple[int | None, ...]], ...] = (
        ("subscriptions", (1, 2)),
        ("events", (None,)),
    )
    for what, some in tried:
        expected = whole(STREAMS["trade"], what, rows)
        order = [(name, "ascending") for name in expected.column_names]
        for partitions in some:
            made = frame(spark, "trade", what, rows, partitions=partitions).toArrow()
            assert made.column_names == expected.column_names
            same = made.cast(expected.schema).sort_by(order).combine_chunks()
            assert same.equals(expected.sort_by(order).combine_chunks())
    assert frame(spark, "trade", "events", 0).count() == 0
    assert frame(spark, "trade", "events", 5, partitions=1).rdd.getNumPartitions() == 1


def test_a_frame_of_what_there_is_not_is_refused(spark: "SparkSession") -> None:
    for arguments, said in (
        (("stocks", "events", 1), "no workload 'stocks'"),
        (("trade", "prices", 1), "subscriptions and events, not 'prices'"),
        (("trade", "events", -1), "0 rows or more"),
    ):
        with pytest.raises(LabError, match=said):
            frame(spark, *arguments)  # type: ignore[arg-type]
    with pytest.raises(LabError, match="1 partition or more, not 0"):
        frame(spark, "trade", "events", 1, partitions=0)

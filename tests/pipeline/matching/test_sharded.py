"""Several shards on Spark find what one finds; what Spark SQL says, `test_matching` asks."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidegate as tg
from tests.pipeline import streams
from tests.pipeline.matching.test_stream import Between
from tidegate.errors import TidegateError
from tidegate.pipeline import Store, match
from tidegate.pipeline.bases import catalog, compile_job
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.store import pins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY = 64 if os.environ.get("TIDEGATE_LONG") == "1" else 16  # shards


@pytest.mark.parametrize("output", ["pairs", "lists", "counts"])
def test_malformed_events_come_out_once_whatever_the_shards(
    spark: "SparkSession", tmp_path: Path, output: Any
) -> None:
    schema = tg.Schema({"price": tg.Attribute("double", low=0.0), "a.b": "string"}, checked=True)
    store = Store.create(tmp_path / "store", schema)
    store.add("cheap", "price < 10")
    store.add("dear", "price >= 10")
    store.add("any", "price IS NOT NULL")
    rows = [
        (0, "9.5", None),
        (1, "cheap", None),
        (2, "-1", None),
        (3, None, "torn"),
        (4, None, None),
    ]
    events = spark.createDataFrame(rows, "row int, price string, _corrupt_record string")
    events = events.withColumnRenamed("row", "r.o`w")
    found = match(events, store, output=output, columns=["r.o`w"], shards=3).collect()
    said = {row["r.o`w"]: row.error for row in found}
    assert {row: error for row, error in said.items() if error} == {
        1: "price: cheap is not of type double",
        2: "price is outside of the schema's domain",
        3: "corrupt record: torn",
    }
    assert sorted(said) == ([0, 1, 2, 3] if output == "pairs" else [0, 1, 2, 3, 4])
    assert len(found) == 5  # as pairs, 0 comes twice and 4 not at all
    if output == "lists":
        assert {row["r.o`w"]: row.subscriptions is None for row in found} == {
            0: False, 1: True, 2: True, 3: True, 4: False,
        }  # fmt: skip


@pytest.mark.parametrize("shards", [2, MANY])
def test_a_stream_follows_changes_whatever_the_shards(
    spark: "SparkSession", tmp_path: Path, shards: int
) -> None:
    stream = streams.make(tmp_path, batches=4, size=20)
    store = stream.store
    schema = tg.Schema(stream.source(spark).schema)

    def compile_now() -> None:
        if shards < MANY:
            compile_job.compile_base(store, spark, Attributes(schema), store.version(), shards)
        else:  # by fewer tasks
            streams.write_base(store, schema=schema, shards=shards)

    def change(batch: int) -> None:
        match batch:
            case 0:
                streams.add_some(store, "second", 20)
                store.update("first-3", low=1.0)
            case 1:
                store.remove_many([f"first-{k}" for k in range(0, 30, 3)])
                compile_now()
            case 2:
                store.add("first-0", "symbol = :symbol", parameters={"symbol": "CAP"})
                store.update("first-1", low=50.0)

    compile_now()
    stream.run(spark, Between(stream.sink, after=change), shards=shards)
    assert stream.delivered(spark) == stream.wanted(spark)
    assert len(set(stream.versions().values())) == 4
    base = catalog.newest(store.path, catalog.fingerprint(Attributes(schema)), store.version())
    assert base is not None
    assert len(base.shards) == shards


def test_tasks_of_a_batch_use_one_base_though_a_newer_one_comes(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """A stream of pairs is routed and matched by different tasks, and pinned by them."""
    stream = streams.make(tmp_path, batches=3, size=30)
    schema = tg.Schema(stream.source(spark).schema)
    found = match(stream.source(spark), stream.store, shards=4)
    query = (
        found.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(stream.checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    while query.isActive:  # bases of the same version come all the time
        streams.write_base(stream.store, schema=schema, shards=4)
    assert query.exception() is None
    rows = spark.read.parquet(str(tmp_path / "out"))
    chosen = rows.select("number", "subscription", "subscriber", "version").toArrow()
    assert streams.in_rows(chosen) == stream.wanted(spark)
    assert pins.chosen(stream.store.path) <= {
        base.name
        for base in catalog.bases(stream.store.path, catalog.fingerprint(Attributes(schema)))
    }


def test_what_cannot_be_sharded_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    stream = streams.make(tmp_path, batches=1)
    for shards in (0, -1, 5000):
        with pytest.raises(TidegateError, match=f"1 to 4,096 shards, not {shards}"):
            match(stream.source(spark), stream.store, shards=shards)

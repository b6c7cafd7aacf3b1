"""A store in an object store does what one in a folder does."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import tidegate as tg
from tests.pipeline import reading, streams
from tests.pipeline.bases.test_vacuuming import check_a_vacuum
from tests.pipeline.matching.test_stream import Between, newest_base, wait_until
from tests.pipeline.object_server import ObjectServer
from tidegate.cli import app
from tidegate.pipeline import Store, match
from tidegate.pipeline.bases import compile_job
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.store import pins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_the_commands_keep_a_store(address: str, tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("id,filter,limit\nalice,price < :limit,10.5\nbob,x = 1,\n")
    for place in (address, tmp_path / "store"):
        for command, *rest in (
            ("import", tmp_path / "rules.csv"),
            ("update", "alice", "--set", "limit=8.0"),
            ("add", "carol", "price > 3"),
            ("remove", "bob"),
            ("compact",),
            ("vacuum", "--older-than", "0"),
        ):
            done = run("subs", command, place, *rest)
            assert done.exit_code == 0, done.output
    remote, local = Store.open(address), Store.open(tmp_path / "store")
    assert remote.version() == local.version() == 5
    assert reading.state(remote.subscriptions()) == reading.state(local.subscriptions())
    assert run("subs", "list", address).output == run("subs", "list", local.path).output


def test_the_changes_of_a_few_versions_are_read_from_their_entries(address: str) -> None:
    store = Store.create(address)
    store.add("alice", "price < :limit", parameters={"limit": 10.5})
    follower = Store.open(address)
    store.update("alice", limit=8.0)
    store.compact()
    store.remove("alice")
    assert [file.last for file in follower._log.added(1, 4) or ()] == [2, 2, 4]
    assert follower.changes(1, 4)["change"].to_pylist() == ["update", "remove"]
    assert int(follower._log._table.version()) == 1
    assert follower._log.added(3, 5) is None


def test_of_racing_pins_one_wins(address: str) -> None:
    for batch in range(5):
        with ThreadPoolExecutor(4) as pool:
            said = list(pool.map(lambda v: pins.pin(address, "abc", batch, v), range(4)))  # noqa: B023
        assert len(set(said)) == 1
        assert pins.known(address, "abc", batch) == said[0]
    pins.pin(address, "other", 3, 77)
    pins.pin(address, "abc", 10, 8)
    assert sorted(pins.pinned(address)) == [("abc", 3), ("abc", 4), ("abc", 10), ("other", 3)]
    pins.unpin(address, "abc")
    assert pins.pinned(address) == {("other", 3): 77}


@pytest.mark.slow
def test_a_vacuum_leaves_what_is_pinned(address: str) -> None:
    check_a_vacuum(address, 6)


def test_batches_are_matched_as_with_a_store_in_a_folder(
    remote_spark: "SparkSession", server: ObjectServer, address: str, tmp_path: Path
) -> None:
    rows = [(k, streams.SYMBOLS[k % 4], float(k * 7 % 100)) for k in range(100)]
    events = remote_spark.createDataFrame(rows, "number bigint, symbol string, price double")
    found = []
    for place in (address, str(tmp_path / "store")):
        store = Store.create(place)
        streams.add_some(store, "first", 40)
        compile_job.compile_base(store, remote_spark, Attributes(tg.Schema(events.schema)), 2)
        store.update("first-3", low=1.0)
        store.remove("first-4")
        streams.add_some(store, "second", 10)
        chosen = match(events, store, columns=["number"]).toArrow()
        found.append(streams.in_rows(chosen.select(["number", "subscription", "version"])))
    assert found[0] == found[1]
    assert len(found[0]) > 100
    filters = remote_spark.createDataFrame([("low", "price < 50")], "id string, filter string")
    assert match(events, filters, scratch=f"{address}/scratch").count() == 50
    assert server.downloads(f"{address.rpartition('/')[2]}/bases/index-") == 0  # it compiled them


def test_a_stream_follows_the_changes_of_a_remote_store(
    remote_spark: "SparkSession", address: str, tmp_path: Path
) -> None:
    spark = remote_spark
    stream = streams.make(tmp_path, batches=3, size=20, address=address)
    store = stream.store

    def change(batch: int) -> None:
        streams.add_some(store, f"batch-{batch}", 10)
        store.remove(f"first-{batch}")

    stream.run(spark, Between(stream.sink, after=change))
    assert stream.versions() == {0: 3, 1: 6, 2: 9}
    assert stream.delivered(spark) == stream.wanted(spark)
    schema = tg.Schema(stream.source(spark).schema)
    keeping = compile_job.KeepCompiled(store, spark, Attributes(schema), changes=5, seconds=0.05)
    wait_until(lambda: newest_base(store, schema) == store.version())
    keeping.stop()
    assert keeping.error is None
    # tasks pin as well
    writer = match(stream.source(spark), store).writeStream.format("parquet")
    writer = writer.option("path", f"{tmp_path}/plain").trigger(availableNow=True)
    writer.option("checkpointLocation", f"{tmp_path}/plain-checkpoint").start().awaitTermination()
    plain = spark.read.parquet(f"{tmp_path}/plain")
    assert {row.version for row in plain.select("version").distinct().collect()} == {12}
    assert len(pins.pinned(address)) == 6


def test_the_command_match_takes_a_remote_store(
    remote_spark: "SparkSession", address: str, tmp_path: Path
) -> None:
    store = Store.create(address)
    store.add("alice", "price < :limit", parameters={"limit": 10.5})
    events = remote_spark.createDataFrame(pa.table({"price": [5.0, 20.0]}))
    events.write.parquet(str(tmp_path / "events"))
    for options in ((), ("--stream", "--once")):
        out = tmp_path / f"out{len(options)}"
        done = run(
            "match", "--subscriptions", address, "--events", tmp_path / "events", "--out", out,
            *options,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "1 notifications, all of version 1" in done.output

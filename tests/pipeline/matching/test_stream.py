"""A stream whose subscriptions change while it runs, against Spark SQL at the pinned versions."""

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.pipeline import streams
from tests.pipeline.streams import Stream
from tidegate.errors import SchemaError, StoreError, TidegateError
from tidegate.pipeline import Hook, ParquetFolder, Store, match_stream
from tidegate.pipeline.bases import catalog, compile_job
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching import match as match_module
from tidegate.pipeline.matching.matcher import Matcher, kept_matcher
from tidegate.pipeline.matching.sinks import Sink
from tidegate.pipeline.matching.stream import identity
from tidegate.pipeline.matching.tasks import Batches, InPlace
from tidegate.pipeline.store import pins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Between:
    """A sink that does something else before and after it takes a batch."""

    sink: Sink
    after: Callable[[int], object] = lambda batch: None
    before: Callable[[int], object] = lambda batch: None
    taken: list[int] = field(default_factory=list)

    def require(self, columns: Sequence[str]) -> None:
        self.sink.require(columns)

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        self.before(batch)
        self.sink.commit(notifications, query, batch)
        self.taken.append(batch)
        self.after(batch)


class CrashError(Exception):
    """The driver ends here."""


def crash(batch: int) -> Callable[[int], None]:
    def end(at: int) -> None:
        if at == batch:
            raise CrashError

    return end


def limits(first: int, count: int, low: float) -> pa.Table:
    return pa.table(
        {"id": [f"many-{k}" for k in range(first, first + count)], "low": [low] * count}
    )


def wait_until(done: Callable[[], bool]) -> None:
    """Wait for something that comes by itself, however long it takes within reason."""
    for _ in range(6000):
        if done():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come")


def newest_base(store: Store, schema: tg.Schema) -> int:
    found = catalog.newest(store.path, catalog.fingerprint(Attributes(schema)), store.version())
    return -1 if found is None else found.version


def test_changes_count_from_the_next_batch_and_every_version_reproduces_its_notifications(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = partial(compile_job.KeepCompiled, changes=1_000_000)
    monkeypatch.setattr(compile_job, "KeepCompiled", never)
    stream = streams.make(tmp_path, batches=6, size=8)
    store = stream.store
    made: dict[int, int] = {}

    def change(batch: int) -> None:
        match batch:
            case 0:
                store.add_many(limits(0, 10_000, 1000.0), filter="price > :low")
                made[0] = streams.add_some(store, "second", 20)
            case 1:
                made[1] = store.update_many(limits(0, 10_000, 90.0))
            case 2:
                store.remove_many([f"many-{k}" for k in range(0, 10_000, 2)])
                made[2] = store.remove_many([f"first-{k}" for k in range(0, 30, 3)])
            case 3:
                store.add("first-0", "symbol = :symbol", parameters={"symbol": "CAP"})
                made[3] = store.update("first-1", low=50.0)
            case 4:
                made[4] = store.compact()

    stream.run(spark, Between(stream.sink, after=change))
    versions = stream.versions()
    assert versions == {0: 3, **{batch + 1: version for batch, version in made.items()}}
    delivered = stream.delivered(spark)
    assert delivered == stream.wanted(spark)
    # a subscription that stays misses nothing, and what comes and goes does when it should
    everything = [number for number, id, _, _ in delivered if id == "all"]
    assert everything == [1000 * batch + event for batch in range(6) for event in range(8)]
    batches = {
        id: {number // 1000 for number, own, _, _ in delivered if own.startswith(id)}
        for id in ("many-", "second-", "first-0")
    }
    assert batches["many-"] <= {2, 3, 4, 5}
    assert batches["many-"] & {2, 3}
    assert batches["second-"] <= {1, 2, 3, 4, 5}
    # nothing was compiled but at the start
    assert len(list(Path(store.path, "bases").glob("base-*.json"))) == 1


def test_a_query_that_runs_sees_what_comes_and_bases_are_made_beside_it(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(threading.enumerate())
    often = partial(compile_job.KeepCompiled, changes=10, seconds=0.05)
    monkeypatch.setattr(compile_job, "KeepCompiled", often)
    stream = streams.make(tmp_path, batches=1, size=5)
    query = match_stream(
        stream.source(spark),
        str(tmp_path / "store"),
        stream.sink,
        checkpoint=stream.checkpoint,
        query_name="running",
    )
    try:
        assert query.name == "running"
        query.processAllAvailable()
        streams.add_some(stream.store, "more", 20)
        schema = tg.Schema(stream.source(spark).schema)
        wait_until(lambda: bool(newest_base(stream.store, schema) > 3))
        late = stream.store.add("late", "price >= 0")
        streams.write_events(stream, 1, 5)
        query.processAllAvailable()
    finally:
        query.stop()
    delivered = stream.delivered(spark)
    assert [row for row in delivered if row[1] == "late"] == [
        (1000 + number, "late", "late", late) for number in range(5)
    ]
    assert delivered == stream.wanted(spark)
    new = {each for each in threading.enumerate() if each.name == "tidegate-compile"} - before
    wait_until(lambda: not any(each.is_alive() for each in new))


def test_malformed_events_are_dead_letters_of_their_batch(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = streams.make(tmp_path, batches=1)
    streams.write_events(stream, 1, 3, broken=2)
    stream.run(spark)
    found = spark.read.parquet(str(tmp_path / "out")).where("kind = 'errors'").collect()
    assert [(row.batch, row.error, row.subscription) for row in found] == [
        (1, "corrupt record: no event", None)
    ] * 2
    assert stream.delivered(spark) == stream.wanted(spark)


@pytest.mark.parametrize("output", ["lists", "counts"])
def test_other_forms_come_out_as_well(spark: "SparkSession", tmp_path: Path, output: Any) -> None:
    stream = streams.make(tmp_path, batches=1)
    stream.run(spark, output=output, columns=["number"])
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    wanted: dict[int, list[str]] = {}
    for number, id, _, _ in stream.wanted(spark):
        wanted.setdefault(number, []).append(id)
    if output == "lists":
        assert {row.number: sorted(row.subscriptions) for row in rows} == wanted
    else:
        assert {row.number: row.matches for row in rows} == {k: len(v) for k, v in wanted.items()}


def found_by(matcher: Matcher) -> list[tuple[int, str]]:
    events = pa.table({"symbol": ["ALU", "CAP"] * 3, "price": [10.0 * k for k in range(6)]})
    return streams.found_by(matcher, events)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_a_base_with_its_tail_finds_what_a_base_of_that_version_does(
    tmp_path: Path, seed: int
) -> None:
    """Values that do not fit the events among them, which may be mended later."""
    choice = random.Random(seed)
    store = Store.create(tmp_path / "store")
    there: set[str] = set()
    old = Matcher(store.path, streams.write_base(store))
    for _ in range(40):
        id = f"s{choice.randrange(8)}"
        low = choice.choice([5.0, 15, "no number", True, 35.0, None])
        if id not in there:
            symbol = {"symbol": choice.choice(streams.SYMBOLS)}
            text, more = choice.choice(
                [("price > :low", {}), ("symbol = :symbol AND price > :low", symbol)]
            )
            store.add(id, text, parameters={"low": low, **more})
            there.add(id)
        elif choice.random() < 0.3:
            store.remove(id)
            there.remove(id)
        else:
            store.update(id, low=low)
        if choice.random() < 0.4:
            old.advance(store.version())
            if choice.random() < 0.2:
                store.compact()
            new = Matcher(store.path, streams.write_base(store))
            assert found_by(old) == found_by(new)
            if choice.random() < 0.3:
                old = new


def test_a_worker_notices_that_a_store_was_made_anew_in_the_same_place(tmp_path: Path) -> None:
    for text in ("price > 25", "symbol = 'CAP'"):
        store = Store.create(tmp_path / "store")
        store.add("a", text)
        base = streams.write_base(store)
        store.add("b", text)
        found = found_by(kept_matcher(store.path, base.name, 2))
        fresh = Matcher(store.path, streams.write_base(store))
        assert found == found_by(fresh) != []
        shutil.rmtree(store.path)


def replay_after_the_sink(spark: "SparkSession", stream: Stream) -> None:
    """A crash after the sink's commit and before Spark's; then all of it."""
    with pytest.raises(Exception, match="Crash"):
        stream.run(spark, Between(stream.sink, after=crash(1)))
    streams.add_some(stream.store, "meanwhile", 20)
    again = Between(stream.sink)
    stream.run(spark, again)
    assert again.taken[0] == 1, "Spark did not run the batch again"
    assert stream.delivered(spark) == stream.wanted(spark)


def replay_before_the_sink(spark: "SparkSession", stream: Stream) -> None:
    """A crash after the pin; the store changes, and is compacted; then all of it."""
    with pytest.raises(Exception, match="Crash"):
        stream.run(spark, Between(stream.sink, before=crash(1)))
    pinned = stream.versions()
    streams.add_some(stream.store, "meanwhile", 20)
    stream.store.remove("all")
    stream.store.compact()
    stream.run(spark)
    versions = {number // 1000: version for number, _, _, version in stream.delivered(spark)}
    assert {batch: versions[batch] for batch in pinned} == pinned
    assert stream.delivered(spark) == stream.wanted(spark)


def additions_while_it_runs(spark: "SparkSession", stream: Stream) -> None:
    """Additions that no base has."""
    store = stream.store
    stream.run(spark, Between(stream.sink, lambda batch: streams.add_some(store, f"x{batch}", 20)))
    assert stream.delivered(spark) == stream.wanted(spark)


Scenario = Callable[["SparkSession", Stream], None]
SCENARIOS: list[Scenario] = [
    replay_after_the_sink,
    replay_before_the_sink,
    additions_while_it_runs,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_nothing_is_lost_and_nothing_comes_twice(
    spark: "SparkSession", tmp_path: Path, scenario: Scenario
) -> None:
    scenario(spark, streams.make(tmp_path, batches=2))


def ignore_pins(patch: pytest.MonkeyPatch) -> None:
    real = pins.pin

    def newest(store: str, query: str, batch: int, version: int) -> int:
        real(store, query, batch, version)
        return version

    patch.setattr(pins, "pin", newest)


def append_always(patch: pytest.MonkeyPatch) -> None:
    def append(sink: ParquetFolder, rows: "DataFrame", query: str, batch: int) -> None:
        kind = "IF(error IS NULL, 'notifications', 'errors') AS kind"
        writer = rows.selectExpr("*", f"{batch} AS batch", kind).write
        writer.mode("append").partitionBy("batch", "kind").parquet(sink.path)

    patch.setattr(ParquetFolder, "commit", append)


def forget_additions(patch: pytest.MonkeyPatch) -> None:
    whole = InPlace

    def without(*arguments: Any) -> Callable[[Batches], Batches]:
        run = whole(*arguments)

        def in_the_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow.compute as pc

            from tidegate.pipeline.matching import matcher as worker
            from tidegate.pipeline.matching.tail import Tail

            apply = Tail.apply

            def without_additions(self: Any, changes: pa.Table, in_base: Any) -> None:
                apply(self, changes.filter(pc.not_equal(changes["change"], "add")), in_base)

            Tail.apply = without_additions  # type: ignore[assignment,method-assign]
            try:
                yield from run(batches)
            finally:
                Tail.apply = apply  # type: ignore[method-assign]
                worker._matchers.clear()

        return in_the_worker

    patch.setattr(match_module, "InPlace", without)


@pytest.mark.parametrize(
    ("mutant", "scenario"),
    [
        (ignore_pins, replay_before_the_sink),
        (append_always, replay_after_the_sink),
        (forget_additions, additions_while_it_runs),
    ],
)
def test_a_mutant_is_caught(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mutant: Callable[[pytest.MonkeyPatch], None],
    scenario: Scenario,
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        scenario(spark, streams.make(tmp_path, batches=2))


def test_a_stream_of_notifications_is_pinned_by_its_tasks(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = streams.make(tmp_path, batches=2)
    checkpoint, out = stream.checkpoint, tmp_path / "out"

    def run() -> list[streams.Row]:
        writer = match_module.match(stream.source(spark), stream.store).writeStream
        writer = writer.option("path", str(out)).option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()
        found = spark.read.parquet(str(out))
        return streams.in_rows(
            found.select("number", "subscription", "subscriber", "version").toArrow()
        )

    first = run()
    assert first == stream.wanted(spark)
    # as after a crash before the sink's commit, with the store changed meanwhile
    for folder in (checkpoint / "commits", out / "_spark_metadata"):
        (folder / "1").unlink()
        (folder / ".1.crc").unlink()
    stream.store.remove("all")
    streams.write_events(stream, 2, 5)
    second = run()
    assert second[: len(first)] == first
    assert stream.versions() == {0: 3, 1: 3, 2: 4}
    assert second == stream.wanted(spark)


def test_a_query_without_its_checkpoint_is_another_one(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = streams.make(tmp_path, batches=1)
    stream.run(spark)
    before = stream.delivered(spark)
    shutil.rmtree(stream.checkpoint)
    with pytest.raises(Exception, match="is of another query"):
        stream.run(spark)
    assert stream.delivered(spark) == before


def test_a_query_keeps_its_identity(tmp_path: Path) -> None:
    first = identity(f"file://{tmp_path}/a/b")
    assert identity(f"file://{tmp_path}/a/b") == first
    assert identity(f"file://{tmp_path}/c") != first
    (tmp_path / "c" / "tidegate-query").write_text("half of it")
    with pytest.raises(StoreError, match="c/tidegate-query is damaged"):
        identity(f"file://{tmp_path}/c")


def test_what_cannot_run_is_refused_at_the_start(spark: "SparkSession", tmp_path: Path) -> None:
    stream = streams.make(tmp_path)
    store, sink = tmp_path / "store", stream.sink

    def start(events: "DataFrame", **more: Any) -> None:
        settings: dict[str, Any] = {"store": store, "sink": sink, "checkpoint": tmp_path / "c"}
        match_stream(events, **{**settings, **more})

    events = stream.source(spark)
    with pytest.raises(TidegateError, match="takes a streaming DataFrame"):
        start(spark.range(3).toDF("number"))
    with pytest.raises(StoreError, match="there is no store at"):
        start(events, store=tmp_path / "nowhere")
    with pytest.raises(SchemaError, match="no column 'colour'"):
        start(events, columns=["colour"])
    with pytest.raises(TidegateError, match="pairs, lists, counts"):
        start(events, output="rows")
    with pytest.raises(SchemaError, match="a column 'kind' of its own"):
        start(events.withColumnRenamed("symbol", "kind"))
    with pytest.raises(TidegateError, match="buckets are by subscriber"):
        start(events, sink=ParquetFolder(tmp_path, buckets=3), output="counts")
    assert spark.streams.active == []
    assert not (tmp_path / "c").exists()


def test_a_hook_may_be_given_a_batch_twice_with_the_same_notifications(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = streams.make(tmp_path, batches=1)
    given: list[Any] = []

    def note(notifications: "DataFrame", batch: int) -> None:
        columns = ["number", "subscription", "subscriber", "version"]
        given.append((batch, streams.in_rows(notifications.select(*columns).toArrow())))
        if len(given) == 1:
            raise CrashError

    with pytest.raises(Exception, match="Crash"):
        stream.run(spark, Hook(note))
    stream.store.remove("all")
    stream.run(spark, Hook(note))
    assert given == [(0, stream.wanted(spark))] * 2


def test_a_store_with_a_schema_and_without_subscriptions_will_do(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = Stream(tmp_path)
    store = Store.create(
        tmp_path / "store", tg.Schema("number bigint, symbol string, price double")
    )
    stream.events.mkdir()
    for number in range(2):
        streams.write_events(stream, number, 5)
    stream.run(spark, Between(stream.sink, lambda batch: store.add(f"a{batch}", "price >= 0")))
    assert stream.delivered(spark) == stream.wanted(spark)
    assert {number // 1000 for number, _, _, _ in stream.delivered(spark)} == {1}

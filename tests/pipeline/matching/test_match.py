"""Notifications are what Spark SQL says of the same filters, in batches and in streams."""

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import tidegate as tg
from tests import generate
from tests.engine.test_quotes import QUOTES, made_up_quotes, read_quotes
from tests.filters.test_spark import ask, store
from tests.pipeline import streams
from tidegate.errors import SchemaError, TidegateError
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching.match import match
from tidegate.pipeline.matching.matcher import Matcher
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Pairs = set[tuple[int, str]]
WRITTEN = 64 if os.environ.get("TIDEGATE_LONG") == "1" else 4  # shards of a base made by this test


def pairs(notifications: "DataFrame") -> Pairs:
    rows = notifications.select("row", "subscription", "error").collect()
    assert all(row.error is None for row in rows)
    found = [(row.row, row.subscription) for row in rows]
    assert len(found) == len(set(found))
    return set(found)


def spark_says(table: "DataFrame", filters: dict[str, str]) -> Pairs:
    answers = ask(table, filters.values())
    return {
        (row, id)
        for id, text in filters.items()
        for row, passed in enumerate(answers[text])
        if passed
    }


class Language:
    """Events of every type, filters of every kind in a store, and Spark's answers."""

    def __init__(self, spark: "SparkSession", folder: Path, typed: bool) -> None:
        rng = Random(77)
        events = generate.events(rng, 60)
        self.events = store(spark, events, folder / "events.parquet")
        schema = tg.Schema(self.events.drop("row").schema)
        self.schema = schema if typed else tg.Schema(self.events.schema)
        leaves = [str(leaf) for leaf in generate.each_operator(rng, True)]
        texts = [*leaves, *map(str, generate.filters(rng, 300, True))]
        self.filters = {f"s{i}": text for i, text in enumerate(texts)}
        self.store = Store.create(folder / "store", schema if typed else None)
        table = pa.table({"id": list(self.filters), "filter": list(self.filters.values())})
        self.store.add_many(table)
        self.expected = spark_says(self.events, self.filters)


@pytest.fixture(scope="module", params=[True, False], ids=["schema", "events' schema"])
def language(
    request: pytest.FixtureRequest, spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory
) -> Language:
    return Language(spark, tmp_path_factory.mktemp("language"), request.param)


@pytest.mark.parametrize(
    ("language", "shards"),
    [(True, 1), (True, 2), (True, 16), (True, WRITTEN), (False, 1), (False, 16)],
    indirect=["language"],
)
def test_the_whole_language_is_matched_as_spark_does(language: Language, shards: int) -> None:
    if shards == WRITTEN:  # the others are compiled by Spark
        streams.write_base(language.store, schema=language.schema, shards=shards)
    found = match(language.events, language.store, columns=["row"], shards=shards)
    assert pairs(found) == language.expected
    events = catalog.fingerprint(Attributes(language.schema))
    base = catalog.newest(language.store.path, events, language.store.version(), shards)
    assert base is not None
    assert base.subscriptions == len(language.filters)
    assert (base.summary is None) == (shards == 1)


@pytest.mark.parametrize(
    ("language", "shards", "shuffle"),
    [(True, 1, False), (True, 16, True), (True, 16, False), (False, 1, False)],
    indirect=["language"],
)
def test_lists_and_counts_say_the_same(language: Language, shards: int, shuffle: bool) -> None:
    wanted: dict[int, list[str]] = {row: [] for row in range(60)}
    for row, id in sorted(language.expected):
        wanted[row].append(id)
    chosen: dict[str, Any] = {"columns": ["row"], "shards": shards, "shuffle": shuffle}
    lists = match(language.events, language.store, output="lists", **chosen).collect()
    assert {r.row: sorted(r.subscriptions) for r in lists} == wanted
    assert all(r.subscriptions == r.subscribers for r in lists)
    counts = match(language.events, language.store, output="counts", **chosen).collect()
    assert {r.row: r.matches for r in counts} == {r: len(w) for r, w in wanted.items()}
    assert len(lists) == len(counts) == 60


def test_a_stream_finds_the_same(language: Language, spark: "SparkSession", tmp_path: Path) -> None:
    language.events.repartition(3).write.parquet(str(tmp_path / "in"))
    events = spark.readStream.schema(language.events.schema).option("maxFilesPerTrigger", 1)
    found = match(events.parquet(str(tmp_path / "in")), language.store, columns=["row"])
    query = (
        found.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert pairs(spark.read.parquet(str(tmp_path / "out"))) == language.expected


def test_real_quotes_ring_for_whom_spark_says(spark: "SparkSession", tmp_path: Path) -> None:
    quotes = (read_quotes(QUOTES) if QUOTES.exists() else made_up_quotes()).slice(0, 3_000)
    rng = Random(5)
    symbols = sorted(set(quotes["symbol"].to_pylist()))
    forms = (
        "symbol = '{s}' AND close < {p}",
        "symbol = '{s}' AND close BETWEEN {p} AND {q} AND volume > {v}",
        "high > {p}D AND (volume < {v} OR symbol LIKE '{s[0]}%')",
        "NOT (low < {p} OR symbol IN ('{s}', 'IBM')) AND date >= DATE '2004-06-01'",
    )
    filters = {
        f"rule {i}": rng.choice(forms).format(
            s=rng.choice(symbols), p=round(rng.uniform(1, 60), 2), q=rng.randrange(20, 90),
            v=rng.randrange(10**6),
        )
        for i in range(400)
    }  # fmt: skip
    rows = quotes.append_column("row", pa.array(range(len(quotes))))
    table = spark.createDataFrame(rows)
    kept = Store.create(tmp_path / "store")
    kept.add_many(pa.table({"id": list(filters), "filter": list(filters.values())}))
    table.cache()
    assert pairs(match(table, kept, columns=["row"])) == spark_says(table, filters)


class Prices:
    """A few events, and a store that changes."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        cells = [(i, f"S{i % 5}", float(i)) for i in range(50)]
        self.events = spark.createDataFrame(cells, "row bigint, symbol string, price double")
        self.store = Store.create(folder / "store")

    def found(self, version: int | None = None) -> Pairs:
        return pairs(match(self.events, self.store, version=version))


@pytest.fixture
def prices(spark: "SparkSession", tmp_path: Path) -> Prices:
    return Prices(spark, tmp_path)


def test_every_version_is_matched_as_it_was(prices: Prices) -> None:
    """Changes of every kind after a base: of what it has, of what came later, back and forth."""
    store = prices.store
    store.add("low", "price < :p", parameters={"p": 3.0})
    store.add("one", "symbol = :s AND price > 40", parameters={"s": "S1"})
    prices.found()  # compiles a base
    store.update("low", p=2)
    store.add("high", "price >= :p", subscriber="harry", parameters={"p": 49.0})
    store.remove("one")
    store.update("high", p=48.0)
    store.add("one", "symbol = 'S2' AND price < 10")
    store.remove("low")
    store.add("low", "price < :p AND symbol <> 'S0'", parameters={"p": 3})
    store.update("low", p=2.5)
    store.remove("high")
    for version in range(store.version() + 1):
        filters = {row["id"]: _bound(row) for row in store.subscriptions(version).to_pylist()}
        assert prices.found(version) == spark_says(prices.events, filters)


def _bound(row: dict[str, Any]) -> str:
    text = str(row["filter"])
    for name, literal in row["parameters"]:
        text = text.replace(f":{name}", literal)
    return text


def test_subscribers_and_versions_are_told(prices: Prices) -> None:
    prices.store.add("a", "row = 7", subscriber="alice")
    (row,) = match(prices.events, prices.store).collect()
    assert (row.row, row.symbol, row.subscription, row.subscriber) == (7, "S2", "a", "alice")
    assert row.version == 1
    prices.store.add("b", "row = 8", subscriber="bob")
    rows = match(prices.events, prices.store, columns=["row"]).collect()
    assert {(r.row, r.subscriber, r.version) for r in rows} == {(7, "alice", 2), (8, "bob", 2)}


def test_subscriptions_may_be_a_data_frame(spark: "SparkSession", prices: Prices) -> None:
    rules = spark.createDataFrame(
        [("a", "price < :p", 2.0), ("b", "symbol = 'S4' AND price > 40", None)],
        "id string, filter string, p double",
    )
    found = pairs(match(prices.events, rules, columns=["row"]))
    assert found == {(0, "a"), (1, "a"), (44, "b"), (49, "b")}


def test_an_empty_store_and_no_events_give_nothing(prices: Prices) -> None:
    assert prices.found() == set()
    prices.store.add("all", "TRUE")
    assert pairs(match(prices.events.where("row < 0"), prices.store)) == set()


def test_filters_that_do_not_fit_the_events_match_nothing(prices: Prices) -> None:
    prices.store.add("typed", "price < 'cheap'")
    prices.store.add("other", "amount > 3 OR row = 1")
    prices.store.add("good", "row = 1")
    assert prices.found() == {(1, "good")}
    prices.store.add("later", "price < 'dear'")
    prices.store.add("fine", "row = 2")
    assert prices.found() == {(1, "good"), (2, "fine")}


def test_events_are_cast_to_the_schema_of_the_store(spark: "SparkSession", tmp_path: Path) -> None:
    schema = tg.Schema({"price": tg.Attribute("double", low=0.0), "day": "date"}, checked=True)
    store = Store.create(tmp_path / "store", schema)
    store.add("cheap", "price < 10 AND day >= DATE '2026-01-01'")
    events = spark.createDataFrame(
        [
            (0, "9.5", "2026-02-03", None),
            (1, "cheap", "2026-02-03", None),
            (2, "9.5", "yesterday", None),
            (3, "-1", "2026-02-03", None),
            (4, None, None, "{broken"),
            (5, None, None, None),
        ],
        "row int, price string, day string, _corrupt_record string",
    )
    for output in ("pairs", "lists", "counts"):
        rows = match(events, store, output=output, columns=["row"]).collect()
        said = {row.row: row.error for row in rows if row.error is not None}
        assert said == {
            1: "price: cheap is not of type double",
            2: "day: yesterday is not of type date",
            3: "price is outside of the schema's domain",
            4: "corrupt record: {broken",
        }
        others = [row for row in rows if row.error is None]
        assert {row.row for row in others} == ({0} if output == "pairs" else {0, 5})
    assert pairs(match(events.where("row in (0, 5)"), store, columns=["row"])) == {(0, "cheap")}


def test_what_cannot_be_is_refused(prices: Prices, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no column 'nothing'"):
        match(prices.events, prices.store, columns=["nothing"])
    with pytest.raises(TidegateError, match="one of pairs, lists, counts"):
        match(prices.events, prices.store, output="rows")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="'version' of their own"):
        match(prices.events.withColumnRenamed("price", "version"), prices.store)
    with pytest.raises(TidegateError, match="a store, its path or a DataFrame, not a int"):
        match(prices.events, 7)  # type: ignore[arg-type]
    with pytest.raises(TidegateError, match="nowhere"):
        match(prices.events, tmp_path / "nowhere")


def test_a_matcher_copies_no_names_out_of_the_file_that_is_mapped(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    streams.add_some(store, "some", 5_000)
    base = streams.write_base(store)
    before = pa.total_allocated_bytes()
    names = Matcher(store.path, base).part(0).names
    assert pa.total_allocated_bytes() - before < base.shards[0].names.size / 10
    ids, _ = names.of(np.arange(base.subscriptions))
    assert ids == store.subscriptions()["id"].combine_chunks()

"""Patterns on Spark: what lxml and Spark's own XPath say, whatever changes, dies or does harm."""

import os
import random
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lxml import etree

import tidegate as tg
from tests.documents.test_queries import documents, queries
from tests.pipeline import streams
from tests.pipeline.kinds import document_streams
from tests.pipeline.matching.test_faults import drive
from tests.pipeline.matching.test_stream import Between
from tidegate.errors import SchemaError
from tidegate.pipeline import Store, match
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.kinds.documents import Documents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LONG = os.environ.get("TIDEGATE_LONG") == "1"

Pairs = set[tuple[int, str]]


class News:
    """Documents and patterns of the field, and who wants what, by lxml."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        self.documents = documents(150 if LONG else 60)
        self.patterns = [
            *queries("queries-predicates.txt", 150),
            *queries("queries-500000.txt.gz", 150),
        ]
        rows = [(number, body) for number, body in enumerate(self.documents)]
        self.events = spark.createDataFrame(rows, "number int, body binary")
        self.store = Store.create(folder / "store", kind="xml")
        ids = [f"p{number}" for number in range(len(self.patterns))]
        self.store.add_many(pa.table({"id": ids, "filter": self.patterns}))
        trees = [etree.fromstring(body) for body in self.documents]
        asked = [etree.XPath(f"boolean({text})") for text in self.patterns]
        self.wanted: Pairs = {
            (number, f"p{n}")
            for n, ask in enumerate(asked)
            for number, tree in enumerate(trees)
            if ask(tree)
        }


@pytest.fixture(scope="module")
def news(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> News:
    return News(spark, tmp_path_factory.mktemp("news"))


def pairs(found: "DataFrame") -> Pairs:
    table = found.select("number", "subscription").toArrow()
    rows = list(zip(*table.to_pydict().values(), strict=True))
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.mark.parametrize("shards", [1, 2, 16])
def test_notifications_are_what_lxml_says(news: News, shards: int) -> None:
    assert 0.01 < len(news.wanted) / len(news.patterns) / len(news.documents) < 0.99
    if shards == 16:  # the others are compiled by Spark
        streams.write_base(news.store, shards=shards, kind=Documents())
    found = match(news.events, news.store, document="body", shards=shards)
    assert found.columns == ["number", "subscription", "subscriber", "version", "error"]
    assert pairs(found) == news.wanted
    base = catalog.newest(news.store.path, catalog.fingerprint(Documents()), 1, shards)
    assert base is not None
    assert (base.kind, len(base.shards), base.refused) == ("xml", shards, 0)
    if shards == 2:
        counts = match(news.events, news.store, document="body", shards=shards, output="counts")
        assert sum(row.matches for row in counts.collect()) == len(news.wanted)


def test_notifications_are_what_spark_says_of_a_sample(news: News) -> None:
    some = random.Random(3).sample(range(len(news.patterns)), 30)
    texts = {f"p{n}": news.patterns[n].replace("\\", "\\\\") for n in some}
    assert not any('"' in text for text in texts.values())
    asked = [f'xpath_boolean(body, "{text}") AS {id}' for id, text in texts.items()]
    plain = news.events.limit(20).selectExpr("number", "CAST(body AS STRING) AS body")
    said = plain.selectExpr("number", *asked).collect()
    assert len(said) == 20
    wanted = {(row.number, id) for row in said for id in texts if row[id]}
    assert wanted == {
        (n, id) for n, id in news.wanted if id in texts and n in {r.number for r in said}
    }
    assert wanted


def test_a_stream_follows_changes_of_patterns(spark: "SparkSession", tmp_path: Path) -> None:
    stream = document_streams.make(tmp_path, batches=4)
    store = stream.store

    def change(batch: int) -> None:
        match batch:
            case 0:
                stream.add_some("second", 20)
                store.update("first-3", value="1")
            case 1:
                store.remove_many([f"first-{n}" for n in range(0, 30, 3)])
                streams.write_base(store, shards=2, kind=document_streams.KIND)
            case 2:
                store.add("first-0", "//*[@m = $value]", parameters={"value": 2})
                store.update("second-1", value="x")

    stream.run(spark, Between(stream.sink, after=change), shards=2)
    assert stream.versions() == {0: 2, 1: 4, 2: 5, 3: 7}
    delivered = stream.delivered(spark)
    assert delivered == stream.wanted(spark)
    errors = spark.read.parquet(f"{tmp_path}/out").where("kind = 'errors'").collect()
    assert sorted(row.number for row in errors) == [
        1000 * batch + number for batch in range(4) for number in (0, 10, 20)
    ]
    assert all(row.error.startswith("body: ") for row in errors)
    # at a version that was, as a batch
    events = spark.read.schema(document_streams.EVENTS).json(str(stream.events / "0003.json"))
    then = match(events, store, document="body", version=4, shards=2).where("error IS NULL")
    columns = then.select("number", "subscription", "subscriber", "version").toArrow()
    assert {row[1] for row in streams.in_rows(columns)} != {
        row[1] for row in delivered if row[0] >= 3000
    }
    assert "first-3" in {row[1] for row in streams.in_rows(columns)}


def test_a_driver_and_a_worker_that_are_killed_lose_nothing_and_deliver_nothing_twice(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = document_streams.make(tmp_path, batches=3)
    assert drive(tmp_path, DIE="written:1", KILL_WORKER="0") == -signal.SIGKILL
    assert (tmp_path / "worker-was-killed").exists()
    assert stream.sink.batches() == [0]
    assert stream.versions() == {0: 2, 1: 3}
    stream.store.remove("all")
    stream.run(spark)
    assert stream.versions() == {0: 2, 1: 3, 2: 5}
    delivered = stream.delivered(spark)
    assert delivered == stream.wanted(spark)
    assert {row[0] // 1000 for row in delivered if row[1] == "all"} == {0, 1}


HOSTILE: dict[str, bytes] = {
    "an internal subset": b"<!DOCTYPE a [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]><a>&b;</a>",
    "undefined entity": b"<!DOCTYPE a SYSTEM 'http://127.0.0.1:9/a.dtd'><a>&x;</a>",
    "256 elements are in each other": b"<a>" * 100_000,
    "more than 4,096 attributes": b"<a " + b" ".join(b"k%d=''" % n for n in range(50_000)) + b"/>",
    "16,777,216 are allowed": b"<a>" + b"x" * (17 << 20) + b"</a>",
    "not well-formed": b"<a>\x00</a>",
    "well-formed (invalid token)": b"<a>\xff\xfe</a>",
    "encoding": b"<?xml version='1.0' encoding='latin-17'?><a/>",
    "no element found": b"<a><b>",
    "unbound prefix": b"<p:a/>",
}


def test_documents_that_are_meant_to_do_harm_are_dead_letters(
    spark: "SparkSession", tmp_path: Path
) -> None:
    store = Store.create(tmp_path / "store", kind="xml")
    store.add("all", "/")
    store.add("text", "//a[contains(., 'good')]")
    rows: list[tuple[str, bytes | None]] = [*HOSTILE.items(), ("no document", None)]
    rows += [("good", "<?xml version='1.0' encoding='utf-16'?><a>good</a>".encode("utf-16"))]
    events = spark.createDataFrame(rows, "name string, body binary")
    found = match(events, store, document="body", columns=["name"], output="lists").collect()
    assert len(found) == len(rows)
    for row in found:
        if row["name"] == "good":
            assert (sorted(row.subscriptions), row.error) == (["all", "text"], None)
        else:
            assert row.subscriptions is None
            assert row["name"] in row.error, row


def test_documents_and_attributes_are_not_mixed_up(spark: "SparkSession", tmp_path: Path) -> None:
    patterns = Store.create(tmp_path / "patterns", kind="xml")
    attributes = Store.create(tmp_path / "attributes")
    events = spark.createDataFrame([(1, "<a/>")], "number int, body string")
    wrong: list[tuple[Store, dict[str, Any], type[Exception], str]] = [
        (patterns, {}, tg.TidegateError, "has patterns for documents: say document="),
        (attributes, {"document": "body"}, tg.TidegateError, "leave document= out"),
        (patterns, {"document": "Body"}, SchemaError, "no column 'Body'; there is 'body'"),
        (patterns, {"document": "number"}, SchemaError, "number is of type int"),
    ]
    for store, arguments, kind, reason in wrong:
        with pytest.raises(kind, match=reason):
            match(events, store, **arguments)
    patterns.add("a", "//a")
    row = match(events, patterns, document="body", columns=["body"]).collect()[0]
    assert (row.body, row.subscription) == ("<a/>", "a")
    frame = spark.createDataFrame(
        [("x", "//a[. < $n]", 5), ("y", "/a[. < $n]", 5)], "id string, filter string, n int"
    )
    assert match(events, frame, document="body").count() == 0

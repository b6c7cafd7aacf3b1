"""A store is found to be what was planted in it, and what comparing all pairs says."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests.pipeline.analysis.redundancy_oracle import all_pairs
from tidegate.filters.literals import spell
from tidegate.lab.workloads import mixed
from tidegate.lab.workloads.redundant import SCHEMA, redundant
from tidegate.pipeline import Store
from tidegate.pipeline.analysis import popularity
from tidegate.pipeline.analysis.cells import Cells
from tidegate.pipeline.analysis.findings import Analysis, Kind
from tidegate.pipeline.analysis.jobs import analyse
from tidegate.pipeline.analysis.page import page
from tidegate.pipeline.analysis.redundancy import examine
from tidegate.pipeline.progress.steps import Step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = "<script>alert('x')</script>"
HOSTILE = {
    SCRIPT: "x > 1",
    "日本語 😀": "x > 5",
    "a\u202eb": "x > 1 AND s LIKE '%</td>%'",
    "long": "x IN (" + ", ".join(map(str, range(5_000))) + ")",
    "forms": " OR ".join(f"(x = {i} AND y = {j})" for i in range(20) for j in range(20)),
    "nan": "y = CAST('NaN' AS DOUBLE)",
    "or": "y < 3D OR y > 9D OR y IS NULL",
    "below": "y < 3D",
    "above": "y > 9D AND s = 'b'",
    "left": "z BETWEEN 1 AND 6 AND w BETWEEN 1 AND 9",
    "right": "z BETWEEN 4 AND 9 AND w BETWEEN 2 AND 8",
    "both": "z BETWEEN 2 AND 8 AND w BETWEEN 3 AND 7",
    "no": "x < 1 AND x > 2",
    "all": "x IS NULL OR x IS NOT NULL",
    "path": "trade.price > 3",
    "deeper": "trade.price > 4 AND trade.venue = 'X'",
    # one union of boxes in two ways
    "this": "(u < 5 AND v < 5) OR (u < 5 AND v >= 5 AND v < 9) OR (u < 9 AND v < 2)",
    "that": "(u < 5 AND v < 9) OR (u < 9 AND v < 2)",
    # values of several families, of which some have no bigint
    "mixed": "m = 'b' OR m = 0.5",
    "wider": "m = 'b' OR m BETWEEN 0.5 AND 0.7",
    "number": "m = 0.5",
    "text": "m = 'b' AND s = 'x'",
    "not a number": "m = CAST('NaN' AS DOUBLE) OR m = DATE '2024-02-29' OR m IS NULL",
}


def counts(found: Analysis) -> dict[str, int]:
    kinds = ("duplicate", "covered", "subsumed", "mergeable", "never", "always")
    return {kind: getattr(found, kind).subscriptions for kind in kinds}


def filled(path: Path, table: pa.Table, schema: tg.Schema | None) -> Store:
    store = Store.create(path, schema)
    store.add_many(table)
    return store


@pytest.fixture(scope="module")
def planted(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """What is found in 2,000 rules, some of which are redundant, and with events."""
    rules = redundant(2_000, seed=3)
    store = filled(tmp_path_factory.mktemp("planted") / "store", rules.table, SCHEMA)
    events = spark.createDataFrame(EVENTS, "symbol string, price double, volume bigint")
    return analyse(spark, store, events=events, cell=300)


EVENTS = [(f"S{i % 7:04}", float(i % 50), i * 10) for i in range(400)]


def test_all_that_was_planted_is_found_and_nothing_else(planted: Analysis) -> None:
    expected = redundant(2_000, seed=3).planted()
    del expected["alone"]
    assert planted.cells > 3
    assert counts(planted) == expected
    assert planted.subscriptions == 2_000
    assert planted.refused == Kind()
    assert planted.subsumed.undecided == 0


def test_matches_are_counted(planted: Analysis) -> None:
    rules = redundant(2_000, seed=3)
    index = tg.Index(SCHEMA)
    for row in rules.table.to_pylist():
        f = tg.parse(row["filter"], SCHEMA)
        index.add(row["id"], f, **{name: row[name] for name in f.parameters})
    events = [dict(zip(("symbol", "price", "volume"), event, strict=True)) for event in EVENTS]
    matched = [id for event in events for id in index.match(event)]
    cost, unmatched, almost = planted.cost, planted.unmatched, planted.almost
    assert cost is not None
    assert unmatched is not None
    assert almost is not None
    assert cost.events == 400
    assert cost.matches == pytest.approx(len(matched) / 400)
    never = rules.planted()["never"]
    assert unmatched.subscriptions == 2_000 - never - len(set(matched))
    assert almost.subscriptions == 3
    assert sum(each.count for each in cost.shares) == 2_000 - never
    assert cost.dearest[0].id in matched


def test_matches_are_the_same_in_any_number_of_shards_and_bases_are_used_again(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = spark.createDataFrame(EVENTS, "symbol string, price double, volume bigint")
    counts = []
    for size in (100_000, 150):
        monkeypatch.setattr(popularity, "_SUBSCRIPTIONS_OF_A_SHARD", size)
        store = filled(tmp_path / str(size), redundant(400, seed=3).table, SCHEMA)
        found = popularity.popularity(spark, store, 1, events, SCHEMA)
        assert found.events == len(EVENTS)
        counts.append({row["id"]: row["matches"] for row in found.matches.collect()})
    assert counts[0] == counts[1] != {}
    bases = sorted((tmp_path / "150" / "bases").iterdir())
    assert sum(path.name.startswith("index-") for path in bases) == 3
    popularity.popularity(spark, store, 1, events.limit(1), SCHEMA)
    assert sorted((tmp_path / "150" / "bases").iterdir()) == bases


def test_examples_say_who_covers_whom(planted: Analysis) -> None:
    for kind, examples in (("covered", planted.covered), ("subsumed", planted.subsumed)):
        assert examples.examples
        for example in examples.examples:
            others = [tg.parse(other.filter, SCHEMA) for other in example.others]
            assert len(others) == (1 if kind == "covered" else 2)
            assert tg.subsumed(tg.parse(example.filter, SCHEMA), others)
    for example in planted.mergeable.examples:
        merger = tg.parse(example.filter, SCHEMA)
        members = [tg.parse(other.filter, SCHEMA) for other in example.others]
        assert len(members) > 1
        assert all(tg.covers(merger, member) for member in members)
    for example in planted.duplicate.examples:
        same = {tg.parse(text, SCHEMA) for text in (example.filter, example.others[0].filter)}
        assert len(same) == 1


def test_a_hostile_store_is_what_all_pairs_say(spark: "SparkSession", tmp_path: Path) -> None:
    table = pa.table({"id": list(HOSTILE), "filter": list(HOSTILE.values())})
    store = filled(tmp_path / "store", table, None)
    store.add("again", "x > :n", parameters={"n": 1})
    found = analyse(spark, store, cell=3)
    compared = sorted(set(HOSTILE) - {"no", "all", "forms"})
    truths = all_pairs(compared, [tg.parse(HOSTILE[name]) for name in compared])
    assert found.covered.subscriptions == sum(bool(each.coverers) for each in truths)
    assert found.subsumed.subscriptions == sum(each.subsumed for each in truths)
    assert found.subsumed.examples[0].id == "both"
    assert found.duplicate.subscriptions == 2  # again, and this or that
    assert (found.never.subscriptions, found.always.subscriptions, found.long) == (1, 1, 1)
    assert found.cost is None
    assert found.plain() == json.loads(json.dumps(found.plain()), object_hook=tupled)
    text = page(found)
    assert "<script" not in text.lower()
    assert "&lt;script&gt;" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def tupled(plain: dict[str, Any]) -> dict[str, Any]:
    """Lists as the tuples that they were."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in plain.items()}


def test_an_empty_store_has_nothing_in_it(spark: "SparkSession", tmp_path: Path) -> None:
    found = analyse(spark, Store.create(tmp_path / "store"))
    assert (found.subscriptions, found.filters, found.spare) == (0, 0, 0)
    assert "0 subscriptions" in page(found)


def test_parameters_and_literals_make_no_difference() -> None:
    given, written = redundant(300, seed=5), redundant(300, seed=5, literal=True)
    for one, other in zip(given.table.to_pylist(), written.table.to_pylist(), strict=True):
        f = tg.parse(one["filter"], SCHEMA)
        bound = f.bind(**{name: one[name] for name in f.parameters})
        assert bound == tg.parse(other["filter"], SCHEMA)
        assert all(spell(one[name]) for name in f.parameters)


def test_the_rules_of_many_people_are_what_comparing_them_says(
    spark: "SparkSession", tmp_path: Path
) -> None:
    [table] = mixed.rules(400, seed=1)
    store = filled(tmp_path / "store", table, mixed.SCHEMA)
    mixed.write_events(tmp_path, 50, seed=2)
    events = spark.read.parquet(str(tmp_path / "*.parquet"))
    steps: list[Step] = []
    found = analyse(spark, store, events=events, tell=steps.append)
    filters: dict[tg.Filter, str] = {}
    for row in table.to_pylist():
        f = tg.parse(row["filter"], mixed.SCHEMA)
        filters.setdefault(f.bind(**{name: row[name] for name in f.parameters}), row["id"])
    ids = list(filters.values())
    truth = examine(ids, list(filters), Cells(mixed.SCHEMA), 0).findings
    assert found.filters == len(filters)
    assert found.covered.filters == sum(each.coverer is not None for each in truth) > 50
    assert found.subsumed.filters == sum(
        each.coverer is None and bool(each.subsumed) for each in truth
    )
    assert found.uncompared == 0
    assert found.cost is not None
    assert found.cost.events == 50
    assert [step.number for step in steps] == list(range(1, 9))
    assert {step.of for step in steps} == {8}
    assert [step.name for step in steps] == list(found.seconds)

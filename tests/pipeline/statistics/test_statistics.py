"""Statistics, gathered on Spark and kept beside the subscriptions."""

import io
import json
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from tests.pipeline.statistics.test_value_counts import counted
from tidegate import Attribute, Schema, parse
from tidegate.algebra.distribution import probability
from tidegate.algebra.selectivity import estimate
from tidegate.cli import app
from tidegate.commands import statistics as statistics_command
from tidegate.errors import MeasureError, StoreError, TidegateError
from tidegate.pipeline import Statistics, Store, gather, latest
from tidegate.pipeline.statistics import statistics as module
from tidegate.pipeline.statistics.used_predicates import most_used

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = "symbol STRING, price DOUBLE, volume BIGINT"
SCHEMA = Schema(TYPES)
TRADES = [(f"S{i % 7}", float(i % 11), None if i % 5 == 0 else i) for i in range(200)]
RULES = [("a", "symbol = 'S1' AND price < :p", 4.0), ("b", "symbol = 'S1'", None),
         ("c", "price < :p", 4.0), ("d", "volume > 100 OR symbol LIKE '%2'", None)]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.create(tmp_path / "store", SCHEMA)
    for id, filter, price in RULES:
        made.add(id, filter, parameters=None if price is None else {"p": price})
    return made


def as_events(rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(SCHEMA, row, strict=True)) for row in rows]


def share(filter: str) -> float:
    f = parse(filter, SCHEMA)
    return sum(map(f.matches, as_events(TRADES))) / len(TRADES)


def listed(statistics: Statistics, name: str) -> Counter[Any]:
    own = statistics.attributes[name]
    assert all(line.error == 0 for line in own.lines.values())
    return Counter({None: own.absent}) + Counter(
        {key: count for line in own.lines.values()
         for key, count in line.counts.items()}
    )  # fmt: skip


def test_events_are_counted_and_added_to_what_was_counted(
    store: Store, spark: "SparkSession"
) -> None:
    assert latest(store) is None
    first = gather(spark.createDataFrame(TRADES[:60], TYPES), store.path, seed=1)
    both = gather(spark.createDataFrame(TRADES[60:], TYPES), store, seed=2)
    assert (first.number, first.events) == (1, 60)
    assert (both.number, both.events, both.malformed) == (2, 200, 0)
    assert both.version == store.version()
    again = latest(store)
    assert again is not None
    assert (again.number, again.moment) == (both.number, both.moment)
    for found in (both, again):
        assert listed(found, "symbol") == Counter(row[0] for row in TRADES)
        assert listed(found, "volume") == Counter(row[2] for row in TRADES)
        assert sorted(map(str, found.sample.to_pylist())) == sorted(map(str, as_events(TRADES)))
        for text in ("symbol = 'S1'", "price < 4.0D", "volume > 100", "symbol LIKE '%2'"):
            tree = parse(text, SCHEMA).tree
            assert found.counts.predicates[str(tree)] == (round(share(text) * 200), 200)
            assert found.selectivity(tree) == share(text)  # type: ignore[arg-type]
        assert probability(parse("volume IS NULL", SCHEMA), found) == 0.2
        uncounted = parse("price >= 9 AND symbol < 'S3'", SCHEMA)
        assert estimate(uncounted, found.selectivity).maximum == share("price >= 9")


def test_malformed_events_are_counted_apart(tmp_path: Path, spark: "SparkSession") -> None:
    schema = Schema({"n": Attribute("bigint", low=0), "s": "string"}, checked=True)
    store = Store.create(tmp_path / "store", schema)
    rows = [("1", "a", None), ("x", "b", None), ("-5", "c", None), ("2", "d", "broken")]
    frame = spark.createDataFrame(rows, "n STRING, s STRING, _corrupt_record STRING")
    found = gather(frame, store)
    assert (found.events, found.malformed) == (1, 3)
    assert set(found.attributes) == {"n", "s"}
    assert found.attributes["n"].lines["bigint", 0].counts == {1: 1}


def test_structs_arrays_and_odd_names_without_a_schema(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    store = Store.create(tmp_path / "store")
    store.add("x", "trade.price > 5 AND `odd.name` = 'a'")
    store.add("y", "nothing = 3")  # does not fit the events
    row = "named_struct('price', CAST(id AS DOUBLE), 'tag', 'x') AS trade"
    frame = spark.range(10).selectExpr(row, "'a' AS `odd.name`", "array(1) AS list", "id")
    found = gather(frame, store)
    assert found.schema is None
    assert set(found.attributes) == {"trade", "trade.price", "trade.tag", "`odd.name`", "id"}
    assert found.attributes["trade"].other == 10
    assert found.selectivity(parse("trade.price > 5").tree) == 0.4  # type: ignore[arg-type]
    typed = found.under(Schema(frame.schema))
    assert probability(parse("trade.price > 5", typed.schema), typed) == 0.4
    assert found.sample.column_names == ["trade", "odd.name", "id"]
    with pytest.raises(MeasureError, match="how many events meet other = 1"):
        found.selectivity(parse("other = 1").tree)  # type: ignore[arg-type]


def test_no_events_and_a_stream(store: Store, spark: "SparkSession", tmp_path: Path) -> None:
    empty = gather(spark.createDataFrame([], TYPES), store)
    assert (empty.events, len(empty.sample)) == (0, 0)
    assert empty.probability("price", parse("price > 1", SCHEMA).form) is None  # type: ignore[arg-type]
    stream = spark.readStream.schema(TYPES).parquet(str(tmp_path))
    with pytest.raises(TidegateError, match="not from a stream"):
        gather(stream, store)


def add(store: Store, rows: list[tuple[Any, ...]], seed: int, anew: bool = False) -> Statistics:
    """What `gather` does once events are counted."""
    arrow = pa.schema([("symbol", pa.string()), ("price", pa.float64()), ("volume", pa.int64())])
    counts = counted(as_events(rows), schema=SCHEMA, arrow=arrow, seed=seed)
    return module._add(store, store.version(), counts, anew)


@pytest.mark.parametrize("remote", [False, True])
def test_nothing_is_lost_if_many_gather_at_a_time(
    store: Store, remote: bool, request: pytest.FixtureRequest
) -> None:
    if remote:
        store = Store.create(request.getfixturevalue("address"), SCHEMA)
    parts = [TRADES[i::8] for i in range(8)]
    threads = [threading.Thread(target=add, args=(store, p, i)) for i, p in enumerate(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = latest(store)
    assert found is not None
    assert (found.number, found.events) == (8, 200)
    assert listed(found, "volume") == Counter(row[2] for row in TRADES)
    kept = module._numbers(module._kept(store))
    assert kept == [6, 7, 8]


def test_statistics_may_begin_anew(store: Store) -> None:
    add(store, TRADES[:3], 0)
    assert add(store, TRADES[:5], 1).events == 8
    begun = add(store, TRADES[:2], 2, anew=True)
    assert (begun.number, begun.events) == (3, 2)


def test_damaged_statistics_are_refused_by_name(store: Store) -> None:
    add(store, TRADES[:3], 0)
    [path] = Path(store.path, "statistics").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    said = rf"statistics {path} are damaged: its checksum"
    with pytest.raises(StoreError, match=said):
        latest(store)
    with pytest.raises(StoreError, match=said):
        add(store, TRADES, 1)


def test_the_most_used_predicates_are_found_with_their_parameters(store: Store) -> None:
    found = most_used(store.subscriptions(), SCHEMA, 2)
    assert {str(each) for each in found} == {"symbol = 'S1'", "price < 4.0D"}
    every = most_used(store.subscriptions(), SCHEMA, 100)
    assert {str(each) for each in every[2:]} == {"volume > 100", "symbol LIKE '%2'"}


def statistics(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["statistics", *map(str, arguments)])


def test_the_command_counts_and_shows(store: Store, spark: "SparkSession", tmp_path: Path) -> None:
    events = tmp_path / "events.parquet"
    pq.write_table(pa.Table.from_pylist(as_events(TRADES)), events)
    said = statistics(store.path, "--events", events)
    assert said.exit_code == 0, said.output
    assert "kept as number 1 for version 4 of the store" in said.output
    shown = statistics(store.path)
    assert shown.exit_code == 0
    assert "200 events, the last counted on" in shown.output
    lines = {line.split()[0]: line for line in shown.output.splitlines()}
    assert "S0 14%, S1 14%" in lines["symbol"]
    assert "20%" in lines["volume"]
    assert lines["price"].split()[-2:] == ["0.0", "10.0"]
    assert "4 predicates counted, 200 events in the sample" in shown.output


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--events", "nowhere.csv"], "there are no events at nowhere.csv"),
        (["--anew"], "--anew is for events to count"),
        ([], "has no statistics yet: count events with --events"),
    ],
)
def test_the_command_says_what_is_wrong(store: Store, arguments: list[str], error: str) -> None:
    said = statistics(store.path, *arguments)
    assert said.exit_code == 2
    assert error in said.stderr


def test_the_command_needs_a_store(tmp_path: Path) -> None:
    said = statistics(tmp_path / "none")
    assert said.exit_code == 2
    assert "error:" in said.stderr


@pytest.fixture
def wide(tmp_path: Path, spark: "SparkSession") -> Store:
    """A store with statistics of attributes that have long names and values."""
    made = Store.create(tmp_path / "wide")
    made.add("a", "v = 1")
    rows = [(f"a text that is long {i}", i, float("nan")) for i in range(3)]
    types = "an_attribute_with_a_rather_long_name STRING, v BIGINT, strange DOUBLE"
    gather(spark.createDataFrame(rows, types), made)
    return made


@pytest.mark.parametrize("width", [60, 80, 120, 300])
def test_nothing_is_cut_off_whatever_the_width(
    wide: Store, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    console = Console(file=written, width=width, soft_wrap=True, highlight=False)
    monkeypatch.setattr(statistics_command, "out", console)
    found = latest(wide)
    assert found is not None
    statistics_command._show(found)
    shown = written.getvalue()
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert all(len(line) <= width for line in shown.splitlines())
    said = " ".join(shown.split())
    for text in ("an_attribute_with_a_rather_long_name", "bigint", "33%", "a text that is long 2"):
        assert text in said


def test_statistics_are_json_for_programs(wide: Store) -> None:
    said = statistics(wide.path, "--json")
    found = json.loads(said.stdout)
    assert (found["events"], found["malformed"], found["number"], found["sample"]) == (3, 0, 1, 3)
    assert found["attributes"]["v"] == {
        "absent": 0,
        "other": 0,
        "types": [
            {
                "type": "bigint",
                "events": 3,
                "values": 3,
                "exact": True,
                "error": 0,
                "from": 0,
                "to": 2,
                "heaviest": [{"value": i, "events": 1} for i in range(3)],
            }
        ],
    }
    [strange] = found["attributes"]["strange"]["types"]
    assert strange["from"] == "nan"
    assert found["predicates"] == [{"predicate": "v = 1", "met": 1, "tried": 3}]

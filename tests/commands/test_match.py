"""`tidegate match`, used as a person uses it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from tidegate.cli import app
from tidegate.pipeline import Store

RULES = """\
id,filter,subscriber,limit,symbol
alice,price < :limit,,10.5,
bob,symbol = :symbol AND price < :limit,robert,7,'IBM'
carol,venue = 'X',,,
"""
BAD = "dave,price <,,,\nerin,prize < 3,,,\n"
TRADES = "symbol,price,venue\nIBM,5.0,X\nSAP,8.0,Y\nIBM,oops,X\nSAP,99.0,Y\n"
SCHEMA = "price DOUBLE, venue STRING, symbol STRING"  # in another order than the file
PAIRS = [("IBM", "alice"), ("IBM", "bob"), ("IBM", "carol"), ("SAP", "alice")]


def match(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["match", *map(str, arguments)])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rules, trades and their schema, in which the command is run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.csv").write_text(RULES)
    (tmp_path / "trades.csv").write_text(TRADES)
    (tmp_path / "schema").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def store(here: Path) -> Store:
    made = Store.create(here / "store")
    made.add("alice", "price < :limit", parameters={"limit": 10.5})
    made.add("bob", "symbol = 'IBM'", subscriber="robert")
    return made


def rows(folder: Path) -> list[dict[str, Any]]:
    """All rows of all files, those of a stream included."""
    files = [path for path in folder.rglob("*.parquet") if "_checkpoint" not in path.parts]
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def pairs(found: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((row["symbol"], row["subscription"]) for row in found if row["error"] is None)


def events(path: Path, *trades: tuple[str, float]) -> None:
    """A file of trades, Parquet or JSON lines."""
    path.parent.mkdir(exist_ok=True)
    listed = [{"symbol": symbol, "price": price} for symbol, price in trades]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(listed), path)
    else:
        path.write_text("".join(json.dumps(each) + "\n" for each in listed))


@pytest.mark.usefixtures("spark")
def test_files_of_rules_and_trades_become_notifications(here: Path) -> None:
    said = match(
        *("--subscriptions", "rules.csv", "--events", "trades.csv"),
        *("--schema", "schema", "--out", "alerts"),
    )
    assert said.exit_code == 0, said.output
    found = rows(here / "alerts")
    assert pairs(found) == PAIRS
    assert {row["subscriber"] for row in found if row["subscription"] == "bob"} == {"robert"}
    [wrong] = [row["error"] for row in found if row["error"] is not None]
    assert "oops" in wrong
    assert "matched 4 events" in said.output
    assert "4 notifications, all of version 1" in said.output
    assert "1 malformed events" in said.output


@pytest.mark.usefixtures("spark")
def test_rules_that_are_refused_are_shown_and_the_others_matched(here: Path) -> None:
    (here / "rules.csv").write_text(RULES + BAD)
    asked = ("--subscriptions", "rules.csv", "--events", "trades.csv", "--schema", "schema")
    said = match(*asked, "--out", "alerts", "--strict")
    assert said.exit_code == 1
    assert "rules.csv:5" in said.output
    assert "rules.csv:6" in said.output
    assert "the schema has no attribute prize" in said.output
    assert "took 0 of 5 subscriptions" in said.output
    assert not (here / "alerts").exists()
    said = match(*asked, "--out", "alerts")
    assert said.exit_code == 1
    assert "took 3 of 5 subscriptions" in said.output
    assert pairs(rows(here / "alerts")) == PAIRS


@pytest.mark.usefixtures("spark", "store")
def test_lists_of_those_who_want_an_event(here: Path) -> None:
    events(here / "day" / "a.parquet", ("IBM", 5.0), ("SAP", 99.0))
    events(here / "day" / "b.parquet", ("IBM", 50.0))
    asked = ("--subscriptions", "store", "--events", "day/*.parquet", "--out", "out")
    said = match(*asked, "--output", "lists", "--columns", "price")
    assert said.exit_code == 0, said.output
    assert "matched 3 events" in said.output
    assert "3 notifications, all of version 2" in said.output
    found = {row["price"]: sorted(row["subscriptions"]) for row in rows(here / "out")}
    assert found == {5.0: ["alice", "bob"], 99.0: [], 50.0: ["bob"]}


@pytest.mark.usefixtures("spark", "store")
def test_counts_of_those_who_want_an_event(here: Path) -> None:
    events(here / "day" / "a.jsonl", ("IBM", 5.0), ("SAP", 99.0), ("IBM", 50.0))
    asked = ("--subscriptions", "store", "--events", "day", "--out", "out")
    said = match(*asked, "--output", "counts", "--columns", "price")
    assert said.exit_code == 0, said.output
    assert "3 notifications, all of version 2" in said.output
    found = rows(here / "out")
    assert {row["price"]: row["matches"] for row in found} == {5.0: 2, 99.0: 0, 50.0: 1}
    assert set(found[0]) == {"price", "matches", "version", "error"}


@pytest.mark.usefixtures("spark")
def test_a_stream_goes_on_where_it_was_and_follows_the_store(here: Path, store: Store) -> None:
    events(here / "in" / "a.parquet", ("IBM", 5.0))
    asked = ("--subscriptions", "store", "--events", "in", "--out", "out", "--stream", "--once")
    said = match(*asked)
    assert said.exit_code == 0, said.output
    assert "matched 1 events in 1 micro-batch in" in said.output
    assert "2 notifications, all of version 2" in said.output
    store.update("alice", limit=1.0)
    events(here / "in" / "b.parquet", ("IBM", 6.0), ("SAP", 7.0))
    said = match(*asked)
    assert said.exit_code == 0, said.output
    assert "matched 2 events in 1 micro-batch in" in said.output
    assert "1 notifications, all of version 3" in said.output
    assert sorted((row["price"], row["subscription"]) for row in rows(here / "out")) == [
        (5.0, "alice"),
        (5.0, "bob"),
        (6.0, "bob"),
    ]


@pytest.mark.usefixtures("spark")
def test_a_stream_keeps_the_rules_of_a_file_until_the_file_changes(here: Path) -> None:
    (here / "in").mkdir()
    (here / "in" / "a.csv").write_text(TRADES)
    asked = ("--subscriptions", "rules.csv", "--events", "in", "--schema", "schema")
    stream = (*asked, "--out", "out", "--stream", "--once", "--format", "csv")
    assert match(*stream).exit_code == 0
    assert pairs(rows(here / "out")) == PAIRS
    again = match(*stream)
    assert again.exit_code == 0, again.output
    assert pairs(rows(here / "out")) == PAIRS
    (here / "rules.csv").write_text(RULES + "frank,price > 1,,,\n")
    changed = match(*stream)
    assert changed.exit_code == 2
    assert "rules.csv has changed" in changed.output


@pytest.mark.usefixtures("spark", "store")
def test_what_only_spark_can_tell_is_told_without_a_trace(here: Path) -> None:
    events(here / "day" / "a.parquet", ("IBM", 5.0))
    asked = ("--subscriptions", "store", "--events", "day", "--out", "out")
    said = match(*asked, "--columns", "prize")
    assert said.exit_code == 2
    assert "the events have no column 'prize'" in said.output
    (here / "day" / "b.parquet").write_text("this is not Parquet")
    said = match(*asked)
    assert said.exit_code == 2
    assert "error:" in said.output
    assert "Traceback" not in said.output
    assert "\tat " not in said.output
    assert not (here / "out").exists()


@pytest.mark.usefixtures("spark")
def test_rules_that_do_not_fit_the_events_are_named(here: Path, store: Store) -> None:
    store.add("carol", "colour = 'red'")
    events(here / "day" / "a.parquet", ("IBM", 5.0))
    said = match("--subscriptions", "store", "--events", "day", "--out", "out")
    assert said.exit_code == 0, said.output
    assert "1 subscriptions do not fit the events" in said.output
    assert "carol" in said.output


GOOD = {"--subscriptions": "rules.csv", "--events": "trades.csv", "--out": "alerts"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"--subscriptions": "nowhere"}, "neither a store nor a file nowhere"),
        ({"--subscriptions": "folder"}, "folder is a folder, but not a store"),
        ({"--events": "nowhere.csv"}, "there are no events at nowhere.csv"),
        ({"--events": "*.parquet"}, "there are no events at *.parquet"),
        ({"--events": "empty"}, "there are no files of events in empty"),
        ({"--events": "schema"}, "say --format parquet or json or csv"),
        ({"--out": "folder"}, "folder is there already: remove it"),
        ({"--out": "s3://bucket/alerts"}, "--out is a folder on a file system"),
        ({"--out": "schema"}, "schema is there already, and it is not a folder"),
        ({"--out": "folder", "--stream": None}, "folder/_checkpoint to go on from"),
        ({"--stream": None}, "trades.csv is a file"),
        ({"--once": None}, "--once is for a stream"),
        ({"--checkpoint": "c"}, "--checkpoint is for a stream"),
        ({"--schema": "binary"}, "binary: 'utf-8' codec"),
        ({"--schema": "rules.csv"}, "error:"),
        ({"--master": "spark://host:7077"}, "tidegate subs import STORE rules.csv"),
    ],
    ids=lambda case: " ".join(map(str, case)) if isinstance(case, dict) else "",
)
def test_what_is_wrong_is_said_before_spark_starts(
    here: Path, changed: dict[str, str | None], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def starting(*arguments: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("tidegate.pipeline.spark.session.start", starting)
    (here / "folder").mkdir()
    (here / "folder" / "something").write_text("")
    (here / "empty").mkdir()
    (here / "binary").write_bytes(b"\xff\xfe\x00")
    options = {**GOOD, **changed}
    said = match(*[word for pair in options.items() for word in pair if word is not None])
    assert said.exit_code == 2, said.output
    assert reason in said.output
    assert "Traceback" not in said.output


@pytest.mark.spark
def test_ctrl_c_ends_a_stream_cleanly(here: Path, store: Store) -> None:
    events(here / "in" / "a.parquet", ("IBM", 5.0), ("SAP", 99.0))
    program = "from tidegate.cli import main; main()"
    asked = ["--subscriptions", "store", "--events", "in", "--out", "out", "--stream"]
    with subprocess.Popen(
        [sys.executable, "-c", program, "match", *asked, "--master", "local[1]"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        while not list(here.glob("out/batch=*")) and running.poll() is None:
            time.sleep(0.1)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: Java gets it, too
        out, err = running.communicate()
    assert running.returncode == 0, err
    assert "2 notifications, all of version 2" in out
    assert err == ""

"""`tidegate subs`, used as a person uses it."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import tidegate as tg
from tidegate.cli import app
from tidegate.pipeline import Store


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["subs", *map(str, arguments)])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "store"
    assert run("create", path).exit_code == 0
    return path


GOOD = """\
id,filter,subscriber,limit,symbol
alice,price < :limit,,10.5,
bob,"symbol = :symbol AND
  price < :limit",robert,7,'IBM'
carol,venue = 'X',,99,
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def listed(store: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in run("list", store, "--json").stdout.splitlines()]


def test_help_names_every_command_and_explains_them() -> None:
    said = run("--help").output
    for command in ("create", "import", "add", "update", "remove", "list", "history"):
        assert command in said
    words = " ".join(run("import", "--help").output.replace("│", " ").split())
    assert "every other column is a parameter by name" in words


def test_the_command_line_starts_without_arrow_and_delta_lake() -> None:
    program = "import sys, tidegate.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "tidegate.commands.subs" in loaded
    assert {"deltalake", "pyarrow", "pyspark"} & set(loaded) == set()


def test_subscriptions_are_added_changed_listed_and_removed(store: Path) -> None:
    filter = "symbol = :symbol AND price < :limit"
    said = run("add", store, "alice", filter, "--set", "symbol='IBM'", "--set", "limit=10.0D")
    assert (said.exit_code, said.output) == (0, "added alice, version 1\n")
    run("add", store, "bob", "price > 1", "--subscriber", "robert")
    assert run("update", store, "alice", "--set", "limit=8").output == "updated alice, version 3\n"
    assert run("list", store).output.splitlines() == [
        f"alice  {filter}  with symbol = 'IBM', limit = 8",
        "bob  for robert  price > 1",
    ]
    assert run("list", store, "alice", "--version", "1", "--json").output == (
        '{"id": "alice", "subscriber": "alice", "filter": "symbol = :symbol AND price < :limit", '
        '"parameters": {"symbol": "\'IBM\'", "limit": "10.0D"}}\n'
    )
    assert run("remove", store, "alice", "bob").output == "removed 2 subscriptions, version 4\n"
    assert run("list", store).output == ""
    assert len(run("list", store, "--version", "3").output.splitlines()) == 2


def test_history_tells_what_was_done(store: Path, tmp_path: Path) -> None:
    run("import", store, write(tmp_path / "good.csv", GOOD))
    run("update", store, "alice", "--set", "limit=1")
    lines = run("history", store).output.splitlines()
    assert [line.split()[0] for line in lines] == ["2", "1", "0"]
    assert lines[0].endswith("1 updated")
    assert lines[1].endswith("3 added; imported good.csv")
    newest = json.loads(run("history", store, "--json", "--limit", "1").output)
    assert (newest["version"], newest["updated"], newest["message"]) == (2, 1, None)


def test_csv_is_loaded_and_makes_the_store(tmp_path: Path) -> None:
    store = tmp_path / "new"
    said = run("import", store, write(tmp_path / "good.csv", "\ufeff" + GOOD))
    assert (said.exit_code, said.output) == (0, "loaded 3 of 3 subscriptions, version 1\n")
    alice, bob, carol = listed(store)
    assert alice["parameters"] == {"limit": "10.5BD"}
    assert bob["subscriber"] == "robert"
    assert bob["parameters"] == {"symbol": "'IBM'", "limit": "7"}
    assert carol["parameters"] == {}


def test_json_lines_and_parquet_hold_values(tmp_path: Path) -> None:
    store = tmp_path / "store"
    rows = [
        {"id": "a", "filter": "x = :s AND y < :limit", "s": "it's", "limit": 1.5},
        {"id": "b", "filter": "x = :s", "subscriber": "é😀", "parameters": {"s": None}},
        {"id": "c", "filter": "ok = :s", "parameters": {"s": True}},
    ]
    text = "\n".join(json.dumps(row) for row in rows) + "\n\n"
    table = pa.table(
        {
            "id": ["d", "e"],
            "filter": ["day = :day", "x < :limit AND y = :p"],
            "day": pa.array([20_000, None], pa.date32()),
            "limit": pa.array([None, 2**40], pa.uint64()),
            "parameters": [None, '{"p": "q"}'],
        }
    )
    pq.write_table(table, tmp_path / "rest.parquet")
    said = run("import", store, write(tmp_path / "first.jsonl", text), tmp_path / "rest.parquet")
    assert (said.exit_code, said.output) == (0, "loaded 5 of 5 subscriptions, version 1\n")
    opened = Store.open(store)
    assert opened.get("a").parameters == {"s": "it's", "limit": 1.5}
    assert opened.get("b").subscriber == "é😀"
    assert opened.get("b").parameters == {"s": None}
    assert opened.get("c").parameters == {"s": True}
    assert str(opened.get("d").parameters["day"]) == "2024-10-04"
    assert opened.get("e").parameters == {"limit": 2**40, "p": "q"}


BAD_CSV = """\
id,filter,limit,parameters
good,price < :limit,1,
syntax,price <,,
missing,price < :limit,,
,price < 1,,
literal,price < :limit,ten,
quotes,"price
 < :limit",2,
good,price > 1,,
cells,price > 1
object,price < :p,,[1]
twice,price < :limit,1,"{""limit"": 2}"
stray,price < :p,,"{""p"": 1, ""q"": 2}"
known,price < 1,,
nothing,,,
syntax,price < 2,,
"""


def test_bad_lines_are_shown_with_the_reason_and_the_good_ones_are_loaded(
    store: Path, tmp_path: Path
) -> None:
    run("add", store, "known", "price < 1")
    said = run("import", store, write(tmp_path / "bad.csv", BAD_CSV))
    assert said.exit_code == 1
    assert said.stdout == "loaded 3 of 14 subscriptions, version 2\n"
    assert [row["id"] for row in listed(store)] == ["good", "known", "quotes", "syntax"]
    reasons = {
        int(line.removeprefix(f"{tmp_path}/bad.csv:").split(":")[0]): line.split(": ", 1)[1]
        for line in said.stderr.splitlines()
        if line.startswith(str(tmp_path))
    }
    assert reasons == {
        3: "this is not a condition of the language (at position 6)",
        4: "parameter :limit is missing; give it a value, None is NULL",
        5: "an id has at least one character",
        6: "limit: ten is not a constant: write a number, a string, true, ...",
        9: "there is a subscription 'good' already",
        10: "the line has 2 cells, and the header 4",
        11: "this is JSON, but not an object",
        12: "parameter :limit is given more than once",
        13: "the filter has no parameter :q; it has :p",
        14: "there is a subscription 'known' already",
        15: "there is no condition in the text (at position 0)",
    }


BAD_LINES = (
    rb"""{"id": "good", "filter": "x > 1"}
{"id": "cut", "filter
[1]
{"id": 7, "filter": "x > 1"}
{"id": "nofilter"}
{"id": "value", "filter": "x > :p", "p": [1]}
{"id": "half", "filter": "x = '\ud800'"}
{"id": "bytes", "filter": "x = '"""
    + b"\xff"
    + rb"""'"}
{"id": "object", "filter": "x > :p", "parameters": 5}
{"id": "twice", "filter": "x > :p", "p": 1, "parameters": {"p": 2}}
{"id": "fine", "filter": "x > :p", "p": 1, "other": 2}
"""
)


def test_bad_lines_of_json_are_shown_too(store: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(BAD_LINES)
    said = run("import", store, tmp_path / "bad.jsonl", "--errors", "100")
    assert said.exit_code == 1
    assert said.stdout == "loaded 2 of 11 subscriptions, version 1\n"
    for line, reason in (
        (2, "this is not JSON"),
        (3, "this is JSON, but not an object"),
        (4, "id is not a text: 7"),
        (5, "there is no filter"),
        (6, "parameter :p cannot be [1]"),
        (7, "filter is not valid UTF-8"),
        (8, "this is not JSON"),
        (9, "parameters is not an object"),
        (10, "parameter :p is given more than once"),
    ):
        assert f"bad.jsonl:{line}: {reason}" in said.stderr


def test_strict_loads_all_or_nothing(store: Path, tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.csv", BAD_CSV)
    good = write(tmp_path / "good.csv", GOOD)
    said = run("import", store, good, bad, "--strict")
    assert said.exit_code == 1
    assert said.stdout == "loaded 0 of 17 subscriptions\n"
    assert f"{bad}:3: " in said.stderr
    assert Store.open(store).version() == 0
    assert run("import", store, good, "--strict").exit_code == 0
    assert Store.open(store).version() == 1


def test_only_some_of_many_bad_lines_are_shown(store: Path, tmp_path: Path) -> None:
    text = "id,filter\n" + "".join(f"s{number},x <\n" for number in range(50))
    said = run("import", store, write(tmp_path / "bad.csv", text), "--errors", "3")
    assert said.stderr.count("bad.csv:") == 3
    assert "and 47 more; --errors 50 shows all" in said.stderr
    assert said.stdout == "loaded 0 of 50 subscriptions\n"


def test_a_store_with_a_schema_checks_what_is_loaded(tmp_path: Path) -> None:
    schema = write(tmp_path / "schema.ddl", "price DOUBLE, day DATE NOT NULL")
    rows = write(tmp_path / "rows.csv", "id,filter,d\na,day = :d,'2026-01-31'\nb,prise < 1,\n")
    store = tmp_path / "store"
    said = run("import", store, rows, "--schema", schema)
    assert said.exit_code == 1
    assert "rows.csv:3: the schema has no attribute prise" in said.stderr
    assert Store.open(store).schema == tg.Schema("price DOUBLE, day DATE NOT NULL")
    other = write(tmp_path / "other.json", '{"price": "double"}')
    assert "another schema" in run("import", store, rows, "--schema", other).stderr
    assert run("create", tmp_path / "typed", "--schema", other).exit_code == 0
    assert run("add", tmp_path / "typed", "a", "price = 'x'").exit_code == 2


def test_what_cannot_be_done_is_an_error_and_exit_code_2(store: Path, tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.txt", GOOD)
    headless = write(tmp_path / "headless.csv", "alice,price < 1\n")
    double = write(tmp_path / "double.csv", "id,filter,id\n")
    wrong = write(tmp_path / "wrong.parquet", "hello")
    numbers = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"id": [1], "filter": ["x > 1"]}), numbers)
    refused: list[tuple[list[str | Path], str]] = [
        (["create", store], "there is a store at"),
        (["list", tmp_path / "none"], "there is no store at"),
        (["add", store, "a", "price <"], "not a condition of the language"),
        (["add", store, "a", "price < :p", "--set", "p"], "--set takes NAME=VALUE"),
        (["update", store, "a"], "nothing to update"),
        (["update", store, "a", "--set", "p=1"], "there is no subscription 'a'"),
        (["remove", store, "a"], "there is no subscription 'a'"),
        (["list", store, "a"], "there is no subscription 'a'"),
        (["list", store, "--version", "9"], "there is no version 9"),
        (["import", store, rows], "say --format csv or jsonl or parquet"),
        (["import", store, headless], "headless.csv: there is no column id"),
        (["import", store, double], "double.csv: there are 2 columns named id"),
        (["import", store, wrong], "wrong.parquet: this is not Parquet"),
        (["import", store, numbers], "numbers.parquet: the column id is not of texts"),
    ]
    for arguments, reason in refused:
        said = run(*arguments)
        assert (said.exit_code, said.stdout) == (2, ""), arguments
        assert reason in said.stderr
    assert run("import", store, rows, "--format", "csv").exit_code == 0


def test_broken_csv_is_told_by_its_line(store: Path, tmp_path: Path) -> None:
    text = 'id,filter\na,x > 1\n"b"c,x > 1\nd,x > 1\ne,"x > 1\n'
    said = run("import", store, write(tmp_path / "broken.csv", text))
    assert said.exit_code == 1
    assert "broken.csv:3: the line is not CSV" in said.stderr
    assert "broken.csv:5: the line is not CSV: unexpected end of data" in said.stderr
    assert [row["id"] for row in listed(store)] == ["a", "d"]

"""`tidegate analyse`, used as a person uses it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tidegate.cli import app
from tidegate.pipeline import Store


def analyse(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["analyse", *map(str, arguments)])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    made = Store.create(tmp_path / "store")
    made.add("alice", "price < :limit", parameters={"limit": 10.5})
    made.add("bob [red]", "symbol = 'IBM' AND price < 7")
    made.add("carol", "prize < 3")
    return tmp_path / "store"


@pytest.mark.usefixtures("spark")
def test_a_store_is_summed_up_for_people_and_browsers(store: Path, tmp_path: Path) -> None:
    trades = tmp_path / "trades.csv"
    trades.write_text("symbol,price\nSAP,5.5\nSAP,8.5\n")
    said = analyse(store, "--events", trades, "--out", tmp_path / "page.html")
    assert said.exit_code == 0, said.output
    assert "3 subscriptions of version 3 ask for 2 different things" in said.output
    lines = [line.split() for line in said.output.splitlines()]
    for kind in (
        ["covered", "1"],
        ["refused", "1"],
        ["not", "matched", "1"],
        ["almost", "all", "1"],
    ):
        assert any(line[: len(kind)] == kind for line in lines), (kind, said.output)
    assert "bob [red]  symbol = 'IBM' AND price < 7" in said.output
    assert "an event matches 1.0 of them" in said.output
    assert "bob [red]" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("spark")
def test_a_version_is_summed_up_for_programs(store: Path) -> None:
    found = json.loads(analyse(store, "--json", "--version", "1").stdout)
    assert (found["version"], found["subscriptions"], found["covered"]["filters"]) == (1, 1, 0)
    assert found["cost"] is None


@pytest.mark.usefixtures("spark")
def test_what_nobody_covers_is_a_question_of_its_own(store: Path) -> None:
    said = analyse(store, "--negative-space", "50")
    assert said.exit_code == 0, said.output
    assert "3 subscriptions of version 3 ask for 3 different things" in said.output
    assert "1 are not needed" in said.output
    found = json.loads(analyse(store, "--negative-space", "0", "--json").stdout)
    assert (found["k"], found["redundant"], found["share"]) == (None, 1, None)
    assert found["boxes"] > 0


def test_what_cannot_be_done_is_said_before_spark_starts(store: Path, tmp_path: Path) -> None:
    for arguments, reason in (
        ((tmp_path / "nowhere",), "no store"),
        ((store, "--version", "9"), "no version 9"),
        ((store, "--out", tmp_path / "no" / "page.html"), "no folder"),
        ((store, "--events", tmp_path / "no.parquet"), "no events"),
        ((store, "--format", "csv"), "--events"),
        ((store, "--negative-space", "5", "--out", tmp_path / "page.html"), "of its own"),
    ):
        said = analyse(*arguments)
        assert said.exit_code == 2, said.output
        assert reason in " ".join(said.output.split()), said.output

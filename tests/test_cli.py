"""The `tidegate` command, used as a person uses it."""

import importlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import bench
import bench.parse
import bench.relate
import tidegate as tg
from bench.baselines import NegativeSpace
from tidegate.cli import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


COMMANDS = (
    "explain",
    "relate",
    "subs",
    "match",
    "statistics",
    "analyse",
    "cluster",
    "simulate",
    "peers",
    "demo",
    "tour",
    "bench",
)


def test_it_prints_its_version() -> None:
    assert run("--version").output == f"tidegate {tg.__version__}\n"


def test_help_names_every_command() -> None:
    listed = run("--help").output
    assert all(command in listed for command in COMMANDS)


def test_explain_says_how_a_filter_is_read() -> None:
    said = run("explain", "NOT (price >= :limit OR symbol <> 'IBM')")
    assert said.exit_code == 0
    assert "price < :limit AND symbol = 'IBM'" in said.output
    assert "price, symbol" in said.output
    assert ":limit" in said.output


def test_explain_tells_why_an_event_does_not_pass() -> None:
    said = run("explain", "price < :limit", "--set", "limit=10", "--event", '{"price": 10.5}')
    assert said.exit_code == 0
    assert "the event does not pass" in said.output
    assert "price is 10.5" in said.output


@pytest.mark.parametrize(
    "schema",
    [
        '{"day": "date", "amount": "decimal(6,2)", "at": "timestamp"}',
        "day DATE, amount DECIMAL(6,2), at TIMESTAMP",
        json.dumps(
            {
                "type": "struct",
                "fields": [
                    {"name": "day", "type": "date", "nullable": False},
                    {"name": "amount", "type": "decimal(6,2)"},
                    {"name": "at", "type": "timestamp"},
                ],
            }
        ),
    ],
    ids=["mapping", "ddl", "spark"],
)
def test_a_schema_file_gives_json_events_their_types(schema: str, tmp_path: Path) -> None:
    file = tmp_path / "schema"
    file.write_text(schema)
    event = '{"day": "2024-02-29", "amount": 1.25, "at": "2024-02-29 12:00:00"}'
    text = "day = '2024-02-29' AND amount = 1.25 AND at > DATE '2024-02-29'"
    said = run("explain", text, "--schema", str(file), "--event", event)
    assert said.exit_code == 0, said.output
    assert "the event passes" in said.output


def test_nested_events_reach_into_structs(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"trade": {"day": "date"}}')
    said = run(
        *("explain", "trade.day = '2024-01-01'", "--schema", str(file)),
        *("--event", '{"trade": {"day": "2024-01-01"}}'),
    )
    assert "the event passes" in said.output


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ("a < 5", "a <= 4.5", "covers"),
        ("a IN (1, 2)", "a IN (2, 1)", "equal"),
        ("a = 1", "a = 1 OR b = 2", "covered"),
        ("a < 5", "a > 3", "overlaps"),
        ("a < 5", "a > 5", "disjoint"),
        ("endswith(a, 'x')", "contains(a, 'y')", "unknown"),
    ],
)
def test_relate_names_the_relation(first: str, second: str, relation: str) -> None:
    said = run("relate", first, second)
    assert said.exit_code == 0
    assert said.output.startswith(relation)


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "a = b"),
        ("explain", "a = :p", "--event", "{}"),
        ("explain", "a = :p", "--set", "q=1"),
        ("explain", "a = :p", "--set", "p"),
        ("explain", "a = :p", "--set", "p=''x"),
        ("explain", "a = 1", "--event", "[]"),
        ("explain", "a = 1", "--event", "{"),
        ("relate", "a = 1", "a ="),
        ("bench", "nonsense"),
    ],
)
def test_what_is_refused_is_said_without_a_traceback(arguments: tuple[str, ...]) -> None:
    said = run(*arguments)
    assert said.exit_code == 2
    assert "error:" in said.output
    assert "Traceback" not in said.output


@pytest.mark.parametrize("schema", ["[1]", '{"a": "varint"}', "a NONSENSE("])
def test_a_bad_schema_file_is_refused(schema: str, tmp_path: Path) -> None:
    file = tmp_path / "schema"
    file.write_text(schema)
    said = run("explain", "a = 1", "--schema", str(file))
    assert said.exit_code == 2
    assert "error:" in said.output


def test_the_tour_shows_the_language_and_the_index() -> None:
    said = run("tour")
    assert said.exit_code == 0
    for part in ("What a filter says", "Why an event passes", "How filters relate", "refused"):
        assert part in said.output
    assert said.output.count("write instead:") == 6
    assert "Who wants this event?" in said.output
    assert "docs/engine.md" in said.output


def test_every_benchmark_that_is_listed_can_be_run() -> None:
    refused, listed = run("bench", "nonsense").output, run("bench", "--help").output
    assert {"parse", "relate", "match"} <= set(bench.NAMES)
    for name in bench.NAMES:
        assert name in refused
        assert name in listed
        assert callable(importlib.import_module(f"bench.{name}").run)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.parse, "TEXTS", 2000)
    monkeypatch.setattr(bench.parse, "SAMPLE", 50)
    monkeypatch.setattr(bench.parse, "LOADED", 2000)
    monkeypatch.setattr(bench.parse, "LARGE", 1000)
    monkeypatch.setattr(bench.relate, "FILTERS", 40)
    monkeypatch.setattr(bench.relate, "SUBSCRIPTIONS", 150)


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_benchmarks_print_json_lines() -> None:
    said = run("bench", "parse", "relate", "--json")
    assert said.exit_code == 0, said.output
    figures = [json.loads(line) for line in said.output.splitlines()]
    assert len(figures) == 8 + 1 + 8
    for figure in figures:
        assert {"name", "ours", "baseline", "ratio", "unit"} <= figure.keys()
        assert figure["ours"] > 0


@pytest.mark.usefixtures("small")
def test_a_wrong_answer_stops_a_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tg, "covers", lambda f, g: False)
    with pytest.raises(AssertionError):
        list(bench.relate.run())


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_a_missed_aim_is_named_and_ends_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.relate, "BUDGET", 0)
    monkeypatch.setattr(NegativeSpace, "add", lambda self, low, high: False)
    monkeypatch.setattr(tg, "subsumed", lambda g, union: bool(union.subsumes(g)) and False)
    said = run("bench", "relate", "--json", "--check")
    assert said.exit_code == 1
    assert "missed: subsumed" in said.output

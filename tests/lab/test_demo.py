"""The trading day on Spark, a small one: what it prints is so."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

from tidegate.cli import app
from tidegate.lab import demo
from tidegate.pipeline.progress.stream import Followed
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES, EVENTS, BATCHES = 3_000, 1_000, 5


@pytest.fixture(scope="module")
def run(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, str, Path]:
    """Whether the demo was content, what it said, and where it left everything."""
    folder = tmp_path_factory.mktemp("demo") / "day"
    out = Console(file=io.StringIO(), width=120, highlight=False, soft_wrap=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "_PAUSE", 0.2)
        good = demo.demo(out, rules=RULES, events=EVENTS, batches=BATCHES, folder=folder)
    assert isinstance(out.file, io.StringIO)
    return good, out.file.getvalue(), folder


def test_it_tells_what_is_in_its_folder(run: tuple[bool, str, Path], spark: "SparkSession") -> None:
    good, said, folder = run
    found = spark.read.parquet(str(folder / "notifications")).where("kind = 'notifications'")
    assert good
    assert f"{EVENTS:,} trades gave {found.count():,} notifications" in said
    versions = sorted(row.version for row in found.select("version").distinct().collect())
    assert len(versions) > 1
    assert f"used {len(versions)} of its versions, {versions[0]} to {versions[-1]}" in said
    assert found.select("batch").distinct().count() == BATCHES
    assert str(folder) in said


def test_rules_are_moved_added_and_removed_meanwhile(run: tuple[bool, str, Path]) -> None:
    _, said, folder = run
    commits = Store.open(folder / "subscriptions").history()[:-2]  # without the first two
    assert sum(commit.updated for commit in commits) >= RULES // 50
    assert sum(commit.added for commit in commits) >= RULES // 500
    assert sum(commit.removed for commit in commits) >= RULES // 500
    assert "showed in the next micro-batch" in said


def test_its_check_finds_what_spark_finds(run: tuple[bool, str, Path]) -> None:
    _, said, _ = run
    assert "Spark SQL finds" in said
    assert ": the same." in said
    assert "DIFFERENT" not in said


def test_its_check_notices_a_lost_notification(
    run: tuple[bool, str, Path], spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, folder = run
    batch = BATCHES - 1
    whole = demo._notified(folder, batch)
    version = whole["version"][0].as_py()
    monkeypatch.setattr(demo, "_sample", lambda *_: pa.array([whole["subscription"][0].as_py()]))
    file = folder / "events" / f"trades-{batch:03d}.parquet"
    followed = Followed(versions={batch: version})

    def checked(rows: pa.Table) -> bool:
        monkeypatch.setattr(demo, "_notified", lambda *_: rows)
        out = Console(file=io.StringIO())
        store = Store.open(folder / "subscriptions")
        return demo._check(out, spark, store, folder, file, batch, followed, [])

    assert checked(whole)
    assert not checked(whole.slice(1))


def test_how_long_a_change_took_is_counted_in_micro_batches() -> None:
    followed = Followed(started={0: 10.0, 1: 20.0, 2: 30.0}, versions={0: 1, 1: 3, 2: 4})

    def made(version: int, when: float) -> demo.Change:
        return demo.Change(version, when, "moved", ["a"])

    cases: list[Any] = [made(2, 12.0), made(3, 20.5), made(4, 15.0), made(5, 31.0)]
    assert demo.delays(followed, cases) == [1, 0, 2]


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    said = CliRunner().invoke(app, ["demo", "--folder", str(tmp_path)])
    assert said.exit_code == 2
    assert "is there already" in said.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]

"""Vacuum removes what nobody needs, and nothing else."""

import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import tidegate as tg
from tests.pipeline import reading, streams
from tests.pipeline.streams import write_base
from tidegate.cli import app
from tidegate.errors import StoreError
from tidegate.pipeline import Store, vacuum
from tidegate.pipeline.bases import catalog, compile_job, vacuuming
from tidegate.pipeline.bases.catalog import fingerprint
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching.matcher import Matcher
from tidegate.pipeline.store import objects, pins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow

SCHEMAS = (tg.Schema(streams.EVENTS), tg.Schema("price double, symbol string"))
EVENTS = pa.table(
    {
        "symbol": [symbol for symbol in streams.SYMBOLS for _ in range(5)],
        "price": [20.0 * k + 3 for k in range(5)] * len(streams.SYMBOLS),
    }
)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["subs", *map(str, arguments)])


def matched(store: Store, version: int, schema: tg.Schema) -> list[Any]:
    """What a worker finds at a version."""
    base = catalog.newest(store.path, fingerprint(Attributes(schema)), version)
    assert base is not None
    matcher = Matcher(store.path, base)
    matcher.advance(version)
    table = EVENTS.select([name for name in EVENTS.column_names if name in schema])
    return streams.found_by(matcher, table)


def files(store: Store) -> set[str]:
    """All files but those of the log."""
    places = [objects.beside(store.path, part) for part in ("changes", "bases")]
    found = {place.where(each.name) for place in places for each in place.list()}
    return {path for path in found if "_delta_log" not in path}


@pytest.mark.parametrize("seed", range(12))
def test_what_is_pinned_or_newest_can_be_matched_after_a_vacuum_as_before(
    tmp_path: Path, seed: int
) -> None:
    check_a_vacuum(tmp_path / "store", seed)


def check_a_vacuum(path: Path | str, seed: int) -> None:
    """Vacuum a store after some changes, compactions, compilations and pins."""
    choice = random.Random(seed)
    store = Store.create(path)
    versions: set[int] = set()
    write_base(store, 0, SCHEMAS[0])
    write_base(store, 0, SCHEMAS[1])
    for step in range(14):
        match choice.randrange(6):
            case 0:
                store.compact()
            case 1:
                write_base(store, choice.randint(0, store.version()), choice.choice(SCHEMAS))
            case 2:
                at = pins.pin(store.path, f"query-{step}", step, store.version())
                versions.add(at)
            case _:
                streams.add_some(store, f"step-{step}", 4)
    versions.add(store.version())
    before = {
        version: (
            reading.state(store.subscriptions(version)),
            [matched(store, version, schema) for schema in SCHEMAS],
        )
        for version in versions
    }
    there = files(store)
    removed = vacuum(store.path, older_than=0)
    assert files(store) == there - set(removed)
    assert set(removed) <= there
    again = Store.open(store.path)
    for version, (state, found) in before.items():
        assert reading.state(again.subscriptions(version)) == state
        assert [matched(again, version, schema) for schema in SCHEMAS] == found
    left = len(list(catalog.manifests(store.path)))
    assert left <= 2 * len(versions)
    assert vacuum(store, older_than=0) == []


def test_what_nobody_needs_is_gone(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    for number in range(3):
        streams.add_some(store, f"step-{number}", 4)
        write_base(store)
    store.compact()
    write_base(store)
    removed = [Path(path).name for path in vacuum(store, older_than=0)]
    kinds = [name.partition("-")[0] for name in removed]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "base": 3,
        "index": 3,
        "names": 3,
        "changes": 6,
    }
    with pytest.raises(StoreError):
        Store.open(store.path).subscriptions(1)
    assert len(store.subscriptions()) == 12


def test_nothing_goes_that_was_needed_a_short_time_ago(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    for number in range(3):
        streams.add_some(store, f"step-{number}", 4)
        write_base(store)
        store.compact()
    Path(store.path, "bases", "index-of-somebody-who-is-not-done").touch()
    assert vacuum(store) == []
    for path in Path(store.path, "bases").iterdir():
        os.utime(path, (1e9, 1e9))
    # bases are old now, but versions were the newest within the hour
    assert {Path(path).name for path in vacuum(store)} == {"index-of-somebody-who-is-not-done"}


def test_every_version_that_was_the_newest_in_that_time_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.create(tmp_path / "first")
    for number in range(4):
        streams.add_some(store, f"step-{number}", 4)
        store.compact()
    commits = store.history()
    states = {each.version: reading.state(store.subscriptions(each.version)) for each in commits}
    for commit in commits:
        copy = tmp_path / str(commit.version)
        shutil.copytree(tmp_path / "first", copy)
        now = commit.time.timestamp() + 1000
        monkeypatch.setattr(vacuuming, "time", SimpleNamespace(time=lambda now=now: now))
        vacuum(copy, older_than=1000)
        later = [other.version for other in commits if other.time >= commit.time]
        for version in later:
            assert reading.state(Store.open(copy).subscriptions(version)) == states[version]


def test_vacuum_that_overlooks_pins_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pins, "pinned", lambda store: {})

    def all_of_them() -> None:
        for seed in range(12):
            check_a_vacuum(tmp_path / str(seed), seed)

    with pytest.raises((StoreError, AssertionError)):
        all_of_them()


def test_a_vacuum_between_pin_and_delivery_changes_nothing(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = streams.make(tmp_path, batches=3)
    store = stream.store

    @dataclass
    class Vacuuming:
        """A sink that has the store changed, compiled and vacuumed before it looks at a batch."""

        def require(self, columns: Sequence[str]) -> None:
            stream.sink.require(columns)

        def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
            streams.add_some(store, f"batch-{batch}", 10)
            store.remove(f"first-{batch}")
            schema = tg.Schema(stream.source(spark).schema)
            compile_job.compile_base(store, spark, Attributes(schema), store.version())
            store.compact()
            vacuum(store, older_than=0)
            stream.sink.commit(notifications, query, batch)

    stream.run(spark, Vacuuming())
    assert stream.versions() == {0: 3, 1: 7, 2: 11}
    assert stream.delivered(spark) == stream.wanted(spark)
    for query, _ in pins.pinned(store.path):
        pins.unpin(store.path, query)
    assert len(vacuum(store, older_than=0)) > 0
    with pytest.raises(StoreError):
        Store.open(store.path).subscriptions(3)


def test_the_commands_compact_and_vacuum(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    for number in range(3):
        store.add(f"s{number}", "price > 1")
    pins.pin(store.path, "abc", 4, 2)
    pins.pin(store.path, "abc", 5, 3)
    done = run("compact", tmp_path / "store")
    assert done.exit_code == 0
    assert done.output.endswith("version 4\n")
    done = run("vacuum", tmp_path / "store")
    assert done.output.splitlines() == [
        "removed 0 files",
        "kept version 3 for batch 5 of query abc",
    ]
    done = run("vacuum", tmp_path / "store", "--older-than", "0", "--forget", "abc")
    assert len(done.output.splitlines()) == 4
    assert done.output.endswith("removed 3 files\n")
    assert len(Store.open(tmp_path / "store").subscriptions()) == 3
    assert run("vacuum", tmp_path / "nowhere").exit_code == 2
    assert run("compact", tmp_path / "nowhere").exit_code == 2

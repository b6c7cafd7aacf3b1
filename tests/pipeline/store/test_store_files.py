"""The store on disk: what Spark reads of it, and what is said of files that are damaged."""

import json
import os
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tidegate.errors import StoreError
from tidegate.pipeline import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLD = """
SELECT asked, id,
       max_by(subscriber, (version, place)) FILTER (WHERE change = 'add') AS subscriber,
       max_by(filter, (version, place)) FILTER (WHERE change = 'add') AS filter,
       max_by(parameters, (version, place)) AS parameters
FROM {changes}
GROUP BY asked, id
HAVING max_by(change, (version, place)) != 'remove'
ORDER BY asked, id
"""


def history(path: Path) -> Store:
    """A store with a few versions, a compaction among them."""
    store = Store.create(path)
    ids = [f"é{number}" for number in range(40)]
    store.add_many(pa.table({"id": ids, "p": range(40)}), filter="x < :p")  # 1
    store.update_many(pa.table({"id": ids[::3], "p": [0.5] * 14}))  # 2
    store.remove_many(ids[::4])  # 3
    store.compact()  # 4
    store.add(ids[0], "y = :s", subscriber="someone", parameters={"s": "it's\n\0"})  # 5
    store.update(ids[1], p=None)  # 6
    store.remove(ids[2])  # 7
    return store


def test_spark_reads_every_version_as_a_list_of_files(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from pyspark.sql import DataFrame
    from pyspark.sql.functions import lit

    store = history(tmp_path / "store")
    versions = (1, 3, 4, 7)
    frames = [
        spark.read.parquet(*store.files(version)).withColumn("asked", lit(version))
        for version in versions
    ]
    found = spark.sql(FOLD, changes=reduce(DataFrame.union, frames)).toArrow().to_pylist()
    expected = [
        {"asked": version, **row}
        for version in versions
        for row in store.subscriptions(version).to_pylist()
    ]
    for row in (*found, *expected):
        row["parameters"] = dict(row["parameters"])
    assert len(found) > 100
    assert found == expected


def test_the_log_asks_nothing_special_of_readers(tmp_path: Path) -> None:
    store = history(tmp_path / "store")
    table = DeltaTable(f"{store.path}/changes")
    protocol = table.protocol()
    assert protocol.min_reader_version == 1
    assert protocol.min_writer_version == 2
    assert not protocol.reader_features
    assert not protocol.writer_features
    configuration = table.metadata().configuration
    assert "delta.columnMapping.mode" not in configuration
    assert "delta.enableDeletionVectors" not in configuration
    for entry in Path(store.path, "changes", "_delta_log").glob("*.json"):
        assert "deletionVector" not in entry.read_text()


def test_every_row_is_of_the_version_of_its_commit(tmp_path: Path) -> None:
    store = history(tmp_path / "store")
    log = Path(store.path, "changes", "_delta_log")
    for version in (1, 2, 3, 5, 6, 7):
        lines = (log / f"{version:020d}.json").read_text().splitlines()
        actions = [json.loads(line) for line in lines]
        (added,) = (action["add"] for action in actions if "add" in action)
        statistics = json.loads(added["stats"])
        assert statistics["minValues"]["version"] == version == statistics["maxValues"]["version"]
        assert set(store.changes(version - 1, version)["version"].to_pylist()) == {version}


@pytest.mark.slow
def test_a_log_with_many_entries_and_checkpoints_reads_the_same(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    store.add("alice", "x < :p", parameters={"p": 0})
    for number in range(110):
        store.update("alice", p=number)
    assert list(Path(store.path, "changes", "_delta_log").glob("*.checkpoint.parquet"))
    again = Store.open(store.path)
    assert again.get("alice").parameters == {"p": 109}
    assert again.get("alice", 50).parameters == {"p": 48}
    assert len(again.changes(20, 108)) == 88


def entry(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020d}.json"


def data(folder: Path, version: int) -> Path:
    return next(folder.glob(f"*-{version:020d}-*.parquet"))


def flip(path: Path) -> None:
    """Change one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated entry": (
        lambda f: os.truncate(entry(f, 2), 50),
        "02.json is damaged: line 1 is not",
    ),
    "empty entry": (lambda f: os.truncate(entry(f, 3), 0), "03.json is damaged"),
    "foreign entry": (lambda f: entry(f, 3).write_text("hello\n"), "03.json is damaged"),
    "entry of no actions": (lambda f: entry(f, 3).write_text("[1]\n"), "03.json is damaged"),
    "bytes": (lambda f: entry(f, 1).write_bytes(b"\xff\0"), "01.json is damaged"),
    "missing entry": (lambda f: entry(f, 2).unlink(), "02.json is missing"),
    "missing first entry": (lambda f: entry(f, 0).unlink(), "00.json is missing"),
    "truncated data": (lambda f: os.truncate(data(f, 2), 100), "02-.*parquet is damaged"),
    "empty data": (lambda f: os.truncate(data(f, 2), 0), "02-.*parquet is damaged"),
    "flipped byte": (lambda f: flip(data(f, 1)), "01-.*parquet is damaged"),
    "missing data": (lambda f: data(f, 3).unlink(), "03-.*parquet is gone"),
    "wrong statistics": (
        lambda f: entry(f, 3).write_text(
            re.sub(r'"stats":"(\\.|[^"\\])*"', '"stats":"{}"', entry(f, 3).read_text())
        ),
        "not Tidegate's: changes-",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    store = Store.create(tmp_path / "store")
    store.add_many(pa.table({"id": [f"é{n}" for n in range(999)]}), filter="x > 1")
    store.add("b", "x > 1")
    store.add("c", "x > 1")
    damage, said = DAMAGES[name]
    damage(tmp_path / "store" / "changes")
    with pytest.raises(StoreError, match=said):
        Store.open(store.path).subscriptions()


def test_a_schema_that_is_damaged_is_refused(tmp_path: Path) -> None:
    Store.create(tmp_path / "store", None)
    first = entry(tmp_path / "store" / "changes", 0)
    text = first.read_text()
    assert '"tidegate.format":"1"' in text
    wrong = text.replace('"tidegate.format":"1"', '"tidegate.format":"1","tidegate.schema":"{}"')
    first.write_text(wrong)
    with pytest.raises(StoreError, match=r"the schema in the log of .* is damaged"):
        Store.open(tmp_path / "store")
    first.write_text(text.replace('"tidegate.format":"1"', '"tidegate.format":"2"'))
    with pytest.raises(StoreError, match="of another format, 2"):
        Store.open(tmp_path / "store")


def test_a_disk_that_is_full_is_a_clear_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.create(tmp_path / "store")
    store.add("a", "x > 1")

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pyarrow.parquet.write_table", full)
        with pytest.raises(StoreError, match=r"cannot write .*02-.*No space left on device"):
            store.add("b", "x > 1")
    assert store.add("b", "x > 1") == 2

"""Sinks: whole batches, each of them once."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.errors import SchemaError, StoreError, TidegateError
from tidegate.pipeline import Hook, ParquetFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def pairs(spark: "SparkSession", count: int, errors: int = 0) -> "DataFrame":
    """Notifications to ten subscribers, and malformed events."""
    rows = spark.range(0, count + errors, 1, 2)
    bad = f"id >= {count}"
    return rows.selectExpr(
        "id AS number",
        f"IF({bad}, NULL, concat('s', id)) AS subscription",
        f"IF({bad}, NULL, concat('subscriber ', id % 10)) AS subscriber",
        "7L AS version",
        f"IF({bad}, 'broken', NULL) AS error",
    )


def contents(folder: Path) -> dict[str, bytes]:
    """All that a reader may see."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.relative_to(folder).parts[0].startswith("_")
    }


def test_batches_are_read_with_their_number_and_dead_letters_apart(
    spark: "SparkSession", tmp_path: Path
) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.commit(pairs(spark, 20, errors=3), "query", 0)
    sink.commit(pairs(spark, 5), "query", 1)
    found = spark.read.parquet(str(tmp_path / "out"))
    counts = {
        (row.batch, row.kind): row["count"]
        for row in found.groupBy("batch", "kind").count().collect()
    }
    assert counts == {(0, "notifications"): 20, (0, "errors"): 3, (1, "notifications"): 5}
    letters = found.where("kind = 'errors'").collect()
    assert {(row.error, row.subscription) for row in letters} == {("broken", None)}
    assert sink.batches() == [0, 1]
    assert list((tmp_path / "out" / "_staging").iterdir()) == []


def test_a_batch_without_notifications_is_there_too(spark: "SparkSession", tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.commit(pairs(spark, 0), "query", 0)
    sink.commit(pairs(spark, 4), "query", 1)
    assert sink.batches() == [0, 1]
    assert spark.read.parquet(str(tmp_path / "out")).count() == 4


def test_a_batch_that_is_there_is_not_written_again(spark: "SparkSession", tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.commit(pairs(spark, 20), "query", 0)
    before = contents(tmp_path / "out")
    sink.commit(pairs(spark, 7), "query", 0)
    assert contents(tmp_path / "out") == before


def test_a_folder_belongs_to_one_query(spark: "SparkSession", tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.commit(pairs(spark, 20), "query", 3)
    before = contents(tmp_path / "out")
    for batch in (3, 0, 4):
        with pytest.raises(StoreError, match="batch=00000000000000000003 is of another query"):
            sink.commit(pairs(spark, 20), "other", batch)
    assert contents(tmp_path / "out") == before


def test_nobody_sees_a_batch_that_is_being_written(spark: "SparkSession", tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.commit(pairs(spark, 20), "query", 0)
    left = tmp_path / "out" / "_staging" / "00000000000000000001-0" / "kind=notifications"
    os.makedirs(left)
    some = next((tmp_path / "out").glob("batch=*/kind=*/*.parquet"))
    (left / "part-0.parquet").write_bytes(some.read_bytes())
    assert spark.read.parquet(str(tmp_path / "out")).count() == 20
    sink.commit(pairs(spark, 5), "query", 1)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 25
    assert not left.exists()


def test_a_batch_that_fails_leaves_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.commit(pairs(spark, 20), "query", 0)
    before = contents(tmp_path / "out")
    failing = pairs(spark, 20).selectExpr("*", "IF(number = 19, raise_error('enough'), 1) AS extra")
    with pytest.raises(Exception, match="enough"):
        sink.commit(failing, "query", 1)
    assert contents(tmp_path / "out") == before
    sink.commit(pairs(spark, 6), "query", 1)
    assert spark.read.parquet(str(tmp_path / "out")).where("batch = 1").count() == 6


def test_rows_that_only_another_machine_has_are_missed(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tasks write a file each; one of them as if to the disk of another machine."""
    from pyspark.sql import DataFrameWriter

    write = DataFrameWriter.parquet

    def elsewhere(writer: DataFrameWriter, path: str) -> None:
        write(writer, path)
        first = min(Path(path.removeprefix("file://")).rglob("*.parquet"))
        first.rename(tmp_path / "elsewhere.parquet")

    sink = ParquetFolder(tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(DataFrameWriter, "parquet", elsewhere)
        with pytest.raises(StoreError, match="20 rows were written, but only 10 are there"):
            sink.commit(pairs(spark, 20), "query", 0)
    assert sink.batches() == []
    sink.commit(pairs(spark, 20), "query", 0)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 20


def test_of_two_runs_of_a_batch_one_comes_to_its_place(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = ParquetFolder(tmp_path / "out")
    rename = os.rename

    def after_another(source: Path, target: Path) -> None:
        if "batch=" in str(target):
            monkeypatch.undo()
            rename(source, str(source) + "-late")
            sink.commit(pairs(spark, 20), "query", 0)
            os.makedirs(source)
            (source / "late").touch()
        rename(source, target)

    monkeypatch.setattr(os, "rename", after_another)
    sink.commit(pairs(spark, 20), "query", 0)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 20
    assert sink.batches() == [0]


def test_a_note_that_is_damaged_is_refused_by_name(spark: "SparkSession", tmp_path: Path) -> None:
    sink = ParquetFolder(tmp_path / "out")
    sink.commit(pairs(spark, 2), "query", 0)
    (note,) = (tmp_path / "out").glob("batch=*/_tidegate.json")
    for text in ("", "[]", '{"batch": 0}', '{"query"'):
        note.write_text(text)
        with pytest.raises(StoreError, match=r"_tidegate\.json is damaged"):
            sink.commit(pairs(spark, 2), "query", 0)
    note.unlink()
    with pytest.raises(StoreError, match=r"_tidegate\.json is missing"):
        sink.commit(pairs(spark, 2), "query", 1)


def test_subscribers_are_in_their_bucket_or_in_a_folder_of_their_own(
    spark: "SparkSession", tmp_path: Path
) -> None:
    sink = ParquetFolder(
        tmp_path / "out", buckets=4, folders=["subscriber 3", "subscriber 5", "a/b"]
    )
    sink.commit(pairs(spark, 100, errors=2), "query", 0)
    sink.commit(pairs(spark, 100), "query", 1)
    found = spark.read.parquet(str(tmp_path / "out"))
    rows = found.groupBy("kind", "folder", "subscriber").count().collect()
    of: dict[str | None, tuple[str, str, int]] = {}
    for row in rows:
        assert row.subscriber not in of, "a subscriber is in two folders"
        of[row.subscriber] = (row.kind, row.folder, row["count"])
    assert of.pop(None) == ("errors", "errors", 2)
    assert of.pop("subscriber 3") == ("notifications", "subscriber 3", 20)
    assert of.pop("subscriber 5") == ("notifications", "subscriber 5", 20)
    assert len(of) == 8
    buckets = {f"bucket-{number:03d}" for number in range(4)}
    for kind, folder, count in of.values():
        assert (kind, count) == ("notifications", 20)
        assert folder in buckets
    assert len({folder for _, folder, _ in of.values()}) > 1


def test_names_of_folders_may_have_any_characters(spark: "SparkSession", tmp_path: Path) -> None:
    names = ["a/b", "..", "x=y", "ü %41", "123"]
    rows = [(name, f"{name}!", name, 1, None) for name in names]
    columns = "number string, subscription string, subscriber string, version bigint, error string"
    sink = ParquetFolder(tmp_path / "out", buckets=1, folders=names)
    sink.commit(spark.createDataFrame(rows, columns), "query", 0)
    found = spark.read.parquet(str(tmp_path / "out")).collect()
    assert {(row.folder, row.subscriber) for row in found} == {(name, name) for name in names}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(TidegateError, match="a file system that driver and executors share"):
        ParquetFolder("s3://somewhere/out")
    with pytest.raises(TidegateError, match="there are 1 or more buckets, not 0"):
        ParquetFolder(tmp_path, buckets=0)
    with pytest.raises(TidegateError, match="say how many buckets"):
        ParquetFolder(tmp_path, folders=["alice"])
    with pytest.raises(TidegateError, match="one of the buckets"):
        ParquetFolder(tmp_path, buckets=2, folders=["bucket-01"])
    with pytest.raises(SchemaError, match="a column 'kind' of its own"):
        ParquetFolder(tmp_path).require(["number", "Kind"])
    with pytest.raises(SchemaError, match="a column 'folder' of its own"):
        ParquetFolder(tmp_path, buckets=2).require(["folder", "subscriber"])
    with pytest.raises(TidegateError, match='they need the output "pairs"'):
        ParquetFolder(tmp_path, buckets=2).require(["number", "matches"])
    ParquetFolder(tmp_path).require(["folder", "matches"])
    for place in (f"file://{tmp_path}", f"file:{tmp_path}", os.path.relpath(tmp_path)):
        assert ParquetFolder(place) == ParquetFolder(tmp_path)


def test_a_hook_is_given_the_notifications_and_the_batch(spark: "SparkSession") -> None:
    given: list[tuple[int, int]] = []
    hook = Hook(lambda notifications, batch: given.append((notifications.count(), batch)))
    hook.require(["anything"])
    hook.commit(pairs(spark, 9), "query", 4)
    assert given == [(9, 4)]


def test_the_note_says_whose_batch_it_is(spark: "SparkSession", tmp_path: Path) -> None:
    ParquetFolder(tmp_path / "out").commit(pairs(spark, 1), "query", 12)
    note = tmp_path / "out" / "batch=00000000000000000012" / "_tidegate.json"
    assert json.loads(note.read_text()) == {"query": "query", "batch": 12}

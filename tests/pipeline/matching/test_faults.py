"""Processes that are killed, files that are damaged, disks that are full.

After a restart nothing is lost and nothing has come twice, by Spark SQL on the pinned versions; or
the refusal is clear and names the file.
"""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import tidegate as tg
from tests import ROOT
from tests.pipeline import full_disk, streams
from tests.pipeline.streams import Stream
from tidegate.pipeline import ParquetFolder, Store, vacuum
from tidegate.pipeline.bases import catalog, compile_job
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching.matcher import kept_matcher
from tidegate.pipeline.store import pins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def environment(**more: str) -> dict[str, str]:
    """Where a new process finds Tidegate and its tests."""
    places = [str(ROOT), str(Path(tg.__file__).parents[1])]
    settings = {
        "PYTHONPATH": os.pathsep.join(places),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # a Java that does not live long had better start fast
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    return {**os.environ, **settings, **more}


def drive(folder: Path, **faults: str) -> int:
    """Run a driver, and how it ended."""
    command = [sys.executable, str(HERE / "driver.py"), str(folder)]
    said = subprocess.DEVNULL
    return subprocess.run(command, env=environment(**faults), stdout=said, stderr=said).returncode


def spark_has_committed(stream: Stream) -> list[int]:
    names = (path.name for path in (stream.checkpoint / "commits").iterdir())
    return sorted(int(name) for name in names if name.isdecimal())


def test_a_driver_that_is_killed_again_and_again_loses_nothing_and_delivers_nothing_twice(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = streams.make(tmp_path, batches=5)
    store = stream.store

    # between the pin and the sink's commit, while the store changes
    assert drive(tmp_path, DIE="written:1") == -signal.SIGKILL
    assert stream.sink.batches() == spark_has_committed(stream) == [0]
    assert any((tmp_path / "out" / "_staging").iterdir())
    pinned = stream.versions()
    assert pinned == {0: 3, 1: 5}
    assert store.version() == 7
    store.remove("all")
    store.compact()
    removed = vacuum(store, older_than=0)
    assert store.files(5)[0] not in removed

    # after the sink's commit and before Spark's; before, a worker in the middle of a batch
    assert drive(tmp_path, DIE="delivered:2", KILL_WORKER="1") == -signal.SIGKILL
    assert (tmp_path / "worker-was-killed").exists()
    assert stream.sink.batches() == [0, 1, 2]
    assert spark_has_committed(stream) == [0, 1]
    assert stream.versions()[1] == pinned[1]

    # in the middle of a commit of the store, which is then not there
    version = store.version()
    assert drive(tmp_path, DIE="changing:3") == -signal.SIGKILL
    assert store.version() == version + 2  # what replaying batch 2 added was there before
    assert stream.sink.batches() == [0, 1, 2, 3]

    stream.run(spark)
    assert stream.sink.batches() == spark_has_committed(stream) == [0, 1, 2, 3, 4]
    delivered = stream.delivered(spark)
    assert delivered == stream.wanted(spark)
    seen = {batch: {row[1] for row in delivered if row[0] // 1000 == batch} for batch in range(5)}
    assert ["all" in seen[batch] for batch in range(5)] == [True, True, False, False, False]
    assert list((tmp_path / "out" / "_staging").iterdir()) == []


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def corrupt(path: Path) -> None:
    """Another byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, corrupt, Path.unlink])
@pytest.mark.parametrize("part", ["index-", "names-", "base-"])
def test_a_worker_refuses_a_damaged_base_by_name(
    tmp_path: Path, part: str, damage: Callable[[Path], None]
) -> None:
    store = Store.create(tmp_path / "store")
    streams.add_some(store, "some", 20)
    base = streams.write_base(store)
    (path,) = Path(store.path, "bases").glob(f"{part}*")
    damage(path)
    with pytest.raises(tg.TidegateError, match=path.name) as refused:
        kept_matcher(store.path, base.name, 2).part(0)
    if part == "names-":
        assert str(refused.value).endswith(f"; {catalog.REMEDY}")


def test_a_damaged_pin_is_refused_by_name(tmp_path: Path) -> None:
    for damage in (truncate, lambda path: path.write_text('{"versions": 3}')):
        assert pins.pin(str(tmp_path), "query", 4, 17) == 17
        (path,) = tmp_path.glob("pins/query/*.json")
        damage(path)
        with pytest.raises(tg.TidegateError, match=r"pins/query/0*4\.json is damaged"):
            pins.pin(str(tmp_path), "query", 4, 18)
        path.unlink()


@pytest.mark.parametrize(("part", "damage"), [("index-", corrupt), ("base-", truncate)])
def test_a_stream_refuses_a_damaged_base_and_goes_on_when_it_is_gone(
    spark: "SparkSession", tmp_path: Path, part: str, damage: Callable[[Path], None]
) -> None:
    stream = streams.make(tmp_path, batches=2)
    schema = tg.Schema(stream.source(spark).schema)
    compile_job.compile_base(stream.store, spark, Attributes(schema), 3)
    (path,) = Path(stream.store.path, "bases").glob(f"{part}*")
    damage(path)
    with pytest.raises(Exception, match=path.name):
        stream.run(spark)
    stream.store.remove("all")
    for each in Path(stream.store.path, "bases").iterdir():
        each.unlink()
    stream.run(spark)
    # a worker finds out after the pin, the driver before
    assert stream.versions() == {0: 3 if part == "index-" else 4, 1: 4}
    assert stream.delivered(spark) == stream.wanted(spark)


@dataclass
class Full:
    """A sink on a disk that is full: Java cannot write files larger than some bytes."""

    sink: ParquetFolder
    java: int
    size: int

    def require(self, columns: Sequence[str]) -> None:
        self.sink.require(columns)

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        kind = resource.RLIMIT_FSIZE
        before = resource.prlimit(self.java, kind)
        resource.prlimit(self.java, kind, (self.size, before[1]))
        try:
            self.sink.commit(notifications, query, batch)
        finally:
            resource.prlimit(self.java, kind, before)


def test_a_disk_that_is_full_while_a_batch_is_written_delivers_nothing_of_it(
    spark: "SparkSession", tmp_path: Path
) -> None:
    stream = streams.make(tmp_path, batches=2, size=900)
    gateway: Any = spark.sparkContext._gateway
    with pytest.raises(Exception, match="File too large"):
        stream.run(spark, Full(stream.sink, gateway.proc.pid, 2000))
    assert stream.sink.batches() == []
    streams.add_some(stream.store, "later", 10)
    stream.run(spark)
    assert stream.versions() == {0: 3, 1: 5}
    assert stream.delivered(spark) == stream.wanted(spark)


@pytest.mark.parametrize(
    ("what", "size"),
    [("change", 0), ("change", 3000), ("compact", 3000), ("compile", 3000), ("compile", 300_000)],
)
def test_a_disk_that_is_full_while_a_store_is_written_leaves_it_as_it_was(
    tmp_path: Path, what: str, size: int
) -> None:
    store = Store.create(tmp_path / "store")
    ids = [f"{k:060d}" for k in range(5000)]  # long, so that names take more than the index
    lows = [k / 7 for k in range(5000)]
    store.add_many(pa.table({"id": ids, "low": lows}), filter="price > :low")
    store.remove(ids[7])
    before = store.subscriptions()
    run = subprocess.run(
        [sys.executable, full_disk.__file__, store.path, str(size), what],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stderr
    assert run.stdout.startswith("refused: ")
    assert store.path in run.stdout
    again = Store.open(store.path)
    assert again.version() == 2
    assert again.subscriptions() == before
    assert list(Path(store.path, "bases").glob("base-*")) == []
    again.add("next", "price > 1")
    vacuum(again, older_than=0)
    assert list(Path(store.path, "bases").glob("*")) == []
    assert len(again.files()) == len(list(Path(store.path, "changes").glob("*.parquet"))) == 3

"""Executors in processes of their own: the same notifications, also when one of them is killed.

One application on one cluster does everything (`cluster_driver`), once for all tests here. Its
executors have no working directory, home or temporary folder in common.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import tidegate as tg
from tests.pipeline import streams
from tests.pipeline.matching.test_faults import environment
from tests.pipeline.spark import cluster_driver
from tests.pipeline.streams import Row, Stream
from tidegate.cli import app
from tidegate.commands import cluster as cluster_command
from tidegate.errors import TidegateError
from tidegate.filters.literals import decode
from tidegate.pipeline import match
from tidegate.pipeline.spark.cluster import HOST, cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
STREAMS = ("plain", "folder", "spark", "careless")


@dataclass(frozen=True)
class Ran:
    """What the application has left."""

    folder: Path
    executors: int

    def stream(self, name: str) -> Stream:
        return Stream(self.folder / name)

    def noted(self, name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / f"{name}.json").read_text())
        return found


@pytest.fixture(scope="module")
def ran(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("cluster")
    for name in STREAMS:
        (folder / name).mkdir()
        last = cluster_driver.DEADLY if name == "careless" else cluster_driver.BATCHES - 1
        streams.make(folder / name, batches=last + 1, size=cluster_driver.SIZE)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        with cluster(executors=2) as running:
            command = [sys.executable, str(HERE / "cluster_driver.py"), str(folder), "{master}"]
            said = subprocess.run(
                running.command(command),
                env={**os.environ, **running.environment()},
                capture_output=True,
                text=True,
            )
            assert said.returncode == 0, said.stderr
            print(said.stdout)
            assert running.is_whole()
    return Ran(folder, executors=2)


def engine(stream: Stream) -> list[Row]:
    """What an index of the store's first version finds in the events of a stream."""
    version = stream.store.version()
    index = tg.Index(tg.Schema("number bigint, symbol string, price double"))
    subscribers = {}
    for row in stream.store.subscriptions(version).to_pylist():
        values = {name: decode(text) for name, text in row["parameters"]}
        index.add(row["id"], row["filter"], **values)
        subscribers[row["id"]] = row["subscriber"]
    found = []
    for path in sorted(stream.events.glob("*.json")):
        for event in map(json.loads, path.read_text().splitlines()):
            found += [
                (event["number"], str(id), subscribers[id], version) for id in index.match(event)
            ]
    return sorted(found)


def rows_in(spark: "SparkSession", path: Path) -> list[Row]:
    found = spark.read.parquet(str(path)).where("error IS NULL")
    return streams.in_rows(
        found.select("number", "subscription", "subscriber", "version").toArrow()
    )


def test_two_executors_find_what_one_process_and_the_engine_find(
    spark: "SparkSession", ran: Ran
) -> None:
    stream = ran.stream("plain")
    found = rows_in(spark, stream.folder / "out")
    events = spark.read.schema(streams.EVENTS).json(str(stream.events))
    local = match(events, stream.store).select("number", "subscription", "subscriber", "version")
    assert found == streams.in_rows(local.toArrow()) == engine(stream)
    assert len({number for number, *_ in found}) == cluster_driver.BATCHES * cluster_driver.SIZE


def test_both_executors_take_part_and_share_no_folder(ran: Ran) -> None:
    tasks = ran.noted("tasks")
    for what in ("executor", "place", "home", "temporary"):
        assert len({task[what] for task in tasks}) == ran.executors, what
    here = {os.getcwd(), os.environ.get("HOME"), os.environ.get("TMPDIR")}
    assert here.isdisjoint(task[what] for task in tasks for what in ("place", "home", "temporary"))


def test_a_data_frame_of_subscriptions_needs_a_place_that_executors_see(
    spark: "SparkSession", ran: Ran
) -> None:
    assert "say scratch=" in (ran.folder / "refused").read_text()
    events = spark.read.schema(streams.EVENTS).json(str(ran.stream("plain").events))
    cheap = {row.number for row in events.where("price < 50").collect()}
    found = rows_in(spark, ran.folder / "framed")
    assert found == sorted((number, "half", "half", 1) for number in cheap)


@pytest.mark.parametrize("name", ["folder", "spark"])
def test_an_executor_that_is_killed_in_a_stream_loses_nothing_and_delivers_nothing_twice(
    spark: "SparkSession", ran: Ran, name: str
) -> None:
    stream = ran.stream(name)
    assert (stream.folder / "executor-was-killed").exists()
    versions = stream.versions()
    assert sorted(versions) == list(range(cluster_driver.BATCHES))
    deadly = versions[cluster_driver.DEADLY]
    assert deadly < stream.store.version()  # it has changed while the executor died
    assert max(versions.values()) > deadly
    delivered = rows_in(spark, stream.folder / "out")
    assert delivered == stream.wanted(spark)
    died = {id for _, id, _, _ in delivered if id.startswith("while-dying")}
    seen = {number // 1000 for number, id, _, _ in delivered if id in died}
    assert seen == set(range(cluster_driver.DEADLY + 1, cluster_driver.BATCHES))


def test_a_careless_sink_has_notifications_twice_after_the_same(
    spark: "SparkSession", ran: Ran
) -> None:
    stream = ran.stream("careless")
    assert (stream.folder / "executor-was-killed").exists()
    delivered = Counter(
        tuple(json.loads(line))
        for path in (stream.folder / "out").iterdir()
        for line in path.read_text().splitlines()
    )
    wanted = Counter(stream.wanted(spark))
    assert set(delivered) == set(wanted)
    twice = delivered - wanted
    assert {number // 1000 for number, *_ in twice} == {cluster_driver.DEADLY}


def test_workers_of_a_machine_share_the_index(ran: Ran) -> None:
    size = sum(path.stat().st_size for path in (ran.folder / "many" / "bases").iterdir())
    few, many = ran.noted("few"), ran.noted("many")
    assert len(many) >= ran.executors
    for worker in many:
        assert worker["mapped"] > 0.9 * size
        assert worker["alone"] < 0.05 * size
    before = max(worker["private"] for worker in few)
    grown = max(worker["private"] for worker in many) - before
    print(
        f"{cluster_driver.RULES:,} subscriptions: index and names {size / 2**20:.1f} MB; private "
        f"memory of a worker {before / 2**20:.1f} MB with few, {grown / 2**20:+.1f} MB with all"
    )


def processes(place: Path) -> list[int]:
    """Those that have a path in their command."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(place).encode() in each.read_bytes():
                found.append(int(each.parent.name))
    return found


def started(place: Path, *words: str) -> "subprocess.Popen[str]":
    """The command `tidegate cluster` with everything of the cluster in a folder."""
    program = "from tidegate.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", program, "cluster", "--executors", "1", *words],
        env=environment(TMPDIR=str(place)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def require_nothing_left(place: Path) -> None:
    deadline = time.monotonic() + 60
    while (processes(place) or any(place.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes(place) == []
    assert list(place.iterdir()) == []


@pytest.mark.spark
def test_a_cluster_that_is_killed_leaves_neither_processes_nor_files(tmp_path: Path) -> None:
    with started(tmp_path) as command:
        assert command.stdout is not None
        line = command.stdout.readline()
        assert line.startswith("1 executor at spark://127.0.0.1:")
        assert len(processes(tmp_path)) >= 3  # a master, a worker, the keeper
        command.kill()
    require_nothing_left(tmp_path)


@pytest.mark.spark
def test_a_command_is_told_the_master_and_ends_with_the_cluster(tmp_path: Path) -> None:
    program = "import sys, time; print(*sys.argv[1:], flush=True); time.sleep(600)"
    with started(tmp_path, "--", sys.executable, "-c", program, "at {master}") as command:
        assert command.stdout is not None
        assert command.stdout.readline().startswith("at spark://127.0.0.1:")
        command.terminate()
        assert command.wait() == 128 + signal.SIGTERM
    require_nothing_left(tmp_path)


@pytest.mark.spark
def test_the_exit_code_of_a_command_is_kept() -> None:
    for program, code in [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)]:
        assert cluster_command._ended([sys.executable, "-c", program], {**os.environ}) == code


def test_a_port_that_is_taken_is_refused_by_its_number() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        port = other.getsockname()[1]
        said = CliRunner().invoke(app, ["cluster", "--port", str(port)])
    assert said.exit_code == 2
    assert f"cannot listen at {HOST}:{port}: Address already in use" in said.output


def test_a_program_that_is_not_there_is_said_before_anything_starts() -> None:
    said = CliRunner().invoke(app, ["cluster", "--", "no-such-program", "{master}"])
    assert said.exit_code == 2
    assert "there is no program no-such-program" in said.output


def test_a_master_that_does_not_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bin" / "spark-class"
    script.parent.mkdir()
    script.write_text(
        "#!/bin/sh\necho the disk is on fire\nprintf '\\tat Some.java:1\\n'\nexit 1\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with (
        pytest.raises(TidegateError, match=r"master did not start:\n  the disk is on fire$"),
        cluster(),
    ):
        pass

"""A grid runs anywhere, goes on where it was killed, and loses nothing by a point that raises."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tests.pipeline.matching.test_faults import environment
from tidegate.errors import LabError
from tidegate.lab.experiments.catalogue import chosen
from tidegate.lab.experiments.experiment import Experiment, Size, grid
from tidegate.lab.experiments.rehearsal import REHEARSAL
from tidegate.lab.runner import tasks
from tidegate.lab.runner.code import version
from tidegate.lab.runner.job import run
from tidegate.lab.runner.results import Results
from tidegate.lab.runner.tasks import compute, planned
from tidegate.pipeline.spark.cluster import cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from pathlib import Path
from tests.lab.test_runner import cheap
from tidegate.lab.runner.code import version
from tidegate.lab.runner.job import run
run([cheap()], "small", Path(sys.argv[1]), master=sys.argv[2])
"""


def cheap(points: int = 8, count: int = 200) -> Experiment:
    """The rehearsal with a grid of its own."""
    starts = range(1_000, 1_000 * (points + 1), 1_000)
    return dataclasses.replace(REHEARSAL, sizes={"small": Size(grid(start=starts, count=[count]))})


def rows(folder: Path) -> list[dict[str, Any]]:
    """What was counted, at every point."""
    aside = {"version", "data", "machine", "seconds", "finished", "timings", "cpu"}
    found = Results(folder).rows("rehearsal", "small")
    kept = [{k: v for k, v in row.items() if k not in aside} for row in found]
    return sorted(kept, key=lambda row: (row["start"], row["seed"]))


def expected(experiment: Experiment) -> list[dict[str, Any]]:
    """The same without any runner."""
    return [
        {
            **point,
            "primes": experiment.measure(point, seed)["primes"],
            "experiment": "rehearsal",
            "scale": "small",
            "seed": seed,
        }
        for point in experiment.size("small").points
        for seed in experiment.size("small").seeds
    ]


def test_every_point_gets_its_row_and_is_computed_once(
    spark: "SparkSession", tmp_path: Path
) -> None:
    own = cheap()
    first = run([own], "small", tmp_path)
    assert (first.computed, first.before, first.failures) == (8, 0, ())
    assert rows(tmp_path) == expected(own)
    files = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}
    assert len(files) == 8
    again = run([own], "small", tmp_path, seeds=2)
    assert (again.computed, again.before) == (8, 8)
    assert all(file.stat().st_mtime_ns == when for file, when in files.items())
    assert len(rows(tmp_path)) == 16


def test_a_row_says_where_it_comes_from(tmp_path: Path) -> None:
    results = Results(tmp_path)
    [task, *_], done = planned([cheap(1)], "small", results)
    assert done == 0
    assert compute(task, results) is None
    row = pq.read_table(task.path).to_pylist()[0]
    assert row["version"] == version()
    assert row["timings"] == ["cpu"]
    assert "cores" in row["machine"]
    assert row["start"] == 1_000


def test_a_point_that_raises_is_named_and_the_others_are_kept(
    spark: "SparkSession", tmp_path: Path
) -> None:
    points = (*cheap(3).size("small").points, {"start": -5, "count": 10})
    own = dataclasses.replace(REHEARSAL, sizes={"small": Size(points)})
    ran = run([own], "small", tmp_path)
    assert ran.computed == 3
    with pytest.raises(LabError, match=r"1 of 4 points failed") as caught:
        ran.check()
    assert "rehearsal at start = -5, count = 10, seed 1: ValueError" in str(caught.value)
    assert len(rows(tmp_path)) == 3
    assert run([own], "small", tmp_path).before == 3


def test_changed_code_is_said_and_nothing_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, results = cheap(3), Results(tmp_path)
    left, _ = planned([own], "small", results)
    monkeypatch.setattr(tasks, "version", lambda: "0+other")
    assert compute(left[0], results) is None
    monkeypatch.undo()
    with pytest.raises(LabError, match=r"1 of 3 points of rehearsal .*0\+other") as caught:
        planned([own], "small", results)
    assert "--old keep" in str(caught.value)
    assert left[0].path.exists()
    assert [len(planned([own], "small", results, old=o)[0]) for o in ("keep", "again")] == [2, 3]


def test_other_data_is_said_as_well(tmp_path: Path) -> None:
    results = Results(tmp_path)
    own = dataclasses.replace(cheap(2), data=lambda: "a made-up DTD")
    left, _ = planned([own], "small", results)
    assert compute(left[0], results) is None
    assert len(planned([own], "small", results)[0]) == 1
    other = dataclasses.replace(own, data=lambda: "the DTD of NITF")
    with pytest.raises(LabError, match=r"1 of 2 points .* a made-up DTD; .* the DTD of NITF\)"):
        planned([other], "small", results)


def test_what_cannot_be_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"no experiment 'fig10'; there are: all, subsumption"):
        chosen(["fig10"])
    results = Results(tmp_path)
    for size, said in (
        (Size(()), "no points"),
        (Size(({"a": 1}, {"b": 1})), "same parameters"),
        (Size(({"a": 1}, {"a": 1})), "twice in the grid"),
        (Size(({"seed": 1},)), "cannot be called seed"),
        (Size(({"a": 1},), seeds=()), "no seeds"),
    ):
        own = dataclasses.replace(REHEARSAL, sizes={"small": size})
        with pytest.raises(LabError, match=said):
            planned([own], "small", results)
    with pytest.raises(LabError, match="at least one value of k"):
        grid(k=[])
    with pytest.raises(LabError, match="no parameter 'k'; it has: start, count"):
        planned([cheap()], "small", results, only={"k": "1"})
    with pytest.raises(LabError, match=r"no point of rehearsal has start = 7. There are: start"):
        planned([cheap()], "small", results, only={"start": "7"})
    with pytest.raises(LabError, match="no scale 'huge'"):
        planned([cheap()], "huge", results)
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="cannot write results to"):
        run([cheap()], "small", tmp_path / "file")


def test_a_file_that_is_no_row_is_named(tmp_path: Path) -> None:
    results = Results(tmp_path)
    [task, *_], _ = planned([cheap(1)], "small", results)
    task.path.parent.mkdir(parents=True)
    task.path.write_bytes(b"not parquet")
    with pytest.raises(LabError, match="is not a row of the lab"):
        planned([cheap(1)], "small", results)


def _start(folder: Path, master: str, **more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), master],
        env=environment(**more),
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )


def test_killed_and_resumed_gives_the_same_rows(spark: "SparkSession", tmp_path: Path) -> None:
    """The driver and all its processes are killed as soon as a few points are there."""
    driver = _start(tmp_path, "local[1]")
    deadline = time.monotonic() + 300
    while len(list(tmp_path.rglob("*.parquet"))) < 3:
        assert driver.poll() is None or len(list(tmp_path.rglob("*.parquet"))) == 8
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}
    own = cheap()
    ran = run([own], "small", tmp_path)
    assert ran.before == len(kept) >= 3
    assert all(file.stat().st_mtime_ns == when for file, when in kept.items())
    assert rows(tmp_path) == expected(own)


def test_two_executors_give_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    with cluster(executors=2) as running:
        driver = _start(tmp_path, running.master, **running.environment())
        assert driver.wait(timeout=300) == 0
    assert rows(tmp_path) == expected(cheap())

"""Several processes change one store at the same time; processes are killed while they do."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.pipeline import reading
from tests.pipeline.store.store_oracle import Change, OracleStore
from tidegate.pipeline import Store

pytestmark = pytest.mark.slow

WRITER = Path(__file__).with_name("writer.py")
LONG = os.environ.get("TIDEGATE_LONG") == "1"


@contextmanager
def writers(
    path: Path, mode: str, names: list[str], count: int
) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that have loaded everything and wait for a line to begin."""
    started = [
        subprocess.Popen(
            [sys.executable, str(WRITER), str(path), mode, name, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                stream.close()


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def said(process: subprocess.Popen[str]) -> list[int]:
    """The numbers that a process has printed until it ended."""
    assert process.stdout is not None
    return [int(line) for line in process.stdout.read().split()]


def replayed(store: Store) -> OracleStore:
    """All changes of a store, applied one by one: each of them was valid when it was made."""
    oracle = OracleStore()
    for version in range(1, store.version() + 1):
        rows = store.changes(version - 1, version).to_pylist()
        changes = [
            Change(
                row["change"],
                row["id"],
                row["subscriber"],
                row["filter"],
                reading.decoded(row["parameters"]),
            )
            for row in rows
        ]
        if changes:
            assert oracle.change(changes) == version
        else:
            oracle.same_again()
    return oracle


@pytest.mark.parametrize("number", [2, 4])
def test_no_commit_of_processes_that_race_is_lost_or_invalid(tmp_path: Path, number: int) -> None:
    store = Store.create(tmp_path / "store")
    names = [f"writer{k}" for k in range(number)]
    with writers(tmp_path / "store", "race", names, 100 if LONG else 15) as processes:
        for process in processes:
            begin(process)
        versions = sorted(version for process in processes for version in said(process))
        assert [process.wait() for process in processes] == [0] * number
    assert versions == list(range(1, store.version() + 1))
    oracle = replayed(store)
    assert reading.state(store.subscriptions()) == reading.expected_state(oracle.states[-1])
    own = [id for id in oracle.states[-1] if id != "shared"]
    assert len(own) == number * (100 if LONG else 15)
    # every file that was written for a commit that somebody else made is gone
    assert len(list((tmp_path / "store" / "changes").glob("*.parquet"))) == store.version()


def test_threads_may_share_a_store(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")

    def work(name: int) -> list[int]:
        versions = []
        for number in range(8):
            versions.append(store.add(f"{name}-{number}", "x < :p", parameters={"p": number}))
            assert store.get(f"{name}-{number}").parameters == {"p": number}
        return versions

    with ThreadPoolExecutor(4) as pool:
        versions = sorted(version for found in pool.map(work, range(4)) for version in found)
    assert versions == list(range(1, 33))
    assert len(replayed(store).states[-1]) == len(store.subscriptions()) == 32


def test_compacting_and_vacuuming_beside_a_writer_loses_nothing(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    compacted: set[int] = set()
    with writers(tmp_path / "store", "race", ["writer"], 200 if LONG else 40) as (process,):
        begin(process)
        while process.poll() is None:
            compacted.add(store.compact())
            store.vacuum(keep=[0])
        versions = set(said(process))
    compacted -= versions  # where there was nothing to compact
    assert len(compacted - {0}) > 1
    assert versions | compacted | {0} == set(range(store.version() + 1))
    state = reading.expected_state(replayed(store).states[-1])
    assert reading.state(store.subscriptions()) == state


def check_whole(store: Store, acknowledged: dict[str, int]) -> None:
    """Commits of five are there wholly or not at all, and those that were acknowledged are."""
    found: dict[str, int] = {}
    for id in store.subscriptions()["id"].to_pylist():
        batch, _, _ = id.rpartition("-")
        found[batch] = found.get(batch, 0) + 1
    assert set(found.values()) <= {5}
    for name, number in acknowledged.items():
        done = sum(batch.startswith(f"{name}-") for batch in found)
        assert done in (number, number + 1)


def test_a_process_killed_at_any_moment_leaves_whole_commits(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    names = [f"writer{k}" for k in range(30 if LONG else 5)]
    choice = random.Random(5)
    acknowledged: dict[str, int] = {}
    with writers(tmp_path / "store", "fill", names, 1_000_000) as processes:
        for name, process in zip(names, processes, strict=True):
            begin(process)
            time.sleep(choice.uniform(0.02, 0.15))
            process.send_signal(signal.SIGKILL)
            process.wait()
            acknowledged[name] = len(said(process))
            again = Store.open(tmp_path / "store")
            check_whole(again, acknowledged)
            assert again.add(f"after-{name}-0", "x > 1") == again.version() == store.version()
            again.remove(f"after-{name}-0")
    assert sum(acknowledged.values()) > 0


@pytest.mark.parametrize(("mode", "done"), [("half", 2), ("before", 2), ("after", 3)])
def test_a_process_killed_in_a_commit_leaves_it_wholly_or_not_at_all(
    tmp_path: Path, mode: str, done: int
) -> None:
    store = Store.create(tmp_path / "store")
    with writers(tmp_path / "store", mode, ["writer"], 1000) as (process,):
        begin(process)
        assert process.wait() == -signal.SIGKILL
        assert said(process) == [0, 1]
    assert store.version() == done
    assert len(store.subscriptions()) == 5 * done
    assert store.add("next", "x > 1") == done + 1
    left = {Path(name).name for name in store.vacuum()}
    assert len(left) == (0 if mode == "after" else 1)
    assert len(store.subscriptions()) == 5 * done + 1

"""Work aside lets others go first; with the interpreter it ends, and does not make it end badly."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from tidegate.engine.primitives import background

pytestmark = pytest.mark.slow

FOREVER = """
import threading, time
from tidegate.engine.primitives import background
woken = threading.Event()
def work():
    while True:
        background.step()
        {wait}
background.start(work, woken.set, "test")
time.sleep(0.1)
print("done")
"""

MERGING = """
import time
import pyarrow as pa
from tidegate.engine.index import Index
from tidegate.engine.compile import compiler
index = Index()
building = threading.Event()
build = compiler.build
def slow(*given):
    if threading.current_thread().name == "tidegate-merge":
        building.set()
        time.sleep(0.5)
        print("built", flush=True)
    return build(*given)
compiler.build = slow
for part in range(4):
    ids = range(3_000 * part, 3_000 * (part + 1))
    index.add_many(pa.table({{"id": ids, "x": ids}}), filter="x = :x")
assert building.wait(60)
{more}
print("done", flush=True)
"""


def run(program: str, *printed: str) -> None:
    """Run a program that has to end by itself, and well."""
    ended = subprocess.run(
        [sys.executable, "-c", "import threading\n" + program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "\n".join([*printed, ""]), "")


@pytest.mark.parametrize("wait", ["time.sleep(0.01)", "woken.wait()", "pass"])
def test_work_is_left_between_two_steps(wait: str) -> None:
    run(FOREVER.format(wait=wait), "done")


def test_a_step_of_merging_is_waited_for() -> None:
    run(MERGING.format(more=""), "done", "built")


def test_an_index_may_be_changed_and_saved_at_the_very_end(tmp_path: object) -> None:
    """By a function that is called after work aside was told to stop."""
    late = (
        "import atexit\n"
        "def late():\n"
        "    index.add(-1, 'x = 0')\n"
        f"    index.save({str(tmp_path)!r} + '/late.index')\n"
        f"    assert len(Index.open({str(tmp_path)!r} + '/late.index')) == 12_001\n"
        "from tidegate.engine.primitives import background\n"
        "atexit.unregister(background._end)\n"
        "atexit.register(late)\n"
        "atexit.register(background._end)\n"
    )
    run(MERGING.format(more=late), "done", "built")


@pytest.fixture
def steps() -> Iterator[list[float]]:
    """The moments at which some work aside makes a step, until the test is over."""
    made: list[float] = []
    enough = threading.Event()

    def work() -> None:
        while not enough.wait(0.001):
            background.step()
            made.append(time.perf_counter())

    thread = background.start(work, enough.set, "test")
    yield made
    enough.set()
    thread.join(10)
    assert not thread.is_alive()


def wait_for_more(steps: list[float], count: int) -> None:
    before = len(steps)
    for _ in range(1_000):
        if len(steps) >= before + count:
            return
        time.sleep(0.01)
    raise AssertionError("work aside does not go on")


def test_work_waits_while_others_go_first(
    steps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_PATIENCE", 60)
    wait_for_more(steps, 3)
    with background.first():
        with background.first():
            time.sleep(0.05)  # the step that was begun before is made
            made = len(steps)
            time.sleep(0.1)
        time.sleep(0.1)  # one of the two is still there
        assert len(steps) == made
        background.step()  # whoever is not aside does not wait
    wait_for_more(steps, 3)


def test_nobody_is_waited_for_longer_than_patience_lasts(
    steps: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_PATIENCE", 0.02)
    with background.first():
        wait_for_more(steps, 3)


def test_who_fails_does_not_go_first_for_ever(steps: list[float]) -> None:
    with pytest.raises(ValueError, match="no"), background.first():
        raise ValueError("no")
    wait_for_more(steps, 3)

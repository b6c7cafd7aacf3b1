"""A broker that writes to disk is killed, again and again: nothing that it has acknowledged is
lost, and nothing is applied twice."""

import os
import signal
from contextlib import suppress
from itertools import chain, repeat
from pathlib import Path
from random import Random
from threading import Timer

import pytest

from tests.network.killed import Act, Ends, check, history, properly, run, too_early

pytestmark = pytest.mark.slow

LONG = os.environ.get("TIDEGATE_LONG") == "1"
SEEDS = range(8 if LONG else 1)
AT_RANDOM = 520 if LONG else 6
SOON = 0.03  # seconds


def kill_at_every_boundary(folder: Path, seed: int, act: Act = properly) -> int:
    """Live through a history, once for each boundary in it; how many there are."""
    changes = history(seed, 5)
    boundary = 0
    while True:
        boundary += 1
        ends = Ends(changes)
        fatal = chain([boundary], repeat(None))
        run(folder / str(boundary), ends, fatal=fatal, act=act)
        check(ends)
        if not ends.kills:
            return boundary - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_at_every_boundary_between_effects(seed: int, tmp_path: Path) -> None:
    assert kill_at_every_boundary(tmp_path, seed) > 60


class Killer:
    """Kills processes soon; but later, where they live too short to answer anything."""

    def __init__(self, ends: Ends, random: Random) -> None:
        self._ends = ends
        self._random = random
        self._answered = 0
        self._longest = SOON

    def __call__(self, pid: int) -> None:
        stuck = self._ends.answered == self._answered
        self._longest = 1.2 * self._longest if stuck else SOON
        self._answered = self._ends.answered
        Timer(self._random.random() * self._longest, _kill, [pid]).start()


def test_at_any_time(tmp_path: Path) -> None:
    random, kills, round_ = Random(5), 0, 0
    while kills < AT_RANDOM:
        round_ += 1
        ends = Ends(history(round_, 40))
        killer = Killer(ends, random)
        run(tmp_path / str(round_), ends, fatal=repeat(None), after=killer)
        check(ends)
        kills += ends.kills


def test_again_and_again_while_it_recovers(tmp_path: Path) -> None:
    ends = Ends(history(3, 12))
    run(tmp_path, ends, fatal=chain(range(5, 60, 3), repeat(None)))
    assert ends.kills > 10
    check(ends)


def test_what_is_acknowledged_before_it_is_written_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"acknowledged is lost|given twice|missing"):
        kill_at_every_boundary(tmp_path, 0, too_early)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)

"""How long does it take to analyse a million subscriptions, and is all found that was planted?

`figures` makes a store of subscriptions whose redundancy is known (`lab.redundant`), analyses it on
two cores, and compares what is found with what was planted. Memory is the sum of the proportional
set sizes (PSS) of all processes, Java's and the workers', sampled every second.

    python -c "from bench.scale_analysis import main; main(1_000_000)"
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figure import Figure
from tidegate.lab.redundant import SCHEMA, redundant
from tidegate.pipeline.analysis import analyse
from tidegate.pipeline.session import session
from tidegate.pipeline.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SECONDS = 900.0
EXACT = ("duplicate", "covered")  # of these, all are to be found
COUNTED = ("subsumed", "mergeable", "never", "always")


class Use:
    """The largest sum of PSS that was seen, in bytes, and the CPU seconds of all processes."""

    def __init__(self) -> None:
        self.memory = 0
        self._ticks: dict[int, int] = {}

    def look(self) -> None:
        """Take a sample."""
        family = _family(os.getpid())
        self.memory = max(self.memory, sum(map(_pss, family)))
        self._ticks |= {process: _ticks(process) for process in family}

    @property
    def seconds(self) -> float:
        """CPU seconds, those of ended processes up to their last sample."""
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")


@contextmanager
def watched(seconds: float = 1.0) -> Iterator[Use]:
    """Sample what this process and all that it started use."""
    use, enough = Use(), threading.Event()

    def look() -> None:
        while not enough.wait(seconds):
            use.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield use
    finally:
        enough.set()
        thread.join()


def _family(root: int) -> set[int]:
    """A process and its descendants."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(after_name[1])
            except OSError:
                continue
    found, size = {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {own for own, parent in parents.items() if parent in found}
    return found


def _ticks(process: int) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _pss(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def figures(count: int = 1_000_000, seed: int = 1, *, literal: bool = False) -> Iterator[Figure]:
    """Seconds and memory of an analysis, and what was found of each kind that was planted."""
    rules = redundant(count, seed, literal=literal)
    planted = rules.planted()
    named = f"analyse {len(rules):,} subscriptions"
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        store = Store.create(Path(folder) / "store", SCHEMA)
        store.add_many(rules.table)
        with watched() as use, session("local[2]", "tidegate bench") as spark:
            start = time.monotonic()
            found = analyse(spark, store)
            seconds = time.monotonic() - start
    steps = ", ".join(f"{name} {took:.0f} s" for name, took in found.seconds.items() if took >= 1)
    yield Figure(
        named,
        seconds,
        None,
        None,
        "s",
        note=f"{use.seconds:,.0f} s of CPU; {steps}",
        aim=f"at most {MOST_SECONDS:.0f} s on two cores",
        met=seconds <= MOST_SECONDS,
    )
    yield Figure(f"{named}: memory, Java included", use.memory / 2**30, None, None, "GiB")
    counts = {
        "duplicate": found.duplicate.subscriptions,
        "covered": found.covered.subscriptions,
        "subsumed": found.subsumed.subscriptions,
        "mergeable": found.mergeable.subscriptions,
        "never": found.never.subscriptions,
        "always": found.always.subscriptions,
    }
    for kind in (*EXACT, *COUNTED):
        yield Figure(
            f"{named}: {kind} found of those planted",
            float(counts[kind]),
            float(planted[kind]),
            counts[kind] / planted[kind] if planted[kind] else None,
            "subscriptions",
            aim="all, and no other" if kind in EXACT else "",
            met=counts[kind] == planted[kind] or kind not in EXACT,
        )


def main(count: int = 1_000_000) -> None:
    """Print the figures."""
    for figure in figures(count):
        print(str(figure).replace("\\[", "["), flush=True)

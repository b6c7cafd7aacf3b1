"""How long does it take to analyse a million subscriptions, and is all found that was planted?

`figures` makes a store of subscriptions whose redundancy is known (`lab.redundant`), analyses it on
two cores, and compares what is found with what was planted. Memory is the sum of the proportional
set sizes (PSS) of all processes, Java's and the workers', sampled every second.

    python -c "from bench.scale_analysis import main; main(1_000_000)"
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figure import Figure
from bench.processes import watched
from tidegate.lab.redundant import SCHEMA, redundant
from tidegate.pipeline.analysis import analyse
from tidegate.pipeline.session import session
from tidegate.pipeline.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SECONDS = 900.0
EXACT = ("duplicate", "covered")  # of these, all are to be found
COUNTED = ("subsumed", "mergeable", "never", "always")


def figures(count: int = 1_000_000, seed: int = 1, *, literal: bool = False) -> Iterator[Figure]:
    """Seconds and memory of an analysis, and what was found of each kind that was planted."""
    rules = redundant(count, seed, literal=literal)
    planted = rules.planted()
    named = f"analyse {len(rules):,} subscriptions"
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        store = Store.create(Path(folder) / "store", SCHEMA)
        store.add_many(rules.table)
        with watched(os.getpid()) as use, session("local[2]", "tidegate bench") as spark:
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
        note=steps,
        aim=f"at most {MOST_SECONDS:.0f} s on two cores",
        met=seconds <= MOST_SECONDS,
    )
    yield Figure(f"{named}: memory, Java included", use.most / 2**30, None, None, "GiB")
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

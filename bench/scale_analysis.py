"""How long does it take to analyse many subscriptions, and is all found that was planted?

`figures` makes a store of subscriptions whose redundancy is known (`lab.workloads.redundant`),
analyses it on two cores, and compares what is found with what was planted. `mixed_figures` does the
same for templates and texts of many shapes with events (`lab.workloads.mixed`), of which nobody
knows what is redundant. Memory is the sum of the proportional set sizes (PSS) of all processes,
Java's and the workers', sampled every second; processor time is that of all of them.

    python -c "from bench.scale_analysis import main; main(1_000_000)"
    python -c "from bench.scale_analysis import mixed_main; mixed_main(500_000)"
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.figure import Figure
from bench.processes import cpu_seconds, watched
from tidegate.lab.workloads import mixed
from tidegate.lab.workloads.redundant import SCHEMA, redundant
from tidegate.pipeline.analysis.jobs import analyse
from tidegate.pipeline.spark.session import session
from tidegate.pipeline.store.store import Store

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


def mixed_figures(count: int = 500_000, seed: int = 1) -> Iterator[Figure]:
    """Seconds and memory of an analysis of templates and texts of many shapes, with events."""
    named = f"analyse {count:,} templates and texts of many shapes, with {count // 5:,} events"
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as folder:
        store = Store.create(Path(folder) / "store", mixed.SCHEMA)
        for table in mixed.rules(count, seed):
            store.add_many(table)
        place = Path(folder) / "events"
        place.mkdir()
        mixed.write_events(place, count // 5, seed + 1)
        with watched(os.getpid()) as use, session("local[2]", "tidegate bench") as spark:
            start, before = time.monotonic(), cpu_seconds([os.getpid()])
            found = analyse(spark, store, events=spark.read.parquet(str(place)))
            seconds = time.monotonic() - start
            used = cpu_seconds([os.getpid()]) - before
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
    yield Figure(f"{named}: processor time of all processes", used, None, None, "s")
    yield Figure(f"{named}: memory, Java included", use.most / 2**30, None, None, "GiB")
    left = (found.subsumed.undecided or 0) + found.uncompared
    yield Figure(
        f"{named}: filters not decided or not compared", float(left), None, None, "filters"
    )


def main(count: int = 1_000_000) -> None:
    """Print the figures."""
    _print(figures(count))


def mixed_main(count: int = 500_000) -> None:
    """Print those of templates and texts of many shapes."""
    _print(mixed_figures(count))


def _print(found: Iterator[Figure]) -> None:
    for figure in found:
        print(str(figure).replace("\\[", "["), flush=True)

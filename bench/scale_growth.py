"""How do time and memory grow with the subscriptions?

Rules of trade are put into a store from columns, compiled and matched by Spark on two cores, in a
process of its own for each number of them. Its memory is that of the whole tree of processes, the
JVM and the Python workers among them: the sum of what each has for itself and its share of what it
shares (PSS), looked at every second. `python -m bench.scale_growth` prints the figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.figure import Figure
from bench.processes import watched
from tidegate.lab.workloads.trade import Trade, trade

SEED = 11
SIZES = (1_000_000, 3_000_000, 10_000_000)
COMMIT = 1_000_000  # subscriptions that come at once
PAST = 200_000  # events that are counted before
COUNTED = 400_000  # events whose matches are counted
PAIRED = 4_000  # events whose matches are delivered
CHECKED = 20  # events whose counts are compared with a scan's
FILES = 8  # of events
MOST = 8.0  # GB
UNITS = {
    "put into a store": "s",
    "statistics of past events": "s",
    "compile": "s",
    "shards": "shards",
    "index and names": "bytes each",
    "counts": "events/s",
    "pairs": "events/s",
    "memory at most": "GB",
}


def figures() -> Iterator[Figure]:
    """Seconds, events per second and memory, of each size beside the smallest."""
    first: dict[str, float] = {}
    for size in SIZES:
        said = _measured(size)
        first = first or said
        for name, unit in UNITS.items():
            beside = None if size == SIZES[0] else first[name]
            limited = name == "memory at most"
            yield Figure(
                f"trade, {size:,} subscriptions, {name}",
                said[name],
                beside,
                None if beside is None else said[name] / beside,
                unit,
                note="" if beside is None else f"baseline: {SIZES[0]:,} subscriptions",
                aim=f"at most {MOST:g} GB" if limited else "",
                met=not limited or said[name] <= MOST,
            )


def _measured(size: int) -> dict[str, float]:
    """What a process of its own has measured, and its memory."""
    command = [sys.executable, "-m", "bench.scale_growth", str(size)]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with running, watched(running.pid) as memory:
        printed, _ = running.communicate()
    said: dict[str, float] = json.loads(printed.splitlines()[-1])
    return {**said, "memory at most": memory.most / 2**30}


def _measure(size: int) -> dict[str, float]:
    from tidegate.pipeline import Store
    from tidegate.pipeline.bases import compile_job
    from tidegate.pipeline.kinds.attributes import Attributes
    from tidegate.pipeline.matching.match import match
    from tidegate.pipeline.spark.session import session
    from tidegate.pipeline.statistics import statistics

    found: dict[str, float] = {}

    @contextmanager
    def timing(name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        found[name] = time.perf_counter() - started

    workload = trade(size, SEED)
    with tempfile.TemporaryDirectory() as folder, session("local[2]") as spark:
        place = Path(folder)
        few = workload.events(CHECKED, seed=1)
        checked = _scanned(workload, few)
        for name, count in (("past", PAST), ("counts", COUNTED), ("pairs", PAIRED)):
            _write(place / name, workload.events(count, seed=len(name)))
        _write(place / "few", few)
        store = Store.create(place / "store", workload.schema)
        with timing("put into a store"):
            for start in range(0, size, COMMIT):
                store.add_many(_table(workload, start, min(start + COMMIT, size)))
        del workload
        with timing("statistics of past events"):
            statistics.gather(spark.read.parquet(str(place / "past")), store)
        assert store.schema is not None
        with timing("compile"):
            base = compile_job.compile_base(store, spark, Attributes(store.schema), store.version())
        counts = match(spark.read.parquet(str(place / "few")), store, output="counts")
        assert sorted(row.matches for row in counts.collect()) == sorted(checked)
        for form, count in (("counts", COUNTED), ("pairs", PAIRED)):
            events = spark.read.parquet(str(place / form))
            job = match(events, store, output=form, columns=["event"])  # type: ignore[arg-type]
            started = time.perf_counter()
            job.write.format("noop").mode("overwrite").save()
            found[form] = count / (time.perf_counter() - started)
        found["shards"] = len(base.shards)
        found["index and names"] = sum(file.size for file in base.files) / size
    return found


def _table(workload: Trade, start: int, stop: int) -> pa.Table:
    """Some of the rules, with the ids that they have among all."""
    here = slice(start, stop)
    arrays: dict[str, Any] = {
        name: getattr(workload, name)[here]
        for name in ("symbols", "lows", "highs", "volumes", "venues", "sides")
    }
    asks = {name: asked[here] for name, asked in workload.asks.items()}
    table = replace(workload, asks=asks, **arrays).table()
    ids = pa.array([f"rule-{number}" for number in range(start, stop)])
    return table.set_column(0, "id", ids)


def _write(place: Path, events: pa.Table) -> None:
    place.mkdir()
    numbered = events.append_column("event", pa.array(np.arange(len(events))))
    part = -(-len(events) // FILES)
    for number in range(FILES):
        pq.write_table(numbered.slice(number * part, part), place / f"{number}.parquet")


def _scanned(workload: Trade, events: pa.Table) -> list[int]:
    """How many rules want each event, by looking at all of them."""
    found = np.ones((len(events), len(workload)), np.bool_)
    points = workload.points(events)
    for name, (lows, highs) in workload.ranges.items():
        for row, value in enumerate(points[name]):
            found[row] &= (lows <= value) & (value <= highs)
    counts: list[int] = found.sum(axis=1).tolist()
    return counts


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_measure(int(sys.argv[1]))))
    else:
        for figure in figures():
            print(figure, flush=True)

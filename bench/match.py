"""How fast are events matched?

Baselines: a scan with NumPy, one attribute after another (`baselines.BruteForce`; trees:
`baselines.TreeScan`), and joins in DuckDB and Spark SQL. Events come as Arrow tables and matches
leave as Arrow tables; single events come as dictionaries. All find the same matches, which is
checked on some events. What an index costs to keep is in `bench.updates`, and is run from here.

Spark runs in a process of its own, so that it is timed by the clock on the wall.
"""

from __future__ import annotations

import gc
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np

from bench import updates
from bench.baselines import (
    BruteForce,
    DuckJoin,
    SparkJoin,
    TreeScan,
    assert_same,
    one_core_spark,
    pairs_of,
)
from bench.figure import Figure, timed
from tidegate.engine.index import Index
from tidegate.lab.workloads.matching import PADRES_A, PADRES_B, Padres, Trees, padres, trees
from tidegate.lab.workloads.trade import Trade, trade

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tidegate.lab.workloads.matching import Ranges

    Way = tuple[Callable[[], object], int]  # to match events, and how many

SEED = 7
SUBSCRIPTIONS = 200_000  # of padres-a, padres-b and trees
MANY = 1_000_000  # of trade, and of padres-b once more
BATCH = 10_000  # events that are counted, and of trade all that are matched
PAIRED = 2_000  # events of the others, whose matches take more memory than all the rest
SMALL_BATCH = 512  # for a million of padres-b, each event of which has 50,000 matches
ROUNDS = 7  # the best of which counts, after one that does not
SCANNED = 128  # events for the scans
LOOPED = 100  # events for the joins that are nested loops
JOINED = 2_000  # events for the others
SINGLE = 5_000  # events matched one by one
CHECKED = 20  # events whose matches are compared


def run() -> Iterator[Figure]:
    """The four workloads, then what it costs to keep an index."""
    with one_core_spark() as spark:
        yield from padres_a()
        reference = Case("padres-b", padres(SUBSCRIPTIONS, PADRES_B, SEED), PAIRED, SCANNED)
        yield from padres_b(reference, spark)
        yield from many_conjunctions(reference)
        yield from boolean_trees(reference)
        yield from alert_rules(spark)
    yield from updates.run()


class Case:
    """A workload, an index of it, and a scan of it; they agree on some events' matches."""

    def __init__(
        self, name: str, workload: Padres | Trees | Trade, batch: int, scanned: int
    ) -> None:
        self.title = f"{name}, {len(workload):,} subscriptions"
        self.workload = workload
        self.index = Index(workload.schema)
        if isinstance(workload, Trade):
            self.index.add_many(workload.table())
        else:  # no two filters have the same shape: parsing them would take longer than all else
            for number, filter in enumerate(workload.filters()):
                self.index.add(number, filter)
        self.index.flush()
        self.events = workload.events(batch)
        self.counted = workload.events(BATCH)
        self.points = workload.points(self.events.slice(0, scanned))
        self.scanned = len(self.events.slice(0, scanned))
        self.scan = (
            TreeScan(workload) if isinstance(workload, Trees) else BruteForce(workload.ranges)
        )
        self.matches = f"{self._check():,.0f} matches per event"
        self.paired = 0.0  # µs that finding all pairs took per event, the last time

    @property
    def ranges(self) -> Ranges:
        """The ends of conjunctions."""
        assert not isinstance(self.workload, Trees)
        return self.workload.ranges

    def _check(self) -> float:
        """Compare the first events' matches; return how many matches an event has."""
        few = self.events.slice(0, CHECKED)
        found = pairs_of(self.index.match_batch(few))
        assert_same(found, self.scan.pairs(self.workload.points(few)))
        counts = self.index.count_batch(self.events)
        rows = self.index.match_batch(self.events)["event"].to_numpy()
        assert np.array_equal(counts, np.bincount(rows, minlength=len(self.events)))
        return float(counts.mean())

    def count(self) -> tuple[float, float]:
        """What counting takes us and the scan."""
        ours, theirs = _costs(self._ours(), self._theirs())
        return ours, theirs

    def count_beside(self, other: Case) -> tuple[float, float, float]:
        """The same, and in turn with it what counting takes us in another case."""
        ours, theirs, others = _costs(self._ours(), self._theirs(), other._ours())
        return ours, theirs, others

    def _ours(self) -> Way:
        return lambda: self.index.count_batch(self.counted), len(self.counted)

    def _theirs(self) -> Way:
        return lambda: self.scan.counts(self.points), self.scanned

    def pairs(self) -> tuple[float, float]:
        """What finding all pairs takes us and the scan.

        Not in turn with another case: the pairs of two are more than the memory kept for results.
        """
        self.paired, theirs = _costs(
            (lambda: self.index.match_batch(self.events), len(self.events)),
            (lambda: self.scan.matches(self.points), self.scanned),
        )
        return self.paired, theirs


def padres_a() -> Iterator[Figure]:
    """Conjunctions of few distinct predicates."""
    case = Case("padres-a", padres(SUBSCRIPTIONS, PADRES_A, SEED), PAIRED, SCANNED)
    yield _faster(f"{case.title}, count", *case.count(), note=case.matches)
    yield _faster(f"{case.title}, pairs", *case.pairs(), note=case.matches)


def padres_b(case: Case, spark: SparkSession) -> Iterator[Figure]:
    """Conjunctions of more distinct predicates: batches, joins, memory, single events."""
    yield _faster(f"{case.title}, count", *case.count(), 250, case.matches)
    pairs, scanned = case.pairs()
    yield _faster(f"{case.title}, pairs", pairs, scanned, 60, case.matches)
    yield from _joins(case, spark, LOOPED, scanned)
    yield updates.footprint(f"{case.title}, memory of the batch index", case.index, 64)
    middle, high = _single(case)
    title = f"{case.title}, single events"
    yield _faster(f"{title}, p50", middle, scanned, 10)
    yield _faster(f"{title}, p99", high, scanned)
    yield updates.footprint(f"{case.title}, memory in all", case.index, 128)


def many_conjunctions(reference: Case) -> Iterator[Figure]:
    """Five times as many conjunctions, beside the others."""
    case = Case("padres-b", padres(MANY, PADRES_B, SEED), SMALL_BATCH, SCANNED // 4)
    than = f"{SUBSCRIPTIONS:,} subscriptions"
    yield _multiple(f"{case.title}, count", *case.count_beside(reference), 6, than, case.matches)
    yield _multiple(f"{case.title}, pairs", *case.pairs(), reference.paired, 6, than, case.matches)


def boolean_trees(reference: Case) -> Iterator[Figure]:
    """Trees, beside the conjunctions of padres-b."""
    case = Case("trees", trees(SUBSCRIPTIONS, SEED), PAIRED, SCANNED)
    than = "padres-b"
    yield _multiple(f"{case.title}, count", *case.count_beside(reference), 3, than, case.matches)
    yield _multiple(f"{case.title}, pairs", *case.pairs(), reference.paired, 3, than, case.matches)


def alert_rules(spark: SparkSession) -> Iterator[Figure]:
    """A symbol and a range of prices: batches, joins, single events."""
    case = Case("trade", trade(MANY, SEED), BATCH, SCANNED)
    yield _faster(f"{case.title}, count", *case.count(), note=case.matches)
    pairs, scanned = case.pairs()
    yield _faster(f"{case.title}, pairs", pairs, scanned, 800, case.matches)
    sharper = BruteForce(case.ranges, needless=False)
    (least,) = _costs((lambda: sharper.matches(case.points), case.scanned))
    note = "baseline: a scan that leaves out what no event can fail"
    yield _faster(f"{case.title}, pairs, beside a sharper scan", pairs, least, note=note)
    yield from _joins(case, spark, JOINED, scanned)
    middle, high = _single(case)
    title = f"{case.title}, single events"
    yield _faster(f"{title}, p50", middle, scanned)
    yield replace(_faster(f"{title}, p99", high, scanned), aim="at most 100 µs", met=high <= 100)


def _costs(*ways: Way) -> list[float]:
    """What an event takes, in µs: of each way the best of some rounds, after one that is left out.

    The ways take turns, so that what slows the machine down for a while slows all of them.
    """
    taken: list[list[float]] = [[] for _ in ways]
    for _ in range(1 + ROUNDS):
        for (call, events), costs in zip(ways, taken, strict=True):
            with timed() as watch:
                result = call()
            del result  # freed outside the time, so that the next round may have its memory
            costs.append(watch.seconds / events * 1e6)
    return [min(costs[1:]) for costs in taken]


def _single(case: Case) -> tuple[float, float]:
    """From a dictionary to its matches, in µs: the median and the 99th percentile.

    Of some rounds, all of the same events, the best counts.
    """
    index, events = case.index, case.events.slice(0, SINGLE)
    singles = events.to_pylist()
    for event in singles[:100]:
        index.match(event)
    clock = time.thread_time_ns
    rounds = []
    for _ in range(ROUNDS):
        costs, counts = [], []
        gc.collect()
        gc.disable()
        for event in singles:
            start = clock()
            count = len(index.match(event))
            costs.append(clock() - start)
            counts.append(count)
        gc.enable()
        assert counts == index.count_batch(events).tolist()
        rounds.append(np.percentile(costs, [50, 99]) / 1e3)
    middle, high = np.min(rounds, axis=0)
    return float(middle), float(high)


def _joins(case: Case, spark: SparkSession, events: int, scanned: float) -> Iterator[Figure]:
    """DuckDB and Spark SQL, beside the scan."""
    points = case.workload.points(case.workload.events(events))
    few = {name: values[:CHECKED] for name, values in points.items()}
    expected = BruteForce(case.ranges).pairs(few)
    with duckdb.connect() as connection:
        duck = DuckJoin(connection, case.ranges)
        assert_same(duck.pairs(few), expected)
        (cost,) = _costs((lambda: duck.pairs(points), events))
    yield _faster(f"{case.title}, pairs by a join in DuckDB", cost, scanned, note="one thread")
    with tempfile.TemporaryDirectory() as folder:
        join = SparkJoin(spark, case.ranges, Path(folder))
        assert_same(join.pairs(few), expected)
        frame = join.prepare(points)
        seconds = []
        for _ in range(1 + ROUNDS):
            start = time.perf_counter()
            frame.write.format("noop").mode("overwrite").save()
            seconds.append(time.perf_counter() - start)
    cost = min(seconds) / events * 1e6
    note = "local[1], wall clock"
    yield _faster(f"{case.title}, pairs by a join in Spark SQL", cost, scanned, note=note)


def _faster(
    name: str, cost: float, scanned: float, times: float | None = None, note: str = ""
) -> Figure:
    """A cost beside that of the scan, aimed at being so many times lower."""
    ratio = scanned / cost
    return Figure(
        name,
        cost,
        scanned,
        ratio,
        "µs/event",
        note=note,
        aim="" if times is None else f"at least {times:g} times as fast as NumPy",
        met=times is None or ratio >= times,
    )


def _multiple(
    name: str, cost: float, scanned: float, base: float, most: float, than: str, note: str
) -> Figure:
    """A cost beside that of the scan, aimed at a multiple of another cost of ours."""
    times = cost / base
    return replace(
        _faster(name, cost, scanned, note=f"{note}, {times:.2f} times {than}"),
        aim=f"at most {most:g} times as long as {than}",
        met=times <= most,
    )

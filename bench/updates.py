"""What does it cost to keep an index: to build, store, open, share and change it?

All of it on the alert rules of `lab.workloads.trade`; there is nothing to compare with but the
aims. Changes are made while another thread matches, and are timed by the clock on the wall, as are
two threads that match at once; all else is CPU time. Matches are compared with those of a scan
before and after the changes.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import tidegate as tg
from bench.baselines import BruteForce, assert_same, pairs_of
from bench.figure import Figure, timed
from tidegate.engine.index import Index
from tidegate.lab.workloads.trade import trade

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Rows = NDArray[np.int64]

SEED = 7
RULES = 1_000_000
BATCH = 10_000  # events
BATCHES = 40  # that each of two threads matches
ROUNDS = 5  # the best of which counts
CHECKED = 20  # events whose matches are compared
MOVE = 50  # cents by which an update moves a range

FRESH = """
import json, sys, time
from tidegate.engine.index import Index
path, event, alone = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "alone"
start = time.process_time()
index = Index.open(path)
opened = time.process_time() - start
matches = len(index.match(event)) if alone else index.match_batch([event]).num_rows
print(json.dumps([opened, time.process_time(), matches]))
"""


def run() -> Iterator[Figure]:
    """An index is built, stored and opened, shared by two threads, and changed."""
    rules = Rules()
    yield rules.build()
    yield from memory(rules)
    yield from storage(rules)
    yield two_threads(rules)
    yield from changes(rules)


class Rules:
    """Alert rules, and an index of most of them; the others are there to be added later.

    `lows` and `highs` are the prices that the rules want now, `present` says which rules the index
    has. A tenth of the index changes: three hundredths one by one, the rest in bulk, a third of
    either by adding, updating and removing.
    """

    def __init__(self) -> None:
        self.singles = RULES // 100
        self.many = (RULES // 10 - 3 * self.singles) // 3
        self.workload = trade(RULES + self.singles + self.many, SEED)
        self.table = self.workload.table()
        self.lows, self.highs = self.workload.lows.copy(), self.workload.highs.copy()
        self.present = np.arange(len(self.workload)) < RULES
        self.events = self.workload.events(BATCH)
        self.order = np.random.default_rng(SEED).permutation(RULES)  # in which they change
        self.index = Index(self.workload.schema)
        self.name = f"trade, {RULES:,} subscriptions"

    def build(self) -> Figure:
        """From columns of constants to an index with nothing left to do."""
        _warm_up(self)
        given = self.table.slice(0, RULES)
        with timed() as watch:
            self.index.add_many(given)
            self.index.flush()
        self.check()
        return _at_most(f"{self.name}, build from columns", watch.seconds, "s", 15)

    def check(self) -> None:
        """Compare the matches of some events with those of a scan."""
        nothing = np.iinfo(np.uint16).max
        lows = np.where(self.present, self.lows, nothing)
        highs = np.where(self.present, self.highs, 0).astype(np.uint16)
        scan = BruteForce({**self.workload.ranges, "price": (lows, highs)})
        few = self.events.slice(0, CHECKED)
        assert_same(pairs_of(self.index.match_batch(few)), scan.pairs(self.workload.points(few)))

    def portion(self, first: int, count: int) -> tuple[Rows, Rows, Rows]:
        """The rows of so many rules to be added, to be updated and to be removed."""
        chosen = self.order[2 * first : 2 * (first + count)]
        return np.arange(count) + RULES + first, chosen[:count], chosen[count:]

    def move(self, rows: Rows) -> pa.Table:
        """Other prices for these rules, as `update_many` reads them."""
        self.lows[rows] += MOVE
        self.highs[rows] += MOVE
        prices = {"low": self.lows[rows] / 100, "high": self.highs[rows] / 100}
        return pa.table({"id": self.table["id"].take(rows), **prices})

    def cost(self) -> float:
        """CPU time of this thread to match a batch, in µs per event."""
        seconds = []
        for _ in range(ROUNDS):
            start = time.thread_time()
            self.index.match_batch(self.events)
            seconds.append(time.thread_time() - start)
        return min(seconds) / len(self.events) * 1e6


def memory(rules: Rules) -> Iterator[Figure]:
    """The bytes of a subscription, before and after events are matched one by one."""
    rules.index.match_batch(rules.events)
    yield footprint(f"{rules.name}, memory of the batch index", rules.index, 64)
    for event in rules.events.slice(0, CHECKED).to_pylist():
        rules.index.match(event)
    yield footprint(f"{rules.name}, memory in all", rules.index, 128)


def footprint(name: str, index: Index, most: float) -> Figure:
    """What the index takes now, beyond ids and texts."""
    return _at_most(name, index.describe().bytes / len(index), "bytes/subscription", most)


def storage(rules: Rules) -> Iterator[Figure]:
    """Saving, and a new process that opens what was saved and matches its first event."""
    event = rules.events.slice(0, 1)
    expected = int(rules.index.count_batch(event)[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        with timed() as watch:
            rules.index.save(path)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        note = f"{size / 1e6:,.0f} MB"
        yield Figure(f"{rules.name}, save", watch.seconds, None, None, "s", note=note)
        alone = [_fresh(path, event, alone=True, expected=expected) for _ in range(1 + ROUNDS)][1:]
        batch = [_fresh(path, event, alone=False, expected=expected) for _ in range(1 + ROUNDS)][1:]
    opened = min(seconds for seconds, _ in alone + batch)
    yield _at_most(f"{rules.name}, open in a new process", opened, "s", 0.1)
    for what, runs in (("batch", batch), ("single event", alone)):
        first = min(seconds for _, seconds in runs)
        title = f"{rules.name}, a new process up to its first match of a {what}"
        yield _at_most(title, first, "s", 2, note="imports and opening included")


def two_threads(rules: Rules) -> Figure:
    """Two threads match different batches: how much sooner are they done than one?"""
    batches = [rules.workload.events(BATCH, seed) for seed in (1, 2)]

    def match(batch: pa.Table) -> None:
        for _ in range(BATCHES):
            rules.index.match_batch(batch)

    def in_turn() -> None:
        for batch in batches:
            match(batch)

    def at_once() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(match, batches))

    alone = min(_seconds(in_turn) for _ in range(ROUNDS))
    together = min(_seconds(at_once) for _ in range(ROUNDS))
    ratio = alone / together
    each = 1e6 / (2 * BATCHES * BATCH)
    return Figure(
        f"{rules.name}, two threads, pairs",
        together * each,
        alone * each,
        ratio,
        "µs/event",
        note="wall clock; baseline: one thread",
        aim="at least 1.7 times as fast as one thread on two idle cores",
        met=ratio >= 1.7,
    )


def changes(rules: Rules) -> Iterator[Figure]:
    """A tenth of the rules is added, updated and removed while another thread matches."""
    _one_change(rules.index)
    before = rules.cost()
    with _matching(rules):
        figures = [*_one_by_one(rules), *_in_bulk(rules)]
    yield from figures
    yield replace(_slower(rules, "right after", before), aim="", met=True)
    waited = _seconds(rules.index._merger.wait)
    settled = _slower(rules, "merged aside after", before)
    yield replace(settled, note=f"{settled.note}; {waited:.1f} s later")


def _one_change(index: Index) -> None:
    """Let the index make what its first change needs: it has to find ids from now on."""
    index.add("first", "symbol = 'S0001'")
    index.remove("first")


def _one_by_one(rules: Rules) -> Iterator[Figure]:
    index, count = rules.index, rules.singles
    added, updated, removed = rules.portion(0, count)
    filters = _bound(rules.table.take(added), index.schema)

    def add() -> None:
        for id, f in filters:
            index.add(id, f)

    yield _rate(rules, "adds of parsed filters one by one", add, count, 20_000)
    moved = rules.move(updated).to_pylist()

    def update() -> None:
        for rule in moved:
            index.update(rule["id"], low=rule["low"], high=rule["high"])

    yield _rate(rules, "updates one by one", update, count, 20_000)
    ids = rules.table["id"].take(removed).to_pylist()

    def remove() -> None:
        for id in ids:
            index.remove(id)

    yield _rate(rules, "removes one by one", remove, count, 20_000)
    rules.present[added], rules.present[removed] = True, False


def _in_bulk(rules: Rules) -> Iterator[Figure]:
    index, count = rules.index, rules.many
    added, updated, removed = rules.portion(rules.singles, count)
    table, moved, ids = (
        rules.table.take(added),
        rules.move(updated),
        rules.table["id"].take(removed),
    )
    yield _rate(rules, "adds in bulk", lambda: index.add_many(table), count, 200_000)
    yield _rate(rules, "updates in bulk", lambda: index.update_many(moved), count, 200_000)
    yield _rate(rules, "removes in bulk", lambda: index.remove_many(ids), count, 200_000)
    rules.present[added], rules.present[removed] = True, False


def _bound(table: pa.Table, schema: tg.Schema | None) -> list[tuple[str, tg.Filter]]:
    """The rules of a table as filters without parameters."""
    filters = []
    for rule in table.to_pylist():
        f = tg.parse(rule["filter"], schema)
        filters.append((rule["id"], f.bind(**{name: rule[name] for name in f.parameters})))
    return filters


@contextmanager
def _matching(rules: Rules) -> Iterator[None]:
    """Another thread matches batches, over and over."""
    enough = threading.Event()

    def match() -> int:
        batches = 0
        while not enough.is_set():
            rules.index.match_batch(rules.events)
            batches += 1
        return batches

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(match)
        try:
            yield
        finally:
            enough.set()
        assert running.result() > 0


def _slower(rules: Rules, when: str, before: float) -> Figure:
    cost = rules.cost()
    rules.check()
    times = cost / before
    return Figure(
        f"{rules.name}, pairs, {when} a tenth changed",
        cost,
        before,
        before / cost,
        "µs/event",
        note=f"baseline: before; {times:.2f} times as long",
        aim="at most 1.2 times as long as before",
        met=times <= 1.2,
    )


def _rate(rules: Rules, what: str, change: Callable[[], None], count: int, least: int) -> Figure:
    rules.index.match_batch(rules.events.slice(0, 1))  # compiles what the changes before have left
    seconds = _seconds(change)
    rate = count / seconds
    return Figure(
        f"{rules.name}, {what}",
        rate,
        None,
        None,
        "changes/s",
        note=f"{count:,} changes, wall clock, while another thread matches",
        aim=f"at least {least:,} a second",
        met=rate >= least,
    )


def _at_most(name: str, ours: float, unit: str, most: float, note: str = "") -> Figure:
    return Figure(
        name, ours, None, None, unit, note=note, aim=f"at most {most:g}", met=ours <= most
    )


def _seconds(call: Callable[[], None]) -> float:
    """By the clock on the wall."""
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _fresh(path: Path, event: pa.Table, *, alone: bool, expected: int) -> tuple[float, float]:
    """Seconds to open an index in a new process, and from its start to its first match."""
    given = [str(path), json.dumps(event.to_pylist()[0]), "alone" if alone else "batch"]
    done = subprocess.run(
        [sys.executable, "-c", FRESH, *given], capture_output=True, text=True, check=True
    )
    opened, first, matches = json.loads(done.stdout)
    assert matches == expected
    return opened, first


def _warm_up(rules: Rules) -> None:
    """Load the compiled kernels before the clock runs: of building, matching and all changes."""
    index = Index(rules.workload.schema)
    some = rules.table.slice(0, 12_000)
    index.add_many(some)
    index.flush()
    _one_change(index)
    index.match(rules.events.slice(0, 1).to_pylist()[0])
    for first in (0, 4_000):
        ids = some["id"].slice(first, 4_000)
        index.match_batch(rules.events)
        index.update_many(pa.table({"id": ids, "low": some["low"].slice(first, 4_000)}))
        index.match_batch(rules.events)
        index.remove_many(ids.combine_chunks())
        index.add_many(some.slice(first, 4_000))
    index.match_batch(rules.events)
    index._merger.wait()

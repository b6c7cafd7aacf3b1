"""How fast are many filters asked what they cover, what covers them and what they overlap?

Baseline: a scan with NumPy over the low and high ends of all boxes, one attribute after another
(`BoxScan`); it is given plain integers, the store filters whose normal form is known. What is asked
about is drawn as what is stored is. Both find the same, which is checked for every question.

An answer has to be written: where it takes in a good part of all boxes, that is most of the work,
for the scan as for the store, and no aim is set. Such figures say how long one handle takes. An
answer is dropped before the next question is put: memory that is new to the process would cost more
than what is written there.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import tidegate as tg
from bench.figure import Figure, timed
from tidegate.algebra.normal import boxes
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.filters.expression import And, Operator, Predicate
from tidegate.filters.filter import Filter
from tidegate.lab.workloads.rectangles import rectangles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

BOXES = 200_000
ASKED = 100  # few enough to stay in the cache between rounds
ROUNDS = 25
HUGE = 0.005  # of all boxes: a larger answer is bounded by writing it
DOMAIN = 1000
FREE = (-2, DOMAIN + 2)  # no limit at all, NULL included
OPEN = (-1, DOMAIN + 1)  # no limit to one side
QUESTIONS = ("containing", "contained", "overlapping", "stab")


@dataclass(frozen=True)
class Drawn:
    """Boxes: one row each, one column per attribute, ends included; `FREE` where there is none."""

    lows: NDArray[np.int64]
    highs: NDArray[np.int64]

    def filters(self, schema: tg.Schema) -> Iterator[Filter]:
        """The boxes as conjunctions of comparisons."""
        names = list(schema)
        for lows, highs in zip(self.lows.tolist(), self.highs.tolist(), strict=True):
            parts = []
            for name, low, high in zip(names, lows, highs, strict=True):
                if (low, high) == FREE:
                    continue
                if low == high:
                    parts.append(Predicate(name, Operator.EQUAL, (low,)))
                    continue
                if low > OPEN[0]:
                    parts.append(Predicate(name, Operator.AT_LEAST, (low,)))
                if high < OPEN[1]:
                    parts.append(Predicate(name, Operator.AT_MOST, (high,)))
            yield Filter.of(parts[0] if len(parts) == 1 else And(tuple(parts)), schema)


class BoxScan:
    """All boxes in contiguous arrays of the narrowest type, compared one attribute at a time.

    An attribute on which the box that is asked about is free is left out where that cannot matter.
    """

    def __init__(self, drawn: Drawn) -> None:
        narrow = np.result_type(*map(np.min_scalar_type, FREE))
        self._lows = np.ascontiguousarray(drawn.lows.T, narrow)
        self._highs = np.ascontiguousarray(drawn.highs.T, narrow)

    def containing(self, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.intp]:
        """The boxes that this one lies in."""
        found = self._lows[0] <= low[0]
        found &= self._highs[0] >= high[0]
        for k in range(1, len(low)):
            found &= self._lows[k] <= low[k]
            found &= self._highs[k] >= high[k]
        return np.flatnonzero(found)

    def contained(self, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.intp]:
        """The boxes that lie in this one."""
        first, *others = np.flatnonzero(low > FREE[0])
        found = self._lows[first] >= low[first]
        found &= self._highs[first] <= high[first]
        for k in others:
            found &= self._lows[k] >= low[k]
            found &= self._highs[k] <= high[k]
        return np.flatnonzero(found)

    def overlapping(self, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.intp]:
        """The boxes that have something in common with this one."""
        first, *others = np.flatnonzero(low > FREE[0])
        found = self._lows[first] <= high[first]
        found &= self._highs[first] >= low[first]
        for k in others:
            found &= self._lows[k] <= high[k]
            found &= self._highs[k] >= low[k]
        return np.flatnonzero(found)

    def stab(self, point: NDArray[Any], _: NDArray[Any]) -> NDArray[np.intp]:
        """The boxes that hold this point."""
        return self.containing(point, point)


def run() -> Iterator[Figure]:
    """Narrow boxes, the wide ones of the paper, and boxes that are free on most attributes."""
    yield from measure("narrow", narrow(BOXES, seed=1), narrow(ASKED, seed=2))
    yield from measure("wide", wide(BOXES, seed=1), wide(ASKED, seed=2))
    yield from measure("sparse", sparse(BOXES, seed=1), sparse(ASKED, seed=2))


def narrow(count: int, seed: int) -> Drawn:
    """Ranges on 4 attributes, each up to a tenth of the domain, anywhere in it."""
    rng = np.random.default_rng(seed)
    lows = rng.integers(0, DOMAIN, (count, 4))
    return Drawn(lows, np.minimum(lows + rng.integers(0, DOMAIN // 10, (count, 4)), DOMAIN))


def wide(count: int, seed: int) -> Drawn:
    """The rectangles of Jafarpour et al. (2008) in 4 dimensions, Zipf 0.5: large, and alike."""
    return Drawn(*rectangles(count, 4, 0.5, seed))


def sparse(count: int, seed: int) -> Drawn:
    """Of 20 attributes, 2 to 6 have a predicate (`= < <= > >=`), as in the workloads of PADRES."""
    rng = np.random.default_rng(seed)
    shape = count, 20
    used = rng.random(shape).argsort(axis=1).argsort(axis=1) < rng.integers(2, 7, (count, 1))
    constant, operator = rng.integers(1, DOMAIN, shape), rng.integers(0, 5, shape)
    lows = np.choose(operator, [constant, OPEN[0], OPEN[0], constant + 1, constant])
    highs = np.choose(operator, [constant, constant - 1, constant, OPEN[1], OPEN[1]])
    return Drawn(np.where(used, lows, FREE[0]), np.where(used, highs, FREE[1]))


def measure(name: str, stored: Drawn, asked: Drawn) -> Iterator[Figure]:
    """Inserting the boxes, then each question."""
    names = [f"a{k}" for k in range(stored.lows.shape[1])]
    schema = tg.Schema(dict.fromkeys(names, "bigint"))
    filters, questions = list(stored.filters(schema)), list(asked.filters(schema))
    for f in (*filters, *questions):
        boxes(f)
    _warm_up(schema, filters[:1000], questions[0])
    store = BoxStore(schema)
    with timed() as inserting:
        for f in filters:
            store.add(f)
    cost = inserting.seconds / BOXES * 1e6
    yield Figure(
        f"boxes, {name}: insert",
        cost,
        None,
        None,
        "µs",
        note=f"{BOXES:,} one by one, packing included; then {store.nbytes / BOXES:.0f} bytes each",
        aim="at most 50 µs",
        met=cost <= 50,
    )
    points = np.random.default_rng(3).integers(0, DOMAIN, asked.lows.shape)
    events = [dict(zip(names, point, strict=True)) for point in points.tolist()]
    scan = BoxScan(stored)
    for question in QUESTIONS:
        stabbing = question == "stab"
        ours = getattr(store, question), getattr(store, f"{question}_batch")
        rows = (points, points) if stabbing else (asked.lows, asked.highs)
        yield compare(
            f"boxes, {name}: {question}",
            ours,
            events if stabbing else questions,
            getattr(scan, question),
            list(zip(*(ends.astype(np.int16) for ends in rows), strict=True)),
        )


def compare(name: str, ours: Any, questions: list[Any], theirs: Any, ends: list[Any]) -> Figure:
    """The store and the scan, asked the same one by one; and the store once more, all at once."""
    one_by_one, all_at_once = ours
    cost, base, batched = rounds(
        lambda: deque((one_by_one(question) for question in questions), 0),
        lambda: deque((theirs(low, high) for low, high in ends), 0),
        lambda: all_at_once(questions),
    )
    offsets, handles = all_at_once(questions)
    for i, (question, (low, high)) in enumerate(zip(questions, ends, strict=True)):
        rows = theirs(low, high)
        assert np.array_equal(np.sort(one_by_one(question)), rows), (name, i)
        assert np.array_equal(np.sort(handles[offsets[i] : offsets[i + 1]]), rows), (name, i)
    hits = len(handles) / len(questions)
    huge = hits > HUGE * BOXES
    bounded = (
        f"; bounded by writing the answer, {cost / hits * 1e3:.2g} ns a handle" if huge else ""
    )
    return Figure(
        name,
        cost,
        base,
        base / cost,
        "µs",
        note=f"{hits:,.1f} of {BOXES:,} found on average; {batched:.1f} µs each in a batch; "
        f"baseline: scan with NumPy{bounded}",
        aim="" if huge else "at least 10 times the scan",
        met=huge or base >= 10 * cost,
    )


def rounds(*ways: Callable[[], object]) -> list[float]:
    """The median of several rounds of asking, in µs per question, for each way to ask.

    Rounds take turns: what slows the machine down for a while slows all of them. What is asked
    about is still in the processor's cache, as a filter is that has just been read: from memory
    that was not touched for long, it takes about 5 µs more, most of it for the interpreter.
    """
    taken: list[list[float]] = [[] for _ in ways]
    with timed():  # which keeps the garbage collector out, and the caches as they are
        for _ in range(ROUNDS):
            for ask, seconds in zip(ways, taken, strict=True):
                start = time.process_time()
                ask()
                seconds.append(time.process_time() - start)
    return [statistics.median(seconds) / ASKED * 1e6 for seconds in taken]


def _warm_up(schema: tg.Schema, filters: list[Filter], question: Filter) -> None:
    """Load the compiled kernels before the clock runs."""
    store = BoxStore(schema)
    for f in filters:
        store.add(f)
    store.containing(question)

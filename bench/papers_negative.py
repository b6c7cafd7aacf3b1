"""How large is the negative space, what does it find, and how fast?

The experiments of Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription Subsumption
Evaluation for Content-Based Publish/Subscribe Systems" (Middleware 2008), section 5: 10,000
rectangles in 2 to 5 dimensions. The paper does not print the exponent of its Zipf distribution, so
counts cannot be the paper's: what can be compared is their shape.

Beside the exact and the approximate space stand a scan with NumPy over all negative boxes
(`BoxScan`, which is given plain integers), the same boxes found by the box store's overlap query
(`StoredBoxes`), the algebra's union, which keeps no negative space (`Union`), and pairwise covering
in the box store. All that are exact must find the same.
"""

from __future__ import annotations

import time
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figure import Figure
from tidegate.engine.boxes.integer_boxes import IntegerBoxes
from tidegate.lab.experiments.negative_spaces import (
    Run,
    covered,
    follow,
    forwarded,
    on_demand,
    workload,
)
from tidegate.papers.negative import ApproximateNegativeSpace, ExactNegativeSpace, Forwarding
from tidegate.papers.negative.approximate import CHOICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tidegate.filters.filter import Filter
    from tidegate.lab.workloads.rectangles import Rectangles
    from tidegate.papers.negative.forwarding import NegativeSpace

SUBSCRIPTIONS = 10_000
DIMENSIONS = (2, 3, 4, 5)
CLAIMED = 4  # dimensions, up to which the paper says that subsumption finds more than covering
LIMIT = 3 * 2**30  # bytes of an exact space
CANCELLING = 2_000  # subscriptions of the histories with cancellations
WARMING = 400
CANCELLED_IN = (3, 4)  # dimensions
SCANNED = (2, 3, 4)
STORED = {2: 10_000, 3: 10_000, 4: 500}  # subscriptions beside the box store's overlap query
PRESENT, DECIDES = 1, 8  # flags of a box in the store: there is such a box, and it decides alone
SURE = np.array([DECIDES], np.uint8)
K = 50
KS = (10, 50, 100)
SMALL_K = 10  # for which ways to choose are compared

PRINTED_EXACT = {
    2: "181, 118, 81, 73, 66",
    3: "15,983, 20,154, 19,667, 20,756, 22,230",
    4: "364,740, 665,000, then out of memory",
}
PRINTED_APPROXIMATE = {
    2: "367, 405, 430, 438, 443",
    3: "27,928, 30,221, 31,755, 33,071, 34,079",
    4: "13,455, 23,414, 32,148, 39,969, 47,064",
}


class BoxScan:
    """Negative boxes as columns, all of which are looked at for every subscription."""

    def __init__(self, dimensions: int, domain: int) -> None:
        self._ends = np.zeros((2 * dimensions, 1024), np.int16)
        self._ends[1::2, 0] = domain + 1
        self.count = 1

    def subscribe(self, box: NDArray[np.int16]) -> bool:
        """Whether a box is forwarded, and what is left without it."""
        ends, count = self._ends, self.count
        inside = (ends[0, :count] < box[1]) & (ends[1, :count] > box[0])
        for k in range(2, len(box), 2):
            inside &= (ends[k, :count] < box[k + 1]) & (ends[k + 1, :count] > box[k])
        rows = np.flatnonzero(inside)
        if not len(rows):
            return False
        rest = ends[:, rows]
        pieces = []
        for k in range(0, len(box), 2):
            for side, beyond in ((k, rest[k] < box[k]), (k + 1, rest[k + 1] > box[k + 1])):
                piece = rest[:, beyond]
                piece[k + (side == k)] = box[side]
                pieces.append(piece)
                rest[side, beyond] = box[side]
        self._replace(rows, np.concatenate(pieces, axis=1))
        return True

    def _replace(self, rows: NDArray[np.intp], new: NDArray[np.int16]) -> None:
        shared = min(len(rows), new.shape[1])
        self._ends[:, rows[:shared]] = new[:, :shared]
        if shared == len(rows):
            more = new.shape[1] - shared
            while self.count + more > self._ends.shape[1]:
                self._ends = np.concatenate([self._ends, np.zeros_like(self._ends)], axis=1)
            self._ends[:, self.count : self.count + more] = new[:, shared:]
            self.count += more
            return
        kept = np.ones(self.count, np.bool_)
        kept[rows[shared:]] = False
        left = self._ends[:, : self.count][:, kept]
        self.count = left.shape[1]
        self._ends[:, : self.count] = left


class StoredBoxes:
    """Negative boxes as the box store keeps its own, found by its overlap query.

    The query is `IntegerBoxes.search_one`, which `BoxStore.overlapping` puts as well. The box store
    itself is for filters: to make one of each negative box would only add to the time.
    """

    def __init__(self, dimensions: int, domain: int) -> None:
        self._boxes = IntegerBoxes()
        self._slots: dict[int, int] = {}
        self._ends: dict[int, list[int]] = {}
        self._sides = list(range(2 * dimensions))
        self._next = 0
        self._add([0, domain + 1] * dimensions)

    @property
    def count(self) -> int:
        return len(self._ends)

    def subscribe(self, box: list[int]) -> bool:
        """Whether a box is forwarded, and what is left without it."""
        bounds = np.array([box], np.int64)
        bounds[0, ::2], bounds[0, 1::2] = bounds[0, 1::2] - 1, -bounds[0, ::2] - 1
        handles, _ = self._boxes.search_one(bounds, SURE, asked=PRESENT, within=False)
        for handle in handles.tolist():
            self._boxes.remove(self._slots.pop(handle))
            self._split(self._ends.pop(handle), box)
        return bool(len(handles))

    def _split(self, rest: list[int], box: list[int]) -> None:
        """Add what a box leaves of one that it overlaps."""
        for low in range(0, len(box), 2):
            high = low + 1
            if rest[low] < box[low]:
                self._add([*rest[:high], box[low], *rest[high + 1 :]])
                rest[low] = box[low]
            if rest[high] > box[high]:
                self._add([*rest[:low], box[high], *rest[high:]])
                rest[high] = box[high]

    def _add(self, box: list[int]) -> None:
        self._ends[self._next] = box
        ends = [-end if side % 2 else end for side, end in zip(self._sides, box, strict=True)]
        self._slots[self._next] = self._boxes.add(self._next, self._sides, ends, PRESENT | DECIDES)
        self._next += 1


def scanned(drawn: Rectangles) -> Run:
    """Subscribe all of them beside a scan of all boxes."""
    scan = BoxScan(len(drawn.names), drawn.domain)
    rows = np.empty((len(drawn), 2 * len(drawn.names)), np.int16)
    rows[:, ::2], rows[:, 1::2] = drawn.lows, drawn.highs + 1
    return follow(lambda _, box: scan.subscribe(box), list(rows), lambda: scan.count)


def stored(drawn: Rectangles, count: int) -> Run:
    """Subscribe the first of them beside the box store's overlap query."""
    boxes = StoredBoxes(len(drawn.names), drawn.domain)
    lows, highs = drawn.lows[:count], drawn.highs[:count] + 1
    rows = np.stack([lows, highs], axis=2).reshape(len(lows), -1).tolist()
    return follow(lambda _, box: boxes.subscribe(box), rows, lambda: boxes.count)


def figures() -> Iterator[Figure]:
    """All of them, dimension by dimension."""
    _warm_up()
    for dimensions in DIMENSIONS:
        drawn, filters = workload(dimensions, SUBSCRIPTIONS)
        exact = forwarded(ExactNegativeSpace(drawn.schema, limit=LIMIT), filters)
        approximate = forwarded(ApproximateNegativeSpace(drawn.schema, k=K), filters)
        pairwise, union = covered(filters), on_demand(filters)
        if exact.stopped is None:
            assert exact.redundant == union.redundant
        assert set(approximate.redundant) <= set(union.redundant) >= set(pairwise.redundant)
        yield from tables(dimensions, exact, approximate)
        yield redundancy(dimensions, exact, approximate, union, pairwise)
        yield from times(dimensions, drawn, exact, approximate, union)
        if dimensions in STORED:
            yield beside_the_store(dimensions, drawn, filters)
        yield from choices(dimensions, filters, union, pairwise)
        yield tidied(dimensions, filters, exact)
    for dimensions in CANCELLED_IN:
        yield from cancellations(dimensions)


def tables(dimensions: int, exact: Run, approximate: Run) -> Iterator[Figure]:
    """Tables 1 and 2: how many boxes there are as subscriptions come."""
    for name, run, printed in (
        ("exact", exact, PRINTED_EXACT),
        (f"k = {K}", approximate, PRINTED_APPROXIMATE),
    ):
        end = ""
        if run.stopped is not None:
            end = f"exact up to {run.stopped:,} subscriptions, where {LIMIT:,} bytes were full; "
        yield Figure(
            f"negative space, {dimensions}D: boxes at the end, {name}",
            run.boxes[-1],
            None,
            None,
            "boxes",
            note=f"{end}on the way: {listed(run.boxes)}; {run.nbytes / 2**20:.1f} MB at the end; "
            f"printed: {printed.get(dimensions, 'nothing')}",
        )


def redundancy(dimensions: int, exact: Run, approximate: Run, union: Run, pairwise: Run) -> Figure:
    """Figs. 10 and 11: what subsumption finds that pairwise covering does not.

    The paper claims it in 2 to 4 dimensions. In 5, the exact space meets its limit early.
    """
    claimed = dimensions <= CLAIMED
    return Figure(
        f"negative space, {dimensions}D: redundant subscriptions found",
        len(exact.redundant),
        len(pairwise.redundant),
        len(exact.redundant) / max(1, len(pairwise.redundant)),
        "subscriptions",
        note=f"of {SUBSCRIPTIONS:,}, of which {len(union.redundant):,} are redundant; on the way: "
        f"{listed(exact.found)}; with k = {K}: {listed(approximate.found)}; baseline: covered by "
        f"one, {listed(pairwise.found)}; printed: always more than covering, over 95% of all in "
        "2D, fewer in more dimensions",
        aim="more than covering finds" if claimed else "",
        met=not claimed or len(exact.redundant) >= len(pairwise.redundant),
    )


def times(
    dimensions: int, drawn: Rectangles, exact: Run, approximate: Run, union: Run
) -> Iterator[Figure]:
    """How long a subscription takes, beside the scan and the union."""
    each = 1e6 / len(drawn)
    beside = f"with k = {K}: {approximate.seconds * each:.0f} µs"
    if dimensions in SCANNED:
        scan = scanned(drawn)
        assert (scan.redundant, scan.boxes) == (exact.redundant, exact.boxes)
        yield Figure(
            f"negative space, {dimensions}D: a subscription",
            exact.seconds * each,
            scan.seconds * each,
            scan.seconds / exact.seconds,
            "µs",
            note=f"exact; {beside}; baseline: scan of all boxes with NumPy",
        )
    yield Figure(
        f"negative space, {dimensions}D: a subscription, beside the union on demand",
        exact.seconds * each,
        union.seconds * each,
        union.seconds / exact.seconds,
        "µs",
        note=f"exact; {beside}; baseline: `Union`, which keeps no negative space",
    )


def beside_the_store(dimensions: int, drawn: Rectangles, filters: list[Filter]) -> Figure:
    """How long a subscription takes if the box store's overlap query finds the negative boxes."""
    count = min(STORED[dimensions], len(drawn))
    exact = forwarded(ExactNegativeSpace(drawn.schema, limit=LIMIT), filters[:count])
    store = stored(drawn, count)
    assert (store.redundant, store.boxes) == (exact.redundant, exact.boxes)
    return Figure(
        f"negative space, {dimensions}D: a subscription, beside the box store's overlap query",
        exact.seconds / count * 1e6,
        store.seconds / count * 1e6,
        store.seconds / exact.seconds,
        "µs",
        note=f"exact, the first {count:,}; {store.boxes[-1]:,} boxes at the end; baseline: the "
        "same boxes in the store's arrays, found by its query, split and exchanged in Python",
    )


def choices(dimensions: int, filters: list[Filter], union: Run, pairwise: Run) -> Iterator[Figure]:
    """Figs. 12 to 15: other values of k, and other ways to choose what is split."""
    known = set(pairwise.redundant)
    owed = len(set(union.redundant) - known)
    schema = filters[0].schema

    def one(name: str, note: str, **options: Any) -> Figure:
        run = forwarded(ApproximateNegativeSpace(schema, **options), filters)
        found = len(set(run.redundant) - known)
        return Figure(
            f"negative space, {dimensions}D: found beyond covering, {name}",
            found,
            None,
            None,
            "subscriptions",
            note=f"{1 - found / max(1, owed):.1%} of {owed:,} missed; {run.boxes[-1]:,} boxes, "
            f"{run.seconds / len(filters) * 1e6:.0f} µs each; {note}",
        )

    for k in KS:
        yield one(f"k = {k}", "printed: 10 to 50 helps much, 50 to 100 little", k=k)
    yield one(f"ζ(i) with k = {SMALL_K}", "printed: nothing", k=SMALL_K, dynamic=True)
    for choose in CHOICES[1:]:
        yield one(
            f"k = {SMALL_K} by {'1/cost' if choose == 'cost' else choose}",
            "printed: benefit/cost finds most with fewest boxes, then benefit, then 1/cost",
            k=SMALL_K,
            choose=choose,
        )


def tidied(dimensions: int, filters: list[Filter], exact: Run) -> Figure:
    """What it is worth to put boxes together that touch."""
    run = forwarded(ExactNegativeSpace(filters[0].schema, limit=LIMIT, tidy=True), filters)
    if run.stopped is None and exact.stopped is None:
        assert run.redundant == exact.redundant
    end = "" if run.stopped is None else f"exact up to {run.stopped:,} subscriptions; "
    return Figure(
        f"negative space, {dimensions}D: boxes if those that touch are merged",
        run.boxes[-1],
        exact.boxes[-1],
        exact.boxes[-1] / max(1, run.boxes[-1]),
        "boxes",
        note=f"{end}{run.seconds / len(filters) * 1e6:.0f} µs a subscription, "
        f"{exact.seconds / len(filters) * 1e6:.0f} without; printed: left for later",
    )


def cancellations(dimensions: int) -> Iterator[Figure]:
    """What becomes of the spaces if subscriptions are cancelled; the paper has no figures of it."""
    _, filters = workload(dimensions, CANCELLING)
    schema = filters[0].schema
    for share in (0.1, 0.3):
        exact = churn(ExactNegativeSpace(schema), filters, share)
        ours = churn(ApproximateNegativeSpace(schema, k=K), filters, share)
        printed = churn(
            ApproximateNegativeSpace(schema, k=K, take_over=False, rebuild=False), filters, share
        )
        yield Figure(
            f"negative space, {dimensions}D: active, {share:.0%} cancelled",
            ours[0],
            printed[0],
            printed[0] / max(1, ours[0]),
            "subscriptions",
            note=f"k = {K}, pieces taken over, {ours[1]:.0f} µs a cancellation; baseline: Fig. 9 "
            f"as printed, {printed[1]:.0f} µs; exact: {exact[0]:,} active, {exact[1]:.0f} µs; "
            f"of {exact[2]:,} subscriptions left",
        )


def churn(space: NegativeSpace, filters: list[Filter], share: float) -> tuple[int, float, int]:
    """Active ones in the end, µs for each cancellation, and all subscriptions in the end."""
    forwarding = Forwarding(space)
    rng = Random(1)
    live: list[int] = []
    spent, cancelled = 0.0, 0
    for number, f in enumerate(filters):
        forwarding.subscribe(number, f)
        live.append(number)
        if rng.random() < share:
            gone = live.pop(rng.randrange(len(live)))
            start = time.process_time()
            forwarding.unsubscribe(gone)
            spent += time.process_time() - start
            cancelled += 1
    return len(forwarding.active), spent / max(1, cancelled) * 1e6, len(forwarding)


def listed(numbers: list[int]) -> str:
    return ", ".join(f"{number:,}" for number in numbers)


def _warm_up() -> None:
    """Load the compiled kernels before the clock runs."""
    drawn, filters = workload(3, WARMING)
    stored(drawn, WARMING)
    schema = filters[0].schema
    for space in (
        ExactNegativeSpace(schema, tidy=True),
        ExactNegativeSpace(schema),
        ApproximateNegativeSpace(schema),
    ):
        churn(space, filters, 0.2)
    on_demand(filters[:50])
    covered(filters[:50])

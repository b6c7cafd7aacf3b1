"""Are the papers' workloads drawn as the papers describe theirs?

How many subscriptions of sets A and B (`tidegate.lab.workloads.padres`) another one covers, which
is what their free choices were fitted to, counted exactly; and how many subscriptions of each class
of book auctions (`tidegate.lab.workloads.auctions`) match an event; and how many negative
rectangles those of `tidegate.lab.workloads.rectangles` leave, which their exponent was chosen by.
There is nothing to be faster than: what the paper prints stands in the note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bench.baselines import NegativeSpace
from bench.figure import Figure
from tidegate.lab.workloads import padres
from tidegate.lab.workloads.auctions import CLASSES, auctions
from tidegate.lab.workloads.covered import covered_share
from tidegate.lab.workloads.rectangles import DOMAIN, EXPONENT, rectangles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.lab.workloads.auctions import Auctions

SUBSCRIPTIONS = padres.SUBSCRIPTIONS
FEWER = padres.FEWER
RECTANGLES = 10_000
PRINTED = {2: "181, 118, 81, 73, 66", 3: "15,983, 20,154, 19,667, 20,756, 22,230"}  # by 2,000
EVENTS = 500  # of the auctions; each is tried with every subscription
_CHUNK = 4_000


def figures() -> Iterator[Figure]:
    """The shares that are covered, and those that match."""
    for name, draw, printed in (("A", padres.set_a, 0.75), ("B", padres.set_b, 0.45)):
        for count in (SUBSCRIPTIONS, FEWER):
            note = f"the paper: {printed}" if count == SUBSCRIPTIONS else "no figure in the paper"
            share = covered_share(draw(count))
            yield Figure(f"covered, {count:,} of set {name}", share, None, None, "", note=note)
    for own in CLASSES:
        matches, events = matched(auctions(SUBSCRIPTIONS, classes=[own]))
        title = f"auctions, {SUBSCRIPTIONS:,} of class {own}"
        yield Figure(f"{title}, matches an event", matches, None, None, "subscriptions")
        yield Figure(f"{title}, events that match", events, None, None, "of all")
    for dimensions, row in PRINTED.items():
        for exponent in (EXPONENT, 0.5, 1.0):
            counts = negative_rectangles(dimensions, exponent)
            yield Figure(
                f"negative rectangles, {RECTANGLES:,} in {dimensions} dimensions, Zipf {exponent}",
                counts[-1],
                None,
                None,
                "rectangles",
                note=f"{', '.join(f'{count:,}' for count in counts)}; the paper: {row}",
            )


def matched(workload: Auctions) -> tuple[float, float]:
    """How many subscriptions match an event, and how many of the events any subscription."""
    points = workload.points(workload.events(EVENTS))
    wanted = np.zeros(EVENTS, np.int64)
    for start in range(0, len(workload), _CHUNK):
        wanted += workload.part(start, start + _CHUNK).holds(points).sum(axis=0)
    return float(wanted.mean()), float((wanted > 0).mean())


def negative_rectangles(dimensions: int, exponent: float) -> list[int]:
    """How many there are after each fifth of the subscriptions."""
    space, counts = NegativeSpace(dimensions, 0, DOMAIN), []
    lows, highs = rectangles(RECTANGLES, dimensions, exponent)
    for i, (low, high) in enumerate(zip(lows, highs, strict=True), 1):
        space.add(low, high)
        if i % (RECTANGLES // 5) == 0:
            counts.append(space.count)
    return counts

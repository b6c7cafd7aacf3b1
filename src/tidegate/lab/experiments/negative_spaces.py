"""Which subscriptions are found to be redundant, as they come?

The same subscriptions, one after the other, beside a negative space, exact or approximate, beside
the algebra's union, which keeps none, and beside pairwise covering. Whatever finds a subscription
redundant does not keep it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.algebra.normal import boxes
from tidegate.algebra.union import Union
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.filters.filter import Filter
from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads.rectangles import EXPONENT, Rectangles, rectangles

STEPS: Final = 5  # at which boxes are counted


@dataclass
class Run:
    """What came of all subscriptions: which were redundant, how many boxes there were, how long."""

    redundant: list[int] = field(default_factory=list)
    at: list[int] = field(default_factory=list)  # subscriptions, at each step
    found: list[int] = field(default_factory=list)  # so far, at each step
    boxes: list[int] = field(default_factory=list)
    seconds: float = 0.0
    nbytes: int = 0
    stopped: int | None = None  # subscriptions, after which an exact space was not exact any more


def workload(
    dimensions: int, count: int, seed: int = 1, exponent: float = EXPONENT
) -> tuple[Rectangles, list[Filter]]:
    """The paper's subscriptions, whose normal forms are known."""
    drawn = Rectangles(*rectangles(count, dimensions, exponent, seed=seed))
    filters = list(drawn.filters())
    for f in filters:
        boxes(f)
    return drawn, filters


def forwarded(space: Any, filters: list[Filter]) -> Run:
    """Subscribe all of them in a negative space, which need not know those that are passive."""
    run = Run()

    def subscribe(number: int, f: Filter) -> bool:
        if space.subsumes(f):
            return False
        space.add(number, f)
        if run.stopped is None and not getattr(space, "exact", True):
            run.stopped = number
        return True

    return follow(subscribe, filters, lambda: space.boxes, lambda: space.nbytes, run)


def follow(
    subscribe: Callable[[int, Any], bool],
    each: list[Any],
    count: Callable[[], int] = lambda: 0,
    nbytes: Callable[[], int] = lambda: 0,
    run: Run | None = None,
) -> Run:
    """Subscribe all of them, and count at every step."""
    run = run or Run()
    step = max(1, len(each) // STEPS)
    with timed() as watch:
        for number, f in enumerate(each):
            if not subscribe(number, f):
                run.redundant.append(number)
            if (number + 1) % step == 0:
                run.at.append(number + 1)
                run.boxes.append(count())
                run.found.append(len(run.redundant))
    run.seconds = watch.seconds
    run.nbytes = nbytes()
    return run


def on_demand(filters: list[Filter]) -> Run:
    """Subscribe all of them beside the algebra's union."""
    union = Union(filters[0].schema)

    def subscribe(_: int, f: Filter) -> bool:
        if union.subsumes(f):
            return False
        union.add(f)
        return True

    return follow(subscribe, filters)


def covered(filters: list[Filter]) -> Run:
    """Subscribe all of them beside pairwise covering: is there one, of those kept, that covers?"""
    store = BoxStore(filters[0].schema)

    def subscribe(_: int, f: Filter) -> bool:
        if len(store.containing(f)):
            return False
        store.add(f)
        return True

    return follow(subscribe, filters)

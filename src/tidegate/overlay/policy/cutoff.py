"""How much pruning is worth its price?

The more is left out of filters, the more events match. That grows slowly at first, and from some
point on steeply: Bittner and Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), section 5.3, call the sharp
bend of that curve the **cut-off point**. They read it off their figures. Here it is found by
itself: it is the point of the curve that lies furthest below the straight line from its first point
to its last one. A curve that is never below that line has no bend, and its first point is taken:
there, every pruning costs as much as the next one, or more.
"""

from collections.abc import Sequence


def cut_off(curve: Sequence[float], done: int = 0, first: float | None = None) -> int:
    """After how many prunings the curve bends.

    `curve` has what the filters match after `done` prunings, and after each of those that are left.
    `first` is what they matched before any was done, if some were.

    >>> cut_off([1, 1, 1, 2, 2, 7, 9])
    4
    >>> cut_off([2, 2, 7, 9], done=3, first=1)
    4
    >>> cut_off([1, 1, 1])
    2
    """
    start = curve[0] if first is None else first
    every = done + len(curve) - 1
    if curve[-1] <= start:
        return every
    rise = (curve[-1] - start) / every
    below = [start + rise * (done + i) - matched for i, matched in enumerate(curve)]
    return done + below.index(max(below))

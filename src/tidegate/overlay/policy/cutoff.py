"""How much pruning is worth its price?

The more is left out of filters, the more events match. That grows slowly at first, and from some
point on steeply: Bittner and Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), section 5.3, call the sharp
bend of that curve the **cut-off point**. They read it off their figures. Here it is found by
itself: where the curve lies furthest below the straight line from its first point to its last one.
A bend is rarely so sharp that chance has no part in which point that is, where matching events are
counted in a sample. So all points are asked that are nearly as far below the line, each with the
weight of how near it is to the furthest: the centre of gravity of what is left of the curve's belly
when most of it is cut off. A
curve that is never below the line has no bend, and its first point is taken: there, every pruning
costs as much as the next one, or more.
"""

from collections.abc import Sequence
from typing import Final

_NEARLY: Final = 0.9  # of the greatest distance


def cut_off(curve: Sequence[float], done: int = 0, first: float | None = None) -> int:
    """After how many prunings the curve bends.

    `curve` has what the filters match after `done` prunings, and after each of those that are left.
    `first` is what they matched before any was done, if some were. If the bend is reached with what
    was done, that is enough.

    >>> cut_off([1, 1, 1, 2, 2, 7, 9])
    4
    >>> cut_off([2, 2, 7, 9], done=3, first=1)
    4
    >>> cut_off([1, 1, 1])
    2
    >>> cut_off([8, 8, 9], done=2, first=1)
    2
    """
    start = curve[0] if first is None else first
    every = done + len(curve) - 1
    if curve[-1] <= start:
        return every
    rise = (curve[-1] - start) / every
    below = [start + rise * (done + i) - matched for i, matched in enumerate(curve)]
    furthest = max(below)
    enough = _NEARLY * furthest
    if furthest <= 0 or below[0] >= enough:
        return done
    weights = [max(0.0, distance - enough) for distance in below]
    return done + round(sum(i * weight for i, weight in enumerate(weights)) / sum(weights))

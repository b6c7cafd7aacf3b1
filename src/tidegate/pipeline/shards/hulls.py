"""Which few boxes cover many?

Boxes are rows of numbers: on each attribute a first and a last one. A million of them are made few
a column at a time, in three steps with names from the papers.

- **Perfect merging** (`joined`): boxes that are the same but on one attribute, and overlap or touch
  there, become one (Li, Hou, Jacobsen, ICDCS 2005: a merger that adds nothing).
- **Covering** (`maximal`): a box inside another is dropped (Siena: Carzaniga, Rosenblum, Wolf,
  TOCS 2001).
- **Imperfect merging** (`fewer`): above a budget, neighbours become their hull, those first whose
  hull admits the fewest events that neither of them does. What that is, ICDCS 2005 calls the IMT;
  here it is a product of the shares of events on each attribute.

Invariant: the union of the boxes that come out covers that of those that go in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

_COMPARED: Final = 8_192  # boxes that are compared with each other
_AT_A_TIME: Final = 256


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes: one row of `low` and `high` for each attribute, one column for each box."""

    low: Integers
    high: Integers

    def __len__(self) -> int:
        return int(self.low.shape[1])

    def take(self, which: Integers | Mask) -> "Boxes":
        """Some of them."""
        return Boxes(self.low[:, which], self.high[:, which])


@dataclass(frozen=True, slots=True)
class Gauge:
    """How likely the numbers of events are on one attribute: its quantiles, ascending."""

    values: Doubles
    middle: Doubles  # the share of events below each value, and half of those at it
    at: Doubles  # the share at it

    @classmethod
    def of(cls, quantiles: Integers) -> "Gauge":
        """From numbers at equal steps through those of all events."""
        values, counts = np.unique(quantiles.astype(np.float64), return_counts=True)
        share = counts / max(len(quantiles), 1)
        return cls(values, np.cumsum(share) - share / 2, share)

    def share(self, low: Integers, high: Integers) -> Doubles:
        """About which share of the events lies in intervals; never nothing."""
        if not len(self.values):
            return np.ones(len(low))
        ends = [np.interp(end.astype(np.float64), self.values, self.middle) for end in (low, high)]
        place = np.minimum(np.searchsorted(self.values, low), len(self.values) - 1)
        least = np.where(self.values[place] == low, self.at[place], self.at.min() / 4)
        found: Doubles = np.maximum(ends[1] - ends[0], least)
        return found


def cover(boxes: Boxes, gauges: Sequence[Gauge], budget: int) -> Boxes:
    """At most so many boxes, whose union covers the boxes."""
    few = reduced(boxes)
    while len(few) > budget:
        few = reduced(fewer(few, gauges, budget))
    return few


def reduced(boxes: Boxes) -> Boxes:
    """Boxes with the same union, as far as perfect merging and covering go."""
    size = -1
    while len(boxes) != size:
        size = len(boxes)
        for attribute in range(len(boxes.low)):
            boxes = joined(boxes, attribute)
    return maximal(boxes) if len(boxes) <= _COMPARED else boxes


def joined(boxes: Boxes, attribute: int) -> Boxes:
    """Boxes that differ on this attribute alone, and overlap or touch there, as one."""
    boxes = boxes.take(_order(boxes, attribute))
    if not len(boxes):
        return boxes
    group = np.cumsum(~_same_before(boxes, attribute))
    low, high = boxes.low[attribute], boxes.high[attribute]
    # the highest end so far within the group, found for all groups in one go
    ends, rank = np.unique(high, return_inverse=True)
    upto = np.maximum.accumulate(group * len(ends) + rank) - group * len(ends)
    before = ends[np.concatenate([[0], upto[:-1]])]
    apart = (low > before) & (low - 1 != before)
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(group) > 0) | apart[1:]]))
    lows, highs = boxes.low[:, starts], boxes.high[:, starts]
    highs[attribute] = np.maximum.reduceat(high, starts)
    return Boxes(lows, highs)


def maximal(boxes: Boxes) -> Boxes:
    """The boxes that lie in no other one; none of them occurs twice."""
    kept = np.ones(len(boxes), np.bool_)
    for start in range(0, len(boxes), _AT_A_TIME):
        some = slice(start, start + _AT_A_TIME)
        inside = np.ones((len(kept[some]), len(boxes)), np.bool_)
        for low, high in zip(boxes.low, boxes.high, strict=True):
            inside &= (low[some, None] >= low) & (high[some, None] <= high)
        kept[some] = inside.sum(axis=1) == 1  # a box lies in itself
    return boxes.take(kept)


def fewer(boxes: Boxes, gauges: Sequence[Gauge], budget: int) -> Boxes:
    """At most so many boxes, and at least one, of which neighbours have become their hulls."""
    distinct = [len(np.unique(low)) for low in boxes.low]
    boxes = boxes.take(_order(boxes, int(np.argmax(distinct))))
    share = _shares(boxes, gauges)
    while len(boxes) > max(budget, 1):
        low = np.minimum(boxes.low[:, :-1], boxes.low[:, 1:])
        high = np.maximum(boxes.high[:, :-1], boxes.high[:, 1:])
        hull = _shares(Boxes(low, high), gauges)
        added = hull - share[:-1] - share[1:]
        chosen = _cheapest(added, len(boxes) - max(budget, 1))
        kept = np.ones(len(boxes), np.bool_)
        kept[chosen + 1] = False
        boxes.low[:, chosen], boxes.high[:, chosen] = low[:, chosen], high[:, chosen]
        share[chosen] = hull[chosen]
        boxes, share = boxes.take(kept), share[kept]
    return boxes


def _cheapest(added: Doubles, most: int) -> Integers:
    """Pairs of neighbours to merge: cheaper than the pairs next to them, the cheapest of these."""
    padded = np.concatenate([[np.inf], added, [np.inf]])
    local = np.flatnonzero((added < padded[:-2]) & (added <= padded[2:]))
    if len(local) <= most:
        return local
    return np.sort(local[np.argpartition(added[local], most)[:most]])


def _shares(boxes: Boxes, gauges: Sequence[Gauge]) -> Doubles:
    share = np.ones(len(boxes))
    for gauge, low, high in zip(gauges, boxes.low, boxes.high, strict=True):
        share *= gauge.share(low, high)
    return share


def _order(boxes: Boxes, attribute: int) -> Integers:
    """By the intervals on all other attributes, then by this one's low ends."""
    keys = [boxes.low[attribute]]
    for other in range(len(boxes.low)):
        if other != attribute:
            keys += [boxes.high[other], boxes.low[other]]
    return np.lexsort(keys)


def _same_before(boxes: Boxes, attribute: int) -> Mask:
    """Which boxes are the same as the one before but on this attribute."""
    same = np.ones(len(boxes), np.bool_)
    same[0] = False
    for other in range(len(boxes.low)):
        if other != attribute:
            for ends in (boxes.low[other], boxes.high[other]):
                same[1:] &= ends[1:] == ends[:-1]
    return same

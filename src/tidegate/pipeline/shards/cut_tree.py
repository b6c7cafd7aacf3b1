"""Where should subscriptions be cut apart?

Subscriptions are boxes, as far as their extents tell; they are split as in a k-d tree (Bentley,
"Multidimensional binary search trees used for associative searching", CACM 1975), by one attribute
at a time. Boxes have no points: each goes to the side on which its centre lies, and an event has to
visit every side whose hull it lies in. So a split is judged by what it costs: the **visits**, how
many shards an event is expected to be sent to, counted on a sample of events.

At a node that is to become so many shards, cuts are tried on every attribute, at values that leave
weights in proportion to numbers of shards. Of those that do, nearly, the one is taken after which
the two sides promise the fewest visits; what a side promises is what it would cost to slice it
along its best attribute. So equality attributes win by themselves, as no box straddles their cuts,
and what is too heavy for one value is cut further along another attribute. Boxes that are free on
the attribute go to one side all together, or become a side of their own: an event visits them
anyway, so they should be in few shards. Boxes that no cut tells apart are **scattered** over their
shards.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]

EVEN: Final = 1.04
"""How heavy a shard may be, in means, before that counts against a cut."""
BEARABLE: Final = 1.4
"""How heavy it may be at most; what cannot be cut so evenly is scattered."""
_BOXES: Final = 2_048  # of a node, that are looked at to promise visits
_EVENTS: Final = 2_048
_ATTRIBUTES: Final = 4  # that promise most, and are cut if they can be
_TRIED: Final = 24  # cuts of a node whose promises are compared: the most even ones
_SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")
_EIGHTHS: Final = 8  # a node is cut at multiples of an eighth of its shards, and at one shard


@dataclass(frozen=True, slots=True)
class Scatter:
    """Subscriptions that are spread by their ids over so many shards, from the first on."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Cut:
    """Subscriptions whose centres lie below a key go one way, the others the other.

    Those that are free go below or above as `free_below` says; without a key, they are all that
    goes below.
    """

    attribute: str
    key: Any
    free_below: bool
    below: "Tree"
    above: "Tree"


Tree: TypeAlias = Scatter | Cut


@dataclass(frozen=True, slots=True)
class SampledRows:
    """Boxes with their weights, and events: for each attribute a row of each array.

    `keys` says which key a number stands for. Events have numbers on the same lines, where
    `present` says so.
    """

    attributes: Sequence[str]
    keys: Sequence[Callable[[int], Any]]
    low: Integers
    high: Integers
    centre: Integers
    free: NDArray[np.bool_]
    weight: Doubles
    number: Integers
    present: NDArray[np.bool_]


def split(sample: SampledRows, count: int) -> Tree:
    """A tree that splits the boxes into so many shards."""
    if not len(sample.weight) or count == 1:
        return Scatter(0, count)
    mean = float(sample.weight.sum()) / count
    boxes = np.arange(len(sample.weight))
    events = np.arange(sample.number.shape[1])
    return _Splitter(sample, mean).tree(boxes, events, 0, count)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A cut that could be made."""

    attribute: int
    number: int | None
    free_below: bool
    below: Integers  # boxes
    above: Integers
    shards: int  # below
    heaviest: float  # weight of a shard, in means


class _Splitter:
    def __init__(self, sample: SampledRows, mean: float) -> None:
        self._sample = sample
        self._mean = mean
        self._all = max(sample.number.shape[1], 1)

    def tree(self, boxes: Integers, events: Integers, first: int, count: int) -> Tree:
        """The tree of some boxes, for the events that may visit them."""
        if count == 1 or len(boxes) < 2:
            return Scatter(first, count)
        best = self._best(boxes, self._inside(boxes, events), count)
        if best is None:
            return Scatter(first, count)
        key = None if best.number is None else self._sample.keys[best.attribute](best.number)
        return Cut(
            self._sample.attributes[best.attribute],
            key,
            best.free_below,
            self.tree(best.below, self._inside(best.below, events), first, best.shards),
            self.tree(
                best.above,
                self._inside(best.above, events),
                first + best.shards,
                count - best.shards,
            ),
        )

    def _best(self, boxes: Integers, events: Integers, count: int) -> _Choice | None:
        own = float(self._sample.weight[boxes].sum()) / count / self._mean
        promises = self._promises(boxes, events, count)
        order = np.argsort(promises, kind="stable").tolist()
        for attributes in (order[:_ATTRIBUTES], order[_ATTRIBUTES:]):
            choices = [each for a in attributes for each in self._choices(a, boxes, count)]
            even = [each for each in choices if each.heaviest <= max(BEARABLE, own)]
            if even:
                even = sorted(even, key=lambda each: each.heaviest)[:_TRIED]
                costs = [self._cost(each, events, count) * self._strain(each, own) for each in even]
                return even[int(np.argmin(costs))]
        return None

    def _strain(self, choice: _Choice, own: float) -> float:
        """How much the heaviest shard of a choice counts against it."""
        return float(max(choice.heaviest / max(EVEN, own), 1.0) ** 2)

    def _choices(self, attribute: int, boxes: Integers, count: int) -> Iterator[_Choice]:
        sample = self._sample
        free = sample.free[attribute, boxes]
        loose, tied = boxes[free], boxes[~free]
        centre = sample.centre[attribute, tied]
        order = np.argsort(centre, kind="stable")
        tied, centre = tied[order], centre[order]
        if len(loose) and len(tied):
            yield self._choice(attribute, None, True, loose, tied, count)
        upto = np.cumsum(sample.weight[tied])
        more = float(sample.weight[loose].sum())
        whole = more + (float(upto[-1]) if len(upto) else 0.0)
        targets = {1, count - 1, *(max(1, count * i // _EIGHTHS) for i in range(1, _EIGHTHS))}
        tried: set[tuple[int, bool]] = set()
        for shards in sorted(targets):
            for below in (True, False) if len(loose) else (False,):
                goal = whole * shards / count - (more if below else 0.0)
                at = int(np.searchsorted(upto, goal))
                if at >= len(tied):
                    continue
                for end in {int(np.searchsorted(centre, centre[at], side)) for side in _SIDES}:
                    if 0 < end < len(tied) and (end, below) not in tried:
                        tried.add((end, below))
                        yield self._choice(
                            attribute,
                            int(centre[end]),
                            below,
                            np.concatenate([tied[:end], loose]) if below else tied[:end],
                            tied[end:] if below else np.concatenate([tied[end:], loose]),
                            count,
                        )

    def _choice(
        self,
        attribute: int,
        number: int | None,
        free_below: bool,
        below: Integers,
        above: Integers,
        count: int,
    ) -> _Choice:
        weights = [float(self._sample.weight[side].sum()) for side in (below, above)]
        share = weights[0] / (weights[0] + weights[1])
        shards = min(max(round(share * count), 1), count - 1)
        heaviest = max(weights[0] / shards, weights[1] / (count - shards)) / self._mean
        return _Choice(attribute, number, free_below, below, above, shards, heaviest)

    def _cost(self, choice: _Choice, events: Integers, count: int) -> float:
        """The visits that both sides of a choice promise."""
        sides = ((choice.below, choice.shards), (choice.above, count - choice.shards))
        total = 0.0
        for boxes, shards in sides:
            some = _spread(boxes, _BOXES)
            inside = self._inside(some, events)
            total += min(
                shards * len(inside) / self._all,
                *self._promises(some, inside, shards).tolist(),
            )
        return total

    def _inside(self, boxes: Integers, events: Integers) -> Integers:
        """The events that lie in the hull of some boxes."""
        sample = self._sample
        held = np.ones(len(events), np.bool_)
        for a in range(len(sample.low)):
            if not sample.free[a, boxes].any():
                number = sample.number[a, events]
                held &= number >= sample.low[a, boxes].min()
                held &= number <= sample.high[a, boxes].max()
                held &= sample.present[a, events]
        return events[held]

    def _promises(self, boxes: Integers, events: Integers, count: int) -> Doubles:
        """The visits if the boxes were sliced along each attribute."""
        boxes = _spread(boxes, _BOXES)
        scale = len(events) / self._all
        events = _spread(events, _EVENTS)
        scale /= max(len(events), 1)
        return np.array(
            [self._promise(a, boxes, events, count) * scale for a in range(len(self._sample.low))]
        )

    def _promise(self, attribute: int, boxes: Integers, events: Integers, count: int) -> float:
        """The visits of all events if boxes are sliced into shards along an attribute."""
        sample = self._sample
        free = sample.free[attribute, boxes]
        tied = boxes[~free]
        loose = 0
        if len(tied) < len(boxes):
            weight = sample.weight[boxes]
            loose = min(count, max(1, round(count * float(weight[free].sum() / weight.sum()))))
        slices = count - loose
        if not slices or not len(tied):
            return float(count * len(events))
        tied = tied[np.argsort(sample.centre[attribute, tied], kind="stable")]
        upto = np.cumsum(sample.weight[tied])
        middle = upto - sample.weight[tied] / 2
        starts = np.searchsorted(middle, upto[-1] * np.arange(slices) / slices)
        starts = np.unique(np.minimum(starts, len(tied) - 1))
        low = np.minimum.reduceat(sample.low[attribute, tied], starts)
        high = np.maximum.reduceat(sample.high[attribute, tied], starts)
        numbers = np.sort(sample.number[attribute, events[sample.present[attribute, events]]])
        inside = np.searchsorted(numbers, high, "right") - np.searchsorted(numbers, low, "left")
        return float(inside.sum() + loose * len(events))


def _spread(chosen: Integers, most: int) -> Integers:
    """At most so many of them, evenly spread."""
    if len(chosen) <= most:
        return chosen
    return chosen[np.linspace(0, len(chosen) - 1, most).astype(np.int64)]

"""Is a box inside a union of boxes?

On demand: the boxes that overlap it are subtracted one after the other, depth first, each piece
that is left taking only the boxes along that still overlap it. The answer is no as soon as one
piece meets no box. This is the rectangle subtraction of Jafarpour et al. (*Subscription Subsumption
Evaluation for Content-Based Publish/Subscribe Systems*, 2008, Fig. 4), but with value sets instead
of intervals, so that a subtraction leaves at most one piece per attribute and condition on text,
and without storing the negative space.

Subtracting may take exponentially many pieces: a `Budget` bounds them. Running out is counted and
answered with None, "not known".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tidegate.algebra.normal import Box
from tidegate.filters.valueset import ValueSet

Universe: TypeAlias = Callable[[str], ValueSet]


@dataclass(slots=True)
class Budget:
    """How many pieces one question may make, and how often that was not enough."""

    pieces: int
    exhausted: int = 0


DEFAULT_BUDGET: Final = Budget(20_000)


def inside(
    box: Box, union: Sequence[Box], universe: Universe, budget: Budget = DEFAULT_BUDGET
) -> bool | None:
    """Whether every event in the box is in one of the union's boxes."""
    found = _quick(box, union)
    if not isinstance(found, list):
        return found
    left = budget.pieces
    stack = [(box, found)]
    sure = True
    while stack:
        piece, candidates = stack.pop()
        cut = min(candidates, key=lambda other: _cost(piece, other))
        rest = [other for other in candidates if other is not cut]
        for part in subtract(piece, cut, universe):
            left -= 1
            if left < 0:
                budget.exhausted += 1
                return None
            answer = _quick(part, rest)
            if answer is False:
                return False
            if isinstance(answer, list):
                stack.append((part, answer))
            elif answer is None:
                sure = False
    return True if sure else None


def subtract(box: Box, other: Box, universe: Universe) -> Iterator[Box]:
    """What is in `box` and not in `other`, in disjoint pieces."""
    sets = dict(box.sets)
    for attribute, theirs in other.sets.items():
        own = sets.get(attribute)
        if own is None:
            own = universe(attribute)
        for outside in own.minus(theirs):
            yield Box({**sets, attribute: outside})
        shared = own & theirs
        if shared.is_empty():
            return
        sets[attribute] = shared


def _quick(box: Box, union: Sequence[Box]) -> bool | list[Box] | None:
    """The answer if it shows at once, else the boxes that overlap this one."""
    overlapping = []
    for other in union:
        if box.meets(other) is not False:
            if box.within(other):
                return True
            overlapping.append(other)
    if overlapping:
        return overlapping
    return False if box.certain else None


def _cost(box: Box, other: Box) -> int:
    """In how many attributes the other box does not span this one: pieces it would leave."""
    return sum(
        1
        for attribute, theirs in other.sets.items()
        if attribute not in box.sets or not box.sets[attribute].within(theirs)
    )

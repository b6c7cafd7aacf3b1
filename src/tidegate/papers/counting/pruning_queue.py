"""Which subscription is to be pruned next, and how is it done?

The one whose best pruning costs least: a priority queue of subscriptions ordered by degradation,
which the paper calls the selectivity queue. Who cannot be pruned without becoming TRUE is not in
it. A pruning is done where things are: the tree is written anew over the one it was, the minimum
follows, and the predicates left out lose their associations, many at a time.

Selectivities change while degradations stand in the queue. What is done about that is one of the
paper's three ways, `Changes`. Who is put back has its new degradation then; as selectivities stay
as they are during a call, it is pruned when it comes up again, so that every call ends.

Paper: Bittner, Hinze, "Subscription Tree Pruning" (OTM 2006), section 4.4.
"""

from collections.abc import Iterable
from enum import IntEnum
from functools import cached_property
from typing import Final

import numpy as np

from tidegate.jit import kernel
from tidegate.papers.counting.associations import longer
from tidegate.papers.counting.counting_kernels import Bytes, Variables
from tidegate.papers.counting.heap import Keys, Slots, push, take
from tidegate.papers.counting.pruning_kernels import (
    NOWHERE,
    Scratch,
    Shares,
    best_pruning,
    prunings_left,
    scratch,
    without,
)
from tidegate.papers.counting.tree_bytes import LEAF, MOST_LEAVES, Integers, Tree
from tidegate.papers.counting.trees import Trees, write

_FIRST_ROOM: Final = 16
_AT_ONCE: Final = 64 * MOST_LEAVES  # predicates left out before the caller is told of them
_SLOT: Final = 20  # bytes that a slot takes in the arrays of a queue
SIZE: Final = 0  # in `counts`: of the queue; predicates that were left out
GONE: Final = 1


class Changes(IntEnum):
    """What is done with a subscription whose degradation is not what it was when it was rated."""

    ALWAYS = 0
    """It is pruned: the paper's way (a), and the one of its experiments."""
    BETTER = 1
    """It is pruned if it is not worse than what is rated next: (b)."""
    WITHIN = 2
    """It is pruned if it is not worse than it was by more than a tolerance: (c)."""


class PruningQueue:
    """Slots, in the order in which they are to be pruned."""

    def __init__(self) -> None:
        self._heap = np.zeros(_FIRST_ROOM, np.int32)
        self._place = np.zeros(_FIRST_ROOM, np.int32)
        self._keys = np.zeros(_FIRST_ROOM, np.float64)
        self.pruned = np.zeros(_FIRST_ROOM, np.int32)  # how often a slot's tree was pruned
        self._counts = np.zeros(2, np.int64)
        self._left_out = np.empty((0, 0), np.int32)

    def __len__(self) -> int:
        return int(self._counts[SIZE])

    @property
    def nbytes(self) -> int:
        """The memory of the queue."""
        return _SLOT * len(self._heap)

    def growth(self, slot: int) -> int:
        """How many bytes more a slot may take."""
        return _SLOT * len(self._heap) if slot >= len(self._heap) else 0

    def make_room(self, slot: int) -> None:
        """Be ready for a slot."""
        if slot >= len(self._heap):
            size = max(slot + 1, 2 * len(self._heap))
            self._heap = longer(self._heap, size)
            self._place = longer(self._place, size)
            self._keys = longer(self._keys, size)
            self.pruned = longer(self.pruned, size)

    @cached_property
    def _scratch(self) -> Scratch:
        return scratch()  # made when the first tree is looked at

    def degradation(self, slot: int) -> float | None:
        """What pruning a slot's tree costs, as it was rated; None if it is not in the queue."""
        return float(self._keys[slot]) if self._place[slot] else None

    def forget(self, slot: int) -> None:
        """Take a slot out, if it is in."""
        if self._place[slot]:
            size = take(self._heap, self._place, self._keys, len(self), slot)
            self._counts[SIZE] = size
        self.pruned[slot] = 0

    def rate(self, slots: Iterable[int], trees: Trees, shares: Shares) -> None:
        """Put the slots where they belong by what their best prunings cost now."""
        rate(
            np.fromiter(slots, np.int32), trees.tree, trees.location, shares,
            self._heap, self._place, self._keys, self._counts, self._scratch,
        )  # fmt: skip

    def best(self, slot: int, trees: Trees, shares: Shares) -> float | None:
        """What the best pruning of a slot's tree costs now; None if there is none."""
        at = int(trees.location[slot])
        cost, cut, _ = best_pruning(trees.tree, at, shares, self._scratch)
        return None if cut == NOWHERE else cost

    def left(self, trees: Trees, shares: Shares) -> int:
        """How many prunings are left, taking the best one of each subscription each time."""
        size = len(self)
        return all_prunings_left(
            self._heap[:size], trees.tree, trees.location, shares, self._scratch
        )

    def prune(
        self,
        steps: int,
        trees: Trees,
        shares: Shares,
        changes: Changes,
        tolerance: float,
    ) -> tuple[int, Variables, Variables]:
        """Prune up to so many times; how often, and the slots and variables that came apart.

        Less than `steps` may be done before the queue is empty: the caller asks again.
        """
        self._counts[GONE] = 0
        if not len(self._left_out):
            self._left_out = np.empty((2, _AT_ONCE), np.int32)
        done = prune(
            steps, int(changes), tolerance, shares,
            self._heap, self._place, self._keys, self._counts, self.pruned,
            self._left_out, self._scratch,
            trees.tree, trees.ends, trees.location, trees.minima, trees.opposites, trees.fate,
        )  # fmt: skip
        slots, variables = self._left_out[:, : int(self._counts[GONE])].copy()
        return done, slots, variables


@kernel
def rate(
    slots: Slots,
    tree: Tree,
    location: Integers,
    shares: Shares,
    heap: Slots,
    place: Slots,
    keys: Keys,
    counts: Integers,
    scratch: Scratch,
) -> None:
    """Put slots into the queue, or to another place in it."""
    size = counts[SIZE]
    for slot in slots:
        if place[slot]:
            size = take(heap, place, keys, size, slot)
        cost, cut, _ = best_pruning(tree, location[slot], shares, scratch)
        if cut != NOWHERE:
            size = push(heap, place, keys, size, slot, cost)
    counts[SIZE] = size


@kernel
def all_prunings_left(
    slots: Slots, tree: Tree, location: Integers, shares: Shares, scratch: Scratch
) -> int:
    """How often the trees of these slots can be pruned, all together."""
    total = 0
    for slot in slots:
        total += prunings_left(tree, location[slot], shares, scratch)
    return total


@kernel
def prune(
    steps: int,
    changes: int,
    tolerance: float,
    shares: Shares,
    heap: Slots,
    place: Slots,
    keys: Keys,
    counts: Integers,
    pruned: Slots,
    left_out: Variables,
    scratch: Scratch,
    tree: Tree,
    ends: Integers,
    location: Integers,
    minima: Bytes,
    opposites: Bytes,
    fate: Bytes,
) -> int:
    """Prune the first of the queue, again and again; how often."""
    done = 0
    size = counts[SIZE]
    gone = counts[GONE]
    while done < steps and size > 0 and gone + MOST_LEAVES <= left_out.shape[1]:
        slot = heap[0]
        rated = keys[slot]
        cost, cut, holder = best_pruning(tree, location[slot], shares, scratch)
        size = take(heap, place, keys, size, slot)
        waits = changes == Changes.BETTER and size > 0 and cost > keys[heap[0]]
        if waits or (changes == Changes.WITHIN and cost > rated + tolerance):
            size = push(heap, place, keys, size, slot, cost)
            continue
        count, cuts = without(tree, location[slot], cut, holder, scratch)
        for i in range(cuts):
            if scratch.more[i] & 3 == LEAF:
                left_out[0, gone] = slot
                left_out[1, gone] = scratch.more[i] >> 2
                gone += 1
        write(
            slot, scratch.tokens, count, scratch.more, scratch.others, scratch.places,
            scratch.buffer, tree, ends, location, minima, opposites, fate,
        )  # fmt: skip
        pruned[slot] += 1
        done += 1
        cost, cut, _ = best_pruning(tree, location[slot], shares, scratch)
        if cut != NOWHERE:
            size = push(heap, place, keys, size, slot, cost)
    counts[SIZE] = size
    counts[GONE] = gone
    return done

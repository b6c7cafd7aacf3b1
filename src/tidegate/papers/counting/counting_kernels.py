"""Which subscriptions have as many fulfilled predicates as they need, and hold?

Every fulfilled predicate adds one to the counter of each subscription that it is associated with.
Whoever reaches its minimum is a **candidate**, and its tree is evaluated. Counters are zero between
two events, but not by clearing all of them each time. After a few additions, candidates are noted
as they come, and the same lists are gone through again to take back what was added. Only where
additions are many, one sweep over all counters, 64 side by side, finds candidates and clears: that
takes less than a look at the minimum with each addition.

Counters are bytes, for the sake of the processor's cache. A tree with more predicates than a byte
can count, and one with none (TRUE, FALSE), is **uncounted**: it is evaluated for every event.

This is the second step of filtering in section 4.4 of Bittner, Hinze, "Subscription Tree Pruning"
(OTM 2006); the first, the predicates that are fulfilled, is `papers.predicates`.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel
from tidegate.papers.counting.tree_bytes import Integers, Tree
from tidegate.papers.counting.tree_kernels import Words, holds, put

Variables: TypeAlias = NDArray[np.int32]
Bytes: TypeAlias = NDArray[np.uint8]

MOST_COUNTED: Final = 255
"""Predicates that a tree may have and be counted."""
SIDE_BY_SIDE: Final = 64
"""Counters that are looked at together; there are always so many, or a multiple."""
EVALUATED: Final = 0
"""What becomes of a candidate: its tree is evaluated; it is certain to hold; it does not count."""
CERTAIN: Final = 1
UNCOUNTED: Final = 2

_SPARSE: Final = 16  # counters for each addition: from then on, a sweep takes longer
_BLOCK: Final = np.uint64(SIDE_BY_SIDE)
_WORD: Final = np.uint64(6)
_ONE: Final = np.uint8(1)


@kernel
def count(
    held: Variables,
    first: Integers,
    length: Variables,
    entries: Variables,
    counters: Bytes,
    minima: Bytes,
    candidates: Variables,
) -> int:
    """List the slots that have at least as many fulfilled predicates as they need; how many.

    There is room for one more than there are slots.
    """
    additions = 0
    for i in range(len(held)):
        additions += length[held[i]]
    if additions * _SPARSE < len(counters):
        return _count_few(held, first, length, entries, counters, minima, candidates)
    for i in range(len(held)):
        variable = np.uint64(held[i])
        start = np.uint64(first[variable])
        for k in range(np.uint64(length[variable])):
            counters[np.uint64(entries[start + k])] += _ONE
    return _sweep(counters, minima, candidates)


@kernel
def _count_few(
    held: Variables,
    first: Integers,
    length: Variables,
    entries: Variables,
    counters: Bytes,
    minima: Bytes,
    candidates: Variables,
) -> int:
    found = 0
    for i in range(len(held)):
        variable = np.uint64(held[i])
        start = np.uint64(first[variable])
        for k in range(np.uint64(length[variable])):
            slot = np.uint64(entries[start + k])
            reached = np.uint8(counters[slot] + _ONE)
            counters[slot] = reached
            if reached == minima[slot]:
                candidates[found] = slot
                found += 1
    for i in range(len(held)):
        variable = np.uint64(held[i])
        start = np.uint64(first[variable])
        for k in range(np.uint64(length[variable])):
            counters[np.uint64(entries[start + k])] = 0
    return found


@kernel
def _sweep(counters: Bytes, minima: Bytes, candidates: Variables) -> int:
    """List the slots that have reached their minima, and clear all counters.

    Indices without a sign, and no branch for each slot, let all this be done for many at once.
    """
    found = 0
    for block in range(np.uint64(0), np.uint64(len(counters)), _BLOCK):
        reached = np.uint8(0)
        for i in range(_BLOCK):
            reached |= np.uint8(counters[block + i] >= minima[block + i])
        if reached:
            for i in range(_BLOCK):
                candidates[np.uint64(found)] = block + i
                found += int(counters[block + i] >= minima[block + i])
    counters[:] = 0
    return found


@kernel
def settle(
    held: Variables,
    candidates: Variables,
    found: int,
    uncounted: Variables,
    fate: Bytes,
    tree: Tree,
    location: Integers,
    every: int,
    bits: Words,
    ends: Integers,
    kinds: Integers,
) -> int:
    """Keep the candidates whose trees hold, in place, and the uncounted; how many they are.

    `bits` are clear before, and after.
    """
    for i in range(len(held)):
        put(bits, held[i])
    kept = 0
    for i in range(found):
        slot = candidates[i]
        hit = fate[slot] == CERTAIN
        if fate[slot] == EVALUATED:
            hit = holds(tree, location[slot], bits, every, ends, kinds)
        if hit:
            candidates[kept] = slot
            kept += 1
    for slot in uncounted:
        if holds(tree, location[slot], bits, every, ends, kinds):
            candidates[kept] = slot
            kept += 1
    for i in range(len(held)):
        bits[np.uint64(held[i]) >> _WORD] = 0
    return kept


@kernel
def tally(held: Variables, fulfilled: Integers) -> None:
    """One event more for each predicate that it fulfils."""
    for i in range(len(held)):
        fulfilled[held[i]] += 1

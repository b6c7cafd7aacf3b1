"""Which slot has the smallest key?

A binary heap of slots that knows where each of them stands, so that one can be taken out of the
middle, too. Of equal keys, the smaller slot comes first: the same history gives the same order.

Invariant: a slot at place `i` does not come after those at `2 i + 1` and `2 i + 2`; `place` has its
place plus one, and 0 of a slot that is not there.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import inlined, kernel

Slots: TypeAlias = NDArray[np.int32]
Keys: TypeAlias = NDArray[np.float64]


@inlined
def _before(keys: Keys, one: int, other: int) -> bool:
    return keys[one] < keys[other] or (keys[one] == keys[other] and one < other)


@kernel
def _rise(heap: Slots, place: Slots, keys: Keys, at: int) -> int:
    slot = heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if not _before(keys, slot, heap[above]):
            break
        heap[at] = heap[above]
        place[heap[at]] = at + 1
        at = above
    heap[at] = slot
    place[slot] = at + 1
    return at


@kernel
def _sink(heap: Slots, place: Slots, keys: Keys, size: int, at: int) -> None:
    slot = heap[at]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and _before(keys, heap[below + 1], heap[below]):
            below += 1
        if not _before(keys, heap[below], slot):
            break
        heap[at] = heap[below]
        place[heap[at]] = at + 1
        at = below
    heap[at] = slot
    place[slot] = at + 1


@kernel
def push(heap: Slots, place: Slots, keys: Keys, size: int, slot: int, key: float) -> int:
    """Put a slot in that is not there; the new size."""
    keys[slot] = key
    heap[size] = slot
    _rise(heap, place, keys, size)
    return size + 1


@kernel
def take(heap: Slots, place: Slots, keys: Keys, size: int, slot: int) -> int:
    """Take a slot out that is there; the new size."""
    at = place[slot] - 1
    place[slot] = 0
    last = heap[size - 1]
    if last != slot:
        heap[at] = last
        _sink(heap, place, keys, size - 1, _rise(heap, place, keys, at))
    return size - 1

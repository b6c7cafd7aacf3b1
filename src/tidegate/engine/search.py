"""How many of these numbers, which stand in their order, come before each of those?

`np.searchsorted` does one search after the other, and waits for memory at every step of each. Here
the searches for many keys go step by step together, so that the processor waits for all of them at
once: that is five times as fast.
"""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.compiled import inlined, kernel

Integers: TypeAlias = NDArray[np.int64]

_TOGETHER: Final = 64  # keys


def before(cuts: NDArray[Any], keys: NDArray[Any]) -> Integers:
    """For each key the number of cuts less than it; both are 64-bit integers, or any objects."""
    if cuts.dtype != np.int64 or keys.dtype != np.int64:
        return np.searchsorted(cuts, keys)
    found = np.empty(len(keys), np.int64)
    count_before(cuts, keys, found)
    return found


def upto(cuts: NDArray[Any], keys: NDArray[Any]) -> Integers:
    """For each key the number of cuts that are at most it."""
    if cuts.dtype != np.int64 or keys.dtype != np.int64:
        return np.searchsorted(cuts, keys, side="right")
    found = np.empty(len(keys), np.int64)
    count_upto(cuts, keys, found)
    return found


@kernel
def count_before(cuts: Integers, keys: Integers, found: Integers) -> None:
    """`before`, into an array."""
    _search(cuts, keys, found, False)


@kernel
def count_upto(cuts: Integers, keys: Integers, found: Integers) -> None:
    """`upto`, into an array."""
    _search(cuts, keys, found, True)


@inlined
def _search(cuts: Integers, keys: Integers, found: Integers, equal: bool) -> None:
    """Halve the cuts in question until one is left, which is looked at last.

    Of `length` cuts from `found[i]` on, all before them are before the key i.
    """
    size = min(len(keys), len(found))
    for begin in range(0, size, _TOGETHER):
        stop = min(begin + _TOGETHER, size)
        for i in range(begin, stop):
            found[i] = 0
        length = len(cuts)
        while length > 1:
            half = np.uint64(length >> 1)
            for i in range(begin, stop):
                at = np.uint64(found[i])
                cut = cuts[at + half - np.uint64(1)]
                is_before = cut <= keys[i] if equal else cut < keys[i]
                found[i] = at + half if is_before else at
            length -= length >> 1
        if length == 1:
            for i in range(begin, stop):
                cut = cuts[np.uint64(found[i])]
                found[i] += cut <= keys[i] if equal else cut < keys[i]

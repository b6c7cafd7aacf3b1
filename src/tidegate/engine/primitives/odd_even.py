"""Where does a value stand among cuts, if it may lie between them?

The cuts, in their order, have the odd numbers 1, 3, 5, …; what lies between two of them, before the
first or behind the last has the even number in between. So values compare with cuts, and with each
other as far as cuts tell them apart, as their numbers do.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.primitives.integer_arrays import I32, I64
from tidegate.jit import kernel

Cuts: TypeAlias = Sequence[Any] | NDArray[Any]


def cut_numbers(places: NDArray[Any]) -> NDArray[Any]:
    """The numbers of cuts, before which there are so many."""
    numbers: NDArray[Any] = 2 * places + 1
    return numbers


def number_among(cuts: Cuts, key: Any) -> int:
    """The number of a key.

    >>> [number_among([10, 20], key) for key in (5, 10, 15, 20, 25)]
    [0, 1, 2, 3, 4]
    """
    at = int(cuts.searchsorted(key)) if isinstance(cuts, np.ndarray) else bisect_left(cuts, key)
    return 2 * at + bool(at < len(cuts) and cuts[at] == key)


def numbers_among(cuts: NDArray[Any], keys: NDArray[Any], before: NDArray[Any]) -> NDArray[Any]:
    """The numbers of keys of any type, before which there are so many of the cuts, some at least.

    >>> cuts, keys = np.array([10, 20]), np.array([5, 10, 15, 20, 25])
    >>> numbers_among(cuts, keys, np.searchsorted(cuts, keys)).tolist()
    [0, 1, 2, 3, 4]
    """
    equal = cuts[np.minimum(before, len(cuts) - 1)] == keys
    numbers: NDArray[Any] = 2 * before + equal
    return numbers


@kernel
def write_numbers(cuts: I64, keys: I64, before: I64, rows: I32, least: I32, most: I32) -> None:
    """The same of 64-bit keys, written twice into the rows of these."""
    for i in range(min(len(keys), len(before), len(rows))):
        at = before[i]
        is_cut = at < len(cuts) and cuts[np.uint64(at)] == keys[i]
        own = np.int32(2 * at + is_cut)
        least[np.uint64(rows[i])] = own
        most[np.uint64(rows[i])] = own

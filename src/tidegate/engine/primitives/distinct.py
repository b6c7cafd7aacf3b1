"""Which values of an array are the same?

They are numbered from 0 on, in their order, so that what is known about each distinct value can be
an array as well. That is what `np.unique` does by sorting; values that are small integers, as
numbers and codes mostly are, need no sorting. Where it does not sort, it hashes, which of a million
large values takes ten times as long.
"""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]

_SPARSE: Final = 8  # times as large as there are values: from there on they are sorted


def occurring(values: NDArray[Any]) -> NDArray[Any]:
    """The values that occur, in their order: `np.unique`."""
    if values.dtype != object and len(values) and values.min() >= 0:
        top = int(values.max()) + 1
        if top <= _SPARSE * len(values):
            occurs = np.zeros(top, np.bool_)
            occurs[values] = True
            return np.flatnonzero(occurs).astype(values.dtype)
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def numbered(values: NDArray[Any]) -> Integers:
    """The number of each value among those that occur, in their order; none is negative.

    What `np.unique` calls the inverse, without sorting if the values are small.
    """
    top = int(values.max()) + 1 if len(values) else 0
    if top > _SPARSE * len(values):
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    occurs = np.zeros(top, np.int64)
    occurs[values] = 1
    found: Integers = (np.cumsum(occurs) - 1)[values]
    return found


def firsts(numbers: Integers) -> Integers:
    """Where each number from 0 on, all of which occur, occurs first."""
    found = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    found[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return found

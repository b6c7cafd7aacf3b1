"""Where do the parts of a flat array begin?

Parts of different lengths lie one after the other, without gaps: part i is `start[i]:start[i + 1]`,
so there is one start more than there are parts, and the last one is the length of the array.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]


def starts(counts: NDArray[Any]) -> Integers:
    """Where parts of these lengths begin, and where the last one ends."""
    found = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def lengths(start: NDArray[Any]) -> Integers:
    """How long the parts are that begin and end there: `starts` turned round."""
    whole: Integers = start.astype(np.int64)
    found: Integers = np.diff(whole)
    return found


def pick(begin: NDArray[Any], counts: NDArray[Any]) -> Integers:
    """The places begin[i], begin[i] + 1, … of all i, as many as counted."""
    ends = np.cumsum(counts)
    if not len(ends) or not ends[-1]:
        return np.empty(0, np.int64)
    found: Integers = np.arange(ends[-1]) + np.repeat(begin - ends + counts, counts)
    return found

"""Which of many outlines fit around another one, and which lie in it or meet it?

Outlines are rows of a few limits: an attribute's number, a low and a high end. What is asked about
has any number of them. Rows are looked at one after the other; most are out at the first limit.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel

Limits: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.uint8]

UNSURE: Final = 1
"""Of a row: what its limits say about where it lies does not count."""
PARENT: Final = 2
"""Of a row: others hang under it."""


@kernel
def around(
    rows: int,
    attributes: Limits,
    lows: Limits,
    highs: Limits,
    counts: Flags,
    asked: Limits,
    found: NDArray[np.int64],
) -> int:
    """Write down the rows that this outline may lie in; how many there are."""
    n = 0
    for row in range(rows):
        fits = True
        for k in range(counts[row]):
            inside = False
            for j in range(asked.shape[1]):
                if asked[0, j] == attributes[row, k]:
                    inside = lows[row, k] <= asked[1, j] and asked[2, j] <= highs[row, k]
                    break
            if not inside:
                fits = False
                break
        if fits:
            found[n] = row
            n += 1
    return n


@kernel
def within(
    rows: int,
    attributes: Limits,
    lows: Limits,
    highs: Limits,
    counts: Flags,
    flags: Flags,
    asked: Limits,
    parents: bool,
    found: NDArray[np.int64],
) -> int:
    """Write down the rows that may meet this outline; how many there are.

    A row that does not lie in it is complemented; with `parents`, only those of parents are of use.
    """
    n = 0
    for row in range(rows):
        meets = True
        inside = 0
        for k in range(counts[row]):
            for j in range(asked.shape[1]):
                if asked[0, j] == attributes[row, k]:
                    low, high = lows[row, k], highs[row, k]
                    meets = low <= asked[2, j] and asked[1, j] <= high
                    inside += asked[1, j] <= low and high <= asked[2, j]
                    break
            if not meets:
                break
        if flags[row] & UNSURE or (meets and inside == asked.shape[1]):
            found[n] = row
            n += 1
        elif meets and (flags[row] & PARENT or not parents):
            found[n] = ~row
            n += 1
    return n

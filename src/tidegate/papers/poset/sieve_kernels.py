"""Which of many outlines fit around another one, and which lie in it or meet it?

Outlines are rows of a few limits: an attribute's number, a low and a high end, and whether it is
soft. A soft attribute without limits has ends that nothing lies beyond. What is asked about has any
number of limits. Rows are looked at one after the other; most are out at the first limit.
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
LOWEST: Final = -(2**63)
HIGHEST: Final = 2**63 - 1


@kernel
def around(
    rows: int, limits: Limits, counts: Flags, asked: Limits, found: NDArray[np.int64]
) -> int:
    """Write down the rows that this outline may lie in; how many there are."""
    n = 0
    for row in range(rows):
        fits = True
        for k in range(counts[row]):
            low, high = limits[1, row, k], limits[2, row, k]
            inside = low == LOWEST and high == HIGHEST
            for j in range(asked.shape[1]):
                if asked[0, j] == limits[0, row, k]:
                    if asked[3, j]:
                        inside = low <= asked[2, j] and asked[1, j] <= high
                    else:
                        inside = low <= asked[1, j] and asked[2, j] <= high
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
    limits: Limits,
    counts: Flags,
    flags: Flags,
    asked: Limits,
    needed: int,
    parents: bool,
    found: NDArray[np.int64],
) -> int:
    """Write down the rows that may meet this outline; how many there are.

    A row that does not lie in it, within all limits that are `needed`, is complemented; with
    `parents`, only those of parents are of use.
    """
    n = 0
    for row in range(rows):
        meets = True
        inside = 0
        for k in range(counts[row]):
            for j in range(needed):
                if asked[0, j] == limits[0, row, k]:
                    low, high = limits[1, row, k], limits[2, row, k]
                    meets = low <= asked[2, j] and asked[1, j] <= high
                    soft = limits[3, row, k] != 0
                    inside += soft or (asked[1, j] <= low and high <= asked[2, j])
                    break
            if not meets:
                break
        if meets and (inside == needed or flags[row] & UNSURE):
            found[n] = row
            n += 1
        elif meets and (flags[row] & PARENT or not parents):
            found[n] = ~row
            n += 1
    return n

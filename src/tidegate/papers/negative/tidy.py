"""Which boxes that touch can be one?

Splitting never puts together again what it has cut: Jafarpour, Hore, Mehrotra, Venkatasubramanian
(Middleware 2008, section 7) leave merging rectangles for later. Two disjoint boxes are one if they
are equal in all dimensions but one, and one ends there where the other begins. Dimension by
dimension, boxes are sorted so that such neighbours stand side by side, until there are none.

Invariant: the union of the boxes stays what it is, and they stay disjoint.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel

Integers: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]


def merged(boxes: Integers) -> Integers:
    """Disjoint boxes, with neighbours put together for as long as there are any.

    >>> merged(np.array([[0, 5, 0, 9], [5, 7, 0, 3], [5, 7, 3, 9]])).tolist()
    [[0, 7, 0, 9]]
    """
    boxes = np.ascontiguousarray(boxes).copy()
    keys = np.empty(len(boxes), np.uint64)
    unchanged, k = 0, 0
    while boxes.shape[1] and unchanged < boxes.shape[1] // 2:
        count = len(boxes)
        _digest(boxes, k, keys[:count])
        order = np.lexsort((boxes[:, 2 * k], keys[:count]))
        boxes = boxes[order]
        boxes = boxes[: _merge(boxes, k)]
        unchanged = 0 if len(boxes) < count else unchanged + 1
        k = (k + 1) % (boxes.shape[1] // 2)
    return boxes


@kernel
def _digest(boxes: Integers, left_out: int, keys: Words) -> None:
    """A number for the ends of each box in all dimensions but one, the same for equal ones."""
    for i in range(len(boxes)):
        key = np.uint64(0x9E3779B97F4A7C15)
        for k in range(boxes.shape[1]):
            if k // 2 != left_out:
                key = (key ^ np.uint64(boxes[i, k])) * np.uint64(0xFF51AFD7ED558CCD)
                key ^= key >> np.uint64(32)
        keys[i] = key


@kernel
def _merge(boxes: Integers, k: int) -> int:
    """Put sorted neighbours together, at the beginning of the array; how many boxes are left."""
    last = 0
    for i in range(1, len(boxes)):
        if _touch(boxes, last, i, k):
            boxes[last, 2 * k + 1] = boxes[i, 2 * k + 1]
            continue
        last += 1
        for end in range(boxes.shape[1]):
            boxes[last, end] = boxes[i, end]
    return min(len(boxes), last + 1)


@kernel
def _touch(boxes: Integers, one: int, other: int, k: int) -> bool:
    """Whether a box ends where another one begins in a dimension, and is its equal in all others.

    Digests may be equal by chance, so the ends themselves are compared.
    """
    for end in range(boxes.shape[1]):
        if end // 2 != k and boxes[one, end] != boxes[other, end]:
            return False
    return bool(boxes[one, 2 * k + 1] == boxes[other, 2 * k])

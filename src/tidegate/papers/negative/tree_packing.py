"""How do many boxes become a tree in which to search for them?

A tree that grows by splitting boxes follows the history of what was taken away, and may become
deep. So now and then it is made anew, by halves: the boxes are parted in the middle of the
dimension along which they are spread most, until few enough are left (a k-d tree: Bentley,
"Multidimensional Binary Search Trees Used for Associative Searching", 1975; with the boxes of an
R-tree: Guttman, "R-trees: A Dynamic Index Structure for Spatial Searching", 1984). Nodes stand in
memory in the order in which a search meets them.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import inlined, kernel
from tidegate.papers.negative.tree_kernels import (
    CHILD,
    FREE,
    FREED,
    LEAVES,
    NEXT,
    NONE,
    PARENT,
    PREVIOUS,
    ROOT,
    USED,
    Integers,
    Rows,
)

Numbers: TypeAlias = NDArray[np.float64]

UNPARTED: Final = 8
"""Leaves that are not parted any more."""


def places(boxes: Integers) -> Numbers:
    """Of each box and dimension, where its middle lies, from 0 to 1 of where all of them lie."""
    found = boxes[:, ::2] * 0.5 + boxes[:, 1::2] * 0.5
    if len(found):
        found -= found.min(axis=0)
        found /= np.maximum(found.max(axis=0), 1.0)
    return found


@kernel
def pack(
    boxes: Integers,
    places: Numbers,
    order: Rows,
    stack: Rows,
    ends: Integers,
    links: Rows,
    counts: Integers,
) -> None:
    """Make a tree of boxes, in `ends` and `links`, which have room for twice as many rows.

    `order` has the numbers of the boxes, and is put in order; `stack` is room for 128 rows of
    three.
    """
    count = len(boxes)
    links[ROOT, PARENT] = links[ROOT, CHILD] = links[ROOT, NEXT] = links[ROOT, PREVIOUS] = NONE
    counts[FREE] = NONE
    counts[FREED] = 0
    counts[LEAVES] = count
    used = 1
    depth = 0
    if count > 0:
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, count, ROOT
        depth = 1
    while depth > 0:
        depth -= 1
        start, stop, parent = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if stop - start <= UNPARTED:
            for i in range(start, stop):
                for k in range(boxes.shape[1]):
                    ends[used, k] = boxes[order[i], k]
                links[used, CHILD] = NONE
                _put(links, parent, used)
                used += 1
            continue
        node = used
        _put(links, parent, node)
        links[node, CHILD] = NONE
        used += 1
        middle = (start + stop) // 2
        _part(order, start, stop, middle, places, _widest(order, start, stop, places))
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = start, middle, node
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = middle, stop, node
        depth += 2
    counts[USED] = used
    _surround(ends, links, used)


@inlined
def _put(links: Rows, parent: int, row: int) -> None:
    behind = links[parent, CHILD]
    links[row, PARENT] = parent
    links[row, NEXT] = behind
    links[row, PREVIOUS] = NONE
    links[parent, CHILD] = row
    if behind != NONE:
        links[behind, PREVIOUS] = row


@kernel
def _surround(ends: Integers, links: Rows, used: int) -> None:
    """Give every node the smallest box around its children, which stand behind it."""
    for row in range(used - 1, 0, -1):
        child = links[row, CHILD]
        if child == NONE:
            continue
        for k in range(ends.shape[1]):
            ends[row, k] = ends[child, k]
        child = links[child, NEXT]
        while child != NONE:
            for k in range(0, ends.shape[1], 2):
                ends[row, k] = min(ends[row, k], ends[child, k])
                ends[row, k + 1] = max(ends[row, k + 1], ends[child, k + 1])
            child = links[child, NEXT]


@kernel
def _widest(order: Rows, start: int, stop: int, places: Numbers) -> int:
    """The dimension in which some of the boxes are spread most."""
    best, widest = 0, -1.0
    for k in range(places.shape[1]):
        low = high = places[order[start], k]
        for i in range(start + 1, stop):
            place = places[order[i], k]
            low = min(low, place)
            high = max(high, place)
        if high - low > widest:
            best, widest = k, high - low
    return best


@kernel
def _part(order: Rows, start: int, stop: int, middle: int, places: Numbers, k: int) -> None:
    """Put the boxes in order so far that none before the middle is behind one after it.

    Hoare's "Find" (1961): parts are swapped until the one with the middle is a single box.
    """
    if k >= places.shape[1]:
        return  # no dimensions: one box is as good as another
    first, last = start, stop - 1
    while first < last:
        pivot = places[order[(first + last) // 2], k]
        i, j = first, last
        while i <= j:
            while places[order[i], k] < pivot:
                i += 1
            while places[order[j], k] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if j < middle:
            first = i
        if i > middle:
            last = j

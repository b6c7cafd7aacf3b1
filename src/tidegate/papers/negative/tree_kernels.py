"""Which disjoint boxes does a box overlap, and what is left of them without it?

The compiled part of `box_tree`. A tree has its boxes in its leaves; a node above them has a box
around all that lies below it. Taking a box away from a leaf is `Subtract` of Jafarpour, Hore,
Mehrotra, Venkatasubramanian (Middleware 2008, Fig. 4): in one dimension after the other, what lies
before the box and what lies behind it is cut off, and what is left goes on to the next dimension.
In the figure's line 9, that is as wide as the subscription; it has to be as wide as subscription
*and* rectangle, or it would reach beyond the rectangle.

The pieces become children of the leaf, whose own box is then one around them: so splitting boxes
grows a tree in which to search for them.

A row of `ends` has, of each dimension, the low end and the one where the box stops, which is not
part of it. A row of `links` has the parent, the first child, the next and the previous child of the
same parent. Row 0 is above all; it has no box.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import inlined, kernel

Integers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.int32]

PARENT: Final = 0
CHILD: Final = 1
NEXT: Final = 2
PREVIOUS: Final = 3
NONE: Final = -1
ROOT: Final = 0

# What is counted: rows ever used, the first free one of them, rows that are free, and leaves.
USED: Final = 0
FREE: Final = 1
FREED: Final = 2
LEAVES: Final = 3


@kernel
def search(ends: Integers, links: Rows, top: int, box: Integers, found: Rows, most: int) -> int:
    """Write down the leaves below `top` that overlap a box, up to so many; their number."""
    count = 0
    node = links[top, CHILD]
    if node == NONE:
        return 0
    while True:
        if _overlaps(ends, node, box):
            child = links[node, CHILD]
            if child != NONE:
                node = child
                continue
            found[count] = node
            count += 1
            if count == most:
                return count
        while links[node, NEXT] == NONE:
            node = links[node, PARENT]
            if node == top:
                return count
        node = links[node, NEXT]


@inlined
def _overlaps(ends: Integers, row: int, box: Integers) -> bool:
    for k in range(0, box.size, 2):
        if ends[row, k] >= box[k + 1] or ends[row, k + 1] <= box[k]:
            return False
    return True


@kernel
def count_faces(ends: Integers, rows: Rows, box: Integers, faces: Integers) -> int:
    """Of rows that a box overlaps, how many of its faces lie in each: pieces that it would leave.

    Returns how many rows of the tree it takes to write all pieces down.
    """
    needed = 0
    for i in range(rows.size):
        count = _faces(ends, rows[i], box)
        faces[i] = count
        if count > 1:
            needed += count
    return needed


@inlined
def _faces(ends: Integers, row: int, box: Integers) -> int:
    count = 0
    for k in range(0, box.size, 2):
        if box[k] > ends[row, k]:
            count += 1
        if box[k + 1] < ends[row, k + 1]:
            count += 1
    return count


@kernel
def take_away(
    ends: Integers,
    links: Rows,
    counts: Integers,
    top: int,
    leaves: Rows,
    box: Integers,
    rest: Integers,
) -> None:
    """Take a box away from leaves that overlap it, all of them below `top`, which stays.

    `rest` is room for one box. There is room in the tree for all pieces.
    """
    for i in range(leaves.size):
        leaf = leaves[i]
        pieces, face = 0, 0
        for k in range(0, box.size, 2):
            if box[k] > ends[leaf, k]:
                pieces += 1
                face = k
            if box[k + 1] < ends[leaf, k + 1]:
                pieces += 1
                face = k + 1
        if pieces == 0:
            remove(links, counts, top, leaf)
        elif pieces == 1 and face % 2 == 0:
            ends[leaf, face + 1] = box[face]
        elif pieces == 1:
            ends[leaf, face - 1] = box[face]
        else:
            _split(ends, links, counts, leaf, box, rest)


@kernel
def take_all_away(
    ends: Integers,
    links: Rows,
    counts: Integers,
    top: int,
    boxes: Integers,
    begin: int,
    found: Rows,
    rest: Integers,
) -> int:
    """Take boxes away from the leaves below `top`, one by one from number `begin` on.

    Returns the number of the first one for which there is no room, in `found` or in the tree.
    """
    for i in range(begin, len(boxes)):
        if links[top, CHILD] == NONE:
            return len(boxes)
        box = boxes[i]
        count = search(ends, links, top, box, found, found.size)
        needed = 0
        for j in range(count):
            needed += _faces(ends, found[j], box)
        if count == found.size or needed > len(ends) - counts[USED] + counts[FREED]:
            return i
        take_away(ends, links, counts, top, found[:count], box, rest)
    return len(boxes)


@kernel
def _split(
    ends: Integers, links: Rows, counts: Integers, leaf: int, box: Integers, rest: Integers
) -> None:
    """Give a leaf the pieces that are left of it without a box for children."""
    for k in range(box.size):
        rest[k] = ends[leaf, k]
    for k in range(0, box.size, 2):
        if box[k] > rest[k]:
            piece = add(ends, links, counts, leaf, rest)
            ends[piece, k + 1] = box[k]
            rest[k] = box[k]
        if box[k + 1] < rest[k + 1]:
            piece = add(ends, links, counts, leaf, rest)
            ends[piece, k] = box[k + 1]
            rest[k + 1] = box[k + 1]
    counts[LEAVES] -= 1  # which has become a node


@kernel
def add(ends: Integers, links: Rows, counts: Integers, parent: int, box: Integers) -> int:
    """Add a leaf, for which there is room; its row."""
    row = counts[FREE]
    if row == NONE:
        row = counts[USED]
        counts[USED] += 1
    else:
        counts[FREE] = links[row, NEXT]
        counts[FREED] -= 1
    for k in range(box.size):
        ends[row, k] = box[k]
    links[row, CHILD] = NONE
    _link(links, parent, row)
    counts[LEAVES] += 1
    return int(row)


@inlined
def _link(links: Rows, parent: int, row: int) -> None:
    behind = links[parent, CHILD]
    links[row, PARENT] = parent
    links[row, NEXT] = behind
    links[row, PREVIOUS] = NONE
    links[parent, CHILD] = row
    if behind != NONE:
        links[behind, PREVIOUS] = row


@inlined
def _unlink(links: Rows, row: int) -> None:
    before, behind = links[row, PREVIOUS], links[row, NEXT]
    if before == NONE:
        links[links[row, PARENT], CHILD] = behind
    else:
        links[before, NEXT] = behind
    if behind != NONE:
        links[behind, PREVIOUS] = before


@kernel
def remove(links: Rows, counts: Integers, top: int, leaf: int) -> None:
    """Remove a leaf, and with it every node below `top` that has nothing below it any more."""
    counts[LEAVES] -= 1
    row = leaf
    while True:
        parent = links[row, PARENT]
        _unlink(links, row)
        _free(links, counts, row)
        if parent == top or links[parent, CHILD] != NONE:
            break
        row = parent
    if parent != top:
        shorten(links, counts, parent)


@kernel
def shorten(links: Rows, counts: Integers, node: int) -> None:
    """Put the child of a node in its place if it is the only one."""
    child = links[node, CHILD]
    if links[child, NEXT] == NONE:
        parent = links[node, PARENT]
        _unlink(links, node)
        _link(links, parent, child)
        _free(links, counts, node)


@inlined
def _free(links: Rows, counts: Integers, row: int) -> None:
    links[row, NEXT] = counts[FREE]
    counts[FREE] = row
    counts[FREED] += 1


@kernel
def home(ends: Integers, links: Rows, box: Integers) -> int:
    """The lowest node around a box that overlaps no leaf."""
    node = ROOT
    row = links[node, CHILD]
    while row != NONE:
        if links[row, CHILD] != NONE and _holds(ends, row, box):
            node = row
            row = links[node, CHILD]
        else:
            row = links[row, NEXT]
    return int(node)


@inlined
def _holds(ends: Integers, row: int, box: Integers) -> bool:
    for k in range(0, box.size, 2):
        if ends[row, k] > box[k] or ends[row, k + 1] < box[k + 1]:
            return False
    return True


@kernel
def leaves(links: Rows, found: Rows) -> int:
    """Write down all leaves; their number."""
    count = 0
    node = links[ROOT, CHILD]
    if node == NONE:
        return 0
    while True:
        if links[node, CHILD] != NONE:
            node = links[node, CHILD]
            continue
        found[count] = node
        count += 1
        while links[node, NEXT] == NONE:
            node = links[node, PARENT]
            if node == ROOT:
                return count
        node = links[node, NEXT]

"""A changing set of disjoint integer boxes: which of them does a box overlap?

The negative rectangles of Jafarpour, Hore, Mehrotra, Venkatasubramanian (Middleware 2008), who
leave the index open (any R-tree or k-d tree). Here it is the tree that splitting makes
(`tree_kernels`) and that is made anew by halves (`tree_packing`) when the boxes have doubled, or
when much was put into it from outside.

Invariant: no two boxes of the tree overlap, if those that were put in did not.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.papers.negative import tree_kernels as kernels
from tidegate.papers.negative import tree_packing as packing
from tidegate.papers.negative.tidy import merged

Integers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.int32]

_ROWS: Final = 64  # at first
_DEPTH: Final = 128
_STRAY: Final = 256  # boxes from outside, and one for each 4 there are, that make it worth it


class BoxTree:
    """Disjoint boxes: of each dimension, a low end, and an end that is not part of the box.

    How much memory it may take is for others to say (`allow`) and to heed (`fits`). With `tidy`,
    neighbours are put together (`tidy.merged`) whenever the tree is made anew.

    The first subscription of the paper's Fig. 2, taken away from the whole, leaves four boxes, and
    one that overlaps nothing of it finds none of them:

    >>> tree = BoxTree(np.array([0, 1000, 0, 1000]))
    >>> first = np.array([175, 511, 180, 681])
    >>> tree.take_away(first, tree.overlapping(first))
    >>> len(tree), tree.overlaps(first), tree.overlaps(np.array([0, 176, 300, 301]))
    (4, False, True)
    """

    def __init__(self, whole: Integers, *, tidy: bool = False) -> None:
        self._tidies = tidy
        self.most = 2**31 - 1
        self._ends = np.zeros((_ROWS, len(whole)), np.int64)
        self._links = np.full((_ROWS, 4), kernels.NONE, np.int32)
        self._counts = np.array([1, kernels.NONE, 0, 0], np.int64)
        self._found = np.empty(_ROWS, np.int32)
        self._rest = np.empty(len(whole), np.int64)
        self._packed = 1  # boxes there were when the tree was made
        self._strays = 0
        self.add(whole)

    def __len__(self) -> int:
        return int(self._counts[kernels.LEAVES])

    @property
    def rows(self) -> int:
        """How many rows there are, those not in use included."""
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        """The memory of all arrays, the longest answer included."""
        return len(self._ends) * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """The memory that a row takes, and room in an answer for it."""
        return 8 * self._ends.shape[1] + 4 * self._links.shape[1] + 8

    @property
    def free(self) -> int:
        """How many rows there is room for without more memory."""
        return int(len(self._ends) - self._counts[kernels.USED] + self._counts[kernels.FREED])

    def allow(self, more: int) -> None:
        """Say how many bytes more it may take than now."""
        self.most = len(self._ends) + max(0, more) // self.row_bytes

    def fits(self, rows: int) -> bool:
        """Whether there is room for so many more rows, or there may be."""
        return rows <= self.free + max(0, self.most - len(self._ends))

    def overlaps(self, box: Integers) -> bool:
        """Whether a box overlaps one of the tree's."""
        found = kernels.search(self._ends, self._links, kernels.ROOT, box, self._found, 1)
        return bool(found)

    def overlapping(self, box: Integers, top: int = kernels.ROOT) -> Rows:
        """The rows of the boxes, all or those below `top`, that a box overlaps."""
        while True:
            room = len(self._found)
            count = kernels.search(self._ends, self._links, top, box, self._found, room)
            if count < room:
                return self._found[:count].copy()
            self._found = np.empty(2 * room, np.int32)

    def at(self, rows: Rows) -> Integers:
        """The boxes in these rows."""
        return self._ends[rows]

    def faces(self, box: Integers, rows: Rows) -> tuple[Integers, int]:
        """How many pieces taking a box away would leave of each; and the rows that this takes."""
        faces = np.empty(len(rows), np.int64)
        return faces, int(kernels.count_faces(self._ends, rows, box, faces))

    def take_away(self, box: Integers, rows: Rows, top: int = kernels.ROOT) -> None:
        """Take a box away from boxes that it overlaps."""
        _, needed = self.faces(box, rows)
        self._make_room(needed)
        kernels.take_away(self._ends, self._links, self._counts, top, rows, box, self._rest)
        if top == kernels.ROOT:
            self._tend()

    def cut_down(self, node: int, boxes: Integers) -> bool:
        """Take boxes away from what is below an open node; whether there was room for it."""
        done = 0
        while True:
            done = kernels.take_all_away(
                *(self._ends, self._links, self._counts, node, boxes, done),
                *(self._found, self._rest),
            )
            if done == len(boxes):
                return True
            count = len(self.overlapping(boxes[done], node))  # which makes room in `found`
            needed = count * boxes.shape[1]
            if not self.fits(needed):
                return False
            self._make_room(needed)

    def add(self, box: Integers) -> None:
        """Add a box that overlaps no other."""
        self._make_room(1)
        home = kernels.home(self._ends, self._links, box)
        kernels.add(self._ends, self._links, self._counts, home, box)
        self._strays += 1
        self._tend()

    def add_all(self, boxes: Integers) -> None:
        """Add boxes that overlap no other."""
        if len(boxes) > len(self) // 8:
            self.load(np.concatenate([self.boxes(), boxes]))
            return
        for box in boxes:
            self.add(box)

    def open(self, box: Integers) -> int:
        """Add a box, and a node above it, below which it can be cut before `close`."""
        self._make_room(2)
        home = kernels.home(self._ends, self._links, box)
        node: int = kernels.add(self._ends, self._links, self._counts, home, box)
        kernels.add(self._ends, self._links, self._counts, node, box)
        self._counts[kernels.LEAVES] -= 1  # which the node is not
        return node

    def close(self, node: int) -> None:
        """Let a node go the way of all others."""
        child = int(self._links[node, kernels.CHILD])
        if child == kernels.NONE:
            self._counts[kernels.LEAVES] += 1
            kernels.remove(self._links, self._counts, kernels.ROOT, node)
        else:
            kernels.shorten(self._links, self._counts, node)
            self._strays += 1
        self._tend()

    def boxes(self) -> Integers:
        """All boxes, one row each."""
        rows = np.empty(len(self), np.int32)
        kernels.leaves(self._links, rows)
        return self._ends[rows]

    def load(self, boxes: Integers) -> None:
        """Have these boxes, and no others."""
        count = len(boxes)
        needed = count + 2 * (count // packing.UNPARTED) + 2
        rows = max(_ROWS, needed, min(needed + count // 2, self.most))
        self._ends = np.zeros((rows, boxes.shape[1]), np.int64)
        self._links = np.full((rows, 4), kernels.NONE, np.int32)
        self._found = np.empty(_ROWS, np.int32)
        self._rest = np.empty(boxes.shape[1], np.int64)
        packing.pack(
            np.ascontiguousarray(boxes),
            packing.places(boxes),
            np.arange(count, dtype=np.int32),
            np.empty((_DEPTH, 3), np.int32),
            self._ends,
            self._links,
            self._counts,
        )
        self._packed = count
        self._strays = 0

    def relabel(self, dimension: int, old: Integers, new: Integers) -> None:
        """Move the ends in a dimension that are at `old` places to the `new` ones; both ascend."""
        used = int(self._counts[kernels.USED])
        move(self._ends[:used, 2 * dimension : 2 * dimension + 2], old, new)

    def widen(self, more: Integers) -> None:
        """Have more dimensions, along which every box reaches from end to end."""
        rows = np.broadcast_to(more, (len(self._ends), len(more)))
        self._ends = np.ascontiguousarray(np.concatenate([self._ends, rows], axis=1))
        self._rest = np.empty(self._ends.shape[1], np.int64)

    def _make_room(self, needed: int) -> None:
        if needed <= self.free:
            return
        rows = len(self._ends)
        more = max(needed - self.free, min(rows // 2, self.most - rows))
        self._ends = np.concatenate([self._ends, np.zeros((more, self._ends.shape[1]), np.int64)])
        self._links = np.concatenate([self._links, np.full((more, 4), kernels.NONE, np.int32)])

    def _tend(self) -> None:
        """Make the tree anew if it is time."""
        count = len(self)
        if count > 2 * self._packed + _STRAY or self._strays > count // 4 + _STRAY:
            boxes = self.boxes()
            self.load(merged(boxes) if self._tidies else boxes)


def move(ends: Integers, old: Integers, new: Integers) -> None:
    """Change, in place, those of the ends that are in `old` to what stands there in `new`."""
    places = np.minimum(np.searchsorted(old, ends), len(old) - 1)
    here = old[places] == ends
    ends[here] = new[places[here]]

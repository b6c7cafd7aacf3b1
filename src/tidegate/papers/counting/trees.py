"""Where is the tree of a subscription, and how many fulfilled predicates does it need?

All trees lie in one array of bytes. The **subscription location table** says where that of a slot
begins; beside it stand the **minimum predicate count vector** and what else is known of a tree. A
tree that is replaced by a shorter one stays where it is. What removed and shortened trees leave
behind is gathered in when the array is full, or mostly empty.

Paper: Bittner, Hinze, "Subscription Tree Pruning" (OTM 2006), section 4.4, Fig. 2.

Invariant: the trees of all slots in use lie in the first `ends[USED]` bytes, none in another, and
take `ends[ALIVE]` of them.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from tidegate.jit import brief, kernel
from tidegate.papers.counting.associations import ALIVE, USED, longer
from tidegate.papers.counting.counting_kernels import (
    CERTAIN,
    EVALUATED,
    MOST_COUNTED,
    SIDE_BY_SIDE,
    UNCOUNTED,
    Bytes,
)
from tidegate.papers.counting.tree_bytes import (
    MOST_LEAVES,
    SPILL,
    Integers,
    Tree,
    decode,
    encode,
    read,
)
from tidegate.papers.counting.tree_kernels import NEVER, least_counts

_FIRST_ROOM: Final = 256  # bytes
_FIRST_TOKENS: Final = 32
_SLOT: Final = 12  # bytes that a slot takes in the arrays of `Trees`
FREE: Final = -1
"""The location of a slot that is not in use."""


class Trees:
    """The trees of slots, which are small integers.

    >>> from tidegate import parse
    >>> from tidegate.papers.counting.tree_bytes import tokens_of
    >>> trees = Trees()
    >>> trees.put(
    ...     0, tokens_of(parse("a = 1 AND (b = 2 OR c = 3)").tree, lambda p: ord(p.attribute))
    ... )
    >>> bytes(trees.tree[: trees.width(0)]).hex(" ")
    '42 08 10 61 82 04 10 62 10 63'
    >>> trees.minimum(0)
    2
    """

    def __init__(self) -> None:
        self.tree = np.zeros(_FIRST_ROOM, np.uint8)
        self.ends = np.zeros(2, np.int64)
        self.location = np.full(SIDE_BY_SIDE, FREE, np.int64)
        self.counters = np.zeros(SIDE_BY_SIDE, np.uint8)  # zero, but for the time of a match
        self.minima = np.full(SIDE_BY_SIDE, MOST_COUNTED, np.uint8)
        self.opposites = np.full(SIDE_BY_SIDE, MOST_COUNTED, np.uint8)  # those of opposite trees
        self.fate = np.zeros(SIDE_BY_SIDE, np.uint8)  # of whoever reaches the minimum
        self._tokens = np.empty((4, _FIRST_TOKENS), np.int64)
        self._buffer = np.empty(5 * _FIRST_TOKENS + SPILL, np.uint8)

    @property
    def nbytes(self) -> int:
        """The memory of the trees, their locations and minima."""
        return self.tree.nbytes + _SLOT * len(self.location)

    def growth(self, tokens: int, slot: int) -> int:
        """About how many bytes a tree of so many tokens more may take."""
        grown = _SLOT * len(self.location) if slot >= len(self.location) else 0
        if int(self.ends[USED]) + 5 * tokens + SPILL > len(self.tree):
            grown += max(0, 2 * (int(self.ends[ALIVE]) + 5 * tokens) - self.tree.nbytes)
        return grown

    def put(self, slot: int, tokens: Sequence[int]) -> None:
        """Write a tree; the slot has none."""
        if slot >= len(self.location):
            self._lengthen()
        if int(self.ends[USED]) + 5 * len(tokens) + SPILL > len(self.tree):
            self._gather(5 * len(tokens))
        if len(tokens) > len(self._tokens[0]):
            self._tokens = np.empty((4, 2 * len(tokens)), np.int64)
            self._buffer = np.empty(10 * len(tokens) + SPILL, np.uint8)
        given, widths, sums, opposite_sums = self._tokens
        given[: len(tokens)] = tokens
        write(
            slot, given, len(tokens), widths, sums, opposite_sums, self._buffer,
            self.tree, self.ends, self.location, self.minima, self.opposites, self.fate,
        )  # fmt: skip

    def drop(self, slot: int) -> None:
        """Forget a tree."""
        self.ends[ALIVE] -= self.width(slot)
        self.location[slot] = FREE
        self.minima[slot] = self.opposites[slot] = MOST_COUNTED
        self.fate[slot] = EVALUATED
        self.tidy()

    def tidy(self) -> None:
        """Keep no more room than four times what is needed."""
        if len(self.tree) > 4 * int(self.ends[ALIVE]) + _FIRST_ROOM:
            self._gather(0)

    def tokens(self, slot: int) -> list[int]:
        """The tokens of a tree."""
        tokens, places, _, _ = self._tokens
        count = decode(self.tree, int(self.location[slot]), tokens, places)
        found: list[int] = tokens[:count].tolist()
        return found

    def width(self, slot: int) -> int:
        """How many bytes a tree takes."""
        return width_of(self.tree, int(self.location[slot]))

    def minimum(self, slot: int) -> int | None:
        """The least number of fulfilled predicates with which a tree can hold; None of FALSE."""
        tokens, places, sums, opposite_sums = self._tokens
        count = decode(self.tree, int(self.location[slot]), tokens, places)
        least, _, _ = least_counts(tokens, count, sums, opposite_sums)
        return None if least == NEVER else least

    def _lengthen(self) -> None:
        size = 2 * len(self.location)
        self.location = longer(self.location, size, FREE)
        self.counters = longer(self.counters, size)
        self.minima = longer(self.minima, size, MOST_COUNTED)
        self.opposites = longer(self.opposites, size, MOST_COUNTED)
        self.fate = longer(self.fate, size)

    def _gather(self, more: int) -> None:
        """Put all trees side by side, in the order of their slots, with room for as much again."""
        gathered = np.zeros(2 * (int(self.ends[ALIVE]) + more) + _FIRST_ROOM // 2, np.uint8)
        gather_trees(self.tree, self.location, gathered, self.ends)
        self.tree = gathered


@brief
def width_of(tree: Tree, at: int) -> int:
    """How many bytes the tree there takes."""
    return read(tree, at)[3] - at


@kernel
def write(
    slot: int,
    tokens: Integers,
    count: int,
    widths: Integers,
    sums: Integers,
    opposite_sums: Integers,
    buffer: Tree,
    tree: Tree,
    ends: Integers,
    location: Integers,
    minima: Bytes,
    opposites: Bytes,
    fate: Bytes,
) -> None:
    """Write the tree of a slot: at the end, or over the one it has, which is not shorter."""
    start = encode(tokens, count, buffer, widths)
    width = len(buffer) - SPILL - start
    if location[slot] == FREE:
        location[slot] = ends[USED]
        ends[USED] += width
        ends[ALIVE] += width
    else:
        ends[ALIVE] -= width_of(tree, location[slot]) - width
    at = location[slot]
    for i in range(width):
        tree[at + i] = buffer[start + i]
    least, opposite, leaves = least_counts(tokens, count, sums, opposite_sums)
    if leaves == 0 or leaves > MOST_COUNTED:
        fate[slot] = UNCOUNTED
        return
    minima[slot] = least
    opposites[slot] = opposite
    fate[slot] = CERTAIN if least + opposite == leaves + 1 else EVALUATED


@kernel
def gather_trees(tree: Tree, location: Integers, gathered: Tree, ends: Integers) -> None:
    """Copy all trees, side by side."""
    used = 0
    for slot in range(len(location)):
        at = location[slot]
        if at != FREE:
            location[slot] = used
            for i in range(at, read(tree, at)[3]):
                gathered[used] = tree[i]
                used += 1
    ends[USED] = used


assert NEVER > MOST_LEAVES

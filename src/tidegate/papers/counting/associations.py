"""Which subscriptions have a predicate in their trees?

The **predicate subscription association table**: for each predicate, by its variable, a list of the
subscriptions that have it, one entry for each time it stands in a tree. All lists lie in one array.
A list that is full moves to the end, with half as much room again; what it leaves behind is
gathered in when the array is full, or mostly empty. Removing looks through the list, and puts its
last entry in the gap; many entries are removed in one walk over each list.

Paper: Bittner, Hinze, "Subscription Tree Pruning" (OTM 2006), section 4.4, Fig. 2.

Invariant: the entries of a variable are the subscriptions whose trees have its predicate, each as
often as it stands there.
"""

from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel
from tidegate.papers.counting.counting_kernels import Variables
from tidegate.papers.counting.tree_bytes import Integers

_FIRST_ROOM: Final = 64
_AT_ONCE: Final = 32
USED: Final = 0  # in `ends`: where the last list stops, and how many entries there are
ALIVE: Final = 1

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Associations:
    """Lists of slots, by variable.

    >>> table = Associations()
    >>> table.make_room(3)
    >>> table.add(7, np.array([0, 2, 0], np.int32))
    >>> table.add(8, np.array([2], np.int32))
    >>> len(table), table[0], table[2]
    (4, [7, 7], [7, 8])
    >>> table.remove(7, np.array([0, 2, 0], np.int32))
    >>> len(table), table[0], table[2]
    (1, [], [8])
    """

    def __init__(self) -> None:
        self.first = np.zeros(_FIRST_ROOM, np.int64)  # of a variable's list
        self.length = np.zeros(_FIRST_ROOM, np.int32)
        self.room = np.zeros(_FIRST_ROOM, np.int32)
        self.entries = np.empty(_FIRST_ROOM, np.int32)
        self.ends = np.zeros(2, np.int64)
        self._slots = 0  # one more than the largest there has been

    def __len__(self) -> int:
        return int(self.ends[ALIVE])

    def __getitem__(self, variable: int) -> list[int]:
        if variable >= len(self.first):
            return []
        first = self.first[variable]
        found: list[int] = self.entries[first : first + self.length[variable]].tolist()
        return found

    @property
    def nbytes(self) -> int:
        """The memory of all lists."""
        lists = self.first.nbytes + self.length.nbytes + self.room.nbytes
        return lists + self.entries.nbytes

    def growth(self, count: int, width: int) -> int:
        """About how many bytes so many entries more may take, of variables below `width`."""
        grown = 16 * len(self.first) if width > len(self.first) else 0
        if int(self.ends[USED]) + 2 * count > len(self.entries):
            grown += max(0, 10 * len(self) + 4 * _FIRST_ROOM + 16 * count - self.entries.nbytes)
        return grown

    def make_room(self, width: int) -> None:
        """Be ready for variables below `width`."""
        if width > len(self.first):
            size = max(width, 2 * len(self.first))
            self.first = longer(self.first, size)
            self.length = longer(self.length, size)
            self.room = longer(self.room, size)

    def add(self, slot: int, variables: Variables) -> None:
        """Put a subscription into the lists of the predicates of its tree."""
        self._slots = max(self._slots, slot + 1)
        done = 0
        while True:
            done = associate(
                slot, variables, done, self.first, self.length, self.room, self.entries, self.ends
            )
            if done == len(variables):
                return
            self._gather(2 * (len(variables) - done))

    def remove(self, slot: int, variables: Variables) -> None:
        """Take a subscription out of the lists of these predicates, once for each of them."""
        dissociate(slot, variables, self.first, self.length, self.entries, self.ends)
        self.tidy()

    def remove_pairs(self, slots: Variables, variables: Variables) -> None:
        """Remove many pairs of a subscription and a predicate: one walk for each predicate."""
        if len(slots):
            order = np.argsort(variables, kind="stable")
            marks = np.zeros(self._slots, np.int32)
            dissociate_pairs(
                slots[order], variables[order], marks,
                self.first, self.length, self.entries, self.ends,
            )  # fmt: skip

    def tidy(self) -> None:
        """Keep no more room than four times what is needed."""
        if len(self.entries) > 4 * len(self) + _FIRST_ROOM:
            self._gather(0)

    def _gather(self, more: int) -> None:
        """Put all lists side by side, each with some room, in an array with room behind them."""
        gathered = np.empty(5 * len(self) // 2 + more + _FIRST_ROOM, np.int32)
        gather(self.first, self.length, self.room, self.entries, gathered, self.ends)
        self.entries = gathered


def longer(array: NDArray[_Scalar], size: int, rest: int = 0) -> NDArray[_Scalar]:
    """An array with the same number everywhere behind what was in it."""
    grown = np.full(size, rest, array.dtype)
    grown[: len(array)] = array
    return grown


@kernel
def associate(
    slot: int,
    variables: Variables,
    begin: int,
    first: Integers,
    length: Variables,
    room: Variables,
    entries: Variables,
    ends: Integers,
) -> int:
    """Append a slot to the lists of variables, until there is no room; how many are done."""
    for i in range(begin, len(variables)):
        variable = variables[i]
        size = np.int64(length[variable])
        if size == room[variable]:
            wanted = max(size + 1, size + (size >> 1))
            start = ends[USED]
            if start + wanted > len(entries):
                return i
            for k in range(size):
                entries[start + k] = entries[first[variable] + k]
            first[variable] = start
            room[variable] = wanted
            ends[USED] = start + wanted
        entries[first[variable] + size] = slot
        length[variable] = size + 1
        ends[ALIVE] += 1
    return len(variables)


@kernel
def dissociate(
    slot: int,
    variables: Variables,
    first: Integers,
    length: Variables,
    entries: Variables,
    ends: Integers,
) -> None:
    """Remove one entry of a slot from the list of each of these variables."""
    for variable in variables:
        end = first[variable] + length[variable]
        at = _find(entries, first[variable], end, slot)
        if at < end:
            entries[at] = entries[end - 1]
            length[variable] -= 1
            ends[ALIVE] -= 1


@kernel
def _find(entries: Variables, at: int, end: int, slot: int) -> int:
    """The first entry of a slot; many are compared at once, which takes no branch for each."""
    wanted = np.int32(slot)
    while at + _AT_ONCE <= end:
        block = entries[at : at + _AT_ONCE]
        hit = np.uint8(0)
        for i in range(_AT_ONCE):
            hit |= np.uint8(block[i] == wanted)
        if hit:
            break
        at += _AT_ONCE
    while at < end and entries[at] != wanted:
        at += 1
    return at


@kernel
def dissociate_pairs(
    slots: Variables,
    variables: Variables,
    marks: Variables,
    first: Integers,
    length: Variables,
    entries: Variables,
    ends: Integers,
) -> None:
    """Remove an entry for each pair; those of a variable stand together. Marks are zero."""
    begin = 0
    while begin < len(variables):
        variable = variables[begin]
        stop = begin
        while stop < len(variables) and variables[stop] == variable:
            marks[slots[stop]] += 1
            stop += 1
        start = first[variable]
        kept = start
        for at in range(start, start + length[variable]):
            slot = entries[at]
            entries[kept] = slot
            if marks[slot] > 0:
                marks[slot] -= 1
            else:
                kept += 1
        ends[ALIVE] -= length[variable] - (kept - start)
        length[variable] = kept - start
        begin = stop


@kernel
def gather(
    first: Integers,
    length: Variables,
    room: Variables,
    entries: Variables,
    gathered: Variables,
    ends: Integers,
) -> None:
    """Copy all lists, side by side, each with a quarter more of room."""
    at = 0
    for variable in range(len(first)):
        size = length[variable]
        for k in range(size):
            gathered[at + k] = entries[first[variable] + k]
        first[variable] = at
        room[variable] = size + (size >> 2)
        at += room[variable]
    ends[USED] = at

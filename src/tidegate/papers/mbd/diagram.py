"""Decision diagrams with many outputs that share all their nodes.

The arrays behind the kernels, made longer when they are full and shorter when they are rebuilt.
An **output** is a node that stands for a filter; outputs have slots, small integers, and several of
them may be the same node. A node goes when neither a parent nor an output refers to it.

This is the set of modified binary decision diagrams of Li, Hou and Jacobsen (2005), all in one: a
diagram of theirs is the outputs over one pair of child nodes (`mbd`).
"""

from collections.abc import Sequence
from typing import Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tidegate.papers.mbd import evaluation_kernels as evaluation
from tidegate.papers.mbd import node_kernels as k

Slots: TypeAlias = NDArray[np.int32]
_Scalar = TypeVar("_Scalar", bound=np.generic)

_NODES: Final = 64  # for which there is room at first
_STACK: Final = 256


class Diagram:
    """Nodes over variables that have levels.

    >>> diagram = Diagram()
    >>> diagram.put_level(0, 10), diagram.put_level(1, 20)
    (None, None)
    >>> diagram.attach(0, diagram.chain([0, 1]))
    >>> diagram.attach(1, diagram.node(1, diagram.chain([0]), 1))  # the OR of the two
    >>> len(diagram)
    3
    >>> holding = np.array([1, 0], np.uint64)  # only the first variable
    >>> diagram.reach(holding, 1)[0].tolist()
    [1]
    >>> diagram.detach(1)
    >>> len(diagram)
    2
    """

    def __init__(self) -> None:
        self._levels = np.zeros(1, np.int64)
        self._hot = np.full((_NODES, k.HOT), k.NONE, np.int32)
        self._cold = np.zeros((_NODES, k.COLD), np.int32)
        self._rows = np.zeros((_NODES, k.PLACE), np.int32)
        self._counters = np.zeros(k.COUNTERS, np.int64)
        self._counters[k.FREE] = k.NONE
        self._counters[k.USED] = 2
        for terminal in (k.FALSE, k.TRUE):
            self._hot[terminal, : k.OUTPUT] = 0
            self._cold[terminal, k.VARIABLE] = k.NONE
            self._cold[terminal, k.REFERENCES] = 1
        self._outputs = np.full((_NODES, k.OUTPUT_FIELDS), k.NONE, np.int32)
        # For questions: what was found of tangled nodes and when, a stack, and answers.
        self._seen = np.zeros(1, np.uint64)
        self._pending = np.zeros(1, np.uint64)
        self._epochs = np.zeros(1, np.int64)
        self._arrivals = np.zeros(1, np.int64)
        self._touched = np.zeros(1, np.int32)
        self._epoch = 0
        self._stack = np.zeros(_STACK, np.int32)
        self._stack_words = np.zeros((2, _STACK), np.uint64)
        self._front = np.zeros(_STACK, np.int32)
        self._front_places = np.zeros((_STACK, k.PLACE), np.int32)
        self._found = np.zeros(_NODES, np.int32)
        self._found_words = np.zeros(_NODES, np.uint64)

    def __len__(self) -> int:
        """How many nodes there are, false and true not counted."""
        return int(self._counters[k.ALIVE])

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        arrays = (value for value in vars(self).values() if isinstance(value, np.ndarray))
        return sum(array.nbytes for array in arrays)

    def put_level(self, variable: int, level: int) -> None:
        """Give a variable a level, before there are nodes about it."""
        while variable >= len(self._levels):
            self._levels = _longer(self._levels)
        self._levels[variable] = level

    def level(self, variable: int) -> int:
        """The level of a variable."""
        return int(self._levels[variable])

    def highest(self, variables: NDArray[np.int32]) -> int:
        """The highest level of some variables."""
        return int(self._levels[variables].max())

    # -- nodes

    def ends(self, node: int) -> tuple[int, int, int]:
        """The variable, the low and the high child of a node that is neither true nor false."""
        variable, low, high = self._cold[node, : k.REFERENCES].tolist()
        return variable, low, high

    def references(self, node: int) -> int:
        """How many parents and outputs refer to a node."""
        return int(self._cold[node, k.REFERENCES])

    def find(self, variable: int, low: int, high: int) -> int | None:
        """The node that says this, if there is one."""
        found = k.find(variable, low, high, self._levels, *self._places)
        return None if found == k.NONE else int(found)

    def node(self, variable: int, low: int, high: int) -> int:
        """The node that says this: an old one, or a new one to which nothing refers yet."""
        while True:
            found = k.make(variable, low, high, self._levels, *self._places, self._counters)
            if found != k.NO_ROOM:
                break
            self._make_room()
        if low != k.FALSE and len(self._seen) < len(self._hot):
            self._make_room_for_tangled()
        return int(found)

    def chain(self, variables: Sequence[int]) -> int:
        """The node of an AND of variables, which are given from the lowest level up."""
        codes = np.array(variables, np.int32)
        done, node = 0, k.TRUE
        while True:
            done, node = k.make_chain(
                codes, done, node, self._levels, *self._places, self._counters
            )
            if done == len(codes):
                return int(node)
            self._make_room()

    def attach(self, slot: int, node: int) -> None:
        """Make a node an output."""
        while slot >= len(self._outputs):
            self._outputs = _longer(self._outputs)
            self._found = _longer(self._found)
            self._found_words = _longer(self._found_words)
        k.attach(slot, node, self._hot, self._cold, self._outputs)

    def detach(self, slot: int) -> None:
        """Take an output away, and the nodes that only it needed."""
        if len(self._stack) < len(self._levels) + 2:  # a path, and one beside it
            self._lengthen_stack(len(self._levels) + 2)
        k.detach(slot, self._levels, *self._places, self._counters, self._outputs, self._stack)
        if self._counters[k.WASTE] > len(self._rows) // 2:
            self._pack(len(self._rows) // 2)

    def output(self, slot: int) -> int:
        """The node of an output."""
        return int(self._outputs[slot, k.NODE])

    def slots(self, node: int) -> list[int]:
        """The outputs that are this node."""
        found: list[int] = []
        slot = int(self._hot[node, k.OUTPUT])
        slot = k.SEVERAL - slot if slot <= k.SEVERAL else slot
        while slot != k.NONE:
            found.append(slot)
            slot = int(self._outputs[slot, k.AFTER])
        return found

    @property
    def _places(self) -> tuple[k.Records, k.Records, k.Records]:
        return self._hot, self._cold, self._rows

    def would_take(self, nodes: int) -> int:
        """How many bytes more the arrays would take if there were so many more nodes."""
        counters, more = self._counters, 0
        if int(counters[k.ALIVE]) + 2 + nodes > len(self._hot):
            more += self._hot.nbytes + self._cold.nbytes
            if len(self._seen) > 1:
                more += 36 * len(self._hot)
        if int(counters[k.END]) + 4 * nodes > len(self._rows):
            more += self._rows.nbytes
        if int(counters[k.ALIVE]) + nodes > len(self._outputs):
            more += self._outputs.nbytes + self._found.nbytes + self._found_words.nbytes
        return more

    # -- evaluation

    def reach(self, words: NDArray[np.uint64], full: int) -> tuple[Slots, NDArray[np.uint64]]:
        """The outputs that are true under some of the assignments, and under which: bits of words.

        The words of variables say under which assignments they hold; `full` has the bits of all.
        """
        self._epoch += 1
        while True:
            count = evaluation.reach(
                words,
                np.uint64(full),
                *self._places,
                self._outputs,
                self._seen,
                self._epochs,
                self._epoch,
                self._stack,
                self._stack_words[0],
                self._front,
                self._stack_words[1],
                self._front_places,
                self._touched,
                self._found,
                self._found_words,
            )
            if count != k.NO_ROOM:
                return self._found[:count], self._found_words[:count]
            self._lengthen_stack(2 * len(self._stack))
            self._epoch += 1

    def reach_once(self, truths: NDArray[np.uint8]) -> Slots:
        """The outputs that are true when these variables are 1, all others being 0."""
        self._epoch += 1
        while True:
            count = evaluation.reach_once(
                truths,
                *self._places,
                self._outputs,
                self._epochs,
                self._epoch,
                self._stack,
                self._front,
                self._front_places,
                self._found,
                self._found_words,
            )
            if count != k.NO_ROOM:
                return self._found[:count]
            self._lengthen_stack(2 * len(self._stack))
            self._epoch += 1

    def relate(
        self,
        truths: NDArray[np.uint64],
        full: int,
        certain: NDArray[np.uint64],
        limits: NDArray[np.int64],
        *,
        right: bool,
        left: bool,
        exits: bool,
    ) -> Slots | None:
        """The outputs that a filter covers; None if it is itself covered: see `evaluation_kernels`.

        `limits` has, for each clause, the highest level of a variable inside it, in rising order.
        Only the sides that are asked for are looked at.
        """
        clauses = np.uint64((1 << len(limits)) - 1) if left else evaluation.DEAD
        self._epoch += 1
        while True:
            count = evaluation.relate(
                truths,
                np.uint64(full),
                certain,
                clauses,
                limits,
                right,
                exits,
                self._levels,
                *self._places,
                self._outputs,
                self._seen,
                self._pending,
                self._epochs,
                self._arrivals,
                self._epoch,
                self._stack,
                self._stack_words[0],
                self._stack_words[1],
                self._found,
            )
            if count == evaluation.COVERED:
                return None
            if count != k.NO_ROOM:
                return self._found[:count]
            self._lengthen_stack(2 * len(self._stack))
            self._epoch += 1

    # -- room

    def pack(self) -> None:
        """Put the rows one after the other, in the order of their nodes."""
        self._pack(0)

    def _make_room(self) -> None:
        counters = self._counters
        if counters[k.FREE] == k.NONE and counters[k.USED] == len(self._hot):
            self._hot, self._cold = _longer(self._hot), _longer(self._cold)
            if len(self._seen) > 1:
                self._make_room_for_tangled()
        waste = int(counters[k.WASTE])
        needed = int(counters[k.END]) - waste
        self._pack(max(len(self._rows), 2 * needed))
        longest = int(self._hot[: int(counters[k.USED]), k.LENGTH].max())
        if int(counters[k.END]) + 3 * longest + 4 > len(self._rows):
            self._rows = _longer(self._rows)

    def _pack(self, size: int) -> None:
        lengths = self._hot[: int(self._counters[k.USED]), k.LENGTH]
        size = max(size, int(lengths.sum()) * 5 // 4 + _NODES)
        packed = np.zeros((size, k.PLACE), np.int32)
        k.pack(*self._places, self._counters, packed)
        self._rows = packed

    def _make_room_for_tangled(self) -> None:
        size = len(self._hot)
        self._seen = np.resize(self._seen, size)
        self._pending = np.resize(self._pending, size)
        self._touched = np.resize(self._touched, size)
        self._epochs = np.zeros(size, np.int64)
        self._arrivals = np.zeros(size, np.int64)

    def _lengthen_stack(self, size: int) -> None:
        self._stack = np.zeros(size, np.int32)
        self._stack_words = np.zeros((2, size), np.uint64)
        self._front = np.zeros(size, np.int32)
        self._front_places = np.zeros((size, k.PLACE), np.int32)


def _longer(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The array with as much room again behind it."""
    longer = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer

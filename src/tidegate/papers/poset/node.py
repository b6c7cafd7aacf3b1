"""What is in a poset: nodes, and the outlines of a node's many children."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from tidegate.filters.filter import Filter
from tidegate.papers.poset import sieve_kernels as kernels
from tidegate.papers.poset.outline import Outline, outline

MANY: Final = 16
"""Children that are compared one by one; more have a sieve."""
_LIMITS: Final = 4  # of an outline that a sieve keeps
_ROOM: Final = 32  # rows of a sieve to begin with
_ROW: Final = 4 * 8 * _LIMITS + 2 + 8  # bytes


class Node:
    """A filter, the numbers it is there for, its direct coverers and what it covers directly.

    In the papers, `numbers` is `subs[Φ]`: a filter that several ask for is there once. Nodes are
    told apart by identity. Other nodes are kept in dictionaries, never in sets where their order
    could matter: sets would be in another order every time.
    """

    __slots__ = ("above", "below", "filter", "numbers", "outline", "sieve")

    def __init__(self, f: Filter) -> None:
        self.filter = f
        self.outline: Outline = outline(f)
        self.numbers: dict[int, None] = {}
        self.above: dict[Node, None] = {}
        self.below: dict[Node, None] = {}
        self.sieve: Sieve | None = None

    def __repr__(self) -> str:
        return f"<Node {self.filter}>"

    @property
    def loose(self) -> bool:
        """Whether the algebra may fail to decide what this is covered by."""
        return self.outline.loose


class Sieve:
    """The outlines of nodes that are covered by the same one, in rows of arrays."""

    def __init__(self, nodes: dict[Node, None]) -> None:
        room = max(_ROOM, 2 * len(nodes))
        self._nodes: list[Node] = []
        self._rows: dict[Node, int] = {}
        self._limits = np.zeros((4, room, _LIMITS), np.int64)
        self._counts = np.zeros(room, np.uint8)
        self._flags = np.zeros(room, np.uint8)
        self._found = np.zeros(room, np.int64)
        for node in nodes:
            self.put(node)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays."""
        return len(self._counts) * _ROW

    @property
    def sparse(self) -> bool:
        """Whether there is so much room that it is better made anew, or not at all."""
        return len(self._counts) > max(_ROOM, 8 * len(self._nodes)) or len(self._nodes) < MANY // 2

    def put(self, node: Node) -> None:
        """Take a node in, or follow what has become of its outline."""
        row = self._rows.get(node)
        if row is None:
            row = self._rows[node] = len(self._nodes)
            self._nodes.append(node)
            if row == len(self._counts):
                self._grow()
        rows = _array(node.outline)[:, :_LIMITS]
        count = rows.shape[1]
        self._limits[:, row, :count] = rows
        self._counts[row] = count
        self.mark(node)

    def mark(self, node: Node) -> None:
        """Follow whether others hang under a node."""
        row = self._rows.get(node)
        if row is not None:
            known = node.outline
            unsure = known.blind or len(known.limits) + len(known.soft) > _LIMITS
            parent = kernels.PARENT if node.below else 0
            self._flags[row] = parent | (kernels.UNSURE if unsure else 0)

    def remove(self, node: Node) -> None:
        """Take a node out; the last one takes its row."""
        row = self._rows.pop(node)
        last = self._nodes.pop()
        if last is node:
            return
        self._nodes[row] = last
        self._rows[last] = row
        old = len(self._nodes)
        self._limits[:, row] = self._limits[:, old]
        self._counts[row] = self._counts[old]
        self._flags[row] = self._flags[old]

    def around(self, known: Outline) -> Iterator[Node]:
        """The nodes that may cover something with this outline."""
        if known.blind:
            return iter(self._nodes)
        rows = len(self._nodes)
        count = kernels.around(rows, self._limits, self._counts, _array(known), self._found)
        return map(self._nodes.__getitem__, self._found[:count].tolist())

    def meeting(self, known: Outline, *, parents: bool = False) -> Iterator[tuple[Node, bool]]:
        """The nodes that may overlap something with this outline, and whether it may cover them.

        With `parents`, nodes that it does not cover are left out if nothing hangs under them.
        """
        count = kernels.within(
            len(self._nodes),
            self._limits,
            self._counts,
            self._flags,
            _array(known),
            len(known.limits),
            parents,
            self._found,
        )
        rows = self._found[:count].tolist()
        return ((self._nodes[max(row, ~row)], row >= 0) for row in rows)

    def _grow(self) -> None:
        room = 2 * len(self._counts)
        limits = np.zeros((4, room, _LIMITS), np.int64)
        limits[:, : len(self._counts)] = self._limits
        self._limits = limits
        self._counts = np.resize(self._counts, room)
        self._flags = np.resize(self._flags, room)
        self._found = np.zeros(room, np.int64)


def _array(known: Outline) -> kernels.Limits:
    """An outline as columns; soft attributes that have no limits come last."""
    rows = [(number, *reach, number in known.soft) for number, reach in known.limits.items()]
    rows += [
        (number, kernels.LOWEST, kernels.HIGHEST, True)
        for number in sorted(known.soft)
        if number not in known.limits
    ]
    return np.array(rows, np.int64).reshape(-1, 4).T.copy()


def ancestors(node: Node) -> set[Node]:
    """All nodes that a node hangs under; only for asking what is among them."""
    found: set[Node] = set()
    stack = list(node.above)
    while stack:
        top = stack.pop()
        if top not in found:
            found.add(top)
            stack.extend(top.above)
    return found

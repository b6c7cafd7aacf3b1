"""How do many paths lie in one tree?

Paths that begin alike share their beginning, as in a dictionary's tree: a **trie**. From a node an
edge leads on with a name, another with any name (a **star**), and one, at no element's cost, to a
**loop**, which stays while the document goes deeper: `//`. So `/a/*//b` is a name, a star, a loop
and a name. Read as a machine that may be in many nodes at once, the trie is a nondeterministic
automaton (Diao, Altinel, Franklin, Zhang, Fischer, Path sharing and predicate evaluation for
high-performance XML filtering, 2003: YFilter); `automaton_kernels` makes it deterministic.

Invariant: equal paths end in the same node.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.pattern import Distance
from tidegate.engine.primitives.integer_arrays import I32

Numbers: TypeAlias = NDArray[np.int64]

ANY_WORD: Final = -1
"""In the place of a word, that of any."""
LOOP: Final = -2
"""In the place of a word, that a node is its parent's loop."""


class TrieArrays(NamedTuple):
    """A trie as kernels take it. Edges with a name are in a hash table, by node and word."""

    keys: Numbers
    targets: I32
    star: I32
    loop: I32
    is_loop: NDArray[np.bool_]
    goes_on: NDArray[np.bool_]
    """Whether a deeper element may lead anywhere from the node."""
    value: I32
    """What is found at the node, whatever it is; or -1."""
    guarded: NDArray[np.bool_]
    """Whether something is found there on a condition."""


class Trie:
    """A trie that grows."""

    def __init__(self) -> None:
        self._edges: dict[tuple[int, int], int] = {}
        self.parent = [-1]
        self.word = [0]
        """By which a node follows its parent: that, any name, or as its loop."""
        self._star = [-1]
        self._loop = [-1]
        self._is_loop = [False]
        self.value = [-1]
        self.guarded = [False]

    def __len__(self) -> int:
        return len(self._star)

    def at(self, node: int, distance: Distance, word: int) -> int:
        """The node for an element of a name, or of any, at a distance below another.

        For any name, no distance is the node itself, and at least none the loop at it.
        """
        named = word != ANY_WORD
        for _ in range(distance.levels - named):
            node = self._after_star(node)
        if not distance.exact:
            node = self._after_loop(node)
        return self._after_name(node, word) if named else node

    def after(self, node: int, word: int) -> int:
        """The node that follows another by a word, by any, or as its loop."""
        if word == ANY_WORD:
            return self._after_star(node)
        return self._after_loop(node) if word == LOOP else self._after_name(node, word)

    def names(self) -> list[int]:
        """How many names there are on the path to each node."""
        found = [0] * len(self)
        for node in range(1, len(self)):
            found[node] = found[self.parent[node]] + (self.word[node] > 0)
        return found

    def _new(self, parent: int, word: int, *, is_loop: bool = False) -> int:
        self.parent.append(parent)
        self.word.append(word)
        self._star.append(-1)
        self._loop.append(-1)
        self._is_loop.append(is_loop)
        self.value.append(-1)
        self.guarded.append(False)
        return len(self._star) - 1

    def _after_star(self, node: int) -> int:
        if self._star[node] < 0:
            self._star[node] = self._new(node, ANY_WORD)
        return self._star[node]

    def _after_loop(self, node: int) -> int:
        if self._is_loop[node]:
            return node
        if self._loop[node] < 0:
            self._loop[node] = self._new(node, LOOP, is_loop=True)
        return self._loop[node]

    def _after_name(self, node: int, word: int) -> int:
        found = self._edges.get((node, word))
        if found is None:
            found = self._edges[node, word] = self._new(node, word)
        return found

    def arrays(self) -> TrieArrays:
        """The trie as it is now."""
        slots = 1 << (2 * len(self._edges) + 1).bit_length()
        keys, targets = np.full(slots, -1, np.int64), np.zeros(slots, np.int32)
        star, loop = np.array(self._star, np.int32), np.array(self._loop, np.int32)
        is_loop = np.array(self._is_loop, np.bool_)
        goes_on = is_loop | (star >= 0) | (loop >= 0)
        if self._edges:
            ends = np.array(list(self._edges), np.int64)
            goes_on[ends[:, 0]] = True
            _enter(ends[:, 0] << 32 | ends[:, 1], list(self._edges.values()), keys, targets)
        return TrieArrays(
            keys,
            targets,
            star,
            loop,
            is_loop,
            goes_on,
            np.array(self.value, np.int32),
            np.array(self.guarded, np.bool_),
        )


def _enter(edges: Numbers, ends: list[int], keys: Numbers, targets: I32) -> None:
    from tidegate.documents.matching.automaton_kernels import enter_edges

    enter_edges(edges, np.array(ends, np.int32), keys, targets)

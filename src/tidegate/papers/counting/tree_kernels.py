"""Does a subscription tree hold, and how many of its predicates must be fulfilled at least?

A tree is evaluated straight from its bytes, against one bit for each predicate. What decides an
operator early (a part of an AND that does not hold, a part of an OR that does) ends it: the width
says where to go on.

The **minimum predicate count** of a tree is the least number of fulfilled predicates with which it
can hold: that of an AND is the sum of its parts', that of an OR the smallest of them; TRUE needs
none, and FALSE more than there are. A predicate that stands in a tree twice is counted twice, here
and when an event is matched: were it counted once there, `(a OR b) AND (a OR c)` would wait for two
fulfilled predicates when `a` alone is enough.

Everything has its **opposite**: AND and OR change places. The opposite tree holds for a set of
predicates if the tree cannot hold where all of them fail; the opposite minimum is the least number
of them with which that can be. Relations between filters are found so (see `relations`). Where
minimum and opposite minimum together are one more than there are predicates, as in a plain AND or a
plain OR, whoever reaches the minimum is certain to hold: such a tree need not be evaluated.

Papers: Bittner, Hinze, "Subscription Tree Pruning" (OTM 2006), section 4.4, and "On the Benefits of
Non-Canonical Filtering in Publish/Subscribe Systems" (2005).
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import inlined, kernel
from tidegate.papers.counting.tree_bytes import AND, LEAF, TRUTH, Integers, Tree, read

Words: TypeAlias = NDArray[np.uint64]

NEVER: Final = 2**16
"""The minimum of FALSE: no tree has so many predicates."""

_ONE: Final = np.uint64(1)


@inlined
def has(bits: Words, variable: int) -> bool:
    """Whether the bit of a variable is set."""
    word = bits[np.uint64(variable) >> np.uint64(6)]
    return bool((word >> (np.uint64(variable) & np.uint64(63))) & _ONE)


@inlined
def put(bits: Words, variable: int) -> None:
    """Set the bit of a variable."""
    bits[np.uint64(variable) >> np.uint64(6)] |= _ONE << (np.uint64(variable) & np.uint64(63))


@inlined
def holds(tree: Tree, at: int, bits: Words, every: int, ends: Integers, kinds: Integers) -> bool:
    """Whether the tree there holds; `every` is AND, or OR for the opposite tree.

    `ends` and `kinds` are of the operators that the node is inside.
    """
    depth = 0
    while True:
        kind, operand, body, end = read(tree, at)
        at = body
        if kind == LEAF:
            value = has(bits, operand)
        elif kind == TRUTH:
            value = (operand == 1) == (every == AND)
        else:
            ends[depth] = end
            kinds[depth] = kind
            depth += 1
            continue
        while depth > 0:
            if value != (kinds[depth - 1] == every):
                at = ends[depth - 1]  # a part that does not hold, of those that all must; or one
            elif at != ends[depth - 1]:  # that holds, where one is enough
                break
            depth -= 1
        if depth == 0:
            return value


@kernel
def least_counts(
    tokens: Integers, count: int, sums: Integers, opposites: Integers
) -> tuple[int, int, int]:
    """The minimum predicate count of a tree, that of the opposite tree, and its predicates."""
    done = 0
    leaves = 0
    for i in range(count - 1, -1, -1):
        kind = tokens[i] & 3
        operand = tokens[i] >> 2
        least = np.int64(1)
        opposite = np.int64(1)
        if kind == LEAF:
            leaves += 1
        elif kind == TRUTH:
            least = np.int64(NEVER) * (1 - operand)
            opposite = np.int64(NEVER) * operand
        else:
            done -= operand
            least, opposite = sums[done], opposites[done]
            for part in range(done + 1, done + operand):
                if kind == AND:
                    least += sums[part]
                    opposite = min(opposite, opposites[part])
                else:
                    least = min(least, sums[part])
                    opposite += opposites[part]
        sums[done] = least
        opposites[done] = opposite
        done += 1
    return sums[0], opposites[0], leaves

"""Which part of a tree can be left out at the least cost, and what is left then?

A pruning leaves out one part of one AND (see `algebra.prune`, which says why that never loses an
event). What it costs is its **degradation**: how much the estimated selectivity of the whole tree
grows, in the worst of its three numbers (Algorithms 1 and 2 of Bittner, Hinze, "Subscription Tree
Pruning", OTM 2006; `algebra.selectivity`). All prunings of a tree are tried on its bytes: an
estimate is one walk over them that steps over what is left out. Of equal ones, that with the fewest
predicates left is best, then the one that comes first, AND after AND from the root down.

An AND that has one part left is that part; and if it is an OR inside an OR, its parts are the outer
one's. So a pruned tree is normal again, and shorter than it was.

Invariant: degradations are those of `algebra.prune.best_pruning`, to the last bit.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import inlined, kernel
from tidegate.papers.counting.tree_bytes import (
    AND,
    LEAF,
    MOST_BYTES,
    MOST_LEAVES,
    MOST_TOKENS,
    SPILL,
    TRUTH,
    Integers,
    Tree,
    decode,
    encode,
    read,
)

Shares: TypeAlias = NDArray[np.float64]

NOWHERE: Final = -1


class Scratch(NamedTuple):
    """What walks over trees write down for themselves."""

    ends: Integers  # of the operators that a node is inside
    kinds: Integers
    sums: Shares  # of their parts, three for each
    tokens: Integers  # of a tree
    places: Integers
    more: Integers  # for whatever has to do with tokens
    others: Integers
    buffer: Tree
    copy: Tree


def scratch() -> Scratch:
    """Room for the largest tree there may be."""
    return Scratch(
        np.empty(MOST_LEAVES, np.int64),
        np.empty(MOST_LEAVES, np.int64),
        np.empty(3 * MOST_LEAVES, np.float64),
        np.empty(MOST_TOKENS, np.int64),
        np.empty(MOST_TOKENS, np.int64),
        np.empty(MOST_TOKENS, np.int64),
        np.empty(MOST_TOKENS, np.int64),
        np.empty(MOST_BYTES, np.uint8),
        np.empty(MOST_BYTES, np.uint8),
    )


@inlined
def _begin(kind: int, sums: Shares, top: int) -> None:
    start = 1.0 if kind == AND else 0.0
    sums[3 * top] = sums[3 * top + 1] = sums[3 * top + 2] = start


@inlined
def _fold(kind: int, sums: Shares, top: int, least: float, average: float, most: float) -> None:
    """Take a part into its operator: Algorithm 1 for AND, Algorithm 2 for OR."""
    if kind == AND:
        sums[3 * top] = sums[3 * top] + least - 1.0
        sums[3 * top + 1] = sums[3 * top + 1] * average
        sums[3 * top + 2] = min(sums[3 * top + 2], most)
    else:
        sums[3 * top] = max(sums[3 * top], least)
        sums[3 * top + 1] = sums[3 * top + 1] + average - sums[3 * top + 1] * average
        sums[3 * top + 2] = sums[3 * top + 2] + most


@kernel
def estimate(
    tree: Tree, at: int, shares: Shares, cut: int, cut_end: int, opened: int, scratch: Scratch
) -> tuple[float, float, float, int]:
    """The selectivity of the tree there without what lies from `cut` to `cut_end`; its predicates.

    `opened` is an operator that only has one part left, and is passed over.
    """
    ends, kinds, sums = scratch.ends, scratch.kinds, scratch.sums
    depth = 0
    leaves = 0
    while True:
        kind, operand, body, end = read(tree, at)
        if kind == AND or kind == AND + 1:
            if at != opened and (depth == 0 or kinds[depth - 1] != kind):
                ends[depth] = end
                kinds[depth] = kind
                _begin(kind, sums, depth)
                depth += 1
            at = cut_end if body == cut else body
            continue
        at = body
        least = average = most = np.float64(operand) if kind == TRUTH else shares[operand]
        leaves += kind == LEAF
        while depth > 0:
            top = depth - 1
            _fold(kinds[top], sums, top, least, average, most)
            if at == cut and ends[top] != cut:
                at = cut_end
            if at != ends[top]:
                break
            least = max(0.0, sums[3 * top])
            average = sums[3 * top + 1]
            most = min(1.0, sums[3 * top + 2])
            depth -= 1
        if depth == 0:
            return least, average, most, leaves


@kernel
def best_pruning(tree: Tree, root: int, shares: Shares, scratch: Scratch) -> tuple[float, int, int]:
    """The least degradation, which part to leave out for it, and of which AND; or `NOWHERE`."""
    least, average, most, _ = estimate(tree, root, shares, NOWHERE, NOWHERE, NOWHERE, scratch)
    best, best_cut, best_holder = np.inf, NOWHERE, NOWHERE
    fewest = MOST_LEAVES
    at, end = root, read(tree, root)[3]
    while at < end:
        kind, parts, body, stop = read(tree, at)
        cut = body
        while kind == AND and cut < stop:
            cut_end = read(tree, cut)[3]
            opened = at if parts == 2 else NOWHERE
            lower, mean, upper, leaves = estimate(tree, root, shares, cut, cut_end, opened, scratch)
            worse = max(lower - least, mean - average, upper - most)
            if worse < best or (worse == best and leaves < fewest):
                best, fewest, best_cut, best_holder = worse, leaves, cut, at
            cut = cut_end
        at = body
    return best, best_cut, best_holder


@kernel
def without(tree: Tree, root: int, cut: int, holder: int, scratch: Scratch) -> tuple[int, int]:
    """The tokens of a tree without one part of the AND `holder`: how many are left and left out.

    Those left come first in `scratch.tokens`, those left out at the beginning of `scratch.more`.
    """
    tokens, places, removed = scratch.tokens, scratch.places, scratch.more
    count = decode(tree, root, tokens, places)
    cut_end = read(tree, cut)[3]
    outer = _operator_around(tree, root, holder)
    alone = _parts(tree, holder) == 2  # the AND has one part left
    kept = gone = 0
    outer_token = NOWHERE
    for i in range(count):
        token, place = tokens[i], places[i]
        if cut <= place < cut_end:
            removed[gone] = token
            gone += 1
            continue
        if place == outer:
            outer_token = kept
        if place == holder:
            if alone:
                continue
            token -= 4  # one part less
        elif (
            alone
            and outer_token != NOWHERE
            and _is_left(tree, place, holder, cut, cut_end)
            and token & 3 == tokens[outer_token] & 3
        ):
            tokens[outer_token] += (token >> 2 << 2) - 4  # its parts in place of itself
            continue
        tokens[kept] = token
        kept += 1
    return kept, gone


@inlined
def _parts(tree: Tree, at: int) -> int:
    """How many parts the operator there has."""
    return read(tree, at)[1]


@inlined
def _is_left(tree: Tree, place: int, holder: int, cut: int, cut_end: int) -> bool:
    """Whether the node there is the part that an AND of two has left."""
    first = read(tree, holder)[2]
    return place == (cut_end if first == cut else first)


@kernel
def _operator_around(tree: Tree, at: int, inner: int) -> int:
    """The operator that has the one at `inner` as a part."""
    while at != inner:
        _, _, body, _ = read(tree, at)
        part = body
        while read(tree, part)[3] <= inner:
            part = read(tree, part)[3]
        if part == inner:
            return at
        at = part
    return NOWHERE


@kernel
def prunings_left(tree: Tree, root: int, shares: Shares, scratch: Scratch) -> int:
    """How often a tree can be pruned, taking the best pruning each time; it stays as it is."""
    copy, buffer = scratch.copy, scratch.buffer
    width = read(tree, root)[3] - root
    for i in range(width):
        copy[i] = tree[root + i]
    steps = 0
    while True:
        _, cut, holder = best_pruning(copy, 0, shares, scratch)
        if cut == NOWHERE:
            return steps
        count, _ = without(copy, 0, cut, holder, scratch)
        start = encode(scratch.tokens, count, buffer, scratch.others)
        for i in range(len(buffer) - SPILL - start):
            copy[i] = buffer[start + i]
        steps += 1

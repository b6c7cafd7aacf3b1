"""What is left of trees that are pruned again and again, and which events match that?

The **course** of a tree is all its prunings, each time the best one, until nothing can be left out.
It depends on nothing but the tree and the selectivities of its predicates, so the courses of many
trees are found in one call, before any of them is pruned. Trees come as tokens (`tree_bytes`), one
behind the other; of a course, what each pruning costs is written down, and the place of what it
leaves out, so that the tree after any number of prunings can be made when it is wanted.

Events of a sample are bits, 64 in a word, and a predicate has a row of them. The courses of all
trees are gone through in the order in which a queue would prune them, and after each step it is
told how many events match one of the trees: the curve that has the cut-off point.

Paper: Bittner, Hinze, "Subscription Tree Pruning" (OTM 2006), sections 4.4 and 5.3.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.primitives.vector import popcount
from tidegate.jit import inlined, kernel
from tidegate.papers.counting.pruning_kernels import (
    NOWHERE,
    Scratch,
    Shares,
    best_pruning,
    without,
)
from tidegate.papers.counting.tree_bytes import AND, LEAF, SPILL, TRUTH, Integers, encode

Rows: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.int32]
"""The place of what a pruning leaves out in the bytes of its tree, and that of its AND."""


@inlined
def _write(count: int, scratch: Scratch) -> None:
    """Write the bytes of the tree in `scratch.tokens` to the beginning of `scratch.copy`."""
    copy, buffer = scratch.copy, scratch.buffer
    at = encode(scratch.tokens, count, buffer, scratch.others)
    for i in range(len(buffer) - SPILL - at):
        copy[i] = buffer[at + i]


@inlined
def _load(tokens: Integers, start: int, count: int, scratch: Scratch) -> None:
    for i in range(count):
        scratch.tokens[i] = tokens[start + i]


@kernel
def courses(
    tokens: Integers,
    starts: Integers,
    shares: Shares,
    firsts: Integers,
    costs: Shares,
    places: Places,
    lengths: Integers,
    scratch: Scratch,
) -> None:
    """The courses of all trees.

    That of tree i is written from `firsts[i]` on, as far as `firsts[i + 1]` at most, and
    `lengths[i]` is how many prunings it has. A tree that no room is left for is not looked at.
    """
    for i in range(len(lengths)):
        lengths[i] = 0
        most = firsts[i + 1] - firsts[i]
        if most == 0:
            continue
        count: Any = starts[i + 1] - starts[i]
        _load(tokens, starts[i], count, scratch)
        _write(count, scratch)
        done = 0
        while done < most:
            cost, cut, holder = best_pruning(scratch.copy, 0, shares, scratch)
            if cut == NOWHERE:
                break
            at = firsts[i] + done
            costs[at] = max(0.0, cost)
            places[0, at] = cut
            places[1, at] = holder
            count, _ = without(scratch.copy, 0, cut, holder, scratch)
            _write(count, scratch)
            done += 1
        lengths[i] = done


@kernel
def after(tokens: Integers, places: Places, first: int, steps: int, scratch: Scratch) -> int:
    """Write a tree after so many prunings to `scratch.tokens`; how many tokens it has then."""
    count: Any = len(tokens)
    _load(tokens, 0, count, scratch)
    for step in range(first, first + steps):
        _write(count, scratch)
        count, _ = without(scratch.copy, 0, places[0, step], places[1, step], scratch)
    return int(count)


@kernel
def growth(
    tokens: Integers,
    starts: Integers,
    firsts: Integers,
    places: Places,
    order: Integers,
    lengths: Integers,
    done: Integers,
    rows: Rows,
    every: Rows,
    stack: Rows,
    matched: Rows,
    curve: Integers,
    scratch: Scratch,
) -> None:
    """How many events match one of the trees: before, and after each pruning of an order of trees.

    `every` has a bit for each event. What changes on the way: `tokens` become those that are left,
    and `lengths` how many of them; `done` how often each tree was pruned, and `matched` the events
    that match.
    """
    for tree in range(len(starts) - 1):
        _meet(tokens, starts[tree], lengths[tree], rows, every, stack, matched)
    total = _count(every)
    found = curve[0] = _count(matched)
    for step in range(len(order)):
        if found < total:
            tree = order[step]
            start, at = starts[tree], firsts[tree] + done[tree]
            done[tree] += 1
            _load(tokens, start, lengths[tree], scratch)
            _write(lengths[tree], scratch)
            count, _ = without(scratch.copy, 0, places[0, at], places[1, at], scratch)
            for i in range(count):
                tokens[start + i] = scratch.tokens[i]
            lengths[tree] = count
            _meet(tokens, start, count, rows, every, stack, matched)
            found = _count(matched)
        curve[step + 1] = found


@inlined
def _meet(
    tokens: Integers,
    start: int,
    count: int,
    rows: Rows,
    every: Rows,
    stack: Rows,
    matched: Rows,
) -> None:
    """Add the events that match a tree, from its last token to its first."""
    words = len(every)
    top = 0
    for i in range(start + count - 1, start - 1, -1):
        kind, operand = tokens[i] & 3, tokens[i] >> 2
        if kind == LEAF:
            for word in range(words):
                stack[top, word] = rows[operand, word]
            top += 1
        elif kind == TRUTH:
            for word in range(words):
                stack[top, word] = every[word] if operand else np.uint64(0)
            top += 1
        else:
            top -= operand - 1
            for part in range(top, top + operand - 1):
                for word in range(words):
                    if kind == AND:
                        stack[top - 1, word] &= stack[part, word]
                    else:
                        stack[top - 1, word] |= stack[part, word]
    for word in range(words):
        matched[word] |= stack[0, word]


@inlined
def _count(row: Rows) -> int:
    total: Any = 0
    for word in row:
        total += np.int64(popcount(word))
    return int(total)

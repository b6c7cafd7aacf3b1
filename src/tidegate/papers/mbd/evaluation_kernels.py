"""How are shared decision diagrams evaluated, over flat arrays?

Diagrams of filters are monotone, since NOT is part of the predicates: where `low` is true, so is
`high`. So a node is true if its high child is true and its variable holds, or if its low child is
true, and truth can be carried **upwards** from node 1: only nodes above true ones are ever looked
at, and each of them once. It is carried for up to 64 assignments at once, one bit of a word each.
Where it may arrive more than once, at **tangled** nodes (see `node_kernels`), what has arrived is
noted with the number of the question, its **epoch**, so that nothing has to be wiped out between
two questions.
"""

from typing import Any, Final

import numpy as np

from tidegate.jit import inlined, kernel
from tidegate.papers.mbd.node_kernels import (
    ABOUT,
    AFTER,
    FALSE,
    LENGTH,
    LOW,
    LOW_PARENT,
    NEXT,
    NO_ROOM,
    NONE,
    OUTPUT,
    PARENT,
    SEVERAL,
    START,
    TRUE,
    VARIABLE,
    Codes,
    Levels,
    Records,
    Truths,
    Words,
    first_output,
)

COVERED: Final = -2
DEAD: Final = np.uint64(1 << 63)
"""The bit of a word that says: whatever comes above, the filter will not be covered."""
CLAUSES: Final = 63
"""Clauses that are looked at together."""
_NO: Final = np.uint64(0)
_ONE: Final = np.uint64(1)
_NO_LIMIT: Final = np.int64(2**62)


@inlined
def _emit(
    output: int,
    word: Any,
    count: int,
    outputs: Records,
    found: Codes,
    found_words: Words,
) -> int:
    """Write the outputs of a node behind those that were found before."""
    slot = first_output(output)
    while slot != NONE:
        found[count] = slot
        found_words[count] = word
        count += 1
        slot = outputs[slot, AFTER]
    return count


@kernel
def reach(
    words: Words,
    full: Any,
    hot: Records,
    cold: Records,
    rows: Records,
    outputs: Records,
    seen: Words,
    epochs: Levels,
    epoch: int,
    front: Codes,
    front_words: Words,
    next_front: Codes,
    next_words: Words,
    places: Records,
    touched: Codes,
    found: Codes,
    found_words: Words,
) -> int:
    """Which outputs are true under which of the assignments: one bit of each variable's word.

    Nodes are looked at in fronts, each of them the true parents of the one before. Of all nodes in
    a front it is first looked up where their rows are, and then the rows are read: so one node need
    not wait until another one has come from memory. How many are found; `NO_ROOM` if the fronts are
    too short.
    """
    front[0] = TRUE
    front_words[0] = full
    size, count, tangled = 1, 0, 0
    while size > 0:
        longer = 0
        for i in range(size):
            at = np.uint64(i)
            node, word = front[at], front_words[at]
            if node < 0:
                node = ~node
                if epochs[node] != epoch:
                    epochs[node] = epoch
                    seen[node] = _NO
                    touched[tangled] = node
                    tangled += 1
                word &= ~seen[node]
                seen[node] |= word
                front_words[at] = word
            else:
                output = hot[np.uint64(node), OUTPUT]
                if output <= SEVERAL:
                    count = _emit(output, word, count, outputs, found, found_words)
                else:
                    found[np.uint64(count)] = output
                    found_words[np.uint64(count)] = word
                    count += output != NONE
            places[at, START] = hot[np.uint64(node), START]
            places[at, LENGTH] = hot[np.uint64(node), LENGTH]
            parent = hot[np.uint64(node), LOW_PARENT]
            while parent != NONE and word != _NO:
                if longer == len(front):
                    return NO_ROOM
                next_front[longer] = ~parent
                next_words[longer] = word
                longer += 1
                parent = cold[parent, NEXT]
        for i in range(size):
            at = np.uint64(i)
            place, length = np.uint64(places[at, START]), places[at, LENGTH]
            word, stop = front_words[at], place + np.uint64(length)
            if longer + length > len(front):
                return NO_ROOM
            while place < stop:
                true = word & words[np.uint64(rows[place, ABOUT])]
                next_front[np.uint64(longer)] = rows[place, PARENT]
                next_words[np.uint64(longer)] = true
                longer += true != _NO
                place += _ONE
        front, next_front = next_front, front
        front_words, next_words = next_words, front_words
        size = longer
    for i in range(tangled):
        node = touched[i]
        count = _emit(hot[node, OUTPUT], seen[node], count, outputs, found, found_words)
    return count


@kernel
def reach_once(
    truths: Truths,
    hot: Records,
    cold: Records,
    rows: Records,
    outputs: Records,
    epochs: Levels,
    epoch: int,
    front: Codes,
    next_front: Codes,
    places: Records,
    found: Codes,
    found_words: Words,
) -> int:
    """The same under one assignment, in which variables are 1 or 0: as for an event, and faster."""
    front[0] = TRUE
    size, count = 1, 0
    while size > 0:
        longer, kept = 0, 0
        for i in range(size):
            node = front[np.uint64(i)]
            if node < 0:
                node = ~node
                if epochs[node] == epoch:
                    continue
                epochs[node] = epoch
            at = np.uint64(node)
            output = hot[at, OUTPUT]
            if output <= SEVERAL:
                count = _emit(output, _ONE, count, outputs, found, found_words)
            else:
                found[np.uint64(count)] = output
                count += output != NONE
            places[np.uint64(kept), START] = hot[at, START]
            places[np.uint64(kept), LENGTH] = hot[at, LENGTH]
            kept += 1
            parent = hot[at, LOW_PARENT]
            while parent != NONE:
                if longer == len(front):
                    return NO_ROOM
                next_front[longer] = ~parent
                longer += 1
                parent = cold[parent, NEXT]
        for i in range(kept):
            at = np.uint64(i)
            place, length = np.uint64(places[at, START]), places[at, LENGTH]
            stop = place + np.uint64(length)
            if longer + length > len(front):
                return NO_ROOM
            while place < stop:
                next_front[np.uint64(longer)] = rows[place, PARENT]
                longer += truths[np.uint64(rows[place, ABOUT])]
                place += _ONE
        front, next_front = next_front, front
        size = longer
    return count


@inlined
def _limit(open_clauses: Any, limits: Levels) -> Any:
    """The highest level at which all clauses that are still open could be met.

    Clauses stand in the order of their limits, so the first open one decides.
    """
    if open_clauses == _NO:
        return _NO_LIMIT
    clause = 0
    while (open_clauses >> np.uint64(clause)) & _ONE == _NO:
        clause += 1
    return limits[clause]


@kernel
def relate(
    truths: Words,
    full: Any,
    certain: Words,
    clauses: Any,
    limits: Levels,
    right: bool,
    exits: bool,
    levels: Levels,
    hot: Records,
    cold: Records,
    rows: Records,
    outputs: Records,
    seen: Words,
    pending: Words,
    epochs: Levels,
    arrivals: Levels,
    epoch: int,
    stack: Codes,
    stack_truths: Words,
    stack_open: Words,
    found: Codes,
) -> int:
    """Which outputs a new filter covers, and, on the way, whether one of them covers it.

    Both sides are carried upwards together. The right one is truth under `truths`, a bit for each
    alternative of the new filter: an output that is true under all of them covers it. The left one
    is which clauses of the new filter some way from here to node 1 leaves **open**: it passes
    through no variable that is certain to be inside the clause. An output that leaves none open is
    covered. Above the limit of an open clause nothing can close it.

    With `exits`, it stops as soon as the new filter is found to be covered (`COVERED`), and gives
    up the right side as soon as something is found that the new one covers: in a table of filters
    none of which covers another, it cannot be both. Else how many are covered; `NO_ROOM` if the
    stack is too short.
    """
    stack[0] = TRUE
    stack_truths[0] = full
    stack_open[0] = clauses
    top, count = 1, 0
    while top > 0:
        top -= 1
        node, true, left = stack[top], stack_truths[top], stack_open[top]
        if not right:
            true = _NO
        all_true = true
        if node < 0:
            node = ~node
            if epochs[node] != epoch:
                epochs[node] = epoch
                seen[node] = _NO
            true &= ~seen[node]
            seen[node] |= true
            all_true = seen[node]
            if cold[node, LOW] != FALSE and left != DEAD:
                if arrivals[node] != epoch:  # the other child has not been heard of
                    arrivals[node] = epoch
                    pending[node] = left
                    left = DEAD
                else:
                    left |= pending[node]
        if true == _NO and left == DEAD:
            continue
        slot = first_output(hot[node, OUTPUT])
        if slot != NONE:
            if right and exits and true != _NO and all_true == full:
                return COVERED
            if left == _NO:
                right = right and not exits
                while slot != NONE:
                    found[count] = slot
                    count += 1
                    slot = outputs[slot, AFTER]
        if not right:
            true = _NO
            if left == DEAD:
                continue
        limit = np.int64(NONE) if left == DEAD else _limit(left, limits)
        start, length = hot[node, START], hot[node, LENGTH]
        if top + length > len(stack):
            return NO_ROOM
        for i in range(start, start + length):
            variable = rows[i, ABOUT]
            above = levels[variable] > limit
            if above and true == _NO:
                break
            true_there = true & truths[variable]
            left_there = DEAD if above else left & ~certain[variable]
            stack[top] = rows[i, PARENT]
            stack_truths[top] = true_there
            stack_open[top] = left_there
            top += (true_there != _NO) | (left_there != DEAD)
        parent = hot[node, LOW_PARENT]
        while parent != NONE:
            if top == len(stack):
                return NO_ROOM
            above = levels[cold[parent, VARIABLE]] > limit
            stack[top] = ~parent
            stack_truths[top] = true
            stack_open[top] = DEAD if above else left
            top += (true != _NO) | (not above)
            parent = cold[parent, NEXT]
    return count

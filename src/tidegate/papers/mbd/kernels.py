"""How are shared decision diagrams grown, cut back and evaluated, over flat arrays?

A node says `if variable then high else low`; node 0 is false, node 1 is true. Variables have
**levels**, and a node's children are about variables of lower levels. Diagrams of filters are
monotone, since NOT is part of the predicates: where `low` is true, so is `high`. So a node is true
if its high child is true and its variable holds, or if its low child is true, and truth can be
carried **upwards** from node 1: only nodes above true ones are ever looked at, and each of them
once. For this every node has a **row** of its parents, those of which it is the high child, sorted
by level; the few parents of which it is the low child are a linked list. The row is also where a
node is looked up before it is made, so that no two nodes say the same.

Truth is carried for up to 64 assignments at once, one bit of a word each. A node is **tangled** if
it has a low child that is not false, or stands above such a node: then truth may arrive more than
once. All others, the chains of conjunctions, are reached by one way only.

Invariant: all (variable, low, high) are different, `references` counts parents and outputs, and
rows are sorted by level.
"""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import brief, inlined, kernel

Records: TypeAlias = NDArray[np.int32]
Codes: TypeAlias = NDArray[np.int32]
Levels: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]

FALSE: Final = 0
TRUE: Final = 1

# What evaluation needs to know of a node: where its row starts, how long it is, the first of its
# outputs, and the first parent of which it is the low child.
START: Final = 0
LENGTH: Final = 1
OUTPUT: Final = 2
LOW_PARENT: Final = 3
HOT: Final = 4

# All else. NEXT and BEFORE are its neighbours in the list of its low child's parents; NEXT is also
# the next free node.
VARIABLE: Final = 0
LOW: Final = 1
HIGH: Final = 2
REFERENCES: Final = 3
ROOM: Final = 4
NEXT: Final = 5
BEFORE: Final = 6
TANGLED: Final = 7
COLD: Final = 8

# Of an output: its node, and its neighbours among the node's outputs.
NODE: Final = 0
AFTER: Final = 1
AHEAD: Final = 2
OUTPUT_FIELDS: Final = 3

# Of all: the first free node, nodes that were ever used, where the rows end, places in rows that
# were given up, nodes that are alive.
FREE: Final = 0
USED: Final = 1
END: Final = 2
WASTE: Final = 3
ALIVE: Final = 4
COUNTERS: Final = 5

NONE: Final = -1
NO_ROOM: Final = -1
COVERED: Final = -2
_FIRST_ROOM: Final = 2

DEAD: Final = np.uint64(1 << 63)
"""The bit of a word that says: whatever comes above, the filter will not be covered."""
CLAUSES: Final = 63
"""Clauses that are looked at together."""
_NO: Final = np.uint64(0)
_ONE: Final = np.uint64(1)
_NO_LIMIT: Final = np.int64(2**62)


@inlined
def _place(level: int, start: int, stop: int, levels: Levels, row_variables: Codes) -> int:
    """The first place in a row at which the level is not lower."""
    while start < stop:
        middle = (start + stop) >> 1
        if levels[row_variables[middle]] < level:
            start = middle + 1
        else:
            stop = middle
    return start


@inlined
def _find(
    variable: int,
    low: int,
    high: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
) -> int:
    start = hot[high, START]
    stop = start + hot[high, LENGTH]
    at = _place(levels[variable], start, stop, levels, row_variables)
    while at < stop and row_variables[at] == variable:
        parent = row_parents[at]
        if parent < 0:
            parent = ~parent
        if cold[parent, LOW] == low:
            return parent  # type: ignore[no-any-return]
        at += 1
    return NONE


@brief
def find(
    variable: int,
    low: int,
    high: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
) -> int:
    """The node that says this, or `NONE`."""
    return _find(variable, low, high, levels, hot, cold, row_variables, row_parents)


@inlined
def _make(
    variable: int,
    low: int,
    high: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
    counters: Levels,
) -> int:
    """A node that says this, which was not there; `NO_ROOM` if it has to be made first."""
    length = hot[high, LENGTH]
    room = cold[high, ROOM]
    if length == room:
        larger = max(_FIRST_ROOM, 2 * room)
        if counters[END] + larger > len(row_variables):
            return NO_ROOM
    if counters[FREE] == NONE and counters[USED] == len(hot):
        return NO_ROOM
    node = counters[FREE]
    if node == NONE:
        node = counters[USED]
        counters[USED] += 1
    else:
        counters[FREE] = cold[node, NEXT]
    counters[ALIVE] += 1
    if length == room:
        larger = max(_FIRST_ROOM, 2 * room)
        start, moved = hot[high, START], counters[END]
        for i in range(length):
            row_variables[moved + i] = row_variables[start + i]
            row_parents[moved + i] = row_parents[start + i]
        hot[high, START] = moved
        cold[high, ROOM] = larger
        counters[END] += larger
        counters[WASTE] += room
    tangled = low != FALSE or cold[high, TANGLED] != 0
    start = hot[high, START]
    at = _place(levels[variable], start, start + length, levels, row_variables)
    for i in range(start + length, at, -1):
        row_variables[i] = row_variables[i - 1]
        row_parents[i] = row_parents[i - 1]
    row_variables[at] = variable
    row_parents[at] = ~node if tangled else node
    hot[high, LENGTH] = length + 1
    cold[high, REFERENCES] += 1
    hot[node, START] = 0
    hot[node, LENGTH] = 0
    hot[node, OUTPUT] = NONE
    hot[node, LOW_PARENT] = NONE
    cold[node, VARIABLE] = variable
    cold[node, LOW] = low
    cold[node, HIGH] = high
    cold[node, REFERENCES] = 0
    cold[node, ROOM] = 0
    cold[node, BEFORE] = NONE
    cold[node, NEXT] = NONE
    cold[node, TANGLED] = tangled
    if low != FALSE:
        first = hot[low, LOW_PARENT]
        cold[node, NEXT] = first
        if first != NONE:
            cold[first, BEFORE] = node
        hot[low, LOW_PARENT] = node
        cold[low, REFERENCES] += 1
    return node  # type: ignore[no-any-return]


@brief
def make(
    variable: int,
    low: int,
    high: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
    counters: Levels,
) -> int:
    """The node that says this, a new one if need be; `NO_ROOM` if that has to be made first."""
    node = _find(variable, low, high, levels, hot, cold, row_variables, row_parents)
    if node == NONE:
        node = _make(variable, low, high, levels, hot, cold, row_variables, row_parents, counters)
    return node


@brief
def make_chain(
    variables: Codes,
    done: int,
    reached: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
    counters: Levels,
) -> tuple[int, int]:
    """Nodes for an AND of variables, from the lowest up; how many there are, and the last one.

    So many were there already, up to a node that was reached; if there is no room for more, the
    rest has to be asked for again.
    """
    for i in range(done, len(variables)):
        node = _find(variables[i], FALSE, reached, levels, hot, cold, row_variables, row_parents)
        if node == NONE:
            node = _make(
                variables[i],
                FALSE,
                reached,
                levels,
                hot,
                cold,
                row_variables,
                row_parents,
                counters,
            )
            if node == NO_ROOM:
                return i, reached
        reached = node
    return len(variables), reached


@inlined
def _unlink(
    node: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
) -> None:
    """Take a node out of the row of its high child and the list of its low child."""
    high, low = cold[node, HIGH], cold[node, LOW]
    start = hot[high, START]
    stop = start + hot[high, LENGTH]
    at = _place(levels[cold[node, VARIABLE]], start, stop, levels, row_variables)
    while row_parents[at] != node and row_parents[at] != ~node:
        at += 1
    for i in range(at, stop - 1):
        row_variables[i] = row_variables[i + 1]
        row_parents[i] = row_parents[i + 1]
    hot[high, LENGTH] -= 1
    if low != FALSE:
        before, after = cold[node, BEFORE], cold[node, NEXT]
        if before == NONE:
            hot[low, LOW_PARENT] = after
        else:
            cold[before, NEXT] = after
        if after != NONE:
            cold[after, BEFORE] = before


@inlined
def _let_go(
    node: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
    counters: Levels,
    stack: Codes,
) -> None:
    """Take one reference from a node; with the last, it goes, and its children lose one each."""
    stack[0] = node
    top = 1
    while top > 0:
        top -= 1
        gone = stack[top]
        cold[gone, REFERENCES] -= 1
        if cold[gone, REFERENCES] > 0:
            continue
        _unlink(gone, levels, hot, cold, row_variables, row_parents)
        stack[top] = cold[gone, HIGH]
        top += 1
        if cold[gone, LOW] != FALSE:
            stack[top] = cold[gone, LOW]
            top += 1
        counters[WASTE] += cold[gone, ROOM]
        cold[gone, ROOM] = 0
        cold[gone, VARIABLE] = NONE
        cold[gone, NEXT] = counters[FREE]
        counters[FREE] = gone
        counters[ALIVE] -= 1


@brief
def attach(slot: int, node: int, hot: Records, cold: Records, outputs: Records) -> None:
    """Make a node the one of an output."""
    first = hot[node, OUTPUT]
    outputs[slot, NODE] = node
    outputs[slot, AFTER] = first
    outputs[slot, AHEAD] = NONE
    if first != NONE:
        outputs[first, AHEAD] = slot
    hot[node, OUTPUT] = slot
    cold[node, REFERENCES] += 1


@brief
def detach(
    slot: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
    counters: Levels,
    outputs: Records,
    stack: Codes,
) -> None:
    """Take an output away, and the nodes that only it needed."""
    node, after, ahead = outputs[slot, NODE], outputs[slot, AFTER], outputs[slot, AHEAD]
    if ahead == NONE:
        hot[node, OUTPUT] = after
    else:
        outputs[ahead, AFTER] = after
    if after != NONE:
        outputs[after, AHEAD] = ahead
    outputs[slot, NODE] = NONE
    _let_go(node, levels, hot, cold, row_variables, row_parents, counters, stack)


@kernel
def pack(
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
    counters: Levels,
    new_variables: Codes,
    new_parents: Codes,
) -> None:
    """Write all rows one after the other, each with a little room."""
    end = 0
    for node in range(counters[USED]):
        length = hot[node, LENGTH]
        start = hot[node, START]
        for i in range(length):
            new_variables[end + i] = row_variables[start + i]
            new_parents[end + i] = row_parents[start + i]
        hot[node, START] = end
        cold[node, ROOM] = length + (length >> 2)
        end += cold[node, ROOM]
    counters[END] = end
    counters[WASTE] = 0


@kernel
def reach(
    words: Words,
    full: Any,
    hot: Records,
    cold: Records,
    row_variables: Codes,
    row_parents: Codes,
    outputs: Records,
    seen: Words,
    epochs: Levels,
    epoch: int,
    stack: Codes,
    stack_words: Words,
    touched: Codes,
    found: Codes,
    found_words: Words,
) -> int:
    """Which outputs are true under which of the assignments: one bit of each variable's word.

    How many; `NO_ROOM` if the stack is too short.
    """
    stack[0] = TRUE
    stack_words[0] = full
    top, count, tangled = 1, 0, 0
    while top > 0:
        top -= 1
        node, word = stack[top], stack_words[top]
        if node < 0:
            node = ~node
            if epochs[node] != epoch:
                epochs[node] = epoch
                seen[node] = _NO
                touched[tangled] = node
                tangled += 1
            word &= ~seen[node]
            if word == _NO:
                continue
            seen[node] |= word
        else:
            slot = hot[node, OUTPUT]
            while slot != NONE:
                found[count] = slot
                found_words[count] = word
                count += 1
                slot = outputs[slot, AFTER]
        start, length = hot[node, START], hot[node, LENGTH]
        if top + length > len(stack):
            return NO_ROOM
        for i in range(start, start + length):
            true = word & words[row_variables[i]]
            stack[top] = row_parents[i]
            stack_words[top] = true
            top += true != _NO
        parent = hot[node, LOW_PARENT]
        while parent != NONE:
            if top == len(stack):
                return NO_ROOM
            stack[top] = ~parent
            stack_words[top] = word
            top += 1
            parent = cold[parent, NEXT]
    for i in range(tangled):
        slot = hot[touched[i], OUTPUT]
        while slot != NONE:
            found[count] = slot
            found_words[count] = seen[touched[i]]
            count += 1
            slot = outputs[slot, AFTER]
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
    row_variables: Codes,
    row_parents: Codes,
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
        slot = hot[node, OUTPUT]
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
            variable = row_variables[i]
            above = levels[variable] > limit
            if above and true == _NO:
                break
            true_there = true & truths[variable]
            left_there = DEAD if above else left & ~certain[variable]
            stack[top] = row_parents[i]
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

"""How are shared decision diagrams grown and cut back, over flat arrays?

A node says `if variable then high else low`; node 0 is false, node 1 is true. Variables have
**levels**, and a node's children are about variables of lower levels. Every node has a **row** of
its parents, those of which it is the high child, sorted by level; the few parents of which it is
the low child are a linked list. The rows are there for evaluation, which goes upwards
(`evaluation_kernels`). They are also where a node is looked up before it is made, so that no two
nodes say the same.

A node is **tangled** if it has a low child that is not false, or stands above such a node: then
there is more than one way from it to node 1. All others are chains, the conjunctions.

Invariant: all (variable, low, high) are different, `references` counts parents and outputs, and
rows are sorted by level.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import brief, inlined, kernel

Records: TypeAlias = NDArray[np.int32]
Codes: TypeAlias = NDArray[np.int32]
Levels: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Truths: TypeAlias = NDArray[np.uint8]

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

# Of a place in a row: the variable that the parent is about, and the parent, ~ if it is tangled.
ABOUT: Final = 0
PARENT: Final = 1
PLACE: Final = 2

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
SEVERAL: Final = -2
"""Of a node with several outputs, this minus the first of them is noted in its place."""
NO_ROOM: Final = -1
_FIRST_ROOM: Final = 2


@inlined
def _place(level: int, start: int, stop: int, levels: Levels, rows: Records) -> int:
    """The first place in a row at which the level is not lower."""
    while start < stop:
        middle = (start + stop) >> 1
        if levels[rows[middle, ABOUT]] < level:
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
    rows: Records,
) -> int:
    start = hot[high, START]
    stop = start + hot[high, LENGTH]
    at = _place(levels[variable], start, stop, levels, rows)
    while at < stop and rows[at, ABOUT] == variable:
        parent = rows[at, PARENT]
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
    rows: Records,
) -> int:
    """The node that says this, or `NONE`."""
    return _find(variable, low, high, levels, hot, cold, rows)


@inlined
def _make(
    variable: int,
    low: int,
    high: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    rows: Records,
    counters: Levels,
) -> int:
    """A node that says this, which was not there; `NO_ROOM` if it has to be made first."""
    length = hot[high, LENGTH]
    room = cold[high, ROOM]
    if length == room:
        larger = max(_FIRST_ROOM, 2 * room)
        if counters[END] + larger > len(rows):
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
            rows[moved + i, ABOUT] = rows[start + i, ABOUT]
            rows[moved + i, PARENT] = rows[start + i, PARENT]
        hot[high, START] = moved
        cold[high, ROOM] = larger
        counters[END] += larger
        counters[WASTE] += room
    tangled = low != FALSE or cold[high, TANGLED] != 0
    start = hot[high, START]
    at = _place(levels[variable], start, start + length, levels, rows)
    for i in range(start + length, at, -1):
        rows[i, ABOUT] = rows[i - 1, ABOUT]
        rows[i, PARENT] = rows[i - 1, PARENT]
    rows[at, ABOUT] = variable
    rows[at, PARENT] = ~node if tangled else node
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
    rows: Records,
    counters: Levels,
) -> int:
    """The node that says this, a new one if need be; `NO_ROOM` if that has to be made first."""
    node = _find(variable, low, high, levels, hot, cold, rows)
    if node == NONE:
        node = _make(variable, low, high, levels, hot, cold, rows, counters)
    return node


@brief
def make_chain(
    variables: Codes,
    done: int,
    reached: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    rows: Records,
    counters: Levels,
) -> tuple[int, int]:
    """Nodes for an AND of variables, from the lowest up; how many there are, and the last one.

    So many were there already, up to a node that was reached; if there is no room for more, the
    rest has to be asked for again.
    """
    for i in range(done, len(variables)):
        node = _find(variables[i], FALSE, reached, levels, hot, cold, rows)
        if node == NONE:
            node = _make(
                variables[i],
                FALSE,
                reached,
                levels,
                hot,
                cold,
                rows,
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
    rows: Records,
) -> None:
    """Take a node out of the row of its high child and the list of its low child."""
    high, low = cold[node, HIGH], cold[node, LOW]
    start = hot[high, START]
    stop = start + hot[high, LENGTH]
    at = _place(levels[cold[node, VARIABLE]], start, stop, levels, rows)
    while rows[at, PARENT] != node and rows[at, PARENT] != ~node:
        at += 1
    for i in range(at, stop - 1):
        rows[i, ABOUT] = rows[i + 1, ABOUT]
        rows[i, PARENT] = rows[i + 1, PARENT]
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
    rows: Records,
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
        _unlink(gone, levels, hot, cold, rows)
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


@inlined
def first_output(output: int) -> int:
    """The first of a node's outputs, or `NONE`."""
    return SEVERAL - output if output <= SEVERAL else output


@brief
def attach(slot: int, node: int, hot: Records, cold: Records, outputs: Records) -> None:
    """Make a node the one of an output."""
    first = first_output(hot[node, OUTPUT])
    outputs[slot, NODE] = node
    outputs[slot, AFTER] = first
    outputs[slot, AHEAD] = NONE
    hot[node, OUTPUT] = slot
    if first != NONE:
        outputs[first, AHEAD] = slot
        hot[node, OUTPUT] = SEVERAL - slot
    cold[node, REFERENCES] += 1


@brief
def detach(
    slot: int,
    levels: Levels,
    hot: Records,
    cold: Records,
    rows: Records,
    counters: Levels,
    outputs: Records,
    stack: Codes,
) -> None:
    """Take an output away, and the nodes that only it needed."""
    node, after, ahead = outputs[slot, NODE], outputs[slot, AFTER], outputs[slot, AHEAD]
    first = first_output(hot[node, OUTPUT])
    if ahead == NONE:
        first = after
    else:
        outputs[ahead, AFTER] = after
    if after != NONE:
        outputs[after, AHEAD] = ahead
    several = first != NONE and outputs[first, AFTER] != NONE
    hot[node, OUTPUT] = SEVERAL - first if several else first
    outputs[slot, NODE] = NONE
    _let_go(node, levels, hot, cold, rows, counters, stack)


@kernel
def pack(
    hot: Records,
    cold: Records,
    rows: Records,
    counters: Levels,
    packed: Records,
) -> None:
    """Write all rows one after the other, each with a little room."""
    end = 0
    for node in range(counters[USED]):
        length = hot[node, LENGTH]
        start = hot[node, START]
        for i in range(length):
            packed[end + i, ABOUT] = rows[start + i, ABOUT]
            packed[end + i, PARENT] = rows[start + i, PARENT]
        hot[node, START] = end
        cold[node, ROOM] = length + (length >> 2)
        end += cold[node, ROOM]
    counters[END] = end
    counters[WASTE] = 0

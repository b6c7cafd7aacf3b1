"""In which nodes of a trie is a document's element?

The nodes that the path to an element leads to are a **state**. States are made when a document asks
for them and kept for the documents that come after it: then an element costs one look at a hash
table, by its parent's state and its name, however many paths there are (Green, Gupta, Miklau,
Onizuka, Suciu, Processing XML streams with deterministic automata and stream indexes, 2004, calls
it the lazy DFA). A state has its nodes, those that lead on first; the values that are found in it;
and the nodes at which something is found on a condition, in order.

States may be very many, for wicked paths and documents. They are kept in arrays of a fixed size, a
**memory**; when it is full, all are forgotten, and those that are still needed are made again on
the way from the outermost element. So what is known of an element is its state and the **era** it
was found in. Where a memory may still grow, or if even one path does not fit, the caller is asked
for more room.

A state and something else that has a list of nodes, such as a guard those of the trunks it is a key
of, are a **pair**. The places in the list whose nodes the state has are worked out once as well, as
long as there is room.

Invariants: state 0 has no nodes, and nothing leads out of it; state 1 is that of the beginning. Two
states of one era have different nodes.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.matching.trie import TrieArrays
from tidegate.jit import inlined, kernel

DEAD: Final = 0
START: Final = 1
FULL: Final = -1

# What is counted, in the array of a memory.
STATES: Final = 0
USED: Final = 1  # items of the pool
STEPS: Final = 2  # entries of the table of steps
ERA: Final = 3
MADE: Final = 4  # states, over all eras
TOKEN: Final = 5
NODES: Final = 6  # in the scratch list
GROWS: Final = 7  # whether the memory may still become larger
PAIRS: Final = 8  # entries of the table of pairs
SHARED: Final = 9  # items that pairs have
COUNTS: Final = 10

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_AGAIN: Final = np.uint64(0xD6E8FEB86659FD93)
_HALF: Final = np.uint64(32)


class Memory(NamedTuple):
    """What is known of a trie's states."""

    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    """Of each state: where its nodes start in the pool."""
    leading: NDArray[np.int32]
    """How many of them lead on; how many there are, values there are, guarded nodes there are."""
    nodes: NDArray[np.int32]
    values: NDArray[np.int32]
    guarded: NDArray[np.int32]
    digest: NDArray[np.uint64]
    pool: NDArray[np.int32]
    """Of each state: nodes, values, guarded nodes."""
    table: NDArray[np.int32]
    """Hash table of the states by their nodes."""
    step_keys: NDArray[np.int64]
    step_targets: NDArray[np.int32]
    mark: NDArray[np.int64]
    """Of each node, when it was last seen."""
    scratch: NDArray[np.int32]
    """Nodes of a state that is being made."""
    pair_keys: NDArray[np.int64]
    """Hash table of states and other things, that are pairs."""
    pair_start: NDArray[np.int64]
    pair_stop: NDArray[np.int64]
    shared: NDArray[np.int32]
    """What the two of a pair share."""
    busy: NDArray[np.int64]
    """Of each state, when it was last looked at."""


@inlined
def _mixed(value: int) -> np.uint64:
    mixed = np.uint64(value) * _MIX
    mixed = (mixed ^ (mixed >> _HALF)) * _MIX_AGAIN
    return mixed ^ (mixed >> _HALF)


@kernel
def enter_edges(
    edges: NDArray[np.int64],
    ends: NDArray[np.int32],
    keys: NDArray[np.int64],
    targets: NDArray[np.int32],
) -> None:
    """Enter edges into an empty hash table."""
    mask = len(keys) - 1
    for i in range(len(edges)):
        slot = int(np.int64(_mixed(edges[i]))) & mask
        while keys[slot] >= 0:
            slot = (slot + 1) & mask
        keys[slot], targets[slot] = edges[i], ends[i]


@inlined
def _edge(trie: TrieArrays, node: int, word: int) -> int:
    """Where the edge with a word leads from a node, or -1."""
    mask = len(trie.keys) - 1
    key = int((np.int64(node) << 32) | word)
    slot = int(np.int64(_mixed(key))) & mask
    while trie.keys[slot] != key:
        if trie.keys[slot] < 0:
            return -1
        slot = (slot + 1) & mask
    return int(trie.targets[slot])


@inlined
def _visit(trie: TrieArrays, memory: Memory, node: int, token: int) -> None:
    """Note that a node is reached, and the loop at it."""
    counts = memory.counts
    if memory.mark[node] != token:
        memory.mark[node] = token
        memory.scratch[counts[NODES]] = node
        counts[NODES] += 1
        loop = trie.loop[node]
        if loop >= 0 and memory.mark[loop] != token:
            memory.mark[loop] = token
            memory.scratch[counts[NODES]] = loop
            counts[NODES] += 1


@kernel
def forget(trie: TrieArrays, memory: Memory) -> bool:
    """Forget all states but the first two; whether there is room for those."""
    counts = memory.counts
    counts[STATES], counts[USED], counts[STEPS] = 0, 0, 0
    counts[ERA] += 1
    memory.table[:] = -1
    memory.step_keys[:] = -1
    memory.pair_keys[:] = -1
    counts[PAIRS], counts[SHARED] = 0, 0
    counts[TOKEN] += 1
    counts[NODES] = 0
    if _state(trie, memory) == FULL:
        return False
    _visit(trie, memory, 0, counts[TOKEN])
    return _state(trie, memory) != FULL


@kernel
def _state(trie: TrieArrays, memory: Memory) -> int:
    """The state with the nodes of the scratch list, all of them marked with the token."""
    counts = memory.counts
    count = counts[NODES]
    digest = np.uint64(count)
    for i in range(count):
        digest += _mixed(memory.scratch[i] + 1)
    digest ^= digest >> _HALF
    digest *= _MIX
    digest ^= digest >> _HALF
    mask = len(memory.table) - 1
    slot = int(np.int64(digest)) & mask
    while memory.table[slot] >= 0:
        state = memory.table[slot]
        if memory.digest[state] == digest and _same(memory, state):
            return int(state)
        slot = (slot + 1) & mask
    state, start = counts[STATES], counts[USED]
    if state >= len(memory.first) or start + 3 * count > len(memory.pool):
        return FULL
    memory.table[slot] = state
    memory.digest[state] = digest
    memory.first[state] = start
    _fill(trie, memory, state, start)
    counts[STATES] += 1
    counts[MADE] += 1
    return int(state)


@kernel
def _same(memory: Memory, state: int) -> bool:
    """Whether a state has the nodes that are marked, and no others."""
    if memory.nodes[state] != memory.counts[NODES]:
        return False
    start, token = memory.first[state], memory.counts[TOKEN]
    for i in range(start, start + memory.nodes[state]):
        if memory.mark[memory.pool[i]] != token:
            return False
    return True


@kernel
def _fill(trie: TrieArrays, memory: Memory, state: int, start: int) -> None:
    """Write down a new state."""
    counts, pool = memory.counts, memory.pool
    count, place = counts[NODES], start
    for i in range(count):
        if trie.goes_on[memory.scratch[i]]:
            pool[place] = memory.scratch[i]
            place += 1
    memory.leading[state] = place - start
    for i in range(count):
        if not trie.goes_on[memory.scratch[i]]:
            pool[place] = memory.scratch[i]
            place += 1
    memory.nodes[state] = count
    values = place
    for i in range(count):
        if trie.value[memory.scratch[i]] >= 0:
            pool[place] = trie.value[memory.scratch[i]]
            place += 1
    memory.values[state] = place - values
    guarded = place
    for i in range(count):
        if trie.guarded[memory.scratch[i]]:
            pool[place] = memory.scratch[i]
            place += 1
    memory.guarded[state] = place - guarded
    _sort(pool, guarded, place)
    counts[USED] = place


@kernel
def _sort(items: NDArray[np.int32], start: int, stop: int) -> None:
    """Put some items in order: by gaps that shrink (Shell, 1959)."""
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap:
        for i in range(start + gap, stop):
            item, place = items[i], i
            while place - gap >= start and items[place - gap] > item:
                items[place] = items[place - gap]
                place -= gap
            items[place] = item
        gap //= 3


@inlined
def step(trie: TrieArrays, memory: Memory, state: int, word: int) -> int:
    """The state of an element by that of its parent and its name; or FULL."""
    mask = len(memory.step_keys) - 1
    key = int((np.int64(state) << 32) | word)
    slot = int(np.int64(_mixed(key))) & mask
    while memory.step_keys[slot] != key:
        if memory.step_keys[slot] < 0:
            return _make_step(trie, memory, state, word, slot)
        slot = (slot + 1) & mask
    return int(memory.step_targets[slot])


@kernel
def _make_step(trie: TrieArrays, memory: Memory, state: int, word: int, slot: int) -> int:
    counts = memory.counts
    if 2 * counts[STEPS] >= len(memory.step_keys):
        return FULL
    counts[TOKEN] += 1
    counts[NODES] = 0
    token, start = counts[TOKEN], memory.first[state]
    for i in range(start, start + memory.leading[state]):
        node = memory.pool[i]
        if trie.is_loop[node]:
            _visit(trie, memory, node, token)
        if trie.star[node] >= 0:
            _visit(trie, memory, trie.star[node], token)
        if word:
            target = _edge(trie, node, word)
            if target >= 0:
                _visit(trie, memory, target, token)
    made = _state(trie, memory)
    if made != FULL:
        memory.step_keys[slot] = (np.int64(state) << 32) | word
        memory.step_targets[slot] = made
        counts[STEPS] += 1
    return made


@inlined
def moment(memory: Memory, run: int) -> int:
    """The era as it is noted with an element."""
    return int(memory.counts[ERA] << 40 | run)


@kernel
def locate(
    trie: TrieArrays,
    memory: Memory,
    element: int,
    above: int,
    parent: NDArray[np.int32],
    name: NDArray[np.int32],
    words: NDArray[np.int32],
    state: NDArray[np.int32],
    era: NDArray[np.int64],
    run: int,
    path: NDArray[np.int32],
) -> int:
    """The state of an element, on the way from one above it, at which the trie begins; or FULL.

    What is known of each element is in `state`, if its `era` is that of the memory and the `run`.
    `words` has the numbers of the names. `path` has room for an element of each level.
    """
    tries = 0
    while tries < 2:
        now = moment(memory, run)
        count, each = 0, element
        while each != above and era[each] != now:
            path[count] = each
            count += 1
            each = parent[each]
        found = START if each == above else state[each]
        while count and found != FULL:
            count -= 1
            each = path[count]
            found = step(trie, memory, found, words[name[each]])
            if found != FULL:
                state[each], era[each] = found, now
        if found != FULL:
            return found
        tries += 1
        if tries == 1 and (memory.counts[GROWS] or not forget(trie, memory)):
            return FULL
    return FULL


@kernel
def pair(
    memory: Memory, state: int, other: int, nodes: NDArray[np.int32], low: int, high: int
) -> int:
    """The place of a pair in the table, or -1 if there is no room for it.

    The other's nodes are those from low to high, in order.
    """
    mask = len(memory.pair_keys) - 1
    key = int((np.int64(state) << 32) | other)
    slot = int(np.int64(_mixed(key))) & mask
    while memory.pair_keys[slot] != key:
        if memory.pair_keys[slot] < 0:
            return _make_pair(memory, key, slot, state, nodes, low, high)
        slot = (slot + 1) & mask
    return slot


@kernel
def _make_pair(
    memory: Memory,
    key: int,
    slot: int,
    state: int,
    nodes: NDArray[np.int32],
    low: int,
    high: int,
) -> int:
    counts = memory.counts
    start = counts[SHARED]
    if 2 * counts[PAIRS] >= len(memory.pair_keys) or start + high - low > len(memory.shared):
        return -1
    place = memory.first[state] + memory.nodes[state] + memory.values[state]
    stop = place + memory.guarded[state]
    used = start
    if high - low <= stop - place:
        for i in range(low, high):
            if is_among(memory.pool, place, stop, nodes[i]):
                memory.shared[used] = i
                used += 1
    else:
        for j in range(place, stop):
            i = first_at(nodes, low, high, memory.pool[j])
            while i < high and nodes[i] == memory.pool[j]:
                memory.shared[used] = i
                used += 1
                i += 1
    memory.pair_keys[slot] = key
    memory.pair_start[slot], memory.pair_stop[slot] = start, used
    counts[PAIRS] += 1
    counts[SHARED] = used
    return slot


@inlined
def first_at(items: NDArray[np.int32], low: int, high: int, item: int) -> int:
    """Where an item is first among items in order, or would be."""
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def is_among(items: NDArray[np.int32], low: int, high: int, item: int) -> bool:
    """Whether an item is among items in order."""
    place = first_at(items, low, high, item)
    return place < high and items[place] == item


@kernel
def enter_again(old: Memory, new: Memory) -> None:
    """Enter the states and steps of a memory into the tables of a larger one."""
    mask = len(new.table) - 1
    for state in range(old.counts[STATES]):
        slot = int(np.int64(old.digest[state])) & mask
        while new.table[slot] >= 0:
            slot = (slot + 1) & mask
        new.table[slot] = state
    mask = len(new.step_keys) - 1
    for i in range(len(old.step_keys)):
        key = old.step_keys[i]
        if key >= 0:
            slot = int(np.int64(_mixed(key))) & mask
            while new.step_keys[slot] >= 0:
                slot = (slot + 1) & mask
            new.step_keys[slot] = key
            new.step_targets[slot] = old.step_targets[i]

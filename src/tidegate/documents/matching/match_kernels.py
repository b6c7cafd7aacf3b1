"""Which targets does a document meet?

Twice over the elements of a document. First down, in document order: each element's state in the
automaton of trunks. It has the targets that ask for nothing more, which are met. Then up, in
reverse: for each element at which a condition may be asked,

1. the leaves that hold for it are looked up, and stamped;
2. conditions at the end of ways that ask for leaves only, and hold, are noted with the element;
3. the automaton of ways is run over all that is below the element, from the beginning. The ways
   that it finds hold, and are stamped; those with a condition at their end if it is noted with the
   element there, which has been seen before, because we go up;
4. other conditions at the end of ways are noted, if they hold;
5. the conditions of trunks whose key holds, and whose trunk leads here, are met if their other
   guards are stamped, or hold when they are tried.

The document itself is an element without leaves, above the outermost one.

So a condition is looked at only where its key holds. The ways below an element, which take the most
time, are only followed if some way is a key there, or a condition whose key holds asks for one.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.matching.automaton_kernels import (
    DEAD,
    FULL,
    START,
    Memory,
    is_among,
    locate,
    moment,
    pair,
    step,
)
from tidegate.documents.matching.leaf_kernels import (
    TEXT,
    VALUE,
    holds,
    meets,
    same_number,
    same_text,
)
from tidegate.documents.matching.plan import Conditions, Keys, Leaves, Plan
from tidegate.documents.matching.trie import TrieArrays
from tidegate.documents.reading.documents import Arrays
from tidegate.jit import inlined, kernel

_TRIED: Final = 1  # the kind of guards that have to be tried
_TRUNKS_WITHOUT_PAIRS: Final = 16  # trunks of a guard that are looked at without noting pairs

# What is counted.
TOKEN: Final = 0  # of the element that is looked at
MET: Final = 1  # conditions noted
FOUND: Final = 2  # targets met
HITS: Final = 3  # keys that hold
STATUS: Final = 4
COUNTS: Final = 8

DONE: Final = 0
MORE_STATES: Final = 1  # of trunks
MORE_WAYS: Final = 2
MORE_MET: Final = 3
MORE_FOUND: Final = 4


class Numbers(NamedTuple):
    """The values that are compared with numbers, as numbers."""

    words: NDArray[np.int32]
    """Of each name of the batch, its word; 0 if no pattern has it."""
    attributes: NDArray[np.float64]
    texts: NDArray[np.float64]
    values: NDArray[np.float64]


class Work(NamedTuple):
    """What is written down while documents are matched."""

    counts: NDArray[np.int64]
    state: NDArray[np.int32]
    era: NDArray[np.int64]
    way_state: NDArray[np.int32]
    way_era: NDArray[np.int64]
    path: NDArray[np.int32]
    stamp: NDArray[np.int32]
    """Of each guard, the token of the element that it held for last."""
    is_key: NDArray[np.bool_]
    """Of each guard, whether it is the key of something."""
    hits: NDArray[np.int32]
    """The keys that hold for the element."""
    seen: NDArray[np.int32]
    """Of each target, the token of the document that met it last."""
    active: NDArray[np.int32]
    """Of each node of the trunks, the token of the element that was last in it."""
    met_start: NDArray[np.int64]
    met_stop: NDArray[np.int64]
    met: NDArray[np.int32]
    """Of each element, the conditions at the end of ways that hold for it."""
    found: NDArray[np.int32]
    found_stop: NDArray[np.int64]
    """Of each document, the targets that it meets."""


@kernel
def match(
    first: int,
    arrays: Arrays,
    plan: Plan,
    trunks: Memory,
    ways: Memory,
    numbers: Numbers,
    work: Work,
) -> int:
    """Match documents from the first on; how many are done, and why no more is the status."""
    counts = work.counts
    for d in range(first, len(arrays.starts) - 1):
        start = 0 if not d else work.found_stop[d - 1]
        counts[FOUND] = start
        counts[STATUS] = DONE
        counts[TOKEN] += 1
        document = counts[TOKEN]
        if arrays.starts[d] < arrays.starts[d + 1]:
            go_down(d, document, arrays, plan, trunks, numbers, work)
            if counts[STATUS] == DONE and len(plan.conditions.others_start) > 1:
                go_up(d, document, arrays, plan, trunks, ways, numbers, work)
        if counts[STATUS] != DONE:
            return d
        work.found_stop[d] = counts[FOUND]
    return len(arrays.starts) - 1


@inlined
def _meet(work: Work, target: int, document: int) -> None:
    """Note that a document meets a target."""
    if work.seen[target] != document:
        if work.counts[FOUND] >= len(work.found):
            work.counts[STATUS] = MORE_FOUND
            return
        work.seen[target] = document
        work.found[work.counts[FOUND]] = target
        work.counts[FOUND] += 1


@kernel
def go_down(
    d: int,
    document: int,
    arrays: Arrays,
    plan: Plan,
    trunks: Memory,
    numbers: Numbers,
    work: Work,
) -> None:
    """Find the state of each element, and the targets that ask for no more."""
    trie = plan.trunks
    first, stop = arrays.starts[d], arrays.starts[d + 1]
    now = moment(trunks, document)
    place = trunks.first[START] + trunks.nodes[START]
    for i in range(place, place + trunks.values[START]):
        _meet(work, trunks.pool[i], document)
    e = first
    while e < stop:
        parent = arrays.parent[e]
        found = FULL
        if e == first or work.era[parent] == now:
            above = START if e == first else work.state[parent]
            found = step(trie, trunks, above, numbers.words[arrays.name[e]])
        if found == FULL:
            found = locate(
                trie,
                trunks,
                e,
                -1,
                arrays.parent,
                arrays.name,
                numbers.words,
                work.state,
                work.era,
                document,
                work.path,
            )
            if found == FULL:
                work.counts[STATUS] = MORE_STATES
                return
            now = moment(trunks, document)
        work.state[e], work.era[e] = found, now
        place = trunks.first[found] + trunks.nodes[found]
        for i in range(place, place + trunks.values[found]):
            _meet(work, trunks.pool[i], document)
        e += 1


@kernel
def go_up(
    d: int,
    document: int,
    arrays: Arrays,
    plan: Plan,
    trunks: Memory,
    ways: Memory,
    numbers: Numbers,
    work: Work,
) -> None:
    """Try the conditions of each element."""
    counts, keys, conditions = work.counts, plan.keys, plan.conditions
    first, stop = arrays.starts[d], arrays.starts[d + 1]
    has_ways = len(plan.ways.star) > 1
    has_leafy, has_mixed = len(keys.leafy) > 0, len(keys.mixed) > 0
    counts[MET] = 0
    for e in range(stop - 1, first - 2, -1):
        if e < first:  # the document itself
            state = START
        elif work.era[e] == moment(trunks, document):
            state = work.state[e]
        else:
            state = locate(
                plan.trunks,
                trunks,
                e,
                -1,
                arrays.parent,
                arrays.name,
                numbers.words,
                work.state,
                work.era,
                document,
                work.path,
            )
        if state == FULL:
            counts[STATUS] = MORE_STATES
            return
        guarded = trunks.guarded[state] > 0
        if e < first and not guarded:
            return
        above = e if e >= first else -1
        if above >= 0:
            work.met_start[e] = counts[MET]
            work.met_stop[e] = counts[MET]
            if not (guarded or has_leafy or has_mixed):
                continue
        counts[TOKEN] += 1
        counts[HITS] = 0
        needs_ways = has_ways and guarded and keys.has_ways[0]
        if above >= 0:
            find_leaves(e, arrays, plan.leaves, numbers, work)
            if has_leafy:
                note_conditions(
                    e, keys.leafy_start, keys.leafy, arrays, plan.leaves, conditions, numbers, work
                )
            needs_ways |= has_mixed and (keys.has_ways[1] or _is_key(keys.mixed_start, work))
        if guarded:
            mark_trunks(state, trunks, work)
            needs_ways |= meet_trunks(
                above, state, document, arrays, plan.leaves, keys, conditions, trunks, numbers, work
            )
        if needs_ways:
            start, end = (e, arrays.last[e] + 1) if above >= 0 else (first, stop)
            follow_ways(above, start, end, arrays, plan.ways, conditions, ways, numbers.words, work)
            if has_mixed and above >= 0:
                note_conditions(
                    e, keys.mixed_start, keys.mixed, arrays, plan.leaves, conditions, numbers, work
                )
            if guarded:
                meet_trunks(
                    above,
                    state,
                    document,
                    arrays,
                    plan.leaves,
                    keys,
                    conditions,
                    trunks,
                    numbers,
                    work,
                )
        if counts[STATUS] != DONE:
            return


@inlined
def _is_key(key_start: NDArray[np.int64], work: Work) -> bool:
    """Whether a guard that holds is the key of something."""
    for h in range(work.counts[HITS]):
        guard = work.hits[h]
        if key_start[guard] < key_start[guard + 1]:
            return True
    return False


@inlined
def _hit(work: Work, guard: int) -> None:
    """Note that a guard holds for the element that is looked at."""
    token = work.counts[TOKEN]
    if guard >= 0 and work.stamp[guard] != token:
        work.stamp[guard] = token
        if work.is_key[guard]:
            work.hits[work.counts[HITS]] = guard
            work.counts[HITS] += 1


@inlined
def find_leaves(e: int, arrays: Arrays, leaves: Leaves, numbers: Numbers, work: Work) -> None:
    """Look up the leaves that hold for an element."""
    for i in range(arrays.first_attribute[e], arrays.first_attribute[e + 1]):
        subject = leaves.subject_of_word[numbers.words[arrays.attribute_name[i]]]
        if subject >= 0:
            number = numbers.attributes[i] if leaves.has_numbers[subject] else np.nan
            start, stop = arrays.value_from[i], arrays.value_to[i]
            _find_subject(subject, arrays.values, start, stop, number, leaves, work)
    if _is_asked(leaves, TEXT):
        node = arrays.first_text[e]
        while node >= 0:
            number = numbers.texts[node] if leaves.has_numbers[TEXT] else np.nan
            start, stop = arrays.text_start[node], arrays.text_end[node]
            _find_subject(TEXT, arrays.characters, start, stop, number, leaves, work)
            node = arrays.next_text[node]
    if _is_asked(leaves, VALUE):
        number = numbers.values[e] if leaves.has_numbers[VALUE] else np.nan
        start, stop = arrays.text_from[e], arrays.text_to[e]
        _find_subject(VALUE, arrays.characters, start, stop, number, leaves, work)


@inlined
def _is_asked(leaves: Leaves, subject: int) -> bool:
    return bool(
        leaves.exists[subject] >= 0
        or leaves.has_texts[subject]
        or leaves.has_numbers[subject]
        or leaves.tried_start[subject] < leaves.tried_start[subject + 1]
    )


@kernel
def _find_subject(
    subject: int,
    data: NDArray[np.uint8],
    start: int,
    stop: int,
    number: float,
    leaves: Leaves,
    work: Work,
) -> None:
    """Look up the leaves that hold for one value of a subject."""
    _hit(work, leaves.exists[subject])
    if leaves.has_texts[subject]:
        _hit(work, same_text(leaves, subject, data, start, stop))
    if number == number:
        _hit(work, same_number(leaves, subject, number))
    for i in range(leaves.tried_start[subject], leaves.tried_start[subject + 1]):
        if meets(leaves, leaves.tried[i], data, start, stop, number):
            _hit(work, leaves.tried[i])


@inlined
def _others_hold(
    condition: int,
    e: int,
    arrays: Arrays,
    leaves: Leaves,
    conditions: Conditions,
    numbers: Numbers,
    work: Work,
) -> bool:
    """Whether all guards of a condition hold beside its key, which does."""
    token = work.counts[TOKEN]
    for i in range(conditions.others_start[condition], conditions.others_start[condition + 1]):
        guard = conditions.others[i]
        if work.stamp[guard] == token:
            continue
        if leaves.kind[guard] != _TRIED or e < 0:
            return False
        if not holds(
            leaves,
            guard,
            arrays,
            numbers.words,
            numbers.attributes,
            numbers.texts,
            numbers.values,
            e,
        ):
            return False
    return True


@kernel
def note_conditions(
    e: int,
    key_start: NDArray[np.int64],
    key_items: NDArray[np.int32],
    arrays: Arrays,
    leaves: Leaves,
    conditions: Conditions,
    numbers: Numbers,
    work: Work,
) -> None:
    """Note the conditions at the end of ways that hold for an element."""
    counts = work.counts
    for h in range(counts[HITS]):
        guard = work.hits[h]
        for i in range(key_start[guard], key_start[guard + 1]):
            if _others_hold(key_items[i], e, arrays, leaves, conditions, numbers, work):
                if counts[MET] >= len(work.met):
                    counts[STATUS] = MORE_MET
                    return
                work.met[counts[MET]] = key_items[i]
                counts[MET] += 1
    work.met_stop[e] = counts[MET]


@inlined
def follow_ways(
    above: int,
    first: int,
    stop: int,
    arrays: Arrays,
    trie: TrieArrays,
    conditions: Conditions,
    ways: Memory,
    words: NDArray[np.int32],
    work: Work,
) -> None:
    """Find the ways that hold for an element, or for the document above all."""
    counts = work.counts
    run = counts[TOKEN]
    now = moment(ways, run)
    f = first
    while f < stop:
        if f == above:
            found = START
        else:
            parent = arrays.parent[f]
            found = FULL
            if parent == above or work.way_era[parent] == now:
                state = START if parent == above else work.way_state[parent]
                found = step(trie, ways, state, words[arrays.name[f]])
            if found == FULL:
                found = locate(
                    trie,
                    ways,
                    f,
                    above,
                    arrays.parent,
                    arrays.name,
                    words,
                    work.way_state,
                    work.way_era,
                    run,
                    work.path,
                )
                if found == FULL:
                    counts[STATUS] = MORE_WAYS
                    return
                now = moment(ways, run)
            if found == DEAD:
                f = arrays.last[f] + 1
                continue
            work.way_state[f], work.way_era[f] = found, now
        if ways.busy[found] != now:
            ways.busy[found] = now
            place = ways.first[found] + ways.nodes[found]
            for i in range(place, place + ways.values[found]):
                _hit(work, ways.pool[i])
        if ways.guarded[found] and work.met_start[f] < work.met_stop[f]:
            end_guarded_ways(f, found, conditions, ways, work)
        f += 1


@kernel
def end_guarded_ways(f: int, state: int, conditions: Conditions, ways: Memory, work: Work) -> None:
    """Note the ways with a condition, which holds for the element that they end at."""
    for m in range(work.met_start[f], work.met_stop[f]):
        condition = work.met[m]
        low, high = conditions.way_start[condition], conditions.way_start[condition + 1]
        slot = pair(ways, state, condition, conditions.way_node, low, high)
        if slot >= 0:
            for i in range(ways.pair_start[slot], ways.pair_stop[slot]):
                _hit(work, conditions.way_guard[ways.shared[i]])
            continue
        start = ways.first[state] + ways.nodes[state] + ways.values[state]
        for i in range(low, high):
            stop = start + ways.guarded[state]
            if is_among(ways.pool, start, stop, conditions.way_node[i]):
                _hit(work, conditions.way_guard[i])


@inlined
def mark_trunks(state: int, trunks: Memory, work: Work) -> None:
    """Mark the trunks that lead to an element, which has this state."""
    start = trunks.first[state] + trunks.nodes[state] + trunks.values[state]
    for i in range(start, start + trunks.guarded[state]):
        work.active[trunks.pool[i]] = work.counts[TOKEN]


@kernel
def meet_trunks(
    e: int,
    state: int,
    document: int,
    arrays: Arrays,
    leaves: Leaves,
    keys: Keys,
    conditions: Conditions,
    trunks: Memory,
    numbers: Numbers,
    work: Work,
) -> bool:
    """Meet the targets whose trunk leads to an element, for which their condition holds.

    Whether one is left that asks for a way, of which it is not known whether it holds.
    """
    token, left = work.counts[TOKEN], False
    for h in range(work.counts[HITS]):
        guard = work.hits[h]
        low, high = keys.trunk_start[guard], keys.trunk_start[guard + 1]
        slot = -1
        if high - low > _TRUNKS_WITHOUT_PAIRS:
            slot = pair(trunks, state, guard, keys.trunk_node, low, high)
            if slot >= 0:
                low, high = trunks.pair_start[slot], trunks.pair_stop[slot]
        for place in range(low, high):
            i = trunks.shared[place] if slot >= 0 else place
            target = keys.trunk_target[i]
            if work.seen[target] == document or work.active[keys.trunk_node[i]] != token:
                continue
            condition = keys.trunk_condition[i]
            if _others_hold(condition, e, arrays, leaves, conditions, numbers, work):
                _meet(work, target, document)
            else:
                left |= conditions.needs_ways[condition]
    return left

"""Which entries does one event meet? The compiled part of `single_events`.

For one event a condition is a single truth value. An entry is checked by looking its conditions up,
without a jump on each: few are decided by their first, and a mispredicted jump costs more than the
rest. A zone whose head does not hold is passed over, so most entries are never looked at. Of zones
that are hardly ever passed over, the conditions are not looked up but worked out, an axis at a time
for all of them (`wide_zones`).

Arrays are handed over one by one and not as named tuples, as the kernels of blocks take them: from
Python, twenty arrays take 1.1 µs so, and 5.5 µs as a tuple, which one event would notice.
"""

from typing import Any, TypeAlias

import numpy as np

from tidegate.engine.partition.arrays import AND, AND_ROW, NO_ROW, OPERAND, OR_ROW, PUSH
from tidegate.engine.primitives.alive import is_alive
from tidegate.engine.primitives.integer_arrays import I32, I64, U8, U32, U64, ZONE
from tidegate.engine.primitives.vector import WORDS, lowest, put, write_codes
from tidegate.engine.primitives.vector import meet as meet_row
from tidegate.jit import inlined, kernel

Integer: TypeAlias = int | np.integer[Any]  # compiled, they are the same


@kernel
def hold(axes: I64, ranks: I64, piece_start: I64, row: U32, low: U32, high: U32, truth: U8) -> None:
    """Set the truth of all conditions that hold for an event with these ranks on these axes."""
    for i in range(len(axes)):
        rank = ranks[i]
        for piece in range(piece_start[axes[i]], piece_start[axes[i] + 1]):
            truth[row[piece]] |= np.uint8((low[piece] <= rank) & (rank < high[piece]))


@kernel
def leave(
    axes: I64,
    ranks: I64,
    bit_start: I64,
    bits: U64,
    flip_start: I64,
    flips: U32,
    rank_start: I64,
    upto: U32,
    entries: U64,
    own: U64,
    left: U64,
) -> None:
    """Set the bits of the entries in wide zones that an event with these ranks leaves.

    The last three have a word for each zone and consist of whole rows; `own` is the kernel's.
    """
    words = np.uint64(len(left))
    for at in range(np.uint64(0), words, np.uint64(WORDS)):
        put(left, at, entries, at)
    for i in range(len(axes)):
        axis = axes[i]
        checkpoints = np.uint64(bit_start[axis + 1] - bit_start[axis]) // words
        if checkpoints == np.uint64(0):
            continue
        first_flip = np.uint64(flip_start[axis])
        flip = np.uint64(upto[rank_start[axis] + ranks[i]])
        nearest = min((flip + words // np.uint64(2)) // words, checkpoints - np.uint64(1))
        here = np.uint64(bit_start[axis]) + nearest * words
        for at in range(np.uint64(0), words, np.uint64(WORDS)):
            put(own, at, bits, here + at)
        known = nearest * words
        for j in range(first_flip + min(flip, known), first_flip + max(flip, known)):
            place = np.uint64(flips[j])
            own[place >> np.uint64(6)] ^= np.uint64(1) << (place & np.uint64(63))
        for at in range(np.uint64(0), words, np.uint64(WORDS)):
            meet_row(left, at, own, at)


@kernel
def meet(
    zone_start: U32,
    zone_entry: U32,
    zone_head: U32,
    ref_start: U32,
    refs: U32,
    range_start: U32,
    range_axis: U8,
    range_low: U32,
    range_high: U32,
    low_start: U32,
    lows: I64,
    high_start: U32,
    highs: I64,
    token_start: U32,
    tokens: U32,
    code_start: U32,
    alive: U64,
    group: int,
    keys: I64,
    present: U8,
    truth: U8,
    wide: U32,
    left: U64,
    first_code: int,
    low_base: I64,
    high_base: I64,
    stack: U8,
    out: I32,
) -> int:
    """Write the codes that an event meets in a group of a partition; how many there are.

    The zones in `wide`, which only a partition without groups has, have heads that never hold; of
    their entries those in `left` meet their conditions.
    There is room for all subscriptions of the partition, and a zone more; and for the kernel's own
    use a place for each axis in `low_base` and `high_base`, and one more than DEPTH on the stack.
    """
    axes = len(keys)
    groups = len(low_start) // axes - 1 if axes > 0 else 0
    before_low, before_high = np.int64(0), np.int64(0)
    for axis in range(axes):  # where the places of an axis begin, and where its keys
        first = axis * (groups + 1) + group
        low_base[axis] = np.int64(low_start[first]) - before_low
        high_base[axis] = np.int64(high_start[first]) - before_high
        before_low += np.int64(low_start[first + 1]) - np.int64(low_start[first])
        before_high += np.int64(high_start[first + 1]) - np.int64(high_start[first])
    written = np.uint64(0)
    for zone in range(zone_start[group], zone_start[group + 1]):
        head = zone_head[zone]
        if head != np.uint32(NO_ROW) and not truth[head]:
            continue
        entry, upper = np.uint64(zone_entry[zone]), np.uint64(zone_entry[zone + 1])
        held = np.uint64(0)
        if len(ref_start) > 0:
            at = np.uint64(ref_start[entry])
            for i in range(entry, upper):
                stop = np.uint64(ref_start[i + np.uint64(1)])
                holds = np.uint8(1)
                while at < stop:
                    holds &= truth[refs[at]]
                    at += np.uint64(1)
                held |= np.uint64(holds) << (i - entry)
        else:
            held = np.uint64(0xFFFF_FFFF_FFFF_FFFF) >> (np.uint64(ZONE) - (upper - entry))
        written = _write(
            held, entry, range_start, range_axis, range_low, range_high, low_base, lows, high_base,
            highs, token_start, tokens, code_start, alive, keys, present, truth, first_code, stack,
            out, written,
        )  # fmt: skip
    for i in range(len(wide)):
        if left[i] != np.uint64(0):
            written = _write(
                left[i], np.uint64(zone_entry[wide[i]]), range_start, range_axis, range_low,
                range_high, low_base, lows, high_base, highs, token_start, tokens, code_start,
                alive, keys, present, truth, first_code, stack, out, written,
            )  # fmt: skip
    return int(written)


@inlined
def _write(
    held: np.uint64,
    entry: np.uint64,
    range_start: U32,
    range_axis: U8,
    range_low: U32,
    range_high: U32,
    low_base: I64,
    lows: I64,
    high_base: I64,
    highs: I64,
    token_start: U32,
    tokens: U32,
    code_start: U32,
    alive: U64,
    keys: I64,
    present: U8,
    truth: U8,
    first_code: int,
    stack: U8,
    out: I32,
    written: np.uint64,
) -> np.uint64:
    """Write the codes of a zone's entries that meet their conditions, if they meet the rest too."""
    if len(range_start) > 0:
        held = _in_ranges(
            held, entry, range_start, range_axis, range_low, range_high, low_base, lows,
            high_base, highs, keys, present,
        )  # fmt: skip
    if len(token_start) > 0:
        held = _in_programs(held, entry, token_start, tokens, truth, stack)
    if held == np.uint64(0):
        return written
    if len(code_start) == 0 and len(alive) == 0:
        lowest_code = np.int32(first_code + np.int64(entry))
        written += write_codes(out, written, lowest_code, held)
        return written
    while held:
        which = np.int64(entry + lowest(held))
        held &= held - np.uint64(1)
        start, stop_code = which, which + 1
        if len(code_start) > 0:
            start, stop_code = np.int64(code_start[which]), np.int64(code_start[which + 1])
        for code in range(start, stop_code):
            if is_alive(alive, first_code + code):
                out[written] = first_code + code
                written += np.uint64(1)
    return written


@kernel
def _in_ranges(
    held: np.uint64,
    entry: Integer,
    range_start: U32,
    range_axis: U8,
    range_low: U32,
    range_high: U32,
    low_base: I64,
    lows: I64,
    high_base: I64,
    highs: I64,
    keys: I64,
    present: U8,
) -> np.uint64:
    found = held
    while held:
        bit = held & (~held + np.uint64(1))
        i = entry + lowest(held)
        held ^= bit
        for j in range(range_start[i], range_start[i + np.uint64(1)]):
            axis = range_axis[j]
            if (
                not present[axis]
                or lows[low_base[axis] + range_low[j]] > keys[axis]
                or highs[high_base[axis] + range_high[j]] < keys[axis]
            ):
                found ^= bit
                break
    return found


@kernel
def _in_programs(
    held: np.uint64, entry: Integer, token_start: U32, tokens: U32, truth: U8, stack: U8
) -> np.uint64:
    found = held
    while held:
        bit = held & (~held + np.uint64(1))
        i = entry + lowest(held)
        held ^= bit
        first, last = token_start[i], token_start[i + np.uint64(1)]
        top = 0
        for j in range(first, last):
            operation = tokens[j] & np.uint32(7 << 29)
            row = tokens[j] & np.uint32(OPERAND)
            if operation == np.uint32(OR_ROW):
                stack[top] |= truth[row]
            elif operation == np.uint32(AND_ROW):
                stack[top] &= truth[row]
            elif operation == np.uint32(PUSH):
                top += 1
                stack[top] = truth[row]
            elif operation == np.uint32(AND):
                top -= 1
                stack[top] &= stack[top + 1]
            else:
                top -= 1
                stack[top] |= stack[top + 1]
        if last > first and not stack[top]:
            found ^= bit
    return found

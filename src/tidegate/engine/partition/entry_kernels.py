"""For which events of a run do the entries of a zone hold?

An entry is the AND of its rows, of its own **ranges** and of its **program**, a Boolean tree in
postfix notation over rows. The head that a zone's entries share comes first: if it holds for no
event, the zone is passed over. Then, for all its entries, come the rows, the ranges, and last the
programs of those that still have events.

An entry that is passed over, or whose only subscription is dead, holds for none. If an entry has
several subscriptions, which of them are alive is asked when they are counted or written.
"""

import numpy as np

from tidegate.engine.partition.arrays import (
    AND,
    AND_ROW,
    BLOCK,
    NO_ROW,
    OPERAND,
    OR_ROW,
    PUSH,
    Ends,
    Entries,
    Scratch,
)
from tidegate.engine.primitives.alive import is_alive
from tidegate.engine.primitives.integer_arrays import U8, U16, U32, U64, ZONE
from tidegate.engine.primitives.vector import (
    is_empty,
    join,
    lowest,
    meet,
    meet_all,
    meet_span,
    popcount,
    put,
)
from tidegate.jit import inlined, kernel


@kernel
def meet_head(zone_head: U32, zone: int, mask: U64, rows: U64, met: U64) -> bool:
    """The events of the mask that a zone's head holds for, and whether there are any."""
    head = zone_head[zone]
    put(met, np.uint64(0), mask, np.uint64(0))
    if head == np.uint32(NO_ROW):
        return True
    meet(met, np.uint64(0), rows, np.uint64(head) * np.uint64(8))
    return not is_empty(met, np.uint64(0))


@inlined
def evaluate(
    entries: Entries,
    ends: Ends,
    entry: int,
    upper: int,
    hits: np.uint64,
    scratch: Scratch,
    alive: U64,
    first_code: int,
    out: U64,
    base: int,
) -> None:
    """For each entry of a zone that is among the hits, the events met so far that it holds for."""
    mask, rows, spans = scratch.met, scratch.rows, scratch.spans
    low_at, high_at, stack = scratch.low_at, scratch.high_at, scratch.stack
    if popcount(hits) < np.uint64(ZONE):
        for i in range(np.uint64(0), np.uint64(ZONE)):
            put(out, np.uint64(base) + i * np.uint64(8), spans, np.uint64(0))  # which is empty
    _meet_refs(entries.ref_start, entries.refs, entry, hits, mask, rows, out, base)
    if len(entries.range_start) > 0:
        _meet_ranges(
            entries.range_start, entries.range_axis, ends.axis_used, ends.range_low,
            ends.range_high, entry, hits, spans, low_at, high_at, out, base,
        )  # fmt: skip
    if len(entries.code_start) == 0 and len(alive) > 0:
        _drop_dead(alive, first_code, entry, upper, out, base)
    if len(entries.token_start) > 0:
        _meet_programs(entries.token_start, entries.tokens, entry, upper, rows, stack, out, base)


@kernel
def _meet_refs(
    ref_start: U32,
    refs: U32,
    entry: int,
    hits: np.uint64,
    mask: U64,
    rows: U64,
    out: U64,
    base: int,
) -> None:
    while hits:
        place = lowest(hits)
        hits &= hits - np.uint64(1)
        at = np.uint64(base) + place * np.uint64(8)
        i = np.uint64(entry) + place
        put(out, at, mask, np.uint64(0))
        if len(ref_start) > 0:
            start, stop = np.uint64(ref_start[i]), np.uint64(ref_start[i + np.uint64(1)])
            meet_all(out, at, rows, refs, start, stop)


@kernel
def _meet_ranges(
    range_start: U32,
    range_axis: U8,
    axis_used: U8,
    range_low: U32,
    range_high: U32,
    entry: int,
    hits: np.uint64,
    spans: U64,
    low_at: U16,
    high_at: U16,
    out: U64,
    base: int,
) -> None:
    while hits:
        place = lowest(hits)
        hits &= hits - np.uint64(1)
        at = np.uint64(base) + place * np.uint64(8)
        i = np.uint64(entry) + place
        for j in range(range_start[i], range_start[i + np.uint64(1)]):
            axis = np.uint64(range_axis[j])
            low, high = np.uint64(0), np.uint64(0)
            if axis_used[axis]:
                low = np.uint64(low_at[range_low[j]])
                high = np.uint64(high_at[range_high[j]])
            if low >= high:
                for w in range(8):
                    out[at + np.uint64(w)] = 0
                break
            first = axis * np.uint64((BLOCK + 1) * 8)
            meet_span(out, at, spans, first + low * np.uint64(8), first + high * np.uint64(8))


@kernel
def _drop_dead(alive: U64, first_code: int, entry: int, upper: int, out: U64, base: int) -> None:
    for i in range(entry, upper):
        if not is_alive(alive, first_code + i):
            for w in range(8):
                out[base + (i - entry) * 8 + w] = 0


@kernel
def _meet_programs(
    token_start: U32,
    tokens: U32,
    entry: int,
    upper: int,
    rows: U64,
    stack: U64,
    out: U64,
    base: int,
) -> None:
    at = np.uint64(base)
    for i in range(np.uint64(entry), np.uint64(upper)):
        if not is_empty(out, at):
            top = np.uint64(0)  # the place of the uppermost row
            for j in range(token_start[i], token_start[i + np.uint64(1)]):
                token = tokens[j]
                operation = token & np.uint32(7 << 29)
                row = np.uint64(token & np.uint32(OPERAND)) * np.uint64(8)
                if operation == np.uint32(OR_ROW):
                    join(stack, top, rows, row)
                elif operation == np.uint32(AND_ROW):
                    meet(stack, top, rows, row)
                elif operation == np.uint32(PUSH):
                    top += np.uint64(8)
                    put(stack, top, rows, row)
                elif operation == np.uint32(AND):
                    top -= np.uint64(8)
                    meet(stack, top, stack, top + np.uint64(8))
                else:
                    top -= np.uint64(8)
                    join(stack, top, stack, top + np.uint64(8))
            meet(out, at, stack, top)
        at += np.uint64(8)

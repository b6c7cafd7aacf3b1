"""Which entries of a partition do these events meet? The compiled part of `engine.partition`.

Events come in blocks of 512, one bit each (see `vector`). For every block,

- each **row** is made: the events for which one condition holds. A condition is a few intervals of
  ranks on the axis of its attribute; with the block's events in the order of their ranks, and
  `upto[i]` the first i of them as a row, an interval is `upto[high] ^ upto[low]`;
- each entry is the AND of its rows, of its own **ranges** (made in the same way, but for this entry
  alone) and of its **program**, a Boolean tree in postfix notation over rows;
- the entries, 64 at a time, are counted, or turned so that each event has a word of entries, whose
  codes are written where the counts said.

A partition by key has its events sorted by key. Events of one key inside a block are a **run**, and
meet only the entries of their **group**. Inside a group the entries are sorted by the low end of
their first range, and up to 64 of them, a **zone**, know how low and how high these ranges reach,
so most zones are passed over. Entries without ranges are in zones by the condition they share, the
**head** of the zone: if it holds for no event, the zone is passed over too.

The count is taken first, by the same evaluation as the pairs, so the output has its exact size.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.compiled import allocating, inlined, kernel
from tidegate.engine.vector import (
    LOW_BITS,
    is_empty,
    join,
    join_span,
    lowest,
    meet,
    meet_all,
    meet_span,
    popcount,
    put,
    tally,
    transpose,
    write_codes,
)

U64: TypeAlias = NDArray[np.uint64]
U32: TypeAlias = NDArray[np.uint32]
U16: TypeAlias = NDArray[np.uint16]
U8: TypeAlias = NDArray[np.uint8]
I64: TypeAlias = NDArray[np.int64]
I32: TypeAlias = NDArray[np.int32]

BLOCK: Final = 512
ZONE: Final = 64
NO_ROW: Final = 0xFFFF_FFFF
NO_RANK: Final = 0xFFFF_FFFF  # of an event without a value on the axis
DEPTH: Final = 64  # of the stack a program may need; `programs` refuses more

PUSH: Final = 0 << 29
AND_ROW: Final = 1 << 29
OR_ROW: Final = 2 << 29
AND: Final = 3 << 29
OR: Final = 4 << 29
OPERAND: Final = (1 << 29) - 1

_FEW = 24  # events sorted by insertion
_DENSE = 64  # events of a run from which on entries may be counted and written by the word,
_MANY = 16  # if so many of a zone have events
_ZONE_WORDS = ZONE * 8 + 8  # of a zone in a tile: not a power of two, which caches dislike
_BITS = 32  # of a count


class Entries(NamedTuple):
    """The entries of a partition, group by group. `x_start[i]:x_start[i + 1]` is the part of i."""

    group_start: U32  # of entries
    ref_start: U32  # of refs; empty if no entry has any
    refs: U32  # numbers of rows
    range_start: U32  # of ranges; empty if no entry has any
    range_axis: U8
    token_start: U32  # of tokens; empty if no entry has a program
    tokens: U32
    code_start: U32  # of codes; empty if each entry has one code, in their order
    zone_start: U32  # of zones, by group
    zone_entry: U32  # of entries, by zone
    zone_head: U32  # the row that all its entries share, or NO_ROW
    zone_ranged: U8  # whether the first range of all its entries is on axis 0; or empty


class Conditions(NamedTuple):
    """How rows are made: of pieces of axes, and of bits given for the whole batch."""

    rows: U32  # the numbers of all rows
    axis_size: U32  # how many ranks there are
    piece_start: U32  # by axis
    piece_row: U32
    piece_low: U32
    piece_high: U32
    given_row: U32


class Ends(NamedTuple):
    """The ends of the ranges, as keys on one line for each axis, sorted by group."""

    axis_used: U8  # 0: no event has a value on the axis
    low_start: U32  # by axis and group
    lows: I64
    high_start: U32
    highs: I64
    range_low: U32  # by range: the place of its low end among those of its group, axis after axis
    range_high: U32
    zone_low: U32  # by zone: the lowest of these places
    zone_high: U32
    deepest: int  # the most lows or highs a group has, all axes together


class Events(NamedTuple):
    """The events of a batch that can meet the partition, sorted by group."""

    row: I32  # in the batch
    run_group: U32
    run_start: U32
    rank: U32  # by axis of the conditions, one after the other
    given: U64  # by given row: words
    key: I64  # by axis of the ranges
    present: U8


class Scratch(NamedTuple):
    """What matching a batch writes down for itself, block after block."""

    rows: U64  # of the conditions
    ranked: U32  # places of ranks and events, while rows are made
    upto: U64
    spans: U64  # `upto` of each axis of the ranges
    low_at: U16  # the places of all lows of a group
    high_at: U16
    keys: I64  # of a run of events
    order: U32
    stack: U64  # of programs
    mask: U64
    met: U64


@allocating
def count(
    entries: Entries,
    conditions: Conditions,
    ends: Ends,
    events: Events,
    alive: U64,
    first_code: int,
    counts: I64,
) -> None:
    """Add to each event of the batch how many subscriptions it meets here."""
    buffer = np.zeros(ZONE * 8, np.uint64)
    planes = np.zeros((_BITS + 1) * 8, np.uint64)
    scratch = _scratch(conditions, ends)
    _count_blocks(
        entries, conditions, ends, events, alive, first_code, counts, scratch, buffer, planes
    )


@kernel
def _count_blocks(
    entries: Entries,
    conditions: Conditions,
    ends: Ends,
    events: Events,
    alive: U64,
    first_code: int,
    counts: I64,
    scratch: Scratch,
    buffer: U64,
    planes: U64,
) -> None:
    rows, low_at, high_at = scratch.rows, scratch.low_at, scratch.high_at
    mask, met = scratch.mask, scratch.met
    size = len(events.row)
    zoned = len(entries.zone_ranged) > 0
    run = 0
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
        _make_rows(conditions, events, first, last, scratch)
        while run < len(events.run_group) and events.run_start[run] < last:
            start = max(events.run_start[run], first)
            stop = min(events.run_start[run + 1], last)
            group = events.run_group[run]
            _set_mask(mask, start - first, stop - first)
            if len(ends.axis_used) > 0:
                _place(
                    ends.axis_used, ends.low_start, ends.lows, ends.high_start, ends.highs,
                    events.key, events.present, group, first, start, stop, scratch,
                )  # fmt: skip
            dense = stop - start >= _DENSE and len(entries.code_start) == 0
            if dense:
                _clear(planes, 0)
            for zone in range(entries.zone_start[group], entries.zone_start[group + 1]):
                entry, upper = entries.zone_entry[zone], entries.zone_entry[zone + 1]
                hits = _candidates(
                    zoned, entries.zone_ranged, entries.range_start, ends.axis_used, ends.zone_low,
                    ends.zone_high, ends.range_low, ends.range_high, zone, entry, upper, low_at,
                    high_at,
                )  # fmt: skip
                if hits == np.uint64(0) or not _meet_head(entries.zone_head, zone, mask, rows, met):
                    continue
                _evaluate(
                    entries, ends, entry, upper, hits, scratch, alive, first_code, buffer, 0,
                )  # fmt: skip
                if dense and popcount(hits) >= np.uint64(_MANY):
                    tally(planes, buffer, np.uint64(0))
                    _carry(planes)
                else:
                    _count_zone(
                        entries.code_start, events.row, entry, hits, first, alive, first_code,
                        buffer, counts,
                    )  # fmt: skip
            if dense:
                _read_planes(planes, events.row, first, start, stop, counts)
            if events.run_start[run + 1] > last:
                break
            run += 1


@allocating
def write(
    entries: Entries,
    conditions: Conditions,
    ends: Ends,
    events: Events,
    alive: U64,
    first_code: int,
    cursor: I64,
    end: I64,
    out: I32,
) -> None:
    """Write the codes of the subscriptions each event meets, from its `cursor` on.

    What `count` counted must have room up to `end`; nothing is written behind it.
    """
    buffer = np.zeros(ZONE * _ZONE_WORDS, np.uint64)  # a tile: 64 zones, written event by event
    heads = np.zeros(ZONE * 8, np.uint64)
    codes = np.zeros(ZONE, np.int64)
    scratch = _scratch(conditions, ends)
    _write_blocks(
        entries, conditions, ends, events, alive, first_code, cursor, end, out, scratch, buffer,
        heads, codes,
    )  # fmt: skip


@kernel
def _write_blocks(
    entries: Entries,
    conditions: Conditions,
    ends: Ends,
    events: Events,
    alive: U64,
    first_code: int,
    cursor: I64,
    end: I64,
    out: I32,
    scratch: Scratch,
    buffer: U64,
    heads: U64,
    codes: I64,
) -> None:
    rows, low_at, high_at = scratch.rows, scratch.low_at, scratch.high_at
    mask, met = scratch.mask, scratch.met
    size = len(events.row)
    zoned = len(entries.zone_ranged) > 0
    run = 0
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
        _make_rows(conditions, events, first, last, scratch)
        while run < len(events.run_group) and events.run_start[run] < last:
            start = max(events.run_start[run], first)
            stop = min(events.run_start[run + 1], last)
            group = events.run_group[run]
            _set_mask(mask, start - first, stop - first)
            if len(ends.axis_used) > 0:
                _place(
                    ends.axis_used, ends.low_start, ends.lows, ends.high_start, ends.highs,
                    events.key, events.present, group, first, start, stop, scratch,
                )  # fmt: skip
            dense = stop - start >= _DENSE and len(entries.code_start) == 0
            zones = 0
            for zone in range(entries.zone_start[group], entries.zone_start[group + 1]):
                entry, upper = entries.zone_entry[zone], entries.zone_entry[zone + 1]
                hits = _candidates(
                    zoned, entries.zone_ranged, entries.range_start, ends.axis_used, ends.zone_low,
                    ends.zone_high, ends.range_low, ends.range_high, zone, entry, upper, low_at,
                    high_at,
                )  # fmt: skip
                if hits == np.uint64(0) or not _meet_head(entries.zone_head, zone, mask, rows, met):
                    continue
                base = zones * _ZONE_WORDS
                _evaluate(
                    entries, ends, entry, upper, hits, scratch, alive, first_code, buffer, base,
                )  # fmt: skip
                if not dense or popcount(hits) < np.uint64(_MANY):
                    _write_zone(
                        entries.code_start, events.row, entry, hits, first, alive, first_code,
                        buffer, base, cursor, end, out,
                    )  # fmt: skip
                    continue
                transpose(buffer, np.uint64(base))
                put(heads, np.uint64(zones * 8), met, np.uint64(0))
                codes[zones] = first_code + entry
                zones += 1
                if zones == ZONE:
                    _write_tile(
                        events.row, first, start, stop, codes, heads, buffer, cursor, end, out
                    )
                    zones = 0
            if zones > 0:
                _clear(heads, zones * 8)
                _write_tile(events.row, first, start, stop, codes, heads, buffer, cursor, end, out)
            if events.run_start[run + 1] > last:
                break
            run += 1


@kernel
def _clear(words: U64, first: int) -> None:
    """Set all words from the first on to 0."""
    for i in range(first, len(words)):
        words[i] = 0


@kernel
def repeat(counts: I64, out: I32) -> None:
    """Write each event's row as often as it is counted."""
    at = 0
    for event in range(len(counts)):
        out[at : at + counts[event]] = event
        at += counts[event]


# -- rows of conditions


@allocating
def _scratch(conditions: Conditions, ends: Ends) -> Scratch:
    """Room for matching by these conditions and ranges."""
    highest, longest, axes = 0, 0, len(ends.axis_used)
    for row in conditions.rows:
        highest = max(highest, row + 1)
    for size in conditions.axis_size:
        longest = max(longest, size)
    return Scratch(
        np.empty(highest * 8, np.uint64),
        np.empty(2 * (longest + 1) + BLOCK, np.uint32),
        np.zeros((BLOCK + 1) * 8, np.uint64),
        np.zeros(max(axes, 1) * (BLOCK + 1) * 8, np.uint64),
        np.zeros(ends.deepest + axes + 1, np.uint16),
        np.zeros(ends.deepest + axes + 1, np.uint16),
        np.empty(BLOCK, np.int64),
        np.empty(BLOCK, np.uint32),
        np.zeros(DEPTH * 8, np.uint64),
        np.zeros(8, np.uint64),
        np.zeros(8, np.uint64),
    )


@kernel
def _make_rows(
    conditions: Conditions,
    events: Events,
    first: int,
    last: int,
    scratch: Scratch,
) -> None:
    """Every row of one block."""
    rows, ranked, upto = scratch.rows, scratch.ranked, scratch.upto
    for w in range(8):
        upto[w] = 0
    for row in conditions.rows:
        put(rows, np.uint64(row) * np.uint64(8), upto, np.uint64(0))
    size = len(events.row)
    for axis in range(len(conditions.axis_size)):
        length = conditions.axis_size[axis]
        below = ranked[: length + 1]
        below[:] = 0
        base = axis * size
        for event in range(first, last):
            rank = events.rank[base + event]
            if rank < length:
                below[rank + 1] += 1
        for rank in range(length):
            below[rank + 1] += below[rank]
        place = ranked[length + 1 : 2 * length + 1]
        for rank in range(length):
            place[rank] = below[rank]
        order = ranked[2 * length + 1 : 2 * length + 1 + BLOCK]
        for event in range(first, last):
            rank = events.rank[base + event]
            if rank < length:
                order[place[rank]] = event - first
                place[rank] += 1
        _accumulate(order, below[length], upto)
        for piece in range(conditions.piece_start[axis], conditions.piece_start[axis + 1]):
            low = below[conditions.piece_low[piece]]
            high = below[conditions.piece_high[piece]]
            if low < high:
                at = np.uint64(conditions.piece_row[piece]) * np.uint64(8)
                join_span(
                    rows, at, upto, np.uint64(low) * np.uint64(8), np.uint64(high) * np.uint64(8)
                )
    words = (size + 63) // 64
    word = first // 64
    for i in range(len(conditions.given_row)):
        at = conditions.given_row[i] * 8
        for w in range(min(8, words - word)):
            rows[at + w] |= events.given[i * words + word + w]


@kernel
def _accumulate(order: U32, length: int, upto: U64) -> None:
    """Make row i of `upto` the first i events of the order."""
    for w in range(8):
        upto[w] = 0
    for i in range(length):
        at = np.uint64(8 * i)
        put(upto, at + np.uint64(8), upto, at)
        event = np.uint64(order[i])
        upto[at + np.uint64(8) + (event >> np.uint64(6))] |= np.uint64(1) << (event & np.uint64(63))


@kernel
def _set_mask(mask: U64, start: int, stop: int) -> None:
    """The events from `start` to before `stop`."""
    for w in range(8):
        low = min(max(start - 64 * w, 0), 64)
        high = min(max(stop - 64 * w, 0), 64)
        upper = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
        if high < 64:
            upper = (np.uint64(1) << np.uint64(high)) - np.uint64(1)
        lower = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
        if low < 64:
            lower = (np.uint64(1) << np.uint64(low)) - np.uint64(1)
        mask[w] = upper & ~lower


# -- ranges of entries


@kernel
def _place(
    axis_used: U8,
    low_start: U32,
    all_lows: I64,
    high_start: U32,
    all_highs: I64,
    event_key: I64,
    present: U8,
    group: int,
    first: int,
    start: int,
    stop: int,
    scratch: Scratch,
) -> None:
    """For each end of the group's ranges, how many events of the run lie before it.

    The places of an axis stand behind those of the axes before it.
    """
    spans, low_at, high_at = scratch.spans, scratch.low_at, scratch.high_at
    keys, order = scratch.keys, scratch.order
    axes = len(axis_used)
    groups = len(low_start) // axes - 1
    size = len(event_key) // axes
    low_base, high_base = 0, 0
    for axis in range(axes):
        at = axis * (groups + 1) + group
        lows = all_lows[low_start[at] : low_start[at + 1]]
        highs = all_highs[high_start[at] : high_start[at + 1]]
        if axis_used[axis]:
            length = _sort_run(event_key, present, axis * size, first, start, stop, keys, order)
            _accumulate(order, length, spans[axis * (BLOCK + 1) * 8 : (axis + 1) * (BLOCK + 1) * 8])
            _count_below(lows, keys, length, low_at[low_base : low_base + len(lows)], False)
            _count_below(highs, keys, length, high_at[high_base : high_base + len(highs)], True)
        low_base += len(lows)
        high_base += len(highs)


@allocating
def _sort_run(
    event_key: I64,
    present: U8,
    base: int,
    first: int,
    start: int,
    stop: int,
    keys: I64,
    order: U32,
) -> int:
    """The keys of a run's events on an axis, ascending, and which events have them."""
    length = 0
    for event in range(start, stop):
        if present[base + event]:
            keys[length] = event_key[base + event]
            order[length] = event - first
            length += 1
    if length <= _FEW:
        for i in range(1, length):
            key, event = keys[i], order[i]
            j = i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1], order[j + 1] = keys[j], order[j]
                j -= 1
            keys[j + 1], order[j + 1] = key, event
    else:
        permutation = np.argsort(keys[:length])
        unsorted_keys, unsorted_order = keys[:length].copy(), order[:length].copy()
        for i in range(length):
            keys[i] = unsorted_keys[permutation[i]]
            order[i] = unsorted_order[permutation[i]]
    return length


@kernel
def _count_below(cuts: I64, keys: I64, length: int, out: U16, equal: bool) -> None:
    """For each cut, how many of the sorted keys are below it (or equal to it)."""
    start = 0
    for i in range(length):
        # The first cut that has the key below it: cuts before that one have only i keys.
        stop = _place_of(cuts, start, keys[i], equal)
        if stop > start:
            out[start:stop] = i
            start = stop
    out[start:] = length


@kernel
def _place_of(cuts: I64, start: int, key: int, equal: bool) -> int:
    """The first cut, from `start` on, that is above the key (or equal to it)."""
    stop = len(cuts)
    while start < stop:
        middle = (start + stop) >> 1
        if cuts[middle] < key or (cuts[middle] == key and not equal):
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _candidates(
    zoned: bool,
    zone_ranged: U8,
    range_start: U32,
    axis_used: U8,
    zone_low: U32,
    zone_high: U32,
    range_low: U32,
    range_high: U32,
    zone: int,
    entry: int,
    upper: int,
    low_at: U16,
    high_at: U16,
) -> np.uint64:
    """The entries of a zone, a bit each, whose first range has an event of the run in it."""
    everything = np.uint64(0xFFFF_FFFF_FFFF_FFFF) >> np.uint64(ZONE - (upper - entry))
    if not zoned or not zone_ranged[zone]:
        return everything
    if not axis_used[0] or low_at[zone_low[zone]] >= high_at[zone_high[zone]]:
        return np.uint64(0)
    found = np.uint64(0)
    for i in range(upper - entry):
        at = range_start[entry + i]
        holds = np.uint64(low_at[range_low[at]] < high_at[range_high[at]])
        found |= holds << np.uint64(i)
    return found


# -- entries


@kernel
def _meet_head(zone_head: U32, zone: int, mask: U64, rows: U64, met: U64) -> bool:
    """The events of the mask that a zone's head holds for, and whether there are any."""
    head = zone_head[zone]
    put(met, np.uint64(0), mask, np.uint64(0))
    if head == np.uint32(NO_ROW):
        return True
    meet(met, np.uint64(0), rows, np.uint64(head) * np.uint64(8))
    return not is_empty(met, np.uint64(0))


@inlined
def _evaluate(
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


# -- counting and writing


@kernel
def _carry(planes: U64) -> None:
    """Add the carry that `tally` left to the higher bits, which stand behind it."""
    carry = 8 * LOW_BITS
    at = carry + 8
    while not is_empty(planes, np.uint64(carry)):
        for w in range(8):
            held = planes[at + w]
            planes[at + w] = held ^ planes[carry + w]
            planes[carry + w] &= held
        at += 8


@kernel
def _read_planes(
    planes: U64, event_row: I32, first: int, start: int, stop: int, counts: I64
) -> None:
    for event in range(start, stop):
        word = (event - first) >> 6
        shift = np.uint64((event - first) & 63)
        total = np.uint64(0)
        for bit in range(LOW_BITS):
            total |= (planes[8 * bit + word] >> shift & np.uint64(1)) << np.uint64(bit)
        for bit in range(LOW_BITS, _BITS):
            held = planes[8 * (bit + 1) + word] >> shift & np.uint64(1)
            total |= held << np.uint64(bit)
        counts[event_row[event]] += np.int64(total)


@kernel
def _count_zone(
    code_start: U32,
    event_row: I32,
    entry: int,
    hits: np.uint64,
    first: int,
    alive: U64,
    first_code: int,
    buffer: U64,
    counts: I64,
) -> None:
    while hits:
        place = lowest(hits)
        hits &= hits - np.uint64(1)
        at = place * np.uint64(8)
        if is_empty(buffer, at):
            continue
        i = entry + np.int64(place)
        weight = 1
        if len(code_start) > 0:
            weight = 0
            for j in range(code_start[i], code_start[i + 1]):
                weight += is_alive(alive, first_code + j)
        for w in range(8):
            word = buffer[at + np.uint64(w)]
            while word:
                counts[event_row[first + 64 * w + lowest(word)]] += weight
                word &= word - np.uint64(1)


@kernel
def _write_zone(
    code_start: U32,
    event_row: I32,
    entry: int,
    hits: np.uint64,
    first: int,
    alive: U64,
    first_code: int,
    buffer: U64,
    base: int,
    cursor: I64,
    end: I64,
    out: I32,
) -> None:
    while hits:
        place = lowest(hits)
        hits &= hits - np.uint64(1)
        at = np.uint64(base) + place * np.uint64(8)
        if is_empty(buffer, at):
            continue
        i = entry + np.int64(place)
        for w in range(8):
            word = buffer[at + np.uint64(w)]
            while word:
                row = event_row[first + 64 * w + lowest(word)]
                word &= word - np.uint64(1)
                if len(code_start) == 0:
                    if cursor[row] < end[row]:
                        out[cursor[row]] = first_code + i
                        cursor[row] += 1
                    continue
                for j in range(code_start[i], code_start[i + 1]):
                    if is_alive(alive, first_code + j) and cursor[row] < end[row]:
                        out[cursor[row]] = first_code + j
                        cursor[row] += 1


@kernel
def is_alive(alive: U64, code: int) -> bool:
    """Whether a subscription is alive; all are if there is no bit map."""
    if len(alive) == 0:
        return True
    return bool(alive[code >> 6] >> np.uint64(code & 63) & np.uint64(1))


@kernel
def _write_tile(
    event_row: I32,
    first: int,
    start: int,
    stop: int,
    codes: I64,
    heads: U64,
    buffer: U64,
    cursor: I64,
    end: I64,
    out: I32,
) -> None:
    """Event by event, the codes of the entries of 64 turned zones.

    The zones' heads, turned as well, say which zones an event has to look at. Events whose words
    stand side by side come one after the other.
    """
    transpose(heads, np.uint64(0))
    low, high = start - first, stop - first
    for place in range(64):
        for column in range(low >> 6, ((high - 1) >> 6) + 1):
            event = column * 64 + place
            if event < low or event >= high:
                continue
            row = event_row[first + event]
            at = np.uint64(cursor[row])
            stop_at = np.uint64(end[row])
            word_at = np.uint64(place * 8 + column)
            reached = heads[word_at]
            while reached:
                zone = lowest(reached)
                reached &= reached - np.uint64(1)
                word = buffer[zone * np.uint64(_ZONE_WORDS) + word_at]
                code = codes[zone]
                if at + np.uint64(ZONE) <= stop_at:
                    for quarter in range(4):
                        part = word >> np.uint64(16 * quarter) & np.uint64(0xFFFF)
                        write_codes(out, at, np.int32(code + 16 * quarter), part)
                        at += popcount(part)
                else:
                    while word and at < stop_at:
                        out[at] = code + lowest(word)
                        at += np.uint64(1)
                        word &= word - np.uint64(1)
            cursor[row] = np.int64(at)

"""Which entries of a partition do these events meet? The compiled part of `partition`.

Events come in blocks of 512, one bit each (see `vector`). For every block,

- each **row** is made: the events for which one condition holds (`row_kernels`);
- the events of one key inside the block, a **run**, are placed among the ranges of the entries that
  have this key, their **group**, and zones out of their reach are passed over (`range_kernels`);
- each entry left is the AND of its rows, of its own ranges and of its program (`entry_kernels`);
- the entries, 64 at a time, are counted, or their codes are written where the counts said
  (`output_kernels`).

`arrays` says how all of that lies in memory.

The count is taken first, by the same evaluation as the pairs, so the output has its exact size.
"""

from typing import Final

import numpy as np

from tidegate.engine.partition.arrays import BLOCK, DEPTH, Ends, Entries, Events, RowPieces, Scratch
from tidegate.engine.partition.entry_kernels import evaluate, meet_head
from tidegate.engine.partition.output_kernels import (
    COUNT_BITS,
    ZONE_WORDS,
    carry_over,
    count_zone,
    read_planes,
    write_tile,
    write_zone,
)
from tidegate.engine.partition.range_kernels import candidates, place_ends
from tidegate.engine.partition.row_kernels import make_rows, set_mask
from tidegate.engine.primitives.integer_arrays import I32, I64, U64, ZONE
from tidegate.engine.primitives.vector import popcount, put, tally, transpose
from tidegate.jit import allocating, kernel

_DENSE_RUN: Final = 64  # events of a run from which on entries may be counted by the word,
_DENSE_ZONE: Final = 16  # if so many of a zone have events


@allocating
def count(
    entries: Entries,
    conditions: RowPieces,
    ends: Ends,
    events: Events,
    alive: U64,
    first_code: int,
    counts: I64,
) -> None:
    """Add to each event of the batch how many subscriptions it meets here."""
    buffer = np.zeros(ZONE * 8, np.uint64)
    planes = np.zeros((COUNT_BITS + 1) * 8, np.uint64)
    scratch = _scratch(conditions, ends)
    _count_blocks(
        entries, conditions, ends, events, alive, first_code, counts, scratch, buffer, planes
    )


@kernel
def _count_blocks(
    entries: Entries,
    conditions: RowPieces,
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
        make_rows(conditions, events, first, last, scratch)
        while run < len(events.run_group) and events.run_start[run] < last:
            start = max(events.run_start[run], first)
            stop = min(events.run_start[run + 1], last)
            group = events.run_group[run]
            set_mask(mask, start - first, stop - first)
            if len(ends.axis_used) > 0:
                place_ends(
                    ends.axis_used, ends.low_start, ends.lows, ends.high_start, ends.highs,
                    events.key, events.present, group, first, start, stop, scratch,
                )  # fmt: skip
            dense = stop - start >= _DENSE_RUN and len(entries.code_start) == 0
            if dense:
                _clear(planes, 0)
            for zone in range(entries.zone_start[group], entries.zone_start[group + 1]):
                entry, upper = entries.zone_entry[zone], entries.zone_entry[zone + 1]
                hits = candidates(
                    zoned, entries.zone_ranged, entries.range_start, ends.axis_used, ends.zone_low,
                    ends.zone_high, ends.range_low, ends.range_high, zone, entry, upper, low_at,
                    high_at,
                )  # fmt: skip
                if hits == np.uint64(0) or not meet_head(entries.zone_head, zone, mask, rows, met):
                    continue
                evaluate(
                    entries, ends, entry, upper, hits, scratch, alive, first_code, buffer, 0,
                )  # fmt: skip
                if dense and popcount(hits) >= np.uint64(_DENSE_ZONE):
                    tally(planes, buffer, np.uint64(0))
                    carry_over(planes)
                else:
                    count_zone(
                        entries.code_start, events.row, entry, hits, first, alive, first_code,
                        buffer, counts,
                    )  # fmt: skip
            if dense:
                read_planes(planes, events.row, first, start, stop, counts)
            if events.run_start[run + 1] > last:
                break
            run += 1


@allocating
def write(
    entries: Entries,
    conditions: RowPieces,
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
    buffer = np.zeros(ZONE * ZONE_WORDS, np.uint64)  # a tile: 64 zones, written event by event
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
    conditions: RowPieces,
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
        make_rows(conditions, events, first, last, scratch)
        while run < len(events.run_group) and events.run_start[run] < last:
            start = max(events.run_start[run], first)
            stop = min(events.run_start[run + 1], last)
            group = events.run_group[run]
            set_mask(mask, start - first, stop - first)
            if len(ends.axis_used) > 0:
                place_ends(
                    ends.axis_used, ends.low_start, ends.lows, ends.high_start, ends.highs,
                    events.key, events.present, group, first, start, stop, scratch,
                )  # fmt: skip
            dense = stop - start >= _DENSE_RUN and len(entries.code_start) == 0
            zones = 0
            for zone in range(entries.zone_start[group], entries.zone_start[group + 1]):
                entry, upper = entries.zone_entry[zone], entries.zone_entry[zone + 1]
                hits = candidates(
                    zoned, entries.zone_ranged, entries.range_start, ends.axis_used, ends.zone_low,
                    ends.zone_high, ends.range_low, ends.range_high, zone, entry, upper, low_at,
                    high_at,
                )  # fmt: skip
                if hits == np.uint64(0) or not meet_head(entries.zone_head, zone, mask, rows, met):
                    continue
                base = zones * ZONE_WORDS
                evaluate(
                    entries, ends, entry, upper, hits, scratch, alive, first_code, buffer, base,
                )  # fmt: skip
                if not dense or popcount(hits) < np.uint64(_DENSE_ZONE):
                    write_zone(
                        entries.code_start, events.row, entry, hits, first, alive, first_code,
                        buffer, base, cursor, end, out,
                    )  # fmt: skip
                    continue
                transpose(buffer, np.uint64(base))
                put(heads, np.uint64(zones * 8), met, np.uint64(0))
                codes[zones] = first_code + entry
                zones += 1
                if zones == ZONE:
                    write_tile(
                        events.row, first, start, stop, codes, heads, buffer, cursor, end, out
                    )
                    zones = 0
            if zones > 0:
                _clear(heads, zones * 8)
                write_tile(events.row, first, start, stop, codes, heads, buffer, cursor, end, out)
            if events.run_start[run + 1] > last:
                break
            run += 1


@kernel
def _clear(words: U64, first: int) -> None:
    """Set all words from the first on to 0."""
    for i in range(first, len(words)):
        words[i] = 0


@allocating
def _scratch(conditions: RowPieces, ends: Ends) -> Scratch:
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

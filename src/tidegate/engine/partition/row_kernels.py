"""For which events of a block does each condition hold?

A **row** is the answer for one condition, a bit for each of 512 events (see `vector`). A condition
is a few intervals of ranks on the axis of its attribute; with the block's events in the order of
their ranks, and `upto[i]` the first i of them as a row, an interval is `upto[high] ^ upto[low]`.
The rows of conditions on text are given, for the whole batch.

A row is made once for each block, however many entries refer to it.
"""

import numpy as np

from tidegate.engine.partition.arrays import BLOCK, Events, RowPieces, Scratch
from tidegate.engine.primitives.integer_arrays import U32, U64
from tidegate.engine.primitives.vector import join_span, put
from tidegate.jit import kernel


@kernel
def make_rows(
    conditions: RowPieces,
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
        accumulate(order, below[length], upto)
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
def accumulate(order: U32, length: int, upto: U64) -> None:
    """Make row i of `upto` the first i events of the order."""
    for w in range(8):
        upto[w] = 0
    for i in range(length):
        at = np.uint64(8 * i)
        put(upto, at + np.uint64(8), upto, at)
        event = np.uint64(order[i])
        upto[at + np.uint64(8) + (event >> np.uint64(6))] |= np.uint64(1) << (event & np.uint64(63))


@kernel
def set_mask(mask: U64, start: int, stop: int) -> None:
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

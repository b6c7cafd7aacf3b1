"""Where do the events of a run lie among the ends of their group's ranges?

A range that an entry has for itself is made in the same way as a row (`row_kernels`). The events of
the run are put in the order of their keys, and each end is given its place: how many of them lie
before it. A range is then `upto[high] ^ upto[low]` of its places.

Invariant: a range has events in it if and only if its low place is below its high one. A zone knows
the lowest and the highest place of its first ranges, so most zones are passed over by that alone.
"""

from typing import Final

import numpy as np

from tidegate.engine.partition.arrays import BLOCK, Scratch
from tidegate.engine.partition.row_kernels import accumulate
from tidegate.engine.primitives.integer_arrays import I64, U8, U16, U32, ZONE
from tidegate.jit import allocating, kernel

_EVENTS_INSERTED: Final = 24  # events sorted by insertion


@kernel
def place_ends(
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
            accumulate(order, length, spans[axis * (BLOCK + 1) * 8 : (axis + 1) * (BLOCK + 1) * 8])
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
    if length <= _EVENTS_INSERTED:
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
def candidates(
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

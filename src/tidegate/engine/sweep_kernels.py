"""Which entries with an event's key have the event in their ranges? The compiled part of `sweep`.

The entries of a group stand in the order of the low ends of their first ranges, in **zones** of 64.
An event looks at the zones whose ranges begin by its value and reach it: `reach` is the highest
end of a zone and all before it in the group, so these zones are found by two binary searches. In a
zone, 64 entries are compared at once, and the codes of those that hold are written side by side.

Ends and values are numbers that stand in the order of their keys. A value v is in a range if
low <= v <= high. Without a range an entry has all numbers there, from LOWEST to HIGHEST, and an
event without a value asks for just that: it passes low <= least and most <= high with these two.
"""

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tidegate.engine.kernels import is_alive
from tidegate.engine.vector import lowest, popcount, within, write_codes

U64: TypeAlias = NDArray[np.uint64]
U32: TypeAlias = NDArray[np.uint32]
I64: TypeAlias = NDArray[np.int64]
I32: TypeAlias = NDArray[np.int32]
Integer: TypeAlias = int | np.integer[Any]  # compiled, they are the same

ZONE: Final = 64
LOWEST: Final = -(2**31)
HIGHEST: Final = 2**31 - 1


class Spans(NamedTuple):
    """The ends of all ranges, axis after axis, with room for a zone behind each axis."""

    low: I32
    high: I32
    zone_low: I32  # the lowest end, on axis 0, of a zone and those behind it in its group
    zone_high: I32
    reach: I32  # the highest end of a zone and those before it in its group


class Events(NamedTuple):
    """Events with a key of the partition, sorted by group."""

    row: I32
    group: U32
    least: I32  # by axis: the value, or LOWEST
    most: I32  # by axis: the value, or HIGHEST


@njit(cache=True, nogil=True, error_model="numpy")
def count(
    group_start: U32,
    zone_start: U32,
    code_start: U32,
    spans: Spans,
    events: Events,
    alive: U64,
    first_code: Integer,
    counts: I64,
) -> None:
    """Add to each event how many entries hold for it."""
    low, high, zone_high = spans.low, spans.high, spans.zone_high
    size, stride, axes = _shape(spans, events)
    single_alive = alive if len(code_start) == 0 else alive[:0]
    for event in range(size):
        group = events.group[event]
        base, begins, ends = (
            np.int64(zone_start[group]),
            np.int64(group_start[group]),
            np.int64(group_start[group + 1]),
        )
        first, last = _reached(
            spans.zone_low, spans.reach, base, np.int64(zone_start[group + 1]),
            events.least, events.most, event, axes,
        )  # fmt: skip
        found = np.uint64(0)
        for zone in range(first, last):
            if axes > 0 and zone_high[zone] < events.most[event]:
                continue
            entry = begins + (zone - base) * ZONE
            held = _held(
                low, high, axes, stride, entry, ends - entry, events.least,
                events.most, event, size, single_alive, first_code,
            )  # fmt: skip
            if len(code_start) == 0:
                found += popcount(held)
            while len(code_start) > 0 and held:
                entry_code = entry + np.int64(lowest(held))
                for code in range(code_start[entry_code], code_start[entry_code + 1]):
                    found += np.uint64(is_alive(alive, first_code + code))
                held &= held - np.uint64(1)
        counts[events.row[event]] += np.int64(found)


@njit(cache=True, nogil=True, error_model="numpy")
def write(
    group_start: U32,
    zone_start: U32,
    code_start: U32,
    spans: Spans,
    events: Events,
    alive: U64,
    first_code: Integer,
    start: Integer,
    out_event: I32,
    out_code: I32,
) -> tuple[int, int]:
    """Write pairs of a row and a code, from event `start` on, as far as there is room.

    Returns the first event whose codes are not written, and how many pairs there are.
    """
    low, high, zone_high = spans.low, spans.high, spans.zone_high
    size, stride, axes = _shape(spans, events)
    single_alive = alive if len(code_start) == 0 else alive[:0]
    room = np.uint64(len(out_code))
    at = np.uint64(0)
    for event in range(start, size):
        begin = at
        group = events.group[event]
        base, begins, ends = (
            np.int64(zone_start[group]),
            np.int64(group_start[group]),
            np.int64(group_start[group + 1]),
        )
        first, last = _reached(
            spans.zone_low, spans.reach, base, np.int64(zone_start[group + 1]),
            events.least, events.most, event, axes,
        )  # fmt: skip
        for zone in range(first, last):
            if axes > 0 and zone_high[zone] < events.most[event]:
                continue
            entry = begins + (zone - base) * ZONE
            held = _held(
                low, high, axes, stride, entry, ends - entry, events.least,
                events.most, event, size, single_alive, first_code,
            )  # fmt: skip
            if held == np.uint64(0):
                continue
            if len(code_start) > 0:
                while held:
                    shared = entry + np.int64(lowest(held))
                    held &= held - np.uint64(1)
                    start_code, stop_code = code_start[shared], code_start[shared + 1]
                    if at + np.uint64(stop_code - start_code) > room:
                        return event, int(begin)
                    for code in range(start_code, stop_code):
                        if is_alive(alive, first_code + code):
                            out_code[at] = first_code + code
                            at += np.uint64(1)
                continue
            if at + np.uint64(ZONE) > room:
                return event, int(begin)
            for quarter in range(4):
                part = held >> np.uint64(16 * quarter) & np.uint64(0xFFFF)
                write_codes(out_code, at, np.int32(first_code + entry + 16 * quarter), part)
                at += popcount(part)
        row = events.row[event]
        for i in range(begin, at):
            out_event[i] = row
    return size, int(at)


@njit(cache=True, nogil=True, error_model="numpy")
def meet(
    group_start: U32,
    zone_start: U32,
    code_start: U32,
    low: I32,
    high: I32,
    zone_low: I32,
    zone_high: I32,
    reach: I32,
    least: I32,
    most: I32,
    alive: U64,
    group: Integer,
    first_code: Integer,
    out: I32,
) -> int:
    """Write the codes that one event meets in its group; how many there are.

    There is room for all subscriptions of the sweep, and a zone more.
    """
    axes = len(least)
    stride = len(low) // axes if axes > 0 else 0
    single_alive = alive if len(code_start) == 0 else alive[:0]
    base, begins, ends = (
        np.int64(zone_start[group]),
        np.int64(group_start[group]),
        np.int64(group_start[group + 1]),
    )
    first, last = _reached(
        zone_low, reach, base, np.int64(zone_start[group + 1]), least, most, 0, axes
    )
    at = np.uint64(0)
    for zone in range(first, last):
        if axes > 0 and zone_high[zone] < most[0]:
            continue
        entry = begins + (zone - base) * ZONE
        held = _held(
            low, high, axes, stride, entry, ends - entry, least, most, 0, 1, single_alive,
            first_code,
        )  # fmt: skip
        if len(code_start) > 0:
            while held:
                shared = entry + np.int64(lowest(held))
                held &= held - np.uint64(1)
                for code in range(code_start[shared], code_start[shared + 1]):
                    if is_alive(alive, first_code + code):
                        out[at] = first_code + code
                        at += np.uint64(1)
            continue
        for quarter in range(4):
            part = held >> np.uint64(16 * quarter) & np.uint64(0xFFFF)
            write_codes(out, at, np.int32(first_code + entry + 16 * quarter), part)
            at += popcount(part)
    return int(at)


@njit(cache=True, nogil=True, error_model="numpy")
def find_zones(group_start: U32, zone_start: U32, low: I32, high: I32) -> tuple[I32, I32, I32]:
    """`zone_low`, `zone_high` and `reach` of all zones."""
    zones = np.int64(zone_start[-1])
    zone_low, zone_high = np.empty(zones, np.int32), np.empty(zones, np.int32)
    reach = np.empty(zones, np.int32)
    for group in range(len(zone_start) - 1):
        base, after = np.int64(zone_start[group]), np.int64(zone_start[group + 1])
        for zone in range(base, after):
            first = np.int64(group_start[group]) + (zone - base) * ZONE
            last = min(first + ZONE, np.int64(group_start[group + 1]))
            zone_low[zone], zone_high[zone] = low[first], high[first]
            for entry in range(first + 1, last):
                zone_low[zone] = min(zone_low[zone], low[entry])
                zone_high[zone] = max(zone_high[zone], high[entry])
            reach[zone] = zone_high[zone]
            if zone > base:
                reach[zone] = max(reach[zone], reach[zone - 1])
        for zone in range(after - 2, base - 1, -1):
            zone_low[zone] = min(zone_low[zone], zone_low[zone + 1])
    return zone_low, zone_high, reach


@njit(cache=True, nogil=True, error_model="numpy")
def _shape(spans: Spans, events: Events) -> tuple[int, int, int]:
    """How many events, how far from axis to axis, how many axes."""
    size = len(events.row)
    axes = len(events.least) // size if size > 0 else 0
    return size, len(spans.low) // axes if axes > 0 else 0, axes


@njit(cache=True, nogil=True, error_model="numpy")
def _reached(
    zone_low: I32,
    reach: I32,
    first: Integer,
    last: Integer,
    least: I32,
    most: I32,
    event: Integer,
    axes: Integer,
) -> tuple[Integer, Integer]:
    """The zones of a group that begin by `least`, from the first on that may reach `most`."""
    if axes == 0:
        return first, last
    start, stop = first, last
    while start < stop:  # the first zone that begins above
        middle = (start + stop) >> 1
        if zone_low[middle] <= least[event]:
            start = middle + 1
        else:
            stop = middle
    end = start
    start, stop = first, end
    while start < stop:  # the first zone by which `most` is reached
        middle = (start + stop) >> 1
        if reach[middle] < most[event]:
            start = middle + 1
        else:
            stop = middle
    return start, end


@njit(cache=True, nogil=True, error_model="numpy")
def _held(
    low: I32,
    high: I32,
    axes: Integer,
    stride: Integer,
    entry: Integer,
    count: Integer,
    least: I32,
    most: I32,
    event: Integer,
    size: Integer,
    alive: U64,
    first_code: Integer,
) -> np.uint64:
    """The entries of a zone, a bit each, that hold for an event."""
    held: np.uint64 = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
    if count < ZONE:
        held >>= np.uint64(ZONE - count)
    for axis in range(axes):
        at = np.uint64(axis * stride + entry)
        held &= within(low, high, at, least[axis * size + event], most[axis * size + event])
        if held == np.uint64(0):
            return held
    if len(alive) > 0:
        code = np.uint64(first_code + entry)
        word, shift = code >> np.uint64(6), code & np.uint64(63)
        bits = alive[word] >> shift
        if shift > np.uint64(0) and word + np.uint64(1) < np.uint64(len(alive)):
            bits |= alive[word + np.uint64(1)] << (np.uint64(64) - shift)
        held &= bits
    return held

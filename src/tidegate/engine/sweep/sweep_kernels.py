"""Which entries with an event's key have the event in their ranges? The compiled part of `sweep`.

The entries of a group stand in the order of the low ends of their first ranges, in **zones** of 64.
An event looks at the zones whose ranges begin by its value and reach it: `reach` is the highest
end of a zone and all before it in the group, so these zones are found by two binary searches. In a
zone, 64 entries are compared at once, and the codes of those that hold are written side by side.

Ends and values are numbers that stand in the order of their keys. A value v is in a range if
low <= v <= high. Without a range an entry has all numbers there, from LOWEST to HIGHEST, and an
event without a value asks for just that: it passes low <= least and most <= high with these two.

Nearly all time goes into sweeps of many events whose entries have one subscriber each. The kernels
for them are compiled apart for each number of axes, and for all alive or not: arguments that are
None are known as such by the compiler. Told by a variable instead, a zone takes five times as long.
"""

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tidegate.engine.primitives.alive import is_alive
from tidegate.engine.primitives.integer_arrays import I32, I64, U32, U64, ZONE
from tidegate.engine.primitives.vector import (
    at_least,
    at_most,
    lowest,
    popcount,
    write_codes,
    write_same,
)
from tidegate.jit import allocating, brief, inlined, kernel

Integer: TypeAlias = int | np.integer[Any]  # compiled, they are the same

LOWEST: Final = -(2**31)
HIGHEST: Final = 2**31 - 1

_ONE: Final = np.uint64(1)
_SPILL: Final = 15  # places behind the last row that writing rows may overwrite
_SIX: Final = np.uint64(6)  # bits of a place in a zone


class Spans(NamedTuple):
    """The ends of all ranges, axis after axis, with room for a zone behind each axis."""

    low: I32
    high: I32
    zone_low: I32  # the lowest end, on axis 0, of a zone and those behind it in its group
    reach: I32  # the highest end of a zone and those before it in its group
    top: I32  # the highest of the low ends of a zone: by this value, all of it has begun


class SweptEvents(NamedTuple):
    """Events, those that have about the same key and value side by side."""

    row: I32
    group: I32  # below 0 if there is none with the event's key
    least: I32  # by axis: the value, or LOWEST
    most: I32  # by axis: the value, or HIGHEST


class SweepAxis(NamedTuple):
    """One axis: the ends of the ranges, and the values of the events."""

    low: I32
    high: I32
    least: I32
    most: I32


def axes(spans: Spans, events: SweptEvents) -> tuple[SweepAxis | None, SweepAxis | None]:
    """The first and the second axis, as far as there are two."""
    size = len(events.row)
    count = len(events.least) // size if size else 0
    stride = len(spans.low) // count if count else 0
    found: list[SweepAxis | None] = [
        SweepAxis(
            spans.low[stride * axis : stride * (axis + 1)],
            spans.high[stride * axis : stride * (axis + 1)],
            events.least[size * axis : size * (axis + 1)],
            events.most[size * axis : size * (axis + 1)],
        )
        for axis in range(count)
    ]
    first, second = (*found, None, None)[:2]
    return first, second


@kernel
def count(
    group_start: U32,
    zone_start: U32,
    code_start: U32 | None,
    spans: Spans,
    first: SweepAxis | None,
    second: SweepAxis | None,
    events: SweptEvents,
    alive: U64 | None,
    first_code: Integer,
    counts: I64,
) -> None:
    """Add to each event how many subscriptions hold for it.

    `code_start` is None if each entry has one code, `alive` is None if all codes are.
    """
    for event in range(len(events.row)):
        group = events.group[event]
        if group < 0:
            continue
        base, stop = _reached(zone_start, spans, first, group, event)
        start = np.uint64(group_start[group])
        entry = start + ((base - np.uint64(zone_start[group])) << _SIX)
        end = np.uint64(group_start[group + 1])
        found = np.uint64(0)
        for zone in range(base, stop):
            held = _held(spans.top, first, second, zone, entry, end, event)
            if code_start is None:
                if alive is not None:
                    held &= _living(alive, np.uint64(first_code) + entry)
                found += popcount(held)
            else:
                while held:
                    shared = entry + lowest(held)
                    held &= held - _ONE
                    for code in range(code_start[shared], code_start[shared + _ONE]):
                        if alive is None or is_alive(alive, first_code + code):
                            found += _ONE
            entry += np.uint64(ZONE)
        counts[events.row[event]] += np.int64(found)


@kernel
def write(
    group_start: U32,
    zone_start: U32,
    code_start: U32 | None,
    spans: Spans,
    first: SweepAxis | None,
    second: SweepAxis | None,
    events: SweptEvents,
    alive: U64 | None,
    first_code: Integer,
    begin: Integer,
    out_event: I32,
    out_code: I32,
) -> tuple[int, int]:
    """Write pairs of a row and a code, from event `begin` on, as far as there is surely room.

    Returns the first event whose codes are not written, and how many pairs there are.
    """
    room = np.uint64(min(len(out_code), len(out_event)))
    at = np.uint64(0)
    for event in range(begin, len(events.row)):
        before = at
        group = events.group[event]
        if group < 0:
            continue
        base, stop = _reached(zone_start, spans, first, group, event)
        start = np.uint64(group_start[group])
        entry = start + ((base - np.uint64(zone_start[group])) << _SIX)
        end = np.uint64(group_start[group + 1])
        if code_start is None and at + ((stop - base) << _SIX) > room:
            return event, int(before)
        for zone in range(base, stop):
            held = _held(spans.top, first, second, zone, entry, end, event)
            if code_start is None:
                if alive is not None:
                    held &= _living(alive, np.uint64(first_code) + entry)
                at += write_codes(out_code, at, np.int32(first_code + np.int64(entry)), held)
            else:
                while held:
                    shared = entry + lowest(held)
                    held &= held - _ONE
                    start_code, stop_code = code_start[shared], code_start[shared + _ONE]
                    if at + np.uint64(stop_code - start_code) > room:
                        return event, int(before)
                    for own in range(start_code, stop_code):
                        if alive is None or is_alive(alive, first_code + own):
                            out_code[at] = first_code + own
                            at += _ONE
            entry += np.uint64(ZONE)
        row = events.row[event]
        if at + np.uint64(_SPILL) <= room:
            write_same(out_event, before, at, np.int32(row))
        else:
            for i in range(before, at):
                out_event[i] = row
    return len(events.row), int(at)


@inlined
def _reached(
    zone_start: U32, spans: Spans, first: SweepAxis | None, group: Any, event: Integer
) -> tuple[np.uint64, np.uint64]:
    """The zones of a group that an event's value can be in, from the first on to that after."""
    start: Integer = np.int64(zone_start[group])
    stop: Integer = np.int64(zone_start[group + 1])
    if first is not None:
        start, stop = _search(
            spans.zone_low, spans.reach, start, stop, first.least[event], first.most[event]
        )
    return np.uint64(start), np.uint64(stop)


@inlined
def _held(
    top: I32,
    first: SweepAxis | None,
    second: SweepAxis | None,
    zone: Any,
    entry: np.uint64,
    end: np.uint64,
    event: Integer,
) -> np.uint64:
    """The entries of a zone, a bit each, that hold for an event."""
    held: np.uint64 = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
    if first is not None:
        held = at_least(first.high, entry, first.most[event])
        if top[zone] > first.least[event]:
            held &= at_most(first.low, entry, first.least[event])
    if second is not None:
        held &= at_most(second.low, entry, second.least[event])
        held &= at_least(second.high, entry, second.most[event])
    if entry + np.uint64(ZONE) > end:
        held &= np.uint64(0xFFFF_FFFF_FFFF_FFFF) >> (entry + np.uint64(ZONE) - end)
    return held


@inlined
def _living(alive: U64, code: np.uint64) -> np.uint64:
    """Which of the 64 codes from this one on are alive; of those there are not, anything."""
    word, shift = code >> _SIX, code & np.uint64(63)
    after = min(word + _ONE, np.uint64(len(alive) - 1))
    living: np.uint64 = alive[word] >> shift | alive[after] << _ONE << (np.uint64(63) - shift)
    return living


@brief
def meet(
    group_start: U32,
    zone_start: U32,
    code_start: U32,
    low: I32,
    high: I32,
    zone_low: I32,
    reach: I32,
    first_code: Integer,
    least: I32,
    most: I32,
    alive: U64,
    group: Integer,
    out: I32,
) -> int:
    """Write the codes that one event meets in its group; how many there are.

    There is room for all subscriptions of the sweep, and a zone more.
    """
    axes = len(least)
    stride = len(low) // axes if axes > 0 else 0
    base: Integer = np.int64(zone_start[group])
    stop: Integer = np.int64(zone_start[group + 1])
    entry, end = np.int64(group_start[group]), np.int64(group_start[group + 1])
    if axes > 0:
        start, stop = _search(zone_low, reach, base, stop, least[0], most[0])
        entry += np.int64(start - base) * ZONE
        base = start
    at = np.uint64(0)
    for _ in range(base, stop):
        held: np.uint64 = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
        if end - entry < ZONE:
            held >>= np.uint64(ZONE - end + entry)
        for axis in range(axes):
            here = np.uint64(axis * stride + entry)
            held &= at_most(low, here, least[axis]) & at_least(high, here, most[axis])
        if len(code_start) > 0:
            while held:
                shared = entry + np.int64(lowest(held))
                held &= held - _ONE
                for code in range(code_start[shared], code_start[shared + 1]):
                    if is_alive(alive, first_code + code):
                        out[at] = first_code + code
                        at += _ONE
        else:
            if len(alive) > 0:
                held &= _living(alive, np.uint64(first_code + entry))
            at += write_codes(out, at, np.int32(first_code + entry), held)
        entry += ZONE
    return int(at)


@allocating
def find_zones(group_start: U32, zone_start: U32, low: I32, high: I32) -> tuple[I32, I32, I32]:
    """`zone_low`, `reach` and `top` of all zones."""
    zones = np.int64(zone_start[-1])
    zone_low, top = np.empty(zones, np.int32), np.empty(zones, np.int32)
    reach = np.empty(zones, np.int32)
    for group in range(len(zone_start) - 1):
        base, after = np.int64(zone_start[group]), np.int64(zone_start[group + 1])
        for zone in range(base, after):
            first = np.int64(group_start[group]) + (zone - base) * ZONE
            last = min(first + ZONE, np.int64(group_start[group + 1]))
            zone_low[zone] = top[zone] = low[first]
            reach[zone] = high[first] if zone == base else max(high[first], reach[zone - 1])
            for entry in range(first + 1, last):
                zone_low[zone] = min(zone_low[zone], low[entry])
                top[zone] = max(top[zone], low[entry])
                reach[zone] = max(reach[zone], high[entry])
        for zone in range(after - 2, base - 1, -1):
            zone_low[zone] = min(zone_low[zone], zone_low[zone + 1])
    return zone_low, reach, top


@inlined
def _search(
    zone_low: I32, reach: I32, first: Integer, last: Integer, least: Integer, most: Integer
) -> tuple[Integer, Integer]:
    """The zones of a group that begin by `least`, from the first on that may reach `most`."""
    start, stop = first, last
    while start < stop:  # the first zone that begins above
        middle = (start + stop) >> 1
        if zone_low[middle] <= least:
            start = middle + 1
        else:
            stop = middle
    end = start
    start, stop = first, end
    while start < stop:  # the first zone by which `most` is reached
        middle = (start + stop) >> 1
        if reach[middle] < most:
            start = middle + 1
        else:
            stop = middle
    return start, end

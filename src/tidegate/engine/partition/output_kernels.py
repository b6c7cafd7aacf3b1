"""How do the events of entries become counts and codes of each event?

Where few entries are met, or by few events, every bit of a row is counted or written on its own.
Otherwise a zone is taken by the word. Counts are **planes**, each one binary digit of the counts of
all 512 events, and a zone is added to them at once. To be written, a zone is turned so that each
event has a word of entries; 64 turned zones are a **tile**, which is written event by event.

Nothing is written behind the end that an event has in the output.
"""

from typing import Final

import numpy as np

from tidegate.engine.primitives.alive import is_alive
from tidegate.engine.primitives.integer_arrays import I32, I64, U32, U64, ZONE
from tidegate.engine.primitives.vector import is_empty, lowest, stream_same, transpose, write_codes
from tidegate.engine.primitives.vector_reference import LOW_BITS
from tidegate.jit import kernel

ZONE_WORDS: Final = ZONE * 8 + 8
"""The words of a zone in a tile: not a power of two, which caches dislike."""
COUNT_BITS: Final = 32
"""The bits of a count."""
_ROWS_PAST_THE_CACHE: Final = 2**20  # rows that are written past the cache
_ROWS_OF_AN_EVENT: Final = 256  # rows of one event, of these


@kernel
def carry_over(planes: U64) -> None:
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
def read_planes(
    planes: U64, event_row: I32, first: int, start: int, stop: int, counts: I64
) -> None:
    """Add to the count of each event of the run what its bits in the planes say."""
    for event in range(start, stop):
        word = (event - first) >> 6
        shift = np.uint64((event - first) & 63)
        total = np.uint64(0)
        for bit in range(LOW_BITS):
            total |= (planes[8 * bit + word] >> shift & np.uint64(1)) << np.uint64(bit)
        for bit in range(LOW_BITS, COUNT_BITS):
            held = planes[8 * (bit + 1) + word] >> shift & np.uint64(1)
            total |= held << np.uint64(bit)
        counts[event_row[event]] += np.int64(total)


@kernel
def count_zone(
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
    """Count the subscriptions of a zone, bit by bit."""
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
def write_zone(
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
    """Write the codes of the subscriptions of a zone, bit by bit."""
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
def write_tile(
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
                word = buffer[zone * np.uint64(ZONE_WORDS) + word_at]
                code = codes[zone]
                if at + np.uint64(ZONE) <= stop_at:
                    at += write_codes(out, at, np.int32(code), word)
                else:
                    while word and at < stop_at:
                        out[at] = code + lowest(word)
                        at += np.uint64(1)
                        word &= word - np.uint64(1)
            cursor[row] = np.int64(at)


@kernel
def repeat(counts: I64, out: I32) -> None:
    """Write each event's row as often as it is counted.

    What is larger than a cache does not have to go through it.
    """
    at = np.uint64(0)
    for event in range(len(counts)):
        stop = at + np.uint64(counts[event])
        if len(out) >= _ROWS_PAST_THE_CACHE and counts[event] >= _ROWS_OF_AN_EVENT:
            stream_same(out, at, stop, np.int32(event))
        else:
            for i in range(at, stop):
                out[i] = event
        at = stop

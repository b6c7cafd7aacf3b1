"""Frames of events as bytes: what is wrong with one, what many say, and how one is written.

Their form is that of `event_frames`, which says what is asked for here. All numbers are
little-endian.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import brief, inlined, kernel

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Places = NDArray[np.int32]

NONE: Final = -1  # subscriptions in a frame that has no column for them
SHORT, LARGE, LENGTHS, NAMELESS, COUNTS = 1, 2, 3, 4, 5  # flaws


@inlined
def _read32(data: Bytes, at: int) -> int:
    found = 0
    for i in range(4):
        found |= int(np.int64(data[at + i]) << (8 * i))
    return found


@inlined
def _read64(data: Bytes, at: int) -> int:
    return _read32(data, at) | _read32(data, at + 4) << 32


@inlined
def _write32(out: Bytes, at: int, value: int) -> None:
    for i in range(4):
        out[at + i] = np.uint8((value >> (8 * i)) & 0xFF)


@inlined
def _write64(out: Bytes, at: int, value: int) -> None:
    for i in range(8):
        out[at + i] = np.uint8((value >> (8 * i)) & 0xFF)


@brief
def flaw(body: Bytes, at: int, count: int, names: int, subscriptions: int) -> int:
    """What is wrong with the columns that begin at a place, and with what is behind them; or 0."""
    delivered = subscriptions != NONE
    width = 12 + (4 if names or delivered else 0) + (4 if delivered else 0)
    end = at + count * width + (8 * subscriptions if delivered else 0)
    if end > len(body):
        return SHORT
    for i in range(count):
        if body[at + 8 * i + 7] >= 0x80:
            return LARGE
    at += 8 * count
    total = 0
    for i in range(count):
        total += _read32(body, at + 4 * i)
    at += 4 * count
    if names or delivered:
        for i in range(count):
            if _read32(body, at + 4 * i) >= names:
                return NAMELESS
        at += 4 * count
    if delivered:
        owns = 0
        for i in range(count):
            owns += _read32(body, at + 4 * i)
        if owns != subscriptions:
            return COUNTS
    return LENGTHS if total != len(body) - end else 0


@kernel
def read(
    data: Bytes,
    parts: NDArray[np.int64],
    named: Places,
    numbers: Integers,
    starts: Integers,
    ends: Integers,
    places: Places,
    counts: Integers,
    subscriptions: Integers,
) -> None:
    """What the columns of frames say that have no flaw.

    Of each, `parts` says where its columns begin, where it ends, how many events it has, where its
    names are in `named`, and whether it has names, and subscriptions.
    """
    row, own = 0, 0
    for part in range(len(parts)):
        at, stop, count = parts[part, 0], parts[part, 1], parts[part, 2]
        first, has_names, delivered = parts[part, 3], parts[part, 4], parts[part, 5]
        lengths = at + 8 * count
        origins = lengths + 4 * count
        handed = origins + (4 * count if has_names or delivered else 0)
        owns = handed + (4 * count if delivered else 0)
        size = 0
        for i in range(count):
            size += _read32(data, lengths + 4 * i)
        begin = stop - size
        for i in range(count):
            numbers[row] = _read64(data, at + 8 * i)
            starts[row] = begin
            begin += _read32(data, lengths + 4 * i)
            ends[row] = begin
            if has_names:
                places[row] = named[first + _read32(data, origins + 4 * i)]
            if delivered:
                counts[row] = _read32(data, handed + 4 * i)
                for _ in range(counts[row]):
                    subscriptions[own] = _read64(data, owns)
                    owns += 8
                    own += 1
            row += 1


class Written(NamedTuple):
    """A batch: numbers, and where the payloads are in the data."""

    numbers: Integers
    starts: Integers
    ends: Integers
    data: Bytes


class Names(NamedTuple):
    """The names of publishers, spelled, and whose each row is; no places: none are told.

    `seen` has room for the link that was last told of a name, `local` for its place there.
    """

    places: Places
    ends: Integers  # of the names: that of name i is from `ends[i]` to `ends[i + 1]`
    data: Bytes
    seen: Places
    local: Places


class Handed(NamedTuple):
    """Which rows go to which link, in frames of a sort, and for which subscriptions."""

    sort: int
    bounds: NDArray[np.int32]
    rows: Places
    starts: Places  # none, if there are no subscriptions to be told
    subscriptions: Integers


NO_STARTS: Final = np.empty(0, np.int32)
NO_SUBSCRIPTIONS: Final = np.empty(0, np.int64)
_HEAD: Final = 8  # bytes


@inlined
def _list_head(count: int) -> int:
    """The bytes before a msgpack list of so many."""
    return 1 if count < 16 else 3 if count < 65_536 else 5


@inlined
def _tell(names: Names, link: int, row: int) -> int:
    """Note that a link is told whose a row is: the bytes of the name, if it is a new one there."""
    own = names.places[row]
    if names.seen[own] == link:
        return 0
    names.seen[own] = link
    return int(names.ends[own + 1] - names.ends[own])


@kernel
def measure(batch: Written, names: Names, handed: Handed, sizes: Integers) -> None:
    """How many bytes the frame of each link has."""
    told = len(names.places) > 0
    delivered = len(handed.starts) > 0
    for link in range(len(handed.bounds)):
        first, last = handed.bounds[link, 0], handed.bounds[link, 1]
        size = _HEAD + (12 if delivered else 8)
        size += (last - first) * (12 + (4 if told else 0) + (4 if delivered else 0))
        if delivered:
            size += 8 * (handed.starts[last] - handed.starts[first])
        count = 0
        for i in range(first, last):
            row = handed.rows[i]
            size += batch.ends[row] - batch.starts[row]
            if told:
                spelled = _tell(names, link, row)
                count += 1 if spelled else 0
                size += spelled
        sizes[link] = size + (_list_head(count) if told else 0)
    for own in range(len(names.seen)):
        names.seen[own] = -1


@inlined
def _write_names(names: Names, handed: Handed, link: int, out: Bytes, at: int) -> int:
    """The list of names that the rows of a link have; where it ends."""
    first, last = handed.bounds[link, 0], handed.bounds[link, 1]
    count = 0
    for i in range(first, last):
        row = handed.rows[i]
        if _tell(names, link, row):
            names.local[names.places[row]] = count
            count += 1
    if count < 16:
        out[at] = 0x90 | count
    elif count < 65_536:
        out[at], out[at + 1], out[at + 2] = 0xDC, count >> 8, count & 0xFF
    else:
        out[at] = 0xDD
        for i in range(4):
            out[at + 1 + i] = (count >> (24 - 8 * i)) & 0xFF
    at += _list_head(count)
    count = 0
    for i in range(first, last):
        own = names.places[handed.rows[i]]
        if names.local[own] == count:
            at = _copy(names.data, names.ends[own], names.ends[own + 1], out, at)
            count += 1
    return at


@kernel
def write(batch: Written, names: Names, handed: Handed, places: Integers, out: Bytes) -> None:
    """The frames of all links, each at its place."""
    told = len(names.places) > 0
    delivered = len(handed.starts) > 0
    for link in range(len(handed.bounds)):
        first, last = handed.bounds[link, 0], handed.bounds[link, 1]
        head = places[link]
        _write32(out, head, places[link + 1] - head - _HEAD)
        _write32(out, head + 4, handed.sort)
        head += _HEAD
        at = head + (12 if delivered else 8)
        _write32(out, head, last - first)
        begin = at
        if told:
            at = _write_names(names, handed, link, out, at)
        _write32(out, head + 4, at - begin)
        for i in range(first, last):
            _write64(out, at, batch.numbers[handed.rows[i]])
            at += 8
        for i in range(first, last):
            row = handed.rows[i]
            _write32(out, at, batch.ends[row] - batch.starts[row])
            at += 4
        if told:
            for i in range(first, last):
                _write32(out, at, names.local[names.places[handed.rows[i]]])
                at += 4
        if delivered:
            own, end = handed.starts[first], handed.starts[last]
            _write32(out, head + 8, end - own)
            for i in range(first, last):
                _write32(out, at, handed.starts[i + 1] - handed.starts[i])
                at += 4
            for i in range(own, end):
                _write64(out, at, handed.subscriptions[i])
                at += 8
        for i in range(first, last):
            row = handed.rows[i]
            at = _copy(batch.data, batch.starts[row], batch.ends[row], out, at)


@inlined
def _copy(data: Bytes, start: int, stop: int, out: Bytes, at: int) -> int:
    for i in range(stop - start):
        out[at + i] = data[start + i]
    return at + stop - start

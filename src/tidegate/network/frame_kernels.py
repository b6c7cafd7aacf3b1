"""Frames of events as bytes: what is wrong with one, what many say, and how one is written.

Their form is that of `event_frames`, which says what is asked for here. All numbers are
little-endian.
"""

from typing import Final

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


@brief
def size_of(starts: Integers, ends: Integers, rows: Places) -> int:
    """How many bytes the payloads of some rows have."""
    size = 0
    for row in rows:
        size += ends[row] - starts[row]
    return size


@inlined
def _copy(data: Bytes, start: int, stop: int, out: Bytes, at: int) -> int:
    for i in range(stop - start):
        out[at + i] = data[start + i]
    return at + stop - start


@inlined
def _write_table(
    out: Bytes,
    at: int,
    numbers: Integers,
    starts: Integers,
    ends: Integers,
    places: Places,
    rows: Places,
) -> int:
    """Numbers, lengths, and, if there are any, publishers; where they end."""
    for row in rows:
        _write64(out, at, numbers[row])
        at += 8
    for row in rows:
        _write32(out, at, ends[row] - starts[row])
        at += 4
    if len(places):
        for row in rows:
            _write32(out, at, places[row])
            at += 4
    return at


@kernel
def write_events(
    out: Bytes,
    at: int,
    numbers: Integers,
    starts: Integers,
    ends: Integers,
    data: Bytes,
    places: Places,
    rows: Places,
) -> None:
    """Write some rows of a batch."""
    at = _write_table(out, at, numbers, starts, ends, places, rows)
    for row in rows:
        at = _copy(data, starts[row], ends[row], out, at)


@kernel
def write_deliveries(
    out: Bytes,
    at: int,
    numbers: Integers,
    starts: Integers,
    ends: Integers,
    data: Bytes,
    places: Places,
    rows: Places,
    bounds: Places,
    subscriptions: Integers,
) -> None:
    """Write some rows of a batch; the subscriptions of the i-th are from `bounds[i]` on."""
    at = _write_table(out, at, numbers, starts, ends, places, rows)
    for i in range(len(rows)):
        _write32(out, at, bounds[i + 1] - bounds[i])
        at += 4
    for i in range(bounds[0], bounds[len(rows)]):
        _write64(out, at, subscriptions[i])
        at += 8
    for row in rows:
        at = _copy(data, starts[row], ends[row], out, at)

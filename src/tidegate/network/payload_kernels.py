"""Where in the payloads of many events do their attributes stand?

A payload is a msgpack map. Most have nothing in them but names, and plain values: nil, truth
values, integers of 64 bits, floats of double precision and texts. Those are **located** here, all
of a batch at once, and then read one attribute at a time. What has anything else in it is read by
whoever can read all of msgpack.

Invariant: what is located here is what msgpack says; that bytes are UTF-8 is checked, and that no
name is there twice.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import inlined, kernel

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Places = NDArray[np.int32]

MOST_NAMES: Final = 32  # of an event that is located

NIL, TRUTH, INTEGER, DOUBLE, TEXT = 1, 2, 4, 8, 16  # kinds of values, as bits
_ODD: Final = -1


@inlined
def _unsigned(data: Bytes, at: int, size: int) -> np.uint64:
    """A number of so many bytes, the highest first."""
    found = np.uint64(0)
    for i in range(size):
        found = (found << np.uint64(8)) | np.uint64(data[at + i])
    return found


@inlined
def _is_text(data: Bytes, start: int, stop: int) -> bool:
    """Whether bytes are UTF-8: nothing longer than need be, no half characters, none too large."""
    at = start
    while at < stop:
        first = data[at]
        if first < 0x80:
            at += 1
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        more = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if at + more >= stop:
            return False
        low, high = 0x80, 0xBF
        if first == 0xE0:
            low = 0xA0
        elif first == 0xED:
            high = 0x9F
        elif first == 0xF0:
            low = 0x90
        elif first == 0xF4:
            high = 0x8F
        if data[at + 1] < low or data[at + 1] > high:
            return False
        for i in range(2, more + 1):
            if data[at + i] & 0xC0 != 0x80:
                return False
        at += more + 1
    return True


@inlined
def _text_head(data: Bytes, at: int, stop: int) -> tuple[int, int]:
    """Where the bytes of a text begin and end; `_ODD` if it is none, or not whole."""
    tag = int(np.int64(data[at]))
    if tag >> 5 == 5:
        start, size = at + 1, tag & 31
    elif 0xD9 <= tag <= 0xDB:
        width = 1 << (tag - 0xD9)
        start = at + 1 + width
        if start > stop:
            return _ODD, _ODD
        size = int(np.int64(_unsigned(data, at + 1, width)))
    else:
        return _ODD, _ODD
    if start + size > stop:
        return _ODD, _ODD
    return start, start + size


@inlined
def _past_value(data: Bytes, at: int, stop: int) -> int:
    """Where a plain value ends; `_ODD` if it is none."""
    tag = int(np.int64(data[at]))
    if tag < 0x80 or tag >= 0xE0 or tag == 0xC0 or tag == 0xC2 or tag == 0xC3:
        return at + 1
    if 0xCC <= tag <= 0xCF:
        end = at + 1 + (1 << (tag - 0xCC))
        if end > stop or (tag == 0xCF and data[at + 1] >= 0x80):
            return _ODD
        return end
    if 0xD0 <= tag <= 0xD3:
        end = at + 1 + (1 << (tag - 0xD0))
        return end if end <= stop else _ODD
    if tag == 0xCB:
        return at + 9 if at + 9 <= stop else _ODD
    start, end = _text_head(data, at, stop)
    if start == _ODD or not _is_text(data, start, end):
        return _ODD
    return end


@inlined
def _same(data: Bytes, start: int, stop: int, other: Bytes, first: int, last: int) -> bool:
    """Whether two stretches of bytes are the same."""
    if stop - start != last - first:
        return False
    i = 0
    while start + i < stop and data[start + i] == other[first + i]:
        i += 1
    return start + i == stop


@kernel
def locate(
    data: Bytes,
    starts: Integers,
    ends: Integers,
    firsts: Places,
    names: Integers,
    name_ends: Integers,
    values: Integers,
) -> bool:
    """Where the names and values of all events stand; false if there is anything else in one.

    Those of event i are from `firsts[i]` to `firsts[i + 1]`.
    """
    count = 0
    firsts[0] = 0
    for event in range(len(starts)):
        at, stop = starts[event], ends[event]
        if at >= stop:
            return False
        tag = int(np.int64(data[at]))
        at += 1
        if tag >> 4 == 8:
            size = tag & 15
        elif tag == 0xDE and at + 2 <= stop:
            size = int(np.int64(_unsigned(data, at, 2)))
            at += 2
        else:
            return False
        if size > MOST_NAMES:
            return False
        first = count
        for _ in range(size):
            if at >= stop:
                return False
            start, end = _text_head(data, at, stop)
            if start == _ODD or end >= stop or not _is_text(data, start, end):
                return False
            for other in range(first, count):
                if _same(data, start, end, data, names[other], name_ends[other]):
                    return False
            at = _past_value(data, end, stop)
            if at == _ODD:
                return False
            names[count], name_ends[count], values[count] = start, end, end
            count += 1
        if at != stop:
            return False
        firsts[event + 1] = count
    return True


@kernel
def find(
    data: Bytes,
    firsts: Places,
    names: Integers,
    name_ends: Integers,
    values: Integers,
    name: Bytes,
    found: Integers,
) -> int:
    """Where each event has its value of a name, or -1; the kinds of all of these values.

    Most events have their names in one order: so it is looked first where the last one had it.
    """
    kinds, guess = 0, 0
    for event in range(len(found)):
        first, last = firsts[event], firsts[event + 1]
        at = first + guess
        if at >= last or not _same(data, names[at], name_ends[at], name, 0, len(name)):
            at = first
            while at < last and not _same(data, names[at], name_ends[at], name, 0, len(name)):
                at += 1
        if at == last:
            found[event] = -1
            kinds |= NIL
            continue
        guess = at - first
        found[event] = values[at]
        tag = int(np.int64(data[values[at]]))
        if tag == 0xC0:
            found[event] = -1
            kinds |= NIL
        elif tag == 0xC2 or tag == 0xC3:
            kinds |= TRUTH
        elif tag == 0xCB:
            kinds |= DOUBLE
        elif tag >> 5 == 5 or 0xD9 <= tag <= 0xDB:
            kinds |= TEXT
        else:
            kinds |= INTEGER
    return kinds


@kernel
def integers(data: Bytes, found: Integers, out: Integers) -> None:
    """The integers at some places; 0 where there is none."""
    for event in range(len(found)):
        at = found[event]
        if at < 0:
            out[event] = 0
            continue
        tag = int(np.int64(data[at]))
        if tag < 0x80:
            out[event] = tag
        elif tag >= 0xE0:
            out[event] = tag - 256
        elif tag < 0xD0:
            out[event] = np.int64(_unsigned(data, at + 1, 1 << (tag - 0xCC)))
        else:
            width = 1 << (tag - 0xD0)
            bits = 64 - 8 * width
            raw = np.int64(_unsigned(data, at + 1, width)) << bits
            out[event] = raw >> bits


@kernel
def doubles(data: Bytes, found: Integers, out: NDArray[np.uint64]) -> None:
    """The bits of the floats at some places; 0 where there is none."""
    for event in range(len(found)):
        at = found[event]
        out[event] = _unsigned(data, at + 1, 8) if at >= 0 else np.uint64(0)


@kernel
def truths(data: Bytes, found: Integers, out: NDArray[np.bool_]) -> None:
    """The truth values at some places; false where there is none."""
    for event in range(len(found)):
        out[event] = found[event] >= 0 and data[found[event]] == 0xC3


@kernel
def texts(data: Bytes, found: Integers, starts: Places, out: Bytes) -> bool:
    """The texts at some places behind each other, if there is room; nothing where there is none."""
    size = 0
    starts[0] = 0
    for event in range(len(found)):
        at = found[event]
        if at >= 0:
            start, end = _text_head(data, at, len(data))
            if size + end - start > len(out):
                return False
            for i in range(start, end):
                out[size] = data[i]
                size += 1
        starts[event + 1] = size
    return True


def capacity(starts: Integers, ends: Integers) -> int:
    """How many names events may have, at most: each takes two bytes, or more."""
    total: Any = (ends - starts).sum()
    return min(int(total) // 2, MOST_NAMES * len(starts)) + 1

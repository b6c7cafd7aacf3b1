"""Frames of many events.

A frame of events is a table and the payloads behind it, without anything between them:

    count (u32), bytes of the names (u32)
    names of publishers: msgpack, a list of texts; no bytes at all where a client publishes
    numbers (u64 each), lengths of payloads (u32 each)
    publishers (u32 each): places among the names; not where there are none
    payloads

A frame of deliveries is the same, with all publishers named, and what each event is for:

    count (u32), bytes of the names (u32), subscriptions in all (u32)
    names, numbers, lengths, publishers
    how many subscriptions each event is for (u32 each), and their ids (i64 each)
    payloads

Every count is compared with the bytes that are there before it is used. Payloads are not looked at:
to pass an event on is to copy its bytes (`_copy`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import FrameError
from tidegate.jit import kernel
from tidegate.network.frames import Frame, Sort, frame
from tidegate.network.payloads import read, write

Integers = NDArray[np.int64]

_EVENTS: Final = Struct("<II")
_DELIVERIES: Final = Struct("<III")
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Payloads:
    """The payloads of a batch, one behind the other; that of row i starts at `starts[i]`."""

    data: bytes
    starts: Integers

    def __getitem__(self, row: int) -> memoryview:
        if not 0 <= row < len(self):
            raise IndexError(row)
        return memoryview(self.data)[self.starts[row] : self.starts[row + 1]]

    def __iter__(self) -> Iterator[memoryview]:
        data, bounds = memoryview(self.data), self.starts.tolist()
        return (data[start:end] for start, end in pairwise(bounds))

    def __len__(self) -> int:
        return len(self.starts) - 1


class Table(NamedTuple):
    """What a frame of events says."""

    numbers: list[int]
    publishers: list[str]  # of each event; none if a client publishes
    payloads: Payloads
    counts: Integers  # how many subscriptions each event is for
    subscriptions: Integers


def payloads_of(written: Sequence[bytes]) -> Payloads:
    """Payloads that were written one by one."""
    return Payloads(b"".join(written), _starts(np.array([len(each) for each in written], np.int64)))


def joined(parts: Sequence[Payloads]) -> Payloads:
    """The payloads of several frames as those of one."""
    if len(parts) == 1:
        return parts[0]
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    return Payloads(b"".join([part.data for part in parts]), _starts(lengths))


def events_frame(
    numbers: Sequence[int],
    publishers: Sequence[str],
    payloads: Payloads,
    rows: NDArray[np.int32] | None = None,
) -> bytes:
    """A frame of events: all of a batch, or some rows of it.

    >>> data = events_frame([7, 8], [], payloads_of([b"one", b"two"]))
    >>> table = read_events_frame(Frame(Sort.EVENTS, data[8:]), most=10)
    >>> table.numbers, bytes(table.payloads[1])
    ([7, 8], b'two')
    """
    chosen = np.arange(len(payloads), dtype=np.int32) if rows is None else rows
    names, of = _named(publishers, chosen)
    lengths, data = _gathered(payloads, chosen)
    head = _EVENTS.pack(len(chosen), len(names))
    return frame(Sort.EVENTS, head, names, _numbers(numbers, chosen), lengths, of, data)


def deliveries_frame(
    numbers: Sequence[int],
    publishers: Sequence[str],
    payloads: Payloads,
    rows: NDArray[np.int32],
    starts: NDArray[np.int32],
    subscriptions: Integers,
) -> bytes:
    """A frame of deliveries: rows of a batch, and whom they are for, as `DeliverRows` says it."""
    names, of = _named(publishers, rows)
    lengths, data = _gathered(payloads, rows)
    owns = subscriptions[starts[0] : starts[-1]] if len(rows) else subscriptions[:0]
    counts = np.diff(starts).astype("<u4").tobytes()
    head = _DELIVERIES.pack(len(rows), len(names), len(owns))
    parts = head, names, _numbers(numbers, rows), lengths, of, counts, owns.astype("<i8").tobytes()
    return frame(Sort.DELIVERIES, *parts, data)


def read_events_frame(came: Frame, most: int) -> Table:
    """What a frame of events, or of deliveries, says; `FrameError` if it is none.

    `most` is how many events it may have.
    """
    delivered = came.sort is Sort.DELIVERIES
    head = _DELIVERIES if delivered else _EVENTS
    cursor = _Cursor(came.body)
    count, names_size, *more = head.unpack(cursor.take(head.size))
    if count > most:
        raise FrameError(f"a frame has {count:,} events; {most:,} are allowed")
    names = _names(cursor.take(names_size))
    numbers = cursor.column(count, "<u8")
    lengths = cursor.column(count, "<u4").astype(np.int64)
    if count and int(numbers.max()) > _LARGEST:
        raise FrameError("the number of an event is beyond 63 bits")
    publishers: list[str] = []
    if names or delivered:
        places = cursor.column(count, "<u4")
        if count and (not names or int(places.max()) >= len(names)):
            raise FrameError("a frame names a publisher that it does not have")
        publishers = [names[place] for place in places.tolist()]
    counts = owns = np.empty(0, np.int64)
    if delivered:
        counts = cursor.column(count, "<u4").astype(np.int64)
        owns = cursor.column(more[0], "<i8").astype(np.int64)
        if int(counts.sum()) != more[0]:
            raise FrameError("a frame has not as many subscriptions as its events are for")
    data = cursor.rest()
    if int(lengths.sum()) != len(data):
        raise FrameError("the payloads of a frame have not the lengths that it says")
    return Table(numbers.tolist(), publishers, Payloads(data, _starts(lengths)), counts, owns)


class _Cursor:
    """Reads a body from its start on; what is not there is a `FrameError`."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._body):
            raise FrameError("a frame of events ends within its table")
        found, self._at = self._body[self._at : end], end
        return found

    def column(self, count: int, kind: str) -> NDArray[Any]:
        size = np.dtype(kind).itemsize
        return np.frombuffer(self.take(count * size), kind)

    def rest(self) -> bytes:
        return self._body[self._at :]


def _names(data: bytes) -> list[str]:
    names = read(data) if data else []
    if type(names) is not list or not all(type(name) is str for name in names):
        raise FrameError("the names of publishers are not a list of texts")
    return names


def _named(publishers: Sequence[str], rows: NDArray[np.int32]) -> tuple[bytes, bytes]:
    """The names of publishers of some rows, and where each row's is among them."""
    if not publishers:
        return b"", b""
    if publishers[0] is publishers[-1] and len(set(publishers)) == 1:  # the commonest
        return write([publishers[0]]), bytes(4 * len(rows))
    own = [publishers[row] for row in rows.tolist()]
    places = {name: place for place, name in enumerate(dict.fromkeys(own))}
    return write(list(places)), np.array([places[name] for name in own], "<u4").tobytes()


def _numbers(numbers: Sequence[int], rows: NDArray[np.int32]) -> bytes:
    return np.array(numbers, "<u8")[rows].tobytes()


def _starts(lengths: NDArray[Any]) -> Integers:
    found = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


def _gathered(payloads: Payloads, rows: NDArray[np.int32]) -> tuple[bytes, bytes]:
    """The lengths of the payloads of some rows, and these payloads behind each other."""
    lengths = payloads.starts[1:][rows] - payloads.starts[:-1][rows]
    out = np.empty(int(lengths.sum()), np.uint8)
    _copy(np.frombuffer(payloads.data, np.uint8), payloads.starts, rows, out)
    return lengths.astype("<u4").tobytes(), out.tobytes()


@kernel
def _copy(
    data: NDArray[np.uint8], starts: Integers, rows: NDArray[np.int32], out: NDArray[np.uint8]
) -> None:
    """Copy the payloads of some rows behind each other."""
    at = 0
    for row in rows:
        for place in range(starts[row], starts[row + 1]):
            out[at] = data[place]
            at += 1

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
to pass an event on is to copy its bytes (`frame_kernels`). Frames that have come are looked at one
by one, so that who sent a bad one can be told, and read many at once, payloads where they are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import FrameError
from tidegate.network import frame_kernels as kernels
from tidegate.network.frames import HEAD, Frame, Sort
from tidegate.network.payloads import read, write
from tidegate.overlay.pairs import Rows
from tidegate.overlay.row_names import RowNames

Integers = NDArray[np.int64]

_EVENTS: Final = Struct("<II")
_DELIVERIES: Final = Struct("<III")
PLAIN_ROOM: Final = _EVENTS.size  # bytes of a frame of events without names, but for its events
PLAIN_WIDTH: Final = 12  # bytes of the columns of an event there
_NAMED: Final = 16  # the same where there are names
_LONGEST_HEAD: Final = 5  # bytes before a text, or a list, of msgpack
NAMED_ROOM: Final = _EVENTS.size + _LONGEST_HEAD  # as `PLAIN_ROOM`, where there are names
_WIDTH: Final = 20  # bytes of the columns of a delivery, but for the ids of subscriptions
_FLAWS: Final = {
    kernels.SHORT: "a frame of events ends within its table",
    kernels.LARGE: "the number of an event is beyond 63 bits",
    kernels.LENGTHS: "the payloads of a frame have not the lengths that it says",
    kernels.NAMELESS: "a frame names a publisher that it does not have",
    kernels.COUNTS: "a frame has not as many subscriptions as its events are for",
}


@dataclass(frozen=True, slots=True, eq=False)
class Payloads:
    """The payloads of a batch; that of row i is from `starts[i]` to `ends[i]` of the data."""

    data: bytes
    starts: Integers
    ends: Integers
    octets: NDArray[np.uint8] = field(init=False)  # the data as an array

    def __post_init__(self) -> None:
        object.__setattr__(self, "octets", np.frombuffer(self.data, np.uint8))

    def __getitem__(self, row: int) -> memoryview:
        if not 0 <= row < len(self):
            raise IndexError(row)
        return memoryview(self.data)[self.starts[row] : self.ends[row]]

    def __iter__(self) -> Iterator[memoryview]:
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        data = memoryview(self.data)
        return (data[start:end] for start, end in bounds)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> Integers:
        """How many bytes each of them has."""
        return self.ends - self.starts


class Room(NamedTuple):
    """How many events a frame may have, and how many bytes."""

    events: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """A frame that was looked at and is not read yet."""

    body: bytes
    names: list[str]  # of publishers; none if a client publishes
    count: int  # of events
    at: int  # where the columns begin
    subscriptions: int  # in all


class Table(NamedTuple):
    """What frames of events say."""

    numbers: Integers
    publishers: RowNames  # of each event; empty if a client publishes
    payloads: Payloads
    counts: Integers  # how many subscriptions each event is for
    subscriptions: Integers


def payloads_of(written: Sequence[bytes | memoryview]) -> Payloads:
    """Payloads that were written one by one."""
    ends = np.cumsum([len(each) for each in written], dtype=np.int64)
    return Payloads(b"".join(written), np.concatenate(([0], ends[:-1])) if written else ends, ends)


def events_frame(
    numbers: Sequence[int] | Integers,
    publishers: Sequence[str],
    payloads: Payloads,
    rows: Rows | None = None,
) -> bytes:
    """A frame of events: all of a batch, or some rows of it.

    >>> data = events_frame([7, 8], [], payloads_of([b"one", b"two"]))
    >>> table = read_events_frame(Frame(Sort.EVENTS, data[8:]), most=10)
    >>> table.numbers.tolist(), bytes(table.payloads[1])
    ([7, 8], b'two')
    """
    chosen = np.arange(len(payloads), dtype=np.int32) if rows is None else rows
    bounds = np.array([[0, len(chosen)]], np.int32)
    return _written(Sort.EVENTS, numbers, publishers, payloads, bounds, chosen)[0]


def widest(payload: bytes, publisher: str) -> int:
    """What an event takes in a frame between brokers, at most."""
    return _NAMED + len(payload) + _LONGEST_HEAD + len(publisher.encode())


def events_frames(
    numbers: Sequence[int] | Integers,
    publishers: Sequence[str],
    payloads: Payloads,
    rows: Rows,
    room: Room,
) -> list[bytes]:
    """Frames of some rows of a batch, as few as there is room for them in.

    An event that has no room in any is in one by itself.
    """
    own = RowNames.of(publishers)
    sizes = payloads.sizes[rows] + _NAMED
    named = np.array([_LONGEST_HEAD + len(name.encode()) for name in own.names], np.int64)
    most, longest = room.events, room.bytes - NAMED_ROOM
    if len(rows) <= most and int(sizes.sum() + named.sum()) <= longest:
        return [events_frame(numbers, own, payloads, rows)]
    ends = np.cumsum(sizes + named[own.places[rows]])
    bounds, first = [], 0
    while first < len(rows):
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + longest, side="right"))
        bounds.append((first, max(first + 1, min(last, first + most))))
        first = bounds[-1][1]
    return _written(Sort.EVENTS, numbers, own, payloads, np.array(bounds, np.int32), rows)


def deliveries_frames(
    numbers: Sequence[int] | Integers,
    publishers: Sequence[str],
    payloads: Payloads,
    bounds: Rows,
    rows: Rows,
    starts: Rows,
    subscriptions: Integers,
) -> list[bytes]:
    """Frames of deliveries, one for each link: what goes there, as `DeliverRows` says it."""
    columns = payloads, bounds, rows, starts, subscriptions
    return _written(Sort.DELIVERIES, numbers, publishers, *columns)


def _written(
    sort: Sort,
    numbers: Sequence[int] | Integers,
    publishers: Sequence[str],
    payloads: Payloads,
    bounds: Rows,
    rows: Rows,
    starts: Rows = kernels.NO_STARTS,
    subscriptions: Integers = kernels.NO_SUBSCRIPTIONS,
) -> list[bytes]:
    """Frames of rows of a batch; of each, where its rows begin and end."""
    own = RowNames.of(publishers)
    spelled = [write(name) for name in own.names]
    ends = np.cumsum([0, *map(len, spelled)])
    names = kernels.Names(
        own.places, ends, np.frombuffer(b"".join(spelled), np.uint8),
        np.full(len(spelled), -1, np.int32), np.empty(len(spelled), np.int32),
    )  # fmt: skip
    batch = kernels.Written(
        np.asarray(numbers, np.int64), payloads.starts, payloads.ends, payloads.octets
    )
    handed = kernels.Handed(int(sort), bounds, rows, starts, subscriptions)
    sizes = np.empty(len(bounds), np.int64)
    kernels.measure(batch, names, handed, sizes)
    places = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=places[1:])
    out = np.empty(int(places[-1]), np.uint8)
    kernels.write(batch, names, handed, places, out)
    return [out[first:last].tobytes() for first, last in pairwise(places.tolist())]


def look_at(came: Frame, most: int) -> Part:
    """What is to be known of a frame of events, or of deliveries; `FrameError` if it is none.

    `most` is how many events it may have.
    """
    delivered = came.sort is Sort.DELIVERIES
    head = _DELIVERIES if delivered else _EVENTS
    body = came.body
    if len(body) < head.size:
        raise FrameError(_FLAWS[kernels.SHORT])
    count, named, *more = head.unpack_from(body)
    if count > most:
        raise FrameError(f"a frame has {count:,} events; {most:,} are allowed")
    at = head.size + named
    if at > len(body):
        raise FrameError(_FLAWS[kernels.SHORT])
    names = _names(body[head.size : at]) if named else []
    owns = more[0] if delivered else kernels.NONE
    flaw = kernels.flaw(np.frombuffer(body, np.uint8), at, count, len(names), owns)
    if flaw:
        raise FrameError(_FLAWS[flaw])
    return Part(body, names, count, at, owns)


def handed(data: bytes) -> tuple[int, Integers]:
    """How many events a frame of deliveries has, that was written here, and for whom they all are.

    >>> one, starts = np.zeros(1, np.int32), np.array([0, 2], np.int32)
    >>> columns = np.array([[0, 1]], np.int32), one, starts, np.array([7, 8])
    >>> (data,) = deliveries_frames([1], ["a/ann"], payloads_of([b"event"]), *columns)
    >>> handed(data)
    (1, array([7, 8]))
    """
    count, named, owns = _DELIVERIES.unpack_from(data, HEAD.size)
    columns = HEAD.size + _DELIVERIES.size + named
    return count, np.frombuffer(data, "<i8", owns, columns + _WIDTH * count)


def read_events_frame(came: Frame, most: int) -> Table:
    """What a frame of events, or of deliveries, says; `FrameError` if it is none."""
    return read_parts([look_at(came, most)])


def read_parts(parts: Sequence[Part]) -> Table:
    """What frames of one sort say, one behind the other; all have publishers, or none has."""
    data = parts[0].body if len(parts) == 1 else b"".join([part.body for part in parts])
    count = sum([part.count for part in parts])
    owns = sum([part.subscriptions for part in parts if part.subscriptions > 0])
    known: dict[str, int] = {}
    named = [known.setdefault(name, len(known)) for part in parts for name in part.names]
    begins, at, first = [], 0, 0
    for part in parts:
        end, delivered = at + len(part.body), part.subscriptions != kernels.NONE
        begins.append((at + part.at, end, part.count, first, bool(part.names), delivered))
        at += len(part.body)
        first += len(part.names)
    numbers, starts, ends = (np.empty(count, np.int64) for _ in range(3))
    places = np.empty(count if named else 0, np.int32)
    counts = np.empty(count if parts[0].subscriptions != kernels.NONE else 0, np.int64)
    subscriptions = np.empty(owns, np.int64)
    payloads = Payloads(data, starts, ends)
    kernels.read(
        payloads.octets, np.array(begins, np.int64), np.array(named, np.int32),
        numbers, starts, ends, places, counts, subscriptions,
    )  # fmt: skip
    return Table(numbers, RowNames(tuple(known), places), payloads, counts, subscriptions)


def _names(data: bytes) -> list[str]:
    names = read(data)
    if type(names) is not list or not all(type(name) is str for name in names):
        raise FrameError("the names of publishers are not a list of texts")
    return names

"""Connections that publish and are delivered to, as cheaply as can be.

What is published was written before. What comes is kept as it is, with the time at which it came,
and read when all is over: so little of the machine is taken from the broker. Frames are read here
as docs/network.md says, not by the code that the broker writes them with.

**Due times.** Where events are paced, each of them is due at a time that was fixed before, and that
is what its latency counts from, whether or not the broker, or this process, was ready to go on
then: nothing that is late makes what follows look early (Tene's *coordinated omission*).
"""

from __future__ import annotations

import select
import socket
import struct
from bisect import bisect_left, bisect_right
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tidegate.network.frames import Frames, Sort
from tidegate.network.opening import VERSION, Opening, read_opened, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bench.network_workload import Stream, Traffic

WINDOW = 8_000  # events of a publisher that the broker has not confirmed
_ONCE = 2**18  # bytes that are sent, or read, at once
_PATIENCE = 600.0  # seconds in which something has to come
_HEAD = struct.Struct("<IBBHI")  # of a frame, and how many events it has
_TABLE = struct.Struct("<III")


class Played(NamedTuple):
    """What has come of a run."""

    seconds: float  # from the first event sent to the last delivery
    latencies: NDArray[np.float64]  # of each delivery, from when its event was due, in seconds


class Connection:
    """One client, without a protocol of its own."""

    def __init__(self, address: tuple[str, int], name: str) -> None:
        self.name = name
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(say(Opening(VERSION, "client", name, credits=2**62)))
        frames = Frames(2**30)
        opened = None
        while opened is None:
            for each in frames.feed(self.socket.recv(_ONCE)):
                opened = read_opened(each)
        self.socket.setblocking(False)
        self.number = opened.seen  # of the last event
        self.credits = opened.credits  # bytes of events that may be sent, in all
        self.before = 0  # bytes of earlier streams
        self.sent = 0  # bytes of the stream
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.data = bytearray()
        self.handed = 0  # events delivered
        self.acknowledged = 0  # control messages that have come
        self.taken = self.number
        self.times: list[tuple[int, float]] = []  # how many bytes had come, and when
        self._at = 0

    def read(self, buffer: bytearray, now: Callable[[], float]) -> None:
        """Take what has come."""
        count = self.socket.recv_into(buffer)
        if not count:
            raise ConnectionError(f"{self.name} was cut: {bytes(self.data[-200:])!r}")
        data = self.data
        data += memoryview(buffer)[:count]
        self.times.append((len(data), now()))
        while len(data) >= self._at + _HEAD.size:
            length, sort, _, _, events = _HEAD.unpack_from(data, self._at)
            end = self._at + 8 + length
            if end > len(data):
                break
            if sort == Sort.DELIVERIES:
                self.handed += events
            elif sort == Sort.TAKEN:
                self.taken = int.from_bytes(data[self._at + 8 : end], "little")
            elif sort == Sort.CREDITS:
                self.credits = int.from_bytes(data[self._at + 8 : end], "little")
            elif sort == Sort.CONTROL:
                self.acknowledged += 1
            self._at = end

    def send(self, stream: Stream, frames: int) -> bool:
        """Send up to so many frames of a stream, if there are credits; whether none is left."""
        frames = min(frames, bisect_left(stream.ends, self.credits - self.before) + 1)
        goal = stream.ends[frames - 1] if frames else 0
        if self.sent < goal:
            try:
                part = memoryview(stream.data)[self.sent : min(goal, self.sent + _ONCE)]
                self.sent += self.socket.send(part)
            except BlockingIOError:
                return False
        return self.sent >= goal


class Load:
    """Many connections of one process; the first of them publish.

    They may be to different brokers: publishers to one, those that are delivered to, to another.
    """

    def __init__(
        self,
        address: tuple[str, int],
        traffic: Traffic,
        publishers: int,
        publish_at: tuple[str, int] | None = None,
    ) -> None:
        self.traffic = traffic
        self.connections = [Connection(address, f"c{i}") for i in range(traffic.connections)]
        apart = publish_at is not None and publish_at != address
        self.publishing = (
            [Connection(publish_at, f"p{i}") for i in range(publishers)]
            if apart and publish_at is not None
            else self.connections[:publishers]
        )
        self._all = {c.socket.fileno(): c for c in (*self.connections, *self.publishing)}
        self._buffer = bytearray(_ONCE)
        self._poll = select.epoll()
        for number in self._all:
            self._poll.register(number, select.EPOLLIN)

    def close(self) -> None:
        """End all connections."""
        self._poll.close()
        for each in self._all.values():
            each.socket.close()

    def register(self) -> float:
        """Subscribe to everything; the seconds until all of it is acknowledged."""
        changes = [self.traffic.change(i) for i in range(len(self.connections))]
        start = perf_counter()
        for connection, change in zip(self.connections, changes, strict=True):
            connection.socket.setblocking(True)
            connection.socket.sendall(change)
            connection.socket.setblocking(False)
        self._until(lambda: all(c.acknowledged for c in self.connections))
        return perf_counter() - start

    def play(self, count: int, together: int, rate: float | None = None) -> Played:
        """Publish so many events, and see that everybody gets what is wanted, and nothing else.

        At a rate, in events a second, or as fast as the broker confirms.
        """
        firsts = [c.number + 1 for c in self.publishing]
        streams = self.traffic.streams(count, firsts, together, rate)
        for each in self._all.values():
            each.forget()
        goal = self.traffic.handed(count)
        start = perf_counter()

        def now() -> float:
            return perf_counter() - start

        while True:
            ready, wait = True, 0.05
            for connection, stream in zip(self.publishing, streams, strict=True):
                if connection.sent >= len(stream.data):
                    continue
                if rate:
                    frames = bisect_right(stream.due, now())
                    if frames < len(stream.due):
                        wait = min(wait, max(stream.due[frames] - now(), 0.0))
                else:
                    room = connection.taken - stream.first + 1 + WINDOW
                    frames = bisect_right(stream.upto, room)
                ready &= connection.send(stream, frames)
            self._take(wait if ready else 0.0005, now)
            if sum(c.handed for c in self.connections) >= goal and all(
                c.taken - s.first + 1 >= s.upto[-1]
                for c, s in zip(self.publishing, streams, strict=True)
            ):
                break
        seconds = max(c.times[-1][1] for c in self._all.values() if c.times)
        due = np.arange(count) / rate if rate else None
        found = self.check(count, together, firsts, due)
        for connection, stream in zip(self.publishing, streams, strict=True):
            connection.number += stream.upto[-1]
            connection.before += len(stream.data)
            connection.sent = 0
        return Played(seconds, found)

    def _take(self, wait: float, now: Callable[[], float]) -> None:
        for number, _ in self._poll.poll(wait):
            self._all[number].read(self._buffer, now)
        if now() - self._last(now) > _PATIENCE:
            raise TimeoutError(f"nothing has come for {_PATIENCE:g} seconds")

    def _last(self, now: Callable[[], float]) -> float:
        """When something came last."""
        return max((c.times[-1][1] for c in self._all.values() if c.times), default=0.0)

    def _until(self, done: Callable[[], bool]) -> None:
        start = perf_counter()
        while not done():
            self._take(0.05, lambda: perf_counter() - start)

    # -- what has come

    def check(
        self,
        count: int,
        together: int,
        firsts: Sequence[int],
        due: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Compare all that was delivered with brute force; the latencies, if events were due."""
        places = self.traffic.places(count, together, len(self.publishing))
        publishers = zip(self.publishing, firsts, places, strict=True)
        origins = {f"/{each.name}": (first, own) for each, first, own in publishers}
        found, late = [], []
        for own, connection in enumerate(self.connections):
            times = np.array([when for _, when in connection.times])
            bytes_then = np.array([size for size, _ in connection.times])
            last = dict.fromkeys(origins, -1)
            for body, end in _deliveries(connection.data):
                events, rules, owners = self._read(body, origins, last)
                assert (rules % self.traffic.connections == own).all(), "it is another one's"
                found.append(events[owners] * len(self.traffic.workload) + rules)
                if due is not None:
                    came = times[np.searchsorted(bytes_then, end)]
                    late.append(came - due[events])
        pairs = np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)
        assert np.array_equal(pairs, self.traffic.wanted(count)), "something else was delivered"
        return np.concatenate(late) if late else np.empty(0)

    def _read(
        self,
        body: memoryview,
        origins: dict[str, tuple[int, NDArray[np.int64]]],
        last: dict[str, int],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The events of a frame, the rules that they are for, and the event of each rule."""
        count, named, subscriptions = _TABLE.unpack_from(body)
        at = _TABLE.size
        names = _texts(body[at : at + named])
        at += named
        columns = []
        for kind, size in (("<u8", count), ("<u4", count), ("<u4", count), ("<u4", count)):
            columns.append(np.frombuffer(body, kind, size, at).astype(np.int64))
            at += np.dtype(kind).itemsize * size
        numbers, lengths, publishers, counts = columns
        rules = np.frombuffer(body, "<i8", subscriptions, at)
        at += 8 * subscriptions
        events = np.empty(count, np.int64)
        for place, name in enumerate(names):
            key = name[name.index("/") :]
            first, own = origins[key]
            rows = np.flatnonzero(publishers == place)
            events[rows] = own[numbers[rows] - first]
            assert (np.diff(numbers[rows], prepend=last[key]) > 0).all(), "out of order"
            last[key] = int(numbers[rows][-1]) if len(rows) else last[key]
        pool = self.traffic.payloads
        published = [pool[place] for place in (events % len(pool)).tolist()]
        assert b"".join(published) == body[at:], "other bytes than were published"
        assert list(map(len, published)) == lengths.tolist()
        return events, rules, np.repeat(np.arange(count), counts)


def _deliveries(data: bytearray) -> Sequence[tuple[memoryview, int]]:
    """The bodies of frames of deliveries, and where they end."""
    at, found = 0, []
    while at < len(data):
        length, sort = struct.unpack_from("<IB", data, at)
        end = at + 8 + length
        if sort == Sort.DELIVERIES:
            found.append((memoryview(data)[at + 8 : end], end))
        at = end
    return found


def _texts(data: memoryview) -> list[str]:
    """A msgpack list of short texts, by hand."""
    assert data[0] >> 4 == 9, "a list of up to 15"
    found, at = [], 1
    for _ in range(data[0] & 15):
        assert data[at] >> 5 == 5, "a text of up to 31 bytes"
        size = data[at] & 31
        found.append(bytes(data[at + 1 : at + 1 + size]).decode())
        at += 1 + size
    return found

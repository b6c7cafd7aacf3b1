"""A client that was written from docs/network.md: nothing of Tidegate is in it."""

import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

pack, unpack = msgspec.msgpack.encode, msgspec.msgpack.decode
OPENING, OPENED, CLOSE, HEARTBEAT, CONTROL, EVENTS, DELIVERIES, TAKEN, _, CREDITS, GAP = range(
    1, 12
)
ROOM = 20_000  # bytes of deliveries that may come


class PlainClient:
    """Sends frames and reads frames, on a socket that waits."""

    def __init__(self, host: str, port: int, name: str, *, kind: str = "attributes") -> None:
        self.socket = socket.create_connection((host, port))
        self.read_bytes = b""
        self.came, self.given = 0, ROOM
        self.got: list[tuple[Any, list[int], str, int]] = []  # event, ids, publisher, number
        self.refused: list[Any] = []
        opening = {"version": 1, "role": "client", "name": name, "features": [], "kind": kind}
        self.send(OPENING, pack({**opening, "credits": ROOM}))
        sort, body = self.frame()
        assert sort == OPENED, body
        self.opened = unpack(body)
        self.seq, self.number = self.opened["heard"], self.opened["seen"]
        self.taken, self.answered = self.number, self.seq
        self.credits, self.sent = self.opened["credits"], 0

    def __enter__(self) -> "PlainClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, kind: int, body: bytes = b"", flags: int = 0) -> None:
        self.socket.sendall(struct.pack("<IBBH", len(body), kind, flags, 0) + body)

    def frame(self) -> tuple[int, bytes]:
        head = self._exactly(8)
        length, kind, _, _ = struct.unpack("<IBBH", head)
        return kind, self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        while len(self.read_bytes) < count:
            more = self.socket.recv(2**16)
            assert more, "the broker has hung up"
            self.read_bytes += more
        found, self.read_bytes = self.read_bytes[:count], self.read_bytes[count:]
        return found

    def want(
        self, text: str, rows: Mapping[int, Sequence[Any]], names: Sequence[str], *, whole: bool
    ) -> None:
        """Subscribe to filters of one text: values of its parameters, by id."""
        self.seq += 1
        columns = [list(column) for column in zip(*rows.values(), strict=True)]
        told = ["change", self.seq, [], [], [], whole]
        body = pack([told, [[text, list(rows), list(names), columns]]])
        parts = [body[i : i + 50] for i in range(0, len(body), 50)]  # it may have some
        for part in parts[:-1]:
            self.send(CONTROL, part, flags=4)
        self.send(CONTROL, parts[-1])
        while self.answered < self.seq:
            self.handle()

    def publish(self, events: Sequence[Any]) -> None:
        """Publish events, and wait until the broker has taken them."""
        payloads, count = [pack(event) for event in events], len(events)
        numbers = range(self.number + 1, self.number + count + 1)
        self.number += count
        body = struct.pack("<II", count, 0) + struct.pack(f"<{count}Q", *numbers)
        body += struct.pack(f"<{count}I", *map(len, payloads)) + b"".join(payloads)
        while self.sent >= self.credits:
            self.handle()
        self.sent += 8 + len(body)
        self.send(EVENTS, body)
        while self.taken < self.number:
            self.handle()

    def handle(self) -> None:
        """Read a frame, and do what it asks for."""
        kind, body = self.frame()
        if kind == CONTROL:
            message, _ = unpack(body)
            if message[0] == "acknowledge":
                self.answered = message[1]
            else:
                self.refused.append(message)
        elif kind == TAKEN:
            (self.taken,) = struct.unpack("<Q", body)
        elif kind == CREDITS:
            (self.credits,) = struct.unpack("<Q", body)
        elif kind == HEARTBEAT:
            self.send(HEARTBEAT)
        else:
            assert kind == DELIVERIES, (kind, body)
            self.deliveries(body)

    def deliveries(self, body: bytes) -> None:
        count, named, owns = struct.unpack_from("<III", body)
        names = unpack(body[12 : 12 + named])
        at = 12 + named
        numbers = struct.unpack_from(f"<{count}Q", body, at)
        lengths, places, each = (
            struct.unpack_from(f"<{count}I", body, at + (8 + 4 * i) * count) for i in range(3)
        )
        ids = list(struct.unpack_from(f"<{owns}q", body, at + 20 * count))
        at += 20 * count + 8 * owns
        for number, length, place, some in zip(numbers, lengths, places, each, strict=True):
            mine, ids = ids[:some], ids[some:]
            self.got.append((unpack(body[at : at + length]), mine, names[place], number))
            at += length
        self.came += 8 + len(body)
        self.given = self.came + ROOM
        self.send(CREDITS, struct.pack("<Q", self.given))

"""A client: what it wants, what it publishes, and what its broker has acknowledged.

A client gives its subscriptions and advertisements ids, numbers its messages, and keeps them until
they are acknowledged. When its broker comes back, it sends again what is not; when that has lost
its memory, it says afresh all that it wants and advertises.
"""

from collections import deque
from typing import Any, Final, Protocol

from tidegate.overlay.filter import Event
from tidegate.overlay.messages import Acknowledge, Advertise, Change, Entry, Message, Refuse


class Wire(Protocol):
    """How a client reaches its broker."""

    def to_broker(self, client: "Client", message: Change | Advertise) -> None:
        """Send a message, which is lost if the broker is down."""

    def publish(self, client: "Client", number: int, event: Event) -> None:
        """Publish an event."""


class Client:
    """One client of a broker.

    `wanted` and `offered` are its subscriptions and advertisements by id, as it last told them.
    """

    def __init__(self, name: str, home: int, wire: Wire) -> None:
        self.name: Final = name
        self.home: Final = home
        self.wanted: dict[int, Any] = {}
        self.offered: dict[int, Any] = {}
        self.refused: list[str] = []
        self.advertised = 0  # the marker after its last advertisement
        self._wire = wire
        self._next = 1
        self._seq = 0
        self._number = 0
        self._kept: deque[Change | Advertise] = deque()

    def subscribe(self, f: Any) -> int:
        """Want the events that match a filter; the subscription's id."""
        [own] = self.subscribe_many([f])
        return own

    def subscribe_many(self, filters: list[Any]) -> list[int]:
        """Several subscriptions in one message; their ids."""
        entries = tuple(Entry(self._next + i, f) for i, f in enumerate(filters))
        self._next += len(entries)
        self.wanted.update((entry.id, entry.filter) for entry in entries)
        self._send(Change(self._numbered(), add=entries))
        return [entry.id for entry in entries]

    def update(self, own: int, f: Any) -> None:
        """Give a subscription other constants."""
        self.wanted[own] = f
        self._send(Change(self._numbered(), update=(Entry(own, f),)))

    def cancel(self, own: int) -> None:
        """Want something no more."""
        del self.wanted[own]
        self._send(Change(self._numbered(), remove=(own,)))

    def advertise(self, f: Any) -> int:
        """Say what it will publish; the advertisement's id."""
        own = self._next
        self._next += 1
        self.offered[own] = f
        self._send(Advertise(self._numbered(), add=(Entry(own, f),)))
        return own

    def withdraw(self, own: int) -> None:
        """Publish no more of what it has advertised."""
        del self.offered[own]
        self._send(Advertise(self._numbered(), remove=(own,)))

    def publish(self, event: Event) -> None:
        """Publish an event."""
        self._number += 1
        self._wire.publish(self, self._number, event)

    def hear(self, message: Message) -> None:
        """Its broker has answered."""
        if isinstance(message, Acknowledge):
            while self._kept and self._kept[0].seq <= message.seq:
                self._kept.popleft()
        elif isinstance(message, Refuse):
            self.refused.append(message.reason)
            for kept in self._kept:
                if kept.seq == message.seq:
                    self._forget(kept)

    def reconnect(self, *, afresh: bool) -> None:
        """Its broker is there again, with its memory or without."""
        if not afresh:
            for kept in self._kept:
                self._wire.to_broker(self, kept)
            return
        self._kept.clear()
        self._seq = 0
        if self.offered:
            self._send(Advertise(self._numbered(), _entries(self.offered), whole=True))
        self._send(Change(self._numbered(), _entries(self.wanted), whole=True))

    def _forget(self, refused: Change | Advertise) -> None:
        mine = self.wanted if isinstance(refused, Change) else self.offered
        for entry in refused.add:
            mine.pop(entry.id, None)

    def _numbered(self) -> int:
        self._seq += 1
        return self._seq

    def _send(self, message: Change | Advertise) -> None:
        self._kept.append(message)
        self._wire.to_broker(self, message)


def _entries(filters: dict[int, Any]) -> tuple[Entry, ...]:
    return tuple(Entry(own, f) for own, f in filters.items())

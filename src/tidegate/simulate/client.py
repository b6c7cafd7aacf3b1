"""A client: what it wants, what it publishes, and what its broker has acknowledged.

A client gives its subscriptions and advertisements ids, numbers its messages, and keeps them until
they are acknowledged. When its broker comes back, it sends again what is not. When that has lost
its memory, it says afresh, as a whole, all that was accepted, and then what nobody has answered: a
whole is refused as a whole, so nothing may be in it that could be.

Invariant: `wanted` and `offered` are what was accepted, changed by what is under way. What is
refused is in neither, and is not told again.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.messages import Acknowledge, Advertise, Change, Entry, Message, Refuse

_REASONS: Final = 100  # refusals of which a client remembers why


class Wire(Protocol):
    """How a client reaches its broker."""

    def to_broker(self, client: "Client", message: Change | Advertise) -> None:
        """Send a message, which is lost if the broker is down."""

    def publish(self, client: "Client", number: int, event: Event) -> None:
        """Publish an event."""


class Client:
    """One client of a broker.

    `wanted` and `offered` are its subscriptions and advertisements by id, as it last told them;
    `refused` says why the last of its messages and events that were not taken were not.
    """

    def __init__(self, name: str, home: int, wire: Wire) -> None:
        self.name: Final = name
        self.home: Final = home
        self.wanted: dict[int, Filter] = {}
        self.offered: dict[int, Filter] = {}
        self.refused: deque[str] = deque(maxlen=_REASONS)
        self.advertised = 0  # the marker after its last advertisement
        self._wire = wire
        self._next = 1
        self._seq = 0
        self._number = 0
        self._kept: deque[Change | Advertise] = deque()
        self._refused_seqs: set[int] = set()  # those of them that were refused
        self._accepted: dict[type, dict[int, Filter]] = {Change: {}, Advertise: {}}

    def subscribe(self, f: Filter) -> int:
        """Want the events that match a filter; the subscription's id."""
        [own] = self.subscribe_many([f])
        return own

    def subscribe_many(self, filters: Sequence[Filter]) -> list[int]:
        """Several subscriptions in one message; their ids."""
        entries = tuple(Entry(self._next + i, f) for i, f in enumerate(filters))
        self._next += len(entries)
        self._send(Change(self._numbered(), add=entries))
        return [entry.id for entry in entries]

    def update(self, own: int, f: Filter) -> None:
        """Give a subscription other constants."""
        self._send(Change(self._numbered(), update=(Entry(own, f),)))

    def cancel(self, own: int) -> None:
        """Want something no more."""
        self._send(Change(self._numbered(), remove=(own,)))

    def advertise(self, f: Filter) -> int:
        """Say what it will publish; the advertisement's id."""
        own = self._next
        self._next += 1
        self._send(Advertise(self._numbered(), add=(Entry(own, f),)))
        return own

    def withdraw(self, own: int) -> None:
        """Publish no more of what it has advertised."""
        self._send(Advertise(self._numbered(), remove=(own,)))

    def publish(self, event: Event) -> None:
        """Publish an event."""
        self._number += 1
        self._wire.publish(self, self._number, event)

    def hear(self, message: Message) -> None:
        """Its broker has answered."""
        if isinstance(message, Acknowledge):
            while self._kept and self._kept[0].seq <= message.seq:
                self._accept(self._kept.popleft())
        elif isinstance(message, Refuse):
            self.refused.append(message.reason)
            for kept in self._kept:
                if kept.seq == message.seq:
                    self._refused_seqs.add(kept.seq)
                    self._take_back(kept)

    def reconnect(self, *, afresh: bool) -> None:
        """Its broker is there again, with its memory or without."""
        if not afresh:
            for kept in self._kept:
                self._wire.to_broker(self, kept)
            return
        pending = [m for m in self._kept if not m.whole and m.seq not in self._refused_seqs]
        self._kept.clear()
        self._refused_seqs.clear()
        self._seq = 0
        wanted, offered = (_entries(self._accepted[kind]) for kind in (Change, Advertise))
        if offered:
            self._tell(Advertise(self._numbered(), offered, whole=True))
        self._tell(Change(self._numbered(), wanted, whole=True))
        for message in pending:
            self._tell(replace(message, seq=self._numbered()))

    def _accept(self, answered: Change | Advertise) -> None:
        if answered.seq in self._refused_seqs:
            self._refused_seqs.discard(answered.seq)
        else:
            _follow(self._accepted[type(answered)], answered)

    def _take_back(self, refused: Change | Advertise) -> None:
        """Have again what was accepted, changed by what is under way, where a message said else."""
        mine, accepted = self._told(refused), self._accepted[type(refused)]
        named = {*(entry.id for entry in (*refused.add, *refused.update)), *refused.remove}
        for own in named:
            mine.pop(own, None)
        mine.update((own, accepted[own]) for own in sorted(named & accepted.keys()))
        for kept in self._kept:
            if type(kept) is type(refused) and kept.seq not in self._refused_seqs:
                _follow(mine, kept, named)

    def _told(self, message: Change | Advertise) -> dict[int, Filter]:
        return self.wanted if isinstance(message, Change) else self.offered

    def _numbered(self) -> int:
        self._seq += 1
        return self._seq

    def _send(self, message: Change | Advertise) -> None:
        _follow(self._told(message), message)
        self._tell(message)

    def _tell(self, message: Change | Advertise) -> None:
        self._kept.append(message)
        self._wire.to_broker(self, message)


def _follow(
    filters: dict[int, Filter], message: Change | Advertise, only: set[int] | None = None
) -> None:
    """Do to filters what a message says, perhaps only to some; what they lack, it cannot change."""
    for entry in message.add:
        if only is None or entry.id in only:
            filters[entry.id] = entry.filter
    for entry in message.update:
        if entry.id in filters and (only is None or entry.id in only):
            filters[entry.id] = entry.filter
    for own in message.remove:
        if only is None or own in only:
            filters.pop(own, None)


def _entries(filters: dict[int, Filter]) -> tuple[Entry, ...]:
    return tuple(Entry(own, f) for own, f in filters.items())

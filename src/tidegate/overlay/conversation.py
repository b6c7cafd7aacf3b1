"""What has a client told its broker, and what has that answered?

Messages of a client are numbered, and kept until they are acknowledged. When the broker comes back,
what is not is sent again. When it has lost its memory, all that was accepted is said afresh, as a
whole, and then what nobody has answered: a whole is refused as a whole, so nothing may be in it
that could be.

Where events are kept, they are messages among the others, and what the broker delivers is numbered
and acknowledged.

Invariant: `wanted` and `offered` are what was accepted, changed by what is under way. What is
refused is in neither, and is not told again.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.messages import (
    EMPTY,
    Acknowledge,
    Advertise,
    Change,
    Entry,
    Message,
    Publish,
    Refuse,
)

_REASONS: Final = 100  # refusals of which a client remembers why

Told: TypeAlias = Change | Advertise | Publish | Acknowledge
"""What a client says."""
_Kept: TypeAlias = Change | Advertise | Publish


class Conversation:
    """Entries of one client, as it last told them, by id; ids are not given twice.

    `refused` says why the last of its messages and events that were not taken were not.
    """

    def __init__(self, send: Callable[[Told], object]) -> None:
        self.wanted: Final[dict[int, Filter]] = {}
        self.offered: Final[dict[int, Filter]] = {}
        self.refused: Final[deque[str]] = deque(maxlen=_REASONS)
        self._send = send
        self._seq = 0
        self._kept: deque[_Kept] = deque()
        self._heard = 0  # the number of the last delivery
        self._refused_seqs: set[int] = set()  # those of them that were refused
        self._count = 0  # messages told by `tell`
        self._unanswered = 0  # of them
        self._accepted: dict[type, dict[int, Filter]] = {Change: {}, Advertise: {}}

    @property
    def settled(self) -> bool:
        """Whether the broker has answered everything, so that it has what was last told."""
        return not self._kept

    @property
    def said(self) -> int:
        """How many changes of what is wanted, or offered, have been told."""
        return self._count

    def answered(self, said: int) -> bool:
        """Whether the broker has answered the first so many of them."""
        return said <= self._count - self._unanswered

    def tell(self, message: type[Change] | type[Advertise], difference: Difference) -> None:
        """Tell how what is wanted, or offered, has changed."""
        told = message(
            self._numbered(),
            _entries(difference.add),
            _entries(difference.update),
            tuple(difference.remove),
        )
        _follow(self._told(told), told)
        self._count += 1
        self._unanswered += 1
        self._tell(told)

    def publish(self, number: int, event: Event) -> None:
        """Publish an event, and keep it until the broker has it."""
        self._tell(Publish(number, event, seq=self._numbered()))

    def deliver(self, seq: int) -> bool:
        """Something was delivered under this number; whether for the first time."""
        new = seq > self._heard
        self._heard = max(seq, self._heard)
        self._send(Acknowledge(self._heard))
        return new

    def hear(self, message: Message) -> Change | Advertise | None:
        """The broker has answered. What was refused, if anything was."""
        if isinstance(message, Acknowledge):
            while self._kept and self._kept[0].seq <= message.seq:
                self._accept(self._kept.popleft())
        elif isinstance(message, Refuse):
            self.refused.append(message.reason)
            for kept in self._kept:
                if kept.seq == message.seq and not isinstance(kept, Publish):
                    self._refused_seqs.add(kept.seq)
                    self._take_back(kept)
                    return kept
        return None

    def reconnect(self, *, afresh: bool, heard: int = EMPTY) -> None:
        """The broker is there again, with its memory or without.

        One that is told everything afresh may have `heard` a message of this number before.
        """
        if not afresh:
            for kept in self._kept:
                self._send(kept)
            return
        self._heard = 0
        pending = [
            kept
            for kept in self._kept
            if isinstance(kept, Publish) or not (kept.whole or kept.seq in self._refused_seqs)
        ]
        self._kept.clear()
        self._unanswered = sum(not isinstance(kept, Publish) for kept in pending)
        self._refused_seqs.clear()
        self._seq = heard
        wanted, offered = (_entries(self._accepted[kind]) for kind in (Change, Advertise))
        if offered:
            self._tell(Advertise(self._numbered(), offered, whole=True))
        self._tell(Change(self._numbered(), wanted, whole=True))
        for message in pending:
            self._tell(replace(message, seq=self._numbered()))

    def _accept(self, answered: _Kept) -> None:
        if isinstance(answered, Publish):
            return
        self._unanswered -= not answered.whole
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
            if isinstance(kept, Publish) or kept.seq in self._refused_seqs:
                continue
            if type(kept) is type(refused):
                _follow(mine, kept, named)

    def _told(self, message: Change | Advertise) -> dict[int, Filter]:
        return self.wanted if isinstance(message, Change) else self.offered

    def _numbered(self) -> int:
        self._seq += 1
        return self._seq

    def _tell(self, message: _Kept) -> None:
        self._kept.append(message)
        self._send(message)


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

"""Numbered messages to and from one neighbour: each is heard once, in order, and none is lost.

Links are FIFO while they are up, and lose what is under way when they go down. So what was sent is
kept until it is acknowledged. When a link comes up, both sides say how far they have heard the
other one (`Hello`), and what is missing is sent again. A side that has lost its memory says so by
another `life`; then what it lacks cannot be sent again, and it is told everything afresh. Until it
has said what it wants now, the other side goes on saying that it has heard the life before.

Acknowledgements never delay anything: they are for cleaning up, for sending again what stays
unacknowledged for two ticks, and for suspecting a neighbour that is silent for longer. What was
sent again waits longer each time, as long as half of all its waiting: a neighbour may be silent
because it has so much to read.

Where events are kept (`Settings.keep_events`), they are numbered among the other messages, and what
is delivered to a client is, too. With a life, the events that were kept for it are given up: nobody
can say which of them it had handed on.
"""

from collections import deque
from dataclasses import replace
from enum import Enum
from itertools import islice
from typing import Final

from tidegate.overlay.encoding import plain_whole, read_whole
from tidegate.overlay.filter import Kind, Plain
from tidegate.overlay.messages import EMPTY, Advertise, Change, Deliver, Hello, Numbered, Publish

RESEND: Final = 2  # ticks, at least
AGAIN: Final = 100  # messages that are sent again at once: the neighbour may only be slow


class Place(Enum):
    """Where a message stands in what has been heard."""

    NEXT = "next"
    PAST = "past"
    FUTURE = "future"


class Stream:
    """Both directions of one link; the neighbour is a broker or a client."""

    def __init__(self) -> None:
        self.sent = EMPTY  # the number of the last message sent
        self.heard = EMPTY  # the number of the last message heard
        self.heard_life = 0  # of the neighbour, when it sent that
        self.met_life = 0  # of the neighbour, by its last greeting
        self.silence = 0  # ticks since something unacknowledged was last acknowledged or resent
        self.waited = 0  # ticks since anything was acknowledged
        self._kept: deque[Numbered] = deque()
        self._waiting: list[Publish] = []  # between a greeting and what is told afresh

    @property
    def unacknowledged(self) -> list[Numbered]:
        """What the neighbour may not have heard."""
        return list(self._kept)

    def number(self) -> int:
        """The number of the next message."""
        self.sent += 1
        return self.sent

    def keep(self, message: Numbered) -> None:
        """Keep a message until it is acknowledged."""
        self._kept.append(message)

    def place(self, seq: int) -> Place:
        """Where a message that has arrived stands."""
        if seq == self.heard + 1:
            return Place.NEXT
        return Place.PAST if seq <= self.heard else Place.FUTURE

    def hear(self, seq: int) -> None:
        """Have heard the next message."""
        self.heard = seq
        self.heard_life = self.met_life

    def acknowledged(self, seq: int) -> bool:
        """Forget what has been heard. False if that was never sent: it changes nothing."""
        if seq > self.sent:
            return False
        while self._kept and self._kept[0].seq <= seq:
            self._kept.popleft()
            self.silence = self.waited = 0
        return True

    def tick(self) -> list[Numbered]:
        """What is to be sent again, because it has stayed unacknowledged for too long."""
        if not self._kept:
            self.silence = self.waited = 0
            return []
        self.silence += 1
        self.waited += 1
        if self.silence < max(RESEND, self.waited // 2):
            return []
        self.silence = 0
        return list(islice(self._kept, AGAIN))

    def greeted(self, hello: Hello, life: int) -> bool:
        """Follow a neighbour's greeting; whether it has to be told everything afresh."""
        # Who was forgotten may have heard of a stream before this one, with other messages.
        first_meeting, stranger = not self.met_life, self.met_life not in (0, hello.life)
        self.met_life = hello.life
        if hello.life != self.heard_life:
            self.heard = EMPTY
        first = self._kept[0].seq if self._kept else self.sent + 1
        known = hello.heard_life == life and first <= hello.heard + 1 <= self.sent + 1
        known = known and not (first_meeting and hello.heard)
        if known:
            self.acknowledged(hello.heard)
        else:
            self._waiting = [] if stranger else [x for x in self._kept if isinstance(x, Publish)]
            self._kept.clear()
            self.sent = hello.heard if hello.heard_life == life else EMPTY
        self.silence = self.waited = 0
        return not known

    def renumbered(self) -> list[Numbered]:
        """Events that a neighbour has never had, to be sent after all that it is told afresh."""
        found: list[Numbered] = [replace(event, seq=self.number()) for event in self._waiting]
        self._waiting = []
        self._kept.extend(found)
        return found

    def state(self, kind: Kind) -> Plain:
        """All of it as plain data."""
        kept = [_plain(message, kind) for message in self._kept]
        lives = [self.heard_life, self.met_life]
        return [self.sent, self.heard, lives, self.silence, self.waited, kept]

    def restore(self, state: Plain, kind: Kind) -> None:
        """Be as another one was."""
        self.sent, self.heard, lives, self.silence, self.waited, kept = state
        self.heard_life, self.met_life = lives
        self._kept.extend(_read(spelled, kind) for spelled in kept)


def _plain(message: Numbered, kind: Kind) -> Plain:
    if not isinstance(message, Deliver):
        return plain_whole(message, kind)
    owns = list(message.subscriptions)
    event = kind.plain_event(message.event)
    return ["deliver", message.link, event, message.publisher, message.number, owns, message.seq]


def _read(spelled: Plain, kind: Kind) -> Numbered:
    if spelled[0] == "deliver":
        _, link, event, publisher, number, owns, seq = spelled
        return Deliver(link, kind.read_event(event), publisher, number, tuple(owns), seq)
    message = read_whole(spelled, kind)
    assert isinstance(message, Change | Advertise | Publish)
    return message

"""A peer: what to do about an event that came in.

**Theory of operation.** A peer subscribes, publishes and routes at once, and keeps no routing table
(Chand, 2005, section 7.2, Algorithm 21): an event that it hears for the first time and wants is
delivered, and passed on to all neighbours but the one it came from. One that it does not want stops
there. So an event spreads among peers that want much the same, and dies at their border: some get
it who do not want it, and, unless the overlay rules that out, some who want it do not.

Two settings move that border (section 7.4.3). With *indulgence*, an event may be passed on so many
times on its way by peers that do not want it. And to neighbours that were chosen at random, not for
being near, it is passed on only with a probability, *rho*.

A peer may publish what it does not want itself: the first step then takes no indulgence.

As a broker is, a peer is a state machine without I/O, clock or randomness: what falls to chance is
drawn from the event's number and the names of both ends, so that the same inputs have the same
effects. Its state is plain data (`snapshot`, `restore`). Bad input has no effect, and is counted.

Invariant: an event is delivered at most once, only if it matches, and sent at most once on a link,
as long as it is among the last `memory` events that the peer has heard.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event, Filter, Kind, Plain
from tidegate.peers.messages import (
    Deliver,
    Effect,
    Input,
    LinkDown,
    LinkUp,
    Pass,
    Restart,
    Send,
    Tick,
)

FORMAT: Final = 1  # of snapshots


@dataclass(frozen=True, slots=True)
class Settings:
    """How far events go beside the peers that want them; all peers should have the same ones."""

    indulgence: int = 0
    """How many times an event may be passed on, on its way, by peers that do not want it."""
    rho: float = 1.0
    """How probable it is that an event is passed to a neighbour that was chosen at random."""
    memory: int = 65_536
    """How many events a peer knows again."""

    def __post_init__(self) -> None:
        if self.indulgence < 0:
            raise TidegateError(f"indulgence is at least 0, not {self.indulgence}")
        if not 0 <= self.rho <= 1:
            raise TidegateError(f"rho is from 0 to 1, not {self.rho}")
        if self.memory < 1:
            raise TidegateError(f"a peer remembers at least 1 event, not {self.memory}")


class Peer:
    """One peer, which wants what one filter matches.

    Its name differs from all others; a peer that lost its memory comes back under another one.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> ann = Peer("ann", kind, kind.parse("price < 10"))
    >>> for link in ("bob", "cid"):
    ...     assert ann.handle(link, LinkUp()) == []
    >>> for effect in ann.handle("bob", Pass("bob", 1, {"price": 5})):
    ...     print(effect)
    Deliver(event={'price': 5}, publisher='bob', number=1)
    Send(link='cid', message=Pass(publisher='bob', number=1, event={'price': 5}, spare=0))
    >>> ann.handle("cid", Pass("bob", 1, {"price": 5}))
    []
    """

    def __init__(self, name: str, kind: Kind, f: Filter, settings: Settings | None = None) -> None:
        refusal = kind.filter_refusal(f)
        if refusal is not None:
            raise TidegateError(f"the filter cannot be taken: {refusal}")
        self.name: Final = name
        self.kind: Final = kind
        self.filter: Final = f
        self.settings: Final = settings or Settings()
        self.refused = 0  # inputs that had no effect because they were bad
        self._links: dict[str, bool] = {}  # those that are up; whether they are random
        self._seen: dict[tuple[str, int], None] = {}  # oldest first
        self._number = 0  # of the event that was published last

    @property
    def links(self) -> dict[str, bool]:
        """The links that are up, and whether they are random."""
        return dict(self._links)

    def handle(self, link: str, came: Input) -> list[Effect]:
        """What to do about something that came in on a link, in order."""
        match came:
            case LinkUp(random):
                self._links[link] = bool(random)
            case LinkDown():
                self._links.pop(link, None)
            case Restart():
                self._links.clear()
            case Tick():
                pass  # nothing here depends on time
            case Pass() if link in self._links and self._fits(came):
                return self._heard(link, came)
            case _:
                self.refused += 1
        return []

    def publish(self, event: Event) -> list[Effect]:
        """What to do about an event of one's own; it need not be wanted here."""
        refusal = self.kind.event_refusal(event)
        if refusal is not None:
            raise TidegateError(f"the event cannot be taken: {refusal}")
        self._number += 1
        message = Pass(self.name, self._number, event, self.settings.indulgence)
        return [*self._deliver(message), *self._pass_on(None, message)]

    def snapshot(self) -> Plain:
        """The whole state as plain data; what is restored from it has the same future."""
        return [
            FORMAT,
            self.name,
            self.kind.plain(self.filter),
            [self.settings.indulgence, self.settings.rho, self.settings.memory],
            self.refused,
            dict(self._links),
            [list(seen) for seen in self._seen],
            self._number,
        ]

    @classmethod
    def restore(cls, kind: Kind, plain: Plain) -> "Peer":
        """The peer whose snapshot this is."""
        if not isinstance(plain, list) or plain[:1] != [FORMAT]:
            raise TidegateError("this is no snapshot of a peer in a format that is known")
        _, name, f, settings, refused, links, seen, number = plain
        peer = cls(name, kind, kind.read(f), Settings(*settings))
        peer.refused = refused
        peer._links.update(links)
        peer._seen.update(((publisher, each), None) for publisher, each in seen)
        peer._number = number
        return peer

    def _fits(self, came: Pass) -> bool:
        """Whether a message is formed as one; a peer does not believe whoever speaks to it."""
        return (
            _is_name(came.publisher)
            and _is_count(came.number)
            and _is_count(came.spare)
            and self.kind.event_refusal(came.event) is None
        )

    def _heard(self, link: str, message: Pass) -> list[Effect]:
        # one's own event has come back, or somebody uses this peer's name
        if message.publisher == self.name or not self._remember(message):
            return []
        delivered = self._deliver(message)
        if delivered:
            return [*delivered, *self._pass_on(link, message)]
        spare = min(message.spare, self.settings.indulgence)
        if not spare:
            return []
        indulged = Pass(message.publisher, message.number, message.event, spare - 1)
        return self._pass_on(link, indulged)

    def _remember(self, message: Pass) -> bool:
        """Whether the event is new; from now on it is not."""
        key = message.publisher, message.number
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self.settings.memory:
            del self._seen[next(iter(self._seen))]
        return True

    def _deliver(self, message: Pass) -> list[Effect]:
        if not self.filter.matches(message.event):
            return []
        return [Deliver(message.event, message.publisher, message.number)]

    def _pass_on(self, source: str | None, message: Pass) -> list[Effect]:
        return [
            Send(link, message)
            for link, random in self._links.items()
            if link != source and (not random or self._drawn(link, message) < self.settings.rho)
        ]

    def _drawn(self, link: str, message: Pass) -> float:
        return drawn(self.name, link, message.publisher, message.number)


def drawn(*about: object) -> float:
    """A number from 0 to below 1 that falls to what it is about, the same each time.

    >>> drawn("ann", 1) == drawn("ann", 1) != drawn("ann", 2)
    True
    """
    return int.from_bytes(blake2b(repr(about).encode(), digest_size=6).digest()) / 2**48


def _is_name(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0

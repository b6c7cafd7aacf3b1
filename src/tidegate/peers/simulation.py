"""What happens in a network of peers that find each other?

Peers on the simulator's clock. What one sends to another arrives in order, each pair of peers with
a delay of its own that is drawn, and may be lost. A link has a number: what is said about the end
of one that has been opened anew since does not concern the new one. When a peer crashes, those it
was linked to are told by the end of their links, one delay later. Peers are told that time passes
all at once.

Who wanted an event is known by asking every filter, as in `network`.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from random import Random
from typing import Any, Final, Generic, Protocol, TypeVar

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.peers.messages import (
    Connect,
    Contacts,
    Deliver,
    Disconnect,
    Effect,
    Gone,
    LinkDown,
    LinkUp,
    Pass,
    Restart,
    Seek,
    Send,
    Tick,
)
from tidegate.peers.near_messages import Candidate
from tidegate.peers.network import Spread
from tidegate.peers.tree_messages import Hand, Relay
from tidegate.simulate.clock import Clock

TICK: Final = 1_000
"""How much of the clock's time there is between two ticks."""
EVENTS: Final = (Pass, Relay, Hand)
"""Messages that carry an event."""
_CONTACTS: Final = 3  # how many peers are named to somebody who seeks


class Finding(Protocol):
    """A peer that finds others: what both overlays have in common."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def filter(self) -> Filter:
        """What it wants."""

    @property
    def settled(self) -> bool:
        """Whether it has its place, and nothing is under way here."""

    def start(self, contacts: tuple[str, ...] = ()) -> list[Effect]:
        """Join by way of peers that are there."""

    def leave(self, *, full: bool = False) -> list[Effect]:
        """Leave."""

    def publish(self, event: Event) -> list[Effect]:
        """What to do about an event of one's own."""

    def handle(self, link: str, came: Any) -> list[Effect]:
        """What to do about something that came in on a link."""


P = TypeVar("P", bound=Finding)


class Simulation(Generic[P]):
    """A network of peers, made by `make` of a name and a filter.

    `delay` is the most that a message takes, of which each pair of peers has a share that is drawn;
    `loss` is the share of messages that are lost. The seed decides all that is drawn.
    """

    def __init__(
        self,
        kind: Kind,
        make: Callable[[str, Filter], P],
        *,
        seed: int = 1,
        delay: int = 100,
        loss: float = 0.0,
    ) -> None:
        if delay < 1 or not 0 <= loss < 1:
            raise TidegateError("a delay is at least 1, and a loss from 0 to below 1")
        self.clock: Final = Clock()
        self.kind: Final = kind
        self.peers: Final[dict[str, P]] = {}
        self.messages: Final[Counter[str]] = Counter()
        self.bytes: Final[Counter[str]] = Counter()
        self.lost = 0
        self.watch: Callable[[], object] = lambda: None
        self._make = make
        self._draw: Final = Random(seed)
        self.loss = loss
        self._delay = delay
        self._lanes: dict[tuple[str, str], list[int]] = {}  # delay, and when the last one arrives
        self._links: dict[tuple[str, str], int] = {}  # as one side sees it: the number of the link
        self._closed: dict[tuple[str, str], int] = {}  # the newest link that was closed here
        self._opened = 0
        self._moving = 0  # messages under way
        self._spread: _Counted | None = None

    # -- what may be done to it

    def join(self, name: str, f: Filter, contact: str | None = None) -> None:
        """Let a peer join, by way of one that is there; the first one is by itself."""
        if name in self.peers:
            raise TidegateError(f"there is a peer {name!r} already")
        there = [other for other in self.peers if self.peers[other].settled] or list(self.peers)
        if contact is None and there:
            contact = self._draw.choice(there)
        self.peers[name] = self._make(name, f)
        contacts = () if contact is None else (contact,)
        self._do(name, self.peers[name].start(contacts))

    def leave(self, name: str, *, full: bool = False) -> None:
        """Let a peer leave."""
        self._do(name, self._peer(name).leave(full=full))

    def crash(self, name: str) -> None:
        """Let a peer fail; the others notice when their links to it end."""
        self._peer(name)
        self._end(name)

    def restart(self, peer: P) -> None:
        """Let a peer that crashed, or was restored, run again."""
        self.peers[peer.name] = peer
        self._do(peer.name, peer.handle(peer.name, Restart()))

    def publish(self, name: str, event: Event) -> Spread:
        """Let a peer publish an event, and wait until it has gone as far as it goes."""
        wanted = {each for each, peer in self.peers.items() if peer.filter.matches(event)}
        counted = self._spread = _Counted()
        self._do(name, self._peer(name).publish(event))
        while counted.under_way:
            self.run(1)
        self._spread = None
        delivered = tuple(each for each in counted.delivered if each != name)
        reached = frozenset(counted.reached - {name})
        return Spread(frozenset(wanted - {name}), delivered, reached, counted.messages)

    def run(self, ticks: int) -> None:
        """Let time pass."""
        for _ in range(ticks):
            for name in list(self.peers):
                if name in self.peers:
                    self._do(name, self.peers[name].handle(name, Tick()))
            self.clock.run(self.clock.now + TICK)
            self.watch()

    def settle(self, most: int = 2_000) -> int:
        """Let time pass until every peer has its place and no message is under way; how long."""
        for ticks in range(most):
            if not self._moving and all(peer.settled for peer in self.peers.values()):
                return ticks
            self.run(1)
        raise TidegateError(f"peers are not at rest after {most} ticks")

    # -- how it moves

    def _end(self, name: str) -> None:
        """Take out a peer, and end its links."""
        del self.peers[name]
        others = {here for here, there in self._links if there == name}
        others |= {there for here, there in self._links if here == name}
        for other in sorted(others):
            self._links.pop((name, other), None)
            self._later(name, other, ("down", self._opened))

    def _peer(self, name: str) -> P:
        if name not in self.peers:
            raise TidegateError(f"there is no peer {name!r}")
        return self.peers[name]

    def _do(self, name: str, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(link, message):
                    self._sent(name, link, message)
                case Deliver():
                    if self._spread is not None:
                        self._spread.delivered.append(name)
                case Connect(link):
                    if (name, link) not in self._links:
                        self._opened += 1
                        self._links[name, link] = self._opened
                        self._later(name, link, ("up", self._opened))
                case Disconnect(link):
                    number = self._links.pop((name, link), None)
                    if number is not None:
                        self._closed[name, link] = number
                        self._later(name, link, ("down", number))
                case Seek():
                    others = sorted(self.peers.keys() - {name})
                    found = self._draw.sample(others, min(_CONTACTS, len(others)))
                    self._later(name, name, Contacts(tuple(found)))
                case Gone():
                    self._end(name)

    def _sent(self, name: str, link: str, message: Any) -> None:
        self.messages[type(message).__name__] += 1
        self.bytes[type(message).__name__] += size_of(message, self.kind)
        counted = self._spread if isinstance(message, EVENTS) else None
        if counted is not None:
            counted.messages += 1
        if self.loss and self._draw.random() < self.loss:
            self.lost += 1
            return
        if counted is not None:
            counted.under_way += 1
        self._later(name, link, message)

    def _later(self, name: str, link: str, what: Any) -> None:
        lane = self._lanes.get((name, link))
        if lane is None:
            lane = self._lanes[name, link] = [self._draw.randint(1, self._delay), 0]
        lane[1] = max(lane[1], self.clock.now + lane[0])
        self._moving += 1
        self.clock.at(lane[1], self._arrive, (name, link, what))

    def _arrive(self, arrived: tuple[str, str, Any]) -> None:
        source, name, what = arrived
        self._moving -= 1
        counted = self._spread if isinstance(what, EVENTS) else None
        if counted is not None:
            counted.under_way -= 1
        if name not in self.peers:
            if isinstance(what, tuple) and what[0] == "up":  # nobody is there
                self._later(name, source, ("down", what[1]))
            return
        if counted is not None:
            counted.reached.add(name)
        if isinstance(what, tuple):
            self._linked(source, name, *what)
        else:
            self._do(name, self.peers[name].handle(source, what))

    def _linked(self, source: str, name: str, way: str, number: int) -> None:
        known = self._links.get((name, source))
        if way == "up":
            if number < self._closed.get((name, source), 0):
                return  # it was opened from both sides, and has been closed here since
            self._links[name, source] = max(number, known or 0)
            if known is None:
                self._do(name, self.peers[name].handle(source, LinkUp()))
        elif known is not None and known <= number:
            del self._links[name, source]
            self._do(name, self.peers[name].handle(source, LinkDown()))


def size_of(message: Any, kind: Kind) -> int:
    """How many bytes a message takes, about: its parts as they would be written, with separators.

    >>> from tidegate.overlay.attributes import Attributes
    >>> size_of(Pass("ann", 12, {"price": 5}), Attributes())
    25
    """
    total = 2
    for field in fields(message):
        value = getattr(message, field.name)
        if field.name == "filter":
            total += value.size
        elif field.name == "event":
            total += kind.event_size(value)
        elif field.name == "passed":
            total += size_of(value, kind)
        elif isinstance(value, tuple):
            total += sum(_part(each) for each in value)
        else:
            total += _part(value) - 1
        total += 1
    return total


def _part(value: Any) -> int:
    if isinstance(value, Candidate):
        return len(value.name) + 13
    return len(str(value)) + (1 if isinstance(value, int) else 3)


class _Counted:
    """What is seen of one event while it spreads."""

    def __init__(self) -> None:
        self.messages = self.under_way = 0
        self.reached: set[str] = set()
        self.delivered: list[str] = []

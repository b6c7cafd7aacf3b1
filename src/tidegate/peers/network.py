"""What happens in a whole network of peers?

Peers and links on the simulator's clock. A link carries messages in order, each way, and each link
has a delay of its own; nothing is lost. Who wanted an event is known by asking every filter, so
that it can be told who got it in vain (a *false positive*), and who did not get it (a *false
negative*): the two figures of Chand (2005), chapter 9.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.peers.messages import Deliver, Effect, LinkUp, Pass, Send
from tidegate.peers.neighbourhood import Links
from tidegate.peers.peer import Peer, Settings
from tidegate.simulate.clock import Clock


@dataclass(frozen=True, slots=True)
class Spread:
    """What became of one event; names of peers, its publisher not among them."""

    wanted: frozenset[str]
    """Who wants it."""
    delivered: tuple[str, ...]
    """Who was handed it, in order; nobody twice, if peers do as they should."""
    reached: frozenset[str]
    """Who heard of it."""
    messages: int
    """How many times it was sent from a peer to another one."""

    @property
    def in_vain(self) -> frozenset[str]:
        """The false positives: who heard of it, and does not want it."""
        return self.reached - self.wanted

    @property
    def missed(self) -> frozenset[str]:
        """The false negatives: who wants it, and did not hear of it."""
        return self.wanted - self.reached


class PeerNetwork:
    """Peers, linked.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> limits = {"ann": 10, "bob": 5, "cid": 1, "dan": 7}
    >>> peers = {name: kind.parse(f"price < {limit}") for name, limit in limits.items()}
    >>> links = {("ann", "bob"): False, ("bob", "cid"): False, ("cid", "dan"): False}
    >>> spread = PeerNetwork(kind, peers, links).publish("ann", {"price": 3})
    >>> sorted(spread.delivered), sorted(spread.in_vain), sorted(spread.missed)
    (['bob'], ['cid'], ['dan'])
    """

    def __init__(
        self,
        kind: Kind,
        peers: Mapping[str, Filter],
        links: Links,
        settings: Settings | None = None,
        delay: Callable[[], int] | None = None,
        make: Callable[[str, Kind, Filter, Settings], Peer] = Peer,
    ) -> None:
        self.clock: Final = Clock()
        self.peers: Final = {
            name: make(name, kind, f, settings or Settings()) for name, f in peers.items()
        }
        self._delays: dict[tuple[str, str], int] = {}
        self._delay = delay or (lambda: 1)
        self._messages = 0
        self._reached: set[str] = set()
        self._delivered: list[str] = []
        for (name, other), random in links.items():
            self._connect(name, other, random=random)

    def publish(self, publisher: str, event: Event) -> Spread:
        """Let a peer publish an event, and wait until nothing moves any more."""
        self._messages, self._reached, self._delivered = 0, set(), []
        wanted = {name for name, peer in self.peers.items() if peer.filter.matches(event)}
        self._do(publisher, self.peers[publisher].publish(event))
        self.clock.run()
        return Spread(
            frozenset(wanted - {publisher}),
            tuple(name for name in self._delivered if name != publisher),
            frozenset(self._reached - {publisher}),
            self._messages,
        )

    def _connect(self, name: str, other: str, *, random: bool) -> None:
        if name == other or not {name, other} <= self.peers.keys():
            raise TidegateError(f"there is no link from {name!r} to {other!r}")
        for here, there in ((name, other), (other, name)):
            self._delays[here, there] = self._delay()
            self.peers[here].handle(there, LinkUp(random))

    def _do(self, name: str, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Deliver):
                self._delivered.append(name)
                continue
            if isinstance(effect, Send):
                self._messages += 1
                arrival = self.clock.now + self._delays[name, effect.link]
                self.clock.at(arrival, self._arrive, (name, effect.link, effect.message))

    def _arrive(self, what: tuple[str, str, Pass]) -> None:
        source, name, message = what
        self._reached.add(name)
        self._do(name, self.peers[name].handle(source, message))


def random_delays(seed: int, most: int = 1_000) -> Callable[[], int]:
    """A delay for each link and way, drawn alike from 1 to the most, in the clock's unit."""
    draw = Random(seed)
    return lambda: draw.randint(1, most)

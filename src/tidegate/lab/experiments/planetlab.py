"""What happens in a network across the Internet when consumers come and routers fail?

The deployment of Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005),
section 6.2.5, in the simulator: a producer, 9 routers and 12 consumer nodes in a tree like that of
its Fig. 6.18, which is a picture. Links have the delays of Table 6.9 (mean 54.1 ms, standard
deviation 28.2 ms but for the link within one LAN, 123.67 ms from b6 to b2, 8.47 ms from b2 to b5);
which link has which of the others is our choice. Times of brokers are those of the cost model, so
every run gives the same.

A larger population begins with the smaller one. So what is tried on one leaves it as it was
(`lab.aside`), and the next one grows from it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from random import Random
from typing import Final, TypeVar

from tidegate.lab.aside import FORKS, aside
from tidegate.lab.experiments.xroute_overlay import Consumers
from tidegate.overlay.filter import Event
from tidegate.overlay.messages import Change, Deliver, Message
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.simulate.cost import DOCUMENT, CostModel
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import Edge, Topology, with_parents

T = TypeVar("T")

PRODUCER: Final = "b1"
LAN: Final = ("b3", "b8")  # the link that Table 6.9 leaves out
LINKS: Final = {
    "b2": ("b1", 24.81),
    "b3": ("b1", 84.81),
    "b4": ("b1", 66.81),
    "b5": ("b2", 8.47),
    "b6": ("b2", 123.67),
    "b7": ("b3", 20.79),
    "b8": ("b3", 0.5),
    "b9": ("b5", 38.81),
    "b10": ("b5", 80.81),
    "b11": ("b6", 46.81),
    "b12": ("b6", 28.81),
    "b13": ("b7", 58.81),
    "b14": ("b7", 42.81),
    "b15": ("b4", 84.82),
    "b16": ("b4", 34.81),
    "b17": ("b4", 76.81),
    "b18": ("b8", 32.81),
    "b19": ("b8", 20.81),
    "b20": ("b18", 62.81),
    "b21": ("b19", 72.81),
    "b22": ("b19", 70.81),
}
"""Each broker's parent, and the delay of the link between them, in ms."""
BACKUPS: Final = {1: {"b18": ["b3"], "b19": ["b3"]}, 2: {"b18": ["b7"], "b19": ["b2"]}}
"""Whom 18 and 19 turn to when 8 dies, in the two scenarios of Fig. 6.21."""
NONE: Final[Mapping[str, Sequence[str]]] = {}
PATIENCE, FORGET = 3, 6  # ticks of a second
PAUSE: Final = 0.25  # seconds, twice the slowest link


def tree(backups: Mapping[str, Sequence[str]] = NONE) -> Topology:
    """The tree of Fig. 6.18, with these backups.

    >>> len(tree().names)
    22
    """
    edges = tuple(Edge(parent, name, ms / 1e3) for name, (parent, ms) in LINKS.items())
    return with_parents(Topology((PRODUCER, *LINKS), edges), PRODUCER, backups)


def homes() -> list[str]:
    """The 12 brokers that have consumers: nobody is below them."""
    inner = {parent for parent, _ in LINKS.values()}
    return [name for name in LINKS if name not in inner]


def way(home: str) -> float:
    """The delay of all links between the producer and a broker, in ms.

    >>> way("b9")
    72.09
    """
    if home == PRODUCER:
        return 0.0
    parent, delay = LINKS[home]
    return round(delay + way(parent), 2)


class Deployment:
    """The network with a population of consumers, each with one pattern."""

    def __init__(
        self,
        consumers: Consumers,
        population: int,
        backups: Mapping[str, Sequence[str]] = NONE,
    ) -> None:
        kind = Patterns()
        settings = Settings(
            advertisements=True, patience=PATIENCE, forget=FORGET if backups else None
        )
        costs = CostModel(content=DOCUMENT)
        self.net: Final = Network(
            tree(backups), kind, Choice("xroute"), settings, Setup(check="off"), costs
        )
        self.reached: dict[str, float] = {}  # brokers that have handed on an event, and when
        self.handed = 0.0  # when the last event was
        self._random = Random(7)
        self._consumers = consumers
        self._clients = [
            self.net.client(f"c{number}", home, handler=partial(self._hand, home))
            for number, home in enumerate(homes())
        ]
        self._producer = self.net.client("producer", PRODUCER)
        self._producer.advertise(kind.parse("/*"))
        self.net.run()
        self.population = 0
        self.grow(population)

    # -- consumers and events

    def grow(self, population: int) -> None:
        """Let consumers arrive, one after the other, until there are so many."""
        while self.population < population:
            self.arrive()
            self.net.run()
            self.population += 1

    def arrive(self) -> None:
        """Another consumer registers a pattern."""
        self._random.choice(self._clients).subscribe(self._consumers.draw()[1])

    def publish(self, document: str) -> list[tuple[float, float]]:
        """How long an event takes to each node with consumers that want it, and links of that."""
        began = self.net.now
        self.reached.clear()
        self._producer.publish(document)
        self.net.run()
        return [((when - began) * 1e3, way(home)) for home, when in self.reached.items()]

    def register(self) -> tuple[float, float]:
        """How long it takes to register a pattern and then cancel it, and links of that, in ms."""
        client = self._random.choice(self._clients)
        own: list[int] = []
        f = self._consumers.draw()[1]
        took = self._until_told(lambda: own.append(client.subscribe(f)))
        client.cancel(own[0])
        self.net.run()
        return took, way(homes()[self._clients.index(client)])

    def cancel(self) -> tuple[float, float]:
        """How long it takes to cancel any pattern; it is registered again. And links of that."""
        client = self._random.choice([each for each in self._clients if each.wanted])
        own = self._random.choice(list(client.wanted))
        f = client.wanted[own]
        took = self._until_told(lambda: client.cancel(own))
        client.subscribe(f)
        self.net.run()
        return took, way(homes()[self._clients.index(client)])

    # -- the least and the most

    def wildcards(self) -> list[float]:
        """How long it takes a consumer of each node to register what matches everything, in ms."""
        return [self._until_told(partial(client.subscribe, "/*")) for client in self._clients]

    def burst(self, documents: Sequence[str]) -> float:
        """The seconds from the first of many events, published at once, to the last delivery."""
        began = self.net.now
        for document in documents:
            self._producer.publish(document)
        self.net.run()
        return self.handed - began

    def register_burst(self, home: str, texts: Sequence[str]) -> float:
        """The seconds until all is told of many patterns, registered at once at a node."""
        client = self._clients[homes().index(home)]
        return self._until_told(lambda: [client.subscribe(text) for text in texts]) / 1e3

    # -- failures

    def crash(self, router: str, seconds: int) -> float:
        """Crash a router for so long, while consumers arrive; how long the recovery takes then."""
        net, began = self.net, self.net.now
        net.crash(router)
        for second in range(seconds):
            net.run(began + second)
            self.arrive()
        net.run(began + seconds)
        net.restart(router)
        net.run()
        return net.now - began - seconds

    def lose(self, router: str) -> float:
        """Lose a router for good; how long it takes until all is right, but for waiting.

        That is the time in which messages arrive: pauses of a quarter of a second and more are
        those in which brokers wait for ticks.
        """
        net, began = self.net, self.net.now
        arrived: list[float] = []
        net.watch(lambda start, end, message: arrived.append(net.now))
        below = [name for name, (parent, _) in LINKS.items() if parent == router]
        assert all(router in net.nodes[name].broker.routing.links for name in below)
        net.die(router)
        net.run(began + 4 * FORGET)
        net.run()
        net.watch(None)
        assert not any(router in node.broker.routing.links for node in net.nodes.values())
        steps = (later - sooner for sooner, later in pairwise(arrived))
        return sum(step for step in steps if step < PAUSE)

    # -- what is known of it

    def busiest(self) -> float:
        """The seconds that the broker which has worked longest has spent on events."""
        return max(node.done.carrying for node in self.net.nodes.values()) / 1e9

    def _hand(self, home: str, _: Event, owns: tuple[int, ...]) -> None:
        if owns:
            self.reached.setdefault(home, self.net.now)
            self.handed = self.net.now

    def _until_told(self, what: Callable[[], object]) -> float:
        """Do something; the time until the last change arrives that it brings about, in ms."""
        arrived: list[float] = []

        def note(start: str, end: str, message: Message | Deliver) -> None:
            if isinstance(message, Change):
                arrived.append(self.net.now)

        began = self.net.now
        self.net.watch(note)
        what()
        self.net.run()
        self.net.watch(None)
        return (max(arrived, default=began) - began) * 1e3


# -- what is tried

_grown: Final[dict[tuple[int, int], Deployment]] = {}
"""By seed and scenario of backups, the one that was grown last."""


def tried(seed: int, population: int, scenario: int, what: Callable[[Deployment], T]) -> T:
    """What comes of something in a network with this population; scenario 0 has no backups."""
    backups = BACKUPS.get(scenario, NONE)
    if not FORKS:
        return what(Deployment(Consumers(seed), population, backups))
    there = _grown.get((seed, scenario))
    if there is None or there.population > population:
        for other in [key for key in _grown if key[0] != seed or key[1] == scenario]:
            del _grown[other]
        there = _grown[seed, scenario] = Deployment(Consumers(seed), 0, backups)
    there.grow(population)
    return aside(lambda: what(there))

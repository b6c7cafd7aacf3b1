"""What do the routers of the thesis do, without links between them?

64 brokers in a transit-stub network with only a queue between them, one producer that advertises
every document, and 24 consumer nodes at the edge, which are brokers, too (Chand, "Large scale
diffusion of information in Publish/Subscribe systems", 2005, section 6.2.3); what consumers
register there, and the CPU times of brokers. Which routers have consumer nodes is drawn, so some
have several: line 2191 of the text says no more than "at the edges".

Patterns end in a named element at least three nodes deep, `//` counted as one (the *m* of Table
6.1): the generator of the thesis is not printed, and where patterns may end in `*`, one of the
first thousand covers all others, which its tables exclude.
"""

import re
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple

from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import (
    Advertise,
    Change,
    Deliver,
    Entry,
    LinkUp,
    Message,
    Publish,
    Send,
)
from tidegate.overlay.pattern_filter import PatternFilter
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.overlay.work import NEWS
from tidegate.simulate.size import Sizes
from tidegate.simulate.topology import transit_stub

LEAST: Final = 3  # nodes above and at a leaf


class Told(NamedTuple):
    """What it took to tell all brokers of something: CPU seconds of all of them, and of each that
    took it for a registration, and for which kind of them.
    """

    seconds: float
    kinds: list[tuple[str, float]]


@dataclass
class Way:
    """What became of a document: whom it was delivered to, and how long routers took.

    Consumer nodes, whose tables are the same by all protocols, have no part in that.
    """

    delivered: dict[int, set[int]] = field(default_factory=dict)
    delays: list[float] = field(default_factory=list)  # until it reached each consumer node
    busiest: float = 0.0


class Overlay:
    """64 routers, a producer at one of them, and 24 consumer nodes at some that have one neighbour.

    Each consumer node has one client, which registers for all of its consumers.
    """

    CONSUMERS = 24

    def __init__(self, policy: str) -> None:
        self.kind = Patterns()
        self.changes = self.bytes = 0
        self._sizes = Sizes(self.kind)
        topology = transit_stub(1, 4, 3, 5, seed=8)
        settings = Settings(advertisements=True)
        links = [(edge.first, edge.second) for edge in topology.edges]
        ends = Counter(end for link in links for end in link)
        edge_routers = [name for name in topology.names if ends[name] == 1]
        self.producer = topology.names[0]
        self.homes = [f"consumers{number}" for number in range(self.CONSUMERS)]
        self._consumer_nodes = {name: number for number, name in enumerate(self.homes)}
        draw = Random(8)
        links += [(draw.choice(edge_routers), home) for home in self.homes]
        self.brokers = {
            name: Broker(name, self.kind, Choice(policy), settings)
            for name in (*topology.names, *self.homes)
        }
        self._waiting: deque[tuple[str, str, Message | LinkUp]] = deque()
        self._seqs = [0] * self.CONSUMERS
        self._next = 0
        self._number = 0
        self.registered: list[dict[int, PatternFilter]] = [{} for _ in self.homes]
        for one, other in links:
            self._waiting.append((one, other, LinkUp(client=False)))
            self._waiting.append((other, one, LinkUp(client=False)))
        for name in (*self.homes, self.producer):
            self._waiting.append((name, "client", LinkUp(client=True)))
        self._settle()
        everything = Entry(1, self.kind.parse("/*"))
        self._waiting.append((self.producer, "client", Advertise(1, (everything,))))
        self._settle()

    # -- what consumers do

    def register(self, consumer: int, f: PatternFilter) -> int:
        """Register a pattern; its id."""
        return self.register_timed(consumer, f)[0]

    def register_many(self, registered: Iterable[tuple[int, PatternFilter]]) -> None:
        """Register patterns at consumers, those of one in one message."""
        entries: dict[int, list[Entry]] = {}
        for consumer, f in registered:
            self._next += 1
            self.registered[consumer][self._next] = f
            entries.setdefault(consumer, []).append(Entry(self._next, f))
        for consumer, own in entries.items():
            self._change(consumer, Change(self._seq(consumer), add=tuple(own)))

    def register_timed(self, consumer: int, f: PatternFilter) -> tuple[int, Told]:
        """Register a pattern; its id, and what that took."""
        self._next += 1
        self.registered[consumer][self._next] = f
        told = self._change(consumer, Change(self._seq(consumer), add=(Entry(self._next, f),)))
        return self._next, told

    def cancel(self, consumer: int, own: int) -> float:
        """Cancel a registration; the seconds that all brokers take for that."""
        del self.registered[consumer][own]
        return self._change(consumer, Change(self._seq(consumer), remove=(own,))).seconds

    def any_of(self, random: Random) -> tuple[int, int, PatternFilter]:
        """A registration at random."""
        consumer = random.choice([i for i, each in enumerate(self.registered) if each])
        own = random.choice(list(self.registered[consumer]))
        return consumer, own, self.registered[consumer][own]

    def publish(self, document: str) -> Way:
        """Let the producer publish a document."""
        self._number += 1
        way = Way()
        waiting = deque([(self.producer, "client", Publish(self._number, document), 0.0)])
        while waiting:
            name, link, came, before = waiting.popleft()
            start = time.process_time()
            effects = self.brokers[name].handle(link, came)
            took = time.process_time() - start
            if name not in self._consumer_nodes:
                way.busiest = max(way.busiest, took)
            else:
                way.delays.append(before)
            for effect in effects:
                if isinstance(effect, Deliver):
                    way.delivered[self._consumer_nodes[name]] = set(effect.subscriptions)
                elif isinstance(effect, Send) and isinstance(effect.message, Publish):
                    waiting.append((effect.link, name, effect.message, before + took))
        return way

    # -- what is known of it

    def expected(self, document: str) -> dict[int, set[int]]:
        """Who wants a document, asking one pattern after the other."""
        found = {
            consumer: {own for own, f in wanted.items() if f.matches(document)}
            for consumer, wanted in enumerate(self.registered)
        }
        return {consumer: own for consumer, own in found.items() if own}

    def tables(self, *, homes: bool = False) -> list[int]:
        """How many filters the routers have that have some; or the consumer nodes."""
        found = []
        for name, broker in self.brokers.items():
            links = broker.routing.links
            filters = {f for link in links for f in broker.routing.wanted.of(link).values()}
            if filters and (name in self._consumer_nodes) is homes:
                found.append(len(filters))
        return found

    def counted(self) -> int:
        """How many registrations the producer's broker counts."""
        routing = self.brokers[self.producer].routing
        return sum(
            routing.wanted.counts((link, own)).all
            for link in routing.links
            for own in routing.wanted.of(link)
        )

    # -- messages

    def _seq(self, consumer: int) -> int:
        self._seqs[consumer] += 1
        return self._seqs[consumer]

    def _change(self, consumer: int, change: Change) -> Told:
        self._waiting.append((self.homes[consumer], "client", change))
        return self._settle()

    def _settle(self) -> Told:
        whole, kinds = 0.0, list[tuple[str, float]]()
        while self._waiting:
            name, link, came = self._waiting.popleft()
            tally = self.brokers[name].tally
            before = [getattr(tally, kind) for kind in NEWS]
            start = time.process_time()
            effects = self.brokers[name].handle(link, came)
            took = time.process_time() - start
            whole += took
            for kind, was in zip(NEWS, before, strict=True):
                kinds += [(kind, took)] * (getattr(tally, kind) - was)
            for effect in effects:
                if isinstance(effect, Send) and effect.link != "client":
                    self._say(effect.message, name, effect.link)
        return Told(whole, kinds)

    def _say(self, message: Message, start: str, end: str) -> None:
        if isinstance(message, Change):
            self.changes += 1
            self.bytes += self._sizes.of(message)
        self._waiting.append((end, start, message))


class Consumers:
    """What consumers register, one after the other: at whom, and what."""

    def __init__(self, seed: int) -> None:
        self._source = PatternSource(news(), PatternChoices(), seed)
        self._random = Random(seed)
        self._kind = Patterns()
        self._known: dict[str, PatternFilter] = {}

    def draw(self) -> tuple[int, PatternFilter]:
        """A consumer, by number, and a pattern."""
        text = self._source.draw().text
        while not fits_the_thesis(text):
            text = self._source.draw().text
        if text not in self._known:
            self._known[text] = self._kind.parse(text)
        return self._random.randrange(Overlay.CONSUMERS), self._known[text]


def fits_the_thesis(text: str) -> bool:
    """Whether all leaves are named, and deep enough."""
    depth, open_ones, before = 0, [0], ""
    for piece in [*re.findall(r"//|[/\[\]]|[^/\[\]]+", text), "]"]:
        if piece == "]":
            if before == "*" or (before != "]" and depth < LEAST):
                return False
            depth = open_ones.pop()
        elif piece == "[":
            open_ones.append(depth)
        elif piece not in ("/", "."):
            depth += 1
        before = piece
    return True

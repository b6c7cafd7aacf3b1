"""What do the routers of the thesis do, without links between them?

64 brokers in a transit-stub network with only a queue between them, one producer that advertises
every document, and 24 consumers at the edge (Chand, "Large scale diffusion of information in
Publish/Subscribe systems", 2005, section 6.2.3); what consumers register there, and the CPU times
of brokers.

Patterns end in a named element at least three nodes deep, `//` counted as one (the *m* of Table
6.1): the generator of the thesis is not printed, and where patterns may end in `*`, one of the
first thousand covers all others, which its tables exclude.
"""

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

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
from tidegate.simulate.size import Sizes
from tidegate.simulate.topology import transit_stub

LEAST: Final = 3  # nodes above and at a leaf


@dataclass
class Way:
    """What became of a document: whom it was delivered to, and how long routers took."""

    delivered: dict[int, set[int]] = field(default_factory=dict)
    delays: list[float] = field(default_factory=list)  # of each consumer that it reached
    busiest: float = 0.0


class Overlay:
    """64 brokers, a producer at one of them, and 24 consumers at leaves."""

    CONSUMERS = 24

    def __init__(self, policy: str) -> None:
        self.kind = Patterns()
        self.changes = self.bytes = 0
        self._sizes = Sizes(self.kind)
        topology = transit_stub(1, 4, 3, 5, seed=8)
        settings = Settings(advertisements=True)
        self.brokers = {
            name: Broker(name, self.kind, Choice(policy), settings) for name in topology.names
        }
        ends: dict[str, int] = dict.fromkeys(topology.names, 0)
        for edge in topology.edges:
            ends[edge.first] += 1
            ends[edge.second] += 1
        self.producer = topology.names[0]
        self.homes = sorted(ends, key=lambda name: (ends[name], name))[: self.CONSUMERS]
        self._waiting: deque[tuple[str, str, Message | LinkUp]] = deque()
        self._seqs = [0] * self.CONSUMERS
        self._next = 0
        self._number = 0
        self.registered: list[dict[int, PatternFilter]] = [{} for _ in self.homes]
        for edge in topology.edges:
            self._waiting.append((edge.first, edge.second, LinkUp(client=False)))
            self._waiting.append((edge.second, edge.first, LinkUp(client=False)))
        for name in (*self.homes, self.producer):
            self._waiting.append((name, "client", LinkUp(client=True)))
        self._settle()
        everything = Entry(1, self.kind.parse("/*"))
        self._waiting.append((self.producer, "client", Advertise(1, (everything,))))
        self._settle()

    # -- what consumers do

    def register(self, consumer: int, f: PatternFilter) -> int:
        """Register a pattern; its id."""
        self._next += 1
        self.registered[consumer][self._next] = f
        self._change(consumer, Change(self._seq(consumer), add=(Entry(self._next, f),)))
        return self._next

    def register_many(self, registered: Iterable[tuple[int, PatternFilter]]) -> None:
        """Register patterns at consumers, those of one in one message."""
        entries: dict[int, list[Entry]] = {}
        for consumer, f in registered:
            self._next += 1
            self.registered[consumer][self._next] = f
            entries.setdefault(consumer, []).append(Entry(self._next, f))
        for consumer, own in entries.items():
            self._change(consumer, Change(self._seq(consumer), add=tuple(own)))

    def register_timed(self, consumer: int, f: PatternFilter) -> tuple[str, int, float]:
        """What a registration is to its consumer's broker, its id, and how long it takes."""
        tally = self.brokers[self.homes[consumer]].tally
        kinds = ("duplicate", "supplementary", "new")
        before = [getattr(tally, kind) for kind in kinds]
        start = time.process_time()
        own = self.register(consumer, f)
        seconds = time.process_time() - start
        (kind,) = (k for k, was in zip(kinds, before, strict=True) if getattr(tally, k) > was)
        return kind, own, seconds

    def cancel(self, consumer: int, own: int) -> float:
        """Cancel a registration; how long that takes."""
        del self.registered[consumer][own]
        start = time.process_time()
        self._change(consumer, Change(self._seq(consumer), remove=(own,)))
        return time.process_time() - start

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
            way.busiest = max(way.busiest, took)
            for effect in effects:
                if isinstance(effect, Deliver):
                    way.delivered[self.homes.index(name)] = set(effect.subscriptions)
                    way.delays.append(before + took)
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
        """How many filters the routers have that have some; those with consumers, or the others."""
        found = []
        for name, broker in self.brokers.items():
            links = broker.routing.links
            filters = {f for link in links for f in broker.routing.wanted.of(link).values()}
            if filters and (name in self.homes) is homes:
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

    def _change(self, consumer: int, change: Change) -> None:
        self._waiting.append((self.homes[consumer], "client", change))
        self._settle()

    def _settle(self) -> None:
        while self._waiting:
            name, link, came = self._waiting.popleft()
            for message, to in self._sent(name, link, came):
                if isinstance(message, Change):
                    self.changes += 1
                    self.bytes += self._sizes.of(message)
                self._waiting.append((to, name, message))

    def _sent(self, name: str, link: str, came: Message | LinkUp) -> Iterator[tuple[Message, str]]:
        for effect in self.brokers[name].handle(link, came):
            if isinstance(effect, Send) and effect.link != "client":
                yield effect.message, effect.link


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

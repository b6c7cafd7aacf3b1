"""What do clients do?

A workload is described by numbers and rates, and by where its filters and events come from
(`supply`). From that and a seed follows what each client does at which time: they subscribe, evenly
over the first seconds; then, for the rest of the time, publishers publish, and subscriptions are
updated, or cancelled and replaced by others, at random moments (Poisson processes). Each of these
has a stream of random numbers of its own, so that, say, more updates do not make other events.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from heapq import merge
from random import Random
from typing import Final

from tidegate.errors import ScenarioError, TidegateError
from tidegate.overlay.client import Client
from tidegate.overlay.kinds import BOTH
from tidegate.overlay.upstream import Paths
from tidegate.simulate.draws import read_draws
from tidegate.simulate.mixture import Mixture, Part
from tidegate.simulate.named import NAMED
from tidegate.simulate.network import Network, Timed
from tidegate.simulate.section import Section
from tidegate.simulate.supply import NAME, Source, Sources, Template, Templates, TextKind, Wish

PLACES: Final = ("any", "leaves")


@dataclass(frozen=True)
class Workload:
    """What clients do; times in seconds, rates in things a second."""

    subscribers: int
    subscriptions: int
    publishers: int
    rate: float
    warmup: float
    duration: float
    updates: float
    churn: float
    place: str
    source: Source
    advertise: tuple[str, ...]
    publish_at: tuple[str, ...]


def read_workload(
    section: Section, *, kind: str, advertisements: bool, seed: int, sources: Sources
) -> Workload:
    """What a table of a scenario says; `sources` are those it may name, beside templates."""
    subscriptions = section.integer("subscriptions", least=0)
    found = Workload(
        subscribers=section.integer("subscribers", least=1),
        subscriptions=subscriptions,
        publishers=section.integer("publishers", 1, least=1),
        rate=section.number("rate", least=0),
        warmup=section.number("warmup", 1.0, least=0),
        duration=section.number("duration", least=0),
        updates=section.number("updates", 0.0, least=0),
        churn=section.number("churn", 0.0, least=0),
        place=section.text("place", "any", among=PLACES),
        source=(_mixture if kind == BOTH else _source)(section, kind, seed, subscriptions, sources),
        advertise=tuple(section.texts("advertise", [])),
        publish_at=tuple(section.texts("publish_at", [])),
    )
    section.close()
    if advertisements and not found.advertise:
        raise ScenarioError(f"{section.named('advertise')} is missing: what publishers advertise")
    return found


def _mixture(
    section: Section, kind: str, seed: int, subscriptions: int, sources: Sources
) -> Mixture:
    """Sources of several kinds, each with its weight."""
    parts = []
    for place, each in enumerate(section.sections("parts")):
        own = each.text("kind", among=kind.split("+"))
        weight = each.number("weight", 1.0, least=0)
        source = _source(each, own, seed + place, subscriptions, sources)
        each.close()
        if source.kind is not None and source.kind.name != own:
            raise ScenarioError(
                f'{each.where}.like is of another kind: kind = "{source.kind.name}"'
            )
        parts.append(Part(own, source, weight))
    if not sum(part.weight for part in parts):
        raise ScenarioError(f"{section.named('parts')} is missing, or has no weight: what is drawn")
    return Mixture(tuple(parts))


def _source(section: Section, kind: str, seed: int, subscriptions: int, sources: Sources) -> Source:
    """Templates that are written down or known by name, or another source of that name."""
    like = section.text("like", None, among=(*NAMED, *sources))
    if like in sources:
        for key in ("filters", "events"):
            if key in section:
                raise ScenarioError(f"{section.named(key)}: the workload {like} has its own")
        return sources[like](seed, subscriptions)
    model = section if like is None else Section(NAMED[like], f"workload like {like}")
    filters = section.sections("filters") or model.sections("filters")
    events = section.section("events")
    if not events.keys:
        events = model.section("events")
    document = events.text("document") if kind == "xml" else None
    found = Templates(tuple(map(_template, filters)), read_draws(events), document)
    if not found.filters:
        raise ScenarioError(f"{section.named('filters')} is missing, and like names no workload")
    if document is not None:
        return _checked(found, document)
    if not found.events:
        raise ScenarioError(f"{section.named('events')} is missing")
    return found


def _checked(found: Templates, document: str) -> Templates:
    """Templates whose document names nothing but what is drawn."""
    for name in NAME.findall(document):
        if name not in found.events:
            raise ScenarioError(f"workload.events.document names {name}, which is not drawn there")
    return found


def _template(section: Section) -> Template:
    text = section.text("text")
    weight = section.number("weight", 1.0, least=0)
    parameters = section.section("parameters")
    draws = read_draws(parameters)
    moves = section.texts("moves", list(draws))
    section.close()
    strange = [name for name in moves if name not in draws]
    if strange:
        raise ScenarioError(f"{section.named('moves')}: {strange[0]} is no parameter of the filter")
    return Template(text, weight, draws, tuple(moves))


class Crowd:
    """The clients of a workload, in a network."""

    def __init__(self, workload: Workload, network: Network, kind: TextKind, seed: int) -> None:
        self._workload = workload
        self._kind = kind
        self._seed = seed
        self._supply = workload.source.open(kind)
        self._standing: list[tuple[Client, int, Wish]] = []
        random = self._random("places")
        names = _places(network, workload.place)
        self._subscribers = [
            network.client(f"c{i}", random.choice(names)) for i in range(workload.subscribers)
        ]
        at = workload.publish_at or names
        for name in at:
            if name not in network.nodes:
                raise ScenarioError(f"workload.publish_at names {name!r}, which is no broker")
        self._publishers = [
            network.client(f"p{i}", random.choice(at)) for i in range(workload.publishers)
        ]
        self._check()

    @property
    def end(self) -> float:
        """When all that clients do is done."""
        return self._workload.warmup + self._workload.duration

    def actions(self) -> Iterator[Timed]:
        """All that clients do, by time."""
        work = self._workload
        streams = (
            self._advertising(),
            self._subscribing(),
            self._poisson("events", work.rate, self._publish),
            self._poisson("updates", work.updates, self._update),
            self._poisson("churn", work.churn, self._replace),
        )
        return merge(*streams, key=lambda timed: timed[0])

    def _random(self, what: str) -> Random:
        return Random(f"{self._seed}/{what}")

    def _check(self) -> None:
        """Read each text once, so that a wrong one is refused before anything happens."""
        for text in self._workload.advertise:
            try:
                self._kind.parse(text)
            except TidegateError as error:
                raise ScenarioError(f"workload.advertise: {error}") from None

    def _advertising(self) -> Iterator[Timed]:
        for client in self._publishers:
            for text in self._workload.advertise:
                yield 0.0, partial(client.advertise, self._kind.parse(text))

    def _subscribing(self) -> Iterator[Timed]:
        random, work = self._random("subscriptions"), self._workload
        for i in range(work.subscriptions):
            client = random.choice(self._subscribers)
            yield work.warmup * i / work.subscriptions, partial(self._subscribe, client, random)

    def _subscribe(self, client: Client, random: Random) -> None:
        wish = self._supply.wish(random)
        self._standing.append((client, client.subscribe(wish.filter), wish))

    def _poisson(self, what: str, rate: float, act: Callable[[Random], object]) -> Iterator[Timed]:
        random = self._random(what)
        time = self._workload.warmup
        while rate and (time := time + random.expovariate(rate)) < self.end:
            yield time, partial(act, random)

    def _publish(self, random: Random) -> None:
        random.choice(self._publishers).publish(self._supply.event(random))

    def _update(self, random: Random) -> None:
        if not self._standing:
            return
        chosen = random.randrange(len(self._standing))
        client, own, wish = self._standing[chosen]
        wish = self._supply.moved(wish, random)
        client.change(own, wish.filter)
        self._standing[chosen] = client, own, wish

    def _replace(self, random: Random) -> None:
        if not self._standing:
            return
        chosen = random.randrange(len(self._standing))
        self._standing[chosen], last = self._standing[-1], self._standing[chosen]
        self._standing.pop()
        client, own, _ = last
        client.cancel(own)
        self._subscribe(client, random)


def _places(network: Network, place: str) -> list[str]:
    """The brokers that clients come to."""
    if place != "leaves":
        return list(network.nodes)
    if not network.topology.redundant:
        return [name for name, node in network.nodes.items() if len(node.outgoing) <= 1]
    upstream = network.topology.upstream
    ways = [above.down for above in upstream.values() if isinstance(above, Paths)]
    below = dict(zip(upstream, ways, strict=True))
    return [name for name, down in below.items() if not any(down.values())]

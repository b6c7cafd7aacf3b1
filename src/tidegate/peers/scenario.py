"""Which network of peers is to be simulated, and what happens to it?

A scenario is a TOML file: the overlay and its settings, links, the peers with their filters, who
leaves and who fails, and events. `docs/peers.md` tells all keys. In an overlay by similarity, how
near filters are is counted over the events of the scenario. Peers join one after the other, or
all at once; then some leave and some fail; then events are published, each by a peer that is drawn
unless one is named, from among those who want it if any does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from random import Random
from typing import Any, Final

from tidegate.errors import ScenarioError, TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.patterns import Patterns
from tidegate.peers.branch import TreeSettings
from tidegate.peers.history import History
from tidegate.peers.near_peer import NearPeer
from tidegate.peers.near_settings import NearSettings
from tidegate.peers.outcome import Network, Outcome, outcome
from tidegate.peers.proximity import Measure, Proximity
from tidegate.peers.simulation import TICK, Simulation
from tidegate.peers.tree_messages import Join
from tidegate.peers.tree_peer import TreePeer
from tidegate.simulate.section import Section, table_in
from tidegate.simulate.supply import Sources, TextKind

OVERLAYS: Final = ("containment", "similarity")
KINDS: Final = (Attributes.name, Patterns.name)
NO_SOURCES: Final[Sources] = {}


@dataclass(frozen=True)
class Churn:
    """Who goes: so many of each, drawn."""

    leaves: int = 0
    full_leaves: int = 0
    failures: int = 0


@dataclass(frozen=True)
class Scenario:
    """A network of peers and what happens to it. The seed decides everything that is drawn."""

    name: str
    seed: int
    kind: TextKind
    settings: TreeSettings | NearSettings
    measure: Measure
    delay: float
    loss: float
    together: bool
    peers: dict[str, Filter]
    churn: Churn
    events: tuple[tuple[str | None, Event], ...]

    def run(self, progress: Callable[[float], object] = lambda share: None) -> Outcome:
        """Let it happen; `progress` is told the share of peers and events that are over."""
        draw = Random(self.seed)
        network = self._network()
        steps = len(self.peers) + len(self.events)
        for done, (name, f) in enumerate(self.peers.items()):
            progress(done / steps)
            network.join(name, f)
            if not self.together:
                network.settle()
        network.settle()
        built = sum(network.messages.values())
        self._go(network, draw)
        network.loss = 0.0
        if self.churn != Churn():
            network.run(self.settings.mend_time)
            network.settle()
        spreads = []
        for done, (who, event) in enumerate(self.events, start=len(self.peers)):
            progress(done / steps)
            publisher = self._publisher(network, who, event, draw)
            spreads.append(network.publish(publisher, event))
        return outcome(self.name, network, built, spreads)

    def _network(self) -> Network:
        def made(name: str, f: Filter) -> TreePeer | NearPeer:
            if isinstance(settings, TreeSettings):
                return TreePeer(name, self.kind, f, settings)
            return NearPeer(name, self.kind, f, proximity.of, settings)

        settings, history = self.settings, History(self.kind)
        for _, event in self.events:
            history.add(event)
        proximity = Proximity(history, self.measure)
        delay = max(1, round(self.delay * TICK))
        return Simulation(self.kind, made, seed=self.seed, delay=delay, loss=self.loss)

    def _go(self, network: Network, draw: Random) -> None:
        churn = self.churn
        goes = ["leave"] * churn.leaves + ["full"] * churn.full_leaves + ["fail"] * churn.failures
        draw.shuffle(goes)
        for what in goes:
            there = [name for name, peer in network.peers.items() if peer.stays]
            if len(there) < 2:
                return
            name = draw.choice(there)
            if what == "fail":
                network.crash(name)
            else:
                network.leave(name, full=what == "full")
            if not self.together:
                network.settle()

    def _publisher(self, tree: Network, named: str | None, event: Event, draw: Random) -> str:
        if named is not None and named in tree.peers:
            return named
        wanting = [name for name, peer in tree.peers.items() if peer.filter.matches(event)]
        return draw.choice(wanting or list(tree.peers))


def load(path: Path, seed: int | None = None, sources: Sources = NO_SOURCES) -> Scenario:
    """The scenario in a file, perhaps with another seed; `sources` are workloads it may name."""
    return read(table_in(path, seed), sources)


def read(table: dict[str, Any], sources: Sources = NO_SOURCES) -> Scenario:
    """The scenario that a table describes."""
    section = Section(table)
    seed = section.integer("seed", 1)
    near = section.text("overlay", "containment", among=OVERLAYS) == "similarity"
    links = section.section("links")
    kind, peers, drawn = _peers(section, seed, sources)
    churn = section.section("churn")
    found = Scenario(
        name=section.text("name", "peers"),
        seed=seed,
        kind=kind,
        settings=_settings(section, NearSettings if near else TreeSettings),
        measure=_measure(section),
        delay=links.number("delay", 0.1, least=0),
        loss=links.number("loss", 0.0, least=0),
        together=section.boolean("together", False),
        peers=peers,
        churn=Churn(*(churn.integer(each.name, 0, least=0) for each in fields(Churn))),
        events=(*_events(section.sections("events"), kind, peers), *drawn),
    )
    if found.loss >= 1:
        links.refuse("loss", "a number from 0 to below 1")
    for each in (links, churn, section):
        each.close()
    return found


def _measure(section: Section) -> Measure:
    names = [measure.value for measure in Measure]
    return Measure(section.text("measure", Measure.MEAN.value, among=names))


def _settings(
    scenario: Section, made: type[TreeSettings | NearSettings]
) -> TreeSettings | NearSettings:
    section = scenario.section("tree" if made is TreeSettings else "near")
    given: dict[str, Any] = {}
    for field in fields(made):
        if field.name not in section:
            section.value(field.name, None)
        elif field.name == "join":
            given["join"] = Join(section.text("join", among=[join.value for join in Join]))
        elif field.name == "gathered":
            given["gathered"] = section.boolean("gathered")
        elif field.name in ("rho", "adaptive_rate"):
            given[field.name] = section.number(field.name, least=0)
        else:
            given[field.name] = section.integer(field.name, least=0)
    section.close()
    try:
        return made(**given)
    except TidegateError as error:
        raise ScenarioError(f"{section.where}: {error}") from None


def _peers(
    section: Section, seed: int, sources: Sources
) -> tuple[TextKind, dict[str, Filter], list[tuple[None, Event]]]:
    """The kind, the peers and the events, written down or drawn from a workload that is named."""
    workload = section.section("workload")
    name = section.text("kind", Attributes.name, among=KINDS)
    if not workload.keys:
        kind: TextKind = Attributes() if name == Attributes.name else Patterns()
        return kind, _written(section.sections("peers"), kind), []
    if "peers" in section:
        raise ScenarioError("there are peers and a workload; write down one of them")
    like = workload.text("like", among=list(sources))
    count = workload.integer("peers", least=1)
    events = workload.integer("events", 0, least=0)
    workload.close()
    source = sources[like](seed, count)
    kind = source.kind or Attributes()
    supply, draw = source.open(kind), Random(seed)
    peers = {f"p{number}": supply.wish(draw).filter for number in range(count)}
    return kind, peers, [(None, supply.event(draw)) for _ in range(events)]


def _written(sections: Iterable[Section], kind: TextKind) -> dict[str, Filter]:
    peers: dict[str, Filter] = {}
    for section in sections:
        name, text = section.text("name"), section.text("filter")
        section.close()
        if name in peers:
            raise ScenarioError(f"{section.where}: there is a peer {name!r} already")
        try:
            peers[name] = kind.parse(text)
        except TidegateError as error:
            raise ScenarioError(f"{section.where}.filter: {error}") from None
    if not peers:
        raise ScenarioError("there are no peers: write [[peers]], or a [workload]")
    return peers


def _events(
    sections: Iterable[Section], kind: TextKind, peers: dict[str, Filter]
) -> list[tuple[str | None, Event]]:
    found: list[tuple[str | None, Event]] = []
    for section in sections:
        publisher = section.text("publisher", None)
        if publisher is not None and publisher not in peers:
            raise ScenarioError(
                f"{section.named('publisher')} is {publisher!r}; there is no such peer"
            )
        event = section.value("document" if "document" in section else "event")
        section.close()
        refusal = kind.event_refusal(event)
        if refusal is not None:
            raise ScenarioError(f"{section.where}: {refusal}")
        found.append((publisher, event))
    return found

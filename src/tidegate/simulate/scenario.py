"""Which network is to be simulated, and what happens to it?

A scenario is a TOML file: a topology, the brokers' policy and settings, links, costs, a workload
and faults. `docs/simulate.md` tells all keys. Whatever is wrong in it is refused with the key's
name and what is allowed there.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from tidegate.algebra.distribution import Uniform
from tidegate.errors import ScenarioError, TidegateError
from tidegate.filters.attribute import Attribute
from tidegate.filters.schema import Schema
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.kinds import KINDS
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import MERGING, NAMES, WHERE, Choice
from tidegate.overlay.policy.round import WAYS
from tidegate.overlay.settings import Settings
from tidegate.overlay.several import Several
from tidegate.overlay.structures import INDEXES, UNIONS
from tidegate.simulate.cost import DOCUMENT, CostModel
from tidegate.simulate.link import LinkModel
from tidegate.simulate.mixture import Mixture
from tidegate.simulate.network import CHECKS, Network, Setup
from tidegate.simulate.plan import given
from tidegate.simulate.section import Section, table_in
from tidegate.simulate.supply import Source, Sources, TextKind
from tidegate.simulate.topology import Topology, balanced, line, random_tree, star, transit_stub
from tidegate.simulate.workload import Crowd, Workload, read_workload

FAULTS: Final = ("crash", "restart", "die", "cut", "mend")
SHAPES: Final = ("line", "star", "balanced", "random", "transit-stub", "given")
NO_SOURCES: Final[Sources] = {}
_PLAIN: Final = {"line": line, "star": star}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong, or is repaired, at a time: to a broker, or the link of two."""

    at: float
    what: str
    where: tuple[str, ...]
    memory: bool = True

    def happen(self, network: Network) -> None:
        """Do it."""
        match self.what:
            case "crash":
                network.crash(*self.where)
            case "restart":
                network.restart(*self.where, memory=self.memory)
            case "die":
                network.die(*self.where)
            case "cut":
                network.cut(*self.where)
            case "mend":
                network.mend(*self.where)


@dataclass(frozen=True)
class Scenario:
    """A network and what happens to it. The seed decides everything that is drawn."""

    name: str
    seed: int
    topology: Topology
    kind: TextKind
    policy: Choice
    settings: Settings
    setup: Setup
    costs: CostModel
    workload: Workload
    faults: tuple[Fault, ...]

    def with_policy(self, name: str) -> "Scenario":
        """The same with another policy; what that does not have is left out."""
        return replace(self, policy=self.policy.named(name))

    def run(self, progress: Callable[[float], object] = lambda share: None) -> Network:
        """Let it happen until it is quiet; `progress` is told the share of time that is over."""
        network, end = self.start()
        for percent in range(1, 101):
            network.run(end * percent / 100)
            progress(percent / 100)
        network.run()
        return network

    def start(self) -> tuple[Network, float]:
        """The network before anything has happened, and when all that is planned will have."""
        network = Network(
            self.topology,
            self.kind,
            self.policy,
            self.settings,
            self.setup,
            self.costs,
        )
        crowd = Crowd(self.workload, network, self.kind, self.seed)
        for fault in self.faults:
            _check_fault(fault, network)
            network.at(fault.at, fault.happen, network)
        network.feed(crowd.actions())
        return network, max([crowd.end, *(fault.at for fault in self.faults)])


def load(path: Path, seed: int | None = None, sources: Sources = NO_SOURCES) -> Scenario:
    """The scenario in a file, perhaps with another seed; `sources` are workloads it may name."""
    return read(table_in(path, seed), sources)


def read(table: dict[str, Any], sources: Sources = NO_SOURCES) -> Scenario:
    """The scenario that a table describes; `sources` are workloads it may name."""
    section = Section(table)
    seed = section.integer("seed", 1)
    topology = _topology(section.section("topology"), seed)
    settings = _settings(section.section("settings"))
    kind = section.text("kind", "attributes", among=KINDS)
    workload = read_workload(
        section.section("workload"),
        kind=kind,
        advertisements=settings.advertisements,
        seed=seed,
        sources=sources,
    )
    scenario = Scenario(
        name=section.text("name", "scenario"),
        seed=seed,
        topology=topology,
        kind=_kind(section, kind, workload.source),
        policy=_policy(section.section("policy")),
        settings=settings,
        setup=_setup(section.section("brokers"), _link(section.section("links"))),
        costs=_costs(section.section("costs"), kind),
        workload=workload,
        faults=tuple(_fault(each) for each in section.sections("faults")),
    )
    section.close()
    return scenario


def _topology(section: Section, seed: int) -> Topology:
    shape = section.text("shape", among=SHAPES)
    if shape == "balanced":
        found = balanced(section.integer("degree", 2, least=1), section.integer("depth", least=0))
    elif shape == "given":
        found = given(section.section("brokers"))
    elif shape == "transit-stub":
        domains = section.integer("domains", least=1)
        transits = section.integer("transits", least=1)
        stubs, size = section.integer("stubs", least=0), section.integer("size", least=1)
        found = transit_stub(domains, transits, stubs, size, seed)
    else:
        brokers = section.integer("brokers", least=1)
        found = random_tree(brokers, seed) if shape == "random" else _PLAIN[shape](brokers)
    section.close()
    return found


def _kind(scenario: Section, name: str, source: Source) -> TextKind:
    """Filters of the workload's own kind, or of the one that the scenario names."""
    section, namespaces = scenario.section("schema"), scenario.section("namespaces")
    prefixes = {prefix: namespaces.text(prefix) for prefix in namespaces.keys}
    if isinstance(source, Mixture):
        kinds = (source.own(Attributes.name), source.own(Patterns.name))
        for own, given in zip(kinds, (section, namespaces), strict=True):
            if own is not None and given.keys:
                raise ScenarioError(f"there is {given.where}; a part of the workload has its own")
        return Several(kinds[0] or _attributes(section), kinds[1] or Patterns(prefixes))
    own = source.kind
    if own is not None:
        if section.keys or prefixes:
            raise ScenarioError("there is a schema; the workload that is named has its own")
        if own.name != name:
            raise ScenarioError(
                f'the workload that is named is of another kind: kind = "{own.name}"'
            )
        return own
    if name == Patterns.name:
        if section.keys:
            raise ScenarioError("there is a schema; patterns on documents have none")
        return Patterns(prefixes)
    if prefixes:
        raise ScenarioError('namespaces are for patterns on documents: kind = "xml"')
    return _attributes(section)


def _attributes(section: Section) -> Attributes:
    """Filters under the scenario's schema: values are equally likely."""
    attributes: dict[str, Attribute] = {}
    for name in section.keys:
        if isinstance(section.value(name), str):
            attributes[name] = _said(section.named(name), partial(Attribute, section.text(name)))
            continue
        inner = section.section(name)
        options = {key: inner.value(key) for key in ("low", "high", "values") if key in inner}
        kind = inner.text("type")
        inner.close()
        attributes[name] = _said(inner.where, partial(Attribute, kind, **options))
    if not attributes:
        return Attributes()
    schema = Schema(attributes)
    return Attributes(schema, Uniform(schema))


def _policy(section: Section) -> Choice:
    found: dict[str, Any] = {
        "name": section.text("name", "covering", among=NAMES),
        "imt": section.number("imt", 0.0),
        "index": section.text("index", None, among=INDEXES),
        "union": section.text("union", None, among=UNIONS),
        "prune": section.text("prune", None, among=WHERE),
        "share": section.number("share", None, least=0),
        "changes": section.text("changes", "always", among=WAYS),
        "tolerance": section.number("tolerance", 0.0, least=0),
        "agreed": section.boolean("agreed", False),
        "by": section.text("by", "kind", among=MERGING),
    }
    found |= {key: section.integer(key, None, least=1) for key in ("period", "size", "rate")}
    section.close()
    return _said(section.where, partial(Choice, **found))


def _settings(section: Section) -> Settings:
    default = Settings()
    found = Settings(
        advertisements=section.boolean("advertisements", default.advertisements),
        filter_size=section.integer("filter_size", default.filter_size, least=1),
        event_size=section.integer("event_size", default.event_size, least=1),
        patience=section.integer("patience", default.patience, least=1),
        learn=section.integer("learn", default.learn, least=1),
        memory=section.integer("memory", None, least=1),
        bandwidth=section.integer("bandwidth", None, least=1),
        forget=section.integer("forget", None, least=1),
        window=section.integer("window", default.window, least=1),
        keep_events=section.boolean("keep_events", default.keep_events),
    )
    section.close()
    return found


def _link(section: Section) -> LinkModel:
    delay = section.number("delay", 0.01, least=0)
    bandwidth = section.number("bandwidth", None, least=1)
    section.close()
    return LinkModel(delay, bandwidth)


def _setup(section: Section, link: LinkModel) -> Setup:
    tick = section.number("tick", 1.0, least=0)
    found = Setup(
        link,
        section.number("client_delay", 0.0, least=0),
        section.integer("queue", None, least=1),
        tick or None,
        section.integer("memory", Setup().memory, least=0),
        section.text("check", "index", among=CHECKS),
    )
    section.close()
    return found


def _costs(section: Section, kind: str) -> CostModel:
    measured = section.boolean("measured", False)
    units = [each.name for each in fields(CostModel) if each.name != "measured"]
    given = {name: section.integer(name, None, least=0) for name in units}
    section.close()
    if Patterns.name in kind.split("+") and given["content"] is None:
        given["content"] = DOCUMENT
    return CostModel(
        **{name: cost for name, cost in given.items() if cost is not None}, measured=measured
    )


def _fault(section: Section) -> Fault:
    at = section.number("at", least=0)
    what = [each for each in FAULTS if each in section]
    if len(what) != 1:
        raise ScenarioError(f"{section.where} says one of {', '.join(FAULTS)}, and where")
    of_link = what[0] in ("cut", "mend")
    where = tuple(section.texts(what[0])) if of_link else (section.text(what[0]),)
    if of_link and len(where) != 2:
        section.refuse(what[0], "a list of two brokers")
    memory = section.boolean("memory", True) if what[0] == "restart" else True
    section.close()
    return Fault(at, what[0], where, memory)


def _check_fault(fault: Fault, network: Network) -> None:
    for name in fault.where:
        if name not in network.nodes:
            known = ", ".join(list(network.nodes)[:8])
            raise ScenarioError(f"a fault names the broker {name!r}; there are {known} and so on")
    if len(fault.where) == 2 and fault.where[1] not in network.nodes[fault.where[0]].outgoing:
        raise ScenarioError(
            f"a fault names a link between {' and '.join(fault.where)}; there is no such link"
        )


def _said(where: str, make: Callable[[], T]) -> T:
    """What is made, or a refusal that names the key."""
    try:
        return make()
    except TidegateError as error:
        raise ScenarioError(f"{where}: {error}") from None

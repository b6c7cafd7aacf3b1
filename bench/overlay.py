"""How fast does a broker take subscriptions and route events, and how far does a network get?

**One broker.** 200,000 conjunctions on twenty attributes are registered by a client, one by one,
under covering, with one neighbour to whom they are forwarded: read filters in, messages out, the
normal form of each filter included. *padres-b* draws from 5,000 distinct predicates, so most are
covered; in *sparse*, constants are random, and few are. Baseline: what a broker without an index
does, a scan of the filters that are forwarded, asking each whether it covers the new one and is
covered by it; measured for some of the last ones, on the final table. Then events are routed one at
a time at that table, all matching entries found; baseline: a scan of the table.

**A network.** 127 brokers in a binary tree in the simulator, rules on trades with about ten matches
for each event, covering, advertisements on: 100,000 subscriptions at brokers drawn at random, and
100,000 events of four publishers at four of the leaves, each of which advertises the venues it
publishes for. The time is that of the whole simulation, in CPU seconds. What is delivered is
counted against the engine's index.

Before that, the constants of the simulator's cost model are measured, as they are on this machine.
"""

from __future__ import annotations

import random
from dataclasses import asdict, astuple
from typing import TYPE_CHECKING

import numpy as np

import tidegate as tg
from bench.boxes import sparse
from bench.figure import Figure, timed
from tidegate.lab.workloads.matching import ATTRIBUTES, PADRES_B, padres
from tidegate.lab.workloads.trade import VENUES, narrowed, trade
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import (
    Acknowledge,
    Change,
    Deliver,
    Entry,
    Hello,
    LinkUp,
    Publish,
    Send,
)
from tidegate.overlay.scan import ScanIndex
from tidegate.overlay.settings import Settings
from tidegate.overlay.work import Work
from tidegate.simulate.cost import CostModel, calibrate
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import balanced

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from tidegate.filters.filter import Filter

REGISTERED = 200_000
EVENTS = 1_000
SCANNED = 20  # questions asked of the baseline
AIM = 300  # µs
DOMAIN = 1000
DEPTH = 6  # of the tree of brokers
SUBSCRIPTIONS = 100_000
PUBLISHED = 100_000
NARROWER = 8  # ranges of prices than those of the workload
WHOLE = 600  # seconds


def run() -> Iterator[Figure]:
    """One broker with two workloads, then a network."""
    workload = padres(REGISTERED, PADRES_B, seed=1)
    yield from one_broker("padres-b", list(workload.filters()), workload.events(EVENTS).to_pylist())
    schema = tg.Schema(dict.fromkeys(ATTRIBUTES, "bigint"))
    drawn = list(sparse(REGISTERED, seed=1).filters(schema))
    values = np.random.default_rng(3).integers(0, DOMAIN, (EVENTS, len(ATTRIBUTES))).tolist()
    events = [dict(zip(ATTRIBUTES, row, strict=True)) for row in values]
    yield from one_broker("sparse", drawn, events)
    yield from costs()
    yield from network(SUBSCRIPTIONS, PUBLISHED)


def costs() -> Iterator[Figure]:
    """What the simulator's units of work take on this machine."""
    usual = asdict(CostModel())
    for name, cost in asdict(calibrate()).items():
        if name != "measured":
            yield Figure(
                f"overlay, cost model: {name}",
                cost / 1e3,
                None,
                None,
                "µs",
                note=f"the simulator takes {usual[name] / 1e3:g}",
            )


def network(subscriptions: int, published: int) -> Iterator[Figure]:
    """Subscribing, then publishing, in a tree of brokers."""
    workload = narrowed(trade(subscriptions, seed=1), NARROWER)
    rules, events = workload.table(), workload.events(published)
    index = tg.Index(workload.schema)
    index.add_many(rules)
    pairs = index.match_batch(events)
    kind = Attributes(workload.schema)
    world = Network(
        balanced(2, DEPTH),
        kind,
        settings=Settings(advertisements=True),
        setup=Setup(memory=0, check="off"),
    )
    brokers = list(world.nodes)
    draw = random.Random(1)
    publishers = [
        world.client(f"publisher {n}", leaf) for n, leaf in enumerate(brokers[-1::-16][:4])
    ]
    for n, publisher in enumerate(publishers):
        venues = ", ".join(f"'{venue}'" for venue in VENUES[n :: len(publishers)])
        publisher.advertise(kind.parse(f"venue IN ({venues})"))
    clients = [world.client(f"at {broker}", broker) for broker in brokers]
    world.run()
    filters = _filters(rules, kind)
    homes = [draw.randrange(len(clients)) for _ in filters]
    with timed() as subscribing:
        for f, home in zip(filters, homes, strict=True):
            clients[home].subscribe(f)
            world.run()
    before = _done(world)
    yield Figure(
        f"overlay, {len(brokers)} brokers: {subscriptions:,} subscriptions",
        subscribing.seconds,
        None,
        None,
        "s",
        note=f"{before.inserts:,} insertions and {before.questions:,} questions; "
        f"{_entries(world):,} entries from neighbours",
    )
    by_venue = {venue: publishers[n % len(publishers)] for n, venue in enumerate(VENUES)}
    with timed() as publishing:
        for event in events.to_pylist():
            by_venue[event["venue"]].publish(event)
            world.run()
    after = _done(world)
    delivered = sum(node.done.deliveries for node in world.nodes.values())
    assert delivered == _reached(pairs, homes), "an event was missed, or delivered twice"
    yield Figure(
        f"overlay, {len(brokers)} brokers: {published:,} events",
        publishing.seconds,
        None,
        None,
        "s",
        note=f"{after.events - before.events:,} times an event was matched at a broker, "
        f"{after.found - before.found:,} entries found; {delivered:,} deliveries",
    )
    seconds = subscribing.seconds + publishing.seconds
    yield Figure(
        f"overlay, {len(brokers)} brokers: subscriptions and events",
        seconds,
        None,
        None,
        "s",
        aim=f"at most {WHOLE} s",
        met=seconds <= WHOLE,
    )


def _reached(pairs: pa.Table, homes: list[int]) -> int:
    """How often an event and a client belong together, by pairs of events and subscriptions."""
    ids = pairs["subscription"].combine_chunks()
    rules = np.array([int(own.removeprefix("rule-")) for own in ids.dictionary.to_pylist()])
    clients = np.array(homes)[rules[ids.indices.to_numpy()]]
    return len(np.unique(pairs["event"].to_numpy() * len(homes) + clients))


def _filters(rules: pa.Table, kind: Attributes) -> list[AttributeFilter]:
    """The rules, bound."""
    names = {text: tg.parse(text).parameters for text in rules["filter"].unique().to_pylist()}
    return [
        kind.parse(row["filter"], **{name: row[name] for name in names[row["filter"]]})
        for row in rules.to_pylist()
    ]


def _done(world: Network) -> Work:
    """The work of all brokers."""
    sums = [
        sum(each)
        for each in zip(*(astuple(n.broker.work) for n in world.nodes.values()), strict=True)
    ]
    return Work(*sums)


def _entries(world: Network) -> int:
    """The entries that brokers have from their neighbours."""
    return sum(
        len(node.broker.routing.wanted.of(name))
        for node in world.nodes.values()
        for name in node.outgoing
    )


def one_broker(name: str, filters: list[Filter], events: list[dict[str, int]]) -> Iterator[Figure]:
    """Registering, then routing."""
    kind = Attributes(filters[0].schema)
    _register(_broker(kind), [AttributeFilter(f) for f in filters[:500]])  # loads the kernels
    broker = _broker(kind)
    own = [AttributeFilter(f) for f in filters]
    with timed() as registering:
        _register(broker, own)
    cost = registering.seconds / len(own) * 1e6
    forwarded = broker.routing.links["neighbour"].wanted
    scan = ScanIndex()
    for number, f in forwarded.active.items():
        scan.add(number, f)
    with timed() as scanning:
        for f in own[-SCANNED:]:
            above = scan.containing(f)
            scan.contained(f)
            assert above
    base = scanning.seconds / SCANNED * 1e6
    _check_covered(scan, own)
    yield Figure(
        f"overlay, {name}: register a subscription under covering",
        cost,
        base,
        base / cost,
        "µs",
        note=f"{len(own):,} one by one; {len(forwarded.active):,} forwarded, "
        f"{forwarded.passive:,} covered; baseline: scan of those forwarded",
        aim=f"at most {AIM} µs",
        met=cost <= AIM,
    )
    yield _routing(name, broker, events, own)


def _routing(
    name: str, broker: Broker, events: list[dict[str, int]], own: list[AttributeFilter]
) -> Figure:
    broker.handle("publisher", LinkUp(client=True))
    _found(broker, 1, events[0])
    with timed() as routing:
        found = [_found(broker, n, event) for n, event in enumerate(events, start=2)]
    cost = routing.seconds / len(events) * 1e6
    asked = events[:: len(events) // SCANNED][:SCANNED]
    with timed() as scanning:
        expected = [[i for i, f in enumerate(own, start=1) if f.matches(event)] for event in asked]
    assert [sorted(each) for each in found[:: len(events) // SCANNED][:SCANNED]] == expected
    base = scanning.seconds / len(asked) * 1e6
    return Figure(
        f"overlay, {name}: route an event at {len(own):,} entries",
        cost,
        base,
        base / cost,
        "µs",
        note=f"{sum(map(len, found)) / len(found):,.0f} entries match on average; "
        "baseline: scan of the table",
    )


def _broker(kind: Attributes) -> Broker:
    broker = Broker("here", kind)
    broker.handle("neighbour", LinkUp(client=False))
    broker.handle("neighbour", Hello(1, 0, 0))
    broker.handle("client", LinkUp(client=True))
    return broker


def _register(broker: Broker, filters: list[AttributeFilter]) -> None:
    """One subscription after the other; the neighbour acknowledges what it is told."""
    for i, f in enumerate(filters, start=1):
        for effect in broker.handle("client", Change(i, add=(Entry(i, f),))):
            if isinstance(effect, Send) and isinstance(effect.message, Change):
                broker.handle("neighbour", Acknowledge(effect.message.seq))


def _found(broker: Broker, number: int, event: dict[str, int]) -> list[int]:
    """The subscriptions that an event is delivered for."""
    effects = broker.handle("publisher", Publish(number, event))
    return [own for e in effects if isinstance(e, Deliver) for own in e.subscriptions]


def _check_covered(scan: ScanIndex, filters: list[AttributeFilter]) -> None:
    """Each of some filters is covered by one that is forwarded; none of those by another one."""
    for f in filters[:: len(filters) // SCANNED]:
        assert scan.containing(f)

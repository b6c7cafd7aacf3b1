"""What does pruning save, what does it cost, and where does it stop to pay?

The experiments of Bittner, Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), section 5. The paper does
not print how its values are drawn (`lab.workloads.auctions` says how ours are), so shapes can be
compared, and numbers stand beside each other.

**One broker.** 200,000 subscriptions of each class and of all of them, kept by counting, are pruned
to shares of all prunings in steps of a hundredth. Selectivities are counted from the same 100,000
events of which is told how many match, as in the paper; how many of 20,000 others do is told, too.
Which events match is known for all events and all steps: what is pruned covers what it was before,
so each step only has to look at the subscriptions that have changed. The time is that of single
events, of which some are timed. The cut-off is what the brokers' own rule finds
(`overlay.policy.cutoff`) in a sample of 4,096 events, which are not among those that were counted,
nor among the others. Beside it stand two bends that a person would draw, on the curve of the events
that were counted, and on that of the others: the point that is furthest below the line between the
ends of a curve.

**A line of five.** Brokers of the simulator that prune their own tables (`prune="after"`), with as
many subscriptions, spread evenly; they have counted other events than those that follow.
What an event costs is the processor's time for all brokers on its way and what carries it between
them.

**Policies.** All ways to prune, replace and merge by name, and some compositions, in the same line
with a hundredth of the subscriptions, of all classes: what is sent to tell neighbours what is
wanted, what stands in the tables, and how far events go.

`TIDEGATE_PRUNING` in the environment is how many subscriptions there are; 200,000 if it is not
given. Events are half as many. `TIDEGATE_LINE` is how many there are in the line of five, if other
than that.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from bench.figure import Figure
from bench.papers_counting import PRINTED, PRINTED_IN_A_NETWORK, warm_up
from tidegate.algebra.event_sample import EventSample
from tidegate.filters.expression import predicates
from tidegate.lab.experiments.pruned_lines import flow, found_by, prune_to, settled
from tidegate.lab.experiments.pruned_tables import Level, count_all, drawn, pruned
from tidegate.lab.workloads.auctions import CLASSES, auctions
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attribute_pruner import SAMPLE
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.messages import Change
from tidegate.overlay.policy import Choice
from tidegate.overlay.policy.cutoff import cut_off
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.simulate.cost import FREE
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.lab.workloads.auctions import Auctions

SUBSCRIPTIONS = int(os.environ.get("TIDEGATE_PRUNING", "200000"))
EVENTS = SUBSCRIPTIONS // 2
LEARNED = max(500, SUBSCRIPTIONS // 10)  # events that brokers of the line have counted
OTHERS = max(100, SUBSCRIPTIONS // 10)  # events that were neither counted nor in the sample
TIMED = 300  # events
LINE = int(os.environ.get("TIDEGATE_LINE", SUBSCRIPTIONS))  # in the line of brokers
SENT = max(50, SUBSCRIPTIONS // 100)  # events in the line, at each level
PATIENCE = 11.0  # seconds until brokers have pruned
FEW = SUBSCRIPTIONS // 100  # subscriptions in the line, for each policy
STEPS = 100  # of pruning
TOLD = range(0, 101, 10)  # steps that are told
SHARES = (0.0, 0.5, 0.75, 1.0)
WITHIN = 0.05
POLICIES = {
    "identity": Choice("identity"),
    "identity, pruned before": Choice("identity", prune="before"),
    "identity, pruned after": Choice("identity", prune="after"),
    "identity, pruned after as agreed": Choice("identity", prune="after", agreed=True),
    "identity, pruned before and after": Choice("identity", prune="both"),
    "replacement": Choice("replacement"),
    "covering": Choice("covering"),
    "covering, pruned before": Choice("covering", prune="before"),
    "covering, pruned before and after": Choice("covering", prune="both"),
    "merging by pruning, IMT 0.001": Choice("merging", by="pruning", imt=0.001),
    "subsumption, pruned before": Choice("subsumption", prune="before"),
}


def run() -> Iterator[Figure]:
    """Each class and all of them, in one broker and in a line of five."""
    every: dict[str, list[int]] = {f"class {k}": [k] for k in CLASSES}
    every["classes 1-3"] = [*CLASSES]
    samples: list[EventSample] = []
    for name, classes in every.items():
        workload = auctions(SUBSCRIPTIONS, classes=classes)
        if not samples:  # events are the same for all classes
            for count, seed in ((EVENTS, 0), (SAMPLE + OTHERS, 3)):
                events = workload.events(count, seed=seed).to_pylist()
                samples.append(EventSample(events, workload.schema))
        yield from one_broker(name, workload, *samples)
        for sample in samples:
            sample.forget()
    for name, classes in every.items():
        yield from five_brokers(name, auctions(LINE, classes=classes))
    yield from policies()


# -- one broker


def one_broker(
    name: str, workload: Auctions, every: EventSample, others: EventSample
) -> Iterator[Figure]:
    """The table at each step of pruning, and at the cut-off."""
    filters = list(workload.filters())
    events = workload.events(TIMED, seed=2).to_pylist()
    warm_up(filters[:200], events)
    table = CountingTable(workload.schema)
    for number, f in enumerate(filters):
        table.add(number, f)
    count_all(table, every, EVENTS)
    levels = list(pruned(table, events, every, others, steps=STEPS, sampled=SAMPLE))
    found = cut_off([level.sampled for level in levels])
    bend = drawn([level.matched for level in levels])
    other = drawn([level.others for level in levels])
    for place in sorted({*(step for step in TOLD if step < len(levels)), found}):
        yield told(name, levels, place, cut=place == found)
    yield Figure(
        f"pruning, {name}: cut-off, in hundredths of all prunings", found, bend, None, "points",
        note=f"by a sample of {SAMPLE:,} events; baseline: the bend that a person would draw on "
        f"the events that were counted; {other} on {OTHERS:,} others",
        aim="within 5 points of both bends that a person would draw",
        met=max(abs(found - bend), abs(found - other)) <= 100 * WITHIN,
    )  # fmt: skip


def told(name: str, levels: list[Level], place: int, *, cut: bool) -> Figure:
    """One level beside the table as it was."""
    first, last, level = levels[0], levels[-1], levels[place]
    near = min((x for x in levels if x.event is not None), key=lambda x: abs(x.share - level.share))
    assert near.event is not None
    assert first.event is not None
    relief = (first.associations - level.associations) / (first.associations - last.associations)
    printed = f"; paper: {PRINTED[name]}" if cut else ""
    what = "the cut-off" if cut else f"{level.share:.0%} pruned"
    return Figure(
        f"pruning, {name}: event in one broker, {what}",
        near.event, first.event, first.event / near.event, "µs",
        note=f"{level.share:.0%} of all prunings; {level.associations:,} associations, "
        f"{relief:.0%} of the relief; {1 - near.event / first.event:.0%} less time (at "
        f"{near.share:.0%}); {level.matched:,} of {EVENTS:,} events match, "
        f"{level.matched - first.matched:,} more; of events that were not counted before, "
        f"{level.others / OTHERS:.1%} after {first.others / OTHERS:.1%}; "
        f"baseline: nothing pruned{printed}",
    )  # fmt: skip


# -- a line of five


def five_brokers(name: str, workload: Auctions) -> Iterator[Figure]:
    """The same subscriptions and events at several shares, and at the cut-off."""
    network, brokers = settled(workload, LEARNED)
    found = [found_by(broker) for broker in brokers]
    cut = sum(found) / len(found)
    goals = sorted([*((share, f"{share:.0%} pruned") for share in SHARES), (cut, "the cut-off")])
    events = workload.events(SENT, seed=2).to_pylist()
    flows = []
    for goal, label in goals:
        for broker, own in zip(brokers, found, strict=True):
            prune_to(broker, own if label == "the cut-off" else goal)
        flows.append(flow(network, brokers, events, label, goal))
    first, last = flows[0], flows[-1]
    for each in flows:
        assert each.delivered == first.delivered, name
        relief = (first.associations - each.associations) / (first.associations - last.associations)
        printed = f"; paper: {PRINTED_IN_A_NETWORK[name]}" if each.label == "the cut-off" else ""
        more = round((each.carried - first.carried) / len(events) * 1e5)
        yield Figure(
            f"pruning, {name}: event in a line of five, {each.label}",
            each.event, first.event, first.event / each.event, "µs",
            note=f"{each.share:.0%} of all prunings; {each.associations:,} associations in all "
            f"brokers, {relief:.0%} of the relief; {1 - each.event / first.event:.0%} less time; "
            f"{each.carried / len(events):.2f} links an event, {more:,} more for 100,000 events; "
            f"{LINE:,} subscriptions, {len(events):,} events; baseline: nothing pruned{printed}",
        )  # fmt: skip


# -- policies


@dataclass(frozen=True)
class Outcome:
    """A network under a policy."""

    told: int  # bytes of changes over links
    entries: int
    table: int  # bytes of what events are compared with
    predicates: int  # distinct ones, in all tables
    event: float  # µs
    carried: int  # events over links
    delivered: int


def policies() -> Iterator[Figure]:
    """What each policy sends, keeps and carries, beside identity."""
    outcomes = {name: outcome(choice) for name, choice in POLICIES.items()}
    first = next(iter(outcomes.values()))
    for name, each in outcomes.items():
        assert each.delivered == first.delivered, name
        more = round((each.carried - first.carried) / SENT * 1e5)
        yield Figure(
            f"pruning, policies: {name}, bytes in tables",
            each.table, first.table, first.table / each.table, "bytes",
            note=f"{each.entries:,} entries, {each.predicates:,} distinct predicates; "
            f"{each.told / first.told:.0%} of the bytes to tell them; "
            f"{each.carried / SENT:.2f} links an event, {more:,} more for 100,000 events; "
            f"{1 - each.event / first.event:.0%} less time an event; "
            f"{FEW:,} subscriptions, five brokers in a line; baseline: identity",
        )  # fmt: skip


def outcome(choice: Choice) -> Outcome:
    """Let brokers see events, then subscriptions, and then events again."""
    workload = auctions(FEW)
    kind = Attributes(workload.schema)
    network = Network(line(5), kind, choice, setup=Setup(check="off", memory=0), costs=FREE)
    clients = [network.client(f"c{i}", name) for i, name in enumerate(network.nodes)]
    random = Random(1)
    for event in workload.events(LEARNED, seed=1).to_pylist():
        random.choice(clients).publish(event)
    network.run(network.now + PATIENCE)
    for f in workload.filters():
        random.choice(clients).subscribe(AttributeFilter(f))
        network.run()
    for _ in range(3):  # rounds of pruning
        network.run(network.now + PATIENCE)
    tables = [node.broker.routing.wanted for node in network.nodes.values()]
    held = [[table.matched_by(source) for source, _ in table.by_age()] for table in tables]
    brokers = [node.broker for node in network.nodes.values()]
    events = workload.events(SENT, seed=2).to_pylist()
    flowed = flow(network, brokers, events, "", 0.0)
    return Outcome(
        sum(
            lane.traffic.bytes[Change]
            for node in network.nodes.values()
            for lane in node.outgoing.values()
        ),
        sum(map(len, held)),
        sum(f.size for own in held for f in own),
        sum(map(distinct, held)),
        flowed.event,
        flowed.carried,
        flowed.delivered,
    )


def distinct(filters: list[Any]) -> int:
    """How many different predicates filters have."""
    return len({str(predicate) for f in filters for predicate in predicates(f.filter.tree)})

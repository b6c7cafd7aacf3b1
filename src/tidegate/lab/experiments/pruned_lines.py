"""What becomes of five brokers in a line as they prune their tables?

As Bittner and Hinze (2006) have it in a network: the same subscriptions and events at several
shares of all prunings; how many associations there are in all brokers, how many events go over
links, and what an event takes in all of them.
"""

from dataclasses import dataclass
from random import Random
from typing import Any

from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads.auctions import Auctions
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attribute_index import AttributeIndex
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Publish
from tidegate.overlay.policy import Choice
from tidegate.overlay.policy.queue import Rule
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.simulate.cost import FREE
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import line


@dataclass(frozen=True)
class Flow:
    """A network at a share of all prunings."""

    label: str
    share: float
    associations: int
    event: float  # µs
    carried: int  # events over links
    delivered: int


def settled(workload: Auctions, learned: int) -> tuple[Network, list[Broker]]:
    """Five brokers with a client each, who have what they want, and have seen some events."""
    kind = Attributes(workload.schema)
    choice = Choice("identity", prune="after", index="counting")
    network = Network(line(5), kind, choice, setup=Setup(check="off", memory=0), costs=FREE)
    clients = [network.client(f"c{i}", name) for i, name in enumerate(network.nodes)]
    network.run()
    random = Random(1)
    for f in workload.filters():
        random.choice(clients).subscribe(AttributeFilter(f))
        network.run()
    for event in workload.events(learned, seed=1).to_pylist():
        random.choice(clients).publish(event)
        network.run()
    brokers = [node.broker for node in network.nodes.values()]
    for broker in brokers:
        pruner = broker.notes.pruner
        assert pruner is not None
        pruner.learn(pruner.summary())
    return network, brokers


def found_by(broker: Broker) -> float:
    """How far a broker would prune its table."""
    queue = broker.routing.wanted.pruned
    assert queue is not None
    broker.routing.wanted.prune(0.0)
    assert queue.found is not None
    return queue.found


def prune_to(broker: Broker, share: float) -> None:
    """Let a broker prune its table up to a share."""
    queue = broker.routing.wanted.pruned
    assert queue is not None
    queue.rule = Rule(share)
    broker.routing.wanted.prune()


def flow(
    network: Network, brokers: list[Broker], events: list[Any], label: str, share: float
) -> Flow:
    """Publish events at all brokers, and see how far they go."""
    clients, random = list(network.clients.values()), Random(2)
    carried, delivered = over_links(network), deliveries(network)
    with timed() as watch:
        for event in events:
            random.choice(clients).publish(event)
            network.run()
    return Flow(
        label,
        share,
        sum(associations(broker) for broker in brokers),
        watch.seconds / len(events) * 1e6,
        over_links(network) - carried,
        deliveries(network) - delivered,
    )


def associations(broker: Broker) -> int:
    """How many predicates are associated with entries, if a broker's table counts them."""
    index = broker.routing.wanted.index
    assert isinstance(index, AttributeIndex)
    table = index.structure
    return table.associations if isinstance(table, CountingTable) else 0


def over_links(network: Network) -> int:
    """How many events went over links."""
    return sum(
        lane.traffic.messages[Publish]
        for node in network.nodes.values()
        for lane in node.outgoing.values()
    )


def deliveries(network: Network) -> int:
    """How many notifications there were."""
    return sum(node.done.notifications for node in network.nodes.values())

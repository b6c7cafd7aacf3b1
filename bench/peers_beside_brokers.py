"""The same subscribers and documents, as peers and as clients of brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.figure import Figure
from tidegate.overlay.messages import Publish
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.peers.branch import TreeSettings
from tidegate.peers.messages import Pass
from tidegate.peers.simulation import Simulation, size_of
from tidegate.peers.tree_messages import Join
from tidegate.peers.tree_peer import TreePeer
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import balanced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.overlay.pattern_filter import PatternFilter

PEERS = 200
PUBLISHED = 40


def beside_brokers(filters: Sequence[PatternFilter], documents: Sequence[str]) -> Iterator[Figure]:
    """Messages and bytes for each delivery, control messages for each subscriber."""
    kind, some = Patterns(), filters[:PEERS]
    tree: Simulation[TreePeer] = Simulation(
        kind, lambda name, f: TreePeer(name, kind, f, TreeSettings(join=Join.ADAPTIVE)), delay=10
    )
    for number, f in enumerate(some):
        tree.join(f"p{number}", f)
        tree.settle()
    control = sum(tree.messages.values())
    sent = sum(tree.bytes.values())
    delivered, messages, size = 0, 0, 0
    published = [d for d in documents if any(f.matches(d) for f in some)][:PUBLISHED]
    for document in published:
        publisher = next(n for n, f in enumerate(some) if f.matches(document))
        spread = tree.publish(f"p{publisher}", document)
        assert not spread.missed, "the tree has missed an event"
        delivered += len(spread.delivered)
        messages += spread.messages
        size += spread.messages * size_of(Pass("p0", 1, document), kind)
    if not delivered:
        return  # too few peers to say anything
    theirs = _brokers(some, published)
    assert theirs.delivered >= delivered, "brokers have missed an event"
    for what, ours, other, unit in (
        ("messages", messages / delivered, theirs.messages / theirs.delivered, "for each delivery"),
        ("bytes", size / delivered, theirs.bytes / theirs.delivered, "for each delivery"),
        ("control messages", control / PEERS, theirs.control / PEERS, "for each subscriber"),
        ("control bytes", sent / PEERS, theirs.control_bytes / PEERS, "for each subscriber"),
    ):
        yield Figure(
            f"peers: {what} beside brokers",
            ours,
            other,
            other / ours,
            unit,
            note=f"{PEERS} subscribers; baseline: covering, 15 brokers, clients' messages, too",
        )


class _Brokers:
    """What brokers took for the same."""

    def __init__(self) -> None:
        self.delivered = self.messages = self.bytes = self.control = self.control_bytes = 0


def _brokers(filters: Sequence[PatternFilter], documents: Sequence[str]) -> _Brokers:
    kind, found = Patterns(), _Brokers()
    network = Network(balanced(2, 3), kind, Choice("covering"), setup=Setup(tick=None, check="off"))
    names = list(network.topology.names)
    clients = [network.client(f"c{n}", names[n % len(names)]) for n in range(len(filters))]
    for client, f in zip(clients, filters, strict=True):
        client.subscribe(f)
    network.run()
    lanes = [lane for node in network.nodes.values() for lane in node.outgoing.values()]
    found.control = sum(lane.traffic.sent for lane in lanes) + len(filters)
    found.control_bytes = sum(sum(lane.traffic.bytes.values()) for lane in lanes)
    before = sum(node.done.deliveries for node in network.nodes.values())
    for document in documents:
        publisher = next(n for n, f in enumerate(filters) if f.matches(document))
        clients[publisher].publish(document)
        network.run()
    found.delivered = sum(node.done.deliveries for node in network.nodes.values()) - before
    hops = sum(lane.traffic.messages[Publish] for lane in lanes)
    # an event goes from its publisher to a broker, and from brokers to those who are handed it
    found.messages = hops + found.delivered + len(documents)
    ends = sum(kind.event_size(document) for document in documents)
    mean = ends / len(documents)
    found.bytes = sum(lane.traffic.bytes[Publish] for lane in lanes)
    found.bytes += round(mean * (found.delivered + len(documents)))
    return found

"""Networks for tests, and what is true of every network that is quiet."""

from collections.abc import Iterable
from typing import Any

from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Event
from tidegate.overlay.messages import Deliver
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.simulate.cost import FREE, CostModel
from tidegate.simulate.counters import count
from tidegate.simulate.link import LinkModel
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import Topology

KIND = Attributes()


def between(low: int, high: int) -> AttributeFilter:
    return KIND.parse("x BETWEEN :low AND :high", low=low, high=high)


def network(
    topology: Topology,
    policy: str | Choice = "covering",
    *,
    costs: CostModel = FREE,
    advertisements: bool = False,
    **setup: Any,
) -> Network:
    settings = Settings(advertisements=advertisements)
    given = {"link": LinkModel(0.01), **setup}
    choice = policy if isinstance(policy, Choice) else Choice(policy)
    return Network(topology, KIND, choice, settings, Setup(**given), costs)


class Inbox:
    """What clients are handed from now on."""

    def __init__(self, network: Network) -> None:
        self.got: list[tuple[str, tuple[int, ...], Event]] = []
        network.watch(self._note)

    def _note(self, start: str, end: str, message: object) -> None:
        if isinstance(message, Deliver):
            self.got.append((end, message.subscriptions, message.event))


def publish_everywhere(network: Network, values: Iterable[int]) -> None:
    """From every publisher, an event of each value; what is delivered is what everybody wants."""
    inbox = Inbox(network)
    wanted = []
    for client in [client for client in network.clients.values() if client.name.startswith("p")]:
        for value in values:
            event = {"x": value}
            client.publish(event)
            wanted += [
                (other.name, own, value)
                for other in network.clients.values()
                for own, f in other.wanted.items()
                if f.matches(event)
            ]
    network.run()
    got = [(name, own, event["x"]) for name, owns, event in inbox.got for own in owns]
    assert sorted(got) == sorted(wanted)


def check_quiet(network: Network) -> None:
    """Both ends of every link know the same, nothing is left over, and the counters add up.

    But for links to brokers that are dead, and those that were left.
    """
    assert network.quiet
    for name, node in network.nodes.items():
        assert not node.queue
        assert not node.busy
        for other, lane in node.outgoing.items():
            dead = {name, other} & network.dead
            if dead or frozenset((name, other)) not in network.linked:
                continue
            link = node.broker.routing.links[other]
            told = network.nodes[other].broker.routing.wanted.of(name)
            assert link.ready
            assert told == dict(link.wanted.active)
            assert not link.stream.unacknowledged
            assert not lane.under_way
            assert not lane.markers
    check_counts(network)


def check_counts(network: Network) -> None:
    result = count(network)
    for lane in result.lanes:
        assert sum(lane.messages.values()) == lane.arrived + lane.lost + lane.under_way
        assert 0 <= lane.vain <= lane.messages["publish"]
    totals = result.totals
    for kind, messages in totals["messages"].items():
        assert messages == sum(broker.messages[kind] for broker in result.brokers)
        assert totals["bytes"][kind] == sum(broker.bytes[kind] for broker in result.brokers)
    assert totals["arrived"] == sum(broker.received for broker in result.brokers)
    assert sum(totals["messages"].values()) == (
        totals["arrived"] + totals["lost"] + totals["under_way"]
    )
    assert totals["deliveries"] == len(network.service.delays)
    assert totals["entries"] == sum(len(x.broker.routing.wanted) for x in network.nodes.values())

"""Networks in which brokers have parents, and what is true of them once they are quiet."""

from collections.abc import Mapping, Sequence

from tests.simulate.networks import KIND, Inbox
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.simulate.cost import FREE
from tidegate.simulate.link import LinkModel
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import Edge, Topology, with_parents

PATIENCE, FORGET, TICK = 2, 6, 0.1


def rooted(
    parents: Mapping[str, str],
    backups: Mapping[str, Sequence[str]],
    policy: str = "covering",
    *,
    advertisements: bool = False,
    memory: int = 5,
) -> Network:
    """A network with root `r` in which each other broker has a parent."""
    edges = tuple(Edge(parent, name) for name, parent in parents.items())
    tree = with_parents(Topology(("r", *parents), edges), "r", backups)
    settings = Settings(advertisements, patience=PATIENCE, forget=FORGET)
    setup = Setup(LinkModel(0.01), tick=TICK, memory=memory)
    return Network(tree, KIND, Choice(policy), settings, setup, FREE)


def wait(network: Network, ticks: int = 40) -> None:
    """Let so many ticks pass, and then everything come to rest."""
    network.run(network.now + ticks * TICK)
    network.run()


def parents(network: Network) -> dict[str, str | None]:
    """The parent of every broker that is up."""
    found: dict[str, str | None] = {}
    for name, node in network.nodes.items():
        if node.up:
            assert node.broker.ties.failover is not None
            found[name] = node.broker.ties.failover.parent
    return found


def linked(network: Network) -> set[frozenset[str]]:
    """The links that brokers know."""
    return {
        frozenset((name, link.name))
        for name, node in network.nodes.items()
        if node.up
        for link in node.broker.routing.neighbours
    }


def check_like_fresh(network: Network, policy: str = "covering") -> None:
    """Once quiet, all is as in a new network of the same shape, with those that are left."""
    assert network.quiet
    above = parents(network)
    alive = {name: parent for name, parent in above.items() if parent in above}
    assert linked(network) == {frozenset(pair) for pair in alive.items()}
    for name in above:
        seen = [name]
        while seen[-1] in alive:
            seen.append(alive[seen[-1]])
            assert len(seen) <= len(above), f"a circle: {seen}"
    for top in [name for name in above if name not in alive]:
        check_tree(network, top, alive, policy)


def check_tree(network: Network, top: str, alive: Mapping[str, str], policy: str) -> None:
    """The brokers below one that has nobody above it know what they would in a new network."""
    names = [top]
    for name in names:
        names += [child for child, parent in alive.items() if parent == name]
    edges = tuple(Edge(alive[name], name) for name in names[1:])
    fresh = Network(
        Topology(tuple(names), edges),
        KIND,
        Choice(policy),
        Settings(network.settings.advertisements),
        costs=FREE,
    )
    for name in names:
        for own, seat in network.nodes[name].seats.items():
            client = fresh.client(own, name)
            for f in seat.client.offered.values():
                client.advertise(f)
            client.subscribe_many(list(seat.client.wanted.values()))
    fresh.run()
    for name in names:
        ours, theirs = (net.nodes[name].broker.routing for net in (network, fresh))
        for link in theirs.neighbours:
            assert entries(network, name, link.name) == entries(fresh, name, link.name), (
                f"what {name} knows of {link.name}"
            )
            assert {*ours.offered[link.name].filters.values()} == {
                *theirs.offered[link.name].filters.values()
            }
            assert not ours.links[link.name].stream.unacknowledged
        assert len(ours.wanted) == len(theirs.wanted)


def entries(network: Network, broker: str, link: str) -> dict[object, int]:
    """What a broker knows of a link, and how often each filter is registered there; beside that,
    how many registrations stand behind the link in all.

    Ids depend on the history, and so does under which of several filters another one hangs.
    """
    table = network.nodes[broker].broker.routing.wanted
    counts = {f: table.counts((link, own)) for own, f in table.of(link).items()}
    found: dict[object, int] = {f: each.own for f, each in counts.items()}
    return found | ({"all": sum(each.all for each in counts.values())} if found else {})


def check_deliveries(network: Network, values: Sequence[int]) -> None:
    """From every publisher, an event of each value reaches all that want it, each once."""
    above = parents(network)
    top = {}
    for name in above:
        end = name
        while above.get(end) in above:
            end = str(above[end])
        top[name] = end
    homes = {own: name for name in above for own in network.nodes[name].seats}
    inbox, wanted = Inbox(network), []
    for own in [own for own in homes if own.startswith("p")]:
        for value in values:
            network.clients[own].publish({"x": value})
            wanted += [
                (other, number, value)
                for other, home in homes.items()
                if top[home] == top[homes[own]]
                for number, f in network.clients[other].wanted.items()
                if f.matches({"x": value})
            ]
    network.run()
    got = [(name, own, event["x"]) for name, owns, event in inbox.got for own in owns]
    assert sorted(got) == sorted(wanted)

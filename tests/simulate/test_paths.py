"""Several paths to a publisher: what any of them carries arrives once, whatever fails beside it."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.simulate.networks import KIND, between, check_counts, publish_everywhere
from tidegate.errors import TidegateError
from tidegate.overlay import events as events_module
from tidegate.overlay.policy import Choice
from tidegate.overlay.seen import Seen
from tidegate.overlay.settings import Settings
from tidegate.overlay.upstream import check_paths
from tidegate.simulate.cost import FREE
from tidegate.simulate.counters import count
from tidegate.simulate.link import LinkModel
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import Topology, with_paths

POLICIES = ("covering", "identity", "simple", "xroute", "flood")


def layered(ways: int, layers: int, roots: int = 1, *, random: Random | None = None) -> Topology:
    """Roots, so many layers of so many routers, and two brokers with clients below all of these.

    Each broker has all those of the layer above on its ways up.
    """
    tops = [f"r{i}" for i in range(roots)]
    up: dict[str, dict[str, list[str]]] = {name: {name: []} for name in tops}
    delays = {}
    above = tops
    for layer in range(layers + 1):
        names = [f"l{layer}.{i}" for i in range(ways)] if layer < layers else ["e0", "e1"]
        for name in names:
            up[name] = {root: ([root] if layer == 0 else above) for root in tops}
            for other in above:
                if random is not None:
                    delays[frozenset((name, other))] = random.choice((0.001, 0.01, 0.03, 0.2))
        above = names
    return with_paths(up, delays)


def network(
    topology: Topology,
    policy: str = "covering",
    *,
    advertisements: bool = False,
    kept: bool = False,
) -> Network:
    setup = Setup(LinkModel(0.01), tick=0.1, memory=4)
    own = Settings(advertisements=advertisements, keep_events=kept)
    return Network(topology, KIND, Choice(policy), own, setup, FREE)


def populate(net: Network) -> None:
    for i in range(4):
        net.client(f"c{i}", f"e{i % 2}")
    for name in net.topology.names:
        if name.startswith("r"):
            publisher = net.client(f"p{name}", name)
            if net.settings.advertisements:
                publisher.advertise(between(0, 30))
    net.run()


class Masked:
    """A network in which fewer routers fail at once than there are ways; or any number of them,
    where events are kept.
    """

    def __init__(self, seed: int, policy: str, *, advertisements: bool, kept: bool = False) -> None:
        self.random = random = Random(seed)
        ways = random.randint(2, 3)
        shape = layered(ways, random.randint(1, 2), random.randint(1, 2), random=random)
        self.network = network(shape, policy, advertisements=advertisements, kept=kept)
        self.routers = [name for name in shape.names if name.startswith("l")]
        self._most = len(self.routers) if kept else ways - 1
        populate(self.network)

    def live(self) -> None:
        for _ in range(3):
            for _ in range(4):
                self._change()
            self.network.run()
            self._fail_and_publish()
            self.network.run()

    def _change(self) -> None:
        client = self.network.clients[f"c{self.random.randrange(4)}"]
        low = self.random.randint(0, 24)
        if self.random.random() < 0.7 or not client.wanted:
            client.subscribe(between(low, low + self.random.randint(0, 8)))
        else:
            client.cancel(self.random.choice(list(client.wanted)))

    def _fail_and_publish(self) -> None:
        """So many failures at most, of routers and links, long or short, at any time."""
        random, net = self.random, self.network
        failing = random.sample(self.routers, random.randint(0, self._most))
        plan: dict[int, list[tuple[str, str | None, bool]]] = {}
        for name in failing:
            other = random.choice([None, *net.nodes[name].outgoing])
            began = random.randrange(8)
            plan.setdefault(began, []).append((name, other, True))
            plan.setdefault(began + random.randint(1, 9), []).append((name, other, False))
        for moment in range(18):
            for name, other, fails in plan.get(moment, ()):
                self._fail(name, other) if fails else self._repair(name, other)
            publishers = [name for name in net.clients if name.startswith("p")]
            net.clients[random.choice(publishers)].publish({"x": random.randint(0, 30)})
            net.run(net.now + random.choice((0, 0.001, 0.02, 0.02, 0.15)))

    def _fail(self, name: str, other: str | None) -> None:
        if other is None:
            self.network.crash(name)
        else:
            self.network.cut(name, other)

    def _repair(self, name: str, other: str | None) -> None:
        if other is None:
            keeps_its_memory = self.random.random() < 0.6 or self.network.settings.keep_events
            self.network.restart(name, memory=keeps_its_memory)
        else:
            self.network.mend(name, other)


@pytest.mark.slow
@settings(max_examples=3_000 if LONG else 25)
@given(seed=st.integers(0, 10**9), policy=st.sampled_from(POLICIES), advertisements=st.booleans())
def test_nothing_is_missed_during_failures_and_nothing_comes_twice(
    seed: int, policy: str, advertisements: bool
) -> None:
    masked = Masked(seed, policy, advertisements=advertisements)
    masked.live()
    totals = count(masked.network).totals
    assert (totals["missed"], totals["early"], totals["duplicated"]) == (0, 0, 0)
    assert totals["published"] > 20
    check_like_fresh(masked.network, policy)
    publish_everywhere(masked.network, range(0, 31, 3))
    check_counts(masked.network)


@pytest.mark.slow
@settings(max_examples=500 if LONG else 15)
@given(seed=st.integers(0, 10**9), policy=st.sampled_from(POLICIES), advertisements=st.booleans())
def test_with_events_that_are_kept_all_ways_may_fail_at_once(
    seed: int, policy: str, advertisements: bool
) -> None:
    """What comes late comes on several ways, once."""
    masked = Masked(seed, policy, advertisements=advertisements, kept=True)
    masked.live()
    masked.network.run(masked.network.now + 2)  # what was sent again while nobody answered
    masked.network.run()
    totals = count(masked.network).totals
    assert (totals["missed"], totals["early"], totals["duplicated"]) == (0, 0, 0)
    assert totals["owed"] == totals["notifications"]
    check_like_fresh(masked.network, policy)


def check_like_fresh(net: Network, policy: str) -> None:
    """Tables are those of a new network with the same subscriptions."""
    fresh = network(net.topology, policy, advertisements=net.settings.advertisements)
    populate(fresh)
    for name, client in net.clients.items():
        fresh.clients[name].subscribe_many(list(client.wanted.values()))
    fresh.run()
    for name, node in net.nodes.items():
        ours, theirs = node.broker.routing.wanted, fresh.nodes[name].broker.routing.wanted
        for other in node.outgoing:
            assert {*ours.of(other).values()} == {*theirs.of(other).values()}


def test_the_same_is_told_on_all_ways_and_events_come_down_on_all() -> None:
    net = network(layered(3, 2))
    populate(net)
    net.clients["c0"].subscribe(between(1, 9))
    net.run()
    for name in ("l1.0", "l1.1", "l1.2"):
        assert len(net.nodes[name].broker.routing.wanted.of("e0")) == 1
    publish_everywhere(net, [5])
    arrived = sum(
        lane.traffic.messages[type_]
        for lane in net.nodes["e0"].incoming.values()
        for type_ in lane.traffic.messages
        if type_.__name__ == "Publish"
    )
    assert arrived == 3
    assert count(net).totals["duplicated"] == 0


def test_events_never_go_up_or_between_ways() -> None:
    net = network(layered(2, 1), "flood")
    populate(net)
    net.clients["c0"].subscribe(between(1, 9))
    publish_everywhere(net, [5, 20])
    for name in ("l0.0", "l0.1"):
        assert not sum(
            lane.traffic.messages[type_]
            for goal, lane in net.nodes[name].outgoing.items()
            for type_ in lane.traffic.messages
            if goal == "r0" and type_.__name__ == "Publish"
        )


def test_who_is_no_root_cannot_publish() -> None:
    net = network(layered(2, 1))
    populate(net)
    net.clients["c0"].publish({"x": 5})
    net.run()
    assert net.clients["c0"].refused[0] == "no paths lead from e0: publish at r0"


class HighMark(Seen):
    """Takes the highest number for all that was seen."""

    def __init__(self, window: int) -> None:
        super().__init__(0)


def test_seen_numbers_as_a_high_mark_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that another way delivers late is dropped then."""
    monkeypatch.setattr(events_module, "Seen", HighMark)
    missed = 0
    for seed in range(40):
        masked = Masked(seed, "covering", advertisements=False)
        masked.live()
        missed += count(masked.network).totals["missed"]
        if missed:
            return
    assert missed


CIRCLES = [
    ({"a": {"r": ["b"]}, "b": {"r": ["a"]}, "r": {"r": []}}, "ways to r form a circle"),
    ({"r": {"r": ["a"]}, "a": {"r": ["r"]}}, "r is a root: no way leads from it to itself"),
]


@pytest.mark.parametrize(("up", "reason"), CIRCLES)
def test_a_circle_in_the_configuration_is_refused(
    up: dict[str, dict[str, list[str]]], reason: str
) -> None:
    with pytest.raises(TidegateError, match=reason):
        with_paths(up)


def test_what_is_wanted_does_not_go_in_circles_from_one_root_to_the_next() -> None:
    """Each root alone is fine: a ring of which every root has one half."""
    ring = ["a", "b", "c", "d"]
    up = {
        name: {
            "p": [] if name == "a" else [ring[i - 1]],
            "q": [] if name == "c" else [ring[i - 1]],
        }
        for i, name in enumerate(ring)
    }
    named = {
        name: {{"p": "a", "q": "c"}[k]: v for k, v in ways.items()} for name, ways in up.items()
    }
    with pytest.raises(TidegateError, match="to one root and then to another, form a circle"):
        check_paths(named)


def test_ways_to_nobody_are_refused() -> None:
    with pytest.raises(TidegateError, match="which is no broker"):
        with_paths({"a": {"z": ["b"]}, "b": {}})
    with pytest.raises(TidegateError, match="no path leads from a to r"):
        with_paths({"r": {"r": []}, "a": {"r": []}})

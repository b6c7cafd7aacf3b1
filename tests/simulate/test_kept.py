"""Events kept until they are acknowledged: none is lost by a crash, and none comes twice."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.simulate.networks import KIND, Inbox, between, check_counts, check_quiet
from tidegate.overlay import events as events_module
from tidegate.overlay import link as link_module
from tidegate.overlay import routing as routing_module
from tidegate.overlay.link import Link
from tidegate.overlay.messages import Deliver, Publish, Send
from tidegate.overlay.policy import Choice
from tidegate.overlay.seen import Seen
from tidegate.overlay.settings import Settings
from tidegate.overlay.stream import Place, Stream
from tidegate.simulate.cost import FREE, CostModel
from tidegate.simulate.counters import count
from tidegate.simulate.link import LinkModel
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import Topology, line, random_tree


def keeping(
    topology: Topology,
    policy: str = "covering",
    *,
    costs: CostModel = FREE,
    advertisements: bool = False,
    **setup: Any,
) -> Network:
    kept = Settings(advertisements=advertisements, keep_events=True)
    given = {"link": LinkModel(0.01), "tick": 0.1, "memory": 5, **setup}
    return Network(topology, KIND, Choice(policy), kept, Setup(**given), costs)


def fail_and_live(seed: int, policy: str, client_delay: float) -> tuple[Network, Inbox]:
    """A network in which brokers crash and come back, links are cut and mended, and events flow."""
    random = Random(seed)
    costs = CostModel() if random.random() < 0.5 else FREE
    tree = random_tree(random.randint(1, 5), seed)
    net = keeping(tree, policy, costs=costs, client_delay=client_delay)
    names = list(net.nodes)
    for i in range(3):
        net.client(f"c{i}", random.choice(names)).subscribe_many(
            [between(i, i + 12), between(20 + i, 30)]
        )
    publishers = [net.client(f"p{i}", random.choice(names)) for i in range(2)]
    net.run()
    inbox, down, cuts = Inbox(net), list[str](), list[tuple[str, str]]()
    for _ in range(25):
        net.run(net.now + random.choice((0, 0.001, 0.004, 0.012, 0.1)))
        random.choice(publishers).publish({"x": random.randint(0, 32)})
        what = random.random()
        if what < 0.2 and len(down) < len(names):
            down.append(random.choice([name for name in names if name not in down]))
            net.crash(down[-1])
        elif what < 0.4 and down:
            net.restart(down.pop(random.randrange(len(down))))
        elif what < 0.5 and tree.edges:
            edge = random.choice(tree.edges)
            net.cut(edge.first, edge.second)
            cuts.append((edge.first, edge.second))
        elif what < 0.6 and cuts:
            net.mend(*cuts.pop())
    for name in down:
        net.restart(name)
    for pair in cuts:
        net.mend(*pair)
    net.run()
    net.run(net.now + 1)  # what was sent again while nobody answered
    net.run()
    return net, inbox


@settings(max_examples=1_000 if LONG else 25)
@given(
    seed=st.integers(0, 10**9),
    policy=st.sampled_from(("covering", "simple", "flood", "xroute")),
    client_delay=st.sampled_from((0.0, 0.003)),
)
def test_nothing_is_lost_by_a_crash_and_nothing_comes_twice(
    seed: int, policy: str, client_delay: float
) -> None:
    net, _ = fail_and_live(seed, policy, client_delay)
    totals = count(net).totals
    assert (totals["missed"], totals["duplicated"], totals["early"]) == (0, 0, 0)
    assert totals["published"] == 25
    assert totals["unpublished"] == 0
    assert totals["owed"] == totals["notifications"]
    check_quiet(net)
    check_counts(net)


def test_an_event_waits_for_a_broker_that_is_down() -> None:
    net = keeping(line(3))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b2")
    net.run()
    net.crash("b1")
    publisher.publish({"x": 5})
    net.run()
    assert count(net).totals["deliveries"] == 0
    net.crash("b2")  # which has it, and has acknowledged it
    net.restart("b1")
    net.restart("b2")
    net.run()
    totals = count(net).totals
    assert (totals["deliveries"], totals["missed"]) == (1, 0)


def test_what_is_published_while_the_own_broker_is_down_is_published_later() -> None:
    net = keeping(line(2))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b1")
    net.run()
    net.crash("b1")
    publisher.publish({"x": 5})
    net.run()
    net.restart("b1")
    net.run()
    assert count(net).totals["deliveries"] == 1


def test_events_are_not_kept_unless_asked_for() -> None:
    net = Network(line(2), KIND, costs=FREE)
    net.client("c", "b0").subscribe(between(1, 9))
    net.client("p", "b1").publish({"x": 5})
    net.run()
    net.clients["p"].publish({"x": 5})
    net.run()
    kept = [link.stream.sent for link in net.nodes["b0"].broker.routing.links.values()]
    assert kept[1] == 0
    assert count(net).totals["deliveries"] >= 1


class NeverKeeps(Link):
    """Sends events, and does not keep them."""

    def carry(
        self, event: Publish, subscriptions: tuple[int, ...], *, keep: bool
    ) -> Send | Deliver | None:
        onward = super().carry(event, subscriptions, keep=keep)
        if keep:
            self.stream._kept.pop()
        return onward


class TakesAgain(Stream):
    """Takes a message that it has had for the next one."""

    def place(self, seq: int) -> Place:
        return Place.NEXT if seq <= self.heard + 1 else Place.FUTURE

    def hear(self, seq: int) -> None:
        super().hear(max(seq, self.heard))


class ForgetsNumbers(Seen):
    """Knows no number again."""

    def take(self, number: int) -> bool:
        return True


@pytest.mark.parametrize("mutant", ["keeps nothing", "takes again"])
def test_a_broker_that_loses_or_repeats_events_is_caught(
    mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mutant == "keeps nothing":
        monkeypatch.setattr(routing_module, "Link", NeverKeeps)
    else:
        monkeypatch.setattr(link_module, "Stream", TakesAgain)
        monkeypatch.setattr(events_module, "Seen", ForgetsNumbers)
    for seed in range(30):
        net, _ = fail_and_live(seed, "covering", 0.003)
        totals = count(net).totals
        if totals["missed"] or totals["duplicated"]:
            return
    raise AssertionError("nothing was noticed")

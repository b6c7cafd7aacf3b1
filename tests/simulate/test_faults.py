"""Cuts and crashes: what is lost is counted, and what was wanted is wanted again afterwards."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.simulate.networks import (
    Inbox,
    between,
    check_counts,
    check_quiet,
    network,
    publish_everywhere,
)
from tidegate.errors import TidegateError
from tidegate.overlay.policy import Choice
from tidegate.simulate.cost import FREE, CostModel
from tidegate.simulate.counters import count
from tidegate.simulate.network import Network
from tidegate.simulate.topology import line, random_tree


def test_events_on_a_cut_link_are_lost_and_missed() -> None:
    net = network(line(3))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b2")
    net.run()
    publisher.publish({"x": 5})
    net.run(net.now + 0.015)  # between b1 and b0
    net.cut("b0", "b1")
    publisher.publish({"x": 6})
    net.run()
    totals = count(net).totals
    assert (totals["lost"], totals["missed"], totals["deliveries"]) == (1, 2, 0)
    net.mend("b0", "b1")
    net.run()
    publish_everywhere(net, [7])
    assert count(net).totals["missed"] == 2
    check_quiet(net)


def test_changes_lost_on_a_cut_link_are_told_when_it_is_mended() -> None:
    net = network(line(3))
    subscriber, _ = net.client("c", "b0"), net.client("p", "b2")
    first = subscriber.subscribe(between(1, 9))
    net.run()
    subscriber.subscribe(between(20, 29))
    net.run(net.now + 0.005)
    net.cut("b0", "b1")
    subscriber.cancel(first)
    net.run()
    assert count(net).totals["lost"] == 1
    net.mend("b0", "b1")
    net.run()
    publish_everywhere(net, [5, 25])
    check_quiet(net)


def test_a_cut_and_mended_link_loses_what_is_written_to_the_one_before() -> None:
    net = network(line(2), costs=CostModel(events=50_000_000))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b1")
    net.run()
    publisher.publish({"x": 5})
    net.run(net.now + 0.01)  # b1 is at work on it
    net.cut("b0", "b1")
    net.mend("b0", "b1")
    net.run()
    totals = count(net).totals
    assert (totals["lost"], totals["missed"]) == (1, 1)
    publish_everywhere(net, [5])
    check_quiet(net)


@pytest.mark.parametrize("memory", [True, False])
@pytest.mark.parametrize("broker", ["b0", "b1", "b2"])
def test_after_a_restart_everything_is_as_it_was(broker: str, memory: bool) -> None:
    net = network(line(3), memory=4)
    for i, home in enumerate(("b0", "b0", "b1", "b2")):
        net.client(f"c{i}", home).subscribe_many([between(i, i + 5), between(10 * i, 10 * i + 3)])
    net.client("p0", "b0"), net.client("p2", "b2")
    net.run()
    net.crash(broker)
    for name in ("c0", "c2", "c3"):
        client = net.clients[name]
        client.cancel(min(client.wanted))
        client.subscribe(between(40, 49))
    net.run(net.now + 0.1)
    net.restart(broker, memory=memory)
    net.run()
    publish_everywhere(net, range(50))
    check_quiet(net)
    assert count(net).totals["missed"] == 0


def test_a_crash_loses_what_waits_and_what_is_being_done() -> None:
    net = network(line(1), costs=CostModel(events=1_000_000))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b0")
    net.run()
    for value in (1, 2, 3):
        publisher.publish({"x": value})
    net.run(net.now + 0.0005)
    net.crash("b0")
    publisher.publish({"x": 4})
    net.run()
    [broker] = count(net).brokers
    assert (broker.discarded, broker.unpublished, broker.deliveries) == (3, 1, 0)
    assert (broker.published, broker.missed) == (1, 1)  # one had been taken up
    net.restart("b0")
    net.run()
    publish_everywhere(net, [5])


def test_a_change_lost_by_a_crash_is_sent_again() -> None:
    net = network(line(2), costs=CostModel(inserts=1_000_000))
    subscriber, _ = net.client("c", "b0"), net.client("p", "b1")
    net.run()
    subscriber.subscribe(between(1, 9))
    net.run(net.now + 0.0005)  # being handled, nothing is written down
    net.crash("b0")
    net.restart("b0")
    net.run()
    publish_everywhere(net, [5])
    check_quiet(net)


def test_a_cancellation_lost_by_a_crash_counts_when_the_client_tells_all_afresh() -> None:
    net = network(line(2))
    subscriber, publisher = net.client("c", "b0"), net.client("p", "b1")
    own = subscriber.subscribe(between(1, 9))
    net.run()
    net.crash("b0")
    subscriber.cancel(own)
    net.restart("b0", memory=False)
    net.run()
    publisher.publish({"x": 5})
    net.run()
    totals = count(net).totals
    assert (totals["owed"], totals["deliveries"], totals["entries"]) == (0, 0, 0)
    check_quiet(net)


def test_recovery_takes_the_time_of_what_is_done_again() -> None:
    net = network(line(1), costs=replace(FREE, inserts=10_000_000), memory=1_000)
    client = net.client("c", "b0")
    for i in range(3):
        client.subscribe(between(i, i))
    net.run()
    busy = net.nodes["b0"].done.busy
    net.crash("b0")
    net.restart("b0")
    net.run()
    assert net.nodes["b0"].done.busy - busy == 3 * 10_000_000
    [broker] = count(net).brokers
    assert broker.work["inserts"] == 3  # not counted twice


def test_the_recovery_delay_is_the_time_until_nothing_is_left_to_tell() -> None:
    net = network(line(3))
    client, _ = net.client("c", "b0"), net.client("p", "b2")
    net.run()
    net.crash("b1")
    client.subscribe(between(1, 9))
    net.run()
    net.restart("b1")
    net.run(net.now + 0.5)
    found = {broker.name: broker.recovery for broker in count(net).brokers}
    # Both greet (10 ms), b0 tells (10 ms), b1 passes it on (10 ms), and b2 acknowledges (10 ms).
    assert found == {"b0": 0.0, "b1": pytest.approx(0.04), "b2": 0.0}


def test_a_broker_that_writes_nothing_down_has_nothing_to_come_back_with() -> None:
    net = network(line(2), memory=0)
    net.crash("b0")
    with pytest.raises(TidegateError, match="write nothing down"):
        net.restart("b0")
    net.restart("b0", memory=False)
    net.run()
    check_quiet(net)


def test_a_link_to_a_broker_that_is_down_comes_up_with_it() -> None:
    net = network(line(2))
    net.run()
    net.crash("b0")
    net.cut("b0", "b1")
    net.mend("b0", "b1")
    net.run()
    assert not net.nodes["b1"].outgoing["b0"].up
    net.restart("b0")
    net.run()
    check_quiet(net)


def test_a_cut_link_stays_down_when_a_broker_comes_back() -> None:
    net = network(line(2))
    net.cut("b0", "b1")
    net.crash("b0")
    net.restart("b0")
    net.run()
    assert not net.nodes["b1"].outgoing["b0"].up
    net.mend("b0", "b1")
    net.run()
    check_quiet(net)


def live(net: Network, random: Random, steps: int, *, faults: bool) -> None:
    """Let clients do things at random, and brokers and links fail."""
    clients = [client for client in net.clients.values() if client.name.startswith("c")]
    publishers = [client for client in net.clients.values() if client.name.startswith("p")]
    down: list[Any] = []
    for _ in range(steps):
        net.run(net.now + random.choice((0, 0.001, 0.004, 0.02)))
        client, what = random.choice(clients), random.random()
        low = random.randint(0, 30)
        wanted = between(low, low + random.randint(0, 12))
        if what < 0.4 or not client.wanted:
            client.subscribe(wanted)
        elif what < 0.6:
            client.update(random.choice(list(client.wanted)), wanted)
        elif what < 0.75:
            client.cancel(random.choice(list(client.wanted)))
        for _ in range(random.randint(0, 3)):
            random.choice(publishers).publish({"x": random.randint(0, 42)})
        if faults and random.random() < 0.2:
            fail(net, random, down)
    while down:
        repair(net, random, down)


def fail(net: Network, random: Random, down: list[Any]) -> None:
    if down and random.random() < 0.5:
        repair(net, random, down)
        return
    if random.random() < 0.5:
        name = random.choice([name for name, node in net.nodes.items() if node.up] or ["b0"])
        if net.nodes[name].up:
            net.crash(name)
            down.append(name)
    else:
        edge = random.choice(net.topology.edges)
        net.cut(edge.first, edge.second)
        down.append(edge)


def repair(net: Network, random: Random, down: list[Any]) -> None:
    what = down.pop(random.randrange(len(down)))
    if isinstance(what, str):
        net.restart(what, memory=random.random() < 0.5)
    elif what not in down:
        net.mend(what.first, what.second)


POLICIES = [
    *(Choice(name) for name in ("simple", "identity", "covering", "flood")),
    Choice("subsumption", size=4),
    Choice("merging", size=3),
]


@settings(max_examples=25)
@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from(POLICIES), st.booleans())
def test_without_faults_nothing_is_ever_missed_or_duplicated(
    brokers: int, seed: int, policy: Choice, advertisements: bool
) -> None:
    random = Random(seed)
    tree = random_tree(brokers, seed)
    net = network(
        tree, policy, costs=CostModel(), memory=0, tick=0.05, advertisements=advertisements
    )
    populate(net, random)
    live(net, random, 25, faults=False)
    net.run()
    totals = count(net).totals
    assert totals["missed"] == totals["duplicated"] == 0
    assert totals["lost"] == 0
    publish_everywhere(net, range(0, 44, 3))
    check_quiet(net)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(0, 10**6), st.sampled_from(POLICIES), st.booleans())
def test_after_faults_everybody_gets_what_they_want_again(
    brokers: int, seed: int, policy: Choice, advertisements: bool
) -> None:
    random = Random(seed)
    tree = random_tree(brokers, seed)
    net = network(
        tree, policy, costs=CostModel(), memory=6, tick=0.05, advertisements=advertisements
    )
    populate(net, random)
    live(net, random, 25, faults=True)
    check_counts(net)
    net.run()
    before = count(net).totals
    publish_everywhere(net, range(0, 44, 3))
    after = count(net).totals
    assert after["missed"] == before["missed"]
    assert after["early"] == before["early"]
    assert after["duplicated"] == 0
    assert after["owed"] - before["owed"] == after["notifications"] - before["notifications"]
    check_quiet(net)


def populate(net: Network, random: Random) -> None:
    names = list(net.nodes)
    for i in range(4):
        net.client(f"c{i}", random.choice(names))
    for i in range(2):
        publisher = net.client(f"p{i}", random.choice(names))
        if net.settings.advertisements:
            publisher.advertise(between(0, 20))
            net.at(net.now + 0.03, publisher.advertise, between(18, 50))


def test_deliveries_are_watched() -> None:
    net = network(line(1))
    net.client("c", "b0").subscribe(between(1, 9))
    inbox = Inbox(net)
    net.client("p", "b0").publish({"x": 5})
    net.run()
    assert inbox.got == [("c", (1,), {"x": 5})]


def test_a_greeting_that_is_lost_leaves_nothing_of_an_earlier_life() -> None:
    net = network(line(2), costs=replace(FREE, events=5_000_000), memory=1_000)
    subscriber, publisher = net.client("c", "b0"), net.client("p", "b1")
    own = subscriber.subscribe(between(1, 9))
    net.run()
    net.crash("b0")
    subscriber.cancel(own)
    net.run()
    publisher.publish({"x": 50})  # b1 is busy for 5 ms, so its greeting is late
    net.restart("b0", memory=False)
    net.run(net.now + 0.012)  # b1 has heard of the new life; its own greeting is under way
    net.cut("b0", "b1")
    net.run()
    net.mend("b0", "b1")
    net.run()
    assert not net.nodes["b1"].broker.routing.wanted.of("b0")
    check_quiet(net)

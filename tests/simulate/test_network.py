"""Brokers on one clock: times, queues, saturation, and what is counted."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulate.networks import KIND, Inbox, between, check_quiet, network, publish_everywhere
from tidegate.errors import TidegateError
from tidegate.overlay.broker import Broker
from tidegate.overlay.encoding import encode
from tidegate.overlay.filter import Event
from tidegate.overlay.messages import Deliver, Effect, Input, Publish
from tidegate.overlay.table import Table
from tidegate.simulate.cost import FREE, CostModel
from tidegate.simulate.counters import count
from tidegate.simulate.link import LinkModel
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import balanced, line, star


def test_a_delivery_takes_the_delays_of_the_links_on_its_way() -> None:
    net = network(line(4), client_delay=0.001)
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b3")
    net.run()
    publisher.publish({"x": 5})
    net.run()
    assert list(net.service.delays) == [32_000_000]  # 1 ms, three links of 10 ms, 1 ms


def test_bandwidth_is_that_of_the_canonical_encoding() -> None:
    net = network(line(2), link=LinkModel(0.0, 1_000))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b1")
    net.run()
    publisher.publish({"x": 5})
    publisher.publish({"x": 6})
    net.run()
    size = len(encode(Publish(1, {"x": 5}, "b1/p"), KIND))
    assert list(net.service.delays) == [size * 1_000_000, 2 * size * 1_000_000]


def test_a_broker_does_one_thing_after_the_other() -> None:
    net = network(line(1), costs=replace(FREE, events=1_000))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b0")
    net.run()
    for value in (1, 2, 3, 50):
        publisher.publish({"x": value})
    net.run()
    assert list(net.service.delays) == [1_000, 2_000, 3_000]
    [broker] = count(net).brokers
    assert broker.queue == 3
    assert broker.busy == 4e-6


def test_service_takes_what_the_work_and_the_messages_cost() -> None:
    costs = CostModel(5, 7, 11, 13, 100_000, 10_000, messages=1_000, bytes=3)
    net = network(line(1), costs=costs)
    client = net.client("c", "b0")
    client.subscribe(between(1, 9))
    client.subscribe(between(2, 9))
    publisher = net.client("p", "b0")
    net.run()
    publisher.publish({"x": 5})
    net.run()
    came = len(encode(Publish(1, {"x": 5}), KIND))
    went = len(encode(Publish(1, {"x": 5}, "b0/p"), KIND))
    # One event, two filters found, a message in and one out, and their bytes.
    assert list(net.service.delays) == [100_000 + 2 * 10_000 + 2 * 1_000 + 3 * (came + went)]
    done = net.nodes["b0"].done
    assert done.carrying == net.service.delays[0] < done.busy


def test_a_full_queue_drops_events_and_never_changes() -> None:
    net = network(line(1), costs=replace(FREE, events=1_000), queue=2)
    subscriber, publisher = net.client("c", "b0"), net.client("p", "b0")
    subscriber.subscribe(between(1, 9))
    net.run()
    for value in range(1, 6):
        publisher.publish({"x": value})
    for low in range(10, 15):
        subscriber.subscribe(between(low, low))
    net.run()
    [broker] = count(net).brokers
    assert (broker.deliveries, broker.saturated) == (3, 2)  # one in service, two waiting
    assert broker.missed == 0  # an event that no broker has taken up was never published
    assert broker.entries == 6


def test_events_dropped_on_their_way_are_missed() -> None:
    net = network(line(2), costs=replace(FREE, found=10_000), queue=1)
    net.client("c", "b0").subscribe_many([between(1, 9 + i) for i in range(9)])
    publisher = net.client("p", "b1")
    net.run()
    for i in range(6):
        net.at(net.now + i * 2e-5, publisher.publish, {"x": 5})
    net.run()
    totals = count(net).totals
    assert totals["published"] == 6
    assert totals["saturated"] > 0
    assert totals["missed"] == 9 * totals["saturated"]
    assert totals["notifications"] + totals["missed"] == totals["owed"] == 6 * 9


@pytest.mark.parametrize("policy", ["simple", "identity", "covering", "subsumption", "flood"])
def test_everybody_gets_what_they_want_and_nothing_is_in_vain(policy: str) -> None:
    net = network(balanced(2, 2), policy, check="index")
    names = list(net.nodes)
    for i in range(12):
        client = net.client(f"c{i}", names[i % 5])
        client.subscribe_many([between(i, i + 6), between(3 * i, 3 * i + 1)])
    for i in range(2):
        net.client(f"p{i}", names[5 + i])
    net.run()
    publish_everywhere(net, range(0, 40, 2))
    totals = count(net).totals
    assert totals["missed"] == totals["duplicated"] == totals["early"] == 0
    assert totals["owed"] == totals["notifications"] > 0
    assert (totals["vain"] > 0) == (policy == "flood")
    check_quiet(net)


def test_an_event_that_is_wanted_only_on_the_way_is_in_vain_beyond() -> None:
    net = network(line(4), "flood")
    net.client("c", "b1").subscribe(between(1, 9))
    publisher = net.client("p", "b0")
    net.run()
    publisher.publish({"x": 5})
    net.run()
    vain = {(lane.start, lane.end): lane.vain for lane in count(net).lanes}
    assert vain["b0", "b1"] == 0
    assert vain["b1", "b2"] == vain["b2", "b3"] == 1


def test_an_event_that_overtakes_a_subscription_is_early_and_not_missed() -> None:
    net = network(line(3))
    subscriber, publisher = net.client("c", "b0"), net.client("p", "b2")
    net.run()
    subscriber.subscribe(between(1, 9))
    net.run(net.now + 0.015)  # it has come to b1
    publisher.publish({"x": 5})
    net.run(net.now + 0.006)  # and now to b2
    publisher.publish({"x": 5})
    net.run()
    totals = count(net).totals
    assert (totals["early"], totals["missed"], totals["owed"]) == (1, 0, 1)
    assert totals["notifications"] == 1


def test_a_subscription_in_the_shadow_of_another_is_in_place_no_sooner() -> None:
    net = network(line(4))
    wide, narrow = net.client("c1", "b0"), net.client("c2", "b1")
    publisher = net.client("p", "b3")
    net.run()
    wide.subscribe(between(1, 9))
    net.run(net.now + 0.011)  # it has come to b1, and is on its way to b2
    narrow.subscribe(between(2, 3))  # covered there: nothing is sent
    net.run(net.now + 0.001)
    publisher.publish({"x": 2})
    net.run()
    assert count(net).totals["early"] == 2
    publisher.publish({"x": 2})
    net.run()
    totals = count(net).totals
    assert (totals["missed"], totals["notifications"]) == (0, 2)


def test_what_is_cancelled_is_owed_nothing_more() -> None:
    net = network(line(2))
    subscriber, publisher = net.client("c", "b0"), net.client("p", "b1")
    own = subscriber.subscribe(between(1, 9))
    net.run()
    publisher.publish({"x": 5})
    net.run(net.now + 0.005)
    subscriber.cancel(own)
    net.run()
    totals = count(net).totals
    assert totals["owed"] == totals["notifications"] == totals["missed"] == 0
    check_quiet(net)
    assert totals["entries"] == 0


def test_an_update_changes_what_is_delivered() -> None:
    net = network(line(3))
    subscriber, publisher = net.client("c", "b0"), net.client("p", "b2")
    own = subscriber.subscribe(between(1, 9))
    net.run()
    subscriber.update(own, between(20, 29))
    net.run()
    inbox = Inbox(net)
    publisher.publish({"x": 5})
    publisher.publish({"x": 25})
    net.run()
    assert [event for _, _, event in inbox.got] == [{"x": 25}]
    assert count(net).totals["missed"] == 0


def test_with_advertisements_subscriptions_go_only_where_events_may_come_from() -> None:
    net = network(star(4), advertisements=True)
    subscriber = net.client("c", "b1")
    publisher = net.client("p", "b2")
    subscriber.subscribe(between(1, 9))
    publisher.advertise(between(0, 100))
    net.run()
    publisher.publish({"x": 5})
    publisher.publish({"x": 500})  # refused
    net.run()
    result = count(net)
    entries = {broker.name: broker.entries for broker in result.brokers}
    assert entries == {"b0": 1, "b1": 1, "b2": 1, "b3": 0}
    assert (result.totals["owed"], result.totals["missed"]) == (1, 0)
    assert len(publisher.refused) == 1


def test_with_advertisements_a_subscription_is_in_place_when_it_has_come_to_the_publisher() -> None:
    net = network(line(3), advertisements=True)
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b2")
    net.run()
    publisher.advertise(between(0, 100))
    for _ in range(6):
        net.run(net.now + 0.009)
        publisher.publish({"x": 5})
    net.run()
    totals = count(net).totals
    assert totals["missed"] == 0
    assert totals["early"] > 0
    assert totals["owed"] > 0
    assert totals["early"] + totals["notifications"] == 6


def test_a_broker_that_forgets_a_subscription_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(line(3))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b2")
    net.run()
    match = Table.match
    monkeypatch.setattr(Table, "match", lambda self, event: match(self, event)[:0])
    publisher.publish({"x": 5})
    net.run()
    assert count(net).totals["missed"] == 1


def test_a_broker_that_delivers_twice_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(line(2))
    net.client("c", "b0").subscribe(between(1, 9))
    publisher = net.client("p", "b1")
    net.run()
    handle = Broker.handle

    def twice(self: Broker, link: str, came: Input) -> list[Effect]:
        effects = handle(self, link, came)
        return [*effects, *(x for x in effects if isinstance(x, Deliver))]

    monkeypatch.setattr(Broker, "handle", twice)
    publisher.publish({"x": 5})
    net.run()
    totals = count(net).totals
    assert (totals["duplicated"], totals["missed"]) == (1, 0)


def test_ticks_come_at_their_interval_while_there_is_something_to_do() -> None:
    net = network(line(1), tick=0.5)
    net.run(2.2)
    assert net.nodes["b0"].done.handled == 4
    assert net.quiet
    net.run()
    assert net.now == 2.2


def test_a_feed_is_asked_for_one_thing_at_a_time() -> None:
    net = network(line(1))
    times = list[float]()

    def actions() -> Any:
        for i in range(3):
            times.append(net.now)
            yield i * 1.5, lambda: None

    net.feed(actions())
    net.run()
    assert times == [0.0, 0.0, 1.5]


@pytest.mark.parametrize(
    "mistake",
    [
        lambda net: net.client("c", "nowhere"),
        lambda net: (net.client("c", "b0"), net.client("c", "b1")),
        lambda net: net.client("b1", "b0"),
        lambda net: net.cut("b0", "b2"),
        lambda net: net.restart("b0"),
        lambda net: (net.crash("b0"), net.crash("b0")),
        lambda net: (net.run(1), net.at(0.5, print)),
        lambda net: Setup(check="never"),
        lambda net: Setup(queue=0),
        lambda net: Setup(tick=0),
        lambda net: Setup(memory=-1),
        lambda net: CostModel(events=-1),
    ],
)
def test_mistakes_are_refused(mistake: Any) -> None:
    with pytest.raises(TidegateError):
        mistake(network(line(3)))


def test_measured_costs_are_marked() -> None:
    net = Network(line(1), KIND, costs=CostModel(measured=True))
    event: Event = {"x": 1}
    net.client("p", "b0").publish(event)
    net.run()
    assert not count(net).reproducible
    assert net.nodes["b0"].done.busy > 0

"""Brokers that turn to a backup when their parent fails: what becomes of tables and events."""

from collections.abc import Callable

import pytest

from tests.simulate.networks import between
from tests.simulate.parents import (
    TICK,
    check_deliveries,
    check_like_fresh,
    entries,
    parents,
    rooted,
    wait,
)
from tidegate.errors import TidegateError
from tidegate.overlay.messages import Farewell
from tidegate.simulate.network import Network
from tidegate.simulate.sequence import Recorder

#      r
#    a   b
#    m   n
#  c   d
TREE = {"a": "r", "b": "r", "m": "a", "n": "b", "c": "m", "d": "m"}


def settled(backups: dict[str, list[str]], policy: str = "covering") -> Network:
    net = rooted(TREE, backups, policy)
    for i, home in enumerate(("c", "d", "n", "m")):
        net.client(f"c{i}", home).subscribe_many([between(i, i + 3), between(10, 12 + i)])
    net.client("pr", "r"), net.client("pd", "d"), net.client("pn", "n")
    net.run()
    return net


def check(net: Network, policy: str = "covering") -> None:
    check_like_fresh(net, policy)
    check_deliveries(net, range(18))


@pytest.mark.parametrize("policy", ["covering", "xroute", "identity", "simple"])
def test_children_of_a_dead_broker_turn_to_their_backups(policy: str) -> None:
    net = settled({"c": ["b"], "d": ["n", "a"]}, policy)
    net.die("m")
    net.clients["c0"].subscribe(between(30, 40))  # while nobody is above
    wait(net)
    assert (parents(net)["c"], parents(net)["d"]) == ("b", "n")
    assert not entries(net, "a", "m")
    check(net, policy)
    with pytest.raises(TidegateError, match="dead for good"):
        net.restart("m")


def test_backups_are_asked_in_order_and_one_that_is_dead_is_passed_over() -> None:
    net = settled({"c": ["n", "b", "a"], "d": ["b"]})
    net.die("m")
    net.die("n")
    wait(net)
    assert parents(net)["c"] == "b"
    check(net)


def test_a_backup_below_oneself_is_refused_and_the_next_one_asked() -> None:
    net = settled({"a": ["c", "n"], "c": ["b"]})
    net.cut("r", "a")
    wait(net)
    assert parents(net)["a"] == "n"
    check(net)


def test_a_parent_that_comes_back_is_answered_with_a_farewell() -> None:
    net = settled({"c": ["b"], "d": ["b"]})
    net.crash("m")
    wait(net, 20)
    recorder = Recorder(net)
    net.restart("m")
    wait(net)
    said = {(x.start, x.end) for x in recorder.steps if x.text == "farewell"}
    assert {("c", "m"), ("d", "m")} <= said
    assert parents(net)["m"] == "a"
    check(net)


def test_a_parent_that_comes_back_soon_keeps_its_children() -> None:
    net = settled({"c": ["b"], "d": ["b"]})
    net.crash("m")
    wait(net, 1)
    net.clients["c0"].subscribe(between(30, 40))
    net.restart("m")
    wait(net)
    assert parents(net) == {"r": None, **TREE}
    check(net)


def test_a_parent_that_comes_back_in_the_middle_keeps_its_children() -> None:
    net = settled({"c": ["b"]})
    net.crash("m")
    net.run(net.now + 2.5 * TICK)  # c has asked b, and b has not acknowledged
    while "b" not in net.nodes["c"].broker.routing.links:
        net.run(net.now + 0.001)
    net.cut("b", "c")
    net.restart("m")
    wait(net)
    assert parents(net)["c"] == "m"
    net.mend("b", "c")
    wait(net)
    check(net)


def test_a_wrong_suspicion_ends_with_a_farewell() -> None:
    net = settled({"c": ["b"]})
    net.cut("c", "m")
    wait(net)
    assert parents(net)["c"] == "b"
    assert not entries(net, "m", "c")  # forgotten, as it was away for so long
    net.mend("c", "m")
    wait(net)
    check(net)


def test_a_silent_parent_is_suspected_and_told_farewell_while_its_link_is_up() -> None:
    net = settled({"c": ["b"]})
    m = net.nodes["m"]
    m.busy = True  # so that it takes nothing up
    net.clients["c0"].subscribe(between(30, 40))
    wait(net, 8)
    c = net.nodes["c"].broker
    assert c.ties.failover is not None
    assert c.ties.failover.parent == "b"
    assert any(isinstance(waiting.input, Farewell) for waiting in m.queue)
    m.busy = False
    wait(net)
    check(net)


def test_two_that_ask_each_other_come_to_terms() -> None:
    net = settled({"c": ["d"], "d": ["c"]})
    net.die("m")
    wait(net, 60)
    assert (parents(net)["c"], parents(net)["d"]) == ("m", "c")
    check(net)


def test_three_that_turn_in_a_circle_notice_it() -> None:
    net = rooted(
        {"m": "r", "x": "m", "y": "m", "z": "m"}, {"x": ["y"], "y": ["z"], "z": ["x", "r"]}
    )
    for name in "xyz":
        net.client(f"c{name}", name).subscribe(between(1, 9))
        net.client(f"p{name}", name)
    net.run()
    net.die("m")
    wait(net, 120)
    assert parents(net) == {"r": None, "x": "y", "y": "z", "z": "r"}
    check(net)


@pytest.mark.parametrize("memory", [True, False])
def test_a_broker_that_has_moved_and_fails_itself(memory: bool) -> None:
    net = settled({"c": ["b"], "d": ["c"]})
    net.crash("m")
    wait(net)
    assert (parents(net)["c"], parents(net)["d"]) == ("b", "c")
    net.crash("c")
    wait(net, 1)
    net.restart("c", memory=memory)
    wait(net, 80)
    check(net)
    net.restart("m")
    wait(net, 80)
    check(net)


def test_a_parent_that_was_left_is_asked_again_by_one_that_has_forgotten_that() -> None:
    """It is out of reach at first, and the only backup is dead."""
    net = settled({"c": ["b"]})
    net.crash("m")
    wait(net)
    net.restart("m")
    wait(net)
    assert parents(net)["c"] == "b"
    net.cut("c", "m")
    net.die("b")
    net.crash("c")
    net.restart("c", memory=False)
    wait(net)
    assert not net.nodes["c"].broker.routing.neighbours
    net.mend("c", "m")
    wait(net)
    assert parents(net)["c"] == "m"
    check(net)


def test_two_failures_at_once_are_mended_one_after_the_other() -> None:
    net = settled({"m": ["b"], "c": ["n"], "d": ["a", "n"]})
    net.die("a")
    net.die("m")
    wait(net)
    assert (parents(net)["c"], parents(net)["d"]) == ("n", "n")
    check(net)


def test_who_has_no_backup_left_waits() -> None:
    net = settled({"m": ["b"]})
    net.crash("a")
    net.crash("b")
    wait(net)
    assert parents(net)["m"] == "a"
    net.clients["c0"].subscribe(between(30, 40))
    net.restart("b")
    wait(net)
    assert parents(net)["m"] == "b"
    net.restart("a")
    wait(net)
    check(net)


@pytest.mark.parametrize("failing", ["m", "c", "b", "a"])
def test_what_a_broker_knows_of_its_parents_survives_a_crash(failing: str) -> None:
    """At every millisecond of a failover."""
    for late in range(0, 60, 7):
        net = settled({"c": ["b"], "d": ["n"]})
        net.cut("c", "m")
        net.run(net.now + 2 * TICK + late / 1000)
        net.crash(failing)
        net.run(net.now + 0.5 * TICK)
        net.restart(failing)
        wait(net)
        net.mend("c", "m")
        wait(net)
        check_like_fresh(net)


def test_a_link_that_is_gone_is_forgotten_in_one_step() -> None:
    net = settled({})
    known = len(entries(net, "a", "m")) - 1
    net.forget("a", "m")
    recorder = Recorder(net)
    net.run(net.now + 0.021)
    assert not entries(net, "a", "m")
    (told,) = [x.text for x in recorder.steps if (x.start, x.end) == ("a", "r")]
    assert told.count("-") == known > 3
    wait(net)  # as that was a mistake, m joins it again
    check(net)


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("needs no backups", lambda: rooted({"a": "r"}, {"r": ["a"]})),
    ("named once each", lambda: rooted({"a": "r", "b": "r"}, {"a": ["r"]})),
    ("no backup of itself", lambda: rooted({"a": "r"}, {"a": ["a"]})),
    ("there is no broker 'z'", lambda: rooted({"a": "r"}, {"a": ["z"]})),
]


@pytest.mark.parametrize(("reason", "make"), REFUSED)
def test_a_configuration_that_makes_no_sense_is_refused(
    reason: str, make: Callable[[], object]
) -> None:
    with pytest.raises(TidegateError, match=reason):
        make()

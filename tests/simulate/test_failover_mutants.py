"""Mistakes that are easy to make when brokers fail, and that are noticed."""

from collections.abc import Callable

import pytest

from tests.simulate.networks import between, network, publish_everywhere
from tests.simulate.parents import check_like_fresh, wait
from tests.simulate.test_failover import settled
from tidegate.overlay import broker as broker_module
from tidegate.overlay import link as link_module
from tidegate.overlay.failover import Answer, Failover
from tidegate.overlay.messages import Effect, Hello, Numbered
from tidegate.overlay.stream import Stream
from tidegate.overlay.ties import Ties
from tidegate.simulate.counters import count
from tidegate.simulate.topology import line


class DropsFirst(Ties):
    """Leaves its parent as soon as it asks somebody else."""

    def tick(self) -> list[Effect]:
        effects = super().tick()
        above = self.failover
        if above is not None and above.candidate is not None and above.parent is not None:
            effects += self.leave(above.parent)
        return effects


class NoFarewell(Ties):
    """Leaves without a word."""

    def _farewell(self, link: str) -> list[Effect]:
        return []


class BelievesAll(Failover):
    """Does not look at ways."""

    def told(self, link: str, way: tuple[str, ...]) -> Answer:
        if link == self.candidate:
            self._offered_way = way
        return Answer.STAY

    def greeted(self, link: str, hello: Hello) -> Answer:
        return self.told(link, hello.way)


class BufferLast(Stream):
    """Sends what it has kept after what came later."""

    @property
    def unacknowledged(self) -> list[Numbered]:
        return super().unacknowledged[::-1]


class BufferLater(Stream):
    """Goes on with what is new when it is greeted, and sends what it has kept some other time."""

    def greeted(self, hello: Hello, life: int) -> bool:
        afresh = super().greeted(hello, life)
        self._held_back = not afresh
        return afresh

    @property
    def unacknowledged(self) -> list[Numbered]:
        held_back, self._held_back = getattr(self, "_held_back", False), False
        return [] if held_back else super().unacknowledged


def silent_parent() -> None:
    """A parent is suspected, wrongly, and the only backup is dead: nothing is missed."""
    net = settled({"c": ["n"]})
    net.die("n")
    wait(net)
    before = count(net).totals["missed"]
    m = net.nodes["m"]
    m.busy = True  # so that it takes nothing up
    net.clients["c0"].subscribe(between(30, 40))
    net.clients["pr"].publish({"x": 1})
    wait(net, 8)
    m.busy = False
    net.clients["pr"].publish({"x": 2})
    wait(net)
    assert count(net).totals["missed"] == before


def wrong_suspicion() -> None:
    net = settled({"c": ["b"]})
    m = net.nodes["m"]
    m.busy = True
    net.clients["c0"].subscribe(between(30, 40))
    wait(net, 8)
    m.busy = False
    net.clients["pd"].publish({"x": 1})
    wait(net)
    check_like_fresh(net)


def asking_each_other() -> None:
    net = settled({"c": ["d"], "d": ["c"]})
    net.die("m")
    wait(net, 60)
    check_like_fresh(net)


def lost_changes() -> None:
    net = network(line(2))
    client, _ = net.client("c", "b0"), net.client("p", "b1")
    client.subscribe(between(60, 65))
    net.run()
    net.cut("b0", "b1")
    for low in (1, 20, 40):
        client.subscribe(between(low, low + 5))
        net.run()
    net.mend("b0", "b1")
    net.run()
    client.subscribe(between(70, 75))
    net.run()
    publish_everywhere(net, [3, 23, 43, 73])


MUTANTS: list[tuple[object, str, type, Callable[[], None]]] = [
    (broker_module, "Ties", DropsFirst, silent_parent),
    (broker_module, "Ties", NoFarewell, wrong_suspicion),
    (broker_module, "Failover", BelievesAll, asking_each_other),
    (link_module, "Stream", BufferLast, lost_changes),
    (link_module, "Stream", BufferLater, lost_changes),
]


@pytest.mark.parametrize(("module", "name", "mutant", "story"), MUTANTS)
def test_a_mistake_is_noticed(
    module: object,
    name: str,
    mutant: type,
    story: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story()
    monkeypatch.setattr(module, name, mutant)
    with pytest.raises(AssertionError):
        story()

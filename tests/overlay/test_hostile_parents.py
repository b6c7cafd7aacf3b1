"""What neighbours may say about parents, ways and events that are kept, true or not."""

import json
from collections import deque

import pytest

from tests.overlay.words import WordKind, Words
from tidegate.errors import TidegateError
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import (
    Acknowledge,
    Change,
    Connect,
    Deliver,
    Disconnect,
    Effect,
    Entry,
    Farewell,
    Hello,
    Input,
    LinkDown,
    LinkGone,
    LinkUp,
    Publish,
    Refuse,
    Restart,
    Send,
    Tick,
    Way,
)
from tidegate.overlay.settings import Settings
from tidegate.overlay.upstream import Parents, Paths

ANY = Words(frozenset("ab"))


def made(settings: Settings) -> Broker:
    return Broker("x", WordKind(), settings=settings)


def child(forget: int | None = None) -> Broker:
    """A broker below p, with backups b and c, and a client."""
    broker = made(Settings(patience=2, upstream=Parents("p", ("b", "c")), forget=forget))
    broker.handle("ann", LinkUp(client=True))
    broker.handle("ann", Change(1, add=(Entry(1, ANY),)))
    broker.handle("p", LinkUp(client=False))
    broker.handle("p", Hello(1, 0, 0, ("p", "r")))
    broker.handle("p", Acknowledge(2))
    return broker


def sent(effects: list[Effect]) -> list[object]:
    return [
        x.message if isinstance(x, Send) else x
        for x in effects
        if isinstance(x, Send | Connect | Disconnect)
    ]


def asking(broker: Broker) -> None:
    """Let the parent go, and wait until a backup is asked."""
    broker.handle("p", LinkDown())
    for _ in range(2):
        asked = broker.handle("", Tick())
    assert Connect("b") in asked


@pytest.mark.parametrize("way", [("b", "x", "r"), ("z", "r"), ("x",), ("r", "b")])
def test_a_backup_with_a_false_way_is_not_taken(way: tuple[str, ...]) -> None:
    broker = child()
    asking(broker)
    broker.handle("b", LinkUp(client=False))
    assert sent(broker.handle("b", Hello(1, 0, 0, way))) == [Farewell()]
    assert broker.ties.failover is not None
    assert (broker.ties.failover.parent, broker.ties.failover.candidate) == ("p", None)
    assert Connect("c") in broker.handle("", Tick())


def test_a_parent_whose_way_leads_through_oneself_is_left() -> None:
    broker = child()
    assert sent(broker.handle("p", Way(("p", "q", "x", "r")))) == [Farewell()]
    assert "p" not in broker.routing.links
    assert broker.ties.failover is not None
    assert broker.ties.failover.parent is None


def test_ways_of_others_are_not_listened_to() -> None:
    broker = child()
    broker.handle("d", LinkUp(client=False))
    broker.handle("d", Hello(1, 0, 0, ("d", "x", "p", "r"), joins=True))
    before = json.dumps(broker.snapshot()["above"])
    for link in ("d", "ann"):
        assert broker.handle(link, Way(("d", "x"))) == []
    assert json.dumps(broker.snapshot()["above"]) == before


def test_somebody_who_takes_one_for_its_child_is_told_otherwise() -> None:
    broker = child()
    broker.handle("z", LinkUp(client=False))
    assert sent(broker.handle("z", Hello(1, 0, 0, ("z", "r")))) == [Farewell()]
    assert "z" not in broker.routing.links


def test_a_stranger_cannot_say_farewell_or_be_gone() -> None:
    broker = child()
    before = json.dumps(broker.snapshot())
    assert broker.handle("z", Farewell()) == [Disconnect("z")]
    assert broker.handle("z", LinkGone()) == []
    assert json.dumps(broker.snapshot()) == before


def test_who_lies_about_acknowledgements_does_not_become_the_parent() -> None:
    broker = child()
    asking(broker)
    broker.handle("b", LinkUp(client=False))
    broker.handle("b", Hello(1, 0, 0, ("b", "r")))
    (answer,) = sent(broker.handle("b", Acknowledge(77)))
    assert isinstance(answer, Refuse)
    assert broker.ties.failover is not None
    assert broker.ties.failover.parent == "p"
    broker.handle("b", Acknowledge(2))
    assert broker.ties.failover.parent == "b"
    assert "p" not in broker.routing.links


class Ring:
    """Brokers of which each has the next one for its parent, so that nobody is the root.

    Each has a client, which is called as the broker is, in capitals.
    """

    def __init__(self, names: str) -> None:
        self.brokers = {
            name: Broker(
                name,
                WordKind(),
                settings=Settings(patience=2, upstream=Parents(names[i - len(names) + 1])),
            )
            for i, name in enumerate(names)
        }
        self.given: list[tuple[str, str, int]] = []
        self._up: set[frozenset[str]] = set()
        self._waiting: deque[tuple[str, str, Input]] = deque()
        for i, name in enumerate(names):
            self.hear(name, name.upper(), LinkUp(client=True))
            self._connect(name, names[i - len(names) + 1])

    def _connect(self, one: str, other: str) -> None:
        if frozenset((one, other)) not in self._up:
            self._up.add(frozenset((one, other)))
            self._waiting += [
                (one, other, LinkUp(client=False)),
                (other, one, LinkUp(client=False)),
            ]

    def _disconnect(self, one: str, other: str) -> None:
        if frozenset((one, other)) in self._up:
            self._up.discard(frozenset((one, other)))
            pair = {one, other}
            self._waiting = deque(x for x in self._waiting if {x[0], x[1]} != pair)
            self._waiting += [(one, other, LinkDown()), (other, one, LinkDown())]

    def hear(self, name: str, link: str, came: Input) -> None:
        """Let something come in, and all that follows from it happen, if that ends."""
        self._waiting.append((name, link, came))
        for _ in range(1_000):
            if not self._waiting:
                return
            here, there, what = self._waiting.popleft()
            for effect in self.brokers[here].handle(there, what):
                if isinstance(effect, Connect):
                    self._connect(here, effect.link)
                elif isinstance(effect, Disconnect):
                    self._disconnect(here, effect.link)
                elif isinstance(effect, Deliver):
                    self.given.append((effect.link, effect.publisher, effect.number))
                elif isinstance(effect, Send) and frozenset((here, effect.link)) in self._up:
                    self._waiting.append((effect.link, here, effect.message))
        raise AssertionError("something goes round in circles")

    def parents(self) -> dict[str, str]:
        """Who has somebody above."""
        above = {name: broker.ties.failover for name, broker in self.brokers.items()}
        return {n: x.parent for n, x in above.items() if x is not None and x.parent is not None}


@pytest.mark.parametrize("names", ["ab", "abc", "cab", "abcd"])
def test_brokers_whose_parents_form_a_circle_open_it(names: str) -> None:
    """Each knows its own file only, so they notice it by the ways that they are told."""
    ring = Ring(names)
    for seq, name in enumerate(names, 1):
        ring.hear(name, name.upper(), Change(1, add=(Entry(seq, ANY),)))
    for tick in range(1, 25):
        for name in names:
            ring.hear(name, "", Tick())
        above = ring.parents()
        for name in names:
            seen = [name]
            while seen[-1] in above:
                seen.append(above[seen[-1]])
                assert len(seen) <= len(names), f"a circle: {seen}"
            ring.hear(name, name.upper(), Publish(tick, {"word": "a"}))
        assert len(set(ring.given)) == len(ring.given), "an event came twice"
    assert len(above) == len(names) - 1
    assert {n for _, _, n in ring.given} == set(range(1, 25))


def test_a_snapshot_in_the_middle_of_a_failover_has_the_same_future() -> None:
    broker = child(forget=9)
    asking(broker)
    broker.handle("b", LinkUp(client=False))
    again = Broker.restore(
        json.loads(json.dumps(broker.snapshot())), WordKind(), settings=broker.settings
    )
    future: list[tuple[str, Input]] = [
        *(("b", Hello(1, 0, 0, ("b", "r"))), ("b", Acknowledge(2)), ("", Tick())),
        *(("p", LinkUp(client=False)), ("p", Hello(1, 1, 2, ("p", "r")))),
        *(("b", Way(("b", "q", "r"))), ("", Restart()), ("", Tick())),
    ]
    for link, came in future:
        assert again.handle(link, came) == broker.handle(link, came)
    assert again.snapshot() == broker.snapshot()


def test_an_event_that_is_not_on_a_way_from_its_publisher_is_refused() -> None:
    broker = made(Settings(upstream=Paths({"r": ("a", "b")}, {"r": ("c",)})))
    for link in ("a", "b", "c"):
        broker.handle(link, LinkUp(client=False))
        broker.handle(link, Hello(1, 0, 0))
    broker.handle("c", Change(1, add=(Entry(1, ANY),)))
    (answer,) = sent(broker.handle("c", Publish(1, {"word": "a"}, "r/bob")))
    assert isinstance(answer, Refuse)
    assert "not on a way from r/bob" in answer.reason
    first = broker.handle("a", Publish(2, {"word": "a"}, "r/bob"))
    assert [x.link for x in first if isinstance(x, Send)] == ["c"]
    assert broker.handle("b", Publish(2, {"word": "a"}, "r/bob")) == []
    late = broker.handle("b", Publish(1, {"word": "a"}, "r/bob"))
    assert [x.link for x in late if isinstance(x, Send)] == ["c"]


def test_events_that_are_kept_come_in_order_and_once() -> None:
    broker = made(Settings(keep_events=True))
    for client in ("ann", "bob"):
        broker.handle(client, LinkUp(client=True))
    broker.handle("ann", Change(1, add=(Entry(1, ANY),)))
    assert sent(broker.handle("bob", Publish(7, {"word": "a"}, seq=2))) == [Acknowledge(0)]
    effects = broker.handle("bob", Publish(7, {"word": "a"}, seq=1))
    (given,) = [x for x in effects if isinstance(x, Deliver)]
    assert (given.seq, given.number) == (1, 7)
    assert sent(broker.handle("bob", Publish(7, {"word": "a"}, seq=1))) == [Acknowledge(1)]
    assert given in broker.handle("ann", LinkUp(client=True))
    (answer,) = sent(broker.handle("ann", Acknowledge(9)))
    assert isinstance(answer, Refuse)
    broker.handle("ann", Acknowledge(1))
    assert given not in broker.handle("ann", LinkUp(client=True))


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(TidegateError, match="forget is more than patience, 10, not 5"):
        Settings(forget=5)
    with pytest.raises(TidegateError, match="window is at least 1, not 0"):
        Settings(window=0)

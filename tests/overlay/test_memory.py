"""The state of a broker is plain data, and what it says again changes nothing.

Two worlds live through the same history. In one of them brokers are replaced by what their
snapshots give back, or messages come twice, or once more, later: both worlds stay the same. And
whatever fails, once all links are up and nothing is under way, nothing is lost.
"""

import json
import os
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.overlay.failing import (
    FAILING_ACTIONS,
    FailingWorld,
    begin,
    fail,
    live_twice,
    state,
    states,
)
from tests.overlay.histories import (
    CHOICES,
    NUMBER,
    PARENTS,
    POOLS,
    WHAT,
    Action,
    Pool,
    act,
    finish,
    pool,
)
from tests.overlay.words import WordKind
from tests.overlay.world import World
from tidegate.errors import TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import FORMAT, Broker
from tidegate.overlay.counts import Counts
from tidegate.overlay.filter import Kind, Plain
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Message,
    Persist,
    Publish,
    Refuse,
    Send,
)
from tidegate.overlay.policy import Policy
from tidegate.overlay.stream import Stream
from tidegate.overlay.work import Work

LONG = os.environ.get("TIDEGATE_LONG") == "1"
EXAMPLES = 400 if LONG else 15
KINDS = st.sampled_from([*POOLS])
ACTIONS = st.lists(st.tuples(WHAT, NUMBER, NUMBER, NUMBER), min_size=10, max_size=40)
EVERY_POLICY = pytest.mark.parametrize("policy", CHOICES)


@EVERY_POLICY
def test_a_broker_that_was_restored_has_the_same_future(policy: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(kind=KINDS, offers=st.booleans(), parents=PARENTS, actions=FAILING_ACTIONS, seed=NUMBER)
    def histories(
        kind: str, offers: bool, parents: list[int], actions: list[Action], seed: int
    ) -> None:
        live_twice(pool(kind), CHOICES[policy], parents, actions, offers=offers, seed=seed)

    histories()


@EVERY_POLICY
@settings(max_examples=EXAMPLES * 4)
@given(seed=st.integers(0, 2**32))
def test_a_policy_that_was_restored_has_the_same_future(policy: str, seed: int) -> None:
    own, rng = pool("words"), Random(seed)
    one, other = (Policy(CHOICES[policy], own.kind, Work()) for _ in range(2))
    held: dict[int, Any] = {}
    for number in range(60):
        what = rng.choice(("add", "add", "add", "update", "remove", "tick"))
        f, old = own.filter(rng.randrange(60), rng.randrange(60)), rng.choice([*held, 0])
        if what == "tick":
            assert one.tick() == other.tick()
        elif what == "add" or not old:
            held[number + 1] = f
            add = [(("b", number + 1), f)]
            counts = {("b", number + 1): Counts(rng.randint(1, 3), rng.randint(0, 2))}
            assert one.step(add, (), (), counts) == other.step(add, (), (), counts)
        elif what == "update":
            held[old] = f
            counts = {("b", old): Counts(rng.randint(1, 3), rng.randint(0, 2))}
            asked = [(("b", old), f)]
            assert one.step((), asked, (), counts) == other.step((), asked, (), counts)
        else:
            del held[old]
            assert one.step((), (), [("b", old)]) == other.step((), (), [("b", old)])
        assert other.state() == one.state()
        again = Policy(CHOICES[policy], own.kind, Work())
        again.restore(json.loads(json.dumps(other.state())))
        assert dict(again.active) == dict(other.active)
        assert again.counts == other.counts
        other = again


def test_a_restored_broker_has_seen_what_it_had_seen() -> None:
    own = pool("words")
    world = begin(World, own, CHOICES["covering"], [0], False)
    world.subscribe("b1.0", own.kind.read("abc"))
    world.settle()
    world.publish("b0.0", {"word": "a"})
    world.settle()
    for broker in world.brokers:
        world.forget_and_remember(broker)
    used = Refuse(None, 1, "the number was used")
    assert world.brokers["b0"].handle("b0.0", Publish(1, {"word": "b"})) == [Send("b0.0", used)]
    assert world.brokers["b1"].handle("b0", Publish(1, {"word": "b"}, "b0/b0.0")) == []


class RepeatingWorld(World):
    """Every message may come twice, and an older one of the same link once more."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self.rng = Random(1)
        self.past: dict[tuple[str, str], list[Any]] = {}
        super().__init__(*args, **named)

    def _handle(self, broker: str, link: str, came: Any) -> None:
        refused = len(self.refusals)
        super()._handle(broker, link, came)
        past = self.past.setdefault((broker, link), [])
        if isinstance(came, Message) and len(self.refusals) == refused:
            past.append(came)
        if past and self.rng.random() < 0.4:
            self._repeat(broker, link, past[-1])
            self._repeat(broker, link, self.rng.choice(past))

    def _repeat(self, broker: str, link: str, again: Any) -> None:
        own = self.brokers[broker]
        before = state(own, "tally")
        answers = own.handle(link, again)
        assert state(own, "tally") == before
        heard = own.routing.links[link].stream.heard
        refusal = Refuse(None, getattr(again, "number", None), "the number was used")
        assert answers in (
            [],  # a greeting, a refusal, or an event from a neighbour
            [Persist(link, again)] if isinstance(again, Acknowledge) else [],
            [Send(link, Acknowledge(heard))] if not isinstance(again, Publish) else [],
            [Send(link, refusal)] if isinstance(again, Publish) else [],
        )


@EVERY_POLICY
def test_what_comes_again_changes_nothing(policy: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(kind=KINDS, offers=st.booleans(), parents=PARENTS, actions=ACTIONS)
    def histories(kind: str, offers: bool, parents: list[int], actions: list[Action]) -> None:
        own = pool(kind)
        one = begin(World, own, CHOICES[policy], parents, offers)
        other = begin(RepeatingWorld, own, CHOICES[policy], parents, offers)
        for action in actions:
            act(one, own, action)
            act(other, own, action)
            assert other.effects == one.effects
        assert states(other, "tally") == states(one, "tally")

    histories()


@EVERY_POLICY
def test_a_snapshot_and_what_was_written_down_since_give_the_same_state(policy: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(kind=KINDS, offers=st.booleans(), parents=PARENTS, actions=FAILING_ACTIONS)
    def histories(kind: str, offers: bool, parents: list[int], actions: list[Action]) -> None:
        own = pool(kind)
        world = begin(FailingWorld, own, CHOICES[policy], parents, offers)
        for action in actions:
            fail(world, own, action)
        for name, broker in world.brokers.items():
            apart = "seen", "tally", "work", "noticed"
            assert state(world.remembered(name), *apart) == state(broker, *apart)

    histories()


@EVERY_POLICY
def test_nothing_is_lost_when_links_go_down_and_brokers_stop(policy: str) -> None:
    @settings(max_examples=EXAMPLES)
    @given(kind=KINDS, offers=st.booleans(), parents=PARENTS, actions=FAILING_ACTIONS)
    def histories(kind: str, offers: bool, parents: list[int], actions: list[Action]) -> None:
        own = pool(kind)
        world = begin(FailingWorld, own, CHOICES[policy], parents, offers)
        for action in actions:
            fail(world, own, action)
        world.mend_all()
        finish(world, own)

    histories()


def test_what_was_heard_is_not_sent_again_when_a_link_comes_up() -> None:
    own = pool("words")
    world = begin(FailingWorld, own, CHOICES["simple"], [0], False)
    world.subscribe("b0.0", own.kind.read("a"))
    world.move(0)  # it arrives; that it did is lost
    world.subscribe("b0.0", own.kind.read("b"))  # this one is lost as well
    world.cut("b0", "b1")
    world.subscribe("b0.0", own.kind.read("c"))  # and this one is not sent at all
    since = len(world.effects)
    world.mend("b0", "b1")
    world.settle()
    sent = [x.message for _, x in world.effects[since:] if isinstance(x, Send)]
    assert [x.seq for x in sent if isinstance(x, Change)] == [2, 3]
    finish(world, own)


def test_what_is_not_acknowledged_is_sent_again_ever_more_rarely() -> None:
    """A neighbour may be silent because it has so much to read."""
    stream = Stream()
    told = [Change(stream.number()), Change(stream.number())]
    for message in told:
        stream.keep(message)
    answers = [stream.tick() for _ in range(30)]
    assert [tick for tick, again in enumerate(answers, 1) if again] == [2, 4, 7, 13, 25]
    assert all(again in ([], told) for again in answers)
    stream.acknowledged(1)
    assert [stream.tick() for _ in range(2)] == [[], told[1:]]


def told_afresh(world: FailingWorld, broker: str) -> list[tuple[str, Message]]:
    """What a broker that has lost its memory is told by its neighbours."""
    since = len(world.effects)
    world.lose_memory(broker)
    world.settle()
    return [
        (name, effect.message)
        for name, effect in world.effects[since:]
        if isinstance(effect, Send) and isinstance(effect.message, Change | Advertise)
    ]


def test_what_is_told_afresh_does_not_depend_on_whether_memory_was_restored() -> None:
    own = pool("words")
    one, other = (begin(FailingWorld, own, CHOICES["covering"], [0], False) for _ in range(2))
    for world in (one, other):
        for text in ("a", "c"):
            world.subscribe("b0.0", own.kind.read(text))
        world.cancel(world.subscribe("b0.0", own.kind.read("ab")))  # now a is the younger one
        world.settle()
    other.forget_and_remember("b0")
    assert list(one.brokers["b0"].routing.links["b1"].wanted.active) == [2, 1]
    assert told_afresh(one, "b1") == told_afresh(other, "b1")


def test_a_neighbour_in_another_life_may_update_what_means_the_same_as_before() -> None:
    kind = Attributes()
    own = Pool(kind, [], [{"x": 1, "y": 1}, {"x": 2, "y": 2}])
    world = begin(FailingWorld, own, CHOICES["covering"], [0], False)
    before = world.subscribe("b0.0", kind.parse("x = 1 AND y = 1"))
    world.settle()
    before.versions = [kind.parse("y = 1 AND x = 1")]  # its client writes it so in the next life
    assert before.versions[0] == kind.parse("x = 1 AND y = 1")
    world.lose_memory("b0")
    world.settle()
    world.update(before, kind.parse("y = 2 AND x = 2"))
    finish(world, own)


def test_a_restored_broker_is_of_the_same_format_and_kind() -> None:
    snapshot = Broker("a", Attributes()).snapshot()
    tried: list[tuple[Plain, Kind]] = [({"format": FORMAT + 1}, Attributes()), ({}, WordKind())]
    for wrong, kind in tried:
        with pytest.raises(TidegateError, match="of another format"):
            Broker.restore(snapshot | wrong, kind)

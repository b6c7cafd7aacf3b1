"""Batches where events are kept: each event is written down, sent on, delivered and acknowledged as
if it had come alone, whatever the batch.
"""

import json
from itertools import cycle
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.overlay.words import WORDS, WordKind, Words
from tidegate.overlay.broker import Broker
from tidegate.overlay.events import Events
from tidegate.overlay.messages import (
    Acknowledge,
    Batch,
    Change,
    Effect,
    Entry,
    Hello,
    Input,
    LinkDown,
    LinkUp,
    Persist,
    Publish,
    Restart,
    Send,
)
from tidegate.overlay.policy import Choice
from tidegate.overlay.record import plain_record, read_record
from tidegate.overlay.settings import Settings

KIND = WordKind()
CLIENTS, NEIGHBOURS = ("ann", "bob", "eve"), ("m", "n")
Came = tuple[str, Input]


class History:
    """What comes in at a broker, one after the other; some events again, and some too early."""

    def __init__(self, seed: int, *, kept: bool) -> None:
        self.random = Random(seed)
        self._kept = kept  # whether those at the other ends keep events, too
        self._seqs = dict.fromkeys((*CLIENTS, *NEIGHBOURS), 0)
        self._numbers = dict.fromkeys((*CLIENTS, *NEIGHBOURS), 0)
        self._ids = 0
        self.came: list[Came] = []
        for link in (*CLIENTS, *NEIGHBOURS):
            self._up(link)
        for _ in range(25):
            self._step()

    def _up(self, link: str) -> None:
        self.came.append((link, LinkUp(client=link in CLIENTS)))
        if link in NEIGHBOURS:
            self.came.append((link, Hello(1, 1, 0)))

    def _seq(self, link: str) -> int:
        self._seqs[link] += 1
        return self._seqs[link]

    def _step(self) -> None:
        random = self.random
        link, what = random.choice(list(self._seqs)), random.random()
        if what < 0.3:
            self._ids += 1
            f = Words(frozenset(random.sample(WORDS, random.randint(1, 4))))
            self.came.append((link, Change(self._seq(link), (Entry(self._ids, f),))))
        elif what < 0.4:
            self.came.append((link, LinkDown()))
            self._up(link)
        elif what < 0.5:
            self.came.append((link, Acknowledge(random.randint(0, 4))))
        else:
            for _ in range(random.randint(1, 9)):
                self._publish(link if random.random() < 0.8 else random.choice(CLIENTS))

    def _publish(self, link: str) -> None:
        random = self.random
        self._numbers[link] += random.choice((1, 1, 1, 1, 0))
        word = random.choice([*WORDS, "no word"])
        publisher = "" if link in CLIENTS else f"{link}/pub"
        seq = 0
        if self._kept:
            again = random.random() < 0.15
            seq = random.choice((max(1, self._seqs[link]), self._seqs[link] + 3)) if again else 0
            seq = seq or self._seq(link)
        event = Publish(self._numbers[link], {"word": word}, publisher, seq)
        self.came.append((link, event))


def batched(came: list[Came], cuts: list[int]) -> list[list[Came]]:
    """The events of one link, or of clients, that come one after the other together, cut."""
    sizes, found = cycle(cuts), list[list[Came]]()
    size = next(sizes)
    for link, one in came:
        last = found[-1] if found else []
        alike = (
            isinstance(one, Publish)
            and bool(last)
            and isinstance(last[-1][1], Publish)
            and len(last) < size
            and (last[-1][0] == link or {link, last[-1][0]} <= set(CLIENTS))
        )
        if alike:
            last.append((link, one))
        else:
            found.append([(link, one)])
            size = next(sizes)
    return found


def together(group: list[Came]) -> Came:
    """A group of events as one input."""
    links = [link for link, _ in group]
    events: list[Any] = [one for _, one in group]
    if not isinstance(events[0], Publish):
        return group[0]
    batch = Batch(
        [each.number for each in events],
        [each.event for each in events],
        [] if links[0] in CLIENTS else [each.publisher for each in events],
        links=links if links[0] in CLIENTS else (),
        seqs=[each.seq for each in events] if any(each.seq for each in events) else (),
    )
    return ("" if batch.links else links[0]), batch


def answered_once(effects: list[Effect]) -> list[Effect]:
    """Without acknowledgements that a later one of the same link has made needless."""
    rest, last = list[Effect](), dict[str, Effect]()
    for effect in effects:
        if isinstance(effect, Send) and isinstance(effect.message, Acknowledge):
            last[effect.link] = effect
        else:
            rest.append(effect)
    return [*rest, *last.values()]


def compare(seed: int, cuts: list[int], *, kept: bool, policy: str, made: Any = Broker) -> int:
    """Live through a history, one by one and in batches; how many events went on."""
    keeping = Settings(keep_events=True)
    one = Broker("b", KIND, Choice(policy), keeping)
    other = made("b", KIND, Choice(policy), keeping)
    began, written, carried = other.snapshot(), list[Persist](), 0
    for group in batched(History(seed, kept=kept).came, cuts):
        expected = [effect for came in group for effect in one.handle(*came)]
        found = other.handle(*together(group))
        events = isinstance(group[0][1], Publish)
        assert found == (answered_once(expected) if events else expected)
        written += [effect for effect in found if isinstance(effect, Persist)]
        carried += len([x for x in found if events and not isinstance(x, Persist)])
    assert other.snapshot() == one.snapshot()
    again = Broker.restore(json.loads(json.dumps(began)), KIND, Choice(policy), keeping)
    for record in json.loads(json.dumps([plain_record(each, KIND) for each in written])):
        read = read_record(record, KIND)
        again.handle(read.link, read.input)
    uncounted = ("tally", "work", "noticed")
    assert _without(again.snapshot(), uncounted) == _without(other.snapshot(), uncounted)
    for broker in (one, other):
        broker.handle("", Restart())
    returns = [one.handle(name, LinkUp(client=True)) for name in CLIENTS]
    assert [other.handle(name, LinkUp(client=True)) for name in CLIENTS] == returns
    return carried


def _without(snapshot: Any, names: tuple[str, ...]) -> Any:
    return {name: part for name, part in snapshot.items() if name not in names}


@settings(max_examples=2_000 if LONG else 40)
@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(1, 12), min_size=1, max_size=3),
    kept=st.booleans(),
    policy=st.sampled_from(("covering", "simple", "flood", "xroute")),
)
def test_kept_events_have_the_same_effects_in_batches(
    seed: int, cuts: list[int], kept: bool, policy: str
) -> None:
    compare(seed, cuts, kept=kept, policy=policy)


def test_most_of_these_events_go_on() -> None:
    assert sum(compare(seed, [9], kept=True, policy="covering") for seed in range(5)) > 100


class WritesNothing(Events):
    def _keep_many(self, came: Batch) -> list[Effect]:
        return [x for x in super()._keep_many(came) if not isinstance(x, Persist)]


class AcknowledgesFirst(Events):
    def _keep_many(self, came: Batch) -> list[Effect]:
        found = super()._keep_many(came)
        return [*found[-1:], *found[:-1]]


class ForgetsNumbers(Events):
    def _heard(self, link: Any, came: Publish, size: int | None) -> Any:
        return super()._heard(link, Publish(came.number, came.event, came.publisher), size)


class TakesOthersEntries(Events):
    def _wanting(self, came: Batch, rows: list[int]) -> dict[int, dict[str, list[int]]]:
        found = super()._wanting(came, rows)
        return dict(zip(found, reversed(found.values()), strict=True))


MUTANTS = [WritesNothing, AcknowledgesFirst, ForgetsNumbers, TakesOthersEntries]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broker_that_is_wrong_about_kept_batches_is_caught(mutant: type[Events]) -> None:
    class Wrong(Broker):
        _events_of = mutant

    def tried() -> None:
        for seed in range(10):
            compare(seed, [9], kept=True, policy="covering", made=Wrong)

    with pytest.raises(AssertionError):
        tried()


@pytest.mark.parametrize("seqs", [[1], [1, -2], [1, True], [1, "2"]])
def test_a_batch_with_numbers_that_are_none_is_refused(seqs: Any) -> None:
    broker = Broker("b", KIND, settings=Settings(keep_events=True))
    broker.handle("ann", LinkUp(client=True))
    before = broker.snapshot()
    (answer,) = broker.handle("ann", Batch([1, 2], [{"word": "a"}] * 2, seqs=seqs))
    assert isinstance(answer, Send)
    assert _without(broker.snapshot(), ("tally",)) == _without(before, ("tally",))

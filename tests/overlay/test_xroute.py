"""The policy `xroute`: covering with counts, which are exact once nothing is under way."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from zlib import crc32

import pytest
from hypothesis import given, settings

from tests.overlay.counting import entries, is_order
from tests.overlay.histories import ACTIONS, CHOICES, PARENTS, Action, Pool, act, pool, run, words
from tests.overlay.words import WordKind, Words
from tests.overlay.world import World
from tidegate.errors import TidegateError
from tidegate.overlay.counts import Counts
from tidegate.overlay.filter import Filter
from tidegate.overlay.messages import Change, Send
from tidegate.overlay.policy import Choice
from tidegate.overlay.policy.forest import Forest

XROUTE = CHOICES["xroute"]


@dataclass(frozen=True, slots=True, repr=False)
class HazyWords(Words):
    """A set of words that does not see a third of what it covers."""

    def covers(self, other: Filter, /) -> bool:
        seen = crc32(f"{self!r}{other!r}".encode()) % 3 > 0
        return self == other or (seen and Words.covers(self, other))


class HazyKind(WordKind):
    """Sets of words with a containment test that misses pairs, and so is no order."""

    def read(self, plain: object) -> Words:
        return hazy(WordKind.read(self, plain))

    def reshaped(self, f: Filter, values: object) -> Words:
        return hazy(WordKind.reshaped(self, f, values))


def hazy(f: Filter) -> HazyWords:
    assert isinstance(f, Words)
    return HazyWords(f.words)


def hazy_words() -> Pool:
    known = words()
    return replace(known, kind=HazyKind(), families=[[*map(hazy, x)] for x in known.families])


@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
def test_nothing_is_lost_or_negative_where_a_third_of_all_pairs_is_missed(
    advertisements: bool,
) -> None:
    """The counts are checked with the contract: see `counting`."""

    @settings(max_examples=40)
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        run(hazy_words(), XROUTE, parents, actions, advertisements=advertisements)

    histories()


def test_a_third_of_all_pairs_is_missed() -> None:
    filters = [f for family in hazy_words().families for f in family]
    pairs = [(f, g) for f in filters for g in filters if f != g and Words.covers(f, g)]  # type: ignore[arg-type]
    missed = sum(not f.covers(g) for f, g in pairs) / len(pairs)
    assert 0.25 < missed < 0.42
    assert not is_order(set(filters))
    assert is_order({f for family in words().families for f in family})


@settings(max_examples=30)
@given(parents=PARENTS, actions=ACTIONS)
def test_cancelling_what_was_added_restores_every_count(
    parents: list[int], actions: list[Action]
) -> None:
    world = World(words().kind, XROUTE, parents, advertisements=False)
    half = len(actions) // 2
    for action in actions[:half]:
        act(world, words(), action)
    world.settle()
    before = [entries(world, *link) for link in world.queues]
    later = [
        world.subscribe(world.clients[a % len(world.clients)], words().filter(b, c))
        for _, a, b, c in actions[half:]
    ]
    Random(len(later)).shuffle(later)
    for place, subscription in enumerate(later):
        world.move(place)
        world.cancel(subscription)
    world.settle()
    assert [entries(world, *link) for link in world.queues] == before


@settings(max_examples=30)
@given(parents=PARENTS, actions=ACTIONS)
def test_xroute_forwards_what_covering_does(parents: list[int], actions: list[Action]) -> None:
    def forwarded(name: str) -> Iterator[set[Filter]]:
        world = World(words().kind, CHOICES[name], parents, advertisements=True)
        for action in actions:
            act(world, words(), action)
            world.settle()
        for sender, receiver in world.queues:
            yield set(world.brokers[receiver].routing.wanted.of(sender).values())

    assert list(forwarded("xroute")) == list(forwarded("covering"))


def counted(policy: str) -> int:
    """How many counts are told in a history with filters that are registered twice and covered."""
    world = World(words().kind, CHOICES[policy], [0, 1, 1], advertisements=False)
    for client in world.clients:
        for letters in ("a", "ab", "ab"):
            world.subscribe(client, Words(frozenset(letters)))
    world.settle()
    changes = [
        effect.message
        for _, effect in world.effects
        if isinstance(effect, Send) and isinstance(effect.message, Change)
    ]
    return sum(len(c.recount) + sum(entry.counted for entry in c.add) for c in changes)


def test_only_xroute_tells_counts() -> None:
    told = {policy: counted(policy) for policy in CHOICES}
    assert told.pop("xroute") > 20
    assert set(told.values()) == {0}


def test_a_registration_travels_to_everyone_if_only_as_a_count() -> None:
    world = World(pool("words").kind, XROUTE, [0, 1], advertisements=False)
    wide, narrow = Words(frozenset("abc")), Words(frozenset("a"))
    world.subscribe("b0.0", wide)
    world.subscribe("b0.1", narrow)
    world.subscribe("b1.0", narrow)
    world.settle()
    assert entries(world, "b0", "b1") == {wide: Counts(1, 1)}
    assert entries(world, "b1", "b2") == {wide: Counts(1, 2)}
    last = world.subscribe("b0.0", wide)
    world.settle()
    assert entries(world, "b1", "b2") == {wide: Counts(2, 2)}
    for subscription in [s for s in world.standing() if s.versions[-1] == wide and s is not last]:
        world.cancel(subscription)
    world.cancel(last)
    world.settle()
    assert entries(world, "b1", "b2") == {narrow: Counts(2, 0)}
    assert entries(world, "b1", "b0") == {narrow: Counts(1, 0)}


def test_registrations_are_told_apart_by_how_much_is_news() -> None:
    world = World(pool("words").kind, XROUTE, [0, 1], advertisements=False)
    wide, narrow = Words(frozenset("abc")), Words(frozenset("a"))

    def seen() -> list[tuple[int, ...]]:
        world.settle()
        tallies = [world.brokers[name].tally for name in ("b0", "b1", "b2")]
        return [(t.new, t.supplementary, t.duplicate, t.total, t.partial) for t in tallies]

    first = world.subscribe("b0.0", wide)
    assert seen() == [(1, 0, 0, 0, 0)] * 3
    second = world.subscribe("b0.1", wide)
    assert seen() == [(1, 0, 1, 0, 0)] * 3
    third = world.subscribe("b1.0", wide)
    assert seen() == [(1, 1, 1, 0, 0), (1, 1, 1, 0, 0), (1, 0, 2, 0, 0)]
    world.subscribe("b0.0", narrow)
    assert seen() == [(2, 1, 1, 0, 0), (1, 1, 2, 0, 0), (1, 0, 3, 0, 0)]
    world.cancel(first)
    assert seen() == [(2, 1, 1, 0, 1), (1, 1, 2, 0, 1), (1, 0, 3, 0, 1)]
    world.cancel(second)
    world.cancel(third)
    assert seen()[2] == (1, 0, 3, 1, 2)


def test_a_forest_weighs_what_hangs_in_it() -> None:
    forest = Forest(counted=True)
    for number in range(1, 6):
        forest.count(number, Counts(number, 10 * number))
    forest.hang(2, 1)
    forest.hang(3, 2)
    forest.hang(4, 2)
    assert forest.standing(1) == Counts(1, 10 + 22 + 33 + 44)
    assert not forest.lift(2)
    assert (forest.parent(3), forest.children(1)) == (1, {3, 4})
    assert forest.standing(1) == Counts(1, 10 + 33 + 44)
    assert forest.standing(2) == Counts(2, 20)
    forest.count(3, Counts(1, 0))
    forest.hang(1, 5)
    assert forest.standing(5) == Counts(5, 50 + 11 + 1 + 44)
    assert forest.lift(5) == {1}
    assert forest.standing(1) == Counts(1, 10 + 1 + 44)


def test_only_what_is_kept_for_oneself_is_pruned() -> None:
    assert Choice("xroute", prune="after").counts
    for where in ("before", "both"):
        with pytest.raises(TidegateError, match="xroute counts filters as they came"):
            Choice("xroute", prune=where)
    assert Choice("covering", prune="both").named("xroute") == Choice("xroute")
    assert XROUTE.advertisements == Choice("covering")

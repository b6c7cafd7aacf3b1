"""Mistakes that are easy to make when filters are pruned, and what catches them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.overlay.failing import FAILING_ACTIONS, FailingWorld, fail, state
from tests.overlay.histories import (
    ACTIONS,
    PARENTS,
    PRUNING,
    Action,
    Pool,
    pool,
    run,
    ticking,
    words,
)
from tests.overlay.stepwise import Pruning
from tests.overlay.test_mutants import BreaksBeforeMaking
from tests.overlay.words import WordKind, WordPruner, Words
from tidegate.documents import prune
from tidegate.documents.syntax import All, Condition, Some
from tidegate.errors import TidegateError
from tidegate.overlay import pattern_pruner, several_pruner
from tidegate.overlay import routing as routing_module
from tidegate.overlay.broker import Broker
from tidegate.overlay.difference import Watch
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.messages import Tick
from tidegate.overlay.policy.queue import PruningQueue
from tidegate.overlay.policy.renumbered import Renumbered
from tidegate.overlay.policy.sources import Source
from tidegate.overlay.several_pruner import SeveralCourses
from tidegate.overlay.table import Table

pytestmark = pytest.mark.slow

QUIETLY = settings(phases=[Phase.generate], suppress_health_check=list(HealthCheck))
MANY = 200  # histories, of which one is to show a mistake
CONDITIONS = prune._conditions


class Narrows(WordPruner):
    """Leaves a word out where it should let one more in."""

    def best(self, f: Filter, /) -> Pruning | None:
        assert isinstance(f, Words)
        if not self.knows or len(f.words) < 2:
            return None
        return Pruning(Words(f.words - {min(f.words)}), 0.0)


class Exchanges(WordPruner):
    """Puts the other word in the place of one, not beside it."""

    def replaced(self, filters: Any, share: float, /) -> dict[int, Filter]:
        found: Any = super().replaced(filters, share)
        return {n: Words(found[n].words - filters[n].words) for n in found}


class PrunesClients(Table):
    """Prunes what clients ask for as well."""

    def add(self, source: Source, f: Filter, *, exact: bool = True) -> None:
        super().add(source, f, exact=False)


class KeepsWhatWasPruned(PruningQueue):
    """Goes on with what stood in the place of a filter that was updated."""

    def update(self, number: int, f: Filter) -> Filter:
        if not self.is_pruned(number):
            return super().update(number, f)
        self._given[number] = f
        return self.held[number]


class ForgetsToTakeBack(Renumbered):
    """Lets what stood for a filter stay when that has gone."""

    def drop(self, number: int, watch: Watch) -> None:
        self._own.pop(number)


class ForwardsOthersShape(Renumbered):
    """Keeps the number when the shape has changed."""

    def put(self, number: int, f: Filter, watch: Watch) -> None:
        own = self._own.get(number)
        if own is None:
            super().put(number, f, watch)
        else:
            watch.touch(own)
            self.active[own] = f


class LearnsByTheWay(Broker):
    """Goes by what it has counted until now, and writes down nothing of that."""

    def _learn(self, came: Tick) -> bool:
        pruner = self.notes.pruner
        if pruner is not None and pruner.counted:
            pruner.learn(pruner.summary())
        return super()._learn(Tick())


class CountsAsItGoes(WordPruner):
    """Answers by what was counted since it learned."""

    def count(self, event: Event, /) -> None:
        super().count(event)
        if self.learned is not None:
            self.learned[event["word"]] += 1


def caught(
    policy: str,
    make: Callable[..., Broker] = Broker,
    own: Pool | None = None,
    examples: int = MANY,
) -> bool:
    """Whether some history breaks the contract, of sets of words if nothing else is said."""

    @settings(QUIETLY, max_examples=examples)
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        choice = PRUNING[policy]
        run(own or words(), choice, parents, ticking(actions), advertisements=False, make=make)

    try:
        histories()
    except (AssertionError, TidegateError):
        return True
    return False


def remembers_otherwise(
    policy: str,
    make: type[Broker],
    monkeypatch: pytest.MonkeyPatch,
    examples: int = MANY,
) -> bool:
    """Whether some broker that handles again what was written down is another one then."""
    from tests.overlay import failing

    monkeypatch.setattr(failing, "Broker", make)

    @settings(QUIETLY, max_examples=examples)
    @given(parents=PARENTS, actions=FAILING_ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        own = words()
        choice = PRUNING[policy]
        world = FailingWorld(own.kind, choice, parents, advertisements=False, make=make)
        for action in ticking(actions):
            fail(world, own, action)
        for name, broker in world.brokers.items():
            apart = "seen", "tally", "work", "noticed"
            assert state(world.remembered(name), *apart) == state(broker, *apart)

    try:
        histories()
    except AssertionError:
        return True
    return False


def leaves_out_options(condition: Condition) -> Iterator[Condition]:
    """Leaves out parts of an `or` as it does those of an `and`."""
    if isinstance(condition, Some):
        yield All(condition.parts[1:]) if len(condition.parts) > 2 else condition.parts[1]
    yield from CONDITIONS(condition)


@pytest.mark.parametrize("policy", ["simple, pruned before", "identity, pruned after"])
def test_leaving_out_part_of_an_or_is_caught(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "_conditions", leaves_out_options)
    assert caught(policy, own=pool("patterns"))


def test_leaving_out_what_is_counted_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "counted", lambda _: 0)
    assert caught("simple, pruned before", own=pool("patterns"))


def test_a_condition_that_gives_way_to_another_one_it_does_not_imply_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pattern_pruner, "gives_way", lambda given, asked: given != asked)
    assert caught("replacement", own=pool("patterns"))


def test_a_clients_pattern_that_is_pruned_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing_module, "Table", PrunesClients)
    assert caught("identity, pruned after", own=pool("patterns"))


def test_a_kinds_filter_in_another_ones_place_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class MixesPlacesUp(SeveralCourses):
        def pruned(self, place: int, steps: int, /) -> Filter:
            long_enough = np.flatnonzero(self.lengths >= steps)
            return super().pruned(int(long_enough[0]) if steps else place, steps)

    monkeypatch.setattr(several_pruner, "SeveralCourses", MixesPlacesUp)
    assert caught("identity, pruned after", own=pool("several"))


@pytest.mark.parametrize(
    "policy",
    ["simple, pruned before", "identity, pruned after", "merging, pruned before and after"],
)
def test_a_pruning_that_narrows_is_caught(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordKind, "pruner", lambda _: Narrows())
    assert caught(policy)


def test_a_replacement_that_narrows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordKind, "pruner", lambda _: Exchanges())
    assert caught("replacement")


def test_a_clients_entry_that_is_pruned_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing_module, "Table", PrunesClients)
    assert caught("identity, pruned after")


def test_what_is_kept_of_a_filter_that_was_updated_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routing_module, "PruningQueue", KeepsWhatWasPruned)
    assert caught("identity, pruned after")


@pytest.mark.parametrize("mutant", [ForgetsToTakeBack, ForwardsOthersShape])
def test_what_is_kept_of_a_filter_that_has_gone_is_caught(
    mutant: type[Renumbered], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tidegate.overlay.policy import pruning

    monkeypatch.setattr(pruning, "Renumbered", mutant)
    assert caught("simple, pruned before")


def test_removing_before_what_was_pruned_is_there_is_caught() -> None:
    assert caught("simple, pruned before", BreaksBeforeMaking)


def test_a_decision_that_was_not_written_down_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert remembers_otherwise("simple, pruned before", LearnsByTheWay, monkeypatch)


def test_answers_by_what_was_counted_since_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordKind, "pruner", lambda _: CountsAsItGoes())
    assert remembers_otherwise("simple, pruned before", Broker, monkeypatch)


def test_nothing_of_this_is_caught_without_a_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not caught("simple, pruned before", examples=50)
    assert not caught("identity, pruned after", own=pool("several"), examples=10)
    assert not remembers_otherwise("simple, pruned before", Broker, monkeypatch, examples=50)

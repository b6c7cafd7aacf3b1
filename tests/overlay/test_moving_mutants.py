"""The histories of subscriptions that move catch what they are there for.

Each mutant is a client or a broker, or a part of one, with a mistake that is easy to make.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.overlay.histories import Action
from tests.overlay.test_moving import MOVES, Setting, fails, run
from tests.overlay.test_mutants import ReordersUpdates
from tidegate.algebra import widen
from tidegate.documents import widen as pattern_widen
from tidegate.documents.widen import implied
from tidegate.filters.filter import Filter as InLanguage
from tidegate.filters.meaning import allowed
from tidegate.filters.values import Constant
from tidegate.overlay import client as client_module
from tidegate.overlay import policy as policy_module
from tidegate.overlay.broker import Broker
from tidegate.overlay.client import Client
from tidegate.overlay.conversation import Conversation
from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.link import Link
from tidegate.overlay.messages import Change, Effect
from tidegate.overlay.policy.covering import Covering
from tidegate.overlay.strategy import steps
from tidegate.overlay.variable import Binding, Variable

pytestmark = pytest.mark.slow

NARROWS: list[Action] = [  # x < 4 stands for x < 3, and becomes x < 1
    ("subscribe", 0, 0, 0),
    ("settle", 0, 0, 0),
    ("plain", 0, 3, 0),
    ("settle", 0, 0, 0),
    ("together", 0, 1, 0),
]
WIDENS: list[Action] = [  # x < 4 hangs under x < 5, and becomes x < 8
    ("plain", 0, 5, 0),
    ("subscribe", 0, 0, 0),
    ("settle", 0, 0, 0),
    ("together", 0, 8, 0),
]


def breaks_before_making(
    strategy: str, entries: Any, f: Filter, fresh: Callable[[], int]
) -> list[Difference]:
    """Removes what is updated before the new filter is in place."""
    found = steps(strategy, entries, f, fresh)
    if len(found) > 1 or not found[0].add:
        return found
    return [Difference(remove=found[0].remove), Difference(add=found[0].add)]


class OutOfOrder(Conversation):
    """Tells an update after the one that came after it."""

    _held: Difference | None = None

    def tell(self, message: Any, difference: Difference) -> None:
        if message is Change and self._held is None and difference.update and not difference.add:
            self._held = difference
            return
        held, self._held = self._held, None
        known = {own: f for own, f in (held.update if held else {}).items() if own in self.wanted}
        super().tell(message, difference)
        left = {own: f for own, f in known.items() if own in self.wanted}
        if left:
            super().tell(Change, Difference(update=left))


class UpdatesBeforeAdding(Broker):
    """Tells neighbours what is updated, and after that what stands for others from now on."""

    def _tell(
        self, link: Link, message: Any, difference: Difference, effects: list[Effect]
    ) -> None:
        first = Difference(update=difference.update, remove=difference.remove)
        super()._tell(link, message, first, effects)
        super()._tell(link, message, Difference(add=difference.add), effects)


class KeepsUncovered(Covering):
    """Lets what hung under a filter hang there, however narrow that has become."""

    def _uncovered(self, number: int, f: Filter, before: Filter | None = None) -> list[int]:
        return []


class StaysWhereItHung(Covering):
    """Does not look whether what a filter hangs under covers it after an update."""

    def _update_passive(self, number: int, f: Filter, orphans: set[int], watch: Watch) -> None:
        if self._forest.parent(number) is not None:
            self._passive[number] = f
        else:
            super()._update_passive(number, f, orphans, watch)


class Forgetful(Client):
    """Lets a variable forget one of the subscriptions that refer to it."""

    def _move(self, variable: Variable, value: Constant) -> None:
        users = dict(variable.users)
        if len(users) > 1:
            variable.users.popitem()
        super()._move(variable, value)
        variable.users.update(users)


class Lax(Client):
    """Hands on what its broker delivers, whatever is wanted by now."""

    def receive(self, event: Event, entries: tuple[int, ...]) -> tuple[int, ...]:
        super().receive(event, entries)
        owners = dict.fromkeys(self._owners.get(entry, 0) for entry in entries)
        return tuple(own for own in owners if own in self._subscriptions)


class Trusting(Client):
    """Does not look at events for subscriptions that are told as they are, answered or not."""

    def receive(self, event: Event, entries: tuple[int, ...]) -> tuple[int, ...]:
        kept, self._conversation._kept = self._conversation._kept, type(self._conversation._kept)()
        try:
            return super().receive(event, entries)
        finally:
            self._conversation._kept = kept


class HandsOnTwice(Client):
    """Tells the application of every entry."""

    def receive(self, event: Event, entries: tuple[int, ...]) -> tuple[int, ...]:
        handed = super().receive(event, entries)
        return tuple(own for own in (self._owners.get(x, 0) for x in entries) if own in handed)


def narrowest(f: InLanguage, bound: list[Any]) -> Any:
    """The predicate that implies all others."""
    sets = [allowed(each, f.schema) for each in bound]
    for each, own in zip(bound, sets, strict=True):
        if all(own.within(other) is True for other in sets):
            return each
    return bound[0]


class TakesTheFutureForNow(Binding):
    """Tells the value that is predicted, and not that of now."""

    def around(self) -> Filter:
        for variable in self.variables:
            if variable.trail is not None and variable.trail.others():
                return self._ranged.bind(self._with(variable, variable.trail.others()[-1]))
        return super().around()


def test_an_update_before_the_wider_filter_is_in_place_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_module, "steps", breaks_before_making)
    assert fails(Setting())


@pytest.mark.parametrize("mutant", [UpdatesBeforeAdding, ReordersUpdates])
def test_a_broker_that_tells_updates_in_a_wrong_order_is_caught(mutant: type[Broker]) -> None:
    assert fails(Setting(make=mutant))


@pytest.mark.parametrize(
    ("mutant", "actions"), [(KeepsUncovered, NARROWS), (StaysWhereItHung, WIDENS)]
)
def test_an_update_that_leaves_somebody_uncovered_is_caught(
    mutant: type[Covering], actions: list[Action], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(Setting(), [0], actions)
    monkeypatch.setattr(policy_module, "Covering", mutant)
    with pytest.raises(AssertionError, match="is not covered"):
        run(Setting(), [0], actions)


def test_effects_out_of_order_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "Conversation", OutOfOrder)
    assert fails(Setting())


@pytest.mark.parametrize("mutant", [Lax, Trusting])
def test_a_client_that_hands_on_what_is_not_wanted_is_caught(mutant: type[Client]) -> None:
    assert fails(Setting(client=mutant))


def test_a_client_that_hands_on_twice_is_caught() -> None:
    assert fails(Setting(client=HandsOnTwice, updates="cancel later"))


def test_a_variable_that_forgets_a_subscription_is_caught() -> None:
    assert fails(Setting(client=Forgetful))


def test_damping_that_narrows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widen, "_widest", narrowest)
    assert fails(Setting(options={"damping": 2}))


def test_damping_that_narrows_is_caught_with_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_widen, "implied", lambda given, asked: implied(asked, given))
    assert fails(Setting(options={"damping": 2}, moves=MOVES["patterns"]))


@pytest.mark.parametrize("mutant", [Lax, Forgetful])
def test_a_wrong_client_is_caught_with_patterns(mutant: type[Client]) -> None:
    assert fails(Setting(client=mutant, moves=MOVES["patterns"]))


def test_a_prediction_in_the_place_of_the_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "Binding", TakesTheFutureForNow)
    assert fails(Setting(options={"predict": 2}))


@pytest.mark.parametrize("kind", MOVES)
def test_nothing_of_this_is_caught_without_a_mutant(kind: str) -> None:
    assert not fails(Setting(options={"damping": 2}, advertisements=True, moves=MOVES[kind]), 20)

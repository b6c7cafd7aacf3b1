"""The contract catches what it is there for: each mutant below is a mistake that is easy to make.

Each is run on histories until one of them breaks the contract.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.overlay.histories import (
    ACTIONS,
    CHOICES,
    PARENTS,
    Action,
    Pool,
    attributes,
    run,
    words,
)
from tidegate.algebra.relate import intersects
from tidegate.engine.boxes import ruler
from tidegate.engine.boxes.space import Space
from tidegate.overlay import broker as broker_module
from tidegate.overlay import policy as policy_module
from tidegate.overlay.asked import Asked, Filters
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attribute_index import AttributeIndex
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.events import Events
from tidegate.overlay.filter import Filter
from tidegate.overlay.link import Link
from tidegate.overlay.messages import Change, Effect, Input, Publish, Send
from tidegate.overlay.policy.covering import Covering
from tidegate.overlay.policy.merging import Merging
from tidegate.overlay.routing import Routing
from tidegate.overlay.structures import NumberedBoxes

pytestmark = pytest.mark.slow


class BreaksBeforeMaking(Broker):
    """Sends what is removed on its own, and before what takes its place."""

    def _tell(
        self, link: Link, message: Any, difference: Difference, effects: list[Effect]
    ) -> None:
        super()._tell(link, message, Difference(remove=difference.remove), effects)
        difference.remove = []
        super()._tell(link, message, difference, effects)


class DoesNotPromote(Covering):
    """Leaves what hung under a filter that goes as it is."""

    def _take_out(self, number: int, orphans: set[int], watch: Watch) -> None:
        super()._take_out(number, orphans, watch)
        orphans.clear()


class DoesNotUndo(Merging):
    """Keeps a merger although a member has gone, until none is left."""

    def _take_out(self, number: int, watch: Watch) -> None:
        merger = self._merger.get(number)
        if merger is None or len(self._members[merger]) == 1:
            super()._take_out(number, watch)
            return
        del self._members[merger][number], self._merger[number]


class IgnoresAdvertisements(Routing):
    """Does not look at what a new advertisement asks for."""

    def _pull(self, link: Link, asked: Asked, before: Filters) -> Difference:
        return Difference()


class EventsGoBack(Events):
    """Sends an event where it came from, too."""

    def _route(
        self, origin: Link, event: Publish, wanting: dict[str, list[int]] | None = None
    ) -> list[Effect]:
        effects = super()._route(origin, event, wanting)
        return effects if origin.client else [*effects, Send(origin.name, event)]


class SendsBack(Broker):
    _events_of = EventsGoBack


class ReordersUpdates(Broker):
    """Takes two updates from a neighbour in the wrong order."""

    _held: Change | None = None
    _held_from = ""

    def handle(self, link: str, came: Input) -> list[Effect]:
        if not isinstance(came, Change) or not came.update or link not in self.routing.links:
            return super().handle(link, came)
        if self.routing.links[link].client:
            return super().handle(link, came)
        if self._held is None:
            self._held, self._held_from = came, link
            return []
        held, self._held = self._held, None
        if self._held_from != link:
            return [*super().handle(self._held_from, held), *super().handle(link, came)]
        swapped = Change(held.seq, came.add, came.update, came.remove)
        return [
            *super().handle(link, swapped),
            *super().handle(link, Change(came.seq, held.add, held.update, held.remove)),
        ]


def surely_overlap(one: Filter, other: Filter) -> bool:
    assert isinstance(one, AttributeFilter)
    assert isinstance(other, AttributeFilter)
    return intersects(one.filter, other.filter) is True


class SureFilter(AttributeFilter):
    """Overlaps only what it is certain to overlap."""

    def overlaps(self, other: Filter, /) -> bool:
        return surely_overlap(self, other)


class SureIndex(AttributeIndex):
    """Knows the filters that are certain to overlap."""

    def __init__(self) -> None:
        super().__init__(NumberedBoxes(Space(None)))
        self._own: dict[int, Filter] = {}

    def add(self, number: int, f: Filter, /) -> None:
        super().add(number, f)
        self._own[number] = f

    def overlapping(self, f: Filter, /) -> list[int]:
        found = super().overlapping(f)
        return [n for n in found if surely_overlap(self._own[n], f)]


class SureKind(Attributes):
    def index(self) -> SureIndex:
        return SureIndex()


def unsure() -> Pool:
    """Filters on parts of texts, of which is not known whether they overlap."""
    kind = SureKind()
    texts = [f"contains(symbol, '{part}')" for part in ("a", "b", "a%", "é", "日")]
    filters = [[SureFilter(kind.parse(text).filter)] for text in texts]
    return Pool(kind, filters, attributes(typed=False).events)


def caught(pool: Pool, policy: str, *, advertisements: bool, make: Callable[..., Broker]) -> bool:
    """Whether some history breaks the contract."""

    @settings(max_examples=200, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(parents=PARENTS, actions=ACTIONS)
    def histories(parents: list[int], actions: list[Action]) -> None:
        run(pool, CHOICES[policy], parents, actions, advertisements=advertisements, make=make)

    try:
        histories()
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize("mutant", [BreaksBeforeMaking, SendsBack, ReordersUpdates])
def test_a_wrong_broker_is_caught(mutant: type[Broker]) -> None:
    assert caught(words(), "covering", advertisements=False, make=mutant)


@pytest.mark.parametrize(
    ("policy", "name", "mutant"),
    [
        ("covering", "Covering", DoesNotPromote),
        ("merging", "Covering", DoesNotPromote),
        ("merging", "Merging", DoesNotUndo),
    ],
)
def test_a_wrong_policy_is_caught(
    policy: str, name: str, mutant: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_module, name, mutant)
    assert caught(words(), policy, advertisements=False, make=Broker)


@pytest.mark.parametrize("policy", ["simple", "covering", "merging"])
def test_an_advertisement_that_is_ignored_is_caught(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "Routing", IgnoresAdvertisements)
    assert caught(words(), policy, advertisements=True, make=Broker)


def test_overlaps_that_says_no_when_unsure_is_caught() -> None:
    assert caught(unsure(), "covering", advertisements=True, make=Broker)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["simple", "covering"])
def test_values_that_are_lost_beside_a_number_are_caught(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The box store would not find `y = 'b' OR y = 0.5` for the event 'b'."""
    real = ruler._on_one_line

    def on_one_line(spans: Mapping[str, Any]) -> Any:
        found = real(spans)
        lost = found is not None and "number" in found and len(spans) <= 3
        return {"number": found["number"]} if lost and found is not None else found

    monkeypatch.setattr(ruler, "_on_one_line", on_one_line)
    assert caught(attributes(), policy, advertisements=False, make=Broker)


def test_nothing_of_this_is_caught_without_a_mutant() -> None:
    assert not caught(words(), "covering", advertisements=True, make=Broker)

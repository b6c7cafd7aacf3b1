"""The checks on counts catch what they are there for: mistakes that are easy to make."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.overlay.histories import words
from tests.overlay.test_mutants import BreaksBeforeMaking, caught
from tidegate.overlay import broker as broker_module
from tidegate.overlay.broker import Broker
from tidegate.overlay.counts import Counts
from tidegate.overlay.difference import Difference
from tidegate.overlay.link import Link
from tidegate.overlay.messages import Effect
from tidegate.overlay.policy import covering
from tidegate.overlay.policy.forest import Forest
from tidegate.overlay.policy.sources import Source
from tidegate.overlay.routing import Routing


class ForgetsRecounts(Broker):
    """Tells what new entries count, and nothing of those that stay."""

    def _tell(
        self, link: Link, message: Any, difference: Difference, effects: list[Effect]
    ) -> None:
        told = {n: counts for n, counts in difference.counts.items() if n in difference.add}
        super()._tell(link, message, replace(difference, counts=told), effects)


class CountsAnotherLink(Routing):
    """Looks for what an entry counts under its id alone, so that another link's may be taken."""

    def _counts(self, sources: Iterable[Source]) -> Mapping[Source, Counts]:
        known = {own: counts for (_, own), counts in self.wanted._counts.items()}
        return {source: known.get(source[1], Counts()) for source in sources}


class CountsOneUp(Forest):
    """Tells of a change what a filter hangs under, and nobody further up."""

    def _shift(self, number: int, by: int) -> None:
        super()._shift(number, by)
        parent = self._parent.get(number)
        while parent is not None and (parent := self._parent.get(parent)) is not None:
            self._weight[parent] -= by


class KeepsWhatWasFreed(Forest):
    """Goes on counting what hung under a filter and has left it."""

    def free(self, number: int) -> None:
        parent = self._parent.pop(number, None)
        if parent is not None:
            self._children[parent].discard(number)


@pytest.mark.parametrize("mutant", [ForgetsRecounts, BreaksBeforeMaking])
def test_a_wrong_broker_is_caught(mutant: type[Broker]) -> None:
    assert caught(words(), "xroute", advertisements=False, make=mutant)


def test_the_count_of_another_link_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "Routing", CountsAnotherLink)
    assert caught(words(), "xroute", advertisements=False, make=Broker)


@pytest.mark.parametrize("mutant", [CountsOneUp, KeepsWhatWasFreed])
def test_a_forest_that_weighs_wrongly_is_caught(
    mutant: type[Forest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(covering, "Forest", mutant)
    assert caught(words(), "xroute", advertisements=False, make=Broker)

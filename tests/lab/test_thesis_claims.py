"""The thesis's examples come out, its properties hold, and a planted error is an exception."""

from random import Random

import pytest

from tidegate.lab.experiments import peer_trials, trials
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.experiments.xnet_thesis import (
    EXAMPLE,
    EXAMPLES,
    FILTERING,
    PROPERTIES,
    PROPERTY,
    held,
)
from tidegate.peers.network import Spread
from tidegate.peers.simulation import Simulation

FALSE = "opposition-transitive"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_as_the_thesis_says(name: str) -> None:
    row = EXAMPLE.measure({"example": name}, 1)
    assert row["parts"] > 0
    assert row["wrong"] == 0


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_holds_but_for_the_one_that_is_false(name: str) -> None:
    row = held({"property": name, "histories": 4}, 1)
    assert row["tried"] > 0
    assert bool(row["wrong"]) == (name == FALSE)


def test_claims_are_decided_by_exceptions() -> None:
    rows = [
        {"property": name, "tried": 100, "wrong": 1 if name == "search-complete" else 0, "seed": 1}
        for name in PROPERTIES
    ]
    rows[0]["wrong"] = 1
    states = {claim.name: claim.rule(Rows(rows)).state for claim in PROPERTY.claims}
    assert states.pop(f"xnet-{rows[0]['property']}") == "not"
    assert set(states.values()) == {"held"}
    few = Rows([{"property": name, "tried": 1, "wrong": 0} for name in PROPERTIES])
    with pytest.raises(LookupError, match="too few"):
        PROPERTY.claims[0].rule(few)


def test_trials_find_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range that covers less than it should, and a search that finds what is not so."""
    monkeypatch.setattr(trials, "covers", lambda a, b: True)
    assert trials.sound(Random(1))[1] > 0
    monkeypatch.undo()
    monkeypatch.setattr(trials, "covers", lambda a, b: False)
    tried, wrong = trials.complete(Random(1))
    assert tried == wrong > 0
    monkeypatch.undo()
    monkeypatch.setattr(trials.World, "cancel", lambda self: self.standing.pop())
    assert sum(trials.cancelled(Random(seed))[1] for seed in range(3)) > 0
    monkeypatch.undo()
    monkeypatch.setattr(Simulation, "publish", _twice)
    assert peer_trials.spanning(Random(1))[1] > 0


def _twice(self: object, name: str, event: object) -> Spread:
    return Spread(frozenset("a"), ("a",), frozenset("a"), 2)


def test_filtering_is_timed_on_answers_that_agree() -> None:
    row = FILTERING.measure({"documents": 2, "patterns": 60}, 1)
    assert set(row) == {"xtrie", "index"}

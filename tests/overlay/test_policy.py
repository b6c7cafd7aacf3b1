"""What each policy forwards, step by step, on small examples."""

from typing import Any

import pytest

import tidegate as tg
from tidegate.algebra.distribution import Uniform
from tidegate.errors import TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.difference import Difference
from tidegate.overlay.filter import Filter
from tidegate.overlay.policy import NAMES, Choice, Policy
from tidegate.overlay.policy.sources import Source
from tidegate.overlay.policy.trigger import Trigger
from tidegate.overlay.work import Work

SCHEMA = tg.Schema({"x": tg.Attribute("bigint", nullable=False, low=0, high=99)}, checked=True)
KIND = Attributes(SCHEMA, Uniform(SCHEMA))


class Told:
    """A policy, and what it says when it is told filters by names."""

    def __init__(self, name: str, **options: Any) -> None:
        self.policy = Policy(Choice(name, **options), KIND, Work())
        self.names: dict[str, int] = {}

    def step(self, remove: str = "", /, **texts: str) -> Difference:
        """Filters under new names are added, those under known ones updated."""
        add: list[tuple[Source, Filter]] = []
        update: list[tuple[Source, Filter]] = []
        for name, text in texts.items():
            source = ("link", self.names.setdefault(name, len(self.names)))
            (update if source in self.policy else add).append((source, KIND.parse(text)))
        gone = [("link", self.names[name]) for name in remove.split()]
        return self.policy.step(add, update, gone)

    @property
    def forwarded(self) -> list[str]:
        return sorted(map(str, self.policy.active.values()))


def said(difference: Difference) -> tuple[list[str], list[str], int]:
    """What is added and updated, in text, and how many are removed."""
    add, update = (sorted(map(str, x.values())) for x in (difference.add, difference.update))
    return add, update, len(difference.remove)


def test_simple_forwards_equal_filters_again_and_again() -> None:
    told = Told("simple")
    told.step(a="x < 5", b="x < 5")
    assert told.forwarded == ["x < 5", "x < 5"]
    assert said(told.step("a")) == ([], [], 1)


def test_identity_forwards_equal_filters_once_until_the_last_one_goes() -> None:
    told = Told("identity")
    assert said(told.step(a="x < 5", b="NOT x >= 5")) == (["x < 5"], [], 0)
    assert not told.step("a")
    assert said(told.step("b")) == ([], [], 1)


def test_what_is_covered_is_not_forwarded_until_what_covers_it_goes() -> None:
    told = Told("covering")
    told.step(wide="x < 50")
    assert not told.step(narrow="x < 10", apart="x BETWEEN 20 AND 30")
    assert told.policy.passive == 2
    assert said(told.step("wide")) == (["x < 10", "x >= 20 AND x <= 30"], [], 1)


def test_a_newcomer_takes_the_place_of_what_it_covers() -> None:
    told = Told("covering")
    told.step(a="x < 10", b="x BETWEEN 20 AND 30")
    assert said(told.step(wide="x < 50")) == (["x < 50"], [], 2)


def test_only_what_nobody_else_covers_is_promoted() -> None:
    told = Told("covering")
    told.step(one="x < 50")
    told.step(two="x BETWEEN 5 AND 90")
    told.step(low="x < 3", middle="x BETWEEN 10 AND 20")
    assert said(told.step("one")) == (["x < 3"], [], 1)


def test_an_update_stays_one_where_the_set_keeps_its_structure() -> None:
    told = Told("covering")
    told.step(a="x < 10")
    assert said(told.step(a="x < 20")) == ([], ["x < 20"], 0)


def test_an_update_that_covers_no_more_promotes_in_the_same_step() -> None:
    told = Told("covering")
    told.step(a="x < 50", b="x < 30")
    assert said(told.step(a="x < 20")) == (["x < 30"], [], 1)
    assert told.policy.passive == 1


def test_an_update_of_a_filter_that_two_want_leaves_the_other_one() -> None:
    told = Told("identity")
    told.step(a="x < 10", b="x < 10")
    assert said(told.step(a="x < 20")) == (["x < 20"], [], 0)


def test_what_several_cover_together_is_not_forwarded() -> None:
    told = Told("subsumption")
    told.step(low="x < 50", high="x >= 40")
    assert not told.step(middle="x BETWEEN 30 AND 60")
    assert said(told.step("high")) == (["x >= 30 AND x <= 60"], [], 1)


def test_a_rebuild_finds_what_has_become_superfluous() -> None:
    told = Told("subsumption", period=1)
    told.step(middle="x BETWEEN 30 AND 60")
    told.step(low="x < 50")
    told.step(high="x >= 40")
    assert len(told.forwarded) == 3
    assert said(told.policy.tick()) == ([], [], 1)
    assert told.forwarded == ["x < 50", "x >= 40"]


def test_neighbours_are_merged_and_the_merger_is_undone_when_one_leaves() -> None:
    told = Told("merging", size=2)
    told.step(a="x BETWEEN 10 AND 19")
    assert said(told.step(b="x BETWEEN 20 AND 29")) == (["x >= 10 AND x <= 29"], [], 1)
    assert said(told.step("a")) == (["x >= 20 AND x <= 29"], [], 1)


def test_a_newcomer_joins_a_merger_that_covers_it() -> None:
    told = Told("merging", size=2)
    told.step(a="x BETWEEN 0 AND 9", b="x BETWEEN 10 AND 19")
    assert not told.step(c="x BETWEEN 5 AND 15")
    added, _, removed = said(told.step("a"))
    assert added == ["x >= 10 AND x <= 19", "x >= 5 AND x <= 15"]
    assert removed == 1


def test_a_merger_is_dropped_when_a_newcomer_covers_it() -> None:
    told = Told("merging", size=2)
    told.step(a="x BETWEEN 0 AND 9", b="x BETWEEN 10 AND 19")
    assert said(told.step(wide="x < 90")) == (["x < 90"], [], 1)
    assert told.forwarded == ["x < 90"]


def test_imperfect_mergers_cost_no_more_than_allowed() -> None:
    for start, forwarded in ((22, 1), (24, 2)):
        told = Told("merging", imt=0.03, size=2)
        told.step(a="x BETWEEN 10 AND 19", b=f"x BETWEEN {start} AND 29")
        assert len(told.forwarded) == forwarded


def test_what_nobody_advertises_costs_nothing_until_somebody_does() -> None:
    told = Told("merging", imt=0.03, size=2)
    told.policy.advertised([KIND.parse("x < 15"), KIND.parse("x > 79")])
    told.step(a="x BETWEEN 10 AND 14", b="x BETWEEN 80 AND 84")
    assert told.forwarded == ["x >= 10 AND x <= 84"]
    everything = told.policy.advertised([KIND.parse("x >= 0")])
    assert said(everything) == (["x >= 10 AND x <= 14", "x >= 80 AND x <= 84"], [], 1)


def test_flood_forwards_nothing_by_itself() -> None:
    assert Choice("flood").floods
    assert not any(Choice(name).floods for name in NAMES if name != "flood")


@pytest.mark.parametrize(
    ("options", "steps", "due"),
    [
        ({"period": 2}, ["add", "tick", "tick", "tick", "tick"], [3]),
        ({"period": 2}, ["add", "tick", "tick", "add", "tick", "tick"], [3, 6]),
        ({"size": 2}, ["add", "add", "add", "add", "tick"], [2, 4]),
        ({"rate": 2}, ["add", "tick", "add", "add", "tick", "add"], [4]),
        ({}, ["add", "tick"], []),
    ],
)
def test_a_trigger_comes_when_it_should(
    options: dict[str, int], steps: list[str], due: list[int]
) -> None:
    trigger = Trigger(**options)
    found = []
    size = 0
    for at, step in enumerate(steps, start=1):
        size += step == "add"
        if trigger.after(1, size) if step == "add" else trigger.tick(size):
            trigger.done(size)
            found.append(at)
    assert found == due


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "covered"}, "there is no policy 'covered'"),
        ({"name": "merging", "imt": 2}, "a probability"),
        ({"name": "covering", "imt": 0.1}, "covering has no IMT"),
        ({"name": "merging", "size": 0}, "never comes"),
    ],
)
def test_choices_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TidegateError, match=message):
        Choice(**options)

"""Filters hang under what covers them: links are right after every step, and so are answers."""

import os
import subprocess
import sys
import warnings
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tidegate as tg
from tests import ROOT
from tests.engine.boxes.box_oracle import NO_NORMAL_FORM, some_filter
from tests.families import mixed_filter
from tests.papers.agreement import SCHEMAS, agree
from tests.papers.poset_checks import flaws, links, misplaced, plain_event, plain_filter
from tidegate.algebra.relate import covers, overlaps
from tidegate.filters.filter import Filter
from tidegate.papers.limit import LimitWarning
from tidegate.papers.poset import diagram, node
from tidegate.papers.poset.change import Bound
from tidegate.papers.poset.node import Node
from tidegate.papers.poset.outline import outline
from tidegate.papers.poset.poset import Poset

LONG = os.environ.get("TIDEGATE_LONG") == "1"
SEEDS = st.integers(0, 2**32)
SLOW = settings(max_examples=60 if LONG else 6, deadline=None)


def poset_of(*texts: str) -> Poset:
    """Filters under the numbers from 0 on."""
    poset = Poset()
    for number, text in enumerate(texts):
        poset.add(number, tg.parse(text))
    return poset


def at(poset: Poset, number: int) -> Node:
    """The node of a number."""
    return next(each for each in poset.nodes if number in each.numbers)


def bound(poset: Poset) -> Bound:
    """What the last change did to the least upper bound."""
    return poset.change.bound


def exact(poset: Poset) -> None:
    """Nothing is wrong, and links are the transitive reduction of covering."""
    assert flaws(poset) == []
    assert misplaced(poset) == []


@pytest.fixture
def sieves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two children are many: all but the smallest posets have sieves."""
    monkeypatch.setattr(node, "MANY", 1)
    monkeypatch.setattr(diagram, "MANY", 1)


# -- the example of the paper


def test_the_example_of_the_paper() -> None:
    poset = poset_of("price < 10")
    assert bound(poset) is Bound.STRUCTURE  # nothing was asked for before
    poset.add(1, tg.parse("price < 5"))
    assert bound(poset) is Bound.SAME  # and nothing is forwarded
    poset.remove(0)
    assert str(poset.lub()) == "price < 5"
    poset.add(0, tg.parse("price < 30"))
    assert str(poset.lub()) == "price < 30"
    assert [str(f) for f in poset.change.gone] == ["price < 5"]
    assert [str(f) for f in poset.change.come] == ["price < 30"]


def test_an_update_of_the_example_moves_the_bound_only() -> None:
    poset = poset_of("price < 10", "price < 5")
    root = at(poset, 0)
    poset.update(0, tg.parse("price < 30"))
    assert bound(poset) is Bound.CONSTANTS
    assert poset.roots == [root]
    assert links(poset) == {(0,): {(1,)}, (1,): set()}
    poset.update(0, tg.parse("price < 3"))
    assert bound(poset) is Bound.CONSTANTS  # price < 5 takes its place
    assert links(poset) == {(1,): {(0,)}, (0,): set()}
    poset.update(1, tg.parse("price < 5 AND volume > 7"))
    assert bound(poset) is Bound.STRUCTURE


# -- after every step of any history


@pytest.mark.slow
@SLOW
@given(SEEDS)
def test_links_are_the_transitive_reduction(seed: int) -> None:
    poset = Poset()
    agree(
        poset,
        None,
        seed,
        70,
        exact=True,
        draw=plain_filter,
        event=plain_event,
        after=lambda: exact(poset),
    )


@SLOW
@given(SEEDS)
def test_links_are_the_transitive_reduction_under_a_schema(seed: int) -> None:
    low = tg.Attribute("bigint", low=0, high=10, nullable=False)
    for checked in (False, True):
        schema = tg.Schema({"x": low, "y": tg.Attribute("bigint")}, checked=checked)
        poset = Poset(schema)
        agree(
            poset,
            schema,
            seed,
            40,
            exact=True,
            draw=lambda rng, schema=schema: plain_filter(rng, schema),  # type: ignore[misc]
            event=plain_event,
            after=lambda poset=poset: exact(poset),  # type: ignore[misc]
        )


@pytest.mark.slow
@settings(SLOW, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=SEEDS)
def test_links_are_the_transitive_reduction_when_all_have_sieves(seed: int, sieves: None) -> None:
    poset = Poset()
    agree(
        poset,
        None,
        seed,
        60,
        exact=True,
        draw=plain_filter,
        event=plain_event,
        after=lambda: exact(poset),
    )


@pytest.mark.parametrize("name", SCHEMAS)
@SLOW
@given(seed=SEEDS)
def test_answers_are_those_of_the_box_store(name: str, seed: int) -> None:
    poset = Poset(SCHEMAS[name])
    agree(poset, SCHEMAS[name], seed, 50, after=lambda: no_flaw(poset))


@SLOW
@given(SEEDS)
def test_answers_are_those_of_the_box_store_with_all_families(seed: int) -> None:
    poset = Poset()
    agree(poset, None, seed, 50, mixed=True, after=lambda: no_flaw(poset))


@settings(SLOW, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=SEEDS)
def test_answers_are_those_of_the_box_store_when_all_have_sieves(seed: int, sieves: None) -> None:
    for schema in SCHEMAS.values():
        agree(Poset(schema), schema, seed, 25)
    agree(Poset(), None, seed, 25, mixed=True)


def no_flaw(poset: Poset) -> None:
    assert flaws(poset) == []


class Histories(RuleBasedStateMachine):
    """A poset that is changed at random, beside a list of the filters that it should have."""

    @initialize()
    def begin(self) -> None:
        self.poset = Poset()
        self.filters: dict[int, Filter] = {}
        self.next = 0

    @rule(seed=st.integers(0, 999))
    def add(self, seed: int) -> None:
        self.filters[self.next] = plain_filter(Random(seed))
        self.poset.add(self.next, self.filters[self.next])
        self.next += 1

    @precondition(lambda self: self.filters)
    @rule(seed=st.integers(0, 999), which=st.integers(0, 99))
    def update(self, seed: int, which: int) -> None:
        number = list(self.filters)[which % len(self.filters)]
        self.filters[number] = plain_filter(Random(seed))
        self.poset.update(number, self.filters[number])

    @precondition(lambda self: self.filters)
    @rule(which=st.integers(0, 99))
    def remove(self, which: int) -> None:
        number = list(self.filters)[which % len(self.filters)]
        del self.filters[number]
        self.poset.remove(number)

    @precondition(lambda self: self.filters)
    @rule(seed=st.integers(0, 999), which=st.integers(0, 99))
    def update_several(self, seed: int, which: int) -> None:
        rng = Random(seed)
        chosen = rng.sample(list(self.filters), 1 + which % len(self.filters))
        one, other = plain_filter(rng), plain_filter(rng)
        changes = {number: rng.choice((one, one, other)) for number in chosen}
        self.filters.update(changes)
        self.poset.update_many(changes)

    @rule(seed=st.integers(0, 999))
    def match(self, seed: int) -> None:
        event = plain_event(Random(seed))
        expected = [number for number, f in self.filters.items() if f.matches(event)]
        before = self.poset.asked
        assert sorted(self.poset.match(event)) == sorted(expected)
        assert self.poset.asked - before <= len(self.poset.nodes)
        assert self.poset.lub().matches(event) is bool(expected)

    @invariant()
    def all_is_where_it_belongs(self) -> None:
        exact(self.poset)
        assert self.poset._filters == self.filters


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=60 if LONG else 10, stateful_step_count=25, deadline=None
)


# -- updates


@SLOW
@given(SEEDS)
def test_an_update_does_what_removing_and_adding_does(seed: int) -> None:
    rng = Random(seed)
    moved, renewed = Poset(), Poset()
    filters = {number: plain_filter(rng) for number in range(40)}
    for number, f in filters.items():
        moved.add(number, f)
        renewed.add(number, f)
    for _ in range(40):
        number, f = rng.randrange(40), plain_filter(rng)
        if rng.random() < 0.2:
            f = filters[rng.randrange(40)]
        filters[number] = f
        moved.update(number, f)
        renewed.remove(number)
        renewed.add(number, f)
        assert links(moved) == links(renewed)
        assert {str(root.filter) for root in moved.roots} == {
            str(root.filter) for root in renewed.roots
        } or misplaced(moved) == []


LADDER = ("x < 10", "x < 8", "x < 6", "x < 4 AND y = 1", "x < 4 AND y = 2", "x > 3", "y = 1")


@pytest.mark.parametrize("number", range(len(LADDER)))
@pytest.mark.parametrize("text", ["x < 7", "x < 3", "x < 20", "x < 5 AND y = 1", "x > 20", "x = 0"])
def test_a_node_that_nobody_shares_stays_the_same(number: int, text: str) -> None:
    poset = poset_of(*LADDER)
    before = at(poset, number)
    poset.update(number, tg.parse(text))
    assert at(poset, number) is before
    exact(poset)


def test_a_relation_that_nobody_linked_is_found() -> None:
    poset = poset_of("x BETWEEN 0 AND 10", "x BETWEEN 5 AND 20", "x BETWEEN 30 AND 40")
    poset.update(0, tg.parse("x BETWEEN 6 AND 10"))  # narrower: what overlapped it covers it
    assert links(poset) == {(0,): set(), (1,): {(0,)}, (2,): set()}
    poset.update(0, tg.parse("x BETWEEN 6 AND 50"))  # wider: it covers what was nowhere near it
    assert links(poset) == {(0,): {(2,)}, (1,): set(), (2,): set()}
    exact(poset)


def test_a_filter_that_others_share_is_left_to_them() -> None:
    poset = poset_of("x < 10", "x < 10", "x < 5")
    poset.update(0, tg.parse("x < 7"))
    assert links(poset) == {(1,): {(0,)}, (0,): {(2,)}, (2,): set()}
    poset.update(0, tg.parse("x < 10"))
    assert links(poset) == {(0, 1): {(2,)}, (2,): set()}


def test_filters_that_move_together_keep_their_node() -> None:
    poset = poset_of(*["x < 10"] * 50, "x < 7")
    shared = at(poset, 0)
    poset.update_many(dict.fromkeys(range(50), tg.parse("x < 5")))
    assert at(poset, 0) is shared
    assert links(poset) == {(50,): {tuple(range(50))}, tuple(range(50)): set()}


def test_an_update_to_what_another_says_joins_it() -> None:
    poset = poset_of("x < 10 OR y < 10", "x < 3")
    poset.update(1, tg.parse("(x < 10 AND y < 5) OR (x < 10 AND y IS NULL) OR y < 10 OR x < 10"))
    assert links(poset) == {(0, 1): set()}
    exact(poset)


def test_an_update_to_other_words_for_the_same_changes_nothing() -> None:
    poset = poset_of("x BETWEEN 1 AND 5")
    poset.update(0, tg.parse("x >= 1 AND NOT (x > 5)"))
    assert bound(poset) is Bound.SAME
    poset.update(
        0, tg.parse("(x = 1 AND y IS NULL) OR (x = 1 AND y IS NOT NULL) OR x IN (2,3,4,5)")
    )
    assert poset.match({"x": 5}) == [0]
    exact(poset)


# -- what the algebra does not decide


@SLOW
@given(SEEDS)
def test_covers_that_are_missed_cost_links_and_no_more(seed: int) -> None:
    """An algebra that forgets a third of all covers: what it decides is not transitive."""
    strings: dict[tuple[str, str], float] = {}

    def decides(f: Filter, g: Filter) -> bool:
        pair = strings.setdefault((str(f), str(g)), Random(f"{seed} {f} {g}").random())
        return covers(f, g) and (f == g or pair > 0.33)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagram, "covers", decides)
        patch.setattr(Node, "loose", property(lambda self: True))
        poset = Poset()
        counts = agree(
            poset,
            None,
            seed,
            60,
            draw=plain_filter,
            event=plain_event,
            after=lambda: no_flaw_by(poset, decides),
        )
    assert counts["containing, missed"] + counts["contained, missed"] > 0


def no_flaw_by(poset: Poset, decides: Any) -> None:
    assert flaws(poset, decides) == []


def test_filters_that_cover_each_other_are_one_node_though_they_are_not_equal() -> None:
    one = tg.parse("x <= 5 AND (y = 1 OR y = 2)")
    other = tg.parse("(x <= 5 AND y = 1) OR (x <= 3 AND y = 2) OR (x BETWEEN 3 AND 5 AND y = 2)")
    assert one != other
    for first, second in ((one, other), (other, one)):
        poset = Poset()
        poset.add(1, first)
        poset.add(2, second)
        assert links(poset) == {(1, 2): set()}
        poset.remove(1)
        assert poset.match({"x": 4, "y": 2}) == [2]
        assert poset.containing(one) == poset.contained(other) == [2]
        exact(poset)


def test_a_circle_of_covers_is_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three ways to say x < 5. Of the last one, the algebra knows that 5 > x covers it.

    That hangs under x < 5, which the last one covers: it would stand above what is above it.
    """
    texts = ("x < 9", "x < 5", "5 > x", "x < 7 OR y < 7", "x < 1", "x < 2 AND y = 1", "NOT x >= 5")
    filters = [tg.parse(text) for text in texts]
    numbers = {id(f): i for i, f in enumerate(filters)}
    known = {0: {1, 2, 4, 5, 6}, 1: {2, 4, 5}, 2: {4, 5, 6}, 3: {2, 4, 5, 6}, 6: {1}}

    def decides(f: Filter, g: Filter) -> bool:
        return f is g or numbers[id(g)] in known.get(numbers[id(f)], ())

    monkeypatch.setattr(diagram, "covers", decides)
    monkeypatch.setattr(Node, "loose", property(lambda self: True))
    monkeypatch.setattr(Filter, "__hash__", lambda self: id(self))
    monkeypatch.setattr(Filter, "__eq__", lambda self, other: self is other)
    poset = Poset()
    for number, f in enumerate(filters):
        poset.add(number, f)
    assert links(poset) == {
        (0,): {(1,)},
        (1,): {(2, 6)},
        (3,): {(2, 6)},
        (2, 6): {(4,), (5,)},
        (4,): set(),
        (5,): set(),
    }
    assert sorted(poset.match({"x": 3})) == [0, 1, 2, 3, 6]


def test_a_filter_without_a_normal_form_is_a_root() -> None:
    poset = poset_of("x < 3", NO_NORMAL_FORM, "TRUE", NO_NORMAL_FORM)
    assert links(poset) == {(2,): {(0,)}, (0,): set(), (1, 3): set()}
    assert sorted(poset.match({"x": 5, "y": 2.5})) == [1, 2, 3]
    assert sorted(poset.containing(tg.parse(NO_NORMAL_FORM))) == [1, 3]
    assert sorted(poset.contained(tg.parse(NO_NORMAL_FORM))) == [1, 3]
    assert poset.lub().matches({"x": 5, "y": 2.5})
    poset.update(1, tg.parse("x = 2"))
    assert links(poset) == {(2,): {(0,)}, (0,): {(1,)}, (1,): set(), (3,): set()}


# -- outlines


@pytest.mark.slow
@settings(max_examples=3000 if LONG else 40, deadline=None)
@given(SEEDS, st.sampled_from([*SCHEMAS, "mixed", "plain"]))
def test_an_outline_excludes_nothing_that_covers_or_overlaps(seed: int, kind: str) -> None:
    rng = Random(seed)
    filters = [_any_filter(rng, kind) for _ in range(12)]
    nodes = dict.fromkeys(map(Node, filters))
    sieve = node.Sieve(nodes)
    for new in nodes:
        around, meeting = set(sieve.around(new.outline)), dict(sieve.meeting(new.outline))
        for each in nodes:
            asked = str(each.filter), str(new.filter)
            if covers(each.filter, new.filter):
                assert each in around, asked
                assert new.outline.within(each.outline), asked
            if covers(new.filter, each.filter):
                assert meeting.get(each), asked
            if overlaps(new.filter, each.filter):
                assert each in meeting, asked
                assert each.outline.meets(new.outline), asked


def _any_filter(rng: Random, kind: str) -> Filter:
    if kind == "mixed":
        return mixed_filter(rng)
    return plain_filter(rng) if kind == "plain" else some_filter(rng, SCHEMAS[kind])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s = 'a'", "s = 'b'"),
        ("x = 1", "x = 2"),
        ("x = 1.5D", "x = 1.6D"),
        ("x < 0", "x > 0"),
        ("x = 1", "x = 'a'"),
        ("x = TRUE", "x = 1"),
        ("d = DATE '2024-02-29'", "d = DATE '2024-03-01'"),
        ("x < -1e300D", "x > 1e300D"),
        ("s = '\U0001f600'", "s = '\uffff'"),
    ],
)
def test_an_outline_tells_filters_apart(one: str, other: str) -> None:
    known, asked = outline(tg.parse(one)), outline(tg.parse(other))
    sieve = node.Sieve({Node(tg.parse(one)): None})
    assert [*sieve.around(asked), *sieve.meeting(asked)] == []
    assert not known.meets(asked)
    assert not known.within(asked)


def test_a_filter_on_many_attributes_is_found_with_and_without_a_sieve() -> None:
    wide = " AND ".join(f"a{i} > {i}" for i in range(12))
    poset = poset_of(wide, *(f"a{i} > 5 AND b = 1" for i in range(40)), "a11 > 3", "a0 > -1")
    assert sorted(poset.containing(tg.parse(wide))) == [0, 41, 42]
    assert poset.contained(tg.parse("a7 > 7 AND a3 > 0")) == [0]
    exact(poset)


# -- hostile


def test_equal_filters_share_a_node_by_the_thousand() -> None:
    poset = Poset()
    f = tg.parse("x < 10 AND s = 'ß'")
    for number in range(5_000):
        poset.add(number, tg.parse("s = 'ß' AND x < 10") if number % 2 else f)
    assert len(poset.nodes) == 1
    assert len(poset.match({"x": 1, "s": "ß"})) == 5_000
    assert poset.asked == 1
    for number in range(4_999):
        poset.remove(number)
    assert links(poset) == {(4_999,): set()}


def test_a_chain_of_two_thousand() -> None:
    depth = 2_000
    poset = Poset()
    for number in range(depth):
        poset.add(number, tg.parse("x < :n").bind(n=number))
    poset.add(depth, tg.parse("x < 0.5D"))
    assert len(poset.match({"x": -1})) == depth + 1
    assert poset.match({"x": depth - 1.5}) == [depth - 1]
    assert len(poset.contained(tg.parse("x < 1500"))) == 1_502
    assert len(poset.containing(tg.parse("x < 1990"))) == 10
    assert len(poset.overlapping(tg.parse("x < 5"))) == depth + 1
    poset.update(depth, tg.parse("x < 999.5D"))
    assert str(next(iter(at(poset, depth).below)).filter) == "x < 999"
    poset.update(depth - 1, tg.parse("x < -5"))
    assert at(poset, depth - 1).below == {}
    for number in range(0, depth, 2):
        poset.remove(number)
    assert flaws(poset) == []
    assert len(poset.roots) == 1


def test_everything_under_true_and_nothing_above_false() -> None:
    poset = poset_of("FALSE")
    assert poset.roots == []
    assert str(poset.lub()) == "FALSE"
    poset = poset_of(*(f"x = {i}" for i in range(300)), "FALSE", "TRUE", "x < 1 AND x > 2")
    assert [str(root.filter) for root in poset.roots] == ["TRUE"]
    assert len(at(poset, 301).below) == 300
    assert sorted(poset.match({"x": 7})) == [7, 301]
    assert poset.asked == 301
    assert sorted(poset.contained(tg.parse("x = 7"))) == [7, 300, 302]
    assert len(poset.containing(tg.parse("FALSE"))) == 303
    assert poset.overlapping(tg.parse("FALSE")) == []
    poset.remove(301)
    assert len(poset.roots) == 300
    poset.update(300, tg.parse("x >= 0"))
    assert [str(root.filter) for root in poset.roots] == ["x >= 0"]
    poset.update(300, tg.parse("FALSE"))
    exact(poset)


def test_an_antichain_of_two_thousand() -> None:
    poset = Poset()
    for number in range(2_000):
        poset.add(number, tg.parse("x >= :a AND x <= :b").bind(a=number, b=number + 5_000))
    assert len(poset.roots) == 2_000
    before = poset.compared
    assert poset.containing(tg.parse("x BETWEEN 10 AND 5010")) == [10]
    assert poset.compared - before == 1
    for number in range(1_990):
        poset.remove(number)
    assert poset._diagram.top.sieve is None or len(poset._diagram.top.sieve._counts) < 500
    exact(poset)


def test_empty_text_that_nobody_knows_to_be_empty() -> None:
    texts = ("s LIKE '%a' AND s LIKE '%b' AND x > 1", "s LIKE '%a_' AND s LIKE '_b'", "s = 'q'")
    poset = poset_of(*texts, "x > 0", "s < 'c'", "s >= 'c'")
    assert flaws(poset) == []
    assert sorted(poset.match({"s": "q", "x": 2})) == [2, 3, 5]


# -- matching


def test_nothing_is_asked_under_what_does_not_match() -> None:
    poset = poset_of("x < 10", "x < 5", "x < 2", "y < 10", "x < 5 AND y < 5")
    assert poset.match({"x": 20, "y": 20}) == []
    assert poset.asked == 2
    assert sorted(poset.match({"x": 1, "y": 20})) == [0, 1, 2]
    assert poset.asked == 2 + 4  # what hangs under y < 10, too, is not asked


def test_an_event_that_breaks_a_checked_schema_is_matched_as_filters_say() -> None:
    schema = tg.Schema({"x": tg.Attribute("bigint", low=0, high=9, nullable=False)}, checked=True)
    poset = Poset(schema)
    texts = ("x <= 9", "x < 20", "x >= 0", "x IS NOT NULL", "x BETWEEN 0 AND 5", "x > 8")
    filters = [tg.parse(text, schema) for text in texts]
    for number, f in enumerate(filters):
        poset.add(number, f)
    for event in ({"x": 15}, {"x": -1}, {}, {"x": None}, {"x": "a"}, {"x": 3}):
        expected = [number for number, f in enumerate(filters) if f.matches(event)]
        assert sorted(poset.match(event)) == expected, event


# -- the least upper bound


@SLOW
@given(SEEDS)
def test_the_bound_changes_as_is_said(seed: int) -> None:
    rng = Random(seed)
    poset = Poset()
    filters: dict[int, Filter] = {}
    seen: Counter[Bound] = Counter()
    for number in range(60):
        before = Counter(root.filter for root in poset.roots)
        if filters and rng.random() < 0.3:
            poset.remove(filters.popitem()[0])
        elif filters and rng.random() < 0.4:
            changed = rng.choice(list(filters))
            filters[changed] = plain_filter(rng)
            poset.update(changed, filters[changed])
        else:
            filters[number] = plain_filter(rng)
            poset.add(number, filters[number])
        now = Counter(root.filter for root in poset.roots)
        said = poset.change
        seen[said.bound] += 1
        assert Counter(said.gone) - Counter(said.come) == before - now
        assert Counter(said.come) - Counter(said.gone) == now - before
        assert (said.bound is Bound.SAME) is not bool(said.gone or said.come)
        if said.bound is Bound.CONSTANTS:
            assert len(said.gone) == len(said.come)
        for f in filters.values():
            assert covers(poset.lub(), f)
    assert seen[Bound.SAME] > 0


# -- limits and errors


def test_what_does_not_fit_is_kept_aside() -> None:
    rng = Random(5)
    poset, whole = Poset(limit=20_000), Poset()
    filters = [plain_filter(rng) for _ in range(100)]
    for number, f in enumerate(filters):
        whole.add(number, f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for number, f in enumerate(filters):
            poset.add(number, f)
    assert [each.category for each in told] == [LimitWarning]
    assert "the poset has met its limit of 20,000 bytes" in str(told[0].message)
    assert 50 < poset.aside < 100
    assert poset.nbytes <= 20_000 + 2_000
    assert len(poset) == 100
    for seed in range(30):
        event, f = plain_event(Random(seed)), plain_filter(Random(seed))
        assert sorted(poset.match(event)) == sorted(whole.match(event))
        assert poset.lub().matches(event) is whole.lub().matches(event)
        for question in ("containing", "contained", "overlapping"):
            found, owed = (getattr(each, question)(f) for each in (poset, whole))
            assert sorted(found) == sorted(owed)
    assert flaws(poset) == []
    number = next(iter(poset._aside.filters))
    poset.update(number, tg.parse("x = 1 AND y = 77"))
    assert bound(poset) is Bound.STRUCTURE
    for number in range(100):
        poset.remove(number)
    assert (len(poset), poset.aside, poset.nbytes) == (0, 0, 0)
    poset.add(1, tg.parse("x < 1"))
    assert poset.aside == 0


def test_what_cannot_be_done_changes_nothing() -> None:
    poset = poset_of("x < 10", "x < 5")
    schema = tg.Schema({"x": "bigint"})
    with pytest.raises(ValueError, match="number 0 already"):
        poset.add(0, tg.parse("x = 3"))
    with pytest.raises(KeyError):
        poset.remove(7)
    with pytest.raises(KeyError):
        poset.update(7, tg.parse("x = 3"))
    with pytest.raises(KeyError):
        poset.update_many({0: tg.parse("x = 3"), 7: tg.parse("x = 3")})
    with pytest.raises(tg.SchemaError):
        poset.add(2, tg.parse("x = 3", schema))
    with pytest.raises(tg.SchemaError):
        poset.update(0, tg.parse("x = 3", schema))
    with pytest.raises(tg.SchemaError):
        poset.containing(tg.parse("x = 3", schema))
    with pytest.raises(tg.ParameterError):
        poset.add(2, tg.parse("x = :p"))
    assert links(poset) == {(0,): {(1,)}, (1,): set()}
    exact(poset)


HISTORY = """
from random import Random
from tests.engine.boxes.box_oracle import some_event, some_filter
from tidegate.papers.poset.poset import Poset
rng, poset = Random(3), Poset()
for number in range(70):
    poset.add(number, some_filter(rng, None))
    poset.update(rng.randrange(number + 1), some_filter(rng, None))
for _ in range(20):
    print(poset.match(some_event(rng)), poset.containing(some_filter(rng, None)))
    print(poset.contained(some_filter(rng, None)), poset.overlapping(some_filter(rng, None)))
print(poset.compared, poset.asked, [[*n.numbers, -1, *(k for c in n.below for k in c.numbers)]
      for n in poset.nodes])
"""


PLAIN = {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "NUMBA_DISABLE_JIT": "1"}


@pytest.mark.slow
def test_the_same_history_leads_to_the_same_poset_in_every_process() -> None:
    told = [
        subprocess.run(
            [sys.executable, "-c", HISTORY],
            cwd=ROOT,
            env={**os.environ, **PLAIN, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
            timeout=300,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 1_000

"""The predicate index against a look at every predicate."""

import datetime as dt
import math
import os
from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests import families
from tests.engine.boxes.box_oracle import some_event, some_filter
from tests.papers.agreement import SCHEMAS
from tidegate.filters.evaluate import holds, value_of
from tidegate.filters.expression import Predicate, predicates
from tidegate.filters.meaning import allowed
from tidegate.papers.predicates import Predicates

LONG: Final = os.environ.get("TIDEGATE_LONG") == "1"
STEPS: Final = 600 if LONG else 120

HOSTILE: Final = (
    *("x = CAST('NaN' AS DOUBLE)", "x <= CAST('NaN' AS DOUBLE)", "x < CAST('NaN' AS DOUBLE)"),
    *("x = -0.0D", "x = 0.0D", "x > -0.0D", "x >= 0", "x = 9007199254740993", "x IS NULL"),
    *("x = 9007199254740992D", "x < 9007199254740993BD", "x IS NOT NULL", "x <=> NULL"),
    *("x = 0.1", "x = 0.1D", "x < 0.10000000000000000000000000000000000001", "x = 'Ottawa'"),
    *("x >= '\ud7ff'", "x < '\ue000'", "startswith(x, '\ud7ff')", "startswith(x, '\U0010ffff')"),
    *("x LIKE '%\U0001f600%'", "x = ''", "x > ''", "x <> ''", "x IN (1, 3, 5)", "x IN (1, NULL)"),
    *("x NOT IN (1, NULL)", "x NOT IN (1, 3)", "x IN ('a', 'b')", "(x > 3) IS NOT TRUE", "x"),
    *("NOT x", "x <=> 3", "x IS DISTINCT FROM 3", "x = NULL", "(x = NULL) IS NOT TRUE"),
    *("x = DATE '2024-02-29'", "x < TIMESTAMP '2024-02-29 12:00:00'", "lower(x) = 'ottawa'"),
    *(f"x IN ({', '.join(map(str, range(0, 900, 3)))})", "x BETWEEN 1 AND 1.5"),
)
VALUES: Final[tuple[Any, ...]] = (
    *families.VALUES,
    *("\ud7ff", "\ue000", "\U0010ffff", "\U0010ffff\U0010ffff", "a\U0001f600b", "Ottawa", "OTTAWA"),
    *(3, 5, 897, 898, 1.5, Decimal("0.10"), 2**64, -(2**63), dt.date(9999, 12, 31), [1], {"a": 1}),
)


class Beside:
    """An index, and all its predicates in a list."""

    def __init__(self, schema: tg.Schema | None) -> None:
        self.schema = schema
        self.index = Predicates(schema)
        self.kept: dict[int, Predicate] = {}
        self.uses: Counter[int] = Counter()

    def take(self, p: Predicate) -> int:
        found = self.index.find(p)
        variable = self.index.take(p)
        assert found in (variable, None)
        assert (found is None) is (variable not in self.kept)
        self.kept.setdefault(variable, p)
        self.uses[variable] += 1
        return variable

    def release(self, variable: int) -> None:
        self.index.release(variable)
        self.uses[variable] -= 1
        if not self.uses[variable]:
            del self.kept[variable], self.uses[variable]

    def check(self, event: dict[str, Any], asked: Predicate) -> None:
        index, schema = self.index, self.schema
        assert len(index) == len(self.kept) <= index.width
        owed = [
            variable
            for variable, p in self.kept.items()
            if holds(p, value_of(event, p.attribute, schema), schema)
        ]
        assert sorted(index.holding(event).tolist()) == sorted(owed), event
        own, name = allowed(asked, schema), asked.attribute
        mine = {v: allowed(p, schema) for v, p in self.kept.items() if p.attribute == name}
        assert sorted(index.of(name)) == sorted(mine)
        for question, sure in (
            ("covering", {v for v, theirs in mine.items() if own.within(theirs) is True}),
            ("covered", {v for v, theirs in mine.items() if theirs.within(own) is True}),
            ("disjoint", {v for v, theirs in mine.items() if own.meets(theirs) is False}),
        ):
            answer = getattr(index, question)(own, name)
            assert len(answer) == len(set(answer))
            assert set(answer) == sure, (question, str(asked))


def run(schema: tg.Schema | None, seed: int, steps: int, *, mixed: bool = False) -> Beside:
    rng = Random(seed)
    beside = Beside(schema)
    for _ in range(steps):
        f = families.mixed_filter(rng) if mixed else some_filter(rng, schema)
        some = list(predicates(f.tree))[:8]
        if beside.kept and rng.random() < 0.4:
            beside.release(rng.choice(list(beside.kept)))
        for p in some:
            beside.take(p)
        event = families.mixed_event(rng) if mixed else some_event(rng)
        if some:
            beside.check(event, rng.choice(some))
        if beside.kept:
            beside.check(event, rng.choice(list(beside.kept.values())))
    return beside


@pytest.mark.parametrize("schema", SCHEMAS)
@given(seed=st.integers(0, 2**32))
def test_the_index_answers_what_every_predicate_by_itself_says(schema: str, seed: int) -> None:
    run(SCHEMAS[schema], seed, 12)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_long_history_leaves_nothing_behind(schema: str) -> None:
    beside = run(SCHEMAS[schema], 1, STEPS)
    for variable, uses in list(beside.uses.items()):
        for _ in range(uses):
            beside.release(variable)
    assert len(beside.index) == 0
    assert beside.index.attributes == []
    assert beside.index.nbytes == 0
    width = beside.index.width
    for p in predicates(some_filter(Random(2), SCHEMAS[schema]).tree):
        beside.take(p)
    assert beside.index.width <= max(width, len(beside.index))


@given(seed=st.integers(0, 2**32))
def test_values_of_all_families_meet_on_one_attribute(seed: int) -> None:
    run(None, seed, 12, mixed=True)


def test_hostile_predicates_and_values() -> None:
    beside = Beside(None)
    asked = [p for text in HOSTILE for p in predicates(tg.parse(text).tree)]
    for p in asked:
        beside.take(p)
    for number, value in enumerate(VALUES):
        beside.check({"x": value}, asked[number % len(asked)])
    for p in asked:
        beside.check({}, p)
    for variable in list(beside.kept)[::2]:
        for _ in range(beside.uses[variable]):
            beside.release(variable)
    for value in VALUES:
        beside.check({"x": value}, asked[0])


def test_a_schema_decides_what_is_the_same_predicate() -> None:
    texts = ("x > 4", "x >= 5", "x > 4.5", "x >= 4.2")
    index = Predicates(tg.Schema({"x": "bigint"}))
    assert {index.take(p) for t in texts for p in predicates(tg.parse(t, index.schema).tree)} == {0}
    index = Predicates(None)  # a double may lie between
    assert len({index.take(p) for t in texts for p in predicates(tg.parse(t).tree)}) == 4


def test_predicates_that_differ_only_outside_a_checked_schema_stay_apart() -> None:
    schema = SCHEMAS["checked"]
    index = Predicates(schema)

    def taken(text: str) -> int:
        return index.take(next(predicates(tg.parse(text, schema).tree)))

    at_least_none, present = taken("x >= 0"), taken("x IS NOT NULL")
    assert at_least_none != present
    assert set(index.covering(index.allowed(present), "x")) == {at_least_none, present}
    assert index.holding({"x": -1}).tolist() == [present]


def test_a_variable_is_given_again_when_its_last_use_is_gone() -> None:
    index = Predicates(None)
    first = index.take(next(predicates(tg.parse("x > 4").tree)))
    index.use(first)
    index.release(first)
    assert index.uses(first) == 1
    assert index.holding({"x": 5}).tolist() == [first]
    index.release(first)
    assert index.holding({"x": 5}).tolist() == []
    for forgotten in (index.__getitem__, index.allowed, index.use, index.release):
        with pytest.raises(KeyError):
            forgotten(first)
    second = index.take(next(predicates(tg.parse("y = 'b'").tree)))
    assert second == first
    assert index.holding({"x": 5, "y": "b"}).tolist() == [second]
    assert index.width == 1


def test_nan_is_above_all_numbers() -> None:
    index = Predicates(tg.Schema({"x": "double"}))
    above = index.take(next(predicates(tg.parse("x > 1e308D", index.schema).tree)))
    assert index.holding({"x": math.nan}).tolist() == [above]

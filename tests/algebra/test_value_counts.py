"""What is counted of events says how many fulfil a predicate, and a sample says which match."""

import json
import math
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

import tidegate as tg
from tests import generate
from tests.overlay.histories import attributes
from tidegate.algebra import value_counts as module
from tidegate.algebra.event_sample import EventSample
from tidegate.algebra.value_counts import ValueCounts
from tidegate.filters.expression import Predicate, predicates
from tidegate.filters.filter import Filter

BOTH = pytest.mark.parametrize("typed", [False, True], ids=["any", "typed"])


def counted(events: Iterable[Any], schema: tg.Schema | None = None) -> ValueCounts:
    found = ValueCounts(schema)
    for event in events:
        found.count(event)
    return found


def predicate(text: str) -> Predicate:
    tree = tg.parse(text).tree
    assert isinstance(tree, Predicate)
    return tree


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_the_share_of_a_predicate_is_that_of_the_events_that_fulfil_it(
    typed: bool, seed: int
) -> None:
    own = attributes(seed, typed=typed)
    schema = tg.Schema(generate.TYPES) if typed else None
    counts = counted(own.events, schema)
    for f in (f for family in own.families for f in family):
        for each in predicates(tg.parse(str(f), schema).tree):
            alone = Filter.of(each, schema)
            met = sum(alone.matches(event) for event in own.events)
            assert counts.share(each) == pytest.approx(met / len(own.events)), str(each)


@BOTH
def test_a_sample_knows_which_events_match(typed: bool) -> None:
    own = attributes(3, typed=typed)
    schema = tg.Schema(generate.TYPES) if typed else None
    sample = EventSample(own.events, schema)
    for f in (f for family in own.families for f in family):
        met = sample.met(tg.parse(str(f), schema).tree)
        assert [bool(met >> i & 1) for i in range(len(own.events))] == [
            f.matches(event) for event in own.events
        ], str(f)


@BOTH
def test_counts_that_were_written_down_say_the_same(typed: bool) -> None:
    own = attributes(5, typed=typed)
    schema = tg.Schema(generate.TYPES) if typed else None
    counts, again = counted(own.events[:60], schema), ValueCounts(schema)
    again.restore(json.loads(json.dumps(counts.state())))
    for event in own.events[60:]:
        counts.count(event)
        again.count(event)
    assert again.state() == counts.state()


def test_the_letters_of_a_text_and_the_fields_of_a_struct_are_counted() -> None:
    events = [{"s": "ab", "t": {"x": 1}}, {"s": "AB", "t": {"x": 2}}, {"t": None}, {"and": 1}]
    counts = counted(events)
    texts = ["lower(s) = 'ab'", "s = 'ab'", "t.x < 2", "t IS NULL", "t.x IS NULL", "`and` = 1"]
    assert [counts.share(predicate(text)) for text in texts] == [0.5, 0.25, 0.25, 0.5, 0.5, 0.25]


def test_a_constant_of_another_type_is_another_constant() -> None:
    counts = counted([{"x": 1}, {"x": 1.0}, {"x": True}, {"x": math.nan}, {"x": math.nan}])
    assert counts.share(predicate("x = TRUE")) == 0.2
    assert counts.share(predicate("x = 1")) == 0.4
    assert counts.share(predicate("x = CAST('NaN' AS DOUBLE)")) == 0.4
    sample = EventSample([{"x": 1}, {"x": True}])
    assert [sample.met(predicate(text)) for text in ("x = 1", "x = TRUE")] == [1, 2]


def test_of_many_values_the_frequent_ones_are_known_and_the_others_spread() -> None:
    rng = Random(1)
    values = [rng.randrange(10**6) for _ in range(20_000)]
    counts = counted({"n": value, "s": f"s{value}"} for value in [*values, *[7] * 5_000])
    assert all(len(own.values) <= 2 * module.MOST_VALUES for own in counts._columns.values())
    assert counts.share(predicate("n = 7")) == pytest.approx(0.2, abs=0.001)
    assert counts.share(predicate("n < 500000")) == pytest.approx(0.6, abs=0.02)
    assert counts.share(predicate("s = 's7'")) == pytest.approx(0.2, abs=0.001)
    assert counts.share(predicate("s IS NOT NULL")) == pytest.approx(1.0)


def test_what_happened_long_ago_weighs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_EVENTS", 100)
    counts = counted([*[{"x": 1}] * 100, *[{"x": 2}] * 200])
    assert counts.seen <= 100
    assert counts.share(predicate("x = 2")) > 0.7
    assert counts.share(predicate("x = 1")) < 0.2


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_an_event_that_is_discounted_was_never_counted(typed: bool, seed: int) -> None:
    own = attributes(seed, typed=typed)
    schema = tg.Schema(generate.TYPES) if typed else None
    events = [*own.events, {"odd": math.nan, "t": {"x": [1], "y": None}}, {"odd": object()}]
    counts = counted(events * 2, schema)
    for event in events[::-1]:
        counts.discount(event)
    expected = counted(events, schema)
    assert counts.seen == expected.seen
    for name, column in expected._columns.items():
        assert counts._columns[name].values == column.values
        assert counts._columns[name].other == column.other


def test_values_that_were_dropped_are_discounted_where_they_went() -> None:
    values = list(range(20_000))
    counts = counted({"n": value, "s": f"s{value}"} for value in values)
    for value in values[:15_000]:
        counts.discount({"n": value, "s": f"s{value}", "new": 1})
    assert counts.seen == 5_000
    assert counts.share(predicate("n IS NOT NULL")) == pytest.approx(1.0)
    assert counts.share(predicate("s IS NOT NULL")) == pytest.approx(1.0)
    assert counts.share(predicate("n >= 10000")) > 0.5


def test_nothing_is_known_without_events() -> None:
    assert ValueCounts().share(predicate("x = 1")) == 0.0
    assert EventSample([]).met(tg.parse("x = 1 OR y = 2").tree) == 0

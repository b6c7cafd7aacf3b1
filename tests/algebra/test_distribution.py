"""Measures equal the weight of the events that pass, counted one by one."""

import datetime as dt
import math
import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tests.algebra.enumeration import NAMES
from tests.algebra.weighted import SCALE, WORLDS, Weighted
from tidegate import Attribute, MeasureError, Schema, SchemaError, parse
from tidegate.algebra.distribution import Uniform, disjoint, measure_box, measure_boxes, probability
from tidegate.algebra.histogram import Histogram, Range
from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import universe_of
from tidegate.algebra.subtract import Budget
from tidegate.filters.values import OTHER

DAY = dt.date(2024, 1, 1)
SCHEMA = Schema(
    {
        "n": Attribute("int", low=0, high=9),
        "r": Attribute("double", low=0.0, high=10.0),
        "f": Attribute("float", low=-1.0, high=1.0, nullable=False),
        "money": Attribute("decimal(6,2)", low=Decimal("0.00"), high=Decimal("0.99")),
        "day": Attribute("date", low=DAY, high=dt.date(2024, 12, 31)),
        "at": Attribute("timestamp", low=dt.datetime(2024, 1, 1), high=dt.datetime(2024, 1, 3)),
        "listed": Attribute("double", values=(1.0, 2.0, 1e100)),
        "word": Attribute("string", values=("IBM", "INTC", "SUN", "")),
        "b": "boolean",
        "open": Attribute("double", low=0.0),
        "name": Attribute("string", low="a", high="b"),
        "free": "bigint",
        "trade": {"price": "double"},
    }
)


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("n < 3", 0.3),
        ("n = 3", 0.1),
        ("n IN (3, 3.0, 77)", 0.1),
        ("n != 3", 0.9),
        ("n > -5", 1.0),
        ("n IS NULL", 0.0),
        ("n > 9", 0.0),
        ("r < 2.5", 0.25),
        ("r BETWEEN 2.5 AND 5", 0.25),
        ("r = 2.5", 0.0),
        ("r != 2.5", 1.0),
        ("r <= 10", 1.0),
        ("money < 0.25", 0.25),
        ("day < DATE '2024-02-01'", 31 / 366),
        ("at < TIMESTAMP '2024-01-02'", 86_400_000_000 / (2 * 86_400_000_000 + 1)),
        ("listed = 2", 1 / 3),
        ("listed > 1.5", 2 / 3),
        ("word LIKE 'I%'", 0.5),
        ("word LIKE '%N%'", 0.5),
        ("NOT endswith(word, 'M')", 0.75),
        ("word > 'I' AND word LIKE '_____%'", 0.0),
        ("b", 0.5),
        ("b IS NOT NULL", 1.0),
        ("n < 3 AND r < 5", 0.15),
        ("n < 3 OR r < 5", 0.65),
        ("n < 5 AND r < 5 OR n >= 5 AND r >= 5", 0.5),
        ("TRUE", 1.0),
        ("FALSE", 0.0),
        ("free = 1 AND n > 9", 0.0),
    ],
)
def test_uniform_on_the_domain(text: str, share: float) -> None:
    found = probability(parse(text, SCHEMA), Uniform(SCHEMA))
    assert found == pytest.approx(share, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    "text",
    [
        "open < 5",
        "name < 'az'",
        "free = 1",
        "trade IS NULL",
        "trade.price < 1",
        "n < 3 OR free = 1",
    ],
)
def test_where_nothing_is_uniform_there_is_no_answer(text: str) -> None:
    assert probability(parse(text, SCHEMA), Uniform(SCHEMA)) is None


def test_a_float_s_interval_is_as_long_as_its_own_steps_can_tell() -> None:
    share = probability(parse("f > 0.5", SCHEMA), Uniform(SCHEMA))
    assert share == pytest.approx(0.25, abs=2**-24)


def test_absent_has_the_mass_it_is_given() -> None:
    some = Uniform(SCHEMA, absent=0.5)
    assert probability(parse("n IS NULL", SCHEMA), some) == 0.5
    assert probability(parse("n < 5", SCHEMA), some) == 0.25
    assert probability(parse("f IS NULL", SCHEMA), some) == 0.0  # it cannot be NULL
    each = Uniform(SCHEMA, absent={"n": 0.25})
    assert probability(parse("n IS NULL OR n < 0", SCHEMA), each) == 0.25
    assert probability(parse("r IS NULL", SCHEMA), each) == 0.0
    for wrong in ({"n": 1.5}, {"f": 0.1}):
        with pytest.raises(MeasureError):
            Uniform(SCHEMA, absent=wrong)


def test_a_filter_of_another_schema_is_refused() -> None:
    with pytest.raises(SchemaError):
        probability(parse("n < 3"), Uniform(SCHEMA))
    with pytest.raises(SchemaError):
        probability(parse("n < 3", SCHEMA), Histogram({"n": [(1, 1)]}))


@pytest.mark.parametrize("name", WORLDS)
def test_probability_is_the_weight_of_the_events_that_pass(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"probability {name}")
    shares = []
    for _ in range(150 * SCALE):
        f = parse(world.tree(rng), world.schema)
        share = probability(f, world.distribution)
        shares.append(share)
        assert share == pytest.approx(float(world.share(world.passing(f))), abs=1e-12), str(f)
    assert sum(0 < (share or 0) < 1 for share in shares) > 75


@pytest.mark.parametrize("name", WORLDS)
def test_disjoint_pieces_hold_each_event_once(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"disjoint {name}")
    for _ in range(25 * SCALE):
        f = parse(world.tree(rng), world.schema)
        union = boxes(f)
        assert union is not None
        pieces = disjoint(union, universe_of(world.schema))
        assert pieces is not None
        total = sum(Fraction(_weight(world, piece)) for piece in pieces)
        assert total == world.weight(world.passing(f)), str(f)


def _weight(world: Weighted, box: Box) -> int:
    """The weight of the values in each of the box's sets, asked one by one."""
    total = 1
    for name, values, weights in zip(NAMES, world.values, world.weights, strict=True):
        allowed = box.sets.get(name)
        total *= sum(
            weight
            for value, weight in zip(values, weights, strict=True)
            if allowed is None
            or (
                allowed.has(value)
                if world.schema is None
                else allowed.has(value, world.schema[name].lines)
            )
        )
    return total


def test_running_out_of_budget_is_counted_and_has_no_answer() -> None:
    f = parse("n < 5 AND r < 5 OR n > 2 AND r > 2", SCHEMA)
    union = boxes(f)
    assert union is not None
    tight = Budget(1)
    assert measure_boxes(union, Uniform(SCHEMA), universe_of(SCHEMA), tight) is None
    assert tight.exhausted == 1
    assert measure_boxes(union, Uniform(SCHEMA), universe_of(SCHEMA)) == pytest.approx(
        0.5 * 0.5 + 0.7 * 0.8 - 0.2 * 0.3
    )


def test_a_histogram_by_hand() -> None:
    h = Histogram(
        {
            "p": [
                (5, 1),
                (Range(10, 19), 2),
                (Range(0.0, 4.0), 4),
                ("IBM", 1),
                (OTHER, 1),
                (None, 1),
            ],
            "q": [(Range(DAY, DAY), 1), (DAY, 2), (True, 1)],
        }
    )
    shares = {
        "p = 5": 0.1,
        "p < 15": 0.1 + 0.1 + 0.4,
        "p < 1.0": 0.1,
        "p LIKE '%B%'": 0.1,
        "p IS NULL": 0.1,
        "p IS NOT NULL": 0.9,
        "p < 100 OR p >= 100": 0.7,
        "p = 12": 0.02,
        "q = DATE '2024-01-01'": 0.75,
        "q AND p = 5": 0.025,
    }
    for text, share in shares.items():
        assert probability(parse(text), h) == pytest.approx(share), text
    assert probability(parse("elsewhere = 1"), h) is None


@pytest.mark.parametrize(
    "entries",
    [
        [(Range("a", "b"), 1)],
        [(Range(1, 2.0), 1)],
        [(Range(2, 1), 1)],
        [(1, -1), (2, 5)],
        [],
        [(1, 0)],
    ],
)
def test_a_histogram_that_makes_no_sense_is_refused(entries: Sequence[Any]) -> None:
    with pytest.raises(MeasureError):
        Histogram({"p": entries})


EVENTS: list[Mapping[str, Any]] = [
    {"price": 1.0, "trade": {"symbol": "IBM"}},
    {"price": 2, "trade": {"symbol": "INTC"}},
    {"price": 1.0, "trade": None},
    {"price": b"?"},
    {"price": math.nan, "trade": {"symbol": "SUN"}},
]


def test_a_sample_is_counted() -> None:
    h = Histogram.from_events(EVENTS)
    for text in (
        "price = 1",
        "price >= 2",
        "price IS NULL",
        "price IS NOT NULL",
        "price < 0 OR price >= 0",
        "trade IS NULL",
        "trade.symbol LIKE 'I%'",
        "trade.symbol IS NULL",
        "trade.symbol > 'J'",
    ):
        truth = sum(parse(text).matches(event) for event in EVENTS) / len(EVENTS)
        assert probability(parse(text), h) == pytest.approx(truth), text
    assert probability(parse("volume IS NULL"), h) is None


def test_a_field_and_its_struct_are_not_independent() -> None:
    h = Histogram.from_events(EVENTS)
    assert probability(parse("trade IS NULL AND trade.symbol IS NULL"), h) is None


def test_a_sample_under_a_schema_is_counted_as_the_schema_reads_it() -> None:
    schema = Schema({"price": "float", "volume": "bigint"})
    h = Histogram.from_events(EVENTS, schema)
    assert probability(parse("price = 1", schema), h) == pytest.approx(0.4)
    assert probability(parse("price < 0 OR price >= 0", schema), h) == pytest.approx(0.8)
    assert probability(parse("volume IS NULL", schema), h) == 1.0


def test_many_values_are_put_into_ranges() -> None:
    rng = random.Random("buckets")
    events = [
        {"x": rng.gauss(0, 100), "n": int(rng.expovariate(0.01)), "s": str(k)} for k in range(2000)
    ]
    events += [{"x": math.inf, "n": 7, "s": "7"}] * 100
    h = Histogram.from_events(events, buckets=50)
    for text in ("x < 0", "x BETWEEN -50 AND 120", "x > 10000", "n < 100", "n > 250", "n = 7"):
        truth = sum(parse(text).matches(event) for event in events) / len(events)
        assert probability(parse(text), h) == pytest.approx(truth, abs=0.03), text
    for text in ("s LIKE '%7'", "s < '3'"):  # strings are listed one by one
        truth = sum(parse(text).matches(event) for event in events) / len(events)
        assert probability(parse(text), h) == pytest.approx(truth), text
    assert probability(parse("x IS NOT NULL"), h) == pytest.approx(1.0)


def test_a_box_without_attributes_is_everything() -> None:
    assert measure_box(Box({}), Uniform(SCHEMA)) == 1.0

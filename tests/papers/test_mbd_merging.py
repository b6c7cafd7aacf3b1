"""Mergers of outputs: what they cover, what they cost, and how they are undone."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.engine.boxes.box_oracle import some_event, some_filter
from tests.papers.agreement import SCHEMAS
from tests.papers.test_mbd import FLIGHTS, LONG, check_nodes
from tidegate.algebra.distribution import Uniform
from tidegate.algebra.merge import assess
from tidegate.errors import MeasureError
from tidegate.filters.evaluate import value_of
from tidegate.lab.workloads.padres import Choices, conjunctions
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.mbd.mergers import MergeRule

PRICES = tg.Schema(
    {
        "price": tg.Attribute("bigint", low=101, high=200),
        "to": tg.Attribute("bigint", low=0, high=9),
    }
)


def table_of(texts: Sequence[str], schema: tg.Schema | None = None, **given: Any) -> MBD:
    table = MBD(schema, **given)
    for number, text in enumerate(texts):
        table.add(number, tg.parse(text, schema))
    return table


def texts_of(table: MBD) -> list[str]:
    return sorted(str(table.get(number)) for number in table)


def test_two_outputs_of_one_diagram_become_one() -> None:
    table = table_of(FLIGHTS)
    table.rebuild()
    [merger] = table.merge()
    assert str(merger.filter).startswith("price <= 150 AND time")
    assert (merger.members, merger.degree, merger.imt) == ((0, 1), 0.0, 0.0)
    assert (len(table), table.mergers, table.members(merger.number)) == (1, 1, [0, 1])
    assert table.match({"price": 150, "time": "2004-07-20", "destination": "Ottawa"}) == [-1]
    assert table.merge() == []


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        (["price < 150", "price = 150", "price = 151"], ["price <= 151"]),
        (["price = 148", "price = 149", "price >= 150"], ["price >= 148"]),
        (["price < 150", "price > 150"], ["price != 150"]),
        (["price < 150", "price >= 150"], ["price < 150", "price >= 150"]),
        (["price = 120", "price = 121"], ["price = 120", "price = 121"]),
        (["price > 150", "price = 145"], ["price = 145", "price > 150"]),
        (["price < 120", "price < 130", "price < 130"], ["price < 130"]),
        (
            ["to = 1 AND price < 5", "to = 2 AND price = 5"],
            ["to = 1 AND price < 5", "to = 2 AND price = 5"],
        ),
    ],
)
def test_rules_for_perfect_merging(texts: list[str], left: list[str]) -> None:
    table = table_of(texts, PRICES)
    table.merge()
    assert texts_of(table) == left


def test_everything_is_left_out_if_a_checked_schema_allows_nothing_else() -> None:
    """Otherwise a value of another type may be there, for which neither of the two holds."""
    schema = tg.Schema({name: PRICES[name] for name in PRICES}, checked=True)
    table = table_of(["price < 150 AND to = 1", "price >= 140 AND to = 1"], schema, order=["to"])
    [merger] = table.merge()
    assert str(merger.filter) == "price IS NOT NULL AND to = 1"
    table.add(5, tg.parse("price IS NULL AND to = 1", schema))
    [merger] = table.merge()
    assert (str(merger.filter), merger.members) == ("to = 1", (0, 1, 5))


def test_lists_are_made_only_if_allowed() -> None:
    table = table_of(["to = 1 AND price = 120", "to = 1 AND price = 150"], PRICES, order=["to"])
    assert table.merge() == []
    [merger] = table.merge(concise=False)
    assert str(merger.filter) == "to = 1 AND price IN (120, 150)"


@pytest.mark.parametrize(
    ("texts", "merged", "added"),
    [
        (["price > 150", "price = 145", "price = 147", "price = 148"], "price >= 145", 3),
        (["price < 150", "price = 155"], "price <= 155", 5),
        (["price < 120", "price > 180"], "price IS NOT NULL", 61),
    ],
)
def test_rules_for_imperfect_merging(texts: list[str], merged: str, added: int) -> None:
    """The paper's Table 1, and its example; of 100 prices, so many are let through for nobody."""
    distribution = Uniform(PRICES)
    table = table_of(texts, PRICES)
    cheaper = table.merge(imt=added / 100 - 0.001, distribution=distribution)
    assert all(len(merger.members) < len(texts) for merger in cheaper)
    [merger] = table.merge(imt=added / 100 + 0.001, distribution=distribution)
    assert str(merger.filter) == merged
    assert merger.imt == pytest.approx(added / 100)
    assert merger.probability is not None
    assert merger.degree == pytest.approx(added / 100 / merger.probability)
    expected = assess(merger.filter, [tg.parse(t, PRICES) for t in texts], distribution)
    assert (merger.degree, merger.imt) == pytest.approx((expected.degree, expected.imt))


def test_the_differing_predicate_is_left_out_if_that_is_cheap() -> None:
    texts = ["to = 1 AND price = 120", "to = 1 AND price = 150"]
    table = table_of(texts, PRICES, order=["to", "price"])
    assert table.merge(imt=0.097, distribution=Uniform(PRICES)) == []
    [merger] = table.merge(imt=0.099, distribution=Uniform(PRICES))
    assert str(merger.filter) == "to = 1"
    assert (merger.degree, merger.imt) == pytest.approx((0.98, 0.098))


def test_what_is_not_advertised_costs_nothing() -> None:
    texts = ["price > 150", "price = 130", "price = 120"]
    advertised = [tg.parse("price > 150", PRICES)]
    table = table_of(texts, PRICES)
    assert table.merge(distribution=Uniform(PRICES)) == []
    [merger] = table.merge(distribution=Uniform(PRICES), advertised=advertised)
    assert str(merger.filter) == "price >= 120"
    assert (merger.degree, merger.imt) == (0.0, 0.0)


def test_without_a_distribution_imperfect_merging_is_refused() -> None:
    table = table_of(["price > 150", "price = 130"], PRICES)
    with pytest.raises(MeasureError):
        table.merge(imt=0.5)
    assert (len(table), table.mergers) == (2, 0)


def test_a_merger_is_undone_when_a_member_goes() -> None:
    table = table_of(["price < 150", "price = 150", "price = 151"], PRICES)
    table.merge()
    table.remove(1)
    assert sorted(table) == [0, 2]
    assert table.mergers == 0
    with pytest.raises(KeyError):
        table.members(-1)
    table.update(2, tg.parse("price = 150", PRICES))
    [merger] = table.merge()
    assert merger.members == (0, 2)
    table.update(0, tg.parse("price < 140", PRICES))
    assert sorted(table) == [0, 2]


def test_a_merger_goes_with_its_members_when_something_new_covers_it() -> None:
    table = table_of(["price < 150", "price = 150"], PRICES)
    [merger] = table.merge()
    assert table.subscribe(9, tg.parse("price <= 160", PRICES)) == (False, [merger.number])
    assert sorted(table) == [9]
    for gone in (0, 1, merger.number):
        with pytest.raises(KeyError):
            table.remove(gone)
    assert table.subscribe(10, tg.parse("price <= 160", PRICES)).covered


def test_what_a_new_merger_covers_is_a_member() -> None:
    texts = ["price < 150 AND to = 1", "price = 150 AND to = 1", "price = 120 AND to = 1 AND x = 1"]
    table = table_of(texts, order=["to", "price", "x"])
    [merger] = table.merge()
    assert set(merger.members) == {0, 1, 2}
    table.remove(0)
    assert sorted(table) == [1, 2]


def test_numbers_that_are_taken_are_not_given_to_mergers() -> None:
    table = table_of(["price < 150", "price = 150"], PRICES)
    table.add(-1, tg.parse("to = 1", PRICES))
    [merger] = table.merge()
    assert merger.number == -2
    for taken in (-2, -1, 0):
        with pytest.raises(ValueError, match="already"):
            table.add(taken, tg.parse("to = 2", PRICES))


def test_merging_starts_when_diagrams_have_enough_outputs() -> None:
    table = MBD(PRICES, merging=MergeRule(outputs=3.0), order=["to", "price"])
    sizes = []
    for number in range(30):
        table.add(number, tg.parse(f"to = {number % 10} AND price < {150 + number % 10}", PRICES))
        sizes.append(table.mergers)
    assert sizes[:20] == [0] * 20
    assert (table.mergers, len(table)) == (10, 10)


@pytest.mark.parametrize("schema", SCHEMAS)
@settings(max_examples=400 if LONG else 12)
@given(seed=st.integers(0, 2**32))
def test_mergers_match_what_their_members_match(schema: str, seed: int) -> None:
    """Throughout a history of additions, removals and merging, perfect or not."""
    rng = Random(seed)
    own = SCHEMAS[schema]
    imt = rng.choice((0.0, 0.0, 0.05, 0.3)) if schema == "checked" else 0.0
    distribution = Uniform(own, absent=0.1) if own is not None and schema == "checked" else None
    table = MBD(own)
    filters: dict[int, tg.Filter] = {}
    for number in range(30):
        if filters and rng.random() < 0.25:
            gone = rng.choice(list(filters))
            table.remove(gone)
            del filters[gone]
        else:
            filters[number] = some_filter(rng, own)
            table.add(number, filters[number])
        if rng.random() < 0.2:
            table.merge(imt=imt, distribution=distribution, concise=rng.random() < 0.5)
            check_nodes(table)
        events = [event for event in map(some_event, [rng] * 3) if is_lawful(event, own)]
        check(table, filters, events, exact=distribution is None)
    for number in filters:
        table.remove(number)
    assert len(table) == table.mergers == table.nodes == 0


def test_merging_goes_on_where_diagrams_were_built_anew() -> None:
    """A table that has shrunk to a quarter orders its attributes anew, in the midst of merging."""
    drawn = conjunctions(300, 200, 4, Choices())
    filters = dict(enumerate(drawn.filters()))
    table = MBD(drawn.schema)
    for number, f in filters.items():
        table.subscribe(number, f)
    table.rebuild()
    standing, order = len(table), table.attributes
    left = {number: filters[number] for number in table}
    table.merge(imt=0.5, distribution=Uniform(drawn.schema))
    assert len(table) < standing / 4
    assert table.attributes != order
    check_nodes(table)
    check(table, left, drawn.events(40).to_pylist(), exact=False)


def is_lawful(event: dict[str, Any], schema: tg.Schema | None) -> bool:
    """Whether an event obeys a checked schema: mergers rely on that."""
    if schema is None or not schema.checked:
        return True
    values = {name: value_of(event, name, schema) for name in schema}
    return all(schema.universe(name).has(values[name], schema[name].lines) for name in schema)


def check(
    table: MBD, filters: dict[int, tg.Filter], events: list[dict[str, Any]], exact: bool
) -> None:
    standing = {
        number: [number] if number in filters else table.members(number) for number in table
    }
    assert sorted(n for members in standing.values() for n in members) == sorted(filters)
    for event in events:
        matched = set(table.match(event))
        for number, members in standing.items():
            wanted = any(filters[member].matches(event) for member in members)
            assert number in matched or not wanted
            assert number not in matched or wanted or not exact


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_costs_are_those_of_the_algebra(seed: int) -> None:
    rng = Random(seed)
    distribution = Uniform(PRICES)
    filters: dict[int, tg.Filter] = {}
    table = MBD(PRICES, order=rng.choice((["to", "price"], ["price", "to"])))
    for number in range(30):
        parts = [f"price {rng.choice(('<', '>', '=', '<='))} {rng.randrange(101, 200)}"]
        parts += [f"to {rng.choice(('=', '=', '<', '>'))} {rng.randrange(1, 9)}"]
        f = tg.parse(" AND ".join(parts[: rng.choice((1, 2, 2))]), PRICES)
        filters[number] = f
        table.subscribe(number, f)
    imt = rng.choice((0.0, 0.02, 0.1))
    advertised = None
    if rng.random() < 0.4:
        advertised = [tg.parse(f"price > {rng.randrange(101, 190)}", PRICES)]
    for merger in table.merge(imt=imt, distribution=distribution, advertised=advertised):
        members = [filters[member] for member in merger.members]
        expected = assess(merger.filter, members, distribution, advertised)
        # What a merger covers joins it when it is made, and can only make it less imperfect.
        assert expected.imt <= merger.imt + 1e-9
        assert merger.imt <= imt + 1e-12
        assert all(tg.covers(merger.filter, member) for member in members)

"""The workloads to match: what their arrays say is what their filters say."""

from collections import Counter

import duckdb
import numpy as np
import pytest

import tidegate as tg
from bench.baselines import BruteForce, DuckJoin, TreeScan, assert_same
from tidegate.engine.subscriptions.table_reader import read_table
from tidegate.filters.expression import Or, predicates
from tidegate.lab.workloads.matching import (
    ATTRIBUTES,
    PADRES_A,
    PADRES_B,
    Padres,
    Trees,
    padres,
    trees,
)
from tidegate.lab.workloads.trade import Trade, trade

Matches = set[tuple[int, int]]


def asked_one_by_one(workload: Padres | Trees, events: int) -> Matches:
    """The matches as the filters themselves see them: event, subscription."""
    rows = workload.events(events).to_pylist()
    filters = list(workload.filters())
    return {(j, i) for j, e in enumerate(rows) for i, f in enumerate(filters) if f.matches(e)}


def as_set(pairs: tuple[np.ndarray, np.ndarray]) -> Matches:
    events, rows = pairs
    return set(zip(events.tolist(), rows.tolist(), strict=True))


@pytest.mark.parametrize("predicates_in_all", [PADRES_A, PADRES_B])
def test_the_ranges_of_padres_match_what_its_filters_match(predicates_in_all: int) -> None:
    workload = padres(400, predicates_in_all, seed=1)
    found = BruteForce(workload.ranges).pairs(workload.points(workload.events(20)))
    assert as_set(found) == asked_one_by_one(workload, 20)
    assert len(found[0]) > 100


def test_padres_asks_two_to_six_distinct_attributes_of_an_even_pool() -> None:
    workload = padres(500, PADRES_B, seed=1)
    sizes = Counter(len(f.attributes) for f in workload.filters())
    assert sizes.keys() == {2, 3, 4, 5, 6}
    assert all(len(f.attributes) == len(list(predicates(f.tree))) for f in workload.filters())
    asked = Counter(p.attribute for p in set(workload.pool.predicates))
    assert asked == dict.fromkeys(ATTRIBUTES, PADRES_B // len(ATTRIBUTES))


def test_the_shapes_of_trees_match_what_their_filters_match() -> None:
    workload = trees(300, seed=1)
    scan, points = TreeScan(workload), workload.points(workload.events(70))
    found = scan.pairs(points)
    assert as_set(found) == asked_one_by_one(workload, 70)
    assert scan.counts(points).tolist() == np.bincount(found[0], minlength=70).tolist()


def test_trees_have_six_to_twelve_predicates_some_of_them_negated() -> None:
    filters = list(trees(500, seed=1).filters())
    sizes = {len(list(predicates(f.tree))) for f in filters}
    assert sizes == set(range(6, 13))
    assert any(not p.mode.is_positive for f in filters for p in predicates(f.tree))
    assert all(any(isinstance(part, Or) for part in f.tree.parts) for f in filters)  # type: ignore[union-attr]


def test_the_texts_of_a_workload_are_its_filters() -> None:
    for workload in (padres(50, PADRES_A, seed=3), trees(50, seed=3)):
        assert isinstance(workload, Padres | Trees)
        texts = workload.table()["filter"].to_pylist()
        assert [tg.parse(text, workload.schema) for text in texts] == list(workload.filters())


def in_the_table(workload: Trade) -> dict[str, tg.Filter]:
    blocks, singles = read_table(workload.table(), None, workload.schema)
    subscriptions = [block.subscription(row) for block in blocks for row in range(len(block))]
    subscriptions += singles
    return {str(subscription.id): subscription.bound for subscription in subscriptions}


@pytest.mark.parametrize("needless", [True, False])
def test_the_ranges_of_trade_match_what_its_rules_match(needless: bool) -> None:
    workload = trade(3_000, seed=1)
    events = workload.events(30)
    scan = BruteForce(workload.ranges, needless=needless)
    found = as_set(scan.pairs(workload.points(events)))
    rules = in_the_table(workload)
    matched = {
        (j, i)
        for j, event in enumerate(events.to_pylist())
        for i in range(len(workload))
        if rules[f"rule-{i}"].matches(event)
    }
    assert found == matched
    assert len(found) > 10


def test_the_rules_of_trade_have_eight_texts_and_only_their_own_parameters() -> None:
    table = trade(2_000, seed=1).table()
    texts = table["filter"].combine_chunks().dictionary.to_pylist()
    assert len(set(texts)) == 8
    for rule in table.to_pylist():
        for option in ("volume", "venue", "side"):
            assert (rule[option] is not None) == (f":{option}" in rule["filter"])


@pytest.mark.parametrize("workload", [padres(500, PADRES_A, seed=2), trade(20_000, seed=2)])
def test_a_join_finds_what_the_scan_finds(workload: Padres | Trade) -> None:
    points = workload.points(workload.events(20))
    expected = BruteForce(workload.ranges).pairs(points)
    with duckdb.connect() as connection:
        assert_same(DuckJoin(connection, workload.ranges).pairs(points), expected)
    assert len(expected[0]) > 100


def test_a_seed_says_it_all() -> None:
    assert trade(100, seed=5).table() == trade(100, seed=5).table()
    assert trade(100, seed=5).table() != trade(100, seed=6).table()
    assert trees(9, seed=5).events(50) == trees(9, seed=5).events(50)
    assert trees(9, seed=5).events(50) != trees(9, seed=5).events(50, seed=1)
    assert padres(9, PADRES_A, seed=5).table() == padres(9, PADRES_A, seed=5).table()

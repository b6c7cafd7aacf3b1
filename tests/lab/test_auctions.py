"""Book auctions: classes have the sizes that the paper prints, and arrays say what filters say."""

from collections import Counter

import numpy as np
import pytest

import tidegate as tg
from tidegate.filters.expression import And, Node, Operator, Or, predicates
from tidegate.lab.workloads.auctions import CLASSES, PATTERNS, Auctions, auctions
from tidegate.lab.workloads.books import ATTRIBUTES, Books, Market

PRINTED = {1: (6, 3, 1), 2: (12, 8, 2), 3: (7, 3, 3)}  # predicates, ANDs, ORs


def operators(node: Node) -> Counter[type]:
    if not isinstance(node, And | Or):
        return Counter()
    return sum(map(operators, node.parts), Counter([type(node)]))


@pytest.mark.parametrize("own", CLASSES)
def test_a_class_has_the_predicates_and_operators_of_the_paper(own: int) -> None:
    workload = auctions(50, seed=3, classes=[own])
    for f in workload.filters():
        asked = list(predicates(f.tree))
        counted = operators(f.tree)
        assert (len(asked), counted[And], counted[Or]) == PRINTED[own]
        assert {p.operator for p in asked} <= {Operator.EQUAL, Operator.LESS, Operator.GREATER}
        assert all(type(p.constants[0]) is int for p in asked)


def test_subscriptions_of_a_class_differ_in_their_values_only() -> None:
    for own in CLASSES:
        found = list(auctions(300, seed=3, classes=[own]).filters())
        shapes = {tuple((p.attribute, p.operator) for p in predicates(f.tree)) for f in found}
        assert len(shapes) == 1
        assert len(set(found)) > 250


@pytest.mark.parametrize("classes", [(1,), (2,), (3,), CLASSES])
def test_the_arrays_match_what_the_filters_match(classes: tuple[int, ...]) -> None:
    small = Market(titles=12, authors=8, categories=3)
    workload = auctions(150, seed=2, classes=classes, market=small)
    events = workload.events(60)
    held = workload.holds(workload.points(events))
    rows = events.to_pylist()
    assert held.tolist() == [[f.matches(row) for row in rows] for f in workload.filters()]
    assert 30 < held.sum() < held.size / 2


def test_a_part_has_the_subscriptions_of_its_rows() -> None:
    workload = auctions(100, seed=2)
    parts = [workload.part(start, start + 30) for start in range(0, 100, 30)]
    assert [len(part) for part in parts] == [30, 30, 30, 10]
    assert [f for part in parts for f in part.filters()] == list(workload.filters())


def test_the_table_holds_the_filters() -> None:
    workload = auctions(200, seed=4)
    filters = list(workload.filters())
    for row, f in zip(workload.table().to_pylist(), filters, strict=True):
        read = tg.parse(row["filter"], workload.schema)
        assert read.bind(**{name: row[name] for name in read.parameters}) == f
        unused = row.keys() - {"id", "filter", *read.parameters}
        assert all(row[name] is None for name in unused)


def test_an_index_reads_the_table_and_matches_the_same() -> None:
    workload = auctions(300, seed=5, market=Market(titles=12, authors=8))
    index = tg.Index(workload.schema)
    index.add_many(workload.table())
    events = workload.events(20)
    held = workload.holds(workload.points(events))
    for j, event in enumerate(events.to_pylist()):
        assert sorted(index.match(event)) == np.flatnonzero(held[:, j]).tolist()


def test_classes_are_mixed_evenly() -> None:
    counts = Counter(auctions(3_000, seed=1).classes.tolist())
    assert counts.keys() == set(CLASSES)
    assert all(900 < count < 1_100 for count in counts.values())


def test_no_predicate_is_empty() -> None:
    offered = auctions(1, seed=6).events(20_000)
    seen = {name: offered[name].to_numpy() for name in ATTRIBUTES}
    for f in auctions(600, seed=6).filters():
        for p in predicates(f.tree):
            constant = p.constants[0]
            assert isinstance(constant, int)
            if p.operator is Operator.LESS:
                assert seen[p.attribute].min() < constant
            elif p.operator is Operator.GREATER:
                assert seen[p.attribute].max() > constant


def test_a_title_has_one_author_and_one_category() -> None:
    books = Books(Market(titles=30, authors=20), seed=1)
    offers = books.offers(np.random.default_rng(1), 2_000)
    told = set(zip(*(offers[name].tolist() for name in ATTRIBUTES[:3]), strict=True))
    assert len(told) == len({title for title, _, _ in told}) == 30
    assert (offers["bids"][offers["buy_now"] == 1] == 0).all()


def test_a_seed_says_it_all() -> None:
    def said(workload: Auctions) -> tuple[list[str], list[dict[str, int]]]:
        return [str(f) for f in workload.filters()], workload.events(20).to_pylist()

    assert said(auctions(60, seed=5)) == said(auctions(60, seed=5))
    assert said(auctions(60, seed=5))[0] != said(auctions(60, seed=6))[0]
    workload = auctions(10, seed=5)
    assert workload.events(20) != workload.events(20, seed=1)
    assert PATTERNS.keys() == set(CLASSES)

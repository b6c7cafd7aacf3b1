"""Pruning a counting table beside pruning its filters one by one with the algebra."""

from itertools import pairwise
from random import Random
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.papers.counting_checks import NAMES, check_inside, some_tree
from tidegate.algebra.prune import best_pruning, prunings
from tidegate.algebra.relate import covers
from tidegate.filters.expression import Predicate
from tidegate.filters.filter import Filter
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.counting.heap import push, take
from tidegate.papers.counting.pruning_queue import Changes
from tidegate.papers.counting.tree_bytes import normal

SEEDS: Final = st.integers(0, 2**32)
SHARES: Final = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)


def some_share(predicate: Predicate) -> float:
    """A selectivity for each predicate, many of them equal."""
    return SHARES[sum(map(ord, str(predicate))) % len(SHARES)]


def filled(seed: int, size: int) -> CountingTable:
    """A table that has seen no event, and knows the selectivities above."""
    rng = Random(seed)
    table = CountingTable(prior=some_share)
    for number in range(size):
        table.add(number, Filter.of(normal(some_tree(rng, rng.randint(1, 7)))))
    return table


class Algebra:
    """The same table as plain filters, and the queue as a search for the smallest."""

    def __init__(self, table: CountingTable) -> None:
        self.filters = {number: table.filter(number) for number in table._slots}

    def degradations(self) -> dict[int, float]:
        best = {number: best_pruning(f, some_share) for number, f in self.filters.items()}
        return {number: b.degradation for number, b in best.items() if b is not None}

    def step(self) -> bool:
        costs = self.degradations()
        if not costs:
            return False
        number = min(costs, key=lambda number: (costs[number], number))
        best = best_pruning(self.filters[number], some_share)
        assert best is not None
        self.filters[number] = best.filter
        return True


@settings(max_examples=20)
@given(seed=SEEDS)
def test_prunings_come_in_the_order_of_their_degradations(seed: int) -> None:
    table = filled(seed, 6)
    algebra = Algebra(table)
    assert {n: table.degradation(n) for n in range(6)} == {
        n: algebra.degradations().get(n) for n in range(6)
    }
    while algebra.step():
        assert table.prune(1) == 1
        assert {n: str(table.filter(n)) for n in range(6)} == {
            n: str(f) for n, f in algebra.filters.items()
        }
        check_inside(table)
    assert (table.prune(1), table.prunings_left) == (0, 0)
    assert all(not prunings(table.filter(number)) for number in range(6))


@settings(max_examples=20)
@given(seed=SEEDS, changes=st.sampled_from(list(Changes)))
def test_all_ways_are_one_where_nothing_changes(seed: int, changes: Changes) -> None:
    one, other = filled(seed, 8), filled(seed, 8)
    for steps in (1, 3, 5, None):
        assert one.prune(steps, changes=changes) == other.prune(steps)
        for number in range(8):
            assert str(one.filter(number)) == str(other.filter(number))


def test_shares_of_all_prunings() -> None:
    table = filled(7, 40)
    every = table.prunings_left
    counts = [table.associations]
    for share in (0.0, 0.25, 0.5, 1.0):
        table.prune_share(share)
        assert table.pruned == round(share * every)
        assert table.prunings_left == every - table.pruned
        counts.append(table.associations)
        check_inside(table)
    assert counts == sorted(counts, reverse=True)
    assert counts[1] == counts[0] > counts[2] > counts[3] > counts[4]
    assert table.prune_share(0.5) == 0
    assert table.prune_share(1.0) == 0


@settings(max_examples=15)
@given(seed=SEEDS)
def test_a_pruned_filter_covers_all_that_it_was(seed: int) -> None:
    """By the algebra, and by all events that the predicates can tell apart."""
    table = filled(seed, 5)
    rng = Random(seed)
    events = [{name: rng.randrange(4) for name in NAMES} for _ in range(200)]
    before = [{i for i, e in enumerate(events) if n in table.match(e)} for n in range(5)]
    texts = [str(table.original(number)) for number in range(5)]
    while table.prune(2):
        for number in range(5):
            assert covers(table.filter(number), table.original(number))
            after = {i for i, e in enumerate(events) if table.filter(number).matches(e)}
            assert before[number] <= after
            before[number] = after
    assert [str(table.original(number)) for number in range(5)] == texts


def measured() -> CountingTable:
    """Two filters, and sixteen events."""
    table = CountingTable()
    table.add(1, tg.parse("x < 9 AND s = 'a'"))
    table.add(2, tg.parse("x < 5 AND s = 'b'"))
    for x in (0, 0, 7, 7, *[10] * 12):
        table.match({"x": x, "s": "a"})
    return table


def changed(tolerance: float, changes: Changes) -> list[str]:
    """What one pruning makes of them after other events have come."""
    table = measured()
    table.rate()
    assert table.degradation(1) == 0.0  # s = 'a' held always
    assert table.degradation(2) == 0.0  # s = 'b' never, whatever x was
    for _ in range(48):
        table.match({"x": 10, "s": "b"})
    assert table.prune(1, changes=changes, tolerance=tolerance) == 1
    return [str(table.filter(1)), str(table.filter(2))]


def test_what_changed_is_pruned_waits_or_is_tolerated() -> None:
    """After the other events, the first costs 1/16, the second 1/32; both were rated 0."""
    first, second = "x < 9 AND s = 'a'", "x < 5 AND s = 'b'"
    assert changed(0.0, Changes.ALWAYS) == ["x < 9", second]
    assert changed(0.0, Changes.BETTER) == [first, "x < 5"]
    assert changed(0.0, Changes.WITHIN) == [first, "x < 5"]
    assert changed(0.05, Changes.WITHIN) == [first, "x < 5"]
    assert changed(0.07, Changes.WITHIN) == ["x < 9", second]


@settings(max_examples=15)
@given(seed=SEEDS, changes=st.sampled_from([Changes.BETTER, Changes.WITHIN]))
def test_who_waits_is_pruned_at_last(seed: int, changes: Changes) -> None:
    """All is rated under other selectivities than those it is pruned under."""
    rng = Random(seed)
    table, plain = CountingTable(), CountingTable()
    for number in range(6):
        f = Filter.of(normal(some_tree(rng, rng.randint(1, 6))))
        table.add(number, f)
        plain.add(number, f)
    table.rate()
    for _ in range(20):
        event = {name: rng.randrange(4) for name in NAMES}
        table.match(event)
        plain.match(event)
    for steps in (2, 3, None):
        table.prune(steps, changes=changes)
        plain.prune(steps)
        if changes is Changes.BETTER or steps is None:
            assert table.pruned == plain.pruned
        check_inside(table)
    assert table.prunings_left == 0
    assert [str(table.filter(n)) for n in range(6)] == [str(plain.filter(n)) for n in range(6)]


def test_rating_again_follows_what_was_counted() -> None:
    table = measured()
    table.rate()
    rated = table._queue.degradation(table._slots[2])
    for _ in range(48):
        table.match({"x": 10, "s": "b"})
    assert table._queue.degradation(table._slots[2]) == rated != table.degradation(2)
    table.rate()
    assert table._queue.degradation(table._slots[2]) == rated
    table.rate(again=True)
    assert table._queue.degradation(table._slots[2]) == table.degradation(2)


def test_an_update_undoes_pruning() -> None:
    table = filled(3, 10)
    table.prune()
    check_inside(table)
    for number in range(10):
        table.update(number, table.original(number))
        assert table.filter(number) is table.original(number)
    assert table.pruned == 0
    check_inside(table)


def test_a_large_tree_is_counted_once_it_is_pruned_enough() -> None:
    table = CountingTable()
    text = " AND ".join(f"(x > {i} OR y > {i})" for i in range(150))
    table.add(1, tg.parse(text))
    assert list(table._uncounted) == [table._slots[1]]
    assert table.prune(30) == 30
    assert list(table._uncounted) == []
    for x in (0, 5, 148, 149, 150):
        assert table.match({"x": x}) == ([1] if table.filter(1).matches({"x": x}) else [])
    check_inside(table)
    assert table.prune() == 150 - 1 - 30


@given(keys=st.lists(st.integers(0, 5), min_size=1, max_size=40), seed=SEEDS)
def test_a_heap_gives_the_smallest_key_first(keys: list[int], seed: int) -> None:
    rng = Random(seed)
    size = 0
    heap, place = np.zeros(len(keys), np.int32), np.zeros(len(keys), np.int32)
    kept = np.zeros(len(keys), np.float64)
    inside: set[int] = set()
    for slot, key in enumerate(keys):
        size = push(heap, place, kept, size, slot, float(key))
        inside.add(slot)
        if rng.random() < 0.3:
            gone = rng.choice(sorted(inside))
            size = take(heap, place, kept, size, gone)
            inside.remove(gone)
    assert size == len(inside)
    order = []
    while size:
        order.append(int(heap[0]))
        size = take(heap, place, kept, size, order[-1])
    assert order == sorted(inside, key=lambda slot: (keys[slot], slot))
    assert not place.any()
    assert all(one != other for one, other in pairwise(order))


def test_nothing_is_pruned_to_true() -> None:
    table = CountingTable()
    for number, text in enumerate(("x = 1", "x = 1 OR y = 1", "TRUE", "FALSE")):
        table.add(number, tg.parse(text))
    assert (table.prune(), table.prunings_left, table.pruned) == (0, 0, 0)
    assert table.degradation(0) is None
    assert table.degradation(9) is None
    table.add(9, tg.parse("x = 1 AND y = 1"))
    assert table.degradation(9) == pytest.approx(0.5)

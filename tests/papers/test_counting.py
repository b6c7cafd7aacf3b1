"""The counting table beside the box store, and its insides beside what they should be."""

import os
import warnings
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.engine.boxes.box_oracle import NO_NORMAL_FORM, some_event, some_filter
from tests.papers.agreement import SCHEMAS, agree
from tests.papers.counting_checks import check_answers, check_inside, drawing, history, lawful
from tidegate.algebra.relate import covers
from tidegate.errors import ParameterError, SchemaError
from tidegate.filters.expression import And, Or, Truth, predicates
from tidegate.filters.filter import Filter
from tidegate.papers.counting.associations import Associations
from tidegate.papers.counting.counting_kernels import MOST_COUNTED, SIDE_BY_SIDE
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.counting.tree_bytes import MOST_LEAVES
from tidegate.papers.limit import LimitWarning

LONG: Final = os.environ.get("TIDEGATE_LONG") == "1"
EXAMPLES: Final = 200 if LONG else 6
STEPS: Final = 300 if LONG else 60


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(list(SCHEMAS)))
def test_it_agrees_with_the_box_store(seed: int, name: str) -> None:
    schema = SCHEMAS[name]
    table = CountingTable(schema)
    agree(table, schema, seed, STEPS, draw=drawing(schema), after=lambda: check_inside(table))


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_it_agrees_on_values_of_all_families(seed: int) -> None:
    agree(CountingTable(), None, seed, STEPS, mixed=True)


@pytest.mark.parametrize("name", SCHEMAS)
def test_covers_are_found_and_not_all_of_them(name: str) -> None:
    """The rule is incomplete; it has to find most of what covers, and half of what is covered."""
    total: Counter[str] = Counter()
    for seed in range(2):
        schema = SCHEMAS[name]
        total += agree(CountingTable(schema), schema, seed, 100, draw=drawing(schema))
    assert 0 < total["containing, missed"] < 0.1 * total["containing"]
    assert 0 < total["contained, missed"] < 0.6 * total["contained"]
    assert 0 < total["overlapping, claimed"] < 0.4 * total["overlapping"]


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32), name=st.sampled_from(list(SCHEMAS)))
def test_histories_with_pruning_keep_everything_right(seed: int, name: str) -> None:
    history(CountingTable(SCHEMAS[name]), seed, STEPS // 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_filters_without_a_normal_form_are_related_soundly(name: str) -> None:
    """The box store does not know; events say whether an answer can be right."""
    schema = SCHEMAS[name]
    rng = Random(5)
    table = CountingTable(schema)
    large = tg.parse(NO_NORMAL_FORM, schema)
    given = {number: some_filter(rng, schema) for number in range(60)} | {60: large}
    for number, f in given.items():
        table.add(number, f)
    events = [some_event(rng) for _ in range(300)]
    events += [{"x": x, "y": y / 4, "s": "a"} for x in range(10) for y in range(12)]
    events = [event for event in events if lawful(event, schema)]
    matched = {n: {i for i, e in enumerate(events) if f.matches(e)} for n, f in given.items()}
    for asked in (large, tg.parse("x = 3 AND y = 0.5D", schema), *(given[n] for n in range(30))):
        wanted = {i for i, event in enumerate(events) if asked.matches(event)}
        assert all(matched[n] >= wanted for n in table.containing(asked))
        assert all(matched[n] <= wanted for n in table.contained(asked))
        assert {n for n in given if matched[n] & wanted} <= set(table.overlapping(asked))
    assert 60 in table.containing(tg.parse("x = 3 AND y = 0.5D", schema))
    assert 60 in table.contained(tg.parse("x < 10", schema))
    assert 60 not in table.overlapping(tg.parse("x = 11 AND y = 0.5D", schema))


def test_true_false_and_the_empty_event() -> None:
    table = CountingTable()
    table.add(1, tg.parse("TRUE"))
    table.add(2, tg.parse("FALSE"))
    table.add(3, Filter.of(And((Truth(True), Or((Truth(False), Truth(True)))))))
    table.add(4, Filter.of(Or(())))
    table.add(5, tg.parse("x IS NULL"))
    assert sorted(table.match({})) == [1, 3, 5]
    assert sorted(table.match({"x": 1})) == [1, 3]
    assert [table.minimum(n) for n in range(1, 6)] == [0, None, 0, None, 1]
    assert sorted(table.containing(tg.parse("x = 1"))) == [1, 3]
    assert sorted(table.containing(tg.parse("FALSE"))) == [1, 2, 3, 4, 5]
    assert sorted(table.contained(tg.parse("TRUE"))) == [1, 2, 3, 4, 5]
    assert sorted(table.contained(tg.parse("FALSE"))) == [2, 4]
    assert sorted(table.overlapping(tg.parse("x = 1"))) == [1, 3]
    assert table.overlapping(tg.parse("FALSE")) == []
    assert table.prune() == 0


def test_a_predicate_that_stands_twice_is_counted_twice() -> None:
    """Were it associated once, `a` alone would not reach the minimum of two."""
    table = CountingTable()
    table.add(1, tg.parse("(a = 1 OR b = 1) AND (a = 1 OR c = 1)"))
    assert (table.minimum(1), table.associations) == (2, 4)
    assert table.match({"a": 1}) == [1]
    assert table.match({"b": 1}) == []
    table.add(2, tg.parse("a = 1 AND a = 1"))
    assert sorted(table.match({"a": 1})) == [1, 2]
    table.remove(1)
    check_inside(table)
    assert table.associations == 2


@pytest.mark.parametrize("leaves", [MOST_COUNTED - 1, MOST_COUNTED, MOST_COUNTED + 1, MOST_LEAVES])
@pytest.mark.parametrize("kind", [And, Or])
def test_large_trees_are_counted_or_always_asked(leaves: int, kind: type[And] | type[Or]) -> None:
    """Counters are bytes: with 256 fulfilled predicates, one is back at zero."""
    table = CountingTable()
    tree = kind(tuple(tg.parse(f"x > {i}").tree for i in range(leaves)))
    table.add(1, Filter.of(tree))
    table.add(2, tg.parse("x = 300"))
    for number in range(3, 3 + 20 * SIDE_BY_SIDE):  # so that additions are few among many
        table.add(number, tg.parse("z = 1"))
    assert table.aside == 0
    for x in (0, 1, leaves - 1, leaves, 256, 257, 300):
        owed = [number for number in (1, 2) if table.filter(number).matches({"x": x})]
        assert sorted(table.match({"x": x})) == owed
    assert 1 in table.contained(tg.parse("x > 0"))
    assert (1 in table.overlapping(tg.parse("x = 1"))) == (kind is Or)
    check_inside(table)


def test_a_tree_that_is_too_large_is_kept_aside() -> None:
    table = CountingTable()
    tree = Or(tuple(tg.parse(f"x = {i} AND y = {i}").tree for i in range(MOST_LEAVES)))
    table.add(1, Filter.of(tree))
    table.add(2, tg.parse("x = 1"))
    assert (table.aside, len(table), 1 in table) == (1, 2, True)
    assert sorted(table.match({"x": 1, "y": 1})) == [1, 2]
    assert table.original(1).tree == table.filter(1).tree == tree
    assert table.minimum(1) is None
    table.update(1, tg.parse("x < 2"))
    assert (table.aside, sorted(table.match({"x": 1}))) == (0, [1, 2])
    table.update(1, Filter.of(tree))
    table.remove(1)
    assert (table.aside, len(table)) == (0, 1)


def test_unfulfillable_and_hostile_predicates() -> None:
    many = ", ".join(map(str, range(300)))
    texts = (
        *("x = NULL", "x <> NULL", "(x = NULL) IS NOT TRUE", "x IN (NULL, 1)", "x NOT IN (NULL)"),
        *(f"x IN ({many})", f"x NOT IN ({many}, 1.5)", "x = CAST('NaN' AS DOUBLE)", "x <=> NULL"),
        *("s LIKE '%\\%_'", "s ILIKE 'É%'", "s = '日本'", "s > '\U0010ffff'", "s = ''"),
        *("(x < 1) IS NOT FALSE", "NOT (x < 1 OR s = 'a')", "x IS TRUE", "s IS NOT NULL"),
    )
    table = CountingTable()
    filters = {number: tg.parse(text) for number, text in enumerate(texts)}
    for number, f in filters.items():
        table.add(number, f)
    values = (None, 1, 1.0, True, 299, 300, float("nan"), float("inf"), "", "a%b", "é", "日本", b"")
    events = [{"x": x, "s": s} for x in values for s in values]
    check_answers(table, filters, events)
    check_inside(table)


def test_numbers_are_the_callers() -> None:
    table = CountingTable()
    for number in (-(2**63), 2**63 - 1, 0):
        table.add(number, tg.parse("x = 1"))
    assert sorted(table.match({"x": 1})) == [-(2**63), 0, 2**63 - 1]
    with pytest.raises(ValueError, match="in use"):
        table.add(0, tg.parse("x = 2"))
    with pytest.raises(ValueError, match="64 bits"):
        table.add(2**63, tg.parse("x = 2"))
    for unknown in (table.remove, table.original, table.filter):
        with pytest.raises(KeyError):
            unknown(7)
    with pytest.raises(KeyError):
        table.update(7, tg.parse("x = 2"))
    assert sorted(table.match({"x": 1})) == [-(2**63), 0, 2**63 - 1]
    check_inside(table)


def test_what_cannot_be_taken_in_changes_nothing() -> None:
    table = CountingTable()
    table.add(1, tg.parse("x = 1"))
    other = tg.parse("x = 1", tg.Schema({"x": "bigint"}))
    with pytest.raises(SchemaError):
        table.add(2, other)
    with pytest.raises(SchemaError):
        table.update(1, other)
    with pytest.raises(SchemaError):
        table.containing(other)
    with pytest.raises(ParameterError):
        table.update(1, tg.parse("x = :x"))
    assert (len(table), table.match({"x": 1})) == (1, [1])
    check_inside(table)


def add_all(table: CountingTable, filters: Mapping[int, Filter]) -> None:
    for number, f in filters.items():
        table.add(number, f)


def test_a_limit_is_kept_and_nothing_is_lost() -> None:
    rng = Random(3)
    filters = {number: some_filter(rng, None) for number in range(120)}
    free = CountingTable()
    add_all(free, filters)
    table = CountingTable(limit=free.nbytes // 2)
    with pytest.warns(LimitWarning, match="counting table") as warned:
        add_all(table, filters)
    assert len(warned) == 1
    assert 0 < table.aside < 120
    assert table.nbytes <= table.limit
    check_answers(table, filters, [some_event(rng) for _ in range(30)])
    asked = some_filter(rng, None)
    assert set(table.overlapping(asked)) >= {
        number for number, f in filters.items() if tg.overlaps(f, asked)
    }
    table.prune()
    for number in filters:
        table.remove(number)
    assert (len(table), table.aside, table.associations) == (0, 0, 0)


def test_a_limit_of_nothing_keeps_everything_aside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        table = CountingTable(limit=0)
        agree(table, None, 1, 40)
    assert table.aside == 0


def test_room_is_used_again() -> None:
    """A table through which many filters go is not larger than one that keeps as many."""
    table = CountingTable()
    rng = Random(1)
    for number in range(100):
        table.add(number, some_filter(rng, None))
    before = table.nbytes
    for number in range(100, 800):
        table.remove(number - 100)
        table.add(number, some_filter(rng, None))
    assert table.nbytes < 2.5 * before
    for number in range(700, 800):
        table.remove(number)
    assert len(table._associations.entries) < 4 * SIDE_BY_SIDE
    assert len(table._trees.tree) < 1024


def test_the_same_history_makes_the_same_table() -> None:
    def made_by(seed: int) -> object:
        table = CountingTable()
        rng = Random(seed)
        for number in range(80):
            table.add(number, some_filter(rng, None))
            table.match(some_event(rng))
        table.prune(40)
        lists = [table._associations[v] for v in range(table._predicates.width)]
        used = int(table._trees.ends[0])
        return bytes(table._trees.tree[:used]), table._trees.location.tolist(), lists

    assert made_by(4) == made_by(4)
    assert made_by(4) != made_by(5)


@given(seed=st.integers(0, 2**32))
def test_associations_are_lists_that_grow_and_shrink(seed: int) -> None:
    rng = Random(seed)
    table = Associations()
    kept: list[tuple[int, list[int]]] = []
    for slot in range(40):
        if kept and rng.random() < 0.3:
            gone, variables = kept.pop(rng.randrange(len(kept)))
            table.remove(gone, np.array(variables, np.int32))
        elif kept and rng.random() < 0.3:
            pairs = []
            for other, variables in kept:
                while variables and rng.random() < 0.5:
                    pairs.append((other, variables.pop(rng.randrange(len(variables)))))
            rng.shuffle(pairs)
            slots, parted = np.array(pairs, np.int32).reshape(-1, 2).T
            table.remove_pairs(slots.copy(), parted.copy())
        else:
            variables = [rng.randrange(6) for _ in range(rng.choice((0, 1, 3, 50)))]
            table.make_room(6)
            table.add(slot, np.array(variables, np.int32))
            kept.append((slot, variables))
        for variable in range(6):
            owed = [slot for slot, own in kept for v in own if v == variable]
            assert sorted(table[variable]) == sorted(owed)
        assert len(table) == sum(len(own) for _, own in kept)


def test_what_is_related_is_counted_for_every_alternative() -> None:
    table = CountingTable()
    texts = ("x < 5", "x < 5 AND y = 1", "x < 2 OR y > 3", "y > 3", "x = 1 OR x = 2", "x <> 7")
    filters = {number: tg.parse(text) for number, text in enumerate(texts)}
    for number, f in filters.items():
        table.add(number, f)
    for f in (*filters.values(), tg.parse("x = 1 OR y = 4"), tg.parse("x = 2 AND y = 1")):
        assert sorted(table.containing(f)) == [n for n, g in filters.items() if covers(g, f)]
        assert sorted(table.contained(f)) == [n for n, g in filters.items() if covers(f, g)]
        assert sorted(table.overlapping(f)) == [n for n, g in filters.items() if tg.overlaps(g, f)]


def test_selectivities_are_counted_from_when_a_predicate_came() -> None:
    table = CountingTable()
    table.add(1, tg.parse("x < 5"))
    for x in range(10):
        table.match({"x": x})
    [early] = predicates(tg.parse("x < 5").tree)
    [late] = predicates(tg.parse("x < 3").tree)
    assert table.selectivity(early) == 0.5
    table.add(2, tg.parse("x < 3"))
    assert table.selectivity(late) == 0.5  # nothing of its own yet: as the one next to it
    for x in range(4):
        table.match({"x": x})
    assert table.selectivity(late) == 0.75
    table.remove(2)
    table.add(3, tg.parse("x = 1"))  # has the variable of the one that is gone
    [equal] = predicates(tg.parse("x = 1").tree)
    assert table.selectivity(equal) == table.selectivity(early) == 9 / 14
    table.match({"x": 1})
    assert table.selectivity(equal) == 1.0


def test_unseen_predicates_are_estimated_from_similar_ones() -> None:
    table = CountingTable()
    table.add(1, tg.parse("x < 2 AND x < 6 AND x > 6 AND s = 'a' AND s = 'b' AND y = 1"))
    for x in range(10):
        table.match({"x": x, "s": "a"})

    def share(text: str) -> float:
        [predicate] = predicates(tg.parse(text).tree)
        return table.selectivity(predicate)

    assert share("x < 4") == pytest.approx(0.4)  # between 0.2 and 0.6
    assert share("x < 1") == 0.2
    assert share("x < 9") == 0.6
    assert share("x <= 5") == pytest.approx((0.2 + 0.6 + 0.3) / 3)  # no other with this operator
    assert share("s = 'c'") == 0.5
    assert share("y = 2") == 0.0
    assert share("z = 2") == 0.5
    assert share("z = NULL") == 0.0
    informed = CountingTable(prior=lambda p: 0.125 if p.attribute == "z" else None)
    [predicate] = predicates(tg.parse("z = 2").tree)
    assert informed.selectivity(predicate) == 0.125

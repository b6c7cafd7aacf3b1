"""A box store answers what asking its filters one by one answers, however it was filled."""

import math
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import tidegate as tg
from tests import ROOT, families, generate
from tests.engine.boxes import box_oracle
from tests.engine.boxes.box_oracle import (
    NO_NORMAL_FORM,
    SCHEMAS,
    AllAsked,
    ask_integers,
    assert_same,
    fuzz,
    listed,
    some_event,
    some_filter,
)
from tidegate.engine.boxes import box_store as store_module
from tidegate.engine.boxes import integer_boxes
from tidegate.engine.boxes import ruler as ruler_module
from tidegate.engine.boxes import space as space_module
from tidegate.engine.boxes.box_kernels import SHARED, TWIN
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.boxes.integer_boxes import IntegerBoxes
from tidegate.engine.boxes.ruler import Ruler
from tidegate.engine.boxes.space import Space
from tidegate.errors import SchemaError
from tidegate.filters.canonical import Constraint
from tidegate.filters.expression import Predicate
from tidegate.filters.lines import DECIMAL, TOP, cut, double_key
from tidegate.filters.moved import moved, remade
from tidegate.filters.values import normal
from tidegate.filters.valueset import ValueSet

SEEDS = st.integers(0, 2**32)


@pytest.fixture(autouse=True)
def short_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are packed all the time, not only when hundreds of boxes are there."""
    monkeypatch.setattr(integer_boxes, "_TAIL", 4)
    monkeypatch.setattr(space_module, "_CHURN", 3)


def filled(texts: list[str], schema: tg.Schema | None = None) -> tuple[BoxStore, AllAsked]:
    store, oracle = BoxStore(schema), AllAsked()
    for text in texts:
        f = tg.parse(text, schema)
        oracle.filters[store.add(f)] = f
    return store, oracle


def grow_and_ask(seed: int, schema: tg.Schema | None, steps: int) -> None:
    grow(Random(seed), schema, steps, lambda rng: some_filter(rng, schema), some_event)


def mix_and_ask(seed: int, steps: int, updates: float = 0.0) -> None:
    grow(Random(seed), None, steps, families.mixed_filter, families.mixed_event, updates)


def grow(
    rng: Random,
    schema: tg.Schema | None,
    steps: int,
    some_filter: Callable[[Random], tg.Filter],
    some_event: Callable[[Random], Mapping[str, Any]],
    updates: float = 0.3,
) -> None:
    store, oracle = BoxStore(schema), AllAsked()
    for _ in range(steps):
        if oracle.filters and rng.random() < 0.3:
            handle = rng.choice(list(oracle.filters))
            store.remove(handle)
            del oracle.filters[handle]
        elif updates and oracle.filters and rng.random() < updates:
            update(store, oracle, rng.choice(list(oracle.filters)), some_filter(rng), rng)
        else:
            f = some_filter(rng)
            oracle.filters[store.add(f)] = f
        asked = [some_filter(rng), *oracle.filters.values()]
        assert_same(store, oracle, [asked[0], rng.choice(asked)], [some_event(rng)])
    assert list(store) == list(oracle.filters)
    events = [some_event(rng) for _ in range(4)]
    assert listed(store.stab_batch(events)) == [oracle.stab(event) for event in events]


def update(store: BoxStore, oracle: AllAsked, handle: int, other: tg.Filter, rng: Random) -> None:
    """Put another filter in the place of one, or, mostly, the same with some constants moved."""
    f = oracle.filters[handle]
    if rng.random() < 0.7:
        f = moved(f, remade(f.tree, lambda p: nudged(p, rng) if rng.random() < 0.5 else p))
    else:
        f = other
    oracle.filters[handle] = f
    store.update(handle, f)


def nudged(predicate: Predicate, rng: Random) -> Predicate:
    """The predicate with its integers and doubles moved by 1."""
    by = rng.choice((-1, 1))
    constants = [c + by if type(c) in (int, float) else c for c in predicate.constants]  # type: ignore[operator]
    return replace(predicate, constants=tuple(constants))


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@settings(max_examples=15)
@given(seed=SEEDS)
def test_stores_may_share_a_space(schema: tg.Schema | None, seed: int) -> None:
    rng = Random(seed)
    space = Space(schema)
    pairs = [(BoxStore(schema, space), AllAsked()) for _ in range(3)]
    drawn = [some_filter(rng, schema) for _ in range(12)]
    for _ in range(40):
        store, oracle = rng.choice(pairs)
        if oracle.filters and rng.random() < 0.4:
            handle = rng.choice(list(oracle.filters))
            if rng.random() < 0.5:
                update(store, oracle, handle, rng.choice(drawn), rng)
            else:
                store.remove(handle)
                del oracle.filters[handle]
        else:
            f = rng.choice(drawn)
            oracle.filters[store.add(f)] = f
        if rng.random() < 0.05:
            pairs[pairs.index((store, oracle))] = BoxStore(schema, space), AllAsked()
        for asked, expected in pairs:
            assert_same(asked, expected, [rng.choice(drawn)], [some_event(rng)])


def test_a_store_does_not_share_a_space_of_another_schema() -> None:
    with pytest.raises(SchemaError, match="another schema"):
        BoxStore(None, Space(tg.Schema({"x": "bigint"})))


@pytest.mark.slow
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_all_questions_are_answered_exactly_under_insertion_and_removal(
    schema: tg.Schema | None, seed: int
) -> None:
    grow_and_ask(seed, schema, 20)


def test_what_is_no_number_is_kept_beside_numbers_of_any_type() -> None:
    """Of `= 0.5` there is no bigint, of `>= NaN` neither a bigint nor a decimal."""
    texts = ("y = 'b' OR y = 0.5", "y = 'b' OR y >= CAST('NaN' AS DOUBLE)", "y IS NULL OR y = 0.1D")
    store, oracle = filled([*texts])
    assert store.stab({"y": "b"}).tolist() == [0, 1]
    assert store.contained(tg.parse("y = 0.5")).tolist() == []
    assert_same(store, oracle, map(tg.parse, texts), [{"y": 0.5}, {"y": "b"}, {}, {"y": 0.1}])


@pytest.mark.slow
@settings(max_examples=40)
@given(seed=SEEDS)
def test_all_families_may_meet_on_one_attribute(seed: int) -> None:
    mix_and_ask(seed, 20, updates=0.3 * (seed % 2))


@pytest.mark.parametrize("seed", range(3))
def test_a_ruler_knows_sets_of_every_combination_of_lines(seed: int) -> None:
    """Of each line, some values or none; other sets, that may cross these, are there before."""
    rng = Random(seed)
    ruler = Ruler("y", None)
    for _ in range(rng.randrange(4)):
        ruler.take_in(some_set(rng, [*LINES]))
    for size in range(1, len(LINES) + 1):
        for chosen in combinations(LINES, size):
            allowed = some_set(rng, chosen)
            if allowed.is_empty():
                continue  # a box has no such set
            ruler.take_in(allowed)
            low, high, runs, exact = ruler.extent(allowed)
            parts = ruler.runs(allowed)
            for value in families.VALUES:
                place, inside = ruler.place(normal(value)), allowed.has(normal(value))
                touched = [start <= place < stop for start, stop, _, _ in parts]
                assert not inside or (low <= place < high and any(touched)), (allowed, value)
                if exact and runs == 1:
                    assert inside == (low <= place < high), (allowed, value)
                assert exact == all(part[3] for part in parts)
                assert not exact or inside == any(touched), (allowed, value)


LINES = {
    None: (),
    "bigint": (-(2**63), 0, 1, 2, 2**53, 2**53 + 1, 2**53 + 2, 2**63),
    "double": tuple(map(double_key, (-math.inf, 0.0, 0.1, 0.5, 1.0, 2.0**53, math.inf, math.nan))),
    "decimal": tuple(cut(DECIMAL, Decimal(n))[0] for n in ("-1", "0", "0.1", "0.5", "1", "1E20")),
    "string": ("", "a", "b", "b\0", "c", TOP),
    "boolean": (0, 1, 2),
    "date": (-(2**31), 0, 1, 19_782, 2**31),
    "timestamp": (-(2**63), 0, 1, 1_709_164_800_000_000, 2**63),
    "other": (0, 1),
}
"""Keys at which sets may start and stop, by line; None is the absent value."""


def some_set(rng: Random, chosen: Iterable[str | None]) -> ValueSet:
    """A set with values on each of these lines; half of the time, a comparison's on the numbers."""
    spans: dict[str, tuple[Any, ...]] = {}
    for name in chosen:
        if name is not None:
            ends = 2 * rng.randint(1, len(LINES[name]) // 2)
            spans[name] = tuple(sorted(rng.sample(LINES[name], min(ends, 4))))
    if rng.random() < 0.5:
        text = families.some_predicate(rng, "number", "y")
        numbers = tg.parse(text).form
        if isinstance(numbers, Constraint):
            spans |= {
                name: numbers.allowed.spans.get(name, ()) for name in spans if name in NUMBERS
            }
    return ValueSet(None in chosen, spans)


NUMBERS = ("bigint", "double", "decimal")


class Changing(RuleBasedStateMachine):
    """A store and its oracle, changed alike and asked alike, one by one and in batches."""

    def __init__(self) -> None:
        super().__init__()
        self.store, self.oracle = BoxStore(), AllAsked()
        self.given = 0

    @rule(seed=SEEDS, count=st.integers(1, 12))
    def add(self, seed: int, count: int) -> None:
        rng = Random(seed)
        for _ in range(count):
            f = some_filter(rng, None)
            handle = self.store.add(f)
            assert handle == self.given, "no handle is given twice"
            self.given += 1
            self.oracle.filters[handle] = f

    @precondition(lambda self: self.oracle.filters)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        handle = data.draw(st.sampled_from(sorted(self.oracle.filters)))
        self.store.remove(handle)
        del self.oracle.filters[handle]
        with pytest.raises(KeyError):
            self.store.remove(handle)

    @precondition(lambda self: self.oracle.filters)
    @rule(data=st.data(), seed=SEEDS)
    def update(self, data: st.DataObject, seed: int) -> None:
        rng = Random(seed)
        handle = data.draw(st.sampled_from(sorted(self.oracle.filters)))
        for _ in range(rng.choice((1, 1, 300))):
            update(self.store, self.oracle, handle, some_filter(rng, None), rng)
        with pytest.raises(KeyError):
            self.store.update(self.given, tg.parse("x = 1"))

    @rule(seed=SEEDS)
    def ask(self, seed: int) -> None:
        rng = Random(seed)
        assert_same(self.store, self.oracle, [some_filter(rng, None)], [some_event(rng)])

    @rule(seed=SEEDS, count=st.integers(0, 4))
    def ask_in_batches(self, seed: int, count: int) -> None:
        rng = Random(seed)
        filters = [some_filter(rng, None) for _ in range(count)]
        events = [some_event(rng) for _ in range(count)]
        store, oracle = self.store, self.oracle
        assert listed(store.containing_batch(filters)) == [oracle.containing(f) for f in filters]
        assert listed(store.contained_batch(filters)) == [oracle.contained(f) for f in filters]
        assert listed(store.overlapping_batch(filters)) == [oracle.overlapping(f) for f in filters]
        assert listed(store.stab_batch(events)) == [oracle.stab(event) for event in events]

    @invariant()
    def the_filters_are_all_there(self) -> None:
        assert len(self.store) == len(self.oracle.filters)
        for handle, f in self.oracle.filters.items():
            assert self.store.get(handle) is f


Changing.TestCase.settings = settings(max_examples=15, stateful_step_count=25)
TestAChangingStore = Changing.TestCase


@pytest.mark.parametrize("typed", [False, True], ids=["without a schema", "with a schema"])
@settings(max_examples=15)
@given(seed=SEEDS)
def test_the_whole_language_is_answered_exactly(typed: bool, seed: int) -> None:
    rng = Random(seed)
    schema = tg.Schema(generate.TYPES) if typed else None
    filters = [tg.parse(str(c), schema) for c in generate.filters(rng, 24, typed)]
    store, oracle = filled([str(f) for f in filters[:16]], schema)
    events = generate.events(rng, 4)
    assert_same(store, oracle, filters[12:20], events)
    table = generate.arrow_table(events)
    assert listed(store.stab_batch(table)) == [oracle.stab(row) for row in table.to_pylist()]


@given(seed=SEEDS)
@settings(max_examples=10)
def test_numbers_of_all_types_are_compared_without_a_schema(seed: int) -> None:
    """Bigints, doubles and decimals share a ruler, and near 2**53 their cuts cross."""
    rng = Random(seed)
    constants = (
        *("9007199254740992D", "9007199254740993", "9007199254740993BD", "0.1", "0.1D", "2", "2.5"),
        *("1e300D", "99999999999999999999BD", "CAST('NaN' AS DOUBLE)", "-0.0D"),
    )
    operators = ("=", "<", "<=", ">", ">=", "<>", "<=>")
    texts = [f"x {rng.choice(operators)} {rng.choice(constants)}" for _ in range(30)]
    store, oracle = filled(texts[:24])
    values = [2**53, 2**53 + 1, 2.0**53, 0.1, 2, 2.5, float("nan"), float("inf"), -0.0, 0, 10**20]
    events = [{"x": value} for value in (*values, None, "2", True)]
    assert_same(store, oracle, [tg.parse(text) for text in texts[18:]], events)
    assert listed(store.stab_batch(events)) == [oracle.stab(event) for event in events]


def test_most_filters_are_decided_without_asking_the_algebra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ranges, equalities, prefixes, with a schema and without: one integer box, and no doubt."""

    def asked(*_: Any) -> bool:
        raise AssertionError("the integers had not decided it")

    texts = (
        *("x < 5 AND y >= 2.5D", "x = 3 AND s = 'a'", "startswith(s, 'ab')", "y BETWEEN 1 AND 2"),
        *("x IS NOT NULL", "y IS NULL", "y BETWEEN 0.2D AND 0.7D", "TRUE"),
    )
    for schema in SCHEMAS.values():
        store, oracle = filled([*texts, "x IN (1, 5)", "y <> 3"], schema)
        filters = [tg.parse(text, schema) for text in texts]
        expected = [(oracle.contained(f), oracle.overlapping(f)) for f in filters]
        with monkeypatch.context() as patch:
            for name in ("covers", "overlaps"):
                patch.setattr(store_module, name, asked)
            patch.setattr(tg.Filter, "matches", asked)
            for f, (contained, overlapping) in zip(filters, expected, strict=True):
                assert sorted(store.contained(f).tolist()) == contained
                assert sorted(store.overlapping(f).tolist()) == overlapping
            store.stab({"x": 1, "y": 2.0, "s": "a"})


def test_true_and_false_are_filters_as_others_are() -> None:
    store, oracle = filled(["TRUE", "FALSE", "x = 1", "x < 1 AND x > 1", "s LIKE '%a' OR TRUE"])
    asked = [tg.parse(text) for text in ("TRUE", "FALSE", "x = 1", "x IS NULL", "s LIKE '%b'")]
    assert_same(store, oracle, asked, [{}, {"x": 1}])
    assert sorted(store.contained(asked[0]).tolist()) == [0, 1, 2, 3, 4]
    assert sorted(store.containing(asked[1]).tolist()) == [0, 1, 2, 3, 4]
    assert store.overlapping(asked[1]).tolist() == []


def test_filters_without_a_normal_form_cover_themselves_and_overlap_everything() -> None:
    store, oracle = filled([NO_NORMAL_FORM, "x = 1", "FALSE", NO_NORMAL_FORM])
    wide, other = tg.parse(NO_NORMAL_FORM), tg.parse(f"{NO_NORMAL_FORM} AND z = 1")
    assert_same(store, oracle, [wide, other, tg.parse("x = 2"), tg.parse("FALSE")], [{"x": 1}])
    assert sorted(store.containing(wide).tolist()) == [0, 3]
    assert sorted(store.overlapping(other).tolist()) == [0, 1, 3]
    store.remove(0)
    assert store.contained(wide).tolist() == [3]


def test_boxes_that_cover_only_together_are_found() -> None:
    three = "(x < 5 AND y < 3) OR (x >= 5 AND y < 3) OR (x IS NULL AND y < 3)"
    store, oracle = filled([three, "x < 5 AND y < 3", "y < 2", "y < 2 AND x = 7", "z = 1"])
    asked = [tg.parse(text) for text in (three, "y < 2", "x = 7 AND y < 1", "y < 3 AND z > 1")]
    schema = SCHEMAS["typed"]
    assert_same(store, oracle, asked)
    typed = "(x < 5 AND y < 3) OR (x >= 5 AND y < 3) OR (x IS NULL AND y < 3)"
    assert_same(*filled([typed, "y < 2"], schema), [tg.parse("y < 2", schema)])


def test_a_text_may_take_away_what_sticks_out() -> None:
    """Of the strings from 'a' on, only 'a' itself is not covered, and that does not end in x."""
    inner, outer = "s >= 'a' AND s <= 'b' AND s LIKE '%x'", "s > 'a' AND s <= 'b'"
    assert tg.covers(tg.parse(outer), tg.parse(inner))
    store, oracle = filled([inner, outer, "s LIKE '%x'", "s LIKE 'b%x'", "t LIKE '%x'", "x = 1"])
    asked = (inner, outer, "s LIKE '%x'", "s LIKE 'b%'", "t LIKE '%x' AND s = 'b'", "x IS NULL")
    assert_same(store, oracle, [tg.parse(text) for text in asked], [{"s": "ax"}, {"s": "bx"}, {}])


def test_fields_of_structs_are_attributes_of_their_own() -> None:
    store, oracle = filled(["a.b = 1", "a IS NULL", "a IS NOT NULL", "a.b IS NULL AND a.c > 2"])
    events: list[Mapping[str, Any]] = [{}, {"a": None}, {"a": {"b": 1}}, {"a": {"c": 3}}, {"a": 1}]
    assert_same(store, oracle, [tg.parse("a.b = 1"), tg.parse("a IS NULL")], events)
    table = pa.table({"a": [{"b": 1, "c": None}, {"b": None, "c": 3}, None]})
    assert listed(store.stab_batch(table)) == [oracle.stab(row) for row in table.to_pylist()]


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_batches_come_as_tables_frames_and_lists(schema: tg.Schema | None) -> None:
    texts = ["x < 4", "x >= 2 AND y < 3.5", "s LIKE '%b'", "y IS NULL", "s = 'a' OR x = 4", "FALSE"]
    store, oracle = filled([*texts, NO_NORMAL_FORM], schema)
    rows = [{"x": i % 7, "y": None if i % 3 else i / 4, "s": "aabc"[: i % 5]} for i in range(20)]
    expected = [oracle.stab(row) for row in rows]
    table = pa.Table.from_pylist(rows)
    assert listed(store.stab_batch(rows)) == expected
    assert listed(store.stab_batch(table)) == expected
    assert listed(store.stab_batch(table.to_batches()[0])) == expected
    assert listed(store.stab_batch(table.to_pandas())) == expected
    assert listed(store.stab_batch(table.slice(5, 6))) == expected[5:11]
    assert listed(store.stab_batch(table.select(["x"]))) == [
        oracle.stab({"x": row["x"]}) for row in rows
    ]


def test_an_empty_store_and_empty_batches_are_answered() -> None:
    store = BoxStore()
    anything = tg.parse("x = 1 OR s LIKE '%a'")
    assert store.stab({"x": 1}).tolist() == []
    for question in (store.containing, store.contained, store.overlapping):
        assert question(anything).tolist() == []
        assert question(tg.parse("TRUE")).tolist() == []
    assert listed(store.stab_batch([{}, {"x": 1}])) == [[], []]
    store.add(anything)
    assert listed(store.stab_batch([])) == []
    assert listed(store.stab_batch(pd.DataFrame({"x": []}))) == []
    assert listed(store.containing_batch([])) == []


def test_an_event_that_breaks_a_checked_schema_is_matched_as_the_filters_read() -> None:
    schema = SCHEMAS["checked"]
    store, oracle = filled(["x > 5", "x IS NOT NULL", "x IS NULL", "y < 100.0D"], schema)
    events: list[Mapping[str, Any]] = [{"x": 100}, {}, {"x": 7, "y": 50.0}, {"x": 7, "y": 5.0}]
    assert_same(store, oracle, events=events)
    assert listed(store.stab_batch(events)) == [oracle.stab(event) for event in events]
    assert oracle.stab(events[0]) == [0, 1]


def test_what_cannot_be_stored_is_refused_and_changes_nothing() -> None:
    store = BoxStore(SCHEMAS["typed"])
    with pytest.raises(tg.SchemaError):
        store.add(tg.parse("x = 1"))
    with pytest.raises(tg.ParameterError):
        store.add(tg.parse("x = :value", SCHEMAS["typed"]))
    with pytest.raises(tg.SchemaError):
        store.containing(tg.parse("x = 1"))
    assert len(store) == 0
    for unknown in (store.get, store.remove):
        with pytest.raises(KeyError):
            unknown(0)


# -- labels


def labels(store: BoxStore) -> dict[tuple[str, int, Any], int]:
    """The labels of a store, by attribute, rank of the line, and key."""
    return {
        (name, rank, key): label
        for name, ruler in store._space.rulers.items()
        for rank, known in enumerate(ruler._labels)
        for key, label in known.items()
    }


def crowd(steps: int) -> int:
    """Ranges around one point, ever narrower: how often all labels had to move."""
    schema = tg.Schema({"x": "double", "y": "bigint"})
    store, oracle = BoxStore(schema), AllAsked()
    moves = 0
    for i in range(steps):
        below, above = 1 - 2.0 ** -(i % 53), 1 + 2.0 ** -(i % 51)
        f = tg.parse(f"x > {below!r}D AND x < {above!r}D AND y < {i % 7}", schema)
        before = labels(store)
        oracle.filters[store.add(f)] = f
        known = labels(store)
        moves += any(known[cut] != label for cut, label in before.items() if cut[0] == "x")
        if i % 5 == 0:
            wider = tg.parse(f"x BETWEEN {below!r}D AND {1.1 + i / 99}D", schema)
            event = {"x": below, "y": 0}
            assert_same(store, oracle, [wider, f], [event, {"x": 1.0, "y": i % 9}])
    return moves


def test_integer_boxes_follow_labels_that_move() -> None:
    assert crowd(120) > 0


def test_a_ruler_keeps_the_order_of_its_cuts_when_labels_move() -> None:
    schema = tg.Schema({"x": "bigint"})
    ruler = Ruler("x", schema)
    labels: dict[int, int] = {}
    moves = 0
    for key in (key for i in range(2000) for key in (i, 9000 - i)):
        allowed = ValueSet(False, {"bigint": (key, 2**63)})
        ruler.take_in(allowed)
        if ruler.moved is not None:
            moves += 1
            step = dict(zip(*ruler.moved, strict=True))
            labels = {key: step[label] for key, label in labels.items()}
            ruler.moved = None
        labels[key] = ruler.extent(allowed)[0]
    in_order = [labels[key] for key in sorted(labels)]
    assert in_order == sorted(set(in_order))
    assert [ruler.place(key) for key in sorted(labels)] == in_order
    assert moves > 0


def test_asking_leaves_no_trace_on_the_rulers() -> None:
    store, _ = filled(["x < 5", "y = 2.5"])
    before = labels(store)
    for i in range(20):
        f = tg.parse(f"x > {i} AND y < {i}.25 AND z{i} = 1")
        for question in (store.containing, store.contained, store.overlapping):
            question(f)
        store.stab({"x": i, "y": i, f"z{i}": 1})
    assert labels(store) == before


def test_rulers_forget_what_removed_filters_needed() -> None:
    store, oracle = BoxStore(), AllAsked()
    for i in range(200):
        f = tg.parse(f"x BETWEEN {i} AND {i + 3} AND s LIKE '{i}%x'")
        oracle.filters[store.add(f)] = f
        if i >= 5:
            store.remove(i - 5)
            del oracle.filters[i - 5]
    assert len(labels(store)) < 60
    assert_same(store, oracle, [tg.parse("x > 197"), tg.parse("x = 198 AND s = '198x'")])


# -- integer boxes


@settings(max_examples=25)
@given(seed=SEEDS)
def test_integer_boxes_are_found_whatever_the_integers(seed: int) -> None:
    fuzz(seed, steps=120, every=17)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 511, 512, 513, 1024, 5000])
@pytest.mark.parametrize("sides", [0, 1, 6])
def test_segments_of_any_size_are_searched_to_their_end(count: int, sides: int) -> None:
    rng = np.random.default_rng(count)
    ends = rng.integers(-50, 50, (count, sides))
    boxes = IntegerBoxes()
    kept: dict[int, box_oracle.Box] = {}
    for handle, row in enumerate(ends.tolist()):
        kept[handle] = (list(range(sides)), row, 0b11011)
        boxes.add(handle, *kept[handle])
    for packed in (False, True):
        ask_integers(boxes, kept, rng.integers(-40, 60, (3, sides)).tolist())
        if not packed:
            boxes.pack()


def test_long_answers_have_what_is_asked_for_and_set_aside_what_is_shared() -> None:
    rng = Random(5)
    boxes = IntegerBoxes()
    kept: dict[int, box_oracle.Box] = {}
    slots = []
    for handle in range(3000):
        flags = rng.choice((0b11011, 0b11011, 0b11011, 0b1001, 0b0001, 0b10010, 0b1001 | SHARED))
        kept[handle] = ([0], [handle % 50], flags)
        slots.append(boxes.add(handle, *kept[handle]))
    for handle in range(0, 3000, 7):
        boxes.remove(slots[handle])
        del kept[handle]
    ask_integers(boxes, kept, [[60], [25], [-1]])


def test_many_questions_are_answered_in_several_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_boxes, "_ROOM", 10)
    boxes = IntegerBoxes()
    kept: dict[int, box_oracle.Box] = {}
    for handle in range(100):
        kept[handle] = ([0], [handle], (0b11011, 0b1001, 0b10001 | SHARED)[handle % 3])
        boxes.add(handle, *kept[handle])
    ask_integers(boxes, kept, [[bound] for bound in range(-5, 120, 3)])


def test_bounds_for_too_few_sides_are_refused() -> None:
    boxes = IntegerBoxes()
    boxes.add(0, [3], [5], 1)
    with pytest.raises(ValueError, match="4 sides"):
        boxes.search(np.zeros((1, 3), np.int64), np.zeros(1, np.uint8), 1, False)


def test_ends_move_where_their_side_is_given_new_labels() -> None:
    boxes = IntegerBoxes()
    kept: dict[int, box_oracle.Box] = {}
    old, new = np.arange(0, 40, 2), np.arange(0, 40, 2) * 100 - 7
    for handle in range(30):
        ends = [handle - handle % 2, handle]
        boxes.add(handle, [0, 1], ends, 0b1001)
        moved = int(new[ends[0] // 2]) if ends[0] < 40 else ends[0]
        kept[handle] = ([0, 1], [moved, handle], 0b1001)
    boxes.relabel(0, old, new)
    ask_integers(boxes, kept, [[993, 50], [994, 12], [-7, -8], [5000, 29]])


def test_the_kernels_stay_within_their_arrays_as_plain_python() -> None:
    """NumPy refuses an index beyond the end, which compiled code would follow."""
    program = """
from tests.engine.boxes.box_oracle import fuzz
from tidegate.engine.boxes import box_kernels, integer_boxes
assert not hasattr(box_kernels.search, "py_func"), "compiled"
integer_boxes._TAIL = 4
for seed in range(6):
    fuzz(seed, steps=60, every=13)
"""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env={"PYTHONPATH": "src:.", "NUMBA_DISABLE_JIT": "1", "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr


# -- would the tests notice?


def ends_one_too_far(patch: pytest.MonkeyPatch) -> None:
    real = Ruler.extent

    def extent(self: Ruler, allowed: ValueSet, inner: bool = False) -> Any:
        low, high, runs, exact = real(self, allowed, inner)
        return low, high + 1, runs, exact

    patch.setattr(Ruler, "extent", extent)


def texts_taken_for_decided(patch: pytest.MonkeyPatch) -> None:
    real = Ruler.extent
    patch.setattr(Ruler, "extent", lambda *given: (*real(*given)[:3], True))


def hull_taken_for_the_filter(patch: pytest.MonkeyPatch) -> None:
    real = Space._extents
    patch.setattr(
        Space, "_extents", lambda self, box, inner: real(self, box, inner)._replace(parts=1)
    )


def removed_boxes_left_in(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IntegerBoxes, "remove", lambda self, slot: None)


def moved_boxes_left_where_they_were(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IntegerBoxes, "move", lambda self, slot, sides, ends: None)


def moved_cuts_not_put_on_rulers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Space, "exchange", lambda self, own, before, attributes: None)


def labels_not_followed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IntegerBoxes, "relabel", lambda self, side, old, new: None)


def last_box_lost(patch: pytest.MonkeyPatch) -> None:
    real = IntegerBoxes._put

    def put(self: IntegerBoxes, segment: Any, start: int, stop: int) -> None:
        real(self, segment, start, stop)
        self._tags[stop - 1] = 0

    patch.setattr(IntegerBoxes, "_put", put)


def twins_everywhere(patch: pytest.MonkeyPatch) -> None:
    real = IntegerBoxes._put

    def put(self: IntegerBoxes, segment: Any, start: int, stop: int) -> None:
        segment.sides[1:, TWIN] = 1
        real(self, segment, start, stop)

    patch.setattr(IntegerBoxes, "_put", put)


def forgetting_too_much(patch: pytest.MonkeyPatch) -> None:
    real = Ruler.forget
    patch.setattr(Ruler, "forget", lambda self, needed: real(self, ()))


def families_lost_beside_few_numbers(patch: pytest.MonkeyPatch) -> None:
    real = ruler_module._on_one_line

    def on_one_line(spans: Mapping[str, Any]) -> Any:
        found = real(spans)
        lost = found is not None and "number" in found and len(spans) <= 3
        return {"number": found["number"]} if lost and found is not None else found

    patch.setattr(ruler_module, "_on_one_line", on_one_line)


def only_ends_taken_for_crossing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ruler, "_is_loose", lambda self, found: False)


def crossing_not_noticed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ruler_module, "_in_order", lambda one, other: True)


def changes(schema: tg.Schema | None) -> None:
    for seed in range(12):
        grow_and_ask(seed, schema, 25)


def mixed_changes() -> None:
    for seed in range(40):
        mix_and_ask(seed, 20)


MUTANTS: dict[Callable[[pytest.MonkeyPatch], None], Callable[[], object]] = {
    ends_one_too_far: lambda: changes(None),
    texts_taken_for_decided: lambda: changes(None),
    hull_taken_for_the_filter: lambda: changes(SCHEMAS["typed"]),
    removed_boxes_left_in: lambda: changes(SCHEMAS["checked"]),
    moved_boxes_left_where_they_were: lambda: changes(None),
    moved_cuts_not_put_on_rulers: lambda: changes(SCHEMAS["typed"]),
    last_box_lost: lambda: changes(None),
    twins_everywhere: lambda: changes(None),
    forgetting_too_much: lambda: changes(None),
    labels_not_followed: lambda: crowd(120),
    families_lost_beside_few_numbers: mixed_changes,
    only_ends_taken_for_crossing: mixed_changes,
    crossing_not_noticed: mixed_changes,
}


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        yield patch


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mutant_is_caught(
    mutant: Callable[[pytest.MonkeyPatch], None], mutate: pytest.MonkeyPatch
) -> None:
    mutant(mutate)
    with pytest.raises((AssertionError, KeyError)):
        MUTANTS[mutant]()

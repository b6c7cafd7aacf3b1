"""An index gives the answers of a scan: over the whole language, for few and many subscriptions.

`ScanIndex` asks every filter about every event; it agrees with Spark (see `test_scan`). Where
there are too many subscriptions for that, numpy says who matches.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tidegate as tg
from tests import generate
from tests.oracle import Column, Leaf, Literal
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex
from tidegate.engine.subscriptions.subscription import Id, Subscription, subscribe
from tidegate.errors import IndexFileError, SubscriptionError

Event = dict[str, Any]
AnyIndex = Index | ScanIndex
SCHEMA = tg.Schema(generate.TYPES)
EITHER = pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "no schema"])
BOTH = pytest.mark.parametrize("kind", [Index, ScanIndex])


def pairs(found: pa.Table) -> list[tuple[int, Id]]:
    """The pairs of a result, sorted; the result is shaped as it must be, and no pair is twice."""
    assert found.column_names == ["event", "subscription"]
    assert found["event"].type == pa.int32()
    assert found["subscription"].type.index_type == pa.int32()
    assert found["subscription"].type.value_type in (pa.string(), pa.int64())
    assert found["event"].null_count == found["subscription"].null_count == 0
    for chunk in found["event"].chunks:
        rows = chunk.to_numpy()
        assert len(np.unique(rows)) == np.count_nonzero(np.diff(rows)) + bool(len(rows))
    listed = list(zip(found["event"].to_pylist(), found["subscription"].to_pylist(), strict=True))
    assert len(set(listed)) == len(listed)
    return sorted(listed)


def check(index: AnyIndex, scan: ScanIndex, events: Sequence[Event], *batches: Any) -> None:
    """The index says what the scan says of the events, also when they come as the batches."""
    expected = pairs(scan.match_batch(events))
    counts = np.bincount([row for row, _ in expected], minlength=len(events)).tolist()
    for batch in (events, *batches):
        assert pairs(index.match_batch(batch)) == expected
        assert index.count_batch(batch).dtype == np.int64
        assert index.count_batch(batch).tolist() == counts
    single = [(row, id) for row, event in enumerate(events) for id in index.match(event)]
    assert sorted(single) == expected
    assert len(index) == len(scan)


def state(index: AnyIndex, ids: Iterable[Id]) -> list[Any]:
    """What an index holds, to see whether it changed."""
    them: list[Any] = [len(index)]
    for id in ids:
        them.append(describe(index.get(id)) if id in index else None)
    return them


def describe(subscription: Subscription) -> tuple[Any, ...]:
    """A subscription as something that compares equal to itself, NaN or not."""
    return (
        subscription.id,
        str(subscription.filter),
        {name: repr(value) for name, value in subscription.parameters.items()},
        str(subscription.bound),
    )


@EITHER
def test_every_operator_on_every_type_matches_as_in_a_scan(schema: tg.Schema | None) -> None:
    rng = Random(11)
    events = generate.events(rng, 70)
    index, scan = Index(schema), ScanIndex(schema)
    for id, leaf in enumerate(generate.each_operator(rng, schema is not None)):
        for sign, text in ((1, str(leaf)), (-1, f"NOT ({leaf})")):
            index.add(sign * (id + 1), text)
            scan.add(sign * (id + 1), text)
    check(index, scan, events, generate.arrow_table(events))
    index.flush()
    check(index, scan, events, generate.arrow_table(events))


@EITHER
def test_trees_match_as_in_a_scan(schema: tg.Schema | None) -> None:
    rng = Random(12)
    events = generate.events(rng, 70)
    texts = [str(condition) for condition in generate.filters(rng, 400, schema is not None)]
    table = pa.table({"id": [f"s{i}" for i in range(len(texts))], "filter": texts})
    index, scan = Index(schema), ScanIndex(schema)
    index.add_many(table.slice(0, 300))
    for id, text in zip(table["id"].to_pylist()[300:], texts[300:], strict=True):
        index.add(id, text)
    scan.add_many(table)
    check(index, scan, events, generate.arrow_table(events))
    index.flush()
    check(index, scan, events, generate.arrow_table(events))


@EITHER
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32))
def test_any_few_filters_match_as_in_a_scan(schema: tg.Schema | None, seed: int) -> None:
    rng = Random(seed)
    events = generate.events(rng, rng.choice((1, 3, 20)))
    index, scan = Index(schema), ScanIndex(schema)
    for id, condition in enumerate(generate.filters(rng, rng.choice((1, 2, 20)), bool(schema))):
        index.add(id, str(condition))
        scan.add(id, str(condition))
    check(index, scan, events, generate.arrow_table(events))


def opened(leaf: Leaf) -> tuple[str, dict[str, Any]]:
    """The leaf with parameters instead of literals, and their values."""
    names = {f"p{i}": literal.value for i, literal in enumerate(leaf.literals)}
    literals = tuple(Literal(f":{name}", "", None) for name in names)
    return str(replace(leaf, literals=literals)), names


@EITHER
def test_parameters_match_as_in_a_scan_and_move(schema: tg.Schema | None) -> None:
    rng = Random(13)
    events = generate.events(rng, 30)
    index, scan = Index(schema), ScanIndex(schema)
    both = (index, scan)
    leaves = list(generate.each_operator(rng, schema is not None))
    for id, leaf in enumerate(leaves):
        text, values = opened(leaf)
        for each in both:
            each.add(id, f"{text} AND (flag OR NOT flag <=> TRUE)", **values)
    check(index, scan, events)
    for id, leaf in enumerate(leaves):
        again = generate.leaf(rng, leaf.column, schema is not None, leaf.operator)
        values = opened(again)[1]
        kept = {name: values[name] for name in scan.get(id).parameters if name in values}
        for each in both:
            outcome = attempt(lambda each=each, kept=kept, id=id: each.update(id, **kept))
            assert outcome in (None, tg.FilterTypeError)
        assert describe(index.get(id)) == describe(scan.get(id))
    check(index, scan, events, generate.arrow_table(events))


def attempt(call: Any) -> type[Exception] | None:
    """Of which kind a call is refused, if it is."""
    try:
        call()
    except tg.TidegateError as error:
        return type(error)
    return None


ARROW = {
    column.type: generate.arrow_table([]).schema.field(column.path[0]).type
    for column in generate.COLUMNS
    if len(column.path) == 1
}
KINDS = list(ARROW)


class Constants:
    """Subscriptions of all operators, with their constants in columns, some for each type."""

    FORMS = ("{0}", "{0} AND symbol = :s", "symbol = :s AND NOT ({0})", "{0} OR symbol = :s")

    def __init__(self, rng: Random, schema: tg.Schema | None, rows: int) -> None:
        self.rng, self.schema = rng, schema
        self.rows: list[dict[str, Any]] = []
        for column in generate.COLUMNS:
            for operator in generate.operators(column):
                self._add(column, operator, rows)

    def _add(self, column: Column, operator: str, rows: int) -> None:
        """Rows with one text, whose constants it admits."""
        kinds = generate.NUMBERS if generate.family(column) == "number" else (column.type,)
        kind = KINDS.index(self.rng.choice((column.type, column.type, *kinds)))
        leaf = generate.leaf(self.rng, column, False, operator)
        names = [f"k{kind}_{i}" for i in range(len(leaf.literals))]
        literals = tuple(Literal(f":{name}", "", None) for name in names)
        text = self.rng.choice(self.FORMS).format(replace(leaf, literals=literals))
        for _ in range(rows):
            row = self.values([*names, "s"] if ":s" in text else names)
            if attempt(lambda row=row: subscribe(0, text, row, self.schema)) is None:
                self.rows.append({"id": len(self.rows), "filter": text, **row})

    def values(self, names: Iterable[str]) -> dict[str, Any]:
        """A value for each of these parameters."""
        pools = {name: generate.POOLS["string" if name == "s" else kind_of(name)] for name in names}
        return {name: self.rng.choice([*pool, None]) for name, pool in pools.items()}

    def moved(self) -> list[dict[str, Any]]:
        """Some of the rows with new values for some of their parameters."""
        found = []
        for row in self.rng.sample(self.rows, len(self.rows) // 2):
            names = sorted(row.keys() - {"id", "filter"})
            new = self.values(names[: self.rng.randint(0, len(names))])
            full = {name: row[name] for name in names} | new
            if attempt(lambda row=row, full=full: subscribe(0, row["filter"], full, self.schema)):
                continue
            found.append({"id": row["id"], **full})
        return found


def kind_of(name: str) -> str:
    return KINDS[int(name[1:].split("_")[0])]


def as_table(rows: list[dict[str, Any]], *texts: str) -> pa.Table:
    """Rows as a table: ids, texts, and all parameters that one of them has."""
    names = sorted({name for row in rows for name in row} - {"id", *texts})
    fields = [("id", pa.int64()), *((name, pa.string()) for name in texts)]
    fields += [(n, pa.string() if n == "s" else ARROW[kind_of(n)]) for n in names]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


@EITHER
def test_columns_of_constants_match_as_in_a_scan(schema: tg.Schema | None, tmp_path: Path) -> None:
    rng = Random(19)
    events = generate.events(rng, 25)
    index, scan = Index(schema), ScanIndex(schema)
    constants = Constants(rng, schema, 8)
    assert len(constants.rows) > 1_500
    for each in (index, scan):
        each.add_many(as_table(constants.rows, "filter"))
    check(index, scan, events, generate.arrow_table(events))
    moved = as_table(constants.moved())
    for each in (index, scan):
        each.update_many(moved)
    check(index, scan, events, generate.arrow_table(events))
    index.flush()
    check(index, scan, events, generate.arrow_table(events))
    index.save(tmp_path / "index")
    check(Index.open(tmp_path / "index"), scan, events, generate.arrow_table(events))


STRANGERS = [
    *(None, True, False, 0, 1, 5, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 10**37, 10**40),
    *(0.0, -0.0, 1.0, 1.5, 0.1, 2.0**53, 2.0**63, math.inf, -math.inf, math.nan, 5e-324),
    *(Decimal("0.1"), Decimal("1.50"), Decimal(5), Decimal("1E-38"), Decimal(10) ** 37),
    *("", "5", "a", "ab", "true", "2024-02-29", "é", "e\u0301", "\uffff", "😀", "\U0010ffff"),
    *("\ud800", "a" * 10_000),
    *(dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.datetime(2024, 2, 29), dt.datetime(9999, 12, 31)),
    *(dt.datetime(2024, 2, 29, tzinfo=dt.UTC), b"5", [5], {"y": 5}, {}, object()),
]
STRANGE_TEXTS = [
    *("x = 5", "x != 5", "x < 1.5", "x >= 9007199254740992D", "x > 0.1BD", "x = 0.1D", "x = 1.50"),
    *("x IN (1, 5.0, 2.5D)", "x NOT IN (1, 5)", "x NOT IN (1, NULL)", "x <=> 5", "x <=> NULL"),
    *("x = 'a'", "x > 'a'", "x <= ''", "x LIKE 'a%'", "x NOT LIKE '%b'", "contains(x, 'a')"),
    *("NOT startswith(x, '')", "x LIKE '_'", "x IN ('a', '😀')", "x >= '\uffff'"),
    *("x = DATE'2024-02-29'", "x > DATE'2020-01-01'", "x = TIMESTAMP'2024-02-29 00:00:00'"),
    *("x", "NOT x", "x = TRUE", "x IS TRUE", "x IS NOT FALSE", "x IS NULL", "x IS NOT NULL"),
    *("(x < 5) IS NOT TRUE", "NOT (x < 5 OR x > 'a')", "x < 5 OR x > 'a'"),
    *("x.y = 5", "x.y IS NULL"),
    *("x >= CAST('NaN' AS DOUBLE)", "x < CAST('Infinity' AS DOUBLE)", "x = CAST('NaN' AS DOUBLE)"),
    *("x = 9223372036854775807", "x > 9223372036854775807BD", "x <= -9223372036854775808"),
    *("x = 99999999999999999999999999999999999999", "x > 1E-38BD", "x = 0", "x = -0.0D"),
    "NOT x = 0",
]
STRANGE_TYPES = ("bigint", "int", "double", "float", "decimal(10,2)", "string", "boolean", "date")


@pytest.mark.parametrize("wanted", [None, *STRANGE_TYPES, "timestamp"])
def test_values_of_all_kinds_in_one_attribute_match_as_in_a_scan(wanted: str | None) -> None:
    schema = None if wanted is None else tg.Schema({"x": wanted})
    events: list[Event] = [{"x": value} for value in STRANGERS] + [{}]
    index, scan = Index(schema), ScanIndex(schema)
    for text in STRANGE_TEXTS:
        outcomes = [attempt(lambda each=each, t=text: each.add(t, t)) for each in (index, scan)]
        assert outcomes[0] == outcomes[1]
    assert len(scan) >= (len(STRANGE_TEXTS) if schema is None else 5)
    check(index, scan, events)
    index.flush()
    check(index, scan, events[::-1])


@EITHER
def test_an_index_explains_as_a_scan_does(schema: tg.Schema | None) -> None:
    rng = Random(14)
    index, scan = Index(schema), ScanIndex(schema)
    for id, condition in enumerate(generate.filters(rng, 40, schema is not None)):
        index.add(id, str(condition))
        scan.add(id, str(condition))
    for event in generate.events(rng, 5):
        for id in range(40):
            explained = index.explain(id, event)
            assert str(explained) == str(scan.explain(id, event))
            assert explained.passed is (id in index.match(event))


@BOTH
def test_adding_updating_and_removing_take_effect_at_once(kind: type[AnyIndex]) -> None:
    index = kind()
    assert (len(index), index.match({"price": 1}), "alice" in index) == (0, [], False)
    index.add("alice", "price < :limit", limit=10)
    index.add("bob", tg.parse("price >= 5"))
    assert sorted(index.match({"price": 7})) == ["alice", "bob"]
    index.update("alice", limit=6.5)
    assert index.match({"price": 7}) == ["bob"]
    assert index.get("alice").parameters == {"limit": 6.5}
    index.update("alice", limit=None)
    assert index.match({"price": 1}) == []
    index.remove("alice")
    assert ("alice" in index, "bob" in index, len(index)) == (False, True, 1)
    index.add("alice", "price < 3")
    assert index.match({"price": 1}) == ["alice"]
    assert str(index.get("alice").filter) == "price < 3"


@BOTH
def test_several_parameters_change_at_once(kind: type[AnyIndex]) -> None:
    index = kind()
    index.add(1, "x BETWEEN :low AND :high AND name = :name", low=0, high=10, name="a")
    index.update(1, low=20, high=30)
    assert index.match({"x": 25, "name": "a"}) == [1]
    assert index.match({"x": 5, "name": "a"}) == []
    index.update(1, name="😀", high=22)
    assert index.match({"x": 25, "name": "😀"}) == []
    assert index.match({"x": 21, "name": "😀"}) == [1]
    assert index.get(1).parameters == {"low": 20, "high": 22, "name": "😀"}


@BOTH
def test_updating_nothing_changes_nothing(kind: type[AnyIndex]) -> None:
    index = kind()
    index.add(1, "x = :p", p=1)
    index.update(1)
    assert index.get(1).parameters == {"p": 1}
    index.add(2, "x = 1")
    index.update(2)
    assert sorted(index.match({"x": 1})) == [1, 2]


@BOTH
def test_a_parameter_may_have_any_name(kind: type[AnyIndex]) -> None:
    index = kind()
    names = {"id": 1, "filter": 2, "self": 3, "parameters": 4, "table": 5, "schema": 6}
    index.add("a", " OR ".join(f"x = :{name}" for name in names), **names)
    assert index.match({"x": 3}) == ["a"]
    index.update("a", **dict.fromkeys(names, 9))
    assert index.match({"x": 3}) == []
    assert index.match({"x": 9}) == ["a"]


@BOTH
def test_matches_are_a_sequence_like_a_list(kind: type[AnyIndex]) -> None:
    index = kind()
    for number in range(5):
        index.add(f"s{number}", "x >= :p", p=number)
    matches = index.match({"x": 2})
    listed = list(matches)
    assert sorted(listed) == ["s0", "s1", "s2"]
    assert matches == listed
    assert matches != listed[:2]
    assert matches != [*listed[:2], "s4"]
    assert len(matches) == 3
    assert repr(matches) == repr(listed)
    assert [matches[0], matches[1], matches[-1]] == [listed[0], listed[1], listed[-1]]
    assert list(matches[1:]) == listed[1:]
    assert list(reversed(matches)) == listed[::-1]
    assert ("s1" in matches, "s3" in matches) == (True, False)
    assert (matches.index(listed[1]), matches.count("s1")) == (1, 1)
    assert bool(matches) is True
    assert bool(index.match({"x": -1})) is False
    with pytest.raises(IndexError):
        matches[3]


@BOTH
@pytest.mark.parametrize(
    "ids",
    [
        ["", " ", "a", "A", "ä", "a\u0308", "😀", "a\0", "x" * 100_000, "1", "-1"],
        [0, 1, -1, 2**63 - 1, -(2**63), 255, 2**31, 2**32],
    ],
)
def test_ids_of_all_shapes_come_back(kind: type[AnyIndex], ids: list[Id], tmp_path: Path) -> None:
    index = kind()
    for place, id in enumerate(ids):
        index.add(id, "x >= :p", p=place)
    for place, id in enumerate(ids):
        assert id in index
        assert index.get(id).id == id
        assert set(index.match({"x": place})) == set(ids[: place + 1])
    assert {id for _, id in pairs(index.match_batch([{"x": 100}]))} == set(ids)
    index.save(tmp_path / "index")
    assert set(kind.open(tmp_path / "index").match({"x": 100})) == set(ids)


@BOTH
def test_membership_is_asked_with_ids_only(kind: type[AnyIndex]) -> None:
    index = kind()
    index.add(1, "x = 1")
    assert 1 in index
    assert np.int32(1) in index
    for other in (True, 1.0, "1", None, b"1", 2, 2**70, [1], Decimal(1)):
        assert other not in index


@BOTH
@pytest.mark.parametrize("batch", [[], pa.table({"x": pa.array([], pa.int64())}), pa.table({})])
def test_an_empty_batch_has_no_matches(kind: type[AnyIndex], batch: Any) -> None:
    index = kind()
    for _ in range(2):
        assert pairs(index.match_batch(batch)) == []
        assert index.count_batch(batch).tolist() == []
        index.add(f"a{len(index)}", "x IS NULL")


@BOTH
def test_an_empty_index_matches_nothing(kind: type[AnyIndex], tmp_path: Path) -> None:
    index = kind()
    for step in range(3):
        assert index.match({"x": 1}) == []
        assert pairs(index.match_batch([{"x": 1}, {}])) == []
        assert index.count_batch(pa.table({"x": [1, 2]})).tolist() == [0, 0]
        assert index.incomparable == {}
        assert str(index.describe())
        if step == 0:
            index.add_many(pa.table({"id": pa.array([], pa.string()), "p": []}), filter="x = :p")
            index.update_many(pa.table({"id": pa.array([], pa.string())}))
            index.remove_many([])
            index.flush()
        if step == 1:
            index.save(tmp_path / "index")
            index = kind.open(tmp_path / "index")
    index.add("a", "x = 1")
    index.remove("a")
    index.flush()
    assert index.match({"x": 1}) == []
    assert pairs(index.match_batch([{"x": 1}])) == []


BAD_CALLS: list[tuple[str, type[tg.TidegateError], Any]] = [
    ("an id twice", SubscriptionError, lambda i: i.add("a", "x = 1")),
    ("an id of another kind", SubscriptionError, lambda i: i.add(5, "x = 1")),
    ("an id of no kind", SubscriptionError, lambda i: i.add(None, "x = 1")),
    ("half a character", SubscriptionError, lambda i: i.add("\ud800", "x = 1")),
    ("a bad filter", tg.FilterSyntaxError, lambda i: i.add("n", "x = = 1")),
    ("no text", tg.FilterSyntaxError, lambda i: i.add("n", 5)),
    ("a bad type", tg.FilterTypeError, lambda i: i.add("n", "x LIKE 5")),
    ("a missing parameter", tg.ParameterError, lambda i: i.add("n", "x = :p")),
    ("an unknown parameter", tg.ParameterError, lambda i: i.add("n", "x = 1", p=1)),
    ("a bad constant", tg.FilterTypeError, lambda i: i.add("n", "x = :p", p=b"1")),
    (
        "another schema",
        tg.SchemaError,
        lambda i: i.add("n", tg.parse("x = 1", tg.Schema({"x": "int"}))),
    ),
    ("updating an unknown id", SubscriptionError, lambda i: i.update("n", p=1)),
    ("updating an id of another kind", SubscriptionError, lambda i: i.update(1, p=1)),
    ("updating an unknown parameter", tg.ParameterError, lambda i: i.update("a", p=7, z=1)),
    ("updating with a bad constant", tg.FilterTypeError, lambda i: i.update("b", p=7, q=5)),
    ("updating with a bad value", tg.FilterTypeError, lambda i: i.update("a", p=[1])),
    ("removing an unknown id", SubscriptionError, lambda i: i.remove("n")),
    ("removing an id of another kind", SubscriptionError, lambda i: i.remove(0)),
    ("getting an unknown id", SubscriptionError, lambda i: i.get("n")),
    ("explaining an unknown id", SubscriptionError, lambda i: i.explain("n", {})),
    ("removing one unknown id", SubscriptionError, lambda i: i.remove_many(["a", "n", "b"])),
    ("removing an id twice", SubscriptionError, lambda i: i.remove_many(["a", "b", "a"])),
    ("removing a text", SubscriptionError, lambda i: i.remove_many("ab")),
    ("removing integers", SubscriptionError, lambda i: i.remove_many(pa.array([1]))),
    ("removing a null", SubscriptionError, lambda i: i.remove_many(pa.array(["a", None]))),
    ("an event that is none", tg.TidegateError, lambda i: i.match(5)),
    ("a batch that is none", tg.TidegateError, lambda i: i.match_batch({"x": 1})),
    ("a count of no batch", tg.TidegateError, lambda i: i.count_batch("x")),
    ("an event of a batch that is none", tg.TidegateError, lambda i: i.match_batch([{}, 5])),
    (
        "a batch with a column twice",
        tg.TidegateError,
        lambda i: i.match_batch(pa.Table.from_arrays([pa.array([1])] * 2, ["x", "x"])),
    ),
]

BAD_TABLES: list[tuple[str, type[tg.TidegateError], dict[str, Any]]] = [
    ("an id that is there", SubscriptionError, {"id": ["n", "a"], "p": [1, 1]}),
    ("an id twice", SubscriptionError, {"id": ["n", "m", "n"], "p": [1, 1, 1]}),
    ("integer ids", SubscriptionError, {"id": [1, 2], "p": [1, 1]}),
    ("no ids", SubscriptionError, {"p": [1, 1]}),
    ("a null id", SubscriptionError, {"id": ["n", None], "p": [1, 1]}),
    ("no parameter", tg.ParameterError, {"id": ["n", "m"]}),
    ("another parameter", tg.ParameterError, {"id": ["n", "m"], "p": [1, 1], "z": [None, 1]}),
    ("a bad constant", tg.FilterTypeError, {"id": ["n", "m"], "p": [b"1", b"2"]}),
]
BAD_UPDATES: list[tuple[str, type[tg.TidegateError], dict[str, Any]]] = [
    ("an unknown id", SubscriptionError, {"id": ["a", "n"], "p": [7, 7]}),
    ("an id twice", SubscriptionError, {"id": ["a", "a"], "p": [7, 8]}),
    ("integer ids", SubscriptionError, {"id": [1], "p": [7]}),
    ("no ids", SubscriptionError, {"p": [7]}),
    ("an unknown parameter", tg.ParameterError, {"id": ["b", "a"], "p": [7, 7], "q": ["x", "y"]}),
    ("a bad constant", tg.FilterTypeError, {"id": ["a", "b"], "p": [7, 8], "q": [None, 9]}),
    ("a bad type", tg.FilterTypeError, {"id": ["a"], "p": [b"7"]}),
]


def three(kind: type[AnyIndex]) -> AnyIndex:
    index = kind()
    index.add("a", "x = :p", p=1)
    index.add("b", "x > :p AND y LIKE :q", p=0, q="a%")
    index.add("c", "x IS NULL")
    return index


def same_as_before(index: AnyIndex, kind: type[AnyIndex]) -> None:
    before = three(kind)
    assert state(index, ["a", "b", "c", "n", "m"]) == state(before, ["a", "b", "c", "n", "m"])
    for event in ({"x": 1, "y": "ab"}, {"x": 7, "y": "a"}, {}, {"x": 8}):
        assert sorted(index.match(event)) == sorted(before.match(event))
        assert pairs(index.match_batch([event])) == pairs(before.match_batch([event]))


@BOTH
@pytest.mark.parametrize(
    ("error", "call"), [x[1:] for x in BAD_CALLS], ids=[x[0] for x in BAD_CALLS]
)
def test_a_bad_call_is_refused(kind: type[AnyIndex], error: type[Exception], call: Any) -> None:
    index = three(kind)
    with pytest.raises(error) as caught:
        call(index)
    assert type(caught.value) is error
    same_as_before(index, kind)


@BOTH
@pytest.mark.parametrize(
    ("error", "columns"), [x[1:] for x in BAD_TABLES], ids=[x[0] for x in BAD_TABLES]
)
def test_a_bad_table_is_refused_whole(
    kind: type[AnyIndex], error: type[Exception], columns: dict[str, Any]
) -> None:
    index = three(kind)
    with pytest.raises(error):
        index.add_many(pa.table(columns), filter="x = :p")
    same_as_before(index, kind)


@BOTH
@pytest.mark.parametrize(
    ("error", "columns"), [x[1:] for x in BAD_UPDATES], ids=[x[0] for x in BAD_UPDATES]
)
def test_a_bad_table_of_updates_is_refused_whole(
    kind: type[AnyIndex], error: type[Exception], columns: dict[str, Any]
) -> None:
    index = three(kind)
    with pytest.raises(error):
        index.update_many(pa.table(columns))
    same_as_before(index, kind)


@BOTH
def test_a_bad_text_in_a_table_names_its_row(kind: type[AnyIndex]) -> None:
    index = three(kind)
    table = pa.table({"id": ["n", "m"], "filter": ["x = 1", "x LIKE"]})
    with pytest.raises(tg.FilterSyntaxError) as caught:
        index.add_many(table)
    assert caught.value.__notes__ == ["in row 1, subscription 'm'"]
    same_as_before(index, kind)


@BOTH
def test_nulls_in_a_table_of_updates(kind: type[AnyIndex]) -> None:
    index = three(kind)
    index.update_many(pa.table({"id": ["a", "b", "c"], "p": [2, None, None]}))
    assert index.get("a").parameters == {"p": 2}
    assert index.get("b").parameters == {"p": None, "q": "a%"}
    assert index.match({"x": 2, "y": "a"}) == ["a"]
    index.update_many(pa.table({"id": ["b"], "q": ["%"], "p": [1.5], "z": [None]}))
    assert sorted(index.match({"x": 2, "y": ""})) == ["a", "b"]


@BOTH
def test_incomparable_values_are_counted_and_do_not_match(kind: type[AnyIndex]) -> None:
    index = kind()
    index.add("a", "x < 5 AND NOT y = 'a'")
    index.add("b", "x > 2.5 OR y LIKE 'b%'")
    assert index.incomparable == {}
    strange = {"x": "three", "y": 7, "z": b"nobody asks"}
    assert index.match(strange) == []
    assert index.incomparable == {"x": 1, "y": 1}
    batch = [strange, {"x": 3, "y": b"x"}, {"x": None}, {"y": "b"}, {"x": True, "y": "a"}]
    assert pairs(index.match_batch(batch)) == [(1, "b"), (3, "b")]
    assert index.incomparable == {"x": 3, "y": 3}
    index.add("c", "x = 'three'")
    assert index.match(strange) == ["c"]
    assert index.incomparable == {"x": 3, "y": 4}
    index.count_batch(pa.table({"x": [1.5, None], "y": pa.array([None, 5], pa.int8())}))
    assert index.incomparable == {"x": 3, "y": 5}


@BOTH
def test_values_that_violate_the_schema_are_counted(kind: type[AnyIndex]) -> None:
    index = kind(tg.Schema({"x": "tinyint", "y": "date"}))
    index.add("a", "x >= 0 AND NOT y = DATE'2024-01-01'")
    day = dt.date(2024, 1, 2)
    assert index.match({"x": 5, "y": day}) == ["a"]
    assert index.match({"x": 500, "y": day}) == []
    assert pairs(index.match_batch(pa.table({"x": [1, 128], "y": [day, day]}))) == [(0, "a")]
    assert index.match({"x": 5, "y": "2024-01-02"}) == []
    assert index.incomparable == {"x": 2, "y": 1}


@EITHER
def test_a_saved_index_comes_back(schema: tg.Schema | None, tmp_path: Path) -> None:
    rng = Random(15)
    events = generate.events(rng, 30)
    index, scan = Index(schema), ScanIndex(schema)
    texts = [str(condition) for condition in generate.filters(rng, 150, schema is not None)]
    for id, text in enumerate(texts):
        index.add(f"s{id}", text)
        scan.add(f"s{id}", text)
    for each in (index, scan):
        each.add("p", "price < :limit OR symbol = :name", limit=1.5, name="a")
        each.remove("s7")
        each.remove_many(["s8", "s9"])
    index.save(tmp_path / "index")
    for read_only in (True, False):
        again = Index.open(tmp_path / "index", read_only=read_only)
        check(again, scan, events, generate.arrow_table(events))
        ids = [f"s{id}" for id in range(len(texts))] + ["p"]
        assert state(again, ids) == state(scan, ids)
    scan.update("p", limit=5)
    again.update("p", limit=5)
    again.add("s7", texts[7])
    scan.add("s7", texts[7])
    check(again, scan, events)
    for each in (index, scan):
        each.remove_many([id for id in ids if id in each])
    check(index, scan, events[:3])


def saved(index: AnyIndex, folder: Path) -> Path:
    index.save(folder / "saved")
    return folder / "saved"


def test_what_was_opened_to_be_read_is_not_written(tmp_path: Path) -> None:
    path = saved(three(Index), tmp_path)
    whole = path.read_bytes()
    index = Index.open(path, read_only=True)
    calls: list[Callable[[], None]] = [
        lambda: index.add("n", "x = 1"),
        lambda: index.add_many(pa.table({"id": ["n"]}), filter="x = 1"),
        lambda: index.update("a", p=5),
        lambda: index.update_many(pa.table({"id": ["a"], "p": [5]})),
        lambda: index.remove("a"),
        lambda: index.remove_many(["a"]),
    ]
    for call in calls:
        with pytest.raises(tg.TidegateError):
            call()
        same_as_before(index, Index)
    changed = Index.open(path)
    changed.update("a", p=5)
    changed.remove("c")
    changed.flush()
    assert changed.match({"x": 5}) == ["a"]
    same_as_before(Index.open(path), Index)
    assert path.read_bytes() == whole


@settings(max_examples=60)
@given(st.data())
def test_a_damaged_file_is_refused(tmp_path_factory: Any, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path = saved(three(Index), folder)
    whole = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        where = data.draw(st.integers(0, len(whole) - 1))
        whole[where] ^= 1 << data.draw(st.integers(0, 7))
    else:
        whole = whole[: data.draw(st.integers(0, len(whole) - 1))]
    path.write_bytes(whole)
    with pytest.raises(IndexFileError):
        Index.open(path)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    for content in (b"", b"\0" * 4096, b"PAR1" * 1000, b"symbol,price\n" * 500):
        path.write_bytes(content)
        with pytest.raises(IndexFileError):
            Index.open(path)
    with pytest.raises(IndexFileError):
        Index.open(tmp_path / "nowhere")
    with pytest.raises(IndexFileError):
        Index.open(tmp_path)


def test_a_duplicated_filter_is_matched_for_each_of_its_subscribers() -> None:
    """Also if it is written another way, and if some of them leave, return or move."""
    index, scan = Index(), ScanIndex()
    spellings = [
        "symbol = 'IBM' AND price < 10",
        "price < 10 AND symbol = 'IBM'",
        "'IBM' = symbol AND NOT price >= 10",
        "symbol IN ('IBM') AND 10 > price",
    ]
    events: list[Event] = [
        {"symbol": symbol, "price": price}
        for symbol in ("IBM", "HP", None)
        for price in (9, 10, 11.5, None)
    ]
    ids = [f"{i}" for i in range(600)]
    texts = [spellings[i % 4] for i in range(len(ids))]
    for each in (index, scan):
        each.add_many(pa.table({"id": ids, "filter": texts}))
        for i in range(100):
            each.add(f"m{i}", "symbol = :s AND price < :p", s="IBM", p=10)
    check(index, scan, events)
    for each in (index, scan):
        each.remove_many(ids[::3])
        each.remove(ids[1])
        for i in range(0, 100, 7):
            each.update(f"m{i}", p=11)
        each.update("m1", s="HP", p=12)
    check(index, scan, events)
    for each in (index, scan):
        each.add(ids[0], spellings[0])
        each.remove_many([f"m{i}" for i in range(100) if i != 1])
        each.remove_many([id for id in ids if id in each and id != ids[0]])
    check(index, scan, events)
    index.flush()
    check(index, scan, events)
    for each in (index, scan):
        each.remove(ids[0])
    check(index, scan, events)


def test_a_description_accounts_for_every_subscription() -> None:
    index = Index()
    rng = Random(24)
    for id, condition in enumerate(generate.filters(rng, 200, False)):
        index.add(id, str(condition))
    for id in range(200, 300):
        index.add(id, "symbol = 'IBM' AND price < 10")
        index.add(id + 1_000, "price < 10 AND 'IBM' = symbol")
    market = Market(3, 4_000, 300)
    market.ids += 10_000
    index.add_many(market.table(np.arange(4_000)))
    index.add(9_999, "price = NULL")  # which nothing meets
    index.remove_many(range(50))
    before = index.describe()
    assert before.subscriptions == len(index) == 4_351
    inside = sum(structure.subscriptions for structure in before.structures)
    assert inside + before.pending - before.removed == len(index)
    index.flush()
    after = index.describe()
    assert (after.subscriptions, after.pending, after.removed, after.segments) == (4_351, 0, 0, 1)
    assert sum(structure.subscriptions for structure in after.structures) == 4_351
    assert sum(structure.entries for structure in after.structures) <= 4_351 - 199
    assert after.bytes == sum(structure.bytes for structure in after.structures) > 0
    for structure in after.structures:
        assert structure.name in str(after)


def test_a_filter_is_kept_once_whatever_the_number_of_its_subscribers() -> None:
    index = Index()
    index.add_many(pa.table({"id": range(3_000)}), filter="symbol = 'IBM' AND price < 10")
    for id in range(3_000, 3_100):
        index.add(id, "price < 10 AND symbol IN ('IBM')")
    index.add_many(
        pa.table({"id": range(4_000, 6_000), "p": [10] * 2_000}),
        filter=("price < :p AND symbol = 'IBM'"),
    )
    index.flush()
    assert sum(structure.entries for structure in index.describe().structures) == 1
    assert len(index.match({"symbol": "IBM", "price": 9})) == 5_100
    assert index.count_batch([{"symbol": "IBM", "price": 9}, {"symbol": "HP"}]).tolist() == [
        5_100,
        0,
    ]


KEYS: list[Any] = [
    *(0, -0.0, 0.0, 1, 1.0, Decimal("1.00"), 5, Decimal("0.1"), 0.1, math.nan, math.inf),
    *(2**53, 2**53 + 1, 2.0**53, 2**63 - 1, 2**63, Decimal(2**63), -(2**63), "a", "", "😀", None),
    *(True, False, dt.date(2024, 2, 29), dt.datetime(2024, 2, 29), 10**37, "1", "nan"),
]


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_equality_keys_of_all_kinds_match_as_in_a_scan(seed: int) -> None:
    rng = Random(seed)
    index, scan = Index(), ScanIndex()
    for id in range(120):
        shape = rng.choice(
            ("x = :a", "x = :a AND y = :b", "y <=> :b AND x = :a AND z > :c", "x IN (:a) OR y = :b")
        )
        values = {"a": rng.choice(KEYS), "b": rng.choice(KEYS), "c": rng.choice((0, 0.5, 1))}
        open_ = tg.parse(shape)
        chosen = {name: values[name] for name in open_.parameters}
        for each in (index, scan):
            each.add(id, open_, **chosen)
    events = [{name: rng.choice(KEYS) for name in "xyz" if rng.random() < 0.9} for _ in range(40)]
    check(index, scan, events)
    index.flush()
    check(index, scan, events)


class Market:
    """Many subscriptions on trades in columns, and who wants which event, by numpy.

    The shapes of ENGINE-NOTES' workload: an equality key of one or two attributes, a range, and
    for some of them a lower end.
    """

    TEXTS = (
        "symbol = :s AND price BETWEEN :lo AND :hi",
        "price >= :lo AND symbol = :s AND price <= :hi AND venue = :v",
        "symbol = :s AND price BETWEEN :lo AND :hi AND volume > :n",
        "venue = :v AND volume > :n",
    )

    def __init__(self, seed: int, size: int, symbols: int) -> None:
        rng = np.random.default_rng(seed)
        self.rng, self.symbols = rng, symbols
        self.alive = np.ones(size, bool)
        self.ids = np.arange(size) * 3 + 7
        self.shape = rng.choice(4, size, p=[0.5, 0.25, 0.2, 0.05])
        self.s = np.minimum(rng.zipf(1.3, size), symbols) - 1
        self.v = rng.integers(0, 50, size)
        self.lo = np.round(rng.uniform(0, 90, size), 2)
        self.hi = self.lo + np.round(rng.uniform(0, 20, size), 2)
        self.n = rng.integers(0, 1000, size)

    def columns(self, chosen: NDArray[Any]) -> dict[str, pa.Array]:
        """The parameters of some subscriptions, NULL where their shape has none."""
        shape = self.shape[chosen]
        names = pa.array([f"S{i}" for i in range(self.symbols)])
        return {
            "s": names.take(pa.array(self.s[chosen], mask=shape == 3)),
            "v": pa.array(self.v[chosen], mask=(shape == 0) | (shape == 2)),
            "lo": pa.array(self.lo[chosen], mask=shape == 3),
            "hi": pa.array(self.hi[chosen], mask=shape == 3),
            "n": pa.array(self.n[chosen], mask=shape < 2),
        }

    def table(self, chosen: NDArray[Any]) -> pa.Table:
        texts = pa.array(self.TEXTS).take(pa.array(self.shape[chosen]))
        ids = pa.array(self.ids[chosen])
        return pa.table({"id": ids, "filter": texts, **self.columns(chosen)})

    def events(self, size: int) -> pa.Table:
        rng = self.rng
        s = np.minimum(rng.zipf(1.3, size), self.symbols + 5) - 1
        prices = np.round(rng.uniform(0, 110, size), 2)
        return pa.table(
            {
                "symbol": pa.array([f"S{i}" for i in s], mask=rng.random(size) < 0.05),
                "price": pa.array(prices, mask=rng.random(size) < 0.05),
                "venue": pa.array(rng.integers(0, 60, size), mask=rng.random(size) < 0.1),
                "volume": pa.array(rng.integers(0, 1100, size), mask=rng.random(size) < 0.1),
                "nobody": pa.array(["x"] * size),
            }
        )

    def expected(self, events: pa.Table) -> NDArray[np.int64]:
        """The pairs of event and id, sorted."""
        found = []
        for row, event in enumerate(events.to_pylist()):
            symbol, price = event["symbol"], event["price"]
            volume, venue = event["volume"], event["venue"]
            wanted = -1 if symbol is None else int(symbol[1:])
            at = np.nan if price is None else price
            ranged = (self.s == wanted) & (self.lo <= at) & (at <= self.hi)
            here = self.v == (-1 if venue is None else venue)
            more = self.n < (-1 if volume is None else volume)
            conditions = (ranged, ranged & here, ranged & more, here & more)
            hit = np.choose(self.shape, conditions) & self.alive
            ids = np.sort(self.ids[hit])
            found.append(np.stack([np.full(len(ids), row), ids], axis=1))
        return np.concatenate(found)

    def check(self, index: AnyIndex, size: int) -> None:
        events = self.events(size)
        expected = self.expected(events)
        found = index.match_batch(events)
        ours = np.stack(
            [
                found["event"].to_numpy().astype(np.int64),
                found["subscription"].cast(pa.int64()).to_numpy(),
            ],
            axis=1,
        )
        ours = ours[np.lexsort((ours[:, 1], ours[:, 0]))]
        assert np.array_equal(ours, expected)
        counts = np.bincount(expected[:, 0], minlength=size)
        assert np.array_equal(index.count_batch(events), counts)
        for row, event in enumerate(events.slice(0, 20).to_pylist()):
            assert sorted(index.match(event)) == expected[expected[:, 0] == row, 1].tolist()
        assert len(index) == int(self.alive.sum())


@pytest.mark.parametrize(("size", "symbols"), [(40_000, 2_000), (25_000, 3)])
def test_tens_of_thousands_by_equality_key_match_as_numpy_says(
    size: int, symbols: int, tmp_path: Path
) -> None:
    market = Market(symbols, size, symbols)
    everyone = np.arange(size)
    index = Index()
    market.alive[size // 2 :] = False
    index.add_many(market.table(everyone[: size // 2]))
    market.check(index, 150)
    market.alive[:] = True
    index.add_many(market.table(everyone[size // 2 :]))
    market.check(index, 700)
    moving = market.rng.choice(size, size // 8, replace=False)
    market.s[moving] = (market.s[moving] + 1) % symbols
    market.v[moving] = market.rng.integers(0, 50, len(moving))
    market.lo[moving] += 5
    index.update_many(pa.table({"id": market.ids[moving], **market.columns(moving)}))
    market.check(index, 150)
    leaving = market.rng.choice(size, size // 10, replace=False)
    market.alive[leaving] = False
    index.remove_many(pa.array(market.ids[leaving]))
    market.check(index, 150)
    market.alive[leaving[: size // 50]] = True
    market.shape[leaving] = 0
    index.add_many(market.table(leaving[: size // 50]))
    market.check(index, 150)
    index.flush()
    market.check(index, 600)
    index.save(tmp_path / "index")
    market.check(Index.open(tmp_path / "index", read_only=True), 150)

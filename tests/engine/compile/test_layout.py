"""Wherever subscriptions are kept, they match as in a scan.

With the sizes of `kernel_fuzz`, a few dozen subscriptions fill every structure.
"""

import datetime as dt
import math
from decimal import Decimal
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import generate
from tests.engine.kernel_fuzz import Case, Comparison, small_sizes
from tests.engine.test_index import SCHEMA, Event, check
from tidegate.engine.compile import layout
from tidegate.engine.compile.draft import Drafter
from tidegate.engine.index import Index
from tidegate.engine.partition.arrays import AND, DEPTH, OPERAND, OR, PUSH
from tidegate.engine.scan import ScanIndex

pytestmark = pytest.mark.slow

EITHER = pytest.mark.parametrize("typed", [True, False], ids=["schema", "no schema"])
SEEDS = st.integers(0, 2**32)


@settings(max_examples=40)
@given(seed=SEEDS, blocks=st.integers(1, 5), rows=st.sampled_from([4, 20, 70]))
def test_all_structures_match_as_a_scan(seed: int, blocks: int, rows: int) -> None:
    with small_sizes():
        both = Comparison(Case(seed, blocks, rows))
        both.match((0, 1, 66), singles=9)
        both.remove_some()
        both.match((7, 40), singles=5)
        both.tried.flush()
        both.match((40,), singles=9)


def test_there_are_all_structures() -> None:
    found: set[str] = set()
    with small_sizes():
        for seed in range(40):
            both = Comparison(Case(seed))
            both.tried.flush()
            found |= both.structures
    forms = [
        f"{kind}{shared}"
        for kind in ("conjunctions", "Boolean trees")
        for shared in ("", " with several subscribers")
    ]
    assert found >= {
        *(f"{form}, {where}" for form in forms for where in ("bit-sliced", "by key of 1")),
        *("conjunctions, by key of 2", "ranges, by key of 1", "ranges, by key of 2"),
        "ranges with several subscribers, by key of 1",
        *("sweeps on 0", "sweeps on 1", "sweeps on 2"),
        "filters that nothing can match",
    }


@settings(max_examples=10)
@given(seed=SEEDS)
def test_a_saved_layout_matches_as_before(seed: int, tmp_path_factory: Any) -> None:
    path: Path = tmp_path_factory.mktemp("layout") / "index"
    with small_sizes():
        both = Comparison(Case(seed, blocks=3))
        both.tried.save(path)
        both.tried = Index.open(path)
        both.match((1, 40), singles=9)
        both.remove_some()
        both.match((40,), singles=9)
        both.tried.save(path)
        both.tried = Index.open(path)
        both.match((40,), singles=9)


@settings(max_examples=10)
@given(seed=SEEDS)
def test_the_whole_language_matches_beside_keys(seed: int) -> None:
    rng = Random(seed)
    schema = SCHEMA if seed % 2 else None
    texts = [str(condition) for condition in generate.filters(rng, 40, schema is not None)]
    for place, condition in enumerate(generate.filters(rng, 60, schema is not None)):
        key = generate.POOLS["bigint"][place % 16]
        texts.append(f"id = {key} AND ({condition})")
    table = pa.table({"id": range(100), "filter": texts})
    index, scan = Index(schema), ScanIndex(schema)
    with small_sizes():
        index.add_many(table)
        scan.add_many(table)
        events = generate.events(rng, 20)
        check(index, scan, events, generate.arrow_table(events))
        index.flush()
        check(index, scan, events, generate.arrow_table(events))


def compare(
    blocks: list[tuple[str, dict[str, Any]]], events: list[Event], schema: tg.Schema | None
) -> Index:
    """Blocks of filters and columns of constants match the events as in a scan."""
    index, scan = Index(schema), ScanIndex(schema)
    size = 0
    for text, columns in blocks:
        rows = len(next(iter(columns.values())))
        table = pa.table({"id": range(size, size + rows), **columns})
        for each in (index, scan):
            each.add_many(table, filter=text)
        size += rows
    check(index, scan, events)
    index.flush()
    check(index, scan, events)
    return index


def structures(index: Index) -> set[str]:
    return {each.name for each in index.describe().structures if each.subscriptions}


MANY = 60
KEYS = {"k": [f"key {i % 5}" for i in range(MANY)]}
NUMBERS: list[Any] = [
    *(-(2**63), -1, 0, 1, 7, 2**53, 2**53 + 1, 2**63 - 1, -0.0, 0.5, 7.0, 2.0**53, 2.0**63),
    *(math.nan, math.inf, -math.inf, Decimal("0.5"), Decimal("7.00"), Decimal("1E-38")),
    *(Decimal("6.99999999999999999999"), Decimal(10**38 - 1), Decimal(1 - 10**38), 10**30),
]
STRANGE: list[Any] = [None, "7", True, dt.date(1970, 1, 8), dt.datetime(1970, 1, 1), b"7", [7]]
FORMS = (
    "k = :k AND x >= :a",
    "x < :a AND k = :k",
    "k = :k AND x BETWEEN :a AND :b",
    "k = :k AND x > :a AND x < :b AND text IS NULL",
    "x >= :a AND x <= :b AND (k = :k OR x = 7)",
    "k != :k AND x > :a",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(38, 20)])
def test_numbers_of_all_types_meet_ranges_without_a_schema(form: str, kind: pa.DataType) -> None:
    pool = {
        pa.int64(): [-(2**63), *range(-3, 12), 2**53, 2**53 + 1, 2**63 - 1],
        pa.float64(): [
            math.nan,
            -math.inf,
            math.inf,
            -0.0,
            *(i / 2 for i in range(-4, 18)),
            2.0**63,
        ],
        pa.decimal128(38, 20): [Decimal(i) / 2 for i in range(-4, 18)] + [Decimal("1E-20")],
    }[kind]
    columns = {
        "k": KEYS["k"],
        "a": pa.array([pool[i % len(pool)] for i in range(MANY)], kind),
        "b": pa.array([pool[i * 7 % len(pool)] for i in range(MANY)], kind),
    }
    used = {name: column for name, column in columns.items() if f":{name}" in form}
    events: list[Event] = [{"k": "key 1", "x": value} for value in (*NUMBERS, *STRANGE)]
    events += [{"k": f"key {i % 7}", "x": value} for i, value in enumerate(NUMBERS)]
    events += [{}, {"x": 7}, {"k": "key 2"}, {"k": "key 3", "x": 7, "text": "a"}]
    with small_sizes():
        compare([(form, used)], events, None)


@EITHER
@pytest.mark.parametrize("kind", ["bigint", "double", "decimal(10,2)", "decimal(38,20)"])
def test_two_ranges_meet_values_on_lines_of_their_own(kind: str, typed: bool) -> None:
    columns = {
        "a": [i % 9 for i in range(MANY)],
        "b": [i % 13 / 2 for i in range(MANY)],
        **KEYS,
    }
    values: list[Any] = [None, 3, 3.5, Decimal("3.25"), "3", 8]
    events = [
        {"k": f"key {i % 6}", "x": x, "y": y} for i, (x, y) in enumerate(product(values, values))
    ]
    schema = tg.Schema({"k": "string", "x": kind, "y": "double"}) if typed else None
    with small_sizes():
        index = compare(
            [
                ("k = :k AND x > :a AND y <= :b", columns),
                ("x >= :a AND y > :b AND k >= :k", columns),
            ],
            events,
            schema,
        )
    assert any(name.startswith("ranges") for name in structures(index)) or kind == "decimal(38,20)"


@EITHER
def test_whole_numbers_are_keys(typed: bool) -> None:
    keys = [i % 20 - 3 for i in range(MANY - 4)] + [2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    columns = {"k": keys, "a": [i % 7 for i in range(MANY)]}
    schema = tg.Schema({"k": "bigint", "x": "double"}) if typed else None
    events: list[Event] = [
        {"k": key, "x": x} for key in (*keys, *NUMBERS, *STRANGE) for x in (None, 5)
    ]
    with small_sizes():
        index = compare([("k = :k AND x >= :a", columns)], events, schema)
    assert any("by key (k)" in name for name in structures(index))


@pytest.mark.parametrize(("most", "attributes"), [(2**62, 2), (40 * 40, 2), (40 * 40 - 1, 1)])
def test_keys_have_no_more_codes_than_numbers_go(
    most: int, attributes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else two keys would have one code, or one below 0, which is none."""
    monkeypatch.setattr(layout, "_CODES_OF_A_KEY", most)
    monkeypatch.setattr(layout, "_ENTRIES_WORTH_A_SWEEP", 100)
    filters = [f"a = {i % 40} AND b = {i // 40 % 40}" for i in range(1_600)]
    index, scan = Index(), ScanIndex()
    for id, text in enumerate(filters):
        index.add(id, text)
        scan.add(id, text)
    index.flush()
    (found,) = [each for each in index.describe().structures if each.subscriptions == 1_600]
    assert found.name.count(",") == attributes
    events = [{"a": a, "b": b} for a, b in ((0, 0), (39, 39), (7, 40), (40, 7), (12, 3))]
    assert sorted(pairs(index.match_batch(events))) == sorted(pairs(scan.match_batch(events)))


def pairs(found: pa.Table) -> list[tuple[int, int]]:
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


@EITHER
def test_absent_values_under_not(typed: bool) -> None:
    columns = {"a": [i % 9 for i in range(MANY)], "b": [i % 6 for i in range(MANY)], **KEYS}
    texts = [
        "k = :k AND NOT (x > :a)",
        "k = :k AND NOT (x > :a AND y < :b)",
        "NOT (k != :k OR x <= :a OR y IS NULL)",
        "k = :k AND (NOT (x > :a AND y < :b) OR x IS NULL)",
        "k = :k AND NOT (x BETWEEN :a AND :b)",
        "NOT (k = :k) AND x = :a",
        "(k = :k AND x > :a) IS UNKNOWN",
        "k <=> :k AND NOT (x <=> :a)",
    ]
    blocks = [
        (text, {name: column for name, column in columns.items() if f":{name}" in text})
        for text in texts
    ]
    some: list[Any] = [None, 0, 4, 9]
    events = [
        {name: value for name, value in (("k", k), ("x", x), ("y", y)) if value != "absent"}
        for k in (None, "key 1", "key 9", "absent")
        for x in (*some, "absent")
        for y in (*some, "absent")
    ]
    schema = tg.Schema({"k": "string", "x": "bigint", "y": "double"}) if typed else None
    with small_sizes():
        compare(blocks, events, schema)


@EITHER
def test_moments_meet_days(typed: bool) -> None:
    moments = [
        dt.datetime(2024, 2, 28, tzinfo=dt.UTC) + i * dt.timedelta(hours=5) for i in range(MANY)
    ]
    days = [dt.date(2024, 2, 20) + dt.timedelta(days=i) for i in range(MANY)]
    values: list[Any] = [dt.date(2024, 3, i) for i in range(1, 9)]
    values += [dt.datetime(2024, 2, 29, i) for i in range(0, 24, 5)]
    events: list[Event] = [
        {"k": f"key {i % 5}", "day": v, "at": v}
        for i, v in enumerate([*values, dt.date(1, 1, 1), dt.date(9999, 12, 31), None, 5, "a"])
    ]
    schema = tg.Schema({"k": "string", "day": "date", "at": "timestamp"}) if typed else None
    blocks: list[tuple[str, dict[str, Any]]] = [
        ("k = :k AND at > :t", {**KEYS, "t": pa.array(moments, pa.timestamp("us", "UTC"))}),
        ("k = :k AND day <= :t", {**KEYS, "t": pa.array(days, pa.date32())}),
    ]
    if typed:  # then, days and moments are compared
        blocks.append(("k = :k AND day < :t", {**KEYS, "t": pa.array(moments, pa.timestamp("us"))}))
        blocks.append(("k = :k AND at >= :t", {**KEYS, "t": pa.array(days, pa.date32())}))
    with small_sizes():
        compare(blocks, events, schema)


@EITHER
@pytest.mark.parametrize("end", [-(2**63), 2**63 - 20])
def test_many_conditions_at_an_end_of_the_bigints(end: int, typed: bool) -> None:
    schema = tg.Schema({"x": "bigint"}) if typed else None
    numbers = range(end, end + 20)
    events: list[Event] = [{"x": number} for number in (*numbers, 0, -1, -(2**63), 2**63 - 1)]
    events += [{"x": Decimal(10**18 - 1)}, {"x": float(end)}, {}]
    texts = ("x = :p", "x < :p", "x >= :p", "NOT x > :p", "x != :p")
    index = compare([(text, {"p": list(numbers)}) for text in texts], events, schema)
    scan = ScanIndex(schema)
    for i, (text, number) in enumerate(product(texts, numbers)):
        scan.add(i, text, p=number)
    small = pa.table({"x": pa.array([-(10**18) + 1, 0, 10**18 - 1], pa.decimal128(18, 0))})
    check(index, scan, small.to_pylist(), small)


def nested(levels: int, place: int = 0) -> str:
    """A tree in which the first part of every AND and OR is the shallow one."""
    own = f"a{place} = 1 AND b{place} = 1"
    if levels == 0:
        return own
    return f"{own} OR (c{place} = 1 OR d{place} = 1) AND ({nested(levels - 1, place + 1)})"


def test_the_deepest_trees_need_no_high_stack() -> None:
    text = nested(32)
    drafter = Drafter(None)
    drafter.add([tg.parse(text)])
    tokens = drafter.finish().programs.tokens(0)
    height = highest = 0
    for token in tokens:
        operation = token & ~OPERAND
        height += (operation == PUSH) - (operation in (AND, OR))
        highest = max(highest, height)
    assert height == 1
    assert highest < 4 < DEPTH
    index, scan = Index(), ScanIndex()
    for each in (index, scan):
        each.add(1, text)
        each.add(2, f"NOT ({nested(30)})")
    every = {f"{letter}{place}": 1 for letter in "abcd" for place in range(33)}
    last = {name: value for name, value in every.items() if name[0] in "cd" or name[1:] == "32"}
    check(index, scan, [{}, every, last, last | {"c30": 0, "d30": 0}, last | {"a32": None}])

"""Counts of values, of predicates, and samples: against plain counters, merged or not."""

import datetime as dt
from collections import Counter
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate import Schema, parse
from tidegate.algebra.distribution import probability
from tidegate.filters.evaluate import holds, value_of
from tidegate.filters.expression import Predicate
from tidegate.filters.lines import OTHER_LINE, key_of
from tidegate.filters.meaning import allowed
from tidegate.filters.valueset import ValueSet, line_of
from tidegate.pipeline.events.malformed import ERROR
from tidegate.pipeline.statistics.counting import Counting, Counts
from tidegate.pipeline.statistics.event_sample import Sample
from tidegate.pipeline.statistics.statistics import Statistics
from tidegate.pipeline.statistics.value_counts import LineCounts

SCHEMA = Schema(
    "flag BOOLEAN, tiny TINYINT, big BIGINT, single FLOAT, double DOUBLE, small DECIMAL(6,2), "
    "wide DECIMAL(38,4), text STRING, day DATE, moment TIMESTAMP, list ARRAY<INT>, "
    "inner STRUCT<text: STRING, deep: STRUCT<big: BIGINT>>"
)
NAN, INF = float("nan"), float("inf")
DOUBLES = [0.0, -0.0, NAN, INF, -INF, 1.5, 2.0, 5e-324]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "flag": st.booleans(),
    "tiny": st.integers(-128, 127),
    "big": st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1]),
    "single": st.sampled_from(DOUBLES[:-1]),
    "double": st.sampled_from(DOUBLES),
    "small": st.integers(-300, 300).map(lambda i: Decimal(i) / 100),
    "wide": st.sampled_from([Decimal("1.5"), Decimal(10) ** 33, -(Decimal(10) ** 33), Decimal(2)]),
    "text": st.sampled_from(["", "a", "ab", "b%", "é", "日本", "\U0001f600", "\0", "z"]),
    "day": st.dates(dt.date(2026, 1, 1), dt.date(2026, 1, 9)),
    "moment": st.datetimes(dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2)),
    "list": st.lists(st.integers(0, 3), max_size=2),
}
ARROW = pa.schema(
    [
        ("flag", pa.bool_()),
        ("tiny", pa.int8()),
        ("big", pa.int64()),
        ("single", pa.float32()),
        ("double", pa.float64()),
        ("small", pa.decimal128(6, 2)),
        ("wide", pa.decimal128(38, 4)),
        ("text", pa.string()),
        ("day", pa.date32()),
        ("moment", pa.timestamp("us", "UTC")),
        ("list", pa.list_(pa.int32())),
        ("inner", pa.struct([("text", pa.string()), ("deep", pa.struct([("big", pa.int64())]))])),
    ]
)
INNER = st.fixed_dictionaries(
    {
        "text": st.none() | VALUES["text"],
        "deep": st.none() | st.fixed_dictionaries({"big": st.none() | VALUES["big"]}),
    }
)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {**{name: st.none() | own for name, own in VALUES.items()}, "inner": st.none() | INNER}
    ),
    max_size=20,
)
PREDICATES = [
    "flag", "NOT flag", "tiny > 3", "big = 9007199254740993", "big <= 9007199254740992D",
    "big >= -9223372036854775808", "single = 0", "double >= 1.5",
    "double > CAST('Infinity' AS DOUBLE)", "double = 0.0D", "double != 2",
    "small BETWEEN 0.5 AND 1.25", "wide < 2", "wide IN (1.5, 7)",
    "text = 'a'", "text LIKE '%b%'", "text NOT LIKE '_'", "text >= 'é'", "text IS NULL",
    "text IS NOT NULL", "text NOT IN ('a', NULL)", "day < DATE '2026-01-05'",
    "moment >= TIMESTAMP '2026-01-01 12:00:00'", "inner.text = 'a'", "inner.deep.big > 0",
    "inner IS NULL", "inner.deep IS NOT NULL", "text <=> NULL", "(tiny > 3) IS NOT TRUE",
]  # fmt: skip


def asked(text: str, schema: Schema = SCHEMA) -> Predicate:
    tree = parse(text, schema).tree
    parts = [tree] if isinstance(tree, Predicate) else list(tree.parts)  # type: ignore[union-attr]
    assert isinstance(parts[0], Predicate)
    return parts[0]


@cache
def questions() -> list[tuple[str, str, ValueSet]]:
    predicates = map(asked, PREDICATES)
    return [(str(each), each.attribute, allowed(each, SCHEMA)) for each in predicates]


def counted(
    events: list[dict[str, Any]], *, schema: Schema = SCHEMA, seed: int = 0, batch: int = 7,
    sample: int = 20_000, listed: int = 8_192, arrow: pa.Schema = ARROW,
) -> Counts:  # fmt: skip
    counting = Counting(
        schema,
        questions() if schema is SCHEMA else [],
        np.random.default_rng(seed),
        sample,
        listed,
    )
    table = pa.Table.from_pylist(events, arrow)
    table = table.append_column(ERROR, pa.nulls(len(events), pa.string()))
    for some in table.to_batches(batch):
        counting.add(some)
    return counting.finish()


def slowly(events: list[dict[str, Any]], name: str) -> Counter[Any]:
    """NULL is None; otherwise the line and the key."""
    found: Counter[Any] = Counter()
    for event in events:
        value = value_of(event, name, SCHEMA)
        line = None if value is None else line_of(value, SCHEMA[name].lines)
        found[None if line is None else (line.name, key_of(line, value))] += 1
    return found


def listed(counts: Counts, name: str) -> Counter[Any]:
    own = counts.attributes[name]
    found: Counter[Any] = Counter({None: own.absent, (OTHER_LINE.name, 0): own.other})
    for line in own.lines.values():
        assert line.error == 0
        assert line.distinct == len(line.counts)
        assert (line.low, line.high) == (min(line.counts), max(line.counts))
        assert line.total == sum(line.counts.values())
        found.update({(line.line, key): count for key, count in line.counts.items()})
    return +found


@given(EVENTS)
@settings(max_examples=25)
def test_values_of_every_type_are_counted_as_a_counter_does(events: list[dict[str, Any]]) -> None:
    counts = counted(events)
    assert counts.events == len(events)
    assert set(counts.attributes) == set(SCHEMA) - {"list"}  # of which no filter says anything
    for name in counts.attributes:
        assert listed(counts, name) == slowly(events, name)
    for text in PREDICATES:
        predicate = asked(text)
        values = [value_of(event, predicate.attribute, SCHEMA) for event in events]
        met = [holds(predicate, value, SCHEMA) for value in values]
        assert counts.predicates[str(predicate)] == (sum(met), len(events))


@given(EVENTS, EVENTS)
@settings(max_examples=10)
def test_merged_and_read_again_is_counted_at_once(
    first: list[dict[str, Any]], second: list[dict[str, Any]]
) -> None:
    merged, said = Counts.from_bytes(counted(first, seed=1).to_bytes({"number": 7}))
    merged.merge(Counts.from_bytes(counted(second, seed=2).to_bytes())[0])
    once = counted(first + second)
    assert said == {"number": 7}
    assert (merged.events, merged.predicates) == (once.events, once.predicates)
    for name in once.attributes:
        assert listed(merged, name) == listed(once, name)
    if once.events:
        assert Counter(map(str, merged.sample.table.to_pylist())) == Counter(
            map(str, once.sample.table.to_pylist())
        )


def test_one_value_and_all_null() -> None:
    arrow = pa.schema([("a", pa.int64()), ("b", pa.string())])
    schema = Schema(arrow)
    counts = counted([{"a": 5, "b": None}] * 9, schema=schema, arrow=arrow)
    statistics = Statistics(1, 1, 0.0, schema, counts)
    assert probability(parse("a = 5", schema), statistics) == 1.0
    assert probability(parse("a > 5", schema), statistics) == 0.0
    assert probability(parse("b IS NULL", schema), statistics) == 1.0
    assert counts.attributes["b"].lines == {}


@pytest.mark.parametrize("parts", [1, 5])
def test_heavy_values_are_known_within_the_stated_error(parts: int) -> None:
    random = np.random.default_rng(parts)
    values = np.minimum(random.zipf(1.3, 60_000), 10**9)
    true = Counter(values.tolist())
    limit = 64
    found = LineCounts("bigint", limit=limit)
    for some in np.array_split(values, parts):
        part = LineCounts("bigint", limit=limit)
        for few in np.array_split(some, 7):
            keys, counts = np.unique(few, return_counts=True)
            part.add(keys, counts)
        found.merge(LineCounts.read(part.spelled()))
    assert found.total == len(values)
    assert 0 < found.error <= len(values) / (limit + 1)
    assert len(found.counts) <= limit
    assert (found.low, found.high) == (values.min(), values.max())
    for key, count in true.items():
        kept = found.counts.get(key, 0)
        assert kept <= count <= kept + found.error
    assert found.distinct == pytest.approx(len(true), rel=0.15)  # five standard errors
    assert [key for key, _ in found.heaviest()[:3]] == [1, 2, 3]


def test_different_texts_are_estimated_from_their_hashes() -> None:
    found = LineCounts("string", limit=100)
    for start in range(0, 20_000, 500):  # every text comes twice
        texts = sorted(f"é{i % 10_000}" for i in range(start, start + 500))
        found.add(texts, np.ones(500, np.int64))
    assert found.distinct == pytest.approx(10_000, rel=0.15)


def test_a_sample_is_uniform_however_it_was_merged() -> None:
    hits = np.zeros(400)
    for seed in range(150):
        merged = Sample(20)
        for part, size in enumerate((250, 30, 120)):
            own = Sample(20 if part else 50)
            random = np.random.default_rng([seed, part])
            start = (0, 250, 280)[part]
            ids = pa.array(np.arange(start, start + size))
            for some in pa.table({"id": ids}).to_batches(40):
                own.add(some, random)
            merged.merge(Sample.from_bytes(own.to_bytes()))
        assert len(merged.table) == len(merged.drawn) == 20
        hits[merged.table["id"].to_numpy()] += 1
    # 3,000 draws: in each part its share, within five deviations
    for first, after in ((0, 250), (250, 280), (280, 400)):
        share = (after - first) / 400
        assert (
            abs(hits[first:after].sum() - 3_000 * share) < 5 * (3_000 * share * (1 - share)) ** 0.5
        )
    assert hits.max() < 30


def test_a_sample_of_long_texts_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.pipeline.statistics.event_sample._BYTES", 10_000)
    found = Sample(1_000)
    for seed in range(5):
        some = pa.record_batch({"text": pa.array(["x" * 100] * 50)})
        found.add(some, np.random.default_rng(seed))
    found.finish()
    assert 10 < len(found.table) <= 100
    assert (found.drawn < found.threshold).all()


def test_ranges_are_measured_within_the_samples_error() -> None:
    random = np.random.default_rng(1)
    numbers = random.normal(100, 20, 12_000)
    numbers[:200] = NAN
    numbers[200:500] = 42.0
    arrow = pa.schema([("x", pa.float64()), ("n", pa.int64()), ("t", pa.string())])
    events = [
        {"x": x, "n": int(n), "t": f"t{int(n) % 3_000:04}"}
        for x, n in zip(numbers.tolist(), random.integers(0, 10**6, 12_000).tolist(), strict=True)
    ]
    random.shuffle(events)
    schema = Schema(arrow)
    counts = counted(events, schema=schema, arrow=arrow, batch=2_000, sample=6_000, listed=100)
    statistics = Statistics(1, 1, 0.0, schema, counts)
    texts = ["x < 90", "x BETWEEN 80 AND 120", "x > 1000", "n < 250000", "t < 't1000'",
             "t LIKE '%7'", "x = 42", "n >= 0", "x < -1000"]  # fmt: skip
    for text in texts:
        f = parse(text, schema)
        true = sum(map(f.matches, events)) / len(events)
        assert probability(f, statistics) == pytest.approx(true, abs=0.03), text


def test_columns_of_another_type_leave_the_sample_and_stay_apart() -> None:
    numbers, texts = pa.schema([("a", pa.int64())]), pa.schema([("a", pa.string())])
    counts = counted([{"a": 1}, {"a": 2}], schema=Schema(numbers), arrow=numbers)
    counts.merge(counted([{"a": "1"}, {}], schema=Schema(texts), arrow=texts))
    statistics = Statistics(1, 1, 0.0, None, Counts.from_bytes(counts.to_bytes())[0])
    assert statistics.sample.num_columns == 0
    assert len(statistics.counts.sample.drawn) == 4
    shares = {text: probability(parse(text), statistics) for text in ("a = 1", "a = '1'", "a > 0")}
    assert shares == {"a = 1": 0.25, "a = '1'": 0.25, "a > 0": 0.5}
    typed = statistics.under(Schema(numbers))
    assert probability(parse("a IS NOT NULL", typed.schema), typed) == 0.75
    assert probability(parse("a >= 2", typed.schema), typed) == 0.25


@pytest.mark.parametrize("change", [b"", b"x", b"tidegate-counts 1 00000000 2\n{}"])
def test_damaged_counts_are_refused(change: bytes) -> None:
    with pytest.raises(ValueError, match=r"begin|checksum"):
        Counts.from_bytes(change)
    whole = bytearray(counted([{"big": 1}]).to_bytes())
    whole[-20] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        Counts.from_bytes(bytes(whole))

"""Ranges are kept in one form for an attribute, whatever way they came."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.engine.index import Index

SCHEMA = tg.Schema({"k": "string", "x": "double", "d": "date", "i": "bigint"})
EITHER = pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "no schema"])
TEXT = "k = :k AND x >= :low AND x < :high"


def rules(size: int, first: int = 0) -> pa.Table:
    low = np.arange(first, first + size) / 8
    ids = [f"r{i}" for i in range(first, first + size)]
    return pa.table({"id": ids, "k": [*"abcde"] * (size // 5), "low": low, "high": low + 5})


def structures(index: Index) -> dict[str, int]:
    """How many subscriptions are where."""
    index.flush()
    return {s.name: s.subscriptions for s in index.describe().structures if s.subscriptions}


def add_one_by_one(index: Index, table: pa.Table) -> None:
    for row in table.to_pylist():
        text = f"k = '{row['k']}' AND x >= {row['low']!r}D AND x < {row['high']!r}D"
        index.add(row["id"], text)


@EITHER
def test_what_comes_one_by_one_is_kept_as_what_comes_in_a_table(schema: tg.Schema | None) -> None:
    table, singly = Index(schema), Index(schema)
    table.add_many(rules(4_000), filter=TEXT)
    add_one_by_one(singly, rules(4_000))
    assert structures(table) == structures(singly) == {"ranges, by key (k)": 4_000}
    events = pa.table({"k": ["a", "b", "c"], "x": [12.0, 200.5, 3.0]})
    assert table.count_batch(events).tolist() == singly.count_batch(events).tolist() == [8, 8, 5]


@EITHER
def test_few_that_come_later_are_kept_as_those_before(schema: tg.Schema | None) -> None:
    index = Index(schema)
    index.add_many(rules(3_000), filter=TEXT)
    index.flush()
    add_one_by_one(index, rules(10, 3_000))
    index.add("equal ends", "k = 'a' AND x >= 1D AND x <= 1D")
    index.update("r7", low=300.0, high=301.0)
    assert structures(index) == {"ranges, by key (k)": 3_011}
    assert "r7" in index.match({"k": "c", "x": 300.5})
    assert "r7" not in index.match({"k": "c", "x": 1.0})
    assert "equal ends" in index.match({"k": "a", "x": 1.0})
    assert "r3008" in index.match({"k": "d", "x": 378.0})


@EITHER
def test_ranges_that_many_share_are_conditions(schema: tg.Schema | None) -> None:
    index = Index(schema)
    again = np.arange(4_000) % 20 / 1.0
    table = pa.table({"id": np.arange(4_000), "low": again, "i": np.arange(4_000) % 50})
    index.add_many(table, filter="x > :low AND i = :i")
    index.flush()
    said = str(index.describe())
    assert "70 conditions" in said
    assert int(index.count_batch([{"x": 100.0, "i": 7}])[0]) == 80


@EITHER
def test_dates_and_integers_can_be_ranges_and_texts_cannot(schema: tg.Schema | None) -> None:
    index = Index(schema)
    for n in range(1_500):
        day = dt.date(2020, 1, 1) + dt.timedelta(n)
        index.add(n, f"d >= DATE '{day}' AND i < {n} AND k >= 'k{n:04d}'")
    index.flush()
    said = str(index.describe())
    assert "1,500 conditions" in said  # those on text
    event = {"d": dt.date(2021, 1, 1), "i": 100, "k": "k0300"}
    assert sorted(index.match(event)) == list(range(101, 301))
    assert index.count_batch([event]).tolist() == [200]

"""Filters that are taken apart, and compiled by what they ask alike, ask for the same."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.engine.kernel_fuzz import small_sizes
from tidegate.engine.compile.clauses import Clauses
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex
from tidegate.filters.expression import Node, Truth, conjunction

SCHEMA = tg.Schema({"k": "string", "x": "double", "i": "bigint", "b": "boolean"})
FORMS = (
    "k = '{s}' AND x < {d}",
    "k = '{s}' AND x BETWEEN {n} AND {d}",
    "x > {f}D",
    "x >= {n} AND i <= {n}",
    "i = {n} AND NOT x < {d}",
    "k LIKE '{s}%' AND i > {n}",
    "k IS NULL AND i <=> {n}",
    "k IN ('{s}', 'b') AND x < {d}",
    "b AND x < {d}",
    "x = {d} OR i = {n}",
    "k = NULL AND x < {d}",
    "x > {n} AND x < {d} AND k IN ('{s}', 'c') AND k > '{s}'",
    "FALSE AND x < {d}",
    "TRUE AND (x < {d} OR i = {n}) AND (k = '{s}' OR k IS NULL)",
    "lower(k) = '{s}' AND k ILIKE '{s}%' AND x < {d}",
)


def texts() -> st.SearchStrategy[list[str]]:
    """Filters of few forms, so that many are alike."""
    one = st.builds(
        lambda form, s, n, cents: form.format(s=s, n=n, d=Decimal(cents) / 100, f=cents / 4),
        st.sampled_from(FORMS),
        st.sampled_from("abc"),
        st.integers(-3, 3),
        st.integers(-300, 300),
    )
    return st.lists(one, min_size=1, max_size=40)


EVENTS = [
    {"k": k, "x": x, "i": i, "b": b}
    for k in ("a", "c", None)
    for x in (-1.0, 0.0, 0.5, 2.25, None)
    for i in (-2, 0, 3, None)
    for b in (True, None)
]


@pytest.mark.slow
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["schema", "no schema"])
@settings(max_examples=60)
@given(given_texts=texts())
def test_they_match_the_same_events(schema: tg.Schema | None, given_texts: list[str]) -> None:
    with small_sizes():
        index, scan = Index(schema), ScanIndex(schema)
        for number, text in enumerate(given_texts):
            index.add(number, text)
            scan.add(number, text)
        index.flush()
        for event in EVENTS:
            assert sorted(index.match(event)) == sorted(scan.match(event))
        assert index.count_batch(EVENTS).tolist() == scan.count_batch(EVENTS).tolist()
        for number, text in enumerate(given_texts):
            assert str(index.get(number).filter) == str(tg.parse(text, schema))


def test_clauses_that_differ_in_constants_only_become_a_block() -> None:
    texts = [f"x < {n}{tail} AND {form}" for n in range(20) for tail, form in TAILS]
    found = Clauses([tg.parse(text) for text in texts])
    blocks = {str(block.filter): block for c in found.columns if (block := c.block(None))}
    assert {name: len(block) for name, block in blocks.items()} == {
        "x < :p0": 20,  # those of each scale by themselves
        "y > :p0 AND y <= :p1": 20,
        "k = :p0": 20,
        "z IS NOT NULL": 20,
    }
    assert sorted(len(c.rows) for c in found.columns) == [20, 20, 20, 20, 20, 20, 40]
    singly = {str(p) for column in found.columns for _, asked in column.each() for p in asked}
    assert {"k IN ('a', 'b')", "x < 19.25BD", "y > 1", "z IS NOT NULL"} <= singly
    assert [row for row, _ in found.others] == list(range(3, 80, 4))


TAILS = [
    ("", "y > 1 AND y <= 2.5"),
    (".5", "k = 'a'"),
    (".25", "k IN ('a', 'b')"),
    ("", "(k = 'a' OR y = 1) AND z IS NOT NULL"),
]


@settings(max_examples=60)
@given(given_texts=texts())
def test_a_filter_is_the_and_of_its_clauses_and_of_what_else_it_has(given_texts: list[str]) -> None:
    filters = [tg.parse(text) for text in given_texts]
    found = Clauses(filters)
    parts: dict[int, list[Node]] = {row: [Truth(False)] for row in found.never}
    for column in found.columns:
        for row, asked in column.each():
            parts.setdefault(row, []).extend(asked)
    for row, node in found.others:
        parts.setdefault(row, []).append(node)
    for row, f in enumerate(filters):
        assert tg.Filter.of(conjunction(parts.get(row, []))) == f, str(f)

"""Filters that differ in their constants alone ask for the same as a block."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.engine.kernel_fuzz import small_sizes
from tidegate.engine.alike import alike
from tidegate.engine.index import Index
from tidegate.engine.scan import ScanIndex
from tidegate.engine.subscription import subscribe

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


def test_what_is_alike_becomes_a_block() -> None:
    forms: list[Any] = ["x < {}", "x < {}.5", "x < {}.25", "x < {} OR x > 5", "x IN (1, {})"]
    given = [
        subscribe(f"{form} {n}", form.format(n), {}, None) for form in forms for n in range(20)
    ]
    blocks, rest = alike(given, None)
    assert [str(block.filter) for block, _ in blocks] == ["x < :p0"] * 3
    assert [len(block) for block, _ in blocks] == [20, 20, 20]
    assert blocks[1][0].columns["p0"].to_pylist() == [Decimal(f"{n}.5") for n in range(20)]
    assert [each.id for _, group in blocks for each in group] == [each.id for each in given[:60]]
    assert rest == given[60:]

"""A table of ids says what a dictionary would."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.engine.primitives import id_table
from tidegate.engine.primitives.id_table import NOWHERE, IdTable

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=40)
INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40)
KINDS = pytest.mark.parametrize("few", [0, 100_000], ids=["hash table", "dictionary"])


@pytest.fixture(autouse=True)
def _sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_table, "_IDS_IN_A_DICTIONARY", request.getfixturevalue("few"))


def check(known: list[Any], asked: list[Any], kind: pa.DataType) -> None:
    """Compare with a dictionary, on arrays that are slices of longer ones."""
    around = [known[0] if known else asked[0] if asked else ("" if kind == pa.string() else 0)]
    table = IdTable(pa.array(around + known + around, kind).slice(1, len(known)))
    places = {id: known.index(id) for id in known}
    assert len(table) == len(places)
    given = pa.array(around + asked + around, kind).slice(1, len(asked))
    found = table.find(given)
    for id, place in zip(asked, found.tolist(), strict=True):
        assert place == table.get(id)
        assert place == places.get(id, NOWHERE)
    if kind == pa.string():
        assert table.find(given.cast(pa.large_string())).tolist() == found.tolist()
        large = IdTable(given.cast(pa.large_string()))
        assert large.find(given).tolist() == [asked.index(id) for id in asked]


@KINDS
@given(known=TEXTS, others=TEXTS)
def test_texts_are_found(few: int, known: list[str], others: list[str]) -> None:
    check(known, known + others, pa.string())


@KINDS
@given(known=INTEGERS, others=INTEGERS)
def test_integers_are_found(few: int, known: list[int], others: list[int]) -> None:
    check(known, known + others, pa.int64())


@KINDS
def test_texts_that_differ_a_little_are_told_apart(few: int) -> None:
    """By one byte anywhere, by a NUL at the end, by being a part of each other."""
    known = ["", "\0", "\0\0", *("x" * n for n in range(1, 40))]
    known += ["a" * n + "b" + "a" * (30 - n) for n in range(30)]
    check(known, [*known, "x" * 40, "a" * 31], pa.string())


@KINDS
def test_ids_of_another_kind_are_nowhere(few: int) -> None:
    table = IdTable(pa.array(["1", "2", "3"]))
    assert table.get(1) == NOWHERE
    assert table.find(pa.array([1, 2], pa.int64())).tolist() == [NOWHERE, NOWHERE]


@KINDS
def test_many_ids_are_found(few: int) -> None:
    known = [f"subscription {i:,}" for i in range(50_000)]
    table = IdTable(pa.array(known))
    assert table.find(pa.array(known)).tolist() == list(range(50_000))
    assert table.find(pa.array([id + "!" for id in known])).max() == NOWHERE
    assert 0 < table.nbytes <= 50_000 * 16


@KINDS
def test_an_empty_table_has_nothing(few: int) -> None:
    assert IdTable(pa.array([], pa.string())).get("a") == NOWHERE
    assert IdTable(pa.array([], pa.int64())).find(pa.array([1])).tolist() == [NOWHERE]
    assert np.array_equal(IdTable(pa.array(["a"])).find(pa.array([], pa.string())), [])

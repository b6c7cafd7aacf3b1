"""Would the tests of the index notice? Plausible mistakes, made on purpose.

Each check is a small form of one in `test_index` or `test_index_batches`, with the tests' own
oracle or plain Python to say what is right. None of them complains about the code as it is, and
each mutant is noticed by those that should notice it.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests import generate, oracle
from tests.engine.test_index import pairs
from tests.oracle import Leaf, Not
from tidegate.engine.changes import merger
from tidegate.engine.conditions import numbered
from tidegate.engine.events import arrow_keys, batch
from tidegate.engine.index import Index
from tidegate.engine.partition.arrays import NO_RANK
from tidegate.engine.partition.rows import _Places
from tidegate.engine.segments.live import Live
from tidegate.filters import meaning
from tidegate.filters.expression import Mode, Predicate
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet


def sizes_that_go_wrong() -> set[int]:
    """Sizes of batches of which not every event is found."""
    tried = Index()
    tried.add("all", "x >= 0 AND y = 'a'")
    tried.add("even", "parity = 0 OR x < 0")
    table = pa.table({"x": range(1_100), "y": ["a"] * 1_100, "parity": [0, 1] * 550})
    wrong = set()
    for size in (1, 63, 64, 511, 512, 513, 1_023, 1_024, 1_100):
        batch = table.slice(0, size)
        expected = [(row, id) for row in range(size) for id in ("all", "even")[: 2 - row % 2]]
        counts = [2 - row % 2 for row in range(size)]
        if pairs(tried.match_batch(batch)) != expected:
            wrong.add(size)
        if tried.count_batch(batch).tolist() != counts:
            wrong.add(size)
    return wrong


def slices_that_go_wrong() -> set[tuple[str, int]]:
    """Columns and starts of slices that are not read from there."""
    tried = Index()
    columns: dict[str, pa.Array] = {
        "integer": pa.array(range(200)),
        "double": pa.array(range(200), pa.float64()),
        "string": pa.array([f"{i:03}" for i in range(200)]),
        "holed": pa.array([None if i % 3 == 0 else i for i in range(200)]),
    }
    for name in ("integer", "double", "holed"):
        tried.add(name, f"{name} >= 100")
    tried.add("string", "string >= '100'")
    table = pa.table(columns)
    wrong = set()
    for start in (0, 1, 64, 150):
        found = pairs(tried.match_batch(table.slice(start, 50)))
        for name, column in columns.items():
            values = column.to_pylist()[start : start + 50]
            expected = [i for i, v in enumerate(values) if v is not None and int(v) >= 100]
            if [row for row, id in found if id == name] != expected:
                wrong.add((name, start))
    return wrong


def operators_that_go_wrong() -> set[str]:
    """Operators that, by themselves or negated, pass the wrong events."""
    rng = Random(22)
    events = generate.events(rng, 60)
    wrong = set()
    leaves = [leaf for _ in range(3) for leaf in generate.each_operator(rng, False)]
    tried = Index()
    for id, leaf in enumerate(leaves):
        tried.add(2 * id, str(leaf))
        tried.add(2 * id + 1, f"NOT ({leaf})")
    found = set(pairs(tried.match_batch(generate.arrow_table(events))))
    for id, leaf in enumerate(leaves):
        asked: list[Leaf | Not] = [leaf, Not(leaf)]
        for place, condition in enumerate(asked):
            for row, event in enumerate(events):
                if ((row, 2 * id + place) in found) is not oracle.passes(condition, event):
                    wrong.add(leaf.operator)
    return wrong


def changes_that_go_wrong() -> set[str]:
    """Changes after which an index does not match as it should."""
    wrong: set[str] = set()

    def expect(change: str, event: dict[str, Any], ids: list[int]) -> None:
        found = sorted(tried.match(event)), [id for _, id in pairs(tried.match_batch([event]))]
        if found != (ids, ids) or tried.count_batch([event]).tolist() != [len(ids)]:
            wrong.add(change)

    tried = Index()
    for id in range(10):
        tried.add(id, "x = :p AND y > 0", p=id)
    tried.flush()
    event = {"x": 3, "y": 1}
    expect("add", event, [3])
    tried.update(3, p=100)
    expect("update", event, [])
    tried.update(4, p=3)
    tried.update(5, p=3)
    expect("update", event, [4, 5])
    tried.update_many(pa.table({"id": [4, 6], "p": [4, 3]}))
    expect("update many", event, [5, 6])
    tried.remove(5)
    expect("remove", event, [6])
    tried.remove_many([6])
    expect("remove many", event, [])
    tried.flush()
    expect("flush", event, [])
    expect("flush", {"x": 100, "y": 1}, [3])
    return wrong


CHECKS: tuple[Callable[[], set[Any]], ...] = (
    sizes_that_go_wrong,
    slices_that_go_wrong,
    operators_that_go_wrong,
    changes_that_go_wrong,
)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_mutation_nothing_is_wrong(check: Callable[[], set[Any]]) -> None:
    assert check() == set()


def test_a_dropped_last_event_of_a_block_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = _Places.spread

    def short(self: _Places, ranks: NDArray[np.uint32], rows: NDArray[np.int32]) -> Any:
        found = spread(self, ranks, rows).copy()
        found[511::512] = NO_RANK
        return found

    monkeypatch.setattr(_Places, "spread", short)
    assert sizes_that_go_wrong() == {512, 513, 1_023, 1_024, 1_100}


def test_a_wrong_tail_of_a_sliced_array_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def from_the_start(array: pa.Array) -> Any:
        if array.offset and pa.types.is_primitive(array.type):
            array = pa.Array.from_buffers(array.type, len(array), array.buffers())
        return arrow_keys.read(array)

    monkeypatch.setattr(batch, "read", from_the_start)
    wrong = slices_that_go_wrong()
    assert {name for name, _ in wrong} == {"integer", "double", "holed"}
    assert {start for _, start in wrong} == {64, 150}  # 100 is not within the first 51


@pytest.mark.slow
def test_a_lost_null_under_not_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_valued(predicate: Predicate, schema: Schema | None) -> ValueSet:
        held = meaning.allowed(predicate, schema)
        if predicate.mode is not Mode.FALSE:
            return held
        return ValueSet(True, held.spans, held.texts)

    monkeypatch.setattr(numbered, "allowed", two_valued)
    texts = {"LIKE", "startswith", "endswith", "contains"}
    plain = {"=", "==", "!=", "<>", "IN", "NOT IN", "bare", "NOT bare", "IS NULL", "IS NOT NULL"}
    assert texts | {f"NOT {name}" for name in texts} | plain <= operators_that_go_wrong()


def test_a_stale_row_after_an_update_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Live, "kill", lambda self, codes: None)
    monkeypatch.setattr(Live, "kill_one", lambda self, code: None)
    assert {"update", "update many", "remove", "remove many"} <= changes_that_go_wrong()


def test_a_rebuild_that_brings_back_the_dead_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merger, "living_codes", lambda segment, alive: np.arange(len(segment)))
    assert "flush" in changes_that_go_wrong()


@pytest.mark.slow
def test_a_key_of_its_own_for_minus_zero_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def signed(values: NDArray[np.float64]) -> NDArray[np.int64]:
        keys = double_keys(values)
        keys[(values == 0) & np.signbit(values)] = -1
        return keys

    double_keys = arrow_keys.double_keys
    monkeypatch.setattr(arrow_keys, "double_keys", signed)
    assert {"IN", "NOT IN", "<", "!="} <= operators_that_go_wrong()

"""A summary never loses an event: what a subscription wants, the summary of its shard matches.

Filters come from the whole language. Shards of very few subscriptions make the test sharp: there a
summary says nearly what the subscriptions say, and has no room for mistakes.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipeline.shards.shard_rows import SCHEMA, Case, draw, take
from tidegate.engine.index import Index
from tidegate.filters.expression import Operator
from tidegate.filters.schema import Schema
from tidegate.pipeline.shards import extents, hulls, summaries
from tidegate.pipeline.shards.hulls import Boxes, Gauge, cover, reduced
from tidegate.pipeline.shards.shard_plan import Plan, plan, scattered
from tidegate.pipeline.shards.summaries import summary
from tidegate.pipeline.store.literals import PARAMETERS

pytestmark = pytest.mark.slow


@cache
def drawn_case(seed: int) -> Case:
    return draw(seed, filters=90, events=50)


@cache
def planned(seed: int, name: str) -> Plan:
    case = drawn_case(seed)
    sample = case.stored.filters, case.stored.parameters, SCHEMA
    match name:
        case "planned":
            return plan(*sample, 8, case.table)
        case "without events":
            return plan(*sample, 64)
        case "two each":
            return scattered(len(case.stored) // 2)
        case _:
            return scattered(16 * len(case.stored))


def lost(case: Case, how: Plan, budget: int) -> list[tuple[int, int]]:
    """Events and subscriptions that want them, where the shard's summary does not match."""
    shards = how.shards(case.stored.ids, case.stored.filters, case.stored.parameters)
    index = Index(SCHEMA)
    owner: list[int] = []
    for shard in np.unique(shards).tolist():
        _, filters, parameters = take(case.stored, np.flatnonzero(shards == shard))
        found = summary(filters, parameters, SCHEMA, how, budget)
        assert len(found) <= budget
        for each in found:
            index.add(len(owner), each)
            owner.append(shard)
    matched = index.match_batch(case.events)
    rows, numbers = matched["event"].to_pylist(), matched["subscription"].to_pylist()
    visited = {(row, owner[number]) for row, number in zip(rows, numbers, strict=True)}
    return [(row, own) for row, own in case.pairs if (row, int(shards[own])) not in visited]


@pytest.mark.parametrize("budget", [1, 3, 4_096])
@pytest.mark.parametrize("name", ["planned", "without events", "two each", "one each"])
def test_no_event_is_lost(name: str, budget: int) -> None:
    case = drawn_case(budget)
    assert case.pairs
    assert lost(case, planned(budget, name), budget) == []


def rows(*texts: str) -> tuple[pa.Array, pa.Array]:
    return pa.array(texts, pa.string()), pa.array([[]] * len(texts), PARAMETERS)


def test_a_summary_says_what_it_can() -> None:
    schema = Schema({"x": "bigint", "s": "string", "d": "decimal(38,0)", "t": "timestamp"})
    how = scattered(1)
    said = {
        ("x = 1 AND s = 'a'", "x = 2 AND s = 'a'"): ["s = 'a' AND x >= 1 AND x <= 2"],
        ("s LIKE 'ab%'", "s = 'ab'"): ["s >= 'ab' AND s < 'ac'"],
        ("s <= 'b'", "s > 'b' AND s < 'c'"): ["s < 'c'"],
        ("x = 1", "x = 1 OR s LIKE '%x'"): ["TRUE"],
        ("d = 5", "d = 7"): ["TRUE"],
        ("x IS NULL", "x = 1"): ["TRUE"],
        ("x = NULL", "x > 5 AND x < 3", "y = 1"): [],
        (): [],
        ("t > TIMESTAMP '2024-01-01 00:00:00'",): ["t >= TIMESTAMP '2024-01-01 00:00:00.000001'"],
    }
    for texts, expected in said.items():
        found = [set(str(f).split(" AND ")) for f in summary(*rows(*texts), schema, how)]
        assert found == [set(each.split(" AND ")) for each in expected], texts


def test_only_what_the_plan_cuts_is_kept() -> None:
    texts = [f"x = {i} AND y < {i}" for i in range(64)]
    schema = Schema({"x": "bigint", "y": "bigint"})
    how = plan(*rows(*texts), schema, 4)
    assert how.attributes == ("x",)
    assert [str(f) for f in summary(*rows(*texts[:16]), schema, how)] == ["x >= 0 AND x <= 15"]


def test_a_small_budget_fills_the_gaps_that_few_events_are_in() -> None:
    texts = [f"x = {i}" for i in (0, 10, 11, 20)]
    events = pa.table({"x": [1, 2, 3, 4, 5, 6, 7, 8, 9, 15]})
    schema = Schema({"x": "bigint"})
    how = plan(*rows(*texts), schema, 2, events)
    found = [str(f) for f in summary(*rows(*texts), schema, how, 2)]
    assert found == ["x = 0", "x >= 10 AND x <= 20"]


INTERVALS = st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted)


def grid(boxes: Boxes) -> set[tuple[int, int]]:
    return {
        (x, y)
        for k in range(len(boxes))
        for x in range(boxes.low[0, k], boxes.high[0, k] + 1)
        for y in range(boxes.low[1, k], boxes.high[1, k] + 1)
    }


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(INTERVALS, INTERVALS), min_size=1, max_size=12), st.integers(1, 5))
def test_few_boxes_cover_many(drawn: list[Any], budget: int) -> None:
    ends = np.array(drawn, np.int64)
    boxes = Boxes(ends[:, :, 0].T.copy(), ends[:, :, 1].T.copy())
    gauge = Gauge.of(np.array([0, 1, 1, 1, 4, 6]))
    assert grid(reduced(boxes)) == grid(boxes)
    few = cover(boxes, [gauge, gauge], budget)
    assert len(few) <= budget
    assert grid(few) >= grid(boxes)


def without_one_subscription(real: Any) -> Any:
    def forgetful(filters: Any, *rest: Any) -> Any:
        found = real(filters, *rest)
        found.never[0] = True
        return found

    return forgetful


def without_one_alternative(real: Any) -> Any:
    return lambda parts: real(list(parts)[:-1])


def cut_short(real: Any) -> Any:
    def joined(boxes: Boxes, attribute: int) -> Boxes:
        found = real(boxes, attribute)
        wide = (len(found) < len(boxes)) & (found.low[attribute] < found.high[attribute])
        found.high[attribute] -= wide
        return Boxes(found.low, found.high)

    return joined


def without_its_neighbour(real: Any) -> Any:
    return lambda boxes, gauges, budget: boxes.take(np.arange(len(boxes)) < max(budget, 1))


def null_left_out(real: Any) -> Any:
    def of_predicate(predicate: Any, schema: Any) -> Any:
        if predicate.operator is Operator.NULL:
            return None
        return real(predicate, schema)

    return of_predicate


def open_ended(real: Any) -> Any:
    def end(name: str, text: str, at: Operator, beside: Operator) -> Any:
        return real(name, text.removesuffix("\0"), at, beside)

    return end


MUTANTS: list[tuple[Any, str, Callable[[Any], Any], int]] = [
    (summaries, "read_extents", without_one_subscription, 4_096),
    (extents, "_union", without_one_alternative, 4_096),
    (hulls, "joined", cut_short, 4_096),
    (hulls, "fewer", without_its_neighbour, 1),
    (extents, "_hull_of_predicate", null_left_out, 4_096),
    (summaries, "_end", open_ended, 4_096),
]


@pytest.mark.parametrize(
    ("module", "name", "mutant", "budget"),
    MUTANTS,
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_a_narrower_summary_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    name: str,
    mutant: Callable[[Any], Any],
    budget: int,
) -> None:
    monkeypatch.setattr(module, name, mutant(getattr(module, name)))
    assert any(lost(drawn_case(k), planned(k, "two each"), budget) for k in (1, 3, 4_096))

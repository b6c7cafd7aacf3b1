"""A subscription has one shard, whoever asks and however; shards are even, and keep what is alike.

What is even and what is together is judged on workloads whose hot values and free subscriptions
are known.
"""

import json
import pickle
from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.pipeline.shards.shard_rows import SCHEMA, Stored, draw, take
from tidegate.engine.index import Index
from tidegate.filters.filter import parse
from tidegate.filters.schema import Schema
from tidegate.lab.workloads.trade import Trade, trade
from tidegate.pipeline.shards import shard_plan
from tidegate.pipeline.shards.shard_plan import Plan, plan, scattered
from tidegate.pipeline.shards.summaries import summary
from tidegate.pipeline.store import load_index

NUMBERS = Schema({"x": "bigint", "y": "bigint", "s": "string"})


def plain(*texts: str) -> Stored:
    return Stored(list(texts), [{} for _ in texts])


def shards_of(how: Plan, stored: Stored) -> NDArray[np.int32]:
    return how.shards(stored.ids, stored.filters, stored.parameters)


@pytest.fixture(scope="module")
def rules() -> tuple[Trade, Stored]:
    workload = trade(6_000, seed=3)
    columns = workload.table().to_pylist()
    values = [{name: row[name] for name in row if f":{name}" in row["filter"]} for row in columns]
    return workload, Stored([row["filter"] for row in columns], values)


@pytest.mark.parametrize("count", [16, 64])
def test_the_same_rows_have_the_same_shards_in_any_order_and_company(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = draw(5)
    how = plan(case.stored.filters, case.stored.parameters, SCHEMA, count, case.table)
    whole = shards_of(how, case.stored)
    assert len(how.attributes) > 1
    assert len(set(whole.tolist())) > count // 2
    order = np.random.default_rng(1).permutation(len(whole))
    assert how.shards(*take(case.stored, order)).tolist() == whole[order].tolist()
    for size in (1, 17):
        pieces = [how.shards(*take(case.stored, order[i : i + size])) for i in range(0, 51, size)]
        assert np.concatenate(pieces).tolist() == whole[order[:51]].tolist()
    monkeypatch.setattr(shard_plan, "_ROWS", 40)
    encoded = case.stored.filters.dictionary_encode()
    found = how.shards(case.stored.ids, encoded, case.stored.parameters)
    assert found.tolist() == whole.tolist()


def test_a_plan_is_plain_data() -> None:
    case = draw(6, filters=60, events=30)
    how = plan(case.stored.filters, case.stored.parameters, SCHEMA, 16, case.table)
    again = Plan.read(json.loads(json.dumps(how.plain())))
    assert again == how == pickle.loads(pickle.dumps(how))
    assert shards_of(again, case.stored).tolist() == shards_of(how, case.stored).tolist()


@pytest.mark.parametrize("count", [1, 2, 3, 16, 64])
@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("x = 1",),
        ("x = 1",) * 50,
        ("s LIKE '%a%'", "TRUE", "x IS NULL") * 20,
        ("nonsense", "z = 1", "x = NULL", "FALSE") * 5,
        ("x = 1", "y = 1", "s = 'a'", "x > 5 AND x < 3") * 5,
        tuple(f"x > {i}" for i in range(40)),
    ],
)
@pytest.mark.parametrize("events", [None, pa.table({"x": [1, None, 7], "s": ["a", "b", None]})])
def test_any_input_has_a_plan(texts: tuple[str, ...], count: int, events: pa.Table | None) -> None:
    stored = plain(*texts)
    how = plan(stored.filters, stored.parameters, NUMBERS, count, events)
    found = shards_of(how, stored)
    assert how.count == count
    assert found.dtype == np.int32
    assert all(0 <= shard < count for shard in found.tolist())
    unknown = plain("y < 3", "s > 'k' AND x = 2", "TRUE")
    assert all(0 <= shard < count for shard in shards_of(how, unknown).tolist())


def test_ids_are_spread_evenly() -> None:
    stored = plain(*["TRUE"] * 4_000)
    sizes = Counter(shards_of(scattered(16), stored).tolist())
    assert len(sizes) == 16
    assert max(sizes.values()) < 1.3 * 4_000 / 16


@pytest.mark.slow
def test_load_is_even_and_few_shards_are_visited(rules: tuple[Trade, Stored]) -> None:
    workload, stored = rules
    columns = stored.filters, stored.parameters
    how = plan(*columns, workload.schema, 8, workload.events(8_000, seed=1))
    fresh = workload.events(4_000, seed=2)
    index = Index(workload.schema)
    read = partial(parse, schema=workload.schema)
    load_index.add(index, read, pa.array(np.arange(len(stored))), *columns)
    matched = Counter(index.match_batch(fresh)["subscription"].to_pylist())
    visits = {}
    for each in (how, scattered(8)):
        found = shards_of(each, stored)
        load = np.zeros(8)
        visited = 0.0
        for shard in range(8):
            own = np.flatnonzero(found == shard)
            load[shard] = sum(matched[row] for row in own.tolist())
            _, filters, parameters = take(stored, own)
            router = Index(workload.schema)
            for k, said in enumerate(summary(filters, parameters, workload.schema, each)):
                router.add(k, said)
            visited += (router.count_batch(fresh) > 0).mean()
        visits[each.attributes] = visited
        assert load.max() < 1.7 * load.mean()
        assert np.bincount(found).max() <= 4.5 * len(found) / 8
    assert how.attributes[0] == "symbol"
    assert visits[how.attributes] < visits[()] / 2


def test_a_hot_value_is_cut_along_another_attribute() -> None:
    stored = plain(
        *(f"s = 'hot' AND x BETWEEN {i} AND {i + 3}" for i in range(400)),
        *(f"s = 'v{i}' AND x > {i}" for i in range(100)),
    )
    how = plan(stored.filters, stored.parameters, NUMBERS, 5)
    found = shards_of(how, stored)
    assert set(how.attributes) == {"s", "x"}
    assert len(set(found[:400].tolist())) == 4
    assert len(set(found[400:].tolist())) == 1
    assert (np.diff(found[:400]) != 0).sum() == 3  # slices, one after the other


def test_what_is_free_sits_together() -> None:
    stored = plain(
        *(f"x = {i}" for i in range(700)), *(f"s LIKE '%{i}%' AND y != {i}" for i in range(100))
    )
    how = plan(stored.filters, stored.parameters, NUMBERS, 8)
    found = shards_of(how, stored)
    assert len(set(found[700:].tolist())) == 1
    assert np.bincount(found, minlength=8).max() <= 150

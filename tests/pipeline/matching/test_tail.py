"""A worker that follows a store for long: exact at every version, and as large as what is there."""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.pipeline import Store
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.bases.names import NOWHERE, AddedNames
from tidegate.pipeline.bases.shard_builder import ROWS, Builder
from tidegate.pipeline.kinds.attributes import Attributes
from tidegate.pipeline.matching import tail
from tidegate.pipeline.matching.matcher import Matcher
from tidegate.pipeline.store import delta_log

SCHEMA = tg.Schema({"symbol": "string", "price": "double"})
TEXT = "symbol = :symbol AND price < :limit"
SIZE = 20
VERSIONS = 40


@pytest.fixture
def followed(tmp_path: Path) -> tuple[Store, Matcher]:
    """A store of some subscriptions, and a matcher with a base of it, made without Spark."""
    store = Store.create(tmp_path / "store", SCHEMA)
    store.add_many(rules([f"i{i}" for i in range(SIZE)]))
    version = store.version()
    kind = Attributes(SCHEMA)
    builder = Builder(store.path, catalog.new_name(version, kind), version, kind)
    state = store.subscriptions().sort_by("id").select(ROWS.names)
    built = builder.base([builder.shard(0, [state])], None, time.time())
    return store, Matcher(store.path, catalog.publish(store.path, built))


def rules(ids: list[str]) -> pa.Table:
    count = len(ids)
    return pa.table(
        {"id": ids, "filter": [TEXT] * count, "symbol": ["A"] * count, "limit": [5.0] * count}
    )


def found(matcher: Matcher, events: pa.RecordBatch) -> list[tuple[int, str]]:
    """Rows of events and ids, as a worker finds them."""
    pairs: list[tuple[int, str]] = []
    read = matcher.kind.read(events)
    for shard, some in matcher.visits(read):
        assert some is None
        part = matcher.part(shard)
        rows, numbers = read.met(part.index)
        ids, _ = part.names.of(numbers)
        pairs += zip(rows.tolist(), ids.to_pylist(), strict=True)
    return sorted(pairs)


def expected(store: Store, events: pa.RecordBatch) -> list[tuple[int, str]]:
    index = tg.Index(SCHEMA)
    for row in store.subscriptions().to_pylist():
        given = store.get(row["id"]).parameters
        index.add(row["id"], row["filter"], **given)
    return sorted(zip(*index.match_batch(events).to_pydict().values(), strict=True))


@pytest.mark.slow
def test_a_tail_that_follows_for_long_is_as_large_as_what_is_in_it(
    followed: tuple[Store, Matcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the base change again and again, and others come and go."""
    monkeypatch.setattr(tail, "_NOTED", 30)
    store, matcher = followed
    matcher._tail._most = 30
    events = pa.RecordBatch.from_pydict({"symbol": ["A", "B7", "B9"], "price": [1.0, 1.0, 6.0]})
    for turn in range(VERSIONS):
        some = [f"i{i}" for i in range(SIZE) if (i + turn) % 3]
        symbols = [f"B{turn % 10}" if i % 2 else "A" for i in range(len(some))]
        store.update_many(pa.table({"id": some, "symbol": symbols}))
        if turn:
            store.remove_many([f"n{turn - 1}-{i}" for i in range(5)])
        store.add_many(rules([f"n{turn}-{i}" for i in range(5)]))
        matcher.advance(store.version())
        if not turn % 8 or turn == VERSIONS - 1:
            assert found(matcher, events) == expected(store, events)
    own = matcher._tail
    assert len(own) == len(own._index) == SIZE + 5
    assert len(own._names._ids) <= 2 * (SIZE + 5)  # what a step replaces has its numbers till then
    noted = sum(map(len, own.changed()))
    assert SIZE <= noted <= 30 + 2 * (SIZE + 10)
    files = [file for each in store._log._snapshots.values() for file in each.files]
    assert len(store._log._snapshots) <= delta_log._SNAPSHOTS_KEPT
    assert len({id(file) for file in files}) == len({file.name for file in files})


def test_numbers_are_given_again() -> None:
    names = AddedNames()
    three = pa.array(["x", "y", "z"])
    assert names.add(three, three, three).tolist() == [0, 1, 2]
    before = names.forget(pa.array(["x", "w", "z"]))
    assert before.tolist() == [0, NOWHERE, 2]
    assert names.texts(np.array([0, 2])).to_pylist() == ["x", "z"]  # until they are free
    names.free(before)
    new = pa.array(["a", "b", "c"])
    assert sorted(names.add(new, new, three).tolist()) == [0, 2, 3]
    assert len(names) == 4
    numbers = names.forget(pa.array(["b", "y"]))
    assert [column.to_pylist() for column in names.of(numbers)] == [["b", "y"]] * 2
    assert names.texts(numbers).to_pylist() == ["y", "y"]


@pytest.mark.slow
def test_a_matcher_that_follows_has_no_list_of_all_files(
    followed: tuple[Store, Matcher],
) -> None:
    """Delta Lake's list grows with every commit, and whoever only follows does not ask for it."""
    store, matcher = followed
    log = matcher._store._log
    opened = int(log._table.version())
    for turn in range(VERSIONS):
        store.update("i1", limit=float(turn))
        if turn % 10 == 5:
            store.compact()
        matcher.advance(store.version())
    assert matcher.version == store.version() == opened + VERSIONS + VERSIONS // 10
    assert int(log._table.version()) == opened
    assert not log._snapshots
    assert not len(matcher._store._reader._small)
    events = pa.RecordBatch.from_pydict({"symbol": ["A"], "price": [4.5]})
    assert found(matcher, events) == expected(store, events)

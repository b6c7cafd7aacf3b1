"""Whatever way events go to shards, those who want them are found, and nobody else."""

import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tests.pipeline import streams
from tidegate.engine.scan import ScanIndex
from tidegate.pipeline import Store
from tidegate.pipeline.bases.names import NOWHERE, AddedNames, MappedNames, sorted_ids
from tidegate.pipeline.events.malformed import ERROR
from tidegate.pipeline.kinds.kind import Kind
from tidegate.pipeline.matching.matcher import Matcher
from tidegate.pipeline.matching.notifications import Form, Notifier
from tidegate.pipeline.matching.routing import SHARD, SLOT, Router, Slots
from tidegate.pipeline.matching.tail import Tail
from tidegate.pipeline.shards.shard_plan import scattered
from tidegate.pipeline.store import load_index

pytestmark = pytest.mark.slow

SCHEMA = tg.Schema("row bigint, symbol string, price double")
PARTITIONS = 5
LONG = os.environ.get("TIDEGATE_LONG") == "1"


def events(choice: random.Random, size: int = 40) -> pa.RecordBatch:
    """Events, some without a symbol or a price, one of them malformed."""
    symbols = [choice.choice([*streams.SYMBOLS, None, "ÄÖ"]) for _ in range(size)]
    prices = [choice.choice([None, float("nan"), float(choice.randrange(100))]) for _ in symbols]
    errors = ["torn"] + [None] * (size - 1)
    return pa.RecordBatch.from_pydict(
        {
            "row": range(size),
            "symbol": pa.array(symbols, pa.string()),
            "price": pa.array(prices, pa.float64()),
            ERROR: pa.array(errors, pa.string()),
        }
    )


def wanted(store: Store, version: int, batch: pa.RecordBatch) -> Counter[tuple[int, str]]:
    """Who wants which of the sound events, by a scan."""
    rows = store.subscriptions(version)
    index: Any = ScanIndex(SCHEMA)
    columns = [rows[name].combine_chunks() for name in ("id", "filter", "parameters")]
    load_index.add(index, partial(tg.parse, schema=SCHEMA), *columns)
    sound = batch.slice(1).drop_columns([ERROR])
    found = index.match_batch(sound)
    ids = found["subscription"].cast(pa.string()).to_pylist()
    return Counter((row + 1, id) for row, id in zip(found["event"].to_pylist(), ids, strict=True))


def notifier(matcher: Matcher, form: Form, kind: Kind | None) -> Notifier:
    return Notifier(matcher, kind or matcher.kind, form, ["row"])


def in_place(
    matcher: Matcher, batch: pa.RecordBatch, kind: Kind | None = None
) -> Counter[tuple[int, str]]:
    """Pairs, of which lists and counts are known to say the same."""
    found = Counter(pairs(notifier(matcher, "pairs", kind).notify(batch)))
    lists = list(notifier(matcher, "lists", kind).notify(batch))
    assert found == Counter(pairs(lists))
    counts = list(notifier(matcher, "counts", kind).notify(batch))
    assert sum(map(len, lists)) == sum(map(len, counts)) == len(batch)
    assert counted(counts) == counted_pairs(found)
    return found


def shuffled(
    matcher: Matcher, batch: pa.RecordBatch, kind: Kind | None = None
) -> Counter[tuple[int, str]]:
    """The same when events are sent to their shards first, for lists and counts to their homes."""
    found = Counter(
        pair
        for each in sent(matcher, batch, kind, once=False)
        for pair in pairs(notifier(matcher, "pairs", kind).arrived(each))
    )
    homes = list(sent(matcher, batch, kind, once=True))
    assert sorted(row for each in homes for row in each["row"].to_pylist()) == list(
        range(len(batch))
    )
    plain = [each.drop_columns([SHARD, SLOT]) for each in homes]
    lists = [each for some in plain for each in notifier(matcher, "lists", kind).notify(some)]
    assert Counter(pairs(lists)) == found
    counts = [each for some in plain for each in notifier(matcher, "counts", kind).notify(some)]
    assert counted(counts) == counted_pairs(found)
    assert sum(map(len, lists)) == sum(map(len, counts)) == len(batch)
    return found


def sent(
    matcher: Matcher, batch: pa.RecordBatch, kind: Kind | None, once: bool
) -> list[pa.RecordBatch]:
    """What a router makes of events."""
    router = Router(matcher, kind or matcher.kind, PARTITIONS, once=once, turn=2)
    rows = pa.Table.from_batches(list(router.route(batch))).combine_chunks()
    assert set(rows[SLOT].to_pylist()) <= set(range(PARTITIONS))
    seen = Counter(zip(rows["row"].to_pylist(), rows[SHARD].to_pylist(), strict=True))
    assert max(seen.values()) == 1
    batches: list[pa.RecordBatch] = rows.to_batches()
    return batches


def pairs(batches: Any) -> list[tuple[int, str]]:
    """Rows and ids, of pairs or of lists."""
    found = []
    for batch in batches:
        name = "subscription" if "subscription" in batch.schema.names else "subscriptions"
        for row, ids, error in zip(
            batch["row"].to_pylist(), batch[name].to_pylist(), batch["error"].to_pylist(),
            strict=True,
        ):  # fmt: skip
            assert (error is None) == (ids is not None)
            found += [(row, id) for id in ([ids] if isinstance(ids, str) else ids or [])]
    return found


def counted(batches: list[pa.RecordBatch]) -> dict[int, int]:
    found: Counter[int] = Counter()
    for batch in batches:
        for row, matches in zip(
            batch["row"].to_pylist(), batch["matches"].to_pylist(), strict=True
        ):
            found[row] += matches or 0
    return {row: matches for row, matches in found.items() if matches}


def counted_pairs(found: Counter[tuple[int, str]]) -> dict[int, int]:
    return dict(Counter(row for row, _ in found.elements()))


def change(choice: random.Random, store: Store, there: set[str]) -> None:
    """Add, move or remove a subscription."""
    id = f"s{choice.randrange(60)}"
    low = choice.choice([5.0, 15, "no number", 35.0, None, float(choice.randrange(100))])
    symbol = {"symbol": choice.choice(streams.SYMBOLS)}
    if id in there and choice.random() < 0.3:
        store.remove(id)
        there.remove(id)
    elif id in there:
        store.update(id, low=low)
    else:
        text, more = choice.choice(
            [
                ("price > :low", {}),
                ("symbol = :symbol AND price > :low", symbol),
                ("symbol = :symbol AND price BETWEEN :low AND 60", symbol),
                ("symbol = :symbol OR price <=> :low", symbol),
                ("symbol LIKE '%A%' AND NOT price < :low", {}),
            ]
        )
        store.add(
            id, text, subscriber=choice.choice(["", "ü", id]), parameters={"low": low, **more}
        )
        there.add(id)


def histories(folder: Path, seed: int, shards: int, scatter: bool = False) -> None:
    """A store that changes, matched at every version by bases with so many shards."""
    choice = random.Random(seed)
    store = Store.create(folder / "store")
    there: set[str] = set()
    for _ in range(25):
        change(choice, store, there)
    plan = scattered(shards) if scatter else None
    matcher = Matcher(
        store.path, streams.write_base(store, schema=SCHEMA, shards=shards, plan=plan)
    )
    for _ in range(10):
        batch = events(choice)
        asked = wanted(store, store.version(), batch)
        assert in_place(matcher, batch) == asked
        assert shuffled(matcher, batch) == asked
        for _ in range(choice.randrange(8)):
            change(choice, store, there)
        matcher.advance(store.version())


@pytest.mark.parametrize("scatter", [False, True], ids=["planned", "scattered"])
@pytest.mark.parametrize("shards", [1, 2, 16, *([64] if LONG else [])])
def test_shards_find_what_a_scan_finds_while_subscriptions_change(
    tmp_path: Path, shards: int, scatter: bool
) -> None:
    if not (shards == 1 and scatter):
        histories(tmp_path, shards, shards, scatter)
    else:
        histories(tmp_path, 7, 3, scatter)


def blind_to_additions(patch: pytest.MonkeyPatch) -> None:
    """Events are routed by the summary alone, which knows nothing of what came since."""
    visits = Matcher.visits

    def by_summary(self: Matcher, batch: pa.RecordBatch) -> Any:
        return [each for each in visits(self, batch) if each[0] >= 0]

    patch.setattr(Matcher, "visits", by_summary)


def stale_shards(patch: pytest.MonkeyPatch) -> None:
    """What was changed or removed stays in its shard as well."""
    patch.setattr(Matcher, "_take_out", lambda *arguments: None)


def forgetful_tail(patch: pytest.MonkeyPatch) -> None:
    """What is moved leaves its shard, and does not come to the tail."""
    add = Tail._add

    def only_new(self: Tail, changes: Any, which: Any, said: Any) -> None:
        moved = len(which) and (changes.added[which] < 0).all()
        if not moved:
            add(self, changes, which, said)

    patch.setattr(Tail, "_add", only_new)


def torn_slots(patch: pytest.MonkeyPatch) -> None:
    """Events that visit several shards come to the first only."""
    route = Router.route

    def once(self: Router, batch: pa.RecordBatch) -> Any:
        seen: set[int] = set()
        for sent in route(self, batch):
            fresh = [row not in seen for row in sent["row"].to_pylist()]
            seen.update(sent["row"].to_pylist())
            yield sent.filter(pa.array(fresh))

    patch.setattr(Router, "route", once)


@pytest.mark.parametrize("mutant", [blind_to_additions, stale_shards, forgetful_tail, torn_slots])
def test_a_mutant_is_caught(
    tmp_path: Path, mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        histories(tmp_path, 16, 16)


@given(st.lists(st.text(max_size=6), unique=True), st.lists(st.text(max_size=6), unique=True))
def test_ids_are_found_where_they_are(kept: list[str], asked: list[str]) -> None:
    ids = sorted_ids(pa.array(kept, pa.string()))
    empty = pa.nulls(len(ids), pa.string()).dictionary_encode()
    names = MappedNames(pa.table({"id": ids, "subscriber": ids, "filter": empty}))
    looked_for = sorted_ids(pa.array(asked, pa.string()))
    places = {id: place for place, id in enumerate(ids.to_pylist())}
    found = [places.get(id, NOWHERE) for id in looked_for.to_pylist()]
    assert names.find(looked_for).tolist() == found
    assert names.find(looked_for[len(asked) // 2 :]).tolist() == found[len(asked) // 2 :]


def test_many_ids_are_found_among_many() -> None:
    ids = sorted_ids(pa.array([f"id-{number}" for number in range(0, 50_000, 3)]))
    empty = pa.nulls(len(ids), pa.string()).dictionary_encode()
    names = MappedNames(pa.table({"id": ids, "subscriber": ids, "filter": empty}))
    asked = sorted_ids(pa.array([f"id-{number}" for number in range(0, 60_000, 2)]))
    found = names.find(asked)
    there = found != NOWHERE
    assert ids.take(pa.array(found[there])).equals(asked.filter(pa.array(there)))
    assert there.sum() == len(range(0, 50_000, 6))


def test_numbers_of_what_was_added_go_on() -> None:
    names = AddedNames()
    texts = pa.array(["x", "y"])
    assert names.add(texts, texts, texts).tolist() == [0, 1]
    assert names.forget(pa.array(["y", "z"])).tolist() == [1, NOWHERE]
    assert names.add(pa.array(["y"]), pa.array(["w"]), pa.array(["t"])).tolist() == [2]
    assert [column.to_pylist() for column in names.of(np.array([2, 1, 0]))] == [
        ["y", "y", "x"],
        ["w", "y", "x"],
    ]
    assert len(names) == 2


@pytest.mark.parametrize("partitions", [1, 3, 5, 8, 64])
def test_shards_that_are_visited_more_have_more_partitions(partitions: int) -> None:
    visits = [0.05, 0.6, 0.2, 0.0, 0.15]
    slots = Slots(visits, partitions)
    assert (slots.counts >= 1).all()
    assert slots.counts.sum() == max(partitions, len(visits))
    if partitions == 64:
        assert np.abs(slots.counts / 64 - visits).max() < 0.03
    taken = [set(slots.of(shard, 500, turn=3).tolist()) for shard in range(len(visits))]
    assert all(
        len(own) == min(count, partitions) for own, count in zip(taken, slots.counts, strict=True)
    )
    if partitions >= len(visits):
        assert sum(map(len, taken)) == len(set().union(*taken))  # no two share one
    assert set(slots.of(-1, 500, turn=0).tolist()) == set(range(partitions))

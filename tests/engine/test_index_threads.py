"""Many threads read while one writes, and each call sees one whole version.

The writer keeps invariants that hold between its calls and at no moment within them. A reader that
saw half of a change, or two versions in one call, would see them broken.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tidegate as tg
from tests.engine.test_index import Market, pairs
from tidegate.engine.changes import merger
from tidegate.engine.index import Index
from tidegate.engine.segments import parameter_updates
from tidegate.engine.subscriptions import subscription
from tidegate.lab.workloads.trade import trade

SECONDS = 0.4  # of each history
READERS = 3


@contextmanager
def readers(look: Callable[[], Any]) -> Iterator[Callable[[], bool]]:
    """Threads that look again and again; the block asks whether it may go on writing."""
    stop = threading.Event()
    failed: list[BaseException] = []
    looked: list[int] = []

    def run() -> None:
        for times in count():
            if stop.is_set():
                looked.append(times)
                return
            try:
                look()
            except BaseException as error:
                failed.append(error)
                stop.set()

    threads = [threading.Thread(target=run) for _ in range(READERS)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + SECONDS
    try:
        yield lambda: time.monotonic() < end and not stop.is_set()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]
    assert min(looked) > 0


def crowded() -> Index:
    """An index with subscriptions in all structures, none of which wants what the tests publish."""
    index = Index()
    market = Market(1, 3_000, 50)
    index.add_many(market.table(np.arange(3_000)))
    index.add_many(
        pa.table({"id": range(-500, 0), "p": range(500)}), filter="other = :p OR x.y = :p"
    )
    index.flush()
    return index


def maintenance(index: Index) -> Iterator[None]:
    """What else a writer does meanwhile: it adds, removes, and now and then rebuilds."""
    for turn in count():
        index.add(1_000_000 + turn, "symbol = :s AND price < :p", s="nobody", p=turn)
        if turn >= 50:
            index.remove(1_000_000 + turn - 50)
        if turn % 200 == 199:
            index.flush()
        yield


def test_two_subscriptions_change_places_at_once() -> None:
    """Exactly one of them wants the event, whenever it comes."""
    index = crowded()
    here, there = 900_001, 900_002
    index.add(here, "seat = :p", p=1)
    index.add(there, "seat = :p", p=0)
    both = {here, there}

    def look() -> None:
        assert len(index.match({"seat": 1})) == 1
        found = pairs(index.match_batch([{"seat": 0}, {"seat": 1}]))
        assert [row for row, _ in found] == [0, 1]
        assert {id for _, id in found} == both
        assert index.count_batch(pa.table({"seat": [1, 0, 1]})).tolist() == [1, 1, 1]

    other = maintenance(index)
    with readers(look) as going:
        for turn in count():
            seats = [turn % 2, 1 - turn % 2]
            index.update_many(pa.table({"id": [here, there], "p": seats}))
            next(other)
            if not going():
                break


def test_all_parameters_of_one_update_change_at_once() -> None:
    """The range moves from one event to the other: never on both, never between them."""
    index = crowded()
    index.add(900_001, "depth >= :low AND depth < :high", low=0, high=10)
    events = [{"depth": 5}, {"depth": 15}]

    def look() -> None:
        assert index.count_batch(events).sum() == 1
        assert len(pairs(index.match_batch(events))) == 1

    other = maintenance(index)
    with readers(look) as going:
        for turn in count():
            low = 10 * (turn % 2)
            index.update(900_001, low=low, high=low + 10)
            next(other)
            if not going():
                break


@pytest.mark.slow
@pytest.mark.parametrize("text", ["team = :p", "team >= :p OR leader = :p"])
def test_subscriptions_come_and_go_together(text: str) -> None:
    index = crowded()
    ids = list(range(900_000, 900_060))

    def look() -> None:
        assert len(index.match({"team": 7})) in (0, 60)
        alone, again = index.count_batch([{"team": 7}, {"team": 7}]).tolist()
        assert alone == again
        assert alone in (0, 60)
        assert len(pairs(index.match_batch([{"team": 7}] * 70))) in (0, 70 * 60)

    with readers(look) as going:
        for turn in count():
            index.add_many(pa.table({"id": ids, "p": [7] * 60}), filter=text)
            if turn % 20 == 19:
                index.flush()
            index.remove_many(ids)
            if not going():
                break


def test_what_a_reader_holds_stays_what_it_was() -> None:
    """Ids are translated late, but they are those of the version that was asked."""
    index = crowded()
    ids = list(range(900_000, 900_100))
    index.add_many(pa.table({"id": ids}), filter="flag")
    matches = index.match({"flag": True})
    batch = index.match_batch([{"flag": True}])
    index.remove_many(ids)
    index.add_many(pa.table({"id": range(800_000, 800_100)}), filter="flag")
    index.flush()
    assert len(matches) == 100
    assert sorted(matches) == ids
    assert [id for _, id in pairs(batch)] == ids


def test_threads_that_only_read_do_not_disturb_each_other() -> None:
    market = Market(2, 5_000, 40)
    index = Index()
    index.add_many(market.table(np.arange(5_000)))
    batches = [market.events(300) for _ in range(4)]
    expected = [market.expected(batch).tolist() for batch in batches]
    turns = count()

    def look() -> None:
        which = next(turns) % 4
        assert [list(pair) for pair in pairs(index.match_batch(batches[which]))] == expected[which]
        event = batches[which].slice(0, 1).to_pylist()[0]
        assert sorted(index.match(event)) == [id for row, id in expected[which] if row == 0]

    with readers(look) as going:
        while going():
            time.sleep(0.01)


def test_an_error_of_the_writer_is_not_seen_by_readers() -> None:
    index = crowded()
    index.add(900_001, "seat = :p", p=1)

    def look() -> None:
        assert index.match({"seat": 1}) == [900_001]
        assert index.get(900_001).parameters == {"p": 1}

    with readers(look) as going:
        while going():
            for values in ({"p": b"bytes"}, {"p": 2, "q": 1}):
                with pytest.raises(tg.TidegateError):
                    index.update(900_001, **values)
            with pytest.raises(tg.TidegateError):
                index.update_many(pa.table({"id": [900_001, 5], "p": [2, 2]}))


@pytest.mark.parametrize("compiled", [0, 1, 2, 3])
def test_compiling_and_merging_may_end_in_the_midst_of_a_change(
    compiled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the writer has found, and is about to replace, stands elsewhere then."""
    index = Index()
    for id in range(3):
        index.add(id, "seat = :p", p=id)
        if id < compiled:
            index.match_batch([{}])  # compiles what is pending, as any reader does
    changed = subscription.changed

    def aside() -> None:
        index.match_batch([{"seat": 1}])
        index._merger.merge(list(index._content.lives))

    def interrupted(*arguments: Any) -> Any:
        thread = threading.Thread(target=aside)
        thread.start()
        thread.join(timeout=5)
        return changed(*arguments)

    monkeypatch.setattr(parameter_updates, "changed", interrupted)
    index.update_many(pa.table({"id": [0, 1, 2], "p": [10, 11, 12]}))
    monkeypatch.undo()
    seats = [{"seat": p} for p in (0, 1, 2, 10, 11, 12)]
    assert index.count_batch(seats).tolist() == [0, 0, 0, 1, 1, 1]
    index.update(0, p=20)
    assert index.count_batch([{"seat": p} for p in (10, 20)]).tolist() == [0, 1]
    assert len(index) == 3


def test_an_opened_index_may_be_changed_while_it_is_merged_for_the_first_time(
    tmp_path: Path,
) -> None:
    """Both read the conditions from the file, and wait for each other no longer than that takes."""
    rules = trade(20_000, seed=1)
    table = rules.table()
    index = Index(rules.schema)
    index.add_many(table)
    index.save(tmp_path / "index")
    opened = Index.open(tmp_path / "index")
    rng = np.random.default_rng(0)

    def change() -> None:
        for _ in range(8):
            rows = pa.array(rng.choice(len(table), 3_000, replace=False))
            opened.update_many(table.select(["id", "low", "high"]).take(rows))

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    thread.join(timeout=120)
    assert not thread.is_alive()
    events = rules.events(500)
    assert opened.count_batch(events).tolist() == index.count_batch(events).tolist()


def test_what_is_opened_apart_stays_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merger, "_PAUSE", 0.0)
    rules = trade(20_000, seed=1)
    table = rules.table()
    index = Index(rules.schema)
    index.add_many(table)
    index.save(tmp_path / "index")
    opened = Index.open(tmp_path / "index", apart=True)
    mapped = opened._content.lives[0].segment
    events = rules.events(500)
    for start in range(0, 18_000, 3_000):
        opened.update_many(table.select(["id", "low", "high"]).slice(start, 3_000))
        opened._merger.wait()
    assert mapped in [live.segment for live in opened._content.lives]
    assert 2 <= opened.describe().segments <= 4
    assert opened.count_batch(events).tolist() == index.count_batch(events).tolist()
    opened.remove_many(table["id"].slice(18_000))
    opened.flush()
    assert opened.describe().segments == 1
    index.remove_many(table["id"].slice(18_000))
    assert opened.count_batch(events).tolist() == index.count_batch(events).tolist()

"""An index that lives for long is as large as what is in it, and has no more segments than it may.

Memory is what `tracemalloc` has counted when garbage is collected, so these tests do not hang on
the machine.
"""

import gc
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

import tidegate as tg
from tidegate.engine import index as index_module
from tidegate.engine.changes import merger
from tidegate.engine.changes.merger import SegmentMerger
from tidegate.engine.compile.compiler import Compiler
from tidegate.engine.conditions.meaning_cache import Meanings
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.index import Index
from tidegate.engine.segments import live
from tidegate.engine.subscriptions.originals import Columns, Singles
from tidegate.filters import evaluate, shapes
from tidegate.filters.expression import Predicate
from tidegate.filters.recent import BYTES_EACH, Recent
from tidegate.filters.shapes import forget_templates
from tidegate.filters.template import Template

SIZE = 24
MANY = 50  # times that everything is replaced
BOUND = 2**16  # bytes of each cache, so that fifty times are many
SLACK = 2**17  # bytes that Python itself keeps: dictionaries that were larger, free lists, …


def of_one_text(index: Index, turn: int) -> None:
    for i in range(SIZE):
        k = turn * SIZE + i
        index.add(k, "symbol = :symbol AND price < :limit", symbol=f"S{k}", limit=k + 0.5)


def of_own_constants(index: Index, turn: int) -> None:
    for i in range(SIZE):
        k = turn * SIZE + i
        index.add(k, f"symbol = 'S{k}' AND (price < {k}.5 OR note LIKE '%{k}%')")


def of_own_attributes(index: Index, turn: int) -> None:
    for i in range(SIZE // 4):
        k = turn * SIZE + i
        index.add(k, f"a{k} = 'x{k}' AND b{k} < {k}")


def of_a_table(index: Index, turn: int) -> None:
    ids = range(turn * SIZE, (turn + 1) * SIZE)
    symbols = [f"S{k}" for k in ids]
    index.add_many(pa.table({"id": ids, "symbol": symbols}), filter="symbol = :symbol")


Way = Callable[[Index, int], None]


def replaced(way: Way) -> Way:
    def replace(index: Index, turn: int) -> None:
        way(index, turn)
        if turn:
            for id in range((turn - 1) * SIZE, turn * SIZE):
                if id in index:
                    index.remove(id)

    return replace


def updated(index: Index, turn: int) -> None:
    if not turn:
        of_one_text(index, 0)
    for id in range(SIZE):
        index.update(id, symbol=f"T{turn}-{id}", limit=turn + id / 100)


def updated_at_once(index: Index, turn: int) -> None:
    if not turn:
        of_one_text(index, 0)
    symbols = [f"T{turn}-{id}" for id in range(SIZE)]
    index.update_many(pa.table({"id": range(SIZE), "symbol": symbols}))


@contextmanager
def traced() -> Iterator[None]:
    tracemalloc.start(1)
    try:
        yield
    finally:
        tracemalloc.stop()


def memory() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize(
    "way",
    [
        replaced(of_one_text),
        replaced(of_own_constants),
        replaced(of_own_attributes),
        replaced(of_a_table),
        updated,
        updated_at_once,
    ],
    ids=["one text", "own constants", "own attributes", "table", "updates", "updates at once"],
)
@pytest.mark.slow
def test_what_is_replaced_fifty_times_leaves_no_more_than_the_bound(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    small: Recent[Template] = Recent(characters=BOUND // BYTES_EACH)
    monkeypatch.setattr(shapes, "_templates", small)
    monkeypatch.setattr(index_module, "_COUNTED", 10)
    forget_templates()
    index = Index()
    index._compiler.meanings = Meanings(BOUND)
    events = [{"symbol": f"S{i}", "note": f"n{i}", "price": "no number"} for i in range(10)]
    with traced():
        sizes = []
        for turn in range(MANY + 1):
            way(index, turn)
            index.match_batch([*events, {f"a{turn * SIZE}": 7, "symbol": f"fresh {turn}"}])
            if turn in (10, MANY):
                index.flush()
                evaluate._pattern.cache_clear()  # its bound is a number of patterns
                evaluate._path.cache_clear()
                sizes.append(memory())
    description = index.describe()
    assert SIZE // 4 <= len(index) <= SIZE
    assert all(cache.bytes <= BOUND for cache in description.caches)
    assert len(index.incomparable) <= 10
    assert sizes[1] <= sizes[0] + 2 * BOUND + SLACK
    (one,) = index._content.lives
    assert len(one.segment.table.conditions) <= 4 * SIZE
    assert sum(map(len, one.segment.originals.parts)) <= 2 * SIZE


def test_who_stays_does_not_keep_those_who_came_with_them() -> None:
    """One of each hundred stays for ever."""
    index = Index()
    for turn in range(20):
        ids = range(turn * 100, (turn + 1) * 100)
        index.add_many(pa.table({"id": ids, "p": ids}), filter="x = :p")
        for id in range(10_000 + turn * 100, 10_000 + (turn + 1) * 100):
            index.add(id, f"y = {id}")
        index.match_batch([{}])
        index.remove_many([*ids[1:], *range(10_000 + turn * 100 + 1, 10_000 + (turn + 1) * 100)])
    index.flush()
    (one,) = index._content.lives
    assert len(index) == 40
    assert sum(map(len, one.segment.originals.parts)) <= 80
    assert {type(part) for part in one.segment.originals.parts} <= {Columns, Singles}
    assert len(one.segment.table.conditions) == 40
    assert index.get(1_900).parameters == {"p": 1_900}
    assert str(index.get(11_900).filter) == "y = 11900"


def test_a_slice_does_not_keep_the_table_it_is_from() -> None:
    large = pa.table({"id": range(100_000), "p": range(100_000)})
    index = Index()
    index.add_many(large.slice(500, 3_000), filter="x = :p")
    (part,) = index._content.lives[0].segment.originals.parts
    assert isinstance(part, Columns)
    assert part.columns["p"].get_total_buffer_size() < 100_000
    assert index.match({"x": 501}) == [501]


def test_what_is_flushed_is_mapped_no_more(tmp_path: object) -> None:
    index = Index()
    index.add_many(pa.table({"id": range(3_000), "p": range(3_000)}), filter="x = :p")
    index.save(f"{tmp_path}/index")
    opened = Index.open(f"{tmp_path}/index", apart=True)
    opened.add(-1, "x = 5")
    opened.flush()
    assert opened._merger.apart is None
    assert sorted(opened.match({"x": 5})) == [-1, 5]


@pytest.mark.slow
def test_single_removes_are_merged_away() -> None:
    index = Index()
    index.add_many(pa.table({"id": range(20_000), "p": range(20_000)}), filter="x = :p")
    for id in range(15_000):
        index.remove(id)
    index._merger.wait()
    assert index.describe().removed <= 3 * merger._AT_ONCE
    assert len(index) == 5_000


PREDICATES = [
    "x = 1",
    "x = 'a text'",
    f"x = '{'long' * 200}'",
    f"x > '{'ü' * 300}'",
    f"x IN ({', '.join(map(str, range(200)))})",
    "x LIKE '%a%b%'",
    "x < 1.5",
    "x <= DATE '2020-01-01'",
]


@pytest.mark.parametrize("text", PREDICATES, ids=range(len(PREDICATES)))
def test_what_is_remembered_is_about_as_large_as_is_said(text: str) -> None:
    """Not half of what it is, whatever the predicate.

    The smallest of a few tries counts: what else the process does or does first is measured, too.
    """
    count, grown = 50, []
    trees = [tg.parse(text.replace("x", f"x{i}", 1)).tree for i in range(count)]
    with traced():
        for _ in range(3):
            known = Meanings()
            before = memory()
            table = Conditions(None, meanings=known)
            for tree in trees:
                assert isinstance(tree, Predicate)
                table.of(tree)
            del table
            grown.append(memory() - before)
            assert len(known) == count
            if known.nbytes >= grown[-1] / 2:
                return
    raise AssertionError(f"{known.nbytes} bytes are said, and there are at least {min(grown)}")


def test_what_was_asked_for_lately_is_remembered() -> None:
    known = Meanings(20_000)
    kind = ("x", "=", "is true")
    for i in range(1_000):
        known.keep(kind, str(i), -1)
        assert known.nbytes <= 20_000
        assert known.get(kind, "0") == -1
    assert known.get(kind, "998") == -1
    assert known.get(kind, "500") is None


@contextmanager
def readers(index: Index, count: int) -> Iterator[list[BaseException]]:
    """Threads that match batches in a tight loop; what went wrong with them."""
    enough, wrong = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not enough.is_set():
                index.match_batch([{"x": 5}])
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=read, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield wrong
    finally:
        enough.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("merges", [True, False], ids=["merging aside", "nobody merges aside"])
def test_there_are_never_too_many_segments(merges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single updates beside two readers that do nothing but read."""
    if not merges:
        monkeypatch.setattr(SegmentMerger, "_merge_if_due", lambda merger, **given: None)
    index = Index()
    index.add_many(pa.table({"id": range(500), "p": range(500)}), filter="x = :p")
    most = 0
    with readers(index, 2) as wrong:
        for turn in range(1_500):
            index.update(turn % 500, p=turn)
            most = max(most, len(index._content.lives))
            if not turn % 10:
                time.sleep(0.001)
    assert not wrong
    assert 1 <= most <= live.MOST == index.describe().most_segments
    assert index.count_batch([{"x": 1_499}, {"x": 999}]).tolist() == [1, 0]
    index._merger.wait()


def test_bulk_changes_make_room_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SegmentMerger, "_merge_if_due", lambda merger, **given: None)
    monkeypatch.setattr(merger, "_AT_ONCE", 4)
    index = Index()
    for turn in range(3 * live.MOST):
        index.add_many(pa.table({"id": range(10 * turn, 10 * turn + 5), "p": range(5)}), "x = :p")
        assert len(index._content.lives) <= live.MOST
    assert index.count_batch([{"x": 3}]).tolist() == [3 * live.MOST]


def test_a_writer_that_removes_more_than_there_is_sees_it_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SegmentMerger, "_merge_if_due", lambda merger, **given: None)
    monkeypatch.setattr(merger, "_AT_ONCE", 4)
    monkeypatch.setattr(merger, "_GONE", 50)
    index = Index()
    index.add_many(pa.table({"id": range(100), "p": range(100)}), filter="x = :p")
    for turn in range(30):
        ids = np.random.default_rng(turn).choice(100, 60, replace=False)
        index.update_many(pa.table({"id": ids, "p": ids + turn}))
        assert index.describe().removed <= 100


def test_a_merge_that_fails_changes_nothing_and_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SegmentMerger, "_merge_if_due", lambda merger, **given: None)
    monkeypatch.setattr(merger, "_AT_ONCE", 4)
    index = Index()
    for turn in range(live.MOST):
        index.add_many(pa.table({"id": range(5 * turn, 5 * turn + 5)}), filter="x = 1")

    def failing(*given: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Compiler, "merge", failing)
        with pytest.raises(MemoryError):
            index.add_many(pa.table({"id": range(1_000, 1_005)}), filter="x = 1")
        index.add(2_000, "x = 1")
        with pytest.raises(MemoryError):
            index.match_batch([{"x": 1}])
        assert not index._merger._taken
    assert len(index) == 5 * live.MOST + 1
    index.add_many(pa.table({"id": range(1_000, 1_005)}), filter="x = 1")
    assert index.count_batch([{"x": 1}]).tolist() == [len(index)] == [5 * live.MOST + 6]
    assert len(index._content.lives) <= live.MOST


def test_threads_that_read_and_write_do_not_wait_for_each_other_for_ever() -> None:
    """Each reads, writes what it has read, flushes and saves now and then, while others do."""
    index = Index()
    wrong: list[BaseException] = []

    def work(own: int) -> None:
        try:
            for turn in range(60):
                id = own * 1_000 + turn
                index.add(id, "x = :p", p=own)
                assert id in index.match({"x": own})
                index.match_batch([{"x": own}])
                index.update(id, p=own + 10)
                if turn % 20 == own:
                    index.flush()
                if turn % 7 == 0:
                    index.remove(id)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(own,), daemon=True) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not wrong
    assert index.count_batch([{"x": own + 10} for own in range(4)]).tolist() == [51] * 4

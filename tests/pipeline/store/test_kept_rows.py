"""What is kept of small files is what was given, and has a bound in bytes."""

import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.pipeline import Store
from tidegate.pipeline.store import change_files, kept_rows
from tidegate.pipeline.store.kept_rows import KeptRows


def table(text: str, count: int) -> pa.Table:
    return pa.table({"text": pa.array([f"{text}{i}" for i in range(count)], pa.string())})


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40), st.booleans()), max_size=120),
    st.sampled_from([20_000, 100_000, 400_000, 32 << 20]),
    st.sampled_from([1, 50_000, 1 << 20]),
)
def test_what_is_kept_is_what_was_given(
    steps: list[tuple[int, int, bool]], most: int, of_a_run: int
) -> None:
    """Beside a dictionary, which has all of it: a file may be gone, and is never another one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_rows, "MOST_BYTES", most)
        patch.setattr(kept_rows, "_BYTES_OF_A_RUN", of_a_run)
        kept = KeptRows()
        every: dict[str, pa.Table] = {}
        for number, count, again in steps:
            name = f"n{number}"
            rows = every.setdefault(name, table(name * (1 + 50 * again), count))
            kept.keep(name, rows)
            assert kept.nbytes <= most
            assert kept.nbytes >= 0
            for other, given in every.items():
                found = kept.get(other)
                assert found is None or found.equals(given)
            assert len(kept) == sum(kept.get(other) is not None for other in every)
        if most == 32 << 20:
            assert len(kept) == len(every)


def test_what_came_first_goes_first_and_what_is_too_large_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept_rows, "MOST_BYTES", 300_000)
    monkeypatch.setattr(kept_rows, "_BYTES_OF_A_RUN", 100_000)
    kept = KeptRows()
    for number in range(2000):
        kept.keep(f"n{number}", table("x" * 100, 2))
    there = [number for number in range(2000) if kept.get(f"n{number}") is not None]
    assert there == list(range(2000 - len(there), 2000))
    assert 60 < len(there) < 100  # as tables apart there would be 18
    kept.keep("large", table("x" * 1000, 200))
    assert kept.get("large") is None
    assert kept.get("n1999") is not None


def test_threads_may_share_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "MOST_BYTES", 200_000)
    kept, wrong = KeptRows(), []

    def work(first: int) -> None:
        for number in range(first, first + 300):
            name = f"n{number % 400}"
            kept.keep(name, table(name, 3))
            found = kept.get(name)
            if found is not None and not found.equals(table(name, 3)):
                wrong.append(name)

    threads = [threading.Thread(target=work, args=(first,)) for first in (0, 50, 100, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert kept.nbytes <= 200_000


def test_many_small_files_take_little_memory(tmp_path: Path) -> None:
    """As tables of their own they take 1,500 bytes of Arrow's, and ten times that besides."""
    store = Store.create(tmp_path / "store")
    store.add("alice", "x < :p", parameters={"p": 0})
    rows = store.changes(0, 1)
    files = [
        store._log.write(f"changes-{number:020d}-{number}.parquet", rows) for number in range(500)
    ]
    reader = change_files.Reader(store._log.files, store._log.folder)
    before = pa.total_allocated_bytes()
    for file in files:
        reader.read(file)
    assert len(reader._small) == 500
    assert len(reader._small._apart) < 64
    assert pa.total_allocated_bytes() - before < 500 * 256 + 64 * 2048
    assert all(reader.read(file) == rows for file in files)


def test_the_ends_of_row_groups_are_kept_of_few_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_files, "_ROWS_OF_A_SMALL_FILE", 0)
    monkeypatch.setattr(change_files, "_ROW_GROUPS_KNOWN", 4)
    store = Store.create(tmp_path / "store")
    store.add_many(pa.table({"id": [f"i{i:05d}" for i in range(100)]}), filter="x < 1")
    for number in range(10):
        store.add(f"n{number}", "x < 2")
        assert store.get("i00007").filter == "x < 1"
        assert len(store._reader._bounds) <= 4
    assert [store.get(f"n{number}").version for number in range(10)] == list(range(2, 12))

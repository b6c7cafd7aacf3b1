"""The changes between two versions: by the entries of a log, or by its lists of files."""

from pathlib import Path

import pyarrow as pa
import pytest

from tests.pipeline.store.test_store_files import DAMAGES
from tidegate.errors import StoreError
from tidegate.pipeline import Store
from tidegate.pipeline.store import delta_log
from tidegate.pipeline.store.log_entries import read_entry


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A log with adds, updates and removals, and two compactions."""
    store = Store.create(tmp_path / "store")
    store.add_many(pa.table({"id": ["é", "b" * 300, "\U0010ffff" * 200]}), filter="x > 1")
    store.add("p", "x < :p", parameters={"p": 0})
    for number in range(3):
        store.update("p", p=number)
    store.compact()
    store.remove("é")
    store.update("p", p=7)
    store.compact()
    store.add("é", "x > 2")
    return store


def by_lists(store: Store, after: int, upto: int) -> pa.Table:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta_log, "_FOLLOWED", 0)
        return Store.open(store.path).changes(after, upto)


@pytest.mark.slow
def test_entries_say_what_lists_of_files_say(store: Store) -> None:
    newest = store.version()
    for after in range(newest + 1):
        for upto in range(after + 1, newest + 1):
            assert store._log.added(after, upto) is not None
            assert store.changes(after, upto) == by_lists(store, after, upto)
    files = {file.name: file for at in range(newest + 1) for file in store._log.at(at).files}
    for version in range(1, newest + 1):
        found = read_entry(store._log.files, store._log.folder, version)
        assert found is not None
        assert found == files[found.name]


def test_many_versions_and_those_that_are_not_there_are_for_the_lists(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = store.version()
    for after, upto in ((newest, newest + 1), (3, 3), (3, 2), (-1, 2)):
        assert store._log.added(after, upto) is None
    with pytest.raises(StoreError, match=f"there is no version {newest + 1}"):
        store.changes(newest, newest + 1)
    assert not len(store.changes(3, 3))
    monkeypatch.setattr(delta_log, "_FOLLOWED", 2)
    assert store._log.added(0, 2) is not None
    assert store._log.added(0, 3) is None
    assert store.changes(0, newest) == by_lists(store, 0, newest)


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_of_what_is_asked_for_is_named(tmp_path: Path, name: str) -> None:
    """By somebody who has had the store open since the second of three versions."""
    store = Store.create(tmp_path / "store")
    store.add_many(pa.table({"id": [f"é{n}" for n in range(999)]}), filter="x > 1")
    store.add("b", "x > 1")
    follower = Store.open(store.path)
    store.add("c", "x > 1")
    right = store.changes(2, 3)
    damage, said = DAMAGES[name]
    damage(tmp_path / "store" / "changes")
    if "3" in said or "statistics" in name:
        with pytest.raises(StoreError, match=said):
            follower.changes(2, 3)
    else:
        assert follower.changes(2, 3) == right


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"hello",
        b"[1]",
        b"7",
        b'{"add": 7}',
        b'{"add": {"path": "changes-00000000000000000001-a.parquet", "size": 1}}',
        b'{"add": {"path": "x", "size": 1, "stats": "7"}}',
        b'{"add": {"path": "x", "size": 1, "stats": null}}',
        b'{"add": {"path": "x", "size": null, "stats": "{}"}}',
        b"\xff\xfe",
        b'{"add": {}}\n{"add": {}}',
    ],
)
def test_an_entry_that_says_something_else_is_no_error(tmp_path: Path, entry: bytes) -> None:
    store = Store.create(tmp_path / "store")
    path = tmp_path / "store" / "changes" / "_delta_log" / f"{1:020d}.json"
    path.write_bytes(entry)
    assert read_entry(store._log.files, store._log.folder, 1) is None


def test_lists_of_files_are_few_where_they_are_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_log, "_FILES_LISTED", 60)
    store = Store.create(tmp_path / "store")
    for number in range(30):
        store.add(f"i{number}", "x > 1")
    lists = list(store._log._snapshots.values())
    assert sum(len(each.files) for each in lists) <= 60 + 2 * 30
    assert len(lists) >= 2
    assert len({id(file) for each in lists for file in each.files}) <= 30
    assert len(store.subscriptions(5)) == 5

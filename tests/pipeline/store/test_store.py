"""The store as its users see it: what it takes, what it refuses, what it says of old versions."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import tidegate as tg
from tests.pipeline import reading
from tidegate.errors import StoreError
from tidegate.pipeline import Store
from tidegate.pipeline.store.delta_log import ChangeLog

MAPS = pa.map_(pa.string(), pa.string())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "store")


def fill(store: Store) -> None:
    """Three subscriptions, in version 1."""
    table = pa.table(
        {
            "id": ["bob", "alice", "carol"],
            "filter": ["price < :limit", "symbol = :symbol AND price < :limit", "venue = 'X'"],
            "symbol": [None, "IBM", None],
            "limit": [5.0, 10.0, None],
        }
    )
    assert store.add_many(table) == 1


def files_of(store: Store) -> list[str]:
    return sorted(os.listdir(f"{store.path}/changes"))


def test_a_new_store_is_empty_and_at_version_0(store: Store) -> None:
    assert store.version() == 0
    assert store.schema is None
    assert store.subscriptions().to_pylist() == []
    assert store.subscriptions().column_names == ["id", "subscriber", "filter", "parameters"]
    assert store.changes(0, 0).to_pylist() == []
    assert store.files() == []
    assert [commit.version for commit in store.history()] == [0]
    assert store.compact() == 0
    assert store.vacuum() == []


def test_each_change_is_a_version_that_can_be_read_later(store: Store) -> None:
    assert store.add("alice", "price < :limit", parameters={"limit": 10.0}) == 1
    assert store.add("bob", "price > 1", subscriber="robert") == 2
    assert store.update("alice", limit=8) == 3
    assert store.remove("bob") == 4
    assert store.get("alice").parameters == {"limit": 8}
    assert store.get("alice").version == 3
    assert store.get("alice", version=2).parameters == {"limit": 10.0}
    assert store.get("alice").subscriber == "alice"
    assert store.get("bob", version=3).subscriber == "robert"
    with pytest.raises(tg.SubscriptionError, match="there is no subscription 'bob'"):
        store.get("bob")
    assert [len(store.subscriptions(version)) for version in range(5)] == [0, 1, 2, 2, 1]
    with pytest.raises(StoreError, match="there is no version 5; the newest is 4"):
        store.subscriptions(5)
    with pytest.raises(StoreError, match="there is no version -1"):
        store.get("alice", -1)


def test_an_update_is_a_small_row_without_the_filter(store: Store) -> None:
    fill(store)
    store.update("alice", limit=7.0)
    assert store.changes(1, 2).to_pylist() == [
        {
            "version": 2,
            "place": 0,
            "change": "update",
            "id": "alice",
            "subscriber": None,
            "filter": None,
            "parameters": [("symbol", "'IBM'"), ("limit", "7.0D")],
        }
    ]


def test_it_knows_whether_rows_are_about_different_subscriptions(store: Store) -> None:
    fill(store)
    store.add("zoe", "x < :p", parameters={"p": 1})
    first = store.version()
    assert store.only_added(first)
    assert store.most(first) == len(store.subscriptions())
    store.update("zoe", p=2)
    assert not store.only_added(store.version())
    assert store.only_added(first)
    assert store.most(store.version()) == len(store.subscriptions()) + 1
    compacted = store.compact()
    assert store.only_added(compacted)
    assert store.most(compacted) == len(store.subscriptions())
    store.add("yan", "x < 3")
    assert store.only_added(store.version())
    store.remove("yan")
    assert not store.only_added(store.version())


def test_subscriptions_are_sorted_by_the_bytes_of_their_ids(store: Store) -> None:
    ids = ["é", "z", "😀", "\ue000", "a", "A", "a\0", "aa", " "]
    store.add_many(pa.table({"id": ids}), filter="x > 1")
    found = store.subscriptions()["id"].to_pylist()
    assert found == sorted(ids, key=lambda id: id.encode())


def test_several_changes_of_one_id_count_in_order(store: Store) -> None:
    fill(store)
    table = pa.table(
        {
            "change": ["remove", "add", "update", "update", "remove", "add"],
            "id": ["alice", "alice", "bob", "bob", "alice", "alice"],
            "filter": [None, "x < :p", None, None, None, "y < :q"],
            "parameters": pa.array(
                [None, [("p", "1")], [("limit", "2")], [("limit", "3")], None, [("q", "NULL")]],
                MAPS,
            ),
        }
    )
    assert store.change(table, message="shuffled") == 2
    assert store.get("alice").filter == "y < :q"
    assert store.get("alice").parameters == {"q": None}
    assert store.get("bob").parameters == {"limit": 3}
    assert store.changes(1, 2)["place"].to_pylist() == list(range(6))
    newest = store.history(1)[0]
    assert (newest.added, newest.updated, newest.removed) == (2, 2, 2)
    assert newest.message == "shuffled"


def test_changes_can_be_played_into_another_store(store: Store, tmp_path: Path) -> None:
    fill(store)
    store.update("alice", limit=None)
    store.remove("carol")
    copy = Store.create(tmp_path / "copy")
    copy.change(store.changes(0, 3).drop_columns(["version", "place"]))
    assert copy.subscriptions() == store.subscriptions()


def test_nothing_to_change_makes_no_version(store: Store) -> None:
    fill(store)
    assert store.remove_many([]) == 1
    assert store.add_many(pa.table({"id": pa.array([], pa.string())}), filter="x > 1") == 1
    assert store.change(pa.table({"change": [], "id": []})) == 1
    assert store.version() == 1


def test_filters_that_were_parsed_before_are_taken(store: Store) -> None:
    store.add("alice", tg.parse("price < :limit").bind(limit=10))
    assert store.get("alice").filter == "price < 10"


def test_update_many_passes_over_nulls_of_parameters_a_filter_does_not_have(store: Store) -> None:
    fill(store)
    store.update_many(
        pa.table({"id": ["alice", "bob"], "symbol": ["SAP", None], "limit": [None, 6.0]})
    )
    assert store.get("alice").parameters == {"symbol": "SAP", "limit": None}
    assert store.get("bob").parameters == {"limit": 6.0}
    with pytest.raises(tg.ParameterError, match="'bob' has no parameter :symbol; it has :limit"):
        store.update_many(pa.table({"id": ["bob"], "symbol": ["SAP"]}))


REFUSED: dict[str, tuple[Callable[[Store], Any], type[tg.TidegateError], str]] = {
    "add known": (
        lambda s: s.add("alice", "x > 1"),
        tg.SubscriptionError,
        "there is a subscription 'alice' already",
    ),
    "update unknown": (
        lambda s: s.update("zoe", limit=1),
        tg.SubscriptionError,
        "there is no subscription 'zoe'",
    ),
    "remove unknown": (
        lambda s: s.remove("zoe"),
        tg.SubscriptionError,
        "there is no subscription 'zoe'",
    ),
    "remove twice": (
        lambda s: s.remove_many(["alice", "bob", "alice"]),
        tg.SubscriptionError,
        "there is no subscription 'alice'",
    ),
    "add twice": (
        lambda s: s.add_many(pa.table({"id": ["x", "x"]}), filter="a > 1"),
        tg.SubscriptionError,
        "there is a subscription 'x' already",
    ),
    "syntax": (lambda s: s.add("x", "price <"), tg.FilterSyntaxError, "not a condition"),
    "missing": (
        lambda s: s.add("x", "price < :limit"),
        tg.ParameterError,
        "parameter :limit is missing",
    ),
    "unknown parameter": (
        lambda s: s.add("x", "price < 1", parameters={"limit": 1}),
        tg.ParameterError,
        "no parameter :limit; it has none",
    ),
    "update of another parameter": (
        lambda s: s.update("bob", limits=1),
        tg.ParameterError,
        "the filter of 'bob' has no parameter :limits; it has :limit",
    ),
    "no value": (
        lambda s: s.update("bob", limit=b"bytes"),
        tg.FilterTypeError,
        "parameter :limit cannot be b'bytes'",
    ),
    "value that does not fit": (
        lambda s: s.add("x", "name LIKE :p", parameters={"p": 5}),
        tg.FilterTypeError,
        "LIKE takes a string",
    ),
    "pattern that does not fit": (
        lambda s: s.add_many(
            pa.table({"id": ["x", "y"], "p": ["a%", "a\\"]}), filter="name LIKE :p"
        ),
        tg.FilterTypeError,
        "pattern",
    ),
    "empty id": (lambda s: s.add("", "x > 1"), tg.SubscriptionError, "at least one character"),
    "number as id": (lambda s: s.add(7, "x > 1"), tg.SubscriptionError, "a text, not 7"),  # type: ignore[arg-type]
    "half a character": (lambda s: s.add("\ud800", "x > 1"), tg.SubscriptionError, "a text, not"),
    "half a character in the filter": (
        lambda s: s.add("x", "a = '\ud800'"),
        tg.SubscriptionError,
        "whole characters",
    ),
    "no id": (
        lambda s: s.add_many(pa.table({"id": ["x", None]}), filter="x > 1"),
        tg.SubscriptionError,
        "there is no id",
    ),
    "only nulls": (
        lambda s: s.add_many(pa.table({"id": [None, None]}), filter="x > 1"),
        tg.SubscriptionError,
        "there is no id",
    ),
    "no filter": (
        lambda s: s.add_many(pa.table({"id": ["x", "y"], "filter": ["a > 1", None]})),
        tg.SubscriptionError,
        "there is no filter",
    ),
    "no column id": (
        lambda s: s.add_many(pa.table({"filter": ["a > 1"]})),
        tg.SubscriptionError,
        "no column id",
    ),
    "no column filter": (
        lambda s: s.add_many(pa.table({"id": ["x"]})),
        tg.SubscriptionError,
        "no column filter",
    ),
    "integers as ids": (
        lambda s: s.add_many(pa.table({"id": [1, 2]}), filter="a > 1"),
        tg.SubscriptionError,
        "the column id is not of texts but of type int64",
    ),
    "bytes as ids": (
        lambda s: s.add_many(pa.table({"id": [b"x"]}), filter="a > 1"),
        tg.SubscriptionError,
        "the column id is not of texts",
    ),
    "bytes as values": (
        lambda s: s.add_many(pa.table({"id": ["x"], "p": [b"x"]}), filter="a > :p"),
        tg.FilterTypeError,
        "parameter :p cannot be of the Arrow type binary",
    ),
    "two columns of one name": (
        lambda s: s.add_many(pa.table([["x"], ["y"]], names=["id", "id"]), filter="a > 1"),
        tg.TidegateError,
        "2 columns named id",
    ),
    "no table": (lambda s: s.change([{"id": "x"}]), tg.TidegateError, "an Arrow table"),
    "a text as ids": (lambda s: s.remove_many("alice"), tg.SubscriptionError, "not as 'alice'"),
    "another change": (
        lambda s: s.change(pa.table({"change": ["delete"], "id": ["alice"]})),
        tg.TidegateError,
        "a change is one of add, update, remove, not 'delete'",
    ),
    "another column": (
        lambda s: s.change(pa.table({"change": ["remove"], "id": ["alice"], "when": [1]})),
        tg.TidegateError,
        "has a column when",
    ),
    "parameters that are no maps": (
        lambda s: s.change(pa.table({"change": ["update"], "id": ["bob"], "parameters": ["x"]})),
        tg.SubscriptionError,
        "parameters is of type string",
    ),
    "a value that is no literal": (
        lambda s: s.change(changes("update", "bob", [("limit", "ten")])),
        tg.ParameterError,
        "limit: ten is not a constant",
    ),
    "a name twice": (
        lambda s: s.change(changes("update", "bob", [("limit", "1"), ("limit", "2")])),
        tg.ParameterError,
        ":limit is given more than once",
    ),
    "a removal with parameters": (
        lambda s: s.change(changes("remove", "bob", [("limit", "1")])),
        tg.SubscriptionError,
        "a removal has no parameters",
    ),
    "an update with a filter": (
        lambda s: s.change(pa.table({"change": ["update"], "id": ["bob"], "filter": ["x > 1"]})),
        tg.SubscriptionError,
        "an update or a removal has no filter",
    ),
}


def changes(change: str, id: str, parameters: list[tuple[str, str]]) -> pa.Table:
    return pa.table({"change": [change], "id": [id], "parameters": pa.array([parameters], MAPS)})


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(store: Store, name: str) -> None:
    fill(store)
    before = files_of(store)
    call, error, said = REFUSED[name]
    with pytest.raises(error, match=said.replace("(", r"\(")):
        call(store)
    assert store.version() == 1
    assert files_of(store) == before


def test_one_bad_row_refuses_the_whole_table_and_is_named(store: Store) -> None:
    table = pa.table({"id": ["x", "y", "z"], "filter": ["a > 1", "a > ", "a >"]})
    with pytest.raises(tg.FilterSyntaxError) as caught:
        store.add_many(table)
    assert caught.value.__notes__ == ["in row 1, subscription 'y'"]
    assert store.version() == 0


def test_a_schema_is_kept_whole_and_filters_are_checked_against_it(tmp_path: Path) -> None:
    schema = tg.Schema(
        {
            "price": tg.Attribute("double", nullable=False, low=0.0),
            "venue": tg.Attribute("string", values=["X", "é'\"\\"]),
            "trade": {"day": "date", "size": "decimal(10,2)"},
            "tags": "array<string>",
        },
        checked=True,
    )
    made = Store.create(tmp_path / "store", schema)
    again = Store.open(tmp_path / "store")
    assert made.schema == again.schema == schema
    again.add("alice", "trade.day = :day", parameters={"day": "2026-01-31"})
    assert again.get("alice").parameters == {"day": "2026-01-31"}
    for text, values, said in (
        ("prise < 1", {}, "no attribute prise"),
        ("trade.day = :day", {"day": "soon"}, "soon"),
        ("tags = 'x'", {}, "tags is of type array"),
        ("price < :p", {"p": True}, "cannot be compared"),
    ):
        with pytest.raises(tg.FilterTypeError, match=said):
            again.add("bob", text, parameters=values)
    with pytest.raises(tg.FilterTypeError, match="soon"):
        again.update("alice", day="soon")
    assert again.version() == 1


def test_long_and_strange_texts_come_back_as_they_were(store: Store) -> None:
    ids = ["x" * 5_000 + "1", "x" * 5_000 + "2", "\U0010ffff" * 200, "'\"\\", "a/b c%20#?", "\n"]
    value = "'\\\0\n\u2028é😀" * 1000
    for id in ids:
        store.add(id, "name = :v", subscriber=value, parameters={"v": value})
    again = Store.open(store.path)
    for id in ids:
        found = again.get(id)
        assert (found.id, found.subscriber, found.parameters) == (id, value, {"v": value})
        with pytest.raises(tg.SubscriptionError):
            again.add(id, "x > 1")
    again.compact()
    assert again.subscriptions()["id"].to_pylist() == sorted(ids, key=lambda id: id.encode())


def test_other_layouts_of_arrow_are_read(store: Store) -> None:
    ids = pa.chunked_array(
        [pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]
    )
    table = pa.table({"id": ids, "p": pa.array([1, 2], pa.uint8())})
    store.add_many(table.to_batches()[0], filter="x < :p")
    store.add_many(table.slice(1), filter="x < :p")
    large = pa.array(["a", "b"], pa.large_string())
    store.update_many(pa.table({"id": large, "p": pa.array([2**64 - 1, 3], pa.uint64())}))
    assert store.get("a").parameters == {"p": 2**64 - 1}
    assert type(store.get("b").parameters["p"]) is int
    store.remove_many(pa.array(["a", "b"], pa.string_view()))
    assert len(store.subscriptions()) == 0


def test_there_is_one_store_at_a_place(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        Store.open(tmp_path / "store")
    Store.create(tmp_path / "store")
    with pytest.raises(StoreError, match=r"there is a store at .*store already"):
        Store.create(tmp_path / "store")


def test_a_path_may_have_any_characters(tmp_path: Path) -> None:
    path = tmp_path / "a b%é#?'"
    store = Store.create(f"{path}/")
    store.add("alice", "x > 1")
    store.compact()
    assert all(Path(file).is_file() for file in store.files())
    assert len(Store.open(path).subscriptions()) == 1
    with pytest.raises(StoreError, match="takes a % in a path for an escape"):
        Store.create(tmp_path / "a%20b")


def test_a_store_stays_where_it_is_when_the_process_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store.create("store")
    store.add("alice", "x > 1")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.add("bob", "x > 1")
    assert len(store.subscriptions(1)) == 1
    assert store.path == str(tmp_path / "store")


def test_a_store_may_be_at_an_address(tmp_path: Path) -> None:
    address = (tmp_path / "the store").as_uri()
    store = Store.create(address)
    fill(store)
    store.update("alice", limit=1.0)
    store.compact()
    assert len(store.vacuum()) == 2
    assert [file.startswith(f"{address}/changes/state-") for file in store.files()] == [True]
    again = Store.open(tmp_path / "the store")
    assert again.subscriptions() == store.subscriptions()
    assert again.get("alice").parameters == {"symbol": "IBM", "limit": 1.0}


def test_a_delta_table_of_others_is_refused(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path / "store" / "changes"), pa.schema([("x", pa.int64())]))
    with pytest.raises(StoreError, match="not made by Tidegate"):
        Store.open(tmp_path / "store")


def test_commits_of_others_in_the_log_are_refused(store: Store) -> None:
    fill(store)
    table = DeltaTable(f"{store.path}/changes")
    table.alter.set_table_properties({"delta.checkpointInterval": "10"})
    with pytest.raises(StoreError, match=r"version 2 has no file: .*02\.json is damaged or not"):
        store.subscriptions()


def test_history_says_what_each_version_did(store: Store) -> None:
    fill(store)
    store.update("bob", limit=1)
    store.remove("carol")
    store.compact()
    newest, removal, update, first, creation = store.history()
    assert (first.added, first.updated, first.removed, first.message) == (3, 0, 0, None)
    assert (update.updated, removal.removed, creation.version) == (1, 1, 0)
    assert newest.message == "compacted the changes up to version 3"
    assert newest.time >= removal.time >= creation.time
    assert [commit.version for commit in store.history(2)] == [4, 3]


def test_compaction_changes_nothing_but_the_files(store: Store) -> None:
    fill(store)
    store.update("alice", limit=1.0)
    store.remove("bob")
    before = reading.state(store.subscriptions())
    assert store.compact() == 4
    assert len(store.files()) == 1
    assert store.compact() == 4
    for version in (3, 4):
        assert reading.state(store.subscriptions(version)) == before
    assert store.get("alice").version == 2
    assert len(store.changes(0, 4)) == 5
    assert store.update("alice", limit=2.0) == 5
    assert store.changes(1, 5)["change"].to_pylist() == ["update", "remove", "update"]


def test_a_store_that_became_empty_is_compacted_too(store: Store) -> None:
    fill(store)
    store.remove_many(["alice", "bob", "carol"])
    assert store.compact() == 3
    assert store.compact() == 3
    store.vacuum()
    assert Store.open(store.path).subscriptions().num_rows == 0
    assert store.add("alice", "x > 1") == 4
    assert store.changes(3, 4)["id"].to_pylist() == ["alice"]


def test_vacuum_keeps_what_kept_versions_and_later_changes_need(store: Store) -> None:
    fill(store)
    store.update("alice", limit=1.0)
    store.update("alice", limit=2.0)
    store.compact()  # version 4
    store.update("alice", limit=3.0)
    store.compact()  # version 6
    removed = store.vacuum(keep=[2])
    assert [Path(name).name.split("-")[0] for name in removed] == ["state"]
    assert store.get("alice", 2).parameters["limit"] == 1.0
    assert [len(store.changes(after, 6)) for after in range(2, 7)] == [2, 1, 1, 0, 0]
    with pytest.raises(StoreError, match="is gone"):
        Store.open(store.path).subscriptions(4)
    store.vacuum()
    assert len(store.files()) == 1
    assert len(list(Path(store.path, "changes").glob("*.parquet"))) == 1
    assert store.get("alice").parameters["limit"] == 3.0
    with pytest.raises(StoreError, match="is gone"):
        Store.open(store.path).changes(2, 6)
    with pytest.raises(StoreError, match="there is no version 99"):
        store.vacuum(keep=[99])


@pytest.mark.parametrize("meanwhile", ["add", "compact"])
def test_compaction_takes_up_what_others_did_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    fill(store)
    store.update("alice", limit=1.0)
    other = Store.open(store.path)
    replace = ChangeLog.replace
    calls = 0

    def replace_late(*arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1:
            other.add("dora", "x > 1")
            other.update("bob", limit=2.0)
            if meanwhile == "compact":
                other.compact()
        return replace(*arguments)

    monkeypatch.setattr(ChangeLog, "replace", replace_late)
    assert store.compact() == 5
    again = Store.open(store.path)
    assert again.version() == 5
    assert len(again.files()) == (1 if meanwhile == "compact" else 3)
    assert len(again.subscriptions()) == 4
    assert again.get("bob").parameters == {"limit": 2.0}
    assert [len(again.changes(after, 5)) for after in range(6)] == [6, 3, 2, 1, 0, 0]
    assert len(list(Path(store.path, "changes").glob("state-*"))) == 1


def test_looking_ids_up_reads_only_the_row_groups_they_can_be_in(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"{number:06d}" for number in range(50_000)]
    store.add_many(pa.table({"id": ids, "p": range(50_000)}), filter="x < :p")
    store.add_many(pa.table({"id": ["zz"]}), filter="x < 1")
    read: list[int] = []
    original = pq.ParquetFile.read_row_group

    def counted(self: Any, group: int, *arguments: Any, **options: Any) -> Any:
        read.append(group)
        return original(self, group, *arguments, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", counted)
    fresh = Store.open(store.path)
    fresh.update("020000", p=1)
    assert set(read) == {1}
    read.clear()
    fresh.add("zzz", "x > 1")
    assert read == []
    assert fresh.get("049999").parameters == {"p": 49_999}
    assert set(read) == {3}


@pytest.mark.slow
def test_many_long_texts_and_names_come_back_as_they_were(store: Store) -> None:
    count = 17_000  # more than a row group has, and more than its dictionary of texts takes
    ids = [f"{number:05d}" for number in range(count)]
    names = [f"parameter_{number % 500}_{'x' * 100}" for number in range(count)]
    maps = [[(name, str(number))] for number, name in enumerate(names)]
    table = pa.table(
        {
            "change": ["add"] * count,
            "id": ids,
            "filter": [f"x < :{name} OR note = '{number}'" for number, name in enumerate(names)],
            "parameters": pa.array(maps, MAPS),
        }
    )
    store.change(table)
    again = Store.open(store.path)
    found = again.subscriptions().drop_columns("subscriber").to_pylist()
    assert found == table.drop_columns("change").to_pylist()
    assert again.get("16777").parameters == {names[16_777]: 16_777}


def test_giving_up_is_said_clearly(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChangeLog, "append", lambda *arguments: False)
    monkeypatch.setattr("tidegate.pipeline.store.store.pause", lambda attempt: None)
    with pytest.raises(StoreError, match="gave up after 100 attempts, as others changed the store"):
        store.add("alice", "x > 1")
    assert store.version() == 0
    assert list(Path(store.path, "changes").glob("*.parquet")) == []

"""What is on disk is what was written, or it is refused by name."""

import json
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.network.killed import KIND, history
from tidegate.errors import StorageError
from tidegate.network.disk import Disk
from tidegate.network.frame import INPUT, frame, records
from tidegate.network.journal import Journal
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import LinkUp, Persist, Tick
from tidegate.overlay.storage import Keeper

CHANGES = history(2, 30)


def fill(folder: Path, *, every: int = 1_000, segment: int = 700, batch: int = 3) -> Any:
    """Let a broker write something down; its state."""
    with Disk(folder, "b", KIND, segment) as disk:
        keeper = Keeper.begin(Broker("b", KIND), disk, every)
        keeper.note(keeper.broker.handle("ann", LinkUp(client=True)))
        for start in range(0, len(CHANGES), batch):
            some = CHANGES[start : start + batch]
            keeper.note([x for change in some for x in keeper.broker.handle("ann", change)])
        return json.loads(json.dumps(keeper.broker.snapshot()))


def state(folder: Path) -> Any:
    with Disk(folder, "b", KIND) as disk:
        keeper = Keeper.recall(disk, 1_000, KIND)
        assert keeper is not None
        return json.loads(json.dumps(keeper.broker.snapshot()))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    fill(folder)
    return folder


@pytest.mark.parametrize("every", [1, 4, 1_000])
@pytest.mark.parametrize("segment", [1, 500, 2**20])
def test_what_was_written_comes_back(every: int, segment: int, tmp_path: Path) -> None:
    was = fill(tmp_path, every=every, segment=segment)
    assert state(tmp_path) == was
    assert state(tmp_path) == was


def test_many_inputs_take_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = []
    with Disk(tmp_path, "b", KIND) as disk:
        keeper = Keeper.begin(Broker("b", KIND), disk, 10_000)
        keeper.note(keeper.broker.handle("ann", LinkUp(client=True)))
        fsync = os.fsync

        def counted(handle: int) -> None:
            syncs.append(handle)
            fsync(handle)

        monkeypatch.setattr(os, "fsync", counted)
        keeper.note([x for change in CHANGES for x in keeper.broker.handle("ann", change)])
    assert len(syncs) == 1


def copy(folder: Path, goal: Path) -> Path:
    shutil.rmtree(goal, ignore_errors=True)
    return Path(shutil.copytree(folder, goal))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != "lock")


@pytest.mark.slow
def test_every_flipped_bit_is_refused_by_the_name_of_its_file(filled: Path, tmp_path: Path) -> None:
    was = state(copy(filled, tmp_path / "as it is"))
    tried = 0
    for path in files(filled):
        data = path.read_bytes()
        for bit in range(0, 8 * len(data), 37):
            folder = copy(filled, tmp_path / "flipped")
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            (folder / path.name).write_bytes(changed)
            tried += 1
            if path.name == "storage.json" and _says_the_same(bytes(changed)):
                assert state(folder) == was
                continue
            with pytest.raises(StorageError, match=str(folder)):
                state(folder)
    assert tried > 300


def _says_the_same(data: bytes) -> bool:
    """Whether this says whose folder it is, if with another blank."""
    try:
        return bool(json.loads(data) == {"format": 1, "broker": "b", "kind": "words"})
    except ValueError:
        return False


def test_a_file_that_was_cut_is_refused_unless_its_end_was_never_safe(
    filled: Path, tmp_path: Path
) -> None:
    last = files(filled)[-2]
    assert last.suffix == ".journal"
    for path in files(filled):
        data = path.read_bytes()
        for length in {0, 1, len(data) // 2, len(data) - 1}:
            folder = copy(filled, tmp_path / "cut")
            (folder / path.name).write_bytes(data[:length])
            if path == last:
                state(folder)
                assert state(folder)["format"]
            else:
                with pytest.raises(StorageError, match=str(folder)):
                    state(folder)


@pytest.mark.parametrize("suffix", [".journal", ".snapshot", "storage.json"])
def test_a_missing_file_is_refused(filled: Path, tmp_path: Path, suffix: str) -> None:
    folder = copy(filled, tmp_path / "missing")
    next(path for path in files(folder) if path.name.endswith(suffix)).unlink()
    with pytest.raises(StorageError, match=str(folder)):
        state(folder)


@settings(max_examples=60, deadline=None)
@given(
    bodies=st.lists(st.binary(min_size=1, max_size=900), min_size=1, max_size=6),
    torn=st.binary(min_size=600, max_size=1_500),
    kept=st.floats(0, 1),
)
def test_what_was_never_written_is_cut_off_and_nothing_before(
    bodies: list[bytes], torn: bytes, kept: float
) -> None:
    safe = b"".join(frame(i, i, INPUT, body) for i, body in enumerate(bodies, 1))
    last = frame(len(bodies) + 1, len(bodies) + 1, INPUT, torn)
    cut = int(len(last) * kept)
    for tail in (last[:cut], last[:cut] + bytes(len(last) - cut)):
        found = [x.body for x in records(safe + tail, 0, 1, "here")] if _is_torn(tail, safe) else []
        assert found in ([], bodies, [*bodies, torn])


def _is_torn(tail: bytes, safe: bytes) -> bool:
    try:
        list(records(safe + tail, 0, 1, "here"))
    except StorageError:
        return False
    return True


def test_a_sector_that_was_never_written_is_torn_at_the_end_and_damage_before_it() -> None:
    one, two = (frame(i, i, INPUT, b"x" * 3_000) for i in (1, 2))
    hollow = one[:1_024] + bytes(512) + one[1_536:]
    assert list(records(hollow, 0, 1, "here")) == []
    with pytest.raises(StorageError, match="here is damaged at byte 0: record 1 has a wrong"):
        list(records(hollow + two, 0, 1, "here"))


def test_records_out_of_order_are_refused() -> None:
    data = frame(1, 1, INPUT, b"a") + frame(3, 3, INPUT, b"c")
    with pytest.raises(StorageError, match="record 3 stands in the place of 2"):
        list(records(data, 0, 1, "here"))


def test_a_sort_of_records_that_is_not_known_is_refused(tmp_path: Path) -> None:
    fill(tmp_path)
    journal = Journal(tmp_path)
    journal.read(0)
    journal.append(9, [b"an event, say"])
    journal.begin()
    with pytest.raises(StorageError, match="a record of the sort 9, which this version"):
        state(tmp_path)


@pytest.mark.parametrize(
    ("broker", "kind", "named"),
    [
        ("c", KIND, "of broker 'b', not 'c'"),
        ("b", Attributes(), "of kind 'words', not 'attributes'"),
    ],
)
def test_the_folder_of_somebody_else_is_refused(
    filled: Path, tmp_path: Path, broker: str, kind: Any, named: str
) -> None:
    folder = copy(filled, tmp_path / "other")
    with Disk(folder, broker, kind) as disk, pytest.raises(StorageError, match=named):
        Keeper.recall(disk, 10, kind)
    assert [path.read_bytes() for path in files(folder)] == [
        path.read_bytes() for path in files(filled)
    ]


def test_another_format_is_refused(filled: Path, tmp_path: Path) -> None:
    folder = copy(filled, tmp_path / "other")
    path = folder / "storage.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(StorageError, match="is of format 2, not 1"):
        state(folder)


def test_a_folder_that_has_a_broker_is_not_begun_anew(filled: Path, tmp_path: Path) -> None:
    folder = copy(filled, tmp_path / "other")
    with Disk(folder, "b", KIND) as disk, pytest.raises(StorageError, match="recall it before"):
        Keeper.begin(Broker("b", KIND), disk, 10)


def test_a_folder_is_used_by_one_process_at_a_time(tmp_path: Path) -> None:
    used = pytest.raises(StorageError, match="is in use by another process")
    with Disk(tmp_path, "b", KIND), used:
        Disk(tmp_path, "b", KIND)
    Disk(tmp_path, "b", KIND).close()


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file cannot be used: File exists"):
        Disk(tmp_path / "file", "b", KIND)


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file grow larger, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [60, 400, 1_000, 2_000])
def test_a_full_disk_stops_the_broker_and_loses_nothing(room: int, tmp_path: Path) -> None:
    with Disk(tmp_path, "b", KIND, 2**20) as disk:
        keeper = Keeper.begin(Broker("b", KIND), disk, 10_000)
        keeper.note(keeper.broker.handle("ann", LinkUp(client=True)))
        with room_for(room):
            safe = written(keeper)
        with pytest.raises(StorageError, match="the broker stops"):
            keeper.note([Persist("", Tick())])
        with pytest.raises(StorageError, match="takes nothing more"):
            disk.write([Persist("", Tick())])
    wanted = state(tmp_path)["wanted"]
    assert max((own for _, own, _ in wanted), default=0) == safe


def written(keeper: Keeper) -> int:
    """Write changes down until that is refused; the last one that was not."""
    for change in CHANGES:
        try:
            keeper.note(keeper.broker.handle("ann", change))
        except StorageError:
            return change.seq - 1
    raise AssertionError("everything found room")


def test_a_snapshot_that_finds_no_room_stops_the_broker_and_loses_nothing(tmp_path: Path) -> None:
    was = fill(tmp_path)
    with Disk(tmp_path, "b", KIND) as disk:
        keeper = Keeper.recall(disk, 1, KIND)
        assert keeper is not None
        with room_for(200), pytest.raises(StorageError, match="takes no snapshot: File too"):
            keeper.note(keeper.broker.handle("", Tick()))
    assert {**state(tmp_path), "rested": 0} == {**was, "rested": 0}

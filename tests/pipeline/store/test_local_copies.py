"""A remote file is copied to a machine once, and a copy is used only if it is whole."""

import fcntl
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

import tidegate as tg
from tests import ROOT
from tests.pipeline import streams
from tests.pipeline.matching.test_faults import corrupt, truncate
from tests.pipeline.object_server import ObjectServer
from tests.pipeline.store import copying
from tidegate.errors import StoreError
from tidegate.pipeline import Store, vacuum
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.bases.catalog import Base
from tidegate.pipeline.matching.matcher import Matcher, kept_matcher
from tidegate.pipeline.store import local_copies
from tidegate.pipeline.store.objects import Bucket


@pytest.fixture
def store(address: str) -> Store:
    made = Store.create(address)
    streams.add_some(made, "some", 20)
    return made


@pytest.fixture
def base(store: Store) -> Base:
    return streams.write_base(store)


@pytest.fixture
def bucket(store: Store) -> Bucket:
    found = catalog.kept(store.path)
    assert isinstance(found, Bucket)
    return found


def there(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir() if path.name != "lock"}


def downloads(server: ObjectServer, base: Base) -> list[int]:
    return [server.downloads(file.name) for file in base.files]


@pytest.mark.slow
def test_workers_that_start_at_once_on_another_machine_copy_a_base_once(
    server: ObjectServer, store: Store, base: Base, tmp_path: Path
) -> None:
    places = [str(Path(tg.__file__).parents[1]), str(ROOT)]
    cache = tmp_path / "another machine"
    own = {"PYTHONPATH": os.pathsep.join(places), "TIDEGATE_CACHE": str(cache)}
    command = [sys.executable, copying.__file__, store.path, base.name, "2"]
    workers = [
        subprocess.Popen(command, env={**os.environ, **own}, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    assert [worker.communicate()[0] for worker in workers] == [b"20\n"] * 3
    assert downloads(server, base) == [1, 1]
    assert there(cache) == catalog.file_names([base])


def test_whoever_compiled_a_base_has_its_copy(
    server: ObjectServer, store: Store, base: Base, cache: Path
) -> None:
    assert len(kept_matcher(store.path, base.name, 2).part(0).index) == 20
    assert downloads(server, base) == [0, 0]
    shutil.rmtree(cache)
    assert len(Matcher(store.path, base).part(0).index) == 20
    assert downloads(server, base) == [1, 1]


def test_a_base_that_is_not_uploaded_as_a_whole_is_not_there(
    store: Store, bucket: Bucket, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = Bucket.upload

    def fail(bucket: Bucket, name: str, path: Path) -> None:
        if name.startswith("names-"):
            raise StoreError("nobody answers")
        upload(bucket, name, path)

    monkeypatch.setattr(Bucket, "upload", fail)
    with pytest.raises(StoreError, match="nobody answers"):
        streams.write_base(store)
    (stray,) = bucket.list()
    assert stray.name.startswith("index-")
    assert list(catalog.manifests(store.path)) == []
    assert there(cache) == set()
    assert vacuum(store, older_than=-10) == [bucket.where(stray.name)]


@pytest.mark.parametrize("damage", [truncate, corrupt, Path.unlink])
@pytest.mark.parametrize("part", ["index", "names"])
def test_a_damaged_copy_is_fetched_again(
    server: ObjectServer,
    store: Store,
    base: Base,
    cache: Path,
    part: str,
    damage: Callable[[Path], None],
) -> None:
    (path,) = cache.glob(f"{part}-*")
    whole = path.read_bytes()
    damage(path)
    assert len(Matcher(store.path, base).part(0).index) == 20
    assert path.read_bytes() == whole
    assert sum(downloads(server, base)) == 1


@pytest.mark.parametrize("damage", [truncate, corrupt, Path.unlink])
@pytest.mark.parametrize("part", ["index", "names"])
def test_a_damaged_remote_file_is_refused_by_its_address(
    store: Store,
    base: Base,
    bucket: Bucket,
    cache: Path,
    tmp_path: Path,
    part: str,
    damage: Callable[[Path], None],
) -> None:
    (copy,) = cache.glob(f"{part}-*")
    path = copy.rename(tmp_path / "damaged")
    damage(path)
    bucket.delete(copy.name)
    if path.exists():
        bucket.upload(copy.name, path)
    for _ in range(2):
        with pytest.raises(tg.TidegateError) as refused:
            Matcher(store.path, base).part(0)
        assert str(refused.value).startswith(f"{bucket.where(copy.name)} is ")
    assert not copy.exists()
    assert list(cache.glob(".*")) == []


def test_old_copies_go_but_not_those_that_are_used(
    store: Store, base: Base, bucket: Bucket, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_copies, "KEPT", 1)
    (cache / ".draft-of-somebody-who-was-killed").mkdir()
    held = Matcher(store.path, base)
    held.part(0)
    with bucket.writing() as draft:
        rest = [streams.write_base(store) for _ in range(3)]
        assert there(cache) == catalog.file_names([base, rest[2]]) | {draft.name}
    assert len(Matcher(store.path, rest[0]).part(0).index) == 20
    assert there(cache) == catalog.file_names([base, rest[0]])
    assert len(held.part(0).index) == 20
    del held
    last = streams.write_base(store)
    assert there(cache) == catalog.file_names([last])


def test_a_matcher_that_nobody_has_gives_its_copies_back_at_once(
    store: Store, base: Base, cache: Path
) -> None:
    """Nothing of it waits for the interpreter's search for what refers to itself."""
    streams.add_some(store, "more", 3)
    gc.disable()
    try:
        held = Matcher(store.path, base)
        held.advance(store.version())
        held.part(0)
        gone = weakref.ref(held)
        copies_held = [weakref.ref(copy) for copy in held._held]
        del held
        assert gone() is None
        assert [copy() for copy in copies_held] == [None, None]
    finally:
        gc.enable()


def test_a_copy_that_goes_before_it_is_locked_is_made_again(
    store: Store, base: Base, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    path = cache / base.shards[0].names.name

    def too_late(opened: int, kind: int) -> None:
        lock(opened, kind)
        path.unlink()
        monkeypatch.setattr(fcntl, "flock", lock)

    monkeypatch.setattr(fcntl, "flock", too_late)
    copy = catalog.mapped(store.path, base.shards[0].names)
    assert isinstance(copy, local_copies.Copy)
    assert copy.path == path
    assert copy.is_there()


def test_the_cache_is_where_it_is_said_or_the_users_or_a_temporary_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDEGATE_CACHE", str(tmp_path / "said"))
    assert local_copies.cache() == tmp_path / "said"
    monkeypatch.delenv("TIDEGATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    assert local_copies.cache() == tmp_path / "usual" / "tidegate"
    monkeypatch.setenv("XDG_CACHE_HOME", "nowhere")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert local_copies.cache() == tmp_path / f"tidegate-{os.getuid()}"


def test_a_cache_that_cannot_be_is_refused_with_what_to_do(
    store: Store, base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIDEGATE_CACHE", str(tmp_path / "file"))
    with pytest.raises(tg.TidegateError, match=r"/file: .* let TIDEGATE_CACHE name another folder"):
        catalog.mapped(store.path, base.shards[0].names)

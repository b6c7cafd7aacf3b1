"""Objects are the same in a folder and in an object store."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tidegate.errors import StoreError
from tidegate.pipeline.store.objects import Bucket, Folder, Objects, beside


@pytest.fixture(params=["folder", "bucket"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Objects:
    if request.param == "folder":
        return beside(str(tmp_path), "pins")
    return beside(request.getfixturevalue("address"), "pins")


def names(kept: Objects, folder: str = "") -> list[str]:
    return sorted(found.name for found in kept.list(folder))


def test_an_object_is_what_was_put_last(kept: Objects) -> None:
    assert kept.get("a/7") is None
    assert names(kept) == []
    kept.put("a/7", b"first")
    kept.put("a/7", b"second")
    assert kept.get("a/7") == b"second"
    kept.delete("a/7")
    kept.delete("a/7")
    assert kept.get("a/7") is None


def test_folders_list_what_is_in_them(kept: Objects) -> None:
    for name in ("1", "a/1", "a/b/2", "ab/3"):
        kept.put(name, b"")
    assert names(kept) == ["1", "a/1", "a/b/2", "ab/3"]
    assert names(kept, "a") == ["a/1", "a/b/2"]
    assert names(kept, "nowhere") == []
    (found,) = kept.list("ab")
    assert found.moment > 1.7e9


def test_of_those_who_create_an_object_at_once_one_succeeds(kept: Objects) -> None:
    for round in range(5):
        with ThreadPoolExecutor(8) as pool:
            tries = range(8)
            made = list(pool.map(lambda k: kept.create(f"q/{round}", b"%d" % k), tries))  # noqa: B023
        assert made.count(True) == 1
        assert kept.get(f"q/{round}") == b"%d" % made.index(True)
    assert names(kept) == [f"q/{round}" for round in range(5)]  # and no drafts


def test_new_files_are_objects_that_can_be_mapped(kept: Objects) -> None:
    with kept.writing() as folder:
        (folder / "names").write_bytes(b"ann, bob")
    assert kept.get("names") == b"ann, bob"
    found = kept.mapped("names", lambda path: None)
    assert found.path.read_bytes() == b"ann, bob"


def test_files_are_taken_to_a_bucket_and_back(address: str, tmp_path: Path) -> None:
    bucket = beside(address, "bases")
    assert isinstance(bucket, Bucket)
    content = bytes(range(256)) * 100_000
    (tmp_path / "there").write_bytes(content)
    bucket.upload("large", tmp_path / "there")
    bucket.download("large", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content
    bucket.download("nothing", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_what_cannot_be_reached_is_refused_by_its_address(address: str) -> None:
    with pytest.raises(StoreError, match=r"^s3://nobody/rules/pins/a cannot be used: "):
        Bucket("s3://nobody/rules/pins").put("a", b"")
    with pytest.raises(StoreError, match=r"^strange://rules/pins cannot be used: "):
        Bucket("strange://rules/pins").get("a")


def test_a_path_is_a_folder_and_so_is_an_address_of_one() -> None:
    assert beside("/a%20b", "pins") == Folder(Path("/a%20b/pins"))
    assert beside("file:///a%20b", "pins") == Folder(Path("/a b/pins"))

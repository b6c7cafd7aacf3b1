"""How are objects beside the table of changes kept?

Bases and pins are **objects** of a store: named contents that are there as a whole or not at all,
and never change. Where the store is a folder they are files (`Folder`): written under another name,
flushed to the disk, and renamed, or linked where nobody may have been faster. Where it is an
address such as `s3://bucket/rules` they are objects of an object store (`Bucket`), which promises
the same: a put is atomic, and one that is for a new name only fails if the name is there (on S3 by
`If-None-Match`). Delta Lake relies on the same promise for its commits, and takes its credentials
from the same variables of the environment.

Large objects come and go as files: a folder has the file itself, and of an object of a bucket the
machine has a copy (`local_copies`).
"""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import unquote

from tidegate.errors import StoreError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_FILE: Final = "file://"
_CHUNK: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """An object that is there, and when it came, in seconds."""

    name: str
    moment: float


class LocalFile(Protocol):
    """A file on this machine, which stays where it is as long as this lives."""

    @property
    def path(self) -> Path:
        """Where it is."""


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is an object itself: it stays until the object is deleted."""

    path: Path


class Objects(Protocol):
    """Objects by their names, in which slashes make folders. Equal if they are at one place."""

    def __hash__(self) -> int: ...

    @property
    def remote(self) -> bool:
        """Whether it takes a while to get one: what never changes is better remembered."""

    def put(self, name: str, content: bytes) -> None:
        """Have an object there as a whole."""

    def create(self, name: str, content: bytes) -> bool:
        """Have a new object there as a whole; False, and nothing, if there is one of that name."""

    def get(self, name: str) -> bytes | None:
        """The content of an object; None if it is not there."""

    def list(self, folder: str = "") -> list[Found]:
        """The objects in a folder, and in those in it."""

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""

    def mapped(self, name: str, whole: Callable[[Path], None]) -> LocalFile:
        """An object as a file that can be mapped, if it is there.

        `whole` raises `StoreError` for a damaged copy, which is then made again. The file that is
        the object itself is not looked at: whoever maps it does that.
        """

    def writing(self) -> AbstractContextManager[Path]:
        """A folder for new files, which are objects under their names when it is left."""

    def where(self, name: str) -> str:
        """Where an object is, for people."""


def beside(store: str, part: str) -> Objects:
    """The objects of a part of a store.

    >>> beside("/data/rules", "pins").where("abc/7.json")
    '/data/rules/pins/abc/7.json'
    """
    if is_remote(store):
        return Bucket(f"{store}/{part}")
    path = unquote(store.removeprefix(_FILE)) if store.startswith(_FILE) else store
    return Folder(Path(path) / part)


def is_remote(store: str) -> bool:
    """Whether a store is at an address, and not in a folder.

    >>> is_remote("s3://bucket/rules"), is_remote("file:///data/rules"), is_remote("rules")
    (True, False, False)
    """
    return "://" in store and not store.startswith(_FILE)


@dataclass(frozen=True, slots=True)
class Folder:
    """Objects that are files."""

    path: Path

    @property
    def remote(self) -> bool:
        """A file is read at once."""
        return False

    def put(self, name: str, content: bytes) -> None:
        """Write the file, under another name first."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)

    def create(self, name: str, content: bytes) -> bool:
        """Write the file, under another name first, and link it."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.parent / f".{uuid.uuid4().hex}"
        try:
            _write(draft, content)
            os.link(draft, path)  # fails if it is there
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def get(self, name: str) -> bytes | None:
        """Read the file."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def list(self, folder: str = "") -> list[Found]:
        """Walk through the folder."""
        found = []
        for place, _, names in os.walk(self.path / folder):
            inside = Path(place).relative_to(self.path).as_posix()
            for name in names:
                with suppress(FileNotFoundError):  # it has just been removed
                    moment = os.stat(os.path.join(place, name)).st_mtime
                    found.append(Found(name if inside == "." else f"{inside}/{name}", moment))
        return found

    def delete(self, name: str) -> None:
        """Unlink the file."""
        (self.path / name).unlink(missing_ok=True)

    def mapped(self, name: str, whole: Callable[[Path], None]) -> OwnFile:
        """The file itself."""
        return OwnFile(self.path / name)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """The folder itself."""
        self.path.mkdir(parents=True, exist_ok=True)
        yield self.path

    def where(self, name: str) -> str:
        """Its path."""
        return str(self.path / name)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole, or leave what was there."""
    draft = path.parent / f".writing-{uuid.uuid4().hex}"
    try:
        _write(draft, content)
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _write(path: Path, content: bytes) -> None:
    """Write a new file, and have it on the disk."""
    with path.open("xb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


@dataclass(frozen=True, slots=True)
class Bucket:
    """Objects of an object store, under an address."""

    address: str

    @property
    def remote(self) -> bool:
        """The object store is asked each time."""
        return True

    def put(self, name: str, content: bytes) -> None:
        """Put the object."""
        with self._refusals(name):
            self._store().put(name, content)

    def create(self, name: str, content: bytes) -> bool:
        """Put the object on the condition that it is new."""
        from obstore.exceptions import AlreadyExistsError

        with self._refusals(name):
            try:
                self._store().put(name, content, mode="create")
            except (AlreadyExistsError, FileExistsError):
                return False
        return True

    def get(self, name: str) -> bytes | None:
        """Get the object."""
        with self._refusals(name):
            try:
                return bytes(self._store().get(name).bytes())
            except FileNotFoundError:
                return None

    def list(self, folder: str = "") -> list[Found]:
        """List what is under the folder's address."""
        with self._refusals(folder):
            return [
                Found(each["path"], each["last_modified"].timestamp())
                for some in self._store().list(folder or None)
                for each in some
            ]

    def delete(self, name: str) -> None:
        """Delete the object."""
        with self._refusals(name), suppress(FileNotFoundError):
            self._store().delete(name)

    def mapped(self, name: str, whole: Callable[[Path], None]) -> LocalFile:
        """The copy of it on this machine, downloaded if there is none."""
        from tidegate.pipeline.store import local_copies  # needs locks that Windows does not have

        return local_copies.copied(name, partial(self.download, name), whole)

    def writing(self) -> AbstractContextManager[Path]:
        """A folder of this machine's copies, of which all is uploaded in the end."""
        from tidegate.pipeline.store import local_copies

        return local_copies.uploading(self.upload)

    def where(self, name: str) -> str:
        """Its address."""
        return f"{self.address}/{name}"

    def upload(self, name: str, path: Path) -> None:
        """Put an object that is in a file, in several parts if it is large."""
        with self._refusals(name):
            self._store().put(name, path)

    def download(self, name: str, path: Path) -> None:
        """Write an object to a new file; nothing if it is not there."""
        with self._refusals(name), suppress(FileNotFoundError):
            found = self._store().get(name)
            with path.open("xb") as out:
                for chunk in found.stream(min_chunk_size=_CHUNK):
                    out.write(chunk)

    def _store(self) -> "ObjectStore":
        return _opened(self.address)

    @contextmanager
    def _refusals(self, name: str) -> Iterator[None]:
        """The object store's errors in our words."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:  # the latter is also of a bucket
            said = str(error).partition("\n")[0]
            raise StoreError(f"{self.where(name)} cannot be used: {said}") from None


@lru_cache(maxsize=64)
def _opened(address: str) -> "ObjectStore":
    """The client of an address: it keeps its connections."""
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    try:
        return from_url(address)
    except (BaseError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise StoreError(f"{address} cannot be used: {said}") from None

"""Where on this machine is a file of a remote store?

Workers map the files of a base. Those of a store that is not in a folder are copied once to each
machine, into the **cache**: the folder that `TIDEGATE_CACHE` names, or `tidegate` in the user's
cache folder, or where there is no such, in that for temporary files. A copy has the name of the
file, which is of that file only, and says which base it belongs to (`bases.catalog`).

A copy is made under a private name, checked, and renamed, by whoever has locked the cache; all who
want it meanwhile wait for the lock, and find it there. So it is fetched once, and whole. Before it
is mapped it is checked again; one that is damaged is fetched again.

Whoever uses a copy, or is about to make one, holds a lock on it, which ends with the process at the
latest. When a new copy comes, those of bases that were not used for the longest time go, but for
the newest few and those that are locked.

Locks are the operating system's (`flock`), which there are on Linux and macOS.
"""

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from tidegate.errors import StoreError

KEPT: Final = 4
"""Bases whose copies are kept though nobody uses them."""

VARIABLE: Final = "TIDEGATE_CACHE"
"""What names the cache in the environment."""

_LOCK: Final = "lock"
_DRAFT: Final = ".draft-"


class Copy:
    """A file that can be mapped, and that stays where it is as long as this lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._opened)
        fcntl.flock(self._opened, fcntl.LOCK_SH)

    def is_there(self) -> bool:
        """Whether the path is still that of the file that is locked."""
        try:
            return os.path.samestat(os.fstat(self._opened), self.path.stat())
        except FileNotFoundError:
            return False


def copied(name: str, download: Callable[[Path], None], whole: Callable[[Path], None]) -> Copy:
    """The copy of a file, downloaded if there is none, or if `whole` refuses the one there is."""
    with _refusals() as place:
        copy = _found(place / name, whole)
        if copy is None:
            with _locked(place):
                copy = _found(place / name, whole) or _fetched(place / name, download, whole)
        return copy


@contextmanager
def uploading(upload: Callable[[str, Path], None]) -> Iterator[Path]:
    """A folder for new files, which are uploaded in the end and stay as copies."""
    with _refusals() as place, ExitStack() as stack:
        with _locked(place):
            draft = stack.enter_context(_draft(place))
        yield draft
        files = sorted(draft.iterdir())
        for path in files:
            upload(path.name, path)
        with _locked(place):
            for path in files:
                os.replace(path, place / path.name)
            _evict(place)


def _found(path: Path, whole: Callable[[Path], None]) -> Copy | None:
    """The copy that is there, if it is whole."""
    try:
        copy = Copy(path)
        whole(path)
    except (FileNotFoundError, StoreError):
        return None
    if not copy.is_there():  # somebody has removed it before it was locked
        return None
    os.utime(copy.path)
    return copy


def _fetched(path: Path, download: Callable[[Path], None], whole: Callable[[Path], None]) -> Copy:
    """A new copy; the cache is locked."""
    with _draft(path.parent) as draft:
        fresh = draft / path.name
        download(fresh)
        whole(fresh)
        os.replace(fresh, path)
    _evict(path.parent)
    return Copy(path)


def base_of(file: str) -> str:
    """The name of the base that a file belongs to.

    >>> base_of("index-00000000000000000007-59a07c4d00c4-5f0c-00002-ab12.tidegate")
    '00000000000000000007-59a07c4d00c4-5f0c'
    """
    return "-".join(file.partition(".")[0].split("-")[1:4])


def _evict(place: Path) -> None:
    """Remove old copies, and what killed processes have left; the cache is locked."""
    left = [path for path in place.iterdir() if path.name != _LOCK]
    drafts = [path for path in left if path.name.startswith(_DRAFT)]
    copies = sorted(set(left).difference(drafts), key=lambda path: -path.stat().st_mtime)
    newest = list(dict.fromkeys(base_of(path.name) for path in copies))[:KEPT]
    for path in drafts + [path for path in copies if base_of(path.name) not in newest]:
        with suppress(BlockingIOError, FileNotFoundError), _opened(path) as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if somebody uses it
            shutil.rmtree(path) if path in drafts else path.unlink()


@contextmanager
def _draft(place: Path) -> Iterator[Path]:
    """A locked folder for files that are not done; the cache must be locked when it is made."""
    path = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=place))
    with _opened(path) as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX)
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    with _opened(place / _LOCK, os.O_RDWR | os.O_CREAT) as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield


@contextmanager
def _opened(path: Path, how: int = os.O_RDONLY) -> Iterator[int]:
    opened = os.open(path, how, 0o600)
    try:
        yield opened
    finally:
        os.close(opened)


@contextmanager
def _refusals() -> Iterator[Path]:
    """The cache; what goes wrong with it, in words."""
    place = cache()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.environ.get(VARIABLE) and place.stat().st_uid != os.getuid():
            raise PermissionError("it is somebody else's")
        yield place
    except OSError as error:
        raise StoreError(
            f"files of a remote store cannot be kept in {place}: {error}; "
            f"let {VARIABLE} name another folder"
        ) from None


def cache() -> Path:
    """Where the cache is."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    above = next((path for path in (Path(usual), *Path(usual).parents) if path.exists()), None)
    if os.path.isabs(usual) and above is not None and os.access(above, os.W_OK):
        return Path(usual) / "tidegate"
    return Path(tempfile.gettempdir()) / f"tidegate-{os.getuid()}"  # a user without a home

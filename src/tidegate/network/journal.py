"""Records in append-only files, the **segments**: one after the other, each begun when the one
before it is full.

A segment is named by the number of its first record, which stands in its first line as well. Only
the last segment may end in a torn record, which is cut off; in any other, that is damage.

Invariant: `append` returns when all it was given is safe, with one sync for all of it. If it could
not be made safe, for instance as the disk is full, nothing more is taken: what is on disk then is
what was safe before, and perhaps a part of what was not.
"""

import os
from collections.abc import Iterable
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import Final

from tidegate.errors import StorageError
from tidegate.network.files import read, sync_folder
from tidegate.network.frame import Record, frame, records

SEGMENT: Final = 64 * 2**20  # bytes after which a new segment is begun
_WORD: Final = b"tidegate-journal"


class Journal:
    """The records of one folder; one process writes, and nobody reads meanwhile."""

    def __init__(self, folder: Path, segment: int = SEGMENT) -> None:
        self._folder = folder
        self._segment = segment
        self._file: FileIO | None = None
        self._failed: str | None = None
        self.last = 0  # the number of the last record

    def read(self, after: int) -> list[Record]:
        """All records after one, to be asked once, before anything is written.

        Cuts off what is torn.
        """
        found: list[Record] = []
        paths = self._paths()
        self.last = after
        for path in paths:
            first = _first(path)
            if path is not paths[0] and first != self.last + 1:
                raise StorageError(f"{path} is not the next segment: record {self.last + 1:,} is")
            if path is paths[0] and first > after + 1:
                raise StorageError(f"{path} is the first segment; record {after + 1:,} is missing")
            data = read(path)
            end = len(_head(first))
            self.last = first - 1
            if data[:end] != _head(first):
                if path is not paths[-1] or not _head(first).startswith(data):
                    raise StorageError(f"{path} is damaged: it does not begin as a segment does")
                path.unlink()  # it was just begun
                continue
            for record in records(data, end, first, str(path)):
                end, self.last = record.end, record.number
                if record.number > after:
                    found.append(record)
            if end != len(data):
                if path is not paths[-1]:
                    raise StorageError(f"{path} is damaged: it ends within a record")
                _cut(path, end)
            if self.last < first:
                path.unlink()  # nothing in it was safe
        if self.last < after:
            raise StorageError(f"{self._folder} is damaged: its journal ends before its snapshot")
        return found

    def append(self, sort: int, bodies: Iterable[bytes]) -> None:
        """Write records, all of them safe when this returns."""
        if self._failed is not None:
            raise StorageError(self._failed)
        batch = self.last + 1
        data = [frame(number, batch, sort, body) for number, body in enumerate(bodies, batch)]
        try:
            file = self._open(batch)
            _write(file, b"".join(data))
            os.fsync(file.fileno())
        except OSError as error:
            self._failed = f"{self._folder} takes nothing more: {error.strerror}"
            raise StorageError(self._failed) from None
        self.last += len(data)
        if file.tell() >= self._segment:
            self.begin()

    def begin(self) -> None:
        """Write what follows into a new segment."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def forget(self, until: int) -> None:
        """Remove segments that have only records up to this one."""
        paths = self._paths()
        for path, following in pairwise(paths):
            if _first(following) <= until + 1:
                path.unlink()
        if paths and self._file is None and self.last <= until:
            paths[-1].unlink()
        sync_folder(self._folder)

    def _open(self, first: int) -> FileIO:
        """The segment to write to, begun if there is none."""
        if self._file is None:
            path = self._folder / f"{first:020}.journal"
            self._file = FileIO(path, "x")
            _write(self._file, _head(first))
            sync_folder(self._folder)
        return self._file

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("*.journal"))


def _head(first: int) -> bytes:
    return b"%b %020d\n" % (_WORD, first)


def _first(path: Path) -> int:
    """The number of the first record in a segment, by its name."""
    if not (path.stem.isdigit() and len(path.stem) == 20):
        raise StorageError(f"{path} is no segment of a journal")
    return int(path.stem)


def _write(file: FileIO, data: bytes) -> None:
    """Write all of it: a file may take a part at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def _cut(path: Path, end: int) -> None:
    """Take off what was never safe."""
    with path.open("r+b") as file:
        file.truncate(end)
        os.fsync(file.fileno())

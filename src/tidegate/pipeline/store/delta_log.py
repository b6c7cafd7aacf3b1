"""Which files make up a version of the store?

The Delta log knows: each of its commits adds a file of changes, or replaces files by one that says
the same more briefly. `ChangeLog` is all that Tidegate asks of Delta Lake, through the package
`deltalake`: versions, atomic commits, and to be told when somebody else was faster.

Rows say of which version they are, and were validated against the one before it. So a commit must
not be moved behind that of somebody else, as Delta would do with an append: it fails instead, and
the caller looks again.

A file named `changes-…` has the changes of the commit in its name; one named `state-…` replaces
all changes up to a version, which is in its name too. So a list of files tells how far back it has
every change (`Snapshot.reaches`), and a file that nothing refers to tells whether its commit may
still come.

Invariant: a snapshot of a version never changes.
"""

import os
import random
import re
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs as pafs
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from deltalake.transaction import AddAction, RemoveAction

from tidegate.errors import StoreError
from tidegate.pipeline.store.change_files import SCHEMA, ChangeFile, write_rows
from tidegate.pipeline.store.damage import damaged_entry
from tidegate.pipeline.store.log_entries import read_entry

_FORMAT: Final = "1"
_FORMAT_KEY: Final = "tidegate.format"
_SETTING: Final = "tidegate."  # what the name of a setting begins with
_NOTE_KEY: Final = "tidegate"  # what a commit says about itself
_SNAPSHOTS_KEPT: Final = 64  # snapshots, which have most of their files in common
_FILES_LISTED: Final = 65_536  # files of the snapshots that are kept beside the last two
_FOLLOWED: Final = 64  # versions whose entries are read one by one

ATTEMPTS: Final = 100  # at a commit, before it is given up
_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
_LONGEST_PAUSE: Final = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of one version."""

    version: int
    files: tuple[ChangeFile, ...]

    @property
    def reaches(self) -> int:
        """The version up to which changes are replaced by a state; all later ones are here."""
        return max((replaces(file.name) for file in self.files), default=0)


@dataclass(frozen=True, slots=True)
class Commit:
    """What a version changed, when, and why."""

    version: int
    time: datetime
    added: int = 0
    updated: int = 0
    removed: int = 0
    message: str | None = None


def changes_name(version: int) -> str:
    """A new name for the file of a commit's changes."""
    return f"changes-{version:020d}-{uuid.uuid4()}.parquet"


def state_name(version: int, replaces: int) -> str:
    """A new name for the file of a commit that replaces all changes up to a version."""
    return f"state-{version:020d}-{replaces:020d}-{uuid.uuid4()}.parquet"


def committed_by(name: str) -> int | None:
    """The version whose commit a file was written for; None if the file is not one of ours."""
    kind, _, rest = name.partition("-")
    number = rest.partition("-")[0]
    return int(number) if kind in ("changes", "state") and number.isdecimal() else None


def replaces(name: str) -> int:
    """The version up to which a file replaces all changes; 0 if it is a file of changes."""
    kind, _, rest = name.partition("-")
    return int(rest.split("-")[1]) if kind == "state" else 0


class ChangeLog:
    """The Delta table of changes. Threads may share it."""

    def __init__(self, place: str, table: DeltaTable) -> None:
        self._lock = threading.Lock()
        self._table = table
        self._snapshots: dict[int, Snapshot] = {}
        self.place = place
        self.settings: Final = {
            name.removeprefix(_SETTING): value
            for name, value in table.metadata().configuration.items()
            if name.startswith(_SETTING) and value is not None
        }
        self.files, self.folder = _file_system(place)

    @classmethod
    def create(cls, place: str, settings: Mapping[str, str]) -> "ChangeLog":
        """A new table; the settings are kept with it."""
        configuration = {
            _FORMAT_KEY: _FORMAT,
            # old versions are readable until they are vacuumed, which is not the log's to decide
            "delta.enableExpiredLogCleanup": "false",
            **{f"{_SETTING}{name}": value for name, value in settings.items()},
        }
        if "://" not in place and _ESCAPE.search(place):
            raise StoreError(f"{_above(place)}: Delta Lake takes a % in a path for an escape")
        with _refusals(place):
            if DeltaTable.is_deltatable(place):
                raise StoreError(f"there is a store at {_above(place)} already")
            try:
                DeltaTable.create(
                    place, SCHEMA, configuration=configuration, raise_if_key_not_exists=False
                )
            except (DeltaError, OSError) as error:
                if DeltaTable.is_deltatable(place):
                    raise StoreError(f"there is a store at {_above(place)} already") from None
                raise error
        return cls.open(place)

    @classmethod
    def open(cls, place: str) -> "ChangeLog":
        """The table that is there."""
        with _refusals(place):
            table = DeltaTable(place)
            configuration = table.metadata().configuration
        if configuration.get(_FORMAT_KEY) != _FORMAT:
            found = configuration.get(_FORMAT_KEY)
            what = "not made by Tidegate" if found is None else f"of another format, {found}"
            raise StoreError(f"the Delta table {place} is {what}")
        return cls(place, table)

    @staticmethod
    def exists(place: str) -> bool:
        """Whether there is a table."""
        with _refusals(place):
            return DeltaTable.is_deltatable(place)

    def latest(self) -> Snapshot:
        """The newest version."""
        with self._lock, _refusals(self.place):
            self._table.update_incremental()
            return self._snapshot(self._table)

    def version(self) -> int:
        """The number of the newest version."""
        with self._lock, _refusals(self.place):
            self._table.update_incremental()
            return int(self._table.version())

    def at(self, version: int) -> Snapshot:
        """A version that is there."""
        known = self._snapshots.get(version)
        if known is not None:
            return known
        newest = self.version()
        if not 0 <= version <= newest:
            raise StoreError(f"there is no version {version}; the newest is {newest}")
        with self._lock, _refusals(self.place):
            is_newest = int(self._table.version()) == version
            return self._snapshot(
                self._table if is_newest else DeltaTable(self.place, version=version)
            )

    def added(self, after: int, upto: int) -> list[ChangeFile] | None:
        """The files that the versions after one and up to another have added, if they are few.

        None if the snapshots have to say: there are many, or an entry is not as it should be.
        """
        if not 0 <= after < upto <= after + _FOLLOWED:
            return None
        found = []
        for version in range(after + 1, upto + 1):
            file = read_entry(self.files, self.folder, version)
            if file is None or committed_by(file.name) != version:
                return None
            found.append(file)
        return found

    def location(self, name: str) -> str:
        """Where others find a file."""
        return f"{self.folder or self.place}/{name}"

    def write(self, name: str, rows: pa.Table) -> ChangeFile:
        """Write a file for a commit to come."""
        return write_rows(self.files, self.folder, name, rows)

    def discard(self, name: str) -> None:
        """Delete a file that no version needs, if it is there."""
        with suppress(FileNotFoundError), _refusals(self.place):
            self.files.delete_file(f"{self.folder}/{name}")

    def names(self) -> list[str]:
        """All files that are there, those no version needs among them."""
        with _refusals(self.place):
            found = self.files.get_file_info(pafs.FileSelector(self.folder))
        return sorted(each.base_name for each in found if each.is_file)

    def append(self, before: Snapshot, file: ChangeFile, note: Mapping[str, Any]) -> bool:
        """Commit the version after `before`, with one file more; False if somebody else did."""
        return self._commit(before, [_add(file, changes=True)], note)

    def replace(self, before: Snapshot, old: Snapshot, file: ChangeFile) -> bool:
        """Commit the version after `before`, with one file for all those of `old`."""
        moment = int(time.time() * 1000)
        removed = [
            RemoveAction(each.name, False, moment, size=each.size, partition_values={})
            for each in old.files
        ]
        return self._commit(before, [_add(file, changes=False), *removed], {"state": old.version})

    def _commit(self, before: Snapshot, actions: list[Any], note: Mapping[str, Any]) -> bool:
        once = CommitProperties(max_commit_retries=0, custom_metadata={_NOTE_KEY: dict(note)})
        with self._lock, _refusals(self.place):
            if self._table.version() != before.version:
                return False  # another thread has seen that somebody was faster
            try:
                self._table.create_write_transaction(
                    actions, mode="append", schema=self._table.schema(), commit_properties=once
                )
            except CommitFailedError:
                return False
        return True

    def commits(self, limit: int | None) -> list[Commit]:
        """What the versions changed, the newest first."""
        with self._lock, _refusals(self.place):
            self._table.update_incremental()
            found = self._table.history(limit)
        return [_read_commit(each) for each in found]

    def _snapshot(self, table: DeltaTable) -> Snapshot:
        version = int(table.version())
        known = self._snapshots.get(version)
        if known is None:
            actions = pa.table(table.get_add_actions(flatten=True))
            nearest = min(self._snapshots, key=lambda other: abs(other - version), default=None)
            files = () if nearest is None else self._snapshots[nearest].files
            shared = {file.name: file for file in files}
            known = Snapshot(
                version,
                tuple(shared.get(file.name, file) for file in _read_files(actions, self.place)),
            )
            self._require_all(known)
            self._make_room()
            self._snapshots[version] = known
        return known

    def _make_room(self) -> None:
        """Give up old snapshots; the last one is left, since the next shares its files."""
        listed = sum(len(each.files) for each in self._snapshots.values())
        while len(self._snapshots) >= _SNAPSHOTS_KEPT or (
            len(self._snapshots) > 1 and listed > _FILES_LISTED
        ):
            listed -= len(self._snapshots.pop(min(self._snapshots)).files)

    def _require_all(self, snapshot: Snapshot) -> None:
        """Every version has a file, but those that a state replaces; an empty entry has none.

        That is what a file system may leave of an entry after a loss of power, and to Delta it
        would be a version that changes nothing.
        """
        there = {committed_by(file.name) for file in snapshot.files}
        for version in range(snapshot.reaches + 1, snapshot.version + 1):
            if version not in there:
                entry = f"{self.place}/_delta_log/{version:020d}.json"
                raise StoreError(
                    f"version {version} has no file: {entry} is damaged or not Tidegate's"
                )


def pause(attempt: int) -> None:
    """Let others go first after an attempt that failed, the longer the more often it did."""
    time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.002 * 2**attempt)))


def too_many() -> StoreError:
    """What to say after the last attempt."""
    return StoreError(
        f"gave up after {ATTEMPTS} attempts, as others changed the store each time: try again, "
        "with more changes in one commit or with fewer writers"
    )


def _add(file: ChangeFile, *, changes: bool) -> AddAction:
    moment = int(time.time() * 1000)
    return AddAction(file.name, file.size, {}, moment, changes, file.statistics)


def _read_files(actions: pa.Table, place: str) -> Iterator[ChangeFile]:
    """Files in the order of their names."""
    names: tuple[str, ...] = (
        "path",
        "size_bytes",
        "num_records",
        "min.version",
        "max.version",
        "min.id",
        "max.id",
    )
    if not set(names) <= set(actions.column_names):  # no file has any statistics
        names = names[:1]
    columns = [actions[name].to_pylist() for name in names]
    for name, *known in sorted(zip(*columns, strict=True)):
        if committed_by(name) is None or not known or None in known[:4]:
            raise StoreError(f"{place} has a file that is not Tidegate's: {name}")
        yield ChangeFile(name, *known)


def _read_commit(entry: Mapping[str, Any]) -> Commit:
    note = entry.get(_NOTE_KEY) or {}
    moment = datetime.fromtimestamp(entry["timestamp"] / 1000, UTC)
    counts = {name: int(note.get(name, 0)) for name in ("added", "updated", "removed")}
    message = note.get("message")
    if message is None and "state" in note:
        message = f"compacted the changes up to version {note['state']}"
    return Commit(entry["version"], moment, **counts, message=message)


def _file_system(place: str) -> tuple[pafs.FileSystem, str]:
    """How to reach the files of a table, and the folder they are in."""
    if "://" not in place:
        return pafs.LocalFileSystem(), os.path.abspath(place)
    return pafs.PyFileSystem(DeltaStorageHandler(place)), ""


def _above(place: str) -> str:
    return place.rpartition("/")[0]


@contextmanager
def _refusals(place: str) -> Iterator[None]:
    """Delta's errors in our words."""
    try:
        yield
    except FileNotFoundError:
        raise
    except TableNotFoundError:
        raise StoreError(f"there is no store at {_above(place)}") from None
    except (DeltaError, OSError, ValueError) as error:
        said = str(error).partition("\n")[0]  # a backtrace follows
        raise StoreError(_blame(place) or f"{place} cannot be used: {said}") from None


def _blame(place: str) -> str | None:
    try:
        return damaged_entry(*_file_system(place))
    except (OSError, pa.ArrowException):
        return None  # the folder cannot be read either

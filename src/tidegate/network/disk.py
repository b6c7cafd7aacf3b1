"""What has a broker written down, in a folder?

A snapshot and a journal of what came in since. A new snapshot is put beside the one before it, then
the journal goes on in a new segment, then what is needless is removed: whenever the process is
killed, one snapshot is whole, and the journal has all records after it.

The folder says whose it is: another broker, another kind of filters, and another format are
refused by name, as is a folder that another process uses. So is whatever is damaged, except a
record at the very end that was never safe: see `frame`.
"""

import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tidegate.errors import StorageError, TidegateError
from tidegate.network.files import read, write_safely
from tidegate.network.frame import INPUT, Record
from tidegate.network.journal import SEGMENT, Journal
from tidegate.network.snapshot import read_snapshot, write_snapshot
from tidegate.overlay.filter import Kind, Plain
from tidegate.overlay.messages import Persist
from tidegate.overlay.record import plain_record, read_record
from tidegate.overlay.storage import Written

FORMAT: Final = 1  # of the folder


class Disk:
    """A `Storage` in a folder, which is made if it is not there; one process has it at a time.

    >>> from tempfile import TemporaryDirectory
    >>> from tidegate.overlay.attributes import Attributes
    >>> from tidegate.overlay.broker import Broker
    >>> from tidegate.overlay.messages import LinkUp
    >>> from tidegate.overlay.storage import Keeper
    >>> kind = Attributes()
    >>> with TemporaryDirectory() as folder:
    ...     with Disk(Path(folder), "a", kind) as disk:
    ...         keeper = Keeper.begin(Broker("a", kind), disk, every=1_000)
    ...         keeper.note(keeper.broker.handle("ann", LinkUp(client=True)))
    ...     with Disk(Path(folder), "a", kind) as disk:
    ...         list(Keeper.recall(disk, 1_000, kind).broker.routing.links)
    ['ann']
    """

    def __init__(self, folder: Path, broker: str, kind: Kind, segment: int = SEGMENT) -> None:
        self._folder = folder
        self._broker = broker
        self._kind = kind
        self._handle = _take(folder)
        self._journal = Journal(folder, segment)
        self._recalled = False

    def __enter__(self) -> "Disk":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another process have the folder."""
        self._journal.begin()
        os.close(self._handle)

    def write(self, records: Sequence[Persist]) -> None:
        """Write these down, after all before; all of them are safe when this returns."""
        self._check_recalled()
        self._journal.append(INPUT, [self._body(each) for each in records])

    def keep(self, snapshot: Plain) -> None:
        """Keep a snapshot, which makes all that was written down before it needless."""
        self._check_recalled()
        last = self._journal.last
        try:
            write_snapshot(self._folder, last, snapshot)
            self._sign()
            self._tidy(last)
        except OSError as error:
            raise StorageError(f"{self._folder} takes no snapshot: {error.strerror}") from None

    def recall(self) -> Written | None:
        """What was written down; None if nothing ever was."""
        self._recalled = True
        signed = self._signed()
        snapshots = sorted(self._folder.glob("*.snapshot"))
        if not signed:
            if any(self._folder.glob("*.journal")):
                raise StorageError(f"{self._folder} does not say whose it is: {_NAME} is missing")
            return None
        if not snapshots:
            raise StorageError(f"{self._folder} is damaged: it has no snapshot")
        state = read_snapshot(snapshots[-1])
        last = int(snapshots[-1].stem)
        records = [self._read(each) for each in self._journal.read(last)]
        self._tidy(last)
        return Written(state, records)

    def _check_recalled(self) -> None:
        """Nothing is written before what is there was looked at."""
        if not self._recalled and self.recall() is not None:
            raise StorageError(f"{self._folder} has a broker: recall it before you go on")

    # -- records

    def _body(self, written: Persist) -> bytes:
        return json.dumps(plain_record(written, self._kind), separators=(",", ":")).encode()

    def _read(self, record: Record) -> Persist:
        if record.sort != INPUT:
            raise StorageError(
                f"{self._folder} has a record of the sort {record.sort}, which this version of"
                " Tidegate does not know"
            )
        try:
            return read_record(json.loads(record.body), self._kind)
        except (TidegateError, ValueError) as error:
            where = f"record {record.number:,} of {self._folder}"
            raise StorageError(f"{where} cannot be read: {error}") from None

    # -- the folder

    def _tidy(self, last: int) -> None:
        """Go on in a new segment, and remove what the snapshot after a record makes needless."""
        self._journal.begin()
        self._journal.forget(last)
        for path in sorted(self._folder.glob("*.snapshot"))[:-1]:
            path.unlink()
        for path in self._folder.glob("*.new"):
            path.unlink()

    def _sign(self) -> None:
        """Say whose folder this is."""
        path = self._folder / _NAME
        if not path.exists():
            write_safely(path, json.dumps(self._own).encode())

    def _signed(self) -> bool:
        """Whether this folder is this broker's: one that is another's is refused."""
        path = self._folder / _NAME
        if not path.exists():
            return False
        try:
            found = json.loads(read(path))
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.keys() != self._own.keys():
            raise StorageError(f"{path} is damaged: it does not say whose folder this is")
        for key, own in self._own.items():
            if found[key] != own:
                raise StorageError(f"{self._folder} is of {key} {found[key]!r}, not {own!r}")
        return True

    @property
    def _own(self) -> dict[str, str | int]:
        return {"format": FORMAT, "broker": self._broker, "kind": self._kind.name}


_NAME: Final = "storage.json"


def _take(folder: Path) -> int:
    """Have a folder alone, until the handle is closed or the process ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StorageError(f"{folder} cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise StorageError(f"{folder} is in use by another process") from None
    return handle

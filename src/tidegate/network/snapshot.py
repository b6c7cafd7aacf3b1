"""A broker's state in a file, replaced as a whole or not at all.

One line says what it is, after which record it was taken, how long the state is, and its checksum;
the state follows, as JSON.
"""

import json
from pathlib import Path
from typing import Final
from zlib import crc32

from tidegate.errors import StorageError
from tidegate.network.files import read, write_safely
from tidegate.overlay.filter import Plain

_WORD: Final = b"tidegate-snapshot"


def snapshot_path(folder: Path, number: int) -> Path:
    """Where the snapshot is that was taken after a record."""
    return folder / f"{number:020}.snapshot"


def write_snapshot(folder: Path, number: int, state: Plain) -> None:
    """Keep a state that was taken after a record."""
    body = json.dumps(state, separators=(",", ":")).encode()
    signed = b"%d %d %d" % (number, len(body), crc32(body))
    head = b"%b %b %d\n" % (_WORD, signed, crc32(signed))
    write_safely(snapshot_path(folder, number), head + body)


def read_snapshot(path: Path) -> Plain:
    """The state in a file; whatever is not as it was written is refused by the file's name."""
    head, _, body = read(path).partition(b"\n")
    parts = head.split(b" ")
    if len(parts) != 5 or parts[0] != _WORD or not all(part.isdigit() for part in parts[1:]):
        raise StorageError(f"{path} is damaged: it does not begin as a snapshot does")
    number, length, summed, own = map(int, parts[1:])
    if crc32(b" ".join(parts[1:4])) != own or b"%d" % own != parts[4]:
        raise StorageError(f"{path} is damaged: its first line has a wrong checksum")
    if path != snapshot_path(path.parent, number):
        raise StorageError(f"{path} is damaged: it is the snapshot after record {number:,}")
    if len(body) != length or crc32(body) != summed:
        raise StorageError(f"{path} is damaged: the state has a wrong length or checksum")
    return json.loads(body)

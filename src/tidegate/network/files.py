"""Files that are safe: written, and there after the machine has lost power."""

import os
from pathlib import Path

from tidegate.errors import StorageError


def sync_folder(folder: Path) -> None:
    """Let the names of files in a folder be safe."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_safely(path: Path, data: bytes) -> None:
    """Put a file there as a whole, in the place of one that may be there; or change nothing."""
    draft = path.with_name(path.name + ".new")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def read(path: Path) -> bytes:
    """The bytes of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}") from None

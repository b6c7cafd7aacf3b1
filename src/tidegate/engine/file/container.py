"""How does an index lie on disk?

As one file of named flat arrays, which `read` maps into memory: nothing is copied, and processes
that open the same file share its pages. A file is

    preamble   64 bytes: magic, format, size and checksum of the header, size of the file, and the
               checksum of the preamble itself; little-endian
    header     JSON, padded with spaces: what the writer wants to remember, the version of the
               library and the byte order that wrote it, and the sections in their order, each with
               its name, dtype, length and checksum
    sections   the arrays one after the other, each padded with zeros

and every part starts at a multiple of 64 bytes. Every byte of the file is under exactly one CRC-32,
all of which are checked when the file is opened, so accidents of all kinds are noticed (any flipped
bit, zeroed pages, parts that changed places); a file made to deceive is not. `write` makes a new
file under another name and renames it when it is safely on disk: a crash leaves the old file or the
new one, perhaps with a stray `.tidegate-….tmp` beside it, and who has mapped the old one keeps it.

What is refused raises `IndexFileError`. Files must not be changed in place, by anyone: if one is
truncated while it is mapped, the operating system ends the process that touches what is gone.
"""

import json
import mmap
import os
import secrets
import stat
import struct
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.errors import IndexFileError

Location: TypeAlias = str | os.PathLike[str]
Arrays: TypeAlias = dict[str, NDArray[Any]]

_MAGIC: Final = b"\x89TIDE\r\n\x1a"  # not text, and damaged by whatever takes it for text
_FORMAT: Final = 1
_PREAMBLE: Final = struct.Struct("<8sIIQQ28x")  # magic, format, CRC and size of header, file size
_CHECK: Final = struct.Struct("<I")
_ALIGN: Final = 64
_KINDS: Final = "biufcmM"  # booleans, numbers and moments: nothing that could hold a pointer


def write(path: Location, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file, or replace one as a whole. The header is anything that JSON can say.

    Arrays have one dimension; they are written in this machine's byte order.
    """
    flat = {name: _flat(name, array) for name, array in arrays.items()}
    sections = [
        [name, array.dtype.str, len(array), _checksum(array)] for name, array in flat.items()
    ]
    document = {
        "library": _library(),
        "byteorder": sys.byteorder,
        "header": dict(header),
        "sections": sections,
    }
    text = json.dumps(document, allow_nan=False).encode()
    text += b" " * (_padded(len(text)) - len(text))
    size = _ALIGN + len(text) + sum(_padded(array.nbytes) for array in flat.values())
    preamble = _PREAMBLE.pack(_MAGIC, _FORMAT, zlib.crc32(text), len(text), size)
    preamble += _CHECK.pack(zlib.crc32(preamble))
    target = Path(path)
    try:
        _replace(target, [preamble, text, *(part for a in flat.values() for part in _parts(a))])
    except (OSError, ValueError) as error:
        raise IndexFileError(f"{target} cannot be written: {_reason(error)}") from error


def read(path: Location, *, copy_on_write: bool = False) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a file: read-only, and mapped as long as one of them lives.

    If the map is `copy_on_write`, arrays can be written; the file and other maps of it stay as
    they are.
    """
    name = os.fspath(path)
    mapped = _map(name, mmap.ACCESS_COPY if copy_on_write else mmap.ACCESS_READ)
    start, document = _read_header(name, mapped)
    arrays: Arrays = {}
    whole = np.frombuffer(mapped, np.uint8)
    for section in _sections(name, document):
        end = start + section.size
        padded_end = start + _padded(section.size)
        if padded_end > len(whole):
            raise _senseless(name)
        if zlib.crc32(whole[start:padded_end].data) != section.checksum:
            raise IndexFileError(f"{name} is damaged: the checksum of {section.name!r} is wrong")
        arrays[section.name] = whole[start:end].view(section.dtype)
        start = padded_end
    if start != len(whole):
        raise _senseless(name)
    return document["header"], arrays


def table_to_bytes(table: pa.Table) -> NDArray[np.uint8]:
    """An Arrow table as a section of a file: an IPC stream, chunks and dictionaries as they are."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def table_from_bytes(section: NDArray[np.uint8]) -> pa.Table:
    """The table of such a section, without copying: its buffers are the section's memory."""
    try:
        return pa.ipc.open_stream(pa.py_buffer(section)).read_all()
    except (pa.ArrowException, OSError) as error:
        raise IndexFileError(f"a section that should be an Arrow table is none: {error}") from error


def _library() -> str:
    """The version of Tidegate, whose root is loaded before this, but stands above it."""
    return str(sys.modules["tidegate"].__version__)


def _padded(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def _flat(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim != 1 or array.dtype.kind not in _KINDS:
        raise ValueError(
            f"{name!r} is no flat array of numbers: {array.ndim} dimensions of {array.dtype}"
        )
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _parts(array: NDArray[Any]) -> tuple[NDArray[np.uint8], bytes]:
    """The bytes of an array, and the padding behind them."""
    return array.view(np.uint8), bytes(_padded(array.nbytes) - array.nbytes)


def _checksum(array: NDArray[Any]) -> int:
    content, padding = _parts(array)
    return zlib.crc32(padding, zlib.crc32(content.data))


def _replace(target: Path, parts: list[Any]) -> None:
    """Bring the parts to disk under a name of their own, then give them the target's."""
    temporary = target.parent / f".tidegate-{secrets.token_hex(8)}.tmp"
    try:
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a directory cannot be opened
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _map(name: str, access: int) -> mmap.mmap:
    try:
        mode = os.stat(name).st_mode
        if stat.S_ISDIR(mode):
            raise IndexFileError(f"{name} is a directory, not an index file")
        if not stat.S_ISREG(mode):  # opening a pipe would wait for somebody to write
            raise IndexFileError(f"{name} is not a regular file")
        with open(name, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise IndexFileError(f"{name} is empty, not an index file")
            return mmap.mmap(file.fileno(), 0, access=access)
    except FileNotFoundError:
        raise IndexFileError(f"there is no file {name}") from None
    except (OSError, ValueError) as error:
        raise IndexFileError(f"{name} cannot be read: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _read_header(name: str, mapped: mmap.mmap) -> tuple[int, dict[str, Any]]:
    """Where the sections start, and the header, after all that can be checked before them."""
    if mapped[: len(_MAGIC)] != _MAGIC[: len(mapped)]:
        raise IndexFileError(f"{name} is not an index file of Tidegate")
    if len(mapped) < _ALIGN:
        raise IndexFileError(f"{name} is truncated: it ends within its first {_ALIGN} bytes")
    _, number, checksum, length, size = _PREAMBLE.unpack_from(mapped)
    if number != _FORMAT:
        raise IndexFileError(
            f"{name} has format {number}, and Tidegate {_library()} reads format {_FORMAT}: "
            "save the index again with this version"
        )
    if zlib.crc32(mapped[: _PREAMBLE.size]) != _CHECK.unpack_from(mapped, _PREAMBLE.size)[0]:
        raise IndexFileError(f"{name} is damaged: the checksum of its preamble is wrong")
    if len(mapped) != size:
        change = "is truncated" if len(mapped) < size else "has grown"
        raise IndexFileError(f"{name} {change}: it has {len(mapped)} bytes and should have {size}")
    text = mapped[_ALIGN : _ALIGN + length]
    if zlib.crc32(text) != checksum:
        raise IndexFileError(f"{name} is damaged: the checksum of its header is wrong")
    if length % _ALIGN:
        raise _senseless(name)
    return _ALIGN + length, _read_document(name, text)


def _read_document(name: str, text: bytes) -> dict[str, Any]:
    try:
        document = json.loads(text)
        order = document["byteorder"]
        if not isinstance(document["header"], dict):
            raise _senseless(name)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _senseless(name) from error
    if order != sys.byteorder:
        raise IndexFileError(
            f"{name} is {order}-endian, and this machine is {sys.byteorder}-endian: "
            "save the index again on a machine like this one"
        )
    return document  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    dtype: np.dtype[Any]
    length: int
    checksum: int

    @property
    def size(self) -> int:
        """In bytes."""
        return self.length * self.dtype.itemsize


def _sections(name: str, document: dict[str, Any]) -> list[_Section]:
    try:
        found = [
            _Section(str(label), np.dtype(str(dtype)), int(length), int(checksum))
            for label, dtype, length, checksum in document["sections"]
        ]
    except (ValueError, TypeError, KeyError, OverflowError, SyntaxError) as error:
        raise _senseless(name) from error
    for section in found:
        if section.dtype.kind not in _KINDS or not section.dtype.isnative or section.length < 0:
            raise _senseless(name)
    return found


def _senseless(name: str) -> IndexFileError:
    return IndexFileError(f"{name} is damaged: its header contradicts itself")

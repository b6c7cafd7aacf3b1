"""What is a compiled base?

A **base** is a version of the store, compiled for events of one schema: an index file whose ids are
the numbers 0, 1, 2, …, a file of **names** that says which subscription and which subscriber each
number is, sorted by id, and a **manifest** that names both with their sizes and checksums. A base
is there when its manifest is: files are written first, under names of their own, and the manifest
last, by an atomic rename. So a base is whole or it is not there, and two that are made at the same
time do not get in each other's way.

Workers map the files; they are never changed.
"""

import json
import os
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from tidegate.engine.index import Index
from tidegate.engine.notation import spell_schema
from tidegate.errors import StoreError
from tidegate.filters.schema import Schema

_FORMAT: Final = 1
_CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class File:
    """A file of a base, by its name in the folder of bases."""

    name: str
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Base:
    """The manifest of a base."""

    version: int
    events: str  # fingerprint of the schema it was compiled for
    subscriptions: int
    refused: int  # subscriptions that do not fit the events' schema, and match nothing
    reasons: list[str]  # of some of them
    index: File
    names: File
    seconds: float
    format: int = _FORMAT


def fingerprint(schema: Schema) -> str:
    """A name for a schema, the same for equal ones."""
    spelled = json.dumps(spell_schema(schema), sort_keys=True)
    return f"{zlib.crc32(spelled.encode()):08x}{len(spelled):04x}"


def folder(store: str) -> Path:
    """Where the bases of a store are."""
    return location(store) / "bases"


def location(store: str) -> Path:
    """The folder of a store, which has to be on a file system: workers map files of it.

    >>> location("s3://bucket/rules")
    Traceback (most recent call last):
    ...
    tidegate.errors.StoreError: s3://bucket/rules is not on a file system, as matching needs it
    """
    if store.startswith("file://"):
        return Path(unquote(store.removeprefix("file://")))
    if "://" in store:
        raise StoreError(f"{store} is not on a file system, as matching needs it")
    return Path(store)


def bases(store: str, events: str) -> list[Base]:
    """The bases for events of a schema, the oldest version first."""
    found = [read(path) for path in folder(store).glob(f"base-*-{events}-*.json")]
    return sorted((base for base in found if base is not None), key=lambda base: base.version)


def newest(store: str, events: str, upto: int) -> Base | None:
    """The newest base of a version up to that one."""
    able = [base for base in bases(store, events) if base.version <= upto]
    return able[-1] if able else None


def read(path: Path) -> Base | None:
    """The base of a manifest; None if somebody has just removed it."""
    try:
        said: dict[str, Any] = json.loads(path.read_text())
        if said.get("format") != _FORMAT:
            raise StoreError(f"{path} is a base of another version of Tidegate: compile anew")
        return from_manifest(said)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"the manifest {path} is damaged: {error}") from None


def from_manifest(said: dict[str, Any]) -> Base:
    """The base that a manifest tells of."""
    return Base(**{**said, "index": File(**said["index"]), "names": File(**said["names"])})


def write(
    store: str,
    version: int,
    schema: Schema,
    index: Index,
    names: pa.Table,
    refused: list[str],
    started: float,
) -> Base:
    """Write the files of a base, and then its manifest."""
    place = folder(store)
    place.mkdir(parents=True, exist_ok=True)
    events = fingerprint(schema)
    stem = f"{version:020d}-{events}-{uuid.uuid4().hex}"
    try:
        index.save(place / f"index-{stem}.tidegate")
        with (
            pa.OSFile(str(place / f"names-{stem}.arrow"), "wb") as out,
            pa.ipc.new_file(out, names.schema) as writer,
        ):
            writer.write_table(names)
        base = Base(
            version,
            events,
            len(names),
            len(refused),
            refused[:20],
            _file(place / f"index-{stem}.tidegate"),
            _file(place / f"names-{stem}.arrow"),
            time.time() - started,
        )
        replace_file(place / f"base-{stem}.json", json.dumps(asdict(base), indent=1).encode())
    except OSError as error:
        raise StoreError(f"a base cannot be written to {place}: {error}") from None
    return base


def manifest_of(store: str, base: Base) -> Path:
    """The path of a base's manifest."""
    return folder(store) / base.index.name.replace("index-", "base-").replace(".tidegate", ".json")


def remove(store: str, base: Base) -> list[str]:
    """Remove a base, its manifest first; the files that are gone."""
    gone = [manifest_of(store, base), *(folder(store) / f.name for f in (base.index, base.names))]
    for path in gone:
        path.unlink(missing_ok=True)
    return [str(path) for path in gone]


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole, or leave what was there."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def require_whole(path: Path, file: File) -> None:
    """Refuse a file that is not the one that was written."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise StoreError(f"{path} is missing: compile the store anew") from None
    if size != file.size:
        raise StoreError(
            f"{path} is damaged: it has {size:,} bytes instead of {file.size:,}; "
            "remove its base and compile the store anew"
        )
    if _checksum(path) != file.checksum:
        raise StoreError(
            f"{path} is damaged: its checksum is wrong; remove its base and compile anew"
        )


def _file(path: Path) -> File:
    with path.open("rb+") as opened:
        os.fsync(opened.fileno())
    return File(path.name, path.stat().st_size, _checksum(path))


def _checksum(path: Path) -> int:
    found = 0
    with path.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def named(bases: Iterable[Base]) -> set[str]:
    """The names of all files of these bases."""
    return {file.name for base in bases for file in (base.index, base.names)}

"""What is a compiled base?

A **base** is a version of the store, compiled for events of one schema: an index file whose ids are
the numbers 0, 1, 2, …, a file of **names** that says which subscription and which subscriber each
number is, sorted by id, and a **manifest** that names both with their sizes and checksums. A base
is there when its manifest is: files are written first, under names of their own, and the manifest
last, at once (`objects`). So a base is whole or it is not there, and two that are made at the same
time do not get in each other's way.

Workers map the files, or copies of them where the store is remote (`copies`); they are never
changed.
"""

import json
import os
import re
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tidegate.engine.index import Index
from tidegate.engine.notation import spell_schema
from tidegate.errors import StoreError
from tidegate.filters.schema import Schema
from tidegate.pipeline.objects import Bucket, Folder, beside

if TYPE_CHECKING:
    from tidegate.pipeline.copies import Copy

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


def kept(store: str) -> Folder | Bucket:
    """Where the files of a store's bases are."""
    return beside(store, "bases")


def bases(store: str, events: str) -> list[Base]:
    """The bases for events of a schema, the oldest version first."""
    found = [base for base, _ in manifests(store, events)]
    return sorted(found, key=lambda base: base.version)


def manifests(store: str, events: str | None = None) -> Iterator[tuple[Base, float]]:
    """The bases for events of a schema, or of every one, and when their manifests came."""
    place = kept(store)
    read = _read_once if isinstance(place, Bucket) else _read
    form = re.compile(rf"base-\d+-{events or '[0-9a-f]+'}-[0-9a-f]+\.json")
    for found in place.list():
        if form.fullmatch(found.name):
            base = read(place, found.name)
            if base is not None:
                yield base, found.moment


def newest(store: str, events: str, upto: int) -> Base | None:
    """The newest base of a version up to that one."""
    able = [base for base in bases(store, events) if base.version <= upto]
    return able[-1] if able else None


def _read(place: Folder | Bucket, name: str) -> Base | None:
    """The base of a manifest; None if somebody has just removed it."""
    content = place.get(name)
    if content is None:
        return None
    where = place.where(name)
    try:
        said: dict[str, Any] = json.loads(content)
        if said.get("format") != _FORMAT:
            raise StoreError(f"{where} is a base of another version of Tidegate: compile anew")
        return from_manifest(said)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(f"the manifest {where} is damaged: {error}") from None


_read_once = lru_cache(maxsize=256)(_read)  # from far away: a manifest never changes


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
    place = kept(store)
    events = fingerprint(schema)
    stem = f"{version:020d}-{events}-{uuid.uuid4().hex}"
    try:
        with _writing(place) as folder:
            index.save(folder / f"index-{stem}.tidegate")
            with (
                pa.OSFile(str(folder / f"names-{stem}.arrow"), "wb") as out,
                pa.ipc.new_file(out, names.schema) as writer,
            ):
                writer.write_table(names)
            base = Base(
                version,
                events,
                len(names),
                len(refused),
                refused[:20],
                _file(folder / f"index-{stem}.tidegate"),
                _file(folder / f"names-{stem}.arrow"),
                time.time() - started,
            )
        place.put(f"base-{stem}.json", json.dumps(asdict(base), indent=1).encode())
    except OSError as error:
        raise StoreError(f"a base cannot be written to {place.where('')}: {error}") from None
    return base


@contextmanager
def _writing(place: Folder | Bucket) -> Iterator[Path]:
    """A folder for the files of a new base, which are in place when it is left."""
    if isinstance(place, Bucket):
        from tidegate.pipeline import copies  # needs locks that Windows does not have

        with copies.uploading(place) as folder:
            yield folder
    else:
        place.path.mkdir(parents=True, exist_ok=True)
        yield place.path


def local(store: str, file: File) -> "tuple[Path, Copy | None]":
    """Where a file can be mapped; of a remote one a copy, which stays as long as it is held."""
    place = kept(store)
    if isinstance(place, Bucket):
        from tidegate.pipeline import copies

        copy = copies.copied(place, file)
        return copy.path, copy
    return place.path / file.name, None


def remove(store: str, base: Base) -> list[str]:
    """Remove a base, its manifest first; the files that are gone."""
    place = kept(store)
    manifest = base.index.name.replace("index-", "base-").replace(".tidegate", ".json")
    gone = [manifest, base.index.name, base.names.name]
    for name in gone:
        place.delete(name)
    return [place.where(name) for name in gone]


def require_whole(path: Path, file: File, where: str | None = None) -> None:
    """Refuse a file that is not the one that was written, by its own path or where it is from."""
    named = path if where is None else where
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise StoreError(f"{named} is missing: compile the store anew") from None
    if size != file.size:
        raise StoreError(
            f"{named} is damaged: it has {size:,} bytes instead of {file.size:,}; "
            "remove its base and compile the store anew"
        )
    if _checksum(path) != file.checksum:
        raise StoreError(
            f"{named} is damaged: its checksum is wrong; remove its base and compile anew"
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

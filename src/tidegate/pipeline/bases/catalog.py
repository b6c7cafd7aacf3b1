"""What is a compiled base?

A **base** is a version of the store, compiled for events of one schema (documents have none). Its
subscriptions are split into **shards**, of which small stores have only one. A shard is an index
file whose ids are the numbers 0, 1, 2, …, and a file of **names** that says which subscription and
which subscriber each number is, sorted by id. Where there are several shards, the **summary** is an
index of filters that cover each of them (`Kind.summary`), and tells where an event has to go. The
**manifest** names all files with their sizes and checksums.

A base is there when its manifest is: files are written first, under names of their own, and the
manifest last, at once (`objects`). So a base is whole or it is not there, and two that are made at
the same time do not get in each other's way.

Workers map the files, or copies of them where the store is remote (`objects`); they are never
changed.
"""

import json
import os
import re
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from tidegate.errors import StoreError, TidegateError
from tidegate.pipeline.kinds.kind import Kind
from tidegate.pipeline.kinds.kinds import compiled_kind
from tidegate.pipeline.store.language import ATTRIBUTES
from tidegate.pipeline.store.objects import LocalFile, Objects, beside

_FORMAT: Final = 2
_CHUNK: Final = 1 << 20
REMEDY: Final = "remove the folder `bases` of the store, and the next match compiles it again"
"""What to do about a base that cannot be used."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a base, by its name in the folder of bases."""

    name: str
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Shard:
    """Some subscriptions of a base."""

    subscriptions: int
    index: File
    names: File
    visits: float = 1.0  # the share of events that are expected to come here


@dataclass(frozen=True, slots=True)
class Base:
    """The manifest of a base."""

    name: str
    version: int
    events: str  # fingerprint of what it was compiled for
    schema: Any  # that itself, in writing: the schema of the events; of documents the namespaces
    shards: tuple[Shard, ...]
    summary: File | None  # where there are several shards
    refused: int  # subscriptions that do not fit the events' schema, and match nothing
    reasons: list[str]  # of some of them
    seconds: float
    format: int = _FORMAT
    kind: str = ATTRIBUTES  # of the filters; manifests without one are of these

    @property
    def subscriptions(self) -> int:
        """How many there are, refused ones included."""
        return sum(shard.subscriptions for shard in self.shards)

    @property
    def files(self) -> list[File]:
        """All files but the manifest."""
        own = [file for shard in self.shards for file in (shard.index, shard.names)]
        return own if self.summary is None else [*own, self.summary]

    def read_kind(self) -> Kind:
        """The kind of the filters, for the events that it was compiled for."""
        return compiled_kind(self.kind, self.schema)


def fingerprint(kind: Kind) -> str:
    """A name for what filters are compiled for, the same if it is equal."""
    spelled = json.dumps(kind.spelled(), sort_keys=True)
    return f"{zlib.crc32(spelled.encode()):08x}{len(spelled):04x}"


def new_name(version: int, kind: Kind) -> str:
    """A name for a base that is about to be made, which no other one has."""
    return f"{version:020d}-{fingerprint(kind)}-{uuid.uuid4().hex}"


def kept(store: str) -> Objects:
    """Where the files of a store's bases are."""
    return beside(store, "bases")


def bases(store: str, events: str) -> list[Base]:
    """The bases for events of a schema, the oldest version first."""
    found = [base for base, _ in manifests(store, events)]
    return sorted(found, key=lambda base: base.version)


def manifests(store: str, events: str | None = None) -> Iterator[tuple[Base, float]]:
    """The bases for events of a schema, or of every one, and when their manifests came."""
    place = kept(store)
    read = _read_once if place.remote else _read
    form = re.compile(rf"base-\d+-{events or '[0-9a-f]+'}-[0-9a-f]+\.json")
    for found in place.list():
        if form.fullmatch(found.name):
            base = read(place, found.name)
            if base is not None:
                yield base, found.moment


def newest(store: str, events: str, upto: int, shards: int | None = None) -> Base | None:
    """The newest base of a version up to that one, with so many shards if that matters."""
    able = [
        base
        for base in bases(store, events)
        if base.version <= upto and shards in (None, len(base.shards))
    ]
    return able[-1] if able else None


def named(store: str, name: str) -> Base:
    """The base of that name."""
    place = kept(store)
    base = _read(place, _manifest(name))
    if base is None:
        raise StoreError(
            f"{place.where(_manifest(name))} is gone: somebody has removed the base while it was "
            "used. Start again; where a micro-batch of a streaming match still asks for it, remove "
            "the query's files `*.base` from the folder `pins` of the store first"
        )
    return base


def _manifest(name: str) -> str:
    return f"base-{name}.json"


def _read(place: Objects, name: str) -> Base | None:
    """The base of a manifest; None if somebody has just removed it."""
    content = place.get(name)
    if content is None:
        return None
    where = place.where(name)
    try:
        said: dict[str, Any] = json.loads(content)
        if said.get("format") != _FORMAT:
            raise StoreError(f"{where} is a base of another version of Tidegate; {REMEDY}")
        return _from_manifest(said)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(f"the manifest {where} is damaged: {error}; {REMEDY}") from None


_read_once = lru_cache(maxsize=64)(_read)  # from far away: a manifest never changes


def _from_manifest(said: dict[str, Any]) -> Base:
    """The base that a manifest tells of."""
    base = Base(
        **{
            **said,
            "shards": tuple(shard_from(each) for each in said["shards"]),
            "summary": None if said["summary"] is None else File(**said["summary"]),
        }
    )
    try:
        base.read_kind()
    except TidegateError as error:
        raise ValueError(str(error)) from None
    return base


def shard_from(said: dict[str, Any]) -> Shard:
    """The shard that a manifest tells of."""
    return Shard(**{**said, "index": File(**said["index"]), "names": File(**said["names"])})


def publish(store: str, base: Base) -> Base:
    """Write the manifest of a base whose files are written: from now on the base is there."""
    with _refusals(store) as place:
        place.put(_manifest(base.name), json.dumps(asdict(base), indent=1).encode())
    return base


@contextmanager
def writing(store: str) -> Iterator[Path]:
    """A folder for new files of a base, which are in place when it is left."""
    with _refusals(store) as place, place.writing() as folder:
        yield folder


@contextmanager
def _refusals(store: str) -> Iterator[Objects]:
    place = kept(store)
    try:
        yield place
    except OSError as error:
        raise StoreError(f"a base cannot be written to {place.where('')}: {error}") from None


def mapped(store: str, file: File) -> LocalFile:
    """A file that can be mapped; of a remote one a copy, which stays as long as it is held."""
    place = kept(store)
    whole = partial(require_whole, file=file, where=place.where(file.name))
    return place.mapped(file.name, whole)


def remove(store: str, base: Base) -> list[str]:
    """Remove a base, its manifest first; the files that are gone."""
    place = kept(store)
    gone = [_manifest(base.name), *(file.name for file in base.files)]
    for name in gone:
        place.delete(name)
    return [place.where(name) for name in gone]


def require_whole(path: Path, file: File, where: str | None = None) -> None:
    """Refuse a file that is not the one that was written, by its own path or where it is from."""
    shown = path if where is None else where
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise StoreError(f"{shown} is missing; {REMEDY}") from None
    if size != file.size:
        raise StoreError(
            f"{shown} is damaged: it has {size:,} bytes instead of {file.size:,}; {REMEDY}"
        )
    if _checksum(path) != file.checksum:
        raise StoreError(f"{shown} is damaged: its checksum is wrong; {REMEDY}")


def written(path: Path) -> File:
    """A file that has been written, once it is on the disk."""
    with path.open("rb+") as opened:
        os.fsync(opened.fileno())
    return File(path.name, path.stat().st_size, _checksum(path))


def _checksum(path: Path) -> int:
    found = 0
    with path.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def file_names(bases: Iterable[Base]) -> set[str]:
    """The names of all files of these bases but their manifests."""
    return {file.name for base in bases for file in base.files}

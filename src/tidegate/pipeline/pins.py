"""Which version did a micro-batch use?

A micro-batch of a stream may be run more than once: tasks are retried, and after a crash the whole
batch is. All of its runs must match the same subscriptions, so its version is **pinned**: the first
task that asks writes it to a file by an exclusive create, and everybody else reads that file. A pin
is there as a whole or not at all.

Spark runs one batch of a query after the other, so only the newest pin of a query can belong to a
batch that is not committed; older ones are removed as new ones come. Versions that are pinned are
never vacuumed.
"""

import json
import os
import uuid
from pathlib import Path
from typing import Final

from tidegate.errors import StoreError
from tidegate.pipeline.bases import location

_KEPT: Final = 8  # pins of a query


def folder(store: str) -> Path:
    """Where the pins of a store are."""
    return location(store) / "pins"


def pin(store: str, query: str, batch: int, version: int) -> int:
    """The version that a batch of a query uses: this one, if nobody was faster."""
    place = folder(store) / query
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{batch:020d}.json"
    if not path.exists():
        draft = place / f".{uuid.uuid4().hex}"
        try:
            with draft.open("w") as out:
                json.dump({"version": version}, out)
                out.flush()
                os.fsync(out.fileno())
            os.link(draft, path)  # fails if it is there
        except FileExistsError:
            pass
        finally:
            draft.unlink(missing_ok=True)
        _forget_old(place, batch)
    return _read(path)


def known(store: str, query: str, batch: int) -> int | None:
    """The version that a batch of a query uses, if that is pinned already."""
    path = folder(store) / query / f"{batch:020d}.json"
    return _read(path) if path.exists() else None


def pinned(store: str) -> dict[tuple[str, int], int]:
    """The version of each batch whose pin is still there, by query and batch."""
    found = {}
    for path in folder(store).glob("*/*.json"):
        try:
            found[path.parent.name, int(path.stem)] = _read(path)
        except FileNotFoundError:
            continue
    return found


def unpin(store: str, query: str) -> None:
    """Forget a query that will not be run again."""
    for path in (folder(store) / query).glob("*"):
        path.unlink(missing_ok=True)


def _read(path: Path) -> int:
    try:
        return int(json.loads(path.read_text())["version"])
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"the pin {path} is damaged: say there which version it was") from None


def _forget_old(place: Path, batch: int) -> None:
    for path in place.glob("*.json"):
        if int(path.stem) <= batch - _KEPT:
            path.unlink(missing_ok=True)

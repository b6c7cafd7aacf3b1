"""What of a store does nobody need any more?

Files of changes, and bases. Needed are the newest version, every version that a batch of a stream
has pinned (`pins`), and all that matching one of these takes: for each schema of events the newest
base up to it, or the one that the batch has chosen, and the changes since that base.

Besides, everything that is younger than some seconds stays, and so does every version that was the
newest one in that time: somebody may have looked it up and not be done with it, or be about to pin
it. So the seconds must be more than a batch job, a compilation, or a driver that was put to sleep
takes.

Invariant: whatever can be matched at a version that is pinned or was the newest one within these
seconds can be matched after a vacuum as before.
"""

import os
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Final

from tidegate.pipeline.bases import catalog
from tidegate.pipeline.bases.catalog import Base
from tidegate.pipeline.store import pins
from tidegate.pipeline.store.store import Store

_PARTS: Final = (
    "index-",
    "names-",
    "summary-",
    ".",
)  # files of a base but its manifest, and drafts


def vacuum(store: "Store | str | os.PathLike[str]", older_than: float = 3600.0) -> list[str]:
    """Remove what nobody needs and is older than so many seconds; where it was.

    A query that will never run again keeps what it has pinned until `pins.unpin` forgets it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = Store.create(f"{folder}/subscriptions")
    ...     _ = store.add("alice", "price < 10")
    ...     _ = store.compact()
    ...     len(vacuum(store)), len(vacuum(store, older_than=0))
    (0, 1)
    """
    opened = store if isinstance(store, Store) else Store.open(store)
    before = time.time() - older_than
    recent = _recent(opened, before)
    # pins are read after the newest version: one that comes later is of that version, or a newer
    wanted = recent | set(pins.pinned(opened.path).values())
    known = list(catalog.manifests(opened.path))
    needed = _needed([base for base, _ in known], wanted)
    chosen = pins.chosen(opened.path)
    needed += [base for base, _ in known if base.name in chosen]
    kept = [base for base, moment in known if base in needed or moment >= before]
    removed = []
    for base, _ in known:
        if base not in kept:
            removed += catalog.remove(opened.path, base)
    removed += _strays(opened.path, before)
    return removed + opened.vacuum(keep=wanted | {base.version for base in kept})


def _recent(store: Store, before: float) -> set[int]:
    """Versions that together have the files of all that were the newest one since some time.

    Files come with each version and leave only with a compaction, so it takes the oldest of these
    versions, the ones before compactions, and the newest.
    """
    moment = datetime.fromtimestamp(before, UTC)
    found: set[int] = set()
    for commit in store.history():
        if commit.time < moment - timedelta(milliseconds=1):
            return found | {commit.version}
        if not found or not (commit.added or commit.updated or commit.removed):
            found |= {commit.version, max(commit.version - 1, 0)}
    return found | {0}


def _needed(known: list[Base], versions: set[int]) -> list[Base]:
    """The newest base of each schema up to each of these versions."""
    of_schema: dict[str, list[Base]] = defaultdict(list)
    for base in sorted(known, key=lambda base: base.version):
        of_schema[base.events].append(base)
    needed = []
    for own in of_schema.values():
        for version in versions:
            able = [base for base in own if base.version <= version]
            needed += able[-1:]
    return needed


def _strays(store: str, before: float) -> list[str]:
    """Remove old files that belong to no base: whoever wrote them did not get to the manifest."""
    place = catalog.kept(store)
    old = [each.name for each in place.list() if each.moment < before]
    # manifests are read last, as they come after their files
    used = catalog.file_names(base for base, _ in catalog.manifests(store))
    gone = [name for name in old if name.startswith(_PARTS) and name not in used]
    for name in gone:
        place.delete(name)
    return [place.where(name) for name in gone]

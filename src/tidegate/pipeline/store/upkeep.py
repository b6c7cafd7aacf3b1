"""How does a store stay small?

`compact` replaces the log by the state it leads to, in one commit that changes nothing for readers:
versions before it keep their files. `vacuum` then deletes files, without a commit, that no version
needs which somebody still wants.

A file is written before the commit that refers to it, so a file that nobody refers to may be about
to be needed. Its name says for which version it was written: once that version is there, made with
this file or without it, the file's commit cannot come any more.
"""

from collections.abc import Iterable

from tidegate.pipeline.store.change_files import Reader
from tidegate.pipeline.store.delta_log import (
    ATTEMPTS,
    ChangeLog,
    Snapshot,
    committed_by,
    pause,
    state_name,
    too_many,
)
from tidegate.pipeline.store.versions import change_files, state


def compact(log: ChangeLog, reader: Reader) -> int:
    """Replace all changes by the state; the version that has it."""
    old = log.latest()
    for attempt in range(ATTEMPTS):
        if _is_compact(old):
            return old.version
        rows = state(reader, old)
        before = old
        # commits of others may come first, as long as they leave the files in place
        while set(old.files) <= set(before.files) and attempt < ATTEMPTS:
            file = log.write(state_name(before.version + 1, old.version), rows)
            if log.replace(before, old, file):
                return before.version + 1
            log.discard(file.name)
            pause(attempt)
            attempt += 1
            before = log.latest()
        old = before
    raise too_many()


def _is_compact(snapshot: Snapshot) -> bool:
    """Whether there is nothing to replace: no files, or only that of a state."""
    return not snapshot.files or (len(snapshot.files) == 1 and snapshot.reaches > 0)


def vacuum(log: ChangeLog, keep: Iterable[int]) -> list[str]:
    """Delete what nobody needs; where it was."""
    latest = log.latest()
    versions = {*keep, latest.version}
    needed = {file.name for version in versions for file in log.at(version).files}
    needed |= {file.name for file in change_files(log, min(versions), latest.version)}
    removed = []
    for name in log.names():
        version = committed_by(name)
        if version is not None and version <= latest.version and name not in needed:
            log.discard(name)
            removed.append(log.location(name))
    return removed

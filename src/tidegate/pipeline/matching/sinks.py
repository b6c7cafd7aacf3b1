"""Where do the notifications of a stream go, and how often?

Spark runs a micro-batch again after a crash, even one that was delivered when the crash came before
its own commit. A **sink** makes that harmless: it is told which batch of which query it is given,
and takes it once.

`ParquetFolder` writes a batch beside the others, under `_staging`, and then moves it to its place
by one rename, as a folder `batch=…`: readers see a whole batch or none, and a batch that is there
is not written again. Malformed events are the dead letters of the same batch: they lie in
`kind=errors` beside `kind=notifications`, so they come with the same rename.

`Hook` gives a batch to a function, at least once: what that does twice is its own affair.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from tidegate.errors import SchemaError, StoreError, TidegateError
from tidegate.pipeline.matching.checked_write import write_parquet
from tidegate.pipeline.store.objects import replace_file

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NOTIFICATIONS: Final = "notifications"
ERRORS: Final = "errors"

_STAGING: Final = "_staging"  # Spark overlooks names with an underscore in front
_NOTE: Final = "_tidegate.json"
_WRITERS: Final = "spark.sql.maxConcurrentOutputFileWriters"
_FILE: Final = re.compile(r"\Afile:(?://)?(?=/)")
_BUCKET: Final = re.compile(r"bucket-\d+")


class Sink(Protocol):
    """Takes the notifications of micro-batches; it may be given one of them several times."""

    def require(self, columns: Sequence[str]) -> None:
        """Refuse notifications with these columns, if they do not fit, before there are any."""

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        """Take the notifications of a batch of a query, unless they have been taken."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that is given the notifications of every batch, and the batch's number.

    At least once: after a crash it may be given the batch in whose middle it was once more, with
    the same notifications. To do its work exactly once, it must remember the number of the batch
    together with the work.
    """

    function: "Callable[[DataFrame, int], object]"

    def require(self, columns: Sequence[str]) -> None:
        """Any columns will do."""

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        """Call the function."""
        self.function(notifications, batch)


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """A folder of Parquet files, which gets every batch exactly once.

    `spark.read.parquet(path)` reads all batches, with columns `batch` and `kind`; somebody who
    only wants notifications reads `where kind = 'notifications'`.

    With `buckets`, notifications (as pairs) are split further by their subscribers, in a column
    `folder`: `bucket-007` by a hash of the subscriber, and for those named in `folders` a folder of
    their own. A batch has at most a file for each of them and task.

    The folder must be seen by the driver and all executors under the same path, on a file system
    where a rename is atomic; a batch of which the driver does not see every row is refused. It
    belongs to one query: another one, or the same without its checkpoint, is refused.
    """

    path: str
    buckets: int | None = None
    folders: tuple[str, ...] = ()

    def __init__(
        self,
        path: "str | os.PathLike[str]",
        buckets: int | None = None,
        folders: Sequence[str] = (),
    ) -> None:
        place = plain_path(path)
        if "://" in place:
            raise TidegateError(
                f"{place}: a Parquet folder is on a file system that driver and executors share, "
                "where a folder can be renamed at once; use a Hook for an object store"
            )
        if buckets is not None and buckets < 1:
            raise TidegateError(f"there are 1 or more buckets, not {buckets}")
        if folders and buckets is None:
            raise TidegateError("folders come beside buckets: say how many buckets there are")
        for name in folders:
            if _BUCKET.fullmatch(name):
                raise TidegateError(f"a folder {name!r} would be one of the buckets")
        object.__setattr__(self, "path", os.path.abspath(place))
        object.__setattr__(self, "buckets", buckets)
        object.__setattr__(self, "folders", tuple(folders))

    def require(self, columns: Sequence[str]) -> None:
        """Refuse columns that the folder has itself, or that do not say who is the subscriber."""
        own = ("batch", "kind") if self.buckets is None else ("batch", "kind", "folder")
        for name in columns:
            if name.lower() in own:  # Spark reads names of folders so, unless told otherwise
                raise SchemaError(
                    f"a Parquet folder has a column {name.lower()!r} of its own: choose columns of "
                    "the events without it, or rename it"
                )
        if self.buckets is not None and "subscriber" not in columns:
            raise TidegateError('buckets are by subscriber: they need the output "pairs"')

    def commit(self, notifications: "DataFrame", query: str, batch: int) -> None:
        """Write a batch, and then have it there at once; nothing, if it is there."""
        self.require(notifications.columns)
        target = Path(self.path) / f"batch={batch:020d}"
        if self._there(query, target):
            return
        staging = Path(self.path) / _STAGING
        staging.mkdir(parents=True, exist_ok=True)
        _clear(staging)
        draft = staging / f"{batch:020d}-{uuid.uuid4().hex}"
        self._write(notifications, draft)
        replace_file(draft / _NOTE, json.dumps({"query": query, "batch": batch}).encode())
        _flush(draft)
        try:
            os.rename(draft, target)
        except OSError:
            if not self._there(query, target):  # else another run of this batch was faster
                raise
        _flush_folder(Path(self.path))

    def batches(self) -> list[int]:
        """The batches that are there."""
        return sorted(int(each.name.partition("=")[2]) for each in self._found())

    def _found(self) -> list[Path]:
        return list(Path(self.path).glob("batch=" + 20 * "[0-9]"))

    def _there(self, query: str, target: Path) -> bool:
        """Whether a batch has been committed; refused, if it was one of another query."""
        found = self._found()
        for known in {target, max(found)} & set(found) if found else ():
            whose = _query(known / _NOTE)
            if whose != query:
                raise StoreError(
                    f"{known} is of another query, {whose}: give each query a folder of its own, "
                    "and remove the folder if you have removed the query's checkpoint"
                )
        return target in found

    def _write(self, notifications: "DataFrame", draft: Path) -> None:
        from pyspark.sql import functions as sql

        failed = sql.col("error").isNotNull()
        kind = sql.when(failed, sql.lit(ERRORS)).otherwise(sql.lit(NOTIFICATIONS))
        parts: dict[str, Column] = {"kind": kind}
        if self.buckets is not None:
            parts["folder"] = sql.when(failed, sql.lit(ERRORS)).otherwise(
                self._folder(self.buckets)
            )
        # without this every task sorts what it writes
        notifications.sparkSession.conf.set(_WRITERS, "8")
        write_parquet(notifications.withColumns(parts), draft, tuple(parts))

    def _folder(self, buckets: int) -> "Column":
        from pyspark.sql import functions as sql

        subscriber = sql.col("subscriber")
        number = sql.pmod(sql.hash(subscriber), sql.lit(buckets)).cast("string")
        bucket = sql.concat(
            sql.lit("bucket-"), sql.lpad(number, max(3, len(str(buckets - 1))), "0")
        )
        if not self.folders:
            return bucket
        return sql.when(subscriber.isin(list(self.folders)), subscriber).otherwise(bucket)


def plain_path(path: "str | os.PathLike[str]") -> str:
    """A path on a file system without the `file:` that Spark likes in front of it."""
    return _FILE.sub("", os.fspath(path))


def _query(note: Path) -> str:
    """The query that a batch is of."""
    try:
        said: dict[str, Any] = json.loads(note.read_text())
        return str(said["query"])
    except FileNotFoundError:
        raise StoreError(f"{note} is missing: {note.parent} is not Tidegate's") from None
    except (ValueError, KeyError, TypeError):
        raise StoreError(
            f'{note} is damaged: write {{"query": "..."}} into it, with the query of the batch'
        ) from None


def _clear(staging: Path) -> None:
    """Remove what runs before this one have left.

    Should one of them still be alive, it must not move a folder to its place of which half has
    been removed: so each is moved out of its way first.
    """
    for left in staging.iterdir():
        gone = staging / f".gone-{uuid.uuid4().hex}"
        try:
            os.rename(left, gone)
        except FileNotFoundError:
            continue
        shutil.rmtree(gone, ignore_errors=True)


def _flush(folder: Path) -> None:
    """Have a folder, and all that is in it, on the disk."""
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), "rb") as opened:
                os.fsync(opened.fileno())
        _flush_folder(Path(place))


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""How does a stream of events become notifications, each delivered once?

`match_stream` is `match` on Spark's `foreachBatch`: for every micro-batch the driver pins the
newest version of the store (`pins`), the workers match that version, and a sink takes the result
(`sinks`). (A streaming `match` leaves the pinning to its tasks; why, is in `run`.) Three things
make a batch that is run again the same batch:

- its events, which Spark reads again from the offsets in its checkpoint;
- its subscriptions, because its pin is still there;
- its place in the sink, which knows the batch by the query and its number.

The query is known by an identity of its own, which is kept in a file in Spark's checkpoint: who
removes the checkpoint has another query.

No batch waits for a compilation, but the first: changes since the newest base are applied by the
workers, and a thread compiles a new base when there are many.
"""

import math
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow.fs as pafs

from tidegate.errors import StoreError, TidegateError
from tidegate.pipeline.bases import compile_job
from tidegate.pipeline.kinds.kinds import kind_of
from tidegate.pipeline.matching import match
from tidegate.pipeline.matching.notifications import Form
from tidegate.pipeline.matching.run import Run, Wanted
from tidegate.pipeline.matching.sinks import Sink, plain_path
from tidegate.pipeline.store import pins
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_IDENTITY: Final = "tidegate-query"
_HEX: Final = 32  # characters of an identity


def match_stream(
    events: "DataFrame",
    store: "Store | str | os.PathLike[str]",
    sink: Sink,
    *,
    checkpoint: "str | os.PathLike[str]",
    document: str | None = None,
    output: Form = "pairs",
    columns: Sequence[str] | None = None,
    corrupt: str | None = "_corrupt_record",
    trigger: Mapping[str, Any] | None = None,
    query_name: str | None = None,
    shards: int | None = None,
) -> "StreamingQuery":
    """Start a query that matches a stream of events and gives the notifications to a sink.

    `document`, `output`, `columns`, `corrupt` and `shards` are those of `match`; `trigger` has what
    Spark's `trigger` takes, such as `{"availableNow": True}` or `{"processingTime": "1 second"}`.
    Spark's checkpoint and the query's identity are in the folder `checkpoint`, so that a query that
    is started again goes on where it was.

    Changes of the store count from the next micro-batch on; every notification says at which
    version it was matched.

        query = match_stream(
            spark.readStream.schema(schema).json("events"), "subscriptions",
            ParquetFolder("notifications"), checkpoint="checkpoint",
        )
    """
    opened = store if isinstance(store, Store) else Store.open(store)
    if not events.isStreaming:
        raise TidegateError("match_stream takes a streaming DataFrame; match takes any")
    place = _place(checkpoint)
    match.require_count(shards)
    kind = kind_of(opened, events, document)
    wanted = Wanted(
        store=opened.path,
        kind=kind,
        output=output,
        columns=match.require_columns(events, columns, output, document),
        corrupt=corrupt,
        shards=shards,
    )
    sink.require(match.plan(events, Run(wanted=wanted)).columns)
    spark, version = events.sparkSession, opened.version()
    base = compile_job.ensure_base(opened, spark, kind, version, math.inf, shards)
    kind.warn(events, base.reasons)
    writer = events.writeStream.foreachBatch(_Step(wanted, sink, place))
    writer = writer.option("checkpointLocation", place)
    if query_name is not None:
        writer = writer.queryName(query_name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    query = writer.start()
    compile_job.KeepCompiled(opened, spark, kind, shards=shards, alive=lambda: _is_active(query))
    return query


def identity(checkpoint: str) -> str:
    """What the query with this checkpoint is known by; made up, if it is not known yet."""
    files, folder = _file_system(checkpoint)
    path = f"{folder}/{_IDENTITY}"
    if files.get_file_info(path).type == pafs.FileType.NotFound:
        files.create_dir(folder, recursive=True)
        draft = f"{folder}/.{_IDENTITY}-{uuid.uuid4().hex}"
        with files.open_output_stream(draft) as out:
            out.write(uuid.uuid4().hex.encode())
        files.move(draft, path)
    with files.open_input_stream(path) as source:
        found = bytes(source.read())
    if len(found) != _HEX or not found.isalnum():
        raise StoreError(
            f"{path} is damaged: write into it the name of the query's folder among the `pins` of "
            "the store"
        )
    return found.decode()


@dataclass(slots=True)
class _Step:
    """What the driver does for a micro-batch; under Spark Connect, the server's Python process."""

    wanted: Wanted
    sink: Sink
    checkpoint: str
    opened: Store | None = None  # from the first batch on: what it knows of the log is kept

    def __call__(self, events: "DataFrame", batch: int) -> None:
        wanted = self.wanted
        store = self.opened = self.opened or Store.open(wanted.store)
        query = identity(self.checkpoint)
        version = pins.pin(store.path, query, batch, store.version())
        base = compile_job.ensure_base(
            store, events.sparkSession, wanted.kind, version, math.inf, wanted.shards
        )
        sent_to = len(base.shards) if len(base.shards) > 1 else 0
        run = Run(wanted=wanted, version=version, base=base.name, sent_to=sent_to)
        self.sink.commit(match.plan(events, run), query, batch)


def _is_active(query: "StreamingQuery") -> bool:
    try:
        return query.isActive
    except Exception:
        return False  # Spark has been stopped


def _place(checkpoint: "str | os.PathLike[str]") -> str:
    place = plain_path(checkpoint)
    return place.rstrip("/") if "://" in place else f"file://{os.path.abspath(place)}"


def _file_system(place: str) -> tuple[pafs.FileSystem, str]:
    if place.startswith("file://"):
        return pafs.LocalFileSystem(), place.removeprefix("file://")
    found: tuple[pafs.FileSystem, str] = pafs.FileSystem.from_uri(place)
    return found

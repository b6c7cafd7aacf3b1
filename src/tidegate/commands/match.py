"""The command `tidegate match`: events from files, notifications into files.

A thin layer over `match` and `match_stream`. What can be checked before Spark starts is: paths, the
schema, whether the output is in somebody's way.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.live import Live
from rich.markup import escape

from tidegate.commands.options import (
    NamespaceOption,
    SchemaOption,
    read_namespaces,
    read_schema,
    refusals,
)
from tidegate.commands.subs import read_subscriptions, show_refused
from tidegate.console import err, out, waiting
from tidegate.errors import TidegateError
from tidegate.pipeline.shards import MOST_SHARDS
from tidegate.pipeline.spark.session import failures

if TYPE_CHECKING:
    from tidegate.filters.schema import Schema
    from tidegate.pipeline.events.event_files import EventFiles
    from tidegate.pipeline.spark.session import DataFrame, SparkSession
    from tidegate.pipeline.store.store import Store

_CHECKPOINT: Final = "_checkpoint"
_IMPORTED: Final = "tidegate-subscriptions"


class EventFormat(StrEnum):
    """What the files of events hold."""

    parquet = "parquet"
    json = "json"
    csv = "csv"
    xml = "xml"


class Output(StrEnum):
    """The form of notifications."""

    pairs = "pairs"
    lists = "lists"
    counts = "counts"


def match(
    subscriptions: Annotated[
        str,
        typer.Option(
            metavar="STORE|FILE",
            help="A store (see tidegate subs), or a CSV, JSON lines or Parquet file to import.",
        ),
    ],
    events: Annotated[
        str, typer.Option(metavar="PATH", help="A file, a folder, or a pattern such as 'day/*'.")
    ],
    out_path: Annotated[
        str, typer.Option("--out", metavar="PATH", help="The folder for the notifications.")
    ],
    format: Annotated[
        EventFormat | None, typer.Option(help="What the events are, if their names do not tell.")
    ] = None,
    document: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="For patterns: the column of the events that has XML documents. Of files that "
            "are documents themselves, it is their content.",
        ),
    ] = None,
    namespaces: NamespaceOption = None,
    schema: SchemaOption = None,
    output: Annotated[
        Output,
        typer.Option(help="A row for each pair, or for each event with a list or with a count."),
    ] = Output.pairs,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Columns of the events to keep; all but the document by default.",
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Go on with the files that come, until Ctrl-C.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="With --stream: end when all files there are done.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="With --stream: how far it got; OUT/_checkpoint by default."
        ),
    ] = None,
    files: Annotated[
        int | None, typer.Option(min=1, help="With --stream: files in a micro-batch at most.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Match nothing if a subscription of FILE is refused.")
    ] = False,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_SHARDS,
            help="Split the subscriptions so; by default as their number calls for.",
        ),
    ] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
) -> None:
    """Match events against subscriptions, on Spark, and write the notifications as Parquet.

    A stream takes the files that are there, then those that come; a change of the store counts from
    its next micro-batch on. Started again with the same output it goes on where it was, and every
    event is matched exactly once.

    Events are records in Parquet, JSON lines or CSV, or XML files, each a document. Subscriptions
    that are XPath patterns are matched with documents: in XML files, or in the column --document.

    Subscriptions of FILE that are refused are shown with the reason; the others are matched, and
    the exit code is then 1.
    """
    with refusals(), failures():
        folder = _folder(out_path)
        job = _Job(
            shown=out_path,
            out=folder,
            output=output.value,
            columns=None if columns is None else [name.strip() for name in columns.split(",")],
            schema=_readable(schema),
            master=master,
            strict=strict,
            once=once,
            checkpoint=(checkpoint or folder / _CHECKPOINT) if stream else None,
            files=files,
            shards=shards,
            document=document,
            namespaces=read_namespaces(namespaces),
        )
        job.require_options(checkpoint)
        job.require_output()
        found = _events(events, format, stream)
        job = replace(job, document=document or found.document)
        source = _Subscriptions.find(subscriptions, job)
        good = job.run(source, found)
    if not good:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Job:
    """What was asked for."""

    shown: str  # the output as it was named
    out: Path
    output: Any
    columns: list[str] | None
    schema: "Schema | None"
    master: str
    strict: bool
    once: bool
    checkpoint: Path | None  # of a stream
    files: int | None
    shards: int | None
    document: str | None  # the column that has it
    namespaces: dict[str, str] | None

    def require_options(self, checkpoint: Path | None) -> None:
        given = {"--once": self.once, "--checkpoint": checkpoint, "--files": self.files}
        for name, value in given.items():
            if value and self.checkpoint is None:
                raise TidegateError(f"{name} is for a stream: say --stream as well")

    def require_output(self) -> None:
        """Refuse to write where something else is."""
        if not self.out.exists():
            return
        if not self.out.is_dir():
            raise TidegateError(f"{self.shown} is there already, and it is not a folder")
        empty = not any(self.out.iterdir())
        if self.checkpoint is None:
            if empty:
                self.out.rmdir()
                return
            raise TidegateError(f"{self.shown} is there already: remove it, or name another --out")
        if not empty and not self.checkpoint.exists():
            raise TidegateError(
                f"{self.shown} is there already, but there is no checkpoint {self.checkpoint} to "
                "go on from: remove it, name another --out, or the right --checkpoint"
            )

    def run(self, source: "_Subscriptions", events: "EventFiles") -> bool:
        """Do it; whether all subscriptions were good."""
        from tidegate.pipeline.matching.match import require_columns
        from tidegate.pipeline.spark.session import session

        with waiting("starting Spark") as done, session(self.master, "tidegate match") as spark:
            done()
            schema = self.schema or source.schema()
            if self.checkpoint is None:
                frame = events.batch(spark, schema)
            else:
                frame = events.stream(spark, schema, self.files)
            require_columns(frame, self._kept(frame), self.output)  # before all that takes long
            with source.store(frame, self) as (store, good):
                if store is None:
                    return False
                if self.checkpoint is None:
                    self._batch(spark, frame, store)
                else:
                    self._stream(frame, store)
                _show_misfits(store, frame, self.document)
            return good

    def _batch(self, spark: "SparkSession", events: "DataFrame", store: "Store") -> None:
        from tidegate.pipeline.matching.checked_write import write_parquet
        from tidegate.pipeline.matching.match import match as match_events
        from tidegate.pipeline.progress.steps import Tasks, Watch, counted
        from tidegate.pipeline.progress.stream import show
        from tidegate.pipeline.progress.tally import tally

        watched, seen = counted(events)
        clock = Watch()
        with Live(Tasks(spark, clock), console=err, transient=True), _removed(self.out):
            notifications = match_events(
                watched,
                store,
                document=self.document,
                output=self.output,
                columns=self._kept(events),
                shards=self.shards,
            )
            write_parquet(notifications, self.out)
        found = tally(self.out)
        show(out, seen(), found, clock.seconds(), self.shown)

    def _stream(self, events: "DataFrame", store: "Store") -> None:
        from tidegate.pipeline.matching.sinks import ParquetFolder
        from tidegate.pipeline.matching.stream import match_stream
        from tidegate.pipeline.progress.stream import Followed, follow, lag

        assert self.checkpoint is not None
        sink = ParquetFolder(self.out)
        compiled_for = _compiled_for(store, events, self.document)

        def tell(followed: Followed) -> None:
            line.update(followed.line(lag(store, compiled_for)), refresh=True)

        with Live(console=err, transient=True) as line:
            line.update("compiling the subscriptions")
            before = sink.batches()
            query = match_stream(
                events,
                store,
                sink,
                checkpoint=self.checkpoint,
                document=self.document,
                output=self.output,
                columns=self._kept(events),
                trigger={"availableNow": True} if self.once else None,
                shards=self.shards,
            )
            followed = follow(query, sink, tell, before)
        followed.show(out, self.shown)

    def _kept(self, events: "DataFrame") -> list[str]:
        from tidegate.pipeline.events.event_files import CORRUPT

        if self.columns is not None:
            return self.columns
        return [name for name in events.columns if name not in (CORRUPT, self.document)]


@dataclass(frozen=True, slots=True)
class _Subscriptions:
    """A store, or a file to make one of."""

    path: str
    is_store: bool

    @classmethod
    def find(cls, path: str, job: _Job) -> "_Subscriptions":
        from tidegate.pipeline.store.store import Store

        if Store.exists(path):
            _require_kind(Store.open(path), job)
            return cls(path, True)
        place = Path(path)
        if "://" in path or not place.exists():
            raise TidegateError(f"there is neither a store nor a file {path}")
        if place.is_dir():
            raise TidegateError(f"{path} is a folder, but not a store: tidegate subs makes one")
        if not job.master.startswith("local"):
            raise TidegateError(
                "on a cluster, subscriptions are in a store that all machines see: "
                f"tidegate subs import STORE {path}"
            )
        return cls(path, False)

    def schema(self) -> "Schema | None":
        from tidegate.pipeline.store.store import Store

        return Store.open(self.path).schema if self.is_store else None

    @contextmanager
    def store(self, events: "DataFrame", job: _Job) -> Iterator[tuple["Store | None", bool]]:
        """The store, and whether all subscriptions are in it; none, if none is to be matched."""
        from tidegate.filters.schema import Schema
        from tidegate.pipeline.store.store import Store

        if self.is_store:
            yield Store.open(self.path), True
            return
        schema = None if job.document else job.schema or Schema(events.schema)
        if job.checkpoint is None:
            with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
                yield self._imported(Path(folder) / "subscriptions", schema, job)
        else:  # a stream that is started again needs those it had
            yield self._imported(job.checkpoint / _IMPORTED, schema, job)

    def _imported(
        self, path: Path, schema: "Schema | None", job: _Job
    ) -> tuple["Store | None", bool]:
        from tidegate.pipeline.store.language import ATTRIBUTES, XML
        from tidegate.pipeline.store.store import Store

        mark = _mark(Path(self.path))
        if Store.exists(path):
            store = Store.open(path)
            if mark not in {commit.message for commit in store.history()}:
                raise TidegateError(
                    f"{self.path} has changed since this stream started. To change subscriptions "
                    f"under a stream, keep them in a store: tidegate subs import STORE {self.path}"
                )
            return store, True
        read = read_subscriptions([Path(self.path)])
        kind = XML if job.document else ATTRIBUTES
        if read.kind() != kind:
            raise _mixed_up(self.path, read.kind() == XML)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _removed(path):
            store = Store.create(path, schema, kind=kind, namespaces=job.namespaces)
            found = read.proposal(store.language)
            _, verdict = store.load(found.proposal, strict=job.strict, message=mark)
            refused = len(verdict.refusals)
            show_refused(found, verdict, 20)
            if refused:
                taken = 0 if job.strict else len(verdict.rows)
                err.print(f"took {taken:,} of {len(found.proposal):,} subscriptions of {self.path}")
        if refused and job.strict:
            shutil.rmtree(path)
            return None, False
        return store, not refused


def _require_kind(store: "Store", job: _Job) -> None:
    """Refuse a store whose filters are not on what the events are."""
    from tidegate.pipeline.store.language import XML

    if (store.kind == XML) != (job.document is not None):
        raise _mixed_up(store.path, store.kind == XML)
    if job.namespaces is not None:
        raise TidegateError("--namespace is for subscriptions in a file: a store has its own")


def _mixed_up(path: str, patterns: bool) -> TidegateError:
    if patterns:
        return TidegateError(
            f"{path} has patterns for documents: say --document, the column of the events that "
            "has them, or give XML files as events"
        )
    return TidegateError(
        f"{path} has filters on attributes, and these events are documents: leave --document out "
        "and give records as events, or patterns, which begin with /, as subscriptions"
    )


def _folder(path: str) -> Path:
    """A folder, wherever a process that is told of it may be."""
    if "://" in path:
        raise TidegateError(
            f"{path}: --out is a folder on a file system that all machines see; to write "
            "elsewhere, call tidegate.pipeline.match from Python"
        )
    return Path(path).absolute()


def _mark(path: Path) -> str:
    """What a file is known by, in a commit's message."""
    import hashlib

    with path.open("rb") as file:
        return f"imported {path.name}, sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"


def _readable(path: Path | None) -> "Schema | None":
    try:
        return read_schema(path)
    except (OSError, UnicodeDecodeError) as error:
        raise TidegateError(f"{path}: {error}") from None


def _events(path: str, format: EventFormat | None, stream: bool) -> "EventFiles":
    from tidegate.pipeline.events.event_files import EventFiles

    return EventFiles.find(path, None if format is None else format.value, later=stream)


def _show_misfits(store: "Store", events: "DataFrame", document: str | None) -> None:
    """Tell about subscriptions that cannot match events of this schema."""
    from tidegate.pipeline.bases import catalog

    compiled_for = _compiled_for(store, events, document)
    base = catalog.newest(store.path, compiled_for, store.version())
    if base is not None and base.refused:
        err.print(f"{base.refused:,} subscriptions do not fit the events and match none:")
        err.print(f"  {escape(base.reasons[0])}")


def _compiled_for(store: "Store", events: "DataFrame", document: str | None) -> str:
    """The fingerprint of what the store is compiled for."""
    from tidegate.pipeline.bases import catalog
    from tidegate.pipeline.kinds.kinds import kind_of

    return catalog.fingerprint(kind_of(store, events, document))


@contextmanager
def _removed(path: Path) -> Iterator[None]:
    """Leave nothing of what was not finished."""
    try:
        yield
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise

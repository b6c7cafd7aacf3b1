"""What have the micro-batches of a stream brought?

What commands show while a stream runs, and in the end a summary.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from tidegate.errors import TidegateError
from tidegate.pipeline.bases import catalog
from tidegate.pipeline.matching.sinks import ParquetFolder
from tidegate.pipeline.progress.steps import Watch, rate
from tidegate.pipeline.progress.tally import Tally, added, tally
from tidegate.pipeline.spark.session import reason
from tidegate.pipeline.store.store import Store

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def show(
    out: Console, events: int, found: Tally, seconds: float, place: str, batches: int | None = None
) -> None:
    """Sum up what was done."""
    per = f" in {batches:,} micro-batch{'es' * (batches != 1)}" if batches is not None else ""
    rates = (
        f"{rate(events, seconds)} events/s, {rate(found.notifications, seconds)} notifications/s"
    )
    out.print(f"matched {events:,} events{per} in {seconds:.1f} s: {rates}")
    out.print(f"  {found.notifications:,} notifications, {_versions(found.versions)}")
    if found.malformed:
        out.print(f"  {found.malformed:,} malformed events, with the reason in the column error")
    out.print(f"  in {escape(place)}")


def _versions(versions: tuple[int, ...]) -> str:
    if not versions:
        return "none"
    if versions[0] == versions[-1]:
        return f"all of version {versions[0]}"
    return f"of versions {versions[0]} to {versions[-1]}"


@dataclass
class Followed:
    """What the micro-batches of a query have brought since it was started."""

    clock: Watch = field(default_factory=Watch)
    events: dict[int, int] = field(default_factory=dict)  # of each batch
    seconds: dict[int, float] = field(default_factory=dict)
    found: dict[int, Tally] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    started: dict[int, float] = field(default_factory=dict)  # when, in seconds since 1970
    before: set[int] = field(default_factory=set)
    stopped: bool = False  # whether somebody has stopped the query

    def look(self, query: "StreamingQuery", sink: ParquetFolder) -> None:
        """See what has come."""
        for said in query.recentProgress:
            number, rows = int(said["batchId"]), int(said["numInputRows"])
            if rows:
                self.events[number] = rows
                self.seconds[number] = said["durationMs"].get("triggerExecution", 0) / 1000
                self.started[number] = datetime.fromisoformat(said["timestamp"]).timestamp()
        for number in sink.batches():
            if number in self.before or number in self.found:
                continue
            self.found[number] = tally(Path(sink.path) / f"batch={number:020d}")
            if self.found[number].versions:
                self.versions[number] = self.found[number].versions[-1]

    def complete(self) -> list[int]:
        """The batches of which all is known."""
        return sorted(number for number in self.found if number in self.events)

    def line(self, lag: tuple[int, int]) -> str:
        """The last batch, in a line."""
        complete = self.complete()
        if not complete:
            return f"waiting for the first micro-batch, {self.clock.seconds():.0f} s"
        last = complete[-1]
        seconds = self.seconds[last]
        version, changes = lag
        return (
            f"{len(self.found):,} micro-batches, {sum(self.events.values()):,} events; the last: "
            f"{rate(self.events[last], seconds)} events/s, "
            f"{rate(self.found[last].notifications, seconds)} notifications/s, "
            f"version {self.versions.get(last, '-')} of {version}, "
            f"{changes:,} changes since the base"
        )

    def show(self, out: Console, place: str) -> None:
        """Sum up."""
        found = added(self.found.values())
        events = sum(self.events.values())
        show(out, events, found, self.clock.seconds(), place, len(self.found))


def follow(
    query: "StreamingQuery",
    sink: ParquetFolder,
    tell: Callable[["Followed"], None],
    before: Iterable[int] = (),
) -> Followed:
    """Watch a query until it ends, or somebody presses Ctrl-C; then it is stopped.

    Batches `before` are not of this run. `tell` is called twice a second, and in the end.
    """
    followed = Followed(before=set(before))
    with interrupted() as enough:
        while query.isActive and not enough.wait(0.5):
            followed.look(query, sink)
            tell(followed)
        if enough.is_set():
            query.stop()
    problem = None if enough.is_set() else query.exception()
    followed.stopped = enough.is_set()
    followed.look(query, sink)
    tell(followed)
    if problem is not None:
        raise TidegateError(f"the stream has stopped: {reason(problem)}")
    return followed


def lag(store: Store, compiled_for: str) -> tuple[int, int]:
    """The newest version of a store, and how many changes came since its newest base."""
    version = store.version()
    base = catalog.newest(store.path, compiled_for, version)
    since = -1 if base is None else base.version
    if since == version:
        return version, 0
    commits = store.history(version - max(since, 0))
    late = [commit for commit in commits if commit.version > since]
    return version, sum(commit.added + commit.updated + commit.removed for commit in late)


@contextmanager
def interrupted() -> Iterator[threading.Event]:
    """An event that Ctrl-C, or a polite kill, sets instead of ending the program."""
    enough = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield enough
        return

    def note(number: int, frame: FrameType | None) -> None:
        enough.set()

    old: dict[int, Any] = {
        each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield enough
    finally:
        for each, handler in old.items():
            signal.signal(each, handler)

"""The command `tidegate statistics`: what do events look like?

A thin layer over `gather` and `latest`. What can be checked before Spark starts is.
"""

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from tidegate.errors import TidegateError
from tidegate.pipeline.command_match import EventFormat
from tidegate.pipeline.commands import StoreArgument
from tidegate.pipeline.session import failures
from tidegate.pipeline.terminal import out, refusals, waiting

if TYPE_CHECKING:
    from tidegate.pipeline.counts import LineCounts
    from tidegate.pipeline.event_files import EventFiles
    from tidegate.pipeline.statistics import Statistics
    from tidegate.pipeline.store import Store

_SHOWN: Final = 3  # heavy values of an attribute
_LONGEST: Final = 24  # characters of a value


def statistics(
    store: StoreArgument,
    events: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Events to count: a file, a folder, or a pattern."),
    ] = None,
    format: Annotated[
        EventFormat | None, typer.Option(help="What the events are, if their names do not tell.")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Forget what was counted before.")] = False,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
) -> None:
    """Count past events, on Spark, and show what they look like.

    What is counted is added to what the store has, and kept there. Without events, what the store
    has is shown.
    """
    from tidegate.pipeline.event_files import EventFiles
    from tidegate.pipeline.statistics import latest
    from tidegate.pipeline.store import Store

    with refusals(), failures():
        opened = Store.open(store)
        if events is None:
            given = {"--format": format, "--anew": anew}
            for name in (name for name, value in given.items() if value):
                raise TidegateError(f"{name} is for events to count: say --events as well")
            found = latest(opened)
            if found is None:
                raise TidegateError(
                    f"{store} has no statistics yet: count events with --events PATH"
                )
        else:
            files = EventFiles.find(events, None if format is None else format.value)
            found = _gather(opened, files, anew, master)
    _show(found)


def _gather(store: "Store", files: "EventFiles", anew: bool, master: str) -> "Statistics":
    from tidegate.pipeline.progress import Watch
    from tidegate.pipeline.session import session
    from tidegate.pipeline.statistics import gather

    with waiting("starting Spark") as done, session(master, "tidegate statistics") as spark:
        done()
        frame = files.batch(spark, store.schema)
        clock = Watch()
        with waiting("counting events"):
            found = gather(frame, store, anew=anew)
    said = f"counted in {clock.seconds():.1f} s, kept as number {found.number}"
    out.print(f"{said} for version {found.version} of the store")
    return found


def _show(found: "Statistics") -> None:
    when = dt.datetime.fromtimestamp(found.moment, dt.UTC)
    events = f"{found.events:,} event{'s' * (found.events != 1)}"
    malformed = f" and {found.malformed:,} malformed" if found.malformed else ""
    out.print(f"{events}{malformed}, the last counted on {when:%Y-%m-%d %H:%M} UTC")
    if not found.events:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("attribute", "NULL", "type", "events", "values", "heaviest", "from", "to"):
        table.add_column(name, justify="left" if name in _TEXTS else "right", no_wrap=True)
    for name, own in found.attributes.items():
        absent = _share(own.absent, found.events)
        lines = [line for line in own.lines.values() if line.total]
        for row, line in enumerate(lines):
            first = (escape(name), absent) if row == 0 else ("", "")
            table.add_row(*first, *_cells(line, found.events))
        if own.other or not lines:
            first = (escape(name), absent) if not lines else ("", "")
            other = ("others", _share(own.other, found.events)) if own.other else ("", "")
            table.add_row(*first, *other, "", "", "", "")
    out.print(table)
    counted = len(found.counts.predicates)
    out.print(f"{counted:,} predicates counted, {found.sample.num_rows:,} events in the sample")


_TEXTS: Final = ("attribute", "type", "heaviest")


def _cells(line: "LineCounts", events: int) -> tuple[str, ...]:
    heavy = ", ".join(
        f"{_value(line, key)} {_share(count, events)}" for key, count in line.heaviest()[:_SHOWN]
    )
    about = "" if line.error == 0 else "about "
    ends = (_value(line, line.low), _value(line, line.high))
    return line.line, _share(line.total, events), f"{about}{line.distinct:,}", heavy, *ends


def _value(line: "LineCounts", key: Any) -> str:
    from tidegate.pipeline.spreading import value_of

    text = str(value_of(line.on_line(), key))
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return escape(
        "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in shown)
    )


def _share(part: int, whole: int) -> str:
    percent = 100 * part / max(whole, 1)
    return f"{percent:.0f}%" if part == 0 or percent >= 10 else f"{percent:.2g}%"

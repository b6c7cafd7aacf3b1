"""The command `tidegate statistics`: what do events look like?

A thin layer over `gather` and `latest`. What can be checked before Spark starts is. What was
counted is shown as a table where that is not wider than the terminal, and otherwise attribute by
attribute: nothing is cut off.
"""

import datetime as dt
import json
import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from tidegate.commands.match import EventFormat
from tidegate.commands.options import refusals
from tidegate.commands.subs import StoreArgument
from tidegate.console import out, waiting
from tidegate.errors import TidegateError
from tidegate.pipeline.spark.session import failures

if TYPE_CHECKING:
    from tidegate.pipeline.events.event_files import EventFiles
    from tidegate.pipeline.statistics.statistics import Statistics
    from tidegate.pipeline.statistics.value_counts import LineCounts
    from tidegate.pipeline.store.store import Store

_SHOWN: Final = 3  # heavy values of an attribute
_CHARACTERS_OF_A_VALUE: Final = 24  # characters of a value
_WIDEST: Final = 10_000  # columns of any table
_LISTED: Final = 100  # heavy values of an attribute in JSON


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
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
) -> None:
    """Count past events, on Spark, and show what they look like.

    What is counted is added to what the store has, and kept there. Without events, what the store
    has is shown.
    """
    from tidegate.pipeline.events.event_files import EventFiles
    from tidegate.pipeline.statistics.statistics import latest
    from tidegate.pipeline.store.store import Store

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
            found = _gather(opened, files, anew, master, quiet=as_json)
    if as_json:
        out.out(json.dumps(plain(found), ensure_ascii=False))
    else:
        _show(found)


def _gather(
    store: "Store", files: "EventFiles", anew: bool, master: str, *, quiet: bool
) -> "Statistics":
    from tidegate.pipeline.progress.steps import Watch
    from tidegate.pipeline.spark.session import session
    from tidegate.pipeline.statistics.statistics import gather

    with waiting("starting Spark") as done, session(master, "tidegate statistics") as spark:
        done()
        frame = files.batch(spark, store.schema)
        clock = Watch()
        with waiting("counting events"):
            found = gather(frame, store, anew=anew)
    said = f"counted in {clock.seconds():.1f} s, kept as number {found.number}"
    if not quiet:
        out.print(f"{said} for version {found.version} of the store")
    return found


def _show(found: "Statistics") -> None:
    when = dt.datetime.fromtimestamp(found.moment, dt.UTC)
    events = f"{found.events:,} event{'s' * (found.events != 1)}"
    malformed = f" and {found.malformed:,} malformed" if found.malformed else ""
    out.print(f"{events}{malformed}, the last counted on {when:%Y-%m-%d %H:%M} UTC")
    if not found.events:
        return
    rows = [row for name in found.attributes for row in _rows(found, name)]
    table = _table(rows)
    width = out.measure(table, options=out.options.update(width=_WIDEST)).maximum
    if width <= out.width:
        out.print(table)
    else:
        _show_one_by_one(rows)
    counted = len(found.counts.predicates)
    out.print(f"{counted:,} predicates counted, {found.sample.num_rows:,} events in the sample")


class _Row(NamedTuple):
    """What is said of an attribute, or, where it has values of several types, of one of them."""

    attribute: str
    absent: str
    type: str = ""
    events: str = ""
    values: str = ""
    heaviest: str = ""
    low: str = ""
    high: str = ""


def _rows(found: "Statistics", name: str) -> Iterator[_Row]:
    own = found.attributes[name]
    absent = _share(own.absent, found.events)
    lines = [line for line in own.lines.values() if line.total]
    for line in lines:
        yield _Row(_printable(name), absent, *_cells(line, found.events))
    if own.other or not lines:
        other = ("others", _share(own.other, found.events)) if own.other else ()
        yield _Row(_printable(name), absent, *other)


def _table(rows: Sequence[_Row]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("attribute", "NULL", "type", "events", "values", "heaviest", "from", "to"):
        table.add_column(name, justify="left" if name in _TEXTS else "right", no_wrap=True)
    before = ""
    for row in rows:
        first = ("", "") if row.attribute == before else row[:2]
        table.add_row(*(escape(cell) for cell in (*first, *row[2:])))
        before = row.attribute
    return table


def _show_one_by_one(rows: Sequence[_Row]) -> None:
    """The same for narrow terminals: a few lines for each attribute, folded where they are long."""
    for row in rows:
        facts = [f"{row.absent} NULL"]
        if row.type:
            facts = [f"{row.type} in {row.events} of the events", *facts]
        if row.values:
            facts.append(f"{row.values} value{'s' * (row.values != '1')}")
        _print_folded(f"{row.attribute}: {', '.join(facts)}", "")
        if row.heaviest:
            _print_folded(f"most often {row.heaviest}", "    ")
        if row.low or row.high:
            _print_folded(f"from {row.low} to {row.high}", "    ")


def _print_folded(text: str, indent: str) -> None:
    folded = textwrap.wrap(
        text, max(out.width, 20), initial_indent=indent, subsequent_indent=indent + "    "
    )
    for line in folded:
        out.out(line)


_TEXTS: Final = ("attribute", "type", "heaviest")


def _cells(line: "LineCounts", events: int) -> tuple[str, ...]:
    heavy = ", ".join(
        f"{_value(line, key)} {_share(count, events)}" for key, count in line.heaviest()[:_SHOWN]
    )
    about = "" if line.error == 0 else "about "
    ends = (_value(line, line.low), _value(line, line.high))
    return line.line, _share(line.total, events), f"{about}{line.distinct:,}", heavy, *ends


def _value(line: "LineCounts", key: Any) -> str:
    from tidegate.pipeline.statistics.spread import value_of

    text = str(value_of(line.on_line(), key))
    shown = (
        text if len(text) <= _CHARACTERS_OF_A_VALUE else f"{text[: _CHARACTERS_OF_A_VALUE - 3]}..."
    )
    return _printable(shown)


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _share(part: int, whole: int) -> str:
    percent = 100 * part / max(whole, 1)
    return f"{percent:.0f}%" if part == 0 or percent >= 10 else f"{percent:.2g}%"


def plain(found: "Statistics") -> dict[str, Any]:
    """Statistics as JSON has them; what is in it is said in docs/statistics.md."""
    return {
        "number": found.number,
        "version": found.version,
        "counted": dt.datetime.fromtimestamp(found.moment, dt.UTC).isoformat(timespec="seconds"),
        "events": found.events,
        "malformed": found.malformed,
        "sample": found.sample.num_rows,
        "attributes": {
            name: {
                "absent": own.absent,
                "other": own.other,
                "types": [_plain_line(line) for line in own.lines.values() if line.total],
            }
            for name, own in found.attributes.items()
        },
        "predicates": [
            {"predicate": text, "met": met, "tried": tried}
            for text, (met, tried) in found.counts.predicates.items()
        ],
    }


def _plain_line(line: "LineCounts") -> dict[str, Any]:
    return {
        "type": line.line,
        "events": line.total,
        "values": line.distinct,
        "exact": line.error == 0,
        "error": line.error,
        "from": _plain_value(line, line.low),
        "to": _plain_value(line, line.high),
        "heaviest": [
            {"value": _plain_value(line, key), "events": count}
            for key, count in line.heaviest()[:_LISTED]
        ],
    }


def _plain_value(line: "LineCounts", key: Any) -> Any:
    """A value as JSON has it: numbers that JSON does not have, days and moments are texts."""
    from tidegate.pipeline.statistics.spread import value_of

    value = value_of(line.on_line(), key)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dt.date):  # moments are dates, too
        return value.isoformat()
    return value if isinstance(value, bool | int | float | str) else str(value)

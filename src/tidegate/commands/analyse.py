"""The command `tidegate analyse`: what do the subscriptions of a store look like?

A thin layer over `analysis.analyse`: a summary for the terminal, a page for a browser, or JSON.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tidegate.commands.match import EventFormat
from tidegate.commands.options import refusals
from tidegate.commands.subs import StoreArgument
from tidegate.console import err, out, waiting
from tidegate.errors import TidegateError
from tidegate.pipeline.spark.session import failures

if TYPE_CHECKING:
    from tidegate.pipeline.analysis.findings import Analysis, Kind
    from tidegate.pipeline.analysis.jobs import Tell
    from tidegate.pipeline.events.event_files import EventFiles
    from tidegate.pipeline.spark.session import SparkSession
    from tidegate.pipeline.store.store import Store

_SHOWN = 2  # examples of each kind in the terminal


def analyse(
    store: StoreArgument,
    events: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Events to count matches with: a file, a folder, or a pattern such as 'day/*'.",
        ),
    ] = None,
    format: Annotated[
        EventFormat | None, typer.Option(help="What the events are, if their names do not tell.")
    ] = None,
    page_path: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a page for a browser, HTML.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
    version: Annotated[
        int | None, typer.Option(min=0, help="As the store was at this version.")
    ] = None,
    almost: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="The share of the events that counts as almost everything."
        ),
    ] = 0.9,
    negative_space: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="K",
            help="Say instead what no subscription covers: in boxes, of which each subscription "
            "makes at most K more in a cell; 0 is exact.",
        ),
    ] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
) -> None:
    """Say which subscriptions are duplicates, covered by others, never match, or cost the most.

    All of them are compared, on Spark, though not all pairs: a million take some minutes on two
    cores. With events, how often each one matches is counted as well.

    The page is one file that needs nothing else, with examples and plots. No
    subscription is changed.
    """
    with refusals(), failures():
        from tidegate.pipeline.store.store import Store

        opened = Store.open(store)
        newest = opened.version()
        if version is not None and version > newest:
            raise TidegateError(f"the store {store} has no version {version}; {newest} is the last")
        if page_path is not None and not page_path.absolute().parent.is_dir():
            raise TidegateError(f"there is no folder {page_path.absolute().parent} for the page")
        if negative_space is not None and (events is not None or page_path is not None):
            raise TidegateError(
                "--negative-space is a question of its own: leave --events and --out away"
            )
        files = _events(events, format)
        from tidegate.pipeline.spark.session import session

        if negative_space is not None:
            _say_what_is_left(opened, version, negative_space or None, master, as_json)
            return
        with waiting("starting Spark") as done, session(master, "tidegate analyse") as spark:
            done()
            from tidegate.pipeline.analysis.jobs import analyse as look_through

            frame = None if files is None else files.batch(spark, opened.schema)
            with _progress(spark) as tell:
                found = look_through(
                    spark, opened, version=version, events=frame, almost=almost, tell=tell
                )
        if page_path is not None:
            from tidegate.pipeline.analysis.page import page

            text = page(found)
            page_path.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")
    if as_json:
        out.out(json.dumps(found.plain(), ensure_ascii=False))
    else:
        _show(found)
        if page_path is not None:
            out.print(f"the page is in {escape(str(page_path))}")


def _say_what_is_left(
    store: "Store", version: int | None, k: int | None, master: str, as_json: bool
) -> None:
    """What no subscription covers."""
    from tidegate.pipeline.spark.session import session

    with waiting("starting Spark") as done, session(master, "tidegate analyse") as spark:
        done()
        from tidegate.pipeline.analysis.negative_space import negative_space

        with _progress(spark) as tell:
            found = negative_space(spark, store, version=version, k=k, tell=tell)
    if as_json:
        out.out(json.dumps(found.plain(), ensure_ascii=False))
        return
    out.print(
        f"[bold]{found.subscriptions:,}[/] subscriptions of version {found.version} ask for "
        f"[bold]{found.filters:,}[/] different things"
    )
    if found.refused:
        out.print(f"  {found.refused:,} of them are refused, and left out")
    if found.uncertain:
        out.print(
            f"  {found.uncertain:,} cover more than can be said in boxes: conditions on text, or "
            "too many alternatives"
        )
    out.print(f"  {found.redundant:,} are not needed: others cover them")
    share = "" if found.share is None else f", {found.share:.4%} of the declared domains"
    out.print(
        f"what none of them covers is {'' if k is None else 'at most '}[bold]{found.boxes:,}[/] "
        f"boxes{share}, in {found.cells:,} cells"
    )
    if found.limited:
        out.print(f"  {found.limited:,} cells met their memory limit: there, it is less precise")


def _events(path: str | None, format: EventFormat | None) -> "EventFiles | None":
    if path is None:
        if format is not None:
            raise TidegateError("--format is that of events: say --events as well")
        return None
    from tidegate.pipeline.events.event_files import EventFiles

    return EventFiles.find(path, None if format is None else format.value)


@contextmanager
def _progress(spark: "SparkSession") -> "Iterator[Tell]":
    """A line that says what is being done, how much of it is, and how many steps are left."""
    from tidegate.pipeline.progress.steps import Steps, Tasks, Watch, shown

    clock = Watch()
    steps = Steps(Tasks(spark, clock).counted, clock)
    with shown(steps, err):
        yield steps.tell


def _show(found: "Analysis") -> None:
    """The summary."""
    out.print(
        f"[bold]{found.subscriptions:,}[/] subscriptions of version {found.version} ask for "
        f"[bold]{found.filters:,}[/] different things"
    )
    _line(found, "duplicates", found.duplicate, f"in {found.duplicate.groups or 0:,} groups")
    _line(found, "covered", found.covered, f"{found.covered.filters:,} different filters")
    _line(found, "subsumed", found.subsumed, _unknown(found.subsumed))
    _line(found, "mergeable", found.mergeable, f"into {found.mergeable.groups or 0:,} filters")
    if found.uncompared:
        out.print(
            f"  no room to compare others with {found.uncompared:,} filters: what they cover or "
            "subsume is not counted"
        )
    _line(found, "match nothing", found.never)
    _line(found, "refused", found.refused)
    _line(found, "match everything", found.always)
    cost = found.cost
    if cost is None:
        out.print("without --events: nothing is said of what no event matches, or what costs most")
        return
    if found.unmatched is not None:
        _line(found, "not matched", found.unmatched, f"by any of {cost.events or 0:,} events")
    if found.almost is not None:
        _line(found, "almost all", found.almost, f"match {found.almost_share:.0%} or more")
    out.print(
        f"an event matches {cost.matches:,.1f} of them; the dearest 1% have {cost.top:.0%} of the "
        "expected cost"
    )
    for example in cost.dearest[:_SHOWN]:
        out.out(f"    {example.id}  {example.filter}  ({example.note})")


def _unknown(kind: "Kind") -> str:
    return f"{kind.undecided:,} not decided" if kind.undecided else ""


def _line(found: "Analysis", name: str, kind: "Kind", note: str = "") -> None:
    share = kind.subscriptions / found.subscriptions if found.subscriptions else 0.0
    words = f"{name:<16} {kind.subscriptions:>12,} {share:>7.1%}"
    out.print(
        f"  {words}  {note}".rstrip() if kind.subscriptions or kind.undecided else f"  {words}"
    )
    for example in kind.examples[:_SHOWN]:
        out.out(f"      {example.id}  {example.filter}".rstrip())
        for other in example.others[:_SHOWN]:
            out.out(f"        {other.id}  {other.filter}")

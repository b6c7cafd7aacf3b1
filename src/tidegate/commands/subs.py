"""The command `tidegate subs`: a subscription store from the command line.

Each command is a thin layer over `Store`. What it needs is loaded when it runs, so that other
commands, and `--help`, do not wait for Arrow and Delta Lake.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from tidegate.commands.options import (
    NamespaceOption,
    SchemaOption,
    read_namespaces,
    read_parameter,
    read_schema,
    refusals,
)
from tidegate.console import err, out
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from tidegate.commands.rule_files import Import, RuleFiles
    from tidegate.pipeline.store.store import Store
    from tidegate.pipeline.store.validation import Verdict

subs = typer.Typer(
    help="Subscriptions in a store: import, add, update, remove and list them.",
    no_args_is_help=True,
)

StoreArgument = Annotated[str, typer.Argument(metavar="STORE", help="The store's folder or URL.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The subscription's id.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="The value of a parameter: a literal, such as limit=10.5, symbol=\"'IBM'\" or "
        "day=\"DATE '2026-01-31'\"; repeatable.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON lines.")]


class Format(StrEnum):
    """What a file holds."""

    csv = "csv"
    jsonl = "jsonl"
    parquet = "parquet"


class Kind(StrEnum):
    """What filters are on."""

    attributes = "attributes"
    xml = "xml"


KindOption = Annotated[
    Kind | None,
    typer.Option(help="What the filters of a new store are on: attributes, or XML documents."),
]


@subs.command()
def create(
    store: StoreArgument,
    schema: SchemaOption = None,
    kind: KindOption = None,
    namespaces: NamespaceOption = None,
) -> None:
    """Make an empty store. With a schema of the events, filters are checked against it.

    With --kind xml, it is one of XPath patterns for documents.
    """
    from tidegate.pipeline.store.store import Store

    with refusals():
        made = Store.create(
            store,
            read_schema(schema),
            kind=(kind or Kind.attributes).value,
            namespaces=read_namespaces(namespaces),
        )
    out.print(f"made the store {escape(made.path)}")


@subs.command(name="import")
def import_files(
    store: StoreArgument,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Files to load.", exists=True, dir_okay=False),
    ],
    format: Annotated[
        Format | None, typer.Option(help="What the files hold, if their names do not tell.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Load nothing unless everything is good.")
    ] = False,
    errors: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show at most so many lines that are refused.")
    ] = 20,
    schema: SchemaOption = None,
    kind: KindOption = None,
    namespaces: NamespaceOption = None,
) -> None:
    """Load subscriptions from CSV, JSON lines or Parquet, in one commit.

    A row has an id, a filter, perhaps a subscriber and parameters (a JSON object); every other
    column is a parameter by name, for the rows whose filter has it. In CSV the values of parameters
    are literals, such as 10.5 or 'IBM' in its quotes, and an empty cell is no value.

    The store is made if it is not there, with the schema if one is given; without --kind, it is one
    of patterns for documents if the first filter begins with /. Rows that are refused are shown
    with their line and the reason, the others are loaded; the exit code is then 1.
    """
    with refusals():
        read = read_subscriptions(files, format)
        opened = _opened(store, read, schema, kind, read_namespaces(namespaces))
        found = read.proposal(opened.language)
        names = ", ".join(path.name for path in files)
        version, verdict = opened.load(found.proposal, strict=strict, message=f"imported {names}")
    refused = len(verdict.refusals)
    show_refused(found, verdict, errors)
    loaded = 0 if strict and refused else len(verdict.rows)
    said = f"loaded {loaded:,} of {len(found.proposal):,} subscriptions"
    out.print(f"{said}, version {version}" if loaded else said)
    if refused:
        raise typer.Exit(1)


@subs.command()
def add(
    store: StoreArgument,
    id: IdArgument,
    filter: Annotated[str, typer.Argument(metavar="FILTER", help="The filter, in quotes.")],
    subscriber: Annotated[
        str | None, typer.Option(help="Who is notified; the id if not given.")
    ] = None,
    parameters: SetOption = None,
) -> None:
    """Add a subscription."""
    with refusals():
        values = _values(parameters)
        version = _open(store).add(id, filter, subscriber=subscriber, parameters=values)
    out.print(f"added {escape(id)}, version {version}")


@subs.command()
def update(store: StoreArgument, id: IdArgument, parameters: SetOption = None) -> None:
    """Change parameters of a subscription; the others keep their values."""
    with refusals():
        if not parameters:
            raise TidegateError("nothing to update; say --set NAME=VALUE")
        version = _open(store).update(id, **_values(parameters))
    out.print(f"updated {escape(id)}, version {version}")


@subs.command()
def remove(
    store: StoreArgument,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids.")],
) -> None:
    """Remove subscriptions, all of them or, if one is not there, none."""
    with refusals():
        version = _open(store).remove_many(ids)
    out.print(f"removed {len(ids):,} subscription{'s' * (len(ids) > 1)}, version {version}")


@subs.command(name="list")
def list_subscriptions(
    store: StoreArgument,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these; all by default.")
    ] = None,
    version: Annotated[int | None, typer.Option(help="As they were at this version.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List subscriptions, sorted by id. Values of parameters are shown as literals."""
    with refusals():
        opened = _open(store)
        at = opened.version() if version is None else version
        rows = _chosen(opened, ids, at) if ids else _all(opened, at)
        for row in rows:
            out.out(json.dumps(row, ensure_ascii=False) if as_json else _line(row))


@subs.command()
def history(
    store: StoreArgument,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many, the newest.")] = None,
    as_json: JsonOption = False,
) -> None:
    """What each version changed, the newest first."""
    with refusals():
        commits = _open(store).history(limit)
    for commit in commits:
        moment = commit.time.isoformat(timespec="seconds")
        counts = {"added": commit.added, "updated": commit.updated, "removed": commit.removed}
        if as_json:
            entry = {"version": commit.version, "time": moment, **counts}
            out.out(json.dumps({**entry, "message": commit.message}, ensure_ascii=False))
        else:
            said = ", ".join(f"{number:,} {what}" for what, number in counts.items() if number)
            words = "; ".join(part for part in (said, commit.message) if part)
            out.out(f"{commit.version:>6}  {moment}  {words}".rstrip())


@subs.command()
def compact(store: StoreArgument) -> None:
    """Replace the log of changes by the state it leads to, which is read faster.

    Nothing changes for readers; old versions stay until a vacuum.
    """
    with refusals():
        version = _open(store).compact()
    out.print(f"compacted {escape(store)}, version {version}")


@subs.command()
def vacuum(
    store: StoreArgument,
    older_than: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="Keep what was needed within so many seconds: more than any job takes.",
        ),
    ] = 3600.0,
    forget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUERY",
            help="Forget a streaming query that will never run again, and what it needs; "
            "repeatable.",
        ),
    ] = None,
) -> None:
    """Remove files that no version needs which is the newest or pinned by a streaming query."""
    from tidegate.pipeline.bases.vacuuming import vacuum
    from tidegate.pipeline.store import pins

    with refusals():
        opened = _open(store)
        for query in forget or ():
            pins.unpin(opened.path, query)
        removed = vacuum(opened, older_than)
        pinned: dict[str, tuple[int, int]] = {}
        for (query, batch), version in pins.pinned(opened.path).items():
            pinned[query] = max(pinned.get(query, (-1, -1)), (batch, version))
    for path in removed:
        out.print(escape(path))
    out.print(f"removed {len(removed):,} file{'s' * (len(removed) != 1)}")
    for query, (batch, version) in sorted(pinned.items()):
        out.print(f"kept version {version} for batch {batch} of query {escape(query)}")


def _open(path: str) -> "Store":
    from tidegate.pipeline.store.store import Store

    return Store.open(path)


def _opened(
    path: str,
    found: "RuleFiles",
    schema: Path | None,
    kind: Kind | None,
    namespaces: dict[str, str] | None,
) -> "Store":
    """The store, made if it is not there; its kind is that of what was found, if none is said."""
    from tidegate.pipeline.store.pattern_language import PatternLanguage
    from tidegate.pipeline.store.store import Store

    wanted = read_schema(schema)
    if not Store.exists(path):
        new = found.kind() if kind is None else kind.value
        return Store.create(path, wanted, kind=new, namespaces=namespaces)
    store = Store.open(path)
    if kind is not None and kind.value != store.kind:
        raise TidegateError(f"the store {path} is of the kind {store.kind}; leave --kind out")
    if wanted is not None and wanted != store.schema:
        raise TidegateError(f"the store {path} has another schema; leave --schema out")
    if namespaces is not None and store.language != PatternLanguage(namespaces):
        raise TidegateError(f"the store {path} has other namespaces; leave --namespace out")
    return store


def read_subscriptions(files: list[Path], format: Format | None = None) -> "RuleFiles":
    """The subscriptions in files."""
    from tidegate.commands.rule_files import read_files

    with _progress(files) as tick:
        return read_files(files, None if format is None else format.value, tick)


@contextmanager
def _progress(files: list[Path]) -> Iterator[Callable[[Path, int], None]]:
    """Show how far reading got, where somebody is watching."""
    from rich.progress import Progress

    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        tasks = {
            path: progress.add_task(f"reading {escape(path.name)}", total=path.stat().st_size)
            for path in files
        }
        yield lambda path, size: progress.update(tasks[path], completed=size)


def show_refused(found: "Import", verdict: "Verdict", limit: int) -> None:
    """Print the rows that were refused, each with its line and the reason."""
    for row, error in verdict.refusals.sorted()[:limit]:
        first, *more = str(error).splitlines()
        err.print(f"[bold]{escape(found.place(row))}[/]: {escape(first)}")
        for line in more:
            err.print(f"  {escape(line)}")
    unseen = len(verdict.refusals) - limit
    if unseen > 0:
        err.print(f"and {unseen:,} more; --errors {len(verdict.refusals)} shows all")


def _values(parameters: list[str] | None) -> dict[str, Any]:
    return dict(read_parameter(each) for each in parameters or ())


def _all(store: "Store", version: int) -> Iterator[dict[str, Any]]:
    for batch in store.subscriptions(version).to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            yield {**row, "parameters": dict(row["parameters"])}


def _chosen(store: "Store", ids: list[str], version: int) -> Iterator[dict[str, Any]]:
    from tidegate.filters.literals import spell

    for id in ids:
        found = store.get(id, version)
        yield {
            "id": found.id,
            "subscriber": found.subscriber,
            "filter": found.filter,
            "parameters": {name: spell(value) for name, value in found.parameters.items()},
        }


def _line(row: dict[str, Any]) -> str:
    """A subscription for people to read."""
    values = ", ".join(f"{name} = {text}" for name, text in row["parameters"].items())
    owner = "" if row["subscriber"] == row["id"] else f"  for {row['subscriber']}"
    return f"{row['id']}{owner}  {row['filter']}" + (f"  with {values}" if values else "")

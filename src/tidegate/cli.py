"""The `tidegate` command.

Each command is a thin layer over the public API: it reads its arguments, calls the library, and
prints for people. Errors of the library are printed as they are, without a traceback, and end the
command with exit code 2.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import tidegate as tg
from tidegate.filters.expression import attribute_name
from tidegate.filters.literals import decode, to_date, to_timestamp
from tidegate.lab.tour import tour

app = typer.Typer(
    help="Who wants this event? Exact content-based publish/subscribe.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help='File with the attributes\' types: JSON such as {"price": "double"}, the JSON of a '
        "Spark schema, or Spark DDL such as price DOUBLE, volume BIGINT.",
        exists=True,
        dir_okay=False,
    ),
]


def main() -> None:
    """Entry point of the console script."""
    app()


def _version(wanted: bool) -> None:
    if wanted:
        _out.print(f"tidegate {tg.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@contextmanager
def _refusals() -> Iterator[None]:
    """Print what the library refuses, and end the command."""
    try:
        yield
    except tg.TidegateError as error:
        _err.print(f"[bold red]error:[/] {escape(str(error))}")
        raise typer.Exit(2) from None


@app.command()
def explain(
    text: Annotated[str, typer.Argument(metavar="FILTER", help="The filter, in quotes.")],
    schema: SchemaOption = None,
    event: Annotated[
        str | None, typer.Option(help="An event as JSON, such as '{\"price\": 9.5}'.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Bind a parameter; repeatable."),
    ] = None,
) -> None:
    """Say what a filter means and, given an event, why it passes or not."""
    with _refusals():
        types = _read_schema(schema)
        f = tg.parse(text, types)
        if parameters:
            f = f.bind(**dict(_parameter(each) for each in parameters))
        _out.print(f"[bold]reads as[/]    {escape(str(f))}")
        _out.print(f"[bold]attributes[/]  {escape(', '.join(sorted(f.attributes)) or 'none')}")
        if f.parameters:
            _out.print(f"[bold]parameters[/]  {', '.join(':' + name for name in f.parameters)}")
        elif f.form is True or f.form is False:
            _out.print(f"[bold]note[/]        {'every' if f.form else 'no'} event passes it")
        if event is not None:
            _out.print()
            _out.print(escape(str(f.explain(_read_event(event, types)))))


@app.command()
def relate(
    first: Annotated[str, typer.Argument(metavar="FILTER", help="The first filter.")],
    second: Annotated[str, typer.Argument(metavar="FILTER", help="The second filter.")],
    schema: SchemaOption = None,
) -> None:
    """Say how two filters relate: equal, covers, covered, overlaps, disjoint or unknown."""
    with _refusals():
        types = _read_schema(schema)
        relation = tg.relate(tg.parse(first, types), tg.parse(second, types))
    _out.print(f"[bold]{relation}[/]: {_RELATIONS[relation]}")


_RELATIONS = {
    tg.Relation.EQUAL: "the same events pass both filters",
    tg.Relation.COVERS: "every event that passes the second passes the first",
    tg.Relation.COVERED: "every event that passes the first passes the second",
    tg.Relation.OVERLAPS: "some events pass both, some only the one, some only the other",
    tg.Relation.DISJOINT: "no event passes both filters",
    tg.Relation.UNKNOWN: "this cannot be decided; forwarding treats them as overlapping",
}


@app.command()
def demo() -> None:
    """Tour the language and the index: what filters say, how they relate, who wants an event."""
    tour(_out)


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Which of parse, relate, match, boxes; all by default."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Verify the answers; exit with 1 if an aim is missed.")
    ] = False,
) -> None:
    """Time Tidegate beside the alternatives, in one run, on one core.

    A figure is compared with a baseline measured in the same run: the ratio counts, not the
    seconds of the machine.
    """
    root = Path(tg.__file__).parents[2]
    if not (root / "bench" / "__init__.py").is_file():
        _err.print("[bold red]error:[/] the benchmarks live in the source tree; clone it first")
        raise typer.Exit(2)
    sys.path.insert(0, str(root))
    runner = importlib.import_module("bench")
    unknown = sorted(set(names or ()) - set(runner.NAMES))
    if unknown:
        known = ", ".join(runner.NAMES)
        _err.print(f"[bold red]error:[/] there is no benchmark {unknown[0]}; there are {known}")
        raise typer.Exit(2)
    missed = runner.run(names or list(runner.NAMES), _out, as_json=as_json, check=check)
    for line in missed:
        _err.print(f"[bold red]missed:[/] {escape(line)}")
    if missed and check:
        raise typer.Exit(1)


def _read_schema(path: Path | None) -> tg.Schema | None:
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    try:
        source = json.loads(text)
    except json.JSONDecodeError:
        return tg.Schema(text)
    if isinstance(source, dict) and source.get("type") == "struct" and "fields" in source:
        return tg.Schema(_spark_mapping(source))
    if not isinstance(source, dict):
        raise tg.SchemaError(f"{path}: the JSON of a schema is an object of names and types")
    return tg.Schema(source)


def _spark_mapping(struct: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Spark schema's JSON as a mapping of names and types."""
    mapping: dict[str, Any] = {}
    for entry in struct["fields"]:
        kind = entry["type"]
        name = "`" + str(entry["name"]).replace("`", "``") + "`"
        if isinstance(kind, dict) and kind.get("type") == "struct":
            mapping[name] = _spark_mapping(kind)
        else:
            spelled = kind if isinstance(kind, str) else str(kind.get("type"))
            mapping[name] = tg.Attribute(spelled, nullable=bool(entry.get("nullable", True)))
    return mapping


def _read_event(text: str, schema: tg.Schema | None) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except json.JSONDecodeError as error:
        raise tg.TidegateError(f"the event is not JSON: {error}") from None
    if not isinstance(event, dict):
        raise tg.TidegateError('an event is a JSON object, such as {"price": 9.5}')
    return event if schema is None else {k: _typed((k,), v, schema) for k, v in event.items()}


def _typed(path: tuple[str, ...], value: Any, schema: tg.Schema) -> Any:
    """A JSON value as the schema's type: JSON has no dates, timestamps and decimals of its own."""
    if isinstance(value, dict):
        return {name: _typed((*path, name), inner, schema) for name, inner in value.items()}
    name = attribute_name(path)
    if name not in schema:
        return value
    kind = schema[name].type.name
    try:
        if isinstance(value, str) and kind == "date":
            return to_date(value)
        if isinstance(value, str) and kind.startswith("timestamp"):
            return to_timestamp(value)
    except ValueError as error:
        raise tg.TidegateError(f"{name}: {error}") from None
    if isinstance(value, float) and kind.startswith("decimal"):
        return Decimal(repr(value))
    return value


def _parameter(text: str) -> tuple[str, Any]:
    name, found, value = text.partition("=")
    if not found:
        raise tg.ParameterError(f"--set takes NAME=VALUE, not {text!r}")
    try:
        return name.strip(), decode(value.strip())
    except ValueError as error:
        raise tg.ParameterError(f"{name.strip()}: {error}") from None

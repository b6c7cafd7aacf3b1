"""The `tidegate` command.

Each command is a thin layer over the public API: it reads its arguments, calls the library, and
prints for people. Errors of the library are printed as they are, without a traceback, and end the
command with exit code 2.
"""

import importlib
import json
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import Progress

import tidegate as tg
from tidegate.commands.analyse import analyse
from tidegate.commands.cluster import cluster
from tidegate.commands.match import match
from tidegate.commands.options import SchemaOption, read_parameter, read_schema, refusals
from tidegate.commands.statistics import statistics
from tidegate.commands.subs import subs
from tidegate.console import err, out
from tidegate.filters.expression import attribute_name
from tidegate.filters.literals import to_date, to_timestamp
from tidegate.lab.tour import tour
from tidegate.pipeline.spark.java import require_java
from tidegate.pipeline.spark.session import failures

app = typer.Typer(
    help="Who wants this event? Exact content-based publish/subscribe.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(subs, name="subs")
app.command()(match)
app.command()(statistics)
app.command()(cluster)
app.command()(analyse)


def main() -> None:
    """Entry point of the console script."""
    app()


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"tidegate {tg.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


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
    with refusals():
        types = read_schema(schema)
        f = tg.parse(text, types)
        if parameters:
            f = f.bind(**dict(read_parameter(each) for each in parameters))
        out.print(f"[bold]reads as[/]    {escape(str(f))}")
        out.print(f"[bold]attributes[/]  {escape(', '.join(sorted(f.attributes)) or 'none')}")
        if f.parameters:
            out.print(f"[bold]parameters[/]  {', '.join(':' + name for name in f.parameters)}")
        elif f.form is True or f.form is False:
            out.print(f"[bold]note[/]        {'every' if f.form else 'no'} event passes it")
        if event is not None:
            out.print()
            out.print(escape(str(f.explain(_read_event(event, types)))))


@app.command()
def relate(
    first: Annotated[str, typer.Argument(metavar="FILTER", help="The first filter.")],
    second: Annotated[str, typer.Argument(metavar="FILTER", help="The second filter.")],
    schema: SchemaOption = None,
) -> None:
    """Say how two filters relate: equal, covers, covered, overlaps, disjoint or unknown."""
    with refusals():
        types = read_schema(schema)
        relation = tg.relate(tg.parse(first, types), tg.parse(second, types))
    out.print(f"[bold]{relation}[/]: {_RELATIONS[relation]}")


_RELATIONS = {
    tg.Relation.EQUAL: "the same events pass both filters",
    tg.Relation.COVERS: "every event that passes the second passes the first",
    tg.Relation.COVERED: "every event that passes the first passes the second",
    tg.Relation.OVERLAPS: "some events pass both, some only the one, some only the other",
    tg.Relation.DISJOINT: "no event passes both filters",
    tg.Relation.UNKNOWN: "this cannot be decided; forwarding treats them as overlapping",
}


@app.command()
def demo(
    rules: Annotated[int, typer.Option(min=1, help="How many subscriptions.")] = 100_000,
    events: Annotated[int, typer.Option(min=1, help="How many trades.")] = 60_000,
    folder: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Keep everything in this folder.")
    ] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
) -> None:
    """Stream a trading day through Spark while thresholds move, and show what happened."""
    with refusals():
        require_java()
        from tidegate.lab.demo import demo as run_demo  # loads NumPy, Arrow and Delta Lake

        with failures():
            good = run_demo(out, rules=rules, events=events, folder=folder, master=master)
    if not good:
        raise typer.Exit(1)


@app.command()
def simulate(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO.toml", help="The network and what happens to it.")
    ],
    result: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all counters as JSON.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw the overlay as an SVG."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draw at random from another seed.")] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="Let brokers forward by another policy.")
    ] = None,
) -> None:
    """Simulate a network of brokers, and print what happened in it."""
    from tidegate.simulate.counters import count  # load the engine
    from tidegate.simulate.picture import picture as draw
    from tidegate.simulate.report import report
    from tidegate.simulate.scenario import load

    with refusals():
        planned = load(scenario, seed)
        if policy is not None:
            planned = planned.with_policy(policy)
        with Progress(console=err, transient=True, disable=not err.is_terminal) as shown:
            task = shown.add_task("simulating", total=1.0)
            network = planned.run(lambda share: shown.update(task, completed=share))
        found = count(network, planned.name, planned.seed)
        report(found, out)
        _write(result, found.json)
        _write(picture, lambda: draw(found))


def _write(path: Path | None, text: Callable[[], str]) -> None:
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise tg.TidegateError(f"{path} cannot be written: {error.strerror}") from None
    out.print(f"wrote {escape(str(path))}")


@app.command(name="tour")
def show_tour() -> None:
    """Tour the language and the index: what filters say, how they relate, who wants an event."""
    tour(out)


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Which of parse, relate, match, boxes, overlay, churn, pipeline, scale; "
            "all by default.",
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
        err.print("[bold red]error:[/] the benchmarks live in the source tree; clone it first")
        raise typer.Exit(2)
    sys.path.insert(0, str(root))
    runner = importlib.import_module("bench")
    unknown = sorted(set(names or ()) - set(runner.NAMES))
    if unknown:
        known = ", ".join(runner.NAMES)
        err.print(f"[bold red]error:[/] there is no benchmark {unknown[0]}; there are {known}")
        raise typer.Exit(2)
    missed = runner.run(names or list(runner.NAMES), out, as_json=as_json, check=check)
    for line in missed:
        err.print(f"[bold red]missed:[/] {escape(line)}")
    if missed and check:
        raise typer.Exit(1)


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

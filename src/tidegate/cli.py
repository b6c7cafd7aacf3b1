"""The `tidegate` command: a table of contents.

Each command is a thin layer over the public API (`commands`): it reads its arguments, calls the
library, and prints for people. Errors of the library are printed as they are, without a traceback,
and end the command with exit code 2.
"""

from typing import Annotated

import typer

import tidegate as tg
from tidegate.commands.analyse import analyse
from tidegate.commands.bench import bench
from tidegate.commands.broker import broker
from tidegate.commands.cluster import cluster
from tidegate.commands.compare import compare
from tidegate.commands.demo import demo
from tidegate.commands.explain import explain
from tidegate.commands.lab import lab
from tidegate.commands.match import match
from tidegate.commands.network import network
from tidegate.commands.peers import peers
from tidegate.commands.publish import publish
from tidegate.commands.relate import relate
from tidegate.commands.simulate import simulate
from tidegate.commands.statistics import statistics
from tidegate.commands.status import status
from tidegate.commands.subs import subs
from tidegate.commands.subscribe import subscribe
from tidegate.commands.token import token
from tidegate.commands.tour import tour
from tidegate.console import out

app = typer.Typer(
    help="Who wants this event? Exact content-based publish/subscribe.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(subs, name="subs")
app.add_typer(lab, name="lab")
for command in (
    match,
    statistics,
    cluster,
    analyse,
    explain,
    relate,
    demo,
    simulate,
    compare,
    broker,
    publish,
    subscribe,
    status,
    token,
    network,
    peers,
    tour,
    bench,
):
    app.command()(command)


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

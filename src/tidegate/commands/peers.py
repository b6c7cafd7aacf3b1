"""The command `tidegate peers`: what happens in a network of peers?"""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from tidegate.commands.files import check_writable, write
from tidegate.commands.options import refusals
from tidegate.console import err, out


def peers(
    scenario: Annotated[
        Path, typer.Argument(metavar="SCENARIO.toml", help="The peers and what happens to them.")
    ],
    result: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all counters as JSON.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the overlay as an SVG.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Draw at random from another seed.")] = None,
) -> None:
    """Simulate a network of peers without brokers, and print what happened in it."""
    from tidegate.lab.workloads.sources import SOURCES  # load the engine
    from tidegate.peers.scenario import load

    with refusals():
        check_writable(result, picture)
        planned = load(scenario, seed, SOURCES)
        with Progress(console=err, transient=True, disable=not err.is_terminal) as shown:
            task = shown.add_task("simulating", total=1.0)
            found = planned.run(lambda share: shown.update(task, completed=share))
        found.report(out)
        if result is not None:
            write(result, found.json(), out)
        if picture is not None:
            write(picture, found.picture(), out)

"""The command `tidegate simulate`: what happens in a network of brokers?"""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from tidegate.commands.files import check_writable, write
from tidegate.commands.options import refusals
from tidegate.console import err, out


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
    from tidegate.lab.workloads.sources import SOURCES  # load the engine
    from tidegate.simulate.counters import count
    from tidegate.simulate.picture import picture as draw
    from tidegate.simulate.report import report
    from tidegate.simulate.scenario import load

    with refusals():
        check_writable(result, picture)
        planned = load(scenario, seed, SOURCES)
        if policy is not None:
            planned = planned.with_policy(policy)
        with Progress(console=err, transient=True, disable=not err.is_terminal) as shown:
            task = shown.add_task("simulating", total=1.0)
            network = planned.run(lambda share: shown.update(task, completed=share))
        found = count(network, planned.name, planned.seed)
        report(found, out)
        if result is not None:
            write(result, found.json(), out)
        if picture is not None:
            write(picture, draw(found), out)

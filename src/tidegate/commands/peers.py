"""The command `tidegate peers`: what happens in a network of peers?"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import tidegate as tg
from tidegate.commands.options import refusals
from tidegate.console import out


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
        found = load(scenario, seed, SOURCES).run()
        found.report(out)
        _write(result, found.json)
        _write(picture, found.picture)


def _write(path: Path | None, text: Callable[[], str]) -> None:
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise tg.TidegateError(f"{path} cannot be written: {error.strerror}") from None
    out.print(f"wrote {escape(str(path))}")

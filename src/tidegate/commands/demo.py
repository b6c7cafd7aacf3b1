"""The command `tidegate demo`: a trading day streamed through Spark while thresholds move."""

from pathlib import Path
from typing import Annotated

import typer

from tidegate.commands.options import refusals
from tidegate.console import out
from tidegate.pipeline.spark.java import require_java
from tidegate.pipeline.spark.session import failures


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

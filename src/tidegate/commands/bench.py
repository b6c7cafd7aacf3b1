"""The command `tidegate bench`: our figures beside the alternatives', in one run."""

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

import tidegate as tg
from tidegate.console import err, out


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Which of parse, relate, match, boxes, papers, overlay, pruning, "
            "parametric, churn, pipeline, scale, xml, xroute, peers, network, lab; all by default.",
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

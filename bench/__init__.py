"""Our figures beside the alternatives', in one run, on one core.

A benchmark is a module with a function `run()` that yields `Figure`s. Times are CPU seconds of this
process, because the machine may be busy; what counts is the ratio to the baseline measured in the
same run. Each figure verifies the answers of what it timed before it is reported.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

NAMES = (
    "parse",
    "relate",
    "match",
    "boxes",
    "papers",
    "overlay",
    "pruning",
    "parametric",
    "churn",
    "pipeline",
    "scale",
    "xml",
    "xroute",
    "peers",
    "network",
    "lab",
)


def run(names: Iterable[str], out: Console, *, as_json: bool, check: bool) -> list[str]:
    """Run the benchmarks, print their figures, and return a line for each aim that was missed."""
    missed = []
    for name in names:
        for figure in importlib.import_module(f"bench.{name}").run():
            if as_json:
                print(json.dumps(figure.as_dict()), flush=True)
            else:
                out.print(str(figure))
            if check and not figure.met:
                missed.append(f"{figure.name}: aimed at {figure.aim}")
    return missed

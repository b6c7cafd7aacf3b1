"""The command `tidegate lab`: the documents' experiments, rerun as Spark jobs."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from tidegate.commands.options import refusals
from tidegate.console import err, out
from tidegate.errors import LabError

if TYPE_CHECKING:
    from tidegate.pipeline.spark.session import SparkSession

lab = typer.Typer(
    help="The papers' experiments: list them, run them on Spark, report what they say.",
    no_args_is_help=True,
)


class Scale(StrEnum):
    """How large a grid is."""

    small = "small"
    paper = "paper"


RunsOption = Annotated[
    Path,
    typer.Option("--runs", metavar="DIR", help="The folder of rows, which all executors share."),
]
ScaleOption = Annotated[Scale, typer.Option(help="Seconds, or the papers' sizes.")]


class Old(StrEnum):
    """What becomes of rows that other code has computed."""

    refuse = "refuse"
    keep = "keep"
    again = "again"


@lab.command("list")
def list_all() -> None:
    """Say which experiments there are, and what they reproduce."""
    from tidegate.lab.experiments.catalogue import EXPERIMENTS

    table = Table(box=None)
    table.add_column("name", no_wrap=True)
    for title in ("reproduces", "points", "what it tells"):
        table.add_column(title)
    for each in EXPERIMENTS:
        points = " / ".join(
            f"{len(size.points) * len(size.seeds)} {scale}" for scale, size in each.sizes.items()
        )
        table.add_row(each.name, ", ".join(each.reproduces), points, each.tells)
    out.print(table)


@lab.command()
def run(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME…", help="Experiments, documents, or all.")
    ],
    scale: ScaleOption = Scale.small,
    runs: RunsOption = Path("lab-runs"),
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME=VALUE", help="Only points with this; repeatable."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Repeat each point with so many seeds.")
    ] = None,
    old: Annotated[
        Old, typer.Option(help="What to do with rows that other code has computed.")
    ] = Old.refuse,
) -> None:
    """Compute the points of experiments that have no row yet, one Spark task for each.

    What is finished stays, whatever happens; the same command goes on where it was interrupted.
    """
    with refusals():
        from tidegate.lab.experiments.catalogue import chosen

        experiments = chosen(names)
        for data in sorted({each.data() for each in experiments} - {""}):
            out.print(f"patterns and documents are of {data}")
        from tidegate.lab.runner.job import run as run_all  # loads Arrow

        ran = run_all(
            experiments,
            scale.value,
            runs,
            master=master,
            only=_only(only),
            seeds=seeds,
            old=old.value,
            watch=_shown,
        )
        before = f", {ran.before} were finished before" if ran.before else ""
        out.print(f"{ran.computed} points computed{before}; the rows are in {escape(str(runs))}")
        ran.check()


@lab.command()
def adopt(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What a report calls results/rows.")
    ],
    runs: RunsOption = Path("lab-runs"),
) -> None:
    """Go on with the rows of a report, such as docs/results/rows: only the rest is computed then.

    Other code may have computed them; tidegate lab run --old keep takes them all the same.
    """
    with refusals():
        from tidegate.lab.experiments.catalogue import EXPERIMENTS
        from tidegate.lab.runner.published import adopt as adopt_all
        from tidegate.lab.runner.results import Results

        new, before = adopt_all(folder, Results(runs), EXPERIMENTS)
    told = f", {before} were there already" if before else ""
    out.print(f"{new} rows adopted{told}; the rows are in {escape(str(runs))}")


@lab.command()
def report(
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for page and figures.")
    ],
    runs: RunsOption = Path("lab-runs"),
    scale: Annotated[
        Scale | None, typer.Option(help="Only this scale; else the larger that was run.")
    ] = None,
) -> None:
    """Write index.html, one page that needs nothing else, and results.md with figures and rows."""
    with refusals():
        from tidegate.lab.experiments.catalogue import EXPERIMENTS
        from tidegate.lab.report.findings import findings
        from tidegate.lab.report.markdown import markdown, write_figures
        from tidegate.lab.report.page import page, state
        from tidegate.lab.runner.published import publish
        from tidegate.lab.runner.results import Results

        scales = [scale.value] if scale else [Scale.paper.value, Scale.small.value]
        results = Results(runs)
        found = findings(EXPERIMENTS, results, scales)
        known = {finding.experiment.name for finding in found}
        absent = [each for each in EXPERIMENTS if each.name not in known]
        if not found:
            raise LabError(f"there are no rows in {runs}; tidegate lab run computes them")
        try:
            write_figures(found, folder / "results")
            publish([(e.experiment, e.scale) for e in found], results, folder / "results" / "rows")
            (folder / "index.html").write_text(page(found, absent), encoding="utf-8")
            text = markdown(found, "results", absent)
            (folder / "results.md").write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise LabError(f"cannot write to {folder}: {error.strerror or error}") from None
        decided = [state(each) for finding in found for each in finding.decided()]
    told = ", ".join(f"{decided.count(each)} {each}" for each in dict.fromkeys(decided))
    out.print(f"{len(decided)} claims: {told}; the page is {escape(str(folder / 'index.html'))}")


def _only(given: list[str] | None) -> dict[str, str]:
    pairs = [each.partition("=") for each in given or []]
    for text, (name, found, value) in zip(given or [], pairs, strict=True):
        if not (name and found and value):
            raise LabError(f"--only takes NAME=VALUE, not {text!r}")
    return {name: value for name, _, value in pairs}


@contextmanager
def _shown(spark: "SparkSession", count: int) -> "Iterator[None]":
    """A line that says how many points are done."""
    from tidegate.pipeline.progress.steps import Step, Steps, Tasks, Watch, shown

    clock = Watch()
    steps = Steps(Tasks(spark, clock).counted, clock)
    steps.tell(Step(f"computing {count} points", 1, 1))
    with shown(steps, err):
        yield

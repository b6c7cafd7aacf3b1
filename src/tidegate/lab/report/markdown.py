"""What does a run say, in the documentation?

The same as the page, as tables of Markdown, with the figures as files beside it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tidegate.lab.experiments.experiment import Experiment
from tidegate.lab.experiments.printed import documents
from tidegate.lab.report.findings import Curve, Finding
from tidegate.lab.report.page import STATES, drawn_from, not_run, number, rerun, sizes, state
from tidegate.lab.report.plots import draw, spread, told


def markdown(found: Sequence[Finding], figures: str, absent: Sequence[Experiment] = ()) -> str:
    """The text; `figures` is the folder of the figures, as links name it.

    `absent` are experiments that were not run.
    """
    return "\n".join(
        [*_head(found, absent), *(line for each in _parts(found, figures) for line in each)]
    )


def write_figures(found: Sequence[Finding], folder: Path) -> None:
    """A file for each figure."""
    folder.mkdir(parents=True, exist_ok=True)
    for finding in found:
        for place, plot in enumerate(finding.experiment.plots):
            curves = finding.curves(plot)
            if curves:
                text = draw(plot, curves).replace("currentColor", "#444")
                (folder / _file(finding, place)).write_text(text, encoding="utf-8")


def _file(finding: Finding, place: int) -> str:
    return f"{finding.experiment.name}-{place + 1}.svg"


def _head(found: Sequence[Finding], absent: Sequence[Experiment]) -> Iterator[str]:
    decided = [each for finding in found for each in finding.decided()]
    held = sum(state(each) == "held" for each in decided)
    yield "# Results\n"
    yield f"**{held} of {len(decided)} claims hold.** This file is written by `tidegate lab report`"
    yield "from the rows of `tidegate lab run`. Counts are exact; times"
    yield f"are CPU times, one task at a time on a core. {sizes(found)}\n"
    yield f"| document | {' | '.join(STATES)} |"
    yield f"|---|{'---:|' * len(STATES)}"
    for name in dict.fromkeys(each.experiment.document for each in found):
        own = [state(each) for each in decided if each.stated.document == name]
        counts = " | ".join(str(own.count(each)) for each in STATES)
        yield f"| {documents()[name].title} | {counts} |"
    if absent:
        yield f"\n{not_run(absent)}"
    machines = sorted({str(row["machine"]) for finding in found for row in finding.rows})
    yield f"\nComputed on {'; '.join(machines)}.{drawn_from(found)}"


def _parts(found: Sequence[Finding], figures: str) -> Iterator[Iterator[str]]:
    for name in dict.fromkeys(each.experiment.document for each in found):
        yield iter([f"\n## {documents()[name].title}"])
        for finding in found:
            if finding.experiment.document == name:
                yield _experiment(finding, figures)


def _experiment(finding: Finding, figures: str) -> Iterator[str]:
    own = finding.experiment
    yield f"\n### {own.name}: {', '.join(own.reproduces)}\n"
    left = f"; {finding.missing} are missing" if finding.missing else ""
    yield f"{own.tells} Scale {finding.scale}, {len(finding.rows)} rows{left}. `{rerun(finding)}`\n"
    yield "| claim | printed in | state | decided by |"
    yield "|---|---|---|---|"
    for each in finding.decided():
        why = f" {each.claim.why}" if each.claim.why and state(each) != "held" else ""
        yield (
            f"| {each.stated.text} | {each.stated.where}, l. {each.stated.lines} "
            f"| **{state(each)}** | {number(each)}.{why} |"
        )
    for place, plot in enumerate(own.plots):
        curves = finding.curves(plot)
        if curves:
            yield f"\n![{plot.title}]({figures}/{_file(finding, place)})\n"
            yield from _table(plot.title, plot.x_label, curves)


def _table(title: str, x_label: str, curves: Sequence[Curve]) -> Iterator[str]:
    """The curves as columns; what has no value there has a dash."""
    found = dict.fromkeys(p.x for curve in curves for p in curve.points)
    numbers = sorted(x for x in found if not isinstance(x, str))
    places: list[float | str] = [*numbers, *(x for x in found if isinstance(x, str))]
    yield f"{title}, by {x_label}:\n" if x_label else f"{title}:\n"
    names = [f"{c.label}, printed" if c.printed else c.label for c in curves]
    yield f"| measured | {' | '.join(names)} |"
    yield f"|---|{'---:|' * len(curves)}"
    for x in places:
        cells = [next((spread(p) for p in curve.points if p.x == x), "–") for curve in curves]
        yield f"| {told(x)} | {' | '.join(cells)} |"

"""What has an experiment found, and what do the documents print beside it?"""

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.lab.experiments.experiment import Claim, Experiment, Plot, Verdict
from tidegate.lab.experiments.printed import Stated, claims, printed
from tidegate.lab.experiments.rows import Rows, Spread
from tidegate.lab.runner.results import Results


@dataclass(frozen=True)
class Curve:
    """A curve of ours, or one that is printed, which has no band."""

    label: str
    points: Sequence[Spread]
    printed: bool = False


@dataclass(frozen=True)
class Decided:
    """A claim, as it is stated, and what became of it; None where rows are missing."""

    stated: Stated
    claim: Claim
    verdict: Verdict | None
    experiment: str


@dataclass(frozen=True)
class Finding:
    """An experiment at a scale, and its rows, of which there is at least one."""

    experiment: Experiment
    scale: str
    rows: Rows

    @property
    def missing(self) -> int:
        """Points and seeds of the grid that have not been computed."""
        size = self.experiment.size(self.scale)
        return max(0, len(size.points) * len(size.seeds) - len(self.rows))

    def curves(self, plot: Plot) -> list[Curve]:
        """What is to be drawn: ours, and beside it what is printed."""
        rows = self.rows if plot.made is None else plot.made(self.rows)
        rows = rows.where(**plot.where)
        found = []
        for values in sorted({tuple(row[name] for name in plot.by) for row in rows}, key=_order):
            own = dict(zip(plot.by, values, strict=True))
            for column in plot.columns:
                points = rows.where(**own).curve(plot.x, column)
                if len(points) >= plot.least:
                    name = plot.names.get(column, column)
                    found.append(Curve(plot.label.format(column=name, **own), points))
        if plot.printed:
            theirs = printed(plot.printed)
            for label, ys in theirs.series.items():
                pairs = zip(theirs.x, ys, strict=False)  # some curves end early
                points = [Spread(x, y, y, y) for x, y in pairs]
                found.append(Curve(label, points, printed=True))
        return found

    def decided(self) -> list[Decided]:
        """All claims."""
        return [
            Decided(claims()[each.name], each, each.decided(self.rows), self.experiment.name)
            for each in self.experiment.claims
        ]


def findings(
    experiments: Sequence[Experiment], results: Results, scales: Sequence[str]
) -> list[Finding]:
    """Of each experiment the first scale that has rows, if one has."""
    found = []
    for experiment in experiments:
        for scale in scales:
            rows = results.rows(experiment.name, scale)
            if len(rows):
                found.append(Finding(experiment, scale, rows))
                break
    return found


def _order(values: tuple[object, ...]) -> tuple[tuple[int, float, str], ...]:
    return tuple(
        (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))
        for value in values
    )

"""How well does the metric of similarity estimate what can be counted?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), announces an
evaluation of its metric at the head of chapter 9, and prints none. **xnet-metric** is that
evaluation: `lab.metric` says what is estimated from what, and held against what.
"""

from typing import Final

from tidegate.lab.experiments.experiment import (
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    Verdict,
    grid,
)
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.metric import accuracies, definitions
from tidegate.lab.workloads.dtds import which_news

DTDS: Final = ("news", "media", "made up")
ERROR: Final = 0.1  # at most, in the mean, of an estimate that is called accurate
CORRELATION: Final = 0.8  # at least


def metric(point: Point, seed: int) -> Row:
    """The error of each way to estimate, for patterns on one type of documents."""
    name = str(point["dtd"])
    found = list(
        accuracies(
            name,
            definitions()[name],
            filters=int(point["filters"]),
            documents=int(point["documents"]),
            seed=seed,
        )
    )
    return {
        "guides": [each.guide for each in found],
        "error": [each.error for each in found],
        "correlation": [each.correlation for each in found],
        "pairs": found[0].pairs,
    }


def _accurate(rows: Rows) -> Verdict:
    met, told = [], []
    for name in rows.values("dtd"):
        own = rows.where(dtd=name)
        errors = {each.x: each.mean for each in own.curve("guides", "error")}
        ranks = {each.x: each.mean for each in own.curve("guides", "correlation")}
        best = max(ranks, key=lambda guide: ranks[guide])
        met.append(errors[best] <= ERROR and ranks[best] >= CORRELATION)
        told.append(f"{name} {errors[best]:.2f}, correlation {ranks[best]:.2f} ({best})")
    return Verdict.of(met, "; ".join(told))


METRIC = Experiment(
    "xnet-metric",
    "xnet",
    "The error of the metric of similarity, beside what is counted over documents.",
    ("the evaluation that chapter 9 announces",),
    metric,
    {
        "small": Size(grid(dtd=DTDS, filters=[12], documents=[60])),
        "paper": Size(grid(dtd=DTDS, filters=[60], documents=[1_000]), seeds=(1, 2, 3)),
    },
    plots=(
        Plot(
            "Mean error of Sim",
            "guides",
            ("error",),
            "estimated from",
            "mean absolute error",
            ("dtd",),
            "{dtd}",
        ),
        Plot(
            "Rank correlation of Sim",
            "guides",
            ("correlation",),
            "estimated from",
            "Spearman's",
            ("dtd",),
            "{dtd}",
        ),
    ),
    claims=(Claim("xnet-metric", _accurate, "The thesis prints no figure, and no bound."),),
    data=which_news,
)

EXPERIMENTS = (METRIC,)

"""Can subscribers do without brokers? Chapter 9 of Chand (2005), ours beside theirs.

The lab's experiments on trees and graphs of peers (`tidegate lab run xnet-trees xnet-leaves
xnet-graphs`), point by point in one process, with what is printed as the baseline, and each claim
as a line of its own: held, partly, not, or open where its size was not run, and the number that
decides. Then the same peers and documents **beside brokers**: with messages, and as clients of
brokers that forward by `covering`; and how well the **metric** estimates what can be counted.

Sizes are those of the thesis; TIDEGATE_PEERS=small runs the lab's small ones.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bench.figure import Figure
from bench.peers_beside_brokers import beside_brokers
from tidegate.lab.experiments import xnet_graphs, xnet_trees
from tidegate.lab.experiments.peer_overlays import documents, patterns
from tidegate.lab.experiments.printed import claims, printed
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.metric import accuracies, definitions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tidegate.lab.experiments.experiment import Experiment, Point

SCALE = "small" if os.environ.get("TIDEGATE_PEERS") == "small" else "paper"
EXPERIMENTS = (*xnet_trees.EXPERIMENTS, *xnet_graphs.EXPERIMENTS)
SEED = 1
PATTERNS = 40  # whose metric is held against counts
DOCUMENTS = 200  # some of which are published beside brokers
COUNTED = {"mean": "", "largest": "-largest", "deviation": "-deviation"}  # of Table 9.4
STATES = {"held": 1.0, "partly": 0.5, "not": 0.0, "open": 0.0}


def run() -> Iterator[Figure]:
    """Trees, graphs, both beside brokers, and the metric."""
    for experiment in EXPERIMENTS:
        yield from rerun(experiment)
    yield from beside_brokers(patterns(DOCUMENTS, SEED), documents(DOCUMENTS, 22, SEED))
    yield from metric()


def rerun(experiment: Experiment) -> Iterator[Figure]:
    """All points of an experiment, and what that says of its claims."""
    rows: list[Mapping[str, Any]] = []
    for point in experiment.size(SCALE).points:
        row = experiment.measure(point, SEED)
        rows.append({**point, **row, "seed": SEED})
        yield from told(experiment, point, row)
    for claim in experiment.claims:
        verdict = claim.decided(Rows(rows))
        state = verdict.state if verdict else "open"
        number = verdict.number if verdict else "such a size was not run"
        text = claims()[claim.name].text
        yield Figure(
            f"claim {claim.name}: {text}",
            STATES[state],
            None,
            None,
            "held",
            note=f"{state}: {number}",
        )


def told(experiment: Experiment, point: Point, row: Mapping[str, Any]) -> Iterator[Figure]:
    """One point; of lists the last number."""
    shown = {name: value for name, value in point.items() if name not in ("documents", "probes")}
    name = ", ".join(f"{name} {value}" for name, value in shown.items())
    for column, value in row.items():
        ours = value[-1] if isinstance(value, list) else value
        yield Figure(
            f"{experiment.name} at {name}: {column}", ours, _theirs(column, point), None, column
        )


def _theirs(column: str, point: Point) -> float | None:
    """What Table 9.4 has there."""
    if column not in COUNTED or "near" not in point:
        return None
    table = printed(f"xnet-table9.4{COUNTED[column]}")
    own = table.series.get(f"n = {point['near']}")
    at = list(table.x)
    return own[at.index(point["peers"])] if own and point["peers"] in at else None


def metric() -> Iterator[Figure]:
    """Sim beside what is counted, on three types of documents."""
    for name, dtd in definitions().items():
        for each in accuracies(name, dtd, filters=PATTERNS, documents=300):
            label = f"Sim on {name} by {each.guide}"
            yield Figure(f"peers: {label}: error", each.error, None, None, "mean difference")
            yield Figure(
                f"peers: {label}: rank correlation", each.correlation, None, None, "Spearman's"
            )

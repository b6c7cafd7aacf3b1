"""Which experiments are there?"""

from collections.abc import Sequence
from typing import Final

from tidegate.errors import LabError
from tidegate.lab.experiments import (
    mbd,
    mbd_growth,
    parametric,
    pruning,
    ratings,
    rehearsal,
    subsumption,
    xnet_failures,
    xnet_graphs,
    xnet_metric,
    xnet_routing,
    xnet_search,
    xnet_thesis,
    xnet_trees,
)
from tidegate.lab.experiments.experiment import Experiment

EXPERIMENTS: Final[tuple[Experiment, ...]] = (
    *subsumption.EXPERIMENTS,
    *mbd.EXPERIMENTS,
    *mbd_growth.EXPERIMENTS,
    *pruning.EXPERIMENTS,
    *ratings.EXPERIMENTS,
    *parametric.EXPERIMENTS,
    *xnet_thesis.EXPERIMENTS,
    *xnet_routing.EXPERIMENTS,
    *xnet_search.EXPERIMENTS,
    *xnet_failures.EXPERIMENTS,
    *xnet_trees.EXPERIMENTS,
    *xnet_graphs.EXPERIMENTS,
    *xnet_metric.EXPERIMENTS,
)
"""Those of the documents, in their order."""

_KNOWN: Final = {each.name: each for each in (*EXPERIMENTS, rehearsal.REHEARSAL)}


def chosen(names: Sequence[str]) -> list[Experiment]:
    """Experiments by their names, or by those of documents; *all* is all of the documents'.

    >>> [each.name for each in chosen(["subsumption"])]
    ['subsumption-redundant', 'subsumption-choices']
    """
    found: dict[str, Experiment] = {}
    for name in names:
        own = [each for each in EXPERIMENTS if name in ("all", each.document)]
        if name in _KNOWN:
            own = [_KNOWN[name]]
        if not own:
            known = ", ".join(["all", *dict.fromkeys(e.document for e in EXPERIMENTS), *_KNOWN])
            raise LabError(f"there is no experiment {name!r}; there are: {known}")
        found.update({each.name: each for each in own})
    return list(found.values())

"""Which routing optimisation suits what, by six parameters?

Bittner, Hinze, "Subscription Tree Pruning: A Structure-Independent Routing Optimization for
General-Purpose Publish/Subscribe Systems" (OTM 2006), Table 1, rate five policies as excellent
(++), suitable (+-) or poor (--), by argument. Here all policies that brokers have are measured
(`lab.comparison`, which says what the parameters are), on three workloads.

- **pruning-policies** (Table 1): each policy beside plain forwarding, on the same workload.

The paper prints no bounds between its grades. Ours, for the mean over workloads:

- *applicability*: the share of entries that are changed; excellent from two thirds, suitable from
  one third;
- *memory*: the share of the associations of changed entries that is saved, since the paper assumes
  the best case for all other parameters; the same bounds;
- *network load*, *computation*, *deregistration*: events, units of work and bytes of a cancellation
  beside plain forwarding; excellent up to 1% more, suitable up to half as many again;
- *expressiveness*: the share of classes of filters; excellent if all, suitable from a half.
"""

from collections.abc import Callable
from functools import lru_cache
from statistics import fmean
from typing import Any, Final

from tidegate.lab.comparison.contestants import CONTESTANTS, PLAIN, chosen
from tidegate.lab.comparison.measures import compare
from tidegate.lab.comparison.trial import Trial, trial
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
from tidegate.lab.workloads.sources import SOURCES
from tidegate.simulate.scenario import Scenario, read

TREE: Final = {"shape": "balanced", "degree": 2, "depth": 3}
LINE: Final = {"shape": "line", "brokers": 5}
WORKLOADS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "trade": ("exchange", TREE),
    "books": ("books", LINE),
    "rectangles": ("rectangles", TREE),
}
"""What subscribers want, and the network; those of `tidegate compare`'s scenarios."""
POLICIES: Final = tuple(each.name for each in CONTESTANTS if each is not PLAIN)
RATED: Final = {
    "covering": "covering",
    "perfect merging": "merging",
    "imperfect merging": "imperfect merging",
    "replacement": "replacement",
    "pruning": "pruning",
}
"""The policies of Table 1, and what they are called here."""
EXCELLENT, SUITABLE, POOR = "excellent", "suitable", "poor"
TABLE: Final = {
    "applicability": (POOR, EXCELLENT, EXCELLENT, SUITABLE, EXCELLENT),
    "memory": (EXCELLENT, POOR, EXCELLENT, SUITABLE, EXCELLENT),
    "network load": (EXCELLENT, EXCELLENT, SUITABLE, SUITABLE, SUITABLE),
    "computation": (EXCELLENT, EXCELLENT, SUITABLE, SUITABLE, SUITABLE),
    "expressiveness": (POOR, POOR, POOR, EXCELLENT, EXCELLENT),
    "deregistration": (POOR, POOR, POOR, EXCELLENT, EXCELLENT),
}
"""Table 1, lines 192-201: the grades of these policies, in their order."""


def scenario(workload: str, subscriptions: int, seconds: int, seed: int) -> Scenario:
    """So many subscriptions, and 50 events a second."""
    like, topology = WORKLOADS[workload]
    return read(
        {
            "name": workload,
            "seed": seed,
            "topology": dict(topology),
            "links": {"delay": 0.01},
            "workload": {
                "like": like,
                "subscribers": max(4, subscriptions // 5),
                "subscriptions": subscriptions,
                "publishers": 4,
                "rate": 50,
                "warmup": subscriptions // 5,
                "duration": seconds,
            },
        },
        SOURCES,
    )


def policies(point: Point, seed: int) -> Row:
    """One policy beside plain forwarding."""
    sizes = int(point["subscriptions"]), int(point["lasting"])
    workload = str(point["workload"])
    found = compare(
        lambda: scenario(workload, *sizes, seed),
        chosen([str(point["policy"])]),
        known=_plain(workload, *sizes, seed),
    )
    assert not found.losers, "deliveries are wrong"
    plain, own = found.policies
    saved = 1 - _times(own.associations, plain.associations)
    return {
        "applicability": own.applicability,
        "associations": 1 - saved,
        "memory": saved / own.applicability if own.applicability else 0.0,
        "network load": _times(own.events, plain.events),
        "computation": _times(own.work, plain.work),
        "expressiveness": fmean((own.expressiveness or {"none": 0.0}).values()),
        "deregistration": _times(own.deregistration.bytes, plain.deregistration.bytes),
        "messages": _times(own.deregistration.messages, plain.deregistration.messages),
        "cpu": own.event_cpu * 1e6,
    }


@lru_cache(maxsize=1)
def _plain(workload: str, subscriptions: int, seconds: int, seed: int) -> Trial:
    """What plain forwarding does, kept for the next policy. Of it only what is counted is used."""
    return trial(scenario(workload, subscriptions, seconds, seed), PLAIN)


def _times(own: float, plain: float) -> float:
    return own / plain if plain else 0.0


# -- claims


def _more(value: float) -> str:
    """A grade of a share of which more is better."""
    return EXCELLENT if value >= 2 / 3 else SUITABLE if value >= 1 / 3 else POOR


def _less(value: float) -> str:
    """A grade of times as much as plain forwarding."""
    return EXCELLENT if value <= 1.01 else SUITABLE if value <= 1.5 else POOR


def _classes(value: float) -> str:
    """A grade of a share of classes."""
    return EXCELLENT if value >= 0.999 else SUITABLE if value >= 0.5 else POOR


GRADES: Final[dict[str, Callable[[float], str]]] = {
    "applicability": _more,
    "memory": _more,
    "network load": _less,
    "computation": _less,
    "expressiveness": _classes,
    "deregistration": _less,
}


def _rated(parameter: str) -> Callable[[Rows], Verdict]:
    def rule(rows: Rows) -> Verdict:
        met, told = [], []
        for (name, policy), printed in zip(RATED.items(), TABLE[parameter], strict=True):
            value = rows.where(policy=policy).mean(parameter)
            ours = GRADES[parameter](value)
            met.append(ours == printed)
            told.append(
                f"{name} {value:.2f}: {ours}" + ("" if met[-1] else f" (printed {printed})")
            )
        return Verdict.of(met, ", ".join(told))

    return rule


_WHY: Final = {
    "applicability": "A merger that is no shorter saves nothing, so ours are never longer.",
    "memory": "Our mergers are never longer than what they are made of.",
    "network load": "An event that few want goes far if filters are pruned.",
    "computation": "Our brokers find entries by boxes, for which a short entry is a wide one.",
    "expressiveness": "Our covering and merging are not for conjunctions alone.",
    "deregistration": "What is covered is cancelled where it is.",
}

COMPARED: Final = Experiment(
    "pruning-policies",
    "pruning",
    "All policies by six parameters, beside plain forwarding.",
    ("Table 1", "the comparison of all policies"),
    policies,
    {
        "small": Size(
            grid(
                workload=["trade", "books"], subscriptions=[40], lasting=[8], policy=RATED.values()
            )
        ),
        "paper": Size(grid(workload=WORKLOADS, subscriptions=[300], lasting=[30], policy=POLICIES)),
    },
    frozenset({"cpu"}),
    tuple(
        Plot(
            title,
            "policy",
            (column,),
            "",
            axis,
            ("workload",),
            "{workload}",
            order=POLICIES,
        )
        for column, title, axis in (
            ("applicability", "Applicability: entries that are changed", "share of entries"),
            ("associations", "Memory: associations", "times plain forwarding"),
            ("network load", "Network load: events between brokers", "times plain forwarding"),
            ("computation", "Computation: units of an event", "times plain forwarding"),
            ("expressiveness", "Expressiveness: classes of filters", "share of probes"),
            ("deregistration", "Deregistration: bytes", "times plain forwarding"),
        )
    ),
    tuple(
        Claim(f"pruning-table1-{parameter.replace(' ', '-')}", _rated(parameter), _WHY[parameter])
        for parameter in TABLE
    ),
)

EXPERIMENTS: Final = (COMPARED,)

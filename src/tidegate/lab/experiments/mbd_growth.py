"""What does a subscription take as a covering table grows?

Li, Hou, Jacobsen, "A Unified Approach to Routing, Covering and Merging in Publish/Subscribe Systems
based on Modified Binary Decision Diagrams" (2005), section 6.

- **mbd-insertion** (Fig. 13): in one phase, in two, and without the cache of dependencies; how many
  diagrams there are by then; and what the first step takes at the end, which is to find the
  predicates that cover those of a subscription, or are covered by them.
"""

from itertools import islice, pairwise
from typing import Final

from tidegate.lab.experiments.diagrams import first_step, grow
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
from tidegate.lab.experiments.mbd import FEWER, SETS, drawn, saved
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.workloads import padres

WAYS: Final = ("one phase", "one phase, no cache", "two phases")
CACHED: Final = 23.41 / 2.46  # times: the first step without the cache, beside that with it
MUCH: Final = 2.0  # times slower


def insertion(point: Point, seed: int) -> Row:
    """Subscribe all, in one way; what the last ones before each size take."""
    workload = drawn(point, seed)
    way = str(point["way"])
    growth = grow(
        workload,
        int(point["asked"]),
        cache="no cache" not in way,
        phases=2 if way.startswith("two") else 1,
    )
    some = list(islice(workload.filters(), int(point["asked"])))
    return {
        "at": growth.at,
        "insert": growth.costs,
        "diagrams": growth.diagrams,
        "first_step": first_step(growth.table, some),
        "kept": len(growth.table),
    }


# -- claims


def _one_phase(rows: Rows) -> Verdict:
    one, two = (rows.where(way=way).mean("insert") for way in (WAYS[0], WAYS[2]))
    less = 1 - one / two
    return saved(less, 0.458, f"{less:.1%} faster at the end, printed 45.8%")


def _cache(rows: Rows) -> Verdict:
    with_it, without = (
        [each.mean for each in rows.where(way=way).curve("at", "insert")] for way in WAYS[:2]
    )
    first, last = with_it[0] / without[0], with_it[-1] / without[-1]
    told = f"{first:.2f} of the time without it at first, {last:.2f} at the end"
    return Verdict.of([first > 1, last < 1], told)


def _first_step(rows: Rows) -> Verdict:
    with_it, without = (rows.where(way=way).mean("first_step") for way in WAYS[:2])
    told = f"{with_it:.0f} µs with it, {without:.0f} without, {without / with_it:.1f} times"
    return Verdict.reaching([(without / with_it, CACHED)], f"{told} (printed {CACHED:.1f})")


def _fewer_diagrams(rows: Rows) -> Verdict:
    own = rows.where(way=WAYS[0])
    diagrams, times = (own.curve("at", column) for column in ("diagrams", "insert"))
    pace = [
        (b.mean - a.mean) / (float(b.x) - float(a.x)) for a, b in pairwise(diagrams)
    ]  # new ones for each subscription
    most, last = max(each.mean for each in times), times[-1].mean
    told = (
        f"{pace[0]:.2f} diagrams for a subscription at first, {pace[-1]:.2f} at the end; "
        f"at most {most:.0f} µs, {last:.0f} at the end"
    )
    return Verdict.of([pace[-1] < pace[0] / MUCH, last < most], told)


def _ways(count: int, asked: int, distinct: int) -> Size:
    points = grid(count=[count], distinct=[distinct], asked=[asked], set=["B"], way=WAYS)
    return Size(points, seeds=(padres.SEED,))


_APART: Final = (
    "Each side looks at few diagrams, those that can matter to it, so they share little."
)
_BISECTION: Final = "Without the cache, our index finds covers by bisection."

INSERTION = Experiment(
    "mbd-insertion",
    "mbd",
    "What a subscription takes as a covering table grows, in one phase, in two, without a cache.",
    ("Fig. 13",),
    insertion,
    {
        "small": _ways(5_000, 50, FEWER["B"]),
        "paper": _ways(200_000, 2_000, SETS["B"]),
    },
    frozenset({"insert", "first_step"}),
    (
        Plot(
            "Insertion of a subscription (Fig. 13)",
            "at",
            ("insert",),
            "subscriptions",
            "CPU µs",
            ("way",),
            "{way}",
        ),
    ),
    (
        Claim("mbd-one-phase", _one_phase, _APART),
        Claim("mbd-cache", _cache, _BISECTION),
        Claim("mbd-cached-step", _first_step, _BISECTION),
        Claim("mbd-diagrams-slow-down", _fewer_diagrams),
    ),
)

EXPERIMENTS = (INSERTION,)

"""What does subsumption find that covering does not, and what does the negative space cost?

Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription Subsumption Evaluation for
Content-Based Publish/Subscribe Systems" (Middleware 2008), section 5. The exponent of the Zipf
distribution is not printed; ours is in `lab.workloads.rectangles`. So counts cannot be the paper's:
what is compared is their shape, and who finds more.

- **subsumption-redundant** (Tables 1 and 2, Figs. 10 and 11): redundant subscriptions and negative
  rectangles, as subscriptions come. An exact space that meets its limit, 1 GiB as the paper's
  machine had, goes on as an approximate one; `exact_until` says when.
- **subsumption-choices** (Figs. 12 to 15): what other values of k find beyond covering, and other
  ways to choose what is split, in three dimensions.
"""

from itertools import pairwise
from typing import Final

from tidegate.lab.experiments.experiment import (
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    State,
    Verdict,
    grid,
)
from tidegate.lab.experiments.negative_spaces import covered, forwarded, on_demand, workload
from tidegate.lab.experiments.rows import Rows
from tidegate.papers.negative import ApproximateNegativeSpace, ExactNegativeSpace
from tidegate.papers.negative.approximate import CHOICES

LIMIT: Final = 2**30  # bytes of an exact space
K: Final = 50
WAYS: Final = ("exact", "approximate", "covering")
CLAIMED: Final = 4  # dimensions, up to which the paper compares subsumption with covering
SUBSUMED: Final = 0.95  # of all, in two dimensions
_CHOICES: Final = {str(each): each for each in CHOICES}
MUCH: Final = 2.0  # times: what k from 10 to 50 brings, beside what 50 to 100 brings


def redundant(point: Point, seed: int) -> Row:
    """Subscribe all, in one way; what is redundant, and how many rectangles are kept."""
    drawn, filters = workload(int(point["dimensions"]), int(point["count"]), seed)
    if point["way"] == "exact":
        run = forwarded(ExactNegativeSpace(drawn.schema, limit=LIMIT), filters)
    elif point["way"] == "approximate":
        run = forwarded(ApproximateNegativeSpace(drawn.schema, k=K), filters)
    else:
        run = covered(filters)
    return {
        "at": run.at,
        "redundant": run.found,
        "rectangles": run.boxes,
        "exact_until": len(filters) if run.stopped is None else run.stopped,
        "cpu": run.seconds / len(filters),
    }


def choices(point: Point, seed: int) -> Row:
    """What is found beyond covering with one k and one way to choose."""
    drawn, filters = workload(3, int(point["count"]), seed)
    space = ApproximateNegativeSpace(
        drawn.schema, k=int(point["k"]), choose=_CHOICES[str(point["choose"])]
    )
    run = forwarded(space, filters)
    known = set(covered(filters).redundant)
    beyond = [number for number in run.redundant if number not in known]
    owed = len(set(on_demand(filters).redundant) - known)
    return {
        "at": run.at,
        "beyond": [sum(number < upto for number in beyond) for upto in run.at],
        "rectangles": run.boxes,
        "missed": 1 - len(beyond) / max(1, owed),
        "cpu": run.seconds / len(filters),
    }


# -- claims


def _more_than_covering(rows: Rows) -> Verdict:
    told, more = [], []
    for dimensions in [d for d in rows.values("dimensions") if d <= CLAIMED]:
        here = rows.where(dimensions=dimensions)
        ours = max(here.where(way=way).mean("redundant") for way in ("exact", "approximate"))
        theirs = here.where(way="covering").mean("redundant")
        more.append(ours > theirs)
        told.append(f"{dimensions}D {ours:,.0f} against {theirs:,.0f}")
    return Verdict.of(more, "; ".join(told))


def _most_in_two(rows: Rows) -> Verdict:
    here = rows.where(dimensions=2, way="exact")
    share = here.mean(lambda row: row["redundant"][-1] / row["count"])
    state: State = "held" if share > SUBSUMED else "partly" if share > SUBSUMED - 0.1 else "not"
    return Verdict(state, f"{share:.1%} of {here.rows[0]['count']:,}")


def _fewer_in_more_dimensions(rows: Rows) -> Verdict:
    found = [
        rows.where(dimensions=d, way="approximate").mean("redundant")
        for d in rows.values("dimensions")
    ]
    fewer = [after < before for before, after in pairwise(found)]
    return Verdict.of(fewer, ", ".join(f"{each:,.0f}" for each in found))


def _grow_with_dimensions(rows: Rows) -> Verdict:
    exact = rows.where(way="exact")
    found = [exact.where(dimensions=d).mean("rectangles") for d in exact.values("dimensions")]
    more = [after > before for before, after in pairwise(found)]
    return Verdict.of(more, ", ".join(f"{each:,.0f}" for each in found))


def _approximate_keeps_fewer(rows: Rows) -> Verdict:
    told, met = [], []
    for dimensions, fewer in ((2, False), (3, False), (4, True)):
        exact, approximate = (
            rows.where(dimensions=dimensions, way=way).mean("rectangles")
            for way in ("exact", "approximate")
        )
        met.append((approximate < exact) is fewer)
        told.append(f"{dimensions}D {approximate:,.0f} against {exact:,.0f}")
    return Verdict.of(met, "; ".join(told))


def _little_after_fifty(rows: Rows) -> Verdict:
    found = [rows.where(k=k, choose="ratio").mean("beyond") for k in (10, 50, 100)]
    kept = [rows.where(k=k, choose="ratio").mean("rectangles") for k in (10, 50, 100)]
    first, then = found[1] - found[0], found[2] - found[1]
    met = [first > MUCH * max(then, 0), kept[2] > kept[1]]
    told = ", ".join(f"{each:,.0f}" for each in found)
    return Verdict.of(met, f"{told} found; {kept[1]:,.0f}, then {kept[2]:,.0f} rectangles")


def _ratio_is_best(rows: Rows) -> Verdict:
    told, met = [], []
    for k in rows.values("k"):
        ways = ("ratio", "benefit", "cost")
        if any(not len(rows.where(k=k, choose=way)) for way in ways):
            continue
        found = [rows.where(k=k, choose=way).mean("beyond") for way in ways]
        met += [found[0] > found[1], found[1] > found[2]]
        told.append(f"k {k}: " + ", ".join(f"{each:,.0f}" for each in found))
    return Verdict.of(met, "; ".join(told))


_ZIPF: Final = "The paper does not print its Zipf exponent; ours was chosen by its Table 1."

REDUNDANT = Experiment(
    "subsumption-redundant",
    "subsumption",
    "Redundant subscriptions and negative rectangles, exact, approximate, and by covering.",
    ("Table 1", "Table 2", "Fig. 10", "Fig. 11"),
    redundant,
    {
        "small": Size(grid(count=[500], dimensions=[2, 3, 4], way=WAYS), seeds=(1, 2, 3)),
        "paper": Size(
            (
                *grid(count=[10_000], dimensions=[2, 3, 4, 5], way=WAYS[1:]),
                *grid(count=[10_000], dimensions=[2, 3, 4], way=WAYS[:1]),
            ),
            seeds=(1, 2, 3),
        ),
    },
    frozenset({"cpu"}),
    (
        Plot(
            "Redundant subscriptions found (Figs. 10, 11)",
            "at",
            ("redundant",),
            "subscriptions",
            "redundant ones found",
            ("dimensions", "way"),
            "{dimensions}D {way}",
        ),
        Plot(
            "Negative rectangles, exact (Table 1)",
            "at",
            ("rectangles",),
            "subscriptions",
            "rectangles",
            ("dimensions",),
            "{dimensions}D",
            {"way": "exact"},
            "subsumption-table1",
            log_y=True,
        ),
        Plot(
            "Negative rectangles, approximate with k = 50 (Table 2)",
            "at",
            ("rectangles",),
            "subscriptions",
            "rectangles",
            ("dimensions",),
            "{dimensions}D",
            {"way": "approximate"},
            "subsumption-table2",
            log_y=True,
        ),
    ),
    (
        Claim("subsumption-more-than-covering", _more_than_covering),
        Claim("subsumption-most-in-2d", _most_in_two, _ZIPF),
        Claim("subsumption-fewer-in-more-dimensions", _fewer_in_more_dimensions),
        Claim("subsumption-rectangles-grow", _grow_with_dimensions),
        Claim("subsumption-approximate-rectangles", _approximate_keeps_fewer, _ZIPF),
    ),
)

WAYS_TO_CHOOSE = Experiment(
    "subsumption-choices",
    "subsumption",
    "What k and the choice of what is split bring beyond covering, in three dimensions.",
    ("Fig. 12", "Fig. 13", "Fig. 14", "Fig. 15"),
    choices,
    {
        "small": Size(
            (
                *grid(count=[500], k=[10, 50, 100], choose=["ratio"]),
                *grid(count=[500], k=[10], choose=["benefit", "cost"]),
            ),
            seeds=(1, 2),
        ),
        "paper": Size(
            (
                *grid(count=[10_000], k=[10, 50, 100], choose=["ratio"]),
                *grid(count=[10_000], k=[10, 50], choose=["benefit", "cost"]),
            ),
            seeds=(1, 2, 3),
        ),
    },
    frozenset({"cpu"}),
    tuple(
        Plot(f"{what} ({where})", "at", (column,), "subscriptions", axis, by, label, chosen)
        for by, label, chosen, wheres in (
            (("k",), "k = {k}", {"choose": "ratio"}, ("Fig. 12", "Fig. 13")),
            (("choose",), "by {choose}", {"k": 10}, ("Fig. 14", "Fig. 15")),
        )
        for where, column, what, axis in zip(
            wheres,
            ("beyond", "rectangles"),
            ("Found beyond covering", "Negative rectangles"),
            ("redundant ones found", "rectangles"),
            strict=True,
        )
    ),
    (
        Claim("subsumption-little-after-50", _little_after_fifty),
        Claim("subsumption-ratio-is-best", _ratio_is_best),
    ),
)

EXPERIMENTS = (REDUNDANT, WAYS_TO_CHOOSE)

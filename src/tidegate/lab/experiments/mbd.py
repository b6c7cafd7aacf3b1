"""What do decision diagrams save in routing, covering and merging?

Li, Hou, Jacobsen, "A Unified Approach to Routing, Covering and Merging in Publish/Subscribe Systems
based on Modified Binary Decision Diagrams" (2005), section 6. How ours of its sets A and B are
drawn, and what the paper leaves open, is in `lab.workloads.padres`; how tables grow (Fig. 13), in
`mbd_growth`.

- **mbd-tables** (Table 2, Fig. 12): how many subscriptions are left, and what an event takes on
  diagrams and on a compiled scan, as they are, covered, merged, and merged after a random order of
  attributes.
- **mbd-threshold** (Figs. 14, 15): what is left by IMT, and what is let through, with and
  without advertisements. One says that an attribute has the lower half of its values.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from tidegate.algebra.distribution import Uniform
from tidegate.filters.expression import Operator, Predicate
from tidegate.filters.filter import Filter
from tidegate.lab.experiments.diagrams import (
    false_positives,
    matched,
    merge,
)
from tidegate.lab.experiments.experiment import (
    BAND,
    POINTS,
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
from tidegate.lab.experiments.naive_scan import scanned
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads import padres
from tidegate.lab.workloads.matching import Padres
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.mbd.order import Criterion

IMT: Final = 0.002  # at which sets A and B are merged imperfectly; beyond it, little more is merged
SETS: Final = {"A": padres.DISTINCT_A, "B": padres.DISTINCT_B}  # distinct predicates
FEWER: Final = {"A": 300, "B": 500}  # at the small scale, so that about as many are covered
PLAIN, COVERED, PERFECT, IMPERFECT = "no covering", "covering", "perfect", "imperfect"
RANDOM: Final = "perfect, random order"
STAGES: Final = (PLAIN, COVERED, PERFECT, IMPERFECT, RANDOM)
COVERED_SHARES: Final = {"A": 0.75, "B": 0.45}
NEAR: Final = 0.05  # of a share
TIMES: Final = 3.7  # faster than a scan, at least
MORE: Final = 6_076  # subscriptions that are left after a random order


def tables(point: Point, seed: int) -> Row:
    """A table at one stage: what is left, and what an event takes."""
    workload = drawn(point, seed)
    events = workload.events(int(point["events"])).to_pylist()
    table = _at_stage(workload, str(point["stage"]))
    filters = {number: table.get(number) for number in table}
    table.match_numbers(events[0])
    with timed() as own:
        found = [table.match_numbers(event) for event in events]
    naive, seconds = scanned(filters, events)
    for ours, theirs in zip(found, naive, strict=True):
        assert np.array_equal(np.sort(ours), theirs), "the scan finds something else"
    return {
        "left": len(table),
        "diagrams": table.diagrams,
        "mbd": own.seconds / len(events) * 1e6,
        "scan": seconds * 1e6,
    }


def drawn(point: Point, seed: int) -> Padres:
    """The subscriptions of a point."""
    return padres.conjunctions(int(point["count"]), int(point["distinct"]), seed, padres.Choices())


def _at_stage(workload: Padres, stage: str) -> MBD:
    table = MBD(workload.schema)
    for number, f in enumerate(workload.filters()):
        if stage == PLAIN:
            table.add(number, f)
        else:
            table.subscribe(number, f)
    if stage in (PLAIN, COVERED):
        return table
    kept = {number: table.get(number) for number in table}
    if stage == RANDOM:
        left = merge(kept, MBD(workload.schema, order=Criterion.RANDOM, seed=1)).table
    elif stage == PERFECT:
        left = merge(kept, MBD(workload.schema)).table
    else:
        uniform = Uniform(workload.schema)
        left = merge(kept, MBD(workload.schema), imt=IMT, distribution=uniform).table
    left.rebuild()
    return left


def threshold(point: Point, seed: int) -> Row:
    """Merge up to an IMT, and see what gets through of what can be published."""
    workload = drawn(point, seed)
    name = next(iter(workload.schema))
    half = workload.pool.values // 2
    every = workload.events(2 * int(point["events"])).to_pylist()
    events = [event for event in every if event[name] < half]
    below = Filter.of(Predicate(name, Operator.LESS, (half,)), workload.schema)
    table = MBD(workload.schema)
    for number, f in enumerate(workload.filters()):
        table.subscribe(number, f)
    covered, wanted = len(table), matched(table, events)
    table.merge(
        imt=float(point["imt"]),
        distribution=Uniform(workload.schema),
        advertised=[below] if point["advertised"] == "yes" else None,
    )
    excess = false_positives(table, events, wanted)
    return {
        "covered": covered,
        "left": len(table),
        "unwanted": excess.unwanted,
        "wrong": excess.wrong,
    }


# -- claims


def _covered_shares(rows: Rows) -> Verdict:
    told, met = [], []
    for name, share in COVERED_SHARES.items():
        here = rows.where(set=name, stage=COVERED)
        ours = 1 - here.mean(lambda row: row["left"] / row["count"])
        met.append(abs(ours - share) <= NEAR)
        told.append(f"{name} {ours:.0%} (printed {share:.0%})")
    return Verdict.of(met, ", ".join(told))


def _faster_than_a_scan(rows: Rows) -> Verdict:
    ratios = {
        (name, stage): rows.where(set=name, stage=stage).mean(lambda row: row["scan"] / row["mbd"])
        for name in SETS
        for stage in STAGES[:4]
    }
    least, most = min(ratios.values()), max(ratios.values())
    told = f"{least:.1f} to {most:.1f} times (printed 3.7 to 4.9)"
    return Verdict.reaching([(each, TIMES) for each in ratios.values()], told)


def _routing_improves(rows: Rows) -> Verdict:
    plain, merged = (rows.where(set="A", stage=stage).mean("mbd") for stage in (PLAIN, IMPERFECT))
    less = 1 - merged / plain
    return saved(less, 0.857, f"{less:.1%} less, from {plain:.0f} to {merged:.0f} µs")


def saved(share: float, printed: float, told: str) -> Verdict:
    """A share of time: held if as much is saved as printed, partly if a tenth of that is."""
    state: State = (
        "held" if share >= printed - POINTS else "partly" if share > printed * BAND else "not"
    )
    return Verdict(state, told)


def _random_order(rows: Rows) -> Verdict:
    more = {
        name: rows.where(set=name, stage=RANDOM).mean("left")
        - rows.where(set=name, stage=PERFECT).mean("left")
        for name in SETS
    }
    count = rows.mean("count")
    told = ", ".join(f"{name} {each:+,.0f}" for name, each in more.items())
    enough = max(more.values()) >= MORE * (1 - BAND) * count / padres.SUBSCRIPTIONS
    met = [*(each > 0 for each in more.values()), enough]
    return Verdict.of(met, f"{told} of {count:,.0f} (printed {MORE:+,} of 200,000)")


def _shrinking(rows: Rows) -> Verdict:
    met, told = [], []
    for name in SETS:
        left = [rows.where(set=name, stage=stage).mean("left") for stage in STAGES[:4]]
        met += [after < before for before, after in pairwise(left)]
        told.append(f"{name} " + ", ".join(f"{each:,.0f}" for each in left))
    return Verdict.of(met, "; ".join(told))


def _grows_by_imt(rows: Rows) -> Verdict:
    plain = rows.where(advertised="no", count=max(rows.values("count")))
    curve = plain.curve("imt", "left")
    fewer = [b.mean <= a.mean for a, b in pairwise(curve)]
    within = [each for each in curve if float(each.x) <= 0.15]
    most = (curve[0].mean - within[-1].mean) / max(1.0, curve[0].mean - curve[-1].mean)
    told = f"{curve[0].mean:,.0f} at 0, {curve[-1].mean:,.0f} at {curve[-1].x}; {most:.0%} by 0.15"
    return Verdict.of([all(fewer) and curve[-1].mean < curve[0].mean, most >= 0.8], told)


def _compacted(rows: Rows) -> Verdict:
    here = rows.where(advertised="no", imt=0.0, count=max(rows.values("count")))
    share = here.mean(lambda row: row["left"] / row["count"])
    state: State = "held" if abs(share - 0.32852) <= NEAR else "partly" if share < 0.5 else "not"
    return Verdict(state, f"{share:.1%} of them are left, printed 32.9%")


def _few_false_positives(rows: Rows) -> Verdict:
    below = [row for row in rows.where(advertised="no") if row["imt"] < 0.1]
    most = max(row["unwanted"] for row in below)
    return Verdict("held" if most <= 0.025 else "not", f"at most {most:.2%} of events below 0.1")


def _advertised(rows: Rows) -> Verdict:
    count = min(rows.values("count"))
    merged, safe, told = [], [], []
    for imt in rows.where(advertised="yes").values("imt"):
        known, unknown = (
            rows.where(imt=imt, advertised=each, count=count) for each in ("yes", "no")
        )
        merged.append(known.mean("left") < unknown.mean("left"))
        safe.append(known.mean("unwanted") <= unknown.mean("unwanted") + 1e-9)
        told.append(f"{imt:g}: {known.mean('left'):,.0f} against {unknown.mean('left'):,.0f}")
    return Verdict.of([any(merged), all(safe)], "; ".join(told))


def _stages(count: int, events: int, sets: Mapping[str, int]) -> Size:
    return Size(
        tuple(
            point
            for name, distinct in sets.items()
            for point in grid(
                count=[count], distinct=[distinct], events=[events], set=[name], stage=STAGES
            )
        ),
        seeds=(padres.SEED,),
    )


def _thresholds(count: int, fewer: int, events: int, distinct: int, imts: Sequence[float]) -> Size:
    drawn = {"distinct": [distinct], "events": [events]}
    return Size(
        (
            *grid(count=[count], **drawn, imt=imts, advertised=["no"]),
            *grid(count=[fewer], **drawn, imt=[0.0005, 0.002], advertised=["no", "yes"]),
        ),
        seeds=(padres.SEED,),
    )


_COMPILED: Final = "Our scan is compiled, and the faster one on a few thousand subscriptions."
_SHARED: Final = "Ours share predicates of one pool as the paper's do; how often is not printed."

TABLES = Experiment(
    "mbd-tables",
    "mbd",
    "What is left by covering and merging, and what an event takes then, beside a scan.",
    ("Table 2", "Fig. 12"),
    tables,
    {"small": _stages(5_000, 60, FEWER), "paper": _stages(200_000, 640, SETS)},
    frozenset({"mbd", "scan"}),
    (
        Plot(
            "Routing table size (Fig. 12)",
            "stage",
            ("left",),
            "",
            "subscriptions",
            ("set",),
            "set {set}",
            order=STAGES,
        ),
        Plot(
            "Routing time of an event (Table 2); printed times are of a machine of 2005",
            "stage",
            ("mbd", "scan"),
            "",
            "CPU µs",
            ("set",),
            "set {set}, {column}",
            printed="mbd-table2",
            log_y=True,
            order=STAGES,
        ),
    ),
    (
        Claim("mbd-covered-shares", _covered_shares, _SHARED),
        Claim("mbd-tables-shrink", _shrinking),
        Claim(
            "mbd-faster-than-a-scan",
            _faster_than_a_scan,
            _COMPILED,
        ),
        Claim("mbd-routing-improves", _routing_improves, _SHARED),
        Claim("mbd-random-order", _random_order, _SHARED),
    ),
)

THRESHOLD = Experiment(
    "mbd-threshold",
    "mbd",
    "What is left by IMT, and what is let through, with advertisements and without.",
    ("Fig. 14", "Fig. 15"),
    threshold,
    {
        "small": _thresholds(2_500, 1_000, 150, FEWER["A"], (0.0, 0.002, 0.05, 0.15, 0.3)),
        "paper": _thresholds(
            100_000,
            10_000,
            640,
            SETS["A"],
            (0.0, 0.0005, 0.001, 0.002, 0.05, 0.15, 0.3),
        ),
    },
    frozenset(),
    (
        Plot(
            "Table size by IMT (Fig. 14)",
            "imt",
            ("left",),
            "IMT",
            "subscriptions",
            ("count", "advertised"),
            "{count}, advertised: {advertised}",
        ),
        Plot(
            "False positives by IMT (Fig. 15)",
            "imt",
            ("unwanted",),
            "IMT",
            "share of events",
            ("count", "advertised"),
            "{count}, advertised: {advertised}",
        ),
    ),
    (
        Claim("mbd-compacted", _compacted, _SHARED),
        Claim("mbd-imt", _grows_by_imt),
        Claim("mbd-false-positives", _few_false_positives),
        Claim("mbd-advertised", _advertised),
    ),
)

EXPERIMENTS = (TABLES, THRESHOLD)

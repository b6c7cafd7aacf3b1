"""How small do tables of decision diagrams get by merging, and what does that let through?

The experiments of Li, Hou and Jacobsen (2005), section 6, on merging: table sizes after perfect and
imperfect merging, by the order of attributes (Fig. 12); and, by the IMT and by what is known of
advertisements, table sizes (Fig. 14) and false positives (Fig. 15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.figure import Figure, timed
from bench.papers_routing import routing
from tidegate.algebra.distribution import Uniform
from tidegate.filters.expression import Operator, Predicate
from tidegate.filters.filter import Filter
from tidegate.lab.experiments.diagrams import Excess, false_positives, matched, merge
from tidegate.lab.workloads import padres
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.mbd.order import Criterion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.papers_routing import Events, Table
    from tidegate.lab.workloads.matching import Padres
    from tidegate.papers.mbd.order import Order

FEWER = padres.FEWER  # for imperfect merging
EVENTS = 640
IMT = 0.002  # at which sets A and B are merged imperfectly; beyond it, little more is merged
THRESHOLDS = (0.0, 0.0001, 0.0005, 0.001, 0.002, 0.005)
ADVERTISED = 10_000  # subscriptions that are merged with knowledge of advertisements
FEW_THRESHOLDS = (0.0, 0.0005, 0.001, 0.002)


def merging(name: str, workload: Padres, table: Table, events: Events) -> Iterator[Figure]:
    """What is left by merging, perfectly and imperfectly, and what an event takes then."""
    uniform = Uniform(workload.schema)
    for way, options in (
        ("merged perfectly", {}),
        ("merged imperfectly", {"imt": IMT, "distribution": uniform}),
    ):
        left = merge(table, MBD(workload.schema), **options)
        told = f"IMT {IMT}; " if options else ""
        if not options:
            lists = merge(table, MBD(workload.schema), concise=False)
            told = f"if a merger may be a list, {len(lists.table):,} ({lists.seconds:.1f} s); "
        yield Figure(
            f"diagrams, set {name}: left when {way}",
            len(left.table),
            len(table),
            len(table) / len(left.table),
            "subscriptions",
            note=f"{told}{left.seconds:.1f} s; baseline: left by covering",
        )
        left.table.rebuild()
        yield routing(name, way, left.table, events)


def orders(name: str, workload: Padres, table: Table) -> Iterator[Figure]:
    """What the order of attributes is worth: table sizes, diagrams and nodes, for each of them."""
    ways: dict[str, Order] = {each.value: each for each in Criterion}
    ways["given, the rarest first"] = list(reversed(list(workload.schema)))
    left = {
        way: merge(table, MBD(workload.schema, order=order, seed=1)) for way, order in ways.items()
    }
    worst = left[Criterion.RANDOM.value]
    for way, own in left.items():
        yield Figure(
            f"diagrams, set {name}: diagrams, attributes in the order: {way}",
            own.diagrams,
            worst.diagrams,
            worst.diagrams / own.diagrams,
            "diagrams",
            note=f"{own.nodes:,} nodes; {len(own.table):,} subscriptions are left by perfect "
            f"merging; baseline: a random order, after which the paper has 6,076 more of them",
        )


def imperfectly(workload: Padres) -> Iterator[Figure]:
    """Figs. 14 and 15: table sizes and false positives by IMT."""
    table = MBD(workload.schema)
    for number, f in enumerate(workload.filters()):
        table.subscribe(number, f)
    left = len(table)
    events: Events = workload.events(EVENTS).to_pylist()
    wanted = matched(table, events)
    distribution = Uniform(workload.schema)
    for imt in THRESHOLDS:
        with timed() as watch:
            table.merge(imt=imt, distribution=distribution)
        yield Figure(
            f"diagrams, {FEWER:,} of set A: left with an IMT of {imt}",
            len(table),
            left,
            left / len(table),
            "subscriptions",
            note=f"{told(false_positives(table, events, wanted))}; {watch.seconds:.1f} s; in "
            "the paper 32,852 are left at IMT 0, and one below 0.1 keeps false positives within "
            "2.5% of publications; baseline: left by covering",
        )


def told(found: Excess) -> str:
    """What a merged table lets through beyond what is wanted, in words."""
    return (
        f"{found.unwanted:.1%} of events match and are not wanted; "
        f"{found.wrong:.1%} of entries that match an event have no member that does"
    )


def with_advertisements(workload: Padres) -> Iterator[Figure]:
    """Imperfect merging that counts only what is advertised: half of the values of an attribute."""
    name = next(iter(workload.schema))
    half = workload.pool.values // 2
    below = Predicate(name, Operator.LESS, (half,))
    advertised = [Filter.of(below, workload.schema)]
    published: Events = [
        event for event in workload.events(2 * EVENTS).to_pylist() if event[name] < half
    ]
    distribution = Uniform(workload.schema)
    filters = {}
    for number, f in enumerate(workload.filters()):
        if number == ADVERTISED:
            break
        filters[number] = f
    for imt in FEW_THRESHOLDS:
        left, let_through = [], []
        for known in (None, advertised):
            table = MBD(workload.schema)
            for number, f in filters.items():
                table.subscribe(number, f)
            wanted = matched(table, published)
            table.merge(imt=imt, distribution=distribution, advertised=known)
            left.append(len(table))
            let_through.append(told(false_positives(table, published, wanted)))
        yield Figure(
            f"diagrams, {ADVERTISED:,} of set A: left with an IMT of {imt}, advertisements known",
            left[1],
            left[0],
            left[0] / left[1],
            "subscriptions",
            note=f"half of the values of one attribute are advertised; {let_through[1]}; baseline: "
            f"not known, and {let_through[0]}; printed: more are merged, and false positives are "
            "no more",
        )

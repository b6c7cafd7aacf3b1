"""How fast do decision diagrams route, cover and merge?

The experiments of Li, Hou and Jacobsen, "A Unified Approach to Routing, Covering and Merging in
Publish/Subscribe Systems based on Modified Binary Decision Diagrams" (2005), section 6: sets A and
B of 200,000 subscriptions each (`lab.workloads.padres` says how ours are drawn, and what the paper
leaves open), routed as they are, after covering, and after merging (`papers_routing`,
`papers_merging`); and what it takes to insert a subscription, with and without the table of
dependencies, in one phase and in two (Fig. 13). What is found is checked against the box store.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from bench.figure import Figure, timed
from bench.papers_merging import imperfectly, merging, orders, with_advertisements
from bench.papers_routing import routing
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.filters.expression import predicates
from tidegate.filters.meaning import allowed
from tidegate.lab.experiments.diagrams import POINTS, Growth, grow
from tidegate.lab.workloads import padres
from tidegate.papers.mbd.mbd import MBD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.papers_routing import Events
    from tidegate.filters.filter import Filter
    from tidegate.lab.workloads.matching import Padres

SUBSCRIPTIONS = padres.SUBSCRIPTIONS
FEWER = padres.FEWER  # for imperfect merging
EVENTS = 640
ASKED = 2_000  # new subscriptions, as in each point of the paper's Fig. 13
ROUNDS = 3
GROWING = "B"  # the set whose growth is followed; the paper's index grows to about 5,000 predicates
SETS: dict[str, Callable[[int], Padres]] = {"A": padres.set_a, "B": padres.set_b}
PRINTED_SHARES = {"A": "25% are left in the paper", "B": "55% are left in the paper"}


def figures() -> Iterator[Figure]:
    """Both sets: routing, covering, merging; then imperfect merging by IMT."""
    for name, draw in SETS.items():
        workload = draw(SUBSCRIPTIONS)
        events: Events = workload.events(EVENTS).to_pylist()
        plain = MBD(workload.schema)
        with timed() as inserting:
            for number, f in enumerate(workload.filters()):
                plain.add(number, f)
        yield _insertion(name, plain, inserting.seconds)
        yield routing(name, "as they are", plain, events)
        del plain
        grown = grow(workload, ASKED)
        covered = grown.table
        yield sizes(name, covered, grown.seconds)
        yield routing(name, "covered", covered, events)
        if name == GROWING:
            yield from growing(name, workload, grown)
        yield from inserting_into(name, covered, draw)
        table = {number: covered.get(number) for number in covered}
        del grown, covered
        yield from merging(name, workload, table, events)
        yield from orders(name, workload, table)
    yield from imperfectly(padres.set_a(FEWER))
    yield from with_advertisements(padres.set_a(FEWER))


def _insertion(name: str, table: MBD, seconds: float) -> Figure:
    return Figure(
        f"diagrams, set {name}: insert",
        seconds / SUBSCRIPTIONS * 1e6,
        None,
        None,
        "µs",
        note=f"{len(table):,} one by one without covering, rebuilding included; "
        f"{table.diagrams:,} diagrams with {table.outputs_per_diagram:.2f} outputs each, "
        f"{table.nodes:,} nodes, {table.nbytes / len(table):.0f} bytes a subscription",
    )


def sizes(name: str, table: MBD, seconds: float) -> Figure:
    """How many subscriptions are left by covering."""
    return Figure(
        f"diagrams, set {name}: left by covering",
        len(table),
        SUBSCRIPTIONS,
        SUBSCRIPTIONS / len(table),
        "subscriptions",
        note=f"{len(table) / SUBSCRIPTIONS:.1%}; {PRINTED_SHARES[name]}; {table.diagrams:,} "
        f"diagrams with {table.outputs_per_diagram:.2f} outputs each, {table.nodes:,} nodes; "
        f"{seconds / SUBSCRIPTIONS * 1e6:.0f} µs a subscription from the first to the last",
    )


def growing(name: str, workload: Padres, ours: Growth) -> Iterator[Figure]:
    """Fig. 13: the last 2,000 subscriptions at some sizes of a covering table, in three ways."""
    uncached = grow(workload, ASKED, cache=False)
    apart = grow(workload, ASKED, phases=2)
    assert list(ours.table) == list(uncached.table) == list(apart.table)
    for i, share in enumerate(POINTS):
        yield Figure(
            f"diagrams, set {name}: insert, {int(share * SUBSCRIPTIONS):,} subscriptions",
            ours.costs[i],
            apart.costs[i],
            apart.costs[i] / ours.costs[i],
            "µs",
            note=f"covering, the last {ASKED:,} on average; without the cache "
            f"{uncached.costs[i]:.0f} µs; baseline: two phases; in the paper, the cache costs up "
            "to 50,000 subscriptions and saves after that; one phase saves 45.8%",
        )


def inserting_into(name: str, table: MBD, draw: Callable[..., Padres]) -> Iterator[Figure]:
    """What a new subscription is asked: with the cache and without, in one phase and in two."""
    new = list(draw(ASKED, seed=77).filters())
    plain = MBD(table.schema, cache=False)
    boxes = BoxStore(table.schema)
    handles = {}
    for number in table:
        plain.add(number, table.get(number))
        handles[boxes.add(table.get(number))] = number
    costs: dict[str, float] = {}
    answers: dict[str, list[Any]] = {}
    for _ in range(ROUNDS):  # by turns, the best counts
        for way, own, phases in (
            ("two phases, no cache", plain, 2),
            ("one phase, no cache", plain, 1),
            ("two phases", table, 2),
            ("one phase", table, 1),
        ):
            own.relations(new[0], phases=phases)
            with timed() as watch:
                answers[way] = [own.relations(f, phases=phases) for f in new]
            costs[way] = min(costs.get(way, inf), watch.seconds / ASKED * 1e6)
    with timed() as boxed:
        expected = [(boxes.containing(f).tolist(), boxes.contained(f).tolist()) for f in new]
    for i, (above, below) in enumerate(expected):
        owed = [] if above else sorted(handles[handle] for handle in below)
        for way, found in answers.items():
            assert found[i].covered is bool(above), (way, str(new[i]))
            assert sorted(found[i].covers) == owed, (way, str(new[i]))
    said = ", ".join(f"{way} {cost:.0f} µs" for way, cost in costs.items())
    saved = 1 - costs["one phase"] / costs["two phases"]
    yield Figure(
        f"diagrams, set {name}: is a new one covered, and what does it cover?",
        costs["one phase"],
        costs["two phases"],
        costs["two phases"] / costs["one phase"],
        "µs",
        note=f"{len(table):,} subscriptions; {said}; one phase saves {saved:.1%}, in the paper "
        f"45.8%; our BoxStore, both questions: {boxed.seconds / ASKED * 1e6:.0f} µs",
    )
    yield predicate_covering(name, table, new)


def predicate_covering(name: str, table: MBD, new: list[Filter]) -> Figure:
    """The first step alone: which predicates cover those of a new subscription, and the reverse."""
    index, cache = table.predicates, table.dependencies
    assert cache is not None
    asked = [
        (p.attribute, allowed(p, table.schema), index.find(p))
        for f in new
        for p in predicates(f.tree)
    ]
    known = [(name, values, v) for name, values, v in asked if v is not None]
    with timed() as one_by_one:
        slow = [
            [u for u in index.of(name) if values.within(index.allowed(u))]
            for name, values, _ in known[:ASKED]
        ]
    with timed() as bisected:
        found = [index.covering(values, name) for name, values, _ in known]
    with timed() as walked:
        cached = [cache.covering(v) for _, _, v in known]
    for i, answer in enumerate(slow):
        assert sorted(answer) == sorted(found[i]) == sorted(cached[i].tolist())
    costs = [
        watch.seconds / count * 1e6
        for watch, count in ((one_by_one, len(slow)), (bisected, len(known)), (walked, len(known)))
    ]
    return Figure(
        f"diagrams, set {name}: which predicates cover one",
        costs[2],
        costs[0],
        costs[0] / costs[2],
        "µs",
        note=f"of {len(index):,} predicates; in the index, by bisection, {costs[1]:.1f} µs; the "
        f"table has {len(cache):,} dependencies; baseline: those of the attribute compared one by "
        "one; in the paper 23.41 ms for a subscription without the cache, 2.46 ms with it",
    )

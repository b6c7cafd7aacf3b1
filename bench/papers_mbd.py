"""How fast do decision diagrams route, cover and merge?

The experiments of Li, Hou and Jacobsen, "A Unified Approach to Routing, Covering and Merging in
Publish/Subscribe Systems based on Modified Binary Decision Diagrams" (2005), section 6: sets A and
B of 200,000 subscriptions each (`lab.padres` says how ours are drawn, and what the paper leaves
open), routed as they are, after covering, and after merging.

Baseline: the paper's naive table, a scan of all subscriptions one after the other, each predicate
by predicate until one fails. Ours is compiled (`scan`): in plain Python it would be a hundred times
as slow, and say nothing. Beside both stand the engine's `Index` and `BoxStore`. All of them find
the same, which is checked for every event. Of the paper's times, ratios can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figure import Figure, timed
from tidegate.algebra.distribution import Uniform
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.index import Index
from tidegate.filters.expression import Operator, Predicate, predicates
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed
from tidegate.jit import kernel
from tidegate.lab import padres
from tidegate.lab.matching import trees
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.mbd.order import Criterion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tidegate.lab.matching import Padres

    Events = list[dict[str, Any]]
    Table = dict[int, Filter]

SUBSCRIPTIONS = padres.SUBSCRIPTIONS
FEWER = padres.FEWER  # for imperfect merging
EVENTS = 640
ASKED = 2_000  # new subscriptions, as in each point of the paper's Fig. 13
IMT = 0.0001  # at which sets A and B are merged imperfectly
THRESHOLDS = (0.0, 0.0001, 0.0005, 0.001, 0.002, 0.005)
ADVERTISED = 5_000  # subscriptions that are merged with knowledge of advertisements
TREES = 1_000
SETS: dict[str, Callable[[int], Padres]] = {"A": padres.set_a, "B": padres.set_b}

PRINTED = {  # Table 2: MBD and naive, in ms
    ("A", "as they are"): (68.73, 300.71),
    ("A", "covered"): (19.16, 73.41),
    ("A", "merged perfectly"): (13.31, 49.89),
    ("A", "merged imperfectly"): (9.96, 43.83),
    ("B", "as they are"): (82.28, 300.92),
    ("B", "covered"): (38.15, 165.38),
    ("B", "merged perfectly"): (33.37, 152.21),
    ("B", "merged imperfectly"): (29.19, 141.06),
}
PRINTED_SHARES = {"A": "25% are left in the paper", "B": "55% are left in the paper"}


def figures() -> Iterator[Figure]:
    """Routing and table sizes of both sets; then inserting, imperfect merging, what is missed."""
    for name, draw in SETS.items():
        workload = draw(SUBSCRIPTIONS)
        events: Events = workload.events(EVENTS).to_pylist()
        plain = MBD(workload.schema)
        with timed() as inserting:
            for number, f in enumerate(workload.filters()):
                plain.add(number, f)
        yield _insertion(name, plain, inserting.seconds)
        yield from routing(name, "as they are", plain, events)
        del plain
        covered = MBD(workload.schema)
        with timed() as covering:
            for number, f in enumerate(workload.filters()):
                covered.subscribe(number, f)
        yield from sizes(name, covered, covering.seconds)
        yield from routing(name, "covered", covered, events)
        yield from inserting_into(name, covered, draw)
        table = {number: covered.get(number) for number in covered}
        yield from merging(name, workload, table, events)
    yield from imperfectly(padres.set_a(FEWER))
    yield from with_advertisements(padres.set_a(FEWER))
    yield missed()


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


# -- routing


def routing(name: str, stage: str, table: MBD, events: Events) -> Iterator[Figure]:
    """An event, one by one: diagrams beside the scan; the engine's structures in the note."""
    filters = {number: table.get(number) for number in table}
    table.match_numbers(events[0])
    with timed() as own:
        found = [table.match_numbers(event) for event in events]
    with timed() as batched:
        many = table.match_batch(events)
    naive, seconds = scanned(filters, events)
    theirs = engine(filters, table, events)
    for ours, batch, base in zip(found, many, naive, strict=True):
        assert np.array_equal(np.sort(ours), base), (name, stage)
        assert sorted(batch) == base.tolist(), (name, stage)
    printed = PRINTED.get((name, stage))
    paper = ""
    if printed is not None:
        times = printed[1] / printed[0]
        paper = f"; in the paper {printed[0]} ms and {printed[1]} ms, ×{times:.1f}"
    cost = own.seconds / len(events) * 1e6
    yield Figure(
        f"diagrams, set {name} {stage}: route",
        cost,
        seconds * 1e6,
        seconds * 1e6 / cost,
        "µs",
        note=f"{len(table):,} subscriptions, {np.mean([len(f) for f in found]):.1f} of them found; "
        f"{batched.seconds / len(events) * 1e6:.1f} µs each of {len(events)} at once; {theirs}; "
        f"baseline: compiled scan{paper}",
        aim="at least 10 times the scan" if stage == "as they are" else "",
        met=stage != "as they are" or seconds * 1e6 >= 10 * cost,
    )


def engine(filters: Table, table: MBD, events: Events) -> str:
    """What the engine's structures take for the same, in words."""
    index, boxes = Index(table.schema), BoxStore(table.schema)
    handles = {}
    for number, f in filters.items():
        index.add(number, f)
        handles[boxes.add(f)] = number
    index.match(events[0])
    boxes.stab(events[0])
    with timed() as indexed:
        found = [index.match(event) for event in events]
    with timed() as stabbed:
        boxed = [boxes.stab(event) for event in events]
    for one, other, event in zip(found, boxed, events, strict=True):
        expected = sorted(table.match(event))
        assert sorted(one) == sorted(handles[handle] for handle in other.tolist()) == expected
    return (
        f"our Index {indexed.seconds / len(events) * 1e6:.1f} µs, "
        f"our BoxStore {stabbed.seconds / len(events) * 1e6:.1f} µs"
    )


@dataclass(frozen=True)
class Naive:
    """Subscriptions as a naive table has them: one predicate after the other.

    A predicate holds for the values of its attribute from `lows` to `highs`, or for all others if
    it is negated.
    """

    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]
    attributes: NDArray[np.int32]
    lows: NDArray[np.int64]
    highs: NDArray[np.int64]
    negated: NDArray[np.bool_]


def naive_table(filters: Table, names: list[str]) -> Naive:
    """The subscriptions, which are conjunctions of predicates that are one range or all but one."""
    starts, rows = [0], []
    for f in filters.values():
        for p in predicates(f.tree):
            [bounds] = [b for line, b in allowed(p, f.schema).spans.items() if line == "bigint"]
            negated = len(bounds) == 4
            assert negated or len(bounds) == 2, "a list"
            low, high = bounds[1:3] if negated else bounds
            rows.append((names.index(p.attribute), low, high - 1, negated))
        starts.append(len(rows))
    columns = list(zip(*rows, strict=True))
    return Naive(
        np.array(list(filters), np.int64),
        np.array(starts, np.int64),
        np.array(columns[0], np.int32),
        np.array(columns[1], np.int64),
        np.array(columns[2], np.int64),
        np.array(columns[3], np.bool_),
    )


@kernel
def scan(
    starts: NDArray[np.int64],
    attributes: NDArray[np.int32],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    negated: NDArray[np.bool_],
    values: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """The subscriptions that an event matches, each looked at until a predicate fails."""
    count = 0
    for row in range(len(starts) - 1):
        place, stop = starts[row], starts[row + 1]
        while place < stop:
            value = values[attributes[place]]
            if (lows[place] <= value <= highs[place]) == negated[place]:
                break
            place += 1
        if place == stop:
            found[count] = row
            count += 1
    return count


def scanned(filters: Table, events: Events) -> tuple[list[NDArray[np.int64]], float]:
    """What the scan finds for each event, in rising order, and the seconds of one."""
    names = list(events[0])
    naive = naive_table(filters, names)
    arrays = naive.starts, naive.attributes, naive.lows, naive.highs, naive.negated
    room = np.empty(len(filters) + 1, np.int64)
    points = [np.array([event[name] for name in names], np.int64) for event in events]
    scan(*arrays, points[0], room)
    found = []
    with timed() as watch:
        for values in points:
            count = scan(*arrays, values, room)
            found.append(np.sort(naive.numbers[room[:count]]))
    return found, watch.seconds / len(events)


# -- covering


def sizes(name: str, table: MBD, seconds: float) -> Iterator[Figure]:
    """How many subscriptions are left by covering."""
    yield Figure(
        f"diagrams, set {name}: left by covering",
        len(table),
        SUBSCRIPTIONS,
        SUBSCRIPTIONS / len(table),
        "subscriptions",
        note=f"{len(table) / SUBSCRIPTIONS:.1%}; {PRINTED_SHARES[name]}; {table.diagrams:,} "
        f"diagrams with {table.outputs_per_diagram:.2f} outputs each, {table.nodes:,} nodes; "
        f"{seconds / SUBSCRIPTIONS * 1e6:.0f} µs a subscription from the first to the last",
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
    for way, own, phases in (
        ("two phases, no cache", plain, 2),
        ("one phase, no cache", plain, 1),
        ("two phases", table, 2),
        ("one phase", table, 1),
    ):
        own.relations(new[0], phases=phases)
        with timed() as watch:
            answers[way] = [own.relations(f, phases=phases) for f in new]
        costs[way] = watch.seconds / ASKED * 1e6
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
    yield from predicate_covering(name, table, new)


def predicate_covering(name: str, table: MBD, new: list[Filter]) -> Iterator[Figure]:
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
    yield Figure(
        f"diagrams, set {name}: which predicates cover one",
        costs[2],
        costs[0],
        costs[0] / costs[2],
        "µs",
        note=f"of {len(index):,} predicates; in the index, by bisection, {costs[1]:.1f} µs; the "
        f"table has {len(cache):,} dependencies; baseline: those of the attribute compared one by "
        "one; in the paper 23.41 ms for a subscription without the cache, 2.46 ms with it",
    )


# -- merging


def merging(name: str, workload: Padres, table: Table, events: Events) -> Iterator[Figure]:
    """What is left by merging: perfectly, by the order of attributes, with lists, imperfectly."""
    left: dict[str, int] = {}
    seconds: dict[str, float] = {}
    ways: dict[str, tuple[MBD, dict[str, Any]]] = {
        "merged perfectly": (MBD(workload.schema), {}),
        "in a random order": (MBD(workload.schema, order=Criterion.RANDOM, seed=1), {}),
        "with lists": (MBD(workload.schema), {"concise": False}),
        "merged imperfectly": (
            MBD(workload.schema),
            {"imt": IMT, "distribution": Uniform(workload.schema)},
        ),
    }
    diagrams = {}
    for way, (own, options) in ways.items():
        for number, f in table.items():
            own.add(number, f)
        own.rebuild()
        diagrams[way] = own.diagrams
        with timed() as watch:
            own.merge(**options)
        left[way], seconds[way] = len(own), watch.seconds
    shuffled = left["in a random order"] - left["merged perfectly"]
    yield Figure(
        f"diagrams, set {name}: left by perfect merging",
        left["merged perfectly"],
        len(table),
        len(table) / left["merged perfectly"],
        "subscriptions",
        note=f"{seconds['merged perfectly']:.1f} s; a random order of attributes leaves "
        f"{shuffled:+,} ({diagrams['in a random order']:,} diagrams, not "
        f"{diagrams['merged perfectly']:,}), in the paper +6,076; if a merger may be a list, "
        f"{left['with lists']:,} are left ({seconds['with lists']:.1f} s)",
    )
    yield Figure(
        f"diagrams, set {name}: left by imperfect merging",
        left["merged imperfectly"],
        len(table),
        len(table) / left["merged imperfectly"],
        "subscriptions",
        note=f"IMT {IMT}; {seconds['merged imperfectly']:.1f} s",
    )
    for way in ("merged perfectly", "merged imperfectly"):
        own = ways[way][0]
        own.rebuild()
        yield from routing(name, way, own, events)


def imperfectly(workload: Padres) -> Iterator[Figure]:
    """Figs. 14 and 15: table sizes and false positives by IMT."""
    table = MBD(workload.schema)
    for number, f in enumerate(workload.filters()):
        table.subscribe(number, f)
    filters = {number: table.get(number) for number in table}
    events: Events = workload.events(EVENTS).to_pylist()
    wanted = _counted(MBD(workload.schema), filters, events)
    distribution = Uniform(workload.schema)
    for imt in THRESHOLDS:
        with timed() as watch:
            table.merge(imt=imt, distribution=distribution)
        matched = sum(len(table.match_numbers(event)) > 0 for event in events)
        yield Figure(
            f"diagrams, {FEWER:,} of set A: left with an IMT of {imt}",
            len(table),
            len(filters),
            len(filters) / len(table),
            "subscriptions",
            note=f"{matched} of {len(events)} events match, {wanted} are wanted: "
            f"{(matched - wanted) / len(events):.1%} false positives; {watch.seconds:.1f} s; in "
            "the paper 32,852 are left at IMT 0, and one below 0.1 keeps them within 2.5%",
        )


def _counted(table: MBD, filters: Table, events: Events) -> int:
    """How many of the events some subscription wants."""
    for number, f in filters.items():
        table.add(number, f)
    return sum(len(table.match_numbers(event)) > 0 for event in events)


def with_advertisements(workload: Padres) -> Iterator[Figure]:
    """Imperfect merging that counts only what is advertised: half of the values of an attribute."""
    name = next(iter(workload.schema))
    half = workload.pool.values // 2
    below = Predicate(name, Operator.LESS, (half,))
    advertised = [Filter.of(below, workload.schema)]
    distribution = Uniform(workload.schema)
    for imt in THRESHOLDS[:3]:
        left = []
        for known in (None, advertised):
            table = MBD(workload.schema)
            for number, f in enumerate(workload.filters()):
                if number == ADVERTISED:
                    break
                table.subscribe(number, f)
            table.merge(imt=imt, distribution=distribution, advertised=known)
            left.append(len(table))
        yield Figure(
            f"diagrams, {ADVERTISED:,} of set A: left with an IMT of {imt}, advertisements known",
            left[1],
            left[0],
            left[0] / left[1],
            "subscriptions",
            note="half of the values of one attribute are advertised; baseline: not known",
        )


# -- what predicate-wise covering misses


def missed() -> Figure:
    """Boolean trees with several predicates on an attribute: what our box store finds beyond it."""
    workload = trees(TREES, seed=1)
    filters = list(workload.filters())
    table, boxes = MBD(workload.schema), BoxStore(workload.schema)
    numbers = {}
    for number, f in enumerate(filters):
        table.add(number, f)
        numbers[boxes.add(f)] = number
    owed = {"containing": 0, "contained": 0}
    found = {"containing": 0, "contained": 0}
    for f in Random(1).sample(filters, min(len(filters), 200)):
        for question in owed:
            theirs = {numbers[handle] for handle in getattr(boxes, question)(f).tolist()}
            mine = set(getattr(table, question)(f))
            assert mine <= theirs, (question, str(f))
            owed[question] += len(theirs)
            found[question] += len(mine)
    shares = {question: 1 - found[question] / max(1, owed[question]) for question in owed}
    return Figure(
        "diagrams, Boolean trees: covers that are missed",
        sum(owed.values()) - sum(found.values()),
        sum(owed.values()),
        None,
        "pairs",
        note=f"of {TREES:,} filters, {table.aside:,} of them aside; {shares['containing']:.1%} of "
        f"what covers a filter, {shares['contained']:.1%} of what it covers",
    )

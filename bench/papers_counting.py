"""How fast are Boolean subscriptions counted, and what does pruning them bring?

The experiment of Bittner, Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), section 5.3: 200,000
subscriptions to book auctions, of each of three classes and of all of them, in one broker, as they
are and after shares of all prunings. The paper does not print how its values are drawn
(`lab.workloads.auctions` says how ours are), so what can be compared is the shape: how
associations, the time of an event, and the share of events that match change with pruning.

Beside the counting table stand a scan that asks one filter after the other, and our `Index`, both
for the subscriptions as they are. All of them must find the same there; a pruned table must find at
least that, and just what its filters say.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from bench.figure import Figure, timed
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.engine.index import Index
from tidegate.lab.workloads.auctions import CLASSES, auctions
from tidegate.lab.workloads.padres import set_a
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.scan import Scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.filters.filter import Filter
    from tidegate.lab.workloads.auctions import Auctions

    Events = list[dict[str, Any]]

SUBSCRIPTIONS = 200_000
LEARNED = 1_000  # events that selectivities are counted from
EVENTS = 400
SCANNED = 2  # events of the scan
CHECKED = 200  # filters of a pruned table that are asked one by one
CHECKED_EVENTS = 10  # of so many events, one
RELATED = 5_000  # filters of set A of the decision diagrams, which relate to each other
ASKED = 100
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
QUESTIONS = ("containing", "contained", "overlapping")

PRINTED = {  # Table 2, at the cut-off: increase in 100,000 events, relief in memory, less time
    "class 1": "at the cut-off 80% relief, 92% less time, 2,531 of 100,000 events more",
    "class 2": "at the cut-off, 88%, 91% relief, 97% less time, 1,718 of 100,000 events more",
    "class 3": "at the cut-off, 58%, 55% relief, 69% less time, 1,804 of 100,000 events more",
    "classes 1-3": "at the cut-off 78% relief, 94% less time, 2,642 of 100,000 events more",
}
PRINTED_IN_A_NETWORK = {  # Table 3: five brokers in a line
    "class 1": "80% relief, 63% less time, 11,932 events more",
    "class 2": "91% relief, 58% less time, 6,322 events more",
    "class 3": "50% relief, 26% less time, 7,786 events more",
    "classes 1-3": "71% relief, 53% less time, 7,355 events more",
}


@dataclass(frozen=True)
class Level:
    """A table after a share of all prunings."""

    share: float
    steps: int
    pruning: float  # seconds
    associations: int
    nbytes: int
    event: float  # µs
    matched: float  # of all events
    matches: float  # for an event


def figures() -> Iterator[Figure]:
    """Each class, all classes, and relations."""
    for k in CLASSES:
        yield from measure(f"class {k}", auctions(SUBSCRIPTIONS, classes=[k]))
    yield from measure("classes 1-3", auctions(SUBSCRIPTIONS))
    yield from relations()


def measure(name: str, workload: Auctions) -> Iterator[Figure]:
    """Adding, matching as it is, and matching after prunings."""
    filters = list(workload.filters())
    events: Events = workload.events(EVENTS).to_pylist()
    warm_up(filters[:200], events)
    table = CountingTable(workload.schema)
    with timed() as adding:
        for number, f in enumerate(filters):
            table.add(number, f)
    cost = adding.seconds / len(filters) * 1e6
    yield Figure(
        f"counting, {name}: add", cost, None, None, "µs",
        note=f"{table.nbytes / len(filters):,.0f} bytes each, {table.tree_bytes / len(filters):.1f}"
        f" of them for the tree; {len(table._predicates):,} distinct predicates",
    )  # fmt: skip
    scanned, found = scan(filters, events[:SCANNED]), index(workload, events)
    owed = [set(table.match(event)) for event in events]
    assert owed == found.answers, name
    assert owed[:SCANNED] == scanned.answers, name
    for event in workload.events(LEARNED, seed=1).to_pylist():
        table.matching(event)
    levels = [prune(table, share, events, owed) for share in SHARES]
    yield from told(name, levels, scanned.event, found.event)


@dataclass(frozen=True)
class Beside:
    """What another way takes for an event, in µs, and what it finds."""

    event: float
    answers: list[set[int]]


def scan(filters: list[Filter], events: Events) -> Beside:
    """One filter after the other."""
    table = Scan()
    for number, f in enumerate(filters):
        table.add(number, f)
    with timed() as watch:
        answers = [set(table.match(event)) for event in events]
    return Beside(watch.seconds / len(events) * 1e6, answers)


def index(workload: Auctions, events: Events) -> Beside:
    """Our index, asked about one event at a time."""
    ours = Index(workload.schema)
    ours.add_many(workload.table())
    ours.flush()
    ours.match(events[0])
    with timed() as watch:
        found = [ours.match(event) for event in events]
    return Beside(watch.seconds / len(events) * 1e6, [set(ids) for ids in found])  # type: ignore[arg-type]


def prune(table: CountingTable, share: float, events: Events, owed: list[set[int]]) -> Level:
    """Prune up to a share, and match."""
    with timed() as pruning:
        steps = table.prune_share(share)
    with timed() as matching:
        answers = [table.matching(event) for event in events]
    numbers = Random(1).sample(range(len(table)), min(CHECKED, len(table)))
    chosen = {number: table.filter(number) for number in numbers}
    for i, (event, array, before) in enumerate(zip(events, answers, owed, strict=True)):
        found = set(array.tolist())
        assert before <= found
        if i % CHECKED_EVENTS == 0:
            assert all(f.matches(event) == (number in found) for number, f in chosen.items())
    return Level(
        share, steps, pruning.seconds, table.associations, table.nbytes,
        matching.seconds / len(events) * 1e6,
        sum(len(answer) > 0 for answer in answers) / len(events),
        sum(map(len, answers)) / len(events),
    )  # fmt: skip


def told(name: str, levels: list[Level], scanned: float, ours: float) -> Iterator[Figure]:
    """The levels as figures, each beside the scan of the subscriptions as they are."""
    first, last = levels[0], levels[-1]
    for level in levels:
        relief = (first.associations - level.associations) / max(
            1, first.associations - last.associations
        )
        more = round(1e5 * (level.matched - first.matched))
        yield Figure(
            f"counting, {name}: event, {level.share:.0%} pruned",
            level.event, scanned, scanned / level.event, "µs",
            note=f"{level.associations:,} associations left, {relief:.0%} of the relief; "
            f"{1 - level.event / first.event:.0%} less time; {level.matched:.2%} of events match, "
            f"{more:,} of 100,000 more, {level.matches:,.1f} subscriptions each; "
            f"{level.nbytes / 2**20:,.0f} MiB; {level.steps:,} prunings in {level.pruning:.1f} s; "
            f"baseline: one filter after the other, as it is; paper: {PRINTED[name]}",
        )  # fmt: skip
    yield Figure(
        f"counting, {name}: event, our index", ours, first.event, first.event / ours, "µs",
        note="baseline: the counting table, nothing pruned; paper, in a line of five brokers: "
        + PRINTED_IN_A_NETWORK[name],
    )  # fmt: skip


def relations() -> Iterator[Figure]:
    """What the counting finds of what covers, is covered and overlaps, and how fast."""
    stored = set_a(RELATED)
    filters = list(stored.filters())
    asked = filters[:: max(1, len(filters) // ASKED)][:ASKED]
    table, store = CountingTable(stored.schema), BoxStore(stored.schema)
    for number, f in enumerate(filters):
        table.add(number, f)
        assert store.add(f) == number
    for question in QUESTIONS:
        table_asks, store_asks = getattr(table, question), getattr(store, question)
        table_asks(asked[0])
        store_asks(asked[0])
        with timed() as counting:
            answers = [set(table_asks(f)) for f in asked]
        with timed() as stabbing:
            owed = [set(store_asks(f).tolist()) for f in asked]
        missed, claimed, size = errors(answers, owed)
        assert not (missed if question == "overlapping" else claimed), question
        wrong = f"{claimed:,} claimed" if question == "overlapping" else f"{missed:,} missed"
        cost, base = (watch.seconds / len(asked) * 1e6 for watch in (counting, stabbing))
        yield Figure(
            f"counting, set A: {question}", cost, base, base / cost, "µs",
            note=f"of {size:,} in {RELATED:,} filters, {wrong}; baseline: our box store",
        )  # fmt: skip


def errors(answers: list[set[int]], owed: list[set[int]]) -> tuple[int, int, int]:
    """How many were missed, how many claimed that are not owed, and how many are owed."""
    pairs = list(zip(answers, owed, strict=True))
    missed = sum(len(right - found) for found, right in pairs)
    claimed = sum(len(found - right) for found, right in pairs)
    return missed, claimed, sum(map(len, owed))


def warm_up(filters: list[Filter], events: Events) -> None:
    """Load the compiled kernels before the clock runs."""
    table = CountingTable(filters[0].schema)
    for number, f in enumerate(filters):
        table.add(number, f)
    for event in events[:2]:
        table.match(event)
    table.match({})
    table.prune_share(0.5)
    for number in range(len(filters)):
        table.remove(number)

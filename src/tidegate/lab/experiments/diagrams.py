"""What do decision diagrams keep, merge and let through?

A table of Li, Hou and Jacobsen's diagrams (2005) that is filled, covered, merged, and asked; what
is timed and counted on the way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tidegate.filters.filter import Filter
from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads.matching import Padres
from tidegate.papers.mbd.covering import Question
from tidegate.papers.mbd.mbd import MBD

POINTS: Final = (0.01, 0.05, 0.25, 0.5, 1.0)
"""Shares of all subscriptions, at which the growth of a table is looked at (Fig. 13)."""

_WARM: Final = 20  # subscriptions to another table, before any is timed


class Left(NamedTuple):
    """A table that was merged, and the seconds of that."""

    table: MBD
    diagrams: int
    nodes: int
    seconds: float


def merge(table: Mapping[int, Filter], own: MBD, **options: Any) -> Left:
    """Fill a table, have its attributes ordered, and merge it."""
    for number, f in table.items():
        own.add(number, f)
    own.rebuild()
    diagrams, nodes = own.diagrams, own.nodes
    with timed() as watch:
        own.merge(**options)
    return Left(own, diagrams, nodes, watch.seconds)


@dataclass(frozen=True)
class Growth:
    """A covering table, and what its subscriptions took: those before each point, and all."""

    table: MBD
    at: list[int]
    costs: list[float]  # µs
    diagrams: list[int]
    seconds: float


def grow(workload: Padres, asked: int, *, cache: bool = True, phases: int = 1) -> Growth:
    """Subscribe all of them; at each point, the last so many are timed by themselves."""
    filters = list(workload.filters())
    _subscribe(MBD(workload.schema, cache=cache), filters, 0, _WARM, phases)  # loads the kernels
    table = MBD(workload.schema, cache=cache)
    at, costs, diagrams, seconds, start = [], [], [], 0.0, 0
    for share in POINTS:
        end = int(share * len(filters))
        middle = max(start, end - asked)
        with timed() as before:
            _subscribe(table, filters, start, middle, phases)
        with timed() as last:
            _subscribe(table, filters, middle, end, phases)
        at.append(end)
        costs.append(last.seconds / (end - middle) * 1e6)
        diagrams.append(table.diagrams)
        seconds += before.seconds + last.seconds
        start = end
    return Growth(table, at, costs, diagrams, seconds)


def first_step(table: MBD, filters: Sequence[Filter]) -> float:
    """What it takes to find which predicates cover those of a filter, and are covered, in µs.

    That is how a subscription begins; what is found is then asked of the diagrams.
    """
    with timed() as watch:
        for f in filters:
            question = Question(f.tree, table.schema, table.predicates, table.dependencies)
            for alternative in question.alternatives() or ():
                question.covering([alternative])
            for clause in question.clauses() or ():
                question.inside(clause)
    return watch.seconds / len(filters) * 1e6


def _subscribe(table: MBD, filters: list[Filter], start: int, end: int, phases: int) -> None:
    """As `MBD.subscribe`, in one phase or two."""
    for number in range(start, end):
        found = table.relations(filters[number], phases=phases)
        if not found.covered:
            for gone in found.covers:
                table.remove(gone)
            table.add(number, filters[number])


class Excess(NamedTuple):
    """What a merged table lets through beyond what is wanted.

    An event that nobody wants is the paper's false positive; an entry that matches an event which
    none of its members matches would send it over a link where nobody wants it.
    """

    unwanted: float  # of all events
    wrong: float  # of all entries that match an event


def matched(table: MBD, events: Sequence[Mapping[str, Any]]) -> list[set[int]]:
    """What matches each of the events."""
    return [set(table.match_numbers(event).tolist()) for event in events]


def false_positives(
    table: MBD, events: Sequence[Mapping[str, Any]], wanted: Sequence[set[int]]
) -> Excess:
    """What a merged table lets through; nothing that was wanted is lost, which is checked."""
    found = matched(table, events)
    unwanted = sum(bool(mine) and not owed for mine, owed in zip(found, wanted, strict=True))
    entries, wrong = 0, 0
    for mine, owed in zip(found, wanted, strict=True):
        entries += len(mine)
        mergers = [number for number in mine if number < 0]
        assert owed - mine <= {member for number in mergers for member in table.members(number)}
        wrong += sum(owed.isdisjoint(table.members(number)) for number in mergers)
    return Excess(unwanted / len(events), wrong / max(1, entries))

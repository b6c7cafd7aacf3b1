"""What becomes of a table of the counting algorithm as it is pruned?

As Bittner and Hinze (2006) have it in one broker: after each share of all prunings, how many
associations are left, how many events match, and what an event takes. What is pruned covers what it
was before, so each step only has to look at the subscriptions that have changed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.algebra.event_sample import EventSample
from tidegate.lab.stopwatch import timed
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.counting.selectivity_table import Counts


@dataclass(frozen=True)
class Level:
    """A table after a share of all prunings."""

    share: float
    associations: int
    event: float | None  # µs, where it was timed
    matched: int  # of all events that were counted
    sampled: int  # of the sample that a broker has
    others: int  # of events that were neither counted nor in the sample


def count_all(table: CountingTable, every: EventSample, count: int) -> None:
    """Let a table have counted all events, as if it had been asked about one after the other."""
    fulfilled = table.counts.fulfilled
    for place, predicate in table.predicates():
        fulfilled[place] = every.met(predicate).bit_count()
    table.counts = Counts(count, fulfilled)


def pruned(
    table: CountingTable,
    events: list[Any],
    every: EventSample,
    others: EventSample,
    *,
    steps: int,
    sampled: int,
) -> Iterator[Level]:
    """Prune step by step; which events match is looked up for what has changed.

    Of `others`, the first so many are the sample.
    """
    total, done = table.prunings_left, 0
    matched = beside = 0
    sample = (1 << sampled) - 1
    changed = range(len(table))
    for step in range(steps + 1):
        before = table.times_pruned(range(len(table)))
        goal = round(total * step / steps)
        done += table.prune(goal - done) if goal > done else 0
        if step:
            changed = (table.times_pruned(range(len(table))) != before).nonzero()[0].tolist()
        for number in changed:
            tree = table.filter(number).tree
            matched |= every.met(tree)
            beside |= others.met(tree)
        spent = time_of(table, events) if step % 5 == 0 else None
        counts = (found.bit_count() for found in (matched, beside & sample, beside >> sampled))
        yield Level(step / steps, table.associations, spent, *counts)


def time_of(table: CountingTable, events: list[Any]) -> float:
    """What an event takes, in µs; what it adds to the counts is taken back."""
    before = table.counts
    with timed() as watch:
        for event in events:
            table.matching(event)
    table.counts = before
    return watch.seconds / len(events) * 1e6


def drawn(curve: list[int]) -> int:
    """The step at which a curve is furthest below the line between its ends."""
    rise = (curve[-1] - curve[0]) / (len(curve) - 1)
    return max(range(len(curve)), key=lambda i: curve[0] + rise * i - curve[i])

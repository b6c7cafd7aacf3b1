"""Whose rules, which events, and who is to get which of them?

Rules on trades (`lab.workloads.trade`), narrowed until an event matches few. Rule r belongs to
connection `r % connections`, under the id r. A number of different events is published again and
again, so that what each of them matches can be found by brute force, trying every rule on it.
"""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tidegate as tg
from bench.baselines import BruteForce
from tidegate.lab.workloads.trade import narrowed, trade
from tidegate.network.control_frames import control_frame
from tidegate.network.event_frames import events_frame, payloads_of
from tidegate.network.payloads import payload
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.messages import Change, Entry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tidegate.overlay.attribute_filter import AttributeFilter


class Stream(NamedTuple):
    """What one publisher sends: frames, where each of them ends, and its events' places."""

    data: bytes
    ends: list[int]  # of frames, in bytes
    upto: list[int]  # events, with each frame
    due: list[float]  # seconds from the start, of each frame; none if it is to be as fast as can be
    first: int  # the number of the first event


class Traffic:
    """Rules, and the events that are published."""

    def __init__(self, rules: int, narrower: int, events: int, connections: int) -> None:
        self.workload = narrowed(trade(rules, seed=1), narrower)
        self.connections = connections
        self.kind = Attributes()
        table = self.workload.events(events)
        self.events = table.to_pylist()
        self.payloads = [payload(event, self.kind) for event in self.events]
        found = BruteForce(self.workload.ranges).matches(self.workload.points(table))
        self._counts = np.array([len(rows) for rows in found], np.int64)
        self._starts = np.concatenate(([0], np.cumsum(self._counts)))
        self._rules = np.concatenate(found).astype(np.int64)
        self.matches = float(self._counts.mean())
        self._reached = np.array([len(set((rows % connections).tolist())) for rows in found])

    @cached_property
    def entries(self) -> list[tuple[Entry, ...]]:
        """What each connection subscribes to."""
        found: list[list[Entry]] = [[] for _ in range(self.connections)]
        for rule, f in enumerate(self.filters):
            found[rule % self.connections].append(Entry(rule, f))
        return [tuple(each) for each in found]

    @cached_property
    def filters(self) -> list[AttributeFilter]:
        """The rules, bound."""
        table = self.workload.table()
        texts = np.array(table["filter"].to_pylist())
        found: dict[int, AttributeFilter] = {}
        for text in np.unique(texts).tolist():
            rules = np.flatnonzero(texts == text)
            own = table.take(rules)
            columns = {name: own[name].to_pylist() for name in tg.parse(text).parameters}
            found.update(zip(rules.tolist(), self.kind.parse_many(text, columns), strict=True))
        return [found[rule] for rule in range(len(texts))]

    def change(self, connection: int) -> bytes:
        """The frame by which a connection subscribes."""
        return control_frame(Change(1, add=self.entries[connection]), self.kind)

    def which(self, count: int) -> NDArray[np.int64]:
        """The places of so many events, as they are published one after the other."""
        return np.arange(count, dtype=np.int64) % len(self.events)

    def wanted(self, count: int) -> NDArray[np.int64]:
        """Event times rules plus rule, of all that so many events match, in order."""
        which = self.which(count)
        counts = self._counts[which]
        first = np.repeat(self._starts[which] - (np.cumsum(counts) - counts), counts)
        rules = self._rules[first + np.arange(int(counts.sum()))]
        return np.sort(np.repeat(np.arange(count), counts) * len(self.workload) + rules)

    def handed(self, count: int) -> int:
        """How often so many events go to a connection."""
        return int(self._reached[self.which(count)].sum())

    def streams(
        self, count: int, firsts: list[int], together: int, rate: float | None
    ) -> list[Stream]:
        """So many events in frames, dealt to publishers in turn.

        Event i is due i / rate seconds after the start, and its frame when its last event is.
        """
        publishers = len(firsts)
        frames: list[list[bytes]] = [[] for _ in firsts]
        upto: list[list[int]] = [[] for _ in firsts]
        due: list[list[float]] = [[] for _ in firsts]
        which = self.which(count).tolist()
        for turn, start in enumerate(range(0, count, together)):
            end = min(start + together, count)
            own = turn % publishers
            before = upto[own][-1] if upto[own] else 0
            first = firsts[own] + before
            written = payloads_of([self.payloads[place] for place in which[start:end]])
            frames[own].append(events_frame(range(first, first + end - start), [], written))
            upto[own].append(before + end - start)
            if rate:
                due[own].append((end - 1) / rate)
        return [
            Stream(
                b"".join(frames[own]),
                list(accumulate(map(len, frames[own]))),
                upto[own],
                due[own],
                firsts[own],
            )
            for own in range(publishers)
        ]

    def places(self, count: int, together: int, publishers: int) -> list[NDArray[np.int64]]:
        """For each publisher, which of so many events are its own, in the order it sends them."""
        turn = np.arange(count) // together % publishers
        return [np.flatnonzero(turn == own) for own in range(publishers)]

"""What can be left out of filters of several kinds, by what was seen of their events?

Each kind counts its own events and prunes its own filters. What that costs is a share of the kind's
own events; it is told as a share of all events, so that filters of two kinds are compared by what
they let through.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tidegate.overlay.filter import Courses, Event, Filter, Merger, Plain, Pruner


class Parting(Protocol):
    """How filters and events of several kinds are told apart."""

    def kind_of(self, event: object, /) -> str | None:
        """The name of the kind that an event belongs to, if one takes it."""

    def parted(self, f: Filter, /) -> tuple[str, Filter]:
        """The name of a filter's kind, and the filter there."""

    def joined(self, name: str, f: Filter, /) -> Filter:
        """A filter of the kind of that name as one of this kind."""


class SeveralPruner:
    """A `Pruner` of filters of several kinds, made of one for each kind that can be pruned."""

    def __init__(self, owner: Parting, pruners: Mapping[str, Pruner]) -> None:
        self._owner = owner
        self._pruners: Final = dict(pruners)
        self._events: dict[str, int] = dict.fromkeys(self._pruners, 0)  # of each kind
        self._others = 0  # events of kinds that are not pruned
        self.counted = 0
        self.learned: Plain = None
        self._shares: dict[str, float] = {}  # of all events, of the kinds that have learned

    # -- events

    @property
    def knows(self) -> bool:
        """Whether it has learned anything."""
        return self.learned is not None

    def count(self, event: Event, /) -> None:
        """Count an event."""
        self.counted += 1
        name = self._owner.kind_of(event)
        if name in self._pruners:
            self._events[name] += 1
            self._pruners[name].count(event)
        else:
            self._others += 1

    def summary(self) -> Plain:
        """How many events there were of each kind, and what was counted of them."""
        own = {
            name: [self._events[name], pruner.summary()]
            for name, pruner in self._pruners.items()
            if self._events[name]
        }
        return [self._others, own]

    def learn(self, summary: Plain, /) -> None:
        """Go by a summary from now on."""
        self.learned = summary
        self.counted = 0
        others, own = summary
        if not (self._others or any(self._events.values())):  # it has lost its memory
            self._others = others
            self._events.update((name, events) for name, (events, _) in own.items())
        every = others + sum(events for events, _ in own.values())
        self._shares = {name: events / every for name, (events, _) in own.items()}
        for name, (_, inner) in own.items():
            self._pruners[name].learn(inner)

    def state(self) -> Plain:
        """What was counted, as plain data."""
        own = {name: [self._events[name], each.state()] for name, each in self._pruners.items()}
        return [self.counted, self._others, own]

    def restore(self, state: Plain, /) -> None:
        """Have counted what another one had."""
        self.counted, self._others, own = state
        for name, (events, inner) in own.items():
            self._events[name] = events
            self._pruners[name].restore(inner)

    # -- what each kind says

    def courses(self, filters: Sequence[Filter], /) -> "SeveralCourses":
        """How these filters are pruned to their end; those of a kind that knows nothing not."""
        places: dict[str, list[int]] = {}
        own: dict[str, list[Filter]] = {}
        for place, f in enumerate(filters):
            name, inner = self._owner.parted(f)
            places.setdefault(name, []).append(place)
            own.setdefault(name, []).append(inner)
        found = {
            name: (self._pruners[name].courses(own[name]), places[name], self._shares[name])
            for name in own
            if name in self._shares
        }
        return SeveralCourses(self._owner, filters, found)

    def replaced(self, filters: Mapping[int, Filter], share: float, /) -> dict[int, Filter]:
        """The filters that change when a share of each kind's conditions is replaced."""
        found: dict[int, Filter] = {}
        for name, own in self._by_kind(filters).items():
            for number, f in self._pruners[name].replaced(own, share).items():
                found[number] = self._owner.joined(name, f)
        return dict(sorted(found.items()))

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None, /
    ) -> list[Merger]:
        """What each kind would merge: a kind whose events are rare may add more of them."""
        found: list[Merger] = []
        for name, own in self._by_kind(filters).items():
            share, ads = self._shares[name], self._advertised(name, advertised)
            for each in self._pruners[name].mergers(own, min(1.0, imt / share), ads):
                f = self._owner.joined(name, each.filter)
                found.append(Merger(f, each.members, each.imt * share))
        return found

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None, /
    ) -> float:
        """The IMT of a filter that covers all members, about; infinite if it cannot be told."""
        name, f = self._owner.parted(merger)
        if name not in self._shares:
            return float("inf")
        own = [self._owner.parted(member)[1] for member in members]
        ads = self._advertised(name, advertised)
        return self._pruners[name].cost(f, own, ads) * self._shares[name]

    def _by_kind(self, filters: Mapping[int, Filter]) -> dict[str, dict[int, Filter]]:
        """The filters of those kinds that have learned."""
        found: dict[str, dict[int, Filter]] = {name: {} for name in self._shares}
        for number, f in filters.items():
            name, inner = self._owner.parted(f)
            if name in found:
                found[name][number] = inner
        return found

    def _advertised(self, name: str, filters: Sequence[Filter] | None) -> list[Filter] | None:
        if filters is None:
            return None
        parted = map(self._owner.parted, filters)
        return [inner for other, inner in parted if other == name]


class SeveralCourses:
    """`Courses` of filters of several kinds: those of each kind, with their places among all."""

    def __init__(
        self,
        owner: Parting,
        filters: Sequence[Filter],
        own: Mapping[str, tuple[Courses, Sequence[int], float]],
    ) -> None:
        self._owner = owner
        self._filters = filters
        self._own = own  # and the share of a kind's events among all
        self._where = {
            place: (name, inner)
            for name, (_, places, _) in own.items()
            for inner, place in enumerate(places)
        }

    @property
    def sample(self) -> int:
        """How many events counts are of: as many as the largest sample of a kind stands for."""
        return max((round(c.sample / share) for c, _, share in self._own.values()), default=0)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """How many prunings each filter has."""
        found = np.zeros(len(self._filters), np.int64)
        for courses, places, _ in self._own.values():
            found[places] = courses.lengths
        return found

    @cached_property
    def degradations(self) -> NDArray[np.float64]:
        """What they cost, as shares of all events."""
        parts: list[NDArray[np.float64]] = [np.empty(0)] * len(self._filters)
        for courses, places, share in self._own.values():
            ends = np.cumsum(courses.lengths)[:-1]
            for place, part in zip(places, np.split(courses.degradations, ends), strict=True):
                parts[place] = part * share
        return np.concatenate(parts) if parts else np.empty(0)

    def pruned(self, place: int, steps: int, /) -> Filter:
        """The filter at a place after so many of its prunings."""
        if not steps:
            return self._filters[place]
        name, inner = self._where[place]
        return self._owner.joined(name, self._own[name][0].pruned(inner, steps))

    def matched(self, order: NDArray[np.int64], /) -> list[int]:
        """How many events match, if each kind's sample stood for its share of all events."""
        where = [self._where[place] for place in order.tolist()]
        curve = np.zeros(len(order) + 1)
        for name, (courses, _, share) in self._own.items():
            steps = np.array([other == name for other, _ in where], np.bool_)
            own = np.array([inner for other, inner in where if other == name], np.int64)
            counts = np.array(courses.matched(own), np.float64)
            done = np.concatenate(([0], np.cumsum(steps)))
            curve += counts[done] * (share * self.sample / max(1, courses.sample))
        found: list[int] = np.rint(curve).astype(np.int64).tolist()
        return found

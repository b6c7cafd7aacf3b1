"""Which filters came from which link, and which of them match an event?

A broker's routing table: an index of all filters, from brokers and clients alike, each under the
link it came from and its id there.

With a `rule`, entries that came from neighbours are pruned: *post-pruning* of Bittner and Hinze,
"Subscription Tree Pruning" (OTM 2006), section 4.3. An event is then compared with something
simpler that covers the entry, and some events go on to a neighbour that does not want them. What is
forwarded is still the entry as it came. Entries of clients are **exact**: never pruned.

Where registrations are counted, the table knows what each entry counts, as its link has told.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from tidegate.overlay.counts import ONCE, Counts
from tidegate.overlay.fan_out import NOTHING, Found, Goals, in_order
from tidegate.overlay.filter import Event, Filter, Kind, Plain
from tidegate.overlay.pairs import Numbering, Rows
from tidegate.overlay.policy.queue import PruningQueue
from tidegate.overlay.policy.sources import Source
from tidegate.overlay.work import Work


class Table:
    """Filters by source."""

    def __init__(
        self,
        kind: Kind,
        work: Work,
        pruned: PruningQueue | None = None,
        *,
        weighed: bool = False,
    ) -> None:
        self.pruned: Final = pruned
        self.bytes = 0  # of what events are compared with, if it is weighed
        self._weighed = weighed
        self._work = work
        self.index: Final = kind.index()  # of what events are compared with
        self._filters: dict[str, dict[int, Filter]] = {}
        self._numbers: dict[Source, int] = {}
        self._sources: dict[int, Source] = {}
        self._counts: dict[Source, Counts] = {}  # of those that count more than once
        self._next = 0
        self._codes: dict[str, int] = {}  # a number for each link
        self._names: list[str] = []
        self._known: WeakKeyDictionary[Numbering, tuple[Rows, NDArray[np.int64]]]
        self._known = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, source: Source) -> Filter:
        return self._filters[source[0]][source[1]]

    def of(self, link: str) -> dict[int, Filter]:
        """The filters that came from a link, by id; not to be changed."""
        return self._filters.get(link, {})

    def counts(self, source: Source) -> Counts:
        """What an entry counts."""
        return self._counts.get(source, ONCE)

    def by_age(self) -> Iterator[tuple[Source, Filter]]:
        """All of it, in the order in which sources are named."""
        return ((source, self[source]) for _, source in sorted(self._sources.items()))

    def know(self, link: str) -> None:
        """Know a link; events of a batch go to links in the order in which these became known."""
        self._codes[link] = len(self._names)
        self._names.append(link)
        self._filters[link] = {}

    def forget(self, link: str) -> None:
        """Know a link no more; nothing is left that came from it."""
        del self._codes[link], self._filters[link]

    def add(self, source: Source, f: Filter, *, exact: bool = True) -> None:
        """Take in the filter of a source that is new."""
        pruned = None if exact else self.pruned
        self._put(source, f, f if pruned is None else pruned.add(self._next, f))

    def _put(self, source: Source, f: Filter, held: Filter) -> None:
        number = self._next
        self._next += 1
        self.index.add(number, held)
        self._weigh(held, 1)
        self._work.inserts += 1
        self._filters[source[0]][source[1]] = f
        self._numbers[source] = number
        self._sources[number] = source

    def update(self, source: Source, f: Filter) -> None:
        """Put another filter in the place of a source's."""
        number = self._numbers[source]
        self._weigh(self.matched_by(source), -1)
        if self.pruned is not None and number in self.pruned.held:
            self.index.update(number, self.pruned.update(number, f))
        else:
            self.index.update(number, f)
        self._work.updates += 1
        self._filters[source[0]][source[1]] = f
        self._weigh(self.matched_by(source), 1)

    def count(self, source: Source, counts: Counts) -> None:
        """Have other counts of a source."""
        self._counts.pop(source, None)
        if counts != ONCE:
            self._counts[source] = counts

    def remove(self, source: Source) -> None:
        """Forget a source."""
        self._counts.pop(source, None)
        self._weigh(self.matched_by(source), -1)
        number = self._numbers.pop(source)
        if self.pruned is not None and number in self.pruned.held:
            self.pruned.remove(number)
        self.index.remove(number)
        self._work.removals += 1
        del self._filters[source[0]][source[1]], self._sources[number]

    def match(self, event: Event) -> list[Source]:
        """The sources whose filter matches an event, by age."""
        found = self.index.match(event)
        self._work.events += 1
        self._work.found += len(found)
        return [self._sources[number] for number in sorted(found)]

    def match_batch(self, events: Sequence[Event], rows: Rows) -> tuple[list[str], Goals]:
        """The links that want some of many events, and for which of their entries.

        `rows` says where the events stand in their batch.
        """
        self._work.events += len(events)
        parts = [
            Found(rows, links[places], numbering.numbers[places], owns[places])
            for numbering, rows, places in self.index.match_batch(events)
            for links, owns in (self._columns(numbering),)
        ]
        columns = zip(*parts, strict=True)
        found = (
            NOTHING
            if not parts
            else parts[0]
            if len(parts) == 1
            else Found(*map(np.concatenate, columns))
        )
        self._work.found += len(found.rows)
        goals = in_order(found, rows, len(self._names))
        return [self._names[link] for link in goals.links.tolist()], goals

    def _columns(self, numbering: Numbering) -> tuple[Rows, NDArray[np.int64]]:
        """The links of filters, as numbers, and the ids that they have there."""
        known = self._known.get(numbering)
        if known is None:
            gone = -1, 0  # no event meets it
            coded = [
                gone if source is None else (self._codes[source[0]], source[1])
                for source in map(self._sources.get, numbering.numbers.tolist())
            ]
            links = np.array([code for code, _ in coded], np.int32)
            known = links, np.array([own for _, own in coded], np.int64)
            self._known[numbering] = known
        return known

    def overlapping(self, f: Filter) -> list[Source]:
        """The sources whose filter may overlap this one, by age."""
        self._work.questions += 1
        found = [self._sources[number] for number in sorted(self.index.overlapping(f))]
        if self.pruned is None or not self.pruned.pruned:
            return found
        return [source for source in found if self._overlaps(source, f)]

    def _overlaps(self, source: Source, f: Filter) -> bool:
        """Whether an entry as it came, of which a simpler one may overlap a filter, may, too."""
        assert self.pruned is not None
        if not self.pruned.is_pruned(self._numbers[source]):
            return True
        self._work.compared += 1
        return self[source].overlaps(f)

    # -- pruning

    def matched_by(self, source: Source) -> Filter:
        """What an event is compared with, in the place of a source's filter."""
        held = {} if self.pruned is None else self.pruned.held
        return held.get(self._numbers[source], self[source])

    def prune(self, most: float = 1.0) -> None:
        """Prune entries of neighbours as far as is worth it, not beyond a share of all prunings."""
        if self.pruned is not None:
            for number in self.pruned.prune(most=most):
                self.index.update(number, self.pruned.held[number])
                self._work.updates += 1
            if self._weighed:
                self.bytes = sum(self.matched_by(source).size for source in self._numbers)

    def _weigh(self, f: Filter, sign: int) -> None:
        if self._weighed:
            self.bytes += sign * f.size

    def state(self) -> Plain:
        """What was pruned, by the ages of entries."""
        if self.pruned is None:
            return None
        return self.pruned.state({number: age for age, number in enumerate(sorted(self._sources))})

    def restore(self, entries: Iterable[tuple[Source, Filter, bool]], state: Plain) -> None:
        """Have these entries, by age, some of them exact, and be pruned as another one was."""
        known = list(entries)
        if self.pruned is not None:
            given = {age: f for age, (_, f, exact) in enumerate(known) if not exact}
            self.pruned.restore(given, state)
        for source, f, _ in known:
            held = f if self.pruned is None else self.pruned.held.get(self._next, f)
            self._put(source, f, held)

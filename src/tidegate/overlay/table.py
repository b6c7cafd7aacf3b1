"""Which filters came from which link, and which of them match an event?

A broker's routing table: an index of all filters, from brokers and clients alike, each under the
link it came from and its id there.
"""

from collections.abc import Iterator

from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.overlay.policy.sources import Source
from tidegate.overlay.work import Work


class Table:
    """Filters by source."""

    def __init__(self, kind: Kind, work: Work) -> None:
        self._work = work
        self._index = kind.index()
        self._filters: dict[str, dict[int, Filter]] = {}
        self._numbers: dict[Source, int] = {}
        self._sources: dict[int, Source] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, source: Source) -> Filter:
        return self._filters[source[0]][source[1]]

    def of(self, link: str) -> dict[int, Filter]:
        """The filters that came from a link, by id; not to be changed."""
        return self._filters.get(link, {})

    def by_age(self) -> Iterator[tuple[Source, Filter]]:
        """All of it, in the order in which sources are named."""
        return ((source, self[source]) for _, source in sorted(self._sources.items()))

    def add(self, source: Source, f: Filter) -> None:
        """Take in the filter of a source that is new."""
        number = self._next
        self._next += 1
        self._index.add(number, f)
        self._work.inserts += 1
        self._filters.setdefault(source[0], {})[source[1]] = f
        self._numbers[source] = number
        self._sources[number] = source

    def update(self, source: Source, f: Filter) -> None:
        """Put another filter in the place of a source's."""
        self._index.update(self._numbers[source], f)
        self._work.updates += 1
        self._filters[source[0]][source[1]] = f

    def remove(self, source: Source) -> None:
        """Forget a source."""
        number = self._numbers.pop(source)
        self._index.remove(number)
        self._work.removals += 1
        del self._filters[source[0]][source[1]], self._sources[number]

    def match(self, event: Event) -> list[Source]:
        """The sources whose filter matches an event, by age."""
        found = self._index.match(event)
        self._work.events += 1
        self._work.found += len(found)
        return [self._sources[number] for number in sorted(found)]

    def overlapping(self, f: Filter) -> list[Source]:
        """The sources whose filter may overlap this one, by age."""
        self._work.questions += 1
        return [self._sources[number] for number in sorted(self._index.overlapping(f))]

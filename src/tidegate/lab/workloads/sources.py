"""Which workloads of the lab can a scenario name?

The simulator draws from templates by itself, one constant at a time. The workloads of the papers
are more than that: a title has its author, and limits are quantiles of what is offered. Here they
are `Source`s of the simulator, so that a scenario says `like = "books"`:

- **exchange**: alert rules on trades (`trade`), about 5,000 symbols;
- **books**: subscriptions to book auctions of all three classes (`auctions`), Boolean trees with
  ORs. The market grows with the workload: ten subscriptions for each title, as 200,000 have them;
- **rectangles**: ranges in three dimensions (`rectangles`), and uniform points as events;
- **news**: patterns on documents of the news industry (`xml_patterns`, `xml_documents`).

Filters and events are listed in a fixed order that depends on the seed only, and begin again when
they run out. Each source knows a distribution: the domains of rectangles, and else a sample of
other events than those that are published.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import Any, Final

from tidegate.algebra.distribution import Uniform
from tidegate.algebra.histogram import Histogram
from tidegate.filters import filter as language
from tidegate.filters.schema import Schema
from tidegate.lab.workloads.auctions import auctions
from tidegate.lab.workloads.books import Market
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.rectangles import Rectangles, rectangles
from tidegate.lab.workloads.trade import trade
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.patterns import Patterns
from tidegate.simulate.supply import Source, Sources, TextKind

DIMENSIONS: Final = 3  # of the rectangles
_SPARE: Final = 2  # filters for each subscription that is asked for: some are for those who change
_EVENTS: Final = 5_000
_DOCUMENTS: Final = 1_000
_SAMPLE: Final = 5_000  # events that are counted
_BUCKETS: Final = 64
_A_TITLE: Final = 10  # subscriptions for each title, and
_AN_AUTHOR: Final = 4  # titles for each author, as the market of 20,000 titles has them


@dataclass(frozen=True, slots=True)
class Listed:
    """One filter of a list."""

    filter: Filter


class Listing:
    """A supply that hands out lists from the beginning; nothing in it is random."""

    def __init__(self, filters: Iterator[Filter], events: Iterator[Event]) -> None:
        self._filters = filters
        self._events = events

    def wish(self, _: Random, /) -> Listed:
        """The next filter."""
        return Listed(next(self._filters))

    def moved(self, _: Listed, random: Random, /) -> Listed:
        """The next filter: who changes their mind wants something else."""
        return self.wish(random)

    def event(self, _: Random, /) -> Event:
        """The next event."""
        return next(self._events)


@dataclass(frozen=True)
class Lists:
    """Filters and events in order, all made when a scenario is read."""

    kind: TextKind
    filters: Sequence[Filter]
    events: Sequence[Event]

    def open(self, _: TextKind, /) -> Listing:
        """Both from the beginning."""
        return Listing(cycle(self.filters), cycle(self.events))


def _exchange(seed: int, subscriptions: int) -> Source:
    workload = trade(_count(subscriptions), seed)
    filters: list[Filter] = []
    for row in workload.table().to_pylist():
        values = {name: v for name, v in row.items() if f":{name}" in row["filter"]}
        f = language.parse(row["filter"], workload.schema).bind(**values)
        filters.append(AttributeFilter(f))
    events = workload.events(_EVENTS).to_pylist()
    return Lists(_counted(workload.schema, workload.events(_SAMPLE, seed=1)), filters, events)


def _books(seed: int, subscriptions: int) -> Source:
    titles = max(_AN_AUTHOR, subscriptions // _A_TITLE)
    market = Market(titles=titles, authors=titles // _AN_AUTHOR)
    workload = auctions(_count(subscriptions), seed, market=market)
    kind = _counted(workload.schema, workload.events(_SAMPLE, seed=1))
    return Lists(kind, _wrapped(workload.filters()), workload.events(_EVENTS).to_pylist())


def _rectangles(seed: int, subscriptions: int) -> Source:
    workload = Rectangles(*rectangles(_count(subscriptions), DIMENSIONS, seed=seed))
    kind = Attributes(workload.schema, Uniform(workload.schema))
    return Lists(kind, _wrapped(workload.filters()), workload.events(_EVENTS, seed).to_pylist())


def _news(seed: int, subscriptions: int) -> Source:
    kind, dtd = Patterns(), news()
    patterns = PatternSource(dtd, PatternChoices(), seed)
    documents = DocumentSource(dtd, DocumentChoices(), seed)
    filters = [kind.parse(patterns.draw().text) for _ in range(_count(subscriptions))]
    return Lists(kind, filters, [documents.draw() for _ in range(_DOCUMENTS)])


SOURCES: Final[Sources] = {
    "exchange": _exchange,
    "books": _books,
    "rectangles": _rectangles,
    "news": _news,
}


def _wrapped(filters: Iterable[language.Filter]) -> list[AttributeFilter]:
    return [AttributeFilter(f) for f in filters]


def _count(subscriptions: int) -> int:
    return max(1, _SPARE * subscriptions)


def _counted(schema: Schema, sample: Any) -> Attributes:
    """Filters under a schema, weighed by a sample of events."""
    return Attributes(schema, Histogram.from_events(sample.to_pylist(), schema, _BUCKETS))

"""What does a broker have to know about filters?

A broker and its policies work on filters of any **kind**: conditions on attributes, tree patterns
on documents, sets of words. All they ask for stands in this file. A kind's answers may be
approximate, but only outward: `covers` and `subsumes` say no when in doubt, `overlaps` and
`overlapping` say yes, and a merger covers its members.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.overlay.pairs import Pairs

Event: TypeAlias = Any
"""An event's content, as its kind takes it: attributes with values, a document."""

Plain: TypeAlias = Any
"""Plain data, as JSON has it: lists, strings, numbers, truth values, None."""


class Filter(Protocol):
    """A Boolean condition on an event's content; immutable, equal and hashing by its meaning.

    Filters of one `shape` differ in constants only: one may take the place of the other by an
    update that names nothing but the constants. A filter is compared with others of its own kind
    only: a broker has one kind, and takes no filter of another (`Kind`).
    """

    @property
    def size(self) -> int:
        """How much there is to it, about as many as the bytes it takes to write it down."""

    @property
    def shape(self) -> object:
        """What an update keeps; hashable."""

    @property
    def values(self) -> Plain:
        """The constants: with the shape, they are the whole filter."""

    def matches(self, event: Event, /) -> bool:
        """Whether the event passes."""

    def covers(self, other: "Filter", /) -> bool:
        """Whether every event that matches the other is certain to match this one."""

    def overlaps(self, other: "Filter", /) -> bool:
        """Whether some event may match both."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object, /) -> bool: ...


class FilterIndex(Protocol):
    """Many filters, each under a number that the caller chose. Answers are numbers, in any order.

    One thread at a time.
    """

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""

    def match(self, event: Event, /) -> list[int]:
        """The filters that match an event."""

    def match_batch(self, events: Sequence[Event], /) -> list[Pairs]:
        """The filters that match each of many events; `pairs.one_by_one` does for any index."""

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""


class FilterUnion(Protocol):
    """Many filters, each under a number, and what they cover together."""

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""

    def state(self) -> Plain:
        """What answers depend on beside the filters that are there; None if on nothing."""

    def restore(self, filters: Mapping[int, Filter], state: Plain, /) -> None:
        """Take in filters, and answer as another union of them did that had this state."""


@dataclass(frozen=True, slots=True)
class Merger:
    """One filter that stands for several, and what it costs.

    `imt` is the probability that an event matches the merger and none of its members; 0 is perfect.
    """

    filter: Filter
    members: tuple[int, ...]
    imt: float


class Courses(Protocol):
    """How filters are pruned to their end: each by one part at a time, where that costs least.

    A filter has a place in the order in which filters were given.
    """

    @property
    def sample(self) -> int:
        """How many events `matched` asks about."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many prunings each filter has; none if nothing can be left out of it."""

    @property
    def degradations(self) -> NDArray[np.float64]:
        """What they cost, as shares of all events: those of one filter behind those of another."""

    def pruned(self, place: int, steps: int, /) -> Filter:
        """The filter after so many of its prunings.

        It covers the filter, and is not one that every event matches.
        """

    def matched(self, order: NDArray[np.int64], /) -> Sequence[int]:
        """How many events of a sample match one of the filters.

        First as they are, then after each pruning, where those of these places are pruned one after
        the other.
        """


class Pruner(Protocol):
    """What can be left out of filters at little cost, by what was seen of events.

    Events are counted one by one, but answers depend only on what was learned last: a `summary` of
    what had been counted then, which is plain data. Where nothing was learned, nothing is offered.
    """

    @property
    def counted(self) -> int:
        """How many events were counted since it learned."""

    @property
    def knows(self) -> bool:
        """Whether it has learned anything."""

    @property
    def learned(self) -> Plain:
        """The summary that it learned last; None: it has learned nothing."""

    def count(self, event: Event, /) -> None:
        """Count an event."""

    def summary(self) -> Plain:
        """What has been counted."""

    def learn(self, summary: Plain, /) -> None:
        """Go by a summary from now on."""

    def courses(self, filters: Sequence[Filter], /) -> Courses:
        """How these filters are pruned to their end; not at all as long as nothing is known."""

    def replaced(self, filters: Mapping[int, Filter], share: float, /) -> Mapping[int, Filter]:
        """The filters that change when a share of all conditions is replaced, the cheapest first.

        A condition gives way, wherever it occurs, to another one that is there and that it implies.
        """

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None, /
    ) -> list[Merger]:
        """Which filters are worth merging by leaving out parts of their disjunction."""

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None, /
    ) -> float:
        """The IMT of a filter that covers all members, about; infinite if it cannot be told."""

    def state(self) -> Plain:
        """What was counted, as plain data."""

    def restore(self, state: Plain, /) -> None:
        """Have counted what another one had."""


class Kind(Protocol):
    """A kind of filters: how they, and the events they are about, are written down and kept."""

    @property
    def name(self) -> str:
        """What the kind is called in messages."""

    def keeping(self, index: str | None, union: str | None) -> "Kind":
        """The same kind, its filters kept in the structures of these names; None: the kind's own.

        `TidegateError` if there is none of that name.
        """

    def index(self) -> FilterIndex:
        """An empty index."""

    def union(self) -> FilterUnion:
        """An empty union."""

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None
    ) -> list[Merger]:
        """Which filters are worth merging; one that is not takes no part in any merger.

        No merger costs more than `imt`, counting only events that somebody advertised, where that
        is known.
        """

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None
    ) -> float:
        """The IMT of a filter that covers all members; infinite if it cannot be told."""

    def pruner(self) -> Pruner | None:
        """Something that has seen no events yet; None: filters of this kind cannot be pruned."""

    def plain(self, f: Filter) -> Plain:
        """A filter as plain data."""

    def read(self, plain: Plain) -> Filter:
        """The filter that was written so; `TidegateError` if none was."""

    def reshaped(self, f: Filter, values: Plain) -> Filter:
        """The filter of the same shape with other constants; `TidegateError` if there is none."""

    def reshaped_many(self, f: Filter, values: Sequence[Plain]) -> Sequence[Filter]:
        """The same for the constants of many, which is quicker than one by one."""

    def filter_refusal(self, f: object) -> str | None:
        """Why this cannot be taken as a filter, if it cannot."""

    def event_refusal(self, event: object) -> str | None:
        """Why this cannot be taken as an event, if it cannot."""

    def takes_all(self, events: Sequence[Event]) -> bool:
        """Whether it is known without a look at each that all of these can be taken."""

    def plain_event(self, event: Event) -> Plain:
        """An event as plain data; `TidegateError` if it cannot be written."""

    def read_event(self, plain: Plain) -> Event:
        """The event that was written so; `TidegateError` or ValueError if none was."""

    def event_size(self, event: Event) -> int:
        """The bytes that an event takes in a message; `TidegateError` if it cannot be written."""

    def show_event(self, event: Event) -> str:
        """An event in a few words, for people."""

"""How near are two filters?

Three measures of what two filters have in common, all from 0 to 1 and all counted over a history of
events. `GIVEN` is how probable it is that an event which matches the first also matches the second:
Sim of Chand (2005), definition 7. `MEAN` is that in both directions, half of the sum: f_s,
definition 8. `SHARED` is how probable it is that an event which matches one of them matches both;
Chand, Felber and Garofalakis (2007) compare all three.

Where no event of the history says anything, filters do: a filter that covers the other one is
certain to match, and two that do not overlap are certain not to. What is not certain either way has
a value that the caller chooses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from heapq import nsmallest
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Filter
from tidegate.peers.history import History


class Measure(Enum):
    """What is counted of two filters."""

    GIVEN = "given"
    """P(second | first); not symmetric."""
    MEAN = "mean"
    """The mean of P(second | first) and P(first | second)."""
    SHARED = "shared"
    """P(both | at least one)."""


@dataclass(frozen=True, slots=True)
class Near:
    """A filter's name, and how near it is."""

    name: str
    proximity: float


class Proximity:
    """How near filters are, by a measure over a history.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> history = History(kind)
    >>> for price in (0.5, 5, 7, 20):
    ...     history.add({"price": price})
    >>> cheap, tiny = kind.parse("price < 10"), kind.parse("price < 1")
    >>> for measure in Measure:
    ...     print(measure.value, round(Proximity(history, measure).of(cheap, tiny), 3))
    given 0.333
    mean 0.667
    shared 0.333
    """

    def __init__(
        self, history: History, measure: Measure = Measure.MEAN, unknown: float = 0.0
    ) -> None:
        if not 0 <= unknown <= 1:
            raise TidegateError(f"what is unknown is from 0 to 1, not {unknown}")
        self.history: Final = history
        self.measure: Final = measure
        self.unknown: Final = unknown

    def of(self, first: Filter, second: Filter) -> float:
        """How near the second filter is to the first."""
        match self.measure:
            case Measure.GIVEN:
                return self._given(first, second)
            case Measure.MEAN:
                return (self._given(first, second) + self._given(second, first)) / 2
            case Measure.SHARED:
                return self._shared(first, second)

    def nearest(
        self, f: Filter, among: Mapping[str, Filter], n: int, links: Mapping[str, int] | None = None
    ) -> list[Near]:
        """The n filters that are nearest to one, nearest first.

        Of several that are equally near, first the ones whose owners have fewest `links`, as far as
        these are known, then by name.
        """
        known = links or {}
        found = [Near(name, self.of(f, other)) for name, other in among.items()]
        return nsmallest(n, found, key=lambda x: (-x.proximity, known.get(x.name, 0), x.name))

    def _given(self, first: Filter, second: Filter) -> float:
        matched = self.history.matched(first)
        if matched:
            return self.history.both(first, second) / matched
        if second.covers(first):
            return 1.0
        return self.unknown if second.overlaps(first) else 0.0

    def _shared(self, first: Filter, second: Filter) -> float:
        either = self.history.either(first, second)
        if either:
            return self.history.both(first, second) / either
        if first.covers(second) and second.covers(first):
            return 1.0
        return self.unknown if second.overlaps(first) else 0.0

"""How many events fulfil a predicate?

The **selectivity table** counts, for each predicate by its variable, the events that fulfilled it,
and remembers how many events had been seen when the predicate was new. So its selectivity is a
share of the events that could have fulfilled it. The paper divides by all events; a predicate that
came late would look rarer than it is. When a predicate's last use is gone, its counts go, too: the
next new predicate gets its variable.

A predicate that has not seen any event yet is estimated from **similar** ones: those of its
attribute with the same operator. Of comparisons, the two whose constants are nearest on either side
decide, as in a histogram whose steps are the known predicates; of all others, the mean. Where there
is nothing similar, the mean of the attribute is taken, and at last one half.

Paper: Bittner, Hinze, "Subscription Tree Pruning" (OTM 2006), sections 4.1 and 4.4. How unused
predicates are estimated it leaves to others.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.filters.expression import ORDERINGS, Predicate
from tidegate.filters.meaning import allowed as meaning
from tidegate.filters.valueset import ValueSet
from tidegate.papers.counting.associations import longer
from tidegate.papers.counting.counting_kernels import Variables, tally
from tidegate.papers.counting.pruning_kernels import Shares
from tidegate.papers.predicates import Predicates

Prior: TypeAlias = Callable[[Predicate], float | None]
"""What is known about a predicate before an event was seen: a share of all events, or nothing."""

UNKNOWN: Final = 0.5
"""The selectivity of a predicate of which nothing at all is known."""

_FIRST_ROOM: Final = 64
_Kind: TypeAlias = tuple[Any, ...]


class Counts(NamedTuple):
    """How many events were seen, and how many of them fulfilled each predicate, by its place."""

    seen: int
    fulfilled: NDArray[np.int64]


class SelectivityTable:
    """Counters of events, by variable."""

    def __init__(self, predicates: Predicates, prior: Prior | None = None) -> None:
        self.seen = 0
        self.fulfilled = np.zeros(_FIRST_ROOM, np.int64)
        self._since = np.zeros(_FIRST_ROOM, np.int64)
        self._predicates = predicates
        self._prior = prior

    @property
    def nbytes(self) -> int:
        """The memory of the counters."""
        return self.fulfilled.nbytes + self._since.nbytes

    def growth(self, width: int) -> int:
        """How many bytes more variables below `width` may take."""
        return self.nbytes if width > len(self.fulfilled) else 0

    def begin(self, variables: Variables) -> None:
        """Start counting for predicates that are new."""
        if not len(variables):
            return
        width = int(variables.max()) + 1
        if width > len(self.fulfilled):
            size = max(width, 2 * len(self.fulfilled))
            self.fulfilled, self._since = longer(self.fulfilled, size), longer(self._since, size)
        self.fulfilled[variables] = 0
        self._since[variables] = self.seen

    def feed(self, held: Variables) -> None:
        """Count an event, which fulfils these predicates."""
        tally(held, self.fulfilled)
        self.seen += 1

    def counts(self, variable: int) -> tuple[int, int]:
        """How many events fulfilled a predicate, and how many could have."""
        return int(self.fulfilled[variable]), self.seen - int(self._since[variable])

    def share(self, predicate: Predicate) -> float:
        """The selectivity of any predicate, counted or estimated."""
        variable = self._predicates.find(predicate)
        if variable is not None:
            met, events = self.counts(variable)
            if events:
                return met / events
        return self._estimates()(predicate)

    def shares(self) -> Shares:
        """The selectivities of all predicates in use, by variable; counted or estimated."""
        width = self._predicates.width
        events = self.seen - self._since[:width]
        shares = self.fulfilled[:width] / np.maximum(events, 1)
        unseen = np.flatnonzero(events == 0).tolist()
        if unseen:
            estimate = self._estimates()
            for variable in unseen:
                if self._predicates.uses(variable):
                    shares[variable] = estimate(self._predicates[variable])
        return shares

    def _estimates(self) -> "_Estimates":
        return _Estimates(self, self._predicates, self._prior)


class _Estimates:
    """Selectivities of predicates that were not seen, from those that were.

    Made for a few questions in a row: what it has read of the table does not follow it.
    """

    def __init__(
        self, table: SelectivityTable, predicates: Predicates, prior: Prior | None
    ) -> None:
        self._table = table
        self._predicates = predicates
        self._prior = prior
        self._known: dict[str, _OfAttribute] = {}

    def __call__(self, predicate: Predicate) -> float:
        if self._prior is not None:
            known = self._prior(predicate)
            if known is not None:
                return known
        allowed = meaning(predicate, self._predicates.schema)
        if allowed.is_empty():
            return 0.0
        if self._table.seen == 0:
            return UNKNOWN
        attribute = predicate.attribute
        if attribute not in self._known:
            self._known[attribute] = _OfAttribute(attribute, self._table, self._predicates)
        return self._known[attribute].estimate(predicate, allowed)


class _OfAttribute:
    """The counted predicates of an attribute: similar ones side by side, in their order."""

    def __init__(self, attribute: str, table: SelectivityTable, predicates: Predicates) -> None:
        similar: dict[_Kind, list[tuple[Any, float]]] = {}
        every: list[float] = []
        for variable in predicates.of(attribute):
            met, events = table.counts(variable)
            if events:
                kind, key = _similar(predicates[variable], predicates.allowed(variable))
                similar.setdefault(kind, []).append((key, met / events))
                every.append(met / events)
        self._similar: dict[_Kind, tuple[list[Any], list[float]]] = {}
        for kind, pairs in similar.items():
            pairs.sort()
            self._similar[kind] = [key for key, _ in pairs], [share for _, share in pairs]
        self._mean = _mean(every) if every else UNKNOWN

    def estimate(self, predicate: Predicate, allowed: ValueSet) -> float:
        kind, key = _similar(predicate, allowed)
        keys, shares = self._similar.get(kind, ([], []))
        if not keys:
            return self._mean
        if predicate.operator not in ORDERINGS:
            return _mean(shares)
        at = bisect_left(keys, key)
        return _mean(shares[max(0, at - 1) : at + 1])


def _similar(predicate: Predicate, allowed: ValueSet) -> tuple[_Kind, Any]:
    """What similar predicates have in common, and by what they are sorted."""
    line = min(allowed.spans, default="")
    kind = predicate.operator.value, predicate.mode.value, line
    return kind, allowed.spans[line] if line and predicate.operator in ORDERINGS else ()


def _mean(shares: list[float]) -> float:
    return sum(shares) / len(shares)

"""Roughly how many events match a Boolean filter, given how many meet each predicate?

Three numbers: the smallest share of events that is possible whatever the distribution, the average
for independent predicates, and the largest share that is possible. They are worked out bottom up
from the predicates' own selectivities: Algorithms 1 (AND) and 2 (OR) of Bittner, Hinze,
"Subscription Tree Pruning: A Structure-Independent Routing Optimization for General-Purpose
Publish/Subscribe Systems" (OTM 2006). Negations stand in the predicates already, so AND and OR are
all there is.

Invariant: if the predicates' selectivities are true, the filter's lies from `minimum` to `maximum`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from tidegate.algebra.distribution import Distribution
from tidegate.errors import MeasureError
from tidegate.filters.expression import And, Node, Predicate, Truth
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed


@dataclass(frozen=True, slots=True)
class Selectivity:
    """The share of events that match: at least, on average, at most."""

    minimum: float
    average: float
    maximum: float


OfPredicate: TypeAlias = Callable[[Predicate], float] | Mapping[str, float] | Distribution
"""Where predicates' selectivities come from; the keys of a mapping are their texts."""


def estimate(of: Filter | Node, of_predicate: OfPredicate) -> Selectivity:
    """The selectivity of a filter or tree.

    >>> from tidegate.filters.filter import parse
    >>> s = estimate(
    ...     parse("a = 1 AND (b = 2 OR c = 3)"), {"a = 1": 0.75, "b = 2": 0.5, "c = 3": 0.25}
    ... )
    >>> s.minimum, s.average, s.maximum
    (0.25, 0.46875, 0.75)
    """
    return _estimate(of.tree if isinstance(of, Filter) else of, selectivities(of_predicate))


def degradation(before: Selectivity, after: Selectivity) -> float:
    """How much less selective a filter became: the largest difference among the three numbers.

    >>> degradation(Selectivity(0.0, 0.25, 0.5), Selectivity(0.5, 0.5, 0.5))
    0.5
    """
    return max(
        after.minimum - before.minimum,
        after.average - before.average,
        after.maximum - before.maximum,
    )


class Selectivities:
    """The selectivities of predicates, asked for once each; `MeasureError` where there is none."""

    def __init__(self, of_predicate: OfPredicate) -> None:
        self._of_predicate = of_predicate
        self._known: dict[str, float] = {}

    def __call__(self, predicate: Predicate) -> float:
        """The share of events that meet the predicate."""
        text = str(predicate)
        if text not in self._known:
            share = self._look_up(predicate, text)
            if share is None:
                raise MeasureError(f"nothing says how many events meet {text}")
            if not 0 <= share <= 1:
                raise MeasureError(f"{share} is not a share of the events that meet {text}")
            self._known[text] = share
        return self._known[text]

    def _look_up(self, predicate: Predicate, text: str) -> float | None:
        source = self._of_predicate
        if isinstance(source, Mapping):
            return source.get(text)
        if callable(source):
            return source(predicate)
        return source.probability(predicate.attribute, allowed(predicate, source.schema))


def selectivities(of_predicate: OfPredicate) -> Selectivities:
    """The source of selectivities, as one that remembers what it was asked."""
    return of_predicate if isinstance(of_predicate, Selectivities) else Selectivities(of_predicate)


def _estimate(node: Node, selectivity: Selectivities) -> Selectivity:
    if isinstance(node, Predicate):
        share = selectivity(node)
        return Selectivity(share, share, share)
    if isinstance(node, Truth):
        return _ALL if node.value else _NONE
    parts = [_estimate(part, selectivity) for part in node.parts]
    if isinstance(node, And):
        least, average, most = reduce(_and, parts, _ALL_SUMS)
        return Selectivity(max(0.0, least), average, most)
    least, average, most = reduce(_or, parts, _NO_SUMS)
    return Selectivity(least, average, min(1.0, most))


_Sums: TypeAlias = tuple[float, float, float]

_ALL = Selectivity(1.0, 1.0, 1.0)
_NONE = Selectivity(0.0, 0.0, 0.0)
_ALL_SUMS: _Sums = (1.0, 1.0, 1.0)
_NO_SUMS: _Sums = (0.0, 0.0, 0.0)


def _and(so_far: _Sums, part: Selectivity) -> _Sums:
    """Algorithm 1: the parts overlap as little, evenly, or as much as they can."""
    least, average, most = so_far
    return least + part.minimum - 1.0, average * part.average, min(most, part.maximum)


def _or(so_far: _Sums, part: Selectivity) -> _Sums:
    """Algorithm 2: the parts overlap as much, evenly, or as little as they can."""
    least, average, most = so_far
    return (
        max(least, part.minimum),
        average + part.average - average * part.average,
        most + part.maximum,
    )

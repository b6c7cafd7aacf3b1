"""Which outputs of a diagram can be one?

Two outputs about the same attribute with the same child nodes belong to filters that differ in one
predicate only. They are a **group** (Li, Hou and Jacobsen 2005, Fig. 10, whose step 4 must read
"same"), and the rules for merging are rules for that one attribute:

- *perfect*: a single predicate that allows exactly what two of them allow together, such as
  `price <= 150` for `price < 150` and `price = 150`;
- *imperfect*: a single predicate that allows more (the paper's Table 1: `>= 145` for `> 150`,
  `= 145` and `= 148`; IS NOT NULL for `< 10` and `> 20`), or none at all, the differing one being
  left out. Such a merger is made if its **IMT** is small enough: its imperfect degree, which part
  of what it lets through no member wants, times its probability (sections 5.3 and 5.4).

Groups are gone through from the lowest values to the highest and back, since only neighbours can
become one predicate.

Invariant: a cluster's predicate allows everything that its members' predicates allow.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from tidegate.algebra.express import constants, enclosing, express, union_of
from tidegate.filters.expression import Mode, Operator, Predicate
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.values import family
from tidegate.filters.valueset import ValueSet

_STRETCHES: Final = 4  # bounds on a line that one predicate can have, lists not counted


class Part(NamedTuple):
    """Values of the attribute, and which share of the events that have them is wanted, at least.

    All of them, but for mergers that left out another attribute before.
    """

    values: ValueSet
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Outputs that are one, or could be."""

    numbers: tuple[int, ...]
    """The filters whose outputs they are."""
    predicate: Predicate | None
    """What it asks of the attribute; None if nothing."""
    values: ValueSet
    """What that allows."""
    parts: tuple["Part", ...]
    """What its members want of that."""
    given: tuple[Predicate, ...]
    """The predicates of those that went into it."""

    @property
    def wanted(self) -> ValueSet | None:
        """What the members want, if it is a set of values that can be said."""
        if any(part.share < 1 for part in self.parts):
            return None
        return union_of([part.values for part in self.parts])

    @property
    def is_perfect(self) -> bool:
        """Whether it allows what its members want, and nothing else."""
        return self.values == self.wanted


class Cost(NamedTuple):
    """What a cluster costs as a merger; for a perfect one, nothing need be known to say so."""

    degree: float
    probability: float | None
    imt: float


Rate: TypeAlias = Callable[[Cluster], Cost | None]
"""What a cluster costs; None if that cannot be said."""


class Rules:
    """The rules for merging the outputs of a group, all of which are about one attribute.

    With `concise`, a merger has no more constants than the longest of those it is made of;
    otherwise it may also be a list. `rate` and `imt` are for imperfect mergers.
    """

    def __init__(
        self,
        attribute: str,
        schema: Schema | None,
        *,
        concise: bool = True,
        rate: Rate | None = None,
        imt: float = 0.0,
    ) -> None:
        self._attribute = attribute
        self._schema = schema
        self._concise = concise
        self._rate = rate
        self._imt = imt

    def single(
        self, number: int, predicate: Predicate, parts: tuple[Part, ...] | None = None
    ) -> Cluster:
        """A cluster of one output; `parts` if it is a merger, and not all of it may be wanted."""
        values = allowed(predicate, self._schema)
        return Cluster((number,), predicate, values, parts or (Part(values),), (predicate,))

    def clusters(self, group: Iterable[Cluster]) -> list[Cluster]:
        """What becomes of a group."""
        found = sorted(group, key=lambda cluster: _position(cluster.values))
        for _ in range(2):  # upwards, and back
            found = self._swept(found, self.perfect)[::-1]
        if len(found) > 2:
            ends = self.perfect(found[0], found[-1])
            if ends is not None:
                found = [ends, *found[1:-1]]
        if self._rate is None or len(found) == 1:
            return found
        whole = self.imperfect(found)
        return self._swept(found, lambda *pair: self.imperfect(pair)) if whole is None else [whole]

    def _swept(
        self, clusters: Sequence[Cluster], join: Callable[[Cluster, Cluster], Cluster | None]
    ) -> list[Cluster]:
        found = list(clusters[:1])
        for cluster in clusters[1:]:
            joined = join(found[-1], cluster)
            if joined is None:
                found.append(cluster)
            else:
                found[-1] = joined
        return found

    def perfect(self, one: Cluster, other: Cluster) -> Cluster | None:
        """A cluster that allows just what the two do, if one predicate can say that."""
        if not (one.is_perfect and other.is_perfect):
            return None
        values = one.values.union(other.values)
        if values is None:
            return None
        for each in (one, other):
            if values == each.values:
                return self._joined([one, other], each.predicate, values)
        predicate = self._expressed(values, [one, other])
        if predicate is None and not universe(self._attribute, self._schema).within(values):
            return None
        return self._joined([one, other], predicate, values)

    def imperfect(self, clusters: Sequence[Cluster]) -> Cluster | None:
        """A cluster that allows at least what these do, the one that costs the least, if that is
        not too much."""
        assert self._rate is not None
        given = [p for cluster in clusters for p in cluster.given]
        sets = [cluster.values for cluster in clusters]
        found: list[tuple[float, int, Cluster]] = []
        around = enclosing(self._attribute, sets, given, self._schema)
        candidates: list[Predicate | None] = [None]
        if isinstance(around, Predicate):
            candidates.insert(0, around)
        for place, candidate in enumerate(candidates):
            values = universe(self._attribute, self._schema)
            if candidate is not None:
                values = allowed(candidate, self._schema)
            joined = self._joined(clusters, candidate, values)
            cost = self._rate(joined)
            if cost is not None and cost.imt <= self._imt:
                found.append((cost.imt, place, joined))
        return min(found)[2] if found else None

    def _expressed(self, values: ValueSet, clusters: Sequence[Cluster]) -> Predicate | None:
        """One predicate that allows these values and no others."""
        given = [p for cluster in clusters for p in cluster.given]
        if not self._concise:
            listed = self._listed(values, given)
            if listed is not None:
                return listed
        if any(len(bounds) > _STRETCHES for bounds in values.spans.values()):
            return None
        said = express(self._attribute, values, given, self._schema)
        longest = max(constants(p) for p in given)
        if not isinstance(said, Predicate) or (self._concise and constants(said) > longest):
            return None
        return said

    def _listed(self, values: ValueSet, given: Sequence[Predicate]) -> Predicate | None:
        """A list of the members' constants, if that says it."""
        if not all(p.operator in _LISTS and p.mode is Mode.TRUE for p in given):
            return None
        members = dict.fromkeys((type(c), c) for p in given for c in p.constants if c is not None)
        if len({family(c) for _, c in members}) != 1:  # type: ignore[arg-type]
            return None
        listed = Predicate(self._attribute, Operator.IN, tuple(c for _, c in members))
        return listed if allowed(listed, self._schema) == values else None

    def _joined(
        self, clusters: Sequence[Cluster], predicate: Predicate | None, values: ValueSet
    ) -> Cluster:
        return Cluster(
            tuple(number for cluster in clusters for number in cluster.numbers),
            predicate,
            values,
            tuple(dict.fromkeys(part for cluster in clusters for part in cluster.parts)),
            tuple({str(p): p for cluster in clusters for p in cluster.given}.values()),
        )


_LISTS: Final = (Operator.EQUAL, Operator.IN)


def _position(values: ValueSet) -> list[tuple[str, Any, Any]]:
    """Something to sort by, so that neighbouring ranges come one after the other."""
    return [(line, bounds[0], bounds[-1]) for line, bounds in sorted(values.spans.items())]

"""What stands for what, once outputs have been merged?

A **merger** is an output in the place of others, its members, which are kept beside the diagrams.
When a member goes, the merger is undone and the other members come back; when the merger is covered
by something new, it goes with all its members (Li, Hou and Jacobsen 2005, section 5.1.2). What a
new merger covers becomes a member, too (Fig. 10, line 9). Members of a merger that is merged again
are members of the new one: degrees are measured against what was asked for, never against mergers.

Invariant: a filter is in the table or a member of one merger, which covers it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, TypeAlias

from tidegate.algebra.distribution import Distribution, check_schema
from tidegate.algebra.express import union_of
from tidegate.algebra.merge import assess, require
from tidegate.errors import MeasureError
from tidegate.filters.expression import (
    Node,
    Or,
    Predicate,
    Truth,
    conjunction,
    disjunction,
    map_predicates,
)
from tidegate.filters.filter import Filter
from tidegate.filters.valueset import NOTHING, ValueSet, intersection
from tidegate.papers.mbd.merging import Cluster, Cost, Part, Rules
from tidegate.papers.mbd.node_kernels import FALSE, TRUE
from tidegate.papers.mbd.table import Table

_FREE: Final = Cost(0.0, None, 0.0)

_Group: TypeAlias = tuple[str, int, int]
"""An attribute, and two child nodes."""


@dataclass(frozen=True, slots=True)
class Merger:
    """A filter that stands for others in a table, and what that costs.

    `degree` is the imperfect degree, `imt` that times the merger's probability, which is None where
    nothing was measured because nothing is added. Both are upper bounds for a merger of mergers
    that left out different attributes.
    """

    number: int
    filter: Filter
    members: tuple[int, ...]
    degree: float
    probability: float | None
    imt: float


@dataclass(frozen=True, slots=True)
class MergeRule:
    """When to merge by itself, and how: see `MBD.merge`."""

    outputs: float
    """Merge when diagrams have so many outputs on average."""
    imt: float = 0.0
    distribution: Distribution | None = None
    advertised: Sequence[Filter] | None = None
    concise: bool = True


@dataclass(slots=True)
class _Kept:
    """The members of a merger, what they want of the attribute it was merged on, and its degree.

    There are no parts if that attribute was left out.
    """

    members: dict[int, Filter]
    parts: tuple[Part, ...]
    degree: float


class Mergers:
    """The mergers of a table. They have negative numbers."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._kept: dict[int, _Kept] = {}
        self._merger: dict[int, int] = {}  # of each member
        self._next = -1

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, number: int) -> bool:
        """Whether a filter is a member."""
        return number in self._merger

    def members(self, number: int) -> dict[int, Filter]:
        """The members of a merger; KeyError if it is none."""
        return self._kept[number].members

    def of(self, member: int) -> int:
        """The merger that a filter is a member of; KeyError if it is in none."""
        return self._merger[member]

    def remove(self, number: int) -> bool:
        """Remove a member, which undoes its merger, or a merger with all its members.

        Whether it was either.
        """
        if number in self._merger:
            merger = self._merger[number]
            others = self._drop(merger)
            del others[number]
            for other, f in others.items():
                self._table.add(other, f)
            return True
        if number in self._kept:
            self._drop(number)
            return True
        return False

    def _drop(self, merger: int) -> dict[int, Filter]:
        members = self._kept.pop(merger).members
        for member in members:
            del self._merger[member]
        self._table.remove(merger)
        return members

    # -- merging

    def merge(self, rule: MergeRule, contained: Callable[[Filter], list[int]]) -> list[Merger]:
        """Merge what the rules allow; what was made and is still there afterwards."""
        if rule.imt > 0:
            require(rule.distribution)
        made: dict[int, Merger] = {}
        tried: dict[_Group, tuple[int, ...]] = {}
        changed = True
        while changed:
            changed = False
            diagram = self._table.diagram
            for merger in self._round(rule, contained, tried):
                made[merger.number] = merger
                changed = True
                if self._table.diagram is not diagram:  # built anew, as the table has shrunk
                    tried.clear()
                    break
        return [merger for number, merger in made.items() if number in self._kept]

    def _round(
        self,
        rule: MergeRule,
        contained: Callable[[Filter], list[int]],
        tried: dict[_Group, tuple[int, ...]],
    ) -> Iterator[Merger]:
        """What is made of each group, as long as diagrams are those that the groups are of."""
        for key, group in self._groups():
            left = tuple(number for number in group if number in self._table.entries)
            if len(left) < 2 or tried.get(key) == left:
                continue
            tried[key] = left
            yield from self._merged(key[0], left, rule, contained)

    def _groups(self) -> Iterator[tuple[_Group, list[int]]]:
        """Filters whose outputs are about one attribute and have the same child nodes."""
        found: dict[_Group, list[int]] = {}
        diagram, attribute = self._table.diagram, self._table.predicates.attribute
        for number, entry in self._table.entries.items():
            node = diagram.output(entry.slot)
            if node not in (FALSE, TRUE):
                variable, low, high = diagram.ends(node)
                found.setdefault((attribute(variable), low, high), []).append(number)
        yield from ((key, group) for key, group in found.items() if len(group) > 1)

    def _merged(
        self,
        attribute: str,
        group: Sequence[int],
        rule: MergeRule,
        contained: Callable[[Filter], list[int]],
    ) -> Iterator[Merger]:
        rate: Callable[[Cluster], Cost | None] | None = None
        if rule.distribution is not None:
            rate = _Rating(self, attribute, rule.distribution, rule.advertised).cost
        rules = Rules(attribute, self._table.schema, concise=rule.concise, rate=rate, imt=rule.imt)
        singles = [self._single(number, rules) for number in group]
        for cluster in rules.clusters(singles):
            if len(cluster.numbers) > 1 and all(n in self._table.entries for n in cluster.numbers):
                cost = _FREE if cluster.is_perfect or rate is None else rate(cluster)
                assert cost is not None
                yield self._replace(cluster, cost, contained)

    def _single(self, number: int, rules: Rules) -> Cluster:
        kept = self._kept.get(number)
        cluster = rules.single(number, self.top(number))
        if kept is None:
            return cluster
        parts = kept.parts or (Part(cluster.values, 1.0 - kept.degree),)
        return rules.single(number, self.top(number), parts)

    def _replace(
        self, cluster: Cluster, cost: Cost, contained: Callable[[Filter], list[int]]
    ) -> Merger:
        """Put a merger in the place of those it is made of, and of all that it covers."""
        f = self.written(cluster)
        members: dict[int, Filter] = {}
        for number in dict.fromkeys((*cluster.numbers, *contained(f))):
            kept = self._kept.pop(number, None)
            members |= {number: self._table.get(number)} if kept is None else kept.members
            self._table.remove(number)
        while self._next in self._table or self._next in self._merger:
            self._next -= 1
        merger = self._next
        self._table.add(merger, f)
        parts = () if cluster.predicate is None else cluster.parts
        members = dict(sorted(members.items()))
        self._kept[merger] = _Kept(members, parts, cost.degree)
        self._merger.update(dict.fromkeys(members, merger))
        return Merger(merger, f, tuple(members), *cost)

    # -- the filters of clusters

    def top(self, number: int) -> Predicate:
        """The predicate of a filter's output node."""
        node = self._table.diagram.output(self._table.entries[number].slot)
        return self._table.predicates[self._table.diagram.ends(node)[0]]

    def written(self, cluster: Cluster) -> Filter:
        """The filter of a cluster: one of its members with another predicate at the top."""
        table = self._table
        number = cluster.numbers[0]
        variable = table.predicates.find(self.top(number))
        tree = table.entries[number].filter.tree

        def changed(predicate: Predicate) -> bool:
            return table.predicates.find(predicate) == variable

        if cluster.predicate is not None:
            said = cluster.predicate
            node = map_predicates(tree, lambda p: said if changed(p) else p)
            return Filter.of(node, table.schema)
        return Filter.of(_without(tree, changed), table.schema)

    def flat(self, numbers: Iterable[int]) -> list[Filter]:
        """What was asked for by these filters, members in the place of mergers."""
        found: list[Filter] = []
        for number in numbers:
            kept = self._kept.get(number)
            found += [self._table.get(number)] if kept is None else kept.members.values()
        return found

    def rest(self, number: int) -> dict[str, list[ValueSet]] | None:
        """What a filter asks for below its output; None if it is not a mere AND of predicates."""
        entry = self._table.entries[number]
        if entry.formula.parts:
            return None
        top = self._table.predicates.find(self.top(number))
        found: dict[str, list[ValueSet]] = {}
        for variable in entry.formula.variables:
            if variable != top:
                name = self._table.predicates.attribute(variable)
                found.setdefault(name, []).append(self._table.predicates.allowed(variable))
        return found


def _without(tree: Node, certain: Callable[[Predicate], bool]) -> Node:
    """A tree in which some predicates are taken for true."""
    if isinstance(tree, Predicate):
        return Truth(True) if certain(tree) else tree
    if isinstance(tree, Truth):
        return tree
    parts = [_without(part, certain) for part in tree.parts]
    if isinstance(tree, Or):
        return Truth(True) if Truth(True) in parts else disjunction(parts)
    return conjunction([part for part in parts if part != Truth(True)])


class _Rating:
    """What mergers of a group cost.

    The members of a group have everything in common but one attribute, so as long as attributes are
    independent and nothing is known of advertisements, that attribute alone decides. Otherwise the
    algebra measures the merger and its members as they are.

    Mergers that left out an attribute want no set of values of this one, only a share of the events
    that have them. Where such values overlap with others, what is wanted in both is counted once,
    and the cost is an upper bound.
    """

    def __init__(
        self,
        mergers: Mergers,
        attribute: str,
        distribution: Distribution,
        advertised: Sequence[Filter] | None,
    ) -> None:
        self._mergers = mergers
        self._attribute = attribute
        self._distribution = distribution
        self._advertised = advertised
        self._rest: float | None = None

    def cost(self, cluster: Cluster) -> Cost | None:
        """What a cluster costs; None if it lets everything through or cannot be measured."""
        rest = self._mergers.rest(cluster.numbers[0])
        if cluster.predicate is None and not rest:
            return None
        names = (self._attribute, *(rest or ()))
        if (
            rest is None
            or self._advertised is not None
            or len(set(names)) < len(names)
            or any("." in name for name in names)
        ):
            return self._measured(cluster)
        if self._rest is None:
            self._rest = self._share(rest)
        whole = self._distribution.probability(self._attribute, cluster.values)
        wanted = self._wanted(cluster.parts)
        if whole is None or wanted is None or self._rest < 0:
            return self._measured(cluster)
        degree = min(1.0, max(0.0, (whole - wanted) / whole)) if whole else 0.0
        return Cost(degree, whole * self._rest, degree * whole * self._rest)

    def _share(self, rest: dict[str, list[ValueSet]]) -> float:
        """How likely it is that an event has what all members ask for; -1 if that is not known."""
        shares = [
            self._distribution.probability(name, intersection(sets)) for name, sets in rest.items()
        ]
        known = [share for share in shares if share is not None]
        return prod(known) if len(known) == len(shares) else -1.0

    def _wanted(self, parts: Sequence[Part]) -> float | None:
        """How likely it is, at least, that a value is wanted; None if that is not known."""
        sure = union_of([NOTHING, *(part.values for part in parts if part.share == 1.0)])
        if sure is None:
            return None
        taken = [sure]
        masses = [self._distribution.probability(self._attribute, sure)]
        for part in sorted(parts, key=lambda part: -part.share):
            if part.share < 1 and all(part.values.meets(other) is False for other in taken):
                mass = self._distribution.probability(self._attribute, part.values)
                masses.append(None if mass is None else mass * part.share)
                taken.append(part.values)
        return None if None in masses else sum(mass for mass in masses if mass is not None)

    def _measured(self, cluster: Cluster) -> Cost | None:
        f = self._mergers.written(cluster)
        check_schema(f, self._distribution)
        members = self._mergers.flat(cluster.numbers)
        try:
            found = assess(f, members, self._distribution, self._advertised)
        except MeasureError:
            return None
        return Cost(found.degree, found.probability, found.imt)

"""When do two filters say the same?

The canonical form of a filter is a tree of constraints `attribute ∈ value set`. Constraints on one
attribute under one AND are intersected, under one OR united, so however a range, a list or a
negation was written, the same set results; then the tree is flattened, its parts deduplicated, and
what another part makes redundant is absorbed. A conjunction has exactly one canonical form. Parts
are held in frozensets: their order carries no meaning.

A predicate with an unbound parameter has no value set yet and stands as it is.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.filters.expression import And, Node, Predicate, Truth
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet, intersection, union


@dataclass(frozen=True, slots=True)
class Constraint:
    """The attribute's value is in the set."""

    attribute: str
    allowed: ValueSet


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold."""

    parts: "frozenset[Form]"


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: "frozenset[Form]"


@dataclass(frozen=True, slots=True)
class Open:
    """A predicate with an unbound parameter, as it is printed: that tells 1 from 1.0 and TRUE."""

    text: str


Form: TypeAlias = Constraint | Every | Some | Open | bool


def canonical_form(node: Node, schema: Schema | None) -> Form:
    """The canonical form of a tree."""
    if isinstance(node, Truth):
        return node.value
    if isinstance(node, Predicate):
        if node.is_open:
            return Open(str(node))
        return constraint(node.attribute, allowed(node, schema), schema)
    if isinstance(node, And):
        return every((canonical_form(part, schema) for part in node.parts), schema)
    return some((canonical_form(part, schema) for part in node.parts), schema)


def every(parts: Iterable[Form], schema: Schema | None) -> Form:
    """AND of canonical forms."""
    sorted_out = _sort_out(parts, Every, decisive=False)
    if sorted_out is None:
        return False
    found, others = sorted_out
    sets: dict[str, ValueSet] = {}
    kept: list[Form] = []
    for attribute, each in found.items():
        if len(each) == 1:
            sets[attribute] = each[0]
            kept.append(Constraint(attribute, each[0]))
            continue
        sets[attribute] = intersection(each)
        kept.append(constraint(attribute, sets[attribute], schema))
        if kept[-1] is False:
            return False

    def holds_anyway(member: Constraint) -> bool:
        held = sets.get(member.attribute)
        return held is not None and held.within(member.allowed) is True

    kept = [part for part in kept if part is not True]
    kept += _absorb(others, Some, holds_anyway)
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else Every(frozenset(kept))


def some(parts: Iterable[Form], schema: Schema | None) -> Form:
    """OR of canonical forms."""
    sorted_out = _sort_out(parts, Some, decisive=True)
    if sorted_out is None:
        return True
    found, others = sorted_out
    sets = {attribute: union(each) for attribute, each in found.items()}
    kept = [constraint(attribute, held, schema) for attribute in sets for held in sets[attribute]]
    if any(part is True for part in kept):
        return True

    def allowed_anyway(member: Constraint) -> bool:
        return any(member.allowed.within(held) for held in sets.get(member.attribute, ()))

    kept = [part for part in kept if part is not False]
    kept += _absorb(others, Every, allowed_anyway)
    if not kept:
        return False
    return kept[0] if len(kept) == 1 else Some(frozenset(kept))


def _sort_out(
    parts: Iterable[Form], kind: type[Every] | type[Some], *, decisive: bool
) -> tuple[dict[str, list[ValueSet]], set[Form]] | None:
    """The value sets of each attribute, and the other parts; None if one part decides alone."""
    found: dict[str, list[ValueSet]] = {}
    others: set[Form] = set()
    for part in _flat(parts, kind):
        if part is decisive:
            return None
        if isinstance(part, Constraint):
            found.setdefault(part.attribute, []).append(part.allowed)
        elif not isinstance(part, bool):
            others.add(part)
    return found, others


def _flat(parts: Iterable[Form], kind: type) -> Iterable[Form]:
    for part in parts:
        if isinstance(part, Every | Some) and type(part) is kind:
            yield from part.parts
        else:
            yield part


def _absorb(
    others: set[Form], kind: type[Every] | type[Some], redundant: Callable[[Constraint], bool]
) -> list[Form]:
    """The parts that those beside them do not make redundant (absorption).

    Under AND an OR goes if one of its members holds anyway; under OR an AND goes if one of its
    members is allowed anyway; and both go if some of their members alone stand beside them.
    """
    if not others:
        return []
    groups = [part.parts for part in others if isinstance(part, kind)]
    frequency = Counter(member for group in groups for member in group)
    by_rarest: dict[Form, list[frozenset[Form]]] = {}
    for group in groups:
        by_rarest.setdefault(min(group, key=frequency.__getitem__), []).append(group)

    def goes(group: frozenset[Form]) -> bool:
        return any(
            (redundant(member) if isinstance(member, Constraint) else member in others)
            or any(smaller < group for smaller in by_rarest.get(member, ()))
            for member in group
        )

    return [part for part in others if not (isinstance(part, kind) and goes(part.parts))]


def constraint(attribute: str, held: ValueSet, schema: Schema | None) -> Form:
    """The form of a condition on one attribute."""
    if held.is_empty():
        return False
    if universe(attribute, schema).within(held):
        return True
    return Constraint(attribute, held)

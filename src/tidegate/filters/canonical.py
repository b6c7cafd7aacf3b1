"""When do two filters say the same?

The canonical form of a filter is a tree of constraints `attribute ∈ value set`. Constraints on one
attribute under one AND are intersected, under one OR united, so however a range, a list or a
negation was written, the same set results; then the tree is flattened, its parts deduplicated, and
what another part makes redundant is absorbed. A conjunction has exactly one canonical form. Parts
are held in frozensets: their order carries no meaning.

A predicate with an unbound parameter has no value set yet and stands as it is.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.filters.expression import And, Node, Parameter, Predicate, Truth
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet


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
    """A predicate with an unbound parameter; its constants' types tell 1 from 1.0."""

    predicate: Predicate
    types: tuple[type, ...]


Form: TypeAlias = Constraint | Every | Some | Open | bool


def canonical_form(node: Node, schema: Schema | None) -> Form:
    """The canonical form of a tree."""
    if isinstance(node, Truth):
        return node.value
    if isinstance(node, Predicate):
        if any(isinstance(constant, Parameter) for constant in node.constants):
            return Open(node, tuple(type(constant) for constant in node.constants))
        return _constraint(node.attribute, allowed(node, schema), schema)
    if isinstance(node, And):
        return every((canonical_form(part, schema) for part in node.parts), schema)
    return some((canonical_form(part, schema) for part in node.parts), schema)


def every(parts: Iterable[Form], schema: Schema | None) -> Form:
    """AND of canonical forms."""
    sets: dict[str, ValueSet] = {}
    others: set[Form] = set()
    for part in _flat(parts, Every):
        if part is False:
            return False
        if isinstance(part, Constraint):
            known = sets.get(part.attribute)
            sets[part.attribute] = part.allowed if known is None else known & part.allowed
        elif part is not True:
            others.add(part)
    kept: list[Form] = []
    for attribute, held in sets.items():
        constraint = _constraint(attribute, held, schema)
        if constraint is False:
            return False
        if constraint is not True:
            kept.append(constraint)
    kept += [other for other in others if not _absorbed(other, others, sets, within=True)]
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else Every(frozenset(kept))


def some(parts: Iterable[Form], schema: Schema | None) -> Form:
    """OR of canonical forms."""
    sets: dict[str, ValueSet] = {}
    others: set[Form] = set()
    for part in _flat(parts, Some):
        if part is True:
            return True
        if isinstance(part, Constraint):
            known = sets.get(part.attribute)
            union = part.allowed if known is None else known.union(part.allowed)
            if union is None:
                others.add(part)
            else:
                sets[part.attribute] = union
        elif part is not False:
            others.add(part)
    kept: list[Form] = []
    for attribute, held in sets.items():
        constraint = _constraint(attribute, held, schema)
        if constraint is True:
            return True
        if constraint is not False:
            kept.append(constraint)
    kept += [other for other in others if not _absorbed(other, others, sets, within=False)]
    if not kept:
        return False
    return kept[0] if len(kept) == 1 else Some(frozenset(kept))


def _flat(parts: Iterable[Form], kind: type) -> Iterable[Form]:
    for part in parts:
        if isinstance(part, Every | Some) and type(part) is kind:
            yield from part.parts
        else:
            yield part


def _absorbed(part: Form, others: set[Form], sets: dict[str, ValueSet], *, within: bool) -> bool:
    """Whether the parts beside it make this part redundant (absorption).

    Under AND (`within`) an OR goes if one of its members holds anyway; under OR an AND goes if one
    of its members is already allowed.
    """
    if isinstance(part, Constraint):
        known = sets.get(part.attribute)
        return known is not None and part.allowed.within(known) is True
    if type(part) is not (Some if within else Every):
        return False
    assert isinstance(part, Some | Every)
    for member in part.parts:
        if isinstance(member, Constraint):
            known = sets.get(member.attribute)
            if known is None:
                continue
            inner, outer = (known, member.allowed) if within else (member.allowed, known)
            if inner.within(outer):
                return True
        elif member in others:
            return True
    return any(
        isinstance(other, Some | Every) and type(other) is type(part) and other.parts < part.parts
        for other in others
    )


def _constraint(attribute: str, held: ValueSet, schema: Schema | None) -> Form:
    if held.is_empty():
        return False
    if universe(attribute, schema).within(held):
        return True
    return Constraint(attribute, held)

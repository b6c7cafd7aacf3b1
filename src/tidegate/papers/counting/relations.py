"""Which predicates of a table follow from a filter, imply it, or exclude it?

The paper has no covering for Boolean trees. Counting finds some of it, because trees without NOT
are monotone: all predicates that are sure to hold where a filter holds are taken for fulfilled, and
the trees that hold then **cover** the filter. That is asked for each of its alternatives (the ANDs
of predicates that it is the OR of), and all of them have to be covered. The other two questions are
asked of the opposite trees (see `tree_kernels`):

- if the predicates that exclude an alternative are fulfilled there, the tree cannot hold where the
  alternative does; a tree that **overlaps** the filter is one that some alternative leaves;
- if the predicates that imply a clause of the filter are fulfilled there, some of them hold
  wherever the tree does; a filter that is the AND of clauses (ORs of predicates) **covers** the
  trees of which all its clauses say so.

A filter with too many alternatives or clauses is asked about once, with the predicates that are
sure for all of it. The predicates of a tree are looked at one by one: that `x > 1 AND x < 3` is
`x = 2`, on integers, or that `x = 1 AND x = 2` matches nothing, is not seen. So covers can be
missed and overlaps claimed, never the other way round.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from tidegate.filters.expression import And, Node, Or, Predicate, Truth
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed as meaning
from tidegate.filters.valueset import ValueSet, intersection, union
from tidegate.papers.counting.counting_kernels import Variables
from tidegate.papers.counting.tree_bytes import normal
from tidegate.papers.predicates import Predicates

MOST_ASKED: Final = 256
"""Alternatives or clauses of a filter that are asked about one by one."""

_Related: TypeAlias = Callable[[ValueSet, str], list[int]]
_Group: TypeAlias = tuple[Predicate, ...]


def following(f: Filter, predicates: Predicates) -> list[Variables]:
    """For each alternative of a filter, the variables that hold wherever it does."""
    return _of_alternatives(f, predicates, predicates.covering)


def excluded(f: Filter, predicates: Predicates) -> list[Variables]:
    """For each alternative of a filter, the variables that hold nowhere where it does."""
    return _of_alternatives(f, predicates, predicates.disjoint)


def implying(f: Filter, predicates: Predicates) -> list[Variables]:
    """For each clause of a filter, the variables that hold only where it does."""
    tree = normal(f.tree)
    clauses = spread(tree, And)
    if clauses is None:
        return [_sorted(_sure(tree, predicates, predicates.covered, And))]
    return [
        _sorted(
            {
                variable
                for attribute, sets in _by_attribute(clause, predicates).items()
                for allowed in union(sets)
                for variable in predicates.covered(allowed, attribute)
            }
        )
        for clause in clauses
    ]


def _of_alternatives(f: Filter, predicates: Predicates, related: _Related) -> list[Variables]:
    tree = normal(f.tree)
    alternatives = spread(tree, Or)
    if alternatives is None:
        return [_sorted(_sure(tree, predicates, related, Or))]
    found = []
    for alternative in alternatives:
        sets = {
            attribute: intersection(sets)
            for attribute, sets in _by_attribute(alternative, predicates).items()
        }
        if not any(allowed.is_empty() for allowed in sets.values()):
            found.append(
                _sorted({v for name, allowed in sets.items() for v in related(allowed, name)})
            )
    return found


def _by_attribute(group: _Group, predicates: Predicates) -> dict[str, list[ValueSet]]:
    sets: dict[str, list[ValueSet]] = {}
    for predicate in group:
        own = meaning(predicate, predicates.schema)
        sets.setdefault(predicate.attribute, []).append(own)
    return sets


def _sure(
    node: Node, predicates: Predicates, related: _Related, weak: type[And] | type[Or]
) -> set[int]:
    """The variables that are related to all of a tree.

    Under the `weak` operator that takes all parts to say so; under the other one, one is enough.
    """
    if isinstance(node, Predicate):
        return set(related(meaning(node, predicates.schema), node.attribute))
    if isinstance(node, Truth):
        if node.value is (weak is Or):
            return set()
        return {v for attribute in predicates.attributes for v in predicates.of(attribute)}
    parts = [_sure(part, predicates, related, weak) for part in node.parts]
    return set.intersection(*parts) if isinstance(node, weak) else set().union(*parts)


def spread(node: Node, outer: type[And] | type[Or]) -> list[_Group] | None:
    """The groups of predicates that a normal tree is the AND, or the OR, of; None if too many.

    >>> from tidegate import parse
    >>> for clause in spread(parse("a = 1 OR b = 2 AND c = 3").tree, And):
    ...     print(*clause, sep=" OR ")
    a = 1 OR b = 2
    a = 1 OR c = 3
    """
    if isinstance(node, Predicate):
        return [(node,)]
    if isinstance(node, Truth):
        return [] if node.value is (outer is And) else [()]
    found: list[_Group] = [] if isinstance(node, outer) else [()]
    for each in node.parts:
        part = spread(each, outer)
        if part is None:
            return None
        if isinstance(node, outer):
            found += part
        elif len(found) * len(part) <= MOST_ASKED:
            found = [one + other for one in found for other in part]
        else:
            return None
    return found if len(found) <= MOST_ASKED else None


def _sorted(variables: set[int]) -> Variables:
    return np.array(sorted(variables), np.int32)

"""A filter like another one, but for some constants.

When one of a filter's constants moves, most of what is known about it stays: the other predicates,
what they allow, and the canonical form but for one attribute. `remade` keeps the predicates that
have not changed, as the same objects; `moved` takes over what follows from them. To read, bind or
normalise such a filter costs about as much as the constants that move, however many there are.

Invariant: what is taken over is what would be worked out anew.
"""

from collections.abc import Callable

from tidegate.filters.canonical import Constraint, Every, Form, canonical_form, constraint, every
from tidegate.filters.expression import And, Node, Or, Predicate, Truth, conjuncts
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template
from tidegate.filters.valueset import ValueSet


def remade(node: Node, change: Callable[[Predicate], Predicate]) -> Node:
    """The tree with `change` applied to its predicates, left to right; what it keeps is the same.

    >>> from tidegate.filters.filter import parse
    >>> tree = parse("a = 1 AND (b = 2 OR c = 3)").tree
    >>> remade(tree, lambda predicate: predicate) is tree
    True
    """
    if isinstance(node, Predicate):
        return change(node)
    if isinstance(node, Truth):
        return node
    parts = tuple([remade(part, change) for part in node.parts])
    if all(map(_same, parts, node.parts)):
        return node
    return And(parts) if isinstance(node, And) else Or(parts)


def moved(before: Filter, tree: Node) -> Filter:
    """The filter with a tree that was remade of another one's, all parameters bound.

    >>> from tidegate.filters.filter import parse
    >>> f = parse("a = 1 AND b < 2")
    >>> g = moved(f, remade(f.tree, lambda p: p if p.attribute == "a" else parse("b < 3").tree))
    >>> print(g)
    a = 1 AND b < 3
    >>> g == parse("b < 3 AND a = 1")
    True
    """
    template = Template(tree, attributes=before.attributes)
    known: dict[int, ValueSet] = dict(before.meanings or ())
    found = Filter(template, [], before.schema, _form(before, tree, known))
    found.meanings = known
    return found


def _form(before: Filter, tree: Node, known: dict[int, ValueSet]) -> Form | None:
    """The canonical form of a conjunction of predicates, as far as it is that of before.

    `known` is what predicates allow that are not the only ones on their attribute, by identity.
    """
    parts = conjuncts(tree)
    changed: dict[str, None] = {}
    for part, was in zip(parts, conjuncts(before.tree), strict=True):
        if part is not was and isinstance(part, Predicate):
            changed[part.attribute] = None
            known.pop(id(was), None)  # it may be gone soon, and another one have its identity
    old = {part.attribute: part for part in _constraints(before.known_form)}
    if not old or not all(isinstance(part, Predicate) for part in parts):
        return None
    for attribute in changed:
        own = [p for p in parts if isinstance(p, Predicate) and p.attribute == attribute]
        form = _on_one(own, before.schema, known)
        if form is False:
            return False
        old.pop(attribute, None)
        if isinstance(form, Constraint):
            old[attribute] = form
    kept = list(old.values())
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else Every(frozenset(kept))


def _on_one(own: list[Predicate], schema: Schema | None, known: dict[int, ValueSet]) -> Form:
    """The form of predicates on one attribute."""
    if len(own) == 1:
        return canonical_form(own[0], schema)
    for predicate in own:
        if id(predicate) not in known:
            known[id(predicate)] = allowed(predicate, schema)
    held = (constraint(p.attribute, known[id(p)], schema) for p in own)
    return every(held, schema)


def _constraints(form: Form | None) -> list[Constraint]:
    """What a form is the AND of, if that is constraints only."""
    if isinstance(form, Constraint):
        return [form]
    parts = form.parts if isinstance(form, Every) else frozenset()
    found = [part for part in parts if isinstance(part, Constraint)]
    return found if len(found) == len(parts) else []


def _same(one: object, other: object) -> bool:
    return one is other

"""A filter like another one, but for some constants.

When one of a filter's constants moves, most of what is known about it stays: the other predicates,
what they allow, and the canonical form but for one attribute. `remade` keeps the predicates that
have not changed, as the same objects; `moved` takes over what follows from them. To read, bind or
normalise such a filter costs about as much as the constants that move, however many there are.

Invariant: what is taken over is what would be worked out anew.
"""

from collections.abc import Callable

from tidegate.filters.canonical import Constraint, Every, Form, canonical_form, every
from tidegate.filters.expression import And, Node, Or, Predicate, Truth, conjuncts
from tidegate.filters.filter import Filter
from tidegate.filters.template import Template


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
    return Filter(template, [], before.schema, _form(before, tree))


def _form(before: Filter, tree: Node) -> Form | None:
    """The canonical form of a conjunction of predicates, as far as it is that of before."""
    known = before.known_form
    if known is None or isinstance(known, bool):
        return None
    old = {part.attribute: part for part in _constraints(known)}
    parts, were = conjuncts(tree), conjuncts(before.tree)
    if not old or not all(isinstance(part, Predicate) for part in parts):
        return None
    changed = {
        part.attribute: None
        for part, was in zip(parts, were, strict=True)
        if part is not was and isinstance(part, Predicate)
    }
    for attribute in changed:
        own = [p for p in parts if isinstance(p, Predicate) and p.attribute == attribute]
        form = every((canonical_form(p, before.schema) for p in own), before.schema)
        if form is False:
            return False
        old.pop(attribute, None)
        if isinstance(form, Constraint):
            old[attribute] = form
    kept = list(old.values())
    if not kept:
        return True
    return kept[0] if len(kept) == 1 else Every(frozenset(kept))


def _constraints(form: Form) -> list[Constraint]:
    """What a form is the AND of, if that is constraints only."""
    if isinstance(form, Constraint):
        return [form]
    parts = form.parts if isinstance(form, Every) else frozenset()
    found = [part for part in parts if isinstance(part, Constraint)]
    return found if len(found) == len(parts) else []


def _same(one: object, other: object) -> bool:
    return one is other

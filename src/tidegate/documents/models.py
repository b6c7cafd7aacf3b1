"""Does one pattern cover another, decided exactly?

A pattern stands for few documents that tell it all: its **canonical models** (Miklau, Suciu,
Containment and equivalence for a fragment of XPath, 2004). In each, a `*` is an element of a name
that nobody asks for, and each "at least n" is n levels or a few more: one more than the longest
distance in the other pattern tells nothing new. One pattern covers another if and only if it
matches all models of it. There are exponentially many, so this is done within a budget.

The answer is exact for patterns of names, `*`, attributes and texts. A test of a value holds in a
model if the tests there imply it, so with values, positions and choices a yes is certain, and a no
may be wrong, as it may be with `containment.covers`, which says no more often.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final

from tidegate.documents.containment import Mapping
from tidegate.documents.pattern import ANY, ROOT, Branch, Distance, Node, Pattern

BUDGET: Final = 10_000
"""Models that are looked at."""
_NOBODY: Final = "\0"  # no element is called so
_CHILD: Final = Distance(1)


def covers_exactly(wide: Pattern, narrow: Pattern, budget: int = BUDGET) -> bool | None:
    """Whether `wide` matches all that `narrow` matches; None if the budget does not suffice.

    Patterns whose order matters are not decided either.
    """
    if wide.ordered or narrow.ordered:
        return None
    most = 1 + max((branch.distance.levels for branch in _branches(wide.root)), default=0)
    loose = sum(not branch.distance.exact for branch in _branches(narrow.root))
    if (most + 1) ** loose > budget:
        return None
    return all(Mapping().lies_on(wide.root, model) for model in models(narrow, most))


def models(pattern: Pattern, most: int) -> Iterator[Node]:
    """The canonical models, as patterns that are documents: up to `most` more levels each."""
    loose = sum(not branch.distance.exact for branch in _branches(pattern.root))
    for more in product(range(most + 1), repeat=loose):
        model = _model(pattern.root, iter(more))
        if not model.branches:
            model = Node(ROOT, branches=(Branch(_CHILD, Node(_NOBODY)),))
        yield model


def _model(node: Node, more: Iterator[int]) -> Node:
    """A node with its loose distances made exact, in the order of `_branches`."""
    below: list[Branch] = []
    for branch in node.branches:
        levels = branch.distance.levels + (0 if branch.distance.exact else next(more))
        made = _model(branch.node, more)
        for _ in range(levels - 1):
            made = Node(_NOBODY, branches=(Branch(_CHILD, made),))
        below.append(Branch(_CHILD, made))
    label = _NOBODY if node.label == ANY else node.label
    return Node(label, node.tests, tuple(below), node.positions, node.choices)


def _branches(node: Node) -> Iterator[Branch]:
    """All branches, each before those below it."""
    for branch in node.branches:
        yield branch
        yield from _branches(branch.node)

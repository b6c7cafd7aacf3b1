"""Which patterns of the tree does a pattern cover?

Contained mode, XSearch⊇ (Algorithms 11 and 14 of the thesis). From the root on, for a node u of the
pattern and a node t of the tree: the patterns whose node at t is such that u lies on it
(`containment`). Those are the patterns at t whose conditions imply the ones of u, and that have,
for each branch of u, some branch that it passes: the intersection over u's branches of the union
over t's children. Each pair is worked out once.

What is below `//` may be anywhere below t. If there is much below t, the nodes of the label are
looked at, and whether they stand below t; else what is below t. Either way, only nodes with all
labels below them that u has.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from tidegate.documents.pattern import ANY, Distance, Node
from tidegate.documents.values import implies
from tidegate.papers.xsearch.factorization import FactorizationTree, TreeNode

_NONE: Final[AbstractSet[int]] = frozenset()
_NODES_FOR_A_PATTERN: Final = 4
"""How many nodes of the tree there are below one, for each pattern there, at the least."""


class Contained:
    """One question: the patterns that a pattern covers."""

    def __init__(self, tree: FactorizationTree) -> None:
        self._tree = tree
        self._fitting: dict[tuple[int, Node], AbstractSet[int]] = {}
        self._having: dict[tuple[int, Distance, Node], AbstractSet[int]] = {}
        self._deep: dict[tuple[int, int], AbstractSet[int]] = {}
        self._labels: dict[Node, int] = {}

    def search(self, root: Node) -> AbstractSet[int]:
        """Their numbers."""
        return self._fit(self._tree.root, root)

    def _needed(self, node: Node) -> int:
        """The labels that there must be at and below a node of the tree for this one to fit.

        All bits, if one is missing from the whole tree.
        """
        known = self._labels.get(node)
        if known is None:
            known = self._tree.bits(node.label) if self._tree.knows(node.label) else -1
            for branch in node.branches:
                known |= self._needed(branch.node)
            self._labels[node] = known
        return known

    def _fit(self, place: TreeNode, node: Node) -> AbstractSet[int]:
        """The patterns at a place on whose node there the given node lies."""
        if node.label != place.label and (node.label != ANY or not place.is_element):
            return _NONE
        if node.is_leaf:
            return place.sub
        if self._needed(node) & ~place.labels:
            return _NONE
        key = (id(place), node)
        known = self._fitting.get(key)
        if known is None:
            known = self._meeting(place, node)
            for branch in node.branches:
                if not known:
                    break
                known = known & self._below(place, branch.distance, branch.node)
            self._fitting[key] = known
        return known

    def _meeting(self, place: TreeNode, node: Node) -> AbstractSet[int]:
        """The patterns whose conditions at a place imply those of the node."""
        if not node.tests and not node.positions:
            return place.sub
        return _union(
            group
            for (tests, positions), group in place.groups.items()
            if all(implies(tests, test) for test in node.tests)
            and all(each in positions for each in node.positions)
        )

    def _below(self, place: TreeNode, asked: Distance, node: Node) -> AbstractSet[int]:
        """The patterns that have such a node below a place."""
        if node.label == ANY and node.is_leaf:
            return self._reach(place, asked.levels)
        if place.ends or self._needed(node) & ~place.labels:
            return _NONE
        key = (id(place), asked, node)
        known = self._having.get(key)
        if known is None:
            known = self._having[key] = _union(self._found(place, asked, node))
        return known

    def _found(self, place: TreeNode, asked: Distance, node: Node) -> Iterator[AbstractSet[int]]:
        if node.label == ANY and node.is_bare:
            for child in place.below():
                yield from self._on_passed_over(child, child.distance, asked, node)
        if asked.exact:
            yield from self._at(place, asked, node)
            return
        alike = self._tree.labelled.get(node.label, {})
        if node.label == ANY or _NODES_FOR_A_PATTERN * len(place.sub) < len(alike):
            yield from self._anywhere(place, asked, node)
            return
        needed = self._needed(node)
        for each in alike.values():
            if not needed & ~each.labels and _is_below(each, place, asked):
                yield self._fit(each, node)

    def _at(self, place: TreeNode, asked: Distance, node: Node) -> Iterator[AbstractSet[int]]:
        """At an exact distance: children there, and what is below nearer ones."""
        alike = place.alike(asked).get(node.label, ()) if node.label != ANY else place.below()
        for child in alike:
            if child.distance == asked:
                yield self._fit(child, node)
        if asked.levels > 1:
            for child in place.below():
                given = child.distance
                if given.exact and given.levels < asked.levels and not child.ends:
                    yield self._below(child, Distance(asked.levels - given.levels), node)

    def _anywhere(self, place: TreeNode, asked: Distance, node: Node) -> Iterator[AbstractSet[int]]:
        """At a distance or further: children, and what is below them."""
        for child in place.below():
            if asked.levels <= child.distance.levels:
                yield self._fit(child, node)
            left = Distance(max(1, asked.levels - child.distance.levels), False)
            yield self._below(child, left, node)

    def _on_passed_over(
        self, child: TreeNode, given: Distance, asked: Distance, node: Node
    ) -> Iterator[AbstractSet[int]]:
        """Where a `*` with branches lies on an element that the way to a child passes over."""
        last = asked.levels + 1 if asked.exact else given.levels
        for level in range(asked.levels, min(last, given.levels)):
            rest = Distance(given.levels - level, given.exact or not asked.exact)
            here: AbstractSet[int] = child.sub
            for branch in node.branches:
                here = here & self._along(child, rest, branch.distance, branch.node)
                if not here:
                    break
            yield here

    def _along(
        self, child: TreeNode, given: Distance, asked: Distance, node: Node
    ) -> AbstractSet[int]:
        """The patterns that have such a node on the way to a child, there, or below."""
        if node.label == ANY and node.is_leaf:
            return self._reach_from(child, asked.levels - given.levels)
        return _union(self._passing(child, given, asked, node))

    def _passing(
        self, child: TreeNode, given: Distance, asked: Distance, node: Node
    ) -> Iterator[AbstractSet[int]]:
        if node.label == ANY and node.is_bare:
            yield from self._on_passed_over(child, given, asked, node)
        if asked.allows(given):
            yield self._fit(child, node)
        if not asked.exact:
            left = Distance(max(1, asked.levels - given.levels), False)
            yield self._below(child, left, node)
        elif given.exact and given.levels < asked.levels:
            yield self._below(child, Distance(asked.levels - given.levels), node)

    def _reach(self, place: TreeNode, levels: int) -> AbstractSet[int]:
        """The patterns that have elements so many levels below a place."""
        key = (id(place), levels)
        known = self._deep.get(key)
        if known is None:
            known = self._deep[key] = _union(
                self._reach_from(child, levels - child.distance.levels) for child in place.below()
            )
        return known

    def _reach_from(self, place: TreeNode, levels: int) -> AbstractSet[int]:
        """The same, where none are needed if the place itself is an element."""
        if levels <= (0 if place.is_element else -1):
            return place.sub
        return self._reach(place, levels) if levels > 0 and not place.ends else _NONE


def _is_below(node: TreeNode, place: TreeNode, asked: Distance) -> bool:
    """Whether a node is below a place, at least so far as is asked."""
    levels = 0
    above: TreeNode | None = node
    while above is not None:
        if above is place:
            return levels >= asked.levels
        levels += above.distance.levels
        above = above.parent
    return False


def _union(sets: Iterator[AbstractSet[int]]) -> AbstractSet[int]:
    """The union; a single set as it is."""
    found = [each for each in sets if each]
    if not found:
        return _NONE
    return found[0] if len(found) == 1 else set().union(*found)

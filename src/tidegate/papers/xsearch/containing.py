"""Which patterns of the tree cover a pattern?

Contain mode, XSearch⊆ (Algorithms 12, 13, 15 and 16 of the thesis). For a node t of the tree and a
node u of the pattern: the patterns whose node at t lies on u. Such a pattern ends at t, or each of
its branches below t passes one of u's; it is met by way of the branches that do, and, if it has
several, counted. The thesis collects the others instead, those that do not cover the pattern, and
takes the complement in the end, which costs at least as much as there are patterns. Each pair is
worked out once.

Below t, only nodes are looked at whose label is somewhere below u: a pattern is small, and what is
below each of its nodes, and how far, is listed once.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from tidegate.documents.pattern import ANY, TEXT, Branch, Distance, Node
from tidegate.documents.values import implies
from tidegate.papers.xsearch.factorization import NOTHING, FactorizationTree, TreeNode

_NONE: Final[AbstractSet[int]] = frozenset()
_CHILD: Final = Distance(1)


class _Outline:
    """A node of the pattern, its children by label, and, when asked for, all that is below it."""

    __slots__ = ("_below", "children", "has_elements", "labels", "lying", "node", "outlines")

    def __init__(self, node: Node, tree: FactorizationTree) -> None:
        self.node = node
        self.outlines = [(branch, _Outline(branch.node, tree)) for branch in node.branches]
        self.children: dict[str, list[_Outline]] = {}
        self.has_elements = False
        self.labels = tree.bits(node.label)
        """The labels here and below, as bits of the tree."""
        for branch, outline in self.outlines:
            self.labels |= outline.labels
            if branch.node.is_element or branch.distance.levels > 1:
                self.has_elements = True
            if branch.distance == _CHILD:
                self.children.setdefault(branch.node.label, []).append(outline)
        self.lying: dict[TreeNode, AbstractSet[int]] = {}
        """The patterns at a place whose node there lies on this one, if that is known."""
        self._below: _Below | None = None

    @property
    def below(self) -> "_Below":
        """All that is below."""
        if self._below is None:
            self._below = _Below(self)
        return self._below


class _Below:
    """What is below a node of the pattern: nodes by label with their distance, and branches."""

    __slots__ = ("branches", "elements", "labelled", "levels")

    def __init__(self, outline: _Outline) -> None:
        self.labelled: dict[str, list[tuple[Distance, _Outline]]] = {}
        self.elements: list[tuple[Distance, _Outline]] = []
        self.branches: list[tuple[Distance, Branch]] = []
        self.levels = 0
        """How many levels of elements are certain to be below."""
        self._add(Distance(0), outline)

    def _add(self, so_far: Distance, outline: _Outline) -> None:
        for branch, below in outline.outlines:
            distance = so_far + branch.distance
            self.branches.append((so_far, branch))
            self.labelled.setdefault(branch.node.label, []).append((distance, below))
            if branch.node.is_element:
                self.elements.append((distance, below))
                self.levels = max(self.levels, distance.levels)
            else:
                self.levels = max(self.levels, distance.levels - 1)
            self._add(distance, below)


class Containing:
    """One question: the patterns that cover a pattern."""

    def __init__(self, tree: FactorizationTree) -> None:
        self._tree = tree

    def search(self, root: Node) -> AbstractSet[int]:
        """Their numbers."""
        return self._lie(self._tree.root, _Outline(root, self._tree))

    def _lie(self, place: TreeNode, outline: _Outline) -> AbstractSet[int]:
        """The patterns at a place whose node there lies on the given node, which has the label."""
        if place.common & ~outline.labels:
            return _NONE  # each pattern there asks for something that is not here
        known = outline.lying.get(place)
        if known is None:
            known = outline.lying[place] = self._worked_out(place, outline)
        return known

    def _worked_out(self, place: TreeNode, outline: _Outline) -> AbstractSet[int]:
        found = self._branches_met(place, outline) if not place.ends else place.leaves
        if not found or (len(place.groups) == 1 and NOTHING in place.groups):
            return found
        node = outline.node
        met: set[int] = set()
        for (tests, positions), group in place.groups.items():
            if all(implies(node.tests, test) for test in tests) and all(
                each in node.positions for each in positions
            ):
                met |= group & found
        return met

    def _branches_met(self, place: TreeNode, outline: _Outline) -> AbstractSet[int]:
        """The patterns that end at a place, or whose branches there all pass one of the node's."""
        met: list[AbstractSet[int]] = []
        children = place.children
        for label, nodes in outline.children.items():
            if label != ANY:
                for child in children.get(label, ()):
                    met.append(_union([self._lie(child, each) for each in nodes]))
        if ANY in children:
            met += [self._any_child(child, outline) for child in children[ANY]]
        if place.far:
            met += self._far(place, outline)
        met = [each for each in met if each]
        if not met:
            return place.leaves
        branching = place.branching
        if not branching:
            return place.leaves.union(*met)
        counts: dict[int, int] = {}
        for each in met:
            for number in each & branching:
                counts[number] = counts.get(number, 0) + 1
        found = place.leaves.union(*met)
        found -= branching
        found.update(number for number, count in counts.items() if count == place.counts[number])
        return found

    def _any_child(self, place: TreeNode, outline: _Outline) -> AbstractSet[int]:
        """The patterns that ask for some child, of whatever name, and whose branch to it is met."""
        found = [
            self._lie(place, each)
            for label, nodes in outline.children.items()
            if label[0] != "@" and label != TEXT
            for each in nodes
        ]
        bare = place.groups.get(NOTHING)
        if bare is not None:
            if outline.has_elements:
                found.append(bare & place.leaves)
            if not place.ends:
                for branch, _ in outline.outlines:
                    found += self._passed_over(place, _CHILD, branch, bare)
        return _union(found)

    def _far(self, place: TreeNode, outline: _Outline) -> Iterator[AbstractSet[int]]:
        """For each node further below a place: the patterns whose branch to it is met."""
        below = outline.below
        for label, nodes in below.labelled.items():
            if label != ANY:
                for child in place.far.get(label, ()):
                    yield _union(self._on(child, nodes))
        for child in place.far.get(ANY, ()):
            yield _union([*self._on(child, below.elements), *self._anything(child, below)])

    def _on(
        self, place: TreeNode, nodes: list[tuple[Distance, _Outline]]
    ) -> list[AbstractSet[int]]:
        """The patterns whose branch to a place ends on one of these nodes."""
        asked = place.distance
        return [self._lie(place, outline) for given, outline in nodes if asked.allows(given)]

    def _anything(self, place: TreeNode, below: _Below) -> Iterator[AbstractSet[int]]:
        """Where a `*` lies beside on elements: on passed over ones, on anything deep enough."""
        bare = place.groups.get(NOTHING)
        if bare is None:
            return
        if place.distance.levels <= below.levels:
            yield bare & place.leaves
        if place.ends:
            return
        for so_far, branch in below.branches:
            left = _less(place.distance, so_far)
            if left is not None:
                yield from self._passed_over(place, left, branch, bare)

    def _passed_over(
        self, place: TreeNode, asked: Distance, branch: Branch, bare: AbstractSet[int]
    ) -> Iterator[AbstractSet[int]]:
        """Where a `*` with branches lies on an element that a distance passes over."""
        given = branch.distance
        last = asked.levels + 1 if asked.exact else given.levels
        for level in range(asked.levels, min(last, given.levels)):
            rest = Distance(given.levels - level, given.exact or not asked.exact)
            passed = Node(ANY, branches=(Branch(rest, branch.node),))
            met = self._branches_met(place, _Outline(passed, self._tree))
            yield (met - place.leaves) & bare


def _less(asked: Distance, so_far: Distance) -> Distance | None:
    """What is left of a distance further down; None if it has been passed."""
    if not so_far.levels:
        return asked
    if not asked.exact:
        return Distance(max(1, asked.levels - so_far.levels), False)
    if so_far.exact and so_far.levels < asked.levels:
        return Distance(asked.levels - so_far.levels)
    return None


def _union(sets: list[AbstractSet[int]]) -> AbstractSet[int]:
    """The union; a single set as it is."""
    if len(sets) == 1:
        return sets[0]
    found = [each for each in sets if each]
    if not found:
        return _NONE
    return found[0] if len(found) == 1 else set().union(*found)

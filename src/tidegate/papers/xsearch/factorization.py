"""How do many patterns share what they have in common?

The **factorization tree** T(R) of the thesis: a node has a label, here with the distance to the
node above, and the set of patterns that pass there, sub(t). A pattern goes down along its own
branches; at each it takes a node with the same label that does not hold it yet, or makes one. So
each node of a pattern has exactly one node of the tree, and two patterns that begin alike have the
same nodes as far as they do.

Values are not part of the tree (section 5.7 of the thesis): beside sub(t) stands what each pattern
asks of the value at this node, equal conditions together.

So that a search need not look at all nodes, children stand apart from what is further away, both by
their labels; the nodes of each label are listed; and each node knows which labels there are at and
below it, as bits: those that some pattern has there, and those that all have in `common`. When a
pattern goes, nothing is taken back, so there may be fewer of the former, and more of the latter.

Invariant: a node without patterns is not in the tree; `leaves` of a node are those that end there,
and `branching` those that go on by more than one branch, by how many `counts` says.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from tidegate.documents.pattern import ANY, ROOT, TEXT, Branch, Distance, Node, Position, ValueTest

Conditions: TypeAlias = tuple[tuple[ValueTest, ...], tuple[Position, ...]]
"""What a pattern asks of a node beside its label and what is below."""
NOTHING: Final[Conditions] = ((), ())
_CHILD: Final = Distance(1)


class TreeNode:
    """A node of the tree: see above."""

    __slots__ = (
        "branching",
        "children",
        "common",
        "counts",
        "distance",
        "far",
        "groups",
        "is_element",
        "label",
        "labels",
        "leaves",
        "parent",
        "sub",
    )

    def __init__(self, parent: "TreeNode | None", distance: Distance, label: str) -> None:
        self.parent = parent
        self.distance = distance
        self.label = label
        self.is_element = label[0] != "@" and label != TEXT
        self.labels = 0
        self.common = -1
        self.children: dict[str, list[TreeNode]] = {}
        self.far: dict[str, list[TreeNode]] = {}
        self.sub: set[int] = set()
        self.groups: dict[Conditions, set[int]] = {}
        self.leaves: set[int] = set()
        self.branching: set[int] = set()
        self.counts: dict[int, int] = {}

    def below(self) -> Iterator["TreeNode"]:
        """The nodes directly below."""
        for nodes in self.children.values():
            yield from nodes
        for nodes in self.far.values():
            yield from nodes

    def alike(self, distance: Distance) -> "dict[str, list[TreeNode]]":
        """The nodes directly below by their labels: children, or those that are further away."""
        return self.children if distance == _CHILD else self.far

    @property
    def ends(self) -> bool:
        """Whether there is nothing below."""
        return not self.children and not self.far


class FactorizationTree:
    """The tree of many patterns, each under a number that is free."""

    def __init__(self) -> None:
        self.root = TreeNode(None, Distance(0), ROOT)
        self.size = 0
        """How many nodes the tree has, its root not counted."""
        self.labelled: dict[str, dict[int, TreeNode]] = {}
        """The nodes of each label."""
        self._bits: dict[str, int] = {ANY: 0, ROOT: 0}

    def bits(self, label: str) -> int:
        """The bit of a label; none for `*`, and for one that was never there."""
        return self._bits.get(label, 0)

    def knows(self, label: str) -> bool:
        """Whether there has been a pattern with this label."""
        return label in self._bits

    def add(self, number: int, root: Node) -> None:
        """Take in a pattern: add(s, r_T, r_s)."""
        self._enter(number, self.root, root)

    def _enter(self, number: int, place: TreeNode, node: Node) -> int:
        place.sub.add(number)
        place.groups.setdefault((node.tests, node.positions), set()).add(number)
        if not node.branches:
            place.leaves.add(number)
        elif len(node.branches) > 1:
            place.branching.add(number)
            place.counts[number] = len(node.branches)
        labels = self._bits.get(node.label)
        if labels is None:
            labels = self._bits[node.label] = 1 << len(self._bits)
        for branch in node.branches:
            labels |= self._enter(number, self._child(number, place, branch), branch.node)
        place.labels |= labels
        place.common &= labels
        return labels

    def _child(self, number: int, place: TreeNode, branch: Branch) -> TreeNode:
        label = branch.node.label
        alike = place.alike(branch.distance).setdefault(label, [])
        for child in alike:
            if child.distance == branch.distance and number not in child.sub:
                return child
        made = TreeNode(place, branch.distance, label)
        alike.append(made)
        self.labelled.setdefault(label, {})[id(made)] = made
        self.size += 1
        return made

    def remove(self, number: int, root: Node) -> None:
        """Forget a pattern: remove(s, r_T)."""
        self._leave(number, self.root, root)

    def _leave(self, number: int, place: TreeNode, node: Node) -> None:
        place.sub.discard(number)
        group = place.groups[node.tests, node.positions]
        group.discard(number)
        if not group:
            del place.groups[node.tests, node.positions]
        place.leaves.discard(number)
        place.branching.discard(number)
        place.counts.pop(number, None)
        left = list(node.branches)
        for nodes, label in [
            (place.alike(distance), label)
            for distance, label in {(each.distance, each.node.label) for each in node.branches}
        ]:
            alike = nodes.get(label, [])
            for child in [each for each in alike if number in each.sub]:
                branch = next(b for b in left if _is_alike(b, child))
                left.remove(branch)
                self._leave(number, child, branch.node)
                if not child.sub:
                    alike.remove(child)
                    del self.labelled[label][id(child)]
                    self.size -= 1
            if not alike:
                nodes.pop(label, None)


def _is_alike(branch: Branch, child: TreeNode) -> bool:
    return branch.node.label == child.label and branch.distance == child.distance

"""Which pattern covers which?

One pattern covers another if it can be laid over it (a **homomorphism**): the root on the root,
each node on one that asks for at least as much, each branch on a chain of branches that is never
shorter, and never too long. Then whatever document the other one matches, it matches as well:
first this pattern over the other, then the other over the document. (Chan, Fan, Felber,
Garofalakis, Rastogi, Tree pattern aggregation for scalable XML data dissemination, 2002.)

The converse fails for odd mixtures of `*`, `//` and branches (Miklau, Suciu, Containment and
equivalence for a fragment of XPath, 2004); `covers` then says no. Distances on branches leave few
of these: `/*//a` and `//*/a` are one pattern. Besides,

- a `*` that asks for nothing else lies on anything that is deep enough;
- a `*` with branches lies on the elements that a distance passes over, too;
- of positions, only equal ones imply each other;
- a choice is met if one option is, or by a choice each of whose options meets one.

Patterns **overlap** unless it is plain that they exclude each other: by the names or the attributes
of the document's outermost element. Everything deeper can be had twice in one document.
"""

from tidegate.documents.pattern import ANY, Branch, Distance, Node, Pattern
from tidegate.documents.values import exclude, implies


def covers(wide: Pattern, narrow: Pattern) -> bool:
    """Whether every document that matches `narrow` is certain to match `wide`."""
    if wide == narrow:
        return True
    if wide.ordered and not narrow.ordered:
        return False
    return Mapping(ordered=wide.ordered).lies_on(wide.root, narrow.root)


def overlaps(one: Pattern, other: Pattern) -> bool:
    """Whether some document may match both."""
    return not any(
        _outermost_exclude(mine, theirs)
        for mine in map(_outermost, one.root.branches)
        for theirs in map(_outermost, other.root.branches)
    )


def _outermost(branch: Branch) -> Node:
    """What a branch of the root says of the outermost element."""
    if not branch.distance.exact:
        return Node(ANY)
    if branch.distance.levels == 1:
        return branch.node
    left = Distance(branch.distance.levels - 1)
    return Node(ANY, branches=(Branch(left, branch.node),))


def _outermost_exclude(one: Node, other: Node) -> bool:
    """Whether no element can be both: the nodes are about the same one."""
    if one.label != other.label and ANY not in (one.label, other.label):
        return True
    if exclude(one.tests, other.tests):
        return True
    return any(
        mine.node.label == theirs.node.label
        and mine.node.is_attribute
        and mine.distance == theirs.distance == Distance(1)
        and exclude(mine.node.tests, theirs.node.tests)
        for mine in one.branches
        for theirs in other.branches
    )


class Mapping:
    """Which nodes of a pattern lie on which of another one; answers are remembered."""

    def __init__(self, *, ordered: bool = False) -> None:
        self._ordered = ordered
        self._known: dict[tuple[Node, Node], bool] = {}
        self._reach: dict[Node, int] = {}

    def lies_on(self, wide: Node, narrow: Node) -> bool:
        """Whether whatever meets `narrow` meets `wide`."""
        label = wide.label
        if label != narrow.label and (label != ANY or not narrow.is_element):
            return False
        if wide.is_leaf:
            return True
        pair = (wide, narrow)
        known = self._known.get(pair)
        if known is None:
            known = self._known[pair] = self._conditions(wide, narrow)
        return known

    def _conditions(self, wide: Node, narrow: Node) -> bool:
        if wide.tests and not all(implies(narrow.tests, test) for test in wide.tests):
            return False
        if wide.positions and not all(each in narrow.positions for each in wide.positions):
            return False
        if not all(
            choice in narrow.choices
            or any(self.lies_on(option, narrow) for option in choice.options)
            or any(
                all(any(self.lies_on(o, each) for o in choice.options) for each in given.options)
                for given in narrow.choices
            )
            for choice in wide.choices
        ):
            return False
        if self._ordered:
            return self._in_order(wide, narrow)
        return all(
            any(self.passes(branch, below) for below in narrow.branches) for branch in wide.branches
        )

    def _in_order(self, wide: Node, narrow: Node) -> bool:
        """Whether the branches lie on branches in the same order."""
        rest = iter([below for below in narrow.branches if not below.node.is_attribute])
        for branch in wide.branches:
            among = narrow.branches if branch.node.is_attribute else rest
            if not any(self.passes(branch, below) for below in among):
                return False
        return True

    def passes(self, wide: Branch, narrow: Branch) -> bool:
        """Whether whatever has the branch `narrow` has the branch `wide`."""
        asked, node = wide.distance, wide.node
        given, below = narrow.distance, narrow.node
        if node.label == ANY and not self._ordered:
            if node.is_leaf:
                return asked.levels <= given.levels + self._below(below)
            if node.is_bare and self._on_passed_over(wide, narrow):
                return True
        if asked.allows(given) and self.lies_on(node, below):
            return True
        if not below.branches:
            return False
        if asked.exact:
            if not given.exact or given.levels >= asked.levels:
                return False
            left = Branch(Distance(asked.levels - given.levels), node)
        else:
            left = Branch(Distance(max(1, asked.levels - given.levels), False), node)
        return any(self.passes(left, each) for each in below.branches)

    def _on_passed_over(self, wide: Branch, narrow: Branch) -> bool:
        """Whether a `*` with branches lies on an element that a distance passes over."""
        asked, given = wide.distance, narrow.distance
        if asked.exact:
            levels = range(asked.levels, asked.levels + 1)
        else:
            levels = range(asked.levels, given.levels)
        for level in levels:
            if level >= given.levels:
                return False
            exact = given.exact or not asked.exact
            left = Branch(Distance(given.levels - level, exact), narrow.node)
            if self.lies_on(wide.node, Node(ANY, branches=(left,))):
                return True
        return False

    def _below(self, node: Node) -> int:
        """How many levels of elements are certain to be at and below a node, less one."""
        if not node.is_element:
            return -1
        if not node.branches:
            return 0
        known = self._reach.get(node)
        if known is None:
            known = self._reach[node] = max(
                0, *(branch.distance.levels + self._below(branch.node) for branch in node.branches)
            )
        return known

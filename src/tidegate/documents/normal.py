"""When do two expressions say the same?

The **normal form** of an expression is a set of patterns, each in the form that `pattern`
describes; a document matches the expression if it matches one of them. `or` and `|` are multiplied
out, as long as there are not too many patterns; beyond that choices stay, and whatever is asked
about the pattern gets the answer that errs outward.

What is done, from the leaves up: tests of one value become one range; two tests of an attribute of
one element meet; a chain of `*` becomes a distance; a branch that another one implies goes; the
rest is sorted. Conditions that no value can meet take everything with them that needs them. In the
end, a pattern that another one of the set covers goes.
"""

from collections.abc import Iterable
from itertools import product
from typing import Final

from tidegate.documents.containment import Mapping, covers
from tidegate.documents.meaning import pattern_of
from tidegate.documents.pattern import (
    ANY,
    EQUAL,
    ROOT,
    Branch,
    Choice,
    Distance,
    Node,
    Pattern,
    Position,
    spell,
)
from tidegate.documents.syntax import Expression
from tidegate.documents.values import NEVER, reduced

MAX_ALTERNATIVES: Final = 64
"""How many patterns an expression may become; beyond that, choices are kept."""
_MAX_COMPARED: Final = 300
"""Nodes of patterns that are compared with each other; larger ones are left as they are."""
_CHILD: Final = Distance(1)


def normal_form(expression: Expression, *, ordered: bool = False) -> tuple[Pattern, ...]:
    """The patterns of an expression, in one order; none if no document matches it."""
    raw = pattern_of(expression)
    if raw is None:
        return ()
    simplify = _Simplifier(ordered=ordered)
    root = simplify.node(raw)
    if root is None:
        return ()
    roots: set[Node | None] = {root}
    if Pattern(root).has_choices and _count(root) <= MAX_ALTERNATIVES:
        roots = {simplify.node(each) for each in _alternatives(root)}
    patterns = {_pattern(root, ordered) for root in roots if root is not None}
    kept = _widest([pattern for pattern in patterns if pattern is not None])
    return tuple(sorted(kept, key=str) if len(kept) > 1 else kept)


def _pattern(root: Node, ordered: bool) -> Pattern | None:
    """A pattern that is ordered only if it makes a difference."""
    if not ordered or _has_order(root):
        return Pattern(root, ordered)
    unordered = _Simplifier(ordered=False).node(root)
    return None if unordered is None else Pattern(unordered)


def _has_order(node: Node) -> bool:
    if sum(not branch.node.is_attribute for branch in node.branches) > 1:
        return True
    return (
        bool(node.choices)
        or any(_has_order(branch.node) for branch in node.branches)
        or any(_has_order(position.among) for position in node.positions)
    )


def _widest(patterns: list[Pattern]) -> list[Pattern]:
    """Without those that another one covers."""
    if len(patterns) < 2 or sum(pattern.size for pattern in patterns) > _MAX_COMPARED:
        return patterns
    kept: list[Pattern] = []
    for pattern in sorted(patterns, key=lambda each: (each.size, str(each))):
        if not any(covers(other, pattern) for other in kept):
            kept = [other for other in kept if not covers(pattern, other)]
            kept.append(pattern)
    return kept


# -- multiplying out


def _count(node: Node) -> int:
    """How many patterns without choices a node becomes, or too many."""
    count = 1
    for branch in node.branches:
        count *= _count(branch.node)
        if count > MAX_ALTERNATIVES:
            return count
    for choice in node.choices:
        count *= sum(map(_count, choice.options))
        if count > MAX_ALTERNATIVES:
            return count
    return count


def _alternatives(node: Node) -> Iterable[Node]:
    """The nodes without choices, apart from those of positions, that a node becomes."""
    if _count(node) == 1 and not node.choices:
        return (node,)
    below = [
        [Branch(branch.distance, each) for each in _alternatives(branch.node)]
        for branch in node.branches
    ]
    chosen = [
        [each for option in choice.options for each in _alternatives(option)]
        for choice in node.choices
    ]
    plain = Node(node.label, node.tests, (), node.positions)
    return [
        _joined(Node(plain.label, plain.tests, branches, plain.positions), options)
        for branches in product(*below)
        for options in product(*chosen)
    ]


def _joined(node: Node, others: Iterable[Node]) -> Node:
    """A node that has all that the nodes have, which are about the same one."""
    tests, branches = list(node.tests), list(node.branches)
    positions, choices = list(node.positions), list(node.choices)
    for other in others:
        tests += other.tests
        branches += other.branches
        positions += other.positions
        choices += other.choices
    return Node(node.label, tuple(tests), tuple(branches), tuple(positions), tuple(choices))


# -- one node


class _Simplifier:
    """Brings nodes into normal form; None is one that nothing can meet."""

    def __init__(self, *, ordered: bool) -> None:
        self._ordered = ordered
        self._known: dict[Node, Node | None] = {}

    def node(self, node: Node) -> Node | None:
        """The normal form of a node and all that is below it."""
        if node.is_leaf:
            return node
        if node in self._known:
            return self._known[node]
        found = self._known[node] = self._simplified(node)
        return found

    def _simplified(self, node: Node) -> Node | None:
        base = Node(node.label, node.tests, node.branches, node.positions)
        choices: set[Choice] = set()
        for choice in node.choices:
            options = self._options(choice)
            if not options:
                return None
            if len(options) == 1:
                base = _joined(base, options)
            elif not any(option.is_leaf for option in options):
                choices.add(Choice(tuple(options)))
        choices.update(base.choices)
        if base.branches and not (base.is_element or base.label == ROOT):
            return None  # nothing is below an attribute or a text
        tests = reduced(base.tests)
        branches = self._branches(base)
        positions = self._positions(base)
        if tests is NEVER or branches is None or positions is None:
            return None
        kept = tuple(sorted(choices, key=_choice_order))
        return Node(node.label, tests, branches, positions, kept)

    def _options(self, choice: Choice) -> list[Node]:
        options = {self.node(option) for option in choice.options} - {None}
        return sorted((option for option in options if option is not None), key=spell)

    def _positions(self, node: Node) -> tuple[Position, ...] | None:
        positions: set[Position] = set()
        for position in node.positions:
            among = self.node(position.among)
            if among is None:
                return None
            positions.add(Position(position.operator, position.rank, among))
        return tuple(sorted(positions, key=_position_order))

    def _branches(self, node: Node) -> tuple[Branch, ...] | None:
        found: list[Branch] = []
        for branch in node.branches:
            below = self.node(branch.node)
            if below is None:
                return None
            distance = branch.distance
            if node.label == ROOT and not below.is_element:
                if distance == _CHILD:
                    return None
                distance = Distance(max(2, distance.levels), distance.exact)
            if not self._ordered:
                folded = _folded(distance, _without_first(below))
            else:
                folded = Branch(distance, below)
            if node.label == ROOT and folded == _SOMETHING:
                continue
            found.append(folded)
        if len(found) < 2:
            return tuple(found)
        merged = _attributes_met(found)
        if merged is None or self._ordered:
            return None if merged is None else tuple(merged)
        return tuple(sorted(_not_implied(merged), key=_branch_order))


def _without_first(node: Node) -> Node:
    """That there is a first, or a last, of something says only that there is something."""
    for position in node.positions:
        if position.operator == EQUAL and position.rank in (1, None):
            others = tuple(each for each in node.positions if each != position)
            rest = Node(node.label, node.tests, node.branches, others, node.choices)
            if rest == position.among:
                return _without_first(rest)
    return node


_SOMETHING: Final = Branch(_CHILD, Node(ANY))


def _folded(distance: Distance, node: Node) -> Branch:
    """A branch with a chain of `*` as its distance."""
    if node.label != ANY or not node.is_bare:
        return Branch(distance, node)
    if len(node.branches) > 1:
        return Branch(distance, node)
    if node.branches:
        below = node.branches[0]
        distance, node = distance + below.distance, below.node
    if node.label == ANY and node.is_leaf:
        distance = Distance(distance.levels)
    return Branch(distance, node)


def _attributes_met(branches: list[Branch]) -> list[Branch] | None:
    """With one branch for each attribute of the node itself; None if it cannot have its value."""
    kept: list[Branch] = []
    attributes: dict[str, list[Branch]] = {}
    for branch in branches:
        if branch.distance == _CHILD and branch.node.is_attribute and not branch.node.choices:
            attributes.setdefault(branch.node.label, []).append(branch)
        else:
            kept.append(branch)
    for label, alike in attributes.items():
        if len(alike) == 1:
            kept.append(alike[0])
            continue
        tests = reduced(test for branch in alike for test in branch.node.tests)
        if tests is NEVER:
            return None
        kept.append(Branch(_CHILD, Node(label, tests)))
    return kept


def _not_implied(branches: list[Branch]) -> list[Branch]:
    """Without those that another branch implies."""
    if sum(branch.node.size for branch in branches) > _MAX_COMPARED:
        return list(dict.fromkeys(branches))
    mapping = Mapping()
    kept: list[Branch] = []
    for branch in branches:
        if not any(mapping.passes(branch, other) for other in kept):
            kept = [other for other in kept if not mapping.passes(other, branch)]
            kept.append(branch)
    return kept


def _branch_order(branch: Branch) -> tuple[str, Distance]:
    return spell(branch.node), branch.distance


def _choice_order(choice: Choice) -> list[str]:
    return [spell(option) for option in choice.options]


def _position_order(position: Position) -> tuple[str, int, str]:
    return position.operator, position.rank or 0, spell(position.among)

"""What do many patterns have in common?

Patterns are taken apart, and equal parts are kept once:

- the **trunk** is the path from the document to the first node at which something is asked beside
  one way down: a path of the trie of trunks;
- what is asked there is a **condition**, a set of **guards** that must all hold for one element. A
  guard is a **leaf**, a question about an attribute, a text or the string value of the element; or
  a **way**, a path of the trie of ways, from the element to one below it, with a condition of its
  own at its end or none. So conditions are in each other as deep as the pattern's predicates;
- a trunk and a condition, or none, are a **target**. Equal patterns have one target, whatever
  their texts. What subscriptions there are for a target is not known here.

Positions, choices and orders are left out. A pattern without them is wider: its target is found for
all documents that match, and for others, so each of those has to be looked at (`is_exact`).

Of each condition, one guard is its **key**, by which the condition is found: the one that is likely
to hold most seldom.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tidegate.documents.matching.trie import ANY_WORD, Trie
from tidegate.documents.pattern import ANY, Branch, Distance, Node, Pattern, ValueTest
from tidegate.documents.reading.expat import SEPARATOR

TEXT_SUBJECT: Final = 0
VALUE_SUBJECT: Final = 1
"""The subjects of leaves: texts, the string value, and from 2 on attributes."""

NO_CONDITION: Final = -1
_SELF: Final = Distance(0)
_EQUAL: Final = "="


@dataclass(frozen=True, slots=True)
class Leaf:
    """A question about an element: whether the subject is there, and one value meets all tests."""

    subject: int
    tests: tuple[ValueTest, ...]

    @property
    def is_looked_up(self) -> bool:
        """Whether it is found by what the element has, and needs no trying."""
        return not self.tests or (len(self.tests) == 1 and self.tests[0].operator == _EQUAL)


@dataclass(frozen=True, slots=True)
class Way:
    """A question about what is below an element: whether a way leads to what meets a condition."""

    node: int
    condition: int


Guard: TypeAlias = Leaf | Way


class Draft:
    """Patterns, taken apart."""

    def __init__(self) -> None:
        self.words: dict[bytes, int] = {}
        self.trunks = Trie()
        self.ways = Trie()
        self.subjects: dict[int, int] = {}  # of the words of attributes
        self.guards: dict[Guard, int] = {}
        self.conditions: dict[tuple[int, ...], int] = {}
        self.targets: dict[tuple[int, int], int] = {}

    def target(self, pattern: Pattern) -> int:
        """The target of a pattern."""
        return self.put(*self._descend(self.trunks, 0, pattern.root))

    def put(self, node: int, condition: int) -> int:
        """The target of a trunk and a condition."""
        known = self.targets.get((node, condition))
        if known is None:
            known = self.targets[node, condition] = len(self.targets)
            if condition == NO_CONDITION:
                self.trunks.value[node] = known
            else:
                self.trunks.guarded[node] = True
        return known

    def _descend(self, trie: Trie, place: int, node: Node) -> tuple[int, int]:
        """Follow a pattern's only way down as far as it goes; the place and the condition there."""
        while not node.tests and len(node.branches) == 1:
            branch = node.branches[0]
            if not branch.node.is_element:
                owner = _owner(branch)
                if owner != _SELF:
                    place = trie.at(place, owner, ANY_WORD)
                return place, self.condition(self._leaves(branch.node))
            place, node = self._below(trie, place, branch), branch.node
        return place, self.condition(self._guards(node))

    def _below(self, trie: Trie, place: int, branch: Branch) -> int:
        label = branch.node.label
        return trie.at(place, branch.distance, ANY_WORD if label == ANY else self._word(label))

    def _guards(self, node: Node) -> list[int]:
        """What is asked of an element beside its name."""
        found = [self.leaf(Leaf(VALUE_SUBJECT, (test,))) for test in node.tests]
        for branch in node.branches:
            if branch.node.is_element:
                start = self._below(self.ways, 0, branch)
                place, condition = self._descend(self.ways, start, branch.node)
                found.append(self.way(Way(place, condition)))
            elif _owner(branch) == _SELF:
                found += self._leaves(branch.node)
            else:
                place = self.ways.at(0, _owner(branch), ANY_WORD)
                condition = self.condition(self._leaves(branch.node))
                found.append(self.way(Way(place, condition)))
        return found

    def _leaves(self, node: Node) -> list[int]:
        """What is asked of an attribute or a text; of an attribute, one test at a time."""
        if node.is_text:
            return [self.leaf(Leaf(TEXT_SUBJECT, node.tests))]
        word = self._word(node.label[1:])
        subject = self.subjects.setdefault(word, len(self.subjects) + 2)
        each: Sequence[tuple[ValueTest, ...]] = [(test,) for test in node.tests] or [()]
        return [self.leaf(Leaf(subject, tests)) for tests in each]

    def way(self, way: Way) -> int:
        """The number of a way."""
        known = self.guards.setdefault(way, len(self.guards))
        if way.condition == NO_CONDITION:
            self.ways.value[way.node] = known
        else:
            self.ways.guarded[way.node] = True
        return known

    def leaf(self, leaf: Leaf) -> int:
        """The number of a leaf."""
        return self.guards.setdefault(leaf, len(self.guards))

    def condition(self, guards: list[int]) -> int:
        """The number of a condition; of none at all, too."""
        if not guards:
            return NO_CONDITION
        return self.conditions.setdefault(tuple(sorted(set(guards))), len(self.conditions))

    def _word(self, label: str) -> int:
        """The number of a name; 0 is that of all names that no pattern has."""
        return self.words.setdefault(name_of(label), len(self.words) + 1)


def is_exact(pattern: Pattern) -> bool:
    """Whether a pattern's target says all that the pattern does."""
    if pattern.ordered:
        return False
    stack = [pattern.root]
    while stack:
        node = stack.pop()
        if node.positions or node.choices:
            return False
        stack += [branch.node for branch in node.branches]
    return True


def name_of(label: str) -> bytes:
    """A pattern's name as documents have it."""
    if label[0] != "{":
        return label.encode()
    space, _, local = label[1:].rpartition("}")
    return space.encode() + SEPARATOR + local.encode()


def key_of(guards: Sequence[Guard], names: Sequence[int]) -> int:
    """Which of a condition's guards is to be its key; `names` are how many each way has."""
    return min(range(len(guards)), key=lambda place: _likely(guards[place], names))


def _likely(guard: Guard, names: Sequence[int]) -> tuple[int, int]:
    """How likely it is that a guard holds: the greater the likelier."""
    if isinstance(guard, Way):
        return 3 - (guard.condition != NO_CONDITION), -names[guard.node]
    if not guard.tests:
        return 4, 0
    return (0 if guard.is_looked_up else 1), 0


def _owner(branch: Branch) -> Distance:
    """How far below the element is that has the attribute or the text of a branch."""
    return Distance(branch.distance.levels - 1, branch.distance.exact)

"""Into which substrings is a pattern cut, and how do they hang together?

A **substring** is names one below the other, without `//` and `*` between them. The paper's *simple
decomposition* covers a pattern by the fewest and longest substrings, and has one that ends at every
node with several branches, because what hangs there must meet at one element. Here one ends also at
every node that has a predicate, since predicates hang on the row of the substring that ends there.

Attributes are names with an `@`, and values that are compared with a string for equality are names
in quotes. (The papers do so with numbers, too; but `1` and `1.0` are equal, so those are predicates
here.) A `*` that cannot be part of a distance is a substring without any name. Whatever else is
asked of a text is a predicate of its element; not so in an ordered pattern, where it matters which
text it is: there texts have a name.

Substrings form a tree: s is above t if s is a prefix of t, or if t begins below the end of s.
"""

import math
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tidegate.documents.pattern import ANY, EQUAL, Branch, Distance, Node, Pattern, ValueTest
from tidegate.errors import TidegateError

Tests: TypeAlias = tuple[ValueTest, ...]
Names: TypeAlias = tuple[str, ...]
_NEXT: Final = Distance(1)


@dataclass(frozen=True, slots=True)
class Predicate:
    """What is asked of the node at a substring's end, beside its name: of its value, or a text."""

    of_text: bool
    tests: Tests


@dataclass(slots=True)
class Part:
    """A node of a pattern as XTrie takes it."""

    name: str | None
    """None is that of any element."""
    predicates: tuple[Predicate, ...] = ()
    below: "list[Way]" = field(default_factory=list)

    @property
    def is_plain(self) -> bool:
        """Whether it is a `*` that only stands for a level."""
        return self.name is None and not self.predicates and len(self.below) == 1


@dataclass(frozen=True, slots=True)
class Way:
    """From a part to one below it."""

    distance: Distance
    part: Part


@dataclass(slots=True)
class Substring:
    """A substring: its names, how far its end is below the end of the one above, what is asked.

    `rank` is its place among those below the one above, from 1 on; attributes have none in an
    ordered pattern, rank 0. Where the branch begins that it ends is said by `begins`: so many
    levels below the end of the one above, or if below zero, so many above its own end.
    """

    names: Names
    least: int
    most: float
    rank: int
    begins: int
    predicates: tuple[Predicate, ...]
    below: "list[Substring]" = field(default_factory=list)


def decompose(pattern: Pattern) -> Substring:
    """The tree of a pattern's substrings. Its root stands for the document and has no names."""
    root = Substring((), 0, 0, 0, 0, ())
    part = _part(pattern.root, ordered=pattern.ordered)
    _cut(part, (), root, ordered=pattern.ordered)
    return root


def quoted(value: str, *, of_attribute: bool) -> str:
    """A value as a name; those of texts and of attributes differ, for a `*` is no attribute."""
    return ("=" if of_attribute else '"') + value


def _part(node: Node, *, ordered: bool) -> Part:
    """A node, its attributes, texts and values as XTrie has them."""
    if node.positions or node.choices:
        raise TidegateError("XTrie has neither positions nor choices")
    made = Part(None if node.label in (ANY, "/") else node.label)
    if node.is_attribute and _is_equality(node.tests):
        made.below.append(Way(_NEXT, Part(quoted(str(node.tests[0].constant), of_attribute=True))))
        return made
    made.predicates = tuple(Predicate(False, (test,)) for test in node.tests)
    for branch in node.branches:
        if not branch.node.is_text:
            made.below.append(Way(branch.distance, _part(branch.node, ordered=ordered)))
        elif _is_equality(branch.node.tests):
            value = Part(quoted(str(branch.node.tests[0].constant), of_attribute=False))
            made.below.append(Way(branch.distance, value))
        elif ordered:
            made.below.append(Way(branch.distance, _part(branch.node, ordered=True)))
        else:
            _add_text(made, branch)
    return made


def _add_text(made: Part, branch: Branch) -> None:
    """Ask something of the texts of a part, or of an element below it."""
    predicate = Predicate(True, branch.node.tests)
    if branch.node.positions or branch.node.choices:
        raise TidegateError("XTrie has neither positions nor choices")
    if branch.distance == _NEXT:
        made.predicates += (predicate,)
    else:
        owner = Distance(branch.distance.levels - 1, branch.distance.exact)
        made.below.append(Way(owner, Part(None, (predicate,))))


def _is_equality(tests: Tests) -> bool:
    return len(tests) == 1 and tests[0].operator == EQUAL and isinstance(tests[0].constant, str)


def _cut(part: Part, prefix: Names, above: Substring, *, ordered: bool) -> None:
    """Add the substrings below a part, at which the one above ends; `prefix` are its names."""
    rank = 0
    for way in part.below:
        is_attribute = (way.part.name or "")[:1] == "@"
        own_rank = 0
        if not (ordered and is_attribute):
            rank += 1
            own_rank = rank
        distance, end, names = _follow(way, prefix)
        begins = way.distance.levels
        if not way.distance.exact:
            begins = way.distance.levels - distance.levels - 1
        most = distance.levels if distance.exact else math.inf
        below = Substring(names, distance.levels, most, own_rank, begins, end.predicates)
        above.below.append(below)
        _cut(end, names, below, ordered=ordered)


def _follow(way: Way, prefix: Names) -> tuple[Distance, Part, Names]:
    """From a way down to where the substring ends: how far, at what, and with which names."""
    distance, part = way.distance, way.part
    while part.is_plain:
        distance, part = distance + part.below[0].distance, part.below[0].part
    if part.name is None:
        return distance, part, ()
    names = (*prefix, part.name) if prefix and distance == _NEXT else (part.name,)
    while len(part.below) == 1 and not part.predicates:
        only = part.below[0]
        if only.distance != _NEXT or only.part.name is None:
            break
        distance, part = distance + _NEXT, only.part
        names = (*names, only.part.name)
    return distance, part, names

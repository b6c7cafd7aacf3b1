"""What does a subscription to a document ask for? A tree pattern.

A **pattern** is a tree that is laid over a document. A document matches if every node of the
pattern finds a node of the document of its own, or shared with others, so that

- the pattern's root, labelled `/`, stands for the document itself, which is one level above the
  document's outermost element;
- the **label** of each other node fits: a name (`a`, or `{uri}a` in a namespace) is an element of
  that name, `*` any element, `@a` (or `@{uri}a`) an attribute of that name, `text()` a text node.
  `*` is never an attribute or a text. Attributes and texts stand one level below their element;
- along a **branch** from a node to one below it, the document's node is a descendant at the
  branch's **distance**: exactly so many levels below, or at least so many. Only elements are
  between;
- all **tests** of a node hold for its value: of an attribute its value, of a text its characters,
  of an element the characters of all texts in it, one after the other. A test compares with a
  string or with a number, as XPath 1.0 does (`values`);
- all **positions** of a node hold. A position counts the children of the node's parent that fit
  `among`, which is a pattern node itself: label, tests, branches, positions. The node must be one
  of them, and its number, from 1, must stand in the position's relation to its rank (rank None is
  the number of the last);
- of each **choice** of a node, one option at least holds for the document's node. An option is a
  pattern node with the same label, whose tests, branches, positions and choices must all hold.

Two branches of one node may be met by one and the same node below it, unless the pattern is
**ordered**. Then, of the branches of a node that are no attributes, each must be met by a node that
begins after the end of the one that met the branch before: for children of one parent, by one of
its following siblings. (XTrie matches in this way as an option: Chan, Felber, Garofalakis, Rastogi,
Efficient filtering of XML documents with XPath expressions, 2002.)

What an XPath expression means is a union of patterns (`normal`). They come in a normal form:

- an unordered pattern has no node labelled `*` without tests, positions and choices that has
  exactly one branch: it is part of a distance. `/*/a` is `a` exactly 2 below the root, `/*//a` and
  `//*/a` are `a` at least 2 below it. (XTrie has this as *Rel Level*; distances on edges make
  containment by homomorphism nearly complete.)
- a `*` with nothing on it is exactly so far away, never at least: if there is something deeper,
  there is something there;
- a `*` with nothing on it below the root is left out, because every document has an element. So a
  pattern that every document matches is a root without branches;
- attributes and texts have no branches, and attributes no positions. Two tests of one attribute of
  one node are on one branch; two tests of texts are on two;
- a branch that another one implies is left out, and the rest are in one order, so that patterns
  with equal forms are equal. An ordered pattern keeps its branches, and its `*`;
- there are choices only in `among`, and in a pattern that would have become too many (see
  `normal.MAX_ALTERNATIVES`). Without its choices a pattern is wider: it matches all that it matched
  before, which is enough to find candidates by.
"""

from dataclasses import dataclass, field
from typing import Final

ROOT: Final = "/"
ANY: Final = "*"
TEXT: Final = "text()"
ORDERED: Final = "ordered"
"""The word before an expression, with a colon, by which its branches are met in order."""

EQUAL: Final = "="
UNEQUAL: Final = "!="
LESS: Final = "<"
AT_MOST: Final = "<="
GREATER: Final = ">"
AT_LEAST: Final = ">="
STARTS: Final = "starts-with"
CONTAINS: Final = "contains"


@dataclass(frozen=True, slots=True, order=True)
class Distance:
    """How many levels a node is below another: exactly so many, or at least so many."""

    levels: int
    exact: bool = True

    def __add__(self, other: "Distance") -> "Distance":
        return Distance(self.levels + other.levels, self.exact and other.exact)

    def allows(self, other: "Distance") -> bool:
        """Whether whatever is at the other distance is at this one."""
        if self.exact:
            return other.exact and self.levels == other.levels
        return self.levels <= other.levels

    def __str__(self) -> str:
        return _steps(self)


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A comparison of a value with a constant.

    With a string: `=`, `!=`, `starts-with`, `contains`. With a number: `=`, `!=`, `<=`, `>=`, where
    the value is read as a number first (there are no `<` and `>` in a normal form: between two
    doubles that follow each other there is nothing).
    """

    operator: str
    constant: str | float


@dataclass(frozen=True, slots=True)
class Position:
    """Which of the children of its parent that fit `among` a node is.

    With a rank: `=`, `!=`, `<=`, `>=`. With None, the rank of the last: `=`, `!=`.
    """

    operator: str
    rank: int | None
    among: "Node"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options holds. Each is a node with the label of the one that has the choice."""

    options: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Something below a node."""

    distance: Distance
    node: "Node"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a pattern: see above. Hashing takes no longer for a large one.

    `size` is the number of nodes from here on down, those of positions and choices included.
    """

    label: str
    tests: tuple[ValueTest, ...] = ()
    branches: tuple[Branch, ...] = ()
    positions: tuple[Position, ...] = ()
    choices: tuple[Choice, ...] = ()
    size: int = field(init=False, repr=False, compare=False, default=1)
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        parts = (self.label, self.tests, self.branches, self.positions, self.choices)
        object.__setattr__(self, "_hash", hash(parts))
        size = 1
        for branch in self.branches:
            size += branch.node.size
        for position in self.positions:
            size += position.among.size
        for choice in self.choices:
            size += sum(option.size for option in choice.options)
        object.__setattr__(self, "size", size)

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_attribute(self) -> bool:
        """Whether it is an attribute."""
        return self.label[0] == "@"

    @property
    def is_text(self) -> bool:
        """Whether it is a text."""
        return self.label == TEXT

    @property
    def is_element(self) -> bool:
        """Whether it is an element, of whatever name."""
        return self.label[0] != "@" and self.label != TEXT and self.label != ROOT

    @property
    def is_bare(self) -> bool:
        """Whether there is nothing to it but the label and what is below."""
        return not (self.tests or self.positions or self.choices)

    @property
    def is_leaf(self) -> bool:
        """Whether there is nothing to it but the label."""
        return self.is_bare and not self.branches


@dataclass(frozen=True, slots=True)
class Pattern:
    """A tree pattern: its root, labelled `/`, and whether branches are met in document order."""

    root: Node
    ordered: bool = False

    @property
    def size(self) -> int:
        """How many nodes there are below the root; those of positions and choices, too."""
        return self.root.size - 1

    @property
    def has_choices(self) -> bool:
        """Whether some node has a choice, beside those in positions."""
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.choices:
                return True
            stack += [branch.node for branch in node.branches]
        return False

    def __str__(self) -> str:
        return f"{ORDERED}: {spell(self.root)}" if self.ordered else spell(self.root)


EVERYTHING: Final = Pattern(Node(ROOT))
"""The pattern that every document matches."""


def spell(node: Node) -> str:
    """A node as XPath has it, all that is below it as predicates, names in Clark's notation.

    >>> spell(
    ...     Node(ROOT, branches=(Branch(Distance(2, False), Node("a", (ValueTest(EQUAL, "x"),))),))
    ... )
    "/*//a[. = 'x']"
    """
    if node.label == ROOT:
        if len(node.branches) == 1 and not node.choices:
            only = node.branches[0]
            return _steps(only.distance) + spell(only.node)
        return "/" + spell_conditions(node)
    return node.label + spell_conditions(node)


def spell_conditions(node: Node) -> str:
    """What is asked of a node beside its label, as predicates."""
    parts = [f"[{_spell_position(position)}]" for position in node.positions]
    parts += [f"[{spell_test(test, '.')}]" for test in node.tests]
    parts += [
        f"[{' or '.join(_spell_option(o) for o in choice.options)}]" for choice in node.choices
    ]
    parts += [f"[{_spell_branch(branch)}]" for branch in node.branches]
    return "".join(parts)


def _spell_branch(branch: Branch) -> str:
    node = branch.node
    path = "." + _steps(branch.distance) if branch.distance != Distance(1) else ""
    if len(node.tests) == 1 and not (node.branches or node.positions or node.choices):
        return spell_test(node.tests[0], path + node.label)
    return path + spell(node)


def _spell_option(option: Node) -> str:
    return "self::node()" + spell_conditions(option)


def _spell_position(position: Position) -> str:
    rank = "last()" if position.rank is None else position.rank
    return f"position() {position.operator} {rank} among {spell(position.among)}"


def spell_test(test: ValueTest, operand: str) -> str:
    """A comparison, in XPath's notation."""
    constant = spell_constant(test.constant)
    if test.operator in (STARTS, CONTAINS):
        return f"{test.operator}({operand}, {constant})"
    return f"{operand} {test.operator} {constant}"


def spell_constant(constant: str | float) -> str:
    """A string or a number as XPath writes it; infinite numbers cannot be written, and are shown.

    A string with both kinds of quotes cannot be written in XPath 1.0 either.

    >>> spell_constant(0.5), spell_constant(1e21), spell_constant("it's")
    ('0.5', '1000000000000000000000', '"it\\'s"')
    """
    if isinstance(constant, str):
        return f'"{constant}"' if "'" in constant else f"'{constant}'"
    if constant in (float("inf"), float("-inf")):
        return "Infinity" if constant > 0 else "-Infinity"
    if constant == int(constant):
        return str(int(constant))
    return f"{constant:.400f}".rstrip("0") if "e" in repr(constant) else repr(constant)


def _steps(distance: Distance) -> str:
    return "/*" * (distance.levels - 1) + ("/" if distance.exact else "//")

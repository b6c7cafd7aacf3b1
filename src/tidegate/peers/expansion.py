"""What may documents look like that match a pattern?

The **expansion** of a pattern (Chand, 2005, section 8.4, Algorithm 26) is a tree of element names.
A name of the pattern is a node that is certain; a `*` becomes every name that may stand there, as
alternatives of one *class*, of which one occurs; `//` becomes what the pattern asks for next right
here, and, below every child that may be there, the same again, up to a depth and a least
probability. What cannot be completed is left out, and the alternatives that are left share the
whole probability: the thesis keeps the old shares in one place, and not in another.

Of elements that exclude each other by the DTD, an alternative goes that excludes all alternatives
of another class; if none is left in a class, the node above goes. Two nodes of one name that may
occur only once are the same element, and no contradiction.

The class of a `//` is one for what is right here and what is deeper; the thesis takes whatever was
used last. The pattern's positions and choices are left out: what is expanded is then wider.
"""

from dataclasses import dataclass, field
from typing import Final

from tidegate.documents.pattern import ANY, Distance, Node, Pattern, ValueTest
from tidegate.peers.guide import Guide, Path

_ROOT: Final = ""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far an expansion goes."""

    depth: int = 10
    """Δ: how deep an element may be."""
    least: float = 0.001
    """τ: how probable the way to an element has to be for `//` to go further down."""


@dataclass(slots=True, eq=False)
class Possible:
    """A node of an expansion: an element that occurs, if its parent does, with a probability."""

    label: str
    path: Path
    probability: float = 1.0
    tests: tuple[ValueTest, ...] = ()
    classes: list[list["Possible"]] = field(default_factory=list)
    """What is below: of each class one occurs."""


def expand(pattern: Pattern, guide: Guide, bounds: Bounds | None = None) -> Possible | None:
    """The expansion of a pattern; None if no document can match it.

    >>> from tidegate.documents.dtd import parse_dtd
    >>> from tidegate.documents.xpath import parse_xpath
    >>> guide = Guide(parse_dtd("<!ELEMENT a (b?, c?)><!ELEMENT b (d)><!ELEMENT c EMPTY>"))
    >>> root = expand(parse_xpath("/a/*[d]").patterns[0], guide)
    >>> [[(node.label, node.probability) for node in each] for each in root.classes[0][0].classes]
    [[('b', 1.0)]]
    """
    root = Possible(_ROOT, ())
    return root if _fill(root, pattern.root, 1.0, guide, bounds or Bounds()) else None


def size(node: Possible) -> int:
    """How many nodes an expansion has below one."""
    return sum(1 + size(child) for each in node.classes for child in each)


def _fill(node: Possible, asked: Node, so_far: float, guide: Guide, bounds: Bounds) -> bool:
    """Add what a pattern's node asks for below an element; whether all of it may be there."""
    for branch in asked.branches:
        found = _alternatives(node, branch.distance, branch.node, so_far, guide, bounds)
        if not found:
            return False
        node.classes.append(found)
    return _without_opposed(node, guide)


def _alternatives(
    node: Possible, distance: Distance, asked: Node, so_far: float, guide: Guide, bounds: Bounds
) -> list[Possible]:
    """What may meet a branch below an element: the children by which it is met."""
    if asked.label[0] == "@" or asked.is_text:
        return _values(node, distance, asked, so_far, guide, bounds)
    found: list[Possible] = []
    if distance.levels == 1:
        found += _here(node, asked, so_far, guide, bounds)
    if distance.levels > 1 or not distance.exact:
        found += _below(node, distance, asked, so_far, guide, bounds)
    return _shared(found)


def _here(
    node: Possible, asked: Node, so_far: float, guide: Guide, bounds: Bounds
) -> list[Possible]:
    """The children that are what is asked for."""
    if len(node.path) >= bounds.depth:
        return []
    if asked.label == ANY:
        chances = guide.children(node.path)
    else:
        known = guide.children(node.path).get(asked.label, 0.0)
        chances = {asked.label: known} if known else {}
    found: list[Possible] = []
    for name, chance in chances.items():
        child = Possible(name, (*node.path, name), chance, asked.tests)
        if _fill(child, asked, so_far * chance, guide, bounds):
            found.append(child)
    return found


def _below(
    node: Possible, distance: Distance, asked: Node, so_far: float, guide: Guide, bounds: Bounds
) -> list[Possible]:
    """The children below which what is asked for may be."""
    rest = Distance(max(1, distance.levels - 1), distance.exact)
    found: list[Possible] = []
    if len(node.path) >= bounds.depth or so_far <= bounds.least:
        return found
    for name, chance in guide.children(node.path).items():
        child = Possible(name, (*node.path, name), chance)
        inner = _alternatives(child, rest, asked, so_far * chance, guide, bounds)
        if inner:
            child.classes.append(inner)
            found.append(child)
    return found


def _values(
    node: Possible, distance: Distance, asked: Node, so_far: float, guide: Guide, bounds: Bounds
) -> list[Possible]:
    """Attributes and texts: they may be anywhere."""
    leaf = Possible(asked.label, (*node.path, asked.label), 1.0, asked.tests)
    if distance.levels == 1:
        return [leaf]
    rest = Distance(distance.levels - 1, distance.exact)
    found: list[Possible] = []
    for name, chance in guide.children(node.path).items():
        child = Possible(name, (*node.path, name), chance)
        inner = _values(child, rest, asked, so_far * chance, guide, bounds)
        if inner and len(node.path) < bounds.depth:
            child.classes.append(inner)
            found.append(child)
    return _shared(found)


def _shared(found: list[Possible]) -> list[Possible]:
    """Alternatives with the whole probability among them."""
    total = sum(each.probability for each in found)
    for each in found:
        each.probability /= total
    return found


def _without_opposed(node: Possible, guide: Guide) -> bool:
    """Take out alternatives that exclude all of another class; whether each class has one left."""
    changed = guide.opposition is not None
    while changed:
        changed = False
        for own in node.classes:
            for other in node.classes:
                left = [each for each in own if own is other or _together(node, each, other, guide)]
                if len(left) < len(own):
                    own[:] = _shared(left)
                    changed = True
                    if not left:
                        return False
    return True


def _together(node: Possible, one: Possible, others: list[Possible], guide: Guide) -> bool:
    return any(not opposed(node.label, one.label, other.label, guide) for other in others)


def opposed(parent: str, name: str, other: str, guide: Guide) -> bool:
    """Whether two different names exclude each other below an element."""
    return name != other and guide.opposed(parent, name, other)

"""Does a document match a pattern? All maps of the pattern's nodes to the document's are tried.

The definition, word by word, and with nothing of Tidegate's but the pattern itself and the reading
of numbers. For patterns without positions and choices, and small documents.
"""

from itertools import product
from typing import Any

from lxml import etree

from tidegate.documents.pattern import Branch, Node, Pattern
from tidegate.documents.values import meets


class Place:
    """A node of a document: what it is called, its value, where it is."""

    def __init__(self, label: str, value: str, above: "Place | None", span: Any) -> None:
        self.label = label
        self.value = value
        self.above = above
        self.span = span

    def levels_below(self, other: "Place") -> int | None:
        levels, at = 0, self
        while at is not other:
            if at.above is None:
                return None
            levels, at = levels + 1, at.above
        return levels


def places(text: str) -> list[Place]:
    """The document itself, and all that is in it."""
    top = Place("/", "", None, (-1, 10**9))
    found, clock = [top], [0]

    def text_node(value: str, above: Place) -> None:
        clock[0] += 1
        found.append(Place("text()", value, above, (clock[0], clock[0])))

    def element(node: Any, above: Place) -> None:
        clock[0] += 1
        place = Place(node.tag, node.xpath("string(.)"), above, clock[0])
        found.append(place)
        for name, value in node.attrib.items():
            found.append(Place("@" + name, value, place, (0, 0)))
        for child in node.xpath("node()"):
            if isinstance(child, str):
                text_node(str(child), place)
            elif isinstance(child.tag, str):
                element(child, place)
        start = place.span
        clock[0] += 1
        place.span = (start, clock[0])

    element(etree.fromstring(text), top)
    return found


def embeds(pattern: Pattern, text: str) -> bool:
    """Whether some map fits."""
    there = places(text)
    nodes: list[tuple[Node, int, Branch | None]] = [(pattern.root, -1, None)]
    for place, (node, _, _) in enumerate(nodes):
        nodes += [(branch.node, place, branch) for branch in node.branches]
    allowed = [[at for at in there if fits(node, at)] for node, _, _ in nodes]
    return any(holds(pattern, nodes, chosen) for chosen in product(*allowed))


def fits(node: Node, place: Place) -> bool:
    element = place.label[0] != "@" and place.label not in ("text()", "/")
    labelled = node.label == place.label or (node.label == "*" and element)
    return labelled and all(meets(place.value, test) for test in node.tests)


def holds(
    pattern: Pattern,
    nodes: list[tuple[Node, int, Branch | None]],
    chosen: tuple[Place, ...],
) -> bool:
    for (_, above, branch), place in zip(nodes, chosen, strict=True):
        if branch is None:
            continue
        levels = place.levels_below(chosen[above])
        wanted = branch.distance
        if levels is None or levels < wanted.levels or (wanted.exact and levels > wanted.levels):
            return False
    return not pattern.ordered or in_order(nodes, chosen)


def in_order(nodes: list[tuple[Node, int, Branch | None]], chosen: tuple[Place, ...]) -> bool:
    ends: dict[int, int] = {}
    for (node, above, _), place in zip(nodes, chosen, strict=True):
        if above < 0 or node.is_attribute:
            continue
        if place.span[0] <= ends.get(above, -1):
            return False
        ends[above] = place.span[1]
    return True

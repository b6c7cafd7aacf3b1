"""Does this document match this pattern?

One pattern and one document, by the definition of a pattern (`pattern`): from the leaves of the
pattern up, which nodes of the document meet it. Every pair of a node of the pattern and one of the
document is looked at once at most. Everything faster is compared with this.
"""

from collections.abc import Iterable
from typing import TypeAlias

from tidegate.documents.pattern import ANY, Branch, Distance, Node, Pattern, Position
from tidegate.documents.tree import Element
from tidegate.documents.values import meets

Place: TypeAlias = tuple[Element, str | int | None]
"""A node of a document: an element and None, its attribute's name, or the place of a text in it."""


def matches(pattern: Pattern, document: Element) -> bool:
    """Whether a document, given by its root, matches the pattern."""
    return _Evaluation(ordered=pattern.ordered).meets(pattern.root, (document, None))


class _Evaluation:
    """Answers about one pattern and one document."""

    def __init__(self, *, ordered: bool) -> None:
        self._ordered = ordered
        self._known: dict[tuple[Node, Element, str | int | None], bool] = {}
        self._ranks: dict[tuple[Node, Element], dict[Element | int, int]] = {}

    def meets(self, node: Node, place: Place) -> bool:
        """Whether a node of the document meets a node of the pattern, whose label it has."""
        key = (node, *place)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._conditions(node, place)
        return known

    def _conditions(self, node: Node, place: Place) -> bool:
        return (
            all(meets(_value(place), test) for test in node.tests)
            and all(self._stands(position, place) for position in node.positions)
            and all(any(self.meets(o, place) for o in choice.options) for choice in node.choices)
            and self._branches(node.branches, place[0])
        )

    def _branches(self, branches: tuple[Branch, ...], element: Element) -> bool:
        if not self._ordered:
            return all(any(True for _ in self.found(branch, element)) for branch in branches)
        after = 0.0
        for branch in branches:
            ends = (
                _span(place)[1]
                for place in self.found(branch, element)
                if branch.node.is_attribute or _span(place)[0] > after
            )
            end = min(ends, default=None)
            if end is None:
                return False
            if not branch.node.is_attribute:
                after = end
        return True

    def found(self, branch: Branch, element: Element) -> Iterable[Place]:
        """The nodes below an element that meet a branch."""
        node = branch.node
        if node.is_element:
            for each in _at(branch.distance, element):
                if node.label in (each.name, ANY) and self.meets(node, (each, None)):
                    yield each, None
            return
        above = Distance(branch.distance.levels - 1, branch.distance.exact)
        for each in _at(above, element):
            for part in _parts(node, each):
                if self.meets(node, (each, part)):
                    yield each, part

    def _stands(self, position: Position, place: Place) -> bool:
        """Whether a node's number among its siblings is the one that is asked for."""
        element, part = place
        among = position.among
        above = element if part is not None else element.parent
        assert above is not None
        key = (among, above)
        ranks = self._ranks.get(key)
        if ranks is None:
            if among.is_element:
                fitting: list[Element | int] = [
                    each
                    for each in above.elements
                    if among.label in (each.name, ANY) and self.meets(among, (each, None))
                ]
            else:
                fitting = [
                    each
                    for each, child in enumerate(above.children)
                    if isinstance(child, str) and self.meets(among, (above, each))
                ]
            ranks = self._ranks[key] = {each: rank for rank, each in enumerate(fitting, 1)}
        own = ranks.get(element if part is None else part)  # type: ignore[arg-type]
        if own is None:
            return False
        asked = len(ranks) if position.rank is None else position.rank
        match position.operator:
            case "=":
                return own == asked
            case "!=":
                return own != asked
            case "<=":
                return own <= asked
            case _:
                return own >= asked


def _parts(node: Node, element: Element) -> list[str | int]:
    """The attribute, or the texts, of an element that have a node's label."""
    if node.is_text:
        return [n for n, child in enumerate(element.children) if isinstance(child, str)]
    return [node.label[1:]] if node.label[1:] in element.attributes else []


def _value(place: Place) -> str:
    element, part = place
    if part is None:
        return element.value
    if isinstance(part, str):
        return element.attributes[part]
    child = element.children[part]
    assert isinstance(child, str)
    return child


def _span(place: Place) -> tuple[float, float]:
    """When a node of the document begins and ends; a text does both between two tags."""
    element, part = place
    if part is None:
        return element.start, element.end
    if isinstance(part, str):
        return element.start, element.start
    before = [each.end for each in element.children[:part] if isinstance(each, Element)]
    share = (part + 1) / (len(element.children) + 2)
    moment = (before[-1] if before else element.start) + share
    return moment, moment


def _at(distance: Distance, element: Element) -> Iterable[Element]:
    """The elements at a distance below one; 0 is the element itself."""
    level = [element]
    for _ in range(distance.levels):
        level = [child for each in level for child in each.elements]
    if distance.exact:
        return level
    found = list(level)
    while level:
        level = [child for each in level for child in each.elements]
        found += level
    return found

"""What is a poset of filters? The prices of the paper, and a second attribute, as limits move.

The pictures are drawn from a real poset: its nodes, its links, and what a match asks.
"""

from typing import Final

from docs.pictures.svg import GREY, LINE, PALE, YELLOW, Picture
from tidegate.filters.filter import parse
from tidegate.papers.poset.node import Node
from tidegate.papers.poset.poset import Poset

FILTERS: Final = {
    1: "price < 10",
    2: "price < 5",
    3: "volume > 50",
    4: "price < 5 AND volume > 100",
}
MOVES: Final = ("price < 30", "price < 3")
EVENT: Final = {"price": 7, "volume": 60}

_LEFT: Final = 14.0
_WIDE: Final = 262.0  # of a panel
_GAP: Final = 26.0
_NODE: Final = 124.0  # the width of a node
_APART: Final = 136.0  # from the middle of a node to that of the next one
_LINE: Final = 18.0
_DOWN: Final = 98.0  # from a row of nodes to the next
_SIZE: Final = 13


def draw() -> str:
    """Three posets beside each other."""
    picture = Picture(
        "A poset of filters",
        "Filters hang under the filters that cover them; a filter whose limit moves stays at its "
        "node, which is moved only if its covers have changed.",
    )
    poset = Poset()
    for number, text in FILTERS.items():
        poset.add(number, parse(text))
    bottoms = [_panel(picture, 0, "`Poset.add`: four filters", ["Roots are yellow."], poset)]
    notes = (
        ["No link has changed. The bound has,", f"in constants only: {MOVES[0]}."],
        ["Covered by another filter now: its node", "moves. The other one is a root again."],
    )
    for place, (text, note) in enumerate(zip(MOVES, notes, strict=True), start=1):
        poset.update(1, parse(text))
        bottoms.append(_panel(picture, place, f"`Poset.update`: 1 is {text}", note, poset))
    told = ", ".join(f"{name} {value}" for name, value in EVENT.items())
    picture.text(_LEFT, max(bottoms) + 32, f"Blue frame: what is asked about an event of {told}.")
    return picture.svg(_LEFT + 3 * _WIDE + 2 * _GAP + 14, max(bottoms) + 48)


def _panel(picture: Picture, place: int, title: str, note: list[str], poset: Poset) -> float:
    """One poset under its title; where it ends."""
    left = _LEFT + place * (_WIDE + _GAP)
    picture.text(left, 28, title, bold=True)
    for line, text in enumerate(note):
        picture.text(left, 50 + 18 * line, text, size=_SIZE, fill=PALE)
    places = _places(poset, left)
    for node, (x, y) in places.items():
        for child in node.below:
            to = places[child]
            picture.arrow([(x, y + _height(node)), (to[0], to[1] - 1)])
    asked = _asked(poset)
    for node, (x, y) in places.items():
        _draw_node(picture, node, x, y, node in asked)
    return max(y + _height(node) for node, (_, y) in places.items())


def _draw_node(picture: Picture, node: Node, x: float, y: float, asked: bool) -> None:
    edge = "#2563eb" if asked else LINE
    fill = GREY if node.above else YELLOW
    picture.box(x - _NODE / 2, y, _NODE, _height(node), fill, edge)
    for i, text in enumerate(_lines(node)):
        picture.text(x, y + 20 + i * _LINE, text, size=_SIZE, anchor="middle")
    told = "subscription " + ", ".join(map(str, node.numbers))
    last = y + _height(node) - 8
    picture.text(x, last, told, size=_SIZE - 2, anchor="middle", fill=PALE)


def _lines(node: Node) -> list[str]:
    """The text of a filter, one predicate in a line."""
    first, *others = str(node.filter).split(" AND ")
    return [first, *(f"AND {other}" for other in others)]


def _height(node: Node) -> float:
    return 28 + _LINE * len(_lines(node))


def _places(poset: Poset, left: float) -> dict[Node, tuple[float, float]]:
    """Where nodes stand: roots side by side, the others below the middle of what covers them."""
    found: dict[Node, tuple[float, float]] = {}
    for depth, row in enumerate(_rows(poset)):
        before = left + _NODE / 2 - _APART
        for node in row:
            above = [found[parent][0] for parent in node.above]
            x = sum(above) / len(above) if above else before + _APART
            before = max(x, before + _APART)
            found[node] = before, 90 + depth * _DOWN
    return found


def _rows(poset: Poset) -> list[list[Node]]:
    """The nodes by how deep they hang, each row in the order of the subscriptions."""
    rows: dict[int, list[Node]] = {}
    for node in sorted(poset.nodes, key=lambda node: min(node.numbers)):
        rows.setdefault(_depth(node), []).append(node)
    return [rows[depth] for depth in sorted(rows)]


def _depth(node: Node) -> int:
    """How many nodes are above it, one above the other."""
    return max((_depth(parent) + 1 for parent in node.above), default=0)


def _asked(poset: Poset) -> set[Node]:
    """The nodes that a match asks: all that is directly above them matches."""
    found = {
        node for node in poset.nodes if all(parent.filter.matches(EVENT) for parent in node.above)
    }
    before = poset.asked
    poset.match(EVENT)
    assert len(found) == poset.asked - before
    return found

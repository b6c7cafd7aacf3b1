"""How do two filters share a decision diagram? Two subscriptions to flights, and an event.

The example of Li, Hou and Jacobsen (2005), Figs. 3 and 5, drawn from the diagrams of a table that
holds it.
"""

from typing import Final

from docs.pictures.svg import GREEN, GREY, PALE, Picture
from tidegate.filters.filter import parse
from tidegate.papers.mbd.mbd import MBD
from tidegate.papers.mbd.node_kernels import FALSE, TRUE

FLIGHTS: Final = {
    1: "price = 150 AND time = '2004-07-20' AND destination = 'Ottawa'",
    2: "price < 150 AND time = '2004-07-20' AND destination = 'Ottawa'",
}
EVENT: Final = {"price": 120, "time": "2004-07-20", "destination": "Ottawa"}

_LEFT: Final = 14.0
_INDEX: Final = 330.0
_FIRST: Final = 470.0  # the middle of the first column of nodes
_APART: Final = 170.0
_TOP: Final = 92.0
_LEVEL: Final = 92.0
_WIDE: Final = 130.0
_HIGH: Final = 34.0
_ZERO: Final = _FIRST - _WIDE / 2 + 20  # the middle of node 0 on the left, where it stands again


def flights() -> MBD:
    """The table that the picture shows."""
    table = MBD()
    for number, text in FLIGHTS.items():
        table.add(number, parse(text))
    table.rebuild()
    return table


def draw() -> str:
    """The index of predicates on the left, the diagram with its two outputs on the right."""
    picture = Picture(
        "Two filters in one decision diagram",
        "Both filters ask for the same time and destination, so they share two nodes; an event "
        "makes predicates true, and truth is carried upwards from node 1 to the outputs.",
    )
    table = flights()
    holding = set(table.predicates.holding(EVENT).tolist())
    places = _places(table)
    _draw_index(picture, table, holding)
    _draw_edges(picture, table, places)
    _draw_nodes(picture, table, places, holding)
    bottom = max(y for _, y in places.values()) + _HIGH
    said = ", ".join(f"{name} {value}" for name, value in EVENT.items())
    picture.text(_LEFT, bottom + 34, f"The event: {said}. What it makes true is green.", size=14)
    told = "A line leads to what decides if the variable holds, a dashed one if it does not."
    picture.text(_LEFT, bottom + 56, f"{told} Node 0 is drawn twice.", size=14)
    return picture.svg(_FIRST + 2.2 * _APART, bottom + 74)


def _places(table: MBD) -> dict[int, tuple[float, float]]:
    """The middle of each node's upper edge: outputs side by side, what they share below."""
    places: dict[int, tuple[float, float]] = {}
    levels = table.attributes[::-1]
    row = {name: _TOP + _LEVEL * level for level, name in enumerate(levels)}
    for column, number in enumerate(FLIGHTS):
        node = table.output(number)
        places[node] = (_FIRST + column * _APART, row[_attribute(table, node)])
        node = table.node(node)[2]
        while node != TRUE:
            places[node] = (_FIRST + _APART / 2, row[_attribute(table, node)])
            node = table.node(node)[2]
    end = _TOP + _LEVEL * len(levels)
    places[TRUE] = (_FIRST + _APART / 2, end)
    places[FALSE] = (_FIRST + 1.8 * _APART, end)
    return places


def _attribute(table: MBD, node: int) -> str:
    return table.predicates.attribute(table.node(node)[0])


def _draw_index(picture: Picture, table: MBD, holding: set[int]) -> None:
    picture.text(_LEFT, 28, "The index of predicates", bold=True)
    picture.text(_LEFT, 48, "`Predicates`", size=13)
    y = _TOP - 24
    for name in sorted(table.predicates.attributes):
        picture.text(_LEFT, y + 14, name, size=14, fill=PALE)
        for variable in table.predicates.of(name):
            y += 24
            picture.cell(_LEFT, y, _INDEX, 24, GREEN if variable in holding else GREY)
            picture.text(_LEFT + 8, y + 17, f"x{variable}", size=14, bold=True)
            picture.text(_LEFT + 44, y + 17, str(table.predicates[variable]), size=14)
        y += 38


def _draw_edges(picture: Picture, table: MBD, places: dict[int, tuple[float, float]]) -> None:
    for node, (x, y) in places.items():
        if node in (FALSE, TRUE):
            continue
        _, low, high = table.node(node)
        picture.arrow([(x, y + _HIGH), places[high]])
        side = -1 if x < places[TRUE][0] and low == FALSE else 1
        start = (x + side * (_WIDE / 2 - 8), y + _HIGH)
        end = (_ZERO, places[low][1]) if side < 0 else places[low]
        picture.arrow([start, end], dashed=True)


def _draw_nodes(
    picture: Picture, table: MBD, places: dict[int, tuple[float, float]], holding: set[int]
) -> None:
    picture.text(_FIRST - _WIDE / 2, 28, "One diagram with two outputs", bold=True)
    picture.text(_FIRST - _WIDE / 2, 48, "`Diagram`", size=13)
    true = {TRUE}
    for node in sorted(places, key=lambda node: -places[node][1]):
        if node not in (FALSE, TRUE):
            variable, low, high = table.node(node)
            if (variable in holding and high in true) or low in true:
                true.add(node)
    matched = set(table.match(EVENT))
    assert matched == {number for number in FLIGHTS if table.output(number) in true}
    drawn = [*places.items(), (FALSE, (_ZERO, places[FALSE][1]))]
    for node, (x, y) in drawn:
        wide = 40.0 if node in (FALSE, TRUE) else _WIDE
        picture.box(x - wide / 2, y, wide, _HIGH, GREEN if node in true else GREY)
        said = str(node) if node in (FALSE, TRUE) else f"x{table.node(node)[0]}"
        picture.text(x, y + 22, said, anchor="middle", bold=True)
    for number in FLIGHTS:
        x, y = places[table.output(number)]
        picture.box(x - 46, y - 32, 92, 24, GREEN if number in matched else GREY)
        picture.text(x, y - 15, f"filter {number}", anchor="middle", size=14)

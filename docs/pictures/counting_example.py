"""What is inside a counting table? A small one, and its tables as they are.

It has the structures of Fig. 2 of Bittner and Hinze, "Subscription Tree Pruning" (OTM 2006): on the
left of that figure what filters events, on its right what pruning needs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from docs.pictures.svg import (
    BLUE,
    CODE_WIDE,
    GREEN,
    GREY,
    PALE,
    RED,
    WHITE,
    YELLOW,
    Picture,
)
from tidegate.filters.filter import parse
from tidegate.papers.counting.counting_table import CountingTable
from tidegate.papers.counting.tree_bytes import AND, LEAF, OR, decode, read

FILTERS: Final = {
    7: "title = 'Emma' AND (price < 5 OR format = 'paperback')",
    8: "price < 5 AND bids > 3",
    9: "format = 'paperback' OR (title = 'Emma' AND bids > 3)",
}
EVENT: Final = {"title": "Persuasion", "price": 4, "format": "paperback", "bids": 1}

_MARGIN: Final = 14.0
_WIDTH: Final = 664.0
_ROW: Final = 23.0
_FILLS: Final = {LEAF: YELLOW, AND: GREEN, OR: BLUE}


def example() -> CountingTable:
    """The table, after a hundred events."""
    table = CountingTable()
    for number, text in FILTERS.items():
        table.add(number, parse(text))
    for i in range(100):
        table.match(
            {
                "title": "Emma" if i % 20 == 0 else "Persuasion",
                "price": i % 10,
                "format": "paperback" if i % 4 else "hardcover",
                "bids": i % 5,
            }
        )
    table.rate()
    return table


def draw() -> str:
    """The tables, the way of an event through them, and what is pruned next."""
    table = example()
    picture = Picture(
        "The tables of the counting algorithm",
        "Three subscriptions with their trees in bytes, four predicates with their associations "
        "and counts of events, the counters of an event, and the queue of prunings.",
    )
    y = _subscriptions(picture, table, _MARGIN)
    y = _predicates(picture, table, y + 12)
    y = _event(picture, table, y + 12)
    y = _queue(picture, example(), y + 12)
    return picture.svg(_WIDTH, y + _MARGIN)


def _panel(picture: Picture, y: float, rows: int, title: str, file: str, fill: str) -> float:
    """A box with a title and room for so many rows; where they begin."""
    picture.box(_MARGIN, y, _WIDTH - 2 * _MARGIN, 40 + _ROW * rows + 10, fill)
    picture.text(_MARGIN + 12, y + 24, title, bold=True)
    picture.text(_WIDTH - _MARGIN - 12, y + 24, file, size=13, code=True, anchor="end", fill=PALE)
    return y + 40


def _row(
    picture: Picture, y: float, cells: Sequence[tuple[float, float, object]], fill: str = WHITE
) -> None:
    """Cells side by side: where each begins, how wide it is, and what is in it."""
    for x, width, cell in cells:
        picture.cell(x, y, width, _ROW, fill)
        picture.text(x + width / 2, y + 16, str(cell), size=14, anchor="middle")


def _head(picture: Picture, y: float, heads: Sequence[tuple[float, float, str]]) -> None:
    for x, width, head in heads:
        picture.text(x + width / 2, y + 16, head, size=13, anchor="middle", fill=PALE)


def _subscriptions(picture: Picture, table: CountingTable, y: float) -> float:
    trees = table._trees
    at = _panel(
        picture, y, 2 * len(FILTERS) + 1, "Subscriptions: trees in bytes",
        "papers/counting/trees.py", GREY,
    )  # fmt: skip
    columns = (26.0, 64.0), (90.0, 72.0), (162.0, 72.0)
    heads = ("number", "location", "minimum")
    _head(picture, at, [(x, w, head) for (x, w), head in zip(columns, heads, strict=True)])
    for number, text in FILTERS.items():
        at += _ROW
        slot = table._slots[number]
        cells = (number, int(trees.location[slot]), table.minimum(number))
        _row(picture, at, [(x, w, c) for (x, w), c in zip(columns, cells, strict=True)])
        picture.text(246, at + 16, text, size=14)
        at += _ROW
        _bytes(picture, table, slot, 90, at)
    return at + _ROW + 10


def _bytes(picture: Picture, table: CountingTable, slot: int, x: float, y: float) -> None:
    """The bytes of a tree, each node in the colour of its kind."""
    tree, start = table._trees.tree, int(table._trees.location[slot])
    places, tokens = np.empty((2, 16), np.int64)
    for place in places[: decode(tree, start, tokens, places)].tolist():
        kind, operand, body, end = read(tree, place)
        said = f"{operand}" if kind == LEAF else f"{'AND' if kind == AND else 'OR'} {operand}"
        if kind != LEAF:
            said += f", {end - body} bytes"
        for byte in range(place, body):
            picture.cell(x, y, 28, _ROW - 4, _FILLS[kind])
            picture.text(x + 14, y + 14, f"{tree[byte]:02x}", size=13, anchor="middle")
            x += 28
        picture.text(x + 5, y + 14, said, size=12, fill=PALE)
        x += 12 + 12 * CODE_WIDE * len(said) * 0.86


def _predicates(picture: Picture, table: CountingTable, y: float) -> float:
    index = table._predicates
    at = _panel(
        picture, y, len(index) + 1, "Predicates: associations and selectivities",
        "papers/counting/associations.py", GREEN,
    )  # fmt: skip
    columns = (26.0, 64.0), (90.0, 190.0), (280.0, 180.0), (460.0, 178.0)
    heads = ("variable", "predicate", "subscriptions that have it", "fulfilled, of 100 events")
    _head(picture, at, [(x, w, head) for (x, w), head in zip(columns, heads, strict=True)])
    for variable in range(index.width):
        at += _ROW
        numbers = table._numbers[table._associations[variable]].tolist()
        met, events = table._selectivities.counts(variable)
        assert events == 100
        cells = (variable, index[variable], ", ".join(map(str, numbers)), met)
        _row(picture, at, [(x, w, c) for (x, w), c in zip(columns, cells, strict=True)])
    return at + _ROW + 10


def _event(picture: Picture, table: CountingTable, y: float) -> float:
    at = _panel(
        picture, y, len(FILTERS) + 2, "An event: who reaches the minimum?",
        "papers/counting/counting_kernels.py", YELLOW,
    )  # fmt: skip
    held = table._predicates.holding(EVENT)
    fulfilled = ", ".join(str(variable) for variable in sorted(held.tolist()))
    picture.text(26, at + 16, f"{_spelled(EVENT)} fulfils {fulfilled}", size=14)
    at += _ROW
    columns = (26.0, 64.0), (90.0, 72.0), (162.0, 72.0), (234.0, 404.0)
    heads = ("number", "counter", "minimum", "")
    _head(picture, at, [(x, w, head) for (x, w), head in zip(columns, heads, strict=True)])
    matched = table.match(EVENT)
    for number, slot in table._slots.items():
        at += _ROW
        counter = sum(table._associations[variable].count(slot) for variable in held)
        minimum = table.minimum(number)
        assert minimum is not None
        if counter < minimum:
            said = "no candidate"
        else:
            said = "a candidate: its tree holds" if number in matched else "a candidate: it fails"
        cells = (number, counter, minimum, said)
        _row(picture, at, [(x, w, c) for (x, w), c in zip(columns, cells, strict=True)])
    return at + _ROW + 10


def _queue(picture: Picture, table: CountingTable, y: float) -> float:
    at = _panel(
        picture, y, len(table._queue) + 1, "The queue: what is pruned next",
        "papers/counting/pruning_queue.py", RED,
    )  # fmt: skip
    columns = (26.0, 64.0), (90.0, 108.0), (198.0, 440.0)
    heads = ("number", "degradation", "what is left of it, if nothing changes before")
    _head(picture, at, [(x, w, head) for (x, w), head in zip(columns, heads, strict=True)])
    before = {number: table._queue.degradation(slot) for number, slot in table._slots.items()}
    done: set[int] = set()
    while len(done) < len([cost for cost in before.values() if cost is not None]):
        texts = {number: str(table.filter(number)) for number in FILTERS}
        assert table.prune(1) == 1
        [number] = [n for n in FILTERS if str(table.filter(n)) != texts[n]]
        if number not in done:
            done.add(number)
            at += _ROW
            cells = (number, f"{before[number]:.4f}", table.filter(number))
            _row(picture, at, [(x, w, c) for (x, w), c in zip(columns, cells, strict=True)])
    return at + _ROW + 10


def _spelled(event: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in event.items())

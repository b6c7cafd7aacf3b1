"""What does the overlay look like, with what has happened in it?

An SVG, drawn by hand: the tree from the first broker on. A circle's area is the size of the routing
table, its shade how busy the broker was; a line's width is the traffic of the link, in bytes. Below
stands what that means.
"""

from collections.abc import Mapping
from html import escape
from math import sqrt
from typing import Final, NamedTuple

from tidegate.simulate.counters import BrokerCounters, Result

_ACROSS: Final = 96  # pixels between neighbours in a row
_DOWN: Final = 110  # pixels between rows
_MARGIN: Final = 60
_HEAD: Final = 40
_FOOT: Final = 84
_SMALL: Final = 8.0  # the radius of an empty table
_LARGE: Final = 30.0  # the radius of the largest one
_THIN: Final = 1.0
_THICK: Final = 12.0
_INK: Final = "#1f2d3d"
_LINE: Final = "#8fb3cc"
_IDLE: Final = (225, 239, 247)
_BUSY: Final = (21, 96, 140)


class Point(NamedTuple):
    """A place in a picture."""

    x: float
    y: float


def picture(result: Result) -> str:
    """The SVG."""
    links = _links(result)
    places = layout([broker.name for broker in result.brokers], list(links))
    width = max(520.0, max(place.x for place in places.values()) + _MARGIN)
    bottom = max(place.y for place in places.values()) + _MARGIN
    most = max(links.values(), default=0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{bottom + _FOOT:.0f}" font-family="sans-serif" font-size="11" fill="{_INK}">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="16" y="26" font-size="15" font-weight="bold">{escape(result.name)}</text>',
    ]
    for (first, second), size in links.items():
        parts += _line(places[first], places[second], size, most, f"{first} - {second}")
    entries = max(broker.entries for broker in result.brokers)
    for broker in result.brokers:
        parts += _circle(places[broker.name], broker, entries, result.time)
    parts += _legend(bottom, entries, most)
    return "\n".join([*parts, "</svg>"]) + "\n"


def layout(names: list[str], links: list[tuple[str, str]]) -> dict[str, Point]:
    """A place for each broker of a tree: leaves side by side, others above the middle of theirs.

    A tree that is deeper than wide lies on its side.
    """
    near: dict[str, list[str]] = {name: [] for name in names}
    for first, second in links:
        near[first].append(second)
        near[second].append(first)
    order: list[tuple[str, str, int]] = [(names[0], "", 0)]
    for name, before, depth in order:
        order += [(other, name, depth + 1) for other in near[name] if other != before]
    children = {name: [x for x in near[name] if x != before] for name, before, _ in order}
    across: dict[str, float] = {}
    stack, leaves = [names[0]], 0
    while stack:  # leaves from left to right
        name = stack.pop()
        if not children[name]:
            across[name] = leaves
            leaves += 1
        stack += reversed(children[name])
    for name, _, _ in reversed(order):
        if children[name]:
            across[name] = sum(across[x] for x in children[name]) / len(children[name])
    deep = max(depth for _, _, depth in order) >= leaves
    found: dict[str, Point] = {}
    for name, _, depth in order:
        x, y = (depth, across[name]) if deep else (across[name], depth)
        found[name] = Point(_MARGIN + x * _ACROSS, _HEAD + _MARGIN + y * _DOWN)
    return {name: found[name] for name in names}


def _links(result: Result) -> Mapping[tuple[str, str], int]:
    """The bytes of each link, both directions together."""
    found: dict[tuple[str, str], int] = {}
    for lane in result.lanes:
        key = lane.start, lane.end
        key = key if key[::-1] not in found else key[::-1]
        found[key] = found.get(key, 0) + sum(lane.bytes.values())
    return found


def _line(a: Point, b: Point, size: int, most: int, title: str) -> list[str]:
    x, y = (a.x + b.x) / 2, (a.y + b.y) / 2
    return [
        f'<line x1="{a.x:.1f}" y1="{a.y:.1f}" x2="{b.x:.1f}" y2="{b.y:.1f}" stroke="{_LINE}" '
        f'stroke-width="{_width(size, most):.1f}" stroke-linecap="round">'
        f"<title>{escape(title)}: {size:,} bytes</title></line>",
        *_label(Point(x, y + 3), short(size)),
    ]


def _label(at: Point, text: str) -> list[str]:
    """A small text that stands out from what is behind it."""
    place = f'x="{at.x:.1f}" y="{at.y:.1f}" text-anchor="middle" font-size="9"'
    return [
        f'<text {place} stroke="white" stroke-width="3" stroke-linejoin="round">{text}</text>',
        f"<text {place}>{text}</text>",
    ]


def _circle(at: Point, broker: BrokerCounters, entries: int, time: float) -> list[str]:
    radius = _radius(broker.entries, entries)
    share = min(1.0, broker.busy / time) if time else 0.0
    shade = ",".join(f"{a + (b - a) * share:.0f}" for a, b in zip(_IDLE, _BUSY, strict=True))
    missed = "" if not broker.missed else f", {broker.missed:,} missed"
    title = (
        f"{broker.name}: {broker.entries:,} entries, {broker.passive:,} passive, busy {share:.0%}, "
        f"{broker.deliveries:,} deliveries, {broker.vain:,} events in vain{missed}"
    )
    return [
        f'<circle cx="{at.x:.1f}" cy="{at.y:.1f}" r="{radius:.1f}" fill="rgb({shade})" '
        f'stroke="{"#b3261e" if broker.missed else _INK}" stroke-width="1.5">'
        f"<title>{escape(title)}</title></circle>",
        *_label(Point(at.x, at.y - 2), escape(broker.name)),
        *_label(Point(at.x, at.y + 9), short(broker.entries)),
    ]


def _legend(top: float, entries: int, most: int) -> list[str]:
    y = top + 34
    said = (
        (f"{entries:,} table entries at most", 42),
        (f"{short(most)}B on a link at most", 252),
    )
    return [
        f'<line x1="16" y1="{top:.1f}" x2="504" y2="{top:.1f}" stroke="#d5dde5"/>',
        f'<circle cx="26" cy="{y - 4:.1f}" r="10" fill="none" stroke="{_INK}"/>',
        f'<line x1="216" y1="{y - 4:.1f}" x2="244" y2="{y - 4:.1f}" stroke="{_LINE}" '
        f'stroke-width="{_THICK}" stroke-linecap="round"/>',
        *(f'<text x="{x}" y="{y:.1f}">{text}</text>' for text, x in said),
        f'<text x="16" y="{y + 24:.1f}">Area: table entries. Width: bytes, both ways. '
        "Shade: how busy. Red: missed deliveries.</text>",
    ]


def short(number: int) -> str:
    """A number in a few characters.

    >>> short(999), short(1_250), short(3_400_000)
    ('999', '1.2k', '3.4M')
    """
    value, unit = float(number), ""
    for larger in ("k", "M", "G"):
        if value < 1_000:
            break
        value, unit = value / 1_000, larger
    return f"{value:.1f}{unit}" if unit else str(number)


def _radius(entries: int, most: int) -> float:
    """So that areas, beyond the smallest circle, are as the numbers."""
    share = entries / most if most else 0.0
    return sqrt(_SMALL**2 + (_LARGE**2 - _SMALL**2) * share)


def _width(size: int, most: int) -> float:
    return _THIN + (_THICK - _THIN) * (size / most if most else 0.0)

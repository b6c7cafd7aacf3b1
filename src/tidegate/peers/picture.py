"""What does a network of peers look like?

An SVG, drawn by hand. Of a containment tree: the virtual root and all below it, leaves side by
side, a peer above the middle of its children; equivalent peers are shaded, and joined by dashed
lines.
"""

from collections.abc import Mapping
from html import escape
from math import cos, pi, sin
from typing import Final

from tidegate.peers.branch import Family
from tidegate.simulate.picture import Point, layout

_RADIUS: Final = 16
_LETTER: Final = 6.2  # how wide one is, about
_LETTERS: Final = 13  # of a name; the rest is in the title
_INK: Final = "#1f2d3d"
_LINE: Final = "#8fb3cc"
_PLAIN: Final = "#e1eff7"
_EQUAL: Final = "#f7e6c4"
_ROOT: Final = "(root)"
_MARGIN: Final = 60


def tree_picture(name: str, families: Mapping[str, Family], filters: Mapping[str, str]) -> str:
    """The SVG of a tree; who is without a parent stands below the root, in red."""
    edges: list[tuple[str, str]] = []
    for peer, family in families.items():
        parent = family.parent if family.parent in families else _ROOT
        edges.append((parent or _ROOT, peer))
    places = layout([_ROOT, *families], edges)
    width = max(place.x for place in places.values()) + _MARGIN
    height = max(place.y for place in places.values()) + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{max(width, 420):.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="11" fill="{_INK}">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_head(name, "dashed: wants exactly the same as its parent"),
    ]
    for parent, child in edges:
        parts.append(_edge(places[parent], places[child], dashed=families[child].equal))
    parts.append(_peer(places[_ROOT], "root", "virtual", "white", _LINE))
    for peer, family in families.items():
        fill = _EQUAL if family.equal or any(family.children.values()) else _PLAIN
        ring = _INK if family.joined else "#b3261e"
        parts.append(_peer(places[peer], peer, filters[peer], fill, ring))
    return "\n".join([*parts, "</svg>"]) + "\n"


def graph_picture(
    name: str, links: Mapping[str, Mapping[str, bool]], filters: Mapping[str, str]
) -> str:
    """The SVG of a graph: peers on a circle, as they came; links that are random are dashed."""
    radius = max(120.0, 40 * len(links) / (2 * pi))
    middle = radius + _MARGIN
    places = {
        peer: Point(
            middle + radius * sin(2 * pi * number / len(links)),
            middle + 20 - radius * cos(2 * pi * number / len(links)),
        )
        for number, peer in enumerate(links)
    }
    size = f'width="{2 * middle:.0f}" height="{2 * middle + 20:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'font-family="sans-serif" font-size="11" fill="{_INK}">',
        '<rect width="100%" height="100%" fill="white"/>',
        *_head(name, "dashed: nearest to neither end, and chosen at random"),
    ]
    for peer, others in links.items():
        for other, random in others.items():
            if peer < other and other in places:
                parts.append(_edge(places[peer], places[other], dashed=random))
    for peer, place in places.items():
        parts.append(_peer(place, peer, filters[peer], _PLAIN, _INK))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _edge(a: Point, b: Point, *, dashed: bool) -> str:
    style = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<line x1="{a.x:.1f}" y1="{a.y:.1f}" x2="{b.x:.1f}" y2="{b.y:.1f}" '
        f'stroke="{_LINE}" stroke-width="2"{style}/>'
    )


def _head(name: str, legend: str) -> tuple[str, str]:
    return (
        f'<text x="16" y="26" font-size="15" font-weight="bold">{escape(name)}</text>',
        f'<text x="16" y="44">{legend}</text>',
    )


def _peer(at: Point, name: str, filter_text: str, fill: str, ring: str) -> str:
    short = name if len(name) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
    half = max(_RADIUS, _LETTER * len(short) / 2 + 6)
    return (
        f'<rect x="{at.x - half:.1f}" y="{at.y - _RADIUS:.1f}" width="{2 * half:.1f}" '
        f'height="{2 * _RADIUS}" rx="{_RADIUS}" fill="{fill}" stroke="{ring}">'
        f"<title>{escape(name)}: {escape(filter_text)}</title></rect>"
        f'<text x="{at.x:.1f}" y="{at.y + 4:.1f}" text-anchor="middle">{escape(short)}</text>'
    )

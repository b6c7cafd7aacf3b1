"""How does a picture become SVG?

Shapes are collected one by one and written down in that order. A picture has a white ground of its
own, so that it looks the same on a light and on a dark page, and fonts that every browser has. What
is set in type for code is a name in Tidegate: a test looks whether it is there.
"""

import re
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

INK: Final = "#1f2933"
PALE: Final = "#52606d"
LINE: Final = "#7b8794"
BLUE: Final = "#dbeafe"
GREEN: Final = "#dcf3e3"
YELLOW: Final = "#fdf2cc"
RED: Final = "#fbe0dd"
GREY: Final = "#eef1f4"
WHITE: Final = "#ffffff"

WIDE: Final = 0.51  # of its size that a letter takes, about
CODE_WIDE: Final = 0.61

_CODE: Final = re.compile(r"`([^`]+)`")

_STYLE: Final = (
    "text{font-family:'Helvetica Neue',Arial,'Liberation Sans',sans-serif}"
    ".code{font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace}"
)


class Picture:
    """Shapes on a white ground."""

    def __init__(self, title: str, text: str) -> None:
        self._title = title
        self._text = text
        self._shapes: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, fill: str = WHITE, edge: str = LINE
    ) -> None:
        """A box with round corners."""
        self._shapes.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6" '
            f'fill="{fill}" stroke="{edge}"/>'
        )

    def cell(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        """A cell of an array."""
        self._shapes.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" '
            f'fill="{fill}" stroke="{LINE}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 15,
        anchor: str = "start",
        bold: bool = False,
        code: bool = False,
        fill: str = INK,
    ) -> None:
        """A line of text; y is that of its ground line. What is between backquotes is code."""
        kind = ' class="code"' if code else ""
        weight = ' font-weight="bold"' if bold else ""
        self._shapes.append(
            f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{fill}"{kind}{weight}>{_marked(text)}</text>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, *, dashed: bool = False) -> None:
        """A straight line."""
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self._shapes.append(
            f'<path d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" stroke="{LINE}" fill="none"{dashes}/>'
        )

    def arrow(self, points: Sequence[tuple[float, float]], *, dashed: bool = False) -> None:
        """An arrow along points, each reached in the direction up or down it was left in."""
        first, *rest = points
        path = [f"M{first[0]:.0f} {first[1]:.0f}"]
        before = first
        for x, y in rest:
            if round(before[0]) == round(x):
                path.append(f"L{x:.0f} {y:.0f}")
            else:
                bend = 0.7 * (y - before[1])
                out, into = before[1] + bend, y - bend
                path.append(f"C{before[0]:.0f} {out:.0f} {x:.0f} {into:.0f} {x:.0f} {y:.0f}")
            before = (x, y)
        self._arrow("".join(path), dashed)

    def elbow(self, points: Sequence[tuple[float, float]], *, dashed: bool = False) -> None:
        """An arrow along straight lines from point to point."""
        (x, y), *rest = points
        self._arrow(f"M{x:.0f} {y:.0f}" + "".join(f"L{x:.0f} {y:.0f}" for x, y in rest), dashed)

    def _arrow(self, path: str, dashed: bool) -> None:
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self._shapes.append(
            f'<path d="{path}" stroke="{LINE}" stroke-width="1.5" fill="none" '
            f'marker-end="url(#head)"{dashes}/>'
        )

    def svg(self, width: float, height: float) -> str:
        """The whole picture, of that size."""
        size = f"{width:.0f} {height:.0f}"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" aria-labelledby="title text">'
        )
        marker = (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker>'
            "</defs>"
        )
        ground = f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="{WHITE}"/>'
        parts = [
            head,
            f'<title id="title">{escape(self._title)}</title>',
            f'<desc id="text">{escape(self._text)}</desc>',
            f"<style>{_STYLE}</style>",
            marker,
            ground,
            *self._shapes,
            "</svg>",
        ]
        return "\n".join(parts) + "\n"


def _marked(text: str) -> str:
    """A text as SVG, with what is between backquotes as code."""
    return _CODE.sub(r'<tspan class="code">\1</tspan>', escape(text))


def wrapped(text: str, width: float, size: int) -> list[str]:
    """A text in lines that are no wider, by what letters take about.

    >>> wrapped("one two three", 60, 14)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _width(text: str, size: int) -> float:
    code = sum(len(found) for found in _CODE.findall(text))
    return size * (CODE_WIDE * code + WIDE * len(_CODE.sub("", text)))

"""Steps one below the other, in lanes.

A step is a box with the place in the code where it is taken, and a few sentences about it. Its
height follows from what stands in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from docs.pictures.svg import GREY, PALE, Picture, wrapped

SIZE: Final = 14
_LINE: Final = 19.0
_PADDING: Final = 11.0


@dataclass(frozen=True)
class Box:
    """Where a step was drawn."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Half-way from its left to its right side."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.y + self.height


def step(
    picture: Picture,
    x: float,
    y: float,
    width: float,
    title: str,
    sentences: Sequence[str],
    *,
    file: str = "",
    fill: str = GREY,
) -> Box:
    """Draw a step; where it is."""
    lines = [line for text in sentences for line in wrapped(text, width - 2 * _PADDING, SIZE)]
    height = 2 * _PADDING + _LINE * (1 + bool(file) + len(lines)) - 4
    picture.box(x, y, width, height, fill)
    at = y + _PADDING + 12
    picture.text(x + _PADDING, at, title, size=SIZE + 1, bold=True)
    if file:
        at += _LINE
        picture.text(x + _PADDING, at, file, size=SIZE - 1, code=True, fill=PALE)
    for line in lines:
        at += _LINE
        picture.text(x + _PADDING, at, line, size=SIZE)
    return Box(x, y, width, height)


def down(picture: Picture, one: Box, other: Box) -> None:
    """An arrow from a step to the one below it."""
    picture.elbow([(one.middle, one.bottom), (one.middle, other.y)])

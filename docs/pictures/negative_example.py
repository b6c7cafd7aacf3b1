"""What does no filter cover? The paper's three subscriptions, and the boxes that are left.

The boxes are those of a `BoxTree`, from which the subscriptions are taken away one after the other.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from docs.pictures.svg import BLUE, GREEN, GREY, INK, PALE, YELLOW, Picture
from tidegate.papers.negative.box_tree import BoxTree

_SIZE: Final = 1001  # values on each axis, from 0 to 1000
_SIDE: Final = 240.0  # of a panel
_GAP: Final = 24.0
_TOP: Final = 56.0
_LEFT: Final = 14.0
_SUBSCRIPTIONS: Final = {
    "s1": ((175, 510), (180, 680)),
    "s2": ((405, 840), (110, 540)),
    "s3": ((380, 720), (230, 495)),
}
_BELOW: Final = ("s2",)  # named at the bottom on the right, where nothing lies over it
_FILLS: Final = {"s1": BLUE, "s2": GREEN, "s3": YELLOW}


def draw() -> str:
    """Three panels: without s1, without s2 as well, and s3, which overlaps nothing that is left."""
    picture = Picture(
        "A negative space",
        "Taking away s1 leaves four boxes, taking away s2 as well leaves seven. s3 overlaps none "
        "of these, so it is subsumed.",
    )
    tree = BoxTree(np.array([0, _SIZE, 0, _SIZE]))
    shown: list[str] = []
    for panel, name in enumerate(_SUBSCRIPTIONS):
        x = _LEFT + panel * (_SIDE + _GAP)
        box = _ends(name)
        found = tree.overlapping(box)
        overlapped = len(found)
        if overlapped:
            tree.take_away(box, found)
        shown.append(name)
        title = (
            f"{name} overlaps {overlapped or 'none'} of them" if panel else "s1 in the whole space"
        )
        then = f"{len(tree)} boxes of the `BoxTree` are left" if overlapped else "so it is subsumed"
        picture.text(x, 24, title, size=14, bold=True)
        picture.text(x, 43, then, size=13, fill=PALE)
        _panel(picture, x, tree.boxes(), shown)
    return picture.svg(_LEFT * 2 + 3 * _SIDE + 2 * _GAP, _TOP + _SIDE + 14)


def _ends(name: str) -> NDArray[np.int64]:
    """A subscription as a box, which stops behind its last values."""
    (left, right), (low, high) = _SUBSCRIPTIONS[name]
    return np.array([left, right + 1, low, high + 1])


def _panel(picture: Picture, x: float, boxes: NDArray[np.int64], shown: list[str]) -> None:
    """The boxes that are left, numbered, and the subscriptions so far."""
    ordered = sorted(boxes.tolist())
    for number, (left, right, low, high) in enumerate(ordered, 1):
        _rectangle(picture, x, (left, right, low, high), GREY, f"r{number}")
    for name in shown:
        left, right, low, high = _ends(name).tolist()
        _rectangle(picture, x, (left, right, low, high), _FILLS[name], name)


def _rectangle(
    picture: Picture, x: float, ends: tuple[int, int, int, int], fill: str, name: str
) -> None:
    left, right, low, high = (end / _SIZE * _SIDE for end in ends)
    picture.cell(x + left, _TOP + _SIDE - high, right - left, high - low, fill)
    if right - left > 16 and high - low > 14:
        bold = name.startswith("s")
        aside, down = (right - left) / 2, (high - low) / 2 + 5
        if name in _BELOW:
            aside, down = right - left - 12, high - low - 6
        elif bold:
            aside, down = 12, 15
        picture.text(
            x + left + aside,
            _TOP + _SIDE - high + down,
            name,
            size=13,
            anchor="middle",
            bold=bold,
            fill=INK if bold else PALE,
        )

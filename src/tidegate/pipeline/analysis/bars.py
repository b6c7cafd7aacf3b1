"""How does a distribution look?

Bars, one below the other, as an SVG inside a page: above each bar what it is and how much. Colours
are those of the page (`currentColor` and its variables), so that plots are light or dark as it is.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from tidegate.pipeline.analysis.findings import Slice, shortened

_WIDTH: Final = 360  # units; a phone shows them as pixels
_STEP: Final = 40
_BAR: Final = 12
_LABEL: Final = 42  # characters of a label


def bars(slices: Sequence[Slice], title: str, whole: int | None = None) -> str:
    """An SVG of bars; `whole` is what the longest possible bar stands for, if not the largest one.

    >>> bars([Slice("price", 3), Slice("<b>", 1)], "attributes").count("<rect")
    4
    """
    most = max([each.count for each in slices] if whole is None else [whole], default=0) or 1
    height = len(slices) * _STEP
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}" '
        f'class="plot" xmlns="http://www.w3.org/2000/svg">'
    ]
    for place, each in enumerate(slices):
        top = place * _STEP
        length = _WIDTH * min(1.0, each.count / most)
        shown = max(length, 2.0) if each.count else 0.0
        parts += [
            f'<text x="0" y="{top + 15}">{escape(shortened(each.label, _LABEL))}</text>',
            f'<text x="{_WIDTH}" y="{top + 15}" text-anchor="end" class="count">'
            f"{each.count:,}</text>",
            f'<rect x="0" y="{top + 20}" width="{_WIDTH}" height="{_BAR}" rx="2" class="room"/>',
            f'<rect x="0" y="{top + 20}" width="{shown:.1f}" height="{_BAR}" rx="2" class="bar"/>',
        ]
    return "".join([*parts, "</svg>"])

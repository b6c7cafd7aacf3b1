"""What does a figure look like?

Lines with a mark at each value, and a band from the least to the greatest over seeds. What is
printed is dashed, with hollow marks, in the colour of our curve of the same name. Colours are Okabe
and Ito's, which all eyes tell apart; marks differ as well, and where there are more curves than
colours, the others are dotted. Between names there is nothing, so lines are faint there; long names
are slanted. Each plot is an SVG that needs nothing else, with a title and a description in words.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from tidegate.lab.experiments.experiment import Plot
from tidegate.lab.experiments.rows import Spread
from tidegate.lab.report.findings import Curve
from tidegate.lab.report.scales import Axis, axis, names, short

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666")
_WIDTH: Final = 560
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 30, 12, 52
_HIGH: Final = 310  # of the plot with its axes, without the legend
_LINE: Final = 21  # of the legend
_LETTER: Final = 7.4  # the width of one, in the mean
_BESIDE: Final = 32  # what is left of the ticks: the label of their axis, and room
_FAINT: Final = 0.3


def draw(plot: Plot, curves: Sequence[Curve]) -> str:
    """The SVG."""
    places = {str(p.x): p.x for c in curves for p in c.points}
    numbers = [x for x in places.values() if not isinstance(x, str)]
    named = [x for x in plot.order if x in places] or ([] if numbers else list(places))
    across = names(named) if named else axis(numbers, log=plot.log_x)
    ys = [y for c in curves for p in c.points for y in (p.low, p.high)]
    up = axis(ys, log=plot.log_y, from_zero=not plot.log_y)
    frame = _Frame(across, up, {name: float(place) for place, name in enumerate(named)})
    below = frame.below
    parts = [*frame.axes(plot)]
    colours = _colours(curves)
    for number, curve in enumerate(curves):
        parts += frame.curve(curve, colours[curve.label], number, _dashes(curve, colours))
    parts += _legend(curves, colours, below)
    height = round(_HIGH + below + _LINE * len(curves) + 6)
    words = described(curves)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" font-family="system-ui, sans-serif" font-size="14" '
        f'aria-label="{escape(plot.title)}">'
        f"<title>{escape(plot.title)}</title><desc>{escape(words)}</desc>{''.join(parts)}</svg>"
    )


def described(curves: Sequence[Curve]) -> str:
    """All curves in words."""
    return "; ".join(
        f"{_name(each)}: " + ", ".join(f"{told(p.x)}: {short(p.mean)}" for p in each.points)
        for each in curves
    )


class _Frame:
    """From values to places in the picture."""

    def __init__(self, across: Axis, up: Axis, places: dict[str, float]) -> None:
        self._across, self._up, self._places = across, up, places
        self.left = max(_LEFT, _BESIDE + _LETTER * max(len(text) for _, text in up.ticks))
        room = (_WIDTH - self.left - _RIGHT) / max(1, len(places))
        longest = _LETTER * max((len(name) for name in places), default=0)
        self._slanted = longest > room
        self.below = 0.62 * longest if self._slanted else 0.0
        """How much more room the names of values take."""

    def x(self, value: float | str) -> float:
        own = self._places[value] if isinstance(value, str) else value
        return self.left + self._across.place(own) * (_WIDTH - self.left - _RIGHT)

    def y(self, value: float) -> float:
        return _TOP + (1 - self._up.place(value)) * (_HIGH - _TOP - _BOTTOM)

    def axes(self, plot: Plot) -> list[str]:
        bottom = _HIGH - _BOTTOM
        parts = []
        for value, text in self._up.ticks:
            y = self.y(value)
            parts.append(
                f'<path d="M{self.left:.0f} {y:.1f}H{_WIDTH - _RIGHT}" stroke="currentColor" '
                f'stroke-opacity=".15"/><text x="{self.left - 6:.0f}" y="{y + 5:.1f}" '
                f'text-anchor="end" fill="currentColor">{escape(text)}</text>'
            )
        for value, text in self._across.ticks:
            x = self.left + self._across.place(value) * (_WIDTH - self.left - _RIGHT)
            where = f'x="{x:.1f}" y="{bottom + 20}" text-anchor="middle"'
            if self._slanted:
                turned = f"translate({x + 4:.1f} {bottom + 15}) rotate(-40)"
                where = f'transform="{turned}" text-anchor="end"'
            parts.append(
                f'<path d="M{x:.1f} {bottom}v5" stroke="currentColor"/>'
                f'<text {where} fill="currentColor">{escape(text)}</text>'
            )
        middle = (_TOP + bottom) / 2
        parts.append(
            f'<path d="M{self.left:.0f} {_TOP}V{bottom}H{_WIDTH - _RIGHT}" fill="none" '
            'stroke="currentColor"/>'
            f'<text x="{(self.left + _WIDTH - _RIGHT) / 2:.0f}" y="{bottom + 42 + self.below:.0f}" '
            f'text-anchor="middle" fill="currentColor">{escape(plot.x_label)}</text>'
            f'<text transform="translate(15 {middle}) rotate(-90)" text-anchor="middle" '
            f'fill="currentColor">{escape(plot.y_label)}</text>'
        )
        return parts

    def curve(self, curve: Curve, colour: str, number: int, dashes: str) -> list[str]:
        points = sorted(curve.points, key=lambda p: self.x(p.x))
        parts = []
        if any(p.low < p.high for p in points):
            edge = [(p.x, p.high) for p in points] + [(p.x, p.low) for p in reversed(points)]
            parts.append(f'<path d="{self._path(edge)}Z" fill="{colour}" fill-opacity=".18"/>')
        line = self._path([(p.x, p.mean) for p in points])
        faint = f' stroke-opacity="{_FAINT}"' if self._places else ""
        parts.append(
            f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="2"{dashes}{faint}/>'
        )
        parts += [
            _mark(self.x(p.x), self.y(p.mean), colour, number, hollow=curve.printed) for p in points
        ]
        return parts

    def _path(self, points: Sequence[tuple[float | str, float]]) -> str:
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)


def _mark(x: float, y: float, colour: str, number: int, *, hollow: bool) -> str:
    """A circle, square, triangle or diamond."""
    shapes = (
        f"M{x - 4:.1f} {y:.1f}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z",
        f"M{x - 3.5:.1f} {y - 3.5:.1f}h7v7h-7Z",
        f"M{x:.1f} {y - 4.5:.1f}l4.5 8h-9Z",
        f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5Z",
    )
    fill = "none" if hollow else colour
    return (
        f'<path d="{shapes[number % len(shapes)]}" fill="{fill}" stroke="{colour}" '
        'stroke-width="1.5"/>'
    )


def _dashes(curve: Curve, colours: dict[str, str]) -> str:
    if curve.printed:
        return ' stroke-dasharray="5 4"'
    return ' stroke-dasharray="1 4"' if list(colours).index(curve.label) >= len(COLOURS) else ""


def _legend(curves: Sequence[Curve], colours: dict[str, str], below: float) -> list[str]:
    parts = []
    for number, each in enumerate(curves):
        y = _HIGH + below + _LINE * number + 8
        colour, dashes = colours[each.label], _dashes(each, colours)
        parts.append(
            f'<path d="M{_LEFT} {y:.0f}h34" stroke="{colour}" stroke-width="2"{dashes}/>'
            + _mark(_LEFT + 17, y, colour, number, hollow=each.printed)
            + f'<text x="{_LEFT + 44}" y="{y + 5:.0f}" fill="currentColor">'
            + f"{escape(_name(each))}</text>"
        )
    return parts


def _colours(curves: Sequence[Curve]) -> dict[str, str]:
    labels = dict.fromkeys(each.label for each in curves)
    return {label: COLOURS[place % len(COLOURS)] for place, label in enumerate(labels)}


def _name(curve: Curve) -> str:
    return f"{curve.label}, printed" if curve.printed else curve.label


def told(value: float | str) -> str:
    """A place on the axis, in words."""
    return value if isinstance(value, str) else short(value)


def spread(point: Spread) -> str:
    """A value with its band.

    >>> spread(Spread(1, 5.0, 4.0, 6.0)), spread(Spread(1, 5.0, 5.0, 5.0))
    ('5 (4-6)', '5')
    """
    if point.low == point.high:
        return short(point.mean)
    return f"{short(point.mean)} ({short(point.low)}-{short(point.high)})"

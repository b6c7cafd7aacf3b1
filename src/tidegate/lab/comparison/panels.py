"""What does a comparison look like?

A panel for each of the six parameters, and in it a bar for each policy; a dashed line is where
plain forwarding is. A bar that would dwarf the others is cut off, with an arrow at its end; the
number beside it is always the true one. Bars that are longer than plain forwarding's have another
colour, of a pair that all eyes tell apart (Okabe and Ito's blue and vermilion); length, line and
number say the same without it. Each panel is an SVG with a title and a description in words.
"""

from collections.abc import Sequence
from html import escape
from typing import Final

from tidegate.lab.comparison.columns import (
    APPLICABILITY,
    COMPUTATION,
    DEREGISTRATION,
    EXPRESSIVENESS,
    MEMORY,
    NETWORK,
    Column,
    of,
)
from tidegate.lab.comparison.measures import Comparison, Measures

SHOWN: Final = {
    APPLICABILITY: ("changed", "entries changed: more is better"),
    MEMORY: ("assoc.", "associations: less is better"),
    NETWORK: ("events", "events for each notification: less is better"),
    COMPUTATION: ("µs", "CPU µs for each event: less is better"),
    EXPRESSIVENESS: ("", "classes of filters that it handles: more is better"),
    DEREGISTRATION: ("bytes", "bytes for each cancellation: less is better"),
}
"""The column of each parameter that is drawn, and what that is."""

_WIDTH: Final = 360
_NAMES: Final = 156  # room for the names of policies
_BARS: Final = 140  # room for bars
_ROW: Final = 20
_BAR: Final = 12
_HEAD: Final = 18
_LONGEST_BAR: Final = 1.5  # times the others' greatest: a bar beyond that is cut off
_ROOM: Final = 1.25  # times the others' greatest is shown then
_SAME: Final = 1.005  # times plain forwarding's: not visibly longer, or
_TIMED: Final = 1.1  # where it is a time, which is never twice the same


def panel(found: Comparison, parameter: str) -> str:
    """The SVG of one parameter."""
    name, what = SHOWN[parameter]
    if not name:
        return _cells(found, of(parameter), f"{parameter}: {what}")
    [column] = [each for each in of(parameter) if each.name == name]
    return _bars(found, column, f"{parameter}: {what}", reference=parameter != APPLICABILITY)


def _bars(found: Comparison, column: Column, title: str, *, reference: bool) -> str:
    values = [column.value(each) or 0.0 for each in found.policies]
    most = scale(values) if reference else 1.0
    plain, same = values[0], _TIMED if column.parameter == COMPUTATION else _SAME
    parts = []
    for row, (each, value) in enumerate(zip(found.policies, values, strict=True)):
        y = _HEAD + row * _ROW
        worse = reference and value > plain * same
        parts += _name(each, y)
        parts.append(_bar(_NAMES, y, _BARS, value / most if most else 0.0, worse=worse))
        parts.append(
            f'<text class="number" x="{_WIDTH - 2}" y="{y + 14}" text-anchor="end">'
            f"{escape(column.text(each))}</text>"
        )
    if reference and most and plain:
        x = _NAMES + _BARS * min(1.0, plain / most)
        bottom = _HEAD + len(values) * _ROW
        parts.append(
            f'<line class="plain" x1="{x:.1f}" y1="{_HEAD - 2}" x2="{x:.1f}" y2="{bottom}"/>'
        )
    told = ", ".join(f"{each.policy} {column.text(each)}" for each in found.policies)
    return _svg(title, told, len(values), parts)


def _cells(found: Comparison, columns: Sequence[Column], title: str) -> str:
    wide = (_WIDTH - _NAMES) / len(columns)
    parts = [
        f'<text class="number" x="{_NAMES + i * wide:.1f}" y="11">{column.name}</text>'
        for i, column in enumerate(columns)
    ]
    told = []
    for row, each in enumerate(found.policies):
        y = _HEAD + row * _ROW
        parts += _name(each, y)
        for i, column in enumerate(columns):
            value = column.value(each)
            if value is not None:
                parts.append(_bar(_NAMES + i * wide, y, wide - 8, value, worse=False))
        told.append(f"{each.policy} " + " ".join(f"{c.name} {c.text(each)}" for c in columns))
    return _svg(title, ", ".join(told), len(found.policies), parts)


def scale(values: Sequence[float]) -> float:
    """What a bar of full length stands for: one that would dwarf the others does not count.

    >>> scale([1.0, 1.2, 14.0]), scale([1.0, 1.2, 1.5]), scale([0.0])
    (1.5, 1.5, 0.0)
    """
    *others, most = sorted(values)
    if others and others[-1] and most > _LONGEST_BAR * others[-1]:
        return _ROOM * others[-1]
    return most


def _bar(x: float, y: float, room: float, share: float, *, worse: bool) -> str:
    """A bar before its room; one that is too long ends in an arrow."""
    kind = "bar worse" if worse else "bar"
    top = y + (_ROW - _BAR) / 2
    whole = f'<rect class="room" x="{x:.1f}" y="{top}" width="{room:.1f}" height="{_BAR}"/>'
    if share <= 1:
        length = room * share
        return (
            whole + f'<rect class="{kind}" x="{x:.1f}" y="{top}" width="{length:.1f}" '
            f'height="{_BAR}"/>'
        )
    end, middle = x + room, top + _BAR / 2
    return (
        whole + f'<path class="{kind}" d="M{x:.1f} {top}H{end - 7:.1f}L{end:.1f} {middle}'
        f'L{end - 7:.1f} {top + _BAR}H{x:.1f}Z"/>'
    )


def _name(each: Measures, y: float) -> list[str]:
    mark = ' class="lost"' if each.losses else ""
    return [f'<text{mark} x="0" y="{y + 14}">{escape(each.policy)}</text>']


def _svg(title: str, told: str, rows: int, parts: Sequence[str]) -> str:
    height = _HEAD + rows * _ROW + 4
    return (
        f'<svg class="panel" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}. {escape(told)}">'
        f"<title>{escape(title)}</title><desc>{escape(told)}</desc>" + "".join(parts) + "</svg>"
    )

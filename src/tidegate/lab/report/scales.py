"""Where do ticks go, and how are numbers written?

An axis is linear, logarithmic or ordinal, where its values are names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Final

_TICKS: Final = 5


@dataclass(frozen=True)
class Axis:
    """From values to the unit interval, with ticks."""

    low: float
    high: float
    log: bool
    ticks: tuple[tuple[float, str], ...]

    def place(self, value: float) -> float:
        """Where a value is, from 0 to 1."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = log10(low), log10(high), log10(max(value, self.low))
        return 0.5 if high == low else (value - low) / (high - low)


def axis(values: Sequence[float], *, log: bool = False, from_zero: bool = False) -> Axis:
    """An axis on which all values have room.

    >>> axis([0, 7, 93]).ticks[-1]
    (100.0, '100')
    >>> [text for _, text in axis([30, 2_000], log=True).ticks]
    ['10', '100', '1,000', '10,000']
    """
    if log and min(values) > 0:
        first, last = floor(log10(min(values))), ceil(log10(max(values)))
        last = max(last, first + 1)
        apart = max(1, round((last - first) / _TICKS))
        powers = [10.0**power for power in range(first, last + 1, apart)]
        return Axis(10.0**first, 10.0**last, True, tuple((each, short(each)) for each in powers))
    low = min(0.0, *values) if from_zero else min(values)
    step = _step(max(values) - low or abs(low) or 1.0)
    first, last = floor(low / step), ceil(max(values) / step)
    last = max(last, first + 1)
    ticks = [each * step for each in range(first, last + 1)]
    return Axis(ticks[0], ticks[-1], False, tuple((each, short(each)) for each in ticks))


def names(values: Sequence[str]) -> Axis:
    """An axis of names, in their order."""
    ticks = tuple((float(place), value) for place, value in enumerate(values))
    return Axis(-0.3, len(values) - 0.7, False, ticks)


def _step(span: float) -> float:
    rough = span / _TICKS
    power = 10.0 ** floor(log10(rough))
    return next(k * power for k in (1, 2, 2.5, 5, 10) if k * power >= rough * 0.999)


def short(value: float) -> str:
    """A number in few digits.

    >>> [short(each) for each in (12345.6, 42.0, 0.12345, 0.00001234, 3.14159)]
    ['12,346', '42', '0.123', '1.23e-05', '3.14']
    """
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

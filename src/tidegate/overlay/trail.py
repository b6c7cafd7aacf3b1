"""Which values should be asked for besides that of now?

A variable that goes back and forth, or steadily one way, would be told at every step. It need not
be, if what is told is wide enough for the steps before and after: Jayaram, Jayalath and Eugster,
"Parametric Subscriptions for Content-Based Publish/Subscribe Networks" (Middleware 2010), section
6, name this for oscillating and for monotonic variables. The client lets through what is wanted
now, so that too much is asked for costs events on the way, and nothing else.

- **Damping**: a value counts for so many ticks after it was left.
- **Prediction**: after two moves the same way, the value that so many moves more would lead to
  counts, at the mean step of that way. It is given up when the variable turns, when it has not
  been reached after as many ticks, and it is made anew when it has been passed.
"""

import math
from typing import Final

from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, Constant

_MOVES: Final = 2  # the same way, before there is a prediction


class Trail:
    """Where a variable has been of late, and where it seems to go.

    >>> trail = Trail(1, damping=2, predict=3)
    >>> for value in (2, 3, 4):
    ...     trail.move(value)
    >>> trail.others()
    [1, 2, 3, 6]
    >>> trail.tick(), trail.tick()
    (False, True)
    >>> trail.others()
    [6]
    """

    def __init__(self, value: Constant, damping: int, predict: int) -> None:
        self._value = value
        self._damping = damping
        self._predict = predict
        self._left: dict[Constant, int] = {}  # values, each with the ticks that it counts for
        self._start = value  # where the variable last turned
        self._moves = 0  # since then
        self._ahead: Constant = None  # a prediction
        self._patience = 0  # the ticks that it stands for

    def others(self) -> list[Constant]:
        """The values that count besides that of now."""
        return [*self._left, *([] if self._ahead is None else [self._ahead])]

    def move(self, value: Constant) -> None:
        """The variable has another value."""
        if self._damping:
            self._left.pop(value, None)
            self._left[self._value] = self._damping
        if self._predict:
            self._follow(value)
        self._value = value

    def tick(self) -> bool:
        """Some time has passed; whether a value counts no more."""
        count = len(self._left)
        self._left = {value: ticks - 1 for value, ticks in self._left.items() if ticks > 1}
        gone = len(self._left) < count
        if self._ahead is not None:
            self._patience -= 1
            if not self._patience:
                self._ahead, gone = None, True
        return gone

    def _follow(self, value: Constant) -> None:
        """Look where a number goes."""
        before, start = _number(self._value), _number(self._start)
        now = _number(value)
        if (now - before) * (before - start) < 0:  # it turns
            self._start, start, self._moves, self._ahead = self._value, before, 0, None
        self._moves += 1
        if self._ahead is not None and (_number(self._ahead) - now) * (now - start) >= 0:
            return  # it is still ahead
        self._ahead = None
        if self._moves >= _MOVES:
            step = (now - start) / self._moves
            self._ahead = _ahead(value, step * self._predict)
            self._patience = self._predict


def _ahead(value: Constant, way: float) -> Constant:
    """The number so far ahead, of the same type; None if there is none."""
    if isinstance(value, int):
        further = value + (math.ceil(way) if way > 0 else math.floor(way))
        return further if BIGINT_MIN <= further <= BIGINT_MAX else None
    found = _number(value) + way
    return found if math.isfinite(found) else None


def _number(value: Constant) -> float:
    assert isinstance(value, int | float)
    return value

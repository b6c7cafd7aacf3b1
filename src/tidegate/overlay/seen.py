"""Which events of a publisher have been here?

A publisher's numbers rise, and on a link they arrive in order; so where there is one way from
anywhere to anywhere, the highest number tells. On two ways, an event may overtake an earlier one:
then the highest number would have the earlier one dropped. So the last numbers are remembered one
by one, as many as the **window** has room for, above a low mark: all that is not above it has been
here, or comes too late.
"""

from bisect import bisect_left, insort

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import kernel
from tidegate.overlay.filter import Plain
from tidegate.overlay.pairs import Rows


class Seen:
    """The numbers of one publisher; a window of 0 has room for none, so the highest one tells.

    >>> seen = Seen(2)
    >>> [seen.take(number) for number in (3, 5, 4, 4, 1)]
    [True, True, True, False, False]
    """

    __slots__ = ("_low", "_numbers", "_window")

    def __init__(self, window: int) -> None:
        self._window = window
        self._low = 0
        self._numbers: list[int] = []  # those above the low mark, in order

    @property
    def newest(self) -> int:
        """The highest number that has been here; 0 if none has."""
        return self._numbers[-1] if self._numbers else self._low

    def __contains__(self, number: int) -> bool:
        place = bisect_left(self._numbers, number)
        known = place < len(self._numbers) and self._numbers[place] == number
        return known or number <= self._low

    def take(self, number: int) -> bool:
        """Note a number; whether it is new."""
        if number > self.newest:
            self._numbers.append(number)
        elif number in self:
            return False
        else:
            insort(self._numbers, number)
        if len(self._numbers) > self._window:
            self._low = self._numbers.pop(0)
        return True

    def state(self) -> Plain:
        """All of it as plain data."""
        return [self._low, *self._numbers]

    @classmethod
    def restored(cls, state: Plain, window: int) -> "Seen":
        """As another one was."""
        found = cls(window)
        found._low, *found._numbers = state
        return found


@kernel
def take_new(
    numbers: NDArray[np.int64], places: Rows, newest: NDArray[np.int64], new: NDArray[np.bool_]
) -> None:
    """Which of many numbers are new, where the highest one tells: of each, `places` says whose.

    What is `newest` of each publisher moves on.
    """
    for row in range(len(numbers)):
        own = places[row]
        new[row] = numbers[row] > newest[own]
        if new[row]:
            newest[own] = numbers[row]

"""What happens next, and when?

One clock for a whole network: a heap of actions by time. Actions of the same time happen in the
order in which they were put there, so a run depends on nothing but what it was given. Time is whole
nanoseconds, so that sums do not depend on their order either.

Some actions stay in the background, such as the next tick: they do not keep a network from being
quiet.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

SECOND: Final = 1_000_000_000


def nanoseconds(seconds: float) -> int:
    """A time in the clock's unit.

    >>> nanoseconds(0.25)
    250000000
    """
    return round(seconds * SECOND)


class Clock:
    """Actions to come, in order.

    >>> clock, said = Clock(), []
    >>> clock.at(20, said.append, "later")
    >>> clock.at(10, said.append, "first")
    >>> clock.run()
    >>> clock.now, said
    (20, ['first', 'later'])
    """

    __slots__ = ("_background", "_heap", "_sequence", "now")

    def __init__(self) -> None:
        self.now = 0
        self._sequence = 0
        self._background = 0
        self._heap: list[tuple[int, int, Callable[[Any], object], Any]] = []

    def __len__(self) -> int:
        return len(self._heap) - self._background

    def at(self, time: int, action: Callable[[Any], object], argument: Any) -> None:
        """Do something at a time that is not yet over."""
        self._sequence += 1
        heappush(self._heap, (time, self._sequence, action, argument))

    def at_in_background(self, time: int, action: Callable[[Any], object], argument: Any) -> None:
        """Do something then, if anything else still happens by that time."""
        self._background += 1
        self.at(time, self._from_background, (action, argument))

    def run(self, until: int | None = None) -> None:
        """Do what is to be done: up to and at a time, or until nothing but background is left."""
        heap = self._heap
        while len(heap) > self._background if until is None else heap and heap[0][0] <= until:
            self.now, _, action, argument = heappop(heap)
            action(argument)
        if until is not None:
            self.now = max(self.now, until)

    def _from_background(self, what: tuple[Callable[[Any], object], Any]) -> None:
        self._background -= 1
        action, argument = what
        action(argument)

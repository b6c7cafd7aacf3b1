"""When is it time to merge, or to look through all that is forwarded?

Both cost more than following one change, so they are done now and then: every so many ticks, when
what is forwarded has grown by so much, or when so much has come in within one tick (Li, Hou and
Jacobsen (ICDCS 2005), section 5.1, name period, table size and arrival rate).
"""

from dataclasses import dataclass, field

from tidegate.errors import TidegateError


@dataclass(slots=True)
class Trigger:
    """Whichever comes first, of those that are set.

    `period`: ticks; `size`: filters forwarded beyond those that the last time left; `rate`: filters
    added since the last tick. It is never time while nothing has changed.
    """

    period: int | None = None
    size: int | None = None
    rate: int | None = None
    _ticks: int = field(default=0, init=False)
    _left: int = field(default=0, init=False)
    _arrived: int = field(default=0, init=False)
    _idle: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        for name, limit in (("period", self.period), ("size", self.size), ("rate", self.rate)):
            if limit is not None and limit < 1:
                raise TidegateError(f"a {name} of {limit} never comes; give 1 or more")

    def after(self, arrived: int, size: int) -> bool:
        """Whether it is time, with so many more that have come in, and so many forwarded."""
        self._arrived += arrived
        self._idle = False
        return self._now(
            (self.size is not None and size >= self._left + self.size)
            or (self.rate is not None and self._arrived >= self.rate),
            size,
        )

    def tick(self, size: int) -> bool:
        """Whether it is time, with so many forwarded, at a tick."""
        self._ticks += 1
        self._arrived = 0
        due = self.period is not None and self._ticks >= self.period
        return self._now(due and not self._idle, size)

    def done(self, size: int) -> None:
        """To be told how many are forwarded after it was time."""
        self._left = size

    def state(self) -> list[int]:
        """How far it is."""
        return [self._ticks, self._left, self._arrived, int(self._idle)]

    def restore(self, state: list[int]) -> None:
        """Be as far as another one was."""
        self._ticks, self._left, self._arrived = state[:3]
        self._idle = bool(state[3])

    def _now(self, due: bool, size: int) -> bool:
        if due:
            self._ticks, self._arrived, self._left, self._idle = 0, 0, size, True
        return due

"""Which events has a client published that its broker has not taken yet?

Each has a number, and its payload is kept until the broker has said that it has taken it. When the
client connects again, what is left is sent again.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from tidegate.network.event_frames import events_frame, payloads_of

AT_ONCE: Final = 1_000  # events in one frame, at most


class Unconfirmed:
    """Events by number, as payloads.

    >>> events = Unconfirmed()
    >>> len(list(events.add([b"one", b"two", b"three"])))
    1
    >>> events.taken(2)
    >>> events.number, len(events)
    (3, 1)
    """

    def __init__(self) -> None:
        self.number = 0  # of the last event
        self._kept: deque[tuple[int, bytes]] = deque()

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, payloads: Sequence[bytes]) -> Iterator[bytes]:
        """Give events numbers, and keep them; the frames in which they are sent."""
        new = list(enumerate(payloads, self.number + 1))
        self.number += len(new)
        self._kept.extend(new)
        return _frames(new)

    def again(self, seen: int) -> Iterator[bytes]:
        """A broker has seen events up to a number: the frames of all others."""
        if not self.number:
            self.number = seen  # an earlier client of this name has published
        self.taken(seen)
        return _frames(list(self._kept))

    def taken(self, number: int) -> None:
        """The broker has taken, or refused, all up to this number."""
        while self._kept and self._kept[0][0] <= number:
            self._kept.popleft()


def _frames(events: Sequence[tuple[int, bytes]]) -> Iterator[bytes]:
    for start in range(0, len(events), AT_ONCE):
        some = events[start : start + AT_ONCE]
        payloads = payloads_of([data for _, data in some])
        yield events_frame([number for number, _ in some], [], payloads)

"""Which events has a client published that its broker has not taken yet?

Each has a number, and its payload is kept until the broker has said that it has taken it. When the
client connects again, what is left is sent again.

Frames are as large as the broker takes them. An event that no frame can have is not kept: whoever
publishes it is told so (`overlong`).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from tidegate.network.event_frames import PLAIN_ROOM, PLAIN_WIDTH, events_frame, payloads_of

AT_ONCE: Final = 1_000  # events in one frame, at most
LARGE: Final = 2**20  # bytes of payloads after which a frame is full


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
        self.overlong: list[tuple[int, int]] = []  # events that are not kept, and their sizes
        self._kept: deque[tuple[int, bytes]] = deque()
        self._most = AT_ONCE
        self._longest: int | None = None  # bytes of a frame

    def __len__(self) -> int:
        return len(self._kept)

    def limit(self, events: int, frame: int) -> None:
        """A broker takes so many events in a frame, and frames of so many bytes."""
        self._most, self._longest = min(events, AT_ONCE), frame
        self._kept = deque(self._fitting(self._kept))

    def add(self, payloads: Sequence[bytes]) -> Iterator[bytes]:
        """Give events numbers, and keep them; the frames in which they are sent."""
        new = list(enumerate(payloads, self.number + 1))
        self.number += len(new)
        new = self._fitting(new)
        self._kept.extend(new)
        return self._frames(new)

    def again(self, seen: int) -> Iterator[bytes]:
        """A broker has seen events up to a number: the frames of all others."""
        if not self.number:
            self.number = seen  # an earlier client of this name has published
        self.taken(seen)
        return self._frames(list(self._kept))

    def taken(self, number: int) -> None:
        """The broker has taken, or refused, all up to this number."""
        while self._kept and self._kept[0][0] <= number:
            self._kept.popleft()

    def _fitting(self, events: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Those of some events that a frame can have."""
        if self._longest is None:
            return list(events)
        room = self._longest - PLAIN_ROOM - PLAIN_WIDTH
        if max((len(data) for _, data in events), default=0) <= room:
            return list(events)
        self.overlong += [(number, len(data)) for number, data in events if len(data) > room]
        return [each for each in events if len(each[1]) <= room]

    def _frames(self, events: Sequence[tuple[int, bytes]]) -> Iterator[bytes]:
        room = LARGE if self._longest is None else min(self._longest - PLAIN_ROOM, LARGE)
        start, size = 0, 0
        for place, (_, data) in enumerate(events):
            own = PLAIN_WIDTH + len(data)
            if place > start and (place - start == self._most or size + own > room):
                yield _frame(events[start:place])
                start, size = place, 0
            size += own
        if events:
            yield _frame(events[start:])


def _frame(events: Sequence[tuple[int, bytes]]) -> bytes:
    payloads = payloads_of([data for _, data in events])
    return events_frame([number for number, _ in events], [], payloads)

"""Which frames may be sent on a connection now, and which have to wait?

Frames of events wait for **credits** (`credits`), and while the other end does not read. All other
frames go at once, and so overtake events that wait. Whoever reads must be able to tell: a frame
that overtakes, and a frame that was overtaken, have the flag `OVERTAKING`. A client needs to know,
because an answer says what it will be delivered from then on, and events from before it may still
come; see `overlay.client`.

Some messages may not overtake events. What takes back an advertisement is one: brokers would forget
who wants events that are still under way. Where events are kept, changes are another: their numbers
and those of the events make one row (`kept`). They have the flag `IN_TURN`, and wait behind the
events, but for no credits of their own; as messages keep their order, those behind them wait, too.

What waits is `backlog` bytes. Who does not read can be dropped from, the oldest events first: then
a frame that says how many were missed takes their place (`gap`).
"""

from collections import Counter, deque
from collections.abc import Iterable
from typing import Final

import numpy as np

from tidegate.network.credits import NEED_CREDITS
from tidegate.network.event_frames import handed
from tidegate.network.frames import IN_TURN, OVERTAKING, Sort
from tidegate.network.gap import gap_frame

_SORT: Final = 4  # where the kind of a frame stands in it, and where its flags do
_FLAGS: Final = 5
_AT_ONCE: Final = 64 * 2**10  # bytes that are released together


class Outbox:
    """What is to be sent on one connection.

    >>> from tidegate.network.frames import frame
    >>> box, event = Outbox(credits=1), frame(Sort.EVENTS, b"event")
    >>> first, later = box.put([event]), box.put([event, frame(Sort.HEARTBEAT)])
    >>> first == [event], later == [frame(Sort.HEARTBEAT)], box.backlog
    (True, True, 13)
    >>> box.credits = 14
    >>> box.release() == event
    False
    >>> box.backlog
    0
    """

    def __init__(self, credits: int) -> None:
        self.credits = credits  # in all, since the connection began
        self.paused = False  # whether the other end does not read
        self.backlog = 0
        self._sent = 0
        self._waiting: deque[bytes] = deque()
        self._overtaken = 0  # how many of those that wait, the first ones
        self._in_turn = 0  # messages among them
        self._missed: Counter[int] = Counter()

    @property
    def left(self) -> int:
        """Credits that have not been used."""
        return max(0, self.credits - self._sent)

    def put(self, frames: Iterable[bytes]) -> list[bytes]:
        """Take frames that are to be sent; those that may be sent now."""
        ready = []
        for data in frames:
            if data[_SORT] in NEED_CREDITS:
                if self._waiting or self._is_held or self._missed:
                    self._wait(data)
                    continue
                self._sent += len(data)
            elif self._waiting:
                if self._in_turn or data[_FLAGS] & IN_TURN:
                    self._in_turn += 1
                    self._wait(data)
                    continue
                self._overtaken = len(self._waiting)
                if data[_SORT] == Sort.CONTROL:
                    data = _flagged(data)
            ready.append(data)
        return ready

    def release(self) -> bytes:
        """Some of what waited and may be sent now; nothing, if there is none."""
        ready: list[bytes] = []
        size = 0
        while self._waiting and size < _AT_ONCE:
            data = self._waiting[0]
            if data[_SORT] in NEED_CREDITS:
                if self._is_held:
                    break
                self._sent += len(data)
                ready += self._gap()
            else:
                self._in_turn -= 1
            late = self._take()
            ready.append(_flagged(data) if late else data)
            size += len(data)
        if not (self._waiting or self._is_held):
            ready += self._gap()
        return b"".join(ready)

    def drop(self, most: int) -> int:
        """Drop the oldest events until no more than so many bytes wait; how many were dropped."""
        count = 0
        while self.backlog > most:
            events, subscriptions = handed(self._waiting[0])
            each, times = np.unique(subscriptions, return_counts=True)
            self._missed.update(dict(zip(each.tolist(), times.tolist(), strict=True)))
            count += events
            self._take()
        return count

    @property
    def _is_held(self) -> bool:
        return self.paused or self._sent >= self.credits

    def _gap(self) -> list[bytes]:
        """What was dropped before the next event, to be told."""
        missed, self._missed = self._missed, Counter()
        return [gap_frame(missed)] if missed else []

    def _wait(self, data: bytes) -> None:
        self._waiting.append(data)
        self.backlog += len(data)

    def _take(self) -> bool:
        """Take out the first one that waits; whether it was overtaken."""
        self.backlog -= len(self._waiting.popleft())
        late = self._overtaken > 0
        self._overtaken -= late
        return late


def _flagged(data: bytes) -> bytes:
    """The same frame, with the flag that something was said in another order."""
    return b"".join((data[:_FLAGS], bytes([data[_FLAGS] | OVERTAKING]), data[_FLAGS + 1 :]))

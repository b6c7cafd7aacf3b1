"""Who has to wait when somebody does not keep up?

What is to be sent on a link waits in its outbox (`outbox`), for credits, and while the other end
does not read. A link is **full** when more than `limits.buffer` bytes wait there.

**A neighbour is waited for.** As long as a link is full, no other link gets new credits: whatever
came there might have to go to the one that is full. The full link itself goes on getting them,
since an event never goes back where it came from. So whoever waits for credits waits for a link
that leads away from it; as the overlay has no cycles, following these links never leads back, and
ends at a client. Therefore brokers cannot wait for each other. Where brokers have several ways up
(`overlay.upstream.Paths`), links may lie in circles; there, a neighbour is waited for as a client
is, for a limited time, and then cut.

**A client that does not read** is, as the broker was told (`Slow`),

- *cut*: as soon as its link is full;
- *dropped from*: the oldest events that wait for it are dropped, and it is told how many (`gap`);
- *waited for*, as a neighbour is, but for `limits.patience` seconds at most, and then cut.

Whoever does not even read what needs no credits, so that more than `limits.buffer` bytes of it
wait, is cut in any case.

Memory: for each client, `buffer` and what the broker handles in one round; where links are waited
for, what all others had credits for as well, that is `credits` bytes and a frame each.

This module does no I/O, and has no clock: it is told when a link is read
again, and what time it is.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from tidegate.errors import TidegateError
from tidegate.network.credits import NEED_CREDITS, Credits, credits_frame
from tidegate.network.frames import HEAD, Frame
from tidegate.network.limits import Limits
from tidegate.network.outbox import Outbox

Slow = Literal["cut", "drop", "wait"]
"""What becomes of a client that does not read."""

_SLOW: Final[tuple[Slow, ...]] = "cut", "drop", "wait"


def check_slow(slow: str) -> Slow:
    """One of the three; `TidegateError` if it is none.

    >>> check_slow("drop")
    'drop'
    """
    for each in _SLOW:
        if slow == each:
            return each
    raise TidegateError(f"a slow client is cut, dropped from (drop) or waited for, not {slow!r}")


class Line:
    """One link that is up: what is to be sent there, and what may come."""

    def __init__(self, outbox: Outbox, credits: Credits, client: bool) -> None:
        self.outbox: Final = outbox
        self.credits: Final = credits
        self.client: Final = client
        self.since: float | None = None  # when it was found full


class Pressure:
    """The links of one broker, and which of them are full.

    `write` is given bytes to send on a link at once, `cut` ends a connection, with the reason.
    `circles` says that links may lie in circles.
    """

    def __init__(
        self,
        limits: Limits,
        slow: Slow,
        counted: Counter[str],
        write: Callable[[str, bytes], None],
        cut: Callable[[str, str], None],
        *,
        circles: bool = False,
    ) -> None:
        self._limits = limits
        self._circles: Final = circles
        self._slow: Final = slow
        self._counted = counted
        self._write = write
        self._cut = cut
        self._lines: dict[str, Line] = {}
        self._full: set[str] = set()
        self._owing: dict[str, None] = {}  # links from which something came that needs credits

    def up(self, link: str, client: bool, credits: int) -> None:
        """A link is up, and has some credits to begin with."""
        self.down(link)
        self._lines[link] = Line(Outbox(credits), Credits(self._limits.credits), client)

    def down(self, link: str) -> None:
        """A link is up no more: what waited there is lost."""
        self._lines.pop(link, None)
        self._owing.pop(link, None)
        self._full.discard(link)

    # -- what is sent

    def send(self, link: str, frames: Sequence[bytes]) -> None:
        """Send frames on a link, now or when that can be."""
        line = self._lines.get(link)
        if line is None:
            return
        ready = line.outbox.put(frames)
        if ready:
            self._write(link, ready[0] if len(ready) == 1 else b"".join(ready))
        if line.outbox.backlog > self._limits.buffer:
            self._overflow(link, line)

    def granted(self, link: str, credits: int) -> None:
        """The other end has said how many credits there are in all."""
        line = self._lines[link]
        line.outbox.credits = max(line.outbox.credits, credits)
        self._release(link, line)

    def paused(self, link: str, paused: bool) -> None:
        """The other end does not read, or reads again."""
        line = self._lines.get(link)
        if line is not None:
            line.outbox.paused = paused
            self._release(link, line)

    def _release(self, link: str, line: Line) -> None:
        while data := line.outbox.release():
            self._write(link, data)
        if line.outbox.backlog <= self._limits.buffer:
            self._full.discard(link)
            line.since = None

    def _overflow(self, link: str, line: Line) -> None:
        match self._slow if line.client else "wait":
            case "wait":
                self._full.add(link)
            case "drop":
                self._counted["dropped"] += line.outbox.drop(self._limits.buffer)
            case "cut":
                most = f"{self._limits.buffer:,} are allowed"
                self._cut(link, f"{line.outbox.backlog:,} bytes wait; {most}")

    def check(self, now: float) -> None:
        """Cut who was waited for, for too long."""
        for link, line in [(each, self._lines[each]) for each in self._full]:
            if not (line.client or self._circles):
                continue
            if line.since is None:
                line.since = now
            elif now - line.since > self._limits.patience:
                self._cut(link, f"it was waited for {self._limits.patience:g} seconds")

    # -- what comes

    def came(self, link: str, came: Frame) -> None:
        """A frame has come; `FrameError` if it needed credits and there were none."""
        if came.sort in NEED_CREDITS:
            self._lines[link].credits.take(HEAD.size + len(came.body))
            self._owing[link] = None

    @property
    def due(self) -> bool:
        """Whether somebody may get new credits."""
        return any(not self._is_held(link) for link in self._owing)

    def settle(self) -> None:
        """All that came was handled, and its effects were sent: give new credits."""
        for link in [each for each in self._owing if not self._is_held(each)]:
            del self._owing[link]
            given = self._lines[link].credits.more()
            if given is not None:
                self._write(link, credits_frame(given))

    def _is_held(self, link: str) -> bool:
        """Whether somebody else is waited for."""
        return len(self._full) > (link in self._full)

    # -- how it fares

    def status(self, link: str) -> dict[str, Any]:
        """How one link fares."""
        line = self._lines.get(link)
        if line is None:
            return {"waiting": 0, "credits": 0, "given": 0, "full": False}
        return {
            "waiting": line.outbox.backlog,
            "credits": line.outbox.left,
            "given": line.credits.left,
            "full": link in self._full,
        }

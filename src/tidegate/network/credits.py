"""How many events may come on a connection before those that came are handled?

Frames of events, kept or not, and of deliveries, need **credits**; all other frames need none, so
that messages always get through. A credit is a byte of such frames, heads included. Each side says
in its first frame how many the other one has to begin with, and says more when what came was
handled: always how many there have been **in all** since the connection began, so nothing depends
on when it is heard.

Whoever has any credit left may send one frame more, however large it is; so no frame is too large
to be sent, and what may come at once is bounded by the credits and one frame. Who sends events
without credits has its connection ended.
"""

from typing import Final

from tidegate.errors import FrameError
from tidegate.network.frames import Frame, Sort, frame

NEED_CREDITS: Final = frozenset({Sort.EVENTS, Sort.DELIVERIES, Sort.KEPT})


class Credits:
    """What the other end of a connection may send.

    >>> credits = Credits(100)
    >>> credits.take(60)
    >>> credits.more()
    160
    >>> credits.more()  # there is nothing new to be said
    """

    def __init__(self, most: int) -> None:
        self.most: Final = most
        self.given = most  # in all
        self.came = 0

    @property
    def left(self) -> int:
        """How much may come now."""
        return max(0, self.given - self.came)

    def take(self, size: int) -> None:
        """A frame of so many bytes has come; `FrameError` if there were no credits for it."""
        if self.came >= self.given:
            raise FrameError("events were sent without credits for them")
        self.came += size

    def more(self) -> int | None:
        """How many there are in all, now that all that came was handled; None if it is not worth
        saying."""
        given = self.came + self.most
        if 2 * (given - self.given) < self.most or given == self.given:
            return None
        self.given = given
        return given


def credits_frame(given: int) -> bytes:
    """The frame that says how many credits there are in all."""
    return frame(Sort.CREDITS, given.to_bytes(8, "little"))


def read_credits(came: Frame) -> int:
    """What such a frame says."""
    if len(came.body) != 8:
        raise FrameError("a frame of credits has 8 bytes")
    return int.from_bytes(came.body, "little")

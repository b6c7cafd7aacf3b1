"""How long is a message under way?

A link has two lanes, one in each direction. On a lane, a message is written when the one before it
has been written, `size / bandwidth` long, and arrives `delay` after that: first in, first out. A
cut loses what is under way.

Invariant: messages sent = arrived + lost + under way.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Farewell,
    Hello,
    Publish,
    Refuse,
    Report,
    Way,
)
from tidegate.simulate.clock import SECOND, nanoseconds

KINDS: Final[dict[type, str]] = {
    Change: "change",
    Advertise: "advertise",
    Publish: "publish",
    Acknowledge: "acknowledge",
    Refuse: "refuse",
    Hello: "hello",
    Report: "report",
    Way: "way",
    Farewell: "farewell",
}


@dataclass(frozen=True, slots=True)
class LinkModel:
    """What a link is like: `delay` in seconds, `bandwidth` in bytes a second, None for any."""

    delay: float = 0.0
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise TidegateError(f"a delay is not negative, as {self.delay} is")
        if self.bandwidth is not None and self.bandwidth <= 0:
            raise TidegateError(f"a bandwidth is more than 0, not {self.bandwidth}")


@dataclass(slots=True)
class Traffic:
    """What has been sent on a lane, and what has become of it."""

    messages: dict[type, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    bytes: dict[type, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    arrived: int = 0
    lost: int = 0
    useful: int = 0  # events that somebody behind the lane was handed
    taken: int = 0  # events that the receiver has taken up

    @property
    def sent(self) -> int:
        """Messages of all kinds."""
        return sum(self.messages.values())

    @property
    def vain(self) -> int:
        """Events that nobody behind the lane was handed."""
        return self.taken - self.useful


class Lane:
    """One direction of a link between brokers, from `start` to `end` (their numbers).

    `epoch` is how often the link has been cut: what was sent in an earlier one does not arrive.
    `open` says that the sender has greeted the receiver and told it everything; `sent` and `taken`
    count control messages since the last cut, and `markers` wait for one of them: see `spread`.
    """

    __slots__ = (
        "_delay",
        "_free",
        "_per_byte",
        "end",
        "epoch",
        "markers",
        "open",
        "sent",
        "start",
        "taken",
        "told",
        "traffic",
        "under_way",
        "up",
    )

    def __init__(self, start: int, end: int, model: LinkModel) -> None:
        self.start: Final = start
        self.end: Final = end
        self.traffic: Final = Traffic()
        self.up = False
        self.epoch = 0
        self.told = -1  # the epoch that the sender knows of
        self.open = False
        self.sent = 0
        self.taken = 0
        self.under_way = 0
        self.markers: deque[tuple[int, int, int]] = deque()
        self._delay = nanoseconds(model.delay)
        self._per_byte = None if model.bandwidth is None else SECOND / model.bandwidth
        self._free = 0  # when the last message will have been written

    def send(self, now: int, kind: type, size: int) -> int | None:
        """When a message that is sent now arrives; None if it is lost."""
        traffic = self.traffic
        traffic.messages[kind] += 1
        traffic.bytes[kind] += size
        if not self.up or self.told != self.epoch:
            traffic.lost += 1
            return None
        self.sent += kind is not Publish
        self.under_way += 1
        if self._per_byte is None:
            return now + self._delay
        self._free = max(now, self._free) + round(size * self._per_byte)
        return self._free + self._delay

    def arrive(self, epoch: int) -> bool:
        """Note that a message arrives; False if it was sent before the last cut."""
        if epoch != self.epoch:
            return False
        self.under_way -= 1
        self.traffic.arrived += 1
        return True

    def cut(self) -> None:
        """Lose what is under way."""
        self.traffic.lost += self.under_way
        self.up = self.open = False
        self.epoch += 1
        self.sent = self.taken = self.under_way = 0
        self.markers.clear()
        self._free = 0


def total(traffic: Iterable[Traffic]) -> dict[str, tuple[int, int]]:
    """Messages and bytes of several lanes, by kind."""
    found = dict.fromkeys(KINDS.values(), (0, 0))
    for each in traffic:
        for kind, name in KINDS.items():
            messages, size = found[name]
            found[name] = messages + each.messages[kind], size + each.bytes[kind]
    return found

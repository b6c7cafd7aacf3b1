"""A broker at its place in the network: what waits for it, and what it has done.

Inputs wait in one queue, in the order of their arrival, and are handled one at a time. Where the
queue has a capacity, events that come when it is full are dropped; control messages never are.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Input
from tidegate.overlay.storage import Keeper
from tidegate.overlay.work import Tally, Work
from tidegate.simulate.link import Lane
from tidegate.simulate.seat import Seat


class Waiting(NamedTuple):
    """An input in a queue.

    `epoch` is that of the lane it came on, -1 if it came on none. `trace` is, for an event, its
    flight and the hop that brought it.
    """

    link: str
    input: Input
    size: int
    trace: Any
    epoch: int


class Hop:
    """An event on a lane, and the hop before that."""

    __slots__ = ("before", "lane", "useful")

    def __init__(self, before: "Hop | None", lane: Lane) -> None:
        self.before: Final = before
        self.lane: Final = lane
        self.useful = False

    def used(self) -> None:
        """Somebody behind this hop, and so behind all before it, was handed the event."""
        hop: Hop | None = self
        while hop is not None and not hop.useful:
            hop.useful = True
            hop.lane.traffic.useful += 1
            hop = hop.before


@dataclass(slots=True)
class Done:
    """What a broker has done, over all its lives."""

    work: Work = field(default_factory=Work)  # of lives that are over
    tally: Tally = field(default_factory=Tally)  # of lives that are over
    handled: int = 0  # inputs
    saturated: int = 0  # events dropped because the queue was full
    discarded: int = 0  # inputs that waited, or were being handled, when the broker crashed
    longest: int = 0  # queue
    busy: int = 0  # nanoseconds
    carrying: int = 0  # nanoseconds of that, for events
    published: int = 0  # events of its clients that it has taken up
    unpublished: int = 0  # events that its clients could not publish, because it was down
    deliveries: int = 0  # events handed to clients
    notifications: int = 0  # subscriptions they were handed for
    delay: int = 0  # nanoseconds, all deliveries together
    slowest: int = 0  # nanoseconds
    recovery: int = 0  # nanoseconds from restarts until nothing was left to catch up with


class Node:
    """One broker's place. `generation` is how often it has crashed."""

    __slots__ = (
        "broker",
        "busy",
        "done",
        "extra",
        "generation",
        "incoming",
        "keeper",
        "number",
        "outgoing",
        "queue",
        "recovering",
        "seats",
        "spent",
        "up",
    )

    def __init__(self, number: int, broker: Broker, keeper: Keeper | None) -> None:
        self.number: Final = number
        self.broker = broker
        self.keeper = keeper
        self.queue: Final[deque[Waiting]] = deque()
        self.outgoing: Final[dict[str, Lane]] = {}
        self.incoming: Final[dict[str, Lane]] = {}
        self.seats: Final[dict[str, Seat]] = {}  # of its clients
        self.done: Final = Done()
        self.up = True
        self.busy = False
        self.generation = 0
        self.spent = 0  # what the broker's units of work have cost so far
        self.recovering: int | None = None  # when it was restarted, if it still catches up
        self.extra = 0  # to be spent before the next input: recovery

    @property
    def name(self) -> str:
        """The broker's."""
        return self.broker.name

"""Where has a subscription arrived?

A subscription is **in place** for a publisher when whatever its broker sent because of it, directly
or in the shadow of another one, has been taken up on the whole way to the publisher's broker. That
is told by markers: one leaves the subscriber's broker when a change is accepted there, and goes
everywhere, on each link behind all that was sent before it. They are no messages, take no time and
cost nothing: a marker passes a lane when the control messages sent before it have been taken.

Markers of one broker are numbered and overtake none, so what is kept is only the last number of
each broker that has reached each other one. With advertisements, a subscription travels towards a
publisher only once the advertisement has come to it. So advertisements have markers too, each
broker answers them by another one of its own, and a subscription is in place when the answer has
arrived.

Where several ways lead to a publisher, a marker goes on only where what is wanted does, once for
each link it has come on; the first to arrive counts, as any way is enough.

When a link comes up, both sides first tell what the other one has missed; then markers of all they
know follow. What has once been in place stays so, even if a broker on the way forgets it: that is a
fault of the network, and counted as one.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Final, TypeAlias

from tidegate.simulate.link import Lane

Passes: TypeAlias = Callable[[int, int, int], bool]
"""Whether, at a broker, what is wanted goes on from one neighbour, -1 for a client, to another."""


class Spread:
    """How far markers have come among so many brokers."""

    def __init__(
        self,
        brokers: int,
        lanes: list[dict[str, Lane]],
        *,
        advertisements: bool,
        passes: Passes | None = None,
    ) -> None:
        self._lanes: Final = lanes  # that start at each broker, as they come to be
        self._count: Final = brokers
        self._advertisements: Final = advertisements
        streams = 2 * brokers if advertisements else brokers
        self._last = [0] * streams
        self._reached = [[0] * streams for _ in range(brokers)]
        self._passes: Final = passes  # where several ways lead to a publisher
        # For each broker and each that a stream has come from there: the last number.
        self._came: dict[tuple[int, int, int], int] = {}
        # For each broker and each publishing one: the numbers of the markers answered there, and
        # of the answers.
        self._answers: list[dict[int, tuple[list[int], list[int]]]] = [{} for _ in range(brokers)]

    def changed(self, broker: int) -> int:
        """Send a marker after a change of what a broker's own clients want; its number."""
        return self._launch(broker, broker)

    def advertised(self, broker: int) -> int:
        """Send a marker after a change of what a broker's own clients advertise; its number."""
        return self._launch(broker, self._count + broker) if self._advertisements else 0

    def opened(self, lane: Lane) -> None:
        """Send markers after what a neighbour is told when a link comes up."""
        lane.open = True
        for stream, number in enumerate(self._reached[lane.start]):
            if number and self._passes is None:
                self._pass(lane, stream, number)
        for (here, before, stream), number in list(self._came.items()):
            if here == lane.start and self._goes_on(here, before, lane.end, stream):
                self._pass(lane, stream, number)

    def taken(self, lane: Lane) -> None:
        """Let markers pass that waited for what has been taken from a lane."""
        markers = lane.markers
        while markers and markers[0][0] <= lane.taken:
            _, stream, number = markers.popleft()
            self._arrive(lane.end, lane.start, stream, number)

    def in_place(self, home: int, number: int, publisher: int, advertised: int) -> bool:
        """Whether a change accepted at a broker has arrived at a publisher's.

        `advertised` is the number of the marker after the publisher's last advertisement.
        """
        if self._advertisements and home != publisher:
            asked, answered = self._answers[home].get(publisher, ((), ()))
            first = bisect_left(asked, advertised)
            if first == len(asked):
                return False
            number = max(number, answered[first])
        return self._reached[publisher][home] >= number

    def _launch(self, broker: int, stream: int) -> int:
        self._last[stream] += 1
        number = self._last[stream]
        self._arrive(broker, -1, stream, number)
        return number

    def _arrive(self, broker: int, origin: int, stream: int, number: int) -> None:
        ways = [(broker, origin)]
        while ways:
            here, before = ways.pop()
            known = self._reached[here][stream] >= number
            if known and (
                self._passes is None or self._came.get((here, before, stream), 0) >= number
            ):
                continue
            self._reached[here][stream] = max(number, self._reached[here][stream])
            if self._passes is not None:
                self._came[here, before, stream] = number
            if not known and stream >= self._count and here != stream - self._count:
                self._answer(here, stream - self._count, number)
            for lane in self._lanes[here].values():
                if not (lane.open and self._goes_on(here, before, lane.end, stream)):
                    continue
                if lane.sent == lane.taken and not lane.markers:
                    ways.append((lane.end, here))
                else:
                    lane.markers.append((lane.sent, stream, number))

    def _goes_on(self, here: int, before: int, goal: int, stream: int) -> bool:
        """Whether a marker that has come to a broker goes on to another one."""
        if self._passes is None:
            return goal != before
        if stream < self._count:
            return self._passes(here, before, goal)
        return self._passes(here, goal, before) if before >= 0 else True

    def _answer(self, broker: int, publisher: int, number: int) -> None:
        asked, answered = self._answers[broker].setdefault(publisher, ([], []))
        asked.append(number)
        answered.append(self._launch(broker, broker))

    def _pass(self, lane: Lane, stream: int, number: int) -> None:
        if lane.sent == lane.taken and not lane.markers:
            self._arrive(lane.end, lane.start, stream, number)
        else:
            lane.markers.append((lane.sent, stream, number))

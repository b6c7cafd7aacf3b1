"""Events that are kept: how do their numbers on the link travel?

Where brokers keep events (`overlay.settings`), an event that goes to a neighbour has a number on
the link, among those of the other messages, and is written down and sent again until that is
acknowledged. A frame of kept events is the number of the first one (u64), the others have those
that follow, and then the body of a frame of events:

    first (u64)
    count, names, numbers, lengths, publishers, payloads: see `event_frames`

So what has numbers must come in their order: messages that do wait behind events on such a link,
as if they took back an advertisement (`outbox`). Whoever is sent a number too many ignores it until
it is sent again: order costs time here, and is not what safety rests on.

To clients, events are not kept: a client acknowledges nothing that is delivered.
"""

from collections.abc import Iterator
from typing import Final

from tidegate.errors import FrameError
from tidegate.network.event_frames import NAMED_ROOM, Room, events_frame, payloads_of, widest
from tidegate.network.frames import HEAD, Frame, Sort, frame
from tidegate.network.payloads import payload
from tidegate.overlay.filter import Kind
from tidegate.overlay.form import LARGEST
from tidegate.overlay.messages import Publish

MOST: Final = 1_000  # events in one frame
LARGE: Final = 2**20  # bytes of payloads after which a frame is full
_FIRST: Final = 8  # bytes of the number


class Onward:
    """Kept events that go out in one round, by link, until they are put into frames."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._events: dict[str, list[Publish]] = {}

    @property
    def links(self) -> list[str]:
        """Where any go."""
        return list(self._events)

    def add(self, link: str, event: Publish) -> None:
        """Let an event go to a neighbour, behind all before."""
        self._events.setdefault(link, []).append(event)

    def frames(self, link: str, room: Room) -> Iterator[bytes]:
        """Frames of those that go on a link; to be sent before anything that is said later."""
        some: list[Publish] = []
        written: list[bytes] = []
        most, longest, size = min(MOST, room.events), room.bytes - _FIRST - NAMED_ROOM, 0
        for event in self._events.pop(link, ()):
            data = payload(event.event, self._kind)
            own = widest(data, event.publisher)
            full = len(some) == most or size > LARGE or size + own > longest
            if some and (full or event.seq != some[-1].seq + 1):
                yield kept_frame(some, written)
                some, written, size = [], [], 0
            some.append(event)
            written.append(data)
            size += own
        if some:
            yield kept_frame(some, written)


def kept_frame(events: list[Publish], payloads: list[bytes]) -> bytes:
    """A frame of events with numbers that follow each other.

    >>> data = kept_frame([Publish(7, {}, "a/ann", seq=3)], [b"payload"])
    >>> first, inner = read_kept(Frame(Sort.KEPT, data[8:]))
    >>> first, inner.body[-7:]
    (3, b'payload')
    """
    numbers, publishers = [x.number for x in events], [x.publisher for x in events]
    inner = events_frame(numbers, publishers, payloads_of(payloads))
    return frame(Sort.KEPT, events[0].seq.to_bytes(_FIRST, "little"), inner[HEAD.size :])


def read_kept(came: Frame) -> tuple[int, Frame]:
    """The number of the first event, and the frame of events; `FrameError` if there is none."""
    first = int.from_bytes(came.body[:_FIRST], "little")
    if len(came.body) < _FIRST or not 0 < first <= LARGEST - 2**32:
        raise FrameError("a frame of kept events begins with a number from 1 on")
    return first, Frame(Sort.EVENTS, came.body[_FIRST:], came.flags)

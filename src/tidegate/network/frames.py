"""What travels on a connection?

**Frames**, one after the other: a head of eight bytes and a body. The head has the length of the
body (32 bits), the kind of the frame (8 bits), flags (8 bits) and 16 bits that are not used; all
numbers in frames are little-endian. Two flags say that messages were not sent in the order in which
they and events were said (`outbox`); a third one, that a message has not ended with this frame.
Other flags, and what is not used, are 0 in this version, and anything else there is refused, as is
a kind that is not known: whatever is new is agreed on first, in the opening frames (`opening`).

A message may be larger than a frame: it may tell of all that somebody wants. Then it has **parts**,
in frames of the kind `control` that follow each other, with frames of other kinds between them.

This module does no I/O. A `Frames` is fed bytes as they come and gives frames as they are whole,
and messages, as if each had come in one frame. Lengths are looked at before anything is kept, so
memory is bounded by one frame and one message.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

from tidegate.errors import FrameError

HEAD: Final = Struct("<IBBH")
FIRST: Final = 64 * 2**10  # bytes that the first frame of a connection may have
OVERTAKING: Final = 1  # a flag: it has overtaken events, or was overtaken
IN_TURN: Final = 2  # a flag: it has not overtaken events, as others may
MORE: Final = 4  # a flag: the message goes on in the next frame of this kind


class Sort(IntEnum):
    """What a frame is there for."""

    OPENING = 1  # the first one, from whoever has connected
    OPENED = 2  # the answer
    CLOSE = 3  # the last one: why
    HEARTBEAT = 4
    CONTROL = 5  # a message that is no event
    EVENTS = 6  # events that are published or passed on
    DELIVERIES = 7  # events for a client
    TAKEN = 8  # up to which number a client's events have been taken
    STATUS = 9  # how a broker fares
    CREDITS = 10  # how many bytes of events may be sent
    GAP = 11  # how many events a client has missed
    KEPT = 12  # events that are kept until they are acknowledged, with their numbers on the link


class Frame(NamedTuple):
    """One frame."""

    sort: Sort
    body: bytes
    flags: int = 0


def frame(sort: Sort, *parts: bytes | bytearray | memoryview, flags: int = 0) -> bytes:
    """A frame as bytes.

    >>> frame(Sort.HEARTBEAT).hex()
    '0000000004000000'
    """
    length = sum(map(len, parts))
    return b"".join((HEAD.pack(length, sort, flags, 0), *parts))


def parted(whole: bytes, longest: int) -> list[bytes]:
    """A frame, or, if its body is longer than that, frames with the parts of it.

    >>> frames = Frames(longest=10)
    >>> parts = parted(frame(Sort.CONTROL, b"a message of some length"), 10)
    >>> [len(part) - HEAD.size for part in parts]
    [10, 10, 4]
    >>> [came.body for part in parts for came in frames.feed(part)]
    [b'a message of some length']
    """
    if len(whole) - HEAD.size <= longest:
        return [whole]
    _, sort, flags, _ = HEAD.unpack_from(whole)
    places = range(HEAD.size, len(whole), longest)
    return [
        frame(Sort(sort), whole[place : place + longest], flags=flags | MORE * (place < places[-1]))
        for place in places
    ]


class Frames:
    """Bytes as they come, and the frames in them."""

    def __init__(self, longest: int, message: int = 2**31) -> None:
        self.longest = longest  # the longest body that is taken
        self.message = message  # the longest one of a message that is taken
        self._bytes = bytearray()
        self._parts = bytearray()  # of a message that is not whole
        self._flags = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole with these bytes; `FrameError` for what can be none.

        >>> whole = frame(Sort.CLOSE, b"why")
        >>> frames = Frames(longest=100)
        >>> list(frames.feed(whole[:9]))
        []
        >>> [came.body for came in frames.feed(whole[9:] + whole)]
        [b'why', b'why']
        """
        held = self._bytes
        held += data
        start = 0
        try:
            while len(held) - start >= HEAD.size:
                length, sort, flags, unused = HEAD.unpack_from(held, start)
                end = start + HEAD.size + self._checked(length, sort, flags, unused)
                if end > len(held):
                    break
                body = bytes(memoryview(held)[start + HEAD.size : end])
                start = end
                if sort == Sort.CONTROL and (flags & MORE or self._parts):
                    whole = self._join(body, flags)
                    if whole is not None:
                        yield whole
                    continue
                yield Frame(Sort(sort), body, flags)
        finally:
            del held[:start]

    @property
    def waiting(self) -> int:
        """How many bytes have come of a frame, and of a message, that are not whole."""
        return len(self._bytes) + len(self._parts)

    def _join(self, body: bytes, flags: int) -> Frame | None:
        """Take a part of a message, which is whole then or not."""
        size = len(self._parts) + len(body)
        if size > self.message:
            raise FrameError(f"a message has {size:,} bytes or more; {self.message:,} are allowed")
        self._parts += body
        self._flags |= flags & ~MORE
        if flags & MORE:
            return None
        whole = Frame(Sort.CONTROL, bytes(self._parts), self._flags)
        self._parts, self._flags = bytearray(), 0
        return whole

    def _checked(self, length: int, sort: int, flags: int, unused: int) -> int:
        if sort not in _SORTS:
            raise FrameError(f"there is no frame of the kind {sort}")
        if unused or flags & ~_FLAGS.get(sort, 0):
            raise FrameError("a frame has flags that were not agreed on")
        if length > self.longest:
            raise FrameError(f"a frame has {length:,} bytes; {self.longest:,} are allowed")
        return length


_SORTS: Final = frozenset(Sort)
_FLAGS: Final[dict[int, int]] = {
    Sort.CONTROL: OVERTAKING | IN_TURN | MORE,
    Sort.EVENTS: OVERTAKING,
    Sort.DELIVERIES: OVERTAKING,
    Sort.KEPT: OVERTAKING,
}

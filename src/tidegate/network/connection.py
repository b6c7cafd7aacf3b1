"""One connection: bytes in, frames out, and when it was last heard of.

What frames mean is the business of its owner, a broker or a client: here they are cut out of what
comes, and bytes that wait to be sent are watched. Nothing here waits.
"""

import asyncio
from typing import Any, Final, Protocol

from tidegate.errors import FrameError
from tidegate.network.frames import FIRST, Frame, Frames, Sort, frame
from tidegate.network.tls import names_of

PARTING: Final = 2.0  # seconds that the other end has to read what is left, once it is ended
_UNREAD: Final = 256 * 2**10  # bytes that wait, from which on the other end counts as not reading


class Owner(Protocol):
    """Whoever has connections."""

    def came(self, connection: "Connection", frame: Frame, /) -> None:
        """A frame has come; `FrameError` if it cannot have."""

    def lost(self, connection: "Connection", /) -> None:
        """A connection is no more."""

    def made(self, connection: "Connection", /) -> None:
        """There is a connection."""

    def paused(self, connection: "Connection", paused: bool, /) -> None:
        """The other end does not read what is sent, or reads again."""


class Connection(asyncio.Protocol):
    """One connection of an owner; `dialed` says that the owner made it.

    `reason` is why it ended, if that is known. The first frame has to be short.
    """

    def __init__(self, owner: Owner, *, dialed: bool, name: str = "") -> None:
        self.dialed = dialed
        self.name = name  # of whoever is at the other end, once it has said so
        self.role = ""  # of whoever is at the other end, once it was let in
        self.until: float | None = None  # when it has to end, in seconds since 1970
        self.reason = ""
        self.broken = False  # whether it ended for what has come on it
        self.heard = self.sent = self._now()
        self.frames = Frames(FIRST, message=0)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._ended = False

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    @property
    def waiting(self) -> int:
        """How many bytes wait to be sent."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    @property
    def is_encrypted(self) -> bool:
        """Whether nobody else can read it."""
        return self._about("sslcontext") is not None

    @property
    def names(self) -> frozenset[str]:
        """The names in the certificate of whoever is at the other end."""
        return names_of(self._about("peercert"))

    def _about(self, what: str) -> Any:
        return None if self._transport is None else self._transport.get_extra_info(what)

    @property
    def is_open(self) -> bool:
        """Whether frames can be sent."""
        return self._transport is not None and not self._ended

    def send(self, data: bytes) -> None:
        """Send frames; if the connection has ended, they are lost."""
        if self._transport is not None and not self._ended:
            self.sent = self._now()
            self._transport.write(data)

    def close(self, reason: str) -> None:
        """End it, and say why."""
        if self._ended:
            return
        self.send(frame(Sort.CLOSE, reason.encode("utf-8", "replace")[:1_000]))
        self.reason = self.reason or reason
        self._end()

    def cut(self, reason: str) -> None:
        """End it at once, whatever waits to be sent."""
        self.reason = self.reason or reason
        if self._transport is not None:
            self._transport.abort()
        self._end()

    # -- what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """There is a connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(_UNREAD)
        self._owner.made(self)

    def pause_writing(self) -> None:
        """The other end does not read."""
        self._owner.paused(self, True)

    def resume_writing(self) -> None:
        """It reads again."""
        if not self._ended:
            self._owner.paused(self, False)

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        self.heard = self._now()
        try:
            for each in self.frames.feed(data):
                if self._ended:
                    return
                self._took(each)
        except FrameError as error:
            self.broken = True
            self.close(str(error))

    def connection_lost(self, _: Exception | None) -> None:
        """It is no more."""
        self._ended = True
        self.reason = self.reason or "the connection was lost"
        if not self.closed.done():
            self.closed.set_result(None)
        self._owner.lost(self)

    def _took(self, each: Frame) -> None:
        if each.sort is Sort.CLOSE:
            self.reason = each.body.decode("utf-8", "replace")
            if self.role:
                self._end()
                return
        if each.sort is Sort.HEARTBEAT:
            if each.body:
                raise FrameError("a heartbeat has nothing in it")
            return
        self._owner.came(self, each)

    def _end(self) -> None:
        self._ended = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()
            # Whoever does not read what is left would keep it, and its place, for ever.
            asyncio.get_running_loop().call_later(PARTING, self._transport.abort)

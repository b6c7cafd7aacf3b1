"""How does the broker at an address fare? It is asked, and says so, on a connection of its own."""

import asyncio
from typing import Any, Final

import msgspec

from tidegate.errors import LinkError, TidegateError
from tidegate.network.address import read_address
from tidegate.network.connection import PARTING, Connection
from tidegate.network.dialing import dial, opening, patiently
from tidegate.network.frames import Frame, Sort
from tidegate.network.opening import Opening, say
from tidegate.network.tls import Tls

_PATIENCE: Final = 10.0  # seconds that a broker may take to answer


async def status(
    address: str,
    *,
    name: str = "status",
    tls: Tls | None = None,
    token: str = "",
    patience: float = 0.0,
) -> dict[str, Any]:
    """How the broker at an address fares; it is waited for, `patience` seconds."""
    where = read_address(address)
    context = None if tls is None else tls.for_client()
    if token and tls is None:
        raise TidegateError("a token is said over TLS only: give tls, too")
    asked = _Asked(opening("status", name, token))
    await patiently(lambda: dial(where, asked, context), patience)
    try:
        return await asyncio.wait_for(asked.answer, _PATIENCE)
    except TimeoutError:
        raise LinkError(f"{where} does not answer") from None
    finally:
        await asked.end()


class _Asked:
    """Whoever asks for the status of a broker."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._connection: Connection | None = None
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    def made(self, connection: Connection) -> None:
        """There is a connection."""
        self._connection = connection
        connection.frames.longest = 2**30
        connection.send(say(self._opening))

    def paused(self, connection: Connection, paused: bool) -> None:
        """It says little, so nothing of it has to wait."""

    def came(self, connection: Connection, came: Frame) -> None:
        """A frame has come."""
        if came.sort is Sort.STATUS and not self.answer.done():
            self.answer.set_result(msgspec.msgpack.decode(came.body))
            connection.close("that is all")

    def lost(self, connection: Connection) -> None:
        """A connection is no more."""
        if not self.answer.done():
            self.answer.set_exception(LinkError(connection.reason))

    async def end(self) -> None:
        """Have no connection any more; with TLS, both sides say that it ends."""
        if self._connection is not None:
            self._connection.close("that is all")
            await asyncio.wait([self._connection.closed], timeout=PARTING)
            self._connection.cut("that is all")

"""Where connections come in.

Where TLS is demanded, somebody who speaks plain text should be told so, in plain text, rather than
be cut off without a word. So the first bytes are looked at before TLS begins, and left where they
are: those of a TLS connection are a handshake's, 22 and the version 3.x, and no first frame begins
like that (it would be longer than is allowed). What then becomes of plain text is the business of
the connection's owner.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from tidegate.network.address import Address
from tidegate.network.connection import Connection
from tidegate.network.limits import Limits

_HANDSHAKE: Final = b"\x16\x03"


async def listen(
    address: Address, make: Callable[[], Connection], limits: Limits, tls: ssl.SSLContext | None
) -> asyncio.Server:
    """Let connections in at an address."""
    loop = asyncio.get_running_loop()
    if tls is None:
        return await loop.create_server(make, *address)
    context = tls
    entering: set[asyncio.Task[None]] = set()

    def enter(new: socket.socket) -> None:
        if len(entering) >= limits.connections:
            new.close()
            return
        task = loop.create_task(_let_in(new, make, limits.handshake, context))
        entering.add(task)
        task.add_done_callback(entering.discard)

    return await loop.create_server(lambda: _Threshold(enter), *address)


class _Threshold(asyncio.Protocol):
    """Hands over the socket of a connection, of which nothing was read."""

    def __init__(self, enter: Callable[[socket.socket], None]) -> None:
        self._enter = enter

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._enter(transport.get_extra_info("socket").dup())
        transport.close()


async def _let_in(
    new: socket.socket, make: Callable[[], Connection], patience: float, tls: ssl.SSLContext
) -> None:
    loop = asyncio.get_running_loop()
    new.setblocking(False)
    try:
        async with asyncio.timeout(patience):
            begins = await _first_bytes(new)
        if not begins:
            new.close()
        elif _is_tls(begins):
            times = {"ssl_handshake_timeout": patience, "ssl_shutdown_timeout": patience}
            await loop.connect_accepted_socket(make, new, ssl=tls, **times)
        else:
            await loop.connect_accepted_socket(make, new)
    except (OSError, TimeoutError):
        new.close()


def _is_tls(begins: bytes) -> bool:
    """Whether a connection begins as one of TLS does, as far as it has come."""
    return begins[:2] == _HANDSHAKE[: len(begins)] and begins[2:] != b"\0"


async def _first_bytes(new: socket.socket) -> bytes:
    """Up to three bytes that have come, which are still there to be read."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(new, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(new)
    return new.recv(3, socket.MSG_PEEK)

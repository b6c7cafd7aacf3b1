"""How is a connection to a broker made, and what is said first?"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tidegate.errors import LinkError
from tidegate.network.address import Address
from tidegate.network.connection import Connection, Owner
from tidegate.network.opening import VERSION, Opening, Role

PARTING: Final = 2.0  # seconds that the other side has to say that TLS ends
_WAITING: Final = 0.1  # seconds between two attempts to reach a broker that is not there yet


class UnreachableError(LinkError):
    """Nobody listens at an address, or not yet."""


def opening(role: Role, name: str, token: str, credits: int = 0, kind: str = "") -> Opening:
    """What whoever connects says first; its kind of filters, if it has chosen one."""
    said = token or msgspec.UNSET
    return Opening(VERSION, role, name, token=said, credits=credits, kind=kind or msgspec.UNSET)


async def dial(address: Address, owner: Owner, tls: ssl.SSLContext | None) -> Connection:
    """A connection to a broker; `UnreachableError` if there is none."""
    loop = asyncio.get_running_loop()
    try:
        _, made = await loop.create_connection(
            lambda: Connection(owner, dialed=True),
            *address,
            ssl=tls,
            ssl_shutdown_timeout=None if tls is None else PARTING,
        )
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or error.reason or error.strerror
        raise LinkError(f"TLS with {address} cannot be: {why}") from None
    except OSError as error:
        raise UnreachableError(
            f"{address} cannot be reached: {error.strerror or 'it does not answer'}"
        ) from None
    return made


async def patiently(connect: Callable[[], Awaitable[object]], patience: float) -> None:
    """Connect, if need be again and again, for so many seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + patience
    while True:
        try:
            await connect()
            return
        except UnreachableError:
            if loop.time() >= end:
                raise
            await asyncio.sleep(_WAITING)

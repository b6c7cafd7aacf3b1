"""How is a connection to a broker made, and what is said first?"""

import asyncio
import os
import random
import ssl
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tidegate.errors import LinkError
from tidegate.network.address import Address
from tidegate.network.connection import PARTING, Connection, Owner
from tidegate.network.opening import VERSION, Opening, Role

_WAITING: Final = 0.1  # seconds between two attempts to reach a broker that is not there yet


class UnreachableError(LinkError):
    """Nobody listens at an address, or not yet."""


def opening(role: Role, name: str, token: str, credits: int = 0, kind: str = "") -> Opening:
    """What whoever connects says first; its kind of filters, if it has chosen one."""
    said = token or msgspec.UNSET
    return Opening(VERSION, role, name, token=said, credits=credits, kind=kind or msgspec.UNSET)


async def dial(
    address: Address, owner: Owner, tls: ssl.SSLContext | None, name: str = ""
) -> Connection:
    """A connection to a broker, perhaps of this name; `UnreachableError` if there is none."""
    loop = asyncio.get_running_loop()
    try:
        _, made = await loop.create_connection(
            lambda: Connection(owner, dialed=True, name=name),
            *address,
            ssl=tls,
            ssl_shutdown_timeout=None if tls is None else PARTING,
        )
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or error.reason or error.strerror
        raise LinkError(f"TLS with {address} cannot be: {why}") from None
    except OSError as error:
        raise UnreachableError(f"{address} cannot be reached: {reason_of(error)}") from None
    return made


def reason_of(error: OSError) -> str:
    """What has gone wrong, in few words; `asyncio` has many, with the address among them."""
    if (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    return error.strerror or "it does not answer"


class Pause:
    """How long to wait before connecting again: longer each time, but not for ever.

    Where connections are made and end at once, it goes on to grow; one that has lived for a while
    lets it begin anew.

    >>> pause = Pause(1.0, 8.0)
    >>> for _ in range(5):
    ...     _ = pause.draw()
    >>> pause.mean
    8.0
    >>> pause.lived(10.0)
    >>> pause.mean
    8.0
    >>> pause.lived(20.0)
    >>> pause.mean
    1.0
    """

    def __init__(self, first: float, longest: float) -> None:
        self.mean = first
        self._first: Final = first
        self._longest: Final = longest

    def draw(self) -> float:
        """The next one, in seconds, drawn at random so that not all come back at once."""
        drawn = self.mean * random.uniform(0.5, 1.5)
        self.mean = min(2 * self.mean, self._longest)
        return drawn

    def begin(self) -> None:
        """Let the next one be short."""
        self.mean = self._first

    def lived(self, seconds: float) -> None:
        """A connection has ended that lived so long."""
        if seconds > 2 * self.mean:
            self.begin()


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

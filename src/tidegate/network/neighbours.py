"""The neighbours that a broker dials, and what has become of each.

A neighbour is dialed until there is a link, and again when the link is lost: after a time that
grows from a tenth of a second to ten seconds, drawn at random so that not all come back at once.
Whoever runs the broker is told when there is a link, and why there is none, once each.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tidegate.errors import LinkError, TidegateError
from tidegate.network.address import Address
from tidegate.network.connection import Owner
from tidegate.network.dialing import Pause, dial
from tidegate.network.opening import name_flaw

LINKED: Final = "linked"
_FIRST_PAUSE: Final = 0.1  # seconds before a neighbour is dialed again
_LONGEST_PAUSE: Final = 10.0

Watch = Callable[[str, str], object]
"""Is told of a neighbour that is dialed: `LINKED`, or why there is no link."""


class Neighbours:
    """Neighbours by name, and where they are.

    `wanted` says whether there is to be a link to one of them now, `linked` whether there is.
    """

    def __init__(
        self,
        addresses: Mapping[str, Address],
        own: str,
        *,
        wanted: Callable[[str], bool],
        linked: Callable[[str], bool],
        watch: Watch,
    ) -> None:
        _check_names(own, addresses)
        self._addresses = dict(addresses)
        self._wanted = wanted
        self._linked = linked
        self._watch = watch
        self._told: dict[str, str] = {}  # of each, what was told last

    def __contains__(self, name: str) -> bool:
        return name in self._addresses

    def __iter__(self) -> Iterator[str]:
        return iter(self._addresses)

    @property
    def missing(self) -> list[str]:
        """Those that there should be a link to, and is not."""
        return [each for each in self if self._wanted(each) and not self._linked(each)]

    def tell(self, name: str, what: str) -> None:
        """Tell what has become of one, unless that was told last."""
        if self._told.get(name) != what:
            self._told[name] = what
            self._watch(name, what)

    async def keep(self, name: str, owner: Owner, tls: ssl.SSLContext | None) -> None:
        """Keep a link to one of them; its connections have an owner."""
        pause = Pause(_FIRST_PAUSE, _LONGEST_PAUSE)
        loop = asyncio.get_running_loop()
        while True:
            if not self._wanted(name) or self._linked(name):
                pause.begin()
            else:
                began = loop.time()
                try:
                    made = await dial(self._addresses[name], owner, tls, name)
                except LinkError as error:
                    self.tell(name, str(error))
                else:
                    await made.closed
                    if not self._linked(name):
                        self.tell(name, made.reason)
                    if made.role:
                        pause.lived(loop.time() - began)
            await asyncio.sleep(pause.draw())


def _check_names(own: str, neighbours: Mapping[str, Address]) -> None:
    """`TidegateError` if brokers cannot be called so."""
    for name in (own, *neighbours):
        flaw = name_flaw(name, broker=True)
        if flaw is not None:
            raise TidegateError(f"a broker cannot be called {name!r}: {flaw}")
    if own in neighbours:
        raise TidegateError(f"{own} is the name of this broker: it is no neighbour of itself")

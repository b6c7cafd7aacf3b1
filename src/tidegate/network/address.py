"""Where is a broker? `HOST:PORT`, and which of these are only this machine."""

import ipaddress
from typing import NamedTuple

from tidegate.errors import TidegateError


class Address(NamedTuple):
    """A host and a port; port 0 is one that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only processes on this machine can come there."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def read_address(text: str) -> Address:
    """The address that a text says.

    >>> read_address("127.0.0.1:7400"), str(read_address("[::1]:7400"))
    (Address(host='127.0.0.1', port=7400), '[::1]:7400')
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    numbered = port.isascii() and port.isdigit() and len(port) < 6 and int(port) < 65_536
    if not (colon and numbered and _is_host(host)):
        raise TidegateError(f"{text!r} is no address: write HOST:PORT, such as 127.0.0.1:7400")
    return Address(host, int(port))


def _is_host(text: str) -> bool:
    """Whether this can be the name of a host."""
    try:
        return bool(text.encode("idna"))
    except UnicodeError:
        return False

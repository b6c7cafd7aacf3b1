"""How much may whoever is at the other end of a connection ask of a broker?

Every limit has a default and a defined answer. What breaks a limit of frames, of the handshake or
of buffers ends the connection, with the reason in a last frame; what is too large for a limit of
filters or events, or one subscription too many, is refused, and the connection goes on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Final

from tidegate.errors import TidegateError

_LARGEST: Final = 2**62


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one broker.

    `frame`, in bytes, `events`, how many one frame may have, and `message`, in bytes of all frames
    of one message: more ends the connection. `handshake`, seconds until the first frame has come.
    `connections`, of clients and brokers together: one more is turned away. `subscriptions`, of one
    client, and as many advertisements: more are refused. `buffer`, bytes that wait to be sent on a
    connection: what becomes of one that does not read says `pressure.Slow`. `credits`, bytes of
    events that a connection may send before those that came are handled: more ends it. `patience`,
    seconds that a client is waited for, where it is. `silence`, seconds without a frame after which
    a connection is taken for dead; a third of it is the time between heartbeats. `keep`, seconds
    that it is known what a client wanted that has gone.
    """

    frame: int = 16 * 2**20
    events: int = 65_536
    message: int = 64 * 2**20
    handshake: float = 5.0
    connections: int = 4_096
    subscriptions: int = 1_000_000
    buffer: int = 64 * 2**20
    credits: int = 2**20
    patience: float = 10.0
    silence: float = 30.0
    keep: float = 60.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise TidegateError(f"the limit {field.name} is more than 0, not {value}")
            if field.type is int and not (type(value) is int and value <= _LARGEST):
                raise TidegateError(f"the limit {field.name} is a whole number, not {value}")
            if not isfinite(value):
                raise TidegateError(f"the limit {field.name} is a number of seconds, not {value}")


def changed(limits: Limits, given: Mapping[str, float]) -> Limits:
    """Other values for some limits, by name.

    >>> changed(Limits(), {"keep": 5}).keep
    5
    """
    names = [field.name for field in fields(Limits)]
    for name in given:
        if name not in names:
            raise TidegateError(f"there is no limit {name}, but {', '.join(names)}")
    return replace(limits, **given)  # type: ignore[arg-type]  # a number is a number


def read_limit(text: str) -> tuple[str, float]:
    """A limit as `name=number`.

    >>> read_limit("buffer=1_000_000"), read_limit("keep=0.5")
    (('buffer', 1000000), ('keep', 0.5))
    """
    name, _, number = text.partition("=")
    for kind in (int, float):
        try:
            return name.strip(), kind(number)
        except ValueError:
            continue
    raise TidegateError(f"a limit is NAME=NUMBER, not {text!r}")

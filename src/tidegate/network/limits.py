"""How much may whoever is at the other end of a connection ask of a broker?

Every limit has a default and a defined answer. What breaks a limit of frames, of the handshake or
of buffers ends the connection, with the reason in a last frame; what is too large for a limit of
filters or events, or one subscription too many, is refused, and the connection goes on.
"""

from dataclasses import dataclass, fields

from tidegate.errors import TidegateError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one broker.

    `frame`, in bytes, and `events`, how many one frame may have: more ends the connection.
    `handshake`, seconds until the first frame has come. `connections`, of clients and brokers
    together: one more is turned away. `subscriptions`, of one client: more are refused. `buffer`,
    bytes that wait to be sent on a connection: one that does not read is cut. `silence`, seconds
    without a frame after which a connection is taken for dead; a third of it is the time between
    heartbeats. `keep`, seconds that the subscriptions of a client stay that has gone.
    """

    frame: int = 16 * 2**20
    events: int = 65_536
    handshake: float = 5.0
    connections: int = 4_096
    subscriptions: int = 1_000_000
    buffer: int = 64 * 2**20
    silence: float = 30.0
    keep: float = 60.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise TidegateError(f"the limit {field.name} is more than 0, not {value}")

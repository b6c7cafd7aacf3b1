"""Who is there, and what do both sides understand? The first frame each way.

Whoever has connected says what it is, what it is called, and what it understands: the version of
the wire format, and features beyond it by name. The broker answers with the version and the
features that both know, and with what the other side needs to go on: of a client, the number of the
last message it has heard and of the last event it has taken; of everyone, its limits. A broker that
has connected says its limits of frames, too. Each says how many credits the other one has to begin
with (`credits`), and which kind of filters it has; a client that has not chosen one says none, and
takes the broker's.

**Names.** A client's may have slashes, a broker's has none: so `a/ann`, who publishes at the broker
`a`, is nobody else.
"""

from typing import Final, Literal, TypeVar

import msgspec

from tidegate.errors import FrameError
from tidegate.network.frames import Frame, Sort, frame

VERSION: Final = 1
KEPT: Final = "kept"  # frames of events that are kept
FEATURES: Final = frozenset({KEPT})
LONGEST_NAME: Final = 200

Role = Literal["client", "broker", "status"]


class Opening(msgspec.Struct, frozen=True):
    """What the side says that has connected; a client may say a token (see `guard`).

    `frame` and `events` are limits of a broker; 0 where they are not said.
    """

    version: int
    role: Role
    name: str
    features: list[str] = []
    token: str | msgspec.UnsetType = msgspec.UNSET
    credits: int = 0
    kind: str | msgspec.UnsetType = msgspec.UNSET
    frame: int = 0
    events: int = 0


class Opened(msgspec.Struct, frozen=True):
    """What the broker answers; `frame`, `events`, `message`, `silence` and `credits` are limits."""

    version: int
    broker: str
    frame: int
    events: int
    silence: float
    heard: int = 0
    seen: int = 0
    features: list[str] = []
    credits: int = 0
    kind: str | msgspec.UnsetType = msgspec.UNSET
    message: int = 0


Said = TypeVar("Said", Opening, Opened)


def check_kind(said: str | msgspec.UnsetType, name: str, own: str) -> None:
    """`FrameError` if the other side has filters of another kind than there are here."""
    if said is not msgspec.UNSET and said != own:
        raise FrameError(f"{name} has filters of the kind {said}; here they are {own}")


def say(said: Opening | Opened) -> bytes:
    """The frame of an opening, or of the answer."""
    sort = Sort.OPENING if isinstance(said, Opening) else Sort.OPENED
    return frame(sort, msgspec.msgpack.encode(said))


def read_opening(came: Frame) -> Opening:
    """What the side says that has connected; `FrameError` if it cannot be talked to."""
    said = _read(came, Sort.OPENING, Opening)
    flaw = name_flaw(said.name, broker=said.role == "broker")
    if flaw is not None:
        raise FrameError(flaw)
    return said


def name_flaw(name: str, *, broker: bool) -> str | None:
    """Why nobody can be called so, if that cannot be.

    >>> name_flaw("ann/2", broker=False)
    >>> name_flaw("a/b", broker=True)
    "a broker's name has no slash"
    """
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        return f"a name has 1 to {LONGEST_NAME} letters that can be printed"
    return "a broker's name has no slash" if broker and "/" in name else None


def read_opened(came: Frame) -> Opened:
    """What the broker answers; if it turns us away, its reason is a `FrameError`."""
    if came.sort is Sort.CLOSE:
        raise FrameError(came.body.decode("utf-8", "replace"))
    return _read(came, Sort.OPENED, Opened)


def _read(came: Frame, sort: Sort, of: type[Said]) -> Said:
    if came.sort is not sort:
        raise FrameError(f"the first frame is no {of.__name__.lower()}")
    try:
        said = msgspec.msgpack.decode(came.body, type=of)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise FrameError(f"this is no {of.__name__.lower()}: {error}") from None
    if said.version != VERSION:
        raise FrameError(f"version {VERSION} of the format is spoken here, not {said.version}")
    return said

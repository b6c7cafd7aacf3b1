"""What do peers of an overlay by similarity say to each other, beside events?

The messages of Chand (2005), section 7.4.4: JOIN is `Probe`, JOIN_REPLY `Found`, CONNECT `Choose`,
DISCONNECT `Release`. Who said something is told by the link it came on.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tidegate.overlay.filter import Filter
from tidegate.peers.messages import Contacts, LinkDown, LinkUp, Pass, Restart, Tick


@dataclass(frozen=True, slots=True)
class Probe:
    """Somebody looks for neighbours; passed on to everybody.

    With `time`, replies are gathered on the way back: whoever passes it on waits so many ticks.
    """

    number: int
    joiner: str
    filter: Filter
    time: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A peer, how near it is to the one who looks, and how many neighbours it has."""

    name: str
    proximity: float
    links: int


@dataclass(frozen=True, slots=True)
class Found:
    """Peers that were found: the sender, or what it has gathered."""

    number: int
    joiner: str
    near: tuple[Candidate, ...]
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choose:
    """I want you as a neighbour: for being near, or at random."""

    near: bool
    filter: Filter


@dataclass(frozen=True, slots=True)
class Agree:
    """Be it so."""

    near: bool


@dataclass(frozen=True, slots=True)
class Decline:
    """I have too many neighbours already."""

    near: bool


@dataclass(frozen=True, slots=True)
class Release:
    """I do not need you any more; the link stays if you need me."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """I leave: these are near to me."""

    near: tuple[str, ...]
    full: bool


@dataclass(frozen=True, slots=True)
class Inquire:
    """Whom did you choose for being near, and whom at random?"""


@dataclass(frozen=True, slots=True)
class Acquaintances:
    """These."""

    near: tuple[str, ...]
    random: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """How near are you to this filter?"""

    number: int
    filter: Filter


Message: TypeAlias = (
    Probe
    | Found
    | Choose
    | Agree
    | Decline
    | Release
    | Farewell
    | Inquire
    | Acquaintances
    | Compare
    | Pass
)
Input: TypeAlias = Message | LinkUp | LinkDown | Restart | Tick | Contacts

"""What do peers say to each other, and what does a peer want done?

Messages, inputs and effects are values, as those of brokers are.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from tidegate.overlay.filter import Event


@dataclass(frozen=True, slots=True)
class Pass:
    """An event on its way: who published it, and the number that the publisher gave it.

    `spare` is how many times it may still be passed on by somebody who does not want it.
    """

    publisher: str
    number: int
    event: Event
    spare: int = 0


@dataclass(frozen=True, slots=True)
class LinkUp:
    """A link to a peer has come up; a `random` one was not chosen for being near, by either side.

    For a link that is up already, it says anew which of the two it is.
    """

    random: bool = False


@dataclass(frozen=True, slots=True)
class LinkDown:
    """A link has gone down; what was under way on it may be lost."""


@dataclass(frozen=True, slots=True)
class Restart:
    """The peer runs again, with the memory it had; every link is down until it comes up."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Contacts:
    """Peers that may be there, for somebody who asked for them (`Seek`)."""

    names: tuple[str, ...]


Input: TypeAlias = Pass | LinkUp | LinkDown | Restart | Tick | Contacts


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a peer, linked or not; it is lost if that is gone."""

    link: str
    message: Any  # an event, or what the peers of an overlay say to each other


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand an event to whoever the peer works for."""

    event: Event
    publisher: str
    number: int


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a link to a peer, if there is none; from now on its end is told (`LinkDown`)."""

    link: str


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close a link, on both sides."""

    link: str


@dataclass(frozen=True, slots=True)
class Seek:
    """Find any peers that are there (`Contacts`)."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The peer has left; nothing comes after this."""


Effect: TypeAlias = Send | Deliver | Connect | Disconnect | Seek | Gone

"""What do peers say to each other, and what does a peer want done?

Messages, inputs and effects are values, as those of brokers are.
"""

from dataclasses import dataclass
from typing import TypeAlias

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


Input: TypeAlias = Pass | LinkUp | LinkDown | Restart


@dataclass(frozen=True, slots=True)
class Send:
    """Send an event on a link."""

    link: str
    message: Pass


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand an event to whoever the peer works for."""

    event: Event
    publisher: str
    number: int


Effect: TypeAlias = Send | Deliver

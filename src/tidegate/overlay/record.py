"""An input as plain data, and back: what a broker writes down.

A record can be read without knowing any other: an update has the whole filter in it, not only its
constants.
"""

from tidegate.errors import TidegateError
from tidegate.overlay.encoding import plain_whole, read_whole
from tidegate.overlay.filter import Kind, Plain
from tidegate.overlay.messages import (
    Batch,
    Input,
    LinkDown,
    LinkGone,
    LinkUp,
    Persist,
    Restart,
    Tick,
)


def plain_record(written: Persist, kind: Kind) -> list[Plain]:
    """What is to be written down, as plain data.

    >>> from tidegate.overlay.attributes import Attributes
    >>> plain_record(Persist("ann", LinkUp(client=True)), Attributes())
    ['ann', ['up', True]]
    """
    return [written.link, _plain(written.input, kind)]


def read_record(spelled: Plain, kind: Kind) -> Persist:
    """What was written down so; `TidegateError` if nothing was."""
    try:
        link, came = spelled
        if not isinstance(link, str):
            raise ValueError("the name of a link is a text")
        return Persist(link, _read(came, kind))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise TidegateError(f"this is nothing that a broker wrote down: {error}") from None


def _plain(came: Input, kind: Kind) -> Plain:
    match came:
        case LinkUp(client):
            return ["up", client]
        case LinkDown():
            return ["down"]
        case LinkGone():
            return ["gone"]
        case Tick(noted):
            return ["tick", noted]
        case Restart():
            return ["restart"]
        case Batch():
            raise TypeError("a broker writes down no events")
    return plain_whole(came, kind)


def _read(spelled: Plain, kind: Kind) -> Input:
    match spelled:
        case ["up", bool(client)]:
            return LinkUp(client)
        case ["down"]:
            return LinkDown()
        case ["gone"]:
            return LinkGone()
        case ["tick", noted]:
            return Tick(noted)
        case ["restart"]:
            return Restart()
    return read_whole(spelled, kind)

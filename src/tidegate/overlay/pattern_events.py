"""How are documents written down?

As texts; in base 64, in a list of one, if their bytes say that they are something else than UTF-8.
"""

import base64
import json
from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event, Plain

_SHOWN: Final = 40


class PatternEvents:
    """What a kind says about its events, where they are documents."""

    def plain_event(self, event: Event) -> Plain:
        """A document as plain data."""
        return plain_event(event)

    def read_event(self, plain: Plain) -> bytes | str:
        """The document that was written so."""
        return read_event(plain)

    def event_size(self, event: Event) -> int:
        """The bytes that a document takes in a message."""
        return event_size(event)

    def show_event(self, event: Event) -> str:
        """The beginning of a document."""
        text = event if isinstance(event, str) else bytes(event).decode("utf-8", "replace")
        short = " ".join(text.split())
        return short if len(short) <= _SHOWN else short[: _SHOWN - 1] + "…"


def plain_event(event: Event) -> Plain:
    """A document as JSON has it; `TidegateError` if it is none."""
    if isinstance(event, str):
        return event
    if not isinstance(event, bytes):
        raise TidegateError("an event is a document, as text or bytes")
    text = _as_text(event)
    return [base64.b64encode(event).decode()] if text is None else text


def read_event(plain: Plain) -> bytes | str:
    """The document that was written so."""
    match plain:
        case str():
            return plain
        case [str(spelled)]:
            return base64.b64decode(spelled, validate=True)
    raise ValueError("an event is a document, as text or in base 64")


def event_size(event: Event) -> int:
    """The bytes that a document takes in a message."""
    return len(json.dumps(plain_event(event), separators=(",", ":")))


def _as_text(document: bytes) -> str | None:
    """A document as text, if nothing in its bytes says that they are not UTF-8."""
    if b"encoding" in document[:200].partition(b"?>")[0]:
        return None
    try:
        text = document.decode()
    except UnicodeDecodeError:
        return None
    return None if text.startswith("\ufeff") else text

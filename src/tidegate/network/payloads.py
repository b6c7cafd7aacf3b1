"""An event as bytes: its **payload**.

It is written once, by its publisher, and passed on, and delivered, as the same bytes. A payload is
msgpack of the event as plain data, as its kind writes it: for attributes, a map of names and
values, in which what msgpack has no word for (dates, times, decimals) is spelled as in the
language, in a list of one.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tidegate.errors import FrameError, TidegateError
from tidegate.overlay.attribute_events import AttributeEvents
from tidegate.overlay.filter import Event, Kind

_DECODER: Final = msgspec.msgpack.Decoder()
_ENCODER: Final = msgspec.msgpack.Encoder()
_PLAIN: Final = frozenset({int, float, str, bool, type(None)})
_TEXT: Final = frozenset({str})


def payload(event: Event, kind: Kind) -> bytes:
    """An event as bytes; `TidegateError` if it cannot be written.

    >>> from tidegate.overlay.attributes import Attributes
    >>> payload({"price": 5}, Attributes()).hex(" ")
    '81 a5 70 72 69 63 65 05'
    """
    return write(kind.plain_event(event))


def write(plain: Any) -> bytes:
    """Plain data as msgpack."""
    try:
        return _ENCODER.encode(plain)
    except (OverflowError, TypeError, ValueError, UnicodeError, RecursionError) as error:
        raise TidegateError(f"this cannot be written: {error}") from None


def read(data: bytes) -> Any:
    """What was written so; `FrameError` if nothing was."""
    try:
        return _DECODER.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise FrameError(f"this is no msgpack: {error}") from None


def read_events(payloads: Iterable[bytes | memoryview], kind: Kind) -> list[Event | TidegateError]:
    """The events of payloads; in the place of one that is none, why it is not."""
    return [_event(each, kind) for each in payloads]


def _event(data: bytes | memoryview, kind: Kind) -> Event | TidegateError:
    try:
        plain = _DECODER.decode(data)
        if (
            type(plain) is dict
            and isinstance(kind, AttributeEvents)
            and _PLAIN.issuperset(map(type, plain.values()))
            and _TEXT.issuperset(map(type, plain))
        ):
            return plain  # the commonest: there is nothing to read in it
        return kind.read_event(plain)
    except (msgspec.DecodeError, ValueError, TypeError, KeyError, RecursionError) as error:
        return TidegateError(f"this is no event: {error}")
    except TidegateError as error:
        return error

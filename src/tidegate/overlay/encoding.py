"""Messages as bytes, and back.

One message is one line of JSON in which a list says everything: the name of the message, then its
fields in their order. An update names the constants of the new filter only; the shape is that of
the filter it takes the place of, which the receiver knows. What JSON has no word for (dates, times,
decimals, NaN, infinities) is spelled as in the language, in a list of one.

The encoding is canonical: a message has one, whatever the order of an event's attributes and the
types that its values came in, and what was decoded from it encodes to the same bytes. (Filters are
written as they are built: two that mean the same may differ.) The length of these bytes is the size
of a message.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from tidegate.errors import TidegateError
from tidegate.filters.literals import decode as decode_literal
from tidegate.filters.literals import spell
from tidegate.filters.values import OTHER, is_constant, normal
from tidegate.overlay.filter import Event, Filter, Kind, Plain
from tidegate.overlay.form import flaw, is_id
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Entry,
    Hello,
    Message,
    Numbered,
    Publish,
    Refuse,
    Report,
)

MAX_DEPTH: Final = 64  # of structs in an event


def encode(message: Message, kind: Kind) -> bytes:
    """The bytes of a message.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> encode(Change(7, add=(Entry(1, kind.parse("price < 10")),)), kind).decode()
    '["change",7,[[1,["is true","price","<","10"]]],[],[],false]'
    """
    return json.dumps(plain(message, kind), separators=(",", ":"), ensure_ascii=True).encode()


def plain(message: Message, kind: Kind) -> list[Plain]:
    """A message as lists, strings, numbers and truth values."""
    match message:
        case Change(seq, add, update, remove, whole) | Advertise(seq, add, update, remove, whole):
            name = "change" if isinstance(message, Change) else "advertise"
            changed = [[entry.id, entry.filter.values] for entry in update]
            return [name, seq, _entries(add, kind), changed, list(remove), whole]
        case Publish(number, event, publisher):
            return ["publish", publisher, number, plain_event(event)]
        case Acknowledge(seq):
            return ["acknowledge", seq]
        case Refuse(seq, number, reason):
            return ["refuse", seq, number, reason]
        case Hello(life, heard_life, heard):
            return ["hello", life, heard_life, heard]
        case Report(number, memory, bandwidth, share):
            return ["report", number, memory, bandwidth, share]


def decode(data: bytes, kind: Kind, known: Callable[[type[Numbered], int], Filter]) -> Message:
    """The message that was encoded so; `TidegateError` if none was.

    `known` gives the filter that messages of a type have told under an id on this link: what an
    update changes. It raises KeyError where there is none.
    """
    try:
        spelled = _JSON.decode(data.decode())
        message = _read(spelled, kind, lambda of, n, values: kind.reshaped(known(of, n), values))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise TidegateError(f"this is no message: {error}") from None
    found = flaw(message)
    if found is not None:
        raise TidegateError(f"this is no message: {found}")
    return message


def plain_whole(message: Numbered, kind: Kind) -> list[Plain]:
    """A message as plain data that needs no knowledge of earlier ones to be read."""
    spelled = plain(message, kind)
    spelled[3] = _entries(message.update, kind)
    return spelled


def read_whole(spelled: Plain, kind: Kind) -> Numbered:
    """The message that was written so."""
    message = _read(spelled, kind, lambda _, __, f: kind.read(f))
    assert isinstance(message, Change | Advertise)
    return message


def plain_event(event: Event) -> Plain:
    """An event as JSON has it; `TidegateError` for a value that the language does not have."""
    return _plain_value(event, MAX_DEPTH)


def event_size(event: Event) -> int:
    """The bytes that an event takes in a message."""
    return len(json.dumps(plain_event(event), separators=(",", ":")))


def read_event(plain: Plain) -> Event:
    """The event that was written so."""
    if not isinstance(plain, dict):
        raise ValueError("an event is attributes with their values")
    return _read_struct(plain, MAX_DEPTH)


def _entries(entries: tuple[Entry, ...], kind: Kind) -> list[Plain]:
    return [[entry.id, kind.plain(entry.filter)] for entry in entries]


def _read(
    spelled: Plain, kind: Kind, updated: Callable[[type[Numbered], int, Plain], Filter]
) -> Message:
    match spelled:
        case [
            "change" | "advertise" as name,
            int(seq),
            list(add),
            list(update),
            list(remove),
            bool(whole),
        ]:
            of = Change if name == "change" else Advertise
            changed = tuple(Entry(_number(own), updated(of, own, said)) for own, said in update)
            return of(seq, _read_entries(add, kind), changed, _numbers(remove), whole)
        case ["publish", str(publisher), int(number), event]:
            return Publish(number, read_event(event), publisher)
        case ["acknowledge", int(seq)]:
            return Acknowledge(seq)
        case ["refuse", int() | None as seq, int() | None as number, str(reason)]:
            return Refuse(seq, number, reason)
        case ["hello", int(life), int(heard_life), int(heard)]:
            return Hello(life, heard_life, heard)
        case ["report", int(number), *told] if len(told) == 3:
            return Report(number, *told)
    raise ValueError("no message has this name and fields of these types")


def _read_entries(spelled: list[Plain], kind: Kind) -> tuple[Entry, ...]:
    return tuple(Entry(_number(own), kind.read(f)) for own, f in spelled)


def _numbers(spelled: list[Plain]) -> tuple[int, ...]:
    return tuple(map(_number, spelled))


def _number(spelled: Plain) -> int:
    if not is_id(spelled):
        raise ValueError("an id is a whole number of 64 bits")
    return spelled  # type: ignore[no-any-return]


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"JSON has no {word}")


_JSON: Final = json.JSONDecoder(parse_constant=_no_number)


def _plain_value(value: Any, depth: int) -> Plain:
    constant = normal(value)
    if constant is None or isinstance(constant, bool | str | int):
        return constant
    if isinstance(constant, float) and math.isfinite(constant):
        return constant
    if is_constant(constant):
        return [spell(constant)]
    if not isinstance(value, Mapping):
        raise TidegateError(f"this {type(value).__name__} cannot be a value of an event")
    if not depth:
        raise TidegateError(f"an event has structs nested deeper than {MAX_DEPTH}")
    if not all(isinstance(name, str) and normal(name) is not OTHER for name in value):
        raise TidegateError("the names of an event's attributes are strings")
    return {name: _plain_value(value[name], depth - 1) for name in sorted(value)}


def _read_struct(plain: dict[str, Plain], depth: int) -> dict[str, Any]:
    if not depth:
        raise ValueError(f"an event has structs nested deeper than {MAX_DEPTH}")
    if any(normal(name) is OTHER for name in plain):
        raise ValueError("the name of an attribute is not a text that can be written")
    return {name: _read_value(value, depth - 1) for name, value in plain.items()}


def _read_value(plain: Plain, depth: int) -> Any:
    if isinstance(plain, dict):
        return _read_struct(plain, depth)
    if isinstance(plain, list):
        (spelled,) = plain
        if not isinstance(spelled, str):
            raise ValueError("a value in a list is spelled as in the language")
        return decode_literal(spelled)
    if normal(plain) is OTHER:
        raise ValueError("a value is not one that the language has")
    return plain

"""Messages as bytes, and back.

One message is one line of JSON in which a list says everything: the name of the message, then its
fields in their order. An update names the constants of the new filter only; the shape is that of
the filter it takes the place of, which the receiver knows. Counts are written only where there is
more to say than that an entry counts once. How filters and events are written is their kind's
business.

The encoding is canonical: a message has one, and what was decoded from it encodes to the same
bytes. (Filters are written as they are built: two that mean the same may differ.) The length of
these bytes is the size of a message.
"""

import json
from collections.abc import Callable
from typing import Final, NoReturn

from tidegate.errors import TidegateError
from tidegate.overlay.counts import ONCE, Counts
from tidegate.overlay.filter import Filter, Kind, Plain
from tidegate.overlay.form import flaw, is_id
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Change,
    Entry,
    Farewell,
    Hello,
    Message,
    Publish,
    Recount,
    Refuse,
    Report,
    Told,
    Way,
)


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
            told = [name, seq, _entries(add, kind), changed, list(remove), whole]
            return [*told, *_recounts(message)]
        case Publish(number, event, publisher, seq):
            kept = (seq,) if seq else ()
            return ["publish", publisher, number, kind.plain_event(event), *kept]
        case Acknowledge(seq):
            return ["acknowledge", seq]
        case Refuse(seq, number, reason):
            return ["refuse", seq, number, reason]
        case Hello(life, heard_life, heard, way, joins):
            return ["hello", life, heard_life, heard, *([list(way), joins] if way else ())]
        case Report(number, memory, bandwidth, share):
            return ["report", number, memory, bandwidth, share]
        case Way(names):
            return ["way", list(names)]
        case Farewell():
            return ["farewell"]


def decode(data: bytes, kind: Kind, known: Callable[[type[Told], int], Filter]) -> Message:
    """The message that was encoded so; `TidegateError` if none was.

    `known` gives the filter that messages of a type have told under an id on this link: what an
    update changes. It raises KeyError where there is none.
    """
    try:
        spelled = _JSON.decode(data.decode())
    except (ValueError, RecursionError) as error:
        raise TidegateError(f"this is no message: {error}") from None
    return read(spelled, kind, known)


def read(spelled: Plain, kind: Kind, known: Callable[[type[Told], int], Filter]) -> Message:
    """The message that is spelled so as `plain` does; `TidegateError` if none is."""
    try:
        message = _read(spelled, kind, lambda of, n, values: kind.reshaped(known(of, n), values))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise TidegateError(f"this is no message: {error}") from None
    found = flaw(message)
    if found is not None:
        raise TidegateError(f"this is no message: {found}")
    return message


def plain_whole(message: Message, kind: Kind) -> list[Plain]:
    """A message as plain data that needs no knowledge of earlier ones to be read."""
    spelled = plain(message, kind)
    if isinstance(message, Change | Advertise):
        spelled[3] = _entries(message.update, kind)
    return spelled


def read_whole(spelled: Plain, kind: Kind) -> Message:
    """The message that was written so."""
    return _read(spelled, kind, lambda _, __, f: kind.read(f))


def _entries(entries: tuple[Entry, ...], kind: Kind) -> list[Plain]:
    return [
        [entry.id, kind.plain(entry.filter), *(entry.counts if entry.counted else ())]
        for entry in entries
    ]


def _recounts(message: Told) -> list[Plain]:
    """What is recounted, as one more field; none where nothing is."""
    if isinstance(message, Advertise) or not message.recount:
        return []
    return [[[each.id, each.own, each.behind] for each in message.recount]]


def _read(
    spelled: Plain, kind: Kind, updated: Callable[[type[Told], int, Plain], Filter]
) -> Message:
    match spelled:
        case [
            "change" | "advertise" as name,
            int(seq),
            list(add),
            list(update),
            list(remove),
            bool(whole),
            *more,
        ]:
            of = Change if name == "change" else Advertise
            changed = tuple(Entry(_number(own), updated(of, own, said)) for own, said in update)
            told = _read_entries(add, kind), changed, _numbers(remove), whole
            if of is Advertise and more:
                raise ValueError("only a change recounts")
            return Change(seq, *told, *_read_recounts(more)) if of is Change else of(seq, *told)
        case ["publish", str(publisher), int(number), event]:
            return Publish(number, kind.read_event(event), publisher)
        case ["publish", str(publisher), int(number), event, int(seq)] if seq:
            return Publish(number, kind.read_event(event), publisher, seq)
        case ["acknowledge", int(seq)]:
            return Acknowledge(seq)
        case ["refuse", int() | None as seq, int() | None as number, str(reason)]:
            return Refuse(seq, number, reason)
        case ["hello", int(life), int(heard_life), int(heard)]:
            return Hello(life, heard_life, heard)
        case ["hello", int(life), int(heard_life), int(heard), [_, *_] as way, bool(joins)]:
            return Hello(life, heard_life, heard, tuple(way), joins)
        case ["report", int(number), *told] if len(told) == 3:
            return Report(number, *told)
        case ["way", list(names)]:
            return Way(tuple(names))
        case ["farewell"]:
            return Farewell()
    raise ValueError("no message has this name and fields of these types")


def _read_entries(spelled: list[Plain], kind: Kind) -> tuple[Entry, ...]:
    return tuple(
        Entry(_number(own), kind.read(f), *_read_counts(counts)) for own, f, *counts in spelled
    )


def _read_counts(spelled: list[Plain]) -> Counts:
    if not spelled:
        return ONCE
    own, behind = spelled
    if (own, behind) == ONCE:
        raise ValueError("that an entry counts once is not written")
    return Counts(own, behind)


def _read_recounts(spelled: list[Plain]) -> list[tuple[Recount, ...]]:
    found = [tuple(Recount(*each) for each in recounts) for recounts in spelled]
    if len(found) > 1 or not all(found):
        raise ValueError("what is recounted is one field, or none where nothing is")
    return found


def _numbers(spelled: list[Plain]) -> tuple[int, ...]:
    return tuple(map(_number, spelled))


def _number(spelled: Plain) -> int:
    if not is_id(spelled):
        raise ValueError("an id is a whole number of 64 bits")
    return spelled  # type: ignore[no-any-return]


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"JSON has no {word}")


_JSON: Final = json.JSONDecoder(parse_constant=_no_number)

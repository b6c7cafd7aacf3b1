"""Is this formed as a message is?

What is not has a **flaw**. (What is well formed may still be refused: a **refusal** is the broker's
answer to what cannot be done, or not now.)

What comes in may be anything: whoever is at the other end of a link may be broken, or hostile. So
types and ranges are looked at first, and what follows can rely on them. Ids, numbers and lives fit
into 64 bits. Filters and events are not looked into here: their kind knows them.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Batch,
    Change,
    Entry,
    Farewell,
    Hello,
    Publish,
    Recount,
    Refuse,
    Report,
    Way,
)
from tidegate.overlay.row_names import RowNames

LARGEST: Final = 2**63 - 1
LONGEST: Final = 1_000  # brokers on a way to the root

_ID: Final = "an id is a whole number of 64 bits"
_COUNTS: Final = "an entry counts from 1, and stands for from 0, to 2**63 - 1 registrations"
_NUMBER: Final = "its number is not a whole number from 0 to 2**63 - 1"


def is_id(value: object) -> bool:
    """Whether this is the id of an entry.

    >>> is_id(-5), is_id(True), is_id(2**63)
    (True, False, False)
    """
    return type(value) is int and -LARGEST <= value <= LARGEST


def is_number(value: object) -> bool:
    """Whether this is the number of a message: one of a link, or of a publisher."""
    return type(value) is int and 0 <= value <= LARGEST


def flaw(message: object) -> str | None:
    """What is wrong with the form of a message, if anything is.

    >>> flaw(Acknowledge(5))
    >>> flaw(Acknowledge(-5))
    'its number is not a whole number from 0 to 2**63 - 1'
    """
    check = _CHECKS.get(type(message))
    return f"{type(message).__name__} is not a message" if check is None else check(message)


def _change(message: Any) -> str | None:
    found = _numbered(message)
    if found is not None:
        return found
    recounted = message.recount
    if type(recounted) is not tuple or not all(type(each) is Recount for each in recounted):
        return "what it recounts is not a tuple of ids with their counts"
    if not all(is_id(each.id) for each in recounted):
        return _ID
    return None if all(map(_is_counted, (*message.add, *recounted))) else _COUNTS


def _advertise(message: Any) -> str | None:
    found = _numbered(message)
    if found is None and any(entry.counted for entry in message.add):
        return "what is advertised is not counted"
    return found


def _is_counted(each: Any) -> bool:
    return is_number(each.own) and each.own > 0 and is_number(each.behind)


def _numbered(message: Any) -> str | None:
    if not is_number(message.seq):
        return _NUMBER
    parts = message.add, message.update, message.remove
    if type(message.whole) is not bool or not all(type(part) is tuple for part in parts):
        return "what it adds, updates and removes is not in tuples, or `whole` is not a truth value"
    for entry in (*message.add, *message.update):
        if type(entry) is not Entry or not is_id(entry.id):
            return "an entry is a filter under its id"
    if any(entry.counted for entry in message.update):
        return "an update has no counts: a recount tells them"
    return None if all(map(is_id, message.remove)) else _ID


def _publish(message: Any) -> str | None:
    if not (is_number(message.number) and is_number(message.seq)):
        return _NUMBER
    return None if type(message.publisher) is str else "the name of its publisher is not a text"


def _batch(message: Any) -> str | None:
    count = len(message.numbers)
    if not (_are_numbers(message.numbers) and _are_numbers(message.seqs)):
        return _NUMBER
    if len(message.events) != count or len(message.sizes) not in (0, count):
        return "it has not as many numbers, sizes and events"
    if len(message.publishers) not in (0, count) or len(message.seqs) not in (0, count):
        return "it has not as many events and names of publishers"
    if len(message.links) not in (0, count):
        return "it has not as many events and names of links"
    texts = all(type(name) is str for name in _distinct(message.publishers))
    return None if texts else "the name of its publisher is not a text"


def _distinct(names: Any) -> Any:
    """Names row by row, each of them at least once."""
    return names.names if isinstance(names, RowNames) else names


def _are_numbers(values: Any) -> bool:
    """Whether these are numbers of messages; those of an array of 64 bits are, from 0 on."""
    if isinstance(values, np.ndarray):
        return values.dtype == np.int64 and int(values.min(initial=0)) >= 0
    return all(map(is_number, values))


def _acknowledge(message: Any) -> str | None:
    return None if is_number(message.seq) else _NUMBER


def _refuse(message: Any) -> str | None:
    if not all(x is None or is_number(x) for x in (message.seq, message.number)):
        return _NUMBER
    return None if type(message.reason) is str else "its reason is not a text"


def _hello(message: Any) -> str | None:
    if not (is_number(message.life) and message.life):
        return "its life is not a whole number from 1 to 2**63 - 1"
    if not is_number(message.heard_life):
        return "the life that it has heard is not a whole number from 0 to 2**63 - 1"
    if not is_number(message.heard):
        return _NUMBER
    if type(message.joins) is not bool or (message.joins and not message.way):
        return "who joins says so by a truth value, and tells its way"
    return _way(message.way)


def _way(names: Any) -> str | None:
    fine = type(names) is tuple and all(type(name) is str for name in names)
    return (
        None if fine and len(names) <= LONGEST else f"a way is up to {LONGEST:,} names in a tuple"
    )


def _report(message: Any) -> str | None:
    if not is_number(message.number):
        return _NUMBER
    told = message.memory, message.bandwidth, message.share
    fine = all(x is None or (type(x) in (int, float) and 0 <= x <= 1) for x in told)
    return None if fine else "what it reports is not from 0 to 1"


_CHECKS: Final[dict[type, Callable[[Any], str | None]]] = {
    Change: _change,
    Advertise: _advertise,
    Publish: _publish,
    Batch: _batch,
    Acknowledge: _acknowledge,
    Refuse: _refuse,
    Hello: _hello,
    Report: _report,
    Way: lambda message: _way(message.names),
    Farewell: lambda message: None,
}

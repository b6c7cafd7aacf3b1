"""How many bytes does a message take?

As many as `overlay.encoding.encode` gives. A filter goes from broker to broker as it is, so the
bytes of each are counted once and remembered, until there are too many; the rest of a message is
punctuation and numbers.
"""

import json
from collections.abc import Sequence, Sized
from typing import Final

from tidegate.overlay.encoding import encode
from tidegate.overlay.filter import Event, Filter, Kind, Plain
from tidegate.overlay.messages import Advertise, Change, Entry, Message, Recount

_REMEMBERED: Final = 2**14  # filters, which are kept for as long


class Sizes:
    """The sizes of messages with filters of one kind.

    >>> from tidegate.overlay.attributes import Attributes
    >>> from tidegate.overlay.messages import Acknowledge
    >>> Sizes(Attributes()).of(Acknowledge(12))
    18
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        # By identity: filters are the same objects all over a simulated network, and to hash one
        # takes longer. They are kept, so that no other one can have the same identity.
        self._filters: dict[int, tuple[Filter, int]] = {}

    def of(self, message: Message) -> int:
        """The bytes of a message."""
        if not isinstance(message, Change | Advertise):
            return len(encode(message, self._kind))
        head = len('["change",,[') if isinstance(message, Change) else len('["advertise",,[')
        updated = sum(len(_json([own.id, own.filter.values])) for own in message.update)
        return (
            head
            + len(str(message.seq))
            + sum(map(self._entry, message.add))
            + _commas(message.add)
            + len("],[")
            + updated
            + _commas(message.update)
            + len("],[")
            + sum(len(str(own)) for own in message.remove)
            + _commas(message.remove)
            + (len("],true]") if message.whole else len("],false]"))
            + (_recounts(message.recount) if isinstance(message, Change) else 0)
        )

    def _entry(self, entry: Entry) -> int:
        f = entry.filter
        known = self._filters.get(id(f))
        if known is None:
            if len(self._filters) >= _REMEMBERED:
                self._filters.clear()
            known = self._filters[id(f)] = f, len(_json(self._kind.plain(f)))
        counts = len(f",{entry.own},{entry.behind}") if entry.counted else 0
        return known[1] + len(str(entry.id)) + len("[,]") + counts


def _recounts(recounts: Sequence[Recount]) -> int:
    """The bytes of one more field, where something is recounted."""
    if not recounts:
        return 0
    each = sum(len(f"[{x.id},{x.own},{x.behind}]") for x in recounts)
    return len(",[]") + each + _commas(recounts)


def publish_sizes(kind: Kind, number: int, event: Event, publisher: str) -> tuple[int, int]:
    """The bytes of an event as its publisher sends it, and between brokers, who name that one."""
    first = len(_json(["publish", "", number, kind.plain_event(event)]))
    return first, first + len(_json(publisher)) - len('""')


def _json(plain: Plain) -> str:
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=True)


def _commas(items: Sized) -> int:
    return max(0, len(items) - 1)

"""How often did events that one filter matches match another one, too?

A **history** keeps the newest events, up to a limit, and of every filter it was told about which of
them match: a bit for each event. An event is matched once, by the index of its kind, against all
filters; a filter that is new is asked about all events that are kept. Equal filters are one.

How near filters are is then counted (Chand, 2005, definition 7, over a history instead of a
synopsis): this is what estimates of it are held against.

Invariant: the bits of a filter are those of the kept events that it matches.
"""

from typing import Final

from tidegate.errors import TidegateError
from tidegate.overlay.filter import Event, Filter, Kind

LIMIT: Final = 1_000


class History:
    """The newest events, and which filters match which of them. One thread at a time.

    >>> from tidegate.overlay.attributes import Attributes
    >>> kind = Attributes()
    >>> history = History(kind)
    >>> cheap, tiny = kind.parse("price < 10"), kind.parse("price < 1")
    >>> history.watch(cheap)
    >>> for price in (0.5, 5, 7, 20):
    ...     history.add({"price": price})
    >>> history.matched(cheap), history.both(cheap, tiny)
    (3, 1)
    """

    def __init__(self, kind: Kind, limit: int = LIMIT) -> None:
        if limit < 1:
            raise TidegateError(f"a history keeps at least 1 event, not {limit}")
        self.limit: Final = limit
        self._kind: Final = kind
        self._index: Final = kind.index()
        self._events: list[Event] = []  # each in its slot; once all are full, the oldest gives way
        self._matching: list[list[int]] = []  # the filters that match it; some may be forgotten
        self._slot = 0  # of the event that comes next
        self._numbers: dict[Filter, int] = {}
        self._bits: dict[int, int] = {}  # by the filter's number; a bit for each slot
        self._next = 0  # the number of the filter that is new next

    def __len__(self) -> int:
        return len(self._events)

    @property
    def watched(self) -> int:
        """How many different filters it knows."""
        return len(self._numbers)

    def add(self, event: Event) -> None:
        """Take in an event; when the history is full, the oldest one is forgotten."""
        refusal = self._kind.event_refusal(event)
        if refusal is not None:
            raise TidegateError(f"the event cannot be taken: {refusal}")
        matching = self._index.match(event)
        bit = 1 << self._slot
        if len(self) < self.limit:
            self._events.append(event)
            self._matching.append(matching)
        else:
            for number in self._matching[self._slot]:
                if number in self._bits:
                    self._bits[number] &= ~bit
            self._events[self._slot] = event
            self._matching[self._slot] = matching
        for number in matching:
            self._bits[number] |= bit
        self._slot = (self._slot + 1) % self.limit

    def watch(self, f: Filter) -> None:
        """Know a filter from now on, so that events are matched against it as they come."""
        self._number(f)

    def forget(self, f: Filter) -> None:
        """Know a filter no longer; nothing happens if it is not known."""
        number = self._numbers.pop(f, None)
        if number is not None:
            self._index.remove(number)
            del self._bits[number]

    def matched(self, f: Filter) -> int:
        """How many events of the history match a filter."""
        return self._of(f).bit_count()

    def both(self, f: Filter, g: Filter) -> int:
        """How many events match two filters."""
        return (self._of(f) & self._of(g)).bit_count()

    def either(self, f: Filter, g: Filter) -> int:
        """How many events match at least one of two filters."""
        return (self._of(f) | self._of(g)).bit_count()

    def _of(self, f: Filter) -> int:
        return self._bits[self._number(f)]

    def _number(self, f: Filter) -> int:
        number = self._numbers.get(f)
        if number is None:
            refusal = self._kind.filter_refusal(f)
            if refusal is not None:
                raise TidegateError(f"the filter cannot be taken: {refusal}")
            number = self._next
            self._next += 1
            self._index.add(number, f)
            self._numbers[f] = number
            self._bits[number] = 0
            for slot, event in enumerate(self._events):
                if f.matches(event):
                    self._bits[number] |= 1 << slot
                    self._matching[slot].append(number)
        return number

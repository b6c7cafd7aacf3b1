"""Who should have got an event, and who did?

An event counts as published when its publisher's broker takes it up. It is **owed** to a
subscription that stands then (its broker has accepted it), whose filter it matches, and that is in
place for the publisher (`spread`). When no message with the event is under way any more, it is
judged, against each subscription that stands to the end:

- *missed*: it was owed and has not been delivered; whatever the reason, faults included;
- *early*: it matched, was published while the subscription was still spreading, and has not been
  delivered;
- *duplicated*: it has been delivered once more than once.

A subscription that is updated counts as a new one from then on; one that is cancelled is owed
nothing that had not been delivered by then. An event that is on its way when somebody subscribes
may be delivered or not. A subscription whose broker has failed still stands, and so does one that
its client tells again afterwards.
"""

from typing import Any, Final

from tidegate.overlay.filter import Event, Filter, FilterIndex
from tidegate.overlay.messages import Change
from tidegate.simulate.spread import Spread


class Standing:
    """A subscription, as it is between two updates."""

    __slots__ = ("filter", "home", "key", "marker", "number", "stands")

    def __init__(
        self, key: tuple[str, int], f: Filter, home: int, number: int, marker: int
    ) -> None:
        self.key: Final = key
        self.filter: Final = f
        self.home: Final = home
        self.number: Final = number
        self.marker: Final = marker
        self.stands = True


class Flight:
    """An event from its publication until no message with it is under way."""

    __slots__ = ("delivered", "hops", "owed", "pending", "published", "size", "spreading")

    def __init__(self, published: int, size: int) -> None:
        self.published: Final = published
        self.size: Final = size  # between brokers
        self.pending = 1
        self.owed: list[Standing] = []
        self.spreading: list[Standing] = []
        self.delivered: set[tuple[str, int]] | None = None
        self.hops: dict[int, Any] = {}  # where events are kept: how it came to each broker


class Verdicts:
    """What was missed, early and duplicated, by the subscriber's broker."""

    def __init__(self, brokers: int) -> None:
        self.missed: Final = [0] * brokers
        self.early: Final = [0] * brokers
        self.duplicated: Final = [0] * brokers
        self.owed: Final = [0] * brokers


class Oracle:
    """Knows every subscription of the network at once."""

    def __init__(self, index: FilterIndex, spread: Spread, brokers: int) -> None:
        self.verdicts: Final = Verdicts(brokers)
        self._index = index
        self.spread: Final = spread
        self._standing: dict[tuple[str, int], Standing] = {}
        self._numbered: dict[int, Standing] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._standing)

    def accepted(self, client: str, home: int, change: Change) -> None:
        """A broker has accepted a client's change."""
        marker = self.spread.changed(home)
        added = {entry.id: entry.filter for entry in (*change.add, *change.update)}
        gone = change.remove
        if change.whole:
            gone = tuple(own for name, own in self._standing if name == client and own not in added)
        for own in gone:
            self._end((client, own))
        for own, f in added.items():
            before = self._standing.get((client, own))
            if before is not None and before.filter == f:
                continue
            if before is not None:
                self._end(before.key)
            made = Standing((client, own), f, home, self._next, marker)
            self._next += 1
            self._index.add(made.number, f)
            self._standing[made.key] = self._numbered[made.number] = made

    def left(self, client: str) -> None:
        """A client is gone for good: it is owed nothing more."""
        for key in [key for key in self._standing if key[0] == client]:
            self._end(key)

    def wanted(self, client: str, own: int) -> Filter | None:
        """What a client has asked for under this id, as far as its broker has accepted it."""
        standing = self._standing.get((client, own))
        return None if standing is None else standing.filter

    def published(self, flight: Flight, event: Event, broker: int, advertised: int) -> None:
        """A publisher's broker has taken up an event."""
        flight.delivered = set()
        for number in self._index.match(event):
            each = self._numbered[number]
            in_place = self.spread.in_place(each.home, each.marker, broker, advertised)
            (flight.owed if in_place else flight.spreading).append(each)

    def delivered(
        self, flight: Flight, broker: int, client: str, subscriptions: tuple[int, ...]
    ) -> None:
        """An event has been delivered for some of a client's subscriptions."""
        seen = flight.delivered
        assert seen is not None
        for own in subscriptions:
            key = client, own
            self.verdicts.duplicated[broker] += key in seen
            seen.add(key)

    def judge(self, flight: Flight) -> None:
        """No message with an event is under way any more."""
        if flight.delivered is None:
            return
        verdicts = self.verdicts
        for each in flight.owed:
            if each.stands:
                verdicts.owed[each.home] += 1
                verdicts.missed[each.home] += each.key not in flight.delivered
        for each in flight.spreading:
            verdicts.early[each.home] += each.stands and each.key not in flight.delivered

    def _end(self, key: tuple[str, int]) -> None:
        gone = self._standing.pop(key, None)
        if gone is not None:
            gone.stands = False
            self._index.remove(gone.number)
            del self._numbered[gone.number]

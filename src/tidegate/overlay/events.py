"""What does a broker do about an event?

It asks whether the event is new: of each publisher it knows the numbers that have been here (see
`seen`), as long as not too many others have been heard since. It asks whether it may take it; a
client's event has to be among what was advertised, and of a size and form that are allowed. And it
sends it to every link, but the one it came from, that has a matching entry. Clients' entries are
never reduced, so a client gets exactly what it asked for, once.

What has been here is refused, or dropped; what cannot be taken is refused, and its publisher may
use the number again. Many events of one link may come as a batch, and are matched together: what is
done with each is the same as if it had come alone. Where events are kept, each goes on under a
number of its own.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.errors import TidegateError
from tidegate.overlay.fan_out import Goals
from tidegate.overlay.filter import Event, Kind, Plain
from tidegate.overlay.link import Link
from tidegate.overlay.messages import (
    Acknowledge,
    Batch,
    DeliverRows,
    Effect,
    Persist,
    Publish,
    Refuse,
    RefuseRows,
    Send,
    SendRows,
)
from tidegate.overlay.notes import Notes
from tidegate.overlay.pairs import Rows
from tidegate.overlay.policy import Choice
from tidegate.overlay.routing import Routing
from tidegate.overlay.row_names import RowNames
from tidegate.overlay.rows import gathered
from tidegate.overlay.seen import Seen, take_new
from tidegate.overlay.settings import Settings
from tidegate.overlay.stream import Place
from tidegate.overlay.upstream import Paths
from tidegate.overlay.work import Tally

FEW_EVENTS: Final = 4  # of a batch, below which each is routed on its own
_USED: Final = "the number was used"


class _Heard(NamedTuple):
    """What is done about an event before it goes on, the event if it does, and the answer."""

    before: list[Effect]
    event: Publish | None
    answer: list[Effect]


class Events:
    """The events of one broker, by its tables."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        policy: Choice,
        settings: Settings,
        routing: Routing,
        notes: Notes,
        tally: Tally,
    ) -> None:
        self._name = name
        self._kind = kind
        self._policy = policy
        self._settings = settings
        self._routing = routing
        self._notes = notes
        self._tally = tally
        self._window = 0 if settings.upstream is None else settings.window
        # Numbers of each publisher, who was heard last at the end.
        self._seen: OrderedDict[str, Seen] = OrderedDict()

    def newest(self, publisher: str) -> int:
        """The last number of a publisher, as far as it is known."""
        known = self._seen.get(publisher)
        return 0 if known is None else known.newest

    def published(self, link: Link, came: Publish, size: int | None = None) -> list[Effect]:
        """What to do about an event; its size, if it is known."""
        before, event, answer = self._heard(link, came, size)
        return [*before, *(self._route(link, event) if event else ()), *answer]

    def _heard(self, link: Link, came: Publish, size: int | None) -> _Heard:
        """Take an event, if it is the next one on its link, and new."""
        if not came.seq:  # a sender that does not keep it: but whoever keeps it writes it down
            written: list[Effect] = []
            if self._settings.keep_events:
                written.append(Persist(link.name, came))
            refusals, event = self._publish(link, came, size)
            return _Heard([*written, *refusals], event, [])
        if link.stream.place(came.seq) is not Place.NEXT:
            self._tally.repeated += 1
            return _Heard([], None, [Send(link.name, Acknowledge(link.stream.heard))])
        link.stream.hear(came.seq)
        refusals, event = self._publish(link, came, size)
        answer: list[Effect] = [Send(link.name, Acknowledge(came.seq))]
        return _Heard([Persist(link.name, came), *refusals], event, answer)

    def _publish(
        self, link: Link, came: Publish, size: int | None
    ) -> tuple[list[Effect], Publish | None]:
        """The event that goes on; if none does, what is said of that."""
        publisher = f"{self._name}/{link.name}" if link.client else came.publisher
        refusal = self._take(link, publisher, came.number, came.event, size)
        if refusal is None:
            return [], Publish(came.number, came.event, publisher)
        return [Send(link.name, Refuse(None, came.number, refusal))] if refusal else [], None

    def published_many(self, link: Link, came: Batch) -> list[Effect]:
        """The same for many events of a link, by rows."""
        count = len(came.numbers)
        links = RowNames.one(link.name, count)
        if link.client:
            return self.published_by(replace(came, links=links))
        if len(came.publishers) != count:
            return self._refuse(link, "between brokers, events have publishers")
        own = RowNames.of(came.publishers)
        return self._take_many(link, replace(came, publishers=own, links=links), own, links)

    def published_by(self, came: Batch) -> list[Effect]:
        """The same for many events of clients, which are up: `links` says whose they are."""
        links = RowNames.of(came.links)
        own = RowNames(tuple(f"{self._name}/{name}" for name in links.names), links.places)
        first = self._routing.links[links.names[0]]
        return self._take_many(first, replace(came, publishers=own, links=links), own, links)

    def _take_many(
        self, origin: Link, batch: Batch, own: RowNames, links: RowNames
    ) -> list[Effect]:
        if self._settings.keep_events or any(batch.seqs):
            return self._keep_many(batch)
        taken = self._take_all(origin, batch, own, links)
        rows, refused = self._take_each(batch) if taken is None else taken
        effects: list[Effect] = []
        for name in links.names if refused else ():
            reasons = {row: reason for row, reason in refused.items() if links[row] == name}
            if reasons:
                effects.append(RefuseRows(name, batch, reasons))
        return effects + self._route_many(origin, batch, rows)

    def _take_all(
        self, origin: Link, came: Batch, own: RowNames, links: RowNames
    ) -> tuple[Rows, dict[int, str]] | None:
        """Take the events that are new, if nothing else can be in the way of any; else None."""
        if not (
            self._settings.upstream is None
            and self._notes.pruner is None
            and isinstance(came.numbers, np.ndarray)
            and self._kind.takes_all(came.events)
            and (not origin.client or self._within(came.sizes))
        ):
            return None
        newest = np.array([self.newest(name) for name in own.names], np.int64)
        new = np.empty(len(own), np.bool_)
        before = newest.tolist()
        take_new(came.numbers, own.places, newest, new)
        for name, was, last in zip(own.names, before, newest.tolist(), strict=True):
            if last > was:
                seen = self._seen.get(name) or Seen(self._window)
                seen.take(last)
                self._remember(name, seen)
        rows = np.flatnonzero(new).astype(np.int32)
        counts = np.bincount(links.places[rows], minlength=len(links.names)).tolist()
        for name, count in zip(links.names, counts, strict=True):
            self._notes.events(name, count)
        known = np.flatnonzero(~new).tolist() if len(rows) < len(new) else []
        self._tally.repeated += len(known)
        return rows, dict.fromkeys(known, _USED) if origin.client else {}

    def _within(self, sizes: Sequence[int] | NDArray[np.int64]) -> bool:
        """Whether clients' events are known to be as small as they have to be, and allowed."""
        return (
            isinstance(sizes, np.ndarray)
            and int(sizes.max(initial=0)) <= self._settings.event_size
            and not self._settings.advertisements
        )

    def _take_each(self, came: Batch) -> tuple[Rows, dict[int, str]]:
        """Take events one by one: which of them, and why others not."""
        numbers = np.asarray(came.numbers).tolist()
        sizes: Sequence[int | None] = np.asarray(came.sizes).tolist() or [None] * len(numbers)
        rows: list[int] = []
        refused: dict[int, str] = {}
        columns = zip(came.links, came.publishers, numbers, came.events, sizes, strict=True)
        for row, (name, publisher, number, event, size) in enumerate(columns):
            refusal = self._take(self._routing.links[name], publisher, number, event, size)
            if refusal is None:
                rows.append(row)
            elif refusal:
                refused[row] = refusal
        return np.array(rows, np.int32), refused

    def _keep_many(self, came: Batch) -> list[Effect]:
        """The same where events are numbered on links: one by one, and one acknowledgement each.

        They are matched together; but each is written down and goes on under a number of its own,
        so no effect names rows.
        """
        heard: list[_Heard] = []
        sizes = np.asarray(came.sizes).tolist()
        for row, name in enumerate(came.links):
            link, size = self._routing.links[name], sizes[row] if sizes else None
            event = came.row(row)
            if link.client:
                event = replace(event, publisher="")
            heard.append(self._heard(link, event, size))
        wanting = self._wanting(came, [row for row, each in enumerate(heard) if each.event])
        effects: list[Effect] = []
        answers: dict[str, Effect] = {}  # the last of a link says what all before it say
        for row, (name, (before, taken, answer)) in enumerate(zip(came.links, heard, strict=True)):
            effects += before
            if taken is not None:
                effects += self._route(self._routing.links[name], taken, wanting.get(row))
            answers.update((name, each) for each in answer)
        return [*effects, *answers.values()]

    def _wanting(self, came: Batch, rows: list[int]) -> dict[int, dict[str, list[int]]]:
        """For which entries of which links some rows are; nothing, if they are few."""
        if len(rows) < FEW_EVENTS:
            return {}
        found: dict[int, dict[str, list[int]]] = {row: {} for row in rows}
        names, goals = self._matched(came, np.array(rows, np.int32))
        places, starts, owns = (each.tolist() for each in goals[2:])
        for name, first, last in zip(names, *_stretches(goals), strict=True):
            for k in range(first, last):
                found[places[k]][name] = owns[starts[k] : starts[k + 1]]
        return found

    def _matched(self, batch: Batch, rows: Rows) -> tuple[list[str], Goals]:
        """The links that want some rows of a batch, and for which of their entries."""
        whole = len(rows) == len(batch.numbers)
        events = batch.events if whole else [batch.events[row] for row in rows.tolist()]
        return self._routing.wanted.match_batch(events, rows)

    def _take(
        self, link: Link, publisher: str, number: int, event: Event, size: int | None = None
    ) -> str | None:
        """Take an event that is new; if it cannot be taken, why, or an empty text: nobody asks."""
        seen = self._seen.get(publisher) or Seen(self._window)
        if number <= seen.newest if link.client else number in seen:
            self._tally.repeated += 1
            return _USED if link.client else ""
        if link.client:
            refusal = self._event_refusal(link, event, size)
        elif not self._routing.passage.expects(publisher, link.name):
            refusal = f"this link is not on a way from {publisher}"
        else:
            refusal = self._kind.event_refusal(event)
        if refusal is not None:
            self._tally.refused += 1
            return refusal
        seen.take(number)
        self._remember(publisher, seen)
        self._notes.event(link.name, event)
        return None

    def _remember(self, publisher: str, seen: Seen) -> None:
        """Know what was seen of a publisher, and of so many others."""
        self._seen[publisher] = seen
        self._seen.move_to_end(publisher)
        if len(self._seen) > self._settings.publishers:
            self._seen.popitem(last=False)

    def _route_many(self, origin: Link, batch: Batch, rows: Rows) -> list[Effect]:
        # Where several paths lead to a publisher, rows go where theirs is.
        if len(rows) < FEW_EVENTS or isinstance(self._settings.upstream, Paths):
            each = {row: self._route(origin, batch.row(row)) for row in rows.tolist()}
            return gathered(batch, each)
        effects: list[Effect] = []
        names, goals = self._matched(batch, rows)
        clients: list[int] = []
        for i, (name, first, last) in enumerate(zip(names, *_stretches(goals), strict=True)):
            link = self._routing.links[name]
            if not (link.client or self._carries(batch.publishers[0], origin, link)):
                continue
            if not link.ready:
                self._tally.undelivered += last - first
            elif link.client:
                clients.append(i)
            elif not self._policy.floods:
                effects.append(SendRows(name, batch, goals.rows[first:last]))
        if clients:
            own = np.array(clients, np.int32)
            bounds = np.stack((goals.bounds[:-1][own], goals.bounds[1:][own]), axis=1)
            handed = tuple(names[i] for i in clients)
            effects.append(DeliverRows(handed, batch, bounds, *goals[2:]))
        for link in self._routing.neighbours if self._policy.floods else ():
            if not self._carries(batch.publishers[0], origin, link):
                continue
            if link.ready:
                effects.append(SendRows(link.name, batch, rows))
            else:
                self._tally.undelivered += len(rows)
        return effects

    def _carries(self, publisher: str, origin: Link, goal: Link) -> bool:
        """Whether events of a publisher go on from one link to a neighbour."""
        return self._routing.passage.carries(publisher, origin.name, goal.name)

    def _route(
        self, origin: Link, event: Publish, wanting: dict[str, list[int]] | None = None
    ) -> list[Effect]:
        """Send an event to those that want it; links and their entries, if they are known."""
        if wanting is None:
            wanting = {}
            for name, own in self._routing.wanted.match(event.event):
                wanting.setdefault(name, []).append(own)
        effects: list[Effect] = []
        names = sorted(wanting) if self._settings.keep_events else wanting
        goals = [self._routing.links[name] for name in names]
        if self._policy.floods:
            goals += self._routing.neighbours
        for link in goals:
            if not (link.client or self._carries(event.publisher, origin, link)):
                continue
            owns = tuple(wanting.get(link.name, ()))
            onward = link.carry(event, owns, keep=self._settings.keeps(client=link.client))
            if onward is not None:
                effects.append(onward)
            else:
                self._tally.undelivered += 1
        return effects

    def _event_refusal(self, link: Link, event: Event, size: int | None) -> str | None:
        """Why a client's event cannot be taken, if it cannot; its size, if it is known."""
        try:
            size = self._kind.event_size(event) if size is None else size
        except TidegateError as error:
            return str(error)
        if size > self._settings.event_size:
            return f"the event takes {size:,} bytes; {self._settings.event_size:,} are allowed"
        refusal = self._kind.event_refusal(event)
        if refusal is not None:
            return refusal
        if self._settings.advertisements and not self._routing.offered[link.name].allow(event):
            return "the event is not among what its publisher has advertised"
        above = self._settings.upstream
        if isinstance(above, Paths) and self._name not in above.down:
            return f"no paths lead from {self._name}: publish at {' or '.join(above.up)}"
        return None

    def _refuse(self, link: Link, reason: str) -> list[Effect]:
        """Refuse a batch that is none."""
        self._tally.refused += 1
        return [Send(link.name, Refuse(None, None, reason))]

    def state(self) -> Plain:
        """Which numbers have been here, as plain data."""
        return {publisher: seen.state() for publisher, seen in self._seen.items()}

    def restore(self, state: Plain) -> None:
        """Know the numbers that another one knew."""
        for publisher, seen in state.items():
            self._seen[publisher] = Seen.restored(seen, self._window)


def _stretches(goals: Goals) -> tuple[list[int], list[int]]:
    """Where the rows of each link begin and end."""
    bounds = goals.bounds.tolist()
    return bounds[:-1], bounds[1:]

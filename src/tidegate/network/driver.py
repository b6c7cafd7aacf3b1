"""How do frames become inputs of a broker, and its effects frames?

Nothing here decides anything: that is the broker's. And nothing here knows of sockets: frames of a
link come in by `heard`, and go out by `send`, once for each link and round. A **round** is what
the broker is told between two times that effects are done: what is to be written down of all of it
is written with one sync, and only then is anything sent.

Whatever is read from a link is handled in the order in which it came: events wait in a `Gathering`,
but not for longer than until the next message on any link.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, TypeGuard

import numpy as np

from tidegate.errors import FrameError, TidegateError
from tidegate.network.control_frames import UnreadableChangeError, control_frame, read_control
from tidegate.network.event_frames import (
    Payloads,
    Room,
    Table,
    deliveries_frames,
    events_frame,
    events_frames,
    look_at,
    payloads_of,
    read_parts,
)
from tidegate.network.frames import Frame, Sort, frame, parted
from tidegate.network.gathering import Gathering
from tidegate.network.kept import Onward, read_kept
from tidegate.network.limits import Limits
from tidegate.network.metrics import size_of, sort_of
from tidegate.network.packed_events import PackedEvents
from tidegate.network.payloads import payload, read_events, write
from tidegate.network.rights import Restricted, Rights
from tidegate.overlay.attribute_events import AttributeEvents
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.messages import (
    Advertise,
    Batch,
    Change,
    Connect,
    Deliver,
    DeliverRows,
    Disconnect,
    Effect,
    Input,
    LinkDown,
    LinkGone,
    LinkUp,
    Message,
    Persist,
    Publish,
    Refuse,
    RefuseRows,
    Restart,
    Send,
    SendRows,
    Told,
)
from tidegate.overlay.pairs import Rows
from tidegate.overlay.row_names import RowNames
from tidegate.overlay.storage import Keeper
from tidegate.overlay.work import ENDS, NEWS

_OfOneLink = Persist | Send | Deliver | Connect | Disconnect | SendRows | RefuseRows
Sender = Callable[[str, Sequence[bytes]], None]
Fares = Callable[[str], Mapping[str, Any]]


class Driver:
    """A broker, driven by frames."""

    def __init__(self, broker: Broker, keeper: Keeper | None, limits: Limits, send: Sender) -> None:
        self.broker: Final = broker
        self.gathering: Final = Gathering()
        self.counted: Final[Counter[str]] = Counter()
        self.refused: Final[Counter[str]] = Counter()  # by the sort of the reason
        self.matching = 0.0  # seconds in which events were matched and routed
        self._batches: Counter[str] = Counter()  # by size
        self._came: Counter[str] = Counter()  # events by link, as long as it is up
        self._went: Counter[str] = Counter()
        self._keeper = keeper
        self._limits = limits
        self._send = send
        self._keeps = broker.settings.keep_events
        self._effects: list[Effect] = []
        self._restricted: dict[str, Restricted] = {}
        self._own_room: Final = Room(limits.events, limits.frame)
        self._rooms: dict[str, Room] = {}  # in the frames that a link takes
        self._answers: list[tuple[str, bytes]] = []  # to be sent behind the effects
        self.recovery = 0.0  # seconds from the start until all neighbours had been told everything
        self._recovering: float | None = None  # since when they have not been

    # -- links

    def up(
        self, link: str, client: bool, rights: Rights | None = None, room: Room | None = None
    ) -> str | None:
        """A link has come up; why it cannot be, if it cannot. Without rights, it may do all.

        Frames of events and messages that go there have `room` for so much.
        """
        known = self.broker.routing.links.get(link)
        if known is not None and known.client != client:
            return f"{link} is the name of a {'client' if known.client else 'broker'} here"
        self.down(link)
        self._restricted.pop(link, None)
        if rights is not None:
            own = Restricted(rights)
            if known is not None and (
                own.exceeded(Change, self.broker.routing.wanted.of(link))
                or own.exceeded(Advertise, self._offered(link))
            ):
                self.forget(link)  # it was told when there were other rights
            self._restricted[link] = own
        self._rooms[link] = room or self._own_room
        self._handle(link, LinkUp(client))
        return None

    def down(self, link: str) -> None:
        """A link has gone down, if it was up."""
        known = self.broker.routing.links.get(link)
        if known is not None and known.up:
            self.take_events()
            self._handle(link, LinkDown())
            for own in (self._came, self._went, self._rooms):
                own.pop(link, None)

    def forget(self, link: str) -> None:
        """A client has been gone for long: nothing is known of it any more, but its last event."""
        known = self.broker.routing.links.get(link)
        if known is not None and not known.up:
            self._restricted.pop(link, None)
            self._handle(link, LinkGone())

    def told(self, link: str) -> tuple[int, int]:
        """The last message that was heard of a client, and its last event."""
        known = self.broker.routing.links.get(link)
        heard = 0 if known is None else known.stream.heard
        return heard, self.broker.seen(f"{self.broker.name}/{link}")

    # -- what comes

    def heard(self, link: str, came: Frame) -> None:
        """A frame has come on a link that is up; `FrameError` if it cannot have."""
        if link not in self.broker.routing.links:
            return  # it was left, and its connection is about to be closed
        if came.sort is Sort.EVENTS:
            part = look_at(came, self._limits.events)
            if bool(part.names) == self._is_client(link) and part.count:
                raise FrameError("a client's events have no publishers, and a broker's have")
            self.gathering.add(link, part)
        elif came.sort is Sort.KEPT and not self._is_client(link):
            self.take_events()
            self._take_kept(link, came)
        elif came.sort is Sort.CONTROL:
            self.take_events()
            self._control(link, came.body)
        else:
            raise FrameError(f"no frame {came.sort.name.lower()} is expected here")

    def handle(self, came: Input) -> None:
        """Tell the broker what comes in on no link."""
        self.take_events()
        if isinstance(came, Restart) and self.broker.routing.neighbours:
            self._recovering = perf_counter()
        self._handle("", came)

    def take_events(self) -> None:
        """Let the broker have the events that wait."""
        for links, table in self.gathering.take(self._is_client):
            counts = np.bincount(links.places, minlength=len(links.names)).tolist()
            self._count_in(links.names, counts)
            self._take(links, table)

    def _count_in(self, links: Sequence[str], counts: list[int]) -> None:
        self.counted["events in"] += sum(counts)
        self.counted["batches"] += 1
        self._batches[str(size_of(sum(counts)))] += 1
        self._came.update(dict(zip(links, counts, strict=True)))

    def _take(self, links: RowNames, came: Table) -> None:
        last = np.zeros(len(links.names), np.int64)
        np.maximum.at(last, links.places, came.numbers)
        answered = [name for name in links.names if self._is_client(name)]
        events, bad = self._read(links, came)
        if bad:
            for row, reason in sorted(bad.items()):
                self._refuse(links[row], int(came.numbers[row]), str(reason))
            kept = np.array([row for row in range(len(events)) if row not in bad], np.int32)
            events = [events[row] for row in kept.tolist()]
            links, came = links.some(kept), _some(came, kept)
        began = perf_counter()
        batch = Batch(
            came.numbers, events, came.publishers, came.payloads.sizes, came.payloads,
            links if answered else (),
        )  # fmt: skip
        self._handle(links.names[0], batch)
        self.matching += perf_counter() - began
        for link, number in zip(answered, last.tolist(), strict=False):
            self._answers.append((link, frame(Sort.TAKEN, number.to_bytes(8, "little"))))

    def _take_kept(self, link: str, came: Frame) -> None:
        """Let the broker have events that a neighbour keeps, by their numbers on the link."""
        first, inner = read_kept(came)
        table = read_parts([look_at(inner, self._limits.events)])
        count = len(table.numbers)
        if len(table.publishers) != count:
            raise FrameError("a broker's events have publishers")
        events, bad = self._read(RowNames.one(link, count), table)
        if bad:
            raise FrameError(f"a broker has passed on what it cannot have read: {min(bad.items())}")
        self._count_in([link], [count])
        began = perf_counter()
        seqs = range(first, first + count)
        sizes = table.payloads.sizes
        batch = Batch(table.numbers, events, table.publishers, sizes, table.payloads, seqs=seqs)
        self._handle(link, batch)
        self.matching += perf_counter() - began

    def _read(
        self, links: RowNames, came: Table
    ) -> tuple[Sequence[Event], dict[int, TidegateError]]:
        """The events, and which of them cannot be taken."""
        kind, bad = self.broker.kind, dict[int, TidegateError]()
        packed = PackedEvents.of(came.payloads) if isinstance(kind, AttributeEvents) else None
        events: Sequence[Event] = packed or read_events(came.payloads, kind)
        if packed is None:
            bad = {i: event for i, event in enumerate(events) if isinstance(event, TidegateError)}
        if not self._restricted.keys().isdisjoint(links.names):
            for i, (link, event) in enumerate(zip(links, events, strict=True)):
                own = self._restricted.get(link)
                if own is not None and i not in bad and not own.may_publish(event):
                    reason = "the event is not among what its publisher may publish"
                    bad[i] = TidegateError(reason)
        return events, bad

    def _control(self, link: str, body: bytes) -> None:
        self.counted["messages in"] += 1
        heard = self.broker.routing.links[link].stream.heard
        try:
            message = read_control(
                body, self.broker.kind, lambda of, n: self._known(link, of, n), heard
            )
        except UnreadableChangeError as error:
            self._refuse_change(link, error.of, error.seq, str(error))
            return
        if isinstance(message, Publish):
            raise FrameError("events travel in frames of events")
        if isinstance(message, Change | Advertise) and self._is_client(link):
            reason = self._too_many(link, message)
            if reason is not None:
                self._refuse_change(link, type(message), message.seq, reason)
                return
        own = self._restricted.get(link)
        if own is not None and isinstance(message, Change | Advertise):
            self._restrict(link, own, message)
        else:
            self._handle(link, message)

    def _too_many(self, link: str, asked: Told) -> str | None:
        """Why a client cannot have so many filters, if it cannot."""
        most, of = self._limits.subscriptions, type(asked)
        before = 0 if asked.whole else len(self._registered(link, of)) - len(asked.remove)
        if before + len(asked.add) <= most:
            return None
        what = "subscriptions" if of is Change else "advertisements"
        return f"a client may have {most:,} {what}"

    def _restrict(self, link: str, own: Restricted, message: Told) -> None:
        """Let the broker have what a client may have of what it asks for."""
        try:
            within = own.restrict(message)
        except TidegateError as error:
            self._refuse_change(link, type(message), message.seq, str(error))
            return
        self._handle(link, within)
        own.remember(message, self._registered(link, type(message)))

    def _refuse_change(self, link: str, of: type[Told], seq: int, reason: str) -> None:
        """Refuse a change: its number is used up, by one that changes nothing."""
        self._effects.append(Send(link, Refuse(seq, None, reason)))
        self._handle(link, of(seq))

    def _refuse(self, link: str, number: int, reason: str) -> None:
        self._effects.append(Send(link, Refuse(None, number, reason)))

    def _handle(self, link: str, came: Input) -> None:
        self._effects += self.broker.handle(link, came)

    def _known(self, link: str, of: type[Told], own: int) -> Filter:
        if link in self._restricted:
            return self._restricted[link].told(of, own)
        return self._registered(link, of)[own]

    def _registered(self, link: str, of: type[Told]) -> dict[int, Filter]:
        return self.broker.routing.wanted.of(link) if of is Change else self._offered(link)

    def _offered(self, link: str) -> dict[int, Filter]:
        return self.broker.routing.offered[link].filters

    def _is_client(self, link: str) -> bool:
        return self.broker.routing.links[link].client

    # -- what is done

    def perform(self) -> None:
        """Write down what has to be, then send."""
        effects, self._effects = self._effects, []
        answers, self._answers = self._answers, []
        if self._keeper is not None:
            self._keeper.note(effects)
        frames: dict[str, list[bytes]] = {}
        onward = Onward(self.broker.kind)
        for effect in effects:
            if isinstance(effect, DeliverRows):
                for link, data in self._deliveries(effect):
                    frames.setdefault(link, []).append(data)
            elif isinstance(effect, Send) and _is_kept(effect.message):
                self._count_out("events out", effect.link, 1)
                onward.add(effect.link, effect.message)
            elif made := self._frames(effect):
                before = onward.frames(effect.link, self._room(effect.link))
                frames.setdefault(effect.link, []).extend((*before, *made))
        for link in onward.links:
            frames.setdefault(link, []).extend(onward.frames(link, self._room(link)))
        for link, data in answers:
            frames.setdefault(link, []).append(data)
        for link, parts in frames.items():
            self._send(link, parts)
        if self._recovering is not None:
            neighbours = self.broker.routing.neighbours
            if all(link.ready and not link.stream.unacknowledged for link in neighbours):
                self.recovery, self._recovering = perf_counter() - self._recovering, None

    @property
    def due(self) -> bool:
        """Whether there is anything to be done."""
        return bool(self._effects or self._answers)

    def _deliveries(self, effect: DeliverRows) -> Iterable[tuple[str, bytes]]:
        """The frames of deliveries of a batch, and on which links they go."""
        batch, bounds = effect.batch, effect.bounds
        counts = (bounds[:, 1] - bounds[:, 0]).tolist()
        self.counted["deliveries"] += sum(counts)
        self._went.update(dict(zip(effect.links, counts, strict=True)))
        columns = bounds, effect.rows, effect.starts, effect.subscriptions
        made = deliveries_frames(batch.numbers, batch.publishers, batch.carried, *columns)
        return zip(effect.links, made, strict=True)

    def _frames(self, effect: _OfOneLink) -> list[bytes]:
        kind = self.broker.kind
        match effect:
            case Persist() | Connect():  # who is asked for is dialed as long as it is
                return []
            case Disconnect():
                return [frame(Sort.CLOSE, b"the brokers have parted")]
            case SendRows(link, batch, rows):
                self._count_out("events out", link, len(rows))
                columns = batch.numbers, batch.publishers, batch.carried, rows
                return events_frames(*columns, self._room(link))
            case RefuseRows(_, batch, reasons):
                refusals = (Refuse(None, batch.row(r).number, why) for r, why in reasons.items())
                return [self._message(each) for each in refusals]
            case Send(link, Publish(number, event, publisher)):
                self._count_out("events out", link, 1)
                return [events_frame([number], [publisher], payloads_of([payload(event, kind)]))]
            case Deliver(link, event, publisher, number, owns):
                self._count_out("deliveries", link, 1)
                return [_delivery(number, publisher, payload(event, kind), owns)]
            case Send(link, message):
                return parted(self._message(message), self._room(link).bytes)

    def _room(self, link: str) -> Room:
        return self._rooms.get(link, self._own_room)

    def _message(self, message: Message) -> bytes:
        self.counted["messages out"] += 1
        if isinstance(message, Refuse):
            self.counted["refused"] += 1
            self.refused[sort_of(message)] += 1
        return control_frame(message, self.broker.kind, in_turn=self._keeps)

    def _count_out(self, what: str, link: str, count: int) -> None:
        self.counted[what] += count
        self._went[link] += count

    # -- how it fares

    def status(self, fares: Fares, missing: Sequence[str] = ()) -> dict[str, Any]:
        """How the broker fares, as plain data; how its connections fare is known outside, and
        which neighbours are missing.
        """
        routing, tally = self.broker.routing, self.broker.tally
        return {
            "broker": self.broker.name,
            "policy": self.broker.policy.name,
            "links": [
                {
                    "name": link.name,
                    "client": link.client,
                    "up": link.up,
                    "ready": link.ready,
                    "entries": len(routing.wanted.of(link.name)),
                    "forwarded": len(link.wanted.active),
                    "unacknowledged": len(link.stream.unacknowledged),
                    "events in": self._came[link.name],
                    "events out": self._went[link.name],
                    **fares(link.name),
                }
                for link in routing.links.values()
            ],
            "entries": len(routing.wanted),
            "counted": dict(self.counted),
            "matching seconds": self.matching,
            "batches": dict(self._batches),
            "refused": dict(self.refused),
            "missing": list(missing),
            "undelivered": tally.undelivered,
            "repeated": tally.repeated,
            "registrations": {sort: getattr(tally, sort) for sort in NEWS},
            "cancellations": {sort: getattr(tally, sort) for sort in ENDS},
            "questions": self.broker.work.questions,
            "recovery seconds": self.recovery,
        }

    def status_frame(self, fares: Fares, missing: Sequence[str]) -> bytes:
        """The same as a frame."""
        return frame(Sort.STATUS, write(self.status(fares, missing)))


def _is_kept(message: Message) -> TypeGuard[Publish]:
    """Whether this is an event with a number on its link."""
    return isinstance(message, Publish) and message.seq > 0


def _delivery(number: int, publisher: str, data: bytes, owns: tuple[int, ...]) -> bytes:
    """One event for a client."""
    one, starts = np.zeros(1, np.int32), np.array([0, len(owns)], np.int32)
    columns = np.array([[0, 1]], np.int32), one, starts, np.array(owns, np.int64)
    return deliveries_frames([number], [publisher], payloads_of([data]), *columns)[0]


def _some(came: Table, rows: Rows) -> Table:
    """Some of the events."""
    payloads = came.payloads
    return came._replace(
        numbers=came.numbers[rows],
        publishers=came.publishers.some(rows),
        payloads=Payloads(payloads.data, payloads.starts[rows], payloads.ends[rows]),
    )

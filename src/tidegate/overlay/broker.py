"""A broker: what to do about what comes in.

**Theory of operation.** A broker is a state machine without I/O: `handle` is told what came in on
which link, and returns what is to be done, in order: write down, send, deliver. It has no clock,
socket, thread or randomness of its own. The simulator, the live network and the tests drive the
same class.

A link goes to a neighbouring broker or to a client. What a client wants comes in as `Change`, what
it may publish as `Advertise`, events as `Publish`. What is wanted goes on to the neighbours as
their policies say (`routing`): at most one `Change` for each of them and for each input, applied as
a whole there, so that between a filter that goes and those that take its place there is no gap. An
event goes to every link, but the one it came from, that has a matching entry (`events`).

Bad input has an answer and changes nothing. What has a flaw, as it is not formed as a message is
(`form`), or comes on a link that is not up, is refused, and its number is not used up. A `Change`
or `Advertise` that names an unknown id, an id twice, or a filter that cannot be taken is refused as
a whole (its number is used up: an `Acknowledge` follows). Numbers from the past are answered as
before, and numbers from the future by what was heard last, which asks for the ones between.

**Memory.** The state is plain data (`snapshot`, `restore`). `Persist` comes before everything that
depends on it; a snapshot and the inputs written down since make the state anew, except which
events have been seen, and what was counted (`work`, `tally`, `notes`). What a broker prunes depends
on events, which are not written down: so it decides that at ticks, and writes down with the tick
what it goes by. After that, `Restart` takes all links for down; when they come up, greetings tell
both sides what the other one has missed.
"""

from collections.abc import Callable, Iterator
from dataclasses import astuple, fields
from typing import Any, ClassVar, Final

from tidegate.errors import TidegateError
from tidegate.overlay.asked import Filters, asked, refusal
from tidegate.overlay.difference import Difference
from tidegate.overlay.events import Events
from tidegate.overlay.failover import Failover
from tidegate.overlay.filter import Kind, Plain
from tidegate.overlay.form import flaw, is_number
from tidegate.overlay.link import Link
from tidegate.overlay.messages import (
    Acknowledge,
    Advertise,
    Batch,
    Change,
    Disconnect,
    Effect,
    Farewell,
    Hello,
    Input,
    LinkDown,
    LinkGone,
    LinkUp,
    Persist,
    Publish,
    Refuse,
    Report,
    Restart,
    Send,
    Tick,
    Way,
)
from tidegate.overlay.notes import Notes
from tidegate.overlay.policy import Choice
from tidegate.overlay.routing import Routing
from tidegate.overlay.row_names import RowNames
from tidegate.overlay.settings import Settings
from tidegate.overlay.stream import Place
from tidegate.overlay.ties import Ties
from tidegate.overlay.upstream import Parents, Paths
from tidegate.overlay.work import Tally, Work

FORMAT: Final = 6  # of snapshots
_PERIOD: Final = 10  # ticks between one time that filters are pruned and the next, if none is named


class Broker:
    """One broker of an acyclic overlay.

    Its `life` differs from that of every earlier broker of this name whose memory was lost.

    >>> from tidegate.overlay.attributes import Attributes
    >>> from tidegate.overlay.messages import Entry
    >>> kind = Attributes()
    >>> broker = Broker("a", kind)
    >>> _ = broker.handle("ann", LinkUp(client=True))
    >>> cheap = Entry(1, kind.parse("price < 10"))
    >>> broker.handle("ann", Change(1, add=(cheap,)))[-1]
    Send(link='ann', message=Acknowledge(seq=1))
    >>> _ = broker.handle("bob", LinkUp(client=True))
    >>> broker.handle("bob", Publish(1, {"price": 5}))  # doctest: +ELLIPSIS
    [Deliver(link='ann', event={'price': 5}, publisher='a/bob', number=1, subscriptions=(1,), ...)]
    """

    _events_of: ClassVar[type[Events]] = Events

    def __init__(
        self,
        name: str,
        kind: Kind,
        policy: Choice | None = None,
        settings: Settings | None = None,
        life: int = 1,
    ) -> None:
        self.name: Final = name
        self.policy: Final = policy or Choice()
        self.kind: Final = kind.keeping(self.policy.index, self.policy.union)
        self.settings: Final = settings or Settings()
        if not (is_number(life) and life):
            raise TidegateError(f"a life is a number from 1 on, not {life!r}")
        self.life = life
        self.work: Final = Work()
        self.tally: Final = Tally()
        pruner = self.kind.pruner() if self.policy.learns else None
        self.notes: Final = Notes(pruner, self.settings.learn)
        above = self.settings.upstream
        failover = None
        if isinstance(above, Parents):
            failover = Failover(name, above, self.settings.patience)
        self.routing: Final = Routing(
            self.kind,
            self.policy,
            self.settings.advertisements,
            self.work,
            pruner,
            weighed=self.settings.memory is not None,
            tally=self.tally,
            passage=above if isinstance(above, Paths) else failover,
        )
        self.ties: Final = Ties(self.routing, failover, self.settings.forget, self._tell_all)
        self._rested = 0  # ticks since filters were pruned last
        self._stirred = False  # whether entries or reports have come since
        self.events: Final = self._events_of(
            name, self.kind, self.policy, self.settings, self.routing, self.notes, self.tally
        )
        self._handlers: dict[type, Callable[[Link, Any], list[Effect]]] = {
            Change: self._changed,
            Advertise: self._changed,
            Publish: self.events.published,
            Batch: self.events.published_many,
            Acknowledge: self._acknowledged,
            Refuse: self._refused,
            Hello: self._greeted,
            Report: self._reported,
            LinkDown: self._went_down,
            Way: self._told_way,
            Farewell: self._left,
        }

    @property
    def suspected(self) -> list[str]:
        """The links that have not acknowledged anything for longer than a neighbour may take."""
        patience = self.settings.patience
        return [x.name for x in self.routing.links.values() if x.stream.waited >= patience]

    def seen(self, publisher: str) -> int:
        """The last number of a publisher, as far as it is known."""
        return self.events.newest(publisher)

    def ripening(self) -> Iterator[None]:
        """Work out what the filters of a restored broker mean, one at each step.

        The first subscription that has to be compared with them would do so for all at once. This
        can be given up at any time, and changes nothing.
        """
        if self.routing.neighbours and self.policy.compares:
            for f in [f for _, f in self.routing.wanted.by_age()]:
                hash(f)
                yield

    def handle(self, link: str, came: Input) -> list[Effect]:
        """What to do about something that came in on a link, in order.

        `Tick` and `Restart` come in on no link, as do batches of several clients: its name is then
        of no matter.
        """
        if isinstance(came, Tick):
            if came.noted is None:
                came = Tick(self.notes.take(due=self._rested + 1 >= self._period))
            return [Persist(link, came), *self._ticked(came)]
        if isinstance(came, Restart):
            return [Persist(link, came), *self._restarted()]
        if isinstance(came, LinkUp):
            return self._came_up(link, came)
        if isinstance(came, Batch) and len(came.links):
            return self._published_by(came)
        known = self.routing.links.get(link)
        if isinstance(came, LinkGone):
            return [] if known is None else [Persist(link, came), *self.ties.gone(link)]
        if isinstance(came, Farewell) and known is None:
            return [Disconnect(link)]  # both sides have left
        if known is None or not known.up:
            return self._refuse_unread(link, came, f"no link of the name {link!r} is up")
        found = None if isinstance(came, LinkDown) else flaw(came)
        if found is not None:
            return self._refuse_unread(link, came, found)
        return self._handlers[type(came)](known, came)

    def _published_by(self, came: Batch) -> list[Effect]:
        """Events of several clients."""
        links = self.routing.links
        for name in RowNames.of(came.links).names:
            if name not in links or not (links[name].up and links[name].client):
                return self._refuse_unread(name, came, f"no client of the name {name!r} is up")
        found = flaw(came)
        if found is not None:
            return self._refuse_unread(came.links[0], came, found)
        return self.events.published_by(came)

    def _refuse_unread(self, link: str, came: Input, reason: str) -> list[Effect]:
        """Refuse what no handler may see: its number is not used up."""
        self.tally.refused += 1
        return [Send(link, Refuse(_seq(came), _number(came), reason))]

    # -- what is wanted, and what is advertised

    def _changed(self, link: Link, came: Change | Advertise) -> list[Effect]:
        place = link.stream.place(came.seq)
        if place is not Place.NEXT:
            self.tally.repeated += 1
            return [Send(link.name, Acknowledge(link.stream.heard))]
        link.stream.hear(came.seq)
        effects: list[Effect] = [Persist(link.name, came)]
        if isinstance(came, Advertise) and not self.settings.advertisements:
            return [*effects, Send(link.name, Acknowledge(came.seq))]
        before = self._before(link, came)
        largest = self.settings.filter_size
        reason = refusal(came, before, self.kind, largest=largest, client=link.client)
        if reason is not None:
            self.tally.refused += 1
            effects.append(Send(link.name, Refuse(came.seq, None, reason)))
        elif isinstance(came, Change):
            self._stirred = True
            wanted = asked(came, before, counted=self.policy.counts)
            self._tell_all(Change, self.routing.want(link.name, wanted), effects)
        else:
            told, pulled = self.routing.offer(link.name, asked(came, before))
            self._tell_all(Advertise, told, effects)
            self._tell(link, Change, pulled, effects)
        effects.append(Send(link.name, Acknowledge(came.seq)))
        return effects

    def _before(self, link: Link, came: Change | Advertise) -> Filters:
        """What the link had, of what the message is about."""
        if isinstance(came, Advertise):
            return self.routing.offered[link.name].filters
        return self.routing.wanted.of(link.name)

    # -- links

    def _came_up(self, name: str, came: LinkUp) -> list[Effect]:
        effects: list[Effect] = [Persist(name, came)]
        link = self.routing.links.get(name)
        self.notes.came_up(name)
        if link is None:
            link = self.routing.add_link(name, came.client)
            self._stirred = True
        elif link.client != came.client:
            self.tally.refused += 1
            known = "client" if link.client else "broker"
            return [Send(name, Refuse(None, None, f"the link {name!r} is to a {known}"))]
        link.up, link.greeted = True, False
        if not link.client:
            effects.append(Send(name, self.ties.hello(link, self.life)))
        else:
            effects += [link.sending(message) for message in link.stream.unacknowledged]
        return effects

    def _went_down(self, link: Link, came: LinkDown) -> list[Effect]:
        link.up = link.greeted = False
        return [Persist(link.name, came)]

    def _greeted(self, link: Link, came: Hello) -> list[Effect]:
        """Send what the neighbour has missed; it is greeted once each time the link comes up."""
        if link.client or link.greeted:
            self.tally.repeated += 1
            return []
        effects: list[Effect] = [Persist(link.name, came)]
        way, parting = self.ties.way, self.ties.unwelcome(link, came)
        if parting is not None:
            return [*effects, *parting]
        link.greeted = True
        afresh = link.stream.greeted(came, self.life)
        # A neighbour that has never heard anything need not be told that there is nothing.
        needless = not came.heard_life and not link.forwards
        missed = link.everything() if afresh and not needless else link.stream.unacknowledged
        missed += link.stream.renumbered()
        effects += [link.sending(message) for message in missed]
        return [*effects, *self.ties.settle(link, way)]

    def _told_way(self, link: Link, came: Way) -> list[Effect]:
        if self.ties.failover is None or not self.ties.failover.above(link.name):
            self.tally.repeated += 1
            return []
        return [Persist(link.name, came), *self.ties.told_way(link, came.names)]

    def _left(self, link: Link, came: Farewell) -> list[Effect]:
        """A neighbour has left: forget it, and close the link."""
        return [Persist(link.name, came), *self.ties.left(link.name), Disconnect(link.name)]

    def _acknowledged(self, link: Link, came: Acknowledge) -> list[Effect]:
        if not link.stream.acknowledged(came.seq):
            self.tally.refused += 1
            return [Send(link.name, Refuse(came.seq, None, "that was never sent"))]
        return [Persist(link.name, came), *self.ties.settle(link, self.ties.way)]

    def _refused(self, link: Link, came: Refuse) -> list[Effect]:
        self.tally.rebuffed += 1
        return []

    # -- time

    def _ticked(self, came: Tick) -> list[Effect]:
        effects: list[Effect] = []
        for link in self.routing.links.values():
            if link.ready:
                effects += [link.sending(message) for message in link.stream.tick()]
        effects += self.ties.tick()
        for link, wanted, offered in self.routing.tick(learned=self._learn(came)):
            self._tell(link, Advertise, offered, effects)
            self._tell(link, Change, wanted, effects)
        for link in self.routing.neighbours:
            report = self._report(link)
            if report is not None:
                effects.append(Send(link.name, report))
        self.notes.ticked()
        return effects

    @property
    def _period(self) -> int:
        """Ticks between one time that filters are pruned and the next."""
        return self.policy.period or _PERIOD

    def _learn(self, came: Tick) -> bool:
        """Take in what was noted; whether it is time to prune filters by it."""
        self._rested += 1
        pruner = self.notes.pruner
        summary, reports = (None, {}) if came.noted is None else came.noted
        for name, told in reports.items():
            if name in self.routing.links:  # else it has left
                self.routing.links[name].report = Report(*told)
                self._stirred = True
        if pruner is None:
            return False
        if summary is not None:
            pruner.learn(summary)
        elif not (pruner.knows and self._stirred and self._rested >= self._period):
            return False
        self._rested, self._stirred = 0, False
        return True

    # -- how this broker and its neighbours fare

    def _report(self, link: Link) -> Report | None:
        """What a neighbour is told of how this broker fares, if that is new."""
        if not link.ready or self.notes.pruner is None:
            return None
        limits, table = self.settings, self.routing.wanted
        memory = None if limits.memory is None else _in_use(table.bytes, limits.memory)
        came = self.notes.heard(link.name)
        bandwidth = None if limits.bandwidth is None else _in_use(came, limits.bandwidth)
        share = self.routing.share if self.policy.agreed else None
        return self.notes.tell(link.name, memory, bandwidth, share)

    def _reported(self, link: Link, came: Report) -> list[Effect]:
        """Keep a neighbour's newest report until the next tick."""
        if link.client:
            self.tally.refused += 1
            return [Send(link.name, Refuse(None, None, "only brokers report how they fare"))]
        if not self.notes.reported(link.name, came):
            self.tally.repeated += 1
        return []

    def _restarted(self) -> list[Effect]:
        for link in self.routing.links.values():
            link.up = link.greeted = False
        if self.ties.failover is not None:
            self.ties.failover.restarted()
        return []

    # -- what is told to neighbours

    def _tell_all(
        self,
        message: type[Change] | type[Advertise],
        differences: dict[str, Difference],
        effects: list[Effect],
    ) -> None:
        for name, difference in differences.items():
            self._tell(self.routing.links[name], message, difference, effects)

    def _tell(
        self,
        link: Link,
        message: type[Change] | type[Advertise],
        difference: Difference,
        effects: list[Effect],
    ) -> None:
        told = link.tell(message, difference)
        if told is not None and link.ready:
            effects.append(Send(link.name, told))

    # -- memory

    def snapshot(self) -> Plain:
        """The state as plain data."""
        return {
            "format": FORMAT,
            "name": self.name,
            "kind": self.kind.name,
            "life": self.life,
            "work": list(astuple(self.work)),
            "tally": list(astuple(self.tally)),
            "seen": self.events.state(),
            "above": None if self.ties.failover is None else self.ties.failover.state(),
            "rested": [self._rested, self._stirred],
            "learned": None if self.notes.pruner is None else self.notes.pruner.learned,
            "noticed": self.notes.state(),
            **self.routing.state(),
        }

    @classmethod
    def restore(
        cls,
        snapshot: Plain,
        kind: Kind,
        policy: Choice | None = None,
        settings: Settings | None = None,
    ) -> "Broker":
        """A broker with the same future as the one that the snapshot was taken of."""
        if snapshot["format"] != FORMAT or snapshot["kind"] != kind.name:
            raise TidegateError("the snapshot is of another format, or of another kind of filters")
        broker = cls(snapshot["name"], kind, policy, settings, snapshot["life"])
        if broker.notes.pruner is not None and snapshot["learned"] is not None:
            broker.notes.pruner.learn(snapshot["learned"])
        if broker.ties.failover is not None and snapshot["above"] is not None:
            broker.ties.failover.restore(snapshot["above"])
        broker.routing.restore(snapshot)
        broker.notes.restore(snapshot["noticed"])
        broker._rested, broker._stirred = snapshot["rested"]
        broker.events.restore(snapshot["seen"])
        for counts, was in ((broker.work, snapshot["work"]), (broker.tally, snapshot["tally"])):
            for field, count in zip(fields(counts), was, strict=True):
                setattr(counts, field.name, count)
        return broker


def _in_use(used: int, limit: int) -> float:
    """The share of a limit that is in use, in hundredths: smaller changes are no news."""
    return min(1.0, round(used / limit, 2))


def _seq(came: Input) -> int | None:
    if isinstance(came, Change | Advertise | Acknowledge) and is_number(came.seq):
        return came.seq
    return None


def _number(came: Input) -> int | None:
    return came.number if isinstance(came, Publish) and is_number(came.number) else None

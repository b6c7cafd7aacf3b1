"""A world with clients whose subscriptions move, and what holds for them.

Beside the clients of `world`, who act at their broker at once, brokers have **movers**: clients of
the overlay's own class, each at the end of a link with any delay. They have variables, several
subscriptions may refer to one, and filters change in constants and in structure. Which filter is in
force is known here without them: from the texts and the values that the history has set.

A version of a subscription is in force at its client from the moment of the change. A marker leaves
the client behind the messages that tell it; where that arrives, the version is in place, as in
`world`. So, with `now` counting steps, and time being measured by that:

- an event is *owed* if it matches the version in place at its publisher's broker when it is
  published, and all later ones up to that in force at the client when it arrives: it is handed on
  exactly once;
- **strictness** (Jayaram, Jayalath and Eugster, Middleware 2010, section 3.3): of a subscription
  that has not changed since t_0, no event published at t_s or later is handed on that it rejects.
  The client filters at the last instant, so t_s = t_0;
- **coverage**: an event published at t_c or later that it wants is handed on. t_c is not later than
  the arrival of the last version's marker at the publisher's broker or, with advertisements, of the
  first one sent when that of the event was known;
- **order**: effects of changes become visible in the order of the changes: where the marker of a
  version arrives at the subscriber's broker, that has this version and no other one; and an event
  is handed on under the last version that the history has set.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tests.overlay.world import (
    EventMark,
    Make,
    Mark,
    Published,
    Subscription,
    SubscriptionMark,
    World,
)
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.client import Client
from tidegate.overlay.conversation import Told
from tidegate.overlay.messages import Deliver, LinkUp, Message, Send
from tidegate.overlay.patterns import Patterns
from tidegate.overlay.policy import Choice
from tidegate.overlay.several import Several
from tidegate.overlay.variable import Variable

MovingKind: TypeAlias = Attributes | Patterns | Several
"""Kinds that read texts with parameters."""


@dataclass(eq=False)
class Moving(Subscription):
    """A subscription of a mover: what it says, and where its versions are."""

    text: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)  # values, and variables
    at_home: int = -1  # the version that its broker has
    since: int = 0  # the step of the last change
    arrived: dict[str, int] = field(default_factory=dict)  # when its marker came to a broker


@dataclass(frozen=True, eq=False)
class VersionMark:
    subscription: Moving
    version: int


@dataclass(frozen=True)
class Moments:
    """How long strictness and coverage took, in steps, and how long coverage might have taken."""

    strict: int
    covered: int
    in_place: int


class Line:
    """The wire of a mover: what it says waits in its queue."""

    def __init__(self, queue: "deque[Any]") -> None:
        self._queue = queue

    def send(self, message: Told, /) -> None:
        self._queue.append(message)


class MovingWorld(World):
    """Brokers on a tree, with one mover at each."""

    kind: MovingKind

    def __init__(
        self,
        kind: MovingKind,
        choice: Choice,
        parents: Sequence[int],
        *,
        advertisements: bool,
        updates: str,
        make: Make = Broker,
        client: type[Client] = Client,
    ) -> None:
        self.updates: Final = updates
        self.now = 0
        self.wide = False  # whether more may be told than what is in force
        self.movers: dict[str, Client] = {}
        self.values: dict[Variable, Any] = {}
        self.published: list[tuple[int, Published]] = []
        super().__init__(kind, choice, parents, advertisements=advertisements, make=make)
        for broker in self.brokers:
            name = f"{broker}.m"
            self.home[name] = broker
            self.queues[name, broker] = deque()
            self.queues[broker, name] = deque()
            self.movers[name] = client(name, Line(self.queues[name, broker]), kind, updates)
            self._handle(broker, name, LinkUp(client=True))

    # -- what movers do

    def variable(self, mover: str, value: Any, **options: int) -> Variable:
        made = self.movers[mover].variable(value, **options)
        self.wide |= made.trail is not None
        self.values[made] = value
        return made

    def want(self, mover: str, text: str, given: Mapping[str, Any]) -> Moving:
        own = self.movers[mover].subscribe(text, **given)
        made = Moving(mover, own, [], text=text, given=given)
        self.subscriptions.append(made)
        self._follow(mover)
        return made

    def change(self, moving: Moving, text: str, given: Mapping[str, Any]) -> None:
        self.movers[moving.client].change(moving.id, text, **given)
        moving.text, moving.given = text, given
        self._follow(moving.client)

    def set_all(self, mover: str, values: Mapping[Variable, Any]) -> None:
        """Set one variable, or several together."""
        self.values.update(values)
        with self.movers[mover].together():
            for variable, value in values.items():
                variable.set(value)
        self._follow(mover)

    def leave(self, moving: Moving) -> None:
        moving.cancelled = True
        self.movers[moving.client].cancel(moving.id)

    def cancel(self, subscription: Subscription) -> None:
        if isinstance(subscription, Moving):
            self.leave(subscription)
        else:
            super().cancel(subscription)

    def moving(self) -> list[Moving]:
        return [s for s in self.standing() if isinstance(s, Moving)]

    def expected(self, moving: Moving) -> Any:
        """The filter in force, by what the history has set."""
        given = {
            name: self.values[x] if isinstance(x, Variable) else x
            for name, x in moving.given.items()
        }
        return self.kind.parse(moving.text, **given)

    def _follow(self, mover: str) -> None:
        """Note the versions that an action has made, and mark them."""
        for moving in self.moving():
            f = self.expected(moving)
            if moving.client == mover and (not moving.versions or moving.versions[-1] != f):
                moving.versions.append(f)
                moving.since, moving.arrived = self.now, {}
                mark: Any = VersionMark(moving, len(moving.versions) - 1)
                self.queues[mover, self.home[mover]].append(mark)

    # -- what the network does

    def publish(self, client: str, event: Any) -> Published | None:
        self.now += 1
        published = super().publish(client, event)
        if published is not None:
            self.published.append((self.now, published))
        return published

    def _move(self, sender: str, receiver: str) -> None:
        self.now += 1
        if receiver in self.movers:
            self._reach(receiver, self.queues[sender, receiver].popleft())
        elif sender in self.movers and isinstance(self.queues[sender, receiver][0], VersionMark):
            self._come_home(receiver, self.queues[sender, receiver].popleft())
        else:
            super()._move(sender, receiver)

    def _sent(self, broker: str, effect: Send) -> None:
        if effect.link in self.movers:
            self.queues[broker, effect.link].append(effect.message)
        super()._sent(broker, effect)

    def _come_home(self, broker: str, mark: Any) -> None:
        moving: Moving = mark.subscription
        assert moving.at_home < mark.version, "a change overtook another one"
        moving.at_home = mark.version
        if self.updates == "parametric" and not moving.cancelled and not self.wide:
            had = self.brokers[broker].routing.wanted.of(moving.client).values()
            assert moving.versions[mark.version] in had, "the broker has another version"
        known = frozenset(self.known[broker])
        self._arrived(broker, None, SubscriptionMark(moving, mark.version, known))

    def _mark_subscription(self, subscription: Subscription) -> None:
        if not isinstance(subscription, Moving):
            super()._mark_subscription(subscription)
        elif subscription.at_home >= 0:
            home = self.home[subscription.client]
            known = frozenset(self.known[home])
            self._arrived(home, None, SubscriptionMark(subscription, subscription.at_home, known))

    def _arrived(self, broker: str, sender: str | None, mark: Mark) -> None:
        super()._arrived(broker, sender, mark)
        if isinstance(mark, EventMark):
            for mover in self.movers:
                if self.home[mover] == broker:
                    self.queues[broker, mover].append(mark)
        elif isinstance(mark, SubscriptionMark) and isinstance(mark.subscription, Moving):
            moving = mark.subscription
            if mark.version == len(moving.versions) - 1:
                moving.arrived.setdefault(broker, self.now)

    # -- the contract

    def _delivered(self, broker: str, effect: Deliver) -> None:
        if effect.link not in self.movers:
            super()._delivered(broker, effect)
            return
        entries = self.brokers[broker].routing.wanted.of(effect.link)
        for entry in effect.subscriptions:
            assert entries[entry].matches(effect.event), "a broker delivers what it was asked for"
        item: Any = effect
        self.queues[broker, effect.link].append(item)

    def _settle_account(self, broker: str, published: Published) -> None:
        own = {s: v for s, v in published.owed.items() if not isinstance(s, Moving)}
        super()._settle_account(
            broker, Published(published.client, published.event, own, published.delivered)
        )

    def _reach(self, mover: str, item: Any) -> None:
        """Something arrives at a mover."""
        if isinstance(item, Deliver):
            self._receive(mover, item)
        elif isinstance(item, EventMark):
            self._settle_mover(mover, item.published)
        else:
            message: Message = item
            self.movers[mover].hear(message)

    def _receive(self, mover: str, came: Deliver) -> None:
        published = self.underway[came.publisher, came.number]
        owns = self.movers[mover].receive(came.event, came.subscriptions)
        assert len(set(owns)) == len(owns)
        for own in owns:
            (moving,) = (s for s in self.moving() if s.client == mover and s.id == own)
            current = moving.versions[-1]
            assert current.matches(came.event), f"{came.event} is not wanted by {current} any more"
            assert moving not in published.delivered, f"{came.event} was handed on again"
            published.delivered[moving] = self.now
            assert self.movers[mover].wanted[own] == current, "an effect of another version"

    def _settle_mover(self, mover: str, published: Published) -> None:
        for moving, version in published.owed.items():
            if not isinstance(moving, Moving) or moving.client != mover or moving.cancelled:
                continue
            if all(f.matches(published.event) for f in moving.versions[version:]):
                assert moving in published.delivered, f"{published.event} is missed by {moving}"

    def _survivors(self, behind: set[str]) -> list[Any]:
        plain = [s for s in self.standing() if not isinstance(s, Moving)]
        told = [
            f
            for name, each in self.movers.items()
            if self.home[name] in behind
            for f in each.told.values()
        ]
        return [s.versions[-1] for s in plain if self.home[s.client] in behind] + told

    def moments(self) -> list[Moments]:
        """Strictness and coverage of all subscriptions since their last change, all being quiet."""
        return [self._moments(moving) for moving in self.moving()]

    def _moments(self, moving: Moving) -> Moments:
        start, f, last = moving.since, moving.versions[-1], len(moving.versions) - 1
        strict = covered = start
        for at, published in self.published:
            handed = published.delivered.get(moving)
            if at < start:
                continue
            if handed is not None and handed >= start and not f.matches(published.event):
                strict = at + 1
            if handed is None and f.matches(published.event):
                assert published.owed.get(moving) != last, "missed when it was covered"
                covered = at + 1
        assert strict == start, "an event was handed on that has not been wanted since"
        in_place = max(moving.arrived.values(), default=start)
        return Moments(strict - start, covered - start, in_place - start)

"""A network of brokers on FIFO links of any delay, and the contract that holds for it.

A `World` has a broker at each node of a tree. Messages wait in one queue for each direction of each
link; which queue moves next is up to the history, so delays are arbitrary and FIFO. Clients act at
their broker at once.

Beside messages, the queues carry **markers**, which no broker sees: a marker leaves a broker behind
all that the broker has sent, and is relayed to all other links on arrival.

- One for a subscription (in its newest version) leaves its broker when that is accepted and, with
  advertisements, again whenever a mark of an advertisement arrives there. A subscription is *in
  place* for a publisher from the arrival, at the publisher's broker, of a marker that was sent
  after its broker knew the publisher's advertisement.
- One for an advertisement leaves its publisher's broker with it. Where it arrives, the
  advertisement is known, whether or not another one stands for it.
- One for an event goes behind it. Where it arrives, the event has arrived or never will.

So no clock is needed to say what is owed: (a) an event matching a version that was in place when
the event was published, and every later version up to the event's arrival, is delivered to it once,
unless it was cancelled before; (b) nothing is delivered that the subscription's filter rejects. (c)
follows. (d) is checked when nothing is under way.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.overlay.counting import check_counts
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Kind
from tidegate.overlay.messages import (
    Advertise,
    Change,
    Deliver,
    Effect,
    Entry,
    LinkUp,
    Message,
    Persist,
    Publish,
    Refuse,
    Send,
    Tick,
)
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings

Make = Callable[[str, Kind, Choice, Settings], Broker]
PREDICATE_WISE = ("mbd", "counting")


@dataclass(eq=False)
class Subscription:
    """A subscription of a client, with all versions of its filter."""

    client: str
    id: int
    versions: list[Any]
    cancelled: bool = False


@dataclass(eq=False)
class Advertisement:
    """An advertisement of a client."""

    client: str
    id: int
    filter: Any
    withdrawn: bool = False


@dataclass(eq=False)
class Published:
    """An event under way, and which version of which subscription it is owed to."""

    client: str
    event: Any
    owed: dict[Subscription, int]
    delivered: dict[Subscription, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SubscriptionMark:
    subscription: Subscription
    version: int
    known: frozenset[Advertisement]


@dataclass(frozen=True, eq=False)
class AdvertisementMark:
    advertisement: Advertisement


@dataclass(frozen=True, eq=False)
class EventMark:
    published: Published


Mark = SubscriptionMark | AdvertisementMark | EventMark


class World:
    """Brokers on a tree: node i > 0 is linked to `parents[i - 1]`. Two clients at each broker."""

    def __init__(
        self,
        kind: Kind,
        choice: Choice,
        parents: Sequence[int],
        *,
        advertisements: bool,
        make: Make = Broker,
    ) -> None:
        self.kind, self.choice, self.make = kind, choice, make
        self.settings = Settings(advertisements=advertisements, learn=1, memory=200, bandwidth=4)
        self.advertisements = advertisements
        names = [f"b{i}" for i in range(len(parents) + 1)]
        self.neighbours: dict[str, list[str]] = {name: [] for name in names}
        for i, parent in enumerate(parents, start=1):
            self.neighbours[names[i]].append(names[parent])
            self.neighbours[names[parent]].append(names[i])
        self.brokers = {name: make(name, kind, choice, self.settings) for name in names}
        self.queues: dict[tuple[str, str], deque[Message | Mark]] = {
            (one, other): deque() for one in names for other in self.neighbours[one]
        }
        self.clients = [f"{name}.{i}" for name in names for i in range(2)]
        self.home = {client: client.partition(".")[0] for client in self.clients}
        self.subscriptions: list[Subscription] = []
        self.offers: list[Advertisement] = []
        self.in_place: dict[str, list[SubscriptionMark]] = {name: [] for name in names}
        self.known: dict[str, set[Advertisement]] = {name: set() for name in names}
        self.underway: dict[tuple[str, int], Published] = {}
        self.crossed: set[tuple[str, int, frozenset[str]]] = set()
        self.vain = 0
        self.forwarded = 0
        self.seqs = dict.fromkeys(self.clients, 0)
        self.numbers = dict.fromkeys(self.clients, 0)
        self.refusals: list[Refuse] = []
        self.effects: list[tuple[str, Effect]] = []
        for one, other in self.queues:
            self._handle(one, other, LinkUp(client=False))
        for client in self.clients:
            self._handle(self.home[client], client, LinkUp(client=True))
        self.settle()

    # -- what clients do

    def subscribe(self, client: str, f: Any) -> Subscription:
        made = Subscription(client, len(self.subscriptions) + 1, [f])
        self.subscriptions.append(made)
        self._tell(client, Change(self._seq(client), add=(Entry(made.id, f),)))
        self._mark_subscription(made)
        return made

    def update(self, subscription: Subscription, f: Any) -> None:
        subscription.versions.append(f)
        entry = Entry(subscription.id, f)
        before = len(self.refusals)
        self._tell(subscription.client, Change(self._seq(subscription.client), update=(entry,)))
        assert len(self.refusals) == before
        self._mark_subscription(subscription)

    def cancel(self, subscription: Subscription) -> None:
        subscription.cancelled = True
        client = subscription.client
        self._tell(client, Change(self._seq(client), remove=(subscription.id,)))

    def advertise(self, client: str, f: Any) -> Advertisement:
        made = Advertisement(client, len(self.offers) + 1, f)
        self.offers.append(made)
        self._tell(client, Advertise(self._seq(client), add=(Entry(made.id, f),)))
        self._arrived(self.home[client], None, AdvertisementMark(made))
        return made

    def unadvertise(self, advertisement: Advertisement) -> None:
        advertisement.withdrawn = True
        client = advertisement.client
        self._tell(client, Advertise(self._seq(client), remove=(advertisement.id,)))

    def publish(self, client: str, event: Any) -> Published | None:
        """Publish an event; None if it was refused, as it has to be."""
        home = self.home[client]
        self.numbers[client] += 1
        published = Published(client, event, self._owed(client, event))
        self.underway[f"{home}/{client}", self.numbers[client]] = published
        before = len(self.refusals)
        self._tell(client, Publish(self.numbers[client], event))
        allowed = not self.advertisements or bool(self._advertised(client, event))
        assert (len(self.refusals) == before) == allowed
        if not allowed:
            assert not published.delivered
            return None
        self._arrived(home, None, EventMark(published))
        return published

    def tick(self, broker: str) -> None:
        self._handle(broker, "", Tick())

    # -- what the network does

    def move(self, pick: int) -> str | None:
        """Let the head of one queue arrive; where, or None if nothing is under way."""
        waiting = [link for link, queue in self.queues.items() if queue]
        if not waiting:
            return None
        sender, receiver = waiting[pick % len(waiting)]
        self._move(sender, receiver)
        return receiver

    def settle(self) -> None:
        """Let everything arrive."""
        while self.move(0) is not None:
            pass

    def _move(self, sender: str, receiver: str) -> None:
        item = self.queues[sender, receiver].popleft()
        if isinstance(item, Mark):
            self._arrived(receiver, sender, item)
        else:
            self._handle(receiver, sender, item)

    def _handle(self, broker: str, link: str, came: Any) -> None:
        effects = self.brokers[broker].handle(link, came)
        self.effects += [(broker, effect) for effect in effects]
        onward = 0
        for effect in effects:
            if isinstance(effect, Send):
                onward += isinstance(effect.message, Publish)
                self._sent(broker, effect)
            elif isinstance(effect, Deliver):
                onward += 1
                self._delivered(broker, effect)
            else:
                assert isinstance(effect, Persist)
        if isinstance(came, Publish) and link in self.neighbours[broker]:
            self.forwarded += 1
            self.vain += not onward

    def _sent(self, broker: str, effect: Send) -> None:
        if effect.link in self.neighbours[broker]:
            if isinstance(effect.message, Publish):
                self._cross(effect.message, frozenset((broker, effect.link)))
            self.queues[broker, effect.link].append(effect.message)
        elif isinstance(effect.message, Refuse):
            self.refusals.append(effect.message)

    def _cross(self, event: Publish, link: frozenset[str]) -> None:
        crossing = event.publisher, event.number, link
        assert crossing not in self.crossed, f"{event} crosses a link again"
        self.crossed.add(crossing)

    def _tell(self, client: str, message: Message) -> None:
        self._handle(self.home[client], client, message)

    def _seq(self, client: str) -> int:
        self.seqs[client] += 1
        return self.seqs[client]

    # -- markers

    def _mark_subscription(self, subscription: Subscription) -> None:
        home = self.home[subscription.client]
        version = len(subscription.versions) - 1
        mark = SubscriptionMark(subscription, version, frozenset(self.known[home]))
        self._arrived(home, None, mark)

    def _arrived(self, broker: str, sender: str | None, mark: Mark) -> None:
        for neighbour in self.neighbours[broker]:
            if neighbour != sender:
                self.queues[broker, neighbour].append(mark)
        if isinstance(mark, SubscriptionMark):
            self.in_place[broker].append(mark)
        elif isinstance(mark, AdvertisementMark):
            self.known[broker].add(mark.advertisement)
            for each in self.subscriptions:
                if self.home[each.client] == broker and not each.cancelled:
                    self._mark_subscription(each)
        else:
            self._settle_account(broker, mark.published)

    # -- the contract

    def _advertised(self, client: str, event: Any) -> list[Advertisement]:
        return [
            offer
            for offer in self.offers
            if offer.client == client and not offer.withdrawn and offer.filter.matches(event)
        ]

    def _owed(self, client: str, event: Any) -> dict[Subscription, int]:
        """The newest version of each subscription that is in place for an event of a client."""
        offers = set(self._advertised(client, event))
        owed: dict[Subscription, int] = {}
        for mark in self.in_place[self.home[client]]:
            if mark.subscription.cancelled or (self.advertisements and not mark.known & offers):
                continue
            owed[mark.subscription] = max(mark.version, owed.get(mark.subscription, 0))
        return owed

    def _delivered(self, broker: str, effect: Deliver) -> None:
        """(b), and never twice."""
        published = self.underway[effect.publisher, effect.number]
        assert effect.event == published.event
        assert len(set(effect.subscriptions)) == len(effect.subscriptions)
        for own in effect.subscriptions:
            known = (s for s in self.subscriptions if s.client in self.clients)
            (subscription,) = (s for s in known if s.id == own)
            assert subscription.client == effect.link, "an event for somebody else"
            assert not subscription.cancelled, "an event for a subscription that was cancelled"
            current = subscription.versions[-1]
            assert current.matches(effect.event), f"{effect.event} was not wanted by {current}"
            count = published.delivered.get(subscription, 0) + 1
            assert count == 1, f"{effect.event} was delivered again for {current}"
            published.delivered[subscription] = count

    def _settle_account(self, broker: str, published: Published) -> None:
        """(a), at a broker where an event has arrived or never will."""
        for subscription, version in published.owed.items():
            if self.home[subscription.client] != broker or subscription.cancelled:
                continue
            versions = subscription.versions[version:]
            if all(f.matches(published.event) for f in versions):
                assert published.delivered.get(subscription) == 1, (
                    f"{published.event} of {published.client} is missed by {subscription}"
                )

    def standing(self) -> list[Subscription]:
        return [s for s in self.subscriptions if not s.cancelled]

    def check_quiet(self, events: Iterable[Any], *, exact: bool = True) -> None:
        """(d), with nothing under way."""
        assert not any(self.queues.values())
        for receiver, others in self.neighbours.items():
            for sender in others:
                self._check_link(sender, receiver, list(events))
        for name, broker in self.brokers.items():
            for link in broker.routing.links.values():
                assert link.client or not link.stream.unacknowledged
                if not link.client:
                    self._check_forwarded(name, link.name)
        if self.choice.counts:
            check_counts(self)
        asked = list(events)
        asked = asked[:: max(1, len(asked) // 8)]
        before, vain = self.forwarded, self.vain
        for client in self.clients[:: max(1, len(self.clients) // 3)]:
            for event in asked:
                published = self.publish(client, event)
                self.settle()
                if published is not None:
                    wanting = {s for s in self.standing() if s.versions[-1].matches(event)}
                    assert set(published.delivered) == wanting
        if exact and not self.choice.floods:
            assert self.vain == vain, f"of {self.forwarded - before}, some were in vain"

    def _check_link(self, sender: str, receiver: str, events: list[Any]) -> None:
        """What stands at the receiver covers the survivors behind the sender, and no entry more."""
        entries = self.brokers[receiver].routing.wanted.of(sender)
        behind = self._side(sender, receiver)
        survivors = self._survivors(behind)
        if self.choice.floods:
            assert not entries
            return
        offers = [
            offer.filter
            for offer in self.offers
            if not offer.withdrawn and self.home[offer.client] not in behind
        ]
        for event in events:
            if self.advertisements and not any(offer.matches(event) for offer in offers):
                continue
            if any(f.matches(event) for f in survivors):
                assert any(f.matches(event) for f in entries.values()), "a survivor is not covered"
        # What a wider filter adds may be advertised where nothing is that its members want,
        # and structures that compare predicates one by one take more to overlap than does.
        outward = self.choice.widens or self.choice.index in PREDICATE_WISE
        anywhere = not self.advertisements or outward
        wanted = [f for f in survivors if anywhere or any(offer.overlaps(f) for offer in offers)]
        for entry in entries.values():
            assert any(entry.covers(f) for f in wanted), f"{entry} covers nobody behind {sender}"

    def _survivors(self, behind: set[str]) -> list[Any]:
        """The filters that stand at some brokers."""
        return [s.versions[-1] for s in self.standing() if self.home[s.client] in behind]

    def _check_forwarded(self, broker: str, neighbour: str) -> None:
        """Both ends of a link know the same."""
        link = self.brokers[broker].routing.links[neighbour]
        other = self.brokers[neighbour].routing
        assert dict(link.wanted.active) == other.wanted.of(broker)
        assert dict(link.offered.active) == other.offered[broker].filters

    def _side(self, start: str, without: str) -> set[str]:
        """The brokers on one side of a link."""
        found = {start, without}
        todo = [start]
        while todo:
            fresh = [each for each in self.neighbours[todo.pop()] if each not in found]
            found.update(fresh)
            todo += fresh
        return found - {without}

    def check_empty(self) -> None:
        """Nothing is left once everyone has cancelled."""
        for broker in self.brokers.values():
            assert not len(broker.routing.wanted)
            for link in broker.routing.links.values():
                assert not link.wanted.active
                assert not link.wanted.passive

    # -- memory

    def forget_and_remember(self, broker: str) -> None:
        """Put in the place of a broker one that was restored from its snapshot."""
        old = self.brokers[broker]
        snapshot = json.loads(json.dumps(old.snapshot()))
        self.brokers[broker] = type(old).restore(snapshot, self.kind, self.choice, self.settings)

"""A network whose links go down and whose brokers stop, and what is owed in it.

What is under way on a link is lost when the link is cut. A broker that stops loses all its links;
it comes back with its memory, that is a snapshot and what was written down since, or in another
life without any, where its clients say again what they want.

Between a cut and the next time that all links are up and nothing is under way, no delivery is owed:
(a) of the contract is suspended. Then everything is in place again, and all of it holds.
"""

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.overlay.histories import NUMBER, WHAT, Action, Pool, act, finish
from tests.overlay.world import Mark, Subscription, SubscriptionMark, World
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import (
    Advertise,
    Change,
    Entry,
    LinkDown,
    LinkUp,
    Persist,
    Restart,
    Send,
)
from tidegate.overlay.policy import Choice

FAILURES = ["cut"] * 3 + ["mend"] * 2 + ["restart", "save", "lose memory"]
FAILING_ACTIONS = st.lists(
    st.tuples(WHAT | st.sampled_from(FAILURES), NUMBER, NUMBER, NUMBER), min_size=10, max_size=45
)


class FailingWorld(World):
    """A world with links that can be cut, and brokers that can stop."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self.cuts: set[frozenset[str]] = set()
        self.owing = True
        super().__init__(*args, **named)
        self.saved: dict[str, tuple[str, int]] = {}
        for broker in self.brokers:
            self.save(broker)

    # -- failures

    def cut(self, one: str, other: str) -> None:
        """Take a link down; what is under way on it is lost."""
        if frozenset((one, other)) in self.cuts:
            return
        self.cuts.add(frozenset((one, other)))
        self.owing = False
        for published in self.underway.values():
            published.owed.clear()
        for here, there in ((one, other), (other, one)):
            self.queues[here, there].clear()
            self._handle(here, there, LinkDown())

    def mend(self, one: str, other: str) -> None:
        """Bring a link up."""
        if frozenset((one, other)) in self.cuts:
            self.cuts.remove(frozenset((one, other)))
            self._handle(one, other, LinkUp(client=False))
            self._handle(other, one, LinkUp(client=False))

    def mend_all(self) -> None:
        for one, other in map(sorted, sorted(self.cuts, key=sorted)):
            self.mend(one, other)

    def save(self, broker: str) -> None:
        """Write a snapshot: what was written down before is not needed any more."""
        self.saved[broker] = json.dumps(self.brokers[broker].snapshot()), len(self.effects)

    def remembered(self, broker: str) -> Broker:
        """A broker made of the last snapshot and what was written down since."""
        snapshot, since = self.saved[broker]
        found = Broker.restore(json.loads(snapshot), self.kind, self.choice, self.settings)
        for name, effect in self.effects[since:]:
            if name == broker and isinstance(effect, Persist):
                found.handle(effect.link, effect.input)
        return found

    def restart(self, broker: str) -> None:
        """Stop a broker, and start it again with its memory."""
        self._stop(broker)
        self.brokers[broker] = self.remembered(broker)
        self._handle(broker, "", Restart())
        self._start(broker)

    def lose_memory(self, broker: str) -> None:
        """Stop a broker, and start it again without any memory."""
        self._stop(broker)
        life = self.brokers[broker].life + 1
        self.brokers[broker] = Broker(broker, self.kind, self.choice, self.settings, life)
        self.save(broker)
        self._start(broker)
        for client in self.clients:
            if self.home[client] == broker:
                self.seqs[client] = 0
                self._say_again(client)

    def _stop(self, broker: str) -> None:
        for neighbour in self.neighbours[broker]:
            self.cut(broker, neighbour)

    def _start(self, broker: str) -> None:
        for client in self.clients:
            if self.home[client] == broker:
                self._handle(broker, client, LinkUp(client=True))
        for neighbour in self.neighbours[broker]:
            self.mend(broker, neighbour)

    def _say_again(self, client: str) -> None:
        wanted = tuple(Entry(s.id, s.versions[-1]) for s in self.standing() if s.client == client)
        offered = tuple(
            Entry(o.id, o.filter) for o in self.offers if o.client == client and not o.withdrawn
        )
        if offered:
            self._tell(client, Advertise(self._seq(client), add=offered))
        if wanted:
            self._tell(client, Change(self._seq(client), add=wanted))

    # -- the contract

    def settle(self) -> None:
        """Let everything arrive; if nothing is cut, all that stands is in place after that."""
        super().settle()
        if self.cuts or self.owing:
            return
        self.owing = True
        offers = frozenset(offer for offer in self.offers if not offer.withdrawn)
        for broker in self.brokers:
            self.known[broker] = set(offers)
            self.in_place[broker] = [
                SubscriptionMark(each, len(each.versions) - 1, offers) for each in self.standing()
            ]

    def _owed(self, client: str, event: Any) -> dict[Subscription, int]:
        return super()._owed(client, event) if self.owing else {}

    def _sent(self, broker: str, effect: Send) -> None:
        assert frozenset((broker, effect.link)) not in self.cuts, "a message on a link that is down"
        super()._sent(broker, effect)

    def _arrived(self, broker: str, sender: str | None, mark: Mark) -> None:
        super()._arrived(broker, sender, mark)
        for neighbour in self.neighbours[broker]:
            if frozenset((broker, neighbour)) in self.cuts:
                self.queues[broker, neighbour].clear()


def fail(world: FailingWorld, pool: Pool, action: Action) -> None:
    """Let one thing happen, or one thing fail."""
    what, a, b, _ = action
    links = list(world.queues)
    broker = list(world.brokers)[a % len(world.brokers)]
    if what == "cut" and links:
        world.cut(*links[a % len(links)])
    elif what == "mend" and world.cuts:
        cuts = sorted(map(sorted, world.cuts))
        world.mend(*cuts[b % len(cuts)])
    elif what == "restart":
        world.restart(broker)
    elif what == "save":
        world.save(broker)
    elif what == "lose memory":
        world.lose_memory(broker)
    else:
        act(world, pool, action)


def state(broker: Broker, *without: str) -> dict[str, Any]:
    """A broker's snapshot without some of it."""
    found = json.loads(json.dumps(broker.snapshot()))
    return {name: part for name, part in found.items() if name not in without}


def states(world: World, *without: str) -> dict[str, Any]:
    return {name: state(broker, *without) for name, broker in world.brokers.items()}


def begin(make: type[World], own: Pool, choice: Choice, parents: list[int], offers: bool) -> Any:
    world = make(own.kind, choice, parents, advertisements=offers)
    if offers:
        world.advertise(world.clients[0], own.filter(9, 0))
    return world


def live_twice(
    own: Pool,
    choice: Choice,
    parents: list[int],
    actions: list[Action],
    *,
    offers: bool,
    seed: int,
) -> None:
    """Two worlds with the same history; in one, brokers are restored again and again."""
    rng = Random(seed)
    one, other = (begin(FailingWorld, own, choice, parents, offers) for _ in range(2))
    for action in actions:
        fail(one, own, action)
        fail(other, own, action)
        if rng.random() < 0.3:
            one.tick("b0")
            other.tick("b0")
        assert other.effects == one.effects
        for broker in other.brokers:
            if rng.random() < 0.5:
                other.forget_and_remember(broker)
    assert states(other) == states(one)
    other.mend_all()
    finish(other, own)

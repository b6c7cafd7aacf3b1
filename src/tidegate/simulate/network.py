"""What happens in a whole network?

**Theory of operation.** A network is brokers, each with a queue (`node`), lanes between them
(`link`) and clients, on one `clock`; `service` says how it moves. A client sits beside its broker:
what it says is in the queue `client_delay` later, and what it gets takes as long. A link is up when
both brokers run and it is not cut; both sides are told so by `LinkUp` and `LinkDown`, in their
queues. A broker that has not yet taken up a `LinkUp` still writes to the link that was before, and
that is lost.

All is deterministic: a network that is told the same things does the same.

**Memory.** Brokers and clients take what stands, however long they run. Two records grow with time,
for the report and for the oracle: the delay of each delivery (8 bytes, `Service.delays`) and, with
advertisements, two numbers for each change of an advertisement at each broker (`Spread`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, fields, replace
from functools import partial
from typing import Any, Final, TypeAlias

from tidegate.errors import TidegateError
from tidegate.overlay.broker import Broker
from tidegate.overlay.client import Client
from tidegate.overlay.conversation import Told
from tidegate.overlay.filter import Event, Kind
from tidegate.overlay.messages import (
    Connect,
    Disconnect,
    Input,
    LinkDown,
    LinkGone,
    LinkUp,
    Publish,
    Restart,
    Tick,
)
from tidegate.overlay.policy import Choice
from tidegate.overlay.scan import ScanIndex
from tidegate.overlay.settings import Settings
from tidegate.overlay.storage import Keeper, restored
from tidegate.overlay.template import Language
from tidegate.overlay.upstream import Paths
from tidegate.overlay.work import Tally, Work
from tidegate.simulate.clock import SECOND, Clock, nanoseconds
from tidegate.simulate.cost import CostModel, now
from tidegate.simulate.link import Lane, LinkModel
from tidegate.simulate.memory import Memory
from tidegate.simulate.node import Node, Waiting
from tidegate.simulate.oracle import Flight, Oracle
from tidegate.simulate.seat import Handler, Seat
from tidegate.simulate.service import Service, Watcher
from tidegate.simulate.size import publish_sizes
from tidegate.simulate.spread import Spread
from tidegate.simulate.topology import Edge, Topology

CHECKS: Final = ("scan", "index", "off")

Timed: TypeAlias = tuple[float, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a network is like, beside its brokers.

    `queue` is the capacity of a broker's queue, None for any. `tick` is the time between ticks, in
    seconds, None for no ticks. With `memory`, brokers write down what they need to come back after
    a crash, with a snapshot after so many inputs; 0: they write down nothing. `check` says how
    missed and duplicated deliveries are found: by asking every filter (`scan`), by an index of all
    of them (`index`), or not at all (`off`).
    """

    link: LinkModel = field(default_factory=LinkModel)
    client_delay: float = 0.0
    queue: int | None = None
    tick: float | None = 1.0
    memory: int = 1_000
    check: str = "scan"

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise TidegateError(f"there is no check {self.check!r}, but {', '.join(CHECKS)}")
        if self.queue is not None and self.queue < 1:
            raise TidegateError(f"a queue has room for 1 or more, not {self.queue}")
        if self.tick is not None and self.tick <= 0:
            raise TidegateError(f"ticks are more than 0 seconds apart, not {self.tick}")
        if self.memory < 0 or self.client_delay < 0:
            raise TidegateError("memory and client_delay are not negative")


class Network:
    """Brokers on one clock.

    >>> from tidegate.overlay.attributes import Attributes
    >>> from tidegate.simulate.topology import line
    >>> kind = Attributes()
    >>> network = Network(line(3), kind)
    >>> ann, bob = network.client("ann", "b0"), network.client("bob", "b2")
    >>> _ = ann.subscribe(kind.parse("price < 10"))
    >>> network.run()
    >>> bob.publish({"price": 5})
    >>> network.run()
    >>> [node.done.deliveries for node in network.nodes.values()]
    [1, 0, 0]
    """

    def __init__(
        self,
        topology: Topology,
        kind: Kind,
        policy: Choice | None = None,
        settings: Settings | None = None,
        setup: Setup | None = None,
        costs: CostModel | None = None,
    ) -> None:
        self.topology: Final = topology
        self.kind: Final = kind
        self.policy: Final = policy or Choice()
        self.settings: Final = settings or Settings()
        self.setup: Final = setup or Setup()
        self.costs: Final = costs or CostModel()
        self.clock: Final = Clock()
        self.clients: Final[dict[str, Client]] = {}
        self.nodes: Final = {
            name: self._made(number, name) for number, name in enumerate(topology.names)
        }
        self._ordered: Final = list(self.nodes.values())
        self._cut: set[frozenset[str]] = set()
        self.linked: Final = {frozenset((edge.first, edge.second)) for edge in topology.edges}
        self.dead: Final[set[str]] = set()
        for edge in topology.edges:
            self._add_lanes(edge)
        self.oracle: Final = self._oracle()
        self._client_delay = nanoseconds(self.setup.client_delay)
        self.service: Final = Service(
            self.clock,
            self._ordered,
            kind,
            self.costs,
            self.setup.queue,
            self._client_delay,
            self.oracle,
            self._relink,
        )
        for edge in topology.edges:
            self._come_up(self.nodes[edge.first], self.nodes[edge.second])
        if self.setup.tick is not None:
            self._tick(nanoseconds(self.setup.tick), first=True)

    # -- how it goes on

    @property
    def now(self) -> float:
        """The time, in seconds."""
        return self.clock.now / SECOND

    @property
    def quiet(self) -> bool:
        """Whether nothing is under way, waits, is being handled, or is to be done later."""
        return not len(self.clock)

    def run(self, until: float | None = None) -> None:
        """Let happen what happens: until a time, in seconds, or until it is quiet."""
        self.clock.run(None if until is None else nanoseconds(until))
        if until is None:
            self.service.judge_kept()

    def at(self, seconds: float, action: Callable[..., object], *arguments: Any) -> None:
        """Do something at a time, in seconds."""
        time = nanoseconds(seconds)
        if time < self.clock.now:
            raise TidegateError(f"{seconds} s has passed: it is {self.now} s now")
        self.clock.at(time, lambda _: action(*arguments), None)

    def feed(self, actions: Iterable[Timed]) -> None:
        """Do many things, each at its time, in seconds. They are asked for one by one, in order."""
        self._feed(iter(actions))

    def watch(self, watcher: Watcher | None) -> None:
        """Tell somebody of every message that arrives, and of every delivery."""
        self.service.watch = watcher

    def _feed(self, actions: Iterator[Timed]) -> None:
        following = next(actions, None)
        if following is not None:
            self.at(following[0], self._act, following[1], actions)

    def _act(self, action: Callable[[], object], actions: Iterator[Timed]) -> None:
        action()
        self._feed(actions)

    def _tick(self, every: int, *, first: bool = False) -> None:
        if not first:
            for node in self._ordered:
                if node.up:
                    self.service.enqueue(node, _own(Tick()))
            for client in self.clients.values():
                client.tick()
        self.clock.at_in_background(self.clock.now + every, self._tick, every)

    # -- clients

    def client(
        self,
        name: str,
        broker: str,
        updates: str = "parametric",
        handler: Handler | None = None,
    ) -> Client:
        """Let a client come to a broker; `handler` is told what it is handed."""
        node = self._node(broker)
        if name in self.clients or name in self.nodes:
            raise TidegateError(f"the name {name!r} is taken")
        language = self.kind if isinstance(self.kind, Language) else None
        sending, publishing = partial(self._send, node), partial(self._publish, node)
        keeps = self.settings.keep_events
        seat = Seat(name, language, updates, sending, publishing, keep_events=keeps)
        node.seats[name] = seat
        seat.handler = handler
        self.clients[name] = seat.client
        self._hear(node, Waiting(name, LinkUp(client=True), 0, None, -1))
        return seat.client

    def _send(self, node: Node, seat: Seat, message: Told) -> None:
        """A client speaks to its broker; that is lost if the broker is down."""
        size, trace = self.service.sizes.of(message), None
        if isinstance(message, Publish):
            trace = self.service.kept_flight(node, seat.client.name, message), None
        self._hear(node, Waiting(seat.client.name, message, size, trace, -1))

    def _publish(self, node: Node, seat: Seat, number: int, event: Event) -> None:
        """A client publishes an event."""
        if not node.up:
            node.done.unpublished += 1
            return
        name = seat.client.name
        size, onward = publish_sizes(self.kind, number, event, f"{node.name}/{name}")
        trace = Flight(self.clock.now, onward), None
        self._hear(node, Waiting(name, Publish(number, event), size, trace, -1))

    def _hear(self, node: Node, waiting: Waiting) -> None:
        if not node.up:
            return
        if not self._client_delay:
            self.service.enqueue(node, waiting)
        else:
            moment = self.clock.now + self._client_delay
            self.clock.at(moment, self._heard, (node, waiting, node.generation))

    def _heard(self, what: tuple[Node, Waiting, int]) -> None:
        node, waiting, generation = what
        if node.generation == generation:
            self.service.enqueue(node, waiting)
        else:
            node.done.discarded += 1
            self.service.landed(waiting)

    # -- faults

    def cut(self, first: str, second: str) -> None:
        """Cut a link: what is under way on it is lost."""
        one, other = self._ends(first, second)
        self._cut.add(frozenset((first, second)))
        self._go_down(one, other)

    def mend(self, first: str, second: str) -> None:
        """Undo a cut."""
        one, other = self._ends(first, second)
        self._cut.discard(frozenset((first, second)))
        self._come_up(one, other)

    def crash(self, broker: str) -> None:
        """Let a broker fail: all that it was doing, and what waited for it, is lost."""
        node = self._node(broker)
        if not node.up:
            raise TidegateError(f"the broker {broker} is down already")
        node.up = node.busy = False
        node.generation += 1
        node.done.discarded += len(node.queue)
        for waiting in node.queue:
            self.service.landed(waiting)
        node.queue.clear()
        for name in node.outgoing:
            self._go_down(node, self.nodes[name])

    def die(self, broker: str) -> None:
        """Let a broker fail for good, and its clients with it."""
        node = self._node(broker)
        if node.up:
            self.crash(broker)
        self.dead.add(broker)
        if self.oracle is not None:
            for client in node.seats:
                self.oracle.left(client)

    def forget(self, broker: str, gone: str) -> None:
        """Tell a broker that a neighbour is gone for good, whether or not it is."""
        self.service.enqueue(self._node(broker), Waiting(gone, LinkGone(), 0, None, -1))

    def restart(self, broker: str, *, memory: bool = True) -> None:
        """Let a broker run again, with what it has written down or without."""
        node = self._node(broker)
        if node.up or broker in self.dead:
            state = "dead for good" if broker in self.dead else "not down"
            raise TidegateError(f"the broker {broker} is {state}")
        if memory and node.keeper is None:
            raise TidegateError("the brokers of this network write nothing down: see Setup.memory")
        node.up, node.recovering = True, self.clock.now
        self.service.recovering = [x for x in self.service.recovering if x is not node] + [node]
        if memory:
            self._recall(node)
            self.service.enqueue(node, _own(Restart()))
        else:
            self._forget(node)
        for name, seat in node.seats.items():
            self._hear(node, Waiting(name, LinkUp(client=True), 0, None, -1))
            seat.client.reconnect(afresh=not memory)
        for name in node.outgoing:
            self._come_up(node, self.nodes[name])

    def _recall(self, node: Node) -> None:
        assert node.keeper is not None
        storage, began = node.keeper.storage, now()
        written = storage.recall()
        assert written is not None
        broker = restored(written, self.kind, self.policy, self._own_settings(node.name))
        took = now() - began
        _add(node.done.work, node.broker.work, broker.work)
        _add(node.done.tally, node.broker.tally, broker.tally)
        node.spent = self.costs.of(broker.work)
        again = node.spent - self.costs.of(Work(*written.snapshot["work"]))
        node.extra = took if self.costs.measured else again
        node.broker = broker
        node.keeper = Keeper(broker, storage, self.setup.memory, since=len(written.records))

    def _forget(self, node: Node) -> None:
        old = node.broker
        _add(node.done.work, old.work)
        _add(node.done.tally, old.tally)
        node.spent = 0
        settings = self._own_settings(node.name)
        node.broker = Broker(node.name, self.kind, self.policy, settings, old.life + 1)
        node.keeper = self._keeper(node.broker)

    def _go_down(self, one: Node, other: Node) -> None:
        if not one.outgoing[other.name].up:
            return
        for start, end in ((one, other), (other, one)):
            start.outgoing[end.name].cut()
            if start.up:
                self.service.enqueue(start, Waiting(end.name, LinkDown(), 0, None, -1))

    def _come_up(self, one: Node, other: Node) -> None:
        lane = one.outgoing[other.name]
        pair = frozenset((one.name, other.name))
        if lane.up or pair in self._cut or pair not in self.linked or not (one.up and other.up):
            return
        for start, end in ((one, other), (other, one)):
            start.outgoing[end.name].up = True
        for start, end in ((one, other), (other, one)):
            epoch = start.outgoing[end.name].epoch
            self.service.enqueue(start, Waiting(end.name, LinkUp(client=False), 0, None, epoch))

    def _relink(self, node: Node, effect: Connect | Disconnect) -> None:
        """Open a link that a broker asks for, if it can be, or close one."""
        other = self.nodes.get(effect.link)
        if other is None or other is node:
            return
        pair = frozenset((node.name, other.name))
        if isinstance(effect, Disconnect):
            self.linked.discard(pair)
            self._go_down(node, other)
        elif other.up and pair not in self._cut:
            if other.name not in node.outgoing:
                self._add_lanes(self._spare(pair))
            self.linked.add(pair)
            self._come_up(node, other)

    def _spare(self, pair: frozenset[str]) -> Edge:
        """What a link is like that is opened now."""
        known = (x for x in self.topology.spare if frozenset((x.first, x.second)) == pair)
        first, second = sorted(pair)
        return next(known, Edge(first, second))

    # -- how it is made

    def _own_settings(self, name: str) -> Settings:
        return replace(self.settings, upstream=self.topology.upstream.get(name))

    def _made(self, number: int, name: str) -> Node:
        broker = Broker(name, self.kind, self.policy, self._own_settings(name))
        return Node(number, broker, self._keeper(broker))

    def _keeper(self, broker: Broker) -> Keeper | None:
        """Who writes down what a new broker wants written down, if anybody does."""
        return Keeper.begin(broker, Memory(), self.setup.memory) if self.setup.memory else None

    def _add_lanes(self, edge: Edge) -> None:
        first, second = self.nodes[edge.first], self.nodes[edge.second]
        model = self.setup.link
        if edge.delay is not None:
            model = LinkModel(edge.delay, model.bandwidth)
        for start, end in ((first, second), (second, first)):
            lane = Lane(start.number, end.number, model)
            start.outgoing[end.name] = end.incoming[start.name] = lane

    def _oracle(self) -> Oracle | None:
        if self.setup.check == "off":
            return None
        count = len(self._ordered)
        lanes = [node.outgoing for node in self._ordered]
        passes = self._passes if self.topology.redundant else None
        spread = Spread(count, lanes, advertisements=self.settings.advertisements, passes=passes)
        index = self.kind.index() if self.setup.check == "index" else ScanIndex()
        return Oracle(index, spread, count)

    def _passes(self, here: int, before: int, goal: int) -> bool:
        """Whether what a broker hears from one neighbour, or -1, a client, goes on to another."""
        names = self.topology.names
        above = self.topology.upstream[names[here]]
        origin = names[before] if before >= 0 else None
        return isinstance(above, Paths) and above.passes(origin, names[goal])

    def _node(self, name: str) -> Node:
        if name not in self.nodes:
            raise TidegateError(f"there is no broker {name!r}")
        return self.nodes[name]

    def _ends(self, first: str, second: str) -> tuple[Node, Node]:
        one, other = self._node(first), self._node(second)
        if second not in one.outgoing:
            raise TidegateError(f"there is no link between {first} and {second}")
        return one, other


def _own(came: Input) -> Waiting:
    """An input that comes in on no link."""
    return Waiting("", came, 0, None, -1)


def _add(sums: Work | Tally, more: Work | Tally, less: Work | Tally | None = None) -> None:
    """Add counts to others, and take away those that will be counted again."""
    taken = astuple(less) if less is not None else (0,) * len(fields(sums))
    for each, plus, minus in zip(fields(sums), astuple(more), taken, strict=True):
        setattr(sums, each.name, getattr(sums, each.name) + plus - minus)

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
from dataclasses import astuple, dataclass, field, fields
from functools import partial
from typing import Any, Final, TypeAlias

from tidegate.errors import TidegateError
from tidegate.overlay.broker import Broker
from tidegate.overlay.client import Client
from tidegate.overlay.conversation import Told
from tidegate.overlay.filter import Event, Kind
from tidegate.overlay.messages import (
    Input,
    LinkDown,
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
from tidegate.simulate.topology import Topology

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
        self._add_lanes()
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
        seat = node.seats[name] = Seat(name, language, updates, sending, publishing)
        seat.handler = handler
        self.clients[name] = seat.client
        self._hear(node, Waiting(name, LinkUp(client=True), 0, None, -1))
        return seat.client

    def _send(self, node: Node, seat: Seat, message: Told) -> None:
        """A client speaks to its broker; that is lost if the broker is down."""
        size = self.service.sizes.of(message)
        self._hear(node, Waiting(seat.client.name, message, size, None, -1))

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

    def restart(self, broker: str, *, memory: bool = True) -> None:
        """Let a broker run again, with what it has written down or without."""
        node = self._node(broker)
        if node.up:
            raise TidegateError(f"the broker {broker} is not down")
        if memory and node.keeper is None:
            raise TidegateError("the brokers of this network write nothing down: see Setup.memory")
        node.up = True
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
        broker = restored(written, self.kind, self.policy, self.settings)
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
        node.broker = Broker(node.name, self.kind, self.policy, self.settings, old.life + 1)
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
        cut = frozenset((one.name, other.name)) in self._cut
        if lane.up or cut or not (one.up and other.up):
            return
        for start, end in ((one, other), (other, one)):
            start.outgoing[end.name].up = True
        for start, end in ((one, other), (other, one)):
            epoch = start.outgoing[end.name].epoch
            self.service.enqueue(start, Waiting(end.name, LinkUp(client=False), 0, None, epoch))

    # -- how it is made

    def _made(self, number: int, name: str) -> Node:
        broker = Broker(name, self.kind, self.policy, self.settings)
        return Node(number, broker, self._keeper(broker))

    def _keeper(self, broker: Broker) -> Keeper | None:
        """Who writes down what a new broker wants written down, if anybody does."""
        return Keeper.begin(broker, Memory(), self.setup.memory) if self.setup.memory else None

    def _add_lanes(self) -> None:
        for edge in self.topology.edges:
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
        lanes = [list(node.outgoing.values()) for node in self._ordered]
        spread = Spread(count, lanes, advertisements=self.settings.advertisements)
        index = self.kind.index() if self.setup.check == "index" else ScanIndex()
        return Oracle(index, spread, count)

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

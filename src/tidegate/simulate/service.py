"""How do inputs become effects, and effects inputs of others?

A broker takes the first input of its queue, and `Broker.handle` says at once what follows from it;
how long that takes is told by the `cost` model. When the time is over, the effects come about: what
is to be written down is, messages are sent, events are delivered, and the next input is taken. So a
crash in between loses the input and all its effects, as if it had never been handled.

Most of a simulation's time is spent here. So an event's size is counted once, and sizes of control
messages when they are sent.

What handling takes on this machine is noted in `Service.cpu` if somebody puts a counter there. It
has no part in what happens, unless costs are measured.
"""

from array import array
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from tidegate.overlay.filter import Kind
from tidegate.overlay.messages import (
    Advertise,
    Change,
    Deliver,
    Effect,
    Hello,
    LinkUp,
    Message,
    Persist,
    Publish,
    Refuse,
    Send,
)
from tidegate.simulate.clock import Clock
from tidegate.simulate.cost import CostModel, now
from tidegate.simulate.link import Lane
from tidegate.simulate.node import Hop, Node, Waiting
from tidegate.simulate.oracle import Flight, Oracle
from tidegate.simulate.size import Sizes

Watcher: TypeAlias = Callable[[str, str, Message | Deliver], None]
"""Is told from whom to whom a message has come, and what it says; and of deliveries."""

Sent: TypeAlias = tuple[str, Message, int]


class Service:
    """The brokers of a network at work."""

    def __init__(
        self,
        clock: Clock,
        nodes: list[Node],
        kind: Kind,
        costs: CostModel,
        capacity: int | None,
        client_delay: int,
        oracle: Oracle | None,
    ) -> None:
        self.sizes: Final = Sizes(kind)
        self.delays: Final = array("q")  # of all deliveries
        self.watch: Watcher | None = None
        self.cpu: Counter[type] | None = None  # nanoseconds, by kind of input
        self._clock = clock
        self._nodes = nodes
        self._costs = costs
        self._capacity = capacity
        self._client_delay = client_delay
        self._oracle = oracle

    # -- inputs

    def enqueue(self, node: Node, waiting: Waiting) -> None:
        """Let an input wait for its turn at a broker that is up."""
        queue, capacity = node.queue, self._capacity
        if capacity is not None and len(queue) >= capacity and waiting.trace is not None:
            node.done.saturated += 1
            self.landed(waiting)
            return
        if self.watch is not None:
            self._watched(node, waiting)
        queue.append(waiting)
        if not node.busy:
            self._take(node)
        elif len(queue) > node.done.longest:
            node.done.longest = len(queue)

    def landed(self, waiting: Waiting) -> None:
        """An input is done with, or lost: if it is an event, one of its messages less is left."""
        if waiting.trace is not None:
            flight: Flight = waiting.trace[0]
            flight.pending -= 1
            if not flight.pending and self._oracle is not None:
                self._oracle.judge(flight)

    def _take(self, node: Node) -> None:
        waiting = node.queue.popleft()
        node.busy = True
        costs = self._costs
        timed = costs.measured or self.cpu is not None
        began = now() if timed else 0
        effects = node.broker.handle(waiting.link, waiting.input)
        took = now() - began if timed else 0
        if self.cpu is not None:
            self.cpu[type(waiting.input)] += took
        if costs.measured:
            time = took
        else:
            spent = costs.of(node.broker.work)
            time = spent - node.spent
            node.spent = spent
        sent = None
        if waiting.trace is not None:
            flight, hop = waiting.trace
            size = waiting.size + len(effects) * flight.size
            messages = 1 + len(effects)
            time += 0 if costs.measured else costs.content * waiting.size
            if hop is None:
                self._published(node, waiting, effects)
            else:
                hop.lane.traffic.taken += 1
        else:
            sent = [
                (effect.link, effect.message, self.sizes.of(effect.message))
                for effect in effects
                if type(effect) is Send
            ]
            size = waiting.size + sum(each for _, _, each in sent)
            messages = len(sent) + (waiting.size > 0)  # not for what a broker notices by itself
            if type(waiting.input) is LinkUp and waiting.epoch >= 0:
                node.outgoing[waiting.link].told = waiting.epoch
        time += costs.messages * messages + costs.bytes * size + node.extra
        node.extra = 0
        node.done.busy += time
        if sent is None:
            node.done.carrying += time
        job = node, waiting, effects, sent, node.generation
        self._clock.at(self._clock.now + time, self._finish, job)

    def _published(self, node: Node, waiting: Waiting, effects: list[Effect]) -> None:
        """A client's event has been taken up, or refused."""
        if effects and type(effects[0]) is Send and type(effects[0].message) is Refuse:
            return
        node.done.published += 1
        if self._oracle is not None:
            publish, flight = waiting.input, waiting.trace[0]
            assert isinstance(publish, Publish)
            advertised = node.seats[waiting.link].advertised
            self._oracle.published(flight, publish.event, node.number, advertised)

    # -- effects

    def _finish(self, job: tuple[Node, Waiting, list[Effect], list[Sent] | None, int]) -> None:
        node, waiting, effects, sent, generation = job
        if node.generation != generation:
            node.done.discarded += 1
            self.landed(waiting)
            return
        node.done.handled += 1
        if sent is not None:
            self._control(node, waiting, effects, sent)
        else:
            flight, hop = waiting.trace
            for effect in effects:
                if type(effect) is Deliver:
                    self._deliver(node, flight, hop, effect)
                elif type(effect) is Send:
                    self._forward(node, flight, hop, effect)
            self.landed(waiting)
        if node.queue:
            self._take(node)
        else:
            node.busy = False

    def _forward(self, node: Node, flight: Flight, hop: Hop | None, effect: Send) -> None:
        lane = node.outgoing.get(effect.link)
        if lane is None:
            self._answer(node, effect.link, effect.message)
            return
        moment = lane.send(self._clock.now, Publish, flight.size)
        if moment is not None:
            flight.pending += 1
            trace = flight, Hop(hop, lane)
            waiting = Waiting(node.name, effect.message, flight.size, trace, lane.epoch)
            self._clock.at(moment, self._arrive, (lane, waiting))

    def _deliver(self, node: Node, flight: Flight, hop: Hop | None, effect: Deliver) -> None:
        delay = self._clock.now + self._client_delay - flight.published
        done = node.done
        done.deliveries += 1
        done.notifications += len(effect.subscriptions)
        done.delay += delay
        if delay > done.slowest:
            done.slowest = delay
        self.delays.append(delay)
        if hop is not None and not hop.useful:
            hop.used()
        if self._oracle is not None:
            self._oracle.delivered(flight, node.number, effect.link, effect.subscriptions)
        if self.watch is not None:
            self.watch(node.name, effect.link, effect)
        seat = node.seats[effect.link]
        if self._client_delay:
            self._clock.at(self._clock.now + self._client_delay, seat.deliver, effect)
        else:
            seat.deliver(effect)

    def _answer(self, node: Node, client: str, message: Message) -> None:
        """A client is answered, in the order of what is delivered to it."""
        answer = node, client, message, node.generation
        if self._client_delay:
            self._clock.at(self._clock.now + self._client_delay, self._answered, answer)
        else:
            self._answered(answer)

    def _answered(self, answer: tuple[Node, str, Message, int]) -> None:
        node, client, message, generation = answer
        if node.generation == generation:  # else it speaks to the broker that comes back
            node.seats[client].client.hear(message)

    def _control(
        self, node: Node, waiting: Waiting, effects: list[Effect], sent: list[Sent]
    ) -> None:
        written = any(type(effect) is Persist for effect in effects)
        if node.keeper is not None:
            node.keeper.note(effects)
        refused = False
        for link, message, size in sent:
            lane = node.outgoing.get(link)
            if lane is not None:
                self._send(node, lane, message, size)
            else:
                refused |= type(message) is Refuse
                self._answer(node, link, message)
        if self._oracle is not None:
            if waiting.epoch < 0:
                if written and not refused:
                    self._accepted(self._oracle, node, waiting)
            else:
                self._passed(self._oracle, node, waiting)

    def _send(self, node: Node, lane: Lane, message: Message, size: int) -> None:
        moment = lane.send(self._clock.now, type(message), size)
        if moment is not None:
            waiting = Waiting(node.name, message, size, None, lane.epoch)
            self._clock.at(moment, self._arrive, (lane, waiting))

    def _arrive(self, what: tuple[Lane, Waiting]) -> None:
        lane, waiting = what
        if lane.arrive(waiting.epoch):
            self.enqueue(self._nodes[lane.end], waiting)
        else:
            self.landed(waiting)

    # -- what the oracle is told

    def _accepted(self, oracle: Oracle, node: Node, waiting: Waiting) -> None:
        came = waiting.input
        if isinstance(came, Change):
            oracle.accepted(waiting.link, node.number, came)
        elif isinstance(came, Advertise):
            node.seats[waiting.link].advertised = oracle.spread.advertised(node.number)

    def _passed(self, oracle: Oracle, node: Node, waiting: Waiting) -> None:
        lane = node.incoming[waiting.link]
        if type(waiting.input) is LinkUp or lane.epoch != waiting.epoch:
            return
        if type(waiting.input) is Hello:
            oracle.spread.opened(node.outgoing[waiting.link])
        lane.taken += 1
        oracle.spread.taken(lane)

    def _watched(self, node: Node, waiting: Waiting) -> None:
        came: Any = waiting.input
        if self.watch is not None and waiting.size:
            self.watch(waiting.link, node.name, came)

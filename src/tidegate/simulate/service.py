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
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeGuard

from tidegate.overlay.filter import Kind
from tidegate.overlay.messages import (
    Advertise,
    Change,
    Connect,
    Deliver,
    Disconnect,
    Effect,
    Hello,
    Input,
    LinkUp,
    Message,
    Persist,
    Publish,
    Refuse,
    Send,
)
from tidegate.overlay.several import Several
from tidegate.simulate.clock import Clock
from tidegate.simulate.cost import CostModel, now
from tidegate.simulate.link import Lane
from tidegate.simulate.node import Hop, Node, Waiting
from tidegate.simulate.oracle import Flight, Oracle
from tidegate.simulate.size import Sizes

Watcher: TypeAlias = Callable[[str, str, Message | Deliver], None]
"""Is told from whom to whom a message has come, and what it says; and of deliveries."""

Sent: TypeAlias = tuple[str, Message, int]
Relink: TypeAlias = Callable[[Node, Connect | Disconnect], None]


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
        relink: Relink,
    ) -> None:
        self.sizes: Final = Sizes(kind)
        self.delays: Final = array("q")  # of all deliveries
        self.watch: Watcher | None = None
        self.cpu: Counter[type] | None = None  # nanoseconds, by kind of input
        self._clock = clock
        self._nodes = nodes
        self._costs = costs
        self._several = isinstance(kind, Several)
        self._capacity = capacity
        self._client_delay = client_delay
        self._oracle = oracle
        self.recovering: list[Node] = []  # brokers that catch up after a crash
        self._relink = relink  # opens and closes links
        # Events that are kept until acknowledged, by publisher and number, until they are judged.
        self._kept: dict[tuple[str, int], Flight] = {}

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
            if not flight.pending and self._oracle is not None and not self._kept:
                self._oracle.judge(flight)

    def kept_flight(self, node: Node, client: str, message: Publish) -> Flight:
        """The flight of an event that its publisher keeps until it is acknowledged."""
        publisher = f"{node.name}/{client}"
        flight = self._kept.get((publisher, message.number))
        if flight is None:
            own = replace(message, publisher=publisher, seq=0)
            flight = Flight(self._clock.now, self.sizes.of(own))
            self._kept[publisher, message.number] = flight
        flight.pending += 1
        return flight

    def judge_kept(self) -> None:
        """Judge events that were kept, if nobody that runs keeps any."""
        links = (x for node in self._nodes if node.up for x in node.broker.routing.links.values())
        if not self._kept or any(link.stream.unacknowledged for link in links):
            return
        flights, self._kept = self._kept, {}
        for flight in flights.values():
            if self._oracle is not None:
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
            onward = sum(map(_carries, effects))
            size = waiting.size + onward * flight.size
            messages = 1 + onward
            if isinstance(waiting.input, Publish) and waiting.input.seq:
                flight.hops.setdefault(node.number, hop)
            if not costs.measured and self._is_charged(waiting.input):
                time += costs.content * waiting.size
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

    def _is_charged(self, event: Input) -> bool:
        """Whether matching takes longer the larger an event is: of several kinds, documents."""
        return not self._several or (
            isinstance(event, Publish) and isinstance(event.event, bytes | str)
        )

    def _published(self, node: Node, waiting: Waiting, effects: list[Effect]) -> None:
        """A client's event has been taken up, or refused."""
        refused = any(type(x) is Send and type(x.message) is Refuse for x in effects)
        if refused or waiting.trace[0].delivered is not None:  # or it has come again
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
            if node.keeper is not None:
                node.keeper.note(effects)
            for effect in effects:
                if type(effect) is Deliver or type(effect) is Send:
                    self._carry(node, waiting.trace, effect)
            self.landed(waiting)
        if node.queue:
            self._take(node)
        else:
            node.busy = False

    def _carry(self, node: Node, trace: tuple[Flight, Hop | None], effect: Send | Deliver) -> None:
        """Do what follows from an event."""
        if isinstance(effect, Deliver):
            self._deliver(node, *trace, effect)
        elif isinstance(effect.message, Publish):
            self._forward(node, *trace, effect)
        else:
            self._say(node, effect.link, effect.message, self.sizes.of(effect.message))

    def _again(self, node: Node, effect: Send | Deliver) -> None:
        """Send or deliver an event that was kept once more."""
        kept = effect if isinstance(effect, Deliver) else effect.message
        assert isinstance(kept, Deliver | Publish)
        flight = self._kept.get((kept.publisher, kept.number))
        if flight is not None:
            self._carry(node, (flight, flight.hops.get(node.number)), effect)

    def _forward(self, node: Node, flight: Flight, hop: Hop | None, effect: Send) -> None:
        lane, message = node.outgoing[effect.link], effect.message
        assert isinstance(message, Publish)
        size = flight.size + (len(f",{message.seq}") if message.seq else 0)
        moment = lane.send(self._clock.now, Publish, size)
        if moment is not None:
            flight.pending += 1
            trace = flight, Hop(hop, lane)
            waiting = Waiting(node.name, message, size, trace, lane.epoch)
            self._clock.at(moment, self._arrive, (lane, waiting))

    def _deliver(self, node: Node, flight: Flight, hop: Hop | None, effect: Deliver) -> None:
        if self.watch is not None:
            self.watch(node.name, effect.link, effect)
        if not effect.seq:
            self._delivered(node, flight, hop, effect)
        elif self._client_delay:
            what = node, flight, hop, effect, node.generation
            self._clock.at(self._clock.now + self._client_delay, self._taken, what)
        else:
            self._taken((node, flight, hop, effect, node.generation))

    def _taken(self, what: tuple[Node, Flight, Hop | None, Deliver, int]) -> None:
        """A client takes what it has not had, of what its broker keeps until it is acknowledged."""
        node, flight, hop, effect, generation = what
        if node.generation == generation and node.seats[effect.link].client.take(effect.seq):
            self._delivered(node, flight, hop, effect)

    def _delivered(self, node: Node, flight: Flight, hop: Hop | None, effect: Deliver) -> None:
        waits = 0 if effect.seq else self._client_delay  # or it has waited already
        delay = self._clock.now + waits - flight.published
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
        seat = node.seats[effect.link]
        if waits:
            self._clock.at(self._clock.now + waits, seat.deliver, effect)
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
            refused |= type(message) is Refuse and link not in node.outgoing
            if type(message) is not Publish:
                self._say(node, link, message, size)
        if self._oracle is not None:
            if waiting.epoch < 0:
                if written and not refused:
                    self._accepted(self._oracle, node, waiting)
            else:
                self._passed(self._oracle, node, waiting)
        for effect in effects:
            if isinstance(effect, Connect | Disconnect):
                self._relink(node, effect)
            elif _carries(effect):
                self._again(node, effect)
        if self.recovering:
            self._note_recoveries()

    def _note_recoveries(self) -> None:
        for node in [x for x in self.recovering if x.up and self._caught_up(x)]:
            assert node.recovering is not None
            node.done.recovery += self._clock.now - node.recovering
            self.recovering.remove(node)

    def _caught_up(self, node: Node) -> bool:
        """Whether a broker and its neighbours have told each other all there is to tell."""
        lanes = [lane for lane in node.outgoing.values() if lane.up]
        ends = [(node, self._nodes[lane.end]) for lane in lanes]
        for start, end in (*ends, *((near, node) for _, near in ends)):
            link = start.broker.routing.links.get(end.name)
            if link is None or not link.ready or link.stream.unacknowledged:
                return False
        return True

    def _say(self, node: Node, link: str, message: Message, size: int) -> None:
        lane = node.outgoing.get(link)
        if lane is not None:
            self._send(node, lane, message, size)
        else:
            self._answer(node, link, message)

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


def _carries(effect: Effect) -> TypeGuard[Send | Deliver]:
    """Whether an effect takes an event further."""
    if type(effect) is Deliver:
        return True
    return type(effect) is Send and type(effect.message) is Publish

"""How soon, and at what cost, does a network follow subscriptions that move?

A workload (`movement`) is run in the simulator, its clients telling their brokers of moves by one
of the strategies that Jayaram, Jayalath and Eugster compare in "Parametric Subscriptions for
Content-Based Publish/Subscribe Networks" (2010). Brokers forward by covering, and only towards
publishers that advertise what is wanted. Links between brokers, and between a client and its
broker, take 10 ms (section 5.3).

What is measured, as in section 5.2: the **delay** between a move and the first event that is handed
on, wanted now and not wanted before the move; **spurious** events, which reach a client that wants
them no more, in each second; and **throughput**: how many events a second the network could carry
beside the moves, until a broker is busy all the time. Then also: **coverage**, how long after a
move an event was still missed that was wanted from then on; and events **lost**, wanted by every
value that there ever was.

What is handed on is compared with arrays, without any filter. Checked in every run:

- strictness (section 3.3): what is handed on is wanted at that moment, so t_s = t_0;
- nothing is handed on twice, and nothing is lost, unless clients *cancel first*;
- when all is quiet, further events are handed on to those, and only those, who want them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.lab.workloads.movement import (
    NUMBER,
    Columns,
    Move,
    Movement,
    Published,
    Values,
    columns,
)
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.client import Client
from tidegate.overlay.filter import Event
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.overlay.variable import Variable
from tidegate.simulate.clock import SECOND
from tidegate.simulate.cost import CostModel
from tidegate.simulate.link import LinkModel
from tidegate.simulate.network import Network, Setup, Timed

LINK: Final = 0.01  # seconds
_PROBES: Final = 40  # events after all is quiet
_APART: Final = 1.0  # second, between the last move and the first of them, if all is quiet sooner


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run. Times are in seconds, rates for all subscribers together."""

    moves: int
    answered: int  # moves that were followed by a new event before the next move
    delay: float  # until that, on the average
    slowest: float  # of these delays
    coverage: float  # on the average over all moves
    spurious: float  # events a second
    handed: float  # events a second
    lost: int
    throughput: float  # events a second; 0: brokers cannot keep up with the moves alone
    control: float  # seconds that all brokers spent on moves, for each of them
    busiest: float  # the share of the time that the busiest broker spent on moves
    messages: float  # between brokers, for each move


@dataclass(slots=True)
class Course:
    """The values of one mover's variables, each with the time it came; and what it was handed."""

    times: list[float]
    values: list[Values]
    handed: dict[int, float] = field(default_factory=dict)  # by the number of the event


@dataclass(slots=True)
class _Effect:
    """What became of the moves of one subscription."""

    delays: list[float] = field(default_factory=list)
    coverage: list[float] = field(default_factory=list)
    lost: int = 0


class Run:
    """One run of a workload in a network."""

    def __init__(
        self, work: Movement, strategy: str, index: str | None, costs: CostModel | None
    ) -> None:
        self.work: Final = work
        self.strategy: Final = strategy
        self.kind: Final = Attributes(work.schema)
        self.network: Final = Network(
            work.topology,
            self.kind,
            Choice("covering", index=index),
            Settings(advertisements=True),
            # Nothing is lost, so nothing has to be sent again: there are no ticks.
            Setup(LinkModel(LINK), client_delay=LINK, tick=None, memory=0, check="off"),
            costs,
        )
        self.publishers: Final = [self._publisher(i) for i in range(len(work.publishers))]
        self.network.run()
        self.clients: Final[dict[str, Client]] = {}
        self.owners: Final[dict[tuple[str, int], int]] = {}  # of clients' subscriptions
        self.variables: Final = [self._subscribe(i) for i in range(len(work.movers))]
        self.network.run()
        self.start: Final = self.network.now
        self.courses: Final = [Course([self.start], [each.start]) for each in work.movers]

    def follow(self, events: Sequence[Published], moves: Sequence[Move]) -> None:
        """Let all of it happen, until nothing is under way."""
        publishing = (
            (self.start + each.time, partial(self.publishers[each.publisher].publish, each.event))
            for each in events
        )
        moving = ((self.start + each.time, partial(self._move, each)) for each in moves)
        self.network.feed(sorted(chain[Timed](publishing, moving), key=lambda timed: timed[0]))
        self.network.run()

    def _publisher(self, number: int) -> Client:
        own = self.work.publishers[number]
        client = self.network.client(own.name, own.broker)
        client.advertise(self.kind.parse(own.advertises))
        return client

    def _subscribe(self, number: int) -> dict[str, Variable]:
        own = self.work.movers[number]
        client = self.clients.get(own.client)
        if client is None:
            hand = partial(self._hand, own.client)
            client = self.network.client(own.client, own.broker, self.strategy, hand)
            self.clients[own.client] = client
        made = {name: client.variable(value) for name, value in own.start.items()}
        self.owners[own.client, client.subscribe(own.text, **own.fixed, **made)] = number
        return made

    def _move(self, move: Move) -> None:
        course = self.courses[move.mover]
        course.times.append(self.network.now)
        course.values.append(move.values)
        with self.clients[self.work.movers[move.mover].client].together():
            for name, value in move.values.items():
                self.variables[move.mover][name].set(value)

    def _hand(self, client: str, event: Event, owns: tuple[int, ...]) -> None:
        for own in owns:
            handed = self.courses[self.owners[client, own]].handed
            number = event[NUMBER]
            assert number not in handed, f"{event} is handed on to {client} again"
            handed[number] = self.network.now


def react(
    work: Movement,
    strategy: str = "parametric",
    *,
    index: str | None = None,
    rate: float = 100.0,
    events: float = 200.0,
    seconds: float = 5.0,
    costs: CostModel | None = None,
) -> Outcome:
    """Run a workload with so many moves and events a second, and check what came of it.

    >>> from tidegate.lab.workloads.trading import Trading
    >>> market = Trading(subscribers=15, portfolio=2, types=5)
    >>> found = react(market, rate=20, events=50, seconds=2)
    >>> found.lost, found.moves
    (0, 40)
    """
    run = Run(work, strategy, index, costs)
    before = {name: (n.done.busy, n.done.carrying) for name, n in run.network.nodes.items()}
    sent = _messages(run.network)
    published = work.events(events, seconds + _PROBES / events)
    during = [each for each in published if each.time < seconds]
    moves = work.moves(rate, seconds)
    run.follow(during, moves)
    spurious = sum(client.spurious for client in run.clients.values())
    control, carrying = _busy(run.network, before)
    told = _messages(run.network) - sent
    rest = published[len(during) :]
    for each in rest:  # by now, all is quiet
        run.network.at(
            run.network.now + _APART + each.time - rest[0].time,
            run.publishers[each.publisher].publish,
            each.event,
        )
    run.network.run()
    effects = _judge(run, columns(published, work.schema), during)
    delays = [each for effect in effects for each in effect.delays]
    coverage = [each for effect in effects for each in effect.coverage]
    return Outcome(
        moves=len(moves),
        answered=len(delays),
        delay=float(np.mean(delays)) if delays else 0.0,
        slowest=max(delays, default=0.0),
        coverage=float(np.mean(coverage)) if coverage else 0.0,
        spurious=spurious / seconds,
        handed=sum(len(course.handed) for course in run.courses) / seconds,
        lost=sum(effect.lost for effect in effects),
        throughput=_throughput(control / seconds, carrying / max(1, len(during))),
        control=float(control.sum()) / max(1, len(moves)),
        busiest=float(control.max()) / seconds,
        messages=told / max(1, len(moves)),
    )


def _busy(
    network: Network, before: dict[str, tuple[int, int]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Seconds that each broker has spent since, on moves and on events."""
    rows = []
    for name, node in network.nodes.items():
        busy, carrying = before[name]
        events = node.done.carrying - carrying
        rows.append((node.done.busy - busy - events, events))
    both = np.array(rows, np.float64) / SECOND
    return both[:, 0], both[:, 1]


def _throughput(share: NDArray[np.float64], each: NDArray[np.float64]) -> float:
    """The events a second with which the first broker is busy all the time.

    `share` is that of its time that a broker spends on moves, `each` what an event that is
    published anywhere costs it.

    >>> round(_throughput(np.array([0.5, 0.0]), np.array([0.001, 0.0001])))
    500
    """
    working = each > 0
    if not working.any():
        return 0.0
    return max(0.0, float(np.min((1 - share[working]) / each[working])))


def _messages(network: Network) -> int:
    """What brokers have sent each other, events and acknowledgements aside."""
    return sum(
        count
        for node in network.nodes.values()
        for lane in node.outgoing.values()
        for kind, count in lane.traffic.messages.items()
        if kind.__name__ == "Change"
    )


def _judge(run: Run, events: Columns, during: Sequence[Published]) -> list[_Effect]:
    """Compare what movers were handed with what they wanted."""
    published = run.start + np.array([each.time for each in during])
    return [
        _effect(run, mover, course, events, published) for mover, course in enumerate(run.courses)
    ]


def _effect(
    run: Run, mover: int, course: Course, events: Columns, published: NDArray[np.float64]
) -> _Effect:
    wants = np.stack([run.work.wanted(mover, values, events) for values in course.values])
    handed = np.full(wants.shape[1], np.nan)
    handed[list(course.handed)] = list(course.handed.values())
    got = ~np.isnan(handed)
    count = len(published)
    assert np.array_equal(got[count:], wants[-1, count:]), f"mover {mover} is not up to date"
    times = np.array(course.times)
    force = np.searchsorted(times, handed[got], side="right") - 1  # the values of that moment
    assert wants[force, np.flatnonzero(got)].all(), f"mover {mover} was handed what it rejects"
    found = _Effect(lost=int((wants[:, :count].all(axis=0) & ~got[:count]).sum()))
    assert not found.lost or run.strategy == "cancel first", f"mover {mover} has lost events"
    lasting = np.logical_and.accumulate(wants[::-1, :count], axis=0)[::-1]  # from these values on
    ends = [*course.times[1:], np.inf]
    for i in range(1, len(times)):
        new = wants[i] & ~wants[i - 1] & (handed >= times[i]) & (handed < ends[i])
        if new.any():
            found.delays.append(float(handed[new].min() - times[i]))
        since = (published >= times[i]) & (published < ends[i])
        missed = since & lasting[i] & ~got[:count]
        latest = published[missed].max() if missed.any() else times[i]
        found.coverage.append(float(latest - times[i]))
    return found

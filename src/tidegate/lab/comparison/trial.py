"""What does one policy do with a scenario?

A **trial** has four parts, and the network is quiet after each:

1. clients do what the scenario says: they subscribe, and events are published. Policies that go by
   what they have seen of events learn from these; then tables are looked at;
2. as many events again are published, others than before, and it is these that are counted;
3. some subscriptions are cancelled, one after the other;
4. some more events are published, since it is now that a policy could lose some.

All is drawn from the scenario's seed, so every policy is told the same. What is counted in units is
the same on every machine. CPU times are those of this machine, of the brokers alone: neither the
simulator nor the oracle has a part in them.

Each event is followed by the simulator's oracle (`simulate.oracle`), and each delivery is compared
with what the subscriber wants: a policy may cost what it likes, but not lose, repeat or invent.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import partial
from itertools import cycle, islice, pairwise
from random import Random
from statistics import median
from typing import Final, TypeAlias

from tidegate.errors import ScenarioError
from tidegate.lab.comparison import tables
from tidegate.lab.comparison.contestants import Contestant
from tidegate.overlay.filter import Event
from tidegate.overlay.messages import Deliver, Message, Publish
from tidegate.simulate.counters import count
from tidegate.simulate.network import Network
from tidegate.simulate.scenario import Scenario

CANCELLED: Final = 4  # one of so many subscriptions is
CHECKED: Final = 200  # events after that
_PARTS: Final = 5  # in which events are published and timed
_APART: Final = 0.1  # seconds between two cancellations

Progress: TypeAlias = Callable[[float], object]
"""Is told the share that is done."""


@dataclass(frozen=True, slots=True)
class Losses:
    """What must not happen."""

    missed: int = 0
    duplicated: int = 0
    unwanted: int = 0

    def __bool__(self) -> bool:
        return bool(self.missed or self.duplicated or self.unwanted)


@dataclass(frozen=True, slots=True)
class Control:
    """What brokers said to each other about filters, and what it took: of all kinds but events.

    `work` is in units of `overlay.work`. `cpu` is time of this machine; `delay` is simulated time,
    for one cancellation, until all is quiet.
    """

    messages: int
    bytes: int
    work: int
    delay: float
    cpu: float

    def since(self, before: "Control") -> "Control":
        """What has come to it; the delay is that of now."""
        return Control(
            self.messages - before.messages,
            self.bytes - before.bytes,
            self.work - before.work,
            self.delay,
            self.cpu - before.cpu,
        )


@dataclass(frozen=True, slots=True)
class Traffic:
    """What events did, all brokers and links together."""

    published: int
    notifications: int
    forwarded: int  # from broker to broker
    bytes: int  # of those
    vain: int  # of those, nobody behind the link was handed them
    matchings: int  # of an event at a broker
    found: int  # entries, by those
    cpu: float

    def since(self, before: "Traffic") -> "Traffic":
        """What has come to it."""
        own, other = astuple(self), astuple(before)
        return Traffic(*(now - then for now, then in zip(own, other, strict=True)))


@dataclass(frozen=True)
class Trial:
    """What one policy did, all brokers and links together. Times are in seconds."""

    registration: Control
    entries: tables.Entries
    memory: tables.Memory
    traffic: Traffic
    cancellations: int
    deregistration: Control
    losses: Losses


def refuse_unfit(scenario: Scenario) -> None:
    """Refuse a scenario in which events are lost for other reasons than a policy."""
    reasons = {
        "faults: events are lost in them whatever the policy": bool(scenario.faults),
        "brokers.queue: a full queue drops events": scenario.setup.queue is not None,
        "brokers.check: deliveries have to be checked": scenario.setup.check == "off",
        "costs.measured: no two runs would be the same": scenario.costs.measured,
        "workload.subscriptions: there are none": not scenario.workload.subscriptions,
        "workload.rate, workload.duration: there are no events": not _expected(scenario),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ScenarioError(f"{scenario.name} is not for comparing. {reason}")


def trial(
    scenario: Scenario, contestant: Contestant, progress: Progress = lambda share: None
) -> Trial:
    """Let one policy do it."""
    planned = replace(scenario, policy=contestant.choice(scenario.policy))
    network, end = planned.start()
    cpu: Counter[type] = Counter()
    network.service.cpu = cpu
    checker = _Checker(network)
    for percent in range(1, 51):
        network.run(end * percent / 50)
        progress(percent / 100)
    network.run()
    registration, learned = _control(network, cpu), _traffic(network, cpu)
    entries, memory = tables.entries(network), tables.memory(network)

    events = _events(planned, learned.published)
    readings = [learned]
    for part in range(_PARTS):
        times = (learned.published + part) // _PARTS
        _publish(network, planned, events, times)
        readings.append(_traffic(network, cpu))
        progress(0.5 + 0.3 * (part + 1) / _PARTS)
    before = _control(network, cpu)
    cancellations, delay = _cancel(network, scenario.seed)
    deregistration = _control(network, cpu, delay).since(before)
    progress(0.95)
    _publish(network, planned, events, CHECKED)
    verdicts = count(network).totals
    return Trial(
        registration,
        entries,
        memory,
        _steadied(readings),
        cancellations,
        deregistration,
        Losses(verdicts["missed"], verdicts["duplicated"], checker.unwanted),
    )


def _steadied(readings: list[Traffic]) -> Traffic:
    """All that was read one after the other; the CPU time as if each part had taken the middle one.

    So a moment in which the machine was busy with something else does not count.
    """
    parts = [later.since(earlier) for earlier, later in pairwise(readings)]
    total = readings[-1].since(readings[0])
    each = median(part.cpu / part.published for part in parts if part.published)
    return replace(total, cpu=each * total.published)


def _expected(scenario: Scenario) -> int:
    """About how many events a scenario has."""
    return round(scenario.workload.rate * scenario.workload.duration)


def _events(scenario: Scenario, known: int) -> Iterator[Event]:
    """Events of a scenario without the first ones, which have been published."""
    random = Random(f"{scenario.seed}/more events")
    supply = scenario.workload.source.open(scenario.kind)
    for _ in range(known):
        supply.event(random)
    while True:
        yield supply.event(random)


def _publish(network: Network, scenario: Scenario, events: Iterator[Event], times: int) -> None:
    """Publish some events, at the scenario's rate, by publishers in turn."""
    work, began = scenario.workload, network.now
    publishers = cycle([network.clients[f"p{i}"] for i in range(work.publishers)])
    network.feed(
        (began + i / work.rate, partial(next(publishers).publish, event))
        for i, event in enumerate(islice(events, times))
    )
    network.run()


def _cancel(network: Network, seed: int) -> tuple[int, float]:
    """Cancel some of the subscriptions; how many, and the time it took on the average."""
    random = Random(f"{seed}/cancellations")
    standing = [(client, own) for client in network.clients.values() for own in client.wanted]
    gone = random.sample(standing, -(-len(standing) // CANCELLED))
    took = 0.0
    for client, own in gone:
        began = network.now
        client.cancel(own)
        network.run()
        took += network.now - began
        network.run(max(network.now, began + _APART))  # what is done at ticks is part of it
    network.run()
    return len(gone), took / len(gone)


class _Checker:
    """Compares each delivery with what the subscriber's broker was asked for."""

    def __init__(self, network: Network) -> None:
        self.unwanted = 0
        assert network.oracle is not None
        self._oracle = network.oracle
        network.watch(self._watch)

    def _watch(self, _: str, to: str, what: Message | Deliver) -> None:
        if isinstance(what, Deliver):
            for own in what.subscriptions:
                wanted = self._oracle.wanted(to, own)
                self.unwanted += wanted is None or not wanted.matches(what.event)


def _control(network: Network, cpu: Counter[type], delay: float = 0.0) -> Control:
    """What there has been so far that is not about events."""
    totals = count(network).totals
    work = sum(n for unit, n in totals["work"].items() if unit not in ("events", "found"))
    spent = sum(time for kind, time in cpu.items() if kind is not Publish)
    messages, size = (
        sum(n for kind, n in totals[name].items() if kind != "publish")
        for name in ("messages", "bytes")
    )
    return Control(messages, size, work, delay, spent / 1e9)


def _traffic(network: Network, cpu: Counter[type]) -> Traffic:
    """What events have done so far."""
    totals = count(network).totals
    return Traffic(
        totals["published"],
        totals["notifications"],
        totals["messages"]["publish"],
        totals["bytes"]["publish"],
        totals["vain"],
        totals["work"]["events"],
        totals["work"]["found"],
        cpu[Publish] / 1e9,
    )

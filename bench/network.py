"""How many events a second does a broker process carry, and how late are they?

Broker processes on loopback, and rules on trades: each of 100 connections subscribes to its share,
four of them publish. Everything that is delivered is compared with brute force, in every run: who
gets it, for which rules, in which order, and byte by byte.

**Throughput.** As fast as the broker confirms, with up to 8,000 events of a publisher under way, in
frames of 20 events and of one, where an event is wanted by about nine rules, and by about 1.6.
**Latency.** At 20,000 events a second, counted from when an event was due (`network_load`).
**A line of three.** Publishers at one end, everybody else at the other, the same twice.
**Somebody who never reads** wants every event, and is dropped from: how fast the others get theirs,
beside how fast they did before it came, the better one of two plays each.
**Registering** ends when all is acknowledged and the first event has been delivered, since brokers
compile what is new when an event comes. **Restoring** is from the start of a process until it
listens; for a broker that was killed, and for one that was told to stop, in one message of one
client.

Beside it, in the same run and without sockets: the state machine, told the same events one by one,
and in batches.

The publishers and subscribers of a run are one process, which shares the machine with the brokers.
So the CPU time of a broker for each event is told, too: that does not depend on who else is there.

`TIDEGATE_NETWORK` in the environment is how many rules there are; 100,000 if it is not given.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figure import Figure, timed
from bench.network_load import Connection, Load
from bench.network_process import Process, is_quiet, until
from bench.network_workload import Traffic
from tidegate.network.control_frames import control_frame
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import (
    Batch,
    Change,
    Deliver,
    DeliverRows,
    Entry,
    LinkUp,
    Publish,
)
from tidegate.overlay.rows import handed

if TYPE_CHECKING:
    from collections.abc import Iterator

RULES = int(os.environ.get("TIDEGATE_NETWORK", "100000"))
NARROWER = {"nine": 9, "two": 60}  # how many times narrower rules are, for so many matches
CONNECTIONS = 100
PUBLISHERS = 4
DIFFERENT = 10_000  # events
EVENTS = 200_000  # published as fast as can be
FIRST = 20_000  # published before anything is timed
RATE = 20_000  # events a second, where they are paced
PACED = 100_000  # published so
ALONE = 2_000  # handled one by one by the state machine
BATCHES = (2_000, 200, 40)
IN_BATCHES = 20_000

TOGETHER = 20  # events of a frame
FAST = {TOGETHER: 100_000, 1: 30_000}  # events a second that are aimed at, by events of a frame
LATE = 20  # ms, of 99 in 100 deliveries
LATE_IN_LINE = 40
SLOWER = 0.5  # the throughput of a line of three, by that of one
UNHARMED = 0.9  # the throughput beside somebody who never reads, by that without
ROOM = 4_000_000  # bytes that may wait for whoever does not read
LONG = 10  # seconds to register everything, or to restore it


def run() -> Iterator[Figure]:
    """One broker with two workloads, a line of three, one that somebody does not read, what is
    restored, and the state machine.
    """
    reached: dict[int, float] = {}
    yield from one("nine", reached)
    yield from one("two", {})
    yield from line(reached)
    yield from unread()
    yield from restoring()
    yield from state_machine("nine")


@cache
def traffic(name: str) -> Traffic:
    """The workload in which an event is wanted by about so many rules."""
    return Traffic(RULES, NARROWER[name], DIFFERENT, CONNECTIONS)


def one(name: str, reached: dict[int, float]) -> Iterator[Figure]:
    """One broker process; events a second that it `reached`, by events of a frame."""
    made = traffic(name)
    title = f"network, {made.matches:.2g} deliveries an event"
    with ExitStack() as stack:
        broker = stack.enter_context(Process("a"))
        load = Load(broker.address, made, PUBLISHERS)
        stack.callback(load.close)
        yield registered(title, load)
        load.play(FIRST, TOGETHER)
        for together in (TOGETHER, 1):
            figure = fast(title, load, together, [broker])
            reached[together] = figure.ours
            yield figure
        for together in (TOGETHER, 1):
            yield paced(title, load, together, [broker], LATE)


def line(reached: dict[int, float]) -> Iterator[Figure]:
    """Three, of which the first gets all events, and the last has all subscribers.

    Beside what one broker reached.
    """
    made = traffic("nine")
    title = f"network, line of three, {made.matches:.2g} deliveries an event"
    with ExitStack() as stack:
        c = stack.enter_context(Process("c"))
        b = stack.enter_context(Process("b", "--neighbour", f"c={c}"))
        a = stack.enter_context(Process("a", "--neighbour", f"b={b}"))
        until(lambda: all(is_quiet(each) for each in (a, b, c)))
        load = Load(c.address, made, PUBLISHERS, publish_at=a.address)
        stack.callback(load.close)
        start = time.perf_counter()
        load.register()
        until(lambda: all(is_quiet(each) for each in (c, b, a)))
        load.play(len(made.events[:100]), TOGETHER)
        yield Figure(f"{title}: register {RULES:,}", time.perf_counter() - start, None, None, "s")
        load.play(FIRST, TOGETHER)
        for together in (TOGETHER, 1):
            yield fast(title, load, together, [a, b, c], reached[together])
        for together in (TOGETHER, 1):
            yield paced(title, load, together, [a, b, c], LATE_IN_LINE)


def unread() -> Iterator[Figure]:
    """One broker, and among its subscribers one that wants everything and never reads."""
    made = traffic("nine")
    with ExitStack() as stack:
        broker = stack.enter_context(Process("a", "--slow", "drop", "--limit", f"buffer={ROOM}"))
        load = Load(broker.address, made, PUBLISHERS)
        stack.callback(load.close)
        load.register()
        load.play(FIRST, TOGETHER)
        without = max(EVENTS / load.play(EVENTS, TOGETHER).seconds for _ in range(2))
        silent = Connection(broker.address, "silent")
        stack.callback(silent.socket.close)
        everything = Change(1, add=(Entry(0, made.kind.parse("TRUE")),))
        silent.socket.sendall(control_frame(everything, made.kind))
        until(lambda: broker.status["entries"] == RULES + 1)
        while not broker.status["counted"].get("dropped"):
            load.play(FIRST, TOGETHER)
        beside = max(EVENTS / load.play(EVENTS, TOGETHER).seconds for _ in range(2))
        dropped = broker.status["counted"]["dropped"]
    yield Figure(
        f"network, {made.matches:.2g} deliveries an event: {frames(TOGETHER)}, beside a subscriber"
        " that never reads",
        beside,
        without,
        beside / without,
        "events/s",
        note=f"baseline: without; {dropped:,} events were dropped for it, none for others",
        aim=f"at least {UNHARMED:g} times as many",
        met=beside >= UNHARMED * without,
    )


def registered(title: str, load: Load) -> Figure:
    """Subscribing to everything."""
    start = time.perf_counter()
    acknowledged = load.register()
    load.play(min(100, DIFFERENT), TOGETHER)
    seconds = time.perf_counter() - start
    return Figure(
        f"{title}: register {RULES:,}",
        seconds,
        None,
        None,
        "s",
        note=f"by {CONNECTIONS} connections; acknowledged after {acknowledged:.1f} s",
        aim=f"at most {LONG} s",
        met=seconds <= LONG,
    )


def fast(
    title: str, load: Load, together: int, brokers: list[Process], one: float | None = None
) -> Figure:
    """As fast as can be; in a line, beside what one broker did."""
    before = [each.cpu for each in brokers]
    played = load.play(EVENTS, together)
    used = [each.cpu - start for each, start in zip(brokers, before, strict=True)]
    reached = EVENTS / played.seconds
    least = FAST[together] if one is None else SLOWER * one
    return Figure(
        f"{title}: {frames(together)}",
        reached,
        one,
        None if one is None else reached / one,
        "events/s",
        note=costs(used, EVENTS),
        aim=f"at least {least:,.0f}" if one is None else f"at least {SLOWER:g} times one broker's",
        met=reached >= least,
    )


def paced(title: str, load: Load, together: int, brokers: list[Process], most: float) -> Figure:
    """At a rate."""
    before = [each.cpu for each in brokers]
    played = load.play(PACED, together, RATE)
    used = [each.cpu - start for each, start in zip(brokers, before, strict=True)]
    middle, late, last = np.percentile(played.latencies, [50, 99, 100]) * 1e3
    return Figure(
        f"{title}: {RATE:,} events/s {frames(together)}, 99 in 100 are no later than",
        late,
        None,
        None,
        "ms",
        note=f"half {middle:.1f} ms, the last {last:.0f} ms; {costs(used, PACED)}",
        aim=f"at most {most:g} ms",
        met=bool(late <= most),
    )


def frames(together: int) -> str:
    """How events were sent."""
    return f"in frames of {together}" if together > 1 else "one to a frame"


def costs(used: list[float], events: int) -> str:
    """CPU time of brokers for an event."""
    each = " + ".join(f"{seconds / events * 1e6:.1f}" for seconds in used)
    return f"{each} µs of CPU an event in the broker{'s' if len(used) > 1 else ''}"


def restoring() -> Iterator[Figure]:
    """What a broker has written down, after it was killed, and after it was told to stop."""
    made = Traffic(RULES, NARROWER["two"], min(1_000, DIFFERENT), 1)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        kept = "--storage", folder
        with Process("a") as empty:
            nothing = empty.started
        broker = stack.enter_context(Process("a", *kept))
        load = Load(broker.address, made, 1)
        start = time.perf_counter()
        load.register()
        load.play(len(made.events), TOGETHER)
        seconds = time.perf_counter() - start
        yield Figure(
            f"network: register {RULES:,} of one client, written down",
            seconds,
            None,
            None,
            "s",
            aim=f"at most {LONG} s",
            met=seconds <= LONG,
        )
        load.close()
        for how, number in (("killed", signal.SIGKILL), ("told to stop", signal.SIGTERM)):
            broker.end(number)
            broker = stack.enter_context(Process("a", *kept))
            assert broker.status["entries"] == RULES
            yield Figure(
                f"network: restore {RULES:,}, of a broker that was {how}",
                broker.started,
                nothing,
                None,
                "s",
                note="from the start of a process until it listens; baseline: of an empty one",
                aim=f"at most {LONG} s",
                met=broker.started <= LONG,
            )


def state_machine(name: str) -> Iterator[Figure]:
    """What a broker does about events, without sockets."""
    made = traffic(name)
    title = f"network, {made.matches:.2g} deliveries an event: handle"
    broker = Broker("a", Attributes())
    for i, entries in enumerate(made.entries):
        broker.handle(f"c{i}", LinkUp(client=True))
        broker.handle(f"c{i}", Change(1, add=entries))
    number = 0

    def batch(size: int) -> Batch:
        nonlocal number
        own = [(number + i) % len(made.events) for i in range(size)]
        events = [made.events[i] for i in own]
        sizes = [len(made.payloads[i]) for i in own]
        numbers = list(range(number + 1, number + size + 1))
        number += size
        return Batch(numbers, events, sizes=sizes)

    broker.handle("c0", batch(200))
    first = number
    alone = batch(min(ALONE, len(made.events)))
    with timed() as one_by_one:
        found = [
            broker.handle("c0", Publish(n, event))
            for n, event in zip(alone.numbers, alone.events, strict=True)
        ]
    delivered = {
        (n, own)
        for n, effects in zip(alone.numbers, found, strict=True)
        for effect in effects
        if isinstance(effect, Deliver)
        for own in effect.subscriptions
    }
    wanted = made.wanted(first + len(alone.numbers))
    wanted = wanted[wanted >= first * RULES]
    assert delivered == {(int(pair) // RULES + 1, int(pair) % RULES) for pair in wanted}
    each = one_by_one.seconds / len(alone.numbers) * 1e6
    yield Figure(f"{title} events one by one", each, None, None, "µs")
    for size in BATCHES:
        batches = [batch(size) for _ in range(max(1, IN_BATCHES // size))]
        with timed() as together:
            done = [broker.handle("c0", some) for some in batches]
        for some, effects in zip(batches, done, strict=True):
            assert sum(_owns(effects)) == _expected(made, some)
        cost = together.seconds / (size * len(batches)) * 1e6
        note = "baseline: one by one"
        yield Figure(f"{title} batches of {size:,}", cost, each, each / cost, "µs", note)


def _owns(effects: list[Any]) -> Iterator[int]:
    for effect in effects:
        assert isinstance(effect, DeliverRows)
        yield from (len(own) for _, _, own in handed(effect))


def _expected(made: Traffic, some: Batch) -> int:
    last = int(some.numbers[-1])
    first = int(some.numbers[0]) - 1
    return len(made.wanted(last)) - (len(made.wanted(first)) if first else 0)

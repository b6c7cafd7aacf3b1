"""What is saved when subscriptions that move are updated, and not cancelled and made anew?

**One update.** 200,000 subscriptions of traders (`lab.workloads.trading`, with more of them and
finer prices) are registered by a client at one broker, under covering, with one neighbour. Then
limits move a little, up or down: each time, a message with the new constant comes in, is read, and
is handled to the end, and so is what the neighbour answers. Baseline: two messages, one that
cancels the subscription, and one with the whole new filter. Subscriptions that **stand for others**
are forwarded, and others hang under them; those that are **covered** are not forwarded. The same
with the poset of the paper, and fewer subscriptions: to register so many there would take half an
hour.

**Networks.** Algorithmic trading (`lab.workloads.trading`) and highway traffic
(`lab.workloads.highway`) are simulated with 10 to 1,000 updates a second at each broker that has
subscribers, as the paper counts them, by each strategy, on our index and on the poset
(`lab.reaction`). Time is that of the simulator's clock: 10 ms for each link, and for a broker the
CPU time that handling takes on this machine, and 140 ns for each byte of a message, to read or
write it (`CostModel`, from `calibrate`). Baseline: subscribe first, the re-subscription that loses
nothing; the others are in the notes. Throughput is how many events a second could be published
before a broker is busy all the time; 0 says that there is one that does not keep up with the
updates alone.

Jayaram, Jayalath, Eugster (Middleware 2010) report up to 6 times less delay until the first new
event, up to 6 times fewer spurious events, up to 8 times the throughput, and 2.25 times at 1,000
updates a second of each subscriber. What is handed on is checked in every run: see `lab.reaction`.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.figure import Figure, timed
from tidegate.lab.reaction import Outcome, react
from tidegate.lab.workloads.highway import Highway
from tidegate.lab.workloads.trading import Trading
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attribute_template import AttributeTemplate
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.encoding import decode, encode
from tidegate.overlay.messages import Acknowledge, Change, Effect, Entry, Hello, LinkUp, Send
from tidegate.overlay.policy import Choice
from tidegate.overlay.strategy import STRATEGIES
from tidegate.simulate.cost import CostModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidegate.lab.workloads.movement import Movement
    from tidegate.overlay.filter import Filter
    from tidegate.overlay.policy.covering import Covering

REGISTERED = {"boxes": 200_000, "poset": 20_000}
EACH = 1_000  # subscriptions of a type, all of which are wanted alike: 200 types, as in the paper
LEVELS = 1_000_000  # prices: with fewer, limits would coincide
NEAR = 1_000  # a limit moves by less than so many of them
SAMPLE = 100  # subscriptions of each sort that move
AIM = 10  # times cheaper

RATES = {10: 2.0, 100: 1.0, 1_000: 0.2}  # updates a second at each broker: seconds simulated
EVENTS = {"boxes": 500.0, "poset": 200.0}  # a second; the poset carries hardly more
AGAINST = "subscribe first"
PAPER = {
    "delay": "the paper: up to 6 times less",
    "spurious": "the paper: up to 6 times fewer",
    "throughput": "the paper: up to 8 times, 2.25 times at 1,000 updates a second",
}


class Moved(NamedTuple):
    """A subscription, and what becomes of it."""

    own: int
    before: AttributeFilter
    after: AttributeFilter


def run() -> Iterator[Figure]:
    """One broker on either index, then the networks."""
    for index, count in REGISTERED.items():
        yield from one_update(index, count)
    for work in (Trading(), Highway()):
        for index, events in EVENTS.items():
            react(work, index=index, events=events, seconds=0.2)  # loads the kernels
            for rate, seconds in RATES.items():
                yield from network(work, index, rate, events, seconds)


# -- networks


def network(
    work: Movement, index: str, rate: int, events: float, seconds: float
) -> Iterator[Figure]:
    """All strategies on one workload and index, at one rate."""
    edges = len({mover.broker for mover in work.movers})
    found: dict[str, Outcome] = {}
    for strategy in STRATEGIES:
        with timed():  # without the garbage collector, which would be taken for work of brokers
            found[strategy] = react(
                work,
                strategy,
                index=index,
                rate=rate * edges,
                events=events,
                seconds=seconds,
                costs=CostModel(measured=True),
            )
    ours, base = found["parametric"], found[AGAINST]
    of = f"parametric, {work.name}, {index}, {rate:,} updates/s"
    yield Figure(
        f"{of}: delay",
        ours.delay * 1e3,
        base.delay * 1e3,
        base.delay / ours.delay if ours.delay else None,
        "ms",
        note=f"{ours.answered:,} of {ours.moves:,} updates were followed by a new event before the "
        f"next; {_others(found, 'delay', 1e3)}; {PAPER['delay']}",
    )
    yield Figure(
        f"{of}: spurious",
        ours.spurious,
        base.spurious,
        base.spurious / ours.spurious if ours.spurious else None,
        "events/s",
        note=f"beside {ours.handed:,.0f} handed on; {_others(found, 'spurious')}; "
        f"lost by cancel first: {found['cancel first'].lost:,}; {PAPER['spurious']}",
    )
    yield Figure(
        f"{of}: throughput",
        ours.throughput,
        base.throughput,
        ours.throughput / base.throughput if base.throughput else None,
        "events/s",
        note=f"{_others(found, 'throughput')}; an update takes {ours.control * 1e6:,.0f} µs of all "
        f"brokers and {ours.messages:.2f} messages between them, {AGAINST} "
        f"{base.control * 1e6:,.0f} µs and {base.messages:.2f}; of its time, the busiest broker "
        f"spends {ours.busiest:.0%} on updates, {AGAINST} {base.busiest:.0%}; "
        f"{PAPER['throughput']}",
    )


def _others(found: dict[str, Outcome], name: str, times: float = 1.0) -> str:
    """What came of the other baselines."""
    return ", ".join(
        f"{strategy} {_short(getattr(outcome, name) * times)}"
        for strategy, outcome in found.items()
        if strategy not in ("parametric", AGAINST)
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


# -- one broker


def one_update(index: str, count: int) -> Iterator[Figure]:
    """Updates at a broker with so many subscriptions, beside re-subscription."""
    market = Trading(subscribers=count // 10, types=count // EACH, skew=0.0, levels=LEVELS)
    kind = Attributes(market.schema)
    drawn = random.Random(1)
    made: dict[str, AttributeTemplate] = {}
    filters = []
    for mover in market.movers:
        template = made.setdefault(mover.text, kind.template(mover.text))
        filters.append(_bound(template, {**mover.fixed, **mover.start}))
    small = _Desk(kind, index, filters[:500])  # loads the kernels
    small.replace([Moved(1, filters[0], filters[1])])
    desk = _Desk(kind, index, filters)
    sorts = desk.sorts()
    chosen = {
        (sort, way): [
            Moved(own, filters[own - 1], _near(made, market, own, way, drawn))
            for own in drawn.sample(sorts[sort], min(SAMPLE, len(sorts[sort])))
        ]
        for sort, way in (("stands for others", 1), ("stands for others", -1), ("is covered", 0))
    }
    costs = {of: desk.there_and_back(moved) for of, moved in chosen.items()}
    for (sort, way), moved in chosen.items():
        base = desk.replace(moved)
        desk.check(moved)
        desk.replace([Moved(own, after, before) for own, before, after in moved])
        cost = costs[sort, way]
        becomes = {1: " and becomes wider", -1: " and becomes narrower", 0: ""}[way]
        yield Figure(
            f"parametric, {index}: one update at {count:,} subscriptions, "
            f"of one that {sort}{becomes}",
            cost,
            base,
            base / cost,
            "µs",
            note=f"{len(sorts[sort]):,} of them, {desk.under:,.0f} under each that is forwarded; "
            "baseline: cancel and subscribe",
            aim=f"at least {AIM} times cheaper" if way else "",
            met=base >= AIM * cost or not way,
        )


def _bound(template: AttributeTemplate, values: dict[str, Any]) -> AttributeFilter:
    """A filter that shares nothing with those before it."""
    found = template.bind(values)
    return AttributeFilter(found.filter.of(found.filter.tree, found.filter.schema))


def _near(
    made: dict[str, AttributeTemplate], market: Trading, own: int, way: int, drawn: random.Random
) -> AttributeFilter:
    """A subscription with its limit moved a little: to be wider, narrower, or anyhow."""
    mover = market.movers[own - 1]
    up = -1 if ">=" in mover.text else 1
    limit = mover.start["limit"] + up * (way or drawn.choice((-1, 1))) * drawn.randrange(1, NEAR)
    return _bound(made[mover.text], {**mover.fixed, "limit": limit})


class _Desk:
    """A broker with a client that has many subscriptions, and a neighbour that acknowledges."""

    def __init__(self, kind: Attributes, index: str, filters: Sequence[AttributeFilter]) -> None:
        self.kind = kind
        self.broker = Broker("here", kind, Choice("covering", index=index))
        self.broker.handle("neighbour", LinkUp(client=False))
        self.broker.handle("neighbour", Hello(1, 0, 0))
        self.broker.handle("client", LinkUp(client=True))
        self._seq = 0
        for own, f in enumerate(filters, start=1):
            self._take(self._change(add=(Entry(own, f),)))

    @property
    def forwarded(self) -> dict[int, Filter]:
        """What the neighbour has."""
        return dict(self._policy.active)

    @property
    def _policy(self) -> Covering:
        [covering] = self.broker.routing.links["neighbour"].wanted.stages
        return covering  # type: ignore[return-value]

    def sorts(self) -> dict[str, list[int]]:
        """Subscriptions whose filter nobody else asks for, by what becomes of it."""
        asked: dict[Filter, list[int]] = {}
        for own, f in self.broker.routing.wanted.of("client").items():
            asked.setdefault(f, []).append(own)
        alone = {f: owns[0] for f, owns in asked.items() if len(owns) == 1}
        above = {parent for _, parent in self._policy.state()}
        active = self._policy.active
        roots = [active[number] for number in above if number in active]
        forwarded = set(active.values())
        return {
            "stands for others": [alone[f] for f in roots if f in alone],
            "is covered": [own for f, own in alone.items() if f not in forwarded],
        }

    @property
    def under(self) -> float:
        """How many filters hang directly under one that is forwarded, on the average."""
        active = self._policy.active
        return sum(parent in active for _, parent in self._policy.state()) / len(active)

    def there_and_back(self, moved: Sequence[Moved]) -> float:
        """Tell new constants, and then the old ones again; the µs for each of the new ones."""
        forwarded = self.forwarded
        cost = self.update(moved)
        self.check(moved)
        self.update([Moved(own, after, before) for own, before, after in moved])
        assert self.forwarded == forwarded, "what goes back is forwarded as before"
        return cost

    def update(self, moved: Sequence[Moved]) -> float:
        """Tell new constants; the µs for each."""
        messages = [
            encode(self._change(update=(Entry(own, after),)), self.kind) for own, _, after in moved
        ]
        return self._told(messages, len(moved))

    def replace(self, moved: Sequence[Moved]) -> float:
        """Cancel, and subscribe anew; the µs for each."""
        messages = []
        for own, _, after in moved:
            messages.append(encode(self._change(remove=(own,)), self.kind))
            messages.append(encode(self._change(add=(Entry(own, after),)), self.kind))
        return self._told(messages, len(moved))

    def check(self, moved: Sequence[Moved]) -> None:
        """The broker has what it was told, and forwards something that covers it."""
        has = self.broker.routing.wanted.of("client")
        for own, _, after in moved:
            assert has[own] == after
            assert any(f.covers(after) for f in self.forwarded.values())

    def _told(self, messages: Sequence[bytes], times: int) -> float:
        has = self.broker.routing.wanted.of("client")
        with timed() as telling:
            for message in messages:
                came = decode(message, self.kind, lambda _, own: has[own])
                assert isinstance(came, Change)
                self._take(came)
        return telling.seconds / times * 1e6

    def _take(self, change: Change) -> None:
        for effect in self.broker.handle("client", change):
            self._answer(effect)

    def _answer(self, effect: Effect) -> None:
        if isinstance(effect, Send) and isinstance(effect.message, Change):
            self.broker.handle("neighbour", Acknowledge(effect.message.seq))

    def _change(self, **parts: Any) -> Change:
        self._seq += 1
        return Change(self._seq, **parts)

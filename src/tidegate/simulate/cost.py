"""How long does a broker work on something?

The time is what was done, in units that do not depend on the machine (`overlay.work`), times a
constant for each unit, plus something for each message and byte that comes in or goes out. So a run
is the same on every machine. The constants were measured once, by `calibrate`, on a common server
core (`tidegate bench overlay` does it again); they are stored with every result. With `measured`,
the time that this machine takes is used in place of the first part, and the result cannot be
reproduced.
"""

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from time import thread_time_ns
from typing import Final

from tidegate.errors import TidegateError
from tidegate.filters.expression import Operator, Predicate
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.encoding import decode, encode
from tidegate.overlay.filter import Event, Kind
from tidegate.overlay.messages import Acknowledge, Change, Entry, Message, Publish
from tidegate.overlay.work import Work

_MERGED: Final = 200

now: Final = thread_time_ns
"""What is measured is the time of a core, however busy the machine is with other things."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """Nanoseconds for each unit of work, each message, and each byte of one.

    The defaults are what `calibrate` gave on one core of a common server, in the middle of three
    times, to two digits. `content` is for each byte of an event that is matched: matching takes no
    longer for a large event, unless it is a document (`DOCUMENT`).

    >>> CostModel(events=100, found=10).of(Work(events=2, found=3))
    230
    """

    inserts: int = 86_000
    removals: int = 5_200
    questions: int = 84_000
    merged: int = 2_700_000
    events: int = 12_000
    found: int = 48
    updates: int = 86_000
    compared: int = 5_100
    messages: int = 0
    bytes: int = 140
    rated: int = 50_000
    content: int = 0
    measured: bool = False

    def __post_init__(self) -> None:
        for name, cost in asdict(self).items():
            if cost < 0:
                raise TidegateError(f"a cost is not negative, as that of {name} is: {cost}")

    def of(self, work: Work) -> int:
        """The time for all units so far."""
        return (
            self.inserts * work.inserts
            + self.removals * work.removals
            + self.questions * work.questions
            + self.merged * work.merged
            + self.events * work.events
            + self.found * work.found
            + self.updates * work.updates
            + self.compared * work.compared
            + self.rated * work.rated
        )


DOCUMENT: Final = 48
"""For each byte of a document: how much longer the index of documents takes for longer ones."""

FREE: Final = CostModel(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
"""Brokers that take no time."""


def calibrate(filters: int = 2_000, index: str | None = None) -> CostModel:
    """Measure the constants on this machine, with filters and events like those of a stock market.

    The time of an event depends on how many filters there are, that of a question too: so this is
    for tables of about a size, kept in the index of that name. Each constant is the least of three
    runs.
    """
    runs = [asdict(_measured(filters, index)) for _ in range(3)]
    return CostModel(**{name: min(run[name] for run in runs) for name in runs[0]})


def _measured(count: int, structure: str | None) -> CostModel:
    draw = random.Random(1)
    kind = Attributes().keeping(structure, None)
    filters, others, new = ([_filter(kind, draw) for _ in range(count)] for _ in range(3))
    events = [_event(draw) for _ in range(count)]
    index = kind.index()
    for number, f in enumerate(filters):
        index.add(number, f)
    # What is new to an index takes longer: its constants are. Of what a broker puts into an index
    # or asks it, about half is: a policy asks about a filter twice before it takes it in.
    asked = (index.containing, index.contained, index.overlapping)
    inserts = _each(lambda i: index.add(count + i, others[i]), count)
    questions = _each(lambda i: asked[i % 3](new[i]), count)
    questions += _each(lambda i: asked[i % 3](new[i]), count)
    inserts += _each(lambda i: index.add(2 * count + i, new[i]), count)
    removals = _each(lambda i: index.remove(count + i), 2 * count)
    found = sum(len(index.match(event)) for event in events)
    matching = _each(lambda i: index.match(events[i]), len(events))
    compared = _each(lambda i: filters[i].covers(filters[-i]), count)
    near = [_moved(f, draw) for f in filters]
    updates = _each(lambda i: index.update(i, _moved(near[i], draw)), count)
    alike = kind.index()
    for number in range(1_000):
        alike.add(number, kind.parse("price BETWEEN :low AND :high", low=0, high=1_000 + number))
    each = max(0.0, _each(lambda i: alike.match(events[i % count]), 200) - matching) / 1_000
    some = dict(enumerate(filters[:_MERGED]))
    merged = _each(lambda _: kind.mergers(some, 0.0, None), 1) / len(some)
    messages, size = _messages(kind, filters, events)
    return CostModel(
        inserts=_rounded(inserts / 2),
        removals=_rounded(removals),
        questions=_rounded(questions / 2),
        merged=_rounded(merged),
        events=_rounded(matching - each * found / len(events)),
        found=_rounded(each),
        updates=_rounded(updates),
        compared=_rounded(compared),
        messages=_rounded(messages),
        bytes=_rounded(size),
    )


def _messages(
    kind: Kind, filters: list[AttributeFilter], events: list[Event]
) -> tuple[float, float]:
    """What reading or writing takes, for each message and each byte: a line through two sizes."""
    count = min(500, len(filters))
    small: list[Message] = [Acknowledge(i) for i in range(count)]
    large: list[Message] = [Publish(i, events[i], "b0/publisher") for i in range(count)]
    large += [Change(i, (Entry(i, filters[i]),)) for i in range(count)]

    def both(messages: list[Message]) -> tuple[float, float]:
        encoded = [encode(message, kind) for message in messages]
        time = _each(lambda i: encode(messages[i], kind), len(messages))
        time += _each(
            lambda i: decode(encoded[i], kind, lambda _, own: filters[own]), len(messages)
        )
        return time / 2, sum(map(len, encoded)) / len(encoded)

    (short, little), (long, much) = both(small), both(large)
    slope = max(0.0, (long - short) / (much - little))
    return max(0.0, short - slope * little), slope


def _each(action: Callable[[int], object], times: int) -> float:
    """Nanoseconds of this thread for each time."""
    start = thread_time_ns()
    for i in range(times):
        action(i)
    return (thread_time_ns() - start) / times


def _rounded(nanoseconds: float) -> int:
    """To two digits: there is no more to it."""
    return int(float(f"{max(nanoseconds, 0.0):.1e}"))


def _filter(kind: Attributes, draw: random.Random) -> AttributeFilter:
    low = round(draw.uniform(1, 990), 2)
    text = "symbol = :symbol AND price BETWEEN :low AND :high"
    symbol, high = f"S{draw.randint(1, 100)}", round(low + draw.uniform(1, 50), 2)
    return kind.parse(text, symbol=symbol, low=low, high=high)


def _moved(f: AttributeFilter, draw: random.Random) -> AttributeFilter:
    """The filter with the lower end of its prices moved: as a rule, one constant changes."""
    by = draw.uniform(-1, 1)

    def nudged(predicate: Predicate) -> Predicate:
        [old] = predicate.constants
        if predicate.operator is not Operator.AT_LEAST or not isinstance(old, float):
            return predicate
        return replace(predicate, constants=(round(old + by, 2),))

    return f.moved(nudged)


def _event(draw: random.Random) -> Event:
    price = round(draw.uniform(1, 1_000), 2)
    return {"symbol": f"S{draw.randint(1, 100)}", "price": price, "volume": 100}

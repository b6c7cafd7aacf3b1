"""Compile what will be needed before anybody waits for it.

The first batch of events has kernels compiled, or read from disk: seconds, in which a broker would
answer nobody. So before it listens, a broker handles a few events of a small network of its own.
"""

from collections.abc import Sequence
from functools import cache
from itertools import cycle
from typing import Any, Final

from tidegate.network.driver import Driver
from tidegate.network.event_frames import events_frame, payloads_of
from tidegate.network.frames import HEAD, Frame, Sort
from tidegate.network.limits import Limits
from tidegate.network.payloads import payload
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Event, Filter, Kind
from tidegate.overlay.messages import Change, Entry, LinkUp
from tidegate.overlay.patterns import Patterns

_FILTERS: Final = 4_000  # as many as the engine keeps as it does a hundred thousand
_EVENTS: Final = 64
_TEXTS: Final = (
    "a = :x AND b BETWEEN :low AND :high",
    "a = :x AND b BETWEEN :low AND :high AND n > :n",
    "a = :x AND b BETWEEN :low AND :high AND c = :y",
    "a = :x AND b BETWEEN :low AND :high AND c = :y AND d = :y",
    "a = :x AND b BETWEEN :low AND :high AND c = :y AND d = :y AND n > :n",
    "b = :low",
    "n = :n OR b = :low",
)
_PATTERNS: Final = (
    "//a[b = $x]",
    "/r/a/b",
    "/r//c[@k < $n]",
    "//a[b = $x][c[d > $n]]",
    "/*/*[starts-with(b, $x)]",
    "//d[contains(., $x)]",
    "/r/a[2]",
)
_DOCUMENTS: Final = 140  # patterns


@cache
def warm(kind: str = Attributes.name) -> None:
    """Handle a few events of every usual sort, of a kind; of several, those of each."""
    names = kind.split("+")
    if Attributes.name in names:
        _warm_attributes()
    if Patterns.name in names:
        _warm_patterns()


def _warm_attributes() -> None:
    kind = Attributes()
    given = [
        {"x": f"x{i % 50}", "low": float(i), "high": i + 90.0, "n": i, "y": f"y{i % 5}"}
        for i in range(_FILTERS)
    ]
    filters = [
        kind.parse(text, **{n: v for n, v in row.items() if f":{n}" in text})
        for row, text in zip(given, cycle(_TEXTS), strict=False)
    ]
    _handle(kind, filters, [_event(i) for i in range(_EVENTS)])


def _warm_patterns() -> None:
    kind = Patterns()
    filters = []
    for i, text in zip(range(_DOCUMENTS), cycle(_PATTERNS), strict=False):
        template = kind.template(text)
        values = {"x": f"x{i}", "n": i}
        filters.append(template.bind({name: values[name] for name in template.parameters}))
    documents = [f"<r><a><b>x{i}</b><c k='{i}'><d>{i}</d></c></a><a/></r>" for i in range(_EVENTS)]
    _handle(kind, filters, documents)


def _handle(kind: Kind, filters: Sequence[Filter], some: Sequence[Event]) -> None:
    """Have filters, and handle events together and alone."""
    broker = Broker("warming", kind)
    driver = Driver(broker, None, Limits(), lambda link, data: None)
    driver.up("client", True)
    entries = tuple(Entry(i, f) for i, f in enumerate(filters))
    broker.handle("client", LinkUp(client=True))
    broker.handle("client", Change(1, add=entries))
    number = 0
    for count in (_EVENTS, _EVENTS, 1, 6, 20):
        events = some[:count]
        numbers = list(range(number + 1, number + count + 1))
        data = events_frame(numbers, [], payloads_of([payload(e, kind) for e in events]))
        number += count
        driver.heard("client", Frame(Sort.EVENTS, data[HEAD.size :]))
        driver.take_events()
        driver.perform()


def _event(i: int) -> dict[str, Any]:
    return {"a": f"x{i}", "b": 40.0 * i, "c": f"y{i % 5}", "d": f"y{i % 5}", "n": 40 * i}

"""Compile what will be needed before anybody waits for it.

The first batch of events has kernels compiled, or read from disk: seconds, in which a broker would
answer nobody. So before it listens, a broker handles a few events of a small network of its own.
"""

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
from tidegate.overlay.messages import Change, Entry, LinkUp

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


@cache
def warm() -> None:
    """Handle a few events of every usual sort."""
    kind = Attributes()
    broker = Broker("warming", kind)
    driver = Driver(broker, None, Limits(), lambda link, data: None)
    driver.up("client", True)
    given = [
        {"x": f"x{i % 50}", "low": float(i), "high": i + 90.0, "n": i, "y": f"y{i % 5}"}
        for i in range(_FILTERS)
    ]
    entries = tuple(
        Entry(i, kind.parse(text, **{n: v for n, v in row.items() if f":{n}" in text}))
        for i, (row, text) in enumerate(zip(given, cycle(_TEXTS), strict=False))
    )
    broker.handle("client", LinkUp(client=True))
    broker.handle("client", Change(1, add=entries))
    number = 0
    for count in (_EVENTS, _EVENTS, 1, 6, 20):
        events = [_event(i) for i in range(count)]
        numbers = list(range(number + 1, number + count + 1))
        data = events_frame(numbers, [], payloads_of([payload(e, kind) for e in events]))
        number += count
        driver.heard("client", Frame(Sort.EVENTS, data[HEAD.size :]))
        driver.take_events()
        driver.perform()


def _event(i: int) -> dict[str, Any]:
    return {"a": f"x{i}", "b": 40.0 * i, "c": f"y{i % 5}", "d": f"y{i % 5}", "n": 40 * i}

"""Compile what will be needed before anybody waits for it.

The first batch of events has kernels compiled, or read from disk: seconds, in which a broker would
answer nobody. So before it listens, a broker handles a few events of a small network of its own.
"""

from functools import cache

from tidegate.network.driver import Driver
from tidegate.network.event_frames import events_frame, payloads_of
from tidegate.network.frames import HEAD, Frame, Sort
from tidegate.network.limits import Limits
from tidegate.network.payloads import payload
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.messages import Change, Entry, LinkUp

_FILTERS = 2_000
_EVENTS = 64


@cache
def warm() -> None:
    """Handle a few events of every usual sort."""
    kind = Attributes()
    broker = Broker("warming", kind)
    driver = Driver(broker, None, Limits(), lambda link, data: None)
    driver.up("client", True)
    texts = ("a = :x AND b < :y", "b >= :y", "a = :x AND b BETWEEN :y AND :y", "c = :z OR b > :y")
    given = [{"x": f"x{i % 50}", "y": float(i), "z": i} for i in range(_FILTERS)]
    entries = tuple(
        Entry(i, kind.parse(text, **{n: v for n, v in row.items() if f":{n}" in text}))
        for i, (row, text) in enumerate(zip(given, texts * (_FILTERS // 4), strict=True))
    )
    broker.handle("client", LinkUp(client=True))
    broker.handle("client", Change(1, add=entries))
    number = 0
    for count in (_EVENTS, _EVENTS, 1, 6):
        events = [{"a": f"x{i}", "b": float(i), "c": i} for i in range(count)]
        numbers = list(range(number + 1, number + count + 1))
        data = events_frame(numbers, [], payloads_of([payload(e, kind) for e in events]))
        number += count
        driver.heard("client", Frame(Sort.EVENTS, data[HEAD.size :]))
        driver.take_events()
        driver.perform()

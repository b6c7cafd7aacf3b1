"""Events that have come and wait to be handled together.

A broker handles the events of one link in batches. Where traffic is light, what has come is handled
at once: to wait would only cost time. Where it is not, events are gathered for up to `LONGEST`
seconds or until there are `MOST`, since a large batch costs little more than a small one.
"""

from typing import Final, NamedTuple

from tidegate.network.event_frames import Payloads, Table, joined
from tidegate.overlay.filter import Event
from tidegate.overlay.messages import Batch

LONGEST: Final = 0.002  # seconds
MOST: Final = 2_000
LIGHT: Final = 32  # events in the last round, up to which traffic is light


class Gathered(NamedTuple):
    """The events of one link."""

    numbers: list[int]
    publishers: list[str]
    payloads: Payloads


class Gathering:
    """Frames of events by link, in the order in which they came."""

    def __init__(self) -> None:
        self.count = 0
        self._last = 0  # how many there were in the last round
        self._tables: dict[str, list[Table]] = {}

    def add(self, link: str, table: Table) -> None:
        """Let the events of a frame wait."""
        self._tables.setdefault(link, []).append(table)
        self.count += len(table.numbers)

    @property
    def patience(self) -> float:
        """For how long to wait for more, in seconds."""
        if self.count >= MOST or self._last <= LIGHT:
            return 0.0
        return LONGEST

    def take(self) -> list[tuple[str, Gathered]]:
        """All of it, link by link."""
        found = [(link, _gathered(tables)) for link, tables in self._tables.items()]
        self._last, self.count = self.count, 0
        self._tables.clear()
        return found


def _gathered(tables: list[Table]) -> Gathered:
    return Gathered(
        [number for table in tables for number in table.numbers],
        [name for table in tables for name in table.publishers],
        joined([table.payloads for table in tables]),
    )


def batch_of(came: Gathered, events: list[Event]) -> Batch:
    """What a broker is told; what the payloads say was read before."""
    starts = came.payloads.starts
    sizes = (starts[1:] - starts[:-1]).tolist()
    return Batch(came.numbers, events, came.publishers, sizes, came.payloads)

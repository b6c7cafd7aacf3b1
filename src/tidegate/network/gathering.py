"""Events that have come and wait to be handled together.

A broker handles events in batches: those of all its clients in one, those of each neighbour in
another. Where traffic is light, what has come is handled at once: to wait would only cost time.
Where it is not, events are gathered for up to `LONGEST` seconds or until there are `MOST`, since a
large batch costs little more than a small one.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from tidegate.network.event_frames import Part, Table, read_parts
from tidegate.overlay.row_names import RowNames

LONGEST: Final = 0.002  # seconds
MOST: Final = 2_000
LIGHT: Final = 32  # events in the last round, up to which traffic is light


class Gathered(NamedTuple):
    """Events, and on which link each of them has come."""

    links: RowNames
    table: Table


class Gathering:
    """Frames of events by link, in the order in which they came."""

    def __init__(self) -> None:
        self.count = 0
        self._last = 0  # how many there were in the last round
        self._parts: dict[str, list[Part]] = {}

    def add(self, link: str, part: Part) -> None:
        """Let the events of a frame wait."""
        self._parts.setdefault(link, []).append(part)
        self.count += part.count

    @property
    def patience(self) -> float:
        """For how long to wait for more, in seconds."""
        if self.count >= MOST or self._last <= LIGHT:
            return 0.0
        return LONGEST

    def take(self, is_client: Callable[[str], bool]) -> list[Gathered]:
        """All of it: what has come from clients together, what from each broker by itself."""
        self._last, self.count = self.count, 0
        parts, self._parts = self._parts, {}
        clients = [link for link in parts if is_client(link)]
        together = [clients] if clients else []
        together += [[link] for link in parts if link not in clients]
        found = []
        for links in together:
            counts = [sum([part.count for part in parts[link]]) for link in links]
            places = np.repeat(np.arange(len(links), dtype=np.int32), counts)
            table = read_parts([part for link in links for part in parts[link]])
            found.append(Gathered(RowNames(tuple(links), places), table))
        return found

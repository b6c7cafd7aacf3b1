"""Events that have come and wait to be handled together.

A broker handles the events of one link in batches. Where traffic is light, what has come is handled
at once: to wait would only cost time. Where it is not, events are gathered for up to `LONGEST`
seconds or until there are `MOST`, since a large batch costs little more than a small one.
"""

from typing import Final

from tidegate.network.event_frames import Part, Table, read_parts

LONGEST: Final = 0.002  # seconds
MOST: Final = 2_000
LIGHT: Final = 32  # events in the last round, up to which traffic is light


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

    def take(self) -> list[tuple[str, Table]]:
        """All of it, link by link."""
        found = [(link, read_parts(parts)) for link, parts in self._parts.items()]
        self._last, self.count = self.count, 0
        self._parts.clear()
        return found

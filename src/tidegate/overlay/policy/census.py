"""How many registrations ask for each filter?

What a source asks for, it asks for on behalf of as many registrations as its entry counts. The
census sums that up for each number of `sources`: the *x* and *z* of one filter, over all links that
have it (Chand's thesis, section 4.2.1).
"""

from typing import TypeAlias

from tidegate.overlay.counts import NONE, ONCE, Counts

_Source: TypeAlias = tuple[str, int]  # as `sources` has it


class Census:
    """Counts of sources, and their sums for each number."""

    def __init__(self) -> None:
        self.sums: dict[int, Counts] = {}
        self._sources: dict[_Source, Counts] = {}  # those that count more than once
        self._before: dict[int, Counts] = {}  # sums at the start of the step that have changed

    def of(self, source: _Source) -> Counts:
        """What a source counts."""
        return self._sources.get(source, ONCE)

    def join(self, source: _Source, number: int, counts: Counts) -> None:
        """A source asks for what has this number."""
        if counts != ONCE:
            self._sources[source] = counts
        self._shift(number, counts)

    def leave(self, source: _Source, number: int) -> None:
        """A source no longer asks for it."""
        self._shift(number, NONE - self._sources.pop(source, ONCE))

    def changed(self) -> dict[int, Counts]:
        """The sums that have changed since this was last asked, of numbers that have any left."""
        before, self._before = self._before, {}
        return {
            number: self.sums[number]
            for number in sorted(before)
            if self.sums.get(number, before[number]) != before[number]
        }

    def _shift(self, number: int, by: Counts) -> None:
        now = self.sums.get(number, NONE)
        self._before.setdefault(number, now)
        self.sums[number] = now + by
        if not self.sums[number].own:
            del self.sums[number]

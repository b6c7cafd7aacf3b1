"""An index that asks one filter after the other.

For kinds of filters that have no better one, and the answer that better ones are compared with.
"""

from collections.abc import Callable, Sequence

from tidegate.overlay.filter import Event, Filter
from tidegate.overlay.pairs import Pairs, one_by_one


class ScanIndex:
    """A `FilterIndex` of any filters."""

    def __init__(self) -> None:
        self._filters: dict[int, Filter] = {}

    def __len__(self) -> int:
        return len(self._filters)

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self._filters[number] = f

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._filters[number] = f

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        del self._filters[number]

    def match(self, event: Event, /) -> list[int]:
        """The filters that match an event."""
        return self._where(lambda f: f.matches(event))

    def match_batch(self, events: Sequence[Event], /) -> list[Pairs]:
        """The filters that match each of many events."""
        return one_by_one(self.match, events)

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        return self._where(lambda g: g.covers(f))

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        return self._where(f.covers)

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        return self._where(lambda g: g.overlaps(f))

    def _where(self, test: Callable[[Filter], bool]) -> list[int]:
        return [number for number, f in self._filters.items() if test(f)]

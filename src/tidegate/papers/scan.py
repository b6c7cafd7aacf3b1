"""What does it cost to ask one filter after the other?

The naive table that every paper compares itself with, and what other structures keep aside: the
filters that they have no room for.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tidegate.algebra.relate import covers, overlaps
from tidegate.filters.filter import Filter


class Scan:
    """Filters of the language under numbers, asked one by one.

    >>> from tidegate.filters.filter import parse
    >>> scan = Scan()
    >>> scan.add(1, parse("price < 10"))
    >>> scan.add(2, parse("price < 5"))
    >>> scan.match({"price": 7}), scan.containing(parse("price < 6"))
    ([1], [1])
    """

    def __init__(self) -> None:
        self.filters: dict[int, Filter] = {}

    def __len__(self) -> int:
        return len(self.filters)

    def __contains__(self, number: int) -> bool:
        return number in self.filters

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self.filters[number] = f

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self.filters[number] = f

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        del self.filters[number]

    def match(self, event: Mapping[str, Any], /) -> list[int]:
        """The filters that match an event."""
        return self._where(lambda f: f.matches(event))

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        return self._where(lambda g: covers(g, f))

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        return self._where(lambda g: covers(f, g))

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        return self._where(lambda g: overlaps(g, f))

    def _where(self, test: Callable[[Filter], bool]) -> list[int]:
        return [number for number, f in self.filters.items() if test(f)]

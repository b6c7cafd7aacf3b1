"""Who asked for which filter?

What comes in has a **source**: the link it came from and its id there. A policy gives each distinct
filter one number, however many sources ask for it, and hears of it again when the last of them goes
(*identity*, in which equal filters are forwarded once). In the *simple* policy every source has a
number of its own.

Where registrations are counted, each source asks on behalf of some: see `census`.

A number stays with a filter whose constants are updated, where that is all that happens: no other
source shares the filter, none has the new one already, and the shape stays.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from tidegate.engine.primitives.gc_pause import put_off
from tidegate.overlay.counts import ONCE, Counts
from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Filter, Plain
from tidegate.overlay.policy.census import Census

Source: TypeAlias = tuple[str, int]
Sourced: TypeAlias = Iterable[tuple[Source, Filter]]
"""Filters, each with the source that asks for it."""
NOT_COUNTED: Final[Mapping[Source, Counts]] = {}


class Sources:
    """The filters that came in, under numbers that are never given twice."""

    def __init__(self, *, distinct: bool, counted: bool = False) -> None:
        self.filters: dict[int, Filter] = {}
        self.census: Final = Census() if counted else None
        self._distinct = distinct
        self._numbers: dict[Source, int] = {}
        self._shared: dict[int, int] = {}  # how many sources a number has, where distinct
        self._known: dict[Filter, int] | None = None  # the number of a filter, when it is asked for
        self._next = 1

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, source: Source) -> bool:
        return source in self._numbers

    def step(
        self,
        add: Sourced,
        update: Sourced,
        remove: Iterable[Source],
        counts: Mapping[Source, Counts] = NOT_COUNTED,
    ) -> Difference:
        """Take in what has changed, as a whole: sources that are new, asking for another filter, or
        gone, and what they count. Who is new and not counted counts once.
        """
        watch = Watch(self.filters)
        for source, f in add:
            self._numbers[source] = self._join(f, watch)
            self._count(source, counts.get(source, ONCE))
        for source, f in update:
            self._move(source, f, watch)
        for source in remove:
            self._uncount(source)
            self._leave(self._numbers.pop(source), watch)
        if self.census is None:
            return watch.difference()
        for source, now in counts.items():
            if self.census.of(source) != now:
                self._uncount(source)
                self._count(source, now)
        found = watch.difference()
        found.counts = self.census.changed()
        return found

    def state(self, plain: Callable[[Filter], Plain]) -> Plain:
        """All of it as plain data; `plain` writes a filter."""
        filters = [[number, plain(f)] for number, f in self.filters.items()]
        numbers = [[*source, n, *self._told(source)] for source, n in self._numbers.items()]
        return [self._next, filters, numbers]

    def restore(self, read: Callable[[Plain], Filter], state: Plain) -> None:
        """Be as another one was."""
        self._next, filters, numbers = state
        for number, plain in filters:
            self._put(number, read(plain))
            self._shared[number] = 0
        for link, own, number, *counts in numbers:
            self._numbers[link, own] = number
            self._shared[number] += 1
            self._count((link, own), Counts(*counts))

    def _told(self, source: Source) -> Iterable[int]:
        """What is written down of what a source counts: nothing, if it counts once."""
        counts = ONCE if self.census is None else self.census.of(source)
        return () if counts == ONCE else counts

    def _count(self, source: Source, counts: Counts) -> None:
        if self.census is not None:
            self.census.join(source, self._numbers[source], counts)

    def _uncount(self, source: Source) -> None:
        if self.census is not None:
            self.census.leave(source, self._numbers[source])

    def _join(self, f: Filter, watch: Watch) -> int:
        number = self._number_of(f)
        if number is None:
            number = self._next
            self._next += 1
            watch.touch(number)
            self._put(number, f)
            self._shared[number] = 0
        self._shared[number] += 1
        return number

    def _leave(self, number: int, watch: Watch) -> None:
        self._shared[number] -= 1
        if not self._shared[number]:
            watch.touch(number)
            self._drop(number)
            del self._shared[number]

    def _move(self, source: Source, f: Filter, watch: Watch) -> None:
        number = self._numbers[source]
        old = self.filters[number]
        if old == f:
            return
        if self._shared[number] == 1 and self._number_of(f) is None and old.shape == f.shape:
            watch.touch(number)
            self._drop(number)
            self._put(number, f)
            return
        counts = ONCE if self.census is None else self.census.of(source)
        self._uncount(source)
        self._numbers[source] = self._join(f, watch)
        self._count(source, counts)
        self._leave(number, watch)

    def _number_of(self, f: Filter) -> int | None:
        """The number of a filter that is there, where equal ones have one."""
        if self._known is None:
            if not self._distinct:
                return None
            with put_off(len(self.filters)):
                self._known = {known: number for number, known in self.filters.items()}
        return self._known.get(f)

    def _put(self, number: int, f: Filter) -> None:
        self.filters[number] = f
        if self._known is not None:
            self._known[f] = number

    def _drop(self, number: int) -> None:
        f = self.filters.pop(number)
        if self._known is not None:
            del self._known[f]

"""A set of filters, each of which stands for one of another set.

A stage that puts simpler filters in the place of those that came in gives them numbers of its own:
a number has filters of one shape for as long as it lives, so that whoever is told of a change of
its constants knows the rest. When what stands for a filter gets another shape, it gets a new
number, in the same step.
"""

from collections.abc import Mapping

from tidegate.overlay.difference import Watch
from tidegate.overlay.filter import Filter, Plain


class Renumbered:
    """Filters under numbers that are never given twice, each for one that came in."""

    def __init__(self) -> None:
        self.active: dict[int, Filter] = {}
        self._own: dict[int, int] = {}  # the number of what stands for each that came in
        self._next = 1

    def put(self, number: int, f: Filter, watch: Watch) -> None:
        """Let a filter stand for the one with this number, that is new or has another one."""
        own = self._own.get(number)
        if own is not None and self.active[own].shape == f.shape:
            watch.touch(own)
            self.active[own] = f
            return
        if own is not None:
            self.drop(number, watch)
        own = self._own[number] = self._next
        self._next += 1
        watch.touch(own)
        self.active[own] = f

    def drop(self, number: int, watch: Watch) -> None:
        """Let nothing stand for a filter that has gone."""
        own = self._own.pop(number)
        watch.touch(own)
        del self.active[own]

    def state(self) -> Plain:
        """The numbers."""
        return [self._next, [[number, own] for number, own in self._own.items()]]

    def restore(self, filters: Mapping[int, Filter], state: Plain) -> None:
        """Be as another one was, in which these filters stood for those that came in."""
        self._next, numbers = state
        for number, own in numbers:
            self._own[number] = own
            self.active[own] = filters[number]

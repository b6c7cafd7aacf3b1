"""Which subscriptions does a broker forward?

The routine of Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription Subsumption Evaluation
for Content-Based Publish/Subscribe Systems" (Middleware 2008), Figs. 6 to 9, as a laboratory needs
it: a subscription that the active ones subsume is **passive**, and is not forwarded; any other is
**active**, and is taken away from the negative space. When an active one is cancelled, the passive
ones that overlap it are tried again, and those that are promoted are to be forwarded along with the
cancellation, and to take effect before it. Brokers have the same as a policy
(`overlay.policy.subsumption`).

The figures move a promoted subscription twice: `Subscribe` already makes it active.

Invariant: the active subscriptions together cover the passive ones.
"""

from typing import Protocol

from tidegate.engine.boxes.box_store import BoxStore
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema


class NegativeSpace(Protocol):
    """An exact or an approximate one."""

    @property
    def schema(self) -> Schema | None:
        """The schema that filters are read under."""

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""


class Forwarding:
    """Active and passive subscriptions over a negative space, which is empty at first.

    >>> from tidegate import parse
    >>> from tidegate.papers.negative.exact import ExactNegativeSpace
    >>> forwarding = Forwarding(ExactNegativeSpace())
    >>> texts = {1: "x < 5", 2: "x >= 5", 3: "x BETWEEN 1 AND 9"}
    >>> [forwarding.subscribe(number, parse(text)) for number, text in texts.items()]
    [True, True, False]
    >>> forwarding.unsubscribe(1)
    [3]
    """

    def __init__(self, space: NegativeSpace) -> None:
        self.space = space
        self.active: dict[int, Filter] = {}
        self.passive: dict[int, Filter] = {}
        self._waiting = BoxStore(space.schema)
        self._handles: dict[int, int] = {}  # in there, of the passive ones
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.active) + len(self.passive)

    def subscribe(self, number: int, f: Filter) -> bool:
        """Take in a subscription under a number that is free; whether it is forwarded."""
        if number in self.active or number in self.passive:
            raise ValueError(f"there is a subscription with the number {number}")
        if not self.space.subsumes(f):
            self._activate(number, f)
            return True
        handle = self._waiting.add(f)
        self.passive[number] = f
        self._handles[number], self._numbers[handle] = handle, number
        return False

    def unsubscribe(self, number: int) -> list[int]:
        """Cancel a subscription; those that are to be forwarded in its place, in order."""
        if number in self.passive:
            self._wake(number)
            return []
        f = self.active.pop(number)
        self.space.remove(number)
        promoted = []
        found = self._waiting.overlapping(f).tolist()
        for other in sorted(self._numbers[handle] for handle in found):
            if not self.space.subsumes(self.passive[other]):
                self._activate(other, self._wake(other))
                promoted.append(other)
        return promoted

    def _activate(self, number: int, f: Filter) -> None:
        self.space.add(number, f)
        self.active[number] = f

    def _wake(self, number: int) -> Filter:
        """Take a subscription out of the passive ones."""
        handle = self._handles.pop(number)
        del self._numbers[handle]
        self._waiting.remove(handle)
        return self.passive.pop(number)

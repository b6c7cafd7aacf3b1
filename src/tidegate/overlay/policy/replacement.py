"""Forward filters in which some conditions give way to others that are there already.

*Predicate replacement* of Bittner and Hinze, "Subscription Tree Pruning: A Structure-Independent
Routing Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), section 3.3: a
condition is replaced, wherever it occurs, by another one that it implies and that occurs as well.
Filters stay as long as they are, but a neighbour's index has fewer distinct conditions to look
after. The kind knows which replacements cost least; here is decided when.

What comes in is forwarded as it is at first. Whenever something was learned of events, all of it is
looked at afresh.

Invariant: each filter that comes in is covered by the one that stands for it.
"""

from collections.abc import Iterable, Mapping

from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Filter, Kind, Plain, Pruner
from tidegate.overlay.policy.renumbered import Renumbered
from tidegate.overlay.work import Work


class Replaced:
    """A set of filters, some of them with other conditions."""

    def __init__(self, kind: Kind, work: Work, pruner: Pruner, share: float) -> None:
        self._kind = kind
        self._work = work
        self._pruner = pruner
        self._share = share
        self._given: dict[int, Filter] = {}
        self._others: dict[int, Filter] = {}  # what stands for those that it is not themselves
        self._forwarded = Renumbered()

    @property
    def active(self) -> Mapping[int, Filter]:
        """What is forwarded."""
        return self._forwarded.active

    @property
    def passive(self) -> int:
        """Nothing is kept back."""
        return 0

    def step(self, change: Difference) -> Difference:
        """Follow a change of the set: what is new is forwarded as it is."""
        watch = Watch(self.active)
        for number in change.remove:
            del self._given[number]
            self._others.pop(number, None)
            self._forwarded.drop(number, watch)
        for number, f in (change.update | change.add).items():
            self._given[number] = f
            self._others.pop(number, None)
            self._forwarded.put(number, f, watch)
        return watch.difference()

    def tick(self) -> Difference:
        """Nothing here takes time."""
        return Difference()

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Nothing here depends on what is advertised."""
        return Difference()

    def learned(self, weight: float) -> Difference:
        """Replace what costs least by what is known now."""
        watch = Watch(self.active)
        self._work.rated += len(self._given)
        before, self._others = self._others, {}
        if self._pruner.knows:
            self._others.update(self._pruner.replaced(self._given, self._share * weight))
        for number in sorted(before.keys() | self._others.keys()):
            f = self._others.get(number, self._given[number])
            if f != before.get(number, self._given[number]):
                self._forwarded.put(number, f, watch)
            elif number in before:
                self._others[number] = before[number]
        return watch.difference()

    def state(self) -> Plain:
        """What was replaced, and the numbers."""
        others = [[n, self._kind.plain(f)] for n, f in sorted(self._others.items())]
        return [others, self._forwarded.state()]

    def restore(self, filters: Mapping[int, Filter], state: Plain) -> None:
        """Be as another one was that worked on these filters."""
        others, numbers = state
        self._given.update(filters)
        self._others.update((number, self._kind.read(plain)) for number, plain in others)
        self._forwarded.restore(self._given | self._others, numbers)

"""Forward filters with parts left out.

*Pre-pruning* of Bittner and Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), section 4.3: a broker makes
filters simpler before it forwards them, for each neighbour as far as suits that one. What is
forwarded is shorter, and cheaper for all brokers behind; in turn, some events travel that nobody
wants. How far it goes is the queue's business (`queue`); a neighbour that has reported how it fares
(`overlay.messages.Report`) gets less pruning than that if it has memory to spare, or little
bandwidth.

There are as many filters after it as before it. Some of them may cover each other then, so that a
stage of covering behind it pays.

Invariant: each filter that comes in is covered by the one that stands for it.
"""

from collections.abc import Iterable, Mapping

from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Filter, Kind, Plain, Pruner
from tidegate.overlay.policy.queue import PruningQueue, Rule
from tidegate.overlay.policy.renumbered import Renumbered
from tidegate.overlay.work import Work


class Pruned:
    """A set of filters, each of them pruned as far as is worth it."""

    def __init__(self, kind: Kind, work: Work, pruner: Pruner, rule: Rule) -> None:
        self._queue = PruningQueue(kind, pruner, rule, work)
        self._forwarded = Renumbered()

    @property
    def active(self) -> Mapping[int, Filter]:
        """What is forwarded."""
        return self._forwarded.active

    @property
    def passive(self) -> int:
        """Nothing is kept back."""
        return 0

    @property
    def found(self) -> float | None:
        """The share of all prunings that the last round would have liked to do."""
        return self._queue.found

    def step(self, change: Difference) -> Difference:
        """Follow a change of the set: what is new is pruned as far as the others were."""
        watch = Watch(self.active)
        for number in change.remove:
            self._queue.remove(number)
            self._forwarded.drop(number, watch)
        for number, f in change.update.items():
            self._forwarded.put(number, self._queue.update(number, f), watch)
        for number, f in change.add.items():
            self._forwarded.put(number, self._queue.add(number, f), watch)
        return watch.difference()

    def tick(self) -> Difference:
        """Nothing here takes time."""
        return Difference()

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Nothing here depends on what is advertised."""
        return Difference()

    def learned(self, weight: float) -> Difference:
        """Prune all filters as far as is worth it by what is known now."""
        watch = Watch(self.active)
        for number in self._queue.prune(weight=weight):
            self._forwarded.put(number, self._queue.held[number], watch)
        return watch.difference()

    def state(self) -> Plain:
        """What was pruned, and the numbers."""
        return [self._queue.state(), self._forwarded.state()]

    def restore(self, filters: Mapping[int, Filter], state: Plain) -> None:
        """Be as another one was that worked on these filters."""
        queue, numbers = state
        self._queue.restore(filters, queue)
        self._forwarded.restore(self._queue.held, numbers)

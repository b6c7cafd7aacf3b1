"""Which filter is pruned next, and when is it enough?

The **selectivity queue** of Bittner and Hinze, "Subscription Tree Pruning: A Structure-Independent
Routing Optimization for General-Purpose Publish/Subscribe Systems" (OTM 2006), section 4.4: filters
in the order of what their next pruning costs, each *rated* when it came, or when it was pruned
last. It is gone through now and then, in a *round*, which goes so far that a share of all prunings
is done, or as far as the curve of matching events bends (`cutoff`): for that, the round is thought
through to its end first. Between rounds, a filter that is new is pruned as far as the last round
went: up to its **bar**, the rating of what it pruned last.

What selectivities were when a filter was rated, and what they are now, may differ. What is done
about that is one of the paper's three ways: prune **always**; only if it is still no worse than
what is rated next (**better**); or if it is not worse than it was by more than a tolerance
(**within**). Who is not pruned is rated anew, and so has its turn later.

Invariant: what is held in the place of a filter covers it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.overlay.filter import Filter, Kind, Plain, Pruner
from tidegate.overlay.policy.cutoff import cut_off
from tidegate.overlay.policy.round import WAYS, Order, Round
from tidegate.overlay.work import Work


@dataclass(frozen=True, slots=True)
class Rule:
    """How far a queue prunes, and what it does where selectivities have changed.

    With a `share`, that share of all prunings is done, as in experiments; without, the cut-off is
    found.
    """

    share: float | None = None
    changes: str = "always"
    tolerance: float = 0.0


class PruningQueue:
    """Filters under numbers, and what stands in the place of each."""

    def __init__(self, kind: Kind, pruner: Pruner, rule: Rule, work: Work) -> None:
        self.held: dict[int, Filter] = {}
        self.rule = rule
        self.found: float | None = None  # the share that the last round would have liked to prune
        self._kind = kind
        self._pruner = pruner
        self._work = work
        self._given: dict[int, Filter] = {}
        self._pruned: dict[int, int] = {}  # how often each of them was
        self._rated: dict[int, float | None] = {}  # None: there is nothing to prune
        self._bar = -1.0
        self._aim = 0.0

    def __len__(self) -> int:
        return len(self._given)

    @property
    def pruned(self) -> int:
        """How many filters are held as something simpler."""
        return len(self._pruned)

    def is_pruned(self, number: int) -> bool:
        """Whether something simpler stands in the place of a filter."""
        return number in self._pruned

    def add(self, number: int, f: Filter) -> Filter:
        """Take in a filter; what stands in its place."""
        self._given[number] = f
        if self._pruner.knows:
            return self._prune_to_bar(number, f)
        self.held[number] = f
        return f

    def update(self, number: int, f: Filter) -> Filter:
        """Take in another filter under a number; what stands in its place."""
        self.remove(number)
        return self.add(number, f)

    def remove(self, number: int) -> None:
        """Forget a filter, and what stands in its place."""
        del self._given[number], self.held[number]
        self._pruned.pop(number, None)
        self._rated.pop(number, None)

    def prune(self, *, most: float = 1.0, weight: float = 1.0) -> list[int]:
        """Prune as far as the rule says; of whom something else is held now.

        Not beyond the share `most`, and of what the rule says only this `weight`. When that is less
        than it was the last time, all filters are pruned afresh.
        """
        if not self._pruner.knows:
            return []
        before = dict(self.held)
        aim = min(most, weight)
        if aim < self._aim:
            self._undo()
        self._aim = aim
        numbers = sorted(self.held)
        now = Round(self._pruner, [self.held[number] for number in numbers])
        self._rate(now, numbers)
        ratings = [self._rated[number] for number in numbers]
        way = WAYS.index(self.rule.changes)
        order = now.order(ratings, way, self.rule.tolerance)
        self._work.rated += len(order)
        done = sum(self._pruned.values())
        every = done + len(order)
        self.found = self._goal(now, order, done) / every if every else 1.0
        goal = round(min(most, self.found * weight) * every) - done
        self._do(now, order, max(0, goal), numbers)
        return [number for number, f in self.held.items() if f is not before[number]]

    def state(self, ranks: Mapping[int, int] | None = None) -> Plain:
        """All of it as plain data, perhaps under other numbers, but for the filters as given."""

        def called(number: int) -> int:
            return number if ranks is None else ranks[number]

        pruned = [
            [called(number), times, self._kind.plain(self.held[number])]
            for number, times in sorted(self._pruned.items())
        ]
        rated = [[called(number), rating] for number, rating in sorted(self._rated.items())]
        return [pruned, rated, self._bar, self._aim, self.found]

    def restore(self, filters: Mapping[int, Filter], state: Plain) -> None:
        """Be as another one was that had been given these filters."""
        pruned, rated, self._bar, self._aim, self.found = state
        self._given.update(filters)
        self.held.update(filters)
        for number, times, plain in pruned:
            self._pruned[number] = times
            self.held[number] = self._kind.read(plain)
        self._rated.update((number, rating) for number, rating in rated)

    # -- one filter

    def _prune_to_bar(self, number: int, f: Filter) -> Filter:
        now = Round(self._pruner, [f])
        costs = now.costs(0)
        steps = 0
        while steps < len(costs) and costs[steps] <= self._bar:
            steps += 1
        self._work.rated += steps + 1
        if steps:
            f = now.pruned(0, steps)
            self._pruned[number] = steps
        self.held[number] = f
        self._rated[number] = costs[steps] if steps < len(costs) else None
        return f

    # -- a round

    def _undo(self) -> None:
        self.held.update(self._given)
        self._pruned.clear()
        self._rated.clear()

    def _rate(self, now: Round, numbers: list[int]) -> None:
        """Rate those that came when nothing was known."""
        for number, cost in zip(numbers, now.first_costs(), strict=True):
            if number not in self._rated:
                self._rated[number] = cost
                self._work.rated += 1

    def _goal(self, now: Round, order: Order, done: int) -> int:
        """After how many prunings it is enough, of those done and left."""
        if self.rule.share is not None:
            return round(self.rule.share * (done + len(order)))
        first = Round(self._pruner, list(self._given.values())).matched()[0] if done else None
        return cut_off(now.matched(order), done, first)

    def _do(self, now: Round, order: Order, goal: int, numbers: list[int]) -> None:
        for place, rating in order.rated_anew(goal):
            self._rated[numbers[place]] = rating
        for place, steps in order.steps(goal):
            number, costs = numbers[place], now.costs(place)
            self.held[number] = now.pruned(place, steps)
            self._pruned[number] = self._pruned.get(number, 0) + steps
            self._rated[number] = costs[steps] if steps < len(costs) else None
        if goal and len(order):
            self._bar = order.dearest(goal)

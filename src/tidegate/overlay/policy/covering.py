"""Do not forward what is covered by something that is.

A filter is **active**, that is forwarded, or **passive**: covered by another one, under which it
hangs. So the filters form a forest, whose roots are the active ones. (In Chand's thesis, "Large
scale diffusion of information in Publish/Subscribe systems" (2005), hanging is *substitution*; Li,
Hou and Jacobsen, "A Unified Approach to Routing, Covering and Merging in Publish/Subscribe Systems
based on Modified Binary Decision Diagrams" (ICDCS 2005), section 4, do without the passive ones'
order.) When a root goes, each filter that hung under it either finds another root that covers it,
or becomes one, in the same step: nobody is left uncovered in between.

Where registrations are counted (`xroute`), a root also says how many it stands for, with all that
hangs under it: see `forest`.

Invariant: no root covers another one; what hangs under a filter is covered by it.

Which filter a passive one hangs under is decided by age, so that the future depends on nothing but
what is written down in `state`.
"""

from collections.abc import Callable, Iterable, Mapping

from tidegate.overlay.counts import Counts
from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Filter, Kind, Plain
from tidegate.overlay.policy.forest import Forest
from tidegate.overlay.work import Work


class Covering:
    """Of a set of filters, those that no other one covers."""

    def __init__(self, kind: Kind, work: Work, *, counted: bool = False) -> None:
        self.active: dict[int, Filter] = {}
        self.counts: dict[int, Counts] = {}  # what each active one stands for, if that is counted
        self._work = work
        self._index = kind.index()  # of the active ones
        self._passive: dict[int, Filter] = {}
        self._forest = Forest(counted=counted)

    @property
    def passive(self) -> int:
        """How many filters are not forwarded."""
        return len(self._passive)

    def step(self, change: Difference) -> Difference:
        """Follow a change of the set; how the active ones change."""
        watch = Watch(self.active)
        orphans: set[int] = set()
        for number, counts in change.counts.items():
            self._forest.count(number, counts)
        for number in change.remove:
            self._take_out(number, orphans, watch)
            self._forest.forget(number)
        for number, f in change.update.items():
            if number in self.active:
                self._update_active(number, f, orphans, watch)
            else:
                self._update_passive(number, f, orphans, watch)
        for number, f in change.add.items():
            self._place(number, f, watch)
        for number in sorted(orphans):
            self._place(number, self._passive.pop(number), watch)
        found = watch.difference()
        if self._forest.counted:
            self._recount(found, watch.touched)
        return found

    def tick(self) -> Difference:
        """Nothing here takes time."""
        return Difference()

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Nothing here depends on what is advertised."""
        return Difference()

    def learned(self, weight: float) -> Difference:
        """Nothing here depends on what is known of events."""
        return Difference()

    def state(self) -> Plain:
        """Each passive filter and what it hangs under."""
        return [[number, self._forest.parent(number)] for number in sorted(self._passive)]

    def restore(self, filters: Mapping[int, Filter], state: Plain) -> None:
        """Be as another one was that worked on these filters."""
        for number, parent in state:
            self._passive[number] = filters[number]
            self._forest.hang(number, parent)
        for number, f in filters.items():
            if number not in self._passive:
                self.active[number] = f
                self._index.add(number, f)

    # -- counts

    def _recount(self, found: Difference, touched: set[int]) -> None:
        """Say of those that are active what they count now, where that is new."""
        for number in found.remove:
            del self.counts[number]
        for number in sorted(touched | self._forest.shifted):
            if number in self.active:
                now = self._forest.standing(number)
                if self.counts.get(number) != now:
                    self.counts[number] = found.counts[number] = now
        self._forest.shifted.clear()

    # -- updates

    def _update_passive(self, number: int, f: Filter, orphans: set[int], watch: Watch) -> None:
        """Give a passive filter other constants: mostly, it stays where it hangs."""
        lost = self._uncovered(number, f, self._passive[number])
        parent = self._forest.parent(number)
        if parent is not None and self._covers(parent, f):
            self._passive[number] = f
            for child in lost:
                self._forest.hang(child, parent)
            return
        kept = self._forest.children(number) - set(lost)
        self._take_out(number, orphans, watch)
        orphans -= kept
        self._place(number, f, watch)
        for child in kept:
            self._forest.hang(child, number)

    def _update_active(self, number: int, f: Filter, orphans: set[int], watch: Watch) -> None:
        """Give an active filter other constants.

        No other active filter covered the old one, or was covered by it. So if the new one is
        wider, none covers it, and if it is narrower, it covers none: one question is enough.
        """
        before = self.active[number]
        self._work.compared += 2
        wider, narrower = f.covers(before), before.covers(f)
        for child in [] if wider else self._uncovered(number, f):
            self._forest.free(child)
            orphans.add(child)
        above = [] if wider else self._others(self._index.containing, number, f)
        below = [] if narrower or above else self._others(self._index.contained, number, f)
        watch.touch(number)
        if above:
            self._passive[number] = f
            self._deactivate(number, watch)
            self._forest.hang(number, min(above))
            return
        self.active[number] = f
        self._index.update(number, f)
        self._work.updates += 1
        for other in sorted(below):
            self._passive[other] = self._deactivate(other, watch)
            self._forest.hang(other, number)

    def _covers(self, number: int, f: Filter) -> bool:
        """Whether a filter that is there covers another one."""
        self._work.compared += 1
        return (self.active.get(number) or self._passive[number]).covers(f)

    def _uncovered(self, number: int, f: Filter, before: Filter | None = None) -> list[int]:
        """What hangs under a filter, and would not be covered by another one in its place."""
        children = self._forest.children(number)
        if not children or (before is not None and f.covers(before)):
            return []
        self._work.compared += len(children)
        return [child for child in sorted(children) if not f.covers(self._passive[child])]

    def _others(self, question: Callable[[Filter], list[int]], number: int, f: Filter) -> list[int]:
        """Which other active filters cover a filter, or are covered by it."""
        self._work.questions += 1
        return [other for other in question(f) if other != number]

    # -- the forest

    def _place(self, number: int, f: Filter, watch: Watch) -> None:
        """Hang a filter, which may have others under it, where it belongs."""
        self._work.questions += 1
        above = self._index.containing(f)
        if above:
            self._passive[number] = f
            self._forest.hang(number, min(above))
            return
        self._work.questions += 1
        below = self._index.contained(f)
        self._activate(number, f, watch)
        for other in sorted(below):
            self._passive[other] = self._deactivate(other, watch)
            self._forest.hang(other, number)

    def _take_out(self, number: int, orphans: set[int], watch: Watch) -> None:
        """Take a filter out; what hung under it goes one up, or is an orphan."""
        orphans |= self._forest.lift(number)
        if number in self.active:
            self._deactivate(number, watch)
        else:
            orphans.discard(number)
            del self._passive[number]

    def _activate(self, number: int, f: Filter, watch: Watch) -> None:
        watch.touch(number)
        self.active[number] = f
        self._index.add(number, f)
        self._work.inserts += 1

    def _deactivate(self, number: int, watch: Watch) -> Filter:
        watch.touch(number)
        self._index.remove(number)
        self._work.removals += 1
        return self.active.pop(number)

"""Do not forward what is covered by something that is.

A filter is **active**, that is forwarded, or **passive**: covered by another one, under which it
hangs. So the filters form a forest, whose roots are the active ones. (In Chand's thesis, "Large
scale diffusion of information in Publish/Subscribe systems" (2005), hanging is *substitution*; Li,
Hou and Jacobsen, "A Unified Approach to Routing, Covering and Merging in Publish/Subscribe Systems
based on Modified Binary Decision Diagrams" (ICDCS 2005), section 4, do without the passive ones'
order.) When a root goes, each filter that hung under it either finds another root that covers it,
or becomes one, in the same step: nobody is left uncovered in between.

Invariant: no root covers another one; what hangs under a filter is covered by it.

Which filter a passive one hangs under is decided by age, so that the future depends on nothing but
what is written down in `state`.
"""

from collections.abc import Iterable, Mapping

from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Filter, Kind
from tidegate.overlay.work import Work


class Covering:
    """Of a set of filters, those that no other one covers."""

    def __init__(self, kind: Kind, work: Work) -> None:
        self.active: dict[int, Filter] = {}
        self._work = work
        self._index = kind.index()  # of the active ones
        self._passive: dict[int, Filter] = {}
        self._parent: dict[int, int] = {}
        self._children: dict[int, set[int]] = {}

    @property
    def passive(self) -> int:
        """How many filters are not forwarded."""
        return len(self._passive)

    def step(self, change: Difference) -> Difference:
        """Follow a change of the set; how the active ones change."""
        watch = Watch(self.active)
        orphans: set[int] = set()
        for number in change.remove:
            self._take_out(number, orphans, watch)
        for number, f in change.update.items():
            kept = {
                child for child in self._children.get(number, ()) if f.covers(self._passive[child])
            }
            self._take_out(number, orphans, watch)
            orphans -= kept
            self._place(number, f, watch)
            for child in kept:
                self._move(child, number)
        for number, f in change.add.items():
            self._place(number, f, watch)
        for number in sorted(orphans):
            self._place(number, self._passive.pop(number), watch)
        return watch.difference()

    def tick(self) -> Difference:
        """Nothing here takes time."""
        return Difference()

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Nothing here depends on what is advertised."""
        return Difference()

    def state(self) -> list[list[int]]:
        """Each passive filter and what it hangs under."""
        return [[number, self._parent[number]] for number in sorted(self._passive)]

    def restore(self, filters: Mapping[int, Filter], state: list[list[int]]) -> None:
        """Be as another one was that worked on these filters."""
        for number, parent in state:
            self._passive[number] = filters[number]
            self._hang(number, parent)
        for number, f in filters.items():
            if number not in self._passive:
                self.active[number] = f
                self._index.add(number, f)

    # -- the forest

    def _place(self, number: int, f: Filter, watch: Watch) -> None:
        """Hang a filter, which may have others under it, where it belongs."""
        self._work.questions += 1
        above = self._index.containing(f)
        if above:
            self._passive[number] = f
            self._hang(number, min(above))
            return
        self._work.questions += 1
        below = self._index.contained(f)
        self._activate(number, f, watch)
        for other in sorted(below):
            self._passive[other] = self._deactivate(other, watch)
            self._hang(other, number)

    def _take_out(self, number: int, orphans: set[int], watch: Watch) -> None:
        """Take a filter out; what hung under it goes one up, or is an orphan."""
        children = self._children.pop(number, set())
        parent = self._parent.pop(number, None)
        if parent is not None:
            self._children[parent].discard(number)
            for child in children:
                self._hang(child, parent)
        else:
            orphans |= children
            for child in children:
                del self._parent[child]
        if number in self.active:
            self._deactivate(number, watch)
        else:
            orphans.discard(number)
            del self._passive[number]

    def _move(self, number: int, parent: int) -> None:
        """Hang a passive filter elsewhere, wherever it is now."""
        old = self._parent.pop(number, None)
        if old is not None:
            self._children[old].discard(number)
        self._hang(number, parent)

    def _hang(self, number: int, parent: int) -> None:
        self._parent[number] = parent
        self._children.setdefault(parent, set()).add(number)

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

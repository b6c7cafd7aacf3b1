"""Forward one filter in the place of several.

A **merger** covers its members and is forwarded in their place. It is perfect if it adds nothing;
an imperfect one lets events through that no member wants, with a probability (its IMT) that may
not exceed a threshold, counting only what is advertised on the link, where that is known: Li, Hou,
Jacobsen, "A Unified Approach to Routing, Covering and Merging in Publish/Subscribe Systems based on
Modified Binary Decision Diagrams" (ICDCS 2005), section 5. The kind knows how to merge; here is
decided when, and what becomes of mergers later.

What comes in is an antichain, as `covering` leaves it. When a member goes, the merger is undone:
the other members are forwarded again, in the same step. When a newcomer covers a merger, it covers
the members, which `covering` takes away: the merger is dropped. A newcomer that a merger covers
joins it, which can only make it less imperfect. When advertisements come or go, mergers that have
become too imperfect are undone.

There are two ways to merge: the kind's own, and leaving out parts of a disjunction (`Pruner`), as
in Bittner and Hinze, "Subscription Tree Pruning" (OTM 2006), section 4.5.

Invariant: every filter that came in is forwarded, or is a member of one merger, which covers it and
whose IMT is within the threshold.
"""

from collections.abc import Iterable, Mapping

from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Filter, Kind, Plain, Pruner
from tidegate.overlay.policy.trigger import Trigger
from tidegate.overlay.work import Work


class Merging:
    """A set of filters, some of them merged. Mergers have negative numbers."""

    def __init__(
        self, kind: Kind, work: Work, trigger: Trigger, imt: float, by: Pruner | None = None
    ) -> None:
        self.active: dict[int, Filter] = {}
        self._kind = kind
        self._by: Kind | Pruner = kind if by is None else by
        self._work = work
        self._trigger = trigger
        self._imt = imt
        self._advertised: list[Filter] | None = None
        self._index = kind.index()  # of the mergers
        self._members: dict[int, dict[int, Filter]] = {}  # of each merger
        self._merger: dict[int, int] = {}  # of each member
        self._next = -1

    @property
    def passive(self) -> int:
        """How many filters are not forwarded."""
        return len(self._merger)

    @property
    def mergers(self) -> dict[int, tuple[Filter, dict[int, Filter]]]:
        """Each merger and its members."""
        return {number: (self.active[number], own) for number, own in self._members.items()}

    def step(self, change: Difference) -> Difference:
        """Follow a change of the set; how what is forwarded changes."""
        watch = Watch(self.active)
        for number in change.remove:
            self._take_out(number, watch)
        for number, f in change.update.items():
            self._change(number, f, watch)
        for number, f in change.add.items():
            self._place(number, f, watch)
        if self._trigger.after(len(change.add), len(self.active)):
            self._merge(watch)
        return watch.difference()

    def tick(self) -> Difference:
        """Merge if it is time."""
        watch = Watch(self.active)
        if self._trigger.tick(len(self.active)):
            self._merge(watch)
        return watch.difference()

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Know what is advertised: that says how imperfect a merger is."""
        self._advertised = None if filters is None else list(filters)
        watch = Watch(self.active)
        for number in sorted(self._members, reverse=True):
            if not self._affordable(number):
                self._undo(number, watch)
        return watch.difference()

    def learned(self, weight: float) -> Difference:
        """Merge, where what is known of events says what that costs."""
        watch = Watch(self.active)
        if self._by is not self._kind:
            self._merge(watch)
        return watch.difference()

    def state(self) -> Plain:
        """The mergers, the next number, and how far the trigger is."""
        found = [
            [number, self._kind.plain(self.active[number]), sorted(own)]
            for number, own in self._members.items()
        ]
        return [found, self._next, self._trigger.state()]

    def restore(self, filters: Mapping[int, Filter], state: Plain) -> None:
        """Be as another one was that worked on these filters."""
        found, self._next, trigger = state
        self._trigger.restore(trigger)
        self.active.update(filters)
        for number, plain, members in found:
            own = {member: self.active.pop(member) for member in members}
            self._found(number, self._kind.read(plain), own)

    # -- mergers

    def _place(self, number: int, f: Filter, watch: Watch) -> None:
        self._work.questions += 1
        above = self._index.containing(f)
        if above:
            self._join(max(above), number, f)  # the oldest one
        else:
            watch.touch(number)
            self.active[number] = f

    def _take_out(self, number: int, watch: Watch) -> None:
        merger = self._merger.get(number)
        if merger is not None:
            self._undo(merger, watch)
        watch.touch(number)
        del self.active[number]

    def _change(self, number: int, f: Filter, watch: Watch) -> None:
        merger = self._merger.get(number)
        if merger is not None:
            self._members[merger][number] = f
            if self.active[merger].covers(f) and self._affordable(merger):
                return
            self._undo(merger, watch)
        watch.touch(number)
        del self.active[number]
        self._place(number, f, watch)

    def _merge(self, watch: Watch) -> None:
        """Merge afresh: what has come and gone since the last time may allow better mergers."""
        before = {frozenset(own): number for number, own in self._members.items()}
        kept = {number: self.active[number] for number in self._members}
        filters = {number: f for number, f in self.active.items() if number > 0}
        for own in self._members.values():
            filters |= own
        self._work.merged += len(filters)
        found = self._by.mergers(dict(sorted(filters.items())), self._imt, self._advertised)
        for number in list(self._members):
            self._undo(number, watch)
        for merger in found:
            number = before.get(frozenset(merger.members), 0)
            if not (number and kept[number] == merger.filter):
                number, self._next = self._next, self._next - 1
            for member in merger.members:
                watch.touch(member)
            watch.touch(number)
            own = {member: self.active.pop(member) for member in merger.members}
            self._found(number, kept.get(number, merger.filter), own)
        self._trigger.done(len(self.active))

    def _found(self, number: int, f: Filter, members: dict[int, Filter]) -> None:
        self.active[number] = f
        self._index.add(number, f)
        self._work.inserts += 1
        self._members[number] = members
        self._merger.update(dict.fromkeys(members, number))

    def _join(self, merger: int, number: int, f: Filter) -> None:
        self._members[merger][number] = f
        self._merger[number] = merger

    def _undo(self, merger: int, watch: Watch) -> None:
        watch.touch(merger)
        del self.active[merger]
        self._index.remove(merger)
        self._work.removals += 1
        for number, f in self._members.pop(merger).items():
            del self._merger[number]
            watch.touch(number)
            self.active[number] = f

    def _affordable(self, merger: int) -> bool:
        own = self._members[merger].values()
        return self._by.cost(self.active[merger], own, self._advertised) <= self._imt

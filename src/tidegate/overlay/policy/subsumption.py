"""Do not forward what is covered by all that is forwarded together.

A filter is subsumed if the union of others covers it, even where no single one does: Jafarpour,
Hore, Mehrotra, Venkatasubramanian, "Subscription Subsumption Evaluation for Content-Based
Publish/Subscribe Systems" (Middleware 2008), section 2. Here the question is answered on demand by
the kind's own union, without a negative space that has to be kept up.

A newcomer that is subsumed is passive. One that is not becomes active, and those that it covers
alone become passive. When an active one goes, the passive ones that overlap it are asked about
again: who is no longer subsumed becomes active in the same step. Whom a newcomer covers only
together with others stays active until the next rebuild, which goes through the active ones, the
youngest first.

Invariant: the active filters together cover all others.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from tidegate.overlay.difference import Difference, Watch
from tidegate.overlay.filter import Filter, Kind, Plain
from tidegate.overlay.policy.trigger import Trigger
from tidegate.overlay.work import Work

Answer = TypeVar("Answer")


class Subsumption:
    """Of a set of filters, some that cover all of it."""

    def __init__(self, kind: Kind, work: Work, trigger: Trigger) -> None:
        self.active: dict[int, Filter] = {}
        self._work = work
        self._trigger = trigger
        self._union = kind.union()  # of the active ones
        self._index = kind.index()  # of the active ones
        self._passive: dict[int, Filter] = {}
        self._waiting = kind.index()  # the passive ones

    @property
    def passive(self) -> int:
        """How many filters are not forwarded."""
        return len(self._passive)

    def step(self, change: Difference) -> Difference:
        """Follow a change of the set; how the active ones change."""
        watch = Watch(self.active)
        in_doubt: set[int] = set()
        for number in (*change.remove, *change.update):
            if number in self._passive:
                self._wake(number)
                in_doubt.discard(number)
            else:
                in_doubt.update(self._ask(self._waiting.overlapping, self.active[number]))
                self._deactivate(number, watch)
        for number, f in (change.update | change.add).items():
            self._place(number, f, watch)
        for number in sorted(in_doubt):
            self._place(number, self._wake(number), watch)
        if self._trigger.after(len(change.add), len(self.active)):
            self._rebuild(watch)
        return watch.difference()

    def tick(self) -> Difference:
        """Rebuild if it is time."""
        watch = Watch(self.active)
        if self._trigger.tick(len(self.active)):
            self._rebuild(watch)
        return watch.difference()

    def advertised(self, filters: Iterable[Filter] | None) -> Difference:
        """Nothing here depends on what is advertised."""
        return Difference()

    def learned(self, weight: float) -> Difference:
        """Nothing here depends on what is known of events."""
        return Difference()

    def state(self) -> Plain:
        """The passive filters, how far the trigger is, and what the union depends on."""
        return [sorted(self._passive), self._trigger.state(), self._union.state()]

    def restore(self, filters: Mapping[int, Filter], state: Plain) -> None:
        """Be as another one was that worked on these filters."""
        passive, trigger, union = state
        self._trigger.restore(trigger)
        for number in passive:
            self._put_to_sleep(number, filters[number])
        self.active = {n: f for n, f in filters.items() if n not in self._passive}
        self._union.restore(self.active, union)
        for number, f in self.active.items():
            self._index.add(number, f)

    # -- active and passive

    def _place(self, number: int, f: Filter, watch: Watch) -> None:
        if self._ask(self._union.subsumes, f):
            self._put_to_sleep(number, f)
            return
        for other in sorted(self._ask(self._index.contained, f)):
            self._put_to_sleep(other, self._deactivate(other, watch))
        watch.touch(number)
        self._activate(number, f)

    def _rebuild(self, watch: Watch) -> None:
        """Let no active filter be subsumed by the others."""
        for number in sorted(self.active, reverse=True):
            f = self.active[number]
            self._union.remove(number)
            subsumed = self._ask(self._union.subsumes, f)
            self._union.add(number, f)
            if subsumed:
                self._put_to_sleep(number, self._deactivate(number, watch))
        self._trigger.done(len(self.active))

    def _ask(self, question: Callable[[Filter], Answer], f: Filter) -> Answer:
        self._work.questions += 1
        return question(f)

    def _activate(self, number: int, f: Filter) -> None:
        self.active[number] = f
        self._union.add(number, f)
        self._index.add(number, f)
        self._work.inserts += 1

    def _deactivate(self, number: int, watch: Watch) -> Filter:
        watch.touch(number)
        self._union.remove(number)
        self._index.remove(number)
        self._work.removals += 1
        return self.active.pop(number)

    def _put_to_sleep(self, number: int, f: Filter) -> None:
        self._passive[number] = f
        self._waiting.add(number, f)
        self._work.inserts += 1

    def _wake(self, number: int) -> Filter:
        self._waiting.remove(number)
        self._work.removals += 1
        return self._passive.pop(number)

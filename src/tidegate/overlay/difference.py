"""How has a set of filters changed?

The sets that policies work on are filters under numbers. A step changes such a set once, as a
whole: what is added is there before what is removed goes, so at no time is it narrower than both
the set before and the set after.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidegate.overlay.counts import Counts
from tidegate.overlay.filter import Filter


@dataclass(slots=True)
class Difference:
    """What to do to one set to get another; a number stands in one of the three at most.

    An update keeps the shape of the filter. Where registrations are counted, `counts` has those of
    what is added, and of what stays and counts differently now.
    """

    add: dict[int, Filter] = field(default_factory=dict)
    update: dict[int, Filter] = field(default_factory=dict)
    remove: list[int] = field(default_factory=list)
    counts: dict[int, Counts] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.add or self.update or self.remove or self.counts)

    def then(self, later: "Difference") -> "Difference":
        """Both as one. A number has filters of one shape, so what comes back is an update.

        >>> Difference(add={1: "a", 2: "b"}).then(Difference(update={1: "c"}, remove=[2]))
        Difference(add={1: 'c'}, update={}, remove=[], counts={})
        >>> Difference(remove=[1]).then(Difference(add={1: "a"}))
        Difference(add={}, update={1: 'a'}, remove=[], counts={})
        """
        found = Difference(dict(self.add), dict(self.update), list(self.remove), dict(self.counts))
        found.extend(later)
        return found

    def extend(self, later: "Difference") -> None:
        """Become both as one: so many can be put together, each at the cost of its own size."""
        self.counts.update(later.counts)
        for number in later.remove:
            self.update.pop(number, None)
            self.counts.pop(number, None)
            if self.add.pop(number, None) is None:
                self.remove.append(number)
        for number, f in later.update.items():
            (self.add if number in self.add else self.update)[number] = f
        gone = set(self.remove) if later.add else set()
        for number, f in later.add.items():
            (self.update if number in gone else self.add)[number] = f
        if not gone.isdisjoint(later.add):
            self.remove = [number for number in self.remove if number not in later.add]


class Watch:
    """Notes what happens to a set during a step, to tell the difference at the end of it.

    A filter may go and come back: then nothing has happened.
    """

    def __init__(self, held: Mapping[int, Filter]) -> None:
        self._held = held
        self._before: dict[int, Filter | None] = {}

    def touch(self, number: int) -> None:
        """To be told before anything is done under this number."""
        self._before.setdefault(number, self._held.get(number))

    @property
    def touched(self) -> set[int]:
        """The numbers that were touched."""
        return set(self._before)

    def difference(self) -> Difference:
        """What has happened since."""
        found = Difference()
        for number, before, after in self._changed():
            if after is None:
                found.remove.append(number)
            elif before is None:
                found.add[number] = after
            else:
                found.update[number] = after
        return found

    def _changed(self) -> Iterator[tuple[int, Filter | None, Filter | None]]:
        for number in sorted(self._before):
            before, after = self._before[number], self._held.get(number)
            if before is not after:
                yield number, before, after

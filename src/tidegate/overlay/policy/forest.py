"""What hangs under what, and how much that is?

The forest of `covering`: a filter that is not forwarded hangs under one that covers it. Where the
forest counts, each filter has its own counts, and a **weight**: all registrations in its tree. So a
root knows how many registrations it stands for beside those of its own filter: the *R* of Chand,
"Large scale diffusion of information in Publish/Subscribe systems" (2005), section 4.2.1, to which
*substitution* (definition 2 there) adds what is hung under it, up the whole chain.

Invariant: a weight is the filter's own counts and the weights of what hangs right under it.
"""

from collections.abc import Set
from typing import Final

from tidegate.overlay.counts import NONE, Counts

_NOTHING: Final[frozenset[int]] = frozenset()


class Forest:
    """Numbers, some of which hang under others."""

    def __init__(self, *, counted: bool = False) -> None:
        self.counted: Final = counted
        self.shifted: set[int] = set()  # roots at which a walk has ended, until somebody clears it
        self._parent: dict[int, int] = {}
        self._children: dict[int, set[int]] = {}
        self._counts: dict[int, Counts] = {}
        self._weight: dict[int, int] = {}

    def parent(self, number: int) -> int | None:
        """What a number hangs under, if it does."""
        return self._parent.get(number)

    def children(self, number: int) -> Set[int]:
        """What hangs right under a number; not to be changed."""
        return self._children.get(number, _NOTHING)

    def hang(self, number: int, parent: int) -> None:
        """Hang a number, with all under it, under another one, wherever it is now."""
        self.free(number)
        self._parent[number] = parent
        self._children.setdefault(parent, set()).add(number)
        if self.counted:
            self._shift(parent, self._weight.get(number, 0))

    def free(self, number: int) -> None:
        """Let a number, with all under it, hang nowhere."""
        parent = self._parent.pop(number, None)
        if parent is not None:
            self._children[parent].discard(number)
            if self.counted:
                self._shift(parent, -self._weight.get(number, 0))

    def lift(self, number: int) -> set[int]:
        """Let a number hang nowhere, and what is under it go one up; what then hangs nowhere."""
        parent = self._parent.pop(number, None)
        children = self._children.pop(number, set())
        for child in children:
            if parent is None:
                del self._parent[child]
            else:
                self._parent[child] = parent
        if parent is not None:
            self._children[parent].discard(number)
            self._children[parent] |= children
        if self.counted:
            own = self._counts.get(number, NONE).all
            self._weight[number] = own
            if parent is not None:
                self._shift(parent, -own)
        return children if parent is None else set()

    # -- counts

    def count(self, number: int, counts: Counts) -> None:
        """Have other counts of a number's own."""
        before = self._counts.get(number, NONE)
        self._counts[number] = counts
        self._shift(number, counts.all - before.all)

    def forget(self, number: int) -> None:
        """Have no counts of a number that hangs nowhere and has nothing under it."""
        self._counts.pop(number, None)
        self._weight.pop(number, None)

    def standing(self, number: int) -> Counts:
        """What a number counts, with all that is under it."""
        own = self._counts[number].own
        return Counts(own, self._weight[number] - own)

    def _shift(self, number: int, by: int) -> None:
        """Let a tree be heavier, and all that it is a part of."""
        place: int | None = number
        while place is not None:
            self._weight[place] = self._weight.get(place, 0) + by
            number, place = place, self._parent.get(place)
        self.shifted.add(number)

"""The exact negative space: what does no filter cover?

Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription Subsumption Evaluation for
Content-Based Publish/Subscribe Systems" (Middleware 2008), section 3. What no filter covers, the
*negative space*, is kept as disjoint boxes. A filter is subsumed by all others together if it
overlaps none of these boxes (Proposition 1). A new filter is taken away from the boxes that it
overlaps (Fig. 6). When one goes, what no other covers is given back (Fig. 7): the filter's own
parts, cut down by all others that overlap them.

What was cut is not put together again when a filter goes. So after as many removals as there are
filters, the space is made anew from those that are left.

In d dimensions, n filters may leave n to the power of d boxes. At its memory limit the space says
so, and goes on as an approximate one with as many boxes as there is room for.

Invariant: the boxes are disjoint, and hold the events that no filter's inner parts hold.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.normal import Box
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.limit import DEFAULT_LIMIT, warn_of_limit
from tidegate.papers.negative.approximate import ApproximateNegativeSpace
from tidegate.papers.negative.part_rows import PartRows
from tidegate.papers.negative.uncovered import Uncovered
from tidegate.papers.negative.volume import Grid, volume

Integers: TypeAlias = NDArray[np.int64]

_CHURN: Final = 256  # removals, beside one for each filter, after which the space is made anew
_SPARE: Final = 4  # of what fits into the limit, the part that filters already there may take


class ExactNegativeSpace:
    """Filters, all read under one schema, and whether they cover another one together.

    Answers are exact, but for filters kept `aside` and for conditions on text in what is asked: of
    these, only what is certain is used. `within` a box, it is the space of that box only. With
    `tidy`, boxes that touch are put together now and then. One thread at a time.

    The paper's Fig. 2 has three subscriptions, of which two subsume the third:

    >>> from tidegate import parse
    >>> text = "x BETWEEN {} AND {} AND y BETWEEN {} AND {}"
    >>> space = ExactNegativeSpace()
    >>> space.add(1, parse(text.format(175, 510, 180, 680)))
    >>> space.add(2, parse(text.format(405, 840, 110, 540)))
    >>> third = parse(text.format(380, 720, 230, 495))
    >>> space.boxes, space.subsumes(third)
    (7, True)
    >>> space.remove(1)
    >>> space.subsumes(third)
    False
    """

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        within: Box | None = None,
        tidy: bool = False,
    ) -> None:
        self.schema: Final = schema
        self.limit: Final = limit
        self._within = within
        self._tidy = tidy
        self._filters: dict[int, Filter] = {}
        self._successor: ApproximateNegativeSpace | None = None
        self._start()

    def _start(self) -> None:
        self._space = Uncovered(self.schema, within=self._within, tidy=self._tidy)
        self._parts = PartRows(len(self._space.coordinates.rulers))
        self._removed = 0

    def __len__(self) -> int:
        return len(self._filters)

    @property
    def boxes(self) -> int:
        """How many boxes the negative space has."""
        return len(self._space.tree) if self._successor is None else self._successor.boxes

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        if self._successor is not None:
            return self._successor.nbytes
        return self._space.tree.nbytes + self._parts.nbytes

    @property
    def aside(self) -> int:
        """How many filters cover more than could be taken away."""
        return self._space.aside if self._successor is None else self._successor.aside

    @property
    def exact(self) -> bool:
        """Whether the memory limit was not met so far."""
        return self._successor is None

    def ends(self) -> Integers:
        """The boxes, one row each: of each dimension, a low end, and where the box stops."""
        return self._space.tree.boxes() if self._successor is None else self._successor.ends()

    def volume(self, grid: Grid | None = None) -> int:
        """How many events of a grid are in the space: see `volume.volume`."""
        if self._successor is not None:
            return self._successor.volume(grid)
        return volume(self.ends(), self._space.coordinates, grid)

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""
        if self._successor is not None:
            return self._successor.subsumes(f)
        return not self._space.overlaps(f)

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        if number in self._filters:
            raise ValueError(f"there is a filter with the number {number}")
        self._space.boxes(f)  # which refuses filters of another schema
        self._filters[number] = f
        if self._successor is not None:
            self._successor.add(number, f)
        elif not self._take_in(number, f):
            self._give_up()

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._space.boxes(f)
        self.remove(number)
        self.add(number, f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number; KeyError if there is none."""
        f = self._filters.pop(number)
        if self._successor is not None:
            self._successor.remove(number)
            return
        self._removed += 1
        if self._removed > len(self._filters) + _CHURN:
            self.rebuild()
            return
        self._space.forget(f)
        own = self._parts.pop(number)
        if not self._filters:
            self._space.clear()
        elif not all(self._give_back(part, own[:i]) for i, part in enumerate(own)):
            self._give_up()

    def rebuild(self) -> None:
        """Make the space anew from the filters that are there; at the limit, try to be exact."""
        self._filters = dict(self._filters)  # which has room for all that were there
        self._successor = None
        self._start()
        if not all(self._take_in(number, f) for number, f in self._filters.items()):
            self._give_up()

    def _take_in(self, number: int, f: Filter) -> bool:
        """Cut what a filter covers; whether there was memory for it."""
        parts, moves = self._space.place(f)
        tree = self._space.tree
        for k, old, new in moves.moved:
            self._parts.relabel(k, old, new)
        if len(moves.more):
            self._parts.widen(moves.more)
        self._parts.add(number, parts.ends)
        for part in parts.ends:
            rows = tree.overlapping(part)
            _, needed = tree.faces(part, rows)
            tree.allow(self.limit - self.nbytes)
            if self.nbytes > self.limit or not tree.fits(needed):
                return False
            tree.take_away(part, rows)
        return True

    def _give_back(self, part: Integers, before: Integers) -> bool:
        """Give back what no filter covers of a part of one that has gone; whether there was memory.

        `before` are parts of the same filter that were given back before.
        """
        others = np.concatenate([self._parts.overlapping(part), before])
        inside = (others[:, ::2] > part[::2]).sum(axis=1) + (others[:, 1::2] < part[1::2]).sum(
            axis=1
        )
        order = np.argsort(inside, kind="stable")  # the fewest faces first: they leave least
        if len(others) and inside[order[0]] == 0:
            return True
        tree = self._space.tree
        tree.allow(self.limit - self.nbytes)
        node = tree.open(part)
        if not tree.cut_down(node, others[order]):
            return False
        tree.close(node)
        return True

    def _give_up(self) -> None:
        """Go on as an approximate space, since there is no memory for an exact one."""
        warn_of_limit("the exact negative space", self.limit, "it goes on as an approximate one")
        room = self.limit // (2 * self._space.tree.row_bytes)
        k = max(1, room // (_SPARE * max(1, len(self._filters))))
        self._start()
        following = ApproximateNegativeSpace(
            self.schema,
            limit=self.limit,
            within=self._within,
            k=k,
            dynamic=True,
            tidy=self._tidy,
        )
        following.warned = True
        for number, f in self._filters.items():
            following.add(number, f)
        self._successor = following

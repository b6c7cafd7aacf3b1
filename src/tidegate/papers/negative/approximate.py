"""The approximate negative space: what may no filter cover?

Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription Subsumption Evaluation for
Content-Based Publish/Subscribe Systems" (Middleware 2008), section 4. The exact negative space may
take n to the power of d boxes. Here, a new filter makes at most k boxes more (Fig. 8): those that
it takes away as a whole, or of which it leaves one, cost nothing and are always cut; of the others,
those with the highest **benefit** (how much the filter takes away) for their **cost** (how many
boxes more it leaves) are cut, for as long as the next one does not exceed k. The loop of the figure
looks only after a split whether it was one too many. Other boxes stay as they are, and so the space
is larger than it has to be: some filters are not found to be subsumed.

Every filter has a list of the pieces that it took away ("covered by"), which are given back when it
goes (Fig. 9), though other filters may cover some of them: so the space grows with unsubscriptions.
Here, a piece that another filter covers alone goes over to that filter's list (`take_over`; the
paper has no such step), and after as many removals as there are filters the space is made anew.

At the memory limit, only such boxes are cut as make none more; then none at all. A filter on an
attribute for which there is no room is kept aside. What is given back always finds room.

Invariant: boxes and pieces are disjoint, together they are the whole space, and every piece is
covered by the filter that took it. So the boxes hold every event that no filter matches.
"""

from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.normal import Box
from tidegate.errors import TidegateError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.limit import DEFAULT_LIMIT, warn_of_limit
from tidegate.papers.negative.coordinates import NO_MOVES, Moves
from tidegate.papers.negative.covered_by import CoveredBy
from tidegate.papers.negative.marks import Marks
from tidegate.papers.negative.part_rows import PartRows
from tidegate.papers.negative.uncovered import Uncovered
from tidegate.papers.negative.volume import Grid, volume

Integers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.int32]
Choice: TypeAlias = Literal["ratio", "benefit", "cost"]

DEFAULT_K: Final = 50
CHOICES: Final[tuple[Choice, ...]] = ("ratio", "benefit", "cost")
"""What is cut first: by benefit / cost, by benefit alone, or by 1 / cost."""
_CHURN: Final = 256  # removals, beside one for each filter, after which the space is made anew


class ApproximateNegativeSpace:
    """Filters, all read under one schema, and whether they surely cover another one together.

    A filter makes at most k boxes more; or, `dynamic`, as many as k for each filter leave room for
    (the paper's ζ(i) = k·i - m). `within` a box, it is the space of that box only. With `tidy`,
    boxes that touch are put together now and then. One thread at a time.

    As the paper has it, all pieces of a filter that goes are given back, and nobody says when the
    space is made anew: that is `take_over=False, rebuild=False`.

    >>> from tidegate import parse
    >>> space = ApproximateNegativeSpace(k=10)
    >>> space.add(1, parse("x < 5 AND y < 5"))
    >>> space.add(2, parse("x >= 5 AND y < 5"))
    >>> space.subsumes(parse("x BETWEEN 3 AND 8 AND y = 0"))
    True
    >>> space.remove(1)
    >>> space.subsumes(parse("x BETWEEN 3 AND 8 AND y = 0"))
    False
    """

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        limit: int = DEFAULT_LIMIT,
        within: Box | None = None,
        k: int = DEFAULT_K,
        dynamic: bool = False,
        choose: Choice = "ratio",
        tidy: bool = False,
        take_over: bool = True,
        rebuild: bool = True,
    ) -> None:
        if k < 0 or choose not in CHOICES:
            raise TidegateError(
                f"k is 0 or more, and boxes are chosen by {', '.join(CHOICES)}; "
                f"not by {choose!r} with k = {k}"
            )
        self.schema: Final = schema
        self.limit: Final = limit
        self.warned = False
        self._within = within
        self._k, self._dynamic, self._choose = k, dynamic, choose
        self._tidy, self._takes_over, self._rebuilds = tidy, take_over, rebuild
        self._filters: dict[int, Filter] = {}
        self._start()

    def _start(self) -> None:
        self._marks = Marks(self.schema)
        self._space = Uncovered(
            self.schema, within=self._within, tidy=self._tidy, prepare=self._marks.prepare
        )
        self._marks.follow(self._space.coordinates, NO_MOVES)
        self._parts = PartRows(len(self._space.coordinates.rulers))  # of filters that take over
        self._covered = CoveredBy(self._space.coordinates)
        self._removed = 0

    def __len__(self) -> int:
        return len(self._filters)

    @property
    def boxes(self) -> int:
        """How many boxes the negative space has."""
        return len(self._space.tree)

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        own = (self._space.tree, self._covered, self._parts, self._marks)
        return sum(each.nbytes for each in own)

    @property
    def aside(self) -> int:
        """How many filters cover more than could be taken away, whatever k is."""
        return self._space.aside

    def ends(self) -> Integers:
        """The boxes, one row each: of each dimension, a low end, and where the box stops."""
        return self._space.tree.boxes()

    def volume(self, grid: Grid | None = None) -> int:
        """How many events of a grid are in the space: see `volume.volume`."""
        return volume(self.ends(), self._space.coordinates, grid)

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every event that matches f is certain to match one of the filters."""
        return not self._space.overlaps(f)

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        if number in self._filters:
            raise ValueError(f"there is a filter with the number {number}")
        self._space.boxes(f)  # which refuses filters of another schema
        self._filters[number] = f
        self._take_in(number, f)

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self._space.boxes(f)
        self.remove(number)
        self.add(number, f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number; KeyError if there is none."""
        f = self._filters.pop(number)
        self._removed += 1
        if self._rebuilds and self._removed > len(self._filters) + _CHURN:
            self.rebuild()
            return
        self._space.forget(f)
        self._parts.pop(number)
        self._give_back(self._covered.pop(number))
        if not self._filters:
            self._space.clear()

    def rebuild(self) -> None:
        """Make the space anew from the filters that are there."""
        self._filters = dict(self._filters)  # which has room for all that were there
        self._start()
        for i, (number, f) in enumerate(self._filters.items()):
            self._take_in(number, f, i + 1)

    # -- taking pieces, and giving them back

    def _take_in(self, number: int, f: Filter, order: int | None = None) -> None:
        """Cut what a filter covers, within its budget."""
        wider = 16 * self._space.new_dimensions(f)
        if wider and self.nbytes + wider * (self._space.tree.rows + self._parts.rows) > self.limit:
            self._warn()
            self._space.set_aside(f)
            return
        parts, moves = self._space.place(f)
        self._follow(moves)
        self._marks.take_in(parts.ends)
        if self._takes_over and self.nbytes + self._parts.growth(len(parts.ends)) <= self.limit:
            self._parts.add(number, parts.ends)
        left = self._k
        if self._dynamic:
            left = max(0, self._k * (order or len(self._filters)) - self.boxes)
        for part in parts.ends:
            rows, cost = self._chosen(part, left)
            left -= cost
            if len(rows):
                self._covered.add(number, _shared(self._space.tree.at(rows), part))
                self._space.tree.take_away(part, rows)

    def _chosen(self, part: Integers, budget: int) -> tuple[Rows, int]:
        """The boxes that are cut, and how many more that makes."""
        tree = self._space.tree
        rows = tree.overlapping(part)
        pieces, _ = tree.faces(part, rows)
        cut = pieces < 2
        costly = np.flatnonzero(~cut)
        if len(costly):
            worth = self._worth(part, rows[costly], pieces[costly] - 1)
            costly = costly[np.argsort(-worth, kind="stable")]
            cost = np.cumsum(pieces[costly] - 1)
            cut[costly[: np.searchsorted(cost, budget, side="right")]] = True
        cut = self._affordable(pieces, cut)
        return rows[cut], int(np.maximum(pieces[cut] - 1, 0).sum())

    def _worth(self, part: Integers, rows: Rows, cost: Integers) -> NDArray[np.float64]:
        if self._choose == "cost":
            return 1.0 / cost
        benefit = self._marks.shared(self._space.tree.at(rows), part)
        return benefit if self._choose == "benefit" else benefit / cost

    def _affordable(self, pieces: Integers, cut: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """What is cut if that takes no more memory than there may be; else, less of it."""
        tree = self._space.tree
        for chosen in (cut, cut & (pieces < 2)):
            new = int(chosen.sum()) * 8 * len(self._space.coordinates.whole)
            tree.allow(self.limit - self.nbytes - new)
            needed = int(pieces[chosen & (pieces > 1)].sum())
            if self.nbytes + new <= self.limit and tree.fits(needed):
                return chosen
            self._warn()
        return np.zeros_like(cut)

    def _warn(self) -> None:
        if not self.warned:
            self.warned = True
            instead = "no more boxes are split, and no attribute is added"
            warn_of_limit("the approximate negative space", self.limit, instead)

    def _give_back(self, pieces: Integers) -> None:
        """Give back the pieces that nobody takes over."""
        if self._takes_over:
            heirs, rest = self._parts.heirs(pieces)
            for heir, own in heirs.items():
                self._covered.add(heir, pieces[own])
            pieces = pieces[rest]
        tree = self._space.tree
        tree.allow(self.limit - self.nbytes)
        tree.add_all(pieces)

    def _follow(self, moves: Moves) -> None:
        self._marks.follow(self._space.coordinates, moves)
        self._parts.widen(moves.more)
        for k, old, new in moves.moved:
            self._parts.relabel(k, old, new)
            self._covered.relabel(k, old, new)


def _shared(boxes: Integers, box: Integers) -> Integers:
    """What each of the boxes shares with another one."""
    shared = boxes.copy()
    np.maximum(boxes[:, ::2], box[::2], out=shared[:, ::2])
    np.minimum(boxes[:, 1::2], box[1::2], out=shared[:, 1::2])
    return shared

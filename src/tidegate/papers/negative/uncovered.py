"""What is left of the content space, and does a filter overlap it?

The part that an exact and an approximate negative space have in common: the dimensions, the boxes
that are left, and the question of Proposition 1 in Jafarpour, Hore, Mehrotra, Venkatasubramanian
(Middleware 2008): a filter is subsumed if it overlaps none of these boxes.

A filter of which not everything can be taken away is kept **aside** as well. Nothing is known of
what it covers beyond that, but that it covers itself.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from tidegate.algebra.normal import boxes
from tidegate.engine.boxes.ruler import Ruler
from tidegate.errors import SchemaError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.negative.box_tree import BoxTree
from tidegate.papers.negative.coordinates import Boxes, Coordinates, Moves, Parts


class Uncovered:
    """Disjoint boxes that no filter covers, at first the whole space."""

    def __init__(
        self,
        schema: Schema | None,
        *,
        tidy: bool = False,
        prepare: Callable[[str, Ruler], None] | None = None,
    ) -> None:
        self.schema: Final = schema
        self.coordinates = Coordinates(schema, prepare)
        self.tree = BoxTree(self.coordinates.whole, tidy=tidy)
        self._aside: Counter[Filter] = Counter()

    @property
    def aside(self) -> int:
        """How many filters are kept aside."""
        return self._aside.total()

    def boxes(self, f: Filter) -> Boxes | None:
        """The boxes of a filter that was read under the same schema."""
        if f.schema is not self.schema and f.schema != self.schema:
            raise SchemaError("the filter was read under another schema than the space's")
        return boxes(f)

    def new_dimensions(self, f: Filter) -> int:
        """How many attributes a filter names that nobody has named so far."""
        named = {name for box in self.boxes(f) or () for name in box.sets}
        return len(named - self.coordinates.rulers.keys())

    def set_aside(self, f: Filter) -> None:
        """Know of a filter only that it covers itself."""
        self._aside[f] += 1

    def place(self, f: Filter) -> tuple[Parts, Moves]:
        """What a new filter surely covers, and how boxes have moved to have labels for it."""
        own = self.boxes(f)
        moves = self.coordinates.take_in(own or ())
        for k, old, new in moves.moved:
            self.tree.relabel(k, old, new)
        if len(moves.more):
            self.tree.widen(moves.more)
        parts = self.coordinates.inner(own or ())
        if own is None or not parts.exact:
            self.set_aside(f)
        return parts, moves

    def forget(self, f: Filter) -> None:
        """Be told that a filter has gone."""
        self._aside[f] -= self._aside[f] > 0
        if not self._aside[f]:
            del self._aside[f]

    def clear(self) -> None:
        """Be told that all filters have gone: the whole space is left, as one box."""
        self._aside.clear()
        self.tree.load(self.coordinates.whole[None])

    def overlaps(self, f: Filter) -> bool:
        """Whether a filter may match an event that no filter covers."""
        own = self.boxes(f)
        if own is None:
            return len(self.tree) > 0 and f not in self._aside
        overlaps = self.tree.overlaps
        return any(map(overlaps, self.coordinates.outer(own).ends)) and f not in self._aside

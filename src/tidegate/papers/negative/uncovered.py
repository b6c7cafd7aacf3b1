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

from tidegate.algebra.normal import Box, boxes
from tidegate.engine.boxes.ruler import Ruler
from tidegate.errors import SchemaError
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.papers.negative.box_tree import BoxTree
from tidegate.papers.negative.coordinates import Boxes, Coordinates, Moves, Parts


class Uncovered:
    """Disjoint boxes that no filter covers, at first the whole space, or all `within` a box."""

    def __init__(
        self,
        schema: Schema | None,
        *,
        within: Box | None = None,
        tidy: bool = False,
        prepare: Callable[[str, Ruler], None] | None = None,
    ) -> None:
        self.schema: Final = schema
        self.coordinates = Coordinates(schema, prepare)
        self._within = () if within is None else (within,)
        self.coordinates.take_in(self._within)
        self.tree = BoxTree(self.coordinates.whole, tidy=tidy)
        self._aside: Counter[frozenset[Box] | Filter] = Counter()
        if within is not None:
            self.clear()

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
        self._aside[self._key(f)] += 1

    def _key(self, f: Filter) -> frozenset[Box] | Filter:
        """What filters have in common that are certain to mean the same."""
        own = self.boxes(f)
        return f if own is None else frozenset(own)

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
        key = self._key(f)
        if self._aside[key] > 1:
            self._aside[key] -= 1
        else:
            self._aside.pop(key, None)

    def clear(self) -> None:
        """Be told that there are no filters: everything is left."""
        self._aside.clear()
        whole = self.coordinates.whole[None]
        self.tree.load(self.coordinates.outer(self._within).ends if self._within else whole)

    def overlaps(self, f: Filter) -> bool:
        """Whether a filter may match an event that no filter covers."""
        own = self.boxes(f)
        if own is None:
            return len(self.tree) > 0 and f not in self._aside
        if not any(map(self.tree.overlaps, self.coordinates.outer(own).ends)):
            return False
        return not self._aside or self._key(f) not in self._aside

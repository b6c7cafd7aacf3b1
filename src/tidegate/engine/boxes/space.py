"""How far does a filter reach, in integers?

A `Space` has a dimension for each attribute that stored filters have limits on: a `Ruler`, and two
**sides**, of which boxes in the space have an end each. The low side's end is the label where the
values start, that of the high side the label behind them, negated; so on either side, the smaller
the end, the larger the box.

Several stores may share a space: a constant that stands in all of them is then put on its ruler
once, and found there by the others.

What removed filters needed stays for a while: tidying up takes as long as looking at everything, so
it is done after as many removals as there are filters, and `_CHURN` more. Then cuts go at which no
box ends and, without a schema, dimensions that no box has a limit on; with one, there are no more
dimensions than the schema has attributes.

Without its conditions on text, a filter that is one box with one run of values on each attribute is
a box in the space. Any other has **parts** that are, and a **hull**, the smallest box around them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Final, NamedTuple, TypeAlias
from weakref import WeakSet, finalize

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.normal import Box
from tidegate.engine.boxes.box_kernels import UNBOUNDED_ABOVE, UNBOUNDED_BELOW
from tidegate.engine.boxes.integer_boxes import IntegerBoxes
from tidegate.engine.boxes.ruler import Extent, Ruler
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet

Integers: TypeAlias = NDArray[np.int64]
Boxes: TypeAlias = tuple[Box, ...]


class Extents(NamedTuple):
    """How far a box reaches on each attribute; where there is none, it has no limit.

    Then the number of parts that its runs make, and whether it is exact everywhere.
    """

    by_attribute: dict[str, Extent]
    parts: int
    exact: bool


MAX_PARTS: Final = 64
"""Parts that a filter may have; one that would have more has its hull for its only part."""
_CHURN: Final = 1024
"""Removals, beside one for each filter, after which what is no longer needed is given up."""


class Space:
    """The dimensions of one or several stores, and where filters lie in them.

    `whole` are the ends of a box around all values that there can be; `no_limits` are bounds that
    ask nothing, of boxes that are to keep within them and of boxes that are to reach them.
    """

    def __init__(self, schema: Schema | None) -> None:
        self.schema: Final = schema
        self._stores: WeakSet[IntegerBoxes] = WeakSet()
        self._died: list[None] = []  # one for each store that is no longer there
        self._filters = 0  # of all stores
        self._removed = 0
        self.rulers: dict[str, Ruler] = {}
        self.sides: dict[str, int] = {}  # the low ones, in the order of rulers; then the high one
        self.whole = np.empty(0, np.int64)
        self.no_limits = self.whole, self.whole

    def join(self, boxes: IntegerBoxes) -> None:
        """Know the boxes of another store, for as long as it is there."""
        self._stores.add(boxes)
        finalize(boxes, self._died.append, None).atexit = False

    def take_in(self, own: Boxes, attributes: Iterable[str]) -> None:
        """Put the cuts of a filter's boxes on their rulers, and make dimensions for attributes.

        Where labels have to move to make room, the boxes of all stores move with them.
        """
        if self._died:
            self._tidy_up()
        self._filters += 1
        self._cut([box.sets for box in own], attributes)

    def exchange(self, own: Boxes, before: Boxes, attributes: Iterable[str]) -> None:
        """The same for a filter that takes the place of another one.

        What both have, being the same object, is on its ruler.
        """
        sets: list[Mapping[str, ValueSet]] = [box.sets for box in own]
        if len(own) == len(before) == 1:
            old = before[0].sets
            sets = [{name: x for name, x in sets[0].items() if old.get(name) is not x}]
        self._filters += 1
        self._cut(sets, attributes)

    def _cut(self, boxes: Iterable[Mapping[str, ValueSet]], attributes: Iterable[str]) -> None:
        rulers = self.rulers
        known = len(rulers)
        for name in attributes:
            if name not in rulers:
                self._make(name)
        moved: dict[str, None] = {}
        for sets in boxes:
            for name, allowed in sets.items():
                ruler = rulers.get(name) or self._make(name)
                ruler.take_in(allowed)
                if ruler.moved is not None:
                    moved[name] = None
        if not moved and len(rulers) == known:
            return
        self._measure([*moved, *islice(reversed(rulers), len(rulers) - known)])
        for name in moved:
            for side, old, new in self._moves(name):
                for store in self._stores:
                    store.relabel(side, old, new)

    def _make(self, name: str) -> Ruler:
        self.sides[name] = 2 * len(self.rulers)
        self.rulers[name] = ruler = Ruler(name, self.schema)
        return ruler

    def _moves(self, name: str) -> Iterator[tuple[int, Integers, Integers]]:
        ruler, side = self.rulers[name], self.sides[name]
        if ruler.moved is not None:
            old, new = (np.array(labels, np.int64) for labels in ruler.moved)
            ruler.moved = None
            yield side, old, new
            yield side + 1, -old[::-1], -new[::-1]

    def _measure(self, names: Iterable[str]) -> None:
        """Look up how far some dimensions reach, all new ones among them."""
        before, count = self.whole, 2 * len(self.rulers)
        self.whole = np.empty(count, np.int64)
        self.whole[: len(before)] = before
        for name in names:
            ruler, side = self.rulers[name], self.sides[name]
            self.whole[side : side + 2] = ruler.low, -ruler.high
        if count != len(before):
            self.no_limits = (
                np.full(count, UNBOUNDED_BELOW, np.int64),
                np.full(count, UNBOUNDED_ABOVE, np.int64),
            )

    def remove(self) -> None:
        """Be told that a filter has gone; now and then, tidy up."""
        self._filters -= 1
        self._removed += 1
        self._tidy_up()

    def _tidy_up(self) -> None:
        """If it is time, give up what no box needs."""
        if self._died:  # with filters that were never removed
            self._died.clear()
            left = sum(map(len, self._stores))
            self._removed += max(0, self._filters - left)
            self._filters = left
        if self._removed <= self._filters + _CHURN:
            return
        self._removed = 0
        for boxes in self._stores:
            boxes.pack()
        if self.schema is None:
            self._drop_dimensions()
        for name, ruler in self.rulers.items():
            ruler.forget(self._ends(self.sides[name]))

    def _drop_dimensions(self) -> None:
        """Give up dimensions that no box has an end on; the others close ranks."""
        used = {side // 2 for boxes in self._stores for side in boxes.sides().tolist()}
        kept = [name for name, side in self.sides.items() if side // 2 in used]
        if len(kept) == len(self.rulers):
            return
        new = np.full(len(self.whole), -1, np.int64)
        for i, name in enumerate(kept):
            side = self.sides[name]
            new[side : side + 2] = 2 * i, 2 * i + 1
        self.rulers = {name: self.rulers[name] for name in kept}
        self.sides = {name: 2 * i for i, name in enumerate(kept)}
        self.whole = np.empty(0, np.int64)
        self._measure(kept)
        for boxes in self._stores:
            boxes.renumber(new)

    def _ends(self, side: int) -> set[int]:
        """The labels at which boxes start or stop on an attribute."""
        found: set[int] = set()
        for boxes in self._stores:
            found.update(boxes.ends(side).tolist(), (-boxes.ends(side + 1)).tolist())
        return found

    def hull(self, own: Boxes, inner: bool = False) -> Extents:
        """How far boxes reach together; or, `inner`, how far one can that lies within these.

        Attributes that have no dimension are left out, unless it is `inner`: what has no limit
        there may lie outside of these.
        """
        if len(own) == 1:
            return self._extents(own[0], inner)
        return _hull([self._extents(box, inner) for box in own])

    def _extents(self, box: Box, inner: bool) -> Extents:
        rulers = self.rulers
        found = {}
        parts, all_exact = 1, True
        for name, allowed in box.sets.items():
            ruler = rulers.get(name)
            if ruler is None:
                if not inner:
                    continue
                ruler = Ruler(name, self.schema)
            found[name] = extent = ruler.extent(allowed, inner)
            parts *= extent[2]
            all_exact = all_exact and extent[3]
        return Extents(found, parts, all_exact)

    def parts(self, own: Boxes) -> list[Extents]:
        """The parts of a filter."""
        found = [self._extents(box, inner=False) for box in own]
        if len(found) == found[0].parts == 1:
            return found
        if sum([extents.parts for extents in found]) > MAX_PARTS:
            return [Extents(_hull(found).by_attribute, 1, False)]
        parts: list[Extents] = []
        for box, extents in zip(own, found, strict=True):
            if extents.parts == 1:
                parts.append(extents)
                continue
            runs = [self.rulers[name].runs(box.sets[name]) for name in extents.by_attribute]
            for part in product(*runs):
                exact = all(each[3] for each in part)
                parts.append(Extents(dict(zip(extents.by_attribute, part, strict=True)), 1, exact))
        return parts


def _hull(extents: Sequence[Extents]) -> Extents:
    """How far boxes reach together; where one of them has no limit, they have none."""
    found = {}
    for name in extents[0].by_attribute:
        if all(name in each.by_attribute for each in extents):
            lows, highs, runs, exact = zip(
                *(each.by_attribute[name] for each in extents), strict=True
            )
            found[name] = min(lows), max(highs), max(runs), all(exact)
    parts = math.prod(runs for _, _, runs, _ in found.values())
    return Extents(found, parts, all(each.exact for each in extents))

"""A growing set of filters: does it, together, take in another one?

The question of `relate.subsumed`, for sets that stay and change: a broker's routing table, a
store's rules. The boxes of the filters are kept as boxes of integers in a `Coverage` (each
attribute is an `Axis`), where the compiled search answers. Boxes with conditions on text, which
are no integers, are subtracted by `subtract.inside`, together with the others that overlap.

Axes keep the cuts of whatever was added or asked about. So after `_STALE` removals and questions,
and some more for each filter, they are made anew from the filters that are there.
"""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Final

from tidegate.algebra.axis import HIGHEST, LOWEST, Axis, Run
from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.subtract import Budget, inside
from tidegate.errors import SchemaError
from tidegate.filters import meaning
from tidegate.filters.filter import Filter
from tidegate.filters.lines import ALL_LINES
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet

if TYPE_CHECKING:
    from tidegate.algebra.coverage import Coverage

_MAX_PARTS: Final = 64
"""Integer boxes that one box may become; one attribute with n runs multiplies them by n."""
_STALE: Final = 4096
"""Removals and questions, beside four for each filter, after which the axes are made anew."""


class Union:
    """Filters, all read under one schema, and what their union takes in.

    `exhausted` counts the questions answered with "no" because a budget ran out. One thread at a
    time.

    >>> from tidegate import parse
    >>> union = Union()
    >>> low = union.add(parse("x < 5"))
    >>> high = union.add(parse("x >= 5"))
    >>> union.subsumes(parse("x BETWEEN 1 AND 9"))
    True
    >>> union.remove(low)
    >>> union.subsumes(parse("x BETWEEN 1 AND 9"))
    False
    """

    def __init__(self, schema: Schema | None = None, budget: int = 100_000) -> None:
        self.schema = schema
        self._budget = Budget(budget)
        self._filters: dict[int, Filter] = {}
        self._next = 0
        self._axes: dict[str, Axis] = {}
        self._coverage: Coverage | None = None
        self._columns: dict[int, list[int]] = {}
        self._beside: dict[int, list[Box]] = {}
        self._stale = 0

    def __len__(self) -> int:
        return len(self._filters)

    def __iter__(self) -> Iterator[Filter]:
        return iter(self._filters.values())

    @property
    def exhausted(self) -> int:
        """How often a budget ran out."""
        inner = 0 if self._coverage is None else self._coverage.exhausted
        return inner + self._budget.exhausted

    def add(self, f: Filter) -> int:
        """Add a filter; the handle that removes it again is never given twice."""
        own = self._boxes(f) or ()
        handle = self._next
        self._next += 1
        self._filters[handle] = f
        if self._make_room(own):
            self._rebuild()
        else:
            self._place(handle, own)
        return handle

    def remove(self, handle: int) -> None:
        """Remove the filter with this handle; KeyError if there is none."""
        del self._filters[handle]
        for column in self._columns.pop(handle, ()):
            assert self._coverage is not None
            self._coverage.remove(column)
        self._beside.pop(handle, None)
        self._tidy_up()

    def subsumes(self, g: Filter) -> bool:
        """Whether every event that matches g is certain to match one of the filters."""
        own = self._boxes(g)
        self._tidy_up()
        if own is None:
            return any(boxes(f) is None and f == g for f in self)
        return all(self._subsumes(box) for box in own)

    def _boxes(self, f: Filter) -> tuple[Box, ...] | None:
        if f.schema is not self.schema and f.schema != self.schema:
            raise SchemaError("the filter was read under another schema than the set's")
        return boxes(f)

    def _subsumes(self, box: Box) -> bool:
        parts = self._parts(box, asked=True)
        if parts is not None and self._coverage is not None:
            if all(self._coverage.subsumes(low, high) for low, high in parts):
                return True  # conditions on text, left out, only narrow the box
            if not self._beside and not has_texts(box):
                return False
        union = [each for f in self for each in boxes(f) or ()]
        return inside(box, union, self._universe, self._budget) is True

    def _universe(self, attribute: str) -> ValueSet:
        return meaning.universe(attribute, self.schema)

    # -- boxes as integers

    def _make_room(self, own: tuple[Box, ...]) -> bool:
        """Give every attribute of the boxes an axis; whether the coverage must be made anew."""
        new = [a for box in own for a in box.sets if a not in self._axes]
        for attribute in dict.fromkeys(new):
            lines = ALL_LINES if self.schema is None else self.schema[attribute].lines
            self._axes[attribute] = Axis(lines)
        return bool(new) or self._coverage is None

    def _tidy_up(self) -> None:
        """If it is time, forget the cuts and attributes of what is no longer there."""
        self._stale += 1
        if self._stale > 4 * len(self._filters) + _STALE:
            self._stale = 0
            self._filters = dict(self._filters)  # which has room for all that were there
            self._axes = {}
            for f in self._filters.values():
                self._make_room(boxes(f) or ())
            self._rebuild()

    def _rebuild(self) -> None:
        from tidegate.algebra.coverage import Coverage

        before = self._coverage
        self._coverage = Coverage(max(1, len(self._axes)), self._budget.pieces)
        if before is not None:
            self._coverage.exhausted = before.exhausted
        self._columns = {}
        self._beside = {}
        for handle, f in self._filters.items():
            self._place(handle, boxes(f) or ())

    def _place(self, handle: int, own: tuple[Box, ...]) -> None:
        for box in own:
            parts = None if has_texts(box) else self._parts(box, asked=False)
            if parts is None:
                self._beside.setdefault(handle, []).append(box)
                continue
            assert self._coverage is not None
            columns = [self._coverage.add(low, high) for low, high in parts]
            self._columns.setdefault(handle, []).extend(columns)

    def _parts(self, box: Box, *, asked: bool) -> list[tuple[list[int], list[int]]] | None:
        """The box without its conditions on text as boxes of integers, or None if too many.

        An attribute the box does not name is free: all labels there are, or, for a box that is
        asked about, those of values that exist.
        """
        runs: list[list[Run]] = []
        count = 1
        for attribute, axis in self._axes.items():
            allowed = box.sets.get(attribute)
            if allowed is None and asked:
                allowed = self._universe(attribute)
            runs.append([(LOWEST, HIGHEST)] if allowed is None else axis.runs(allowed))
            count *= len(runs[-1])
        if count > _MAX_PARTS:
            return None
        self._follow_moves()
        if not runs:
            return [([0], [0])]
        return [([low for low, _ in part], [high for _, high in part]) for part in product(*runs)]

    def _follow_moves(self) -> None:
        """Where an axis gave out new labels, translate those in the coverage."""
        for dimension, axis in enumerate(self._axes.values()):
            if axis.moved is not None:
                assert self._coverage is not None
                self._coverage.relabel(dimension, *axis.moved)
                axis.moved = None


def has_texts(box: Box) -> bool:
    """Whether a condition on text takes part in the box."""
    return any(allowed.texts for allowed in box.sets.values())

"""Which filters do others cover together, though none of them does alone?

Of the filters that nobody covers, each is asked about by itself: is what of it lies in a cell
inside the union of the others? Nearly all others that overlap it cannot matter. Take the events of
a filter that are **absent elsewhere**: they have no value for any attribute that it does not ask
for. Who is to cover these must do so without asking for more. So

1. if those of the others that ask for nothing but what the filter asks for cover it, it is
   subsumed;
2. if they, and those whose further conditions hold for absent values, do not even cover its events
   that are absent elsewhere, it is not;
3. only in between, all others that overlap it are looked at.

The first two are small questions on few attributes. Ranges and lists become boxes of integers
(`algebra.axis`), about which compiled code decides; the algebra is asked where conditions on text
or long lists take part. Either has a budget.

Invariant: a filter is never found to be subsumed if `subsumed` would not say so, given a budget
large enough; nor found not to be if `subsumed` would. What is not known is None.
"""

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Final

import numpy as np

from tidegate.algebra import kernels
from tidegate.algebra.axis import HIGHEST, LOWEST, Axis, Run
from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import subsumed
from tidegate.algebra.subtract import Budget
from tidegate.algebra.union import has_texts
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.filters.filter import Filter
from tidegate.filters.lines import ALL_LINES
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet
from tidegate.pipeline.analysis.pieces import Elsewhere, of_boxes

_FRAGMENTS: Final = 20_000  # of a box of integers, when others are taken from it
_RUNS: Final = 64  # boxes of integers that a filter may be
_PIECES: Final = 500  # of a filter, where the algebra takes others from it
_OTHERS_TAKEN_AWAY: Final = 60  # others that the algebra may be asked to take from a filter
_SLOW: Final = 2_000  # questions to the algebra about the filters of one cell
_EXPLAINED: Final = 5  # filters of a cell of which it is said by whom they are subsumed


class Subsumption:
    """Filters that nobody covers, by number, and which of them the others subsume.

    >>> from tidegate import parse
    >>> texts = ("x < 5", "x >= 5", "x BETWEEN 2 AND 8", "y = 1 AND x < 3")
    >>> found = Subsumption({i: parse(text) for i, text in enumerate(texts)}, None)
    >>> [found.ask(i) for i in range(3)], found.subsumers(2)
    ([False, False, True], (0, 1))
    """

    def __init__(self, filters: Mapping[int, Filter], schema: Schema | None) -> None:
        self._filters = filters
        self._schema = schema
        self._store = BoxStore(schema)
        self._numbers: dict[int, int] = {}
        self._elsewhere = Elsewhere(schema), Elsewhere(schema, present=True)
        self._labels = _Labels(schema)
        self._slow = 0
        self._explained = 0
        for number, f in filters.items():
            self._numbers[self._store.add(f)] = number
            for elsewhere in self._elsewhere:
                elsewhere.take_in(boxes(f) or ())
        self._labels.take_in({i: boxes(f) or () for i, f in filters.items() if _is_labelled(f)})

    def ask(self, number: int, part: Filter | None = None) -> bool | None:
        """Whether the others subsume a filter, or that part of it; None if that is not known."""
        asked = part or self._filters[number]
        own = boxes(asked) or ()
        known = True
        for box in own:
            answer = self._ask_box(number, box)
            if answer is False:
                return False
            known = known and answer is True
        return True if known else None

    def subsumers(self, number: int, part: Filter | None = None) -> tuple[int, ...]:
        """A few that subsume it together, none of which can be spared; of the first few asked."""
        if self._explained == _EXPLAINED:
            return ()
        self._explained += 1
        asked = part or self._filters[number]
        others = sorted({i for box in boxes(asked) or () for i in self._overlapping(number, box)})
        if len(others) > _OTHERS_TAKEN_AWAY:
            return ()
        if not subsumed(asked, [self._filters[i] for i in others], Budget(_PIECES)):
            return ()
        for each in tuple(others):
            fewer = [i for i in others if i != each]
            if subsumed(asked, [self._filters[i] for i in fewer], Budget(_PIECES)):
                others = fewer
        return tuple(others)

    # -- one box

    def _ask_box(self, number: int, box: Box) -> bool | None:
        modest: list[int] | None = None
        for elsewhere in self._elsewhere:
            near = elsewhere.restricted(box)
            others = self._overlapping(number, near)
            if not others:
                return False
            if modest is None:
                modest = [i for i in others if self._is_modest(i, box)]
                answer = self._inside(box, modest)
                if answer is not False:
                    return answer
            if len(modest) == len(others) or self._inside(near, others) is False:
                return False
        return self._inside(box, self._overlapping(number, box))

    def _overlapping(self, number: int, box: Box) -> list[int]:
        """The other filters that overlap a box."""
        found = self._store.overlapping(of_boxes((box,), self._schema)).tolist()
        return [other for handle in found if (other := self._numbers[handle]) != number]

    def _is_modest(self, number: int, box: Box) -> bool:
        """Whether a filter asks for nothing but what a box asks for."""
        own = boxes(self._filters[number]) or ()
        return all(each.sets.keys() <= box.sets.keys() for each in own)

    def _inside(self, box: Box, others: list[int]) -> bool | None:
        """Whether a box is inside the union of others."""
        labelled = [i for i in others if i in self._labels]
        answer = None if has_texts(box) else self._labels.covered(box, labelled)
        if answer or (answer is False and len(labelled) == len(others)):
            return answer
        if self._slow == _SLOW or len(others) > _OTHERS_TAKEN_AWAY:
            return None
        self._slow += 1
        budget = Budget(_PIECES)
        if subsumed(of_boxes((box,), self._schema), [self._filters[i] for i in others], budget):
            return True
        return None if budget.exhausted else False


class _Labels:
    """Filters as boxes of integers, by number."""

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self._axes: dict[str, Axis] = {}
        self._columns: dict[str, int] = {}
        self._boxes: dict[int, tuple[Box, ...]] = {}
        self._starts: dict[int, range] = {}  # the rows of a filter
        self._lows = self._highs = np.empty((0, 0), np.int64)  # by attribute, then by row

    def __contains__(self, number: int) -> bool:
        return number in self._boxes

    def take_in(self, own: dict[int, tuple[Box, ...]]) -> None:
        """Know the boxes of all filters."""
        self._boxes = own
        for each in own.values():  # first all cuts, then their labels: one may move others
            for box in each:
                for name, allowed in box.sets.items():
                    self._axis(name).runs(allowed)
        self._write()

    def _write(self) -> None:
        """Label all boxes."""
        for axis in self._axes.values():
            axis.moved = None
        self._columns = {name: column for column, name in enumerate(self._axes)}
        count = sum(_count(box) for own in self._boxes.values() for box in own)
        self._lows = np.full((len(self._columns), count), LOWEST, np.int64)
        self._highs = np.full((len(self._columns), count), HIGHEST, np.int64)
        row = 0
        for number, own in self._boxes.items():
            start = row
            for box in own:
                columns = [self._columns[name] for name in box.sets]
                runs = [self._axes[name].runs(allowed) for name, allowed in box.sets.items()]
                for part in product(*runs):
                    for column, (low, high) in zip(columns, part, strict=True):
                        self._lows[column, row], self._highs[column, row] = low, high
                    row += 1
            self._starts[number] = range(start, row)

    def covered(self, box: Box, others: list[int]) -> bool | None:
        """Whether others cover a box together; None if that takes too many steps."""
        if not others:
            return False
        rows = np.array([row for i in others for row in self._starts[i]], np.int64)
        runs = self._runs(box.sets)
        asked = [self._columns[name] for name in box.sets]
        rest = np.setdiff1d(np.arange(len(self._columns)), asked)
        limited = (self._lows[np.ix_(rest, rows)] > LOWEST) | (
            self._highs[np.ix_(rest, rows)] < HIGHEST
        )
        names = list(self._columns)
        more = rest[limited.any(axis=1)].tolist()
        runs += self._runs({names[c]: universe(names[c], self._schema) for c in more})
        if prod(map(len, runs)) > _RUNS:
            return None
        where = np.ix_(np.array([*asked, *more], np.int64), rows)
        lows, highs = self._lows[where], self._highs[where]
        for part in product(*runs):
            low, high = (np.array(side, np.int64) for side in zip(*part, strict=True))
            answer, _ = kernels.subsumed(lows, highs, len(rows), low, high, _FRAGMENTS)
            if answer != kernels.SUBSUMED:
                return None if answer == kernels.EXHAUSTED else False
        return True

    def _runs(self, sets: Mapping[str, ValueSet]) -> list[list[Run]]:
        """Sets of values as runs of labels."""
        found = [self._axis(name).runs(allowed) for name, allowed in sets.items()]
        if any(self._axes[name].moved is not None for name in sets) or len(self._axes) > len(
            self._columns
        ):
            self._write()
            found = [self._axes[name].runs(allowed) for name, allowed in sets.items()]
        return found

    def _axis(self, name: str) -> Axis:
        axis = self._axes.get(name)
        if axis is None:
            lines = ALL_LINES if self._schema is None else self._schema[name].lines
            axis = self._axes[name] = Axis(lines)
        return axis


def _is_labelled(f: Filter) -> bool:
    """Whether a filter is a few boxes of integers."""
    own = boxes(f) or ()
    return sum(_count(box) for box in own) <= _RUNS and not any(map(has_texts, own))


def _count(box: Box) -> int:
    return prod(
        allowed.absent + sum(len(bounds) // 2 for bounds in allowed.spans.values())
        for allowed in box.sets.values()
    )

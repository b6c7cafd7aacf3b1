"""Where does a filter lie in the content space, in integers?

The content space has a dimension for each attribute that a filter has named so far; "absent" is one
of the values there. An attribute that nobody named is free for all, so it makes no difference. The
places of values are the labels of a `Ruler`, which leave room between them: what is known of boxes
stays right when a filter brings new constants, unless a ruler has to give out new labels (`Moves`).

Where a schema is checked, there may be values between two others that no event has. Such gaps are
closed: a label in one stands where the next values start.

Conditions on text are no integers. So a filter has two forms: what it surely covers (`inner`, to be
taken away from the negative space) and all that it may match (`outer`, to be asked about). Both are
the filter itself if there are no such conditions, no more than `MAX_PARTS` parts, and none of the
crossing cuts that only constants beyond what a double can hold bring about without a schema.

Nothing here depends on the order of sets or dictionaries, which differs from process to process.

Invariant: every event that `inner` holds matches the filter, and every event that matches the
filter is held by `outer`.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import islice, product
from math import prod
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.normal import Box
from tidegate.engine.boxes.ruler import Ruler
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet

Integers: TypeAlias = NDArray[np.int64]
Boxes: TypeAlias = tuple[Box, ...]
_Run: TypeAlias = tuple[int, int]

MAX_PARTS: Final = 1024
"""Integer boxes that one filter may become."""


class Parts(NamedTuple):
    """Integer boxes, one row each: of each dimension, a low end, and where the box stops.

    `exact` says that they are the filter, and not only inside or around it.
    """

    ends: Integers
    exact: bool


class Moves(NamedTuple):
    """What has changed: the ends of new dimensions, and labels that have moved.

    A dimension, its labels so far in ascending order, and the new ones.
    """

    more: Integers
    moved: list[tuple[int, Integers, Integers]]


NO_MOVES: Final = Moves(np.empty(0, np.int64), [])


class Coordinates:
    """The dimensions of a content space, and where filters lie in it.

    >>> from tidegate import parse
    >>> from tidegate.algebra.normal import boxes
    >>> coordinates = Coordinates(None)
    >>> filters = [boxes(parse(text)) for text in ("x < 5", "x >= 5", "x IN (1, 3)")]
    >>> _ = [coordinates.take_in(own) for own in filters]
    >>> below, above, listed = (coordinates.inner(own).ends for own in filters)
    >>> bool(below[0, 1] == above[0, 0]), len(listed)
    (True, 2)
    """

    def __init__(
        self, schema: Schema | None, prepare: Callable[[str, Ruler], None] | None = None
    ) -> None:
        self.schema: Final = schema
        self._prepare = prepare  # a new dimension
        self.rulers: dict[str, Ruler] = {}
        self.whole = np.empty(0, np.int64)
        self._ends: list[int] = []  # the same
        self._dimensions: dict[str, int] = {}
        self._starts: list[list[int]] = []  # of the stretches of values that there can be
        self._stops: list[list[int]] = []

    def take_in(self, own: Boxes) -> Moves:
        """Have dimensions and labels for what boxes surely cover."""
        known = len(self.rulers)
        sure = [sets for box in own if (sets := _surely(box)) is not None]
        for name in sorted({name for sets in sure for name in sets} - self.rulers.keys()):
            self._dimensions[name] = len(self.rulers)
            self.rulers[name] = Ruler(name, self.schema)
            if self._prepare is not None:
                self._prepare(name, self.rulers[name])
        for sets in sure:
            for name, allowed in sets.items():
                self.rulers[name].take_in(allowed)
        moved: list[tuple[int, Integers, Integers]] = []
        for k, ruler in enumerate(self.rulers.values()):
            if ruler.moved is not None:
                if k < known:
                    old, new = (np.array(labels, np.int64) for labels in ruler.moved)
                    moved.append((k, old, new))
                ruler.moved = None
        if moved or known < len(self.rulers):
            self._measure()
        return Moves(self.whole[2 * known :], moved)

    def _measure(self) -> None:
        """Look up where values are."""
        found = [ruler.runs(universe(name, self.schema)) for name, ruler in self.rulers.items()]
        self._starts = [[run[0] for run in runs] for runs in found]
        self._stops = [[run[1] for run in runs] for runs in found]
        ends = [(runs[0][0], runs[-1][1]) for runs in found]
        self.whole = np.array(ends, np.int64).ravel()
        self._ends = self.whole.tolist()

    def inner(self, own: Boxes) -> Parts:
        """What boxes, which were taken in, surely cover."""
        rows: list[list[int]] = []
        all_exact = True
        for box in _in_order(own):
            sets = _surely(box)
            if sets is not box.sets:
                all_exact = False
            if sets is None:
                continue
            runs, exact = self._runs(sets)
            left = MAX_PARTS - len(rows)
            if not exact or left == 0:
                all_exact = False
                continue
            all_exact = all_exact and prod(map(len, runs.values())) <= left
            rows += self._rows(runs, left)
        return Parts(self._stacked(rows), all_exact)

    def outer(self, own: Boxes) -> Parts:
        """Where boxes may hold an event; labels are not given out for it."""
        rows: list[list[int]] = []
        all_exact = True
        for box in own:
            known = {name: allowed for name, allowed in box.sets.items() if name in self.rulers}
            runs, exact = self._runs(known)
            exact = exact and not any(allowed.texts for allowed in box.sets.values())
            if len(rows) + prod(map(len, runs.values())) > MAX_PARTS:
                runs = {k: [(own[0][0], own[-1][1])] for k, own in runs.items()}
                exact = False
            all_exact = all_exact and exact
            rows += self._rows(runs, MAX_PARTS)
        return Parts(self._stacked(rows), all_exact)

    def _runs(self, sets: Mapping[str, ValueSet]) -> tuple[dict[int, list[_Run]], bool]:
        """The runs of values in each dimension that is asked for, and whether they are exact."""
        found: dict[int, list[_Run]] = {}
        all_exact = True
        for name, allowed in sets.items():
            k, ruler = self._dimensions[name], self.rulers[name]
            low, high, runs, exact = ruler.extent(allowed)
            if runs == 1:
                found[k] = [(self._closed(k, low), self._closed(k, high))]
            else:
                extents = ruler.runs(allowed)
                exact = all(extent[3] for extent in extents)
                found[k] = _joined(
                    [(self._closed(k, e[0]), self._closed(k, e[1])) for e in extents]
                )
            all_exact = all_exact and exact
        return found, all_exact

    def _closed(self, k: int, label: int) -> int:
        """A label, or where the next values start if there are none between."""
        stops = self._stops[k]
        if len(stops) == 1:
            return min(max(label, self._starts[k][0]), stops[0])
        at = bisect_right(stops, label)
        return stops[-1] if at == len(stops) else max(label, self._starts[k][at])

    def _rows(self, runs: Mapping[int, list[_Run]], most: int) -> list[list[int]]:
        """Boxes, a run in each dimension; no more than so many."""
        rows = []
        dimensions = sorted(runs)
        for chosen in islice(product(*(runs[k] for k in dimensions)), most):
            row = self._ends.copy()
            for k, run in zip(dimensions, chosen, strict=True):
                row[2 * k : 2 * k + 2] = run
            rows.append(row)
        return rows

    def _stacked(self, rows: list[list[int]]) -> Integers:
        return np.array(rows, np.int64).reshape(len(rows), len(self._ends))


def _in_order(own: Boxes) -> list[Box]:
    """Boxes in an order that is the same in every process."""
    return sorted(own, key=_spelled) if len(own) > 1 else list(own)


def _spelled(box: Box) -> str:
    sets = [
        f"{name!r}{allowed.absent}{sorted(allowed.spans.items())}{sorted(map(repr, allowed.texts))}"
        for name, allowed in sorted(box.sets.items(), key=itemgetter(0))
    ]
    return " ".join(sets)


def _surely(box: Box) -> Mapping[str, ValueSet] | None:
    """The sets of a box without what conditions on text leave open; None if that is nothing."""
    if not any(allowed.texts for allowed in box.sets.values()):
        return box.sets
    sets: dict[str, ValueSet] = {}
    for name, allowed in box.sets.items():
        sure = allowed
        if allowed.texts:
            spans = {line: own for line, own in allowed.spans.items() if line != "string"}
            sure = ValueSet(allowed.absent, spans)
        if sure.is_empty():
            return None
        sets[name] = sure
    return sets


def _joined(runs: list[_Run]) -> list[_Run]:
    """Runs in ascending order, those that touch as one."""
    found: list[_Run] = []
    for low, high in runs:
        if found and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found

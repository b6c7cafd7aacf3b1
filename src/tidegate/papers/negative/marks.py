"""How large is a box, about?

The approximate negative space splits the boxes first of which a filter takes most. Labels say
nothing about size: they are only in order. So each dimension has **marks**, and what lies between
two labels is as large as the number of marks there. Where the schema gives an attribute a domain,
marks stand at even distances in it, at every value if there are no more than `MOST`; they are put
on the ruler like the constants of a filter. Elsewhere nobody knows how likely values are, and the
constants of the filters themselves are the marks: where there are many of them, it is worth to be
precise.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.boxes.ruler import Ruler
from tidegate.filters.lines import Line, double_at, double_key, float_at, float_key, value_at
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet
from tidegate.jit import inlined, kernel
from tidegate.papers.negative.box_tree import move
from tidegate.papers.negative.coordinates import Coordinates, Moves

Integers: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int32]

MOST: Final = 1024
"""Marks that a domain is given."""

_BETWEEN_MARKS: Final = 0.5  # how large something is that has no mark

_REALS: Final = {"double": (double_at, double_key), "float": (float_at, float_key)}


class Marks:
    """The marks of all dimensions, in their order."""

    def __init__(self, schema: Schema | None) -> None:
        self._schema = schema
        self._labels: list[Integers] = []
        self._fixed: list[list[ValueSet]] = []  # that start at a mark; none without a domain
        self._flat = np.empty(0, np.int64)
        self._starts = np.zeros(1, np.int64)

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return 2 * self._flat.nbytes + self._starts.nbytes

    def prepare(self, name: str, ruler: Ruler) -> None:
        """Put the marks of a new dimension on its ruler."""
        sets: list[ValueSet] = []
        line, keys = _marked(name, self._schema)
        if line is not None:
            sets = [ValueSet(False, {line.name: (key, line.high)}) for key in keys]
        for each in sets:
            ruler.take_in(each)
        self._fixed.append(sets)

    def follow(self, coordinates: Coordinates, moves: Moves) -> None:
        """Have marks in new dimensions, and follow labels that moved."""
        for k, old, new in moves.moved:
            move(self._labels[k], old, new)
        rulers = list(coordinates.rulers.values())
        for k in range(len(self._labels), len(rulers)):
            labels = [rulers[k].extent(each)[0] for each in self._fixed[k]]
            self._labels.append(np.array(labels, np.int64))
        self._flatten()

    def take_in(self, ends: Integers) -> None:
        """Have marks at the ends of boxes, in dimensions without a domain."""
        for k, labels in enumerate(self._labels):
            if not self._fixed[k]:
                self._labels[k] = np.union1d(labels, ends[:, 2 * k : 2 * k + 2])
        if not all(self._fixed):
            self._flatten()

    def _flatten(self) -> None:
        self._flat = np.concatenate([np.empty(0, np.int64), *self._labels])
        self._starts = np.cumsum([0, *map(len, self._labels)], dtype=np.int64)

    def shared(self, boxes: Integers, box: Integers) -> Numbers:
        """About how large that is which each of the boxes shares with another one."""
        found = np.empty(len(boxes), np.float64)
        _shared(boxes, box, self._flat, self._starts, found)
        return found


def domain_grid(schema: Schema | None) -> dict[str, list[Any]]:
    """The values at the marks of all attributes that have a domain.

    >>> from tidegate import Attribute
    >>> domain_grid(Schema({"x": Attribute("bigint", low=1, high=3), "y": "string"}))
    {'x': [1, 2, 3]}
    """
    found: dict[str, list[Any]] = {}
    for name in schema or ():
        line, keys = _marked(name, schema)
        if line is not None and keys:
            found[name] = [value_at(line, key) for key in keys]
    return found


def _marked(name: str, schema: Schema | None) -> tuple[Line | None, list[Any]]:
    """The line of an attribute that has a domain, and the keys of its marks."""
    if schema is None or name not in schema or schema[name].domain is None:
        return None, []
    own = schema[name]
    assert own.domain is not None
    line = own.type.line
    return line, [] if line is None else _spread(line, own.domain.spans[line.name])


def _spread(line: Line, bounds: Sequence[Any]) -> list[Any]:
    """Keys at even distances in a domain, in ascending order."""
    if len(bounds) > 2 or isinstance(bounds[0], str):
        return list(bounds[: 2 * MOST : 2])
    low, high = bounds
    if line.name not in _REALS:
        step = max(1, -(-(high - low) // MOST))
        return list(range(low, high, step))
    real, key = _REALS[line.name]
    first, last = real(low), real(high - 1)
    if not isfinite(last - first):
        return []
    return sorted({key(first + (last - first) * i / MOST) for i in range(MOST)} | {low})


@kernel
def _shared(
    boxes: Integers, box: Integers, marks: Integers, starts: Integers, found: Numbers
) -> None:
    for i in range(len(boxes)):
        size = 1.0
        for k in range(0, box.size, 2):
            low, high = max(box[k], boxes[i, k]), min(box[k + 1], boxes[i, k + 1])
            first, stop = starts[k // 2], starts[k // 2 + 1]
            between = _before(marks, first, stop, high) - _before(marks, first, stop, low)
            size *= max(float(between), _BETWEEN_MARKS)
        found[i] = size


@inlined
def _before(marks: Integers, first: int, stop: int, label: int) -> int:
    """How many of some marks are before a label."""
    low, high = first, stop
    while low < high:
        middle = (low + high) // 2
        if marks[middle] < label:
            low = middle + 1
        else:
            high = middle
    return low - first

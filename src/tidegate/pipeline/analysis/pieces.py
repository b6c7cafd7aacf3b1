"""Of which simple pieces is a filter made?

A **piece** is a box that has one stretch of values on each attribute: the filters of lists, of
`<>` and of ORs are several of them. Stretches do not touch, so a piece that lies in a box lies in
one piece of it, and whether it does is a question about ends alone, which a store of boxes answers
without looking at any filter.

Some filters are not made of pieces: where conditions on text take part, where there would be too
many, or where the lines of an attribute are cut in different ways (only without a schema, by
constants that one line rounds and another does not). They are asked about as a whole.

Invariant: the union of the pieces is the filter.
"""

from collections.abc import Iterable
from itertools import product
from math import prod
from typing import Final

from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.union import has_texts
from tidegate.filters.expression import Truth
from tidegate.filters.filter import Filter
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template
from tidegate.filters.valueset import ValueSet

MOST: Final = 64
"""Pieces that a filter may have."""

ABSENT: Final = ValueSet(True, {})
_NUMBERS: Final = ("bigint", "double", "decimal")


def of_boxes(own: tuple[Box, ...], schema: Schema | None) -> Filter:
    """A filter of which nothing but its boxes is known."""
    f = Filter(_NO_TEXT, [], schema)
    f.normal_form = (own,)
    return f


_NO_TEXT: Final = Template(Truth(value=True))


def pieces(f: Filter) -> list[Box] | None:
    """The pieces of a filter, or None if it is not made of them.

    >>> from tidegate import parse
    >>> len(pieces(parse("symbol IN ('A', 'B') AND price <> 5")))
    4
    >>> pieces(parse("symbol LIKE '%A%'")) is None
    True
    """
    own = boxes(f)
    if own is None:
        return None
    if len(own) == 1:
        return _pieces(own[0], f.schema)
    found: list[Box] = []
    for box in own:
        some = _pieces(box, f.schema)
        if some is None or len(found) + len(some) > MOST:
            return None
        found += some
    return found


def _pieces(box: Box, schema: Schema | None) -> list[Box] | None:
    if has_texts(box):
        return None
    stretches = [_stretches(name, allowed, schema) for name, allowed in box.sets.items()]
    count = prod(map(len, stretches))
    if not 0 < count <= MOST:
        return None
    if count == 1:
        return [box]
    return [Box(dict(zip(box.sets, chosen, strict=True))) for chosen in product(*stretches)]


def _stretches(name: str, allowed: ValueSet, schema: Schema | None) -> list[ValueSet]:
    """A set as stretches; none if its lines are cut in different ways."""
    spans = allowed.spans
    if allowed.absent + sum(len(bounds) // 2 for bounds in spans.values()) == 1:
        return [allowed]
    found = [ABSENT] if allowed.absent else []
    if schema is None and spans == universe(name, None).spans:
        return [*found, ValueSet(False, spans)]
    numbers = [line for line in _NUMBERS if line in spans]
    if len(numbers) > 1:
        if len({len(spans[line]) for line in numbers}) > 1:
            return []
        for i in range(0, len(spans[numbers[0]]), 2):
            found.append(ValueSet(False, {line: spans[line][i : i + 2] for line in numbers}))
    for line, bounds in spans.items():
        if len(numbers) < 2 or line not in numbers:
            found += [ValueSet(False, {line: bounds[i : i + 2]}) for i in range(0, len(bounds), 2)]
    return found


def hull(own: tuple[Box, ...]) -> Box:
    """The smallest box around boxes without conditions on text.

    Filters that mean the same have the same one, however their boxes differ.
    """
    sets = dict(own[0].sets)
    for box in own[1:]:
        sets = {
            name: joined
            for name, allowed in sets.items()
            if name in box.sets and (joined := allowed.union(box.sets[name])) is not None
        }
    return Box(sets)


class Elsewhere:
    """Values for attributes that a filter does not ask for.

    An event that has them where a filter has no condition, and values that meet it elsewhere,
    matches the filter, and of all others only those that ask for little else. They are **absent**,
    if the attribute may be; or, `present`, a value that no filter is known to name.
    """

    def __init__(self, schema: Schema | None, *, present: bool = False) -> None:
        self._schema = schema
        self._present = present
        self._values: dict[str, ValueSet] = {}

    def take_in(self, own: Iterable[Box]) -> None:
        """Know the attributes of boxes."""
        for box in own:
            for name in box.sets:
                if name not in self._values:
                    self._values[name] = self._value(name)

    def _value(self, name: str) -> ValueSet:
        every = universe(name, self._schema)
        if not self._present or not every.spans:
            return _point(every, last=False)
        line, bounds = next(iter(every.spans.items()))
        if isinstance(bounds[0], str) and bounds[0] <= _UNHEARD < bounds[1]:
            bounds = (_UNHEARD, _UNHEARD + "\0")
        return _point(ValueSet(False, {line: bounds}), last=False)

    def restricted(self, box: Box) -> Box:
        """Of a box, the events that have these values wherever it has no condition."""
        return Box({**self._values, **box.sets})

    def ends(self, piece: Box) -> tuple[Box, Box]:
        """Two events in a piece: with the first value of each attribute, and with the last.

        Where a last value cannot be named (of strings), it is the first one once more.
        """
        first = {name: _point(allowed, last=False) for name, allowed in piece.sets.items()}
        last = {name: _point(allowed, last=True) for name, allowed in piece.sets.items()}
        return Box({**self._values, **first}), Box({**self._values, **last})


_UNHEARD: Final = "\1 no filter names this \1"


def _point(allowed: ValueSet, *, last: bool) -> ValueSet:
    if allowed.absent:
        return ABSENT
    line, bounds = next(iter(allowed.spans.items()))
    if isinstance(bounds[0], str):
        return ValueSet(False, {line: (bounds[0], bounds[0] + "\0")})
    key = bounds[-1] - 1 if last else bounds[0]
    return ValueSet(False, {line: (key, key + 1)})

"""Which ranges do entries keep for themselves?

`price < 10.5` can be a condition, worked out once for all entries that have it, or a range of the
entry's own (`ranges`). Conditions are better where few of them are used often, ranges where the
constants nearly all differ: where most uses are of ranges that hardly any other entry has. That is
decided for an attribute as a whole, whatever way its filters came, so that entries which ask for
the like are kept in the like form; and an attribute that has had ranges keeps them.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.conditions.cuts import has_int64_keys
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.conditions.ranges import KEYS, Ranges, can_be_range, concatenate, from_columns
from tidegate.filters.expression import Node, Operator, Predicate, conjuncts

Integers: TypeAlias = NDArray[np.int64]
_Form: TypeAlias = tuple[tuple[Operator, ...], tuple[type, ...]]

_RANGES_SHARED: Final = 1024  # distinct ones of an attribute; with more, entries keep their own
_SHARED: Final = (8, 64)  # uses that make a range worth a condition: the more, the more there are
_ROWS: Final = 256  # distinct ranges for which one use more is asked of each

_TYPES: Final[dict[type, pa.DataType]] = {
    int: pa.int64(),
    float: pa.float64(),
    date: pa.date32(),
    datetime: pa.timestamp("us"),
}
_ONE_SPAN: Final[_Form] = ((), ())  # of the attribute's line, under a schema


class Usage:
    """How the ranges of each attribute are used, as far as has been seen."""

    def __init__(self, conditions: Conditions, settled: Iterable[str]) -> None:
        self._conditions = conditions
        self._settled = set(settled)  # attributes that have ranges already
        self._refs: list[NDArray[Any]] = []
        self._hashes: dict[str, list[NDArray[np.uint64]]] = {}

    def see_ranges(self, attribute: str, ranges: Ranges) -> None:
        """What the rows of a block ask of an attribute."""
        self._hashes.setdefault(attribute, []).append(ranges.hashes())

    def see_conditions(self, refs: NDArray[Any]) -> None:
        """What entries ask for by conditions."""
        self._refs.append(refs)

    def _stated(self) -> dict[str, list[int]]:
        """By attribute, the uses of each condition that could be a range."""
        found: dict[str, list[int]] = {}
        refs = np.concatenate(self._refs) if self._refs else np.empty(0, np.int32)
        uses = np.bincount(refs)
        for number in np.flatnonzero(uses).tolist():
            if _range_form(self._conditions, number) is not None:
                found.setdefault(self._conditions[number].attribute, []).append(int(uses[number]))
        return found

    def own(self) -> set[str]:
        """The attributes whose ranges entries keep for themselves."""
        found, stated = set(self._settled), self._stated()
        for attribute in {*stated, *self._hashes} - found:
            uses = np.array(stated.get(attribute, []), np.int64)
            hashes = self._hashes.get(attribute, [])
            if len(uses) + sum(map(len, hashes)) < _RANGES_SHARED:
                continue
            if hashes:
                counts = np.unique(np.concatenate(hashes), return_counts=True)[1]
                uses = np.append(uses, counts)
            rare = uses < np.clip(len(uses) // _ROWS, *_SHARED)
            if len(uses) >= _RANGES_SHARED and uses[rare].sum() * 2 >= uses.sum():
                found.add(attribute)
        return found


def as_ranges(conditions: Conditions, numbers: Sequence[int]) -> tuple[Integers, Ranges]:
    """Those of the conditions that can be ranges, and the range that each of them is."""
    alike: dict[_Form, list[int]] = {}
    for number in numbers:
        form = _range_form(conditions, number)
        if form is not None:
            alike.setdefault(form, []).append(number)
    found: list[Integers] = [np.empty(0, np.int64)]
    ranges: list[Ranges] = []
    for form, these in alike.items():
        made = _keys(conditions, these) if form == _ONE_SPAN else _constants(conditions, these)
        if made is not None:
            found.append(np.array(these, np.int64))
            ranges.append(made)
    return np.concatenate(found), concatenate(ranges)


def _range_form(conditions: Conditions, number: int) -> _Form | None:
    """What conditions have in common that become ranges in the same way; None if it cannot."""
    condition = conditions[number]
    predicates = _predicates(condition.node)
    if not can_be_range(predicates):  # an equality, for one, which may be part of a key
        return None
    if conditions.schema is not None:
        line = conditions.schema[condition.attribute].type.line
        held = condition.allowed
        if line is None or not has_int64_keys(line) or held.absent or len(held.spans) != 1:
            return None
        return _ONE_SPAN if len(held.spans.get(line.name, ())) == 2 else None
    types = tuple(type(predicate.constants[0]) for predicate in predicates)
    if not _TYPES.keys() >= set(types):
        return None
    return tuple(predicate.operator for predicate in predicates), types


def _keys(conditions: Conditions, numbers: list[int]) -> Ranges:
    """Under a schema, from the bounds on the attribute's line."""
    bounds = [next(iter(conditions[number].allowed.spans.values())) for number in numbers]
    low = np.array([each[0] for each in bounds], np.int64)
    high = np.array([each[1] - 1 for each in bounds], np.int64)
    return Ranges(np.full(len(numbers), KEYS, np.uint8), low, high)


def _constants(conditions: Conditions, numbers: list[int]) -> Ranges | None:
    """Without a schema, from the constants; all have the same operators and types."""
    rows = [_predicates(conditions[number].node) for number in numbers]
    ends = []
    for i, first in enumerate(rows[0]):
        constants = [row[i].constants[0] for row in rows]
        ends.append((first.operator, pa.array(constants, _TYPES[type(constants[0])])))
    return from_columns(ends, None)


def _predicates(node: Node) -> tuple[Predicate, ...]:
    return tuple(part for part in conjuncts(node) if isinstance(part, Predicate))

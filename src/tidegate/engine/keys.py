"""Which group of entries has an event's key?

Entries that demand single values of some attributes (`symbol = 'IBM' AND venue = 'X'`) are kept in
groups by these values, their **key**; an event looks at the one group whose key it has. A condition
can be part of a key if on each line it allows one value at most, and no other condition of the
attribute allows that value: then an event's value names the condition.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.arrow import Stretch
from tidegate.engine.conditions import Conditions
from tidegate.engine.encoded import EncodedBatch
from tidegate.engine.rows import line_named
from tidegate.filters.lines import STRING, Line
from tidegate.filters.valueset import ValueSet

Integers: TypeAlias = NDArray[np.int64]

NO_GROUP: Final = -1


def is_point(held: ValueSet) -> bool:
    """Whether the set has one value at most on each line, and is not about text or absence."""
    if held.absent or held.texts or not held.spans:
        return False
    return all(
        len(bounds) == 2
        and (bounds[1] == bounds[0] + "\0" if name == "string" else bounds[1] == bounds[0] + 1)
        for name, bounds in held.spans.items()
    )


def points(conditions: Conditions, numbers: NDArray[Any]) -> set[int]:
    """Those conditions, of the ones given, that can be part of a key."""
    found: set[int] = set()
    taken: set[tuple[str, str, Any]] = set()
    for number in numbers.tolist():
        held = conditions.sets[number]
        if is_point(held):
            attribute = conditions.attributes[number]
            own = {(attribute, name, bounds[0]) for name, bounds in held.spans.items()}
            if not own & taken:
                taken |= own
                found.add(number)
    return found


class KeyTable:
    """Groups numbered by their keys: the conditions of each, one column for each attribute.

    What the attributes are is told if the conditions should not be looked at yet.
    """

    def __init__(
        self,
        conditions: Conditions,
        columns: tuple[NDArray[np.int32], ...],
        attributes: tuple[str, ...] | None = None,
    ) -> None:
        self._conditions = conditions
        self.columns = columns
        if attributes is None:
            attributes = tuple(conditions.attributes[int(column[0])] for column in columns)
        self.attributes = attributes
        self._tables: dict[tuple[int, str, int], Any] = {}

    @cached_property
    def _distinct(self) -> list[NDArray[np.int32]]:
        """The conditions of each column."""
        return [np.unique(column) for column in self.columns]

    @cached_property
    def _by_code(self) -> tuple[Integers, Integers]:
        """The codes of all keys, ascending, and the groups that have them."""
        codes = np.zeros(len(self), np.int64)
        for distinct, column in zip(self._distinct, self.columns, strict=True):
            codes = codes * len(distinct) + np.searchsorted(distinct, column)
        order = np.argsort(codes)
        return codes[order], order

    @cached_property
    def _codes(self) -> Integers:
        return self._by_code[0]

    @cached_property
    def _order(self) -> Integers:
        return self._by_code[1]

    def is_sound(self) -> bool:
        """Whether all conditions can be part of a key, and no two groups have the same."""
        attributes = self._conditions.attributes
        return all(
            points(self._conditions, distinct) == set(distinct.tolist())
            and {attributes[number] for number in distinct.tolist()} == {attribute}
            for attribute, distinct in zip(self.attributes, self._distinct, strict=True)
        ) and bool((self._codes[1:] > self._codes[:-1]).all())

    def __len__(self) -> int:
        return len(self.columns[0])

    def groups(self, batch: EncodedBatch) -> Integers:
        """The group of each event, or `NO_GROUP`."""
        codes = np.zeros(batch.size, np.int64)
        known = np.ones(batch.size, np.bool_)
        for place, attribute in enumerate(self.attributes):
            own = np.full(batch.size, -1, np.int64)
            for stretch in batch.column(attribute).stretches:
                own[stretch.rows] = self._places(place, stretch)
            known &= own >= 0
            codes = codes * len(self._distinct[place]) + own
        return self._groups(codes, known)

    def group(self, places: Sequence[tuple[Line, Any] | None]) -> int:
        """The group of one event, whose values of the attributes lie at these places."""
        code = 0
        for column, place in enumerate(places):
            if place is None:
                return NO_GROUP
            line, key = place
            table = self._table(column, line.name, line.scale)
            if isinstance(table, dict):
                own = table.get(key, -1)
            else:
                at = bisect_left(table[0], key)
                own = int(table[1][at]) if at < len(table[0]) and table[0][at] == key else -1
            if own < 0:
                return NO_GROUP
            code = code * len(self._distinct[column]) + own
        if len(places) == 1:  # every place has its group
            return int(self._order[code])
        at = int(np.searchsorted(self._codes, code))
        return int(self._order[at]) if at < len(self) and self._codes[at] == code else NO_GROUP

    def _groups(self, codes: Integers, known: NDArray[np.bool_]) -> Integers:
        if len(self.attributes) == 1:  # every place has its group: places are the groups' order
            return np.where(known, self._order[np.where(known, codes, 0)], NO_GROUP)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self) - 1)
        known &= self._codes[at] == codes
        return np.where(known, self._order[at], NO_GROUP)

    def _places(self, place: int, stretch: Stretch) -> Integers:
        """For each value, the place of its condition among those of the attribute, or -1."""
        table = self._table(place, stretch.line.name, stretch.line.scale)
        if isinstance(table, dict):
            by_text = np.array([table.get(text, -1) for text in stretch.texts], np.int64)
            found: Integers = by_text[stretch.keys]
            return found
        keys, places = table
        if not len(keys):
            return np.full(len(stretch.keys), -1, np.int64)
        at = np.minimum(np.searchsorted(keys, stretch.keys), len(keys) - 1)
        return np.where(keys[at] == stretch.keys, places[at], -1).astype(np.int64)

    def _table(self, place: int, name: str, scale: int) -> Any:
        """The keys on one line and the places of their conditions; a dict for strings."""
        table = self._tables.get((place, name, scale))
        if table is None:
            sets = [self._conditions.sets[number] for number in self._distinct[place].tolist()]
            found = {
                held.spans[name][0]: at for at, held in enumerate(sets) if name in held.spans
            }
            table = found if name == STRING.name else self._sorted(place, name, scale, found)
            self._tables[place, name, scale] = table
        return table

    def _sorted(self, place: int, name: str, scale: int, found: dict[int, int]) -> Any:
        line = line_named(name, self.attributes[place], self._conditions.schema)
        step = 10 ** (line.scale - scale) if line.scale > scale else 1
        scaled = sorted((key // step, at) for key, at in found.items() if key % step == 0)
        small = all(-(2**63) <= key < 2**63 for key, _ in scaled)
        keys = np.array([key for key, _ in scaled], np.int64 if small else object)
        return keys, np.array([at for _, at in scaled], np.int64)

    @property
    def nbytes(self) -> int:
        """The memory of the keys."""
        return (
            sum(column.nbytes for column in self.columns)
            + self._codes.nbytes
            + self._order.nbytes
            + sum(100 * len(t) if isinstance(t, dict) else t[0].nbytes + t[1].nbytes
                  for t in self._tables.values())
        )  # fmt: skip

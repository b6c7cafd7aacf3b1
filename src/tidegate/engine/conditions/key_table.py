"""Which group of entries has an event's key?

Entries that demand single values of some attributes (`symbol = 'IBM' AND venue = 'X'`) are kept in
groups by these values, their **key**; an event looks at the one group whose key it has. A condition
can be part of a key if on each line it allows one value at most, and no other condition of the
attribute allows that value: then an event's value names the condition.
"""

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.condition import Value
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.primitives.distinct import occurring
from tidegate.engine.primitives.sorted_search import Stairs
from tidegate.jit import kernel

Integers: TypeAlias = NDArray[np.int64]

NO_GROUP: Final = -1

_CODES_PER_GROUP: Final = 8  # codes for each group, at most, that are worth a table
_SMALL_TABLE: Final = 65_536


def points(conditions: Conditions, numbers: NDArray[Any]) -> set[int]:
    """Those conditions, of the ones given, that can be part of a key."""
    found: set[int] = set()
    taken: set[Value] = set()
    listed = list(conditions)
    for number in numbers.tolist():
        values = listed[number].values
        if values and taken.isdisjoint(values):
            taken.update(values)
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
            attributes = tuple(conditions[int(column[0])].attribute for column in columns)
        self.attributes = attributes
        for attribute, column in zip(attributes, columns, strict=True):
            conditions.points.register(attribute, column)

    @cached_property
    def _distinct(self) -> list[NDArray[np.int32]]:
        """The conditions of each column."""
        return [occurring(column) for column in self.columns]

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
    def _stairs(self) -> Stairs:
        return Stairs(self._codes)

    @cached_property
    def _order(self) -> Integers:
        return self._by_code[1]

    def has_distinct_groups(self) -> bool:
        """Whether no two groups have the same key."""
        return bool((self._codes[1:] > self._codes[:-1]).all())

    def __len__(self) -> int:
        return len(self.columns[0])

    def groups(self, batch: EncodedBatch, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """The groups of the events in these rows, or `NO_GROUP`."""
        numbers = tuple(self.conditions(batch, attribute) for attribute in self.attributes)
        if self._by_place is not None:
            groups = np.empty(len(rows), np.int32)
            find(numbers, self._places, self._sizes, self._by_place, rows, groups)
            return groups
        codes = np.empty(len(rows), np.int64)
        find(numbers, self._places, self._sizes, None, rows, codes)
        at = np.minimum(self._stairs.before(codes), len(self) - 1)
        return np.where(self._codes[at] == codes, self._order[at], NO_GROUP).astype(np.int32)

    def conditions(self, batch: EncodedBatch, attribute: str) -> NDArray[np.int32]:
        """For each event, the condition that its value of a key's attribute meets, or -1."""
        return self._conditions.points.of_batch(batch, attribute)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(distinct) for distinct in self._distinct)

    @cached_property
    def _places(self) -> tuple[NDArray[np.int32], ...]:
        """For each attribute, the place of a condition among those of its column, or -1.

        At the end for `NO_CONDITION`.
        """
        found = []
        for distinct in self._distinct:
            places = np.full(len(self._conditions) + 1, -1, np.int32)
            places[distinct] = np.arange(len(distinct))
            found.append(places)
        return tuple(found)

    @cached_property
    def finest(self) -> str:
        """The attribute with the most conditions: it says most about the group."""
        return self.attributes[int(np.argmax(self._sizes))]

    def group(self, numbers: Mapping[str, int]) -> int:
        """The group of one event, whose values meet these conditions, by attribute."""
        code = 0
        for attribute, places, size in self._looked_up:
            own = places[numbers[attribute]]  # that of NO_CONDITION, the last, is -1
            if own < 0:
                return NO_GROUP
            code = code * size + own
        if self._by_place is not None:
            group: int = self._by_place.item(code)
            return group
        at = int(np.searchsorted(self._codes, code))
        return int(self._order[at]) if at < len(self) and self._codes[at] == code else NO_GROUP

    @cached_property
    def _looked_up(self) -> list[tuple[str, memoryview, int]]:
        """Attributes with the places of their conditions, and how many there are of these."""
        return [
            (attribute, memoryview(places.data), size)
            for attribute, places, size in zip(
                self.attributes, self._places, self._sizes, strict=True
            )
        ]

    @cached_property
    def _by_place(self) -> NDArray[np.int32] | None:
        """The group of each code there can be, if they are not too many."""
        size = prod(self._sizes)
        if size > max(_CODES_PER_GROUP * len(self), _SMALL_TABLE):
            return None
        groups = np.full(size, NO_GROUP, np.int32)
        groups[self._codes] = self._order
        return groups

    @property
    def nbytes(self) -> int:
        """The memory of the keys."""
        places = self._places if "_places" in self.__dict__ else ()
        arrays: tuple[NDArray[Any], ...] = (*self.columns, *places, self._codes, self._order)
        return sum(array.nbytes for array in arrays)


@kernel
def find(
    numbers: tuple[NDArray[np.int32], ...],
    places: tuple[NDArray[np.int32], ...],
    sizes: tuple[int, ...],
    by_place: NDArray[np.int32] | None,
    rows: NDArray[np.int32],
    found: NDArray[Any],
) -> None:
    """The groups of the events in these rows, or the codes of them.

    `numbers` says for each attribute which conditions events meet. Of an event that meets none of
    some attribute, it is -1, `NO_GROUP`.
    """
    for i in range(min(len(rows), len(found))):
        code = np.int64(0)
        for k in range(len(numbers)):
            number = numbers[k][np.uint64(rows[i])]
            place = np.int64(-1) if number < 0 else np.int64(places[k][np.uint64(number)])
            code = code * sizes[k] + place if code >= 0 and place >= 0 else np.int64(-1)
        if by_place is not None:
            found[i] = by_place[np.uint64(code)] if code >= 0 else NO_GROUP
        else:
            found[i] = code

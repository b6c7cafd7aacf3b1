"""Which condition of a key does an event's value meet?

Conditions that are part of keys (`key_table`) allow single values, and no two on an attribute the
same. So a value names its condition, which is looked up once per batch for all keys with the
attribute.
"""

from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.events.arrow_keys import Stretch
from tidegate.engine.events.strings import Strings
from tidegate.engine.primitives.distinct import occurring
from tidegate.engine.primitives.id_table import IdTable
from tidegate.engine.primitives.sorted_search import Stairs
from tidegate.filters.lines import ALL_LINES, STRING, Line
from tidegate.filters.schema import Schema

if TYPE_CHECKING:
    from tidegate.engine.conditions.numbered import Conditions
    from tidegate.engine.events.encoded_batch import EncodedBatch

Numbers: TypeAlias = NDArray[np.int32]

NO_CONDITION: Final = -1
_BY_NAME: Final = {line.name: line for line in ALL_LINES}


def line_named(name: str, attribute: str, schema: Schema | None) -> Line:
    """The line of that name on which the sets of an attribute's conditions have their bounds."""
    if schema is not None:
        for line in schema[attribute].lines:
            if line.name == name:
                return line
    return _BY_NAME[name]


class PointTable:
    """The conditions of a segment that are part of some key."""

    def __init__(self, conditions: "Conditions") -> None:
        self._conditions = conditions
        self._numbers: dict[str, list[Numbers]] = {}
        self._tables: dict[tuple[str, str, int], Any] = {}

    def register(self, attribute: str, numbers: Numbers) -> None:
        """Take in conditions of a key, before anything is asked."""
        self._numbers.setdefault(attribute, []).append(numbers)

    def of_batch(self, batch: "EncodedBatch", attribute: str) -> Numbers:
        """For each event, the condition that its value meets, or `NO_CONDITION`."""
        key = (self, attribute)
        found: Numbers = batch.remember(key, lambda: self._of_batch(batch, attribute))
        return found

    def _of_batch(self, batch: "EncodedBatch", attribute: str) -> Numbers:
        found = np.full(batch.size, NO_CONDITION, np.int32)
        for stretch in batch.column(attribute).stretches:
            found[stretch.rows] = self._of_stretch(attribute, stretch)
        return found

    def _of_stretch(self, attribute: str, stretch: Stretch) -> Numbers:
        table = self._table(attribute, stretch.line.name, stretch.line.scale)
        if isinstance(table, _ByText):
            found: Numbers = table.numbers(stretch.texts)[stretch.keys]
            return found
        stairs, numbers = table
        keys = stairs.cuts
        if not len(keys):
            return np.full(len(stretch.keys), NO_CONDITION, np.int32)
        at = np.minimum(stairs.before(stretch.keys), len(keys) - 1)
        return np.where(keys[at] == stretch.keys, numbers[at], NO_CONDITION).astype(np.int32)

    def of_value(self, attribute: str, line: Line, key: Any) -> int:
        """The condition that one value meets, or `NO_CONDITION`."""
        table = self._table(attribute, line.name, line.scale)
        if isinstance(table, _ByText):
            return table.by_text.get(key, NO_CONDITION)
        stairs, numbers = table
        keys = stairs.cuts
        at = bisect_left(keys, key)
        return int(numbers[at]) if at < len(keys) and keys[at] == key else NO_CONDITION

    def _table(self, attribute: str, name: str, scale: int) -> Any:
        """The keys on one line and their conditions: sorted arrays, or strings."""
        table = self._tables.get((attribute, name, scale))
        if table is None:
            found = {
                key: number
                for number in occurring(np.concatenate(self._numbers[attribute])).tolist()
                for _, line, key in self._conditions[number].values
                if line == name
            }
            is_text = name == STRING.name
            table = _ByText(found) if is_text else self._sorted(attribute, name, scale, found)
            self._tables[attribute, name, scale] = table
        return table

    def _sorted(self, attribute: str, name: str, scale: int, found: dict[int, int]) -> Any:
        line = line_named(name, attribute, self._conditions.schema)
        step = 10 ** (line.scale - scale) if line.scale > scale else 1
        scaled = sorted((key // step, number) for key, number in found.items() if not key % step)
        small = all(-(2**63) <= key < 2**63 for key, _ in scaled)
        keys = np.array([key for key, _ in scaled], np.int64 if small else object)
        return Stairs(keys), np.array([number for _, number in scaled], np.int32)

    @property
    def nbytes(self) -> int:
        """The memory of the tables made so far."""
        return sum(
            table.nbytes if isinstance(table, _ByText) else table[0].nbytes + table[1].nbytes
            for table in self._tables.values()
        )


class _ByText:
    """The conditions that strings meet: a dictionary for one, a table for many at once."""

    def __init__(self, by_text: dict[str, int]) -> None:
        self.by_text = by_text

    @cached_property
    def _table(self) -> tuple[IdTable, Numbers]:
        numbers = [*self.by_text.values(), NO_CONDITION]  # the last for what is nowhere, -1
        return IdTable(pa.array(list(self.by_text), pa.string())), np.array(numbers, np.int32)

    def numbers(self, texts: Strings) -> Numbers:
        """The condition of each string, or `NO_CONDITION`."""
        table, numbers = self._table
        found: Numbers = numbers[table.find(texts.array)]
        return found

    @property
    def nbytes(self) -> int:
        """About the memory of the slots of both."""
        return 100 * len(self.by_text) + (self._table[0].nbytes if "_table" in vars(self) else 0)

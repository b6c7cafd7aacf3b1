"""Events as columns of keys.

Matching many events at once looks at one attribute at a time. A `Batch` holds events as they came
(an Arrow record batch or table, a pandas frame, a list of mappings); `Batch.column` gives one
attribute of all of them as a `Column`: which rows are absent, and for each line (see
`filters.lines`) that values of the column lie on, a `Stretch` with their rows and keys. A typed
Arrow column is one stretch, made without looking at values one by one; only lists of mappings with
mixed values, and decimals of more than 18 digits, are. An attribute nobody asks for costs nothing.

Invariant: row by row, a column says what `filters.evaluate.value_of` says of the event.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.arrow import Keys, Rows, Stretch, absent_rows, conform, read, stretch
from tidegate.engine.strings import Strings
from tidegate.errors import TidegateError
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import attribute_path
from tidegate.filters.lines import ALL_LINES, STRING, Line, key_of
from tidegate.filters.schema import Schema
from tidegate.filters.values import Value, normal
from tidegate.filters.valueset import line_of


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute of a batch: the absent rows, and the others, line by line."""

    size: int
    absent: Rows
    stretches: tuple[Stretch, ...]


class Batch:
    """Events, and the columns they are matched by. Immutable; columns are made when asked for."""

    def __init__(self, events: Any, schema: Schema | None = None) -> None:
        self.schema = schema
        self._mappings: Sequence[Mapping[str, Any]] | None = None
        self._table: pa.Table | None = None
        self._frame: Any = None  # of pandas
        if isinstance(events, pa.RecordBatch):
            self._table = pa.Table.from_batches([events])
        elif isinstance(events, pa.Table):
            self._table = events
        elif _is_frame(events):
            self._frame = events
        elif isinstance(events, Sequence) and not isinstance(events, str | bytes):
            self._mappings = events
            for row, event in enumerate(events):
                if not isinstance(event, Mapping):
                    raise TidegateError(
                        f"event {row} is a {type(event).__name__}, not a mapping of attributes"
                    )
        else:
            raise TidegateError(
                "a batch is an Arrow record batch or table, a pandas frame, or a list of mappings, "
                f"not a {type(events).__name__}"
            )

    def __len__(self) -> int:
        if self._mappings is not None:
            return len(self._mappings)
        if self._frame is not None:
            return len(self._frame)
        assert self._table is not None
        return int(self._table.num_rows)

    def column(self, attribute: str) -> Column:
        """One attribute of all events."""
        if self._mappings is not None:
            values = [value_of(event, attribute, self.schema) for event in self._mappings]
            return _from_values(values, self._lines(attribute))
        path = attribute_path(attribute)
        if self._frame is not None:
            array = _of_frame(self._frame, path[0])
        else:
            assert self._table is not None
            array = _of_table(self._table, path[0])
        array = _reach(array, path[1:])
        if array is None:
            return Column(len(self), _all_rows(len(self)), ())
        return self._from_arrow(array, attribute)

    def _lines(self, attribute: str) -> tuple[Line, ...]:
        return ALL_LINES if self.schema is None else self.schema[attribute].lines

    def _from_arrow(self, array: pa.Array, attribute: str) -> Column:
        raw = read(array)
        if raw is None:
            values = [self._value(attribute, value) for value in array.to_pylist()]
            return _from_values(values, self._lines(attribute))
        absent = absent_rows(array)
        parts = (stretch(raw),) if self.schema is None else conform(raw, self._lines(attribute))
        return Column(len(array), absent, tuple(part for part in parts if len(part.rows)))

    def _value(self, attribute: str, value: Any) -> Value:
        return normal(value) if self.schema is None else self.schema[attribute].type.conform(value)


def _is_frame(events: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(events, pandas.DataFrame)


def _all_rows(size: int) -> Rows:
    return np.arange(size, dtype=np.int32)


def _from_values(values: list[Value], lines: tuple[Line, ...]) -> Column:
    """A column of values that were looked at one by one."""
    absent = [row for row, value in enumerate(values) if value is None]
    found: dict[Line, tuple[list[int], list[Any]]] = {}
    for row, value in enumerate(values):
        if value is not None:
            line = line_of(value, lines)
            rows, keys = found.setdefault(line, ([], []))
            rows.append(row)
            keys.append(key_of(line, value))
    stretches = []
    for line, (rows, keys) in found.items():
        where = np.array(rows, np.int32)
        if line is STRING:
            texts = Strings(tuple(dict.fromkeys(keys)))
            places = {text: place for place, text in enumerate(texts)}
            codes = np.array([places[key] for key in keys], np.int64)
            stretches.append(Stretch(line, where, codes, texts))
        else:
            stretches.append(Stretch(line, where, _integers(keys)))
    return Column(len(values), np.array(absent, np.int32), tuple(stretches))


def _integers(keys: list[int]) -> Keys:
    """As 64-bit integers if all of them fit, else as Python's."""
    try:
        return np.array(keys, np.int64)
    except OverflowError:
        return np.array(keys, object)


def _of_table(table: pa.Table, name: str) -> pa.Array | None:
    """The column of that name, in one piece; None if there is none."""
    places = table.schema.get_all_field_indices(name)
    _require_one(len(places), name)
    if not places:
        return None
    array = table.column(places[0])
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


def _of_frame(frame: Any, name: str) -> pa.Array | None:
    """The same of a pandas frame, whose other columns are not looked at."""
    places = [place for place, column in enumerate(frame.columns) if column == name]
    _require_one(len(places), name)
    if not places:
        return None
    try:
        array = pa.Array.from_pandas(frame.iloc[:, places[0]])
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise TidegateError(f"the column {name} of the frame is none of Arrow: {error}") from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _require_one(count: int, name: str) -> None:
    if count > 1:
        raise TidegateError(f"the batch has {count} columns named {name}")


def _reach(array: pa.Array | None, path: tuple[str, ...]) -> pa.Array | None:
    """The field at a path inside structs; None if something on the way is not there."""
    for name in path:
        if array is None or not pa.types.is_struct(array.type):
            return None
        if array.type.get_field_index(name) < 0:
            return None
        array = pc.struct_field(array, [name])
    return array

"""Events as columns of keys.

Matching many events at once looks at one attribute at a time. A `Batch` holds events as they came
(an Arrow table, or anything that speaks Arrow; a data frame; a list of mappings); `Batch.column`
gives one attribute of all of them as a `Column`: which rows are absent, and for each line (see
`filters.lines`) that values of the column lie on, a `Stretch` with their rows and keys. A typed
Arrow column is one stretch, made without looking at values one by one; only lists of mappings with
mixed values, decimals of more than 18 digits, and types that Arrow can hardly read itself, are. An
attribute nobody asks for costs nothing, and may be of any type.

`Batch.mappings` gives the same events one by one, for those who put them to a filter.

Invariant: row by row, a column says what `filters.evaluate.value_of` says of the event.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.capsules import speaks_arrow, table_of
from tidegate.engine.events.arrow_keys import (
    Keys,
    Rows,
    Stretch,
    absent_rows,
    conform,
    read,
    stretch,
)
from tidegate.engine.events.cased_strings import mapped_stretch
from tidegate.engine.events.columned_events import ColumnedEvents
from tidegate.engine.events.frame_columns import Frame, frame_of
from tidegate.engine.events.plain_cells import plain_cells
from tidegate.engine.events.python_values import plain_values, require_one_field
from tidegate.engine.events.strings import Strings
from tidegate.errors import TidegateError
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import attribute_path, base_attribute, function_of
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
    """Events, and the columns they are matched by. Immutable; columns are made when asked for.

    What can be read only once, such as a stream, is read here.
    """

    def __init__(self, events: Any, schema: Schema | None = None) -> None:
        self.schema = schema
        self._mappings: Sequence[Mapping[str, Any]] | None = None
        self._table: pa.Table | None = None
        self._frame: Frame | None = None
        self._known: dict[str, _Cells | None] = {}
        if isinstance(events, ColumnedEvents):
            self._frame = events
        elif isinstance(events, pa.RecordBatch):
            self._table = pa.Table.from_batches([events])
        elif isinstance(events, pa.Table):
            self._table = events
        elif isinstance(events, Sequence) and not isinstance(events, str | bytes):
            self._mappings = events
            for row, event in enumerate(events):
                if not isinstance(event, Mapping):
                    raise TidegateError(
                        f"event {row} is a {type(event).__name__}, not a mapping of attributes"
                    )
        else:
            self._frame = frame_of(events)
            if self._frame is None:
                if not speaks_arrow(events):
                    raise TidegateError(
                        "a batch is an Arrow table or what speaks Arrow, a data frame, or a list "
                        f"of mappings, not a {type(events).__name__}"
                    )
                self._table = table_of(events)

    def __len__(self) -> int:
        if self._mappings is not None:
            return len(self._mappings)
        if self._frame is not None:
            return len(self._frame)
        assert self._table is not None
        return int(self._table.num_rows)

    def column(self, attribute: str) -> Column:
        """One attribute of all events."""
        function = function_of(attribute)
        if function is not None:
            own = self.column(base_attribute(attribute))
            mapped = [mapped_stretch(function, stretch) for stretch in own.stretches]
            return Column(own.size, own.absent, tuple(mapped))
        path = attribute_path(attribute)
        cells: _Cells | None
        if self._mappings is None:
            cells = _reach(self._cells(path[0]), path[1:])
        else:
            cells = None
            if path == (attribute,):
                cells = plain_cells(self._mappings, attribute, self.schema)
            if cells is None:
                values = [value_of(event, attribute, self.schema) for event in self._mappings]
                return _from_values(values, self._lines(attribute))
        if cells is None:
            return Column(len(self), _all_rows(len(self)), ())
        raw = None if isinstance(cells, list) else read(cells)
        if raw is None:
            plain = cells if isinstance(cells, list) else plain_values(cells)
            values = [self._value(attribute, value) for value in plain]
            return _from_values(values, self._lines(attribute))
        absent = absent_rows(cells, raw.rows)
        parts = (stretch(raw),) if self.schema is None else conform(raw, self._lines(attribute))
        return Column(len(self), absent, tuple(part for part in parts if len(part.rows)))

    def mappings(self, attributes: Iterable[str]) -> Sequence[Mapping[str, Any]]:
        """The events, each with what is asked for of its attributes."""
        return self._some(attributes, 0, len(self))

    def mapping(self, row: int, attributes: Iterable[str]) -> Mapping[str, Any]:
        """One of them."""
        return self._some(attributes, row, 1)[0]

    def _some(
        self, attributes: Iterable[str], start: int, count: int
    ) -> Sequence[Mapping[str, Any]]:
        if self._mappings is not None:
            return self._mappings[start : start + count]
        found: dict[str, list[Any]] = {}
        for name in {attribute_path(attribute)[0] for attribute in attributes}:
            cells = self._cells(name)
            if cells is not None:
                some = cells[start : start + count]
                found[name] = some if isinstance(some, list) else plain_values(some)
        if not found:
            return [{}] * count
        return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]

    def _cells(self, name: str) -> "_Cells | None":
        """The column of that name, in one piece; None if there is none."""
        if name not in self._known:
            self._known[name] = self._read_cells(name)
        return self._known[name]

    def _read_cells(self, name: str) -> "_Cells | None":
        if self._frame is not None:
            places = self._frame.columns(name)
        else:
            assert self._table is not None
            places = self._table.schema.get_all_field_indices(name)
        if len(places) > 1:
            raise TidegateError(f"the batch has {len(places)} columns named {name}")
        if not places:
            return None
        if self._frame is not None:
            return self._frame.values(places[0])
        assert self._table is not None
        return _one_piece(self._table.column(places[0]))

    def _lines(self, attribute: str) -> tuple[Line, ...]:
        return ALL_LINES if self.schema is None else self.schema[attribute].lines

    def _value(self, attribute: str, value: Any) -> Value:
        return normal(value) if self.schema is None else self.schema[attribute].type.conform(value)


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


_Cells: TypeAlias = pa.Array | list[Any]
"""A column as an array, or as values where Arrow has no array for it."""


def _one_piece(column: pa.ChunkedArray) -> _Cells:
    if column.num_chunks == 1:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except pa.ArrowException:  # dictionaries that it cannot unify, or too much for one array
        return [value for chunk in column.chunks for value in plain_values(chunk)]


def _reach(cells: _Cells | None, path: tuple[str, ...]) -> _Cells | None:
    """The field at a path inside structs; None if something on the way is not there."""
    for name in path:
        if cells is None:
            return None
        if not isinstance(cells, list) and not pa.types.is_struct(cells.type):
            if not _may_hide_structs(cells.type):
                return None
            cells = plain_values(cells)
        if isinstance(cells, list):
            cells = [each.get(name) if isinstance(each, Mapping) else None for each in cells]
        else:
            places = cells.type.get_all_field_indices(name)
            require_one_field(len(places), name)
            cells = pc.struct_field(cells, places) if places else None
    return cells


def _may_hide_structs(kind: pa.DataType) -> bool:
    is_ = pa.types
    hides = (is_.is_dictionary, is_.is_run_end_encoded, is_.is_union)
    return isinstance(kind, pa.BaseExtensionType) or any(test(kind) for test in hides)

"""How does a file keep what subscriptions were given as?

Subscriptions of one filter that came as columns stay columns, one Arrow table for each filter.
Those that came one by one, and what is too few for a table of its own, are **records**: the number
of a filter and its constants, as JSON (`notation`). Both stand in the order of their codes; of each
code the file says which table has it, or, with 0, that it is a record.

A file is read when the first subscription is asked for, and records only one by one.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.file.consistency import check_below, reading, require
from tidegate.engine.file.container import Arrays, table_from_bytes, table_to_bytes
from tidegate.engine.primitives.offsets import starts
from tidegate.engine.subscriptions.originals import Columns, Originals, OriginalsPart, Singles
from tidegate.engine.subscriptions.subscription import Id, Subscription, subscribe
from tidegate.engine.subscriptions.table_columns import plain_column
from tidegate.engine.subscriptions.table_reader import admit_columns
from tidegate.filters.filter import Filter
from tidegate.filters.literals import decode, spell
from tidegate.filters.notation import read_tree, spell_tree
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant

Integers: TypeAlias = NDArray[np.int64]

_FEWEST_OF_A_TABLE: Final = 256  # subscriptions that make no table


class Records:
    """Subscriptions of a file, each read when it is asked for."""

    def __init__(
        self, name: str, filters: pa.Array, number: pa.Array, constants: pa.Array,
        schema: Schema | None,
    ) -> None:  # fmt: skip
        self._name = name
        self._filters = filters
        self._number = number
        self._constants = constants
        self._schema = schema
        self._read: dict[int, Filter] = {}

    def subscription(self, row: int, id: Id) -> Subscription:
        """The subscription of a row."""
        with reading(self._name):
            filter = self._filter(self._number[row].as_py())
            constants = [decode(word) for word in json.loads(self._constants[row].as_py())]
            given = dict(zip(filter.parameters, constants, strict=True))
            return subscribe(id, filter, given, self._schema)

    def __len__(self) -> int:
        return 0  # they are in the file, which is mapped

    def take(self, rows: NDArray[Any]) -> "Records":
        """Some of the rows."""
        taken = pa.array(rows)
        number, constants = self._number.take(taken), self._constants.take(taken)
        return Records(self._name, self._filters, number, constants, self._schema)

    def _filter(self, number: int) -> Filter:
        filter = self._read.get(number)
        if filter is None:
            spelled = json.loads(self._filters[number].as_py())
            filter = self._read[number] = Filter.of(read_tree(spelled, self._schema), self._schema)
        return filter

    def spelled(self, rows: NDArray[Any]) -> Iterator[tuple[str, str]]:
        """The filters and the constants of some rows, as the file has them."""
        taken = pa.array(rows)
        filters = self._filters.take(self._number.take(taken))
        constants = self._constants.take(taken)
        return zip(filters.to_pylist(), constants.to_pylist(), strict=True)


def write_originals(originals: Originals) -> tuple[list[str], Arrays]:
    """Sources as the filters of tables and as the sections of a file."""
    tables: dict[tuple[str, str], list[tuple[Integers, pa.Table]]] = {}
    codes: list[Integers] = []
    records: list[tuple[str, str]] = []
    for part, mine, rows in _by_part(originals):
        if isinstance(part, Columns) and part.columns and len(mine) >= _FEWEST_OF_A_TABLE:
            table = pa.table(dict(part.columns)).take(pa.array(rows))
            kind = (_spelled_filter(part.filter), str(table.schema))
            tables.setdefault(kind, []).append((mine, table))
        else:
            codes.append(mine)
            records += _spelled(part, rows)
    number = np.zeros(len(originals), np.min_scalar_type(len(tables)))
    arrays: Arrays = {}
    for place, pieces in enumerate(tables.values(), 1):
        mine = np.concatenate([own for own, _ in pieces])
        number[mine] = place
        table = pa.concat_tables([each for _, each in pieces])
        if len(pieces) > 1:
            table = table.take(pa.array(np.argsort(mine)))
        arrays[f"table/{place}"] = table_to_bytes(table.combine_chunks())
    order = np.argsort(np.concatenate(codes)) if codes else np.empty(0, np.int64)
    arrays |= _record_sections([records[i] for i in order.tolist()])
    return [text for text, _ in tables], {"table": number, **arrays}


def _by_part(originals: Originals) -> Iterator[tuple[OriginalsPart, Integers, NDArray[np.uint32]]]:
    """Each part, the codes it has, ascending, and their rows in it."""
    order = np.argsort(originals.part, kind="stable")
    begin = starts(np.bincount(originals.part, minlength=len(originals.parts))).tolist()
    for place, part in enumerate(originals.parts):
        mine = order[begin[place] : begin[place + 1]]
        yield part, mine, originals.row[mine]


def _spelled_filter(filter: Filter) -> str:
    return json.dumps(spell_tree(filter.tree))


def _spelled_constants(constants: Iterable[Constant]) -> str:
    return json.dumps([spell(constant) for constant in constants])


def _spelled(part: OriginalsPart, rows: NDArray[Any]) -> Iterable[tuple[str, str]]:
    """The filters and constants of a part's rows."""
    if isinstance(part, Records):
        return part.spelled(rows)
    if isinstance(part, Columns):
        text = _spelled_filter(part.filter)
        if not part.columns:
            return [(text, "[]")] * len(rows)
        taken = pa.array(rows)
        columns = [part.columns[name].take(taken).to_pylist() for name in part.filter.parameters]
        return [(text, _spelled_constants(each)) for each in zip(*columns, strict=True)]
    assert isinstance(part, Singles)
    texts: dict[int, str] = {}
    found = []
    for row in rows.tolist():
        filter, constants = part.given[row].filter, part.given[row].parameters
        if id(filter) not in texts:
            texts[id(filter)] = _spelled_filter(filter)
        in_order = [constants[name] for name in filter.parameters]
        found.append((texts[id(filter)], _spelled_constants(in_order)))
    return found


def _record_sections(records: list[tuple[str, str]]) -> Arrays:
    numbers: dict[str, int] = {}
    number = [numbers.setdefault(text, len(numbers)) for text, _ in records]
    filters = pa.table({"filter": pa.array(numbers, pa.string())})
    rows = pa.table(
        {
            "filter": pa.array(number, pa.int32()),
            "constants": pa.array([constants for _, constants in records], pa.string()),
        }
    )
    return {"filters": table_to_bytes(filters), "records": table_to_bytes(rows)}


def read_originals(
    name: str, filters: list[str], arrays: Mapping[str, NDArray[Any]], schema: Schema | None
) -> Originals:
    """The originals of the file of that name, from the filters of its tables and its sections."""
    with reading(name):
        number = arrays["table"]
        require(number.dtype.kind == "u", "tables have no numbers")
        check_below("numbers of tables", number, len(filters) + 1)
        sizes = np.bincount(number, minlength=len(filters) + 1).tolist()
        parts: list[OriginalsPart] = [_read_records(name, arrays, sizes[0], schema)]
        for place, text in enumerate(filters, 1):
            parts.append(_read_columns(text, arrays[f"table/{place}"], sizes[place], schema))
        order = np.argsort(number, kind="stable")
        row = np.empty(len(number), np.uint32)
        row[order] = np.arange(len(number)) - np.repeat(starts(np.array(sizes))[:-1], sizes)
        return Originals(parts, number.astype(np.uint32), row)


def _read_records(
    name: str, arrays: Mapping[str, NDArray[Any]], size: int, schema: Schema | None
) -> Records:
    filters = column(table_from_bytes(arrays["filters"]), "filter", pa.string())
    rows = table_from_bytes(arrays["records"])
    number = column(rows, "filter", pa.int32())
    constants = column(rows, "constants", pa.string())
    require(len(number) == len(constants) == size, "there are too few or many records")
    check_below("filters of records", number.to_numpy(), len(filters))
    return Records(name, filters, number, constants, schema)


def _read_columns(text: str, section: NDArray[Any], size: int, schema: Schema | None) -> Columns:
    """A table of constants, looked at as one that subscriptions are added from."""
    filter = Filter.of(read_tree(json.loads(text), schema), schema)
    table = table_from_bytes(section)
    table.validate(full=True)
    require(len(table) == size > 0, "there are too few or many subscriptions in a table")
    require(tuple(table.column_names) == filter.parameters, "a table has other parameters")
    columns = {}
    for name in filter.parameters:
        columns[name] = plain_column(name, table.column(name))
        kind = columns[name].type
        same = kind == table.schema.field(name).type and kind != pa.uint64()
        require(same, f":{name} has constants of a type that is no parameter's")
    rows = np.arange(size)
    admit_columns(filter, columns, rows, pa.array(rows))
    return Columns(filter, columns)


def column(table: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    """A column of a file's table, in one piece, without nulls, and safe to use."""
    found = table.column(name)
    require(found.type == kind and found.null_count == 0, f"the column {name} has another type")
    found.validate(full=True)
    return found.combine_chunks() if found.num_chunks != 1 else found.chunk(0)

"""Which subscriptions does a table hold?

`read_table` makes `Block`s of a table, Arrow's or of what speaks Arrow: all rows of one filter text
together, their constants still in columns. A text is parsed once however many rows have it, and
constants are looked at one by one only where whether they fit hangs on their value. Texts
without parameters that hardly any other row has are subscriptions by themselves.

Invariant: a row is accepted, refused and understood as `Filter.bind` would with its cells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.capsules import speaks_arrow, table_of
from tidegate.engine.subscriptions.subscription import (
    ALIKE,
    NO_PARAMETERS,
    Block,
    Subscription,
    read_filter,
)
from tidegate.engine.subscriptions.table_columns import (
    is_wide,
    of_one_kind,
    plain_column,
    read_ids,
    read_texts,
)
from tidegate.errors import ParameterError, SubscriptionError, TidegateError
from tidegate.filters.admission import always_fits
from tidegate.filters.expression import Parameter, Predicate, predicates
from tidegate.filters.filter import Filter, parse
from tidegate.filters.schema import Schema

_NULLS: Final = pa.null()


def read_table(
    table: pa.Table | pa.RecordBatch, filter: str | Filter | None, schema: Schema | None
) -> tuple[list[Block], list[Subscription]]:
    """The subscriptions of a table: columns `id`, `filter` unless it is given, and parameters.

    >>> rows = pa.table({"id": ["a", "b"], "filter": ["x < :p", "x > 1"], "p": [5, None]})
    >>> [block], [single] = read_table(rows, None, None)
    >>> str(block.filter), block.ids.to_pylist(), str(single.filter), single.id
    ('x < :p', ['a'], 'x > 1', 'b')
    """
    cells = _cells(table)
    ids = read_ids(cells.pop("id"))
    texts = None if filter is not None else _texts(cells)
    columns = {name: plain_column(name, column) for name, column in cells.items()}
    if not len(ids):
        return [], []
    rows = _Rows(ids, columns)
    if filter is not None:
        codes, filters = np.zeros(len(ids), np.int64), [read_filter(filter, schema)]
    else:
        codes, filters = _parsed(texts, ids, schema)
    _require_columns(filters, codes, rows)
    own = _own_texts(filters, codes) if filter is None else np.zeros(len(ids), np.bool_)
    chosen = np.flatnonzero(own)
    named = zip(ids.take(pa.array(chosen)).to_pylist(), codes[chosen].tolist(), strict=True)
    singles = [Subscription(id, filters[code], NO_PARAMETERS) for id, code in named]
    return list(_blocks(filters, codes, rows, np.flatnonzero(~own))), singles


def _own_texts(filters: list[Filter], codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows have a text without parameters that few others have."""
    plain = np.array([not filter.parameters for filter in filters], np.bool_)
    own: NDArray[np.bool_] = (plain & (np.bincount(codes, minlength=len(filters)) < ALIKE))[codes]
    return own


def read_changes(table: pa.Table | pa.RecordBatch) -> tuple[pa.Array, dict[str, pa.Array]]:
    """The ids of a table and its columns of parameters, typed as in a `Block`.

    But a column of unsigned integers some of which are beyond bigint stays what it is: its cells
    are bigints and decimals, and only rows of one kind make a block.
    """
    cells = _cells(table)
    ids = read_ids(cells.pop("id"))
    return ids, {name: plain_column(name, column) for name, column in cells.items()}


def _cells(table: Any) -> dict[str, pa.ChunkedArray]:
    """The columns of a table by name, the one of ids among them."""
    cells = columns_of(table)
    if "id" not in cells:
        raise SubscriptionError("the table has no column id")
    return cells


def columns_of(table: Any) -> dict[str, pa.ChunkedArray]:
    """The columns of a table by name."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        if not speaks_arrow(table):
            raise TidegateError(
                f"an Arrow table, or what speaks Arrow, is wanted, not a {type(table).__name__}"
            )
        table = table_of(table)
    names: list[str] = table.column_names
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise TidegateError(f"the table has {names.count(again)} columns named {again}")
    return dict(zip(names, table.columns, strict=True))


def _texts(cells: dict[str, pa.ChunkedArray]) -> pa.Array:
    """The column of filter texts, taken out of the cells."""
    if "filter" not in cells:
        raise SubscriptionError("the table has no column filter, and no filter is given for all")
    return read_texts(cells.pop("filter"))


def _parsed(
    texts: pa.Array, ids: pa.Array, schema: Schema | None
) -> tuple[NDArray[np.int64], list[Filter]]:
    """For each row which filter it has, and the filters."""
    encoded = texts.dictionary_encode()
    codes: NDArray[np.int64] = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    filters: list[Filter] = []
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            filters.append(parse(text, schema))
        except TidegateError as error:
            _note(error, int(np.argmax(codes == code)), ids)
            raise
    return codes, filters


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a table: ids and plain columns."""

    ids: pa.Array
    columns: dict[str, pa.Array]

    def take(self, rows: NDArray[np.int64]) -> "_Rows":
        where = pa.array(rows)
        columns = {name: column.take(where) for name, column in self.columns.items()}
        return _Rows(self.ids.take(where), columns)


def _require_columns(filters: list[Filter], codes: NDArray[np.int64], rows: _Rows) -> None:
    """Every parameter has a column, and where a row's filter does not name it, the cell is NULL."""
    for code, filter in enumerate(filters):
        if not filter.parameters:
            continue
        missing = [f":{name}" for name in filter.parameters if name not in rows.columns]
        if missing:
            error = ParameterError(f"the table has no column for {', '.join(missing)}")
            _note(error, int(np.argmax(codes == code)), rows.ids)
            raise error
    for name, column in rows.columns.items():
        named = np.array([name in filter.parameters for filter in filters])
        given = column.is_valid().to_numpy(zero_copy_only=False)
        stray = np.flatnonzero(given & ~named[codes])
        if len(stray):
            row = int(stray[0])
            known = ", ".join(f":{name}" for name in filters[codes[row]].parameters) or "none"
            error = ParameterError(f"the filter has no parameter :{name}; it has {known}")
            _note(error, row, rows.ids)
            raise error


def _blocks(
    filters: list[Filter], codes: NDArray[np.int64], rows: _Rows, chosen: NDArray[np.int64]
) -> Iterator[Block]:
    """Some rows: those of a filter together, and apart if their integers are of another kind."""
    keys = codes
    for column in rows.columns.values():
        if pa.types.is_uint64(column.type):
            keys = np.unique(keys * 2 + is_wide(column), return_inverse=True)[1]
    order = chosen[np.argsort(keys[chosen], kind="stable")]
    ordered = rows if len(filters) == 1 and keys is codes else rows.take(order)
    ends = [*np.flatnonzero(np.diff(keys[order], prepend=-1)).tolist(), len(order)]
    for start, stop in pairwise(ends):
        filter = filters[codes[order[start]]]
        ids = ordered.ids.slice(start, stop - start)
        columns = {
            name: of_one_kind(ordered.columns[name].slice(start, stop - start))
            for name in filter.parameters
        }
        if columns:
            admit_columns(filter, columns, order[start:stop], rows.ids)
        yield Block(filter, ids, columns)


def admit_columns(
    filter: Filter, columns: dict[str, pa.Array], rows: NDArray[np.int64], ids: pa.Array
) -> None:
    """Refuse constants that do not fit their predicates, in the words of a table's row and id."""
    for predicate in predicates(filter.tree):
        names = [c.name for c in predicate.constants if isinstance(c, Parameter)]
        if names:
            given = {name: columns[name] for name in names}
            for place in _to_look_at(predicate, given, filter.schema):
                constants = {name: column[place].as_py() for name, column in given.items()}
                try:
                    Filter.of(predicate, filter.schema).bind(**constants)
                except TidegateError as error:
                    _note(error, int(rows[place]), ids)
                    raise


def _to_look_at(
    predicate: Predicate, columns: dict[str, pa.Array], schema: Schema | None
) -> list[int]:
    """Places of constants that stand for all of them: if they fit, so do the others.

    One of each combination of NULLs; and if not only the types matter, one of each value.
    """
    if _hangs_on_values(predicate, columns, schema):
        codes = [_value_codes(column) for column in columns.values()]
    else:
        present = [column.is_valid() for column in columns.values() if column.null_count]
        codes = [mask.to_numpy(zero_copy_only=False).astype(np.int64) for mask in present]
    if not codes:
        return [0]
    together = codes[0]
    for code in codes[1:]:
        together = np.unique(together * (code.max() + 1) + code, return_inverse=True)[1]
    found: list[int] = np.unique(together, return_index=True)[1].tolist()
    return found


def _value_codes(column: pa.Array) -> NDArray[np.int64]:
    """A number for each value: equal values have the same, NULL has 0."""
    if column.type == _NULLS:
        return np.zeros(len(column), np.int64)
    codes = pc.add(column.dictionary_encode().indices, 1).fill_null(0)
    found: NDArray[np.int64] = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _hangs_on_values(
    predicate: Predicate, columns: dict[str, pa.Array], schema: Schema | None
) -> bool:
    """Whether constants of the columns' types may fit the predicate with one value only."""
    kinds = {type(c) for c in predicate.constants if not isinstance(c, Parameter)}
    kinds |= {_kind(column.type) for column in columns.values()}
    if always_fits(predicate.operator, kinds, schema) or kinds == {type(None)}:
        return False
    own = None if schema is None else schema[predicate.attribute].type
    if own is None or own.line is None or own.family == "string":
        return not always_fits(predicate.operator, kinds, None)
    return str in kinds or own.line.name == "bigint"


def _kind(arrow: pa.DataType) -> type:
    """The type of a plain column's constants, as far as admission tells them apart."""
    if arrow == _NULLS:
        return type(None)
    if pa.types.is_string(arrow):
        return str
    return Decimal if pa.types.is_decimal(arrow) else object


def _note(error: TidegateError, row: int, ids: pa.Array) -> None:
    error.add_note(f"in row {row}, subscription {ids[row].as_py()!r}")

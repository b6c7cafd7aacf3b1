"""What is a subscription, and how do many of them come in at once?

A `Subscription` is an id, a filter, and the values of its parameters. `subscribe` makes one;
`read_table` makes many out of an Arrow table, as `Block`s: all rows of one filter text together,
their constants still in columns. A text is parsed once however many rows have it, and constants
are looked at one by one only where whether they fit hangs on their value.

Invariant: a row is accepted, refused and understood as `Filter.bind` would with its cells.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Integral
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.errors import (
    FilterTypeError,
    ParameterError,
    SchemaError,
    SubscriptionError,
    TidegateError,
)
from tidegate.filters.admission import always_fits
from tidegate.filters.expression import Parameter, Predicate, predicates
from tidegate.filters.filter import Filter, bind, constant, parse
from tidegate.filters.schema import Schema
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, OTHER, Constant, normal

Id: TypeAlias = str | int

_NULLS: Final = pa.null()
_MOMENT: Final = pa.timestamp("us")
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, as days since 1970
_MICROSECONDS: Final = 86_400_000_000  # in a day
_DIGITS: Final = 38
_ALIKE: Final = 16  # subscriptions of one filter that make a block
_ALWAYS_FITTING: Final = frozenset((bool, int, float))
_ARROW: Final = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who wants what: an id, a filter as it was given, the values of all its parameters."""

    id: Id
    filter: Filter
    parameters: Mapping[str, Constant]
    _bound: Filter | None = field(default=None, compare=False, repr=False)

    @property
    def bound(self) -> Filter:
        """The filter with its parameters bound.

        >>> str(subscribe("alice", "price < :limit", {"limit": 10}, None).bound)
        'price < 10'
        """
        if not self.filter.parameters:
            return self.filter
        if self._bound is None:
            object.__setattr__(self, "_bound", self.filter.bind(**self.parameters))
        assert self._bound is not None
        return self._bound


def subscribe(
    id: Id, filter: str | Filter, parameters: Mapping[str, Any], schema: Schema | None
) -> Subscription:
    """The subscription of that id; every parameter of the filter must be given.

    >>> subscribe("alice", "price < :limit", {}, None)
    Traceback (most recent call last):
    ...
    tidegate.errors.ParameterError: parameter :limit is missing; give it a value, None is NULL
    """
    plain, read = read_id(id), read_filter(filter, schema)
    if not parameters and not read.parameters:
        return Subscription(plain, read, {})
    require_parameters(read, parameters)
    bound = read.bind(**parameters)
    constants = {name: constant(name, parameters[name]) for name in read.parameters}
    return Subscription(plain, read, constants, bound)


def changed(
    old: Subscription, parameters: Mapping[str, Any], schema: Schema | None
) -> Subscription:
    """The subscription with some of its parameters changed.

    >>> alice = subscribe("alice", "price BETWEEN :low AND :high", {"low": 1, "high": 2}, None)
    >>> str(changed(alice, {"high": 5}, None).bound)
    'price >= 1 AND price <= 5'
    """
    unknown = sorted(parameters.keys() - old.parameters.keys())
    if unknown:
        known = ", ".join(f":{name}" for name in old.parameters) or "none"
        raise ParameterError(
            f"the filter of {old.id!r} has no parameter :{unknown[0]}; it has {known}"
        )
    constants = {**old.parameters, **{n: constant(n, v) for n, v in parameters.items()}}
    new = {n for n in parameters if not _fits_as_before(old.parameters[n], constants[n])}
    for predicate in predicates(old.filter.tree) if new else ():
        if any(isinstance(c, Parameter) and c.name in new for c in predicate.constants):
            bind(predicate, constants, schema)  # so that what does not fit is refused
    return Subscription(old.id, old.filter, constants)


def _fits_as_before(old: Constant, new: Constant) -> bool:
    """Whether a constant fits because the one before it did; see `admission.always_fits`."""
    return type(old) is type(new) and type(new) in _ALWAYS_FITTING


def read_id(id: Any) -> Id:
    """The id as a plain string or 64-bit integer.

    >>> read_id(True)
    Traceback (most recent call last):
    ...
    tidegate.errors.SubscriptionError: an id is a string or a 64-bit integer, not True
    """
    if isinstance(id, str):
        plain = str.__str__(id)
        if normal(plain) is not OTHER:  # half a character has no place in Arrow
            return plain
    elif type(id) is int or (not isinstance(id, bool) and isinstance(id, Integral)):
        number = int(id)
        if BIGINT_MIN <= number <= BIGINT_MAX:
            return number
    raise SubscriptionError(f"an id is a string or a 64-bit integer, not {id!r}")


def read_filter(filter: str | Filter, schema: Schema | None) -> Filter:
    """The filter, parsed if it comes as a text; `SchemaError` if it was read under another schema.

    >>> read_filter(parse("price < 10"), Schema({"price": "double"}))
    Traceback (most recent call last):
    ...
    tidegate.errors.SchemaError: the filter was read under another schema than the index has
    """
    if not isinstance(filter, Filter):
        return parse(filter, schema)
    if filter.schema is not schema and filter.schema != schema:
        raise SchemaError("the filter was read under another schema than the index has")
    return filter


def require_parameters(filter: Filter, given: Mapping[str, Any]) -> None:
    """Raise `ParameterError` unless exactly the filter's parameters are given."""
    missing = [f":{name}" for name in filter.parameters if name not in given]
    if missing:
        if len(missing) > 1:
            raise ParameterError(f"parameters {', '.join(missing)} are missing; None is NULL")
        raise ParameterError(f"parameter {missing[0]} is missing; give it a value, None is NULL")
    unknown = sorted(given.keys() - set(filter.parameters))
    if unknown:
        names = ", ".join(f":{name}" for name in unknown)
        known = ", ".join(f":{name}" for name in filter.parameters) or "none"
        raise ParameterError(f"the filter has no parameter {names}; it has {known}")


@dataclass(frozen=True, slots=True)
class Block:
    """Many subscriptions of one filter, their ids and constants in columns.

    The ids are of type string or int64; the constants, one column per parameter of the filter, of
    type bool, int64, double, decimal128, string, date32, timestamp[us] (UTC) or null, all of
    them values that the filter admits.
    """

    filter: Filter
    ids: pa.Array
    columns: Mapping[str, pa.Array]

    def __len__(self) -> int:
        return len(self.ids)

    def subscription(self, row: int) -> Subscription:
        """One of them."""
        parameters = {name: column[row].as_py() for name, column in self.columns.items()}
        return Subscription(self.ids[row].as_py(), self.filter, parameters)


def gathered(
    blocks: list[Block], singles: list[Subscription]
) -> tuple[list[Block], list[Subscription]]:
    """The same subscriptions, those of one filter as a block if there are enough of them."""
    large = [block for block in blocks if len(block) >= _ALIKE]
    small = [block for block in blocks if len(block) < _ALIKE]
    rest = [block.subscription(row) for block in small for row in range(len(block))]
    by_filter: dict[int, list[Subscription]] = {}
    for subscription in singles:
        if subscription.parameters:
            by_filter.setdefault(id(subscription.filter), []).append(subscription)
        else:
            rest.append(subscription)
    for alike in by_filter.values():
        block = _block(alike) if len(alike) >= _ALIKE else None
        if block is not None:
            large.append(block)
        else:
            rest += alike
    return large, rest


def _block(alike: list[Subscription]) -> Block | None:
    """Subscriptions of one filter as a block, if the constants of a parameter are of one type."""
    columns: dict[str, pa.Array] = {}
    for name in alike[0].parameters:
        constants = [subscription.parameters[name] for subscription in alike]
        kinds = {type(constant) for constant in constants if constant is not None}
        arrow = _ARROW.get(kinds.pop()) if len(kinds) == 1 else None
        if arrow is None:
            return None
        columns[name] = pa.array(constants, arrow)
    return Block(alike[0].filter, id_array([subscription.id for subscription in alike]), columns)


def read_table(
    table: pa.Table | pa.RecordBatch, filter: str | Filter | None, schema: Schema | None
) -> list[Block]:
    """The subscriptions of a table: columns `id`, `filter` unless it is given, and parameters.

    >>> rows = pa.table({"id": ["a", "b"], "filter": ["x < :p", "x > 1"], "p": [5, None]})
    >>> [(str(block.filter), block.ids.to_pylist()) for block in read_table(rows, None, None)]
    [('x < :p', ['a']), ('x > 1', ['b'])]
    """
    cells = _cells(table)
    ids = read_ids(cells.pop("id"))
    texts = None if filter is not None else _texts(cells)
    columns = {name: plain_column(name, column) for name, column in cells.items()}
    if not len(ids):
        return []
    rows = _Rows(ids, columns)
    if filter is not None:
        codes, filters = np.zeros(len(ids), np.int64), [read_filter(filter, schema)]
    else:
        codes, filters = _parsed(texts, ids, schema)
    _require_columns(filters, codes, rows)
    return list(_blocks(filters, codes, rows))


def read_changes(table: pa.Table | pa.RecordBatch) -> tuple[pa.Array, dict[str, pa.Array]]:
    """The ids of a table and its columns of parameters, typed as in a `Block`.

    But a column of unsigned integers some of which are beyond bigint stays what it is: its cells
    are bigints and decimals, and only rows of one kind make a block.
    """
    cells = _cells(table)
    ids = read_ids(cells.pop("id"))
    return ids, {name: plain_column(name, column) for name, column in cells.items()}


def read_ids(ids: Any) -> pa.Array:
    """Ids as one array of type string or int64, each of them once.

    They come as an Arrow array, or as any iterable of strings or of integers.
    """
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        array = _id_array(ids)
    elif isinstance(ids, str | bytes) or not hasattr(ids, "__iter__"):
        raise SubscriptionError(f"ids come as an Arrow array or an iterable, not as {ids!r}")
    else:
        array = id_array([read_id(id) for id in ids])
    if pc.count_distinct(array).as_py() < len(array):
        counts = array.value_counts()
        again = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
        raise SubscriptionError(f"the id {again!r} is given more than once")
    return array


def id_array(ids: list[Id]) -> pa.Array:
    """The ids of an index as an array."""
    kinds = {type(id) for id in ids}
    if len(kinds) > 1:
        raise SubscriptionError("ids are all strings or all integers, not some of each")
    return pa.array(ids, pa.int64() if kinds == {int} else pa.string())


def _id_array(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    array = _decoded(_one_piece(ids))
    if array.null_count:
        row = pc.index(array.is_null(), True).as_py()
        raise SubscriptionError(f"row {row} has no id: it is NULL")
    if pa.types.is_null(array.type):  # and so empty
        return pa.array([], pa.string())
    if pa.types.is_integer(array.type):
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid:
            raise SubscriptionError("an id is beyond 64 bits") from None
    if _is_text(array.type):
        return _valid_texts(array, SubscriptionError, "the ids")
    raise SubscriptionError(f"ids are strings or integers, not of the Arrow type {array.type}")


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
        raise TidegateError(f"an Arrow table or record batch is wanted, not a {type(table)}")
    names: list[str] = table.column_names
    if len(set(names)) < len(names):
        again = next(name for name in names if names.count(name) > 1)
        raise TidegateError(f"the table has {names.count(again)} columns named {again}")
    return dict(zip(names, table.columns, strict=True))


def _texts(cells: dict[str, pa.ChunkedArray]) -> pa.Array:
    """The column of filter texts, taken out of the cells."""
    if "filter" not in cells:
        raise SubscriptionError("the table has no column filter, and no filter is given for all")
    array = _decoded(_one_piece(cells.pop("filter")))
    if array.null_count:
        row = pc.index(array.is_null(), True).as_py()
        raise SubscriptionError(f"row {row} has no filter: it is NULL")
    if len(array) and not _is_text(array.type):
        raise SubscriptionError(f"filters are texts, not of the Arrow type {array.type}")
    return _valid_texts(array, SubscriptionError, "the filters")


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


def _blocks(filters: list[Filter], codes: NDArray[np.int64], rows: _Rows) -> Iterator[Block]:
    """The rows of each filter together, and apart those whose integers are of another kind."""
    keys = codes
    for column in rows.columns.values():
        if pa.types.is_uint64(column.type):
            keys = np.unique(keys * 2 + _is_wide(column), return_inverse=True)[1]
    order = np.argsort(keys, kind="stable")
    ordered = rows if len(filters) == 1 and keys is codes else rows.take(order)
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        filter = filters[codes[order[start]]]
        ids = ordered.ids.slice(start, stop - start)
        columns = {
            name: _of_one_kind(ordered.columns[name].slice(start, stop - start))
            for name in filter.parameters
        }
        if columns:
            admit_columns(filter, columns, order[start:stop], rows.ids)
        yield Block(filter, ids, columns)


def _is_wide(column: pa.Array) -> NDArray[np.bool_]:
    """Which unsigned integers are beyond bigint, and so decimals."""
    wide: NDArray[np.bool_] = (
        pc.greater(column, pa.scalar(BIGINT_MAX, pa.uint64()))
        .fill_null(False)
        .to_numpy(zero_copy_only=False)
    )
    return wide


def _of_one_kind(column: pa.Array) -> pa.Array:
    """Unsigned integers, all within bigint or all beyond it, as bigints or decimals."""
    if not pa.types.is_uint64(column.type):
        return column
    return column.cast(pa.decimal128(20, 0) if _is_wide(column).any() else pa.int64())


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


def plain_column(name: str, column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The constants of a parameter, in one of the types that a `Block` may have.

    Unsigned integers beyond bigint stay what they are, see `read_changes`.
    """
    array = _decoded(_one_piece(column))
    kind, is_ = array.type, pa.types
    if array.null_count == len(array):
        return pa.nulls(len(array))
    if _is_text(kind):
        return _valid_texts(array, FilterTypeError, f"parameter :{name}")
    if is_.is_boolean(kind):
        return array
    if is_.is_uint64(kind):
        return array if _is_wide(array).any() else array.cast(pa.int64())
    if is_.is_integer(kind):
        return array.cast(pa.int64())
    if is_.is_floating(kind):
        return array.cast(pa.float64())
    if is_.is_decimal(kind):
        return _decimals(name, array)
    if is_.is_date(kind):
        return _days(name, array)
    if is_.is_timestamp(kind):
        return _moments(name, array)
    raise FilterTypeError(
        f"parameter :{name} cannot be of the Arrow type {kind}",
        instead="numbers, strings, booleans, dates, timestamps or NULLs",
    )


def _decimals(name: str, array: pa.Array) -> pa.Array:
    scale = max(0, array.type.scale)
    if scale <= _DIGITS:
        precision = _DIGITS if array.type.scale < 0 else min(_DIGITS, array.type.precision)
        try:
            return array.cast(pa.decimal128(precision, scale))
        except pa.ArrowInvalid:
            pass  # more digits than a decimal has
    raise FilterTypeError(f"parameter :{name}: a decimal has at most {_DIGITS} digits")


def _days(name: str, array: pa.Array) -> pa.Array:
    days = array.cast(pa.date32())
    _check_years(name, days.cast(pa.int32()), _FIRST_DAY, _LAST_DAY)
    return days


def _moments(name: str, array: pa.Array) -> pa.Array:
    """Timestamps as microseconds in UTC; nanoseconds are cut off."""
    ticks = array.cast(pa.int64())
    unit = array.type.unit
    if unit == "ns":
        values = np.floor_divide(ticks.fill_null(0).to_numpy(), 1000)
        ticks = pa.array(values, mask=array.is_null().to_numpy(zero_copy_only=False))
    per_day = {"s": 86_400, "ms": 86_400_000}.get(unit, _MICROSECONDS)
    _check_years(name, ticks, _FIRST_DAY * per_day, (_LAST_DAY + 1) * per_day - 1)
    return pc.multiply(ticks, _MICROSECONDS // per_day).cast(_MOMENT)


def _check_years(name: str, ticks: pa.Array, first: int, last: int) -> None:
    ends = pc.min_max(ticks).as_py()
    if ends["min"] < first or ends["max"] > last:
        raise FilterTypeError(f"parameter :{name} lies outside the years 1 to 9999")


def _one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _decoded(array: pa.Array) -> pa.Array:
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if not pa.types.is_dictionary(array.type):
        return array
    if _is_view(array.type.value_type):  # which Arrow does not decode
        array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.string()))
    return array.dictionary_decode()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_view(kind)


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind))


def _valid_texts(array: pa.Array, error: type[TidegateError], what: str) -> pa.Array:
    """The texts as an array of type string, or the error if they are not in UTF-8."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise error(f"{what}: a text is not valid UTF-8") from None
    return array.cast(pa.string())


def _note(error: TidegateError, row: int, ids: pa.Array) -> None:
    error.add_note(f"in row {row}, subscription {ids[row].as_py()!r}")

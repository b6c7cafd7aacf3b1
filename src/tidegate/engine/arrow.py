"""Arrow columns as keys, all values at once.

`read` takes the values of an Arrow array out of their Arrow type; `stretch` gives them the keys of
the line they lie on by themselves, `conform` those of the line that a schema wants, with what is no
value of its type put aside as *other*. Nothing here looks at values one by one, but for decimals of
more than 18 digits, whose keys are Python integers.

Invariant: the keys are those of `filters.lines.key_of`, of `filters.values.normal` without a schema
and of `filters.types.Type.conform` with one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.engine.ids import IdTable
from tidegate.engine.strings import NO_STRINGS, Strings
from tidegate.filters.lines import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    OTHER_LINE,
    STRING,
    TIMESTAMP,
    Line,
    decimal_line,
)

Keys: TypeAlias = NDArray[Any]  # int64; Python integers for decimals of more than 18 digits
Rows: TypeAlias = NDArray[np.int32]

_DAY: Final = 86_400_000_000
_INT64_DIGITS: Final = 18  # decimals of so many digits fit 64 bits


@dataclass(frozen=True, slots=True)
class Stretch:
    """The values of a column that lie on one line.

    `rows` are their rows, ascending. `keys` are their keys; on the line of strings, they are
    positions in `texts`, each string once.
    """

    line: Line
    rows: Rows
    keys: Keys
    texts: Strings = NO_STRINGS


@dataclass(frozen=True, slots=True)
class Raw:
    """The present values of an array: their line, their rows, and they themselves.

    Doubles are doubles, decimals unscaled integers, dates days, timestamps microseconds, strings
    positions in `texts`.
    """

    line: Line
    rows: Rows
    values: Keys
    texts: Strings = NO_STRINGS


def read(array: pa.Array) -> Raw | None:
    """The array's values, or None if it has to be looked at value by value."""
    is_ = pa.types
    if is_.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if is_.is_decimal32(array.type) or is_.is_decimal64(array.type):
        array = array.cast(pa.decimal128(array.type.precision, array.type.scale))
    kind = array.type
    rows = present_rows(array)
    if is_.is_dictionary(kind):
        if is_.is_string_view(kind.value_type):
            plain = array.dictionary.cast(pa.large_string())
            array = pa.DictionaryArray.from_arrays(array.indices, plain)
            kind = array.type
        if is_.is_string(kind.value_type) or is_.is_large_string(kind.value_type):
            if len(IdTable(array.dictionary)) < len(array.dictionary):  # Arrow does not forbid it
                array = array.dictionary_decode().dictionary_encode()
            return _strings(array, rows)
        return read(array.dictionary_decode())
    if is_.is_string(kind) or is_.is_large_string(kind):
        return _strings(array.dictionary_encode(), rows)
    if is_.is_string_view(kind):
        return _strings(array.cast(pa.large_string()).dictionary_encode(), rows)
    if is_.is_uint64(kind) or is_.is_decimal256(kind):
        return None
    present = array.drop_null() if array.null_count else array
    if is_.is_boolean(kind):
        return Raw(BOOLEAN, rows, _numpy(present.cast(pa.int8())).astype(np.int64))
    if is_.is_integer(kind):
        return Raw(BIGINT, rows, _numpy(present.cast(pa.int64())))
    if is_.is_floating(kind):
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return Raw(DOUBLE, rows, _numpy(present).astype(np.float64))
    if is_.is_decimal128(kind):
        return _decimals(present, rows)
    if is_.is_date(kind):
        return Raw(DATE, rows, _numpy(present.cast(pa.date32()).cast(pa.int32())).astype(np.int64))
    if is_.is_timestamp(kind):
        return _timestamps(present, rows)
    return Raw(OTHER_LINE, rows, np.zeros(len(rows), np.int64))


def present_rows(array: pa.Array) -> Rows:
    """The rows of an array whose values are not null."""
    if _has_no_null(array):
        return np.arange(len(array), dtype=np.int32)
    return np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)).astype(np.int32)


def absent_rows(array: pa.Array) -> Rows:
    """The rows of an array whose values are null."""
    if _has_no_null(array):
        return np.empty(0, np.int32)
    return np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).astype(np.int32)


def _has_no_null(array: pa.Array) -> bool:
    """Whether that can be seen at once; the nulls of some arrays are in what they refer to."""
    is_ = pa.types
    within = (is_.is_dictionary, is_.is_union, is_.is_run_end_encoded)
    return not array.null_count and not any(refers(array.type) for refers in within)


def stretch(raw: Raw) -> Stretch:
    """The values with their own keys."""
    keys = double_keys(raw.values) if raw.line is DOUBLE else raw.values
    return Stretch(raw.line, raw.rows, keys, raw.texts)


def conform(raw: Raw, lines: tuple[Line, ...]) -> tuple[Stretch, ...]:
    """The values with keys on the first of the lines, and behind them those that do not fit."""
    wanted = lines[0]
    found = _CONVERSIONS.get((raw.line.name, wanted.name), _no_conversion)(raw, wanted)
    if found is None:
        return (Stretch(OTHER_LINE, raw.rows, np.zeros(len(raw.rows), np.int64)),)
    keys, fits = found
    if fits is None:
        return (Stretch(wanted, raw.rows, keys, raw.texts),)
    others = raw.rows[~fits]
    return (
        Stretch(wanted, raw.rows[fits], keys[fits], raw.texts),
        Stretch(OTHER_LINE, others, np.zeros(len(others), np.int64)),
    )


def double_keys(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """`filters.lines.double_key` of each."""
    bits = np.ascontiguousarray(values).view(np.int64)
    keys = np.where(bits >= 0, bits, -(bits & np.int64(0x7FFF_FFFF_FFFF_FFFF)))
    keys[np.isnan(values)] = DOUBLE.high - 1
    return keys


def _float_keys(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """`filters.lines.float_key` of each, rounded to single precision."""
    with np.errstate(over="ignore", invalid="ignore"):  # too large; a signalling NaN
        singles = values.astype(np.float32)
    bits = singles.view(np.int32).astype(np.int64)
    keys = np.where(bits >= 0, bits, -(bits & 0x7FFF_FFFF))
    keys[np.isnan(values)] = 0x7F80_0001
    return keys


def _numpy(array: pa.Array) -> NDArray[Any]:
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


def _strings(array: pa.DictionaryArray, rows: Rows) -> Raw | None:
    if array.dictionary.null_count:  # a NULL hidden in the dictionary
        return read(array.dictionary_decode())
    codes = array.indices.drop_null() if array.indices.null_count else array.indices
    return Raw(STRING, rows, _numpy(codes.cast(pa.int64())), Strings(array.dictionary))


def _decimals(present: pa.Array, rows: Rows) -> Raw | None:
    precision, scale = present.type.precision, present.type.scale
    if scale < 0:
        return None
    line = decimal_line(precision, scale)
    words = np.frombuffer(present.buffers()[1], np.int64)
    low = words[2 * present.offset : 2 * (present.offset + len(present)) : 2]
    if precision <= _INT64_DIGITS:
        return Raw(line, rows, low.copy())
    high = words[2 * present.offset + 1 : 2 * (present.offset + len(present)) : 2]
    wide = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return Raw(line, rows, wide)


def _timestamps(present: pa.Array, rows: Rows) -> Raw | None:
    ticks = _numpy(present.cast(pa.int64()))
    unit = present.type.unit
    if unit == "ns":
        return Raw(TIMESTAMP, rows, np.floor_divide(ticks, 1000))
    factor = {"s": 1_000_000, "ms": 1000, "us": 1}[unit]
    if len(ticks) and np.abs(ticks.astype(np.float64)).max() * factor >= 2.0**63:
        return None
    return Raw(TIMESTAMP, rows, ticks * factor)


# -- from the line values lie on to the line that a schema wants: keys, and which of them fit

_Converted: TypeAlias = tuple[Keys, NDArray[np.bool_] | None] | None


def _no_conversion(raw: Raw, wanted: Line) -> _Converted:
    return None


def _same(raw: Raw, wanted: Line) -> _Converted:
    return raw.values, None


def _ranged(raw: Raw, wanted: Line) -> _Converted:
    return raw.values, (raw.values >= wanted.low) & (raw.values <= wanted.high - 1)


def _as_doubles(raw: Raw, wanted: Line) -> _Converted:
    return double_keys(raw.values.astype(np.float64)), None


def _as_floats(raw: Raw, wanted: Line) -> _Converted:
    return _float_keys(raw.values.astype(np.float64)), None


def _as_decimals(raw: Raw, wanted: Line) -> _Converted:
    """Rescaled exactly; what has more digits than the type does not fit."""
    more = wanted.scale - raw.line.scale
    wide = raw.values.astype(object)
    keys = wide * 10**more if more >= 0 else wide // 10**-more
    fits = (keys >= wanted.low) & (keys < wanted.high)
    if more < 0:
        fits &= wide % 10**-more == 0
    narrow = wanted.high <= 10**_INT64_DIGITS
    return np.where(fits, keys, 0).astype(np.int64) if narrow else keys, fits.astype(np.bool_)


def _as_timestamps(raw: Raw, wanted: Line) -> _Converted:
    fits = np.abs(raw.values) < 2**62 // _DAY
    return np.where(fits, raw.values, 0) * _DAY, fits


_CONVERSIONS: Final[dict[tuple[str, str], Callable[[Raw, Line], _Converted]]] = {
    ("boolean", "boolean"): _same,
    ("bigint", "bigint"): _ranged,
    ("bigint", "double"): _as_doubles,
    ("bigint", "float"): _as_floats,
    ("bigint", "decimal"): _as_decimals,
    ("double", "double"): _as_doubles,
    ("double", "float"): _as_floats,
    ("decimal", "decimal"): _as_decimals,
    ("string", "string"): _same,
    ("date", "date"): _same,
    ("date", "timestamp"): _as_timestamps,
    ("timestamp", "timestamp"): _same,
}

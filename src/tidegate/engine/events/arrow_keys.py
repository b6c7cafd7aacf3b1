"""Arrow columns as keys, all values at once.

`read` takes the values of an Arrow array out of their Arrow type; `stretch` gives them the keys of
the line they lie on by themselves, `conform` those of the line that a schema wants, with what is no
value of its type put aside as *other*. Nothing here looks at values one by one, but for decimals of
more than 18 digits, whose keys are Python integers.

Arrow's kernels do not cover all of its types, so each type has a reader that asks Arrow only for
what it has; what is left to be looked at value by value, `python_values` does.

Invariant: the keys are those that `filters.lines.key_of` gives what `python_values` finds, after
`filters.values.normal` without a schema and `filters.types.Type.conform` with one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.engine.events.python_values import run_places
from tidegate.engine.events.strings import NO_STRINGS, Strings
from tidegate.engine.primitives.id_table import IdTable
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
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, DAY

Keys: TypeAlias = NDArray[Any]  # int64; Python integers for decimals of more than 18 digits
Rows: TypeAlias = NDArray[np.int32]

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
    reader = _READERS.get(array.type.id)
    return None if reader is None else reader(array)


def _present(array: pa.Array) -> tuple[Rows, pa.Array]:
    """The rows of an array whose values are not null, and these values."""
    if not array.null_count:
        return np.arange(len(array), dtype=np.int32), array
    return _valid_rows(array), array.drop_null()


def _valid_rows(array: pa.Array) -> Rows:
    return np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)).astype(np.int32)


def absent_rows(array: pa.Array, present: Rows) -> Rows:
    """The rows of an array whose values are null: all but those that are present."""
    if len(present) == len(array):
        return np.empty(0, np.int32)
    if array.type.id in _WRAPPED:
        absent = np.ones(len(array), np.bool_)
        absent[present] = False
    else:  # faster
        absent = array.is_null().to_numpy(zero_copy_only=False)
    return np.flatnonzero(absent).astype(np.int32)


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


def _booleans(array: pa.Array) -> Raw:
    rows, present = _present(array)
    return Raw(BOOLEAN, rows, _numpy(present.cast(pa.int8())).astype(np.int64))


def _integers(array: pa.Array) -> Raw:
    rows, present = _present(array)
    return Raw(BIGINT, rows, _numpy(present.cast(pa.int64())))


def _unsigned(array: pa.Array) -> Raw | None:
    """Of 64 bits; those beyond bigint are decimals, and looked at one by one."""
    rows, present = _present(array)
    values = _numpy(present)
    if len(values) and int(values.max()) > BIGINT_MAX:
        return None
    return Raw(BIGINT, rows, values.astype(np.int64))


def _doubles(array: pa.Array) -> Raw:
    rows, present = _present(array)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return Raw(DOUBLE, rows, _numpy(present).astype(np.float64))


def _texts(array: pa.Array) -> Raw:
    encoded = array.dictionary_encode()
    rows, codes = _present(encoded.indices)
    return Raw(STRING, rows, _numpy(codes.cast(pa.int64())), Strings(encoded.dictionary))


def _view_texts(array: pa.Array) -> Raw:
    return _texts(array.cast(pa.large_string()))


def _dictionary(array: pa.DictionaryArray) -> Raw | None:
    """Strings stay encoded, if each of them is there once; others are decoded."""
    texts, kind = array.dictionary, array.type.value_type
    if pa.types.is_string_view(kind):
        texts = texts.cast(pa.large_string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return _taken(texts, array.indices)
    rows, codes = _present(array.indices)
    places = _numpy(codes.cast(pa.int64()))
    if len(places) and not 0 <= places.min() <= places.max() < len(texts):
        return None
    if texts.null_count or len(IdTable(texts)) < len(texts):  # Arrow does not forbid either
        return _texts(texts.take(array.indices))
    return Raw(STRING, rows, places, Strings(texts))


def _runs(array: pa.Array) -> Raw | None:
    return _taken(array.values, pa.array(run_places(array)))


def _taken(values: pa.Array, places: pa.Array) -> Raw | None:
    try:
        return read(values.take(places))
    except (pa.ArrowNotImplementedError, pa.ArrowIndexError):  # for views, and what contains them
        return None


def _extension(array: pa.Array) -> Raw | None:
    if array.type.extension_name == "arrow.bool8":
        return _booleans(pc.not_equal(array.storage, 0))
    return read(array.storage)


def _others(array: pa.Array) -> Raw:
    rows = _valid_rows(array)
    return Raw(OTHER_LINE, rows, np.zeros(len(rows), np.int64))


def _short_decimals(array: pa.Array) -> Raw | None:
    return _decimals(array.cast(pa.decimal128(array.type.precision, array.type.scale)))


def _decimals(array: pa.Array) -> Raw | None:
    precision, scale = array.type.precision, array.type.scale
    if scale < 0:
        return None
    rows, present = _present(array)
    line = decimal_line(precision, scale)
    words = np.frombuffer(present.buffers()[1], np.int64)
    low = words[2 * present.offset : 2 * (present.offset + len(present)) : 2]
    if precision <= _INT64_DIGITS:
        return Raw(line, rows, low.copy())
    high = words[2 * present.offset + 1 : 2 * (present.offset + len(present)) : 2]
    wide = high.astype(object) * 2**64 + low.view(np.uint64).astype(object)
    return Raw(line, rows, wide)


def _days(array: pa.Array) -> Raw:
    rows, present = _present(array)
    if array.type == pa.date32():
        return Raw(DATE, rows, _numpy(present.cast(pa.int32())).astype(np.int64))
    days = np.floor_divide(_numpy(present.cast(pa.int64())), DAY // 1000)
    return Raw(DATE, rows, np.clip(days, DATE.low, DATE.high - 1))


def _timestamps(array: pa.Array) -> Raw:
    rows, present = _present(array)
    ticks = _numpy(present.cast(pa.int64()))
    unit = array.type.unit
    if unit == "ns":
        return Raw(TIMESTAMP, rows, np.floor_divide(ticks, 1000))
    return Raw(TIMESTAMP, rows, _times(ticks, {"s": 1_000_000, "ms": 1000, "us": 1}[unit]))


def _times(ticks: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
    """As microseconds; what is beyond 64 bits is put at an end of the line."""
    if factor == 1:
        return ticks
    last = BIGINT_MAX // factor
    found = ticks * factor
    found[ticks > last] = BIGINT_MAX
    found[ticks < -last] = BIGINT_MIN
    return found


def _of(reader: Callable[[pa.Array], Raw | None], *kinds: pa.DataType) -> dict[int, Any]:
    return {kind.id: reader for kind in kinds}


_ONE: Final = pa.int64()
_WRAPPED: Final = {  # types whose nulls may be in what they refer to
    kind.id
    for kind in (pa.dictionary(pa.int8(), _ONE), pa.run_end_encoded(pa.int32(), _ONE), pa.bool8())
}
# Unions and decimals of 256 bits are not among them: they are looked at value by value.
_READERS: Final[dict[int, Callable[[pa.Array], Raw | None]]] = {
    **_of(_booleans, pa.bool_()),
    **_of(_integers, pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    **_of(_integers, pa.uint8(), pa.uint16(), pa.uint32()),
    **_of(_unsigned, pa.uint64()),
    **_of(_doubles, pa.float16(), pa.float32(), pa.float64()),
    **_of(_short_decimals, pa.decimal32(1), pa.decimal64(1)),
    **_of(_decimals, pa.decimal128(1)),
    **_of(_texts, pa.string(), pa.large_string()),
    **_of(_view_texts, pa.string_view()),
    **_of(_days, pa.date32(), pa.date64()),
    **_of(_timestamps, pa.timestamp("us")),
    **_of(_dictionary, pa.dictionary(pa.int8(), _ONE)),
    **_of(_runs, pa.run_end_encoded(pa.int32(), _ONE)),
    **_of(_extension, pa.bool8()),
    **_of(_others, pa.null(), pa.struct([]), pa.map_(_ONE, _ONE)),
    **_of(_others, pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1)),
    **_of(_others, pa.time32("s"), pa.time64("us"), pa.duration("us")),
    **_of(_others, pa.month_day_nano_interval()),
    **dict.fromkeys((pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME), _others),
    **_of(_others, pa.list_(_ONE), pa.large_list(_ONE), pa.list_(_ONE, 1)),
    **_of(_others, pa.list_view(_ONE), pa.large_list_view(_ONE)),
}


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
    return _times(raw.values, DAY), None


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

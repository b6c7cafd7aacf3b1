"""What does a column of a table of subscriptions hold?

Ids, filter texts and constants come as Arrow arrays of any type that means the same: encoded or in
chunks, of any width, unit or time zone, or an extension type. Here they become **plain**: one array
of one of the few types that a `Block` may have. What has no value in Python, such as a day in the
year 10000, is refused.

Invariant: the value of a cell stays the same, but for nanoseconds, which are cut off.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidegate.capsules import array_of, speaks_arrow
from tidegate.engine.events.python_values import run_places
from tidegate.engine.subscriptions.subscription import id_array, read_id
from tidegate.errors import FilterTypeError, SubscriptionError, TidegateError
from tidegate.filters.values import BIGINT_MAX, DAY

_MOMENT: Final = pa.timestamp("us")
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, as days since 1970
_DIGITS: Final = 38


def read_ids(ids: Any) -> pa.Array:
    """Ids as one array of type string or int64, each of them once.

    They come as an Arrow array or what speaks Arrow, or as any iterable of strings or of integers.
    """
    if isinstance(ids, pa.Array | pa.ChunkedArray):
        array = _id_array(ids)
    elif speaks_arrow(ids):
        array = _id_array(array_of(ids))
    elif isinstance(ids, str | bytes) or not hasattr(ids, "__iter__"):
        raise SubscriptionError(f"ids come as an Arrow array or an iterable, not as {ids!r}")
    else:
        array = id_array([read_id(id) for id in ids])
    if len(array.unique()) < len(array):
        counts = array.value_counts()
        again = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
        raise SubscriptionError(f"the id {again!r} is given more than once")
    return array


def _id_array(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    array = _one_piece(ids)
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


def read_texts(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Filter texts as one array of type string; none of them is NULL."""
    array = _one_piece(column)
    if array.null_count:
        row = pc.index(array.is_null(), True).as_py()
        raise SubscriptionError(f"row {row} has no filter: it is NULL")
    if len(array) and not _is_text(array.type):
        raise SubscriptionError(f"filters are texts, not of the Arrow type {array.type}")
    return _valid_texts(array, SubscriptionError, "the filters")


def plain_column(name: str, column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The constants of a parameter, in one of the types that a `Block` may have.

    Unsigned integers beyond bigint stay what they are, see `read_changes`.
    """
    array = _one_piece(column)
    kind, is_ = array.type, pa.types
    if array.null_count == len(array):
        return pa.nulls(len(array))
    if _is_text(kind):
        return _valid_texts(array, FilterTypeError, f"parameter :{name}")
    if is_.is_boolean(kind):
        return array
    if is_.is_uint64(kind):
        return array if is_wide(array).any() else array.cast(pa.int64())
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


def is_wide(column: pa.Array) -> NDArray[np.bool_]:
    """Which unsigned integers are beyond bigint, and so decimals."""
    wide: NDArray[np.bool_] = (
        pc.greater(column, pa.scalar(BIGINT_MAX, pa.uint64()))
        .fill_null(False)
        .to_numpy(zero_copy_only=False)
    )
    return wide


def of_one_kind(column: pa.Array) -> pa.Array:
    """Unsigned integers, all within bigint or all beyond it, as bigints or decimals."""
    if not pa.types.is_uint64(column.type):
        return column
    return column.cast(pa.decimal128(20, 0) if is_wide(column).any() else pa.int64())


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
    if pa.types.is_date64(array.type):  # milliseconds, of any time of the day
        days = _floored(array.cast(pa.int64()), DAY // 1000)
    else:
        days = array.cast(pa.int32())
    _check_years(name, days, _FIRST_DAY, _LAST_DAY)
    return days.cast(pa.int32()).cast(pa.date32())


def _moments(name: str, array: pa.Array) -> pa.Array:
    """Timestamps as microseconds in UTC; nanoseconds are cut off."""
    ticks = array.cast(pa.int64())
    unit = array.type.unit
    if unit == "ns":
        ticks = _floored(ticks, 1000)
    per_day = {"s": 86_400, "ms": 86_400_000}.get(unit, DAY)
    _check_years(name, ticks, _FIRST_DAY * per_day, (_LAST_DAY + 1) * per_day - 1)
    return pc.multiply(ticks, DAY // per_day).cast(_MOMENT)


def _floored(ticks: pa.Array, divisor: int) -> pa.Array:
    """Divided, and rounded down, which Arrow's own division does not."""
    values = np.floor_divide(ticks.fill_null(0).to_numpy(), divisor)
    return pa.array(values, mask=ticks.is_null().to_numpy(zero_copy_only=False))


def _check_years(name: str, ticks: pa.Array, first: int, last: int) -> None:
    ends = pc.min_max(ticks).as_py()
    if ends["min"] < first or ends["max"] > last:
        raise FilterTypeError(f"parameter :{name} lies outside the years 1 to 9999")


def _one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array, without its encoding or the name of its type."""
    try:
        if not isinstance(column, pa.ChunkedArray):
            return _decoded(column)
        if column.num_chunks < 2:
            return _decoded(column.combine_chunks())
        return pa.concat_arrays([_decoded(chunk) for chunk in column.chunks])
    except (pa.ArrowException, NotImplementedError, IndexError) as error:
        raise TidegateError(
            f"a column of the Arrow type {column.type} cannot be read: {error}"
        ) from None


def _decoded(array: pa.Array) -> pa.Array:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        is_bool = kind.extension_name == "arrow.bool8"
        return pc.not_equal(array.storage, 0) if is_bool else _decoded(array.storage)
    if pa.types.is_run_end_encoded(kind):
        return _decoded(array.values).take(pa.array(run_places(array)))
    if pa.types.is_dictionary(kind):
        return _decoded(array.dictionary).take(array.indices)
    return array.cast(pa.large_string()) if _is_view(kind) else array


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

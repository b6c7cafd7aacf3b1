"""Which values of Python does an Arrow array hold?

Read one by one, the slow and obvious way: what `batch` does with whole columns is held against
this, and falls back on it for arrays that Arrow itself can hardly do anything with. Arrow's own
`to_pylist` fails on some types and some values; here each has its answer:

- encodings (dictionaries, runs) are looked through, and so are extension types, whose values are
  those of their storage: what Spark finds in a Parquet file of them;
- of a union, each value is what it is, as in a list of mappings;
- a struct is a dictionary of its fields, a list a list;
- dates and timestamps outside the years 1 to 9999 are far ones (`filters.values`), and nanoseconds
  are cut off, downwards;
- what the language has no kind for is `OTHER`, without a look at it.

Invariant: `filters.values.normal` of each is the value as filters see it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tidegate.engine.events.strings import require_utf8
from tidegate.errors import TidegateError
from tidegate.filters.values import OTHER, date_at, timestamp_at

_MILLISECONDS: Final = 86_400_000  # in a day


def plain_values(array: pa.Array) -> list[Any]:
    """The values of an array, one by one; NULL is None.

    >>> plain_values(pa.array([1, None], pa.timestamp("ns")))
    [datetime.datetime(1970, 1, 1, 0, 0), None]
    """
    return _READERS.get(array.type.id, _unknown)(array)


def run_places(array: pa.Array) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """For each row of a run-end encoded array, the place of its value among `array.values`."""
    ends = array.run_ends.to_numpy(zero_copy_only=False)
    rows = np.arange(array.offset, array.offset + len(array))
    return np.searchsorted(ends, rows, side="right").astype(np.int64)


def _as_python(array: pa.Array) -> list[Any]:
    found: list[Any] = array.to_pylist()
    return found


def _texts(array: pa.Array) -> list[Any]:
    require_utf8(array)
    return _as_python(array)


def _others(array: pa.Array) -> list[Any]:
    return [OTHER if valid else None for valid in array.is_valid().to_pylist()]


def _unknown(array: pa.Array) -> list[Any]:
    raise TidegateError(f"a column of the Arrow type {array.type} cannot be read")


def _ticks(array: pa.Array) -> list[int | None]:
    """The integers that dates and timestamps are."""
    width = pa.int32() if array.type == pa.date32() else pa.int64()
    found: list[int | None] = array.view(width).to_pylist()
    return found


def _days(array: pa.Array) -> list[Any]:
    per_day = 1 if array.type == pa.date32() else _MILLISECONDS
    return [None if tick is None else date_at(tick // per_day) for tick in _ticks(array)]


def _timestamps(array: pa.Array) -> list[Any]:
    times, over = {"s": (10**6, 1), "ms": (1000, 1), "us": (1, 1), "ns": (1, 1000)}[array.type.unit]
    return [None if t is None else timestamp_at(t * times // over) for t in _ticks(array)]


def _structs(array: pa.Array) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [plain_values(child) for child in array.flatten()]
    rows = zip(*columns, strict=True) if columns else [()] * len(array)
    return [
        _Struct(names, cells) if valid else None
        for cells, valid in zip(rows, array.is_valid().to_pylist(), strict=True)
    ]


class _Struct(dict[str, Any]):
    """A struct as a dictionary, which refuses to give a field whose name it has twice."""

    def __init__(self, names: list[str], cells: tuple[Any, ...]) -> None:
        super().__init__(zip(names, cells, strict=True))
        self._names = names

    def get(self, name: str, default: Any = None) -> Any:
        if len(self) < len(self._names):
            require_one_field(self._names.count(name), name)
        return super().get(name, default)


def require_one_field(count: int, name: str) -> None:
    """Refuse a field that a struct has several of."""
    if count > 1:
        raise TidegateError(f"a struct of the batch has {count} fields named {name}")


def _lists(array: pa.Array) -> list[Any]:
    return [plain_values(each.values) if each.is_valid else None for each in array]


def _extensions(array: pa.Array) -> list[Any]:
    values = plain_values(array.storage)
    if array.type.extension_name == "arrow.bool8":
        return [None if value is None else value != 0 for value in values]
    return values


def _encoded(array: pa.Array) -> list[Any]:
    values = plain_values(array.dictionary)
    places = array.indices.to_pylist()
    if any(place is not None and not 0 <= place < len(values) for place in places):
        raise TidegateError("a dictionary-encoded column points to values that are not there")
    return [None if place is None else values[place] for place in places]


def _runs(array: pa.Array) -> list[Any]:
    values = plain_values(array.values)
    return [values[place] for place in run_places(array).tolist()]


def _unions(array: pa.Array) -> list[Any]:
    kind = array.type
    values = [plain_values(array.field(child)) for child in range(kind.num_fields)]
    child_of = {code: child for child, code in enumerate(kind.type_codes)}
    rows = slice(array.offset, array.offset + len(array))  # pyarrow's own views of it forget that
    codes = np.frombuffer(array.buffers()[1] or b"", np.int8)[rows].tolist()
    places: Sequence[int] = range(len(array))
    if kind.mode == "dense":
        places = np.frombuffer(array.buffers()[2] or b"", np.int32)[rows].tolist()
    return [values[child_of[code]][at] for code, at in zip(codes, places, strict=True)]


_Reader = Callable[[pa.Array], list[Any]]


def _of(reader: _Reader, *kinds: pa.DataType) -> dict[int, _Reader]:
    return {kind.id: reader for kind in kinds}


_ONE: Final = pa.int64()
_READERS: Final[dict[int, _Reader]] = {
    **_of(_as_python, pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64()),
    **_of(_as_python, pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    **_of(_as_python, pa.float16(), pa.float32(), pa.float64(), pa.decimal32(1)),
    **_of(_as_python, pa.decimal64(1), pa.decimal128(1), pa.decimal256(1)),
    **_of(_texts, pa.string(), pa.large_string(), pa.string_view()),
    **_of(_days, pa.date32(), pa.date64()),
    **_of(_timestamps, pa.timestamp("us")),
    **_of(_others, pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1)),
    **_of(_others, pa.time32("s"), pa.time64("us"), pa.duration("us")),
    **_of(_others, pa.month_day_nano_interval(), pa.map_(_ONE, _ONE)),
    **dict.fromkeys((pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME), _others),
    **_of(_structs, pa.struct([])),
    **_of(_lists, pa.list_(_ONE), pa.large_list(_ONE), pa.list_(_ONE, 1)),
    **_of(_lists, pa.list_view(_ONE), pa.large_list_view(_ONE)),
    **_of(_extensions, pa.bool8()),
    **_of(_encoded, pa.dictionary(pa.int8(), _ONE)),
    **_of(_runs, pa.run_end_encoded(pa.int32(), _ONE)),
    **_of(_unions, pa.dense_union([]), pa.sparse_union([])),
}  # fmt: skip

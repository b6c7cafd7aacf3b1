"""What does a column of a data frame hold?

The frames of pandas and Polars are read one column at a time, so that a column which nobody asks
for may be of any type. A column becomes an Arrow array where Arrow has its type, and a list of
Python values where it has not: objects of several types, integers of 128 bits, complex numbers.

Invariant: either way, the values are those that the events of a list of mappings would have. What
pandas counts as missing is None: NaN, NaT and NA.
"""

import datetime as dt
from decimal import Decimal
from typing import Any, Final, Protocol

import pyarrow as pa

from tidegate.capsules import array_of, is_frame
from tidegate.errors import TidegateError

_PLAIN: Final = frozenset((pa.null(), pa.bool_(), pa.int64(), pa.string(), pa.large_string()))
"""What Arrow makes of objects only if all of them are that."""

_ALIKE: Final = frozenset((float, Decimal, dt.date))
"""Types of objects that it takes for what they are if all of them are of the same."""


class Frame(Protocol):
    """A data frame."""

    def __len__(self) -> int: ...

    def columns(self, name: str) -> list[int]:
        """The places of the columns of that name."""

    def values(self, place: int) -> "pa.Array | list[Any]":
        """The values of a column."""


def frame_of(events: Any) -> Frame | None:
    """The frame that events came as, if that is one of pandas or Polars."""
    if is_frame(events, "pandas"):
        return _Pandas(events)
    return _Polars(events) if is_frame(events, "polars") else None


class _Pandas:
    def __init__(self, frame: Any) -> None:
        if frame.columns.nlevels > 1:
            raise TidegateError(
                f"the columns of the frame have names of {frame.columns.nlevels} levels; "
                "give each a name of its own, as in frame.columns = ['a', 'b', …]"
            )
        self._frame = frame
        self._names = [own if isinstance(own, str) else str(own) for own in frame.columns]

    def __len__(self) -> int:
        return len(self._frame)

    def columns(self, name: str) -> list[int]:
        """Names that are no texts, such as 0, are spelled as Python does: so does Spark."""
        return [place for place, own in enumerate(self._names) if own == name]

    def values(self, place: int) -> "pa.Array | list[Any]":
        series = self._frame.iloc[:, place]
        try:
            array = pa.Array.from_pandas(series)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            pass  # a type that Arrow has not
        else:
            if _is_same(series, array.type):
                return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        missing = series.isna().tolist()
        pairs = zip(series.tolist(), missing, strict=True)
        return [None if is_missing else value for value, is_missing in pairs]


def _is_same(series: Any, arrow: pa.DataType) -> bool:
    """Whether Arrow has taken the values of a series for what they are."""
    if series.dtype == object and arrow not in _PLAIN:
        kinds = set(map(type, series[series.notna()]))
        return len(kinds) == 1 and kinds <= _ALIKE
    within = arrow.value_type if pa.types.is_dictionary(arrow) else arrow
    # periods as numbers, intervals as structs
    return not str(getattr(within, "extension_name", "")).startswith("pandas.")


class _Polars:
    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return int(self._frame.height)

    def columns(self, name: str) -> list[int]:
        return [i for i, own in enumerate(self._frame.columns) if own == name]

    def values(self, place: int) -> "pa.Array | list[Any]":
        series = self._frame.to_series(place)
        if "Object" not in str(series.dtype):
            try:
                return array_of(series).combine_chunks()
            except (pa.ArrowException, TidegateError):
                pass  # a type that Arrow has not
        found: list[Any] = series.to_list()
        return found

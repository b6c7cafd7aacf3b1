"""What kinds of values are there?

An event's attributes arrive as Python objects. Each belongs to one *kind*; the kinds bigint,
double and decimal form the family *number* and compare with each other as Spark compares them, all
other kinds compare only with themselves. What the language has no kind for (bytes, lists, …) is
`OTHER`: present, so `IS NOT NULL` holds, and comparable with nothing. Dates and timestamps outside
the years 1 to 9999, which Arrow, NumPy and pandas have and Python has not, are a `FarDate` or a
`FarTimestamp`: before or after every constant.

`normal` brings any Python object to the one representation the rest of the code relies on.
"""

import datetime as dt
import re
import sys
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeAlias, TypeGuard

Constant: TypeAlias = bool | int | float | Decimal | str | dt.date | dt.datetime | None

BIGINT_MIN: Final = -(2**63)
BIGINT_MAX: Final = 2**63 - 1
MAX_PRECISION: Final = 38


_HALF: Final = re.compile(r"[\ud800-\udfff]")  # half a character: no text in UTF-8 has it


class _Other(Enum):
    """The one value that stands for everything outside the language."""

    OTHER = "other"

    def __repr__(self) -> str:
        return "OTHER"


OTHER: Final = _Other.OTHER


@dataclass(frozen=True, slots=True)
class FarDate:
    """A date outside the years 1 to 9999: its days since 1970, as far as the line of dates goes."""

    key: int

    def __repr__(self) -> str:
        return f"a date {'after the year 9999' if self.key > 0 else 'before the year 1'}"


@dataclass(frozen=True, slots=True)
class FarTimestamp:
    """The same of a timestamp: its microseconds since 1970."""

    key: int

    def __repr__(self) -> str:
        return f"a timestamp {'after the year 9999' if self.key > 0 else 'before the year 1'}"


Value: TypeAlias = Constant | _Other | FarDate | FarTimestamp


def is_constant(value: Value) -> TypeGuard[Constant]:
    """Whether a constant, too, may be that value of an event.

    >>> is_constant(5), is_constant(OTHER), is_constant(date_at(10**9))
    (True, False, False)
    """
    return not isinstance(value, _Other | FarDate | FarTimestamp)


def family(value: Value) -> str:
    """The family of a value or constant: only members of one family compare.

    >>> family(1), family(1.5), family(True), family("x"), family(None)
    ('number', 'number', 'boolean', 'string', 'null')
    """
    return _FAMILIES[type(value)]


_FAMILIES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "number",
    float: "number",
    Decimal: "number",
    str: "string",
    dt.date: "date",
    dt.datetime: "timestamp",
    type(None): "null",
    _Other: "other",
    FarDate: "date",
    FarTimestamp: "timestamp",
}


def decimal_type(value: Decimal) -> tuple[int, int] | None:
    """Precision and scale that Spark gives a decimal, or None if it has no such decimal.

    >>> decimal_type(Decimal("1.50")), decimal_type(Decimal("1E+2")), decimal_type(Decimal("NaN"))
    ((3, 2), (3, 0), None)
    """
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return None
    if digits == (0,) and exponent > 0:
        exponent = 0
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    return (precision, scale) if precision <= MAX_PRECISION else None


def normal(value: Any) -> Value:
    """Bring an event's value to the representation used everywhere: see the module's docstring.

    Aware datetimes become naive ones in UTC, integers beyond bigint become decimals as Spark reads
    them, NumPy scalars become Python ones.

    >>> normal(2**63)
    Decimal('9223372036854775808')
    >>> normal(b"bytes")
    OTHER
    """
    kind = type(value)
    if kind is float or kind is bool or value is None:
        return value  # type: ignore[no-any-return]
    if kind is str:
        return value if value.isascii() or _HALF.search(value) is None else OTHER
    if kind is int:
        if BIGINT_MIN <= value <= BIGINT_MAX:
            return value  # type: ignore[no-any-return]
        return normal(Decimal(value)) if abs(value) < 10**MAX_PRECISION else OTHER
    if kind is Decimal:
        return value if decimal_type(value) is not None else OTHER
    if kind is dt.date:
        return value  # type: ignore[no-any-return]
    if kind is dt.datetime:
        return _utc(value)
    return _unusual(value)


_EPOCH: Final = dt.datetime(1970, 1, 1)
_FIRST_DAY: Final = dt.date.min.toordinal() - _EPOCH.toordinal()
_LAST_DAY: Final = dt.date.max.toordinal() - _EPOCH.toordinal()
DAY: Final = 86_400_000_000
"""Microseconds of a day."""
_LAST_KEY_OF_DATES: Final = 2**31 - 1


def date_at(day: int) -> dt.date | FarDate:
    """The date so many days after 1970-01-01.

    >>> date_at(1), date_at(10**9)
    (datetime.date(1970, 1, 2), a date after the year 9999)
    """
    if _FIRST_DAY <= day <= _LAST_DAY:
        return dt.date.fromordinal(day + _EPOCH.toordinal())
    return FarDate(max(-_LAST_KEY_OF_DATES - 1, min(day, _LAST_KEY_OF_DATES)))


def timestamp_at(microsecond: int) -> dt.datetime | FarTimestamp:
    """The timestamp so many microseconds after 1970-01-01.

    >>> timestamp_at(-1), timestamp_at(-(10**18))
    (datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), a timestamp before the year 1)
    """
    if _FIRST_DAY * DAY <= microsecond < (_LAST_DAY + 1) * DAY:
        return _EPOCH + dt.timedelta(microseconds=microsecond)
    return FarTimestamp(max(BIGINT_MIN, min(microsecond, BIGINT_MAX)))


def _utc(value: dt.datetime) -> Value:
    """The same moment as a naive datetime in UTC (a naive one is UTC already)."""
    naive = value.replace(tzinfo=None, fold=0)
    ahead = None if value.tzinfo is None else value.utcoffset()
    if ahead is None:
        return naive
    try:
        return naive - ahead
    except OverflowError:  # the moment lies outside the years 1 to 9999
        return timestamp_at((naive - _EPOCH - ahead) // dt.timedelta(microseconds=1))


def _unusual(value: Any) -> Value:
    """Subclasses of the plain types, NumPy scalars, and pandas' two spellings of NULL."""
    if isinstance(value, FarDate | FarTimestamp):
        return value
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, dt.datetime):  # pandas' Timestamp, for one; nanoseconds are cut off
        if not dt.MINYEAR <= value.year <= dt.MAXYEAR:  # which pandas allows
            return _unusual(value.to_datetime64())  # type: ignore[attr-defined]
        fields = (value.year, value.month, value.day, value.hour, value.minute, value.second)
        return _utc(dt.datetime(*fields, value.microsecond, tzinfo=value.tzinfo, fold=value.fold))
    if isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        if isinstance(value, numpy.timedelta64 | numpy.datetime64) and numpy.isnat(value):
            return None
        if isinstance(value, numpy.datetime64):
            return _moment(value, *numpy.datetime_data(value.dtype))
        item = value.item()
        return normal(item) if type(item) is not type(value) else OTHER
    if isinstance(value, str):
        return normal(str.__str__(value))  # str() of an Enum's member would be its name
    for plain in (int, float, Decimal):
        if isinstance(value, plain):
            return normal(plain(value))
    return OTHER


_TICKS: Final = {"ns": 1000, "ps": 10**6, "fs": 10**9, "as": 10**12}  # in a microsecond
_MICROSECONDS: Final = {  # in one tick
    "us": 1,
    "ms": 1000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "W": 7 * DAY,
}
_MONTHS: Final = {"M": 1, "Y": 12}


def _moment(value: Any, unit: str, step: int) -> Value:
    """NumPy's datetime64: a date if it counts days, else a timestamp."""
    ticks = int(value.astype("int64")) * step
    if unit == "D":
        return date_at(ticks)
    if unit in _MONTHS:
        years, month = divmod(ticks * _MONTHS[unit], 12)
        if dt.MINYEAR <= 1970 + years <= dt.MAXYEAR:
            return dt.datetime(1970 + years, month + 1, 1)
        return timestamp_at(years * 366 * DAY)  # far off, whichever day it is
    return timestamp_at(ticks // _TICKS.get(unit, 1) * _MICROSECONDS.get(unit, 1))

"""What kinds of values are there?

An event's attributes arrive as Python objects. Each belongs to one *kind*; the kinds bigint,
double and decimal form the family *number* and compare with each other as Spark compares them, all
other kinds compare only with themselves. What the language has no kind for (bytes, lists, …) is
`OTHER`: present, so `IS NOT NULL` holds, and comparable with nothing.

`normal` brings any Python object to the one representation the rest of the code relies on.
"""

import datetime as dt
import re
import sys
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeAlias

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

Value: TypeAlias = Constant | _Other


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


def _utc(value: dt.datetime) -> Value:
    """The same moment as a naive datetime in UTC (a naive one is UTC already)."""
    if value.tzinfo is None:
        return value.replace(fold=0)
    try:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    except OverflowError:  # the moment lies outside the years 1 to 9999
        return OTHER


def _unusual(value: Any) -> Value:
    """Subclasses of the plain types, NumPy scalars, and pandas' two spellings of NULL."""
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, dt.datetime):  # pandas' Timestamp, for one; nanoseconds are cut off
        fields = (value.year, value.month, value.day, value.hour, value.minute, value.second)
        return _utc(dt.datetime(*fields, value.microsecond, tzinfo=value.tzinfo, fold=value.fold))
    if isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        if isinstance(value, numpy.timedelta64):
            return None if numpy.isnat(value) else OTHER
        if isinstance(value, numpy.datetime64):
            if numpy.isnat(value):
                return None
            in_days = numpy.datetime_data(value.dtype)[0] == "D"
            moment = value.item() if in_days else value.astype("datetime64[us]").item()
            return normal(moment) if isinstance(moment, dt.date) else OTHER  # beyond the year 9999
        item = value.item()
        return normal(item) if type(item) is not type(value) else OTHER
    if isinstance(value, str):
        return str.__str__(value)  # str() of an Enum's member would be its name
    for plain in (int, float, Decimal):
        if isinstance(value, plain):
            return normal(plain(value))
    return OTHER

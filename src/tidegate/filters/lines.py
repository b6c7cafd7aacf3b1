"""In which order do the values of a type stand, and where does a constant cut it?

Every kind of value lies on a **line**: a discrete total order whose points have integer keys
(strings are their own keys). On a line, everything a comparison with a constant can say is two
keys, its **cut**: the first key that is not below the constant and the first that is above it.
Equal are the keys from the one up to the other, `<` is what lies before, `>` what lies after.
Where Spark casts the value to compare it (a bigint with a double), the cut is the preimage of the
cast, so a whole run of keys may be equal to one constant.

Invariant: for every value v on a line and constant c, the position of v's key relative to the cut
of c is what `compare.compare(v, c)` says.
"""

import datetime as dt
import math
import struct
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from tidegate.filters.values import (
    BIGINT_MAX,
    BIGINT_MIN,
    DAY,
    MAX_PRECISION,
    Constant,
    FarDate,
    FarTimestamp,
)

Key: TypeAlias = int | str


class _Top(str):
    """A string after all strings: the open end of the line of strings."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return False

    def __gt__(self, other: str) -> bool:
        return other is not self

    def __le__(self, other: str) -> bool:
        return other is self

    def __ge__(self, other: str) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return other is self

    def __ne__(self, other: object) -> bool:
        return other is not self

    def __hash__(self) -> int:
        return 0x70B

    def __repr__(self) -> str:
        return "TOP"

    def __reduce__(self) -> str:
        return "TOP"


TOP: Final = _Top()


class Line(NamedTuple):
    """A discrete order: the keys from `low` up to but not including `high`."""

    name: str
    low: Any  # an integer, or a string on the line of strings
    high: Any
    scale: int = 0

    @property
    def full(self) -> tuple[Any, Any]:
        """Everything on the line, as bounds."""
        return (self.low, self.high)

    def __reduce__(self) -> tuple[Any, ...]:
        return _known_line, (self.name, self.low, self.high, self.scale)


def _known_line(name: str, low: Any, high: Any, scale: int) -> Line:
    """A line from another process: those that have names in this module are told by identity."""
    line = Line(name, low, high, scale)
    return next((known for known in (*ALL_LINES, FLOAT) if known == line), line)


_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_DOUBLE_INF: Final = 0x7FF0_0000_0000_0000
_FLOAT_INF: Final = 0x7F80_0000

BOOLEAN: Final = Line("boolean", 0, 2)
BIGINT: Final = Line("bigint", BIGINT_MIN, BIGINT_MAX + 1)
DOUBLE: Final = Line("double", -_DOUBLE_INF, _DOUBLE_INF + 2)
FLOAT: Final = Line("float", -_FLOAT_INF, _FLOAT_INF + 2)
STRING: Final = Line("string", "", TOP)
DATE: Final = Line("date", -(2**31), 2**31)
TIMESTAMP: Final = Line("timestamp", BIGINT_MIN, BIGINT_MAX + 1)
OTHER_LINE: Final = Line("other", 0, 1)


def decimal_line(precision: int, scale: int) -> Line:
    """The line of decimal(precision, scale): the keys are the unscaled integers."""
    return Line("decimal", 1 - 10**precision, 10**precision, scale)


# Without a schema a decimal's scale is not known: all of them lie on the finest grid there is.
DECIMAL: Final = Line("decimal", 10**38 - 10**76, 10**76, MAX_PRECISION)

FAMILY_LINES: Final[dict[str, tuple[Line, ...]]] = {
    "boolean": (BOOLEAN,),
    "number": (BIGINT, DOUBLE, DECIMAL),
    "string": (STRING,),
    "date": (DATE,),
    "timestamp": (TIMESTAMP,),
}
ALL_LINES: Final = (*(line for lines in FAMILY_LINES.values() for line in lines), OTHER_LINE)


def double_key(value: float) -> int:
    """Order-preserving integer of a double: -0.0 = 0.0, NaN above +Infinity."""
    if math.isnan(value):
        return _DOUBLE_INF + 1
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def double_at(key: int) -> float:
    """The double whose key this is."""
    if key > _DOUBLE_INF:
        return math.nan
    value: float = struct.unpack("<d", struct.pack("<q", abs(key)))[0]
    return value if key >= 0 else -value


def float_key(value: float) -> int:
    """Order-preserving integer of a single-precision float given as a double."""
    if math.isnan(value):
        return _FLOAT_INF + 1
    bits: int = struct.unpack("<i", struct.pack("<f", single(value)))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF)


def float_at(key: int) -> float:
    """The single-precision float whose key this is."""
    if key > _FLOAT_INF:
        return math.nan
    value: float = struct.unpack("<f", struct.pack("<i", abs(key)))[0]
    return value if key >= 0 else -value


def single(value: float) -> float:
    """The double rounded to single precision, overflowing to infinity."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
        return rounded
    except OverflowError:
        return math.copysign(math.inf, value)


def days(value: dt.date) -> int:
    """Days since 1970-01-01."""
    return value.toordinal() - _EPOCH_DAY


def microseconds(value: dt.datetime) -> int:
    """Microseconds since 1970-01-01 00:00."""
    return (value - _EPOCH) // dt.timedelta(microseconds=1)


def key_of(line: Line, value: Any) -> Key:
    """The key of a value that lies on the line."""
    match line.name:
        case "double":
            return double_key(value)
        case "float":
            return float_key(value)
        case "decimal":
            return _scaled(value, line.scale)
        case "date":
            return value.key if isinstance(value, FarDate) else days(value)
        case "timestamp":
            return value.key if isinstance(value, FarTimestamp) else microseconds(value)
        case "other":
            return 0
        case "boolean":
            return int(value)
        case _:
            return value  # type: ignore[no-any-return]


def value_at(line: Line, key: Any) -> Constant:
    """The value whose key this is (dates and timestamps within the years 1 to 9999)."""
    match line.name:
        case "double":
            return double_at(key)
        case "float":
            return float_at(key)
        case "decimal":
            return Decimal(f"{key}E-{line.scale}")
        case "date":
            return dt.date.fromordinal(key + _EPOCH_DAY)
        case "timestamp":
            return _EPOCH + dt.timedelta(microseconds=key)
        case "boolean":
            return bool(key)
        case _:
            return key  # type: ignore[no-any-return]


def cut(line: Line, constant: Any, rounding: int | None = None) -> tuple[Any, Any]:
    """The first key not below the constant, and the first above it.

    `rounding` is the scale to which Spark rounds decimals before it compares (see
    `compare.shared_scale`).

    >>> cut(BIGINT, 5), cut(BIGINT, 5.5), cut(BIGINT, 9007199254740992.0)
    ((5, 6), (6, 6), (9007199254740992, 9007199254740994))
    """
    first, after = _cut(line, constant, rounding)
    if line is DECIMAL:
        first, after = first_decimal(first), first_decimal(after)
    low, high = line.low, line.high
    return min(max(first, low), high), min(max(after, low), high)


def first_decimal(key: int) -> int:
    """The first key from there on whose decimal has at most 38 digits: the line has more keys."""
    grid = _power(max(0, len(str(abs(key))) - MAX_PRECISION))
    return -(-key // grid) * grid


def _cut(line: Line, constant: Any, rounding: int | None) -> tuple[Any, Any]:
    match line.name:
        case "string":
            return constant, constant + "\0"
        case "boolean":
            return int(constant), int(constant) + 1
        case "double":
            key = double_key(float(constant))
            return key, key + 1
        case "bigint" | "decimal":
            if isinstance(constant, float):
                return _preimage_of_double(line, constant)
            if rounding is not None:
                return _preimage_of_rounding(line, constant, rounding)
            return _scaled_cut(constant, line.scale)
        case "float":
            return _float_cut(float(constant))
        case "date":
            return _date_cut(constant)
        case "timestamp":
            moment = constant
            if not isinstance(constant, dt.datetime):
                moment = dt.datetime(constant.year, constant.month, constant.day)
            key = microseconds(moment)
            return key, key + 1
        case _:
            raise AssertionError(f"no constant lies on the line {line.name}")


def _scaled(value: int | Decimal, scale: int) -> int:
    """`value` times 10**scale, which is whole."""
    return math.floor(Fraction(value) * _power(scale))


def _scaled_cut(constant: int | Decimal, scale: int) -> tuple[int, int]:
    if isinstance(constant, int):
        key = constant * _power(scale)
        return key, key + 1
    ratio = Fraction(constant) * _power(scale)
    return math.ceil(ratio), math.floor(ratio) + 1


@cache
def _power(scale: int) -> int:
    return int(10**scale)


def _preimage_of_double(line: Line, constant: float) -> tuple[int, int]:
    """The keys that Spark's cast to double brings to the constant."""
    if line.scale == 0 and abs(constant) < 2**53:  # up to here every integer is a double
        return math.ceil(constant), math.floor(constant) + 1
    if math.isnan(constant) or constant == math.inf:
        return line.high, line.high
    if constant == -math.inf:
        return line.low, line.low
    below = math.nextafter(constant, -math.inf)
    above = math.nextafter(constant, math.inf)
    first = line.low if below == -math.inf else _first_key(below, constant, line.scale)
    after = line.high if above == math.inf else _first_key(constant, above, line.scale)
    return first, after


def _first_key(lower: float, upper: float, scale: int) -> int:
    """The first key that is nearer to the upper of two doubles; the middle is, if it rounds up.

    In whole numbers, which is several times faster than in fractions: the denominators of doubles
    are powers of 2, so the larger one is a multiple of the other.
    """
    (low, first), (high, second) = lower.as_integer_ratio(), upper.as_integer_ratio()
    shared = max(first, second)
    middle, whole = low * (shared // first) + high * (shared // second), 2 * shared
    exact = middle * _power(scale)
    return -(-exact // whole) if middle / whole == upper else exact // whole + 1


def _preimage_of_rounding(line: Line, constant: int | Decimal, scale: int) -> tuple[int, int]:
    """The keys that rounding half up to `scale` brings to the constant, itself rounded."""
    target = _round_half_up(Fraction(constant) * 10**scale)
    factor = Fraction(10) ** (line.scale - scale)

    def first_rounding_to(goal: int) -> int:
        edge = (goal - Fraction(1, 2)) * factor  # a tie is rounded away from zero
        return math.ceil(edge) if goal > 0 else math.floor(edge) + 1

    return first_rounding_to(target), first_rounding_to(target + 1)


def _round_half_up(value: Fraction) -> int:
    away = math.floor(abs(value) + Fraction(1, 2))
    return away if value >= 0 else -away


def _float_cut(constant: float) -> tuple[int, int]:
    nearest = single(constant)
    key = float_key(nearest)
    if math.isnan(constant) or nearest == constant:
        return key, key + 1
    return (key, key) if nearest > constant else (key + 1, key + 1)


def _date_cut(constant: dt.date) -> tuple[int, int]:
    if not isinstance(constant, dt.datetime):
        key = days(constant)
        return key, key + 1
    moment = microseconds(constant)
    return -(-moment // DAY), moment // DAY + 1

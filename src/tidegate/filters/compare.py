"""How does Spark compare a value with a constant?

Directly, one pair at a time: this is the plain meaning that every faster structure must equal.
Numbers of one kind compare exactly; where a double takes part both sides become doubles; doubles
are totally ordered with -0.0 = 0.0 and NaN above +Infinity; bigint and decimal compare as decimals.
Strings compare by code point, which is the byte order of UTF-8. A date compared with a timestamp
is its midnight.

Spark's shared decimal type has at most 38 digits and keeps the integral ones: where two types do
not both fit, fractions are rounded before they are compared. `shared_scale` says when, and to what.
"""

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

from tidegate.filters.values import (
    MAX_PRECISION,
    Constant,
    FarDate,
    FarTimestamp,
    decimal_type,
)

_FAR = (FarDate, FarTimestamp)
_WIDE = Context(prec=3 * MAX_PRECISION)


def compare(value: Constant | FarDate | FarTimestamp, constant: Constant) -> int:
    """-1, 0 or 1 as `value` is below, equal to or above `constant`; both present, one family.

    >>> compare(9007199254740993, 9007199254740992.0), compare(float("nan"), float("inf"))
    (0, 1)
    """
    left, right = value, constant
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)  # type: ignore[arg-type]
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) - math.isnan(right)
    elif type(left) is dt.date and isinstance(right, dt.datetime):
        left = midnight(left)
    elif isinstance(left, dt.datetime) and type(right) is dt.date:
        right = midnight(right)
    elif type(left) in _FAR:
        return 1 if left.key > 0 else -1  # type: ignore[union-attr]  # no constant lies as far
    return (left > right) - (left < right)  # type: ignore[operator]


def midnight(day: dt.date) -> dt.datetime:
    """The moment that Spark's cast of a date to a timestamp gives (time zone UTC)."""
    return dt.datetime(day.year, day.month, day.day)


def rounded(value: Constant, scale: int | None) -> Constant:
    """`value` as Spark casts it to a decimal of that scale (None: as it is)."""
    if scale is None or not isinstance(value, Decimal):
        return value
    _, _, exponent = value.as_tuple()
    if not isinstance(exponent, int) or -exponent <= scale:
        return value
    return value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=_WIDE)


def list_constants(constants: Sequence[Constant]) -> list[Constant]:
    """An IN list's constants, without NULLs, brought to the type they have in common.

    >>> list_constants([9007199254740993, 1.0, None])
    [9007199254740992.0, 1.0]
    """
    present: list[Constant] = [c for c in constants if c is not None]
    if any(isinstance(c, float) for c in present):
        return [float(c) for c in present]  # type: ignore[arg-type]
    if any(isinstance(c, dt.datetime) for c in present):
        return [midnight(c) if type(c) is dt.date else c for c in present]
    return present


def shared_scale(
    own: tuple[int, int] | None, constants: Sequence[Constant], *, listed: bool
) -> int | None:
    """The scale to which Spark rounds before it compares, or None if nothing is lost.

    `own` is the (precision, scale) of the attribute, None if it is never a decimal; `listed` tells
    an IN list, where an integer literal has its type's full width, from a comparison, where it has
    its own digits.
    """
    if own is None or any(isinstance(constant, float) for constant in constants):
        return None
    return _shared(own, [_decimal_of(constant, listed) for constant in constants])


def suffix_matters(
    own: tuple[int, int] | None,
    constants: Sequence[Constant],
    suffixes: Sequence[str],
    *,
    listed: bool,
) -> bool:
    """Whether Spark would round differently if the integers had no suffixes (`L`, `S`, `Y`).

    It gives a suffixed integer its type's width in a list; in a comparison it does so for `Y` only.
    """
    if own is None or any(isinstance(constant, float) for constant in constants):
        return False
    plain = [_decimal_of(constant, listed) for constant in constants]
    typed = [
        _SUFFIXED[suffix] if suffix and (listed or suffix == "Y") else width
        for width, suffix in zip(plain, suffixes, strict=True)
    ]
    return _shared(own, typed) != _shared(own, plain)


_SUFFIXED: Final = {"Y": (3, 0), "S": (5, 0), "L": (20, 0)}


def _shared(own: tuple[int, int], widths: Iterable[tuple[int, int] | None]) -> int | None:
    precision, scale = own
    loses = False
    for other in widths:
        if other is None:
            continue
        digits = max(precision - scale, other[0] - other[1])
        widest = max(scale, other[1])
        scale = max(0, min(widest, MAX_PRECISION - digits))
        precision = digits + scale
        loses = loses or scale < widest
    return scale if loses else None


def _decimal_of(constant: Constant, listed: bool) -> tuple[int, int] | None:
    if isinstance(constant, Decimal):
        return decimal_type(constant)
    if isinstance(constant, int) and not isinstance(constant, bool):
        if listed:
            return (10, 0) if -(2**31) <= constant < 2**31 else (20, 0)
        return (len(str(abs(constant))), 0)
    return None

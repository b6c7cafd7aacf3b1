"""Where do the constants of a whole column cut a line?

The columnar form of `filters.meaning` for the plain comparisons: `span` takes a million constants
and says for each of them which keys of a line make `attribute operator constant` true. Constants
and keys are integers on grids (bigints, decimals, dates, timestamps) or doubles, so a cut is a
multiplication, a division or a rounding of a whole array. What these do not decide exactly, wide
decimals and doubles from 2**53 on among them, goes through `meaning.allowed` itself, each distinct
constant once.

Intervals here are **closed**, unlike the bounds elsewhere: the last key of the bigints is 2**63 - 1
and the first key after it is no int64. The empty interval is always (0, -1). Intersecting by the
larger low and the smaller high stays right: what is empty has a low above its high, and keeps it.

Invariant: an interval holds the keys that `meaning.allowed` gives the predicate on that line. The
domain of a checked schema takes no part, as the events it is checked against obey it anyway.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.events.arrow_keys import Raw, conform, read
from tidegate.errors import FilterTypeError
from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import Operator, Predicate
from tidegate.filters.lines import (
    DECIMAL,
    DOUBLE,
    FAMILY_LINES,
    OTHER_LINE,
    TIMESTAMP,
    Line,
    decimal_line,
)
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.filters.values import (
    BIGINT_MAX,
    BIGINT_MIN,
    DAY,
    Constant,
    family,
    is_constant,
    normal,
)

Integers: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Span: TypeAlias = tuple[Integers, Integers]

COMPARISONS: Final = frozenset(
    (
        Operator.EQUAL,
        Operator.SAME,
        Operator.LESS,
        Operator.AT_MOST,
        Operator.GREATER,
        Operator.AT_LEAST,
    )
)
"""The operators that leave one interval of a line."""

_EMPTY: Final = (0, -1)
_DIGITS: Final = 18  # decimals of so many digits fit 64 bits
_EXACT: Final = 2.0**53  # up to here every integer is a double
_NEAR: Final = 2.0**51  # below this, rounding moves a number of keys by at most a quarter
_MOMENTS: Final = frozenset(("date", "timestamp"))
_FAMILIES: Final = {
    **{line.name: name for name, lines in FAMILY_LINES.items() for line in lines},
    OTHER_LINE.name: "other",
}


def span(
    operator: Operator, constants: pa.Array | NDArray[Any], line: Line, own: Attribute | None
) -> Span:
    """For each constant, the first and the last key of `line` that make the comparison true.

    The constants are an Arrow array of any type, or a NumPy array; a null is NULL, which is true
    for no key. With a schema, `own` is the attribute and the constants are admitted already. On a
    line where the constants are not compared, all intervals are empty. The line's keys fit int64.

    >>> from tidegate.filters.lines import BIGINT
    >>> low, high = span(Operator.AT_MOST, pa.array([5.5, None]), BIGINT, None)
    >>> low.tolist(), high.tolist()
    ([-9223372036854775808, 0], [5, -1])
    """
    assert operator in COMPARISONS
    assert has_int64_keys(line)
    if isinstance(constants, np.ndarray):
        if constants.dtype == object:
            return _one_by_one(operator, list(constants), line, own)
        constants = pa.array(constants)
    raw = _narrow(read(constants))
    if raw is None or raw.values.dtype == object:
        return _distinct(operator, constants, line, own)
    if raw.line is TIMESTAMP and np.any((raw.values == BIGINT_MIN) | (raw.values == BIGINT_MAX)):
        raise FilterTypeError("a constant lies beyond every timestamp")
    low, high = (np.full(len(constants), end, np.int64) for end in _EMPTY)
    if len(raw.rows) and _compares(_family(raw.line, constants.type), line, own):
        cuts = _cuts(raw, line)
        low[raw.rows], high[raw.rows] = _interval(operator, cuts, line)
        left = raw.rows[cuts.left]
        if len(left):
            low[left], high[left] = _distinct(operator, constants.take(pa.array(left)), line, own)
    return low, high


def has_int64_keys(line: Line) -> bool:
    """Whether all keys of the line are 64-bit integers: not strings, nor those of wide decimals."""
    return isinstance(line.low, int) and line.low >= BIGINT_MIN and line.high - 1 <= BIGINT_MAX


def _narrow(raw: Raw | None) -> Raw | None:
    """Decimals of a wide type as 64-bit integers, if they have no more than 18 digits."""
    if raw is None or raw.values.dtype != object or raw.line.scale > _DIGITS:
        return raw
    if len(raw.values) and np.abs(raw.values).max() >= 10**_DIGITS:
        return raw
    return Raw(decimal_line(_DIGITS, raw.line.scale), raw.rows, raw.values.astype(np.int64))


def _family(kind: Line, arrow: pa.DataType) -> str:
    if kind.name == OTHER_LINE.name:
        raise FilterTypeError(f"constants cannot be of the Arrow type {arrow}")
    return _FAMILIES[kind.name]


def _compares(kind: str, line: Line, own: Attribute | None) -> bool:
    """Whether constants of that family are compared with values on the line."""
    if own is None:
        return _FAMILIES.get(line.name) == kind
    theirs = own.type.family
    assert kind == theirs or {kind, theirs} <= _MOMENTS, "constants are admitted before"
    assert own.type.line is not None
    if line.name != own.type.line.name:
        return False
    assert line == own.type.line
    return True


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Where constants stand on a line.

    `first` is the first key not below the constant, `last` the last one not above it; both are keys
    of the line even where there is no such key, because the constant stands over all of them or
    under. `left` are the constants about which nothing is said.
    """

    first: Integers
    last: Integers
    under: Mask
    over: Mask
    left: Mask


def _cuts(raw: Raw, line: Line) -> _Cuts:
    if line.name in ("double", "float"):
        return _on_doubles(raw, line)
    if raw.line is DOUBLE:
        return _doubles_on_grid(raw.values, line)
    return _grid_on_grid(raw.values, _unit(raw.line), line)


def _interval(operator: Operator, cuts: _Cuts, line: Line) -> Span:
    bottom, top = np.int64(line.low), np.int64(line.high - 1)
    low, high = np.full(len(cuts.first), bottom), np.full(len(cuts.first), top)
    match operator:
        case Operator.LESS:  # what is not AT_LEAST
            high = np.where(cuts.over, top, cuts.first - 1)
            empty = ~cuts.over & (cuts.first == bottom)
        case Operator.AT_MOST:
            high, empty = cuts.last, cuts.under
        case Operator.GREATER:  # what is not AT_MOST
            low = np.where(cuts.under, bottom, cuts.last + 1)
            empty = ~cuts.under & (cuts.last == top)
        case Operator.AT_LEAST:
            low, empty = cuts.first, cuts.over
        case _:
            low, high = cuts.first, cuts.last
            empty = cuts.under | cuts.over | (low > high)
    return np.where(empty, _EMPTY[0], low), np.where(empty, _EMPTY[1], high)


def _on_line(
    line: Line,
    first: Integers,
    last: Integers,
    under: Mask | None = None,
    over: Mask | None = None,
    left: Mask | None = None,
) -> _Cuts:
    """The cuts with these first and last keys, which may lie outside the line."""
    bottom, top = np.int64(line.low), np.int64(line.high - 1)
    none = np.zeros(len(first), np.bool_)
    under = (last < bottom) | (none if under is None else under)
    over = (first > top) | (none if over is None else over)
    first = np.clip(np.where(under, bottom, first), bottom, top)
    last = np.clip(np.where(over, top, last), bottom, top)
    return _Cuts(first, last, under, over, none if left is None else left)


def _unit(line: Line) -> int:
    """How many keys make one, or one day."""
    return DAY if line.name == "timestamp" else int(10**line.scale)


def _grid_on_grid(values: Integers, unit: int, line: Line) -> _Cuts:
    """Integers that count `unit`ths, among keys.

    Spark rounds decimals that share no type of 38 digits (`compare.shared_scale`); up to 18 digits
    beside up to 20, they always do.
    """
    if unit > _unit(line):
        last, rest = np.divmod(values, unit // _unit(line))
        return _on_line(line, last + (rest != 0), last)
    times = _unit(line) // unit
    under = values < -(-BIGINT_MIN // times)
    over = values > BIGINT_MAX // times
    keys = np.where(under | over, 0, values) * times
    return _on_line(line, keys, keys, under, over)


def _doubles_on_grid(values: Doubles, line: Line) -> _Cuts:
    """Doubles among keys, which Spark casts to doubles to compare them.

    A key is cast by dividing it, correctly rounded, by the unit. Keys that are cast to the constant
    are within a quarter of constant times unit, and so is that product, rounded: they are `base`,
    the product rounded down, or the key after it. Those before lie below, the others above.
    """
    unit = float(_unit(line))
    with np.errstate(over="ignore", invalid="ignore"):
        product = values * unit
    near = np.abs(product) < (_EXACT if unit == 1 else _NEAR)
    base = np.floor(np.where(near, product, 0.0))
    here, next_ = base / unit, (base + 1) / unit
    keys = base.astype(np.int64)
    return _on_line(
        line,
        first=keys + (here < values),
        last=keys - 1 + (here <= values) + (next_ <= values),
        under=values == -np.inf,
        over=np.isnan(values) | (values == np.inf),
        left=~near & np.isfinite(values),
    )


def _on_doubles(raw: Raw, line: Line) -> _Cuts:
    """Numbers among doubles, or among floats, which Spark casts to doubles to compare them."""
    values = raw.values.astype(np.float64)
    left: Mask | None = None
    if raw.line.scale:
        left = np.abs(raw.values) > _EXACT
        values /= float(_unit(raw.line))  # of two exact doubles, so it is rounded once
    values[np.isnan(values)] = np.nan  # a signalling one would be reported when it is rounded
    keys = conform(Raw(DOUBLE, raw.rows, values), (line,))[0].keys
    if line.name == "double":
        return _on_line(line, keys, keys, left=left)
    with np.errstate(over="ignore"):
        nearest = values.astype(np.float32).astype(np.float64)
    return _on_line(line, keys + (nearest < values), keys - (nearest > values), left=left)


def _distinct(operator: Operator, constants: pa.Array, line: Line, own: Attribute | None) -> Span:
    """The intervals of an array, by way of those of its distinct values."""
    encoded = constants.dictionary_encode()
    try:
        values = [*encoded.dictionary.to_pylist(), None]
    except (ValueError, OverflowError) as error:  # a moment outside the years 1 to 9999
        raise FilterTypeError(
            f"one of the constants is no value of the language: {error}"
        ) from None
    places = encoded.indices.cast(pa.int64()).fill_null(len(values) - 1).to_numpy()
    low, high = _one_by_one(operator, values, line, own)
    return low[places], high[places]


def _one_by_one(operator: Operator, values: list[Any], line: Line, own: Attribute | None) -> Span:
    schema = None if own is None else Schema({"x": own})
    ends = [_ends(operator, _constant(value), line, schema) for value in values]
    found = np.array(ends, np.int64).reshape(-1, 2)
    return found[:, 0].copy(), found[:, 1].copy()


def _constant(value: Any) -> Constant:
    plain = normal(value)
    if not is_constant(plain):
        raise FilterTypeError(f"a constant cannot be {value!r}, a {type(value).__name__}")
    return plain


def _ends(
    operator: Operator, constant: Constant, line: Line, schema: Schema | None
) -> tuple[int, int]:
    """The interval of one constant, as `meaning.allowed` gives it."""
    own = None if schema is None else schema["x"]
    if constant is None or not _compares(family(constant), line, own):
        return _EMPTY
    bounds = allowed(Predicate("x", operator, (constant,)), schema).spans.get(line.name)
    if bounds is None:
        return _EMPTY
    first, after = bounds
    if own is None and line.name == DECIMAL.name:  # from the finest grid to that of the line
        step = 10 ** (DECIMAL.scale - line.scale)
        first, after = -(-first // step), -(-after // step)
    first, after = max(first, line.low), min(after, line.high)
    return (first, after - 1) if first < after else _EMPTY

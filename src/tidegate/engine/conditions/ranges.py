"""How are ranges whose constants nearly all differ kept?

A million rules may have a million different prices in them. Such a range is not worth a row of its
own (see `numbered`): it stays with its entry, as two ends. Under a schema an attribute has one
line, and the ends are the first and the last key on it. Without one, the constants themselves are
kept, because what they cut from a line is known only when an event brings a value on that line.

`Ranges` are flat arrays, so a million of them cost seventeen bytes each and no Python objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.conditions.cuts import has_int64_keys, span
from tidegate.engine.primitives.distinct import occurring
from tidegate.filters.attribute import Attribute
from tidegate.filters.expression import Mode, Operator, Predicate
from tidegate.filters.lines import DECIMAL, FAMILY_LINES, Line
from tidegate.filters.meaning import allowed
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN, DAY, is_constant, normal

Kinds: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]

KEYS: Final = 0
"""The kind of a range whose ends are keys. Others are a type and the two comparisons."""
_TYPES: Final[tuple[pa.DataType, ...]] = (
    pa.null(),  # stands for KEYS
    pa.int64(),
    pa.float64(),
    pa.date32(),
    pa.timestamp("us"),
)
_FAMILIES: Final = ("", "number", "number", "date", "timestamp")
_LOW: Final = (None, Operator.AT_LEAST, Operator.GREATER)
_HIGH: Final = (None, Operator.AT_MOST, Operator.LESS)
_LOW_SHIFT, _HIGH_SHIFT = 3, 5
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_LIMITS: Final = {  # the years 1 to 9999
    "date": (-719_162, 2_932_896),
    "timestamp": (-719_162 * DAY, 2_932_897 * DAY - 1),
}


@dataclass(frozen=True, slots=True)
class Ranges:
    """Ranges of one or more attributes: `kind`, and two ends as keys or as bits of constants."""

    kind: Kinds
    low: Integers
    high: Integers

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, which: NDArray[Any]) -> "Ranges":
        """Some of them."""
        return Ranges(self.kind[which], self.low[which], self.high[which])

    def hashes(self) -> NDArray[np.uint64]:
        """A number for each, the same for equal ones and hardly ever for others."""
        low, high = self.low.view(np.uint64), self.high.view(np.uint64)
        mixed = (low * _MIX) ^ (high + self.kind)
        mixed ^= mixed >> np.uint64(29)
        found: NDArray[np.uint64] = (mixed * _MIX) ^ low
        return found

    def on(self, line: Line, own: Attribute | None) -> tuple[Integers, Integers]:
        """The first and the last key of each on a line; the first is above the last if empty."""
        low = np.full(len(self), max(line.low, -(2**63)), np.int64)
        high = np.full(len(self), min(line.high - 1, 2**63 - 1), np.int64)
        for kind in occurring(self.kind).tolist():
            mine = np.flatnonzero(self.kind == kind)
            if kind == KEYS:
                low[mine], high[mine] = self.low[mine], self.high[mine]
                continue
            constants = _TYPES[kind & 7]
            for operator, ends in (
                (_LOW[kind >> _LOW_SHIFT & 3], self.low),
                (_HIGH[kind >> _HIGH_SHIFT & 3], self.high),
            ):
                if operator is not None:
                    first, last = span(operator, _typed(ends[mine], constants), line, own)
                    low[mine] = np.maximum(low[mine], first)
                    high[mine] = np.minimum(high[mine], last)
        return low, high

    def on_wide(self, line: Line) -> tuple[list[int], list[int]]:
        """The same on the line of decimals of some scale, without a schema; its keys are wide."""
        step = 10 ** (DECIMAL.scale - line.scale)
        known: dict[tuple[int, int, int], tuple[int, int]] = {}
        rows = list(zip(self.kind.tolist(), self.low.tolist(), self.high.tolist(), strict=True))
        for kind, low, high in set(rows):
            first, after = line.low, line.high
            for operator, bits in (
                (_LOW[kind >> _LOW_SHIFT & 3], low),
                (_HIGH[kind >> _HIGH_SHIFT & 3], high),
            ):
                if operator is not None:
                    constant = _typed(np.array([bits], np.int64), _TYPES[kind & 7])[0].as_py()
                    plain = normal(constant)
                    assert is_constant(plain)
                    held = allowed(Predicate("x", operator, (plain,)), None)
                    start, stop = held.spans.get("decimal", (0, 0))
                    first, after = max(first, -(-start // step)), min(after, -(-stop // step))
            known[kind, low, high] = (first, after - 1)
        return [known[row][0] for row in rows], [known[row][1] for row in rows]

    def reaches_everywhere(self) -> NDArray[np.bool_]:
        """Which may have all 64-bit integers as their keys on some line."""
        constants = self.kind != KEYS
        low = (self.low == -(2**63)) | (constants & (self.kind >> _LOW_SHIFT & 3 == 0))
        high = (self.high == 2**63 - 1) | (constants & (self.kind >> _HIGH_SHIFT & 3 == 0))
        everywhere: NDArray[np.bool_] = low & high
        return everywhere

    def lines(self) -> set[str]:
        """The names of the lines that they are compared on, without a schema."""
        return {
            line.name
            for kind in occurring(self.kind).tolist()
            for line in FAMILY_LINES[_FAMILIES[kind & 7]]
        }

    def are_sound(self) -> bool:
        """Whether all have a type, an end, and as ends constants of that type."""
        for kind in occurring(self.kind).tolist():
            low, high = kind >> _LOW_SHIFT & 3, kind >> _HIGH_SHIFT
            if not 1 <= kind & 7 < len(_TYPES) or low > 2 or high > 2 or low + high == 0:
                return False
            first, last = _LIMITS.get(_FAMILIES[kind & 7], (BIGINT_MIN, BIGINT_MAX))
            mine = self.kind == kind
            for ends in (self.low[mine], self.high[mine]):
                if ends.min() < first or ends.max() > last:
                    return False
        return True

    @property
    def nbytes(self) -> int:
        """The memory of the ranges."""
        return self.kind.nbytes + self.low.nbytes + self.high.nbytes


NO_RANGES: Final = Ranges(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))


def concatenate(parts: Sequence[Ranges]) -> Ranges:
    """All of them, one after the other."""
    if not parts:
        return NO_RANGES
    return Ranges(
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.low for part in parts]),
        np.concatenate([part.high for part in parts]),
    )


def can_be_range(predicates: Sequence[Predicate]) -> bool:
    """Whether predicates on one attribute are at most a low and a high end."""
    lows, highs = 0, 0
    for predicate in predicates:
        if predicate.mode is not Mode.TRUE:
            return False
        if predicate.operator in _LOW:
            lows += 1
        elif predicate.operator in _HIGH:
            highs += 1
        else:
            return False
    return lows <= 1 and highs <= 1


def column_type(column: pa.Array) -> int | None:
    """The number of the column's type, or None if ranges do not have such constants."""
    if column.null_count:
        return None
    for number, kind in enumerate(_TYPES):
        if number and column.type == kind:
            return number
    return None


def from_columns(ends: Sequence[tuple[Operator, pa.Array]], own: Attribute | None) -> Ranges | None:
    """A range for each row of one or two columns of constants, or None if they cannot be such."""
    size = len(ends[0][1])
    if own is not None:
        line = own.type.line
        if line is None or not has_int64_keys(line):
            return None
        low = np.full(size, line.low, np.int64)
        high = np.full(size, line.high - 1, np.int64)
        for operator, column in ends:
            first, last = span(operator, column, line, own)
            low, high = np.maximum(low, first), np.minimum(high, last)
        return Ranges(np.full(size, KEYS, np.uint8), low, high)
    types = {column_type(column) for _, column in ends}
    if None in types or len(types) > 1:
        return None
    kind = types.pop() or 0
    low, high = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for operator, column in ends:
        if operator in _LOW:
            kind |= _LOW.index(operator) << _LOW_SHIFT
            low = _bits(column)
        else:
            kind |= _HIGH.index(operator) << _HIGH_SHIFT
            high = _bits(column)
    return Ranges(np.full(size, kind, np.uint8), low, high)


def _bits(column: pa.Array) -> Integers:
    """The constants as 64-bit integers: themselves, or their bits."""
    if column.type == pa.float64():
        bits: Integers = column.to_numpy(zero_copy_only=False).view(np.int64)
        return bits
    if column.type == pa.date32():
        column = column.cast(pa.int32())
    numbers: Integers = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _typed(bits: Integers, kind: pa.DataType) -> pa.Array:
    """The inverse of `_bits`."""
    if kind == pa.float64():
        return pa.array(bits.view(np.float64))
    if kind == pa.date32():
        return pa.array(bits.astype(np.int32)).cast(kind)
    return pa.array(bits).cast(kind)

"""Do the arrays of an index file fit together?

Kernels read them without looking where an index leads. So what comes from a file is looked at here
first: checksums tell whether it is what was written, not whether whoever wrote it was right. All
checks are a few passes over whole arrays, and raise a `ValueError` that says what is wrong.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.conditions.ranges import Ranges
from tidegate.engine.partition.arrays import AND, DEPTH, NO_ROW, OPERAND, OR, PUSH, Entries
from tidegate.engine.primitives.integer_arrays import ZONE
from tidegate.engine.sweep import sweep_kernels
from tidegate.errors import IndexFileError, TidegateError

Integers: TypeAlias = NDArray[np.int64]
Starts: TypeAlias = NDArray[np.uint32]

_ACCIDENTS: Final = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError),
    *(TidegateError, pa.ArrowException),
)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Whatever goes wrong inside is an `IndexFileError` about the file of that name."""
    try:
        yield
    except IndexFileError as error:
        if name in str(error):
            raise
        raise IndexFileError(f"{name} is damaged: {error}") from error
    except _ACCIDENTS as error:
        raise IndexFileError(f"{name} contradicts itself: {error}") from error


def require(fact: Any, otherwise: str) -> None:
    """Raise a `ValueError` unless it is so."""
    if not fact:
        raise ValueError(otherwise)


def check_starts(what: str, starts: Starts, parts: int, total: int) -> None:
    """Where `parts` parts of `total` things begin, and where the last one ends."""
    require(len(starts) == parts + 1, f"there are not {parts + 1} {what}")
    require(starts[0] == 0 and starts[-1] == total, f"the {what} have wrong ends")
    require((starts[1:] >= starts[:-1]).all(), f"the {what} do not ascend")


def check_ascending(what: str, numbers: NDArray[Any]) -> None:
    """Every number is more than the one before it."""
    require((numbers[1:] > numbers[:-1]).all(), f"the {what} do not ascend")


def check_below(what: str, numbers: NDArray[Any], limit: int) -> None:
    """Every number is less than the limit, and not negative."""
    if len(numbers):
        require(numbers.min() >= 0 and numbers.max() < limit, f"the {what} are out of range")


def check_entries(entries: Entries, groups: int, conditions: int, axes: int) -> None:
    """The entries of a partition, which has so many groups and axes, fit together."""
    require(len(entries.group_start) > 0, "there are no groups")
    size = int(entries.group_start[-1])
    require(size > 0, "there are no entries")
    check_starts("groups", entries.group_start, groups, size)
    _check_optional("refs", entries.ref_start, size, len(entries.refs))
    check_below("refs", entries.refs, conditions)
    _check_optional("ranges", entries.range_start, size, len(entries.range_axis))
    check_below("axes of ranges", entries.range_axis, axes)
    _check_optional("tokens", entries.token_start, size, len(entries.tokens))
    _check_programs(entries.token_start, entries.tokens, conditions)
    check_codes(entries.code_start, size)
    _check_zones(entries, groups, conditions)


def _lengths(starts: Starts) -> Integers:
    return starts[1:].astype(np.int64) - starts[:-1]


def _check_optional(what: str, starts: Starts, parts: int, total: int) -> None:
    """The same as `check_starts`; there may be none of them where there is nothing."""
    if len(starts) or total:
        check_starts(f"starts of {what}", starts, parts, total)


def check_codes(code_start: Starts, entries: int) -> None:
    """Where the codes of entries begin, if they may have several."""
    if len(code_start):
        check_starts("codes", code_start, entries, int(code_start[-1]))


def _check_zones(entries: Entries, groups: int, conditions: int) -> None:
    zone_entry = entries.zone_entry
    zones = len(zone_entry) - 1
    check_starts("zones of groups", entries.zone_start, groups, zones)
    check_starts("zones", zone_entry, zones, int(entries.group_start[-1]))
    sizes = _lengths(zone_entry)
    require(sizes.min() > 0 and sizes.max() <= ZONE, f"a zone has not 1 to {ZONE} entries")
    require(
        np.array_equal(zone_entry[entries.zone_start], entries.group_start),
        "zones and groups begin at different entries",
    )
    heads = entries.zone_head
    require(len(heads) == zones, "not every zone has a head")
    check_below("heads of zones", heads[heads != NO_ROW], conditions)
    ranged = _ranged_zones(entries) if len(entries.range_axis) else entries.zone_ranged[:0]
    require(np.array_equal(entries.zone_ranged, ranged), "zones have other ranges than entries")


def _ranged_zones(entries: Entries) -> NDArray[np.uint8]:
    """Of each zone, whether the first range of all its entries is on axis 0."""
    start = entries.range_start
    first = np.minimum(start[:-1], np.uint32(len(entries.range_axis) - 1))
    ranged = (start[1:] > start[:-1]) & (entries.range_axis[first] == 0)
    return np.logical_and.reduceat(ranged, entries.zone_entry[:-1]).astype(np.uint8)


def _check_programs(token_start: Starts, tokens: NDArray[np.uint32], conditions: int) -> None:
    """Every program leaves one row on a stack that it neither overruns nor underruns."""
    if not len(token_start):
        return
    require((token_start[1:] > token_start[:-1]).all(), "a program is empty")
    operation = tokens & np.uint32(~OPERAND & 0xFFFF_FFFF)
    joint = (operation == AND) | (operation == OR)
    require((operation <= OR).all(), "there is no such operation")
    check_below("operands of programs", tokens[~joint] & np.uint32(OPERAND), conditions)
    change = (operation == PUSH).astype(np.int64) - joint
    height = np.cumsum(change)
    begin = token_start[:-1].astype(np.int64)
    before = height[begin] - change[begin]
    height -= np.repeat(before, _lengths(token_start))
    require(height.min() >= 1, "a program takes more from its stack than is there")
    require(height.max() < DEPTH, "a program needs too high a stack")
    require((height[token_start[1:].astype(np.int64) - 1] == 1).all(), "a program does not end")


def check_ends(entries: Entries, axes: int, starts: Starts, cuts: Integers, place: Starts) -> None:
    """The low or the high ends of ranges: those of a group ascend, and each range has one."""
    groups = len(entries.group_start) - 1
    require(len(starts) == axes * (groups + 1) and axes > 0, "there are too few or many ends")
    by_axis = starts.astype(np.int64).reshape(axes, groups + 1)
    check_starts("ends", starts, len(starts) - 1, len(cuts))
    require((by_axis[1:, 0] == by_axis[:-1, -1]).all(), "ends belong to no group")
    falling = np.flatnonzero(cuts[1:] <= cuts[:-1]) + 1
    require(np.isin(falling, starts).all(), "the ends of a group do not ascend")
    require(len(place) == len(entries.range_axis), "not every range has two ends")
    sizes = np.diff(by_axis, axis=1)
    before = np.zeros_like(sizes)
    before[1:] = np.cumsum(sizes[:-1], axis=0)
    group = np.repeat(
        np.arange(groups, dtype=np.uint32),
        _lengths(entries.range_start[entries.group_start]),
    )
    at = group if axes == 1 else entries.range_axis * np.uint32(groups) + group
    within = place - before.astype(np.uint32).ravel()[at]  # huge if it would be negative
    require((within < sizes.astype(np.uint32).ravel()[at]).all(), "an end is out of range")


def check_spans(
    low: NDArray[np.int32], high: NDArray[np.int32], size: int, counts: Sequence[int]
) -> None:
    """The ends of swept ranges, by axis and entry: odd numbers up to so many, or none at all."""
    stride = size + ZONE
    require(len(low) == len(high) == len(counts) * stride, "there are too few or many ends")
    for axis, count in enumerate(counts):
        here = slice(axis * stride, (axis + 1) * stride)
        lows, highs = low[here], high[here]
        some = lows != sweep_kernels.LOWEST
        require(np.array_equal(some, highs != sweep_kernels.HIGHEST), "a range has one end only")
        for ends in (lows[some], highs[some]):
            require((ends & 1).all(), "an end has an even number")
            check_below("numbers of ends", ends, 2 * count)


def check_ranges(ranges: Ranges, size: int) -> None:
    """So many ranges that were kept as constants."""
    require(len(ranges.kind) == len(ranges.low) == len(ranges.high) == size, "ranges are missing")
    require(ranges.are_sound(), "a range has no such ends")


def check_tiling(first_codes: Sequence[int], sizes: Sequence[int], total: int) -> None:
    """The structures of a segment have all codes up to some, each code once."""
    at = 0
    for first, size in sorted(zip(first_codes, sizes, strict=True)):
        require(first == at, "subscriptions are in several structures, or in none")
        at += size
    require(at <= total, "there are fewer ids than subscriptions")

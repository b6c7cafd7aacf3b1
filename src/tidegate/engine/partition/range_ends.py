"""Where do the ranges of a partition's entries end, among those of their group?

Ranges that entries keep to themselves (`ranges`) are compared with an event by **place**: the ends
of all ranges of a group on one attribute, lows and highs each sorted, and a range as the places of
its two ends among them. For a run of events, counting how many lie before each end then answers all
ranges of the group at once.

Without a schema, each combination of lines that occurs (`range_lines`) gets its `arrays.Ends`.
"""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.range_lines import Lines, RangeLines
from tidegate.engine.conditions.ranges import Ranges
from tidegate.engine.partition.arrays import Ends, Entries
from tidegate.engine.primitives.offsets import lengths
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]
_NOTHING: Final = np.empty(0, np.int64)


class RangeAxes:
    """The attributes on which entries of a partition have ranges, and all these ranges.

    Under a schema, the ranges are kept as their ends alone, from which `ranges` has them again; and
    may be given so.
    """

    def __init__(
        self,
        attributes: tuple[str, ...],
        ranges: Ranges | Ends,
        entries: Entries,
        schema: Schema | None,
    ) -> None:
        self.attributes = attributes
        self.range_lines = RangeLines(attributes, schema)
        self._entries = entries
        self._schema = schema
        self._ends: dict[Lines, Ends] = {}
        self._ranges: Ranges | None = None
        own = self.range_lines.own
        if isinstance(ranges, Ends):
            assert own is not None
            self._ends[own] = ranges
        else:
            self._ranges = ranges
            if own:
                self.ends(own)
                self._ranges = None

    @property
    def ranges(self) -> Ranges:
        """All ranges, in the order of their entries."""
        if self._ranges is not None:
            return self._ranges
        assert self.range_lines.own is not None
        ends = self._ends[self.range_lines.own]
        axis, group = self._entries.range_axis.astype(np.int64), self._group()
        at = axis * (self._groups + 1) + group
        low = ends.lows[_whole_place(ends.low_start, ends.range_low, at, axis, self._groups)]
        high = ends.highs[_whole_place(ends.high_start, ends.range_high, at, axis, self._groups)]
        return Ranges(np.zeros(len(axis), np.uint8), low, high)

    @property
    def _groups(self) -> int:
        return len(self._entries.group_start) - 1

    def _group(self) -> Integers:
        """The group of each range's entry."""
        of_entry = np.repeat(np.arange(self._groups), lengths(self._entries.group_start))
        return np.repeat(of_entry, lengths(self._entries.range_start))

    def compared(self) -> Iterator[tuple[str, set[str]]]:
        """For each attribute, the names of the lines on which its ranges are compared."""
        for axis, attribute in enumerate(self.attributes):
            mine = np.flatnonzero(self._entries.range_axis == axis)
            yield attribute, self.range_lines.compared(axis, self.ranges.take(mine))

    def ends(self, lines: Lines) -> Ends:
        """The ends of all ranges as keys on these lines."""
        found = self._ends.get(lines)
        if found is None:
            found = self._ends[lines] = self._make(lines)
        return found

    def _make(self, lines: Lines) -> Ends:
        entries, all_groups = self._entries, self._group() if self.attributes else _NOTHING
        size = len(entries.range_axis)
        low_place, high_place = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        low_counts = np.zeros(self._groups, np.int64)
        high_counts = np.zeros(self._groups, np.int64)
        lows, highs, low_starts, high_starts = [], [], [], []
        low_total = high_total = 0
        for axis, line in enumerate(lines):
            mine = np.flatnonzero(entries.range_axis == axis)
            if line is None:
                low_starts.append(np.full(self._groups + 1, low_total))
                high_starts.append(np.full(self._groups + 1, high_total))
                continue
            low, high = self.range_lines.on(axis, self.ranges.take(mine), line)
            group = all_groups[mine]
            cuts, starts, place = _places(low, group, self._groups)
            low_place[mine] = place + low_counts[group]
            low_counts += np.diff(starts)
            lows.append(cuts)
            low_starts.append(starts + low_total)
            low_total += len(cuts)
            cuts, starts, place = _places(high, group, self._groups)
            high_place[mine] = place + high_counts[group]
            high_counts += np.diff(starts)
            highs.append(cuts)
            high_starts.append(starts + high_total)
            high_total += len(cuts)
        deepest = max(low_counts.max(initial=0), high_counts.max(initial=0))
        return Ends(
            np.array([line is not None for line in lines], np.uint8),
            _joined(low_starts, np.uint32),
            _joined(lows, np.int64),
            _joined(high_starts, np.uint32),
            _joined(highs, np.int64),
            low_place,
            high_place,
            *_zones(entries, low_place, high_place),
            int(deepest),
        )

    @property
    def nbytes(self) -> int:
        """The memory of the ranges, and of the ends made so far."""
        kept = 0 if self._ranges is None else self._ranges.nbytes
        arrays = [array for ends in self._ends.values() for array in ends]
        return kept + sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def complete(
    entries: Entries,
    low_start: NDArray[np.uint32],
    lows: Integers,
    high_start: NDArray[np.uint32],
    highs: Integers,
    range_low: NDArray[np.uint32],
    range_high: NDArray[np.uint32],
) -> Ends:
    """Ends on axes that are all used, with what follows from the rest worked out."""
    stride = len(entries.group_start)
    deepest = [
        np.diff(start.astype(np.int64).reshape(-1, stride), axis=1).sum(axis=0).max(initial=0)
        for start in (low_start, high_start)
    ]
    return Ends(
        np.ones(len(low_start) // stride, np.uint8),
        low_start,
        lows,
        high_start,
        highs,
        range_low,
        range_high,
        *_zones(entries, range_low, range_high),
        int(max(deepest)),
    )


def _places(ends: Integers, group: Integers, groups: int) -> tuple[Integers, Integers, Integers]:
    """The distinct ends of each group, ascending; where each group's begin; the place of each."""
    order = np.lexsort((ends, group))
    sorted_ends, sorted_group = ends[order], group[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (sorted_ends[1:] != sorted_ends[:-1]) | (sorted_group[1:] != sorted_group[:-1])
    starts = np.zeros(groups + 1, np.int64)
    np.cumsum(np.bincount(sorted_group[new], minlength=groups), out=starts[1:])
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(new) - 1 - starts[sorted_group]
    return sorted_ends[new], starts, place


def _zones(
    entries: Entries, low: NDArray[np.uint32], high: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """The lowest low end and the highest high end of the first ranges of each zone."""
    zones = len(entries.zone_ranged)
    lowest, highest = np.zeros(zones, np.uint32), np.zeros(zones, np.uint32)
    if zones:
        starts = entries.zone_entry[:-1].astype(np.int64)
        first = entries.range_start[:-1].astype(np.int64)
        first = np.minimum(first, len(low) - 1)  # of entries without one; such zones are not used
        lowest = np.minimum.reduceat(low[first], starts)
        highest = np.maximum.reduceat(high[first], starts)
    return lowest, highest


def _whole_place(
    starts: NDArray[np.uint32], place: NDArray[np.uint32], at: Integers, axis: Integers, groups: int
) -> Integers:
    """Places among the ends of a group, axis after axis, as places among all ends."""
    sizes = lengths(np.append(starts, 0)).reshape(-1, groups + 1)
    before = np.zeros_like(sizes)
    before[1:] = np.cumsum(sizes[:-1], axis=0)
    return starts[at].astype(np.int64) + place - before.ravel()[at]


def _joined(parts: list[Any], kind: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(kind) if parts else np.empty(0, kind)

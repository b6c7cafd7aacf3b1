"""Where do the ranges of a partition's entries end, among those of their group?

Ranges that entries keep to themselves (`ranges`) are compared with an event by **place**: the ends
of all ranges of a group on one attribute, lows and highs each sorted, and a range as the places of
its two ends among them. For a run of events, counting how many lie before each end then answers all
ranges of the group at once.

On which line the ends are keys is known once an event has come: under a schema it is always the
same; without one, each combination of lines that occurs gets its `kernels.Ends`. Events of a batch
are taken apart by the lines their values lie on.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine import kernels
from tidegate.engine.arrow import Stretch
from tidegate.engine.cuts import has_int64_keys
from tidegate.engine.encoded import EncodedBatch
from tidegate.engine.ranges import Ranges
from tidegate.filters.attribute import Attribute
from tidegate.filters.lines import Line
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]
Lines: TypeAlias = tuple[Line | None, ...]

_NOTHING: Final = np.empty(0, np.int64)


class RangeAxes:
    """The attributes on which entries of a partition have ranges, and all these ranges.

    Under a schema, the ranges are kept as their ends alone, from which `ranges` has them again.
    """

    def __init__(
        self,
        attributes: tuple[str, ...],
        ranges: Ranges,
        entries: kernels.Entries,
        schema: Schema | None,
    ) -> None:
        self.attributes = attributes
        self._entries = entries
        self._schema = schema
        self._ends: dict[Lines, kernels.Ends] = {}
        self._wide: dict[tuple[int, Line], list[int]] = {}
        self._ranges: Ranges | None = ranges
        if schema is not None and attributes:
            self._own = tuple(schema[attribute].type.line for attribute in attributes)
            self.ends(self._own)
            self._ranges = None

    @property
    def ranges(self) -> Ranges:
        """All ranges, in the order of their entries."""
        if self._ranges is not None:
            return self._ranges
        ends = self._ends[self._own]
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
        sizes = np.diff(self._entries.group_start.astype(np.int64))
        of_entry = np.repeat(np.arange(self._groups), sizes)
        return np.repeat(of_entry, np.diff(self._entries.range_start.astype(np.int64)))

    def compared(self) -> Iterator[tuple[str, set[str]]]:
        """For each attribute, the names of the lines on which its ranges are."""
        for axis, attribute in enumerate(self.attributes):
            if self._schema is not None:
                own = self._schema[attribute].type.line
                yield attribute, set() if own is None else {own.name}
            else:
                yield attribute, self.ranges.lines(self._entries.range_axis == axis)

    def lines(self, batch: EncodedBatch) -> Iterator[tuple[Integers, Lines]]:
        """The events of a batch by the lines on which their values lie, and these lines."""
        everything = np.arange(batch.size)
        if not self.attributes:
            yield everything, ()
            return
        code = np.zeros(batch.size, np.int64)
        choices: list[list[Line | None]] = []
        for attribute in self.attributes:
            own = np.zeros(batch.size, np.int64)
            usable = [s for s in batch.column(attribute).stretches if self._is_usable(s)]
            for place, stretch in enumerate(usable[1:], 1):
                own[stretch.rows] = place  # absent values go with the first line there is
            choices.append([stretch.line for stretch in usable] or [None])
            code = code * len(choices[-1]) + own
        for found in np.unique(code).tolist():
            lines: list[Line | None] = []
            rest = found
            for choice in reversed(choices):
                lines.append(choice[rest % len(choice)])
                rest //= len(choice)
            chosen = everything if len(everything) == 0 else np.flatnonzero(code == found)
            yield chosen, tuple(reversed(lines))

    def _is_usable(self, stretch: Stretch) -> bool:
        return stretch.line.name not in ("string", "other")

    def keys(
        self, batch: EncodedBatch, lines: Lines, order: Integers
    ) -> tuple[Integers, NDArray[np.uint8]]:
        """The keys of the events in order on each axis, and which of them have one."""
        size = len(order)
        keys = np.zeros(len(lines) * size, np.int64)
        present = np.zeros(len(lines) * size, np.uint8)
        for place, (attribute, line) in enumerate(zip(self.attributes, lines, strict=True)):
            for stretch in batch.column(attribute).stretches:
                if stretch.line == line:
                    whole = np.zeros(batch.size, np.int64)
                    whole[stretch.rows] = self._plain(place, stretch)
                    has = np.zeros(batch.size, np.uint8)
                    has[stretch.rows] = 1
                    keys[place * size : (place + 1) * size] = whole[order]
                    present[place * size : (place + 1) * size] = has[order]
        return keys, present

    def _plain(self, axis: int, stretch: Stretch) -> Integers:
        """The stretch's keys as 64-bit integers; those of wide decimals as `_keys_on` says."""
        if has_int64_keys(stretch.line):
            return stretch.keys
        return np.array(
            [self.plain_key(axis, stretch.line, key) for key in stretch.keys.tolist()], np.int64
        )

    def plain_key(self, axis: int, line: Line, key: int) -> int:
        """A key as a 64-bit integer: itself, or its place among the ends on a wide line."""
        if has_int64_keys(line):
            return key
        cuts = self._wide[axis, line]
        at = bisect_left(cuts, key)
        return 2 * at + (at < len(cuts) and cuts[at] == key)

    def ends(self, lines: Lines) -> kernels.Ends:
        """The ends of all ranges as keys on these lines."""
        found = self._ends.get(lines)
        if found is None:
            found = self._ends[lines] = self._make(lines)
        return found

    def _make(self, lines: Lines) -> kernels.Ends:
        entries, all_groups = self._entries, self._group() if self.attributes else _NOTHING
        size = len(entries.range_axis)
        low_place, high_place = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        low_counts = np.zeros(self._groups, np.int64)
        high_counts = np.zeros(self._groups, np.int64)
        lows, highs, low_starts, high_starts = [], [], [], []
        low_total = high_total = 0
        for axis, (attribute, line) in enumerate(zip(self.attributes, lines, strict=True)):
            mine = np.flatnonzero(entries.range_axis == axis)
            if line is None:
                low_starts.append(np.full(self._groups + 1, low_total))
                high_starts.append(np.full(self._groups + 1, high_total))
                continue
            own = None if self._schema is None else self._schema[attribute]
            low, high = self._keys_on(axis, mine, line, own)
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
        return kernels.Ends(
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

    def _keys_on(
        self, axis: int, mine: Integers, line: Line, own: Attribute | None
    ) -> tuple[Integers, Integers]:
        """The first and the last key of ranges on a line.

        On the lines of wide decimals, whose keys are no 64-bit integers, the ends are numbered in
        their order, with odd numbers, and keys between them get the even ones.
        """
        ranges = self.ranges.take(mine)
        if has_int64_keys(line):
            return ranges.on(line, own)
        low, high = ranges.on_wide(line)
        cuts = self._wide[axis, line] = sorted({*low, *high})
        places = {cut: 2 * place + 1 for place, cut in enumerate(cuts)}
        return (
            np.array([places[end] for end in low], np.int64),
            np.array([places[end] for end in high], np.int64),
        )

    @property
    def nbytes(self) -> int:
        """The memory of the ranges, and of the ends made so far."""
        kept = 0 if self._ranges is None else self._ranges.nbytes
        arrays = [array for ends in self._ends.values() for array in ends]
        return kept + sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def _places(
    ends: Integers, group: Integers, groups: int
) -> tuple[Integers, Integers, Integers]:
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
    entries: kernels.Entries, low: NDArray[np.uint32], high: NDArray[np.uint32]
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
    sizes = np.diff(starts.astype(np.int64), append=0).reshape(-1, groups + 1)
    before = np.zeros_like(sizes)
    before[1:] = np.cumsum(sizes[:-1], axis=0)
    return starts[at].astype(np.int64) + place - before.ravel()[at]


def _joined(parts: list[Any], kind: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(kind) if parts else np.empty(0, kind)

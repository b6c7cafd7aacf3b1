"""Entries that are a key and a few ranges: the commonest alert rule, in its fastest form.

`symbol = 'IBM' AND price BETWEEN 10 AND 11` is a key (`key_table`) and one range. A `Sweep` keeps
such entries by group, sorted by the low end of their first range, with the ends of all ranges in
plain columns. An event finds its group and the part of it that its value can be in, and compares 64
entries at a time (`sweep_kernels`), so the work follows the number of matches and not the number of
entries. It never changes.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.conditions.key_table import NO_GROUP, KeyTable
from tidegate.engine.conditions.range_lines import Lines, RangeLines
from tidegate.engine.conditions.ranges import Ranges
from tidegate.engine.description import Structure
from tidegate.engine.events.encoded_batch import EncodedBatch
from tidegate.engine.primitives.integer_arrays import ZONE
from tidegate.engine.primitives.offsets import lengths, starts
from tidegate.engine.primitives.result_buffers import ResultColumn
from tidegate.engine.sweep import sweep_kernels as kernels
from tidegate.engine.sweep.end_numbers import EndTable
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]
Owned: TypeAlias = tuple[Integers, Ranges]  # entries, and the range each of them has
_Ordered: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
_Starts: TypeAlias = NDArray[np.uint32]
_Ends: TypeAlias = NDArray[np.int32]
_Searched: TypeAlias = tuple[_Starts, _Starts, _Starts, _Ends, _Ends, _Ends, _Ends, int]

_NOTHING: Final = np.empty(0, np.int32)


class Sweep:
    """Entries by key, with ranges on the axes of some attributes. Immutable."""

    def __init__(
        self,
        key: KeyTable,
        group_start: NDArray[np.uint32],
        code_start: NDArray[np.uint32],
        attributes: tuple[str, ...],
        owned: Sequence[Owned] | None,
        table: EndTable,
        schema: Schema | None,
        first_code: int,
        ends: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None,
    ) -> None:
        self.key = key
        self.group_start = group_start
        self.code_start = code_start  # empty if each entry has one code
        self.zone_start = starts(-(-lengths(group_start) // ZONE)).astype(np.uint32)
        self.attributes = attributes
        self.range_lines = RangeLines(attributes, schema)
        self.first_code = first_code
        self._owned = owned
        self._ends = ends
        self._spans: dict[Lines, kernels.Spans] = {}
        self._searched: dict[Lines, _Searched] = {}
        self._table = table
        self._own: kernels.Spans | None = None  # on the lines of the schema
        self._likely = 1.0  # pairs of an event
        for attribute, (_, ranges) in zip(attributes, owned or (), strict=False):
            table.register(attribute, ranges)

    def settle(self) -> None:
        """Under a schema, keep the ends alone, once the ranges of all sweeps are registered."""
        own = self.range_lines.own
        if own is not None:
            self.spans(own)
            self._owned = None

    def __len__(self) -> int:
        return int(self.group_start[-1])

    @property
    def owned(self) -> Sequence[Owned]:
        """For each axis the entries with a range on it, and these ranges."""
        if self._owned is not None:
            return self._owned
        assert self.range_lines.own is not None
        spans = self.spans(self.range_lines.own)
        found = []
        for axis, line in enumerate(self.range_lines.own):
            assert line is not None
            here = slice(axis * (len(self) + ZONE), None)
            low, high = spans.low[here][: len(self)], spans.high[here][: len(self)]
            having = np.flatnonzero((low != kernels.LOWEST) | (high != kernels.HIGHEST))
            first = self._table.keys(self.attributes[axis], line, low[having])
            last = self._table.keys(self.attributes[axis], line, high[having])
            found.append((having, Ranges(np.zeros(len(having), np.uint8), first, last)))
        return found

    def compared(self) -> Iterator[tuple[str, set[str]]]:
        """For each attribute, the names of the lines on which its ranges are compared."""
        for axis, (_, ranges) in enumerate(self.owned):
            yield self.attributes[axis], self.range_lines.compared(axis, ranges)

    def spans(self, lines: Lines) -> kernels.Spans:
        """The ends of all ranges as keys on these lines."""
        if self._own is not None and lines is self.range_lines.own:
            return self._own
        found = self._spans.get(lines)
        if found is None:
            found = self._spans[lines] = self._make(lines)
            if lines == self.range_lines.own:
                self._own = found
        return found

    def searched(self, lines: Lines) -> _Searched:
        """What `sweep_kernels.meet` has to know of it, for events on these lines."""
        found = self._searched.get(lines)
        if found is None:
            starting = self.group_start, self.zone_start, self.code_start
            low, high, zone_low, reach, _ = self.spans(lines)
            found = (*starting, low, high, zone_low, reach, self.first_code)
            self._searched[lines] = found
        return found

    def _make(self, lines: Lines) -> kernels.Spans:
        if self._ends is not None and lines == self.range_lines.own:
            return self._zoned(lines, *self._ends)
        stride = len(self) + ZONE
        low = np.full(len(lines) * stride, kernels.LOWEST, np.int32)
        high = np.full(len(lines) * stride, kernels.HIGHEST, np.int32)
        for axis, line in enumerate(lines):
            entries, ranges = self.owned[axis]
            here = axis * stride + entries
            if line is None:  # no event has a value: a range is met by none of them
                low[here] = kernels.HIGHEST
                continue
            low[here], high[here] = self._table.ends(self.attributes[axis], ranges, line)
        return self._zoned(lines, low, high)

    def _zoned(
        self, lines: Lines, low: NDArray[np.int32], high: NDArray[np.int32]
    ) -> kernels.Spans:
        if not lines:
            return kernels.Spans(low, high, _NOTHING, _NOTHING, _NOTHING)
        zones = kernels.find_zones(self.group_start, self.zone_start, low, high)
        return kernels.Spans(low, high, *zones)

    def events(self, batch: EncodedBatch) -> Iterator[tuple[kernels.Spans, kernels.SweptEvents]]:
        """The events of a batch with their groups, by the lines their values lie on."""
        for rows, lines in self.range_lines.split(batch):
            row, least, most = self._in_order(batch, rows, lines)
            groups = self.key.groups(batch, row)
            if groups.max(initial=NO_GROUP) != NO_GROUP:
                yield self.spans(lines), kernels.SweptEvents(row, groups, least, most)

    def _in_order(self, batch: EncodedBatch, rows: Integers, lines: Lines) -> _Ordered:
        """Events in an order of their own, and their values on all axes."""

        def make() -> _Ordered:
            row = self._order(batch, rows, lines)
            least, most = [_NOTHING], [_NOTHING]
            for attribute, line in zip(self.attributes, lines, strict=True):
                values = self._table.values(batch, attribute, line)
                least.append(values[0][row])
                most.append(values[1][row])
            return row, np.concatenate(least), np.concatenate(most)

        order = self._order_key(batch, rows, lines)
        found: _Ordered = batch.remember((self._table, order, self.attributes, lines), make)
        return found

    def _order(self, batch: EncodedBatch, rows: Integers, lines: Lines) -> NDArray[np.int32]:
        """Events by their most telling condition, then by their value on the first axis.

        So neighbours meet the same entries. Any order will do: the first segment that asks decides
        about it for all others that look at the same attributes.
        """

        def make() -> NDArray[np.int32]:
            place = self.key.conditions(batch, self.key.finest)[rows].astype(np.int64) << 32
            if lines:
                place += self._table.values(batch, self.attributes[0], lines[0])[0][rows]
            return rows[np.argsort(place)].astype(np.int32)

        found: NDArray[np.int32] = batch.remember(self._order_key(batch, rows, lines), make)
        return found

    def _order_key(self, batch: EncodedBatch, rows: Integers, lines: Lines) -> Hashable:
        """What sweeps have in common whose events can stand in one order."""
        if len(rows) == batch.size:
            return "order", self.key.finest, self.attributes[:1]
        return "order", self.key.finest, self.attributes, lines

    def count(self, batch: EncodedBatch, alive: NDArray[np.uint64], counts: Integers) -> None:
        """Add to each event how many subscriptions here it meets."""
        for spans, events in self.events(batch):
            kernels.count(
                self.group_start, self.zone_start, _or_none(self.code_start), spans,
                *kernels.axes(spans, events), events, _or_none(alive), self.first_code, counts,
            )  # fmt: skip

    def pairs(
        self, batch: EncodedBatch, alive: NDArray[np.uint64]
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        """The rows of events and the codes they meet, in chunks, grouped by event."""
        for spans, events in self.events(batch):
            start, written = 0, 0
            axes = kernels.axes(spans, events)
            while start < len(events.row):
                left = len(events.row) - start
                size = int(left * self._likely * 1.1) + 64 * ZONE
                rows, codes = ResultColumn(size), ResultColumn(size)
                before = start
                start, written = kernels.write(
                    self.group_start, self.zone_start, _or_none(self.code_start), spans, *axes,
                    events, _or_none(alive), self.first_code, start, rows.array, codes.array,
                )  # fmt: skip
                if start == before:
                    self._likely = 2 * self._likely + 64 * ZONE
                    continue
                self._likely = max(written / (start - before), 0.9 * self._likely)
                if written:
                    yield rows.arrow(written), codes.arrow(written)

    @property
    def codes(self) -> int:
        """How many subscriptions are kept here."""
        return int(self.code_start[-1]) if len(self.code_start) else len(self)

    def structure(self) -> Structure:
        """What this is, for a description of the index."""
        shared = " with several subscribers" if len(self.code_start) else ""
        name = f"ranges{shared}, by key ({', '.join(self.key.attributes)})"
        return Structure(name, self.codes, len(self), self.nbytes)

    @property
    def nbytes(self) -> int:
        """The memory of all of it."""
        arrays: list[NDArray[Any]] = [array for spans in self._spans.values() for array in spans]
        if self._owned is not None:
            arrays += [entries for entries, _ in self._owned]
        ranges = 0 if self._owned is None else sum(each.nbytes for _, each in self._owned)
        index = (self.group_start, self.zone_start, self.code_start)
        return self.key.nbytes + ranges + sum(array.nbytes for array in (*arrays, *index))


def _or_none(array: NDArray[Any]) -> NDArray[Any] | None:
    """The array, or None if it is empty: kernels are compiled without what is not there."""
    return array if len(array) else None

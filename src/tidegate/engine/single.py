"""Which subscriptions of a segment does one event meet, at once?

A batch of one event would be slow: Arrow and NumPy take longer to look at a column than plain
Python takes to look at a value. Here each value of the event is looked up in dictionaries and by
bisection, and a few compiled calls (`single_kernels`, `sweep_kernels`) do the rest, over the same
arrays as for batches. What is kept besides is small, and made on the first event.
"""

import threading
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine import single_kernels, sweep_kernels
from tidegate.engine.axes import Axis
from tidegate.engine.kernels import DEPTH
from tidegate.engine.keys import NO_GROUP
from tidegate.engine.partition import Partition
from tidegate.engine.sweep import Sweep
from tidegate.filters.evaluate import value_of
from tidegate.filters.lines import (
    ALL_LINES,
    BIGINT,
    DOUBLE,
    STRING,
    Line,
    double_key,
    key_of,
)
from tidegate.filters.schema import Schema
from tidegate.filters.values import BIGINT_MAX, BIGINT_MIN
from tidegate.filters.valueset import line_of

if TYPE_CHECKING:
    from tidegate.engine.segment import Segment

Place: TypeAlias = tuple[Line, Any]  # the line a value lies on, and its key
Codes: TypeAlias = NDArray[np.int32]
Alive: TypeAlias = NDArray[np.uint64]
_Pieces: TypeAlias = tuple[
    NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]
]

_ROOM: Final = threading.local()
_LARGE: Final = 2**63 - 1
_OWN_LINE: Final = {int: BIGINT, float: DOUBLE, str: STRING}
_ANY_LINE: Final = frozenset(line.name for line in ALL_LINES)


class SingleEvents:
    """A segment, asked about one event at a time. Any number of threads may ask."""

    def __init__(self, segment: "Segment") -> None:
        self._segment = segment
        self._schema = segment.table.conditions.schema
        compared = segment.compared
        self._attributes = [
            (name, own_line(name, self._schema), compared.get(name, _ANY_LINE))
            for name in segment.attributes
        ]
        self._rows = _Rows(segment)

    def match(self, event: Mapping[str, Any], alive: Alive, strange: dict[str, str]) -> Codes:
        """The codes of the subscriptions that the event meets.

        Attributes whose value no predicate here compares with are added to `strange`, with the
        name of the value's line.
        """
        places: dict[str, Place | None] = {}
        schema, get = self._schema, event.get
        for name, own, compared in self._attributes:
            if own is BIGINT and type(value := get(name)) is int and -_LARGE < value < _LARGE:
                place: Place | None = (BIGINT, value)  # the commonest, without a call
            else:
                place = place_of(event, name, schema, own)
            places[name] = place
            if place is not None and place[0].name not in compared:
                strange[name] = place[0].name
        out = _room(len(self._segment) + sweep_kernels.ZONE)
        written = 0
        numbers: dict[str, int] = {}
        for sweep in self._segment.sweeps:
            group = sweep.key.group([places[name] for name in sweep.key.attributes])
            if group != NO_GROUP:
                written += self._sweep(sweep, group, places, numbers, alive, out[written:])
        if self._segment.partitions:
            truth = self._rows.truth(places)
            for partition in self._segment.partitions:
                written += _meet(partition, places, truth, alive, out[written:])
        return out[:written].copy()

    def _sweep(
        self,
        sweep: Sweep,
        group: int,
        places: dict[str, Place | None],
        numbers: dict[str, int],
        alive: Alive,
        out: Codes,
    ) -> int:
        here = [places[name] for name in sweep.attributes]
        lines = sweep.range_lines.of(here)
        spans = sweep.spans(lines)
        least, most = [], []
        for attribute, place, line in zip(sweep.attributes, here, lines, strict=True):
            if place is None or line is None or place[0] != line:
                least.append(sweep_kernels.LOWEST)
                most.append(sweep_kernels.HIGHEST)
                continue
            number = numbers.get(attribute)
            if number is None:
                cuts = self._segment.ends.cuts(attribute, line)
                number = numbers[attribute] = _number(cuts, place[1])
            least.append(number)
            most.append(number)
        return int(
            sweep_kernels.meet(
                sweep.group_start, sweep.zone_start, sweep.code_start, *spans[:4],
                np.array(least, np.int32), np.array(most, np.int32), alive,
                group, sweep.first_code, out,
            )
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """The memory kept for single events alone."""
        return self._rows.nbytes


def _meet(
    partition: Partition,
    places: dict[str, Place | None],
    truth: NDArray[np.uint8],
    alive: Alive,
    out: Codes,
) -> int:
    group = 0
    if partition.key is not None:
        group = partition.key.group([places[name] for name in partition.key.attributes])
        if group == NO_GROUP:
            return 0
    axes = partition.axes
    here = [places[name] for name in axes.attributes]
    lines = axes.range_lines.of(here)
    ends, entries = axes.ends(lines), partition.entries
    keys, present = np.zeros(len(lines), np.int64), np.zeros(len(lines), np.uint8)
    for axis, (place, line) in enumerate(zip(here, lines, strict=True)):
        if line is not None and place is not None and place[0] == line:
            keys[axis], present[axis] = axes.range_lines.key(axis, line, place[1]), 1
    return int(
        single_kernels.meet(
            entries.zone_start, entries.zone_entry, entries.zone_head, entries.ref_start,
            entries.refs, entries.range_start, entries.range_axis, ends.range_low,
            ends.range_high, ends.low_start, ends.lows, ends.high_start, ends.highs,
            entries.token_start, entries.tokens, entries.code_start, alive, group, keys, present,
            truth, partition.first_code, np.empty(len(lines), np.int64),
            np.empty(len(lines), np.int64), np.zeros(DEPTH + 1, np.uint8), out,
        )
    )  # fmt: skip


class _Rows:
    """The pieces of all axes of a segment, one after the other, as far as they are known."""

    def __init__(self, segment: "Segment") -> None:
        self._table = segment.table
        self._numbers: dict[tuple[str, str], int] = {}
        self._axes: list[Axis | None] = []
        self._parts: list[tuple[Any, Any, Any]] = []
        self._flat: _Pieces | None = None
        self._lock = threading.Lock()

    def truth(self, places: dict[str, Place | None]) -> NDArray[np.uint8]:
        """Which conditions hold for an event."""
        conditions = self._table.conditions
        truth = np.zeros(len(conditions), np.uint8)
        axes, ranks = [], []
        by_attribute = self._table.by_attribute
        numbers, all_axes = self._numbers, self._axes
        for attribute, place in places.items():
            if attribute not in by_attribute:
                continue
            number = numbers.get((attribute, "absent" if place is None else place[0].name))
            if number is None:
                number = self._add(attribute, place)
            axes.append(number)
            axis = all_axes[number]
            if axis is None or place is None:
                ranks.append(0)
                continue
            line, key = place
            ranks.append(axis.rank(key, line.scale))
            if line is STRING:
                for text in self._table.texts(attribute):
                    truth[text] |= conditions.sets[text].has(key)
        flat = self._flat
        if flat is not None:
            single_kernels.hold(np.array(axes, np.int64), np.array(ranks, np.int64), *flat, truth)
        return truth

    def _add(self, attribute: str, place: Place | None) -> int:
        """Take in the axis of an attribute and line."""
        with self._lock:
            if place is None:
                axis, pieces = None, self._table.absent(attribute)
            else:
                axis = self._table.axis(attribute, place[0].name)
                pieces = axis.pieces
            self._parts.append((pieces.condition, pieces.low, pieces.high))
            self._axes.append(axis)
            start = np.cumsum([0, *[len(part[0]) for part in self._parts]])
            row, low, high = (np.concatenate(column) for column in zip(*self._parts, strict=True))
            self._flat = (start.astype(np.int64), row, low, high)
            name = "absent" if place is None else place[0].name
            number = self._numbers[attribute, name] = len(self._axes) - 1
            return number

    @property
    def nbytes(self) -> int:
        return 0 if self._flat is None else sum(array.nbytes for array in self._flat)


def _room(size: int) -> Codes:
    """An array of at least that size, the same for every call of a thread."""
    found: Codes | None = getattr(_ROOM, "array", None)
    if found is None or len(found) < size:
        found = _ROOM.array = np.empty(size, np.int32)
    return found


def _number(cuts: NDArray[Any], key: int) -> int:
    """The number of a value among the ends; see `numbers`."""
    at = bisect_left(cuts, key)
    return 2 * at + bool(at < len(cuts) and cuts[at] == key)


def own_line(attribute: str, schema: Schema | None) -> Line | None:
    """The line of an attribute, if its plain values lie there and nowhere else."""
    if schema is None or "." in attribute or "`" in attribute:
        return None
    return schema[attribute].type.line


def place_of(
    event: Mapping[str, Any], attribute: str, schema: Schema | None, own: Line | None
) -> Place | None:
    """Where the event's value of an attribute, whose own line is given, lies; None: absent."""
    if own is not None or (schema is None and "." not in attribute and "`" not in attribute):
        value: Any = event.get(attribute)
        plain = _OWN_LINE.get(type(value))
        if plain is not None and (own is None or own is plain):
            if plain is BIGINT and BIGINT_MIN <= value <= BIGINT_MAX:
                return BIGINT, value
            if plain is DOUBLE:
                return DOUBLE, double_key(value)
            if plain is STRING and value.isascii():
                return STRING, value
    value = value_of(event, attribute, schema)
    if value is None:
        return None
    line = line_of(value, ALL_LINES if schema is None else schema[attribute].lines)
    return line, key_of(line, value)

"""Which subscriptions of a segment does one event meet, at once?

A batch of one event would be slow: Arrow and NumPy take longer to look at a column than plain
Python takes to look at a value. Here each value of the event is looked up in dictionaries and by
bisection, and a few compiled calls (`single_kernels`, `sweep_kernels`) do the rest, over the same
arrays as for batches. What is kept besides (`wide_zones`) is made on the first event.
"""

import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.conditions.axis import Axis, Pieces
from tidegate.engine.conditions.key_table import NO_GROUP
from tidegate.engine.conditions.point_table import NO_CONDITION, PointTable
from tidegate.engine.conditions.range_lines import Lines
from tidegate.engine.partition.arrays import DEPTH
from tidegate.engine.partition.partition import Partition
from tidegate.engine.partition.rows import AxisTable
from tidegate.engine.primitives.integer_arrays import ZONE
from tidegate.engine.primitives.odd_even import number_among
from tidegate.engine.primitives.offsets import starts
from tidegate.engine.single import single_kernels
from tidegate.engine.single.wide_zones import WideZones, wide_zones
from tidegate.engine.sweep import sweep_kernels
from tidegate.engine.sweep.end_numbers import EndTable
from tidegate.engine.sweep.sweep import Sweep
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

Place: TypeAlias = tuple[Line, Any]  # the line a value lies on, and its key
Codes: TypeAlias = NDArray[np.int32]
Alive: TypeAlias = NDArray[np.uint64]
Bits: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]
_Bounds: TypeAlias = tuple[Lines, Codes, Codes]
_Pieces: TypeAlias = tuple[
    NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]
]

_ROOM: Final = threading.local()
_LARGE: Final = 2**63 - 1
_NO_ZONES: Final = np.empty(0, np.uint32)
_NOTHING: Final = np.empty(0, np.uint64)
_OWN_LINE: Final = {int: BIGINT, float: DOUBLE, str: STRING}
_ANY_LINE: Final = frozenset(line.name for line in ALL_LINES)


class Parts(NamedTuple):
    """What of a segment single events meet."""

    codes: int
    table: AxisTable
    partitions: Sequence[Partition]
    ends: EndTable
    sweeps: Sequence[Sweep]
    attributes: frozenset[str]  # that are looked at
    compared: Mapping[str, frozenset[str]]  # by attribute, the lines on which predicates compare


class SingleEvents:
    """A segment, asked about one event at a time. Any number of threads may ask."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._schema = parts.table.conditions.schema
        self._attributes = [
            (name, own_line(name, self._schema), parts.compared.get(name, _ANY_LINE))
            for name in parts.attributes
        ]
        self._rows = _Truths(parts)

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
        out = _room("codes", self._parts.codes + ZONE, np.int32)
        written = 0
        keys = _Keys(self._parts.table.conditions.points, places)
        bounds: dict[tuple[str, ...], _Bounds] = {}
        numbers: dict[str, int] = {}
        for sweep in self._parts.sweeps:
            group = sweep.key.group(keys)
            if group == NO_GROUP:
                continue
            of_event = bounds.get(sweep.attributes)
            if of_event is None:
                of_event = bounds[sweep.attributes] = self._bounds(sweep, places, numbers)
            lines, least, most = of_event
            written += sweep_kernels.meet(
                *sweep.searched(lines), least, most, alive, group, out[written:]
            )
        if self._rows.partitions:
            truth, axes, ranks = self._rows.truth(places)
            for partition, wide in self._rows.partitions:
                group = 0
                if partition.key is not None:
                    group = partition.key.group(keys)
                    if group == NO_GROUP:
                        continue
                left = _NOTHING if wide is None else _left(wide, axes, ranks)
                written += _meet(partition, group, wide, left, places, truth, alive, out[written:])
        return out[:written].copy()

    def _bounds(
        self, sweep: Sweep, places: dict[str, Place | None], numbers: dict[str, int]
    ) -> _Bounds:
        """The lines of an event on the attributes of a sweep, and where it is among all ends.

        The numbers of its values are kept for other sweeps.
        """
        here = [places[name] for name in sweep.attributes]
        least, most = [], []
        lines = sweep.range_lines.of(here)
        for attribute, place, line in zip(sweep.attributes, here, lines, strict=True):
            if place is None or line is None or place[0] != line:
                least.append(sweep_kernels.LOWEST)
                most.append(sweep_kernels.HIGHEST)
                continue
            number = numbers.get(attribute)
            if number is None:
                cuts = self._parts.ends.cuts(attribute, line)
                number = numbers[attribute] = number_among(cuts, place[1])
            least.append(number)
            most.append(number)
        return lines, np.array(least, np.int32), np.array(most, np.int32)

    @property
    def nbytes(self) -> int:
        """The memory kept for single events alone."""
        return self._rows.nbytes


class _Keys(dict[str, int]):
    """The condition of a key that an event's value of an attribute meets, or `NO_CONDITION`."""

    def __init__(self, points: PointTable, places: dict[str, Place | None]) -> None:
        self._points = points
        self._places = places

    def __missing__(self, attribute: str) -> int:
        place = self._places[attribute]
        number = NO_CONDITION if place is None else self._points.of_value(attribute, *place)
        self[attribute] = number
        return number


def _left(wide: WideZones, axes: Integers, ranks: Integers) -> Bits:
    """The entries in wide zones that an event with these ranks leaves."""
    words = len(wide.entries)
    room = _room("bits", 2 * words, np.uint64)
    left = room[:words]
    single_kernels.leave(axes, ranks, *wide.ladder, wide.entries, room[words : 2 * words], left)
    return left


def _meet(
    partition: Partition,
    group: int,
    wide: WideZones | None,
    left: Bits,
    places: dict[str, Place | None],
    truth: NDArray[np.uint8],
    alive: Alive,
    out: Codes,
) -> int:
    axes = partition.axes
    here = [places[name] for name in axes.attributes]
    lines = axes.range_lines.of(here)
    ends, entries = axes.ends(lines), partition.entries
    keys, present = np.zeros(len(lines), np.int64), np.zeros(len(lines), np.uint8)
    for axis, (place, line) in enumerate(zip(here, lines, strict=True)):
        if line is not None and place is not None and place[0] == line:
            keys[axis], present[axis] = axes.range_lines.key(axis, line, place[1]), 1
    heads, zones = (entries.zone_head, _NO_ZONES) if wide is None else (wide.heads, wide.zones)
    return int(
        single_kernels.meet(
            entries.zone_start, entries.zone_entry, heads, entries.ref_start,
            entries.refs, entries.range_start, entries.range_axis, ends.range_low,
            ends.range_high, ends.low_start, ends.lows, ends.high_start, ends.highs,
            entries.token_start, entries.tokens, entries.code_start, alive, group, keys, present,
            truth, zones, left, partition.first_code, np.empty(len(lines), np.int64),
            np.empty(len(lines), np.int64), np.zeros(DEPTH + 1, np.uint8), out,
        )
    )  # fmt: skip


class _Truths:
    """The pieces of all axes of a segment, one after the other, as far as they are known.

    `partitions` are those of the segment, each with its wide zones, if it has any.
    """

    def __init__(self, parts: Parts) -> None:
        self._table = parts.table
        self._numbers: dict[str, dict[str, int]] = {}
        self._axes: list[Axis | None] = []
        self._parts: list[Pieces] = []
        self._flat = _joined([])
        self._lock = threading.Lock()
        self.partitions: list[tuple[Partition, WideZones | None]] = []
        for each in parts.partitions:
            wide = None if each.key else wide_zones(each.entries, parts.table.conditions)
            self.partitions.append((each, wide))
            self._numbers |= {attribute: {} for attribute in each.rows.attributes}

    def truth(
        self, places: dict[str, Place | None]
    ) -> tuple[NDArray[np.uint8], Integers, Integers]:
        """Which conditions hold for an event; the axes its values lie on, and their ranks.

        The truths have one place more than there are conditions, which is always 0.
        """
        conditions = self._table.conditions
        truth = np.zeros(len(conditions) + 1, np.uint8)
        found, ranks = [], []
        axes = self._axes
        for attribute, numbers in self._numbers.items():
            place = places.get(attribute)
            number = numbers.get("absent" if place is None else place[0].name)
            if number is None:
                self._add(places)
                number = numbers["absent" if place is None else place[0].name]
            found.append(number)
            axis = axes[number]
            if axis is None or place is None:
                ranks.append(0)
                continue
            line, key = place
            if line is BIGINT:
                ranks.append(bisect_right(axis.cuts, key))  # the commonest, without a call
                continue
            ranks.append(axis.rank(key, line.scale))
            if line is STRING:
                for text in self._table.texts(attribute):
                    truth[text] |= conditions[text].allowed.has(key)
        on, at = np.array(found, np.int64), np.array(ranks, np.int64)
        single_kernels.hold(on, at, *self._flat, truth)
        return truth, on, at

    def _add(self, places: dict[str, Place | None]) -> None:
        """Take in the axes of all these places that are not known yet."""
        with self._lock:
            fresh = []
            for attribute, numbers in self._numbers.items():
                place = places.get(attribute)
                name = "absent" if place is None else place[0].name
                if name not in numbers:
                    axis = None if place is None else self._table.axis(attribute, name)
                    pieces = self._table.absent(attribute) if axis is None else axis.pieces
                    fresh.append((attribute, name, axis, pieces))
            self._parts += [pieces for _, _, _, pieces in fresh]
            self._flat = _joined(self._parts)
            for _, wide in self.partitions:
                if wide is not None:
                    wide.add(
                        [
                            (self._table.by_attribute[attribute], pieces, axis.size if axis else 1)
                            for attribute, _, axis, pieces in fresh
                        ]
                    )
            for attribute, name, axis, _ in fresh:  # from here on, others look at them
                self._axes.append(axis)
                self._numbers[attribute][name] = len(self._axes) - 1

    @property
    def nbytes(self) -> int:
        wide = sum(wide.nbytes for _, wide in self.partitions if wide is not None)
        return sum(array.nbytes for array in self._flat[1:]) + wide


def _joined(parts: list[Pieces]) -> _Pieces:
    nothing = np.empty(0, np.uint32)
    return (
        starts(np.array([len(part.condition) for part in parts], np.int64)),
        np.concatenate([nothing, *[part.condition for part in parts]]),
        np.concatenate([nothing, *[part.low for part in parts]]),
        np.concatenate([nothing, *[part.high for part in parts]]),
    )


def _room(name: str, size: int, kind: type) -> NDArray[Any]:
    """An array of at least that size, the same for every call of a thread."""
    found: NDArray[Any] | None = getattr(_ROOM, name, None)
    if found is None or len(found) < size:
        found = np.empty(size, kind)
        setattr(_ROOM, name, found)
    return found


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

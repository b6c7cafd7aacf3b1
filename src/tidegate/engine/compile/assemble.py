"""How do the entries of a plan come to lie in memory?

`assemble` makes a partition of the entries that `layout` chose for it, in the order that serves the
kernels, and `take_apart` makes a draft of partitions again, so that segments can be merged without
the filters they came from.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.compile.draft import Draft
from tidegate.engine.compile.layout import Plan, skeletons
from tidegate.engine.conditions.key_table import KeyTable
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.conditions.ranges import Ranges, concatenate
from tidegate.engine.partition.arrays import NO_ROW, Entries
from tidegate.engine.partition.partition import Partition
from tidegate.engine.partition.programs import NO_PROGRAM, Programs, flat
from tidegate.engine.partition.range_ends import RangeAxes
from tidegate.engine.partition.rows import AxisTable
from tidegate.engine.primitives.distinct import firsts, numbered, occurring
from tidegate.engine.primitives.integer_arrays import ZONE
from tidegate.engine.primitives.offsets import lengths, pick, starts
from tidegate.engine.sweep.end_numbers import EndTable
from tidegate.engine.sweep.sweep import Sweep

Integers: TypeAlias = NDArray[np.int64]

_Apart: TypeAlias = tuple[
    NDArray[np.int32], Integers, NDArray[np.uint16], Ranges, Integers, NDArray[np.int32]
]

_U32: Final = np.uint32
_FEWEST_OF_A_HEAD: Final = 16  # entries that make a condition the head of a zone


def assemble(
    draft: Draft,
    plan: Plan,
    subscribers: Integers,
    guesses: NDArray[np.float64],
    table: AxisTable,
    first_code: int,
) -> tuple[Partition, Integers]:
    """The partition of a plan, and its entries in their order."""
    group, columns = _groups(plan)
    refs, ref_count = _refs(draft, plan, guesses)
    attributes, axis, ranges, range_count = _ranges(draft, plan.entries)
    order, sizes, heads = _order(draft, plan, group, refs, ref_count, axis, ranges, range_count)
    headed = np.repeat(heads != NO_ROW, sizes)  # their first ref is that of the zone
    entries = plan.entries[order]
    ref_order = pick(starts(ref_count)[:-1][order] + headed, ref_count[order] - headed)
    range_order = pick(starts(range_count)[:-1][order], range_count[order])
    tokens, token_count = flat(draft.programs, draft.program[entries])
    groups = len(columns[0]) if columns else 1
    group_start = starts(np.bincount(group, minlength=groups))
    zone_entry = starts(sizes)
    flat_entries = Entries(
        group_start.astype(_U32),
        _starts_if(ref_count[order] - headed),
        refs[ref_order].astype(_U32),
        _starts_if(range_count[order]),
        axis[range_order],
        _starts_if(token_count),
        tokens,
        starts(subscribers[entries]).astype(_U32) if plan.shared else np.empty(0, _U32),
        np.searchsorted(zone_entry, group_start).astype(_U32),
        zone_entry.astype(_U32),
        heads.astype(_U32),
        _ranged_zones(zone_entry, axis, range_count, order),
    )
    conditions = draft.conditions
    key = KeyTable(conditions, columns) if columns else None
    axes = RangeAxes(attributes, ranges.take(range_order), flat_entries, conditions.schema)
    return Partition(table, key, flat_entries, axes, first_code), entries


def assemble_sweep(
    draft: Draft, plan: Plan, subscribers: Integers, table: EndTable, first_code: int
) -> tuple[Sweep, Integers]:
    """The sweep of a plan, and its entries in their order."""
    group, columns = _groups(plan)
    attributes, axis, ranges, range_count = _ranges(draft, plan.entries)
    ranged, low = _first_range(axis, ranges, range_count)
    order = np.lexsort((low, ranged, group))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    owner = np.repeat(place, range_count)
    owned = [
        (owner[axis == number], ranges.take(np.flatnonzero(axis == number)))
        for number in range(len(attributes))
    ]
    group_start = starts(np.bincount(group, minlength=len(columns[0]))).astype(_U32)
    conditions = draft.conditions
    key = KeyTable(conditions, columns)
    entries = plan.entries[order]
    codes = starts(subscribers[entries]).astype(_U32) if plan.shared else np.empty(0, _U32)
    sweep = Sweep(key, group_start, codes, attributes, owned, table, conditions.schema, first_code)
    return sweep, entries


def _groups(plan: Plan) -> tuple[Integers, tuple[NDArray[np.int32], ...]]:
    """The group of each entry, and the conditions of each group."""
    if not plan.keys:
        return np.zeros(len(plan.entries), np.int64), ()
    codes = np.zeros(len(plan.entries), np.int64)
    for column in plan.keys:
        own = numbered(column)
        codes = numbered(codes * (int(own.max()) + 1) + own)
    first = firsts(codes)
    return codes, tuple(column[first] for column in plan.keys)


def _refs(
    draft: Draft, plan: Plan, guesses: NDArray[np.float64]
) -> tuple[NDArray[np.int32], Integers]:
    """The refs of each entry beside its key, the most selective first."""
    counts = np.diff(draft.ref_start)[plan.entries]
    refs = draft.refs[pick(draft.ref_start[plan.entries], counts)]
    owner = np.repeat(np.arange(len(plan.entries)), counts)
    kept = np.ones(len(refs), np.bool_)
    for column in plan.keys:
        kept &= refs != column[owner]
    refs, owner = refs[kept], owner[kept]
    order = np.lexsort((refs, guesses[refs] if len(refs) else refs, owner))
    return refs[order], np.bincount(owner, minlength=len(plan.entries))


def _ranges(
    draft: Draft, entries: Integers
) -> tuple[tuple[str, ...], NDArray[np.uint8], Ranges, Integers]:
    """The attributes with ranges, the narrowest first; of each range its axis; and how many."""
    counts = np.diff(draft.range_start)[entries]
    which = pick(draft.range_start[entries], counts)
    attribute, ranges = draft.range_attribute[which], draft.ranges.take(which)
    found = occurring(attribute).tolist()
    two_sided = (ranges.kind == 0) | ((ranges.kind >> 3 & 3 > 0) & (ranges.kind >> 5 & 3 > 0))
    width = np.where(two_sided, ranges.high.astype(np.float64) - ranges.low, np.inf)
    # What is open on one side, or nearly, has a width of its own order.
    typical = {number: float(np.median(width[attribute == number])) for number in found}
    spread = {
        number: float(np.ptp(ranges.low[attribute == number].astype(np.float64))) or 1.0
        for number in found
    }
    found.sort(key=lambda number: typical[number] / spread[number])
    axis_of = np.zeros(max(found, default=0) + 1, np.uint8)
    axis_of[found] = np.arange(len(found))
    axis = axis_of[attribute] if len(attribute) else np.empty(0, np.uint8)
    owner = np.repeat(np.arange(len(entries)), counts)
    order = np.lexsort((axis, owner))
    return tuple(draft.attributes[n] for n in found), axis[order], ranges.take(order), counts


def _order(
    draft: Draft,
    plan: Plan,
    group: Integers,
    refs: NDArray[np.int32],
    ref_count: Integers,
    axis: NDArray[np.uint8],
    ranges: Ranges,
    range_count: Integers,
) -> tuple[Integers, Integers, Integers]:
    """The order of the entries: by group, then so that neighbours fail together.

    Also the sizes of the zones, and the condition that is the first of all entries of a zone.
    """
    ranged, low = _first_range(axis, ranges, range_count)
    first = np.full(len(ref_count), NO_ROW, np.int64)
    having = np.flatnonzero(ref_count)
    first[having] = refs[starts(ref_count)[:-1][having]]
    if plan.keys or plan.programs or (len(ranged) and ranged.mean() >= 0.5):
        if plan.programs:
            order = np.lexsort((first, ref_count, skeletons(draft, plan.entries), group))
        else:
            order = np.lexsort((low, ~ranged, group))
        sizes = _even(np.bincount(group))
        return order, sizes, np.full(len(sizes), NO_ROW, np.int64)
    _, run, length = np.unique(first, return_inverse=True, return_counts=True)
    lonely = (length[run] < _FEWEST_OF_A_HEAD) | (first == NO_ROW)
    order = np.lexsort((ref_count, first, lonely))
    heads, counts = np.unique(first[~lonely], return_counts=True)
    sizes = _even(counts)
    zones = -(-counts // ZONE)
    rest = _even(np.array([np.count_nonzero(lonely)]))
    return (
        order,
        np.concatenate([sizes, rest]),
        np.concatenate([np.repeat(heads, zones), np.full(len(rest), NO_ROW, np.int64)]),
    )


def _even(sizes: NDArray[Any]) -> Integers:
    """Runs of these sizes cut into zones of nearly equal size."""
    zones = -(-sizes // ZONE)
    run = np.repeat(np.arange(len(sizes)), zones)
    within = np.arange(int(zones.sum())) - np.repeat(np.cumsum(zones) - zones, zones)
    begin: Integers = sizes[run] * within // zones[run]
    end: Integers = sizes[run] * (within + 1) // zones[run]
    return end - begin


def _first_range(
    axis: NDArray[np.uint8], ranges: Ranges, counts: Integers
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which entries have a range on axis 0, and where it begins."""
    ranged = np.zeros(len(counts), np.bool_)
    low = np.zeros(len(counts), np.float64)
    having = np.flatnonzero(counts)
    if len(having):
        at = starts(counts)[:-1][having]
        ranged[having] = axis[at] == 0
        begin = np.where(
            ranges.kind & 7 == 2, ranges.low.view(np.float64), ranges.low.astype(np.float64)
        )
        low[having] = begin[at]
    return ranged, low


def _ranged_zones(
    zone_entry: Integers, axis: NDArray[np.uint8], range_count: Integers, order: Integers
) -> NDArray[np.uint8]:
    """Of each zone, whether all its entries have a range on axis 0."""
    if not len(axis):
        return np.empty(0, np.uint8)
    ranged = np.zeros(len(range_count), np.bool_)
    having = np.flatnonzero(range_count)
    ranged[having] = axis[starts(range_count)[:-1][having]] == 0
    return np.minimum.reduceat(ranged[order], zone_entry[:-1]).astype(np.uint8)


def _starts_if(counts: NDArray[Any]) -> NDArray[np.uint32]:
    """Where the parts of each entry begin; empty if none has any."""
    return starts(counts).astype(_U32) if counts.any() else np.empty(0, _U32)


def take_apart(
    partitions: Sequence[Partition], sweeps: Sequence[Sweep], conditions: Conditions, size: int
) -> Draft:
    """A draft of all their entries; its subscriptions are those with codes up to `size`."""
    programs = Programs(conditions)
    entry = np.full(size, -1, np.int32)
    names: dict[str, int] = {}
    parts = []
    total = 0
    for sweep in sweeps:
        parts.append(_take_sweep_apart(sweep, names))
        _set_entries(entry, sweep, sweep.code_start, len(sweep), total)
        total += len(sweep)
    for partition in partitions:
        part = _take_apart(partition, programs, names)
        count = len(part[1])
        _set_entries(entry, partition, partition.entries.code_start, count, total)
        parts.append(part)
        total += count
    if not parts:
        empty = np.empty(0, np.int32)
        return Draft(conditions, programs, (), starts(empty), empty, starts(empty),
                     empty.astype(np.uint16), concatenate([]), empty, entry)  # fmt: skip
    return Draft(
        conditions,
        programs,
        tuple(names),
        starts(np.concatenate([part[1] for part in parts])),
        np.concatenate([part[0] for part in parts]),
        starts(np.concatenate([part[4] for part in parts])),
        np.concatenate([part[2] for part in parts]),
        concatenate([part[3] for part in parts]),
        np.concatenate([part[5] for part in parts]),
        entry,
    )


def _set_entries(
    entry: NDArray[np.int32],
    kept: Partition | Sweep,
    code_start: NDArray[np.uint32],
    count: int,
    first: int,
) -> None:
    """Say of the subscriptions kept there which entry they have, numbered from `first` on."""
    each = lengths(code_start) if len(code_start) else np.ones(count, np.int64)
    here = slice(kept.first_code, kept.first_code + kept.codes)
    entry[here] = np.repeat(np.arange(first, first + count), each)


def _take_sweep_apart(sweep: Sweep, names: dict[str, int]) -> _Apart:
    """The same of a sweep."""
    group = np.repeat(np.arange(len(sweep.key)), lengths(sweep.group_start))
    refs = np.sort(np.stack([column[group] for column in sweep.key.columns], axis=1), axis=1)
    numbers = [names.setdefault(name, len(names)) for name in sweep.attributes]
    owner = _joined([entries for entries, _ in sweep.owned], np.int64)
    attribute = np.repeat(
        np.array(numbers, np.uint16), [len(entries) for entries, _ in sweep.owned]
    )
    ranges = concatenate([each for _, each in sweep.owned])
    order = np.lexsort((attribute, owner))
    return (
        refs.ravel(),
        np.full(len(sweep), refs.shape[1]),
        attribute[order],
        ranges.take(order),
        np.bincount(owner, minlength=len(sweep)),
        np.full(len(sweep), NO_PROGRAM, np.int32),
    )


def _joined(parts: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)


def _take_apart(partition: Partition, programs: Programs, names: dict[str, int]) -> _Apart:
    """Refs and how many, attributes of ranges, ranges and how many, and programs of entries."""
    entries = partition.entries
    count = int(entries.group_start[-1])
    ref_count = _counts(entries.ref_start, count)
    owner = np.repeat(np.arange(count), ref_count)
    refs = entries.refs.astype(np.int32)
    heads = np.repeat(entries.zone_head, lengths(entries.zone_entry))
    headed = np.flatnonzero(heads != NO_ROW)
    refs = np.concatenate([refs, heads[headed].astype(np.int32)])
    owner = np.concatenate([owner, headed])
    ref_count[headed] += 1
    if partition.key is not None:
        group = np.repeat(np.arange(len(entries.group_start) - 1), lengths(entries.group_start))
        for column in partition.key.columns:
            refs = np.concatenate([refs, column[group]])
            owner = np.concatenate([owner, np.arange(count)])
            ref_count = ref_count + 1
    refs = refs[np.lexsort((refs, owner))]
    axis_names = [names.setdefault(name, len(names)) for name in partition.axes.attributes]
    attribute = np.array(axis_names, np.uint16)[entries.range_axis]
    token_start = entries.token_start.astype(np.int64)
    if len(token_start):
        program = np.array(
            [
                programs.keep(tuple(entries.tokens[token_start[i] : token_start[i + 1]].tolist()))
                for i in range(count)
            ],
            np.int32,
        )
    else:
        program = np.full(count, NO_PROGRAM, np.int32)
    range_count = _counts(entries.range_start, count)
    ranges = partition.axes.ranges if len(axis_names) else concatenate([])
    return refs, ref_count, attribute, ranges, range_count, program


def _counts(start: NDArray[np.uint32], count: int) -> Integers:
    return lengths(start) if len(start) else np.zeros(count, np.int64)

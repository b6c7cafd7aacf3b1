"""Where is each entry kept?

A draft's entries are divided into **partitions**. Entries with programs are apart from plain
conjunctions, and entries shared by several subscriptions apart from the others, because the kernels
treat them differently. Of each kind, those that demand single values of an attribute are
partitioned by these values, if that pays: if enough entries do, and if the values are spread so
that an event meets few of the entries. How few is measured on the entries themselves: if a share p
of them demands a value, the sum of p² is what an event will meet that comes by the same law. A key
that is not selective enough is made longer. What is left is one partition without a key.

Inside a partition the order serves the kernels: groups by key; then entries sorted by the low end
of their first range, or by their most selective condition, so that neighbours fail together.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.compile.draft import Draft
from tidegate.engine.conditions.key_table import points
from tidegate.engine.partition.programs import skeleton
from tidegate.engine.primitives.distinct import numbered, occurring
from tidegate.engine.primitives.offsets import pick

Integers: TypeAlias = NDArray[np.int64]

_ENTRIES_WORTH_A_KEY: Final = 16_384  # entries that are worth a partition by key
_ENTRIES_WORTH_A_SWEEP: Final = 1_024  # entries, nothing but key and ranges, that are worth a sweep
_SELECTIVE: Final = 0.5  # of its entries that an event may meet, at most, for a key to pay
_GAIN: Final = 0.7  # of the entries met that a longer key may leave, at most
_FOLLOWING: Final = 1  # entries that are swept if many are
_PLANS: Final = 12  # by key, of entries of one kind
_ATTRIBUTES_OF_A_KEY: Final = 3  # attributes of a key
_CODES_OF_A_KEY: Final = 2**62  # of keys, at most: each has a 64-bit integer
_ATTRIBUTES_SWEPT: Final = 2  # attributes whose ranges are swept


@dataclass(frozen=True, slots=True)
class Plan:
    """The entries of one partition, in their order, and the conditions of their key."""

    entries: Integers
    keys: tuple[NDArray[np.int32], ...]  # by attribute of the key, one condition for each entry
    shared: bool
    programs: bool
    sweep: bool = False  # nothing but a key and ranges on a few attributes


def plan(draft: Draft, subscribers: Integers) -> list[Plan]:
    """Divide the entries; `subscribers` counts those of each."""
    keyable = _KeyConditions(draft) if len(draft) >= _ENTRIES_WORTH_A_SWEEP else None
    plans: list[Plan] = []
    has_program = draft.program >= 0
    for programs in (False, True):
        for shared in (False, True):
            mine = np.flatnonzero((has_program == programs) & ((subscribers > 1) == shared))
            if keyable is not None:
                if not programs:
                    mine = _sweep(draft, keyable, mine, shared, plans)
                mine = _by_key(keyable, mine, shared, programs, plans)
            if len(mine):
                plans.append(Plan(mine, (), shared, programs))
    return plans


def _sweep(
    draft: Draft, keyable: "_KeyConditions", mine: Integers, shared: bool, plans: list[Plan]
) -> Integers:
    """Add plans of entries that are swept, and say which are left.

    Sweeps are cheap, so once there are enough entries for one, the others follow, however few.
    """
    bare = mine[np.diff(draft.ref_start)[mine] == keyable.count[mine]]
    enough = _FOLLOWING if any(each.sweep for each in plans) else _ENTRIES_WORTH_A_SWEEP
    swept: list[Integers] = []
    while len(bare) >= enough and len(swept) < _PLANS:
        chosen = _choose_key(keyable, bare, enough, 1.0 if enough == _FOLLOWING else _SELECTIVE)
        if chosen is None:
            break
        entries, keys = chosen
        fit = np.flatnonzero(_sweepable(draft, entries, len(keys)))
        if len(fit) >= max(enough // 2, 1):
            for some in _by_axes(draft, entries, fit):
                own = tuple(column[some] for column in keys)
                plans.append(Plan(entries[some], own, shared, programs=False, sweep=True))
            swept.append(entries[fit])
            bare = np.setdiff1d(bare, entries[fit], assume_unique=True)
            enough = _FOLLOWING
        else:
            bare = np.setdiff1d(bare, entries, assume_unique=True)
    return np.setdiff1d(mine, np.concatenate(swept), assume_unique=True) if swept else mine


def _by_key(
    keyable: "_KeyConditions", mine: Integers, shared: bool, programs: bool, plans: list[Plan]
) -> Integers:
    """Add plans of entries that have keys, and say which are left."""
    for _ in range(_PLANS):
        chosen = (
            _choose_key(keyable, mine, _ENTRIES_WORTH_A_KEY, _SELECTIVE)
            if len(mine) >= _ENTRIES_WORTH_A_KEY
            else None
        )
        if chosen is None:
            break
        entries, keys = chosen
        plans.append(Plan(entries, keys, shared, programs))
        mine = np.setdiff1d(mine, entries, assume_unique=True)
    return mine


def _sweepable(draft: Draft, entries: Integers, keys: int) -> NDArray[np.bool_]:
    """Which entries are nothing but their key and ranges on the most used attributes."""
    counts = np.diff(draft.range_start)[entries]
    which = pick(draft.range_start[entries], counts)
    attribute = draft.range_attribute[which]
    chosen = np.argsort(-np.bincount(attribute, minlength=1), kind="stable")[:_ATTRIBUTES_SWEPT]
    ranges = draft.ranges
    fits = np.isin(attribute, chosen) & ~ranges.take(which).reaches_everywhere()
    owner = np.repeat(np.arange(len(entries)), counts)
    fitting = np.bincount(owner[fits], minlength=len(entries))
    bare: NDArray[np.bool_] = np.diff(draft.ref_start)[entries] == keys
    swept: NDArray[np.bool_] = bare & (fitting == counts)
    return swept


def _by_axes(draft: Draft, entries: Integers, fit: Integers) -> list[Integers]:
    """Those that are swept, apart by how many ranges they have, if they are many.

    Then those with one range need no look at the others' second ones.
    """
    counts = np.diff(draft.range_start)[entries[fit]]
    found = [fit[counts == count] for count in occurring(counts).tolist()]
    return found if min(len(some) for some in found) >= _ENTRIES_WORTH_A_KEY else [fit]


class _KeyConditions:
    """For each attribute, the condition by which an entry demands a single value of it."""

    def __init__(self, draft: Draft) -> None:
        conditions = draft.conditions
        uses = np.bincount(draft.refs, minlength=len(conditions))
        often_first = np.argsort(-uses, kind="stable")[: np.count_nonzero(uses)]
        usable = points(conditions, often_first)
        names = [condition.attribute for condition in conditions]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
        attribute = np.array([numbers[name] for name in names], np.int64)
        is_usable = np.zeros(len(conditions), np.bool_)
        is_usable[list(usable)] = True
        entries = np.repeat(np.arange(len(draft)), np.diff(draft.ref_start))
        self._columns: dict[int, NDArray[np.int32]] = {}
        wanted = is_usable[draft.refs] if len(draft.refs) else np.zeros(0, np.bool_)
        refs, entries = draft.refs[wanted], entries[wanted]
        self.count = np.bincount(entries, minlength=len(draft))  # of such conditions, by entry
        for number in occurring(attribute[refs]).tolist() if len(refs) else ():
            here = attribute[refs] == number
            if np.count_nonzero(here) >= _FOLLOWING:
                column = np.full(len(draft), -1, np.int32)
                column[entries[here]] = refs[here]
                self._columns[number] = column

    @property
    def attributes(self) -> list[int]:
        """The numbers of the attributes that enough entries demand a value of."""
        return list(self._columns)

    def column(self, attribute: int) -> NDArray[np.int32]:
        """The condition of each entry, or -1."""
        return self._columns[attribute]


def _choose_key(
    keyable: _KeyConditions, entries: Integers, enough: int, selective: float
) -> tuple[Integers, tuple[NDArray[np.int32], ...]] | None:
    """The key that leaves an event the fewest of these entries, and the entries that have it.

    Of all that have it, an event may be left the share `selective` at most.
    """
    chosen: list[int] = []
    codes = np.zeros(len(entries), np.int64)
    met = 1.0  # of the entries, by an event
    spread = 1  # codes that the keys may have, see `key_table`
    while len(chosen) < _ATTRIBUTES_OF_A_KEY:
        best: tuple[float, int, Integers, Integers, int] | None = None
        for attribute in keyable.attributes:
            if attribute in chosen:
                continue
            own = keyable.column(attribute)[entries]
            having = np.flatnonzero(own >= 0)
            if len(having) < enough:
                continue
            further = numbered(own[having])
            size = int(further.max()) + 1
            if spread * size > _CODES_OF_A_KEY:
                continue
            joint = numbered(codes[having] * size + further)
            share = np.bincount(joint) / len(having)
            left = float((share**2).sum()) * len(having)
            saved = len(having) - left
            if best is None or saved > best[0]:
                best = (saved, attribute, having, joint, size)
        if best is None:
            break
        saved, attribute, having, joint, size = best
        left = len(having) - saved
        if chosen and left > met * _GAIN * len(having):
            break
        chosen.append(attribute)
        entries, codes, met, spread = entries[having], joint, left / len(having), spread * size
    if not chosen or met > selective:
        return None
    return entries, tuple(keyable.column(attribute)[entries] for attribute in chosen)


def skeletons(draft: Draft, entries: Integers) -> Integers:
    """A number for each entry: the same for programs of the same operations."""
    programs = draft.program[entries]
    distinct = np.unique(programs).tolist()
    forms = {number: skeleton(draft.programs.tokens(number)) for number in distinct if number >= 0}
    ranks = {form: rank for rank, form in enumerate(sorted(set(forms.values())), 1)}
    by_number = np.array([ranks.get(forms.get(number, b""), 0) for number in distinct], np.int64)
    return by_number[np.searchsorted(distinct, programs)]

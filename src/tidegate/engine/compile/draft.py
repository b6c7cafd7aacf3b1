"""What do these subscriptions ask for, as numbers?

A **draft** is what filters become before it is decided where they are kept: each an **entry**, the
AND of numbered conditions (`numbered`), of ranges of its own (`ranges`), and of at most one
**program** (`programs`), for what is neither. Subscriptions whose filters come out the same share
an entry.

Filters come each by itself (`Drafter.add`, see `clause_entries`), as blocks of many with one text
and columns of constants (`Drafter.add_block`, see `block_entries`), or from entries compiled before
(`Drafter.add_draft`).

Invariant: an event matches a filter if and only if it meets all parts of its entry; a filter that
nothing can match has the entry `NO_ENTRY`.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.compile.block_entries import BlockPart, BlockReader
from tidegate.engine.compile.clause_entries import ClauseReader
from tidegate.engine.compile.own_ranges import Usage, as_ranges
from tidegate.engine.conditions.meaning_cache import Meanings
from tidegate.engine.conditions.numbered import Conditions
from tidegate.engine.conditions.ranges import Ranges, concatenate
from tidegate.engine.partition.programs import NO_PROGRAM, Programs
from tidegate.engine.primitives import background
from tidegate.engine.primitives.distinct import occurring
from tidegate.engine.primitives.offsets import lengths, pick, starts
from tidegate.engine.subscriptions.subscription import Block
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]

NO_ENTRY: Final = -1


@dataclass(frozen=True, slots=True)
class Draft:
    """Entries as flat arrays. `x_start[i]:x_start[i + 1]` is the part of entry i."""

    conditions: Conditions
    programs: Programs
    attributes: tuple[str, ...]  # of the ranges
    ref_start: NDArray[np.int64]
    refs: NDArray[np.int32]  # conditions, ascending within an entry
    range_start: NDArray[np.int64]
    range_attribute: NDArray[np.uint16]
    ranges: Ranges
    program: NDArray[np.int32]
    entry: NDArray[np.int32]  # of each subscription

    def __len__(self) -> int:
        return len(self.program)


class Drafter:
    """Collects subscriptions; `finish` makes the draft of them, in the order they came."""

    def __init__(
        self,
        schema: Schema | None,
        meanings: Meanings | None = None,
        ranged: Iterable[str] = (),
    ) -> None:
        self.schema = schema
        self._ranged = frozenset(ranged)  # attributes that entries elsewhere have ranges on
        self._meanings = meanings
        self.conditions = Conditions(schema, meanings=meanings)
        self.programs = Programs(self.conditions)
        self._attributes: dict[str, int] = {}
        self._parts: list[BlockPart | BlockReader | ClauseReader] = []

    def add(self, filters: Sequence[Filter]) -> None:
        """More subscriptions, with filters of their own; parameters are bound."""
        if filters:
            self._parts.append(ClauseReader(filters, self.schema, self.conditions, self.programs))

    def add_block(self, block: Block) -> None:
        """Many more, of one filter."""
        if len(block):
            self._parts.append(BlockReader(block, self.schema, self.conditions, self.programs))

    def add_draft(self, draft: Draft, which: NDArray[Any]) -> None:
        """Those subscriptions of another draft, which was made under the same schema."""
        draft = _with_ranges(draft, {*self._attributes, *draft.attributes})
        entries = draft.entry[which].astype(np.int64)
        never = entries == NO_ENTRY
        if never.all():
            self._parts.append(_nothing(len(which)))
            return
        entries[never] = 0
        ref_count = np.where(never, 0, np.diff(draft.ref_start)[entries])
        refs = draft.refs[pick(draft.ref_start[entries], ref_count)]
        range_count = np.where(never, 0, np.diff(draft.range_start)[entries])
        ranges = pick(draft.range_start[entries], range_count)
        names = np.array([self._attribute(name) for name in draft.attributes], np.uint16)
        program = np.where(never, NO_PROGRAM, draft.program[entries])
        used = occurring(program)
        adopted = {int(old): self._adopt(draft, int(old)) for old in used if old != NO_PROGRAM}
        self._parts.append(
            BlockPart(
                ref_count,
                _sorted_within(self._renamed(refs, draft.conditions), ref_count),
                range_count,
                names[draft.range_attribute[ranges]] if len(ranges) else np.empty(0, np.uint16),
                draft.ranges.take(ranges),
                _mapped(program, {NO_PROGRAM: NO_PROGRAM, **adopted}),
                never,
            )
        )

    def _renamed(self, refs: NDArray[Any], theirs: Conditions) -> NDArray[np.int32]:
        """The numbers here of conditions of another draft."""
        adopted = self.conditions.adopted
        return _mapped(refs, {old: adopted(theirs[old]) for old in occurring(refs).tolist()})

    def _adopt(self, draft: Draft, program: int) -> int:
        return self.programs.adopt(
            draft.programs.tokens(program),
            lambda old: self.conditions.adopted(draft.conditions[old]),
        )

    def finish(self) -> Draft:
        """The draft of everything added."""
        from tidegate.engine.compile.shared_entries import share

        own = self._own_attributes()
        parts = [
            each if isinstance(each, BlockPart) else each.part(own, self._attribute)
            for each in self._parts
        ]
        everything = self._joined(parts)
        ranged = _with_ranges(everything, own)
        if ranged is not everything:  # without the conditions that are none any more
            fresh = Drafter(self.schema, self._meanings)
            fresh.add_draft(ranged, np.arange(len(ranged.entry)))
            everything = fresh._joined(
                [part for part in fresh._parts if isinstance(part, BlockPart)]
            )
        background.step()
        first, entry = share(everything)
        background.step()
        return _restrict(everything, first, entry)

    def _own_attributes(self) -> set[str]:
        """The attributes whose ranges are kept with the entries."""
        usage = Usage(self.conditions, {*self._attributes, *self._ranged})
        for part in self._parts:
            if not isinstance(part, BlockReader):
                usage.see_conditions(part.refs)
            if not isinstance(part, BlockPart):
                for attribute, ranges in part.possible_ranges():
                    usage.see_ranges(attribute, ranges)
        return usage.own()

    def _joined(self, parts: Sequence[BlockPart]) -> Draft:
        parts = parts or [_nothing(0)]
        never = np.concatenate([part.never for part in parts])
        range_count = np.concatenate([part.range_count for part in parts])
        attribute = np.concatenate([part.range_attribute for part in parts]).astype(np.uint16)
        ranges = concatenate([part.ranges for part in parts])
        owner = np.repeat(np.arange(len(never)), range_count)
        if np.any((attribute[1:] < attribute[:-1]) & (owner[1:] == owner[:-1])):
            order = np.lexsort((attribute, owner))  # the same for all entries, so they compare
            attribute, ranges = attribute[order], ranges.take(order)
        return Draft(
            self.conditions,
            self.programs,
            tuple(self._attributes),
            starts(np.concatenate([part.ref_count for part in parts])),
            np.concatenate([part.refs for part in parts]).astype(np.int32),
            starts(range_count),
            attribute,
            ranges,
            np.concatenate([part.program for part in parts]).astype(np.int32),
            np.where(never, NO_ENTRY, np.arange(len(never))).astype(np.int32),
        )

    def _attribute(self, name: str) -> int:
        """The number of an attribute that has ranges."""
        return self._attributes.setdefault(name, len(self._attributes))


def _nothing(size: int) -> BlockPart:
    return BlockPart(
        np.zeros(size, np.int64),
        np.empty(0, np.int32),
        np.zeros(size, np.int64),
        np.empty(0, np.uint16),
        concatenate([]),
        np.full(size, NO_PROGRAM, np.int32),
        np.ones(size, np.bool_),
    )


def _sorted_within(refs: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """The refs of each entry ascending."""
    entries = np.repeat(np.arange(len(counts)), counts)
    return refs[np.lexsort((refs, entries))]


def _mapped(values: NDArray[Any], names: dict[int, int]) -> NDArray[np.int32]:
    """Each value replaced by what the mapping has for it."""
    if not len(values):
        return np.empty(0, np.int32)
    least = min(names)
    table = np.empty(max(names) - least + 1, np.int32)
    table[np.array(list(names)) - least] = list(names.values())
    found: NDArray[np.int32] = table[values - least]
    return found


def _with_ranges(draft: Draft, own: Container[str]) -> Draft:
    """The draft with ranges in the place of its conditions on these attributes, if it has any."""
    conditions = draft.conditions
    used = [n for n in occurring(draft.refs).tolist() if conditions[n].attribute in own]
    numbers, made = as_ranges(conditions, used)
    if not len(numbers):
        return draft
    place = np.full(len(conditions), -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    leaving = place[draft.refs] >= 0
    names = {name: number for number, name in enumerate(draft.attributes)}
    attribute = np.array(
        [names.setdefault(conditions[n].attribute, len(names)) for n in numbers.tolist()]
    )
    which = place[draft.refs[leaving]]
    entries = np.arange(len(draft))
    ref_owner = np.repeat(entries, lengths(draft.ref_start))
    owner = np.append(np.repeat(entries, lengths(draft.range_start)), ref_owner[leaving])
    order = np.argsort(owner, kind="stable")
    return replace(
        draft,
        attributes=tuple(names),
        ref_start=starts(np.bincount(ref_owner[~leaving], minlength=len(draft))),
        refs=draft.refs[~leaving],
        range_start=starts(np.bincount(owner, minlength=len(draft))),
        range_attribute=np.append(draft.range_attribute, attribute[which]).astype(np.uint16)[order],
        ranges=concatenate([draft.ranges, made.take(which)]).take(order),
    )


def _restrict(draft: Draft, first: Integers, entry: NDArray[np.int32]) -> Draft:
    """The draft with only the entries `first`, which subscriptions have by the numbers `entry`."""
    ref_count = np.diff(draft.ref_start)[first]
    range_count = np.diff(draft.range_start)[first]
    ranges = pick(draft.range_start[first], range_count)
    return Draft(
        draft.conditions,
        draft.programs,
        draft.attributes,
        starts(ref_count),
        draft.refs[pick(draft.ref_start[first], ref_count)],
        starts(range_count),
        draft.range_attribute[ranges],
        draft.ranges.take(ranges),
        draft.program[first],
        entry,
    )

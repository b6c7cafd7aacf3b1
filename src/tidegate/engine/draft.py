"""What do these subscriptions ask for, as numbers?

A **draft** is what filters become before it is decided where they are kept: each an **entry**, the
AND of numbered conditions (`conditions`), of ranges of its own (`ranges`), and of at most one
**program** (`programs`), for what is neither. Subscriptions whose filters come out the same share
an entry.

Filters come one by one (`Drafter.add`), or as blocks of many with one text and columns of constants
(`Drafter.add_block`), where each distinct constant is looked at once, and those of ranges not even
that; or from entries compiled before (`Drafter.add_draft`).

Invariant: an event matches a filter if and only if it meets all parts of its entry; a filter that
nothing can match has the entry `NO_ENTRY`.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.conditions import ALWAYS, NEVER, Conditions, Meanings
from tidegate.engine.owning import Usage, as_ranges
from tidegate.engine.programs import NO_PROGRAM, Programs
from tidegate.engine.ranges import Ranges, can_be_range, concatenate, from_columns
from tidegate.engine.subscription import Block
from tidegate.filters.expression import And, Node, Parameter, Predicate, Truth
from tidegate.filters.filter import Filter, bind, constant
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]

NO_ENTRY: Final = -1

_SPARSE: Final = 8  # times as large as there are values: from there on they are sorted


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


@dataclass(slots=True)
class _Part:
    """Some subscriptions, each an entry for the time being."""

    ref_count: NDArray[Any]
    refs: NDArray[Any]
    range_count: NDArray[Any]
    range_attribute: NDArray[Any]
    ranges: Ranges
    program: NDArray[Any]
    never: NDArray[np.bool_]


@dataclass(slots=True)
class _Singles:
    """Subscriptions that came one by one."""

    ref_count: list[int] = field(default_factory=list)
    refs: list[int] = field(default_factory=list)
    program: list[int] = field(default_factory=list)
    never: list[bool] = field(default_factory=list)


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
        self._parts: list[_Part | _BlockReader] = []
        self._singles = _Singles()

    def add(self, filter: Filter) -> None:
        """One more subscription; the filter's parameters are bound."""
        refs, program = self._conjunction(_top(filter.tree))
        singles = self._singles
        never = NEVER in refs or program == NEVER
        singles.never.append(never)
        kept = [] if never else sorted(number for number in refs if number != ALWAYS)
        singles.refs += kept
        singles.ref_count.append(len(kept))
        singles.program.append(NO_PROGRAM if never or program == ALWAYS else program)

    def _conjunction(self, parts: Iterable[Node]) -> tuple[set[int], int]:
        """The conditions of a conjunction, one for each attribute, and its program."""
        found: dict[str, int] = {}
        rest: list[Node] = []
        for part in parts:
            if isinstance(part, Predicate):
                number = self.conditions.of(part)
                other = found.get(part.attribute)
                if other is not None:
                    number = self.conditions.both(number, other)
                found[part.attribute] = number
            elif isinstance(part, Truth):
                if not part.value:
                    return {NEVER}, ALWAYS
            else:
                rest.append(part)
        return set(found.values()), self.programs.of(And(tuple(rest))) if rest else ALWAYS

    def add_block(self, block: Block) -> None:
        """Many more, of one filter."""
        self._close_singles()
        if len(block):
            self._parts.append(_BlockReader(self, block))

    def add_draft(self, draft: Draft, which: NDArray[Any]) -> None:
        """Those subscriptions of another draft, which was made under the same schema."""
        self._close_singles()
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
        names = np.array([self.attribute(name) for name in draft.attributes], np.uint16)
        program = np.where(never, NO_PROGRAM, draft.program[entries])
        used = np.unique(program)
        adopted = {int(old): self._adopt(draft, int(old)) for old in used if old != NO_PROGRAM}
        self._parts.append(
            _Part(
                ref_count,
                _sorted_within(_renamed(refs, self._number, draft), ref_count),
                range_count,
                names[draft.range_attribute[ranges]] if len(ranges) else np.empty(0, np.uint16),
                draft.ranges.take(ranges),
                _mapped(program, {NO_PROGRAM: NO_PROGRAM, **adopted}),
                never,
            )
        )

    def _number(self, draft: Draft, old: int) -> int:
        """The number here of a condition of another draft."""
        theirs = draft.conditions
        return self.conditions.number(theirs.attributes[old], theirs.sets[old], theirs.nodes[old])

    def _adopt(self, draft: Draft, program: int) -> int:
        return self.programs.adopt(
            draft.programs.tokens(program), lambda old: self._number(draft, old)
        )

    def _close_singles(self) -> None:
        singles, self._singles = self._singles, _Singles()
        size = len(singles.never)
        if size:
            self._parts.append(
                _Part(
                    np.array(singles.ref_count, np.int64),
                    np.array(singles.refs, np.int32),
                    np.zeros(size, np.int64),
                    np.empty(0, np.uint16),
                    concatenate([]),
                    np.array(singles.program, np.int32),
                    np.array(singles.never, np.bool_),
                )
            )

    def finish(self) -> Draft:
        """The draft of everything added."""
        from tidegate.engine.sharing import share

        self._close_singles()
        own = self._own_attributes()
        parts = [each if isinstance(each, _Part) else each.part(own) for each in self._parts]
        everything = self._joined(parts)
        ranged = _with_ranges(everything, own)
        if ranged is not everything:  # without the conditions that are none any more
            fresh = Drafter(self.schema, self._meanings)
            fresh.add_draft(ranged, np.arange(len(ranged.entry)))
            everything = fresh._joined([part for part in fresh._parts if isinstance(part, _Part)])
        first, entry = share(everything)
        return _restrict(everything, first, entry)

    def _own_attributes(self) -> set[str]:
        """The attributes whose ranges are kept with the entries."""
        usage = Usage(self.conditions, {*self._attributes, *self._ranged})
        for part in self._parts:
            if isinstance(part, _Part):
                usage.see_conditions(part.refs)
                continue
            for attribute, ranges in part.ranges.items():
                usage.see_ranges(attribute, ranges)
        return usage.own()

    def _joined(self, parts: Sequence[_Part]) -> Draft:
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

    def attribute(self, name: str) -> int:
        """The number of an attribute that has ranges."""
        return self._attributes.setdefault(name, len(self._attributes))


class _BlockReader:
    """How the subscriptions of one block become entries, a column at a time."""

    def __init__(self, drafter: Drafter, block: Block) -> None:
        self._drafter = drafter
        self._block = block
        self._codes: dict[str, tuple[NDArray[np.int64], pa.Array]] = {}
        self._by_attribute: dict[str, list[Predicate]] = {}
        self._rest: list[Node] = []
        for node in _top(block.filter.tree):
            if isinstance(node, Predicate):
                self._by_attribute.setdefault(node.attribute, []).append(node)
            else:
                self._rest.append(node)
        self.ranges: dict[str, Ranges] = {}  # what could be ranges, by attribute
        for attribute, predicates in self._by_attribute.items():
            found = self._range(attribute, predicates)
            if found is not None:
                self.ranges[attribute] = found

    def part(self, own: Container[str]) -> _Part:
        """The entries, with ranges of their own on these attributes."""
        size = len(self._block)
        columns: list[NDArray[np.int32]] = []
        ranges: list[tuple[int, Ranges]] = []
        for attribute, predicates in self._by_attribute.items():
            if attribute in own and attribute in self.ranges:
                ranges.append((self._drafter.attribute(attribute), self.ranges[attribute]))
            else:
                columns.append(self._condition(predicates))
        program = self._program(self._rest)
        never = program == NEVER
        for column in columns:
            never |= column == NEVER
        refs, ref_count = _rows(columns, never, size)
        keep = np.flatnonzero(~never)
        numbers = np.tile(np.array([number for number, _ in ranges], np.uint16), len(keep))
        order = np.arange(len(ranges) * len(keep)).reshape(len(ranges), len(keep)).T.ravel()
        return _Part(
            ref_count,
            refs,
            np.where(never, 0, len(ranges)),
            numbers,
            concatenate([each.take(keep) for _, each in ranges]).take(order),
            np.where(never | (program == ALWAYS), NO_PROGRAM, program),
            never,
        )

    def _range(self, attribute: str, predicates: list[Predicate]) -> Ranges | None:
        """What the predicates on an attribute ask for, as ranges, if they can be such."""
        if not can_be_range(predicates):
            return None
        ends: list[tuple[Any, pa.Array]] = []
        for predicate in predicates:
            operand = predicate.constants[0]
            if not isinstance(operand, Parameter):
                return None
            column = self._block.columns[operand.name]
            if column.null_count or pa.types.is_string(column.type):
                return None
            ends.append((predicate.operator, column))
        schema = self._drafter.schema
        return from_columns(ends, None if schema is None else schema[attribute])

    def _condition(self, predicates: list[Predicate]) -> NDArray[np.int32]:
        """The number of the condition that the predicates state, for each row."""
        conditions = self._drafter.conditions
        codes, constants = self._distinct(predicates)
        numbers = [ALWAYS] * len(constants)
        for predicate in predicates:
            given = _given(predicate, constants)
            stated = [conditions.of(predicate, each) for each in given]
            numbers = list(map(conditions.both, stated, numbers))
        return np.array(numbers, np.int32)[codes]

    def _program(self, rest: list[Node]) -> NDArray[np.int32]:
        size = len(self._block)
        if not rest:
            return np.full(size, ALWAYS, np.int32)
        whole = And(tuple(rest))
        leaves = self._drafter.programs.leaves(whole)
        codes, constants = self._distinct(leaves)
        numbers = []
        for given in constants.rows():
            bound = [bind(leaf, given, self._drafter.schema) for leaf in leaves]
            numbers.append(self._drafter.programs.of(whole, bound))
        return np.array(numbers, np.int32)[codes]

    def _distinct(self, predicates: list[Predicate]) -> tuple[Integers, "_Constants"]:
        """Which rows have the same constants: a code for each row, and the constants by code."""
        names = _names(predicates)
        for name in names:
            if name not in self._codes:
                encoded = self._block.columns[name].dictionary_encode(null_encoding="encode")
                numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
                self._codes[name] = (numbers, encoded.dictionary)
        if len(names) == 1:
            codes, dictionary = self._codes[names[0]]
            return codes, _Constants({names[0]: _plain(names[0], dictionary)}, len(dictionary))
        codes = np.zeros(len(self._block), np.int64)
        for name in names:
            own, dictionary = self._codes[name]
            codes = numbered(codes * max(len(dictionary), 1) + own)  # small: nothing overflows
        taken = pa.array(firsts(codes))
        columns = {name: _plain(name, self._block.columns[name].take(taken)) for name in names}
        return codes, _Constants(columns, len(taken))


class _Constants:
    """What the parameters of some predicates are bound to, by name, in different ways."""

    def __init__(self, columns: dict[str, list[Any]], size: int) -> None:
        self.columns = columns
        self._size = size

    def __len__(self) -> int:
        return self._size

    def rows(self) -> Iterator[dict[str, Any]]:
        """The ways, one by one."""
        for i in range(self._size):
            yield {name: column[i] for name, column in self.columns.items()}


def _plain(name: str, column: pa.Array) -> list[Any]:
    return [constant(name, each) for each in column.to_pylist()]


def _given(
    predicate: Predicate, constants: _Constants
) -> Iterable[tuple[Any, ...]] | Iterable[None]:
    """What the constants of a predicate are, in each way; None if it has no parameters."""
    if not predicate.is_open:
        return repeat(None, len(constants))
    columns: list[Iterable[Any]] = [
        constants.columns[c.name] if isinstance(c, Parameter) else repeat(c, len(constants))
        for c in predicate.constants
    ]
    return zip(*columns, strict=True)


def _names(predicates: list[Predicate]) -> list[str]:
    return list(
        dict.fromkeys(c.name for p in predicates for c in p.constants if isinstance(c, Parameter))
    )


def _top(tree: Node) -> Sequence[Node]:
    return tree.parts if isinstance(tree, And) else (tree,)


def _rows(
    columns: list[NDArray[np.int32]], never: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.int32], Integers]:
    """Columns of numbers as rows of different lengths: ascending, without ALWAYS."""
    if not columns:
        return np.empty(0, np.int32), np.zeros(size, np.int64)
    table = np.sort(np.stack(columns, axis=1), axis=1)
    kept = (table >= 0) & ~never[:, None]
    return table[kept], kept.sum(axis=1)


def _sorted_within(refs: NDArray[Any], counts: NDArray[Any]) -> NDArray[Any]:
    """The refs of each entry ascending."""
    entries = np.repeat(np.arange(len(counts)), counts)
    return refs[np.lexsort((refs, entries))]


def _renamed(refs: NDArray[Any], number: Any, draft: Draft) -> NDArray[np.int32]:
    return _mapped(refs, {old: number(draft, old) for old in np.unique(refs).tolist()})


def _mapped(values: NDArray[Any], names: dict[int, int]) -> NDArray[np.int32]:
    """Each value replaced by what the mapping has for it."""
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([names[int(value)] for value in distinct], np.int32)[places]


def starts(counts: NDArray[Any]) -> Integers:
    """Where parts of these lengths begin, and where the last one ends."""
    found = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def lengths(start: NDArray[Any]) -> Integers:
    """How long the parts are that begin and end there: `starts` turned round."""
    whole: Integers = start.astype(np.int64)
    found: Integers = np.diff(whole)
    return found


def pick(begin: NDArray[Any], counts: NDArray[Any]) -> Integers:
    """The places begin[i], begin[i] + 1, … of all i, as many as counted."""
    ends = np.cumsum(counts)
    if not len(ends) or not ends[-1]:
        return np.empty(0, np.int64)
    found: Integers = np.arange(ends[-1]) + np.repeat(begin - ends + counts, counts)
    return found


def numbered(values: NDArray[Any]) -> Integers:
    """The number of each value among those that occur, in their order; none is negative.

    What `np.unique` calls the inverse, without sorting if the values are small.
    """
    top = int(values.max(initial=-1)) + 1
    if top > _SPARSE * len(values):
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    occurs = np.zeros(top, np.int64)
    occurs[values] = 1
    found: Integers = (np.cumsum(occurs) - 1)[values]
    return found


def firsts(numbers: Integers) -> Integers:
    """Where each number from 0 on, all of which occur, occurs first."""
    found = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    found[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return found


def _nothing(size: int) -> _Part:
    return _Part(
        np.zeros(size, np.int64),
        np.empty(0, np.int32),
        np.zeros(size, np.int64),
        np.empty(0, np.uint16),
        concatenate([]),
        np.full(size, NO_PROGRAM, np.int32),
        np.ones(size, np.bool_),
    )


def _with_ranges(draft: Draft, own: Container[str]) -> Draft:
    """The draft with ranges in the place of its conditions on these attributes, if it has any."""
    conditions = draft.conditions
    used = [n for n in np.unique(draft.refs).tolist() if conditions.attributes[n] in own]
    numbers, made = as_ranges(conditions, used)
    if not len(numbers):
        return draft
    place = np.full(len(conditions), -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    leaving = place[draft.refs] >= 0
    names = {name: number for number, name in enumerate(draft.attributes)}
    attribute = np.array(
        [names.setdefault(conditions.attributes[n], len(names)) for n in numbers.tolist()]
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

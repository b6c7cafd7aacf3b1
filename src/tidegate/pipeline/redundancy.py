"""Which filters of a cell do others make redundant?

The filters that touch a cell (`cells`), each with a name, are compared by a store of boxes: which
are covered by another one, and which mean the same though their canonical forms differ (unions of
boxes can). What is covered goes from the store at once, where that loses nothing: its coverer
stands for it in all further questions. Of those that nobody covers it is then asked whether the
others of them together cover what of it lies in the cell; a filter is subsumed if that is so in
every cell that it touches.

Invariant: a filter is found to be covered exactly if `covers` says so of one of the others. It is
never found to be subsumed if `subsumed` would not say so, given a budget large enough.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import covers, subsumed
from tidegate.algebra.subtract import Budget
from tidegate.algebra.union import Union, has_texts
from tidegate.engine.boxes import BoxStore
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.pipeline.cells import Cells

_CHUNK: Final = 512  # filters that are asked about together
_RUNS: Final = 64  # integer boxes of a filter that a `Union` keeps as such
_FRAGMENTS: Final = 20_000  # of a filter, when the union of all others is taken from it
_PIECES: Final = 500  # the same, where conditions on text take part
_MANY: Final = 60  # filters that overlap one; with texts, more are not subtracted
_SLOW: Final = 2_000  # questions of that kind in one cell
_EXPLAINED: Final = 5  # filters of a cell of which it is said by whom they are subsumed


@dataclass(slots=True)
class Finding:
    """What was found about one filter in one cell."""

    coverer: str | None = None  # another filter that covers it, and is not equal
    same: str | None = None  # the first name of those that mean the same, if that is another's
    subsumed: bool | None = False  # by the others, in this cell; None if that took too long
    by: tuple[str, ...] = ()  # some that subsume it together, if that is known


@dataclass(slots=True)
class Found:
    """What was found about the filters of a cell, in their order."""

    findings: list[Finding]
    equals: list[set[int]] = field(default_factory=list)


def examine(names: Sequence[str], filters: Sequence[Filter], cells: Cells, cell: int) -> Found:
    """Compare the filters that touch a cell; all of them have boxes, and no two are equal.

    >>> from tidegate import parse
    >>> texts = ("x < 5", "x < 3", "x >= 5", "x BETWEEN 2 AND 8")
    >>> found = examine("abcd", [parse(text) for text in texts], Cells(None), 0)
    >>> [(each.coverer, each.subsumed) for each in found.findings]
    [(None, False), ('a', False), (None, False), (None, True)]
    >>> found.findings[3].by
    ('a', 'c')
    """
    found = Found([Finding() for _ in names])
    among = _Among(names, filters, found)
    # What is not plain stays in the store, so it comes first: all equal to it will meet it there.
    order = sorted(range(len(names)), key=among.place, reverse=True)
    for start in range(0, len(order), _CHUNK):
        among.take_in(order[start : start + _CHUNK])
    among.name_equals()
    among.subsume(cells, cell)
    return found


class _Among:
    """The filters of a cell, as far as they have been compared."""

    def __init__(self, names: Sequence[str], filters: Sequence[Filter], found: Found) -> None:
        self._names = names
        self._filters = filters
        self._found = found
        self._schema: Schema | None = filters[0].schema if filters else None
        self._store = BoxStore(self._schema)
        self._handles: dict[int, int] = {}  # of filters in the store
        self._numbers: dict[int, int] = {}  # the filters of handles
        self._plain = [_is_plain(f) for f in filters]
        self._explained = 0
        self._slow = 0

    def place(self, number: int) -> tuple[bool, int, float]:
        """Where a filter comes in the order in which they are compared, the last one first."""
        return not self._plain[number], *_looseness(self._filters[number])

    # -- covering

    def take_in(self, numbers: list[int]) -> None:
        """Compare some filters with those in the store, and put them there if that is needed."""
        filters = [self._filters[i] for i in numbers]
        starts, handles = self._store.containing_batch(filters)
        new: list[int] = []
        for place, number in enumerate(numbers):
            above = handles[starts[place] : starts[place + 1]].tolist()
            spared = [self._relate(self._numbers[coverer], number) for coverer in above]
            if not any(spared):
                new.append(number)
        for number in new:
            handle = self._store.add(self._filters[number])
            self._handles[number], self._numbers[handle] = handle, number
        starts, handles = self._store.contained_batch([self._filters[i] for i in new])
        for place, number in enumerate(new):
            for handle in handles[starts[place] : starts[place + 1]].tolist():
                other = self._numbers[handle]
                if other == number or number not in self._handles or other not in self._handles:
                    continue
                if self._relate(number, other):
                    self._store.remove(self._handles.pop(other))

    def _relate(self, coverer: int, number: int) -> bool:
        """Note that one filter covers another; whether that one need not be in the store.

        Whom it covers, its coverer covers as well. Where both are single boxes without conditions
        on text, the algebra is certain to see that.
        """
        plain = self._plain[coverer] and self._plain[number]
        if not plain and covers(self._filters[number], self._filters[coverer]):
            self._found.equals.append({coverer, number})
            return False
        finding = self._found.findings[number]
        if finding.coverer is None:
            finding.coverer = self._names[coverer]
        return plain

    def name_equals(self) -> None:
        """Have all filters that mean the same say so, and be covered where one of them is."""
        for group in _joined(self._found.equals):
            findings = [self._found.findings[i] for i in group]
            first = min(self._names[i] for i in group)
            coverer = next((each.coverer for each in findings if each.coverer is not None), None)
            for number, finding in zip(group, findings, strict=True):
                finding.coverer = coverer
                if self._names[number] != first:
                    finding.same = first
                    handle = self._handles.pop(number, None)
                    if handle is not None:
                        self._store.remove(handle)

    # -- subsumption

    def subsume(self, cells: Cells, cell: int) -> None:
        """Ask of those that nobody covers whether the others do, together, in the cell."""
        findings = self._found.findings
        left = [
            i
            for i in sorted(self._handles)
            if findings[i].coverer is None and findings[i].same is None
        ]
        union = Union(self._schema, _FRAGMENTS)
        held: dict[int, int] = {}
        for number in left:
            if _runs(self._filters[number]) <= _RUNS and not _texts(self._filters[number]):
                held[number] = union.add(self._filters[number])
        beside = BoxStore(self._schema)  # those that are not in the union
        own = {beside.add(self._filters[i]): i for i in left if i not in held}
        for number in left:
            f = self._filters[number]
            mine = len(cells.touched(boxes(f) or ())) == 1
            part = f if mine else cells.clipped(f, cell)
            findings[number].subsumed = self._subsumed(number, part, union, held)
            if findings[number].subsumed is False and any(
                own[handle] != number for handle in beside.overlapping(part).tolist()
            ):
                findings[number].subsumed = self._subtracted(number, part)
            if findings[number].subsumed and self._explained < _EXPLAINED:
                self._explained += 1
                findings[number].by = self._subsumers(number, part)

    def _subsumed(
        self, number: int, part: Filter, union: Union, held: dict[int, int]
    ) -> bool | None:
        """Whether the others in the union cover a part of a filter."""
        if number not in held or _runs(part) > _RUNS:
            return self._subtracted(number, part)
        exhausted = union.exhausted
        union.remove(held[number])
        answer = union.subsumes(part)
        held[number] = union.add(self._filters[number])
        return None if union.exhausted > exhausted and not answer else answer

    def _subtracted(self, number: int, part: Filter) -> bool | None:
        """The same question, put to the algebra, where conditions on text or long lists are."""
        if self._slow == _SLOW:
            return None
        self._slow += 1
        others = self._overlapping(number, part)
        if len(others) > _MANY:
            return None
        budget = Budget(_PIECES)
        if subsumed(part, [self._filters[i] for i in others], budget):
            return True
        return None if budget.exhausted else False

    def _overlapping(self, number: int, part: Filter) -> list[int]:
        found = (self._numbers[handle] for handle in self._store.overlapping(part).tolist())
        return sorted(i for i in found if i != number)

    def _subsumers(self, number: int, part: Filter) -> tuple[str, ...]:
        """A few that subsume it: none of them can be spared."""
        others = self._overlapping(number, part)
        if len(others) > _MANY:
            return ()
        for each in tuple(others):
            fewer = [i for i in others if i != each]
            if subsumed(part, [self._filters[i] for i in fewer], Budget(_PIECES)):
                others = fewer
        return tuple(self._names[i] for i in others)


def _is_plain(f: Filter) -> bool:
    own = boxes(f)
    return own is not None and len(own) == 1 and not has_texts(own[0])


def _texts(f: Filter) -> bool:
    return any(has_texts(box) for box in boxes(f) or ())


def _runs(f: Filter) -> int:
    """How many boxes of integers the filter is at most."""
    own = boxes(f)
    if own is None:
        return _RUNS + 1
    return max((math.prod(_stretches(box)) for box in own), default=0)


def _stretches(box: Box) -> Iterable[int]:
    for allowed in box.sets.values():
        yield allowed.absent + sum(len(bounds) // 2 for bounds in allowed.spans.values())


def _looseness(f: Filter) -> tuple[int, float]:
    """Larger for what covers than for what is covered, nearly always: so coverers come first."""
    own = boxes(f) or ()
    width = 0.0
    for box in own:
        for allowed in box.sets.values():
            for bounds in allowed.spans.values():
                if not isinstance(bounds[0], str):
                    width += math.log1p(sum(bounds[1::2]) - sum(bounds[::2]))
    return -min((len(box.sets) for box in own), default=0), width


def _joined(pairs: Iterable[set[int]]) -> list[list[int]]:
    """Groups of numbers that pairs hold together."""
    groups: dict[int, set[int]] = {}
    for pair in pairs:
        whole = set().union(*(groups.get(i, {i}) for i in pair))
        for i in whole:
            groups[i] = whole
    return [sorted(group) for group in {id(group): group for group in groups.values()}.values()]

"""Many tree patterns: which of them match, cover or overlap, and what they cover together.

Who covers whom is found by XSearch, which says what the pairwise test says; what overlaps, by the
names of outermost elements first; what a document matches, by trying all while there are few, and
else by the index of documents.

A union subsumes what one of its patterns covers, which errs outward.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from tidegate.documents.index import DocumentIndex
from tidegate.documents.matching.segment import Segment
from tidegate.documents.pattern import ANY, Distance, Pattern
from tidegate.documents.xpath import XPath
from tidegate.errors import DocumentError
from tidegate.overlay.filter import Event, Filter, Plain
from tidegate.overlay.pairs import Numbering, Pairs, one_by_one
from tidegate.overlay.pattern_filter import expression_of, tree
from tidegate.papers.xsearch.xsearch import XSearch

_TRIED_ONE_BY_ONE: Final = 20
"""Filters that are tried one by one: of more, the index of documents tells sooner."""
MANY_DOCUMENTS: Final = 4  # of a batch, from which on they are read and matched together
_CHILD: Final = Distance(1)


class _Containment:
    """Expressions under numbers, and who covers whom: all patterns of all of them in one XSearch.

    An expression covers another one if each pattern of that is covered by one of its own.
    """

    def __init__(self) -> None:
        self.expressions: dict[int, XPath] = {}
        self._search = XSearch()
        self._slots: dict[int, list[int]] = {}
        self._numbers: dict[int, int] = {}
        self._never: set[int] = set()  # expressions that have no pattern
        self._next = 0

    def add(self, number: int, expression: XPath) -> None:
        self.expressions[number] = expression
        self._slots[number] = []
        if not expression.patterns:
            self._never.add(number)
        for pattern in expression.patterns:
            self._search.add(self._next, pattern)
            self._slots[number].append(self._next)
            self._numbers[self._next] = number
            self._next += 1

    def remove(self, number: int) -> None:
        del self.expressions[number]
        self._never.discard(number)
        for slot in self._slots.pop(number):
            self._search.remove(slot)
            del self._numbers[slot]

    def containing(self, expression: XPath) -> list[int]:
        """Those that cover an expression."""
        if not expression.patterns:
            return sorted(self.expressions)
        first, *others = map(self._covering, expression.patterns)
        return sorted(first.intersection(*others))

    def contained(self, expression: XPath) -> list[int]:
        """Those that an expression covers."""
        slots: set[int] = set()
        for pattern in expression.patterns:
            slots |= self._search.contained(pattern)
        candidates = {self._numbers[slot] for slot in slots}
        found = [n for n in candidates if all(slot in slots for slot in self._slots[n])]
        return sorted([*found, *self._never])

    def covers_each(self, expression: XPath) -> bool:
        """Whether each pattern of an expression is covered by one of some expression here."""
        return all(self._search.containing(pattern) for pattern in expression.patterns)

    def _covering(self, pattern: Pattern) -> set[int]:
        return {self._numbers[slot] for slot in self._search.containing(pattern)}


class PatternIndex:
    """A `FilterIndex` of patterns.

    Many are only asked who covers whom, or only about documents. So a pattern is put into what
    answers a question when that is first asked.
    """

    def __init__(self) -> None:
        self._expressions: dict[int, XPath] = {}
        self._outermost: dict[str, set[int]] = {}
        self._related = _Containment()
        self._unrelated: dict[int, None] = {}  # that it has not been told of
        self._documents: DocumentIndex | None = None
        self._unread: dict[int, None] = {}  # that this has not been told of
        self._numberings: WeakKeyDictionary[Segment, Numbering] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._expressions)

    @property
    def _containment(self) -> _Containment:
        """Who covers whom, of all patterns."""
        for number in self._unrelated:
            self._related.add(number, self._expressions[number])
        self._unrelated.clear()
        return self._related

    @property
    def _matching(self) -> DocumentIndex | None:
        """What a document matches, of all patterns; None as long as they are few."""
        if self._documents is None:
            if len(self) <= _TRIED_ONE_BY_ONE:
                return None
            self._documents = DocumentIndex()
        for number in self._unread:
            self._documents.add(number, self._expressions[number])
        self._unread.clear()
        return self._documents

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        expression = expression_of(f)
        self._expressions[number] = expression
        self._unrelated[number] = self._unread[number] = None
        for name in _outermost(expression):
            self._outermost.setdefault(name, set()).add(number)

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self.remove(number)
        self.add(number, f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        for name in _outermost(self._expressions.pop(number)):
            self._outermost[name].discard(number)
            if not self._outermost[name]:
                del self._outermost[name]
        if number in self._unrelated:
            del self._unrelated[number]
        else:
            self._related.remove(number)
        if number in self._unread:
            del self._unread[number]
        elif self._documents is not None:
            self._documents.remove(number)

    def match(self, event: Event, /) -> list[int]:
        """The filters that match a document."""
        documents = self._matching
        if documents is not None:
            try:
                return [int(number) for number in documents.match(event)]
            except DocumentError:
                pass  # larger than the index reads at once
        root = tree(event)
        return [n for n, own in self._expressions.items() if own.matches(root)]

    def match_batch(self, events: Sequence[Event], /) -> list[Pairs]:
        """The filters that match each of many documents; one that is too large is read alone."""
        documents = self._matching if len(events) >= MANY_DOCUMENTS else None
        if documents is None:
            return one_by_one(self.match, events)
        found, alone = [], list[int]()
        for own in by_type(events):
            refused: dict[int, str] = {}
            of_batch = np.array(own, np.int32)
            coded = documents.match_coded([events[row] for row in own], refused)
            found += [Pairs(self._numbering(x.segment), of_batch[x.rows], x.codes) for x in coded]
            alone += [own[row] for row in refused]
        for pairs in one_by_one(self.match, [events[row] for row in alone]) if alone else ():
            found.append(pairs._replace(rows=np.array(alone, np.int32)[pairs.rows]))
        return found

    def _numbering(self, segment: Segment) -> Numbering:
        known = self._numberings.get(segment)
        if known is None:
            known = self._numberings[segment] = Numbering(segment.ids.to_numpy())
        return known

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        return self._containment.containing(expression_of(f))

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        return self._containment.contained(expression_of(f))

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        expression = expression_of(f)
        names = _outermost(expression)
        if ANY in names:
            near = set(self._expressions)
        else:
            near = set().union(*(self._outermost.get(name, ()) for name in (*names, ANY)))
        known = self._expressions
        return sorted(number for number in near if known[number].overlaps(expression))


class PatternUnion:
    """A `FilterUnion` of patterns: they subsume what one of them covers, pattern by pattern."""

    def __init__(self) -> None:
        self._containment = _Containment()

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self._containment.add(number, expression_of(f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._containment.remove(number)

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every document that matches f is certain to match one of the filters."""
        return self._containment.covers_each(expression_of(f))

    def state(self) -> None:
        """Nothing but the filters that are there."""

    def restore(self, filters: Mapping[int, Filter], state: Plain, /) -> None:
        """Take in filters."""
        for number, f in filters.items():
            self.add(number, f)


def by_type(events: Sequence[Event]) -> list[list[int]]:
    """The rows of texts, and those of bytes: what is read together is of one type.

    >>> by_type(["<a/>", b"<b/>", "<c/>"])
    [[0, 2], [1]]
    """
    rows: dict[type, list[int]] = {}
    for row, event in enumerate(events):
        rows.setdefault(type(event), []).append(row)
    return list(rows.values())


def _outermost(expression: XPath) -> set[str]:
    """What the outermost element of a matching document may be called; `*` for anything."""
    return {
        branch.node.label if branch.distance == _CHILD else ANY
        for pattern in expression.patterns
        for branch in pattern.root.branches[:1]
    } | {ANY for pattern in expression.patterns if not pattern.root.branches}

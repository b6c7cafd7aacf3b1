"""Which of many filters are covered by another one, and which mean the same?

Filters come the loosest first, so that a coverer is there before what it covers, and what another
one covers need not stay: its coverer stands for it in all further questions. They are compared by
their pieces (`pieces`), which is exact and asks no filter: a box covers a filter if each piece of
the filter lies in a piece of the box. Only unions of several boxes can cover a piece that lies in
none of theirs; the algebra is asked about those that hold two opposite ends of one. Filters that
are not made of pieces are **odd**: they lie in a store of their own, and the algebra is asked about
what that store leaves in doubt.

Filters that mean the same though their canonical forms differ have the same hull: only those are
compared.

Invariant: a filter is found to be covered, or to be the same as another, exactly if `covers` says
so, of those that were taken in before the room was full.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import log, log1p
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import covers
from tidegate.engine.boxes.box_store import Answers, BoxStore
from tidegate.engine.boxes.space import Space
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.pipeline.analysis.pieces import Elsewhere, hull, of_boxes, pieces

Integers: TypeAlias = NDArray[np.int64]

ROOM: Final = 200_000
"""Pieces of filters that nobody covers, of those that are compared in one task."""

_CHUNK: Final = 1_024  # filters that are asked about together
_WIDE: Final = 2**64  # what counts for the number of strings in a range


class Rank(NamedTuple):
    """Where a filter comes in the order in which they are compared, the smallest first."""

    group: int  # odd ones, then unions of boxes, then boxes
    attributes: int
    narrowness: float


def rank(f: Filter) -> Rank:
    """Smaller for what covers than for what is covered, nearly always."""
    own = boxes(f) or ()
    group = 0 if pieces(f) is None else 1 if len(own) > 1 else 2
    width = 0.0
    for box in own:
        for allowed in box.sets.values():
            for bounds in allowed.spans.values():
                width += _width(bounds)
    return Rank(group, min((len(box.sets) for box in own), default=0), -width)


def _width(bounds: Sequence[object]) -> float:
    if not isinstance(bounds[0], str):
        return log1p(sum(bounds[1::2]) - sum(bounds[::2]))  # type: ignore[arg-type]
    single = sum(bounds[i + 1] == f"{bounds[i]}\0" for i in range(0, len(bounds), 2))
    return log1p(single) if 2 * single == len(bounds) else log(_WIDE)


class Covering:
    """Filters that are compared: all that nobody covers, and what was found about the others.

    Filters have numbers, in the order in which they come. `filters` has those that may be needed
    again; `coverers` has of each that is covered another one; `outside` are those for which there
    was no room: it is known who covers them, but not whom they cover.

    >>> from tidegate import parse
    >>> texts = ("x < 5", "x < 3", "x >= 5")
    >>> found = Covering(None)
    >>> found.compare(parse(text) for text in texts)
    >>> found.coverers, sorted(found.filters)
    ({1: 0}, [0, 2])
    """

    def __init__(self, schema: Schema | None, room: int | None = None) -> None:
        self.schema: Final = schema
        self.filters: dict[int, Filter] = {}
        self.coverers: dict[int, int] = {}
        self.outside: set[int] = set()
        self._room = ROOM if room is None else room
        self._pieces: dict[int, list[Box]] = {}
        space = Space(schema)
        self._boxes = PieceColumns(schema, space)  # of single boxes
        self._unions = PieceColumns(schema, space)
        self._hulls: dict[Box, list[int]] = defaultdict(list)  # of unions
        self._odd = BoxStore(schema)
        self._odd_numbers: dict[int, int] = {}
        self._equal: dict[int, set[int]] = {}
        self._elsewhere = Elsewhere(schema)

    def compare(self, filters: Iterable[Filter]) -> None:
        """Compare filters, no two of them equal, in the order of their ranks."""
        coming = enumerate(filters)
        first: list[int] = []  # odd ones and unions: all of them are in before one is asked about
        held: list[tuple[int, Filter]] = []
        for number, f in coming:
            own = pieces(f)
            if own is not None and len(boxes(f) or ()) == 1:
                held = [(number, f)]
                break
            self.filters[number] = f
            first.append(number)
            self._take_in_first(number, f, own)
        for start in range(0, len(first), _CHUNK):
            self._ask_first(first[start : start + _CHUNK])
        size = 64  # the first ones cover the most
        while held := held + list(islice(coming, size - len(held))):
            self._compare_boxes(dict(held))
            held, size = [], min(2 * size, _CHUNK)
        self._settle_equals()

    # -- odd filters and unions

    def _take_in_first(self, number: int, f: Filter, own: list[Box] | None) -> None:
        if own is None:
            self._odd_numbers[self._odd.add(f)] = number
            return
        self._pieces[number] = own
        self._elsewhere.take_in(own)
        self._hulls[hull(boxes(f) or ())].append(number)
        if len(self._unions) + len(own) <= self._room:
            self._unions.add(number, own)
        else:
            self.outside.add(number)

    def _ask_first(self, numbers: Sequence[int]) -> None:
        """Ask about filters that are in already."""
        unions = {i: self.filters[i] for i in numbers if i in self._pieces}
        for number in unions:
            for other in self._hulls[hull(boxes(self.filters[number]) or ())]:
                if other < number and self._mean_the_same(other, number):
                    self._note_equal(other, number)
        self._ask_unions(unions)
        self._ask_odd({i: self.filters[i] for i in numbers})
        self._tell_odd(unions)

    def _mean_the_same(self, one: int, other: int) -> bool:
        f, g = self.filters[one], self.filters[other]
        return covers(f, g) and covers(g, f)

    def _note_equal(self, one: int, other: int) -> None:
        group = self._equal.get(one, {one}) | self._equal.get(other, {other})
        for number in group:
            self._equal[number] = group

    def _note(self, coverer: int, number: int) -> None:
        """Note that one filter covers another, unless they are equal."""
        if coverer == number or coverer in self._equal.get(number, ()):
            return
        self.coverers[number] = min(coverer, self.coverers.get(number, coverer))

    def _ask_unions(self, asked: dict[int, Filter]) -> None:
        """Which unions cover these filters?"""
        if not len(self._unions) or not asked:
            return
        own = {number: self._pieces[number] for number in asked}
        sure: dict[int, set[int]] = defaultdict(set)
        for number, coverer in self._unions.covering(own):
            sure[number].add(coverer)
            self._note(coverer, number)
        tips = {
            number: list(self._elsewhere.ends(some[0]))
            for number, some in own.items()
            if number not in self.coverers
        }
        for number, candidate in self._unions.covering(tips):
            if candidate == number or candidate in sure[number] or number in self.coverers:
                continue
            if covers(self.filters[candidate], asked[number]):
                self._note(candidate, number)

    def _ask_odd(self, asked: dict[int, Filter]) -> None:
        """Which odd filters cover these?"""
        if not len(self._odd):
            return
        starts, handles = self._odd.containing_batch(asked.values())
        for place, (number, f) in enumerate(asked.items()):
            for handle in handles[starts[place] : starts[place + 1]].tolist():
                other = self._odd_numbers[handle]
                if other == number:
                    continue
                if covers(f, self.filters[other]):
                    self._note_equal(other, number)
                else:
                    self._note(other, number)

    def _tell_odd(self, told: dict[int, Filter]) -> None:
        """Which odd filters do these cover?"""
        if not len(self._odd):
            return
        starts, handles = self._odd.contained_batch(told.values())
        for place, (number, f) in enumerate(told.items()):
            for handle in handles[starts[place] : starts[place + 1]].tolist():
                other = self._odd_numbers[handle]
                if covers(self.filters[other], f):
                    self._note_equal(other, number)
                else:
                    self._note(number, other)

    # -- single boxes

    def _compare_boxes(self, asked: dict[int, Filter]) -> None:
        """Compare some with those that are in, and keep those that nobody covers."""
        own = {number: pieces(f) or [] for number, f in asked.items()}
        for number, coverer in self._boxes.covering(own):
            self._note(coverer, number)
        left = {number: f for number, f in asked.items() if number not in self.coverers}
        for number, f in asked.items():
            alike = self._hulls.get((boxes(f) or ())[0], ())
            if alike or number in left:
                self.filters[number], self._pieces[number] = f, own[number]
            for other in alike:
                if self._mean_the_same(other, number):
                    self._note_equal(other, number)
        self._ask_unions(left)
        self._ask_odd(left)
        self._tell_odd(left)
        kept = {i: own[i] for i in left if i not in self.coverers}
        for number, some in kept.items():
            if len(self._boxes) + len(self._unions) + len(some) <= self._room:
                self._boxes.add(number, some)
            else:
                self.outside.add(number)
        late = [number for _, number in self._note_covered(kept)]
        for number in (*asked, *late):
            if number in self.coverers and number not in self._equal:
                self._forget(number)

    def _note_covered(self, kept: dict[int, list[Box]]) -> list[tuple[int, int]]:
        """Note which of those that are in, new ones among them, these cover; the single boxes."""
        for coverer, number in self._unions.covered(kept):
            self._note(coverer, number)
        found = self._boxes.covered(kept)
        for coverer, number in found:
            self._note(coverer, number)
        return found

    def _forget(self, number: int) -> None:
        self.filters.pop(number, None)
        self._pieces.pop(number, None)
        self._boxes.remove(number)
        self.outside.discard(number)

    def _settle_equals(self) -> None:
        """Have all filters that mean the same be covered where one of them is."""
        for group in {id(group): group for group in self._equal.values()}.values():
            found = [self.coverers[i] for i in group if i in self.coverers]
            found = [i for i in found if i not in group]
            for number in group:
                self.coverers.pop(number, None)
                if found:
                    self.coverers[number] = min(found)

    def groups(self) -> list[set[int]]:
        """The filters that mean the same as others."""
        return list({id(group): group for group in self._equal.values()}.values())

    def left(self) -> Iterator[int]:
        """Those that nobody covers, in order."""
        return (number for number in sorted(self.filters) if number not in self.coverers)


class PieceColumns:
    """Pieces of filters, by the filters' numbers."""

    def __init__(self, schema: Schema | None, space: Space | None = None) -> None:
        self._store = BoxStore(schema, space)
        self._schema = schema
        self._handles: dict[int, list[int]] = {}
        self._owners = np.zeros(1_024, np.int64)  # by handle

    def __len__(self) -> int:
        return len(self._store)

    def add(self, number: int, own: Sequence[Box]) -> None:
        """Take in the pieces of a filter."""
        handles = [self._store.add(of_boxes((piece,), self._schema)) for piece in own]
        while handles[-1] >= len(self._owners):
            self._owners = np.concatenate([self._owners, np.zeros_like(self._owners)])
        self._owners[handles] = number
        self._handles[number] = handles

    def remove(self, number: int) -> None:
        """Let those of a filter go, if they are here."""
        for handle in self._handles.pop(number, ()):
            self._store.remove(handle)

    def covering(self, asked: dict[int, list[Box]]) -> list[tuple[int, int]]:
        """Each number, with another in whose pieces all of its boxes lie; the first ones first."""
        numbers, places, handles = self._asked(asked, self._store.containing_batch)
        needed = np.array([len(asked[number]) for number in numbers], np.int64)
        pairs = _distinct(places, self._owners[handles])  # one of a filter's boxes in one filter
        of_filter = np.repeat(np.arange(len(numbers)), needed)
        pairs[:, 0] = of_filter[pairs[:, 0]]
        whole, counts = _counted(pairs)
        found = whole[counts == needed[whole[:, 0]]]
        return [(numbers[i], owner) for i, owner in found.tolist() if numbers[i] != owner]

    def covered(self, told: dict[int, list[Box]]) -> list[tuple[int, int]]:
        """Each number, with another one whose pieces all lie in its boxes."""
        numbers, places, handles = self._asked(told, self._store.contained_batch)
        of_filter = np.repeat(np.arange(len(numbers)), [len(own) for own in told.values()])
        inside = _distinct(of_filter[places], handles)  # a filter's piece, counted once
        inside[:, 1] = self._owners[inside[:, 1]]
        whole, counts = _counted(inside)
        return [
            (numbers[i], owner)
            for (i, owner), count in zip(whole.tolist(), counts.tolist(), strict=True)
            if numbers[i] != owner and count == len(self._handles[owner])
        ]

    def _asked(
        self, asked: dict[int, list[Box]], ask: Callable[[Iterable[Filter]], Answers]
    ) -> tuple[list[int], Integers, Integers]:
        """The numbers; and of each answer, the place of the box that was asked about, a handle."""
        flat = [of_boxes((box,), self._schema) for own in asked.values() for box in own]
        if not len(self._store) or not flat:
            return list(asked), _NONE, _NONE
        starts, handles = ask(flat)
        return list(asked), np.repeat(np.arange(len(flat)), np.diff(starts)), handles


_NONE: Final = np.empty(0, np.int64)


def _distinct(left: Integers, right: Integers) -> Integers:
    """Pairs, each once, in order."""
    base = int(right.max(initial=0)) + 1
    keys = np.unique(left * base + right)
    return np.stack([keys // base, keys % base], axis=1)


def _counted(pairs: Integers) -> tuple[Integers, Integers]:
    """The different pairs of ordered ones, and how often each is there."""
    base = int(pairs[:, 1].max(initial=0)) + 1
    keys, counts = np.unique(pairs[:, 0] * base + pairs[:, 1], return_counts=True)
    return np.stack([keys // base, keys % base], axis=1), counts

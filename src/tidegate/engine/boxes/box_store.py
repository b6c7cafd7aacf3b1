"""Which of many filters match an event, cover a filter, are covered by it, or overlap it?

A filter is a union of boxes (`algebra.normal`), so all four questions are one geometric question,
about boxes with one dimension per attribute. A `Space` puts filters among integers, and they are
kept as `IntegerBoxes`. With ends as they are there, a box holds a point, covers a box or meets one
if none of its ends is above some bound, and it lies in a box if none is below one: these are the
two questions that the kernels answer.

Most filters are one integer box, and what it answers is final. Any other has several: its parts,
one of which has to meet an event or a filter, and its hull, in which a filter has to lie to be
covered, or which has to lie in a filter that covers it. Where integers only do not exclude a filter
with conditions on text, or one whose hull is more than its boxes, the algebra is asked about it.

Invariant: the answers are those of `Filter.matches`, `covers` and `overlaps`, filter by filter.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.axis import HIGHEST, LOWEST
from tidegate.algebra.normal import boxes
from tidegate.algebra.relate import covers, overlaps
from tidegate.engine.boxes.box_kernels import SHARED
from tidegate.engine.boxes.integer_boxes import IntegerBoxes
from tidegate.engine.boxes.ruler import Ruler
from tidegate.engine.boxes.space import Boxes, Extents, Space
from tidegate.engine.events.batch import Batch
from tidegate.errors import SchemaError
from tidegate.filters.evaluate import value_of
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]
Answers: TypeAlias = tuple[Integers, Integers]
"""Where the answers to each question start, and where the last ones stop; and all the handles."""

_Test: TypeAlias = Callable[[Filter], bool]
_Ends: TypeAlias = tuple[list[int], list[int]]  # the sides that an integer box ends on, and where

# What an integer box is there for; and by what to multiply that to say: there, it decides alone.
_PART: Final = 1
_HULL: Final = 2
_INNER: Final = 4
_SURE: Final = 8
_ALONE: Final = (_PART | _HULL | _INNER) * (1 + _SURE)  # the only box of a filter
_SURELY: Final = {flag: np.array([flag * _SURE], np.uint8) for flag in (_PART, _HULL, _INNER)}
_UNSURELY: Final = np.zeros(1, np.uint8)
_IDLE: Final = 1024  # slots that are kept for filters to come, beside four for each that is there


class BoxStore:
    """Filters, all read under one schema, and the four questions about them.

    A filter has a handle, an integer that is never given twice; answers are arrays of handles, in
    no particular order. What cannot be decided is answered as everywhere: it does not cover, and it
    overlaps. One thread at a time, asking included. Stores in one `space` share what they know of
    constants, which saves time where they hold the same filters; they are for one thread, too.

    Memory is that of the filters and boxes in it, and of what as many removed ones and 1,024 more
    needed (see `space`): a store may live, and change, for as long as one likes.

    >>> from tidegate import parse
    >>> store = BoxStore()
    >>> cheap = store.add(parse("price < 10"))
    >>> ibm = store.add(parse("symbol = 'IBM' AND price < 5"))
    >>> store.stab({"symbol": "SAP", "price": 7.5}).tolist() == [cheap]
    True
    >>> store.containing(parse("price BETWEEN 1 AND 2")).tolist() == [cheap]
    True
    >>> sorted(store.contained(parse("price < 10"))) == [cheap, ibm]
    True
    >>> store.remove(cheap)
    >>> store.overlapping(parse("price > 1")).tolist() == [ibm]
    True
    """

    def __init__(self, schema: Schema | None = None, space: Space | None = None) -> None:
        if space is not None and space.schema != schema:
            raise SchemaError("the space is one of another schema than the store's")
        self.schema: Final = schema
        self._checked = schema is not None and schema.checked
        self._filters: dict[int, Filter] = {}
        self._slots: dict[int, list[int]] = {}
        self._empty: set[int] = set()  # filters that have no box
        self._beside: set[int] = set()  # filters that have no normal form
        self._next = 0
        self._space = space or Space(schema)
        self._integers = IntegerBoxes()
        self._space.join(self._integers)

    def __len__(self) -> int:
        return len(self._filters)

    def __iter__(self) -> Iterator[int]:
        return iter(self._filters)

    @property
    def nbytes(self) -> int:
        """The memory of the integer boxes."""
        return self._integers.nbytes

    def get(self, handle: int) -> Filter:
        """The filter with this handle; KeyError if there is none."""
        return self._filters[handle]

    def add(self, f: Filter) -> int:
        """Add a filter; its handle."""
        own = self._boxes(f)
        handle = self._next
        # Under a checked schema, attributes that make no difference to boxes have a ruler, too: it
        # tells which events break the schema.
        self._space.take_in(own or (), f.attributes if self._checked else ())
        if own:
            self._slots[handle] = [
                self._integers.add(handle, *ends, flags) for ends, flags in self._integer_boxes(own)
            ]
        else:
            (self._beside if own is None else self._empty).add(handle)
        self._filters[handle] = f
        self._next += 1
        return handle

    def update(self, handle: int, f: Filter) -> None:
        """Put a filter in the place of the one with this handle; KeyError if there is none.

        Where both are one integer box, that box moves; constants that both have cost nothing.
        """
        before = self._boxes(self._filters[handle])
        own = self._boxes(f)
        self._space.exchange(own or (), before or (), f.attributes if self._checked else ())
        slots = self._slots.get(handle, [])
        boxes = self._integer_boxes(own) if own else []
        if len(boxes) == len(slots) == 1 and boxes[0][1] == _ALONE == self._integers.flags(
            slots[0]
        ):
            self._integers.move(slots[0], *boxes[0][0])
        else:
            self._drop(handle)
            if boxes:
                self._slots[handle] = [
                    self._integers.add(handle, *ends, flags) for ends, flags in boxes
                ]
            else:
                (self._beside if own is None else self._empty).add(handle)
        self._filters[handle] = f
        self._removed()

    def remove(self, handle: int) -> None:
        """Remove the filter with this handle; KeyError if there is none."""
        del self._filters[handle]
        self._drop(handle)
        self._removed()

    def _drop(self, handle: int) -> None:
        """Take out what there is of a filter but the filter itself."""
        for slot in self._slots.pop(handle, ()):
            self._integers.remove(slot)
        self._beside.discard(handle)
        self._empty.discard(handle)

    def _removed(self) -> None:
        self._space.remove()
        if self._integers.idle > 4 * len(self._slots) + _IDLE:
            self._shrink()

    def _shrink(self) -> None:
        """Keep no more room than the filters need; a dictionary keeps what it once needed."""
        self._filters = dict(self._filters)
        slots: dict[int, list[int]] = {}
        for slot, handle in enumerate(self._integers.compact()):
            slots.setdefault(handle, []).append(slot)
        self._slots = slots

    def stab(self, event: Mapping[str, Any]) -> Integers:
        """The filters that match an event."""
        return self._ask(self._stabbing(event), _PART)

    def containing(self, f: Filter) -> Integers:
        """The filters that cover f."""
        return self._ask(self._containing(f), _HULL)

    def contained(self, f: Filter) -> Integers:
        """The filters that f covers."""
        return self._ask(self._contained(f), _INNER)

    def overlapping(self, f: Filter) -> Integers:
        """The filters that overlap f."""
        return self._ask(self._overlapping(f), _PART)

    def stab_batch(self, events: Any) -> Answers:
        """`stab` of each event of a batch: see `columns.Batch`."""
        return self._ask_all(self._stabbing_all(events), _PART)

    def containing_batch(self, filters: Iterable[Filter]) -> Answers:
        """`containing` of each filter."""
        return self._ask_all([self._containing(f) for f in filters], _HULL)

    def contained_batch(self, filters: Iterable[Filter]) -> Answers:
        """`contained` of each filter."""
        return self._ask_all([self._contained(f) for f in filters], _INNER)

    def overlapping_batch(self, filters: Iterable[Filter]) -> Answers:
        """`overlapping` of each filter."""
        return self._ask_all([self._overlapping(f) for f in filters], _PART)

    # -- filters as integer boxes

    def _boxes(self, f: Filter) -> Boxes | None:
        if f.schema is not self.schema and f.schema != self.schema:
            raise SchemaError("the filter was read under another schema than the store's")
        return boxes(f)

    def _integer_boxes(self, own: Boxes) -> list[tuple[_Ends, int]]:
        """The integer boxes of a filter, each with its flags."""
        hull = self._space.hull(own)
        if hull.exact and len(own) == hull.parts == 1:
            return [(self._ends(hull), _ALONE)]
        inner = _INNER * (1 + _SURE) if hull.exact else 0
        parts = self._space.parts(own)
        if len(parts) == 1:
            found = [(self._ends(hull), _PART | _HULL | inner)]
        else:
            found = [
                (self._ends(part), SHARED | (_PART * (1 + _SURE) if part.exact else _PART))
                for part in parts
            ]
            found.append((self._ends(hull), _HULL | inner))
        if not hull.exact:
            found.append((self._ends(hull, turned=True), _INNER))
        return found

    def _ends(self, extents: Extents, turned: bool = False) -> _Ends:
        """The ends of an integer box.

        Turned, an extent that is not exact need only touch what it would have to lie in: a text
        may have taken away from it what lies outside.
        """
        sides: list[int] = []
        ends: list[int] = []
        low_sides = self._space.sides
        for attribute, (low, high, _, exact) in extents.by_attribute.items():
            side = low_sides[attribute]
            sides += (side, side + 1)
            ends += (high, -low) if turned and not exact else (low, -high)
        return sides, ends

    # -- questions

    def _stabbing(self, event: Mapping[str, Any]) -> "_Question":
        space = self._space
        schema = self.schema
        labels = [
            ruler.place(value_of(event, attribute, schema))
            for attribute, ruler in space.rulers.items()
        ]
        lawful = not self._checked or all(map(Ruler.allows, space.rulers.values(), labels))
        bounds = np.empty((1, len(space.whole)), np.int64)
        bounds[0, ::2] = labels
        np.invert(bounds[0, ::2], out=bounds[0, 1::2])
        return self._stabbed(bounds, lawful, lambda f: f.matches(event))

    def _stabbing_all(self, events: Any) -> "list[_Question]":
        space = self._space
        batch = Batch(events, self.schema)
        bounds = np.empty((len(batch), len(space.whole)), np.int64)
        lawful = np.ones(len(batch), np.bool_)
        for attribute, ruler in space.rulers.items():
            labels = ruler.places(batch.column(attribute))
            side = space.sides[attribute]
            bounds[:, side], bounds[:, side + 1] = labels, ~labels
            if self._checked:
                places, which = np.unique(labels, return_inverse=True)
                lawful &= np.array([ruler.allows(p) for p in places.tolist()], np.bool_)[which]

        def matches(row: int, f: Filter) -> bool:
            return f.matches(batch.mapping(row, f.attributes))

        return [
            self._stabbed(bounds[row : row + 1], bool(lawful[row]), partial(matches, row))
            for row in range(len(batch))
        ]

    def _stabbed(self, bounds: Integers, lawful: bool, matches: _Test) -> "_Question":
        """The question about an event; of one that breaks a checked schema, boxes say nothing."""
        asked: Iterable[int] = self._beside if lawful else self._filters
        beside = [handle for handle in asked if matches(self._filters[handle])]
        return _Question(bounds if lawful else bounds[:0], True, beside, matches)

    def _containing(self, f: Filter) -> "_Question":
        own = self._boxes(f)
        if not own:
            with_boxes = (handle for handle in self._filters if handle not in self._beside)
            return self._unsearched(self._equal(f, self._filters) if own is None else with_boxes)
        sides = self._space.sides
        bounds = self._space.whole.copy()
        hull = self._space.hull(own)
        for attribute, (low, high, _, exact) in hull.by_attribute.items():
            side = sides[attribute]
            if exact:
                bounds[side], bounds[side + 1] = low, -high
            else:  # what of it is outside, a text may take away: who covers it touches it at least
                bounds[side], bounds[side + 1] = high - 1, ~low
        beside = self._equal(f, self._beside)
        return _Question(bounds[None], hull.exact, beside, lambda g: covers(g, f))

    def _contained(self, f: Filter) -> "_Question":
        own = self._boxes(f)
        if own is None:
            return self._unsearched(self._equal(f, self._filters))
        beside = [*self._empty, *self._equal(f, self._beside)]
        if not own:
            return self._unsearched(beside)
        sides = self._space.sides
        bounds = self._space.no_limits[0].copy()
        hull = self._space.hull(own, inner=True)
        for attribute, (low, high, _, _) in hull.by_attribute.items():
            side = sides.get(attribute)
            if side is None:
                if low > LOWEST or high < HIGHEST:
                    return self._unsearched(beside)  # no filter has a limit there; one is needed
                continue
            if low > LOWEST:
                bounds[side] = low
            if high < HIGHEST:
                bounds[side + 1] = -high
        sure = hull.exact and len(own) == hull.parts == 1
        return _Question(bounds[None], sure, beside, lambda g: covers(f, g))

    def _overlapping(self, f: Filter) -> "_Question":
        own = self._boxes(f)
        if not own:
            with_any = (handle for handle in self._filters if handle not in self._empty)
            return self._unsearched(with_any if own is None else ())
        sides = self._space.sides
        rows = []
        sure = True
        for part in self._space.parts(own):
            row = self._space.no_limits[1].copy()
            for attribute, (low, high, _, _) in part.by_attribute.items():
                side = sides[attribute]
                row[side], row[side + 1] = high - 1, ~low
            rows.append(row)
            sure = sure and part.exact
        bounds = np.array(rows) if len(rows) > 1 else rows[0][None]
        return _Question(bounds, sure, list(self._beside), lambda g: overlaps(g, f))

    def _equal(self, f: Filter, handles: Iterable[int]) -> list[int]:
        return [handle for handle in handles if self._filters[handle] == f]

    def _unsearched(self, handles: Iterable[int]) -> "_Question":
        """A question whose answer is known."""
        none = np.empty((0, len(self._space.whole)), np.int64)
        return _Question(none, True, list(handles), lambda f: False)

    # -- answers

    def _ask(self, question: "_Question", flag: int) -> Integers:
        sure = _SURELY[flag] if question.sure else _UNSURELY
        bounds, within = question.bounds, flag == _INNER
        if len(bounds) == 1:
            found, doubtful = self._integers.search_one(bounds, sure, flag, within)
        else:
            sure = sure.repeat(len(bounds))
            found, doubtful, _ = self._integers.search(bounds, sure, flag, within)
        return self._settled(question, found, doubtful)

    def _ask_all(self, questions: Sequence["_Question"], flag: int) -> Answers:
        none = np.empty((0, len(self._space.whole)), np.int64)
        bounds = np.concatenate([none, *(question.bounds for question in questions)])
        sizes = [len(question.bounds) for question in questions]
        sure = np.repeat([flag * _SURE * question.sure for question in questions], sizes)
        search = self._integers.search
        handles, doubtful, upto = search(bounds, sure.astype(np.uint8), flag, flag == _INNER)
        upto = np.concatenate([np.zeros((1, 2), np.int64), upto])[np.cumsum([0, *sizes])]
        if (
            not len(doubtful)
            and max(sizes, default=0) <= 1
            and not any(q.beside for q in questions)
        ):
            return upto[:, 0].copy(), handles
        answers = [np.empty(0, np.int64)]
        for question, (start, doubt), (stop, no_doubt) in zip(
            questions, upto[:-1].tolist(), upto[1:].tolist(), strict=True
        ):
            own = handles[start:stop], doubtful[doubt:no_doubt]
            answers.append(self._settled(question, *own))
        return np.cumsum([len(answer) for answer in answers]), np.concatenate(answers)

    def _settled(self, question: "_Question", sure: Integers, doubtful: Integers) -> Integers:
        """The answer to a question, of which the integers have left some handles in doubt."""
        if len(question.bounds) > 1:
            sure = np.unique(sure)
        if not len(doubtful) and not question.beside:
            return sure
        shared = np.unique(doubtful[doubtful >= 0])
        unsure = np.setdiff1d(~doubtful[doubtful < 0], shared).tolist()
        passed = [handle for handle in unsure if question.test(self._filters[handle])]
        return np.concatenate([sure, shared, np.array([*passed, *question.beside], np.int64)])


class _Question(NamedTuple):
    """A question about the filters of a store.

    Bounds for the integer boxes, one row for each part of what is asked about; whether integers say
    everything about that; the handles of filters that belong to the answer anyway; and the question
    itself, to be put to a filter that is left in doubt.
    """

    bounds: Integers
    sure: bool
    beside: list[int]
    test: _Test

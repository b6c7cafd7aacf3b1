"""A changing set of integer boxes: which of them reach a bound, which keep within one?

The questions are those of `box_kernels`, and so is the work; here, boxes come and go. New ones are
put into a short **tail** that is compared one by one. A full tail is packed into a segment, and
with it the segments before it that are not several times as large (the logarithmic method of
Bentley and Saxe, "Decomposable Searching Problems I", 1980): segments lie end to end in the same
arrays, the largest first, and only the last ones are packed anew. A box that is removed loses its
flags, and goes when its segment is packed the next time; packing all of them makes the arrays as
short as they can be.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.boxes import box_kernels as kernels
from tidegate.engine.boxes import box_packing as packing

Integers: TypeAlias = NDArray[np.int64]
_Scalar = TypeVar("_Scalar", bound=np.generic)

_TAIL: Final = 256  # boxes
_ENDS: Final = 16  # of a box in the tail, for which there is always room
_TIMES: Final = 4  # as large as what is to be packed, a segment is left as it is
_ROOM: Final = 65_536  # handles of the answers to several questions
_NO: Final = np.empty(0, np.int64)


Found: TypeAlias = tuple[Integers, Integers, Integers]
"""The answers to questions: handles that are found for sure; those that are not, complemented, or
that several boxes share; and up to where the answers to each question go, in the first and in the
second of these arrays."""


class IntegerBoxes:
    """Boxes, each with a handle and with flags that say which questions it answers.

    Ends and bounds are integers of 64 bits. Memory is about 12 bytes per end, 21 per box, and up to
    8 more per end for the rows. One thread at a time.

    A box from 3 to 9, with its low side 0 and its high side 1 (see `box_kernels`):

    >>> boxes = IntegerBoxes()
    >>> slot = boxes.add(7, [0, 1], [3, -9], flags=1 | 2)
    >>> point = np.array([[5, -6]])
    >>> boxes.search(point, np.array([2], np.uint8), asked=1, within=False)[0].tolist()
    [7]
    >>> boxes.remove(slot)
    >>> len(boxes)
    0
    """

    def __init__(self) -> None:
        self._tags = np.zeros(_TAIL, np.int64)
        self._slots = np.zeros(_TAIL, np.int32)  # of the boxes, by their positions
        self._positions = np.zeros(_TAIL, np.int64)  # of the boxes, by their slots
        self._free: list[int] = []  # slots
        self._count = 0  # of positions in use, those of removed boxes included
        self._packed_count = 0
        self._alive = 0
        self._sides = 0
        self._segments = np.zeros((0, kernels.FIELDS), np.int64)
        self._scratch = kernels.scratch(self._segments)
        self._packed = kernels.empty_segment()  # all segments, with room behind them
        self._sizes = [tuple(0 for _ in self._packed)]  # of its arrays up to each segment
        self._tail = kernels.Listed(
            np.zeros(_TAIL + 1, np.int64), np.zeros(_TAIL, np.int32), np.zeros(_TAIL, np.int64)
        )
        self._answer = np.zeros(_TAIL, np.int64)
        self._upto = np.zeros((1, 2), np.int64)  # of a question put alone

    def __len__(self) -> int:
        return self._alive

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        own = (self._tags, self._slots, self._positions, self._answer)
        return sum(array.nbytes for array in (*own, *self._packed, *self._tail))

    def add(self, handle: int, sides: Sequence[int], ends: Sequence[int], flags: int) -> int:
        """Add a box that ends there on these sides; the slot that removes it again."""
        slot = self._free.pop() if self._free else self._alive
        if slot == len(self._positions):
            self._positions = _longer(self._positions)
        self._put_last(slot, handle << kernels.FLAG_BITS | flags, sides, ends)
        self._alive += 1
        return slot

    def move(self, slot: int, sides: Sequence[int], ends: Sequence[int]) -> None:
        """Let the box in a slot end there on these sides.

        In the tail, it is written over its old ends; from a segment, it goes to the tail.
        """
        position = int(self._positions[slot])
        first, tail_sides, tail_ends = self._tail
        box = position - self._packed_count
        if box >= 0:
            start, stop = int(first[box]), int(first[box + 1])
            if stop - start == len(sides):
                tail_sides[start:stop] = sides
                tail_ends[start:stop] = ends
                self._sides = max(self._sides, max(sides, default=-1) + 1)
                return
        tag = int(self._tags[position])
        self._tags[position] = 0
        self._put_last(slot, tag, sides, ends)
        self._pack_if_idle()

    def flags(self, slot: int) -> int:
        """The flags of the box in a slot."""
        return int(self._tags[self._positions[slot]]) & (1 << kernels.FLAG_BITS) - 1

    def _put_last(self, slot: int, tag: int, sides: Sequence[int], ends: Sequence[int]) -> None:
        """Put the box of a slot at the end of the tail."""
        if self._count - self._packed_count == _TAIL:
            self._pack_tail()
        position = self._count
        if position == len(self._tags):
            self._tags = _longer(self._tags)
            self._slots = _longer(self._slots)
        self._tags[position] = tag
        self._slots[position] = slot
        self._positions[slot] = position
        self._append(position - self._packed_count, sides, ends)
        self._count += 1

    def _append(self, box: int, sides: Sequence[int], ends: Sequence[int]) -> None:
        first, tail_sides, tail_ends = self._tail
        start = int(first[box])
        stop = start + len(sides)
        while stop > len(tail_ends):
            tail_sides, tail_ends = _longer(tail_sides), _longer(tail_ends)
            self._tail = kernels.Listed(first, tail_sides, tail_ends)
        if sides:
            tail_sides[start:stop] = sides
            tail_ends[start:stop] = ends
            self._sides = max(self._sides, max(sides) + 1)
        first[box + 1] = stop

    def remove(self, slot: int) -> None:
        """Remove the box in a slot, which another box may get from now on."""
        self._tags[self._positions[slot]] = 0
        self._free.append(slot)
        self._alive -= 1
        self._pack_if_idle()

    def _pack_if_idle(self) -> None:
        """Pack everything, if most positions are of boxes that are gone."""
        if self._count > 2 * self._alive + _TAIL:
            self.pack()

    def search(self, bounds: Integers, sure: NDArray[np.uint8], asked: int, within: bool) -> Found:
        """Answer the questions in the rows of `bounds`, one column per side: see `box_kernels`."""
        count = len(bounds)
        upto = np.empty((count, 2), np.int64)
        pieces: list[tuple[Integers, Integers]] = []
        done = 0
        room = min(_ROOM, count * self._count)
        while done < count:
            begin = done
            done = self._search(bounds, sure, asked, within, begin, upto, room)
            pieces.append(self._answers(*upto[done - 1].tolist()))
            if begin > 0:
                upto[begin:done] += upto[begin - 1]
        if len(pieces) == 1:
            return *pieces[0], upto
        handles, doubts = zip((_NO, _NO), *pieces, strict=True)
        return np.concatenate(handles), np.concatenate(doubts), upto

    def search_one(
        self, bounds: Integers, sure: NDArray[np.uint8], asked: int, within: bool
    ) -> tuple[Integers, Integers]:
        """The same for the question in the only row of `bounds`."""
        self._search(bounds, sure, asked, within, 0, self._upto, 0)
        return self._answers(*self._upto[0].tolist())

    def _search(
        self,
        bounds: Integers,
        sure: NDArray[np.uint8],
        asked: int,
        within: bool,
        begin: int,
        upto: Integers,
        room: int,
    ) -> int:
        """Answer the questions from number `begin` on; the number of the first not answered.

        There is room for the answer to one of them, and for so many handles more.
        """
        if bounds.shape[1] < self._sides:
            raise ValueError(f"there are {self._sides} sides, and bounds for {bounds.shape[1]}")
        room += self._count + kernels.SPILL
        if room > len(self._answer):
            self._answer = np.empty(room, np.int64)
        return kernels.search(
            bounds,
            sure,
            asked,
            within,
            self._segments,
            *self._packed,
            *self._tail,
            self._tags,
            self._packed_count,
            self._count,
            begin,
            self._answer,
            upto,
            *self._scratch,
        )

    def _answers(self, found: int, doubtful: int) -> tuple[Integers, Integers]:
        """The handles that were found for sure, and the doubtful ones."""
        answer = self._answer
        in_doubt = answer[len(answer) - doubtful :][::-1].copy() if doubtful else _NO
        if 2 * found > len(answer):  # not worth a copy
            self._answer = _NO
            return answer[:found], in_doubt
        return answer[:found].copy(), in_doubt

    @property
    def idle(self) -> int:
        """How many slots are kept for boxes to come."""
        return len(self._free)

    def compact(self) -> list[int]:
        """Give all boxes new slots, from 0 on, and keep no others; the handles in that order."""
        self.pack()
        count = self._count
        self._slots[:count] = np.arange(count)
        self._positions = np.arange(max(count, _TAIL))
        self._free = []
        handles: list[int] = (self._tags[:count] >> kernels.FLAG_BITS).tolist()
        return handles

    def sides(self) -> Integers:
        """The sides on which boxes end; all are packed."""
        return self._packed.sides[: self._sizes[-1][0], kernels.ID]

    def renumber(self, new: Integers) -> None:
        """Give sides other numbers, in the same order; all boxes are packed."""
        own = self.sides()
        own[:] = new[own]
        self._sides = int(own.max()) + 1 if len(own) else 0

    def relabel(self, side: int, old: Integers, new: Integers) -> None:
        """Move the ends on a side that are at `old` places to the `new` ones; both ascend.

        Other ends stay where they are; none changes its rank among all.
        """
        _, highs, buckets, levels, *_ = self._packed
        for first, stop, lowest, behind in self._packed_on(side):
            _move(levels[lowest:behind], old, new)
            highs[first:stop] = levels[buckets[first:stop, kernels.LEVELS_STOP] - 1]
        self._tail.ends[:] = np.where(
            self._tail.sides == side, _move(self._tail.ends.copy(), old, new), self._tail.ends
        )

    def ends(self, side: int) -> Integers:
        """The different ends on a side, perhaps with those of boxes removed of late."""
        levels = self._packed.levels
        packed = [levels[lowest:behind] for _, _, lowest, behind in self._packed_on(side)]
        used = self._tail.first[self._count - self._packed_count]
        tail = self._tail.ends[:used][self._tail.sides[:used] == side]
        return np.unique(np.concatenate([*packed, tail]))

    def _packed_on(self, side: int) -> list[list[int]]:
        """Where the buckets of a side start and stop in each segment, and where its levels do."""
        sides = self._packed.sides[: self._sizes[-1][0]]
        found: list[list[int]] = sides[
            sides[:, kernels.ID] == side, kernels.FIRST : kernels.TWIN
        ].tolist()
        return found

    def _pack_tail(self) -> None:
        """Pack the tail, with the segments that are not much larger than what is behind them."""
        begin = len(self._segments)
        start = self._packed_count
        while begin > 0:
            before = int(self._segments[begin - 1, kernels.BOXES])
            if start - before > _TIMES * (self._count - start):
                break
            begin, start = begin - 1, before
        self.pack(begin)

    def pack(self, begin: int = 0) -> None:
        """Pack the segments from number `begin` on, and the tail, into one."""
        start = self._packed_count
        if begin < len(self._segments):
            start = int(self._segments[begin, kernels.BOXES])
        sides, _, buckets, levels, starts, members, _, _ = self._packed
        kept, segment = packing.pack(
            self._segments[begin:],
            sides,
            buckets,
            levels,
            starts,
            members,
            *self._tail,
            self._tags,
            self._packed_count,
            self._count,
            self._sides,
        )
        stop = start + len(kept)
        self._tags[start:stop] = self._tags[kept]
        self._slots[start:stop] = self._slots[kept]
        self._positions[self._slots[start:stop]] = np.arange(start, stop)
        del self._sizes[begin + 1 :]
        self._segments = self._segments[:begin]
        if begin == 0:
            self._shorten(stop)
        if stop > start:
            self._put(segment, start, stop)
        self._scratch = kernels.scratch(self._segments)
        self._count = self._packed_count = stop

    def _shorten(self, count: int) -> None:
        """Let go of room that so many boxes, all of which are packed anew, do not need."""
        if not count:
            self._packed = kernels.empty_segment()
        room = 2 * max(count, _TAIL)
        if len(self._tags) > 2 * room:
            self._tags, self._slots = self._tags[:room].copy(), self._slots[:room].copy()
            self._answer = _NO
        if len(self._tail.ends) > 2 * _ENDS * _TAIL:
            sides, ends = np.zeros(_TAIL, np.int32), np.zeros(_TAIL, np.int64)
            self._tail = kernels.Listed(self._tail.first, sides, ends)

    def _put(self, segment: kernels.BoxSegment, start: int, stop: int) -> None:
        """Write a segment behind the others."""
        sizes = self._sizes[-1]
        sides, buckets, _, levels, starts, members, rows, digests = sizes
        segment.sides[:, kernels.FIRST : kernels.STOP + 1] += buckets
        segment.sides[:, kernels.SIDE_LEVELS : kernels.TWIN] += levels
        segment.buckets[:, : kernels.WEIGHT] += levels
        segment.starts[:] += np.uint32(members)
        where = (start, stop, sides, sides + len(segment.sides), buckets, starts, rows, digests)
        self._segments = np.concatenate([self._segments, np.array([where], np.int64)])
        there: tuple[Any, ...] = self._packed
        added: tuple[Any, ...] = segment
        self._packed = kernels.BoxSegment(*map(_spliced, there, sizes, added))
        self._sizes.append(
            tuple(size + len(array) for size, array in zip(sizes, added, strict=True))
        )


def _longer(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The array with as much room again."""
    return np.concatenate([array, np.zeros_like(array)])


def _spliced(array: NDArray[_Scalar], size: int, added: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The array with `added` from place `size` on, in it or, if it is too short, in a new one.

    Or if it is far too long, and there is nothing before that place.
    """
    need = size + len(added)
    if need > len(array) or (not size and len(array) > 4 * need):
        longer = np.empty((need + need // 4, *array.shape[1:]), array.dtype)
        longer[:size] = array[:size]
        array = longer
    array[size:need] = added
    return array


def _move(ends: Integers, old: Integers, new: Integers) -> Integers:
    """Change, in place, those of the ends that are in `old` to what stands there in `new`."""
    places = np.minimum(np.searchsorted(old, ends), len(old) - 1)
    here = old[places] == ends
    ends[here] = new[places[here]]
    return ends

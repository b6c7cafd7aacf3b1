"""Is a box inside the union of others? The compiled part of `tidegate.algebra.coverage`.

The question is Proposition 1 of Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription
Subsumption Evaluation for Content-Based Publish/Subscribe Systems" (Middleware 2008): a box is
subsumed unless it meets the *negative space*, what no box of the set covers. The paper keeps that
space as a list of rectangles, which grows with the whole domain. Here nothing is kept: the part of
the negative space inside the one box in question is worked out on demand, depth first, and the
first uncovered piece ends the search.

A *fragment* is a piece of the box that may still be uncovered; the first one is the box itself.
Each fragment looks only at the candidates that met the fragment it was cut from:

- a candidate contains it: the fragment is covered;
- the candidates' volumes inside it add up to less than its own: some point is uncovered, and so the
  box is not subsumed;
- a candidate spans it in every dimension but one and reaches one of its ends in that one: such
  *slabs* (Overmars and Yap, "New Upper Bounds in Klee's Measure Problem", 1991) are intervals, and
  together they shorten the fragment from both ends, as far as they go without a gap;
- otherwise the candidate with the fewest faces inside the fragment (the largest of those) is
  subtracted as in Fig. 4 of the paper, the largest piece cut off first. Fewest faces means fewest
  pieces, as taking the shortest clause first does in a satisfiability solver.

Every piece meets fewer candidates than its fragment did, so the search ends; a budget of fragments
bounds it before that. Coordinates are closed intervals of int64 over its whole range. Volumes are
floats and decide only with a margin far above their rounding errors, so answers are exact.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.jit import allocating, kernel

Integers: TypeAlias = NDArray[np.int64]
Positions: TypeAlias = NDArray[np.int32]

SUBSUMED: Final = 1
NOT_SUBSUMED: Final = 0
EXHAUSTED: Final = -1

_BLOCK = 256  # boxes looked at together, so that the comparisons become vector instructions
_NEARLY_ALL = 1.0 - 1e-9  # of a fragment's volume; rounding stays below n * 1e-15 for n candidates


@allocating
def subsumed(
    lows: Integers, highs: Integers, count: int, low: Integers, high: Integers, budget: int
) -> tuple[int, int]:
    """Is [low, high] inside the union of the first `count` boxes? Also, the fragments it took.

    `lows` and `highs` have one row per dimension, one column per box. The answer is `SUBSUMED`,
    `NOT_SUBSUMED`, or `EXHAUSTED` when more than `budget` fragments would have to be looked at.
    """
    boxes, contained = _overlapping(lows, highs, count, low, high)
    if contained:
        return SUBSUMED, 0
    if len(boxes) == 0:
        return NOT_SUBSUMED, 0

    # Each fragment on the stack names its parent's candidates, lists[first:last]. Its own are
    # written behind those, or over them when no sibling is left that needs them.
    dimensions = low.size
    lists = np.arange(len(boxes), dtype=np.int32)
    stack = np.empty((32, 2 * dimensions), np.int64)
    stack_list = np.empty((32, 2), np.int64)
    _copy(low, stack[0])
    _copy(high, stack[0, dimensions:])
    stack_list[0, 0], stack_list[0, 1] = 0, len(boxes)
    fragment = np.empty(2 * dimensions, np.int64)
    scale = np.empty(dimensions, np.float64)
    depth = 1
    fragments = 0
    while depth > 0:
        if fragments == budget:
            return EXHAUSTED, fragments
        fragments += 1
        depth -= 1
        _copy(stack[depth], fragment)
        first, last = stack_list[depth]
        has_sibling = depth > 0 and stack_list[depth - 1, 0] == first
        start = last if has_sibling else first
        lists = _longer(lists, start + last - first)
        stop, volume, chosen, faces = _survey(boxes, lists, first, last, start, fragment, scale)
        if faces == 0:
            continue
        if volume < _NEARLY_ALL:
            return NOT_SUBSUMED, fragments
        stack = _taller(stack, depth, depth + 2 * dimensions)
        stack_list = _taller(stack_list, depth, depth + 2 * dimensions)
        before = depth
        if faces == 1:
            depth = _push_between_slabs(boxes, lists[start:stop], chosen, fragment, stack, depth)
        else:
            depth = _push_pieces(boxes[chosen], fragment, stack, depth)
        for piece in range(before, depth):
            stack_list[piece, 0], stack_list[piece, 1] = start, stop
    return SUBSUMED, fragments


@allocating
def _overlapping(
    lows: Integers, highs: Integers, count: int, low: Integers, high: Integers
) -> tuple[Integers, bool]:
    """The boxes that overlap [low, high], cut to it; and whether one contains it.

    From here on a box is one row: its low ends, then its high ends.
    """
    dimensions = low.size
    overlaps = np.empty(_BLOCK, np.uint8)
    hits = np.empty(_BLOCK, np.int64)
    boxes = np.empty((_BLOCK, 2 * dimensions), np.int64)
    found = 0
    for start in range(0, count, _BLOCK):
        width = min(count - start, _BLOCK)
        for i in range(width):
            overlaps[i] = 1
        for k in range(dimensions):
            lower, upper = low[k], high[k]
            block_low, block_high = lows[k, start : start + width], highs[k, start : start + width]
            for i in range(width):
                overlaps[i] &= np.uint8(block_low[i] <= upper) & np.uint8(block_high[i] >= lower)
        new = 0
        for i in range(width):
            hits[new] = start + i
            new += overlaps[i]
        boxes = _taller(boxes, found, found + new)
        for i in range(new):
            faces = 0
            for k in range(dimensions):
                lower, upper = lows[k, hits[i]], highs[k, hits[i]]
                if lower > low[k]:
                    faces += 1
                else:
                    lower = low[k]
                if upper < high[k]:
                    faces += 1
                else:
                    upper = high[k]
                boxes[found, k], boxes[found, dimensions + k] = lower, upper
            if faces == 0:
                return boxes[:0], True
            found += 1
    return boxes[:found], False


@kernel
def _survey(
    boxes: Integers,
    lists: Positions,
    first: int,
    last: int,
    start: int,
    fragment: Integers,
    scale: NDArray[np.float64],
) -> tuple[int, float, int, int]:
    """Copy those of lists[first:last] that overlap the fragment to lists[start:] and size them up.

    Returns where the copy stops, the sum of their volumes inside the fragment (whose own is 1), the
    candidate with the fewest faces in it and the number of these; no faces if one contains it.
    """
    dimensions = scale.size
    for k in range(dimensions):
        scale[k] = 1.0 / _length(fragment[k], fragment[dimensions + k])
    stop = start
    total = largest = 0.0
    chosen, fewest = 0, 2 * dimensions + 1
    for position in range(first, last):
        box = lists[position]
        overlaps = True
        volume = 1.0
        faces = 0
        for k in range(dimensions):
            lower, upper = boxes[box, k], boxes[box, dimensions + k]
            floor, ceiling = fragment[k], fragment[dimensions + k]
            if lower > ceiling or upper < floor:
                overlaps = False
                break
            if lower > floor:
                faces += 1
            else:
                lower = floor
            if upper < ceiling:
                faces += 1
            else:
                upper = ceiling
            volume *= _length(lower, upper) * scale[k]
        if not overlaps:
            continue
        if faces == 0:
            return stop, 1.0, box, 0
        lists[stop] = box
        stop += 1
        total += volume
        if faces < fewest or (faces == fewest and volume > largest):
            chosen, fewest, largest = box, faces, volume
    return stop, total, chosen, fewest


@allocating
def _push_between_slabs(
    boxes: Integers,
    candidates: Positions,
    slab: int,
    fragment: Integers,
    stack: Integers,
    depth: int,
) -> int:
    """Push the fragment without what `slab` and others of its dimension cover from either end on.

    Returns the new depth of the stack, which is the old one if the slabs leave nothing.
    """
    dimensions = fragment.size // 2
    thin = 0
    for k in range(dimensions):
        if boxes[slab, k] > fragment[k] or boxes[slab, dimensions + k] < fragment[dimensions + k]:
            thin = k
    lower = np.empty(len(candidates), np.int64)
    upper = np.empty(len(candidates), np.int64)
    count = 0
    for box in candidates:
        spans = True
        for k in range(dimensions):
            if k != thin and (
                boxes[box, k] > fragment[k] or boxes[box, dimensions + k] < fragment[dimensions + k]
            ):
                spans = False
                break
        if spans:
            lower[count], upper[count] = boxes[box, thin], boxes[box, dimensions + thin]
            count += 1
    _copy(fragment, stack[depth])
    reach, ceiling = fragment[thin], fragment[dimensions + thin]
    gaps = 0
    for i in np.argsort(lower[:count]):
        if lower[i] > reach:
            if gaps == 0:
                stack[depth, thin] = reach
            stack[depth, dimensions + thin] = lower[i] - 1
            gaps += 1
        if upper[i] >= ceiling:
            return depth + (gaps > 0)
        reach = max(reach, upper[i] + 1)
    if gaps == 0:
        stack[depth, thin] = reach
    stack[depth, dimensions + thin] = ceiling
    return depth + 1


@kernel
def _push_pieces(box: Integers, fragment: Integers, stack: Integers, depth: int) -> int:
    """Push the fragment minus the box: `Subtract` of Fig. 4, the largest piece first.

    Returns the new depth of the stack; leaves of the fragment what the box covers.
    """
    dimensions = fragment.size // 2
    while True:
        largest = 0.0
        face = 0
        for k in range(dimensions):
            floor, ceiling = fragment[k], fragment[dimensions + k]
            if box[k] > floor:
                share = _length(floor, box[k] - 1) / _length(floor, ceiling)
                if share > largest:
                    largest, face = share, k
            if box[dimensions + k] < ceiling:
                share = _length(box[dimensions + k] + 1, ceiling) / _length(floor, ceiling)
                if share > largest:
                    largest, face = share, dimensions + k
        if largest == 0.0:
            return depth
        _copy(fragment, stack[depth])
        if face < dimensions:
            stack[depth, dimensions + face] = box[face] - 1
        else:
            stack[depth, face - dimensions] = box[face] + 1
        fragment[face] = box[face]
        depth += 1


@kernel
def _length(low: int, high: int) -> float:
    """How many integers [low, high] holds. Unsigned, the difference is right for all of int64."""
    return float(np.uint64(high) - np.uint64(low)) + 1.0


@allocating
def _longer(lists: Positions, needed: int) -> Positions:
    """The same array, or a longer copy of it."""
    if needed <= lists.size:
        return lists
    longer = np.empty(2 * needed, lists.dtype)
    for i in range(lists.size):
        longer[i] = lists[i]
    return longer


@allocating
def _taller(rows: Integers, used: int, needed: int) -> Integers:
    """The same array, or a copy of its first `used` rows with room for more."""
    if needed <= len(rows):
        return rows
    taller = np.empty((2 * needed, rows.shape[1]), rows.dtype)
    for row in range(used):
        _copy(rows[row], taller[row])
    return taller


@kernel
def _copy(source: Integers, target: Integers) -> None:
    """target[: len(source)] = source, which takes the compiler ten times as long to compile."""
    for i in range(source.size):
        target[i] = source[i]

"""Is a box inside the union of others? The compiled part of `tidegate.algebra.coverage`.

The question is Proposition 1 of Jafarpour, Hore, Mehrotra, Venkatasubramanian, "Subscription
Subsumption Evaluation for Content-Based Publish/Subscribe Systems" (Middleware 2008): a box is
subsumed unless it meets the *negative space*, what no box of the set covers. The paper keeps that
space as a list of rectangles, which grows with the whole domain. Here nothing is kept: the part of
the negative space inside the one box in question is worked out on demand, depth first, and the
first uncovered piece ends the search.

A *fragment* is a piece of the box that may still be uncovered; the first one is the box itself.
Each fragment looks only at the candidates that met the fragment it was cut from:

- a candidate that contains it: the fragment is covered;
- the candidates inside it do not add up to its volume: some point is uncovered, and so the box is
  not subsumed;
- some candidates span it in every dimension but one (*slabs*, in Overmars and Yap, "New Upper
  Bounds in Klee's Measure Problem", 1991): their union is a union of intervals, and what is left of
  the fragment is the gaps between those;
- otherwise the candidate with the fewest faces inside the fragment (the largest of those) is
  subtracted as in Fig. 4 of the paper, with the largest piece cut off first. Fewest faces means
  fewest pieces, as taking the shortest clause first does in a satisfiability solver.

Every piece meets fewer candidates than its fragment did, so the search ends; a budget of fragments
bounds it before that. Coordinates are closed intervals of int64 over its whole range. Volumes are
floats and decide only with a margin far above their rounding errors, so answers are exact.
"""

from typing import Final, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Positions: TypeAlias = NDArray[np.int32]

SUBSUMED: Final = 1
NOT_SUBSUMED: Final = 0
EXHAUSTED: Final = -1

_BLOCK = 256  # boxes looked at together, so that the comparisons become vector instructions
_NEARLY_ALL = 1.0 - 1e-9  # of a fragment's volume; rounding stays below n * 1e-15 for n candidates
_CONTAINED = -1  # what `_survey` says instead of a candidate to subtract


@njit(cache=True, nogil=True)
def subsumed(
    lows: Integers, highs: Integers, count: int, low: Integers, high: Integers, budget: int
) -> tuple[int, int]:
    """Is [low, high] in the union of the first `count` boxes? The answer, and the fragments it took.

    `lows` and `highs` have one row per dimension, one column per box. The answer is `SUBSUMED`,
    `NOT_SUBSUMED`, or `EXHAUSTED` when more than `budget` fragments would have to be looked at.
    """
    dimensions = low.size
    box_low, box_high, contained = _overlapping(lows, highs, count, low, high)
    if contained:
        return SUBSUMED, 0
    found = len(box_low)
    if found == 0:
        return NOT_SUBSUMED, 0

    # Each fragment on the stack names its parent's candidates, lists[first:last]. Its own are
    # written behind those, or over them when no sibling is left that needs them.
    lists = np.empty(2 * found, np.int32)
    for box in range(found):
        lists[box] = box
    stack_low = np.empty((64, dimensions), np.int64)
    stack_high = np.empty((64, dimensions), np.int64)
    stack_list = np.empty((64, 2), np.int64)
    stack_low[0], stack_high[0] = low, high
    stack_list[0, 0], stack_list[0, 1] = 0, found
    fragment_low = np.empty(dimensions, np.int64)
    fragment_high = np.empty(dimensions, np.int64)
    slabs = np.empty(dimensions, np.float64)
    depth = 1
    fragments = 0
    while depth > 0:
        if fragments == budget:
            return EXHAUSTED, fragments
        fragments += 1
        depth -= 1
        fragment_low[:], fragment_high[:] = stack_low[depth], stack_high[depth]
        first, last = stack_list[depth]
        has_sibling = depth > 0 and stack_list[depth - 1, 0] == first
        start = last if has_sibling else first
        lists = _with_room(lists, start + last - first)
        stop, volume, chosen = _survey(
            box_low, box_high, lists, first, last, start, fragment_low, fragment_high, slabs
        )
        if chosen == _CONTAINED:
            continue
        if volume < _NEARLY_ALL:
            return NOT_SUBSUMED, fragments
        if depth + stop - start + 2 * dimensions > len(stack_low):
            room = 2 * depth + stop - start + 2 * dimensions
            stack_low = _taller(stack_low, depth, room)
            stack_high = _taller(stack_high, depth, room)
            stack_list = _taller(stack_list, depth, room)
        before = depth
        thickest = np.argmax(slabs)
        if slabs[thickest] > 0.0:
            depth = _push_gaps(
                box_low,
                box_high,
                lists[start:stop],
                thickest,
                fragment_low,
                fragment_high,
                stack_low,
                stack_high,
                depth,
            )
        else:
            depth = _push_pieces(
                box_low[chosen],
                box_high[chosen],
                fragment_low,
                fragment_high,
                stack_low,
                stack_high,
                depth,
            )
        for piece in range(before, depth):
            stack_list[piece, 0], stack_list[piece, 1] = start, stop
    return SUBSUMED, fragments


@njit(cache=True, nogil=True)
def _overlapping(
    lows: Integers, highs: Integers, count: int, low: Integers, high: Integers
) -> tuple[Integers, Integers, bool]:
    """The boxes that overlap [low, high], cut to it, one row each; and whether one contains it."""
    dimensions = low.size
    overlaps = np.empty(_BLOCK, np.uint8)
    hits = np.empty(_BLOCK, np.int64)
    found_low = np.empty((_BLOCK, dimensions), np.int64)
    found_high = np.empty((_BLOCK, dimensions), np.int64)
    found = 0
    for start in range(0, count, _BLOCK):
        width = min(count - start, _BLOCK)
        overlaps[:width] = 1
        for k in range(dimensions):
            lower, upper = low[k], high[k]
            block_low, block_high = lows[k, start : start + width], highs[k, start : start + width]
            for i in range(width):
                overlaps[i] &= np.uint8(block_low[i] <= upper) & np.uint8(block_high[i] >= lower)
        new = 0
        for i in range(width):
            hits[new] = start + i
            new += overlaps[i]
        if found + new > len(found_low):
            found_low = _taller(found_low, found, 2 * found + new)
            found_high = _taller(found_high, found, 2 * found + new)
        for hit in hits[:new]:
            contains = True
            for k in range(dimensions):
                contains &= lows[k, hit] <= low[k] and highs[k, hit] >= high[k]
                found_low[found, k] = max(lows[k, hit], low[k])
                found_high[found, k] = min(highs[k, hit], high[k])
            if contains:
                return found_low[:0], found_high[:0], True
            found += 1
    return found_low[:found], found_high[:found], False


@njit(cache=True, nogil=True, error_model="numpy")
def _survey(
    box_low: Integers,
    box_high: Integers,
    lists: Positions,
    first: int,
    last: int,
    start: int,
    fragment_low: Integers,
    fragment_high: Integers,
    slabs: NDArray[np.float64],
) -> tuple[int, float, int]:
    """Copy those of lists[first:last] that overlap the fragment to lists[start:] and size them up.

    Returns where the copy stops, the sum of their volumes inside the fragment (whose own is 1) and
    the candidate with the fewest faces in it, or `_CONTAINED`. `slabs` gets the volume of the
    slabs in each dimension.
    """
    dimensions = fragment_low.size
    slabs[:] = 0.0
    stop = start
    total = 0.0
    chosen = 0
    fewest, largest = 2 * dimensions + 1, 0.0
    for position in range(first, last):
        box = lists[position]
        volume = 1.0
        faces = cut = thin = 0
        for k in range(dimensions):
            lower, upper = box_low[box, k], box_high[box, k]
            floor, ceiling = fragment_low[k], fragment_high[k]
            if lower > ceiling or upper < floor:
                volume = -1.0
                break
            if lower > floor or upper < ceiling:
                faces += (lower > floor) + (upper < ceiling)
                cut += 1
                thin = k
                inside = _length(max(lower, floor), min(upper, ceiling))
                volume *= inside / _length(floor, ceiling)
        if volume < 0.0:
            continue
        if faces == 0:
            return stop, 1.0, _CONTAINED
        lists[stop] = box
        stop += 1
        total += volume
        if cut == 1:
            slabs[thin] += volume
        if faces < fewest or (faces == fewest and volume > largest):
            fewest, largest, chosen = faces, volume, box
    return stop, total, chosen


@njit(cache=True, nogil=True)
def _push_gaps(
    box_low: Integers,
    box_high: Integers,
    candidates: Positions,
    thin: int,
    fragment_low: Integers,
    fragment_high: Integers,
    stack_low: Integers,
    stack_high: Integers,
    depth: int,
) -> int:
    """Push what the slabs in dimension `thin` leave of the fragment; the new depth of the stack."""
    lower = np.empty(len(candidates), np.int64)
    upper = np.empty(len(candidates), np.int64)
    count = 0
    for box in candidates:
        spans = True
        for k in range(fragment_low.size):
            if k != thin:
                spans &= box_low[box, k] <= fragment_low[k] and box_high[box, k] >= fragment_high[k]
        if spans:
            lower[count], upper[count] = box_low[box, thin], box_high[box, thin]
            count += 1
    floor, ceiling = fragment_low[thin], fragment_high[thin]
    for slab in np.argsort(lower[:count]):
        if lower[slab] > floor:
            stack_low[depth], stack_high[depth] = fragment_low, fragment_high
            stack_low[depth, thin], stack_high[depth, thin] = floor, lower[slab] - 1
            depth += 1
        if upper[slab] >= ceiling:
            return depth
        floor = max(floor, upper[slab] + 1)
    stack_low[depth], stack_high[depth] = fragment_low, fragment_high
    stack_low[depth, thin] = floor
    return depth + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _push_pieces(
    low: Integers,
    high: Integers,
    fragment_low: Integers,
    fragment_high: Integers,
    stack_low: Integers,
    stack_high: Integers,
    depth: int,
) -> int:
    """Push the fragment minus the box [low, high]: `Subtract` of Fig. 4, the largest piece first.

    Returns the new depth of the stack; leaves of the fragment what the box covers.
    """
    while True:
        largest = 0.0
        dimension, below = 0, False
        for k in range(low.size):
            whole = _length(fragment_low[k], fragment_high[k])
            if low[k] > fragment_low[k]:
                share = _length(fragment_low[k], low[k] - 1) / whole
                if share > largest:
                    largest, dimension, below = share, k, True
            if high[k] < fragment_high[k]:
                share = _length(high[k] + 1, fragment_high[k]) / whole
                if share > largest:
                    largest, dimension, below = share, k, False
        if largest == 0.0:
            return depth
        stack_low[depth], stack_high[depth] = fragment_low, fragment_high
        if below:
            stack_high[depth, dimension] = low[dimension] - 1
            fragment_low[dimension] = low[dimension]
        else:
            stack_low[depth, dimension] = high[dimension] + 1
            fragment_high[dimension] = high[dimension]
        depth += 1


@njit(cache=True, nogil=True)
def _length(low: int, high: int) -> float:
    """How many integers [low, high] holds. Unsigned, the difference is right for all of int64."""
    return float(np.uint64(high) - np.uint64(low)) + 1.0


@njit(cache=True, nogil=True)
def _with_room(lists: Positions, needed: int) -> Positions:
    """The same list, or a longer copy of it."""
    if needed <= lists.size:
        return lists
    longer = np.empty(2 * needed, lists.dtype)
    longer[: lists.size] = lists
    return longer


@njit(cache=True, nogil=True)
def _taller(rows: Integers, used: int, height: int) -> Integers:
    """A copy with `height` rows, of which the first `used` are filled."""
    taller = np.empty((height, rows.shape[1]), rows.dtype)
    taller[:used] = rows[:used]
    return taller

"""How do boxes become a segment? The other half of `box_kernels`.

Boxes come from segments and from the tail. Their ends are sorted already in segments, so that only
the **levels**, the different ends on each side, have to be merged, and the ends of boxes to be
translated. Levels are cut into buckets of about as many members, some 64 of
them if all boxes end on the side. The boxes are sorted as by a k-d tree (Bentley, "Multidimensional
Binary Search Trees Used for Associative Searching", 1975): by the side on which they differ most,
then each half likewise, until a chunk is left, so that questions find most chunks all in or all
out. Then rows and their digests are a matter of counting.

Invariant: a segment has all ends of its boxes, and no level that is not the end of one.
"""

from typing import NamedTuple

import numpy as np

from tidegate.engine.boxes.box_kernels import (
    BOXES,
    BUCKETS,
    CHUNK,
    FIRST,
    FLAG_BITS,
    ID,
    LEVELS,
    LEVELS_STOP,
    NONE,
    ONE,
    PLACE_BITS,
    SIDE_FIELDS,
    SIDE_LEVELS,
    SIDE_LEVELS_STOP,
    SIDES,
    SIDES_STOP,
    STARTS,
    STOP,
    TWIN,
    WEIGHT,
    WORDS,
    BoxSegment,
    Codes,
    Flags,
    Integers,
    Listed,
    Sides,
    Words,
    chunk_count,
    first_bits,
)
from tidegate.engine.primitives.vector import popcount
from tidegate.jit import allocating, kernel

_ROWS = 64  # of a side on which every box of the segment ends; others have fewer in proportion
_MEMBERS = 16  # ends that a bucket has at least, where there are as many
_SPLITTING = 32  # sides by which boxes may be sorted: those with the most ends


class Merged(NamedTuple):
    """The different ends on all sides: those on side s are `first[s]` up to `first[s + 1]`."""

    first: Integers
    levels: Integers


@allocating
def pack(
    segments: Integers,
    sides: Integers,
    buckets: Integers,
    levels: Integers,
    starts: Codes,
    members: Codes,
    tail_first: Integers,
    tail_sides: Sides,
    tail_ends: Integers,
    tags: Integers,
    packed_count: int,
    count: int,
    side_count: int,
) -> tuple[Integers, BoxSegment]:
    """The boxes that have flags, of these segments and of the tail, as one segment.

    The segments are all those from some number on. Returns where the boxes were, in their new
    order, and the segment.
    """
    tail = Listed(tail_first, tail_sides, tail_ends)
    tail_stop = tail_first[count - packed_count]
    merged = _merge(segments, sides, levels, tail, tail_stop, side_count)
    start = segments[0, BOXES] if len(segments) > 0 else packed_count
    kept = start + np.flatnonzero(tags[start:count] & (2**FLAG_BITS - 1))
    moved = _translated(segments, sides, levels, merged)
    listed = _list(
        kept, segments, sides, buckets, starts, members, moved, tail, packed_count, merged
    )
    cut = _cut(listed, merged)
    order = _order(listed, cut)
    new_starts, new_members = _settle(listed, cut, order)
    rows = _fill_rows(cut.sides, new_starts, new_members, len(kept))
    digests = _digest(rows, cut.buckets, len(kept))
    return kept[order], BoxSegment(
        cut.sides,
        cut.highs,
        cut.buckets,
        cut.levels,
        new_starts.ravel(),
        new_members,
        rows.ravel(),
        digests.ravel(),
    )


@allocating
def _merge(
    segments: Integers,
    sides: Integers,
    levels: Integers,
    tail: Listed,
    tail_stop: int,
    side_count: int,
) -> Merged:
    """The levels of segments and tail together."""
    room = np.zeros(side_count + 1, np.int64)
    for g in range(len(segments)):
        for t in range(segments[g, SIDES], segments[g, SIDES_STOP]):
            room[sides[t, ID] + 1] += sides[t, SIDE_LEVELS_STOP] - sides[t, SIDE_LEVELS]
    for e in range(tail_stop):
        room[tail.sides[e] + 1] += 1
    room = np.cumsum(room)
    fill = room[:-1].copy()
    pool = np.empty(room[-1], np.int64)
    for g in range(len(segments)):
        for t in range(segments[g, SIDES], segments[g, SIDES_STOP]):
            side = sides[t, ID]
            for k in range(sides[t, SIDE_LEVELS], sides[t, SIDE_LEVELS_STOP]):
                pool[fill[side]] = levels[k]
                fill[side] += 1
    for e in range(tail_stop):
        side = tail.sides[e]
        pool[fill[side]] = tail.ends[e]
        fill[side] += 1
    first = np.zeros(side_count + 1, np.int64)
    at = 0
    for side in range(side_count):
        ascending = np.sort(pool[room[side] : room[side + 1]])
        for i in range(len(ascending)):
            if i == 0 or ascending[i] != ascending[i - 1]:
                pool[at] = ascending[i]
                at += 1
        first[side + 1] = at
    return Merged(first, pool[:at])


@allocating
def _translated(segments: Integers, sides: Integers, levels: Integers, merged: Merged) -> Integers:
    """The places of the segments' levels among the merged ones, from the first segment's on."""
    if len(segments) == 0:
        return np.empty(0, np.int64)
    start = sides[segments[0, SIDES], SIDE_LEVELS] if len(sides) > segments[0, SIDES] else 0
    stop = start
    for t in range(segments[0, SIDES], segments[-1, SIDES_STOP]):
        stop = sides[t, SIDE_LEVELS_STOP]
    moved = np.empty(stop - start, np.int64)
    for t in range(segments[0, SIDES], segments[-1, SIDES_STOP]):
        place = merged.first[sides[t, ID]]
        for k in range(sides[t, SIDE_LEVELS], sides[t, SIDE_LEVELS_STOP]):
            while merged.levels[place] < levels[k]:
                place += 1
            moved[k - start] = place
    return moved


@allocating
def _list(
    kept: Integers,
    segments: Integers,
    sides: Integers,
    buckets: Integers,
    starts: Codes,
    members: Codes,
    moved: Integers,
    tail: Listed,
    packed_count: int,
    merged: Merged,
) -> Listed:
    """The ends of the boxes that are kept, each as its place among the merged levels."""
    start = segments[0, BOXES] if len(segments) > 0 else packed_count
    number = np.full(packed_count - start, -1, np.int64)
    packed = 0
    while packed < len(kept) and kept[packed] < packed_count:
        number[kept[packed] - start] = packed
        packed += 1
    first = np.zeros(len(kept) + 1, np.int64)
    nothing = Listed(first, np.empty(0, np.int32), first)
    _members(segments, sides, buckets, starts, members, moved, number, first, nothing)
    for i in range(packed, len(kept)):
        box = kept[i] - packed_count
        first[i + 1] = tail.first[box + 1] - tail.first[box]
    first = np.cumsum(first)
    listed = Listed(first, np.empty(first[-1], np.int32), np.empty(first[-1], np.int64))
    _members(segments, sides, buckets, starts, members, moved, number, first.copy(), listed)
    for i in range(packed, len(kept)):
        at = first[i]
        box = kept[i] - packed_count
        for e in range(tail.first[box], tail.first[box + 1]):
            side = tail.sides[e]
            own = merged.levels[merged.first[side] : merged.first[side + 1]]
            listed.sides[at] = side
            listed.ends[at] = merged.first[side] + np.searchsorted(own, tail.ends[e])
            at += 1
    return listed


@kernel
def _members(
    segments: Integers,
    sides: Integers,
    buckets: Integers,
    starts: Codes,
    members: Codes,
    moved: Integers,
    number: Integers,
    fill: Integers,
    listed: Listed,
) -> None:
    """List the ends of boxes from `fill` on; or, without room for any, count them one place on."""
    listing = len(listed.sides) > 0
    start = segments[0, BOXES] if len(segments) > 0 else 0
    lowest = sides[segments[0, SIDES], SIDE_LEVELS] if len(moved) > 0 else 0
    for g in range(len(segments)):
        width = chunk_count(segments, g) + 1
        for t in range(segments[g, SIDES], segments[g, SIDES_STOP]):
            for b in range(sides[t, FIRST], sides[t, STOP]):
                row = segments[g, STARTS] + (b - segments[g, BUCKETS]) * width
                level = buckets[b, LEVELS] - lowest
                for c in range(width - 1):
                    base = segments[g, BOXES] - start + c * CHUNK
                    for m in range(np.int64(starts[row + c]), np.int64(starts[row + c + 1])):
                        member = np.int64(members[m])
                        i = number[base + (member & (CHUNK - 1))]
                        if i < 0:
                            continue
                        if not listing:
                            fill[i + 1] += 1
                            continue
                        listed.sides[fill[i]] = sides[t, ID]
                        listed.ends[fill[i]] = moved[level + (member >> PLACE_BITS)]
                        fill[i] += 1


class Cut(NamedTuple):
    """What a segment says of its sides, buckets and levels.

    Then, of each merged level its bucket and its rank there; and the number of each side in the
    segment.
    """

    sides: Integers
    highs: Integers
    buckets: Integers
    levels: Integers
    homes: Integers
    ranks: Integers
    side_of: Integers


@allocating
def _cut(listed: Listed, merged: Merged) -> Cut:
    """Cut the levels into buckets.

    A bucket is closed when it is full, or when the next end comes up so often that it had better
    have a bucket of its own: then no bound falls among its members.
    """
    uses = np.zeros(len(merged.levels), np.int64)
    for e in range(len(listed.ends)):
        uses[listed.ends[e]] += 1
    room = max(_MEMBERS, (len(listed.first) - 1) // _ROWS)
    total = np.count_nonzero(uses)
    sides = np.empty((len(merged.first) - 1, SIDE_FIELDS), np.int64)
    highs = np.empty(total, np.int64)
    buckets = np.empty((total, 3), np.int64)
    levels = np.empty(total, np.int64)
    ranks = np.empty(len(merged.levels), np.int64)
    homes = np.empty(len(merged.levels), np.int64)
    side_of = np.full(len(merged.first) - 1, -1, np.int64)
    t, bucket, level = 0, 0, 0
    for side in range(len(merged.first) - 1):
        held = 0
        sides[t, ID], sides[t, FIRST], sides[t, SIDE_LEVELS] = side, bucket, level
        for k in range(merged.first[side], merged.first[side + 1]):
            if uses[k] == 0:
                continue
            if held > 0 and held + uses[k] > room:
                bucket += 1
                held = 0
            if held == 0:
                buckets[bucket, LEVELS] = level
            levels[level] = merged.levels[k]
            homes[k], ranks[k] = bucket, level - buckets[bucket, LEVELS]
            level += 1
            highs[bucket], buckets[bucket, LEVELS_STOP] = merged.levels[k], level
            held += uses[k]
        if held > 0:
            bucket += 1
            sides[t, STOP], sides[t, SIDE_LEVELS_STOP] = bucket, level
            side_of[side] = t
            t += 1
    return Cut(
        sides[:t].copy(),
        highs[:bucket].copy(),
        buckets[:bucket].copy(),
        levels,
        homes,
        ranks,
        side_of,
    )


@allocating
def _order(listed: Listed, cut: Cut) -> Integers:
    """Boxes that are alike next to each other.

    Ranges of boxes are sorted by the side on which their buckets differ most, and divided near the
    middle, but not within a bucket, until they are no longer than a chunk.
    """
    n = len(listed.first) - 1
    order = np.arange(n)
    codes = _codes(listed, cut)
    spare = np.empty(n, np.int64)
    tally = np.empty(257, np.int64)
    stack = [(0, n if len(codes) > 0 else 0)]
    while len(stack) > 0:
        start, stop = stack.pop()
        if stop - start <= CHUNK:
            continue
        code = codes[_widest(codes, order, start, stop)]
        tally[:] = 0
        for i in range(start, stop):
            tally[code[order[i]] + 1] += 1
        for v in range(256):
            tally[v + 1] += tally[v]
        middle = start + _middle(tally, stop - start)
        for i in range(start, stop):
            v = code[order[i]]
            spare[start + tally[v]] = order[i]
            tally[v] += 1
        order[start:stop] = spare[start:stop]
        stack.append((start, middle))
        stack.append((middle, stop))
    return order


@allocating
def _codes(listed: Listed, cut: Cut) -> Flags:
    """The buckets of boxes on the sides with the most ends, from 1 on; 0 where they are free."""
    n = len(listed.first) - 1
    uses = np.zeros(len(cut.sides), np.int64)
    for e in range(len(listed.ends)):
        uses[cut.side_of[listed.sides[e]]] += 1
    chosen = np.argsort(-uses)[:_SPLITTING]
    row_of = np.full(len(cut.sides), -1, np.int64)
    for c in range(len(chosen)):
        row_of[chosen[c]] = c
    codes = np.zeros((len(chosen), n), np.uint8)
    for box in range(n):
        for e in range(listed.first[box], listed.first[box + 1]):
            t = cut.side_of[listed.sides[e]]
            if row_of[t] >= 0:
                bucket = cut.homes[listed.ends[e]] - cut.sides[t, FIRST]
                codes[row_of[t], box] = min(bucket + 1, 255)
    return codes


@kernel
def _widest(codes: Flags, order: Integers, start: int, stop: int) -> int:
    """The row of codes that varies most among the boxes, judged by a few of them."""
    best, widest = 0, -1.0
    for c in range(len(codes)):
        total, squares, taken = 0.0, 0.0, 0
        for i in range(start, stop, max(1, (stop - start) // 64)):
            code = float(codes[c, order[i]])
            total += code
            squares += code * code
            taken += 1
        spread = squares / taken - (total / taken) ** 2
        if spread > widest:
            best, widest = c, spread
    return best


@kernel
def _middle(tally: Integers, size: int) -> int:
    """Where to divide boxes of which `tally[v]` have a code below v: in whole chunks, near half."""
    nearest = size
    for v in range(257):
        if abs(2 * tally[v] - size) < abs(2 * nearest - size):
            nearest = tally[v]
    if nearest == 0 or nearest == size:
        nearest = size // 2
    whole = (nearest + CHUNK // 2) // CHUNK * CHUNK
    return min(max(whole, CHUNK), (size - 1) // CHUNK * CHUNK)


@allocating
def _settle(listed: Listed, cut: Cut, order: Integers) -> tuple[Codes, Codes]:
    """The members of each bucket, chunk after chunk, and where they start."""
    chunks = (len(order) + CHUNK - 1) // CHUNK
    fill = np.zeros((chunks, len(cut.buckets)), np.uint32)
    for i in range(len(order)):
        for e in range(listed.first[order[i]], listed.first[order[i] + 1]):
            fill[i // CHUNK, cut.homes[listed.ends[e]]] += np.uint32(1)
    starts = np.empty((len(cut.buckets), chunks + 1), np.uint32)
    total = np.uint32(0)
    for b in range(len(starts)):
        for c in range(chunks):
            size = fill[c, b]
            starts[b, c] = fill[c, b] = total
            total += size
        starts[b, chunks] = total
    members = np.empty(len(listed.ends), np.uint32)
    for i in range(len(order)):
        for e in range(listed.first[order[i]], listed.first[order[i] + 1]):
            level = listed.ends[e]
            at = fill[i // CHUNK, cut.homes[level]]
            fill[i // CHUNK, cut.homes[level]] += np.uint32(1)
            members[at] = (cut.ranks[level] << PLACE_BITS) | (i % CHUNK)
    return starts, members


@allocating
def _fill_rows(sides: Integers, starts: Codes, members: Codes, n: int) -> Words:
    """The row before each bucket; which sides are twins is written down with them."""
    chunks = starts.shape[1] - 1
    rows = np.zeros((len(starts), chunks * WORDS), np.uint64)
    for t in range(len(sides)):
        first, stop = sides[t, FIRST], sides[t, STOP]
        for b in range(first, stop):
            for c in range(chunks):
                for m in range(np.int64(starts[b, c]), np.int64(starts[b, c + 1])):
                    place = np.int64(members[m]) & (CHUNK - 1)
                    at = c * WORDS + (place >> 6)
                    bit = ONE << np.uint64(place & 63)
                    rows[first, at] |= bit  # for the moment, the boxes that end on this side
                    if b + 1 < stop:
                        rows[b + 1, at] |= bit
        _accumulate(rows, first, stop, n)
        sides[t, TWIN] = t > 0 and np.array_equal(rows[first], rows[sides[t - 1, FIRST]])
    return rows


@kernel
def _accumulate(rows: Words, first: int, stop: int, n: int) -> None:
    """Make rows of the boxes that end on a side, and of those that end in the bucket before."""
    for w in range(rows.shape[1]):
        rows[first, w] = ~rows[first, w] & first_bits(n - 64 * w)
    for b in range(first + 1, stop):
        for w in range(rows.shape[1]):
            rows[b, w] |= rows[b - 1, w]


@allocating
def _digest(rows: Words, buckets: Integers, n: int) -> Words:
    """The digests of the rows; the number of bits set in each is written into its bucket."""
    chunks = rows.shape[1] // WORDS
    digests = np.zeros((len(rows), 2, (chunks + 63) // 64), np.uint64)
    for b in range(len(rows)):
        weight = np.int64(0)
        for c in range(chunks):
            some, lacking = NONE, NONE
            for w in range(c * WORDS, (c + 1) * WORDS):
                some |= rows[b, w]
                lacking |= ~rows[b, w] & first_bits(n - 64 * w)
                weight += np.int64(popcount(rows[b, w]))
            bit = ONE << np.uint64(c & 63)
            if some != NONE:
                digests[b, 0, c >> 6] |= bit
            if lacking != NONE:
                digests[b, 1, c >> 6] |= bit
        buckets[b, WEIGHT] = weight
    return digests

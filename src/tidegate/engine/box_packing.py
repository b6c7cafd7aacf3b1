"""How do boxes become a segment, and a segment boxes again? The other half of `box_kernels`.

The ends on each side are sorted and cut into buckets of about as many members, some 64 of them if
all boxes end there. The boxes are sorted as by a k-d tree (Bentley, "Multidimensional Binary Search
Trees Used for Associative Searching", 1975): by the side on which they differ most, then each half
likewise, until a chunk is left, so that questions find most chunks all in or all out. Then rows and
their digests are a matter of counting.

Invariant: `unpack` gives back what `pack` was given, in the segment's order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.box_kernels import (
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
    SIDES,
    SIDES_STOP,
    STARTS,
    STOP,
    WEIGHT,
    WORDS,
    Codes,
    Flags,
    Integers,
    Listed,
    Segment,
    Sides,
    Words,
    chunk_count,
    first_bits,
)
from tidegate.engine.compiled import allocating, kernel
from tidegate.engine.vector import popcount

_ROWS = 64  # of a side on which every box of the segment ends; others have fewer in proportion
_MEMBERS = 16  # ends that a bucket has at least, where there are as many
_SPLITTING = 32  # sides by which boxes may be sorted: those with the most ends


class Grouped(NamedTuple):
    """The ends of boxes, side after side: those of side number t are `first[t]` and following."""

    first: Integers
    boxes: NDArray[np.int32]
    ends: Integers


@allocating
def pack(listed: Listed, side_count: int) -> tuple[Integers, Segment]:
    """The boxes as a segment, and in which order they are in it."""
    n = len(listed.first) - 1
    ids, grouped = _group(listed, side_count)
    sides, highs, buckets, levels, homes, ranks = _sort_ends(ids, grouped, n)
    order = _order(grouped, sides, homes, n)
    positions = np.empty(n, np.int64)
    for i in range(n):
        positions[order[i]] = i
    starts, members = _settle(grouped, homes, ranks, len(buckets), positions)
    rows = _fill_rows(sides, starts, members, n)
    digests = _digest(rows, buckets, n)
    return order, Segment(
        sides, highs, buckets, levels, starts.ravel(), members, rows.ravel(), digests.ravel()
    )


@allocating
def _group(listed: Listed, side_count: int) -> tuple[Sides, Grouped]:
    """The sides on which boxes end, and the ends on each of them."""
    uses = np.zeros(side_count, np.int64)
    for e in range(len(listed.ends)):
        uses[listed.sides[e]] += 1
    ids = np.flatnonzero(uses).astype(np.int32)
    first = np.zeros(len(ids) + 1, np.int64)
    fill = np.zeros(side_count, np.int64)
    for t in range(len(ids)):
        fill[ids[t]] = first[t]
        first[t + 1] = first[t] + uses[ids[t]]
    boxes = np.empty(len(listed.ends), np.int32)
    ends = np.empty(len(listed.ends), np.int64)
    for box in range(len(listed.first) - 1):
        for e in range(listed.first[box], listed.first[box + 1]):
            at = fill[listed.sides[e]]
            fill[listed.sides[e]] += 1
            boxes[at], ends[at] = box, listed.ends[e]
    return ids, Grouped(first, boxes, ends)


@allocating
def _sort_ends(
    ids: Sides, grouped: Grouped, n: int
) -> tuple[Integers, Integers, Integers, Integers, NDArray[np.int32], NDArray[np.int32]]:
    """What a segment says of its sides, buckets and levels; and each end's bucket and rank there.

    A bucket is closed when it is full, or when the next end comes up so often that it had better
    have a bucket of its own: then no bound falls among its members.
    """
    sides = np.empty((len(ids), 3), np.int64)
    highs = np.empty(len(grouped.ends), np.int64)
    buckets = np.empty((len(grouped.ends), 3), np.int64)
    levels = np.empty(len(grouped.ends), np.int64)
    homes = np.empty(len(grouped.ends), np.int32)
    ranks = np.empty(len(grouped.ends), np.int32)
    bucket, level = 0, 0
    for t in range(len(ids)):
        start, stop = grouped.first[t], grouped.first[t + 1]
        sides[t, ID], sides[t, FIRST] = ids[t], bucket
        ends = grouped.ends[start:stop]
        ascending = np.argsort(ends)
        room = max(_MEMBERS, n // _ROWS)
        held = 0
        i = 0
        while i < len(ends):
            end = ends[ascending[i]]
            same = i
            while same < len(ends) and ends[ascending[same]] == end:
                same += 1
            if held > 0 and held + same - i > room:
                bucket += 1
                held = 0
            if held == 0:
                buckets[bucket, LEVELS] = level
            for j in range(i, same):
                homes[start + ascending[j]] = bucket
                ranks[start + ascending[j]] = level - buckets[bucket, LEVELS]
            levels[level] = end
            level += 1
            highs[bucket], buckets[bucket, LEVELS_STOP] = end, level
            held += same - i
            i = same
        bucket += 1
        sides[t, STOP] = bucket
    return (
        sides,
        highs[:bucket].copy(),
        buckets[:bucket].copy(),
        levels[:level].copy(),
        homes,
        ranks,
    )


@allocating
def _order(grouped: Grouped, sides: Integers, homes: NDArray[np.int32], n: int) -> Integers:
    """Boxes that are alike next to each other.

    Ranges of boxes are sorted by the side on which their buckets differ most, and divided near the
    middle, but not within a bucket, until they are no longer than a chunk.
    """
    order = np.arange(n)
    codes = _codes(grouped, sides, homes, n)
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
def _codes(grouped: Grouped, sides: Integers, homes: NDArray[np.int32], n: int) -> Flags:
    """The buckets of boxes on the sides with the most ends, from 1 on; 0 where they are free."""
    uses = grouped.first[1:] - grouped.first[:-1]
    chosen = np.argsort(-uses)[:_SPLITTING]
    codes = np.zeros((len(chosen), n), np.uint8)
    for c in range(len(chosen)):
        t = chosen[c]
        for m in range(grouped.first[t], grouped.first[t + 1]):
            codes[c, grouped.boxes[m]] = min(homes[m] - sides[t, FIRST] + 1, 255)
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
def _settle(
    grouped: Grouped,
    homes: NDArray[np.int32],
    ranks: NDArray[np.int32],
    buckets: int,
    positions: Integers,
) -> tuple[Codes, Codes]:
    """The members of each bucket, chunk after chunk, and where they start."""
    chunks = (len(positions) + CHUNK - 1) // CHUNK
    starts = np.zeros((buckets, chunks + 1), np.uint32)
    for m in range(len(homes)):
        starts[homes[m], positions[grouped.boxes[m]] // CHUNK] += np.uint32(1)
    total = np.uint32(0)
    for b in range(buckets):
        for c in range(chunks + 1):
            size = starts[b, c]
            starts[b, c] = total
            total += size
    fill = starts.copy()
    members = np.empty(len(homes), np.uint32)
    for m in range(len(homes)):
        position = positions[grouped.boxes[m]]
        at = fill[homes[m], position // CHUNK]
        fill[homes[m], position // CHUNK] += np.uint32(1)
        members[at] = (ranks[m] << PLACE_BITS) | (position % CHUNK)
    return starts, members


@allocating
def _fill_rows(sides: Integers, starts: Codes, members: Codes, n: int) -> Words:
    """The row before each bucket."""
    chunks = starts.shape[1] - 1
    words = chunks * WORDS
    rows = np.zeros((len(starts), words), np.uint64)
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
        for w in range(words):
            rows[first, w] = ~rows[first, w] & first_bits(n - 64 * w)
        for b in range(first + 1, stop):
            for w in range(words):
                rows[b, w] |= rows[b - 1, w]
    return rows


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


@allocating
def unpack(
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
) -> tuple[Integers, Listed]:
    """The positions and the ends of the boxes that have flags, of these segments and of the tail.

    The segments are all those from some number on.
    """
    start = segments[0, BOXES] if len(segments) > 0 else packed_count
    sizes = np.zeros(count - start + 1, np.int64)
    owners, ends_of, sides_of = _members(segments, sides, buckets, levels, starts, members)
    for m in range(len(owners)):
        sizes[owners[m] - start + 1] += 1
    for box in range(packed_count, count):
        sizes[box - start + 1] = tail_first[box - packed_count + 1] - tail_first[box - packed_count]
    alive = tags[start:count] & (2**FLAG_BITS - 1) != 0
    for i in range(count - start):
        if not alive[i]:
            sizes[i + 1] = 0
    first = np.cumsum(sizes)
    fill = first.copy()
    listed = Listed(first, np.empty(first[-1], np.int32), np.empty(first[-1], np.int64))
    for m in range(len(owners)):
        if alive[owners[m] - start]:
            at = fill[owners[m] - start]
            listed.sides[at], listed.ends[at] = sides_of[m], ends_of[m]
            fill[owners[m] - start] += 1
    for box in range(packed_count, count):
        if alive[box - start]:
            at = fill[box - start]
            for e in range(tail_first[box - packed_count], tail_first[box - packed_count + 1]):
                listed.sides[at], listed.ends[at] = tail_sides[e], tail_ends[e]
                at += 1
    kept = np.flatnonzero(alive)
    return kept + start, Listed(np.append(first[kept], first[-1]), listed.sides, listed.ends)


@allocating
def _members(
    segments: Integers,
    sides: Integers,
    buckets: Integers,
    levels: Integers,
    starts: Codes,
    members: Codes,
) -> tuple[Integers, Integers, Sides]:
    """Of each member of the segments' buckets: the position of its box, its end, its side."""
    total = np.int64(0)
    for g in range(len(segments)):
        width = chunk_count(segments, g) + 1
        for t in range(segments[g, SIDES], segments[g, SIDES_STOP]):
            first = segments[g, STARTS] + (sides[t, FIRST] - segments[g, BUCKETS]) * width
            stop = segments[g, STARTS] + (sides[t, STOP] - segments[g, BUCKETS]) * width
            total += np.int64(starts[stop - 1]) - np.int64(starts[first])
    boxes = np.empty(total, np.int64)
    ends = np.empty(total, np.int64)
    ids = np.empty(total, np.int32)
    at = 0
    for g in range(len(segments)):
        width = chunk_count(segments, g) + 1
        for t in range(segments[g, SIDES], segments[g, SIDES_STOP]):
            for b in range(sides[t, FIRST], sides[t, STOP]):
                row = segments[g, STARTS] + (b - segments[g, BUCKETS]) * width
                for c in range(width - 1):
                    for m in range(np.int64(starts[row + c]), np.int64(starts[row + c + 1])):
                        member = np.int64(members[m])
                        boxes[at] = segments[g, BOXES] + c * CHUNK + (member & (CHUNK - 1))
                        ends[at] = levels[buckets[b, LEVELS] + (member >> PLACE_BITS)]
                        ids[at] = sides[t, ID]
                        at += 1
    return boxes, ends, ids

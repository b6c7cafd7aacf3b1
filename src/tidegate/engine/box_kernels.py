"""Which integer boxes reach a bound, or keep within one? The compiled part of `integer_boxes`.

A box is a set of **ends**: pairs of a side (a dimension's low or high side) and an integer, at most
one per side. On a side it has no end on, it is free. There are two questions, each with one bound
per side:

- *reaching*: which boxes have no end above the bound of its side?
- *within*: which boxes have, on every side that has a bound, an end that is not below it?

Boxes are packed into **segments**. A segment sorts the ends on each of its sides into buckets, about
64 of them if all its boxes end there, and keeps before each bucket a **row**: one bit per box, set
if the box is free on the side or ends before the bucket. For any bound, the rows before and behind
its bucket enclose the answer, and the members of the bucket are compared with it one by one. So a
question reads a bit or two per box and side in place of an integer; and far fewer when it is
selective, since boxes that are alike stand next to each other (sorted as by a k-d tree: Bentley,
"Multidimensional Binary Search Trees Used for Associative Searching", 1975), and **digests** of the
rows tell which **chunks** of 512 boxes have a bit that is set, and which have one that is not. The
rows are the range-encoded bitmaps of Chan and Ioannidis ("Bitmap Index Design and Evaluation",
1998), with several values in one bucket.

Invariant: every answer is what comparing all ends of all boxes would give, whatever the integers.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tidegate.engine.vector import lowest, popcount

Integers: TypeAlias = NDArray[np.int64]
Sides: TypeAlias = NDArray[np.int32]
Words: TypeAlias = NDArray[np.uint64]
Codes: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.uint8]

UNBOUNDED_ABOVE: Final = 2**63 - 1
UNBOUNDED_BELOW: Final = -(2**63)
"""Bounds that ask nothing of a box that reaches, of a box that keeps within."""

SHARED: Final = 128
"""The flag of a box whose handle other boxes have, too."""

_ROWS = 64  # of a side on which every box of the segment ends; others have fewer in proportion
_MEMBERS = 16  # ends that a bucket has at least, where there are as many
_SPLITTING = 32  # sides by which boxes may be sorted: those with the most ends
_WORDS = 8  # of a chunk
_CHUNK = 64 * _WORDS
_PLACE_BITS = 9  # of a place in a chunk
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


class Listed(NamedTuple):
    """The ends of boxes, box after box: those of box i are `first[i]` up to `first[i + 1]`."""

    first: Integers
    sides: Sides
    ends: Integers


class Segment(NamedTuple):
    """Packed boxes.

    A bucket has in a row of `buckets` its highest end, where its different ends start and stop in
    `levels`, and the number of bits set in the row before it. `starts` has per bucket and chunk
    where the members from the chunk start in `members`, and where the bucket's last ones stop. A
    member is the rank of its end among those of its bucket and, in the last bits, its place in the
    chunk. `digests` has per bucket one word per 64 chunks for those with a bit set in the row, then
    as many for those with a bit not set.
    """

    sides: Integers  # one row each: the side, its first bucket, the one behind its last
    buckets: Integers
    levels: Integers
    starts: Codes
    members: Codes
    rows: Words
    digests: Words


def empty_segment() -> Segment:
    """A segment of no boxes."""
    return Segment(
        np.zeros((0, 3), np.int64),
        np.zeros((0, 4), np.int64),
        np.zeros(0, np.int64),
        np.zeros(0, np.uint32),
        np.zeros(0, np.uint32),
        np.zeros(0, np.uint64),
        np.zeros(0, np.uint64),
    )


class Packed(NamedTuple):
    """Segments end to end in the same arrays; a row of `segments` says where they start."""

    segments: Integers
    sides: Integers
    buckets: Integers
    levels: Integers
    starts: Codes
    members: Codes
    rows: Words
    digests: Words


# A row of `Packed.segments`: its boxes, its sides, and where its other arrays start.
BOXES, BOXES_STOP, SIDES, SIDES_STOP, BUCKETS, STARTS, ROWS, DIGESTS, FIELDS = range(9)
_ID, _FIRST, _STOP = range(3)  # a row of `sides`
_HIGH, _LEVELS, _LEVELS_STOP, _WEIGHT = range(4)  # a row of `buckets`
_BEFORE, _BEHIND, _LIMIT, _LEFT = range(4)  # a row of a plan, see `_plan`


@njit(cache=True, nogil=True)
def search(
    bounds: Integers,
    sure: Flags,
    asked: int,
    within: bool,
    segments: Integers,
    sides: Integers,
    buckets: Integers,
    levels: Integers,
    starts: Codes,
    members: Codes,
    rows: Words,
    digests: Words,
    tail_first: Integers,
    tail_sides: Sides,
    tail_ends: Integers,
    flags: Flags,
    handles: Integers,
    packed_count: int,
    count: int,
    begin: int,
    answer: Integers,
    upto: Integers,
) -> int:
    """Answer the questions in the rows of `bounds`, from number `begin` on.

    Asked are boxes that have the flag `asked`; those that have the flag `sure` of the question, too,
    are found for sure. The boxes are those of the segments, `packed_count` in number, and behind
    them those of the tail. Their handles are written into `answer`: from its front those of boxes
    that are found for sure and do not share their handle, from its back the doubtful ones, and of
    these those not found for sure complemented. `upto` says for each question how many there are of
    both kinds so far.

    Returns the number of the first question not answered: there may not have been room for it. An
    answer that is as long as there are boxes has room for one question at least.
    """
    packed = Packed(segments, sides, buckets, levels, starts, members, rows, digests)
    tail = Listed(tail_first, tail_sides, tail_ends)
    plan = np.empty((_most_sides(segments), 4), np.int64)
    live = np.empty(64, np.int64)
    left = np.empty(64 * _WORDS, np.uint64)
    found, doubtful = 0, 0
    for q in range(begin, len(bounds)):
        if found + doubtful + count > len(answer):
            return q
        bound = bounds[q]
        needed = _bounded(bound) if within else 0
        for g in range(len(segments)):
            steps = _plan(bound, within, needed, packed, g, plan)
            for tile in range(_tiles(segments, g) if steps >= 0 else 0):
                chunks = _live(plan, steps, within, packed, g, tile, live)
                chunks = _overlay(plan, steps, within, packed, g, tile, live, chunks, left)
                _compare(plan, steps, within, packed, g, tile, live, chunks, left)
                base = segments[g, BOXES] + 64 * _CHUNK * tile
                for i in range(chunks):
                    for w in range(live[i] * _WORDS, (live[i] + 1) * _WORDS):
                        word = left[w]
                        while word != _NONE:
                            box = base + 64 * w + np.int64(lowest(word))
                            word &= word - _ONE
                            if flags[box] & asked:
                                found, doubtful = _emit(
                                    flags[box], handles[box], sure[q], answer, found, doubtful
                                )
        for box in range(packed_count, count):
            if flags[box] & asked and _holds(bound, within, needed, tail, box - packed_count):
                found, doubtful = _emit(flags[box], handles[box], sure[q], answer, found, doubtful)
        upto[q, 0], upto[q, 1] = found, doubtful
    return len(bounds)


@njit(cache=True, nogil=True, forceinline=True)
def _most_sides(segments: Integers) -> int:
    """The number of sides of the segment that has most of them."""
    most = 0
    for g in range(len(segments)):
        most = max(most, segments[g, SIDES_STOP] - segments[g, SIDES])
    return most


@njit(cache=True, nogil=True, forceinline=True)
def _bounded(bound: Integers) -> int:
    """The number of sides with a bound from below."""
    found = 0
    for s in range(len(bound)):
        if bound[s] != UNBOUNDED_BELOW:
            found += 1
    return found


@njit(cache=True, nogil=True, forceinline=True)
def _holds(bound: Integers, within: bool, needed: int, listed: Listed, box: int) -> bool:
    """Whether a box reaches the bound, or keeps within it."""
    met = 0
    for e in range(listed.first[box], listed.first[box + 1]):
        limit = bound[listed.sides[e]]
        if within and limit != UNBOUNDED_BELOW:
            if listed.ends[e] < limit:
                return False
            met += 1
        elif not within and listed.ends[e] > limit:
            return False
    return met == needed


@njit(cache=True, nogil=True, forceinline=True)
def _emit(
    flags: int, handle: int, sure: int, answer: Integers, found: int, doubtful: int
) -> tuple[int, int]:
    """Write a handle into the answer."""
    if flags & sure and not flags & SHARED:
        answer[found] = handle
        return found + 1, doubtful
    answer[len(answer) - 1 - doubtful] = handle if flags & sure else ~handle
    return found, doubtful + 1


@njit(cache=True, nogil=True, forceinline=True)
def _plan(
    bound: Integers, within: bool, needed: int, packed: Packed, g: int, plan: Integers
) -> int:
    """Which rows decide about the boxes of a segment, those that leave the fewest first.

    A step is a bucket, that of the bound, with the row before it; the bucket behind it, with its
    row (the same if no member has to be compared, -1 if all bits of that row would be set); and the
    first member, in order of ranks, that is beyond the bound. Returns the number of steps, or -1 if
    no box can be within the bound.
    """
    buckets = packed.buckets
    steps, met = 0, 0
    for t in range(packed.segments[g, SIDES], packed.segments[g, SIDES_STOP]):
        limit = bound[packed.sides[t, _ID]]
        if limit == (UNBOUNDED_BELOW if within else UNBOUNDED_ABOVE):
            continue
        if within:  # rows say what is at most a limit; the others are not below the next integer
            met += 1
            limit -= 1
        bucket, stop = packed.sides[t, _FIRST], packed.sides[t, _STOP]
        high = stop
        while bucket < high:
            middle = (bucket + high) >> 1
            if buckets[middle, _HIGH] > limit:
                high = middle
            else:
                bucket = middle + 1
        if bucket == stop:
            if within:
                return -1
            continue
        rank = _rank(packed.levels, buckets[bucket, _LEVELS], buckets[bucket, _LEVELS_STOP], limit)
        behind = bucket
        if rank > 0:
            behind = bucket + 1 if bucket + 1 < stop else -1
        if within:
            weight = -buckets[bucket, _WEIGHT]
        else:
            weight = buckets[behind, _WEIGHT] if behind >= 0 else UNBOUNDED_ABOVE
        at = steps
        while at > 0 and plan[at - 1, _LEFT] > weight:
            for k in range(4):
                plan[at, k] = plan[at - 1, k]
            at -= 1
        plan[at, _BEFORE], plan[at, _BEHIND] = bucket, behind
        plan[at, _LIMIT], plan[at, _LEFT] = rank << _PLACE_BITS, weight
        steps += 1
    return steps if met == needed else -1


@njit(cache=True, nogil=True, forceinline=True)
def _rank(levels: Integers, start: int, stop: int, limit: int) -> int:
    """How many of the levels are at most the limit."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if levels[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low - start


@njit(cache=True, nogil=True, forceinline=True)
def _chunks(segments: Integers, g: int) -> int:
    """The number of chunks of a segment."""
    return (segments[g, BOXES_STOP] - segments[g, BOXES] + _CHUNK - 1) // _CHUNK


@njit(cache=True, nogil=True, forceinline=True)
def _tiles(segments: Integers, g: int) -> int:
    """The number of tiles of a segment: 64 chunks each, which are looked at together."""
    return (_chunks(segments, g) + 63) // 64


@njit(cache=True, nogil=True, forceinline=True)
def _live(
    plan: Integers,
    steps: int,
    within: bool,
    packed: Packed,
    g: int,
    tile: int,
    live: Integers,
) -> int:
    """The chunks of a tile in which the digests leave a box; their number."""
    size = _tiles(packed.segments, g)
    base = packed.segments[g, DIGESTS] - 2 * packed.segments[g, BUCKETS] * size + tile
    word = _first_bits(_chunks(packed.segments, g) - 64 * tile)
    for k in range(steps):
        if within:
            word &= packed.digests[base + (2 * plan[k, _BEFORE] + 1) * size]
        elif plan[k, _BEHIND] >= 0:
            word &= packed.digests[base + 2 * plan[k, _BEHIND] * size]
    count = 0
    while word != _NONE:
        live[count] = np.int64(lowest(word))
        word &= word - _ONE
        count += 1
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _first_bits(count: int) -> np.uint64:
    """A word whose lowest bits are set, so many of them or all."""
    if count >= 64:
        return _ALL
    return (_ONE << np.uint64(count)) - _ONE if count > 0 else _NONE


@njit(cache=True, nogil=True, forceinline=True)
def _overlay(
    plan: Integers,
    steps: int,
    within: bool,
    packed: Packed,
    g: int,
    tile: int,
    live: Integers,
    count: int,
    left: Words,
) -> int:
    """What the rows leave of the live chunks, the bounds' buckets included; how many stay live."""
    size = packed.segments[g, BOXES_STOP] - packed.segments[g, BOXES] - 64 * _CHUNK * tile
    for i in range(count):
        for w in range(live[i] * _WORDS, (live[i] + 1) * _WORDS):
            left[w] = _first_bits(size - 64 * w)
    words = _chunks(packed.segments, g) * _WORDS
    base = packed.segments[g, ROWS] - packed.segments[g, BUCKETS] * words + tile * 64 * _WORDS
    flip = _ALL if within else _NONE
    for k in range(steps):
        bucket = plan[k, _BEFORE] if within else plan[k, _BEHIND]
        if bucket < 0:
            continue
        row = base + bucket * words
        kept = 0
        for i in range(count):
            own = live[i] * _WORDS
            some = _NONE
            for w in range(own, own + _WORDS):
                left[w] &= packed.rows[row + w] ^ flip
                some |= left[w]
            live[kept] = live[i]
            if some != _NONE:
                kept += 1
        count = kept
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _compare(
    plan: Integers,
    steps: int,
    within: bool,
    packed: Packed,
    g: int,
    tile: int,
    live: Integers,
    count: int,
    left: Words,
) -> None:
    """Take the members of the bounds' buckets that do not meet the bounds out of the chunks."""
    segments = packed.segments
    width = _chunks(segments, g) + 1
    base = segments[g, STARTS] - segments[g, BUCKETS] * width + 64 * tile
    for k in range(steps):
        if plan[k, _BEFORE] == plan[k, _BEHIND]:
            continue
        limit = np.uint32(plan[k, _LIMIT])
        starts = base + plan[k, _BEFORE] * width
        for i in range(count):
            own = live[i] * _WORDS
            for m in range(
                np.int64(packed.starts[starts + live[i]]),
                np.int64(packed.starts[starts + live[i] + 1]),
            ):
                member = packed.members[m]
                out = np.uint64((member >= limit) != within)
                place = np.int64(member) & (_CHUNK - 1)
                left[own + (place >> 6)] &= ~(out << np.uint64(place & 63))


class Grouped(NamedTuple):
    """The ends of boxes, side after side: those of side number t are `first[t]` and following."""

    first: Integers
    boxes: NDArray[np.int32]
    ends: Integers


@njit(cache=True, nogil=True)
def pack(listed: Listed, side_count: int) -> tuple[Integers, Segment]:
    """The boxes as a segment, and in which order they are in it."""
    n = len(listed.first) - 1
    ids, grouped = _group(listed, side_count)
    sides, buckets, levels, homes, ranks = _sort_ends(ids, grouped, n)
    order = _order(grouped, sides, homes, n)
    positions = np.empty(n, np.int64)
    for i in range(n):
        positions[order[i]] = i
    starts, members = _settle(grouped, homes, ranks, len(buckets), positions)
    rows = _fill_rows(sides, starts, members, n)
    digests = _digest(rows, buckets, n)
    return order, Segment(
        sides, buckets, levels, starts.ravel(), members, rows.ravel(), digests.ravel()
    )


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _sort_ends(
    ids: Sides, grouped: Grouped, n: int
) -> tuple[Integers, Integers, Integers, NDArray[np.int32], NDArray[np.int32]]:
    """The sides, buckets and levels of a segment, and the bucket of each end and its rank there.

    A bucket is closed when it is full, or when the next end comes up so often that it had better
    have a bucket of its own: then no bound falls among its members.
    """
    sides = np.empty((len(ids), 3), np.int64)
    buckets = np.empty((len(grouped.ends), 4), np.int64)
    levels = np.empty(len(grouped.ends), np.int64)
    homes = np.empty(len(grouped.ends), np.int32)
    ranks = np.empty(len(grouped.ends), np.int32)
    bucket, level = 0, 0
    for t in range(len(ids)):
        start, stop = grouped.first[t], grouped.first[t + 1]
        sides[t, _ID], sides[t, _FIRST] = ids[t], bucket
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
                buckets[bucket, _LEVELS] = level
            for j in range(i, same):
                homes[start + ascending[j]] = bucket
                ranks[start + ascending[j]] = level - buckets[bucket, _LEVELS]
            levels[level] = end
            level += 1
            buckets[bucket, _HIGH], buckets[bucket, _LEVELS_STOP] = end, level
            held += same - i
            i = same
        bucket += 1
        sides[t, _STOP] = bucket
    return sides, buckets[:bucket].copy(), levels[:level].copy(), homes, ranks


@njit(cache=True, nogil=True)
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
        if stop - start <= _CHUNK:
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


@njit(cache=True, nogil=True)
def _codes(grouped: Grouped, sides: Integers, homes: NDArray[np.int32], n: int) -> Flags:
    """The buckets of all boxes on the sides with the most ends, from 1 on; 0 where they are free."""
    uses = grouped.first[1:] - grouped.first[:-1]
    chosen = np.argsort(-uses)[:_SPLITTING]
    codes = np.zeros((len(chosen), n), np.uint8)
    for c in range(len(chosen)):
        t = chosen[c]
        for m in range(grouped.first[t], grouped.first[t + 1]):
            codes[c, grouped.boxes[m]] = min(homes[m] - sides[t, _FIRST] + 1, 255)
    return codes


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _middle(tally: Integers, size: int) -> int:
    """Where to divide boxes of which `tally[v]` have a code below v: in whole chunks, near half."""
    nearest = size
    for v in range(257):
        if abs(2 * tally[v] - size) < abs(2 * nearest - size):
            nearest = tally[v]
    if nearest == 0 or nearest == size:
        nearest = size // 2
    whole = (nearest + _CHUNK // 2) // _CHUNK * _CHUNK
    return min(max(whole, _CHUNK), (size - 1) // _CHUNK * _CHUNK)


@njit(cache=True, nogil=True)
def _settle(
    grouped: Grouped,
    homes: NDArray[np.int32],
    ranks: NDArray[np.int32],
    buckets: int,
    positions: Integers,
) -> tuple[Codes, Codes]:
    """The members of each bucket, chunk after chunk, and where they start."""
    chunks = (len(positions) + _CHUNK - 1) // _CHUNK
    starts = np.zeros((buckets, chunks + 1), np.uint32)
    for m in range(len(homes)):
        starts[homes[m], positions[grouped.boxes[m]] // _CHUNK] += np.uint32(1)
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
        at = fill[homes[m], position // _CHUNK]
        fill[homes[m], position // _CHUNK] += np.uint32(1)
        members[at] = (ranks[m] << _PLACE_BITS) | (position % _CHUNK)
    return starts, members


@njit(cache=True, nogil=True)
def _fill_rows(sides: Integers, starts: Codes, members: Codes, n: int) -> Words:
    """The row before each bucket."""
    chunks = starts.shape[1] - 1
    words = chunks * _WORDS
    rows = np.zeros((len(starts), words), np.uint64)
    for t in range(len(sides)):
        first, stop = sides[t, _FIRST], sides[t, _STOP]
        for b in range(first, stop):
            for c in range(chunks):
                for m in range(np.int64(starts[b, c]), np.int64(starts[b, c + 1])):
                    place = np.int64(members[m]) & (_CHUNK - 1)
                    w = c * _WORDS + (place >> 6)
                    bit = _ONE << np.uint64(place & 63)
                    rows[first, w] |= bit  # for the moment, the boxes that end on this side
                    if b + 1 < stop:
                        rows[b + 1, w] |= bit
        for w in range(words):
            rows[first, w] = ~rows[first, w] & _first_bits(n - 64 * w)
        for b in range(first + 1, stop):
            for w in range(words):
                rows[b, w] |= rows[b - 1, w]
    return rows


@njit(cache=True, nogil=True)
def _digest(rows: Words, buckets: Integers, n: int) -> Words:
    """The digests of the rows; the number of bits set in each is written into its bucket."""
    chunks = rows.shape[1] // _WORDS
    digests = np.zeros((len(rows), 2, (chunks + 63) // 64), np.uint64)
    for b in range(len(rows)):
        weight = 0
        for c in range(chunks):
            some, lacking = _NONE, _NONE
            for w in range(c * _WORDS, (c + 1) * _WORDS):
                some |= rows[b, w]
                lacking |= ~rows[b, w] & _first_bits(n - 64 * w)
                weight += np.int64(popcount(rows[b, w]))
            bit = _ONE << np.uint64(c & 63)
            if some != _NONE:
                digests[b, 0, c >> 6] |= bit
            if lacking != _NONE:
                digests[b, 1, c >> 6] |= bit
        buckets[b, _WEIGHT] = weight
    return digests


@njit(cache=True, nogil=True)
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
    flags: Flags,
    packed_count: int,
    count: int,
) -> tuple[Integers, Listed]:
    """The positions and the ends of the boxes with any flag, of these segments and of the tail.

    The segments are all those from some number on.
    """
    start = segments[0, BOXES] if len(segments) > 0 else packed_count
    sizes = np.zeros(count - start + 1, np.int64)
    owners, ends_of, sides_of = _members(segments, sides, buckets, levels, starts, members)
    for m in range(len(owners)):
        sizes[owners[m] - start + 1] += 1
    for box in range(packed_count, count):
        sizes[box - start + 1] = tail_first[box - packed_count + 1] - tail_first[box - packed_count]
    for i in range(count - start):
        if flags[start + i] == 0:
            sizes[i + 1] = 0
    first = np.cumsum(sizes)
    fill = first.copy()
    listed = Listed(first, np.empty(first[-1], np.int32), np.empty(first[-1], np.int64))
    for m in range(len(owners)):
        if flags[owners[m]]:
            at = fill[owners[m] - start]
            listed.sides[at], listed.ends[at] = sides_of[m], ends_of[m]
            fill[owners[m] - start] += 1
    for box in range(packed_count, count):
        if flags[box]:
            at = fill[box - start]
            for e in range(tail_first[box - packed_count], tail_first[box - packed_count + 1]):
                listed.sides[at], listed.ends[at] = tail_sides[e], tail_ends[e]
                at += 1
    kept = np.flatnonzero(flags[start:count])
    return kept + start, Listed(np.append(first[kept], first[-1]), listed.sides, listed.ends)


@njit(cache=True, nogil=True)
def _members(
    segments: Integers,
    sides: Integers,
    buckets: Integers,
    levels: Integers,
    starts: Codes,
    members: Codes,
) -> tuple[Integers, Integers, Sides]:
    """Of each member of the segments' buckets: the position of its box, its end, its side."""
    total = 0
    for g in range(len(segments)):
        width = _chunks(segments, g) + 1
        for t in range(segments[g, SIDES], segments[g, SIDES_STOP]):
            first = segments[g, STARTS] + (sides[t, _FIRST] - segments[g, BUCKETS]) * width
            stop = segments[g, STARTS] + (sides[t, _STOP] - segments[g, BUCKETS]) * width
            total += np.int64(starts[stop - 1]) - np.int64(starts[first])
    boxes = np.empty(total, np.int64)
    ends = np.empty(total, np.int64)
    ids = np.empty(total, np.int32)
    at = 0
    for g in range(len(segments)):
        width = _chunks(segments, g) + 1
        for t in range(segments[g, SIDES], segments[g, SIDES_STOP]):
            for b in range(sides[t, _FIRST], sides[t, _STOP]):
                row = segments[g, STARTS] + (b - segments[g, BUCKETS]) * width
                for c in range(width - 1):
                    for m in range(np.int64(starts[row + c]), np.int64(starts[row + c + 1])):
                        member = np.int64(members[m])
                        boxes[at] = segments[g, BOXES] + c * _CHUNK + (member & (_CHUNK - 1))
                        ends[at] = levels[buckets[b, _LEVELS] + (member >> _PLACE_BITS)]
                        ids[at] = sides[t, _ID]
                        at += 1
    return boxes, ends, ids

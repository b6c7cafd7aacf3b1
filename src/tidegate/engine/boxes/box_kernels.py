"""Which integer boxes reach a bound, or keep within one?

A box is a set of **ends**: pairs of a side (a dimension's low or high side) and an integer, at most
one per side. On a side it has no end on, it is free. There are two questions, each with one bound
per side:

- *reaching*: which boxes have no end above the bound of its side?
- *within*: which boxes have, on every side that has a bound, an end that is not below it?

Boxes are packed into **segments** (`box_packing`). A segment sorts the ends on each of its sides
into buckets, and keeps before each bucket a **row**: one bit per box, set if the box is free on the
side or ends before the bucket. For any bound, the rows before and behind its bucket enclose the
answer, and where they differ, members of the bucket are compared with it one by one. So a question
reads a bit or two per box and side in place of an integer; and far fewer when it is selective,
since boxes that are alike stand next to each other, and **digests** of the rows tell which
**chunks** of 512 boxes have a bit that is set, and which have one that is not. The rows are the
range-encoded bitmaps of Chan and Ioannidis ("Bitmap Index Design and Evaluation", 1998), with many
values in one bucket.

Invariant: every answer is what comparing all ends of all boxes would give, whatever the integers.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegate.engine.primitives.vector import (
    drop,
    is_empty,
    lowest,
    meet,
    popcount,
    put,
    write_tagged,
)
from tidegate.jit import inlined, kernel

Integers: TypeAlias = NDArray[np.int64]
Sides: TypeAlias = NDArray[np.int32]
Words: TypeAlias = NDArray[np.uint64]
Codes: TypeAlias = NDArray[np.uint32]
Flags: TypeAlias = NDArray[np.uint8]

UNBOUNDED_ABOVE: Final = 2**63 - 1
UNBOUNDED_BELOW: Final = -(2**63)
"""Bounds that ask nothing of a box that reaches, of a box that keeps within."""

FLAG_BITS: Final = 8
"""A box's **tag** is its handle and, in so many bits at the end, its flags; 0 flags, no box."""
SHARED: Final = 128
"""The flag of a box whose handle other boxes have, too."""

WORDS: Final = 8  # of a chunk
CHUNK: Final = 64 * WORDS
PLACE_BITS: Final = 9  # of a place in a chunk
SPILL: Final = 8  # places behind the last handle that writing handles may overwrite
_FOUND_SIDE_BY_SIDE: Final = 12  # of 64 boxes, whose handles are then written so
NONE: Final = np.uint64(0)
ONE: Final = np.uint64(1)
ALL: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_ROWS_TOGETHER: Final = 2  # rows that are read before it is asked whether they leave a box
_DOUBT: Final = np.uint64(64 * WORDS)  # a place behind the chunks of a tile


class Listed(NamedTuple):
    """The ends of boxes, box after box: those of box i are `first[i]` up to `first[i + 1]`."""

    first: Integers
    sides: Sides
    ends: Integers


class BoxSegment(NamedTuple):
    """Packed boxes.

    The different ends on a side, its **levels**, stand in their order; a bucket is a range of them,
    with its highest end in `highs`, and in a row of `buckets` where its levels start and stop, and
    the number of bits set in the row before it. `starts` has per bucket and chunk where the members
    from the chunk start in `members`, and where the bucket's last ones stop. A member is the rank
    of its end among those of its bucket and, in the last bits, its place in the chunk. `digests`
    has per bucket one word per 64 chunks for those with a bit set in the row, then as many for
    those with a bit not set. A side is the **twin** of the one before it if the same boxes are free
    there: mostly, the two of one dimension are.
    """

    sides: Integers  # one row each: the side, its buckets, its levels, whether it is a twin
    highs: Integers
    buckets: Integers
    levels: Integers
    starts: Codes
    members: Codes
    rows: Words
    digests: Words


def empty_segment() -> BoxSegment:
    """A segment of no boxes."""
    return BoxSegment(
        np.zeros((0, SIDE_FIELDS), np.int64),
        np.zeros(0, np.int64),
        np.zeros((0, 3), np.int64),
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
    highs: Integers
    buckets: Integers
    levels: Integers
    starts: Codes
    members: Codes
    rows: Words
    digests: Words


def scratch(segments: Integers) -> tuple[Integers, Integers, Words]:
    """What searches in these segments write down for themselves: `plan`, `live` and `left`."""
    sides = (segments[:, SIDES_STOP] - segments[:, SIDES]).max(initial=0)
    left = np.empty(65 * WORDS, np.uint64)
    return np.empty((sides, 4), np.int64), np.empty(64, np.int64), left


# A row of `Packed.segments`: its boxes, its sides, and where its other arrays start.
BOXES, BOXES_STOP, SIDES, SIDES_STOP, BUCKETS, STARTS, ROWS, DIGESTS, FIELDS = range(9)
ID, FIRST, STOP, SIDE_LEVELS, SIDE_LEVELS_STOP, TWIN, SIDE_FIELDS = range(7)  # a row of `sides`
LEVELS, LEVELS_STOP, WEIGHT = range(3)  # a row of `buckets`
BEFORE, BEHIND, LIMIT, LEFT = range(4)  # a row of a plan, see `_plan`


@kernel
def search(
    bounds: Integers,
    sure: Flags,
    asked: int,
    within: bool,
    segments: Integers,
    sides: Integers,
    highs: Integers,
    buckets: Integers,
    levels: Integers,
    starts: Codes,
    members: Codes,
    rows: Words,
    digests: Words,
    tail_first: Integers,
    tail_sides: Sides,
    tail_ends: Integers,
    tags: Integers,
    packed_count: int,
    count: int,
    begin: int,
    answer: Integers,
    upto: Integers,
    plan: Integers,
    live: Integers,
    left: Words,
) -> int:
    """Answer the questions in the rows of `bounds`, from number `begin` on.

    Asked are boxes that have the flag `asked`; those that also have the flag `sure` of the question
    are found for sure. The boxes are those of the segments, `packed_count` in number, and behind
    them those of the tail. Their handles are written into `answer`: from its front those of boxes
    that are found for sure and do not share their handle, from its back the doubtful ones, and of
    these those not found for sure complemented. `upto` says for each question how many there are of
    both kinds so far.

    Returns the number of the first question not answered: there may not have been room for it. An
    answer longer by `SPILL` than there are boxes has room for one question at least. The last three
    are for the search itself, as `scratch` makes them.
    """
    packed = Packed(segments, sides, highs, buckets, levels, starts, members, rows, digests)
    tail = Listed(tail_first, tail_sides, tail_ends)
    found, doubtful = 0, 0
    for q in range(begin, len(bounds)):
        if found + doubtful + count + SPILL > len(answer):
            return q
        bound = bounds[q]
        needed = _bounded(bound) if within else 0
        for g in range(len(segments)):
            steps = _plan(bound, within, needed, packed, g, plan)
            for tile in range(_tiles(segments, g) if steps >= 0 else 0):
                chunks = _live(plan, steps, within, packed, g, tile, live)
                chunks = _overlay(plan, steps, within, packed, g, tile, live, chunks, left)
                _compare(plan, steps, within, packed, g, tile, live, chunks, left)
                base = segments[g, BOXES] + 64 * CHUNK * tile
                for i in range(chunks):
                    for w in range(live[i] * WORDS, (live[i] + 1) * WORDS):
                        found, doubtful = _emit(
                            left[w], tags, base + 64 * w, asked, sure[q], answer, found, doubtful
                        )
        for i in range(count - packed_count):
            if tags[packed_count + i] & asked and _holds(bound, within, needed, tail, i):
                found, doubtful = _emit_one(
                    tags[packed_count + i], sure[q], answer, found, doubtful
                )
        upto[q, 0], upto[q, 1] = found, doubtful
    return len(bounds)


@inlined
def _bounded(bound: Integers) -> int:
    """The number of sides with a bound from below."""
    found = 0
    for s in range(len(bound)):
        if bound[s] != UNBOUNDED_BELOW:
            found += 1
    return found


@inlined
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


@inlined
def _emit(
    word: np.uint64,
    tags: Integers,
    base: int,
    asked: int,
    sure: int,
    answer: Integers,
    found: int,
    doubtful: int,
) -> tuple[int, int]:
    """Write the handles of those of 64 boxes that are in the word and asked for."""
    if popcount(word) >= np.uint64(_FOUND_SIDE_BY_SIDE) and base + 64 <= len(tags) and sure:
        flags = np.int64(asked | sure)
        written = write_tagged(
            answer,
            np.uint64(found),
            tags,
            np.uint64(base),
            word,
            flags | SHARED,
            flags,
            np.int64(FLAG_BITS),
        )
        found = int(found + np.int64(popcount(written)))
        word &= ~written
    while word != NONE:
        tag = tags[base + np.int64(lowest(word))]
        word &= word - ONE
        if tag & asked:
            found, doubtful = _emit_one(tag, sure, answer, found, doubtful)
    return found, doubtful


@inlined
def _emit_one(tag: int, sure: int, answer: Integers, found: int, doubtful: int) -> tuple[int, int]:
    """Write a handle into the answer."""
    handle = tag >> FLAG_BITS
    if tag & sure and not tag & SHARED:
        answer[found] = handle
        return found + 1, doubtful
    answer[len(answer) - 1 - doubtful] = handle if tag & sure else ~handle
    return found, doubtful + 1


@inlined
def _plan(
    bound: Integers, within: bool, needed: int, packed: Packed, g: int, plan: Integers
) -> int:
    """Which rows decide about the boxes of a segment, those that leave the fewest first.

    A step is a bucket, that of the bound, with the row before it; the bucket behind it, with its
    row (the same if no member has to be compared, -1 if all bits of that row would be set); and the
    first member, in order of ranks, that is beyond the bound. Steps that a twin's makes needless
    are left out. Returns the number of steps, or -1 if no box can be within the bound.
    """
    buckets, sides = packed.buckets, packed.sides
    steps, met = 0, 0
    decided = False  # on the side before: only for boxes free there; or, within, for none of them
    stop_side = packed.segments[g, SIDES_STOP]
    for t in range(packed.segments[g, SIDES], stop_side):
        limit = bound[sides[t, ID]]
        if limit == (UNBOUNDED_BELOW if within else UNBOUNDED_ABOVE):
            decided = False
            continue
        if within:  # rows say what is at most a limit; the others are not below the next integer
            met += 1
            limit -= 1
        bucket, stop = sides[t, FIRST], sides[t, STOP]
        rank = 0
        decided = decided and sides[t, TWIN] != 0
        if packed.levels[sides[t, SIDE_LEVELS]] > limit:  # it matters only who is free here
            if decided or (within and t + 1 < stop_side and _asks_twin(bound, sides, t + 1)):
                continue
            decided = not within
        else:
            if decided and not within:
                continue
            decided = within
            bucket = _first_above(packed.highs, bucket, stop, limit)
            if bucket == stop:
                if within:
                    return -1
                continue
            first = buckets[bucket, LEVELS]
            rank = _first_above(packed.levels, first, buckets[bucket, LEVELS_STOP], limit) - first
        behind = bucket
        if rank > 0:
            behind = bucket + 1 if bucket + 1 < stop else -1
        if within:
            weight = -buckets[bucket, WEIGHT]
        else:
            weight = buckets[behind, WEIGHT] if behind >= 0 else UNBOUNDED_ABOVE
        at = steps
        while at > 0 and plan[at - 1, LEFT] > weight:
            for k in range(4):
                plan[at, k] = plan[at - 1, k]
            at -= 1
        plan[at, BEFORE], plan[at, BEHIND] = bucket, behind
        plan[at, LIMIT], plan[at, LEFT] = rank << PLACE_BITS, weight
        steps += 1
    return steps if met == needed else -1


@inlined
def _asks_twin(bound: Integers, sides: Integers, t: int) -> bool:
    """Whether a side is the twin of the one before it, and has a bound from below."""
    return bool(sides[t, TWIN] != 0 and bound[sides[t, ID]] != UNBOUNDED_BELOW)


@inlined
def _first_above(ascending: Integers, start: int, stop: int, limit: int) -> int:
    """The first place, of those from `start` up to `stop`, with an integer above the limit."""
    low, high = start, stop
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] > limit:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def chunk_count(segments: Integers, g: int) -> int:
    """The number of chunks of a segment."""
    size: int = segments[g, BOXES_STOP] - segments[g, BOXES]
    return (size + CHUNK - 1) // CHUNK


@inlined
def _tiles(segments: Integers, g: int) -> int:
    """The number of tiles of a segment: 64 chunks each, which are looked at together."""
    return (chunk_count(segments, g) + 63) // 64


@inlined
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
    word = first_bits(chunk_count(packed.segments, g) - 64 * tile)
    for k in range(steps):
        if within:
            word &= packed.digests[base + (2 * plan[k, BEFORE] + 1) * size]
        elif plan[k, BEHIND] >= 0:
            word &= packed.digests[base + 2 * plan[k, BEHIND] * size]
    count = 0
    while word != NONE:
        live[count] = np.int64(lowest(word))
        word &= word - ONE
        count += 1
    return count


@inlined
def first_bits(count: int) -> np.uint64:
    """A word whose lowest bits are set, so many of them or all."""
    if count >= 64:
        return ALL
    return (ONE << np.uint64(count)) - ONE if count > 0 else NONE


@inlined
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
    size = packed.segments[g, BOXES_STOP] - packed.segments[g, BOXES] - 64 * CHUNK * tile
    words = chunk_count(packed.segments, g) * WORDS
    base = packed.segments[g, ROWS] - packed.segments[g, BUCKETS] * words + tile * 64 * WORDS
    kept = 0
    for i in range(count):
        own = np.uint64(live[i] * WORDS)
        for w in range(live[i] * WORDS, (live[i] + 1) * WORDS):
            left[w] = first_bits(size - 64 * w)
        for k in range(steps):
            bucket = plan[k, BEFORE] if within else plan[k, BEHIND]
            if bucket < 0:
                continue
            row = np.uint64(base + bucket * words) + own
            if within:
                drop(left, own, packed.rows, row)
            else:
                meet(left, own, packed.rows, row)
            if k % _ROWS_TOGETHER == 0 and is_empty(left, own):
                break
        live[kept] = live[i]
        if not is_empty(left, own):
            kept += 1
    return kept


@inlined
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
    """Take the members of the bounds' buckets that do not meet the bounds out of the chunks.

    Behind the chunks, `left` has those that a row leaves in doubt; often, there are none.
    """
    segments = packed.segments
    width = chunk_count(segments, g) + 1
    base = segments[g, STARTS] - segments[g, BUCKETS] * width + 64 * tile
    words = (width - 1) * WORDS
    rows = segments[g, ROWS] - segments[g, BUCKETS] * words + tile * 64 * WORDS
    for k in range(steps):
        before, behind = plan[k, BEFORE], plan[k, BEHIND]
        if before == behind:
            continue
        limit = np.uint32(plan[k, LIMIT])
        starts = base + before * width
        for i in range(count):
            own = live[i] * WORDS
            put(left, _DOUBT, left, np.uint64(own))
            if not within:
                drop(left, _DOUBT, packed.rows, np.uint64(rows + before * words + own))
            elif behind >= 0:
                meet(left, _DOUBT, packed.rows, np.uint64(rows + behind * words + own))
            if is_empty(left, _DOUBT):
                continue
            for m in range(
                np.int64(packed.starts[starts + live[i]]),
                np.int64(packed.starts[starts + live[i] + 1]),
            ):
                member = packed.members[m]
                out = np.uint64((member >= limit) != within)
                place = np.int64(member) & (CHUNK - 1)
                left[own + (place >> 6)] &= ~(out << np.uint64(place & 63))

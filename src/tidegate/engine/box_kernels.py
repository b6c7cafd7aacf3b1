"""Which integer boxes reach a bound, or keep within one? The compiled part of `integer_boxes`.

A box is a set of **ends**: pairs of a side (a dimension's low or high side) and an integer, at most
one per side. On a side it has no end on, it is free. There are two questions, each with one bound
per side:

- *reaching*: which boxes have no end above the bound of its side?
- *within*: which boxes have, on every side that has a bound, an end that is not below it?

Boxes are packed into **segments**. A segment sorts the ends on each of its sides into buckets, about
64 of them if all its boxes have an end there, and keeps before each bucket a **row**: one bit per
box, set if the box is free on the side or ends before the bucket. For any bound, the row before and
the row behind its bucket enclose the answer, and the members of the bucket are compared with it one
by one. So a question reads one or two bits per box and side in place of an integer; and far fewer
when it is selective, since boxes that are alike stand next to each other (sorted as by a k-d tree:
Bentley, "Multidimensional Binary Search Trees Used for Associative Searching", 1975) and **digests**
of the rows tell which **chunks** of 512 boxes have a bit that is set, and which one that is not.
Rows before buckets are the range-encoded bitmaps of Chan and Ioannidis ("Bitmap Index Design and
Evaluation", 1998), with ends of several values in one bucket.

Invariant: every answer is what comparing all ends of all boxes would give, whatever the integers.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Sides: TypeAlias = NDArray[np.int32]

UNBOUNDED_ABOVE: Final = 2**63 - 1
UNBOUNDED_BELOW: Final = -(2**63)
"""Bounds that ask nothing of their side: of a box that reaches, of one that keeps within."""

SHARED: Final = 128
"""The flag of a box whose handle other boxes have, too."""

_ROWS = 64  # of a side on which every box of the segment ends; others have fewer in proportion
_SAMPLE = 4096  # ends that are looked at to find where the buckets of a side lie
_SPLITTING = 32  # sides by which boxes may be sorted, those with the most ends
_WORDS = 8  # of a chunk
_CHUNK = 64 * _WORDS
_NONE = np.uint64(0)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_SEQUENCE = np.uint64(0x03F7_9D71_B4CB_0A89)  # de Bruijn's: all its runs of six bits differ
_TOP = np.uint64(58)


def _places() -> NDArray[np.uint8]:
    """The place of a word's only bit, by the top six bits of its product with the sequence."""
    table = np.zeros(64, np.uint8)
    for place in range(64):
        table[((int(_SEQUENCE) << place) % 2**64) >> 58] = place
    return table


_PLACES = _places()


class Boxes(NamedTuple):
    """What is known of each box beside its ends, by position."""

    flags: NDArray[np.uint8]  # which questions it answers, and for which of them surely
    handles: Integers


class Listed(NamedTuple):
    """The ends of boxes, box after box: those of box i are `first[i]` up to `first[i + 1]`."""

    first: Integers
    sides: Sides
    ends: Integers


class Packed(NamedTuple):
    """Segments, end to end in the same arrays."""

    segments: Integers  # one row each: see the constants below
    sides: Sides  # on which boxes of the segment end
    buckets: Integers  # of each of these sides, one row: the first, and the one behind the last
    lows: Integers  # of each bucket: its lowest end,
    highs: Integers  # its highest end,
    weights: Integers  # how many bits of the row before it are set,
    starts: NDArray[np.uint32]  # where its members from each chunk start, and the last ones stop,
    rows: Words  # the row before it,
    digests: Words  # the chunks with a bit set in that row, and those with a bit not set
    places: NDArray[np.uint16]  # of each member of a bucket: where in its chunk it is,
    ends: Integers  # and its end


_START, _STOP, _SIDES, _SIDES_STOP, _BUCKET, _STARTS, _ROW, _DIGEST, _FIELDS = range(9)


class Question(NamedTuple):
    """Bounds, one row per question, of boxes that have the flag `asked`.

    A box with the flag in `sure` is found for sure.
    """

    bounds: Integers
    sure: NDArray[np.uint8]
    asked: int
    within: bool


class Answer(NamedTuple):
    """Handles, and for each question where those of the next one start.

    Doubtful are those of boxes that do not answer surely, complemented, and of those that share
    their handle with other boxes.
    """

    found: Integers
    found_to: Integers
    doubtful: Integers
    doubtful_to: Integers


@njit(cache=True, nogil=True)
def search(
    bounds, sure_of, asked, within,
    segments, sides, buckets, lows, highs, weights, starts, rows, digests, places, ends,
    tail_first, tail_sides, tail_ends,
    box_flags, box_handles,
    count: int,
    begin: int,
    answer_found, answer_found_to, answer_doubtful, answer_doubtful_to,
) -> int:
    """Answer the questions from number `begin` on; the number of the first one not answered.

    That is their number, or less if there may not be room for the next answer: both arrays of
    handles have room for all boxes at least.
    """
    packed = Packed(segments, sides, buckets, lows, highs, weights, starts, rows, digests, places, ends)
    tail = Listed(tail_first, tail_sides, tail_ends)
    boxes = Boxes(box_flags, box_handles)
    answer = Answer(answer_found, answer_found_to, answer_doubtful, answer_doubtful_to)
    asked = np.uint8(asked)
    widest = 0
    longest = 0
    for g in range(len(segments)):
        widest = max(widest, segments[g, _SIDES_STOP] - segments[g, _SIDES])
        longest = max(longest, segments[g, _STOP] - segments[g, _START])
    plan = np.empty((widest, 4), np.int64)
    chunks = (longest + _CHUNK - 1) // _CHUNK
    live = np.empty(chunks, np.int64)
    left = np.empty(chunks * _WORDS, np.uint64)
    found, doubtful = 0, 0
    for q in range(begin, len(bounds)):
        if found + count > len(answer.found) or doubtful + count > len(answer.doubtful):
            return q
        bound = bounds[q]
        needed = _bounded(bound) if within else 0
        sure = sure_of[q]
        for g in range(len(segments)):
            steps = _plan(bound, within, needed, packed, g, plan)
            if steps >= 0:
                chunks = _live(plan, steps, within, packed, g, live)
                chunks = _overlay(plan, steps, within, packed, g, live, chunks, left)
                _compare(plan, steps, within, packed, g, live, chunks, left)
                found, doubtful = _collect(packed, g, live, chunks, left, asked, sure, boxes, answer, found, doubtful)
        for i in range(len(tail.first) - 1):
            position = count - (len(tail.first) - 1) + i
            if boxes.flags[position] & asked and _holds(bound, within, needed, tail, i):
                found, doubtful = _emit(boxes, position, sure, answer, found, doubtful)
        answer.found_to[q] = found
        answer.doubtful_to[q] = doubtful
    return len(bounds)


@njit(cache=True, nogil=True, forceinline=True)
def _bounded(bound: Integers) -> int:
    """The number of sides with a bound from below."""
    found = 0
    for s in range(len(bound)):
        if bound[s] != UNBOUNDED_BELOW:
            found += 1
    return found


@njit(cache=True, nogil=True, forceinline=True)
def _holds(bound: Integers, within: bool, needed: int, tail: Listed, box: int) -> bool:
    """Whether a box of the tail reaches the bound, or keeps within it."""
    met = 0
    for e in range(tail.first[box], tail.first[box + 1]):
        limit = bound[tail.sides[e]]
        if within and limit != UNBOUNDED_BELOW:
            if tail.ends[e] < limit:
                return False
            met += 1
        elif not within and tail.ends[e] > limit:
            return False
    return met == needed


@njit(cache=True, nogil=True, forceinline=True)
def _emit(
    boxes: Boxes, position: int, sure: int, answer: Answer, found: int, doubtful: int
) -> tuple[int, int]:
    """Write the box's handle into the answer."""
    flags = boxes.flags[position]
    handle = boxes.handles[position]
    if flags & sure and not flags & SHARED:
        answer.found[found] = handle
        return found + 1, doubtful
    answer.doubtful[doubtful] = handle if flags & sure else ~handle
    return found, doubtful + 1


@njit(cache=True, nogil=True, forceinline=True)
def _plan(
    bound: Integers, within: bool, needed: int, packed: Packed, g: int, plan: Integers
) -> int:
    """Which rows decide about a segment's boxes, those that leave the fewest first.

    A step is the row before the bound's bucket, the row behind it (the same if nothing in the
    bucket has to be compared, -1 if all bits of it would be set), and what its members are compared
    with. Returns the number of steps, or -1 if no box can be within the bound.
    """
    steps = 0
    met = 0
    for t in range(packed.segments[g, _SIDES], packed.segments[g, _SIDES_STOP]):
        limit = bound[packed.sides[t]]
        if limit == (UNBOUNDED_BELOW if within else UNBOUNDED_ABOVE):
            continue
        if within:  # as rows tell it: an end is not below the bound if it is not at most one less
            met += 1
            limit -= 1
        low, stop = packed.buckets[t, 0], packed.buckets[t, 1]
        high = stop
        while low < high:
            middle = (low + high) >> 1
            if packed.highs[middle] > limit:
                high = middle
            else:
                low = middle + 1
        if low == stop:
            if within:
                return -1
            continue
        behind = low
        if packed.lows[low] <= limit:
            behind = low + 1 if low + 1 < stop else -1
        if within:
            weight = -packed.weights[low]
        else:
            weight = packed.weights[behind] if behind >= 0 else UNBOUNDED_ABOVE
        i = steps
        while i > 0 and plan[i - 1, 3] > weight:
            for k in range(4):
                plan[i, k] = plan[i - 1, k]
            i -= 1
        plan[i, 0], plan[i, 1], plan[i, 2], plan[i, 3] = low, behind, limit, weight
        steps += 1
    return steps if met == needed else -1


@njit(cache=True, nogil=True, forceinline=True)
def _live(
    plan: Integers, steps: int, within: bool, packed: Packed, g: int, live
) -> int:
    """Of 64 chunks, those in which some box may be left."""
    chunks = (packed.segments[g, _STOP] - packed.segments[g, _START] + _CHUNK - 1) // _CHUNK
    size = (chunks + 63) >> 6
    base = packed.segments[g, _DIGEST] - 2 * packed.segments[g, _BUCKET] * size
    count = 0
    for d in range(size):
        word = _lowest(chunks - 64 * d)
        for k in range(steps):
            if within:
                word &= packed.digests[base + (2 * plan[k, 0] + 1) * size + d]
            elif plan[k, 1] >= 0:
                word &= packed.digests[base + 2 * plan[k, 1] * size + d]
        while word != _NONE:
            bit = word & (~word + _ONE)
            word ^= bit
            live[count] = (d << 6) + np.int64(_PLACES[(bit * _SEQUENCE) >> _TOP])
            count += 1
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _lowest(count: int) -> int:
    """A word whose lowest bits are set, so many or all."""
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
    live, count,
    left: Words,
) -> int:
    """What the rows leave of a chunk, members of the bounds' buckets included; whether any."""
    rows = packed.rows
    size = packed.segments[g, _STOP] - packed.segments[g, _START]
    words = (size + _CHUNK - 1) // _CHUNK * _WORDS
    base = packed.segments[g, _ROW] - packed.segments[g, _BUCKET] * words
    for i in range(count):
        for w in range(_WORDS):
            left[i * _WORDS + w] = _lowest(size - live[i] * _CHUNK - 64 * w)
    for k in range(steps):
        row = plan[k, 0] if within else plan[k, 1]
        if row < 0:
            continue
        flip = _ALL if within else _NONE
        kept = 0
        for i in range(count):
            at = base + row * words + live[i] * _WORDS
            some = _NONE
            for w in range(_WORDS):
                word = left[i * _WORDS + w] & (rows[at + w] ^ flip)
                left[kept * _WORDS + w] = word
                some |= word
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
    live, count,
    left: Words,
) -> None:
    """Take those members of the bounds' buckets out that do not meet the bounds."""
    chunks = (packed.segments[g, _STOP] - packed.segments[g, _START] + _CHUNK - 1) // _CHUNK
    base = packed.segments[g, _STARTS] - packed.segments[g, _BUCKET] * (chunks + 1)
    for k in range(steps):
        if plan[k, 0] == plan[k, 1]:
            continue
        limit = plan[k, 2]
        for i in range(count):
            at = base + plan[k, 0] * (chunks + 1) + live[i]
            for m in range(np.int64(packed.starts[at]), np.int64(packed.starts[at + 1])):
                place = np.int64(packed.places[m])
                out = np.uint64((packed.ends[m] > limit) != within)
                left[i * _WORDS + (place >> 6)] &= ~(out << np.uint64(place & 63))


@njit(cache=True, nogil=True, forceinline=True)
def _collect(packed, g, live, count, left, asked, sure, boxes, answer, found, doubtful):
    for i in range(count):
        for w in range(_WORDS):
            word = left[i * _WORDS + w]
            here = packed.segments[g, _START] + live[i] * _CHUNK + 64 * w
            while word != _NONE:
                bit = word & (~word + _ONE)
                word ^= bit
                position = here + np.int64(_PLACES[(bit * _SEQUENCE) >> _TOP])
                if boxes.flags[position] & asked:
                    found, doubtful = _emit(boxes, position, sure, answer, found, doubtful)
    return found, doubtful


class Segment(NamedTuple):
    """A segment on its own, its buckets and members numbered from 0: see `Packed`."""

    sides: Sides
    buckets: Integers
    lows: Integers
    highs: Integers
    weights: Integers
    starts: NDArray[np.uint32]
    rows: Words
    digests: Words
    places: NDArray[np.uint16]
    ends: Integers


class Grouped(NamedTuple):
    """The ends of boxes, side after side: those on side number t are `first[t]` and following."""

    first: Integers
    boxes: NDArray[np.int32]
    ends: Integers


@njit(cache=True, nogil=True)
def pack(listed: Listed, side_count: int) -> tuple[Integers, Segment]:
    """The boxes as a segment, and in which order they are in it."""
    n = len(listed.first) - 1
    sides, grouped = _group(listed, side_count)
    buckets, highs = _part(grouped, n)
    homes, lows = _assign(grouped, buckets, highs)
    order = _order(grouped, buckets, homes, n)
    positions = np.empty(n, np.int64)
    for i in range(n):
        positions[order[i]] = i
    starts, places, ends = _settle(grouped, homes, len(highs), positions)
    rows = _rows(buckets, starts, places, n)
    weights, digests = _digest(rows, n)
    return order, Segment(
        sides, buckets, lows, highs, weights, starts.ravel(), rows.ravel(), digests, places, ends
    )


@njit(cache=True, nogil=True)
def _group(listed: Listed, side_count: int) -> tuple[Sides, Grouped]:
    """The sides on which boxes end, and the ends on each of them."""
    uses = np.zeros(side_count, np.int64)
    for e in range(len(listed.ends)):
        uses[listed.sides[e]] += 1
    sides = np.flatnonzero(uses).astype(np.int32)
    first = np.zeros(len(sides) + 1, np.int64)
    fill = np.zeros(side_count, np.int64)
    for t in range(len(sides)):
        fill[sides[t]] = first[t]
        first[t + 1] = first[t] + uses[sides[t]]
    boxes = np.empty(len(listed.ends), np.int32)
    ends = np.empty(len(listed.ends), np.int64)
    for i in range(len(listed.first) - 1):
        for e in range(listed.first[i], listed.first[i + 1]):
            at = fill[listed.sides[e]]
            fill[listed.sides[e]] += 1
            boxes[at], ends[at] = i, listed.ends[e]
    return sides, Grouped(first, boxes, ends)


@njit(cache=True, nogil=True)
def _part(grouped: Grouped, n: int) -> tuple[Integers, Integers]:
    """Where the buckets of each side lie, and up to which end each of them reaches."""
    sides = len(grouped.first) - 1
    buckets = np.empty((sides, 2), np.int64)
    highs = np.empty(sides * (4 * _ROWS + 2), np.int64)
    count = 0
    for t in range(sides):
        size = grouped.first[t + 1] - grouped.first[t]
        step = (size + _SAMPLE - 1) // _SAMPLE
        sample = grouped.ends[grouped.first[t] : grouped.first[t + 1] : step].copy()
        sample.sort()
        rows = max(1, min(_ROWS * size // n, size // 16))
        buckets[t, 0] = count
        count = _cut(sample, max(1, len(sample) // rows), highs, count)
        buckets[t, 1] = count
    return buckets, highs[:count].copy()


@njit(cache=True, nogil=True)
def _cut(sample: Integers, room: int, highs: Integers, count: int) -> int:
    """Cut sorted ends into buckets of about `room`; an end that often fills one of its own.

    Ends above all those in the sample belong into the last bucket.
    """
    held = 0
    i = 0
    while i < len(sample):
        same = i
        while same < len(sample) and sample[same] == sample[i]:
            same += 1
        if held > 0 and held + same - i > room:
            highs[count] = sample[i - 1]
            count += 1
            held = 0
        held += same - i
        if held >= room:
            highs[count] = sample[i]
            count += 1
            held = 0
        i = same
    highs[count] = UNBOUNDED_ABOVE
    return count + 1


@njit(cache=True, nogil=True)
def _assign(
    grouped: Grouped, buckets: Integers, highs: Integers
) -> tuple[NDArray[np.int32], Integers]:
    """The bucket of each end, and the lowest end of each bucket; `highs` become the highest ones.

    An empty bucket counts as one of a single end that is not below those before it.
    """
    homes = np.empty(len(grouped.ends), np.int32)
    lows = np.full(len(highs), UNBOUNDED_ABOVE, np.int64)
    seen = np.full(len(highs), UNBOUNDED_BELOW, np.int64)
    for t in range(len(buckets)):
        for m in range(grouped.first[t], grouped.first[t + 1]):
            end = grouped.ends[m]
            low, high = buckets[t, 0], buckets[t, 1] - 1
            while low < high:
                middle = (low + high) >> 1
                if highs[middle] >= end:
                    high = middle
                else:
                    low = middle + 1
            homes[m] = low
            lows[low] = min(lows[low], end)
            seen[low] = max(seen[low], end)
        for b in range(buckets[t, 0], buckets[t, 1]):
            if lows[b] > seen[b]:
                seen[b] = seen[b - 1]
                lows[b] = seen[b]
            highs[b] = seen[b]
    return homes, lows


@njit(cache=True, nogil=True)
def _order(
    grouped: Grouped, buckets: Integers, homes: NDArray[np.int32], n: int
) -> Integers:
    """Boxes that are alike next to each other.

    Ranges of boxes are sorted by the side on which their buckets differ most, and divided near the
    middle, but not within a bucket, until they are no longer than a chunk.
    """
    order = np.arange(n)
    codes = _codes(grouped, buckets, homes, n)
    if len(codes) == 0:
        return order
    spare = np.empty(n, np.int64)
    tally = np.empty(257, np.int64)
    stack = [(0, n)]
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
        middle = _middle(tally, stop - start)
        for i in range(start, stop):
            v = code[order[i]]
            spare[start + tally[v]] = order[i]
            tally[v] += 1
        order[start:stop] = spare[start:stop]
        stack.append((start, start + middle))
        stack.append((start + middle, stop))
    return order


@njit(cache=True, nogil=True)
def _codes(
    grouped: Grouped, buckets: Integers, homes: NDArray[np.int32], n: int
) -> NDArray[np.uint8]:
    """The buckets of all boxes on the sides with the most ends, from 1; 0 where they are free."""
    uses = grouped.first[1:] - grouped.first[:-1]
    chosen = np.argsort(-uses)[:_SPLITTING]
    codes = np.zeros((len(chosen), n), np.uint8)
    for c in range(len(chosen)):
        t = chosen[c]
        for m in range(grouped.first[t], grouped.first[t + 1]):
            codes[c, grouped.boxes[m]] = min(homes[m] - buckets[t, 0] + 1, 255)
    return codes


@njit(cache=True, nogil=True)
def _widest(codes: NDArray[np.uint8], order: Integers, start: int, stop: int) -> int:
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
    """Where to divide boxes: whole chunks, nearest to half of them, and if it can be at a change.

    `tally[v]` boxes have a code below v.
    """
    best = size // 2
    nearest = size
    for v in range(1, 257):
        if 0 < tally[v] < size and abs(tally[v] - size // 2) < nearest:
            nearest = abs(tally[v] - size // 2)
            best = tally[v]
    whole = (best + _CHUNK // 2) // _CHUNK * _CHUNK
    return min(max(whole, _CHUNK), (size - 1) // _CHUNK * _CHUNK)


@njit(cache=True, nogil=True)
def _settle(
    grouped: Grouped, homes: NDArray[np.int32], buckets: int, positions: Integers
) -> tuple[NDArray[np.uint32], NDArray[np.uint16], Integers]:
    """The members of each bucket, chunk after chunk."""
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
    places = np.empty(len(homes), np.uint16)
    ends = np.empty(len(homes), np.int64)
    for m in range(len(homes)):
        position = positions[grouped.boxes[m]]
        at = fill[homes[m], position // _CHUNK]
        fill[homes[m], position // _CHUNK] += np.uint32(1)
        places[at] = position % _CHUNK
        ends[at] = grouped.ends[m]
    return starts, places, ends


@njit(cache=True, nogil=True)
def _rows(
    buckets: Integers, starts: NDArray[np.uint32], places: NDArray[np.uint16], n: int
) -> Words:
    """The row before each bucket."""
    chunks = starts.shape[1] - 1
    words = chunks * _WORDS
    rows = np.zeros((len(starts), words), np.uint64)
    for t in range(len(buckets)):
        first, stop = buckets[t]
        for b in range(first, stop):
            for c in range(chunks):
                for m in range(starts[b, c], starts[b, c + 1]):
                    w = c * _WORDS + (places[m] >> 6)
                    bit = _ONE << np.uint64(places[m] & 63)
                    rows[first, w] |= bit  # at first: the boxes that end on this side
                    if b + 1 < stop:
                        rows[b + 1, w] |= bit
        for w in range(words):
            rows[first, w] = ~rows[first, w] & _lowest(n - 64 * w)
        for b in range(first + 1, stop):
            for w in range(words):
                rows[b, w] |= rows[b - 1, w]
    return rows


@njit(cache=True, nogil=True)
def _digest(rows: Words, n: int) -> tuple[Integers, Words]:
    """How many bits of each row are set, and the digests of the rows."""
    buckets = len(rows)
    chunks = (n + _CHUNK - 1) // _CHUNK
    size = (chunks + 63) >> 6
    weights = np.zeros(buckets, np.int64)
    digests = np.zeros(buckets * 2 * size, np.uint64)
    for b in range(buckets):
        for c in range(chunks):
            some, lacking = _NONE, _NONE
            for w in range(c * _WORDS, (c + 1) * _WORDS):
                some |= rows[b, w]
                lacking |= ~rows[b, w] & _lowest(n - 64 * w)
                weights[b] += _ones(rows[b, w])
            bit = _ONE << np.uint64(c & 63)
            if some != _NONE:
                digests[2 * b * size + (c >> 6)] |= bit
            if lacking != _NONE:
                digests[(2 * b + 1) * size + (c >> 6)] |= bit
    return weights, digests


@njit(cache=True, nogil=True)
def _ones(word: int) -> int:
    """The number of bits set in a word."""
    word -= (word >> _ONE) & np.uint64(0x5555_5555_5555_5555)
    pairs = np.uint64(0x3333_3333_3333_3333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F_0F0F_0F0F_0F0F)
    return np.int64((word * np.uint64(0x0101_0101_0101_0101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def unpack(
    packed: Packed, begin: int, tail: Listed, flags: NDArray[np.uint8], count: int
) -> tuple[Integers, Listed]:
    """The boxes of the segments from number `begin` on and of the tail that have a flag.

    Returns their positions and their ends.
    """
    packed_to = count - (len(tail.first) - 1)
    start = packed.segments[begin, _START] if begin < len(packed.segments) else packed_to
    sizes = np.zeros(count - start + 1, np.int64)
    for g in range(begin, len(packed.segments)):
        _deal(packed, g, start, flags, sizes, tail, False)
    for i in range(len(tail.first) - 1):
        if flags[packed_to + i]:
            sizes[packed_to + i - start + 1] = tail.first[i + 1] - tail.first[i]
    first = np.cumsum(sizes)
    listed = Listed(
        np.empty(0, np.int64), np.empty(first[-1], np.int32), np.empty(first[-1], np.int64)
    )
    return np.flatnonzero(flags[start:count]) + start, listed

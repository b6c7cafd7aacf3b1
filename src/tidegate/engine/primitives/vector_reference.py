# mypy: disable-error-code="no-untyped-def"
"""What do the functions of `vector` mean, in plain loops?

They stand in for them where bounds are checked, and are a second opinion in the tests. Where a
function of `vector` may write more than is asked for, it is said here.
"""

from typing import Final

from numba import uint64

LOW_BITS: Final = 6
"""The bits of a count that `tally` adds to."""


def put(out, at, rows, row):
    """Make the row at `at` that at `row`."""
    for w in range(8):
        out[at + uint64(w)] = rows[row + uint64(w)]


def meet(out, at, rows, row):
    """Make the row at `at` its AND with that at `row`."""
    for w in range(8):
        out[at + uint64(w)] &= rows[row + uint64(w)]


def join(out, at, rows, row):
    """Make the row at `at` its OR with that at `row`."""
    for w in range(8):
        out[at + uint64(w)] |= rows[row + uint64(w)]


def drop(out, at, rows, row):
    """Take from the row at `at` what that at `row` has."""
    for w in range(8):
        out[at + uint64(w)] &= ~rows[row + uint64(w)]


def meet_all(out, at, rows, refs, start, stop):
    """Make the row at `at` its AND with the rows numbered refs[start:stop]."""
    for i in range(start, stop):
        for w in range(8):
            out[at + uint64(w)] &= rows[uint64(refs[i]) * uint64(8) + uint64(w)]


def meet_span(out, at, upto, low, high):
    """Make the row at `at` its AND with what the row at `high` has and that at `low` has not."""
    for w in range(8):
        out[at + uint64(w)] &= upto[low + uint64(w)] ^ upto[high + uint64(w)]


def join_span(out, at, upto, low, high):
    """Make the row at `at` its OR with what the row at `high` has and that at `low` has not."""
    for w in range(8):
        out[at + uint64(w)] |= upto[low + uint64(w)] ^ upto[high + uint64(w)]


def is_empty(rows, row):
    """Whether no event is in the row."""
    found = uint64(0)
    for w in range(8):
        found |= rows[row + uint64(w)]
    return found == uint64(0)


def tally(planes, rows, row):
    """Add 64 rows to the counters of 512 events, bit by bit.

    Rows 0 to 5 of `planes` hold the last six bits of each event's count; row 6 is set to the carry,
    64 each. A Harley-Seal counter, turned by 90 degrees.
    """
    for w in range(8):
        planes[8 * LOW_BITS + w] = uint64(0)
    for i in range(2**LOW_BITS):
        for w in range(8):
            carry = rows[row + uint64(8 * i + w)]
            for bit in range(LOW_BITS):
                held = planes[8 * bit + w]
                planes[8 * bit + w] = held ^ carry
                carry &= held
            planes[8 * LOW_BITS + w] |= carry


def transpose(rows, row):
    """Turn each column of words of 64 rows, as a matrix of 64×64 bits."""
    for w in range(8):
        for i in range(64):
            for j in range(i):
                one = row + uint64(8 * i + w)
                two = row + uint64(8 * j + w)
                differ = (rows[one] >> uint64(j) ^ rows[two] >> uint64(i)) & uint64(1)
                rows[one] ^= differ << uint64(j)
                rows[two] ^= differ << uint64(i)


def write_codes(out, at, first, word):
    """Write the codes first + i of the bits i of a word side by side; how many there are.

    Sixty-four places of `out` may be overwritten, whatever the word.
    """
    place = at
    for i in range(64):
        if word >> uint64(i) & uint64(1):
            out[place] = first + i
            place += uint64(1)
    return place - at


def write_same(out, at, stop, number):
    """Write the same number into the places from `at` up to `stop`.

    Up to fifteen places behind them may be overwritten.
    """
    for place in range(at, stop):
        out[place] = number


def stream_same(out, at, stop, number):
    """Write the same number into these places, past the cache: they are not read again soon."""
    for place in range(at, stop):
        out[place] = number


def write_tagged(out, at, tags, first, word, mask, flags, bits):
    """Write handles side by side; which they are.

    A tag is a handle and, in so many `bits` at the end, flags. Of the 64 tags from `first` on that
    are in the word, the handles of those are written whose flags under the mask are these. Eight
    places of `out` behind the last one may be overwritten.
    """
    place = at
    written = uint64(0)
    for i in range(64):
        tag = tags[first + uint64(i)]
        if word >> uint64(i) & uint64(1) and tag & mask == flags:
            out[place] = tag >> bits
            place += uint64(1)
            written |= uint64(1) << uint64(i)
    return written


def at_most(numbers, at, bound):
    """Which of the 64 numbers from `at` on are at most that."""
    found = uint64(0)
    for i in range(64):
        if numbers[at + uint64(i)] <= bound:
            found |= uint64(1) << uint64(i)
    return found


def at_least(numbers, at, bound):
    """Which of the 64 numbers from `at` on are at least that."""
    found = uint64(0)
    for i in range(64):
        if numbers[at + uint64(i)] >= bound:
            found |= uint64(1) << uint64(i)
    return found


def below(numbers, at, bound):
    """How many of the eight 64-bit integers from `at` on are less than the bound."""
    count = uint64(0)
    for i in range(8):
        if numbers[at + uint64(i)] < bound:
            count += uint64(1)
    return count


def popcount(word):
    """How many bits are set."""
    count = uint64(0)
    while word:
        word &= word - uint64(1)
        count += uint64(1)
    return count


def lowest(word):
    """The place of the lowest bit that is set; 64 if there is none."""
    place = uint64(0)
    while place < uint64(64) and not word >> place & uint64(1):
        place += uint64(1)
    return place

"""Each function on rows of 512 events does what its plain loops do.

Both forms run compiled, on the same memory: rows at random, empty and full, and rows with a single
bit at either end. Beside what they are told to write, they leave everything as it was.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from tidegate.engine.primitives import vector

U64 = NDArray[np.uint64]

ALL = np.uint64(2**64 - 1)
SINGLE = [0, 1, 2, 2**31, 2**32, 2**62, 2**63, 2**63 + 1, 2**64 - 1, 0x5555555555555555]


def compiled(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The vector form of a function and its plain one, to be called from Python."""
    return _FORMS[name](vector.VECTOR[name]), _FORMS[name](vector.PLAIN[name])


def _rows(function: Any) -> Any:
    @njit
    def call(out, at, rows, row):  # type: ignore[no-untyped-def]
        function(out, np.uint64(at), rows, np.uint64(row))

    return call


def _refs(function: Any) -> Any:
    @njit
    def call(out, at, rows, refs, start, stop):  # type: ignore[no-untyped-def]
        function(out, np.uint64(at), rows, refs, np.uint64(start), np.uint64(stop))

    return call


def _spans(function: Any) -> Any:
    @njit
    def call(out, at, upto, low, high):  # type: ignore[no-untyped-def]
        function(out, np.uint64(at), upto, np.uint64(low), np.uint64(high))

    return call


def _row(function: Any) -> Any:
    @njit
    def call(rows, row):  # type: ignore[no-untyped-def]
        return function(rows, np.uint64(row))

    return call


def _planes(function: Any) -> Any:
    @njit
    def call(planes, rows, row):  # type: ignore[no-untyped-def]
        function(planes, rows, np.uint64(row))

    return call


def _codes(function: Any) -> Any:
    @njit
    def call(out, at, first, word):  # type: ignore[no-untyped-def]
        return function(out, np.uint64(at), np.int32(first), np.uint64(word))

    return call


def _same(function: Any) -> Any:
    @njit
    def call(out, at, stop, number):  # type: ignore[no-untyped-def]
        function(out, np.uint64(at), np.uint64(stop), np.int32(number))

    return call


def _tags(function: Any) -> Any:
    @njit
    def call(out, at, tags, first, word, mask, flags, bits):  # type: ignore[no-untyped-def]
        return function(out, np.uint64(at), tags, np.uint64(first), word, mask, flags, bits)

    return call


def _bounded(function: Any) -> Any:
    @njit
    def call(numbers, at, bound):  # type: ignore[no-untyped-def]
        return function(numbers, np.uint64(at), np.int32(bound))

    return call


def _eight(function: Any) -> Any:
    @njit
    def call(numbers, at, bound):  # type: ignore[no-untyped-def]
        return function(numbers, np.uint64(at), np.int64(bound))

    return call


def _word(function: Any) -> Any:
    @njit
    def call(word):  # type: ignore[no-untyped-def]
        return function(np.uint64(word))

    return call


_FORMS: dict[str, Callable[[Any], Any]] = {
    "put": _rows,
    "meet": _rows,
    "join": _rows,
    "drop": _rows,
    "meet_all": _refs,
    "meet_span": _spans,
    "join_span": _spans,
    "is_empty": _row,
    "tally": _planes,
    "transpose": _row,
    "write_codes": _codes,
    "write_same": _same,
    "stream_same": _same,
    "write_tagged": _tags,
    "at_most": _bounded,
    "at_least": _bounded,
    "below": _eight,
    "popcount": _word,
    "lowest": _word,
}


def memories(rows: int) -> Iterator[U64]:
    """Arrays of that many rows."""
    rng = np.random.default_rng(7)
    for share in (0.0, 0.02, 0.5, 0.98, 1.0):
        bits = rng.random((rows, 8, 64)) < share
        yield np.packbits(bits, bitorder="little").view(np.uint64)
    for place in (0, 63, 64, 511):
        single = np.zeros((rows, 8), np.uint64)
        single[::2, place >> 6] = np.uint64(1) << np.uint64(place & 63)
        yield single.ravel()


def test_there_is_a_test_of_every_function() -> None:
    assert set(vector.VECTOR) == set(vector.PLAIN) == set(_FORMS)
    assert all(getattr(vector, name) is vector.VECTOR[name] for name in _FORMS)


@pytest.mark.parametrize("name", ["put", "meet", "join", "drop"])
def test_two_rows(name: str) -> None:
    fast, plain = compiled(name)
    for out in memories(5):
        for rows in memories(4):
            for at, row in ((0, 0), (8, 24), (16, 8), (32, 0), (13, 3)):
                one, other = out.copy(), out.copy()
                fast(one, at, rows, row)
                plain(other, at, rows, row)
                assert one.tolist() == other.tolist()
                untouched = np.delete(np.arange(40), np.arange(at, at + 8))
                assert (one[untouched] == out[untouched]).all()


def test_two_rows_of_the_same_array() -> None:
    for name in ("put", "meet", "join", "drop"):
        fast, plain = compiled(name)
        for out in memories(3):
            for at, row in ((0, 8), (8, 0), (8, 8)):
                one, other = out.copy(), out.copy()
                fast(one, at, one, row)
                plain(other, at, other, row)
                assert one.tolist() == other.tolist()


def test_meeting_many_rows() -> None:
    fast, plain = compiled("meet_all")
    rng = np.random.default_rng(8)
    for rows in memories(9):
        for length in (0, 1, 2, 3, 40):
            refs = rng.integers(0, 9, 50).astype(np.uint32)
            out = np.full(24, ALL)
            one, other = out.copy(), out.copy()
            fast(one, 8, rows, refs, 5, 5 + length)
            plain(other, 8, rows, refs, 5, 5 + length)
            assert one.tolist() == other.tolist()
            assert (one[:8] == ALL).all()
            assert (one[16:] == ALL).all()


@pytest.mark.parametrize("name", ["meet_span", "join_span"])
def test_the_difference_of_two_rows(name: str) -> None:
    fast, plain = compiled(name)
    for out in memories(3):
        for upto in memories(6):
            for low, high in ((0, 40), (8, 8), (40, 0), (16, 24)):
                one, other = out.copy(), out.copy()
                fast(one, 8, upto, low, high)
                plain(other, 8, upto, low, high)
                assert one.tolist() == other.tolist()


def test_empty_rows() -> None:
    fast, plain = compiled("is_empty")
    for rows in memories(6):
        for row in (0, 8, 40, 3):
            assert fast(rows, row) is plain(rows, row) is not rows[row : row + 8].any()


def test_counting_64_rows() -> None:
    fast, plain = compiled("tally")
    for rows in memories(66):
        for held in memories(8):
            one, other = held.copy(), held.copy()
            fast(one, rows, 8)
            plain(other, rows, 8)
            assert one.tolist() == other.tolist()
            assert one[56:].tolist() == held[56:].tolist()
            before, after = (_read(planes[:48]) for planes in (held, one))
            added = _bits(rows[8:520]).sum(axis=0)
            assert (after + 64 * _bits(one[48:56])[0] == before + added).all()


def _bits(rows: U64) -> NDArray[np.int64]:
    """Rows as rows of 512 zeros and ones."""
    bits = np.unpackbits(rows.view(np.uint8), bitorder="little")
    return bits.reshape(-1, 512).astype(np.int64)


def _read(planes: U64) -> NDArray[np.int64]:
    """The counts of 512 events whose bits the rows are."""
    bits = _bits(planes)
    counts: NDArray[np.int64] = (bits << np.arange(len(bits))[:, None]).sum(axis=0)
    return counts


def test_turning_64_rows() -> None:
    fast, plain = compiled("transpose")
    for rows in memories(66):
        one, other = rows.copy(), rows.copy()
        fast(one, 8)
        plain(other, 8)
        assert one.tolist() == other.tolist()
        assert one[:8].tolist() == rows[:8].tolist()
        assert one[520:].tolist() == rows[520:].tolist()
        turned = _bits(rows[8:520]).reshape(64, 8, 64).transpose(2, 1, 0).reshape(64, 512)
        assert (_bits(one[8:520]) == turned).all()


@pytest.mark.parametrize("bytewise", [True, False], ids=["as bytes", "in quarters"])
def test_writing_codes(bytewise: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector, "_PACKS_BYTES", bytewise)  # both ways run on every processor
    fast, plain = compiled("write_codes")
    rng = np.random.default_rng(9)
    drawn = [
        int(np.packbits(rng.random(64) < share, bitorder="little").view(np.uint64)[0])
        for share in (0.02, 0.2, 0.25, 0.3, 0.5, 0.55, 0.9)
        for _ in range(10)
    ]
    for word in (*SINGLE, 2**16 - 1, 2**17 - 1, 2**32 - 1, 2**33 - 1, *drawn):
        for first in (0, 5, 2**31 - 64, -(2**31)):
            one, other = np.full(80, -7, np.int32), np.full(80, -7, np.int32)
            count = fast(one, 9, first, np.uint64(word))
            assert count == plain(other, 9, first, np.uint64(word)) == word.bit_count()
            places = [first + i for i in range(64) if word >> i & 1]
            assert one[9 : 9 + count].tolist() == other[9 : 9 + count].tolist() == places
            assert (one[:9] == -7).all()
            assert (one[73:] == -7).all()


@pytest.mark.parametrize(("name", "spill"), [("write_same", 15), ("stream_same", 0)])
def test_writing_the_same_number(name: str, spill: int) -> None:
    fast, plain = compiled(name)
    for begin in range(17):  # wherever a line of the cache starts
        for length in (0, 1, 15, 16, 17, 31, 32, 33, 40):
            one, other = np.full(90, -7, np.int32), np.full(90, -7, np.int32)
            stop = begin + length
            fast(one, begin, stop, 5)
            plain(other, begin, stop, 5)
            assert one[:stop].tolist() == other[:stop].tolist() == [-7] * begin + [5] * length
            assert (one[stop + spill :] == -7).all()


def test_writing_handles() -> None:
    fast, plain = compiled("write_tagged")
    rng = np.random.default_rng(12)
    for share in (0.0, 0.1, 0.9, 1.0):
        for _ in range(20):
            handles, flags = rng.integers(0, 2**50, 90), rng.integers(0, 16, 90)
            tags = handles << 8 | flags
            word = np.packbits(rng.random(64) < share, bitorder="little").view(np.uint64)[0]
            for first, mask, wanted in ((0, 0, 0), (5, 3, 1), (26, 15, 6), (9, 4, 1)):
                one, other = np.full(90, -7), np.full(90, -7)
                written = fast(one, 9, tags, first, word, mask, wanted, 8)
                assert written == plain(other, 9, tags, first, word, mask, wanted, 8)
                places = [i for i in range(64) if int(written) >> i & 1]
                assert places == [
                    i for i in range(64) if int(word) >> i & 1 and flags[first + i] & mask == wanted
                ]
                stop = 9 + len(places)
                assert one[9:stop].tolist() == handles[first + np.array(places, int)].tolist()
                assert one[:stop].tolist() == other[:stop].tolist()
                assert (one[:9] == -7).all()
                assert (one[stop + 8 :] == -7).all()


@pytest.mark.parametrize("name", ["at_most", "at_least"])
def test_numbers_are_compared_with_a_bound(name: str) -> None:
    fast, plain = compiled(name)
    rng = np.random.default_rng(10)
    ends = np.array([-(2**31), 1 - 2**31, -1, 0, 1, 5, 2**31 - 2, 2**31 - 1], np.int32)
    for _ in range(30):
        numbers = rng.choice(ends, 100)
        for bound in ends.tolist():
            for at in (0, 7, 36):
                found = fast(numbers, at, bound)
                assert found == plain(numbers, at, bound)
                some = numbers[at : at + 64]
                held = some <= bound if name == "at_most" else some >= bound
                assert found == sum(1 << int(i) for i in np.flatnonzero(held))


def test_single_words() -> None:
    popcount, plain_popcount = compiled("popcount")
    lowest, plain_lowest = compiled("lowest")
    drawn = np.random.default_rng(11).integers(0, 2**64, 50, np.uint64).tolist()
    for word in (*SINGLE, *drawn, *(1 << place for place in range(64))):
        own = np.uint64(word)
        assert popcount(own) == plain_popcount(own) == word.bit_count()
        place = (word & -word).bit_length() - 1 if word else 64
        assert lowest(own) == plain_lowest(own) == place


def test_counting_numbers_below_a_bound() -> None:
    fast, plain = compiled("below")
    rng = np.random.default_rng(3)
    ends = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]
    for numbers in (rng.integers(-5, 5, 20), rng.choice(np.array(ends), 20)):
        for at in (0, 3, 12):
            for bound in (*ends, -4, 3):
                expected = np.count_nonzero(numbers[at : at + 8] < bound)
                assert fast(numbers, at, bound) == plain(numbers, at, bound) == expected

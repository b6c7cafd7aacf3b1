"""Bounds behave as sets of keys do, and equal sets have equal bounds."""

from itertools import pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from tidegate.filters import bounds as b
from tidegate.filters.bounds import Bounds
from tidegate.filters.lines import TOP

LINE = range(-3, 4)
FULL = (LINE.start, LINE.stop)
SUBSETS = [
    frozenset(key for i, key in enumerate(LINE) if bits >> i & 1) for bits in range(1 << len(LINE))
]


def as_bounds(keys: frozenset[int]) -> Bounds:
    """Where membership changes: the plain definition of bounds."""
    return tuple(key for key in range(-4, 6) if (key in keys) != (key - 1 in keys))


def as_keys(bounds: Bounds) -> frozenset[int]:
    ends = zip(bounds[::2], bounds[1::2], strict=True)
    return frozenset(key for low, high in ends for key in range(low, high))


def is_normal(bounds: Bounds) -> bool:
    return len(bounds) % 2 == 0 and all(one < other for one, other in pairwise(bounds))


def test_every_subset_of_a_line_has_its_own_bounds() -> None:
    assert len({as_bounds(keys) for keys in SUBSETS}) == len(SUBSETS) == 2 ** len(LINE)
    assert all(as_keys(as_bounds(keys)) == keys for keys in SUBSETS)


def test_has_is_membership() -> None:
    for keys in SUBSETS:
        for key in range(-5, 6):
            assert b.has(as_bounds(keys), key) == (key in keys)


def test_two_sets_combine_as_sets_of_integers_do() -> None:
    """All pairs of subsets of a line of seven keys; the results are in normal form."""
    for one, other in product(SUBSETS, repeat=2):
        left, right = as_bounds(one), as_bounds(other)
        assert b.meet(left, right) == as_bounds(one & other)
        assert b.join(left, right) == as_bounds(one | other)
        assert b.minus(left, right) == as_bounds(one - other)
        assert b.within(left, right) == (one <= other)


def test_the_complement_is_what_is_left_of_the_line() -> None:
    for keys in SUBSETS:
        assert b.complement(as_bounds(keys), FULL) == as_bounds(frozenset(LINE) - keys)


keys = st.integers(-(2**70), 2**70)
normal_bounds = st.sets(keys, max_size=12).map(lambda ends: tuple(sorted(ends))[: len(ends) & ~1])


@given(normal_bounds, normal_bounds, st.lists(keys))
def test_long_bounds_with_far_ends_combine_key_by_key(
    one: Bounds, other: Bounds, tried: list[int]
) -> None:
    met, joined, left = b.meet(one, other), b.join(one, other), b.minus(one, other)
    assert all(map(is_normal, (met, joined, left)))
    for key in {*tried, *one, *other, *(end - 1 for end in one + other)}:
        in_one, in_other = b.has(one, key), b.has(other, key)
        assert b.has(met, key) == (in_one and in_other)
        assert b.has(joined, key) == (in_one or in_other)
        assert b.has(left, key) == (in_one and not in_other)
    assert b.within(one, other) == (met == one)


@given(normal_bounds, normal_bounds, normal_bounds)
def test_the_laws_of_sets_hold(one: Bounds, two: Bounds, three: Bounds) -> None:
    assert b.meet(one, b.join(two, three)) == b.join(b.meet(one, two), b.meet(one, three))
    assert b.join(one, b.meet(two, three)) == b.meet(b.join(one, two), b.join(one, three))
    assert b.minus(one, b.join(two, three)) == b.meet(b.minus(one, two), b.minus(one, three))
    full = (-(2**71), 2**71)
    assert b.complement(b.complement(one, full), full) == one


texts = st.text("ab\0\U0010ffff", max_size=3)
text_bounds = st.builds(
    lambda ends, unbounded: (
        (*sorted(ends), TOP)
        if unbounded and len(ends) % 2
        else tuple(sorted(ends))[: len(ends) & ~1]
    ),
    st.sets(texts, max_size=7),
    st.booleans(),
)


@given(text_bounds, text_bounds, st.lists(texts))
def test_bounds_of_strings_may_be_open_at_the_top(
    one: Bounds, other: Bounds, tried: list[str]
) -> None:
    full = ("", TOP)
    outside = b.complement(one, full)
    met, joined, left = b.meet(one, other), b.join(one, other), b.minus(one, other)
    assert all(map(is_normal, (outside, met, joined, left)))
    for text in {*tried, *(end for end in one + other if end is not TOP), "\U0010ffff" * 9}:
        in_one, in_other = b.has(one, text), b.has(other, text)
        assert b.has(outside, text) != in_one
        assert b.has(met, text) == (in_one and in_other)
        assert b.has(joined, text) == (in_one or in_other)
        assert b.has(left, text) == (in_one and not in_other)
    assert b.within(one, other) == (met == one)

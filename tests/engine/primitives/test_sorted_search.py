"""Searches that go together find what each alone would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.engine.primitives.sorted_search import Stairs

INT64 = st.integers(-(2**63), 2**63 - 1)
NEAR = st.integers(-3, 3)


@given(st.lists(NEAR | INT64, max_size=200), st.lists(NEAR | INT64, max_size=200))
def test_places_are_those_of_numpy(cuts: list[int], keys: list[int]) -> None:
    ordered, asked = np.array(sorted(cuts), np.int64), np.array(keys, np.int64)
    assert np.array_equal(Stairs(ordered).before(asked), np.searchsorted(ordered, asked))
    assert np.array_equal(
        Stairs(ordered).upto(asked), np.searchsorted(ordered, asked, side="right")
    )


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513, 1000, 65_537])
@pytest.mark.parametrize("asked", [0, 1, 15, 16, 17, 1000])
def test_every_size_is_searched(count: int, asked: int) -> None:
    rng = np.random.default_rng(count + asked)
    cuts = np.sort(rng.integers(0, 2 * count + 1, count))
    keys = rng.integers(-1, 2 * count + 2, asked)
    assert np.array_equal(Stairs(cuts).before(keys), np.searchsorted(cuts, keys))
    assert np.array_equal(Stairs(cuts).upto(keys), np.searchsorted(cuts, keys, side="right"))


def test_integers_of_any_size_are_searched() -> None:
    cuts = np.array([-(10**30), 0, 10**30], object)
    keys = np.array([10**30, -(10**31), 1], object)
    assert Stairs(cuts).before(keys).tolist() == [2, 0, 2]
    assert Stairs(cuts).upto(keys).tolist() == [3, 0, 2]
    assert Stairs(cuts).before(np.array([0, 5])).tolist() == [1, 2]


def test_a_slice_is_searched() -> None:
    cuts, keys = np.arange(0, 40, 2)[::2], np.arange(30)[::-3]
    assert np.array_equal(Stairs(cuts).before(keys), np.searchsorted(cuts, keys))

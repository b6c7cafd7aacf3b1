"""Numbers for values are those that sorting gives, whether or not the values are sorted."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tidegate.engine.primitives.distinct import firsts, numbered, occurring

VALUES = st.one_of(
    st.lists(st.integers(0, 12)),
    st.lists(st.integers(0, 2**31 - 1)),
    st.just([0]),
    st.just([7] * 9),
)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(values=VALUES)
def test_values_are_numbered_in_their_order(kind: type, values: list[int]) -> None:
    array: NDArray[Any] = np.array(values, np.int64).astype(kind)
    _, first, numbers = np.unique(array, return_index=True, return_inverse=True)
    found = numbered(array)
    assert found.dtype == np.int64
    assert found.tolist() == numbers.tolist()
    assert firsts(found).tolist() == first.tolist()


@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64, object])
@given(values=VALUES | st.lists(st.integers(-3, 3)) | st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_values_that_occur_are_those_of_numpy(kind: type, values: list[int]) -> None:
    array: NDArray[Any] = np.array(values, np.int64).astype(kind)
    found = occurring(array)
    assert found.dtype == array.dtype
    assert found.tolist() == np.unique(array).tolist()

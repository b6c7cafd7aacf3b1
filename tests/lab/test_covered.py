"""The share that is covered, counted in groups, beside the algebra and beside the box store."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.engine.boxes.box_store import BoxStore
from tidegate.lab.workloads.covered import covered_share, uncovered
from tidegate.lab.workloads.matching import Padres
from tidegate.lab.workloads.padres import Choices, conjunctions

WIDE = Choices(fewest=1, most=3, core=4, popularity=20.0, equalities=0.5)


def one_by_one(workload: Padres) -> list[int]:
    """Who is left, asked of the algebra for every pair; of equal ones, the first."""
    filters = list(workload.filters())
    return [
        i
        for i, f in enumerate(filters)
        if not any(
            tg.covers(other, f) and (j < i or not tg.covers(f, other))
            for j, other in enumerate(filters)
            if j != i
        )
    ]


@given(
    seed=st.integers(0, 1_000),
    fewest=st.integers(1, 3),
    more=st.integers(0, 2),
    equalities=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    distinct=st.sampled_from([100, 200, 1_000]),
)
def test_who_is_left_is_who_the_algebra_leaves(
    seed: int, fewest: int, more: int, equalities: float, distinct: int
) -> None:
    choices = Choices(
        fewest=fewest, most=fewest + more, core=3, popularity=40.0, equalities=equalities
    )
    workload = conjunctions(30, distinct, seed, choices)
    assert uncovered(workload).tolist() == one_by_one(workload)


def test_one_is_left_of_equal_ones() -> None:
    one = conjunctions(1, 100, 1, WIDE)
    same = Padres(one.schema, one.pool, np.repeat(one.parts, 5, axis=0), 1)
    assert uncovered(same).tolist() == [0]
    assert covered_share(same) == pytest.approx(0.8)


def test_the_box_store_leaves_as_many() -> None:
    workload = conjunctions(1_500, 400, 2, Choices(fewest=2, most=4, core=2, equalities=0.6))
    store = BoxStore(workload.schema)
    distinct = list(dict.fromkeys(workload.filters()))
    for f in distinct:
        store.add(f)
    starts, _ = store.containing_batch(distinct)
    left = np.count_nonzero(np.diff(starts) == 1)
    assert len(uncovered(workload)) == left
    assert 100 < left < 1_200


def test_a_subscription_that_covers_all_is_left_alone() -> None:
    workload = conjunctions(200, 100, 5, Choices(fewest=1, most=1, core=1, popularity=1e9))
    widths = workload.pool.highs[workload.parts[:, 0]] - workload.pool.lows[workload.parts[:, 0]]
    left = uncovered(workload)
    assert widths[left].max() == widths.max()
    assert len(left) < 10

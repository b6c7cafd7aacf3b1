"""The rectangles of the experiments on subsumption, as arrays and as filters."""

import numpy as np
import pytest

import tidegate as tg
from bench.baselines import BruteForce, NegativeSpace
from tidegate.lab.workloads.rectangles import DOMAIN, Ranks, Rectangles, rectangles


@pytest.mark.parametrize("ranks", ["ascending", "descending", "shuffled"])
@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_rectangles_lie_in_the_domain(ranks: Ranks, dimensions: int) -> None:
    lows, highs = rectangles(3_000, dimensions, 1.0, seed=2, ranks=ranks)
    assert lows.shape == highs.shape == (3_000, dimensions)
    assert lows.min() >= 0
    assert (lows <= highs).all()
    assert highs.max() <= DOMAIN


def test_the_first_rank_is_the_most_frequent_low_end() -> None:
    def most_frequent(ranks: Ranks) -> list[int]:
        lows, _ = rectangles(5_000, 3, 1.2, seed=2, ranks=ranks, domain=200)
        return [int(np.bincount(lows[:, k]).argmax()) for k in range(3)]

    assert most_frequent("ascending") == [0, 0, 0]
    assert most_frequent("descending") == [200, 200, 200]
    assert len(set(most_frequent("shuffled"))) == 3


def test_an_exponent_of_nought_is_uniform_and_a_large_one_is_not() -> None:
    even, _ = rectangles(20_000, 1, 0.0, seed=3, domain=9)
    steep, _ = rectangles(20_000, 1, 2.0, seed=3, domain=9)
    assert 0.09 < np.mean(even == 0) < 0.11
    share = 1 / sum(r**-2.0 for r in range(1, 11))
    assert share - 0.02 < np.mean(steep == 0) < share + 0.02


def test_sizes_are_uniform_above_the_low_end() -> None:
    lows, highs = rectangles(20_000, 1, 0.0, seed=3, domain=3)
    sizes = (highs - lows)[lows == 1]
    shares = np.bincount(sizes) / len(sizes)
    assert len(shares) == 3
    assert np.abs(shares - 1 / 3).max() < 0.03


def test_negative_rectangles_get_fewer_in_two_dimensions_and_not_in_three() -> None:
    """As in the paper: from 181 to 118 and 66 in two dimensions, from 15,983 to 20,154 in three."""

    def counted(dimensions: int, sizes: tuple[int, ...]) -> list[int]:
        space, found = NegativeSpace(dimensions, 0, DOMAIN), []
        for i, ends in enumerate(zip(*rectangles(sizes[-1], dimensions, seed=2), strict=True), 1):
            space.add(*ends)
            if i in sizes:
                found.append(space.count)
        return found

    few, fewer, fewest = counted(2, (2_000, 4_000, 10_000))
    assert 120 > few > fewer > fewest > 10
    some, more = counted(3, (500, 1_500))
    assert 2_000 < some < more < 16_000


def test_the_filters_match_what_the_arrays_match() -> None:
    workload = Rectangles(*rectangles(200, 3, 0.7, seed=4))
    events = workload.events(30)
    found = BruteForce(workload.ranges).pairs(workload.points(events))
    rows = events.to_pylist()
    expected = {
        (j, i)
        for i, f in enumerate(workload.filters())
        for j, row in enumerate(rows)
        if f.matches(row)
    }
    assert set(zip(found[0].tolist(), found[1].tolist(), strict=True)) == expected
    assert len(expected) > 100


def test_the_table_holds_the_filters() -> None:
    workload = Rectangles(*rectangles(50, 2, 0.7, seed=4))
    for row, f in zip(workload.table().to_pylist(), workload.filters(), strict=True):
        read = tg.parse(row["filter"], workload.schema)
        assert read.bind(**{name: row[name] for name in read.parameters}) == f


def test_a_seed_says_it_all() -> None:
    first, again = (np.stack(rectangles(100, 2, seed=5)) for _ in range(2))
    assert (first == again).all()
    assert (first != np.stack(rectangles(100, 2, seed=6))).any()

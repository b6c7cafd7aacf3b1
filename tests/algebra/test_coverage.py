"""Subsumption of integer boxes against counting every point, and against the paper's own way."""

import itertools
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.algebra.coverage import Coverage
from tidegate.lab.workloads.rectangles import rectangles

Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

MIN, MAX = -(2**63), 2**63 - 1
SIZES = {1: 12, 2: 6, 3: 4, 4: 3}  # cells per dimension, so that all points can be counted


class Grid:
    """The oracle: how many boxes hold each point of a small grid."""

    def __init__(self, dimensions: int, size: int) -> None:
        self.counts = np.zeros((size,) * dimensions, np.int64)

    def change(self, box: Box, by: int) -> None:
        self.counts[self._points(box)] += by

    def subsumes(self, box: Box) -> bool:
        return bool((self.counts[self._points(box)] > 0).all())

    @staticmethod
    def _points(box: Box) -> tuple[slice, ...]:
        return tuple(slice(low, high + 1) for low, high in zip(*box, strict=True))


class Stretch:
    """A monotone map of the grid's cells to intervals that together are all of int64.

    A union of boxes covers a box exactly when the stretched union covers the stretched box.
    """

    def __init__(self, starts: Sequence[int]) -> None:
        self.starts = sorted(starts)
        self.stops = [start - 1 for start in self.starts[1:]] + [MAX]

    def __call__(self, box: Box) -> Box:
        return tuple(self.starts[i] for i in box[0]), tuple(self.stops[i] for i in box[1])


def boxes(dimensions: int, size: int) -> st.SearchStrategy[Box]:
    """Boxes on a grid: small ones, degenerate ones, and ones that touch, nest and coincide."""
    span = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).map(sorted)
    spans = st.lists(span, min_size=dimensions, max_size=dimensions)
    return spans.map(lambda s: (tuple(low for low, _ in s), tuple(high for _, high in s)))


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, list[tuple[str, Box | int]]]:
    """A number of dimensions, and additions, removals (the n-th of those present) and questions."""
    dimensions = draw(st.sampled_from(sorted(SIZES)))
    box = boxes(dimensions, SIZES[dimensions])
    step = st.one_of(
        st.tuples(st.just("add"), box),
        st.tuples(st.just("add"), box),
        st.tuples(st.just("ask"), box),
        st.tuples(st.just("remove"), st.integers(0, 99)),
    )
    return dimensions, draw(st.lists(step, max_size=40))


def stretches(size: int) -> st.SearchStrategy[Stretch]:
    """Maps whose cells are single values at either end of int64, or anything in between."""
    edges = [MIN + 1, MIN + 2, -(2**62), -1, 0, 1, 2**53, 2**53 + 1, MAX - 1, MAX]
    inner = st.one_of(st.sampled_from(edges), st.integers(MIN + 1, MAX))
    starts = st.lists(inner, min_size=size - 1, max_size=size - 1, unique=True)
    return starts.map(lambda others: Stretch([MIN, *others]))


def replay(
    dimensions: int, history: list[tuple[str, Box | int]], coverage: Coverage, place: Stretch
) -> Iterator[tuple[bool | None, bool]]:
    """Every answer of the coverage with the oracle's, the question about the whole grid last."""
    grid = Grid(dimensions, SIZES[dimensions])
    present: list[tuple[int, Box]] = []
    whole: Box = ((0,) * dimensions, (SIZES[dimensions] - 1,) * dimensions)
    for step, what in [*history, ("ask", whole)]:
        if not isinstance(what, int):
            if step == "add":
                present.append((coverage.add(*place(what)), what))
                grid.change(what, +1)
            else:
                yield coverage.subsumes(*place(what)), grid.subsumes(what)
        elif present:
            handle, box = present.pop(what % len(present))
            coverage.remove(handle)
            grid.change(box, -1)
        assert len(coverage) == len(present)


@given(histories(), st.data())
def test_answers_are_those_of_counting_every_point(
    history: tuple[int, list[tuple[str, Box | int]]], data: st.DataObject
) -> None:
    dimensions, steps = history
    place = data.draw(stretches(SIZES[dimensions]))
    coverage = Coverage(dimensions)
    for answer, truth in replay(dimensions, steps, coverage, place):
        assert answer is truth
    assert coverage.exhausted == 0


@given(histories(), st.integers(0, 4))
def test_running_out_of_budget_is_counted_and_never_a_wrong_answer(
    history: tuple[int, list[tuple[str, Box | int]]], budget: int
) -> None:
    dimensions, steps = history
    coverage = Coverage(dimensions, budget=budget)
    place = Stretch([MIN, *range(SIZES[dimensions] - 1)])
    answers = list(replay(dimensions, steps, coverage, place))
    assert all(answer is None or answer is truth for answer, truth in answers)
    assert coverage.exhausted == sum(answer is None for answer, _ in answers)
    assert coverage.fragments <= budget * len(answers)


@pytest.mark.parametrize(
    ("dimensions", "size", "largest"),
    [(1, 40_000, 200), (2, 40, 10), (3, 14, 4), (4, 8, 3), (6, 4, 2)],
)
@pytest.mark.parametrize("seed", range(4))
def test_large_sets_that_grow_and_shrink_answer_like_counting(
    dimensions: int, size: int, largest: int, seed: int
) -> None:
    """Past several doublings, several blocks of the first scan, and long lists of candidates."""
    random = np.random.default_rng(seed)
    grid, coverage = Grid(dimensions, size), Coverage(dimensions)
    present: list[tuple[int, Box]] = []
    answers = {True: 0, False: 0}

    def draw(side: int) -> Box:
        low = random.integers(0, size, dimensions)
        high = np.minimum(low + random.integers(0, side, dimensions), size - 1)
        return tuple(low.tolist()), tuple(high.tolist())

    for step in range(2400):
        if step % 4 == 3:
            handle, box = present.pop(int(random.integers(len(present))))
            coverage.remove(handle)
            grid.change(box, -1)
        elif step % 4 == 2:
            box = draw(2 * largest)
            truth = grid.subsumes(box)
            assert coverage.subsumes(*box) is truth
            answers[truth] += 1
        else:
            box = draw(largest)
            present.append((coverage.add(*box), box))
            grid.change(box, +1)
    assert min(answers.values()) > 10


def pieces(box: Box, cuts: int, random: np.random.Generator) -> list[Box]:
    """The box cut in two, again and again: touching boxes that are exactly its parts."""
    parts = [box]
    for _ in range(cuts):
        wide = [
            (i, k)
            for i, (low, high) in enumerate(parts)
            for k in range(len(low))
            if low[k] < high[k]
        ]
        i, k = wide[int(random.integers(len(wide)))]
        low, high = parts.pop(i)
        middle = int(random.integers(low[k], high[k]))
        parts.append((low, (*high[:k], middle, *high[k + 1 :])))
        parts.append(((*low[:k], middle + 1, *low[k + 1 :]), high))
    return parts


@pytest.mark.parametrize("dimensions", range(1, 9))
@pytest.mark.parametrize("cuts", [1, 10, 300])
@pytest.mark.parametrize("span", [(MIN, MAX), (MIN, MIN + 2500), (MAX - 2500, MAX)])
def test_a_box_is_the_union_of_its_parts_and_of_no_fewer(
    dimensions: int, cuts: int, span: tuple[int, int]
) -> None:
    random = np.random.default_rng(dimensions * 1000 + cuts)
    whole: Box = ((span[0],) * dimensions, (span[1],) * dimensions)
    coverage = Coverage(dimensions)
    parts = pieces(whole, cuts, random)
    handles = [coverage.add(*part) for part in parts]
    assert coverage.subsumes(*whole) is True
    for i in random.choice(len(parts), min(20, len(parts)), replace=False).tolist():
        coverage.remove(handles[i])
        assert coverage.subsumes(*whole) is False
        assert coverage.subsumes(*parts[i]) is False
        handles[i] = coverage.add(*parts[i])
    assert coverage.subsumes(*whole) is True


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_one_missing_point_among_two_to_the_64_is_found(dimensions: int) -> None:
    """Its share of the volume is far below what a float can tell from nothing."""
    whole: Box = ((MIN,) * dimensions, (MAX,) * dimensions)
    for point in (MIN, -1, 0, MAX):
        coverage = Coverage(dimensions)
        for k in range(dimensions):
            if point > MIN:
                coverage.add(whole[0], (*whole[1][:k], point - 1, *whole[1][k + 1 :]))
            if point < MAX:
                coverage.add((*whole[0][:k], point + 1, *whole[0][k + 1 :]), whole[1])
        assert coverage.subsumes(*whole) is False
        corner = (point,) * dimensions
        assert coverage.subsumes(corner, corner) is False
        coverage.add(corner, corner)
        assert coverage.subsumes(*whole) is True


def test_touching_intervals_are_one_interval_at_the_cost_of_one_fragment() -> None:
    coverage = Coverage(1)
    order = np.random.default_rng(0).permutation(5000).tolist()
    handles = {i: coverage.add([10 * i], [10 * i + 9]) for i in order}
    for i in order:
        coverage.add([10 * i + 3], [10 * i + 5])
    assert coverage.subsumes([5], [49_999]) is True
    assert coverage.fragments == 1
    assert coverage.subsumes([5], [50_000]) is False
    coverage.remove(handles[2500])
    assert coverage.subsumes([5], [49_999]) is False
    assert coverage.subsumes([25_010], [49_999]) is True


def test_tiles_cover_the_floor_within_the_budget_they_need() -> None:
    """The tiles of a floor are as many as the candidates, and none is a slab of the floor."""
    tiles = list(itertools.product(range(9), repeat=3))
    np.random.default_rng(0).shuffle(tiles)
    answers = []
    for budget in (1, 50, 10_000):
        coverage = Coverage(3, budget=budget)
        for tile in tiles:
            low = tuple(5 * i for i in tile)
            coverage.add(low, tuple(i + 4 for i in low))
        answers.append((coverage.subsumes((0, 0, 0), (44, 44, 44)), coverage.exhausted))
        assert coverage.subsumes((1, 1, 1), (3, 3, 3)) is True, "one box contains it"
        assert coverage.subsumes((50, 0, 0), (60, 44, 44)) is False, "no box overlaps it"
    assert answers == [(None, 1), (None, 1), (True, 0)]


def subtract(negative: Box, box: Box) -> Iterator[Box]:
    """Fig. 4 of Jafarpour et al. (2008), with line 9 put right: what is left of `negative`."""
    low, high = (list(ends) for ends in negative)
    for i, (start, stop) in enumerate(zip(*box, strict=True)):
        if low[i] < start:
            yield tuple(low), (*high[:i], start - 1, *high[i + 1 :])
        if stop < high[i]:
            yield (*low[:i], stop + 1, *low[i + 1 :]), tuple(high)
        low[i], high[i] = max(low[i], start), min(high[i], stop)


def negative_space_answers(subscriptions: Sequence[Box], domain: Box) -> Iterator[bool]:
    """Fig. 6 of Jafarpour et al. (2008): is each subscription subsumed by those before it?"""
    negatives = [domain]
    for box in subscriptions:
        meets = [
            all(a <= d and c <= b for a, b, c, d in zip(*negative, *box, strict=True))
            for negative in negatives
        ]
        yield not any(meets)
        if not any(meets):
            continue
        negatives = [
            left
            for negative, met in zip(negatives, meets, strict=True)
            for left in (subtract(negative, box) if met else [negative])
        ]


@pytest.mark.slow
@pytest.mark.parametrize(("dimensions", "count"), [(1, 500), (2, 2000), (3, 400), (4, 120)])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_papers_workload_gets_the_answers_of_the_papers_algorithm(
    dimensions: int, count: int, exponent: float
) -> None:
    lows, highs = rectangles(count, dimensions, exponent, seed=dimensions)
    pairs = zip(lows.tolist(), highs.tolist(), strict=True)
    subscriptions = [(tuple(low), tuple(high)) for low, high in pairs]
    expected = negative_space_answers(subscriptions, ((0,) * dimensions, (1000,) * dimensions))

    coverage = Coverage(dimensions)
    subsumed = 0
    for low, high, truth in zip(lows, highs, expected, strict=True):
        assert coverage.subsumes(low, high) is truth
        if truth:
            subsumed += 1
        else:
            coverage.add(low, high)
    assert coverage.exhausted == 0
    assert 0 < subsumed == count - len(coverage)


def test_a_handle_is_good_for_one_removal() -> None:
    coverage = Coverage(1)
    twins = [coverage.add([0], [9]), coverage.add([0], [9])]
    coverage.remove(twins[0])
    assert coverage.subsumes([0], [9]) is True
    with pytest.raises(KeyError):
        coverage.remove(twins[0])
    coverage.remove(twins[1])
    assert coverage.subsumes([0], [9]) is False
    assert len(coverage) == 0
    assert coverage.add([0], [9]) not in twins


@pytest.mark.parametrize(
    ("low", "high", "error"),
    [
        ([0], [1], "in each of 2 dimensions"),
        ([0, 0], [1, 1, 1], "in each of 2 dimensions"),
        ([[0, 0]], [1, 1], "interpreted as an integer"),
        ([0, 5], [1, 4], "from 5 to 4 in dimension 1 is empty"),
        ([0, 0.5], [1, 1], "interpreted as an integer"),
        ([0, 0], [1, MAX + 1], "integers of 64 bits"),
        (np.array([0, 2**63], np.uint64), [1, 1], "integers of 64 bits"),
    ],
)
def test_what_is_not_a_box_is_refused(low: list[int], high: list[int], error: str) -> None:
    coverage = Coverage(2)
    for method in (coverage.add, coverage.subsumes):
        with pytest.raises((ValueError, TypeError), match=error):
            method(low, high)
    assert len(coverage) == 0


@pytest.mark.parametrize(("dimensions", "budget"), [(0, 10), (2, -1)])
def test_a_coverage_without_dimensions_or_with_a_negative_budget_is_refused(
    dimensions: int, budget: int
) -> None:
    with pytest.raises(ValueError, match="at least one dimension"):
        Coverage(dimensions, budget=budget)


def test_ends_may_be_any_integers_and_slices_of_larger_arrays() -> None:
    coverage = Coverage(2)
    table = np.arange(8, dtype=np.int64).reshape(2, 4)
    coverage.add(table[:, 0], table[:, 3])
    assert coverage.subsumes(np.array([1, 5], np.int32), (True + 1, np.int64(6))) is True
    assert coverage.subsumes(table[:, 1], np.array([2, 8], np.uint8)) is False


def test_the_compiler_is_loaded_with_the_first_question_only() -> None:
    program = (
        "import sys; from tidegate.algebra.coverage import Coverage;"
        "coverage = Coverage(1); coverage.add([0], [1]); print('numba' in sys.modules);"
        "coverage.subsumes([0], [1]); print('numba' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["False", "True"]

"""A `BoxTree` holds the points that a painted grid holds, and finds what overlaps."""

import os
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests import ROOT
from tests.papers.tree_fuzz import check, fuzz, painted, some_box
from tidegate.papers.negative import box_tree
from tidegate.papers.negative.box_tree import BoxTree, move
from tidegate.papers.negative.part_rows import PartRows
from tidegate.papers.negative.tidy import merged

LONG = os.environ.get("TIDEGATE_LONG") == "1"


@given(seed=st.integers(0, 2**32))
def test_any_history_leaves_the_points_that_were_not_taken(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_tree, "_ROWS", 4)
        patch.setattr(box_tree, "_STRAY", 3)
        fuzz(seed, 12)


def test_no_index_is_out_of_bounds() -> None:
    """The kernels as plain Python, with arrays that are as short as they may be."""
    subprocess.run(
        [sys.executable, "-m", "tests.papers.tree_fuzz", "200" if LONG else "12"],
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": "src:.", "NUMBA_DISABLE_JIT": "1"},
    )


@pytest.mark.parametrize("dimensions", [1, 3, 5])
def test_a_packed_tree_finds_what_a_scan_finds(dimensions: int) -> None:
    random = np.random.default_rng(dimensions)
    lows = random.integers(0, 1000, (20_000 if LONG else 2_000, dimensions))
    highs = lows + random.integers(1, 20, lows.shape)
    boxes = np.stack([lows, highs], axis=2).reshape(len(lows), -1)
    tree = BoxTree(np.array([0, 2000] * dimensions))
    tree.load(boxes)
    check(tree)
    assert sorted(map(tuple, tree.boxes().tolist())) == sorted(map(tuple, boxes.tolist()))
    for asked in boxes[:50] + random.integers(-5, 5, (50, 1)):
        found = tree.at(tree.overlapping(asked))
        shared = (boxes[:, ::2] < asked[1::2]) & (boxes[:, 1::2] > asked[::2])
        assert sorted(map(tuple, found.tolist())) == sorted(
            map(tuple, boxes[shared.all(axis=1)].tolist())
        )


def test_equal_boxes_and_one_point_do_not_make_packing_go_on_for_ever() -> None:
    tree = BoxTree(np.array([0, 1]))
    tree.load(np.tile(np.array([[0, 1]]), (1_000, 1)))
    check(tree)
    assert len(tree.overlapping(np.array([0, 1]))) == 1_000


@given(seed=st.integers(0, 2**32))
def test_tidying_up_leaves_the_same_points_in_fewer_boxes(seed: int) -> None:
    rng = Random(seed)
    dimensions, size = rng.choice(((1, 20), (2, 8), (3, 5)))
    tree = BoxTree(np.array([0, size] * dimensions))
    for _ in range(8):
        box = some_box(rng, dimensions, size)
        tree.take_away(box, tree.overlapping(box))
    boxes = tree.boxes()
    fewer = merged(boxes)
    assert len(fewer) <= len(boxes)
    assert np.array_equal(painted(fewer, size), painted(boxes, size))
    assert len(merged(fewer)) == len(fewer)


def test_a_box_cut_into_slices_is_one_again() -> None:
    slices = np.array([[0, 4, i, i + 1] for i in (3, 1, 0, 2)])
    assert merged(slices).tolist() == [[0, 4, 0, 4]]
    assert merged(slices[:0]).tolist() == []


def test_dimensions_and_labels_may_change() -> None:
    tree = BoxTree(np.array([], np.int64))
    assert tree.overlaps(np.array([], np.int64))
    tree.widen(np.array([0, 10]))
    tree.take_away(np.array([2, 5]), tree.overlapping(np.array([2, 5])))
    tree.relabel(0, np.array([0, 2, 5, 10]), np.array([0, 200, 500, 1000]))
    tree.widen(np.array([-7, 7]))
    assert sorted(tree.boxes().tolist()) == [[0, 200, -7, 7], [500, 1000, -7, 7]]
    check(tree)


def test_only_what_was_there_before_is_moved() -> None:
    ends = np.array([[1, 5], [7, 9]])
    move(ends, np.array([1, 9]), np.array([-3, 90]))
    assert ends.tolist() == [[-3, 5], [7, 90]]


@given(seed=st.integers(0, 2**32))
def test_parts_are_found_by_what_they_overlap_and_hold(seed: int) -> None:
    rng = Random(seed)
    rows = PartRows(2)
    kept: dict[int, NDArray[np.int64]] = {}
    for number in range(60):
        if kept and rng.random() < 0.4:
            gone = rng.choice(list(kept))
            assert np.array_equal(rows.pop(gone), kept.pop(gone))
        else:
            own = [some_box(rng, 2, 7) for _ in range(rng.choice((0, 1, 1, 5, 70)))]
            kept[number] = np.array(own, np.int64).reshape(-1, 4)
            rows.add(number, kept[number])
        asked = some_box(rng, 2, 7)
        every = np.concatenate([np.empty((0, 4), np.int64), *kept.values()])
        shared = (every[:, ::2] < asked[1::2]) & (every[:, 1::2] > asked[::2])
        assert np.array_equal(rows.overlapping(asked), every[shared.all(axis=1)])
        heirs, rest = rows.heirs(asked[None])
        holders = [
            n
            for n, own in kept.items()
            if ((own[:, ::2] <= asked[::2]) & (own[:, 1::2] >= asked[1::2])).all(axis=1).any()
        ]
        assert (heirs, rest) == (({holders[0]: [0]}, []) if holders else ({}, [0]))
        assert len(rows) == len(every)

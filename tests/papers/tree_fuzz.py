"""Boxes at random in and out of a `BoxTree`, beside a grid that is painted point by point.

A module of its own, which another process can run with the kernels as plain Python, so that every
index into an array is checked.
"""

import sys
from random import Random

import numpy as np
from numpy.typing import NDArray

from tidegate.papers.negative import box_tree
from tidegate.papers.negative.box_tree import BoxTree
from tidegate.papers.negative.tree_kernels import CHILD, FREE, LEAVES, NEXT, NONE, PARENT, PREVIOUS

Integers = NDArray[np.int64]


def some_box(rng: Random, dimensions: int, size: int) -> Integers:
    """A box with ends on a grid."""
    ends: list[int] = []
    for _ in range(dimensions):
        low = rng.randrange(size)
        ends += (low, rng.randint(low + 1, size))
    return np.array(ends, np.int64)


def within(box: Integers) -> tuple[slice, ...]:
    """The points of a box."""
    return tuple(slice(low, high) for low, high in box.reshape(-1, 2).tolist())


def painted(boxes: Integers, size: int) -> Integers:
    """How many of the boxes hold each point of a grid."""
    grid = np.zeros((size,) * (boxes.shape[1] // 2), np.int64)
    for box in boxes:
        grid[within(box)] += 1
    return grid


def fuzz(seed: int, steps: int) -> None:
    """Take boxes away and give others back; the tree has to hold just the points that are left."""
    rng = Random(seed)
    dimensions, size = rng.choice(((0, 1), (1, 30), (2, 9), (3, 6), (4, 4)))
    tree = BoxTree(np.array([0, size] * dimensions, np.int64), tidy=rng.random() < 0.5)
    left = np.ones((size,) * dimensions, np.int64)
    for _ in range(steps):
        box = some_box(rng, dimensions, size)
        if rng.random() < 0.6:
            rows = tree.overlapping(box)
            assert bool(len(rows)) == tree.overlaps(box) == bool(left[within(box)].any())
            faces, needed = tree.faces(box, rows)
            assert needed == faces[faces > 1].sum()
            before = len(tree)
            tree.take_away(box, rows)
            if rng.random() < 0.5 or not tree._tidies:
                assert len(tree) <= before + int((faces - 1).sum())
            left[within(box)] = 0
        else:
            give_back(rng, tree, left, box)
        check(tree)
        assert np.array_equal(painted(tree.boxes(), size), left)


def give_back(rng: Random, tree: BoxTree, left: Integers, box: Integers) -> None:
    """Add what is in a box and not in the tree, in one of three ways."""
    boxes = tree.boxes()
    if rng.random() < 0.6:
        node = tree.open(box)
        assert tree.cut_down(node, boxes)
        tree.close(node)
        left[within(box)] = 1
        return
    other = BoxTree(box)
    for each in boxes:
        other.take_away(each, other.overlapping(each))
    tree.add_all(other.boxes())
    left[within(box)] = 1
    if rng.random() < 0.3:
        tree.load(tree.boxes())


def check(tree: BoxTree) -> None:
    """Every row is free or linked as it should be, and a node is around what is below it."""
    links, ends = tree._links, tree._ends
    met: set[int] = set()
    leaves = 0
    stack = [0]
    while stack:
        row = stack.pop()
        met.add(row)
        child, before = int(links[row, CHILD]), NONE
        leaves += child == NONE and row != 0
        while child != NONE:
            assert links[child, PARENT] == row
            assert links[child, PREVIOUS] == before
            assert child not in met
            if row != 0:
                assert (ends[row, ::2] <= ends[child, ::2]).all()
                assert (ends[row, 1::2] >= ends[child, 1::2]).all()
            stack.append(child)
            child, before = int(links[child, NEXT]), child
    free = int(tree._counts[FREE])
    while free != NONE:
        assert free not in met
        met.add(free)
        free = int(links[free, NEXT])
    assert met == set(range(int(tree._counts[0])))
    assert leaves == len(tree) == tree._counts[LEAVES]


def small_trees() -> None:
    """Have trees made anew, and arrays lengthened, after a few boxes."""
    box_tree._ROWS = 4  # type: ignore[misc]
    box_tree._STRAY = 3  # type: ignore[misc]


if __name__ == "__main__":
    small_trees()
    for seed in range(int(sys.argv[1])):
        fuzz(seed, 25)

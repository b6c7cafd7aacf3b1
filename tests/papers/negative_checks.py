"""A negative space beside the enumeration of all events of a small world, through random histories.

The world says which events pass each filter. So what no filter covers is known after every step: an
exact space has to be just that, an approximate one not smaller; and nothing may be called subsumed
that is not. `follow_rectangles` does the same on a plain grid of integers, in any number of
dimensions.
"""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tidegate as tg
from tests.algebra.enumeration import NAMES
from tests.algebra.worlds import Setting, family
from tidegate.algebra.normal import boxes
from tidegate.papers.negative.approximate import ApproximateNegativeSpace
from tidegate.papers.negative.exact import ExactNegativeSpace
from tidegate.papers.negative.volume import volume

Space: TypeAlias = ExactNegativeSpace | ApproximateNegativeSpace
Grid: TypeAlias = NDArray[np.bool_]


class Make(Protocol):
    """Makes an empty space."""

    def __call__(self, schema: tg.Schema | None, /) -> Space: ...


def follow_world(
    make: Make, place: Setting, seed: int, steps: int, removals: float
) -> Counter[str]:
    """Run a history in a world; how often something was subsumed, and how often that was missed."""
    rng = Random(seed)
    world = place.world
    conditions = family(rng, place, 2 * steps, most=6)
    filters = [world.filter(condition) for condition in conditions]
    passing = [world.passing(condition) for condition in conditions]
    every = (1 << (8 * -(-int(np.prod(world.shape)) // 8))) - 1
    grid = dict(zip(NAMES, world.values, strict=True))
    total = int(np.prod(world.shape))
    space, union = make(world.schema), tg.Union(world.schema)
    held: dict[int, int] = {}  # numbers, and their handles in the union
    counts: Counter[str] = Counter()
    for _ in range(steps):
        if held and rng.random() < removals:
            gone = rng.choice(list(held))
            space.remove(gone)
            union.remove(held.pop(gone))
        else:
            new = rng.choice([i for i in range(len(filters)) if i not in held])
            space.add(new, filters[new])
            held[new] = union.add(filters[new])
        assert len(space) == len(held)
        covered = 0
        for number in held:
            covered |= passing[number]
        left = total - (covered & every).bit_count()
        found = space.volume(grid)
        assert found >= left
        if isinstance(space, ExactNegativeSpace) and space.exact and not space.aside:
            assert found == left
        check_partition(space, grid, total)
        for asked in rng.choices(range(len(filters)), k=4):
            truth = not passing[asked] & ~covered
            ask(space, union, filters[asked], truth, counts)
    return counts


def ask(space: Space, union: tg.Union, f: tg.Filter, truth: bool, counts: Counter[str]) -> None:
    """Whether a filter is subsumed: never claimed wrongly, and known where it can be known."""
    said = space.subsumes(f)
    assert truth or not said, str(f)
    counts["subsumed"] += truth
    counts["missed"] += truth and not said
    if isinstance(space, ExactNegativeSpace) and space.exact and not space.aside:
        own = boxes(f)
        if own is not None and space._space.coordinates.outer(own).exact:
            assert said == truth == union.subsumes(f), str(f)
            counts["exactly"] += 1


def check_partition(space: Space, grid: dict[str, Any], total: int) -> None:
    """Boxes are disjoint; so are the pieces that filters of an approximate space took."""
    ends = space.ends()
    pieces = [ends]
    inner = space if isinstance(space, ApproximateNegativeSpace) else space._successor
    if inner is not None:
        pieces += inner._covered
        coordinates = inner._space.coordinates
        together = np.concatenate(pieces)
        assert_disjoint(together)
        assert volume(together, coordinates, grid) == total
    else:
        assert_disjoint(ends)


def assert_disjoint(ends: NDArray[np.int64]) -> None:
    """No two boxes overlap, and none is empty."""
    assert (ends[:, ::2] < ends[:, 1::2]).all()
    for i, box in enumerate(ends[:300]):
        others = ends[i + 1 :]
        shared = (others[:, ::2] < box[1::2]) & (others[:, 1::2] > box[::2])
        assert not shared.all(axis=1).any()


def rectangle_schema(dimensions: int, size: int) -> tg.Schema:
    """Integers from 0 up to, but not including, the size."""
    own = tg.Attribute("bigint", nullable=False, low=0, high=size - 1)
    return tg.Schema({f"x{k}": own for k in range(dimensions)}, checked=True)


def rectangle(schema: tg.Schema, low: list[int], high: list[int]) -> tg.Filter:
    """A box with these ends, both included."""
    sides = zip(schema, low, high, strict=True)
    return tg.parse(" AND ".join(f"{x} BETWEEN {a} AND {b}" for x, a, b in sides), schema)


def follow_rectangles(
    make: Make,
    dimensions: int,
    size: int,
    seed: int,
    steps: int,
    removals: float,
    after: Callable[[Space], None] | None = None,
) -> Counter[str]:
    """Run a history of rectangles on a grid; how many were subsumed, and missed."""
    rng = Random(seed)
    schema = rectangle_schema(dimensions, size)
    space, union = make(schema), tg.Union(schema)
    held: dict[int, tuple[Grid, int]] = {}
    counts: Counter[str] = Counter()
    grid = {name: list(range(size)) for name in schema}
    for number in range(steps):
        f, events = _rectangle(rng, schema, size)
        covered = _together(held, (size,) * dimensions)
        ask(space, union, f, bool(covered[events].all()), counts)
        if held and rng.random() < removals:
            gone = rng.choice(list(held))
            space.remove(gone)
            union.remove(held.pop(gone)[1])
        else:
            space.add(number, f)
            held[number] = events, union.add(f)
        left = size**dimensions - int(_together(held, (size,) * dimensions).sum())
        found = space.volume()
        assert found >= left
        assert found == left or not (isinstance(space, ExactNegativeSpace) and space.exact)
        check_partition(space, grid, size**dimensions)
        if after is not None:
            after(space)
    for number in list(held):
        space.remove(number)
    assert space.volume() == size**dimensions
    assert space.boxes == 1
    return counts


def _rectangle(rng: Random, schema: tg.Schema, size: int) -> tuple[tg.Filter, Grid]:
    ends = [sorted((rng.randrange(size), rng.randrange(size))) for _ in schema]
    f = rectangle(schema, [low for low, _ in ends], [high for _, high in ends])
    events = np.zeros((size,) * len(ends), np.bool_)
    events[tuple(slice(low, high + 1) for low, high in ends)] = True
    return f, events


def _together(held: dict[int, tuple[Grid, int]], shape: tuple[int, ...]) -> Grid:
    covered = np.zeros(shape, np.bool_)
    for events, _ in held.values():
        covered |= events
    return covered

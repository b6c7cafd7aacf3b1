"""The negative space is what enumerating all events says it is."""

import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tidegate as tg
from tests import ROOT, families
from tests.algebra import worlds
from tests.algebra.worlds import Setting
from tests.engine.boxes.box_oracle import NO_NORMAL_FORM, SCHEMAS, some_filter
from tests.papers.negative_checks import (
    Grid,
    Space,
    check_partition,
    follow_rectangles,
    follow_world,
    rectangle,
    rectangle_schema,
)
from tidegate.errors import MeasureError, SchemaError, TidegateError
from tidegate.papers.limit import LimitWarning
from tidegate.papers.negative import ApproximateNegativeSpace, ExactNegativeSpace, Forwarding
from tidegate.papers.negative.approximate import CHOICES, Choice
from tidegate.papers.negative.coordinates import MAX_PARTS
from tidegate.pipeline.analysis.cells import Cells

LONG = os.environ.get("TIDEGATE_LONG") == "1"
WORLDS: dict[str, Callable[[], Setting]] = {
    "plain": worlds.plain,
    "fractions": worlds.fractions,
    "texts": worlds.texts,
    **{
        f"{name}, {'checked' if checked else 'unchecked'}": partial(
            worlds.typed, name, checked=checked, limited=True
        )
        for name in worlds.LIMITED
        for checked in (False, True)
    },
}
REMOVALS = st.sampled_from((0.0, 0.1, 0.3, 0.5))


# -- the exact space


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=200 if LONG else 6)
@given(seed=st.integers(0, 2**32), removals=REMOVALS)
def test_the_exact_space_is_what_enumeration_and_the_union_say(
    name: str, seed: int, removals: float
) -> None:
    follow_world(ExactNegativeSpace, WORLDS[name](), seed, 8, removals)


def test_most_questions_of_these_worlds_are_answered_exactly() -> None:
    counts: Counter[str] = Counter()
    for name in ("plain", "moments, checked"):
        for seed in range(5):
            counts += follow_world(ExactNegativeSpace, WORLDS[name](), seed, 10, 0.2)
    assert counts["exactly"] == 2 * 5 * 10 * 4
    assert counts["subsumed"] > 50
    assert counts["missed"] == 0


@settings(max_examples=300 if LONG else 30)
@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from(((1, 12), (2, 7), (3, 5), (4, 3))),
    removals=REMOVALS,
    tidy=st.booleans(),
)
def test_after_every_step_the_volume_is_the_true_one(
    seed: int, shape: tuple[int, int], removals: float, tidy: bool
) -> None:
    follow_rectangles(
        lambda schema: ExactNegativeSpace(schema, tidy=tidy), *shape, seed, 12, removals
    )


def test_the_example_of_the_paper() -> None:
    schema = rectangle_schema(2, 1000)
    first = rectangle(schema, [175, 180], [510, 680])
    second = rectangle(schema, [405, 110], [840, 540])
    third = rectangle(schema, [380, 230], [720, 495])
    forwarding = Forwarding(space := ExactNegativeSpace(schema))
    assert (space.boxes, space.volume()) == (1, 1000**2)
    assert forwarding.subscribe(1, first)
    assert (space.boxes, space.volume()) == (4, 1000**2 - 336 * 501)
    assert forwarding.subscribe(2, second)
    assert space.boxes == 7
    assert not forwarding.subscribe(3, third)
    assert space.boxes == 7
    assert forwarding.unsubscribe(2) == [3]
    assert space.volume() == 1000**2 - 336 * 501 - 210 * 266
    assert forwarding.unsubscribe(1) == []
    assert forwarding.unsubscribe(3) == []
    assert (space.boxes, len(forwarding)) == (1, 0)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_a_split_makes_at_most_so_many_boxes(dimensions: int) -> None:
    """Proposition 2: 2d - 1 more for one split; Proposition 3: 2n + 1 ranges in one dimension."""
    schema = rectangle_schema(dimensions, 1000)
    space = ExactNegativeSpace(schema)
    space.add(0, rectangle(schema, [400] * dimensions, [600] * dimensions))
    assert space.boxes == 2 * dimensions
    line = ExactNegativeSpace(rectangle_schema(1, 1000))
    for n in range(100):
        line.add(n, rectangle(rectangle_schema(1, 1000), [9 * n + 3], [9 * n + 5]))
        assert line.boxes <= n + 2


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@settings(max_examples=200 if LONG else 12)
@given(seed=st.integers(0, 2**32))
def test_nothing_is_called_subsumed_that_the_union_does_not_take_in(
    schema: tg.Schema | None, seed: int
) -> None:
    """Texts, lists, families side by side and filters without a normal form."""
    rng = Random(seed)
    spaces = (
        ExactNegativeSpace(schema),
        ApproximateNegativeSpace(schema, k=4, dynamic=True),
        ApproximateNegativeSpace(schema, k=6, take_over=False, rebuild=False),
    )
    union = tg.Union(schema)
    held: dict[int, tuple[tg.Filter, int]] = {}
    for number in range(14):
        if held and rng.random() < 0.3:
            gone = rng.choice(list(held))
            for space in spaces:
                space.remove(gone)
            union.remove(held.pop(gone)[1])
        else:
            f = some_filter(rng, schema)
            for space in spaces:
                space.add(number, f)
            held[number] = f, union.add(f)
        asked = rng.choice([some_filter(rng, schema), *(f for f, _ in held.values())])
        for space in spaces:
            assert len(space) == len(held)
            if space.subsumes(asked):
                assert union.subsumes(asked), str(asked)
        if spaces[1].subsumes(asked) or spaces[2].subsumes(asked):
            assert spaces[0].subsumes(asked), str(asked)


def test_families_side_by_side_are_kept_apart() -> None:
    rng = Random(3)
    for _ in range(40 if LONG else 8):
        filters = [families.mixed_filter(rng) for _ in range(6)]
        space, union = ExactNegativeSpace(), tg.Union()
        for number, f in enumerate(filters):
            space.add(number, f)
            union.add(f)
        for f in (*filters, *(families.mixed_filter(rng) for _ in range(20))):
            assert union.subsumes(f) or not space.subsumes(f), str(f)


def test_what_a_text_leaves_open_is_not_taken_away() -> None:
    space = ExactNegativeSpace()
    space.add(1, tg.parse("s IS NULL OR s LIKE '%x'"))
    assert space.aside == 1
    assert space.subsumes(tg.parse("s IS NULL AND y = 1"))
    assert not space.subsumes(tg.parse("s = 'x'"))
    assert space.subsumes(tg.parse("s IS NULL OR s LIKE '%x'"))  # the very same
    space.add(2, tg.parse("s >= 'a' AND s < 'c'"))
    assert space.subsumes(tg.parse("s LIKE 'b%z'"))
    assert not space.subsumes(tg.parse("s LIKE '%z'"))
    space.remove(1)
    assert space.aside == 0
    assert not space.subsumes(tg.parse("s IS NULL"))
    assert not space.subsumes(tg.parse("s IS NULL OR s LIKE '%x'"))


@pytest.mark.parametrize("make", [ExactNegativeSpace, ApproximateNegativeSpace])
def test_true_false_and_what_has_no_normal_form(
    make: type[ExactNegativeSpace] | type[ApproximateNegativeSpace],
) -> None:
    space = make()
    hard = tg.parse(NO_NORMAL_FORM)
    assert space.subsumes(tg.parse("FALSE"))
    assert not space.subsumes(tg.parse("TRUE"))
    assert not space.subsumes(hard)
    space.add(1, hard)
    space.add(2, tg.parse("FALSE"))
    space.add(3, tg.parse("FALSE"))
    assert space.subsumes(hard)
    assert space.aside == 1
    assert not space.subsumes(tg.parse("x = 1 AND y = 0.25D"))
    space.remove(1)
    assert not space.subsumes(hard)
    space.add(1, tg.parse("TRUE"))
    assert (space.boxes, space.subsumes(hard), space.subsumes(tg.parse("z = 1"))) == (0, True, True)
    space.update(1, tg.parse("z IS NULL"))
    assert not space.subsumes(tg.parse("z = 1"))
    space.update(2, tg.parse("z IS NOT NULL"))
    assert space.subsumes(tg.parse("TRUE"))
    space.remove(2)
    assert not space.subsumes(tg.parse("z = 1"))


def test_long_lists_are_taken_away_as_far_as_there_may_be_parts() -> None:
    space = ExactNegativeSpace()
    members = range(0, 600, 2)
    space.add(1, tg.parse(f"x IN ({', '.join(map(str, members))})"))
    assert space.aside == 0
    assert space.subsumes(tg.parse("x IN (0, 298, 598)"))
    assert not space.subsumes(tg.parse("x IN (0, 299)"))
    space = ExactNegativeSpace()  # since parts in two dimensions would multiply
    longer = tg.parse(f"y IN ({', '.join(str(2 * i) for i in range(2 * MAX_PARTS))})")
    space.add(1, tg.parse("y = -1"))
    space.add(2, longer)
    assert space.aside == 1
    assert space.subsumes(longer)  # since it is the very same
    assert space.subsumes(tg.parse("y = 0"))
    assert not space.subsumes(tg.parse("y = 1"))
    space.remove(2)
    assert not space.subsumes(tg.parse("y = 0"))


def test_values_that_a_checked_schema_rules_out_leave_no_gap() -> None:
    schema = tg.Schema({"s": tg.Attribute("string", values=["a", "m", "z"])}, checked=True)
    space = ExactNegativeSpace(schema)
    space.add(1, tg.parse("s <> 'm'", schema))
    assert (space.boxes, space.volume()) == (2, 2)  # 'm', and NULL
    assert not space.subsumes(tg.parse("s = 'm'", schema))
    space.add(2, tg.parse("s > 'k'", schema))
    assert space.subsumes(tg.parse("s IS NOT NULL", schema))
    assert (space.boxes, space.volume()) == (1, 1)
    space.add(3, tg.parse("s IS NULL", schema))
    assert (space.boxes, space.volume(), space.subsumes(tg.parse("TRUE", schema))) == (0, 0, True)


def test_labels_that_move_are_followed() -> None:
    """Ever narrower ranges around one point use up the room between two labels."""
    schema = tg.Schema({"x": "double", "y": "double"})
    for make in (ExactNegativeSpace, ApproximateNegativeSpace):
        space, union = make(schema), tg.Union(schema)
        handles = []
        for i in range(150):
            inner = f"x > {1 - 2.0**-i!r}D AND x < {1 + 2.0 ** -(i + 1)!r}D AND y <> {i}D"
            f = tg.parse(inner, schema)
            space.add(i, f)
            handles.append(union.add(f))
        for i in range(0, 150, 2):
            space.remove(i)
            union.remove(handles[i])
        for text in ("x = 1D AND y = 1D", "x = 0.75D AND y = 3D", "x = 0.75D", "x = 1.5D AND y=2D"):
            asked = tg.parse(text, schema)
            assert union.subsumes(asked) or not space.subsumes(asked)
            assert make is ApproximateNegativeSpace or space.subsumes(asked) == union.subsumes(
                asked
            )


def test_numbers_and_schemas_are_checked_before_anything_changes() -> None:
    for make in (ExactNegativeSpace, ApproximateNegativeSpace):
        space = make(SCHEMAS["typed"])
        f = tg.parse("x = 1", SCHEMAS["typed"])
        space.add(1, f)
        with pytest.raises(ValueError, match="number 1"):
            space.add(1, f)
        with pytest.raises(SchemaError):
            space.add(2, tg.parse("x = 1"))
        with pytest.raises(SchemaError):
            space.update(1, tg.parse("y = 1"))
        with pytest.raises(SchemaError):
            space.subsumes(tg.parse("x = 1"))
        with pytest.raises(KeyError):
            space.remove(7)
        with pytest.raises(KeyError):
            space.update(7, f)
        assert len(space) == 1
        assert space.subsumes(f)
    with pytest.raises(TidegateError, match="k is 0 or more"):
        ApproximateNegativeSpace(k=-1)
    with pytest.raises(TidegateError, match="'luck'"):
        ApproximateNegativeSpace(choose="luck")  # type: ignore[arg-type]


def test_a_volume_needs_a_finite_grid() -> None:
    space = ExactNegativeSpace()
    space.add(1, tg.parse("x = 1"))
    assert space.volume({"x": [None, 0, 1, 1.0, "1", True]}) == 4
    assert space.volume({"x": [0, 1], "y": range(10)}) == 10
    for grid in (None, {"y": [1]}):
        with pytest.raises(MeasureError):
            space.volume(grid)
    huge = {f"a{i}": range(1000) for i in range(30)}
    assert space.volume({"x": [0, 1, 2], **huge}) == 2 * 1000**30
    wide = ExactNegativeSpace(schema := rectangle_schema(30, 10_000))
    wide.add(1, rectangle(schema, [0] * 30, [0] * 30))
    assert wide.volume() == 10_000**30 - 1
    for unbounded in ("bigint", "string", "double"):
        open_ended = ExactNegativeSpace(tg.Schema({"x": unbounded}, checked=True))
        with pytest.raises(MeasureError):
            open_ended.volume()
    with pytest.raises(MeasureError, match="not checked"):
        ExactNegativeSpace(SCHEMAS["typed"]).volume()


def test_churn_leaves_nothing_behind() -> None:
    rng = Random(5)
    for make in (ExactNegativeSpace, ApproximateNegativeSpace):
        space = make(tg.Schema({"x": "double", "y": "double"}))
        for i in range(1_500):
            low = rng.random()
            text = f"x > {low!r}D AND x < {low + 0.1!r}D AND y > {rng.random()!r}D"
            space.add(i, tg.parse(text, space.schema))
            if i >= 10:
                space.remove(i - 10)
        assert len(space) == 10
        assert space.nbytes < 1_000_000
        assert space.boxes < 2_000


@given(seed=st.integers(0, 2**32), k=st.integers(0, 20))
@settings(max_examples=100 if LONG else 10)
def test_the_spaces_of_all_cells_are_the_space(seed: int, k: int) -> None:
    """However the content space is cut, the parts of the negative space make up the whole."""
    rng = Random(seed)
    schema = SCHEMAS["checked"]
    assert schema is not None
    grid = {
        "x": range(10),
        "y": [None, *(i / 4 for i in range(37))],
        "s": [None, "", "a", "b", "c"],
    }
    filters = [some_filter(rng, schema) for _ in range(8)]
    cells = Cells.grown(filters, total=100, size=10, schema=schema)
    regions = [node.region for node in cells._nodes if node.cut is None and node.region]
    whole = ExactNegativeSpace(schema)
    parts = [ExactNegativeSpace(schema, within=region) for region in regions]
    spaces: list[Space] = [whole, *parts]
    rough = [ApproximateNegativeSpace(schema, within=region, k=k) for region in regions]
    spaces += rough
    for number, f in enumerate(filters):
        for space in spaces:
            space.add(number, f)
        assert sum(space.volume(grid) for space in parts) == whole.volume(grid)
        assert sum(space.volume(grid) for space in rough) >= whole.volume(grid)
    for number in range(len(filters)):
        for space in spaces:
            space.remove(number)
    every = 10 * 38 * 5
    assert whole.volume(grid) == every
    assert sum(space.volume(grid) for space in parts) == every
    assert sum(space.volume(grid) for space in rough) == every


# -- the approximate space


@pytest.mark.parametrize("name", ["plain", "texts", "moments, checked"])
@settings(max_examples=200 if LONG else 8)
@given(seed=st.integers(0, 2**32), removals=REMOVALS, k=st.integers(0, 12))
def test_the_approximate_space_is_never_smaller(
    name: str, seed: int, removals: float, k: int
) -> None:
    follow_world(
        lambda schema: ApproximateNegativeSpace(schema, k=k), WORLDS[name](), seed, 8, removals
    )


@settings(max_examples=300 if LONG else 40)
@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from(((1, 12), (2, 7), (3, 5))),
    removals=REMOVALS,
    k=st.sampled_from((0, 1, 2, 5, 50)),
    dynamic=st.booleans(),
    choose=st.sampled_from(CHOICES),
    tidy=st.booleans(),
    by_the_paper=st.booleans(),
)
def test_however_boxes_are_chosen_none_is_lost(
    seed: int,
    shape: tuple[int, int],
    removals: float,
    k: int,
    dynamic: bool,
    choose: Choice,
    tidy: bool,
    by_the_paper: bool,
) -> None:
    def make(schema: tg.Schema | None) -> ApproximateNegativeSpace:
        return ApproximateNegativeSpace(
            schema,
            k=k,
            dynamic=dynamic,
            choose=choose,
            tidy=tidy,
            take_over=not by_the_paper,
            rebuild=not by_the_paper,
        )

    follow_rectangles(make, *shape, seed, 12, removals)


@pytest.mark.parametrize("choose", CHOICES)
def test_a_filter_makes_at_most_k_boxes_more_and_a_dynamic_budget_is_kept(choose: Choice) -> None:
    rng = Random(11)
    schema = rectangle_schema(3, 30)
    for k in (0, 5, 10):
        constant = ApproximateNegativeSpace(schema, k=k, choose=choose)
        dynamic = ApproximateNegativeSpace(schema, k=k, choose=choose, dynamic=True)
        more = 0
        for number in range(60):
            ends = [sorted((rng.randrange(30), rng.randrange(30))) for _ in range(3)]
            f = rectangle(schema, [low for low, _ in ends], [high for _, high in ends])
            before = constant.boxes
            constant.add(number, f)
            assert constant.boxes <= before + k
            more = max(more, constant.boxes - before)
            dynamic.add(number, f)
            assert dynamic.boxes <= max(1, k * (number + 1))
        assert more == k


def test_what_costs_nothing_is_always_done() -> None:
    schema = rectangle_schema(2, 100)
    space = ApproximateNegativeSpace(schema, k=0)
    space.add(1, rectangle(schema, [20, 0], [40, 99]))  # would make one box more
    assert (space.boxes, space.volume()) == (1, 100**2)
    space.add(2, rectangle(schema, [0, 0], [49, 99]))  # leaves one
    assert (space.boxes, space.volume()) == (1, 50 * 100)
    assert space.subsumes(rectangle(schema, [20, 0], [40, 99]))
    space.add(3, rectangle(schema, [50, 0], [99, 99]))  # leaves none
    assert space.boxes == 0
    space.remove(1)
    assert space.boxes == 0
    space.remove(3)
    assert space.volume() == 50 * 100


def test_the_most_worth_for_its_cost_is_cut_first() -> None:
    """Two boxes, of which a filter takes much at a high cost, and less at a low cost."""
    schema = rectangle_schema(2, 100)
    wall = rectangle(schema, [50, 0], [50, 99])
    inside = rectangle(schema, [10, 10], [59, 89])
    # 40 x 80 points and three faces on the left: 2 boxes more; 9 x 80 and three on the right
    left = {choose: ApproximateNegativeSpace(schema, k=2, choose=choose) for choose in CHOICES}
    for space in left.values():
        space.add(1, wall)
        space.add(2, inside)
        assert space.boxes == 4
    assert left["ratio"].volume() == left["benefit"].volume() == 99 * 100 - 40 * 80


def test_a_piece_that_another_filter_covers_goes_over_to_it() -> None:
    schema = rectangle_schema(1, 100)
    one, other = rectangle(schema, [10], [20]), rectangle(schema, [5], [30])
    for take_over, left in ((True, 100 - 26), (False, 100 - 15)):
        space = ApproximateNegativeSpace(schema, take_over=take_over)
        space.add(1, one)
        space.add(2, other)
        assert space.volume() == 100 - 26
        space.remove(1)
        assert space.volume() == left
        space.rebuild()
        assert space.volume() == 100 - 26
        space.remove(2)
        assert space.volume() == 100


class Brokers(RuleBasedStateMachine):
    """An approximate and an exact space side by side, under subscriptions and cancellations."""

    @initialize(k=st.integers(0, 4), dynamic=st.booleans(), take_over=st.booleans())
    def start(self, k: int, dynamic: bool, take_over: bool) -> None:
        self.size = 8
        self.schema = rectangle_schema(2, self.size)
        approximate = ApproximateNegativeSpace(
            self.schema, k=k, dynamic=dynamic, take_over=take_over, rebuild=False
        )
        self.approximate = approximate
        self.all_filters = Forwarding(approximate), Forwarding(ExactNegativeSpace(self.schema))
        self.held: dict[int, tuple[tg.Filter, Grid]] = {}
        self.next = 0

    def drawn(self, ends: list[int]) -> tuple[tg.Filter, tuple[slice, slice]]:
        (a, b), (c, d) = sorted(ends[:2]), sorted(ends[2:])
        return rectangle(self.schema, [a, c], [b, d]), (slice(a, b + 1), slice(c, d + 1))

    @rule(ends=st.lists(st.integers(0, 7), min_size=4, max_size=4))
    def subscribe(self, ends: list[int]) -> None:
        f, inside = self.drawn(ends)
        covered = self.covered(set(self.held))
        events = np.zeros((self.size, self.size), np.bool_)
        events[inside] = True
        for forwarding in self.all_filters:
            active = self.covered(set(forwarding.active))
            forwarded = forwarding.subscribe(self.next, f)
            assert forwarded or active[inside].all()
        assert forwarded == (not covered[inside].all())  # of the exact one
        self.held[self.next] = f, events
        self.next += 1

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 10**6))
    def unsubscribe(self, which: int) -> None:
        number = sorted(self.held)[which % len(self.held)]
        del self.held[number]
        for forwarding in self.all_filters:
            promoted = forwarding.unsubscribe(number)
            assert set(promoted) <= set(forwarding.active)

    @rule()
    def rebuild(self) -> None:
        self.approximate.rebuild()  # the invariant looks at what has become of it

    @rule(ends=st.lists(st.integers(0, 7), min_size=4, max_size=4))
    def ask(self, ends: list[int]) -> None:
        f, inside = self.drawn(ends)
        if self.approximate.subsumes(f):
            assert self.covered(set(self.all_filters[0].active))[inside].all()

    @invariant()
    def active_ones_cover_all(self) -> None:
        if not hasattr(self, "held"):
            return
        every = self.covered(set(self.held))
        for forwarding in self.all_filters:
            assert set(forwarding.active) | set(forwarding.passive) == set(self.held)
            assert np.array_equal(self.covered(set(forwarding.active)), every)
        grid = {name: range(self.size) for name in self.schema}
        check_partition(self.approximate, grid, self.size**2)
        assert self.approximate.volume() >= (~every).sum()

    def covered(self, numbers: set[int]) -> Grid:
        grid = np.zeros((self.size, self.size), np.bool_)
        for number in numbers:
            grid |= self.held[number][1]
        return grid


TestBrokers = Brokers.TestCase
TestBrokers.settings = settings(
    max_examples=300 if LONG else 25,
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow],
)


# -- the memory limit


@pytest.mark.parametrize("limit", [0, 4_000, 5_000, 6_000])
def test_at_the_limit_the_exact_space_goes_on_as_an_approximate_one(limit: int) -> None:
    met = []

    def after(space: ExactNegativeSpace | ApproximateNegativeSpace) -> None:
        assert isinstance(space, ExactNegativeSpace)
        met.append(space.exact)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for seed in range(3):
            follow_rectangles(
                lambda schema: ExactNegativeSpace(schema, limit=limit), 3, 6, seed, 25, 0.2, after
            )
    assert [each.category for each in said] == [LimitWarning] * 3
    assert "goes on as an approximate one" in str(said[0].message)
    assert met[-1] is False


@pytest.mark.parametrize("limit", [0, 20_000, 60_000])
def test_an_approximate_space_keeps_within_its_limit(limit: int) -> None:
    rng = Random(2)
    schema = rectangle_schema(3, 40)
    space = ApproximateNegativeSpace(schema, limit=limit, k=1_000)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for number in range(150):
            ends = [sorted((rng.randrange(40), rng.randrange(40))) for _ in range(3)]
            f = rectangle(schema, [low for low, _ in ends], [high for _, high in ends])
            space.add(number, f)
    assert [each.category for each in said] == [LimitWarning]
    assert len(space) == 150
    empty = ApproximateNegativeSpace(schema)
    empty.add(1, f)
    assert space.nbytes <= max(limit, empty.nbytes)
    for number in range(150):
        space.remove(number)
    assert space.volume() == 40**3


def test_a_limit_met_while_giving_back_loses_nothing() -> None:
    """Removing a filter leaves more boxes than there is memory for."""
    schema = rectangle_schema(3, 50)
    rng = Random(4)
    space = ExactNegativeSpace(schema, limit=150_000)
    cover = rectangle(schema, [0, 0, 0], [49, 49, 49])
    space.add(0, cover)
    small = {}
    for number in range(1, 400):
        low = [rng.randrange(47) for _ in range(3)]
        small[number] = rectangle(schema, low, [at + 2 for at in low])
        space.add(number, small[number])
    assert space.boxes == 0
    with pytest.warns(LimitWarning):
        space.remove(0)
    assert not space.exact
    assert space.volume() >= 50**3 - 399 * 27
    assert not space.subsumes(cover)


def test_filters_on_many_attributes_meet_the_limit_and_not_the_end_of_memory() -> None:
    """Each of them doubles the boxes: 40 attributes would leave a million million."""
    space = ExactNegativeSpace(limit=300_000)
    filters = [tg.parse(f"a{i} = 1") for i in range(40)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for number, f in enumerate(filters):
            space.add(number, f)
    assert [each.category for each in said] == [LimitWarning]
    assert space.aside < 40
    assert space.nbytes <= 300_000
    both = tg.parse("a0 = 1 AND a39 = 1")
    assert space.subsumes(both)
    for number in range(40):
        space.remove(number)
    assert not space.subsumes(both)


# -- the same in every process


@pytest.mark.slow
def test_the_same_history_has_the_same_boxes_in_every_process() -> None:
    """Sets and dictionaries of strings stand in another order in every process."""
    program = """
from random import Random
import tidegate as tg
from tests.engine.boxes.box_oracle import some_filter
from tidegate.papers.negative import ApproximateNegativeSpace, ExactNegativeSpace
for make in (ExactNegativeSpace, ApproximateNegativeSpace):
    rng, space = Random(1), make()
    for i in range(25):
        space.add(i, some_filter(rng, None))
        if i % 3 == 2:
            space.remove(i - 1)
        print(space.boxes, space.aside)
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={"PYTHONPATH": "src:.", "PYTHONHASHSEED": seed, "NUMBA_DISABLE_JIT": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1

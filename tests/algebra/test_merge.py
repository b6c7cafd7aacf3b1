"""Mergers lose no event, are perfect where one box can be, and cost what they say."""

import random
from fractions import Fraction

import pytest

from tests.algebra.weighted import (
    SCALE,
    SETTINGS,
    WORLDS,
    Events,
    Weighted,
    hull,
    passing,
    related,
    together,
)
from tidegate import Attribute, Filter, MeasureError, Schema, SchemaError, parse
from tidegate.algebra import groups
from tidegate.algebra.distribution import Uniform
from tidegate.algebra.express import constants
from tidegate.algebra.groups import merge_all
from tidegate.algebra.histogram import Histogram
from tidegate.algebra.merge import (
    Merger,
    best_merger,
    imperfect_candidates,
    imperfect_mergers,
    perfect_merger,
)
from tidegate.filters.values import OTHER

PRICES = Schema(
    {
        "price": Attribute("bigint", low=101, high=200),
        "volume": Attribute("bigint", low=1, high=10),
        "symbol": Attribute("string", values=("IBM", "SUN", "HP", "DELL")),
    },
    checked=True,
)
UNIFORM = Uniform(PRICES)


def prices(*texts: str) -> list[Filter]:
    return [parse(text, PRICES) for text in texts]


# Perfect mergers


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (("price < 100", "price < 150"), "price < 150"),
        (("price <= 150", "price > 150 AND price <= 170"), "price <= 170"),
        (("a = 1 AND b = 2", "a = 1 AND b = 3"), "a = 1 AND b IN (2, 3)"),
        (("a = 1 AND b = 2 AND c > 0", "b = 2 AND a = 1"), "b = 2 AND a = 1"),
        (("a < 5 OR b = 2", "a = 1 AND c = 7"), "a < 5 OR b = 2"),
        (("a IS NULL AND b = 1", "a IS NOT NULL AND b = 1"), "b = 1"),
        (("a IS NULL", "a IS NOT NULL"), "TRUE"),
        (("s LIKE 'ab%' AND b = 1", "s = 'abc' AND b = 1"), "s LIKE 'ab%' AND b = 1"),
        (("FALSE", "a = 1"), "a = 1"),
        # Four boxes around a fifth make one, though no two of them do.
        (
            (
                "x >= 0 AND x < 2 AND y >= 0 AND y < 1",
                "x >= 2 AND x < 3 AND y >= 0 AND y < 2",
                "x >= 1 AND x < 3 AND y >= 2 AND y < 3",
                "x >= 0 AND x < 1 AND y >= 1 AND y < 3",
                "x >= 1 AND x < 2 AND y >= 1 AND y < 2",
            ),
            "x >= 0 AND x < 3 AND y >= 0 AND y < 3",
        ),
    ],
)
def test_a_perfect_merger(texts: tuple[str, ...], merged: str) -> None:
    assert str(perfect_merger([parse(text) for text in texts])) == merged


@pytest.mark.parametrize(
    "texts",
    [
        ("a = 1 AND b < 2", "a = 2 AND b < 3"),
        ("a = 1", "b = 2"),
        ("s LIKE '%a' AND b = 1", "s LIKE '%b' AND b = 1"),
    ],
)
def test_where_one_box_cannot_say_it_there_is_no_perfect_merger(texts: tuple[str, ...]) -> None:
    assert perfect_merger([parse(text) for text in texts]) is None


def check_perfect(
    members: list[Filter], grids: list[Events], merged: Filter | None, new: Events
) -> str:
    """A merger lets through what its members do, and is found wherever one box can say that."""
    union = together(grids)
    about = " | ".join(map(str, members))
    if merged is None:
        assert union.any(), f"not found: {about}"
        assert not (hull(union) == union).all(), f"not found: {about}"
        return "none"
    assert (new == union).all(), f"{about} -> {merged}"
    return "member" if merged in members else "new"


@pytest.mark.parametrize("name", SETTINGS)
def test_perfect_mergers_are_perfect_and_found_wherever_one_box_is_enough(name: str) -> None:
    place = SETTINGS[name]()
    values = place.world.values
    rng = random.Random(f"perfect {name}")
    found = []
    for _ in range(120 * SCALE):
        members = related(rng, place)
        merged = perfect_merger(members)
        grids = [passing(f, values) for f in members]
        new = grids[0] if merged is None else passing(merged, values)
        found.append(check_perfect(members, grids, merged, new))
        if merged is not None:
            assert parse(str(merged), place.world.schema) == merged
    assert min(found.count(kind) for kind in ("none", "member", "new")) >= 10, found


# Imperfect mergers


def test_the_paper_s_example() -> None:
    members = prices("price > 150", "price = 145", "price = 147", "price = 148")
    [merger] = imperfect_mergers(members, UNIFORM)
    assert str(merger.filter) == "price >= 145"
    assert merger.degree == pytest.approx(3 / 56)  # 146, 149 and 150 of 145 to 200
    assert merger.probability == pytest.approx(0.56)
    assert merger.imt == pytest.approx(0.03)


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (("price < 120", "price > 180"), {"price IS NOT NULL"}),
        (("price < 120", "price = 150"), {"price <= 150"}),
        (("price > 180", "price = 150"), {"price >= 150"}),
        (
            ("symbol = 'IBM' AND price > 180", "symbol = 'IBM' AND price = 150"),
            {"symbol = 'IBM' AND price >= 150", "symbol = 'IBM'"},
        ),
        (
            (
                "symbol = 'IBM' AND price > 180 AND volume = 2",
                "price = 9 AND symbol = 'IBM' AND volume = 3",
            ),
            {"symbol = 'IBM'"},
        ),
        (
            (
                "price > 120 AND price < 130 AND volume = 2",
                "price > 120 AND price < 140 AND volume = 4",
            ),
            {"price > 120"},
        ),
        (("price > 180 AND volume = 2", "price = 150 AND symbol = 'IBM'"), set()),
        (("price IS NULL", "price > 150"), set()),
    ],
)
def test_the_rules(texts: tuple[str, ...], merged: set[str]) -> None:
    assert {str(m.filter) for m in imperfect_mergers(prices(*texts), UNIFORM)} == merged


def test_advertisements_may_make_an_imperfect_merger_free() -> None:
    members = prices("price > 150", "price = 130", "price = 120")
    [plain] = imperfect_mergers(members, UNIFORM)
    [aware] = imperfect_mergers(members, UNIFORM, prices("price > 150"))
    assert str(plain.filter) == str(aware.filter) == "price >= 120"
    assert plain.degree == pytest.approx(29 / 81)
    assert (aware.degree, aware.imt) == (0.0, 0.0)
    assert aware.probability == plain.probability
    [nothing] = imperfect_mergers(members, UNIFORM, prices("price < 110"))
    assert nothing.degree == 0.0  # nothing of the merger is advertised: 0/0
    [none] = imperfect_mergers(members, UNIFORM, [])
    assert none.degree == 0.0
    assert best_merger(members, UNIFORM, 0.0, prices("price > 150"), concise=True) == aware


def test_without_a_distribution_imperfect_merging_is_refused() -> None:
    members = prices("symbol = 'IBM' AND price > 150", "symbol = 'SUN' AND price = 145")
    with pytest.raises(MeasureError):
        best_merger(members, None, 0.5)
    with pytest.raises(MeasureError):
        merge_all(members, None, 0.5)
    assert best_merger(members) is None
    assert merge_all(members) == members
    loose = Schema({"a": "bigint", "b": Attribute("bigint", low=0, high=9)})
    unmeasured = [parse(text, loose) for text in ("a > 1 AND b = 1", "a > 1 AND b > 3")]
    with pytest.raises(MeasureError):
        imperfect_mergers(unmeasured, Uniform(loose))
    assert merge_all(unmeasured, Uniform(loose), 1.0, concise=True) == unmeasured


def test_a_field_beside_its_struct_is_merged_only_perfectly() -> None:
    members = [parse("t IS NOT NULL AND t.p > 5"), parse("t IS NOT NULL AND t.p = 3")]
    weights = Histogram({"t": [(None, 1), (OTHER, 1)], "t.p": [(value, 1) for value in range(9)]})
    with pytest.raises(MeasureError, match="not independent"):
        imperfect_mergers(members, weights)
    perfect = best_merger(members, weights, 1.0)
    assert perfect is not None
    assert (str(perfect.filter), perfect.degree, perfect.probability) == (
        "t IS NOT NULL AND (t.p > 5 OR t.p = 3)",
        0.0,
        None,
    )


def test_filters_of_different_schemas_are_not_merged() -> None:
    with pytest.raises(SchemaError):
        perfect_merger([parse("price > 1"), parse("price > 1", PRICES)])
    with pytest.raises(SchemaError):
        merge_all([parse("price > 1"), parse("price > 1", PRICES)])
    with pytest.raises(ValueError, match="nothing to merge"):
        perfect_merger([])


def test_the_best_merger_is_perfect_if_it_can_be() -> None:
    members = prices("symbol = 'IBM' AND price > 150", "symbol = 'IBM' AND price = 145")
    perfect = best_merger(members, UNIFORM, 1.0)
    assert perfect is not None
    assert (perfect.degree, perfect.imt) == (0.0, 0.0)
    assert perfect.probability == pytest.approx(0.25 * 0.51)
    concise = best_merger(members, UNIFORM, 1.0, concise=True)
    assert concise is not None
    assert str(concise.filter) == "symbol = 'IBM' AND price >= 145"
    assert concise.imt == pytest.approx(0.25 * 0.05)
    assert best_merger(members, UNIFORM, 0.012, concise=True) is None


def check_merger(world: Weighted, merger: Merger, advertisements: list[Filter] | None) -> None:
    """A merger lets through all that its members do, and costs what counting its events says."""
    mine = world.passing(merger.filter)
    union = together([world.passing(f) for f in merger.members])
    about = f"{' | '.join(map(str, merger.members))} -> {merger.filter}"
    assert not (union & ~mine).any(), f"loses an event: {about}"
    announced = mine | True
    if advertisements is not None:
        announced = together([~announced, *(world.passing(f) for f in advertisements)])
    extra, base = world.weight(mine & ~union & announced), world.weight(mine & announced)
    degree = Fraction(extra, base) if extra else Fraction(0)
    assert merger.degree == pytest.approx(float(degree), abs=1e-12), about
    assert merger.probability == pytest.approx(float(world.share(mine)), abs=1e-12), about
    assert merger.imt == pytest.approx(float(world.share(mine) * degree), abs=1e-12), about


@pytest.mark.parametrize("name", WORLDS)
def test_imperfect_mergers_cost_what_they_say(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"imperfect {name}")
    degrees = []
    for turn in range(200 * SCALE):
        members = world.relatives(rng)
        known = None
        if turn % 2:
            known = [parse(world.tree(rng, 2), world.schema) for _ in range(rng.randrange(4))]
        for merger in imperfect_mergers(members, world.distribution, known):
            check_merger(world, merger, known)
            degrees.append(merger.degree)
    assert sum(0 < degree < 1 for degree in degrees) > 40
    assert 0.0 in degrees


@pytest.mark.parametrize("name", SETTINGS)
def test_the_rules_lose_no_event_of_any_family(name: str) -> None:
    place = SETTINGS[name]()
    values = place.world.values
    rng = random.Random(f"rules {name}")
    wider = 0
    for _ in range(100 * SCALE):
        members = related(rng, place)
        union = together([passing(f, values) for f in members])
        for candidate in imperfect_candidates(members):
            mine = passing(candidate, values)
            assert not (union & ~mine).any(), f"{' | '.join(map(str, members))} -> {candidate}"
            wider += bool((mine & ~union).any())
    assert wider >= 3


@pytest.mark.parametrize("name", WORLDS)
def test_the_best_merger_keeps_to_its_threshold(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"best {name}")
    found = []
    for turn in range(200 * SCALE):
        members = world.relatives(rng)
        threshold = rng.choice((0.0, 0.05, 0.1, 0.3))
        concise = turn % 4 > 0
        best = best_merger(members, world.distribution, threshold, concise=concise)
        every = imperfect_mergers(members, world.distribution)
        longest = max(constants(f.tree) for f in members)
        if best is None:
            within = [m for m in every if not concise or constants(m.filter.tree) <= longest]
            assert all(m.imt > threshold for m in within)
        else:
            check_merger(world, best, None)
            assert best.imt <= threshold
            assert not concise or constants(best.filter.tree) <= longest
        found.append("none" if best is None else "perfect" if best.degree == 0 else "imperfect")
    assert min(found.count(kind) for kind in ("none", "perfect", "imperfect")) >= 5, found


# Many filters at once


def test_filters_are_merged_again_and_again() -> None:
    squares = [
        parse(f"x >= {x} AND x < {x + 1} AND y >= {y} AND y < {y + 1}")
        for x in range(4)
        for y in range(4)
    ]
    [merger] = merge_all(squares, concise=True)
    assert isinstance(merger, Merger)
    assert str(merger.filter) == "x >= 0 AND x < 4 AND y >= 0 AND y < 4"
    assert set(merger.members) == set(squares)
    assert (merger.degree, merger.probability, merger.imt) == (0.0, None, 0.0)


def test_what_a_new_merger_covers_is_dropped_into_it() -> None:
    inside = parse("x = 2 AND y = 7 AND z = 1")
    several = parse("x = 1 AND (y = 2 OR z = 1)")
    other = parse("w = 1")
    members = [parse("x <= 1"), inside, several, other, parse("x BETWEEN 1 AND 5")]
    found = merge_all(members)
    assert [str(each.filter if isinstance(each, Merger) else each) for each in found] == [
        "x <= 5",
        "w = 1",
    ]
    assert isinstance(found[0], Merger)
    assert set(found[0].members) == {members[0], inside, several, members[4]}


def test_imperfect_mergers_do_not_creep() -> None:
    """Each merger is weighed against the filters given, not against the mergers on the way."""
    lows = range(110, 200, 10)
    members = prices(*(f"symbol = 'IBM' AND price BETWEEN {p} AND {p + 4}" for p in lows))
    sizes = []
    for threshold in (0.001, 0.0125, 0.03, 0.2):
        found = merge_all(members, UNIFORM, threshold, concise=True)
        mergers = [each for each in found if isinstance(each, Merger)]
        assert all(merger.imt <= threshold for merger in mergers)
        assert sum(len(m.members) for m in mergers) + len(found) - len(mergers) == len(members)
        sizes.append(len(found))
    assert sizes == [9, 5, 3, 1]


@pytest.mark.parametrize("most", [3, 100_000])
def test_what_was_tried_before_makes_no_difference(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "_MOST_TRIED", most)
    rng = random.Random(3)
    ranges = [(low, low + size) for low in range(110, 180, 5) for size in (4, 6)]
    pool = prices(*(f"symbol = 'IBM' AND price BETWEEN {a} AND {b}" for a, b in ranges))
    tried = groups.Tried()
    for _ in range(40):
        some = rng.sample(pool, rng.randrange(1, 12))
        threshold = rng.choice([0.0, 0.01, 0.05])
        offers = rng.choice([None, prices("price < 150"), prices("price > 120", "price < 115")])
        concise = rng.random() < 0.5
        afresh = merge_all(some, UNIFORM, threshold, offers, concise=concise)
        assert merge_all(some, UNIFORM, threshold, offers, concise=concise, tried=tried) == afresh
    assert tried.found


def test_a_perfect_merger_of_imperfect_ones_is_imperfect() -> None:
    members = prices(
        *(
            f"price BETWEEN {low} AND {low + 4} AND volume {side} 5"
            for side in ("<=", ">")
            for low in (110, 120)
        )
    )
    halves = merge_all(members, UNIFORM, 0.03, concise=True)
    assert [round(half.imt, 9) for half in halves if isinstance(half, Merger)] == [0.025, 0.025]
    [whole] = merge_all(members, UNIFORM, 0.06, concise=True)
    assert isinstance(whole, Merger)
    assert str(whole.filter) == "price >= 110 AND price <= 124"  # volume is never absent here
    assert (whole.degree, whole.imt) == pytest.approx((1 / 3, 0.05))
    assert set(whole.members) == set(members)


@pytest.mark.parametrize("name", WORLDS)
def test_merging_many_loses_nothing_and_costs_what_it_says(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"all {name}")
    sizes = []
    for turn in range(12 * SCALE):
        given = [f for _ in range(4) for f in world.relatives(rng)]
        given.append(parse(world.tree(rng), world.schema))
        threshold = rng.choice((0.0, 0.02, 0.1))
        known = [parse(world.tree(rng, 2), world.schema)] if turn % 3 == 0 else None
        found = merge_all(given, world.distribution, threshold, known, concise=turn % 2 == 0)
        placed: list[Filter] = []
        for each in found:
            if isinstance(each, Merger):
                assert each.imt <= threshold
                check_merger(world, each, known)
                placed += each.members
            else:
                placed.append(each)
        assert sorted(map(id, placed)) == sorted(map(id, given))
        sizes.append((len(given), len(found)))
    assert sum(after for _, after in sizes) < 0.8 * sum(before for before, _ in sizes)

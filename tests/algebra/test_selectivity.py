"""Estimates are the paper's formulas, and bound what counting the events says."""

import random
from fractions import Fraction

import pytest

from tests.algebra.enumeration import NAMES
from tests.algebra.weighted import SCALE, WORLDS
from tidegate import Attribute, MeasureError, Schema, parse
from tidegate.algebra.distribution import Uniform
from tidegate.algebra.selectivity import Selectivity, degradation, estimate
from tidegate.filters.expression import And, Node, Predicate, Truth

SHARES = {"a = 1": 0.75, "b = 2": 0.5, "c = 3": 0.25, "d = 4": 0.9}


def components(of: Selectivity) -> tuple[float, float, float]:
    return of.minimum, of.average, of.maximum


@pytest.mark.parametrize(
    ("text", "minimum", "average", "maximum"),
    [
        ("a = 1", 0.75, 0.75, 0.75),
        ("a = 1 AND b = 2", 0.25, 0.375, 0.5),
        ("b = 2 AND c = 3", 0.0, 0.125, 0.25),  # 0.5 + 0.25 - 1 is adjusted to 0
        ("a = 1 OR b = 2", 0.75, 0.875, 1.0),  # 0.75 + 0.5 is corrected to 1
        ("b = 2 OR c = 3", 0.5, 0.625, 0.75),
        ("a = 1 AND b = 2 AND d = 4", 0.15, 0.3375, 0.5),
        ("a = 1 AND (b = 2 OR c = 3)", 0.25, 0.46875, 0.75),
        ("c = 3 OR a = 1 AND b = 2", 0.25, 0.53125, 0.75),
        ("TRUE", 1.0, 1.0, 1.0),
        ("FALSE", 0.0, 0.0, 0.0),
    ],
)
def test_the_paper_s_formulas(text: str, minimum: float, average: float, maximum: float) -> None:
    found = estimate(parse(text), SHARES)
    assert components(found) == pytest.approx((minimum, average, maximum))


def test_the_minimum_is_adjusted_after_all_parts_and_not_between_them() -> None:
    # 0.25 + 0.5 - 1 is below 0, and 0.75 more does not bring it back above 0.25 + 0.5 + 0.75 - 2.
    shares = {"a = 1": 0.25, "b = 2": 0.5, "c = 3": 0.75}
    assert estimate(parse("a = 1 AND b = 2 AND c = 3"), shares).minimum == 0.0
    assert estimate(parse("a = 1 OR b = 2 OR c = 3"), shares).maximum == 1.0


def test_selectivities_come_from_a_function_a_mapping_or_a_distribution() -> None:
    schema = Schema({"n": Attribute("int", low=1, high=4), "free": "string"})
    f = parse("n = 1 OR n > 3", schema)
    expected = (0.25, 0.4375, 0.5)
    assert components(estimate(f, Uniform(schema))) == expected
    assert components(estimate(f, lambda predicate: 0.25)) == expected
    assert components(estimate(f.tree, {"n = 1": 0.25, "n > 3": 0.25})) == expected
    with pytest.raises(MeasureError, match="n > 3"):
        estimate(f, {"n = 1": 0.25})
    with pytest.raises(MeasureError, match="free"):
        estimate(parse("free = 'x'", schema), Uniform(schema))
    with pytest.raises(MeasureError, match=r"1\.5"):
        estimate(f, lambda predicate: 1.5)


def test_degradation_is_the_largest_of_the_three_differences() -> None:
    before = Selectivity(0.1, 0.25, 0.5)
    assert degradation(before, before) == 0.0
    assert degradation(before, Selectivity(0.2, 0.5, 0.625)) == pytest.approx(0.25)
    assert degradation(before, Selectivity(0.4, 0.5, 0.625)) == pytest.approx(0.3)
    assert degradation(before, Selectivity(0.1, 0.25, 1.0)) == pytest.approx(0.5)


@pytest.mark.parametrize("name", WORLDS)
def test_the_truth_lies_between_minimum_and_maximum(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"selectivity {name}")
    open_ranges = 0
    for _ in range(150 * SCALE):
        f = parse(world.tree(rng), world.schema)
        found = estimate(f, world.distribution)
        truth = float(world.share(world.passing(f)))
        assert found.minimum - 1e-12 <= truth <= found.maximum + 1e-12, str(f)
        assert found.minimum - 1e-12 <= found.average <= found.maximum + 1e-12, str(f)
        open_ranges += found.minimum < truth < found.maximum
    assert open_ranges > 30


@pytest.mark.parametrize("name", WORLDS)
def test_the_average_is_the_truth_where_predicates_are_independent(name: str) -> None:
    world = WORLDS[name]()
    rng = random.Random(f"average {name}")
    for _ in range(60 * SCALE):
        x, y, z = (world.predicate(rng, each) for each in rng.sample(NAMES, 3))
        first, second = rng.choices(("AND", "OR"), k=2)
        f = parse(f"({x} {first} {y}) {second} {z}", world.schema)
        truth = float(world.share(world.passing(f)))
        assert estimate(f, world.distribution).average == pytest.approx(truth, abs=1e-12), str(f)


def exact(node: Node, shares: dict[str, Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """The same formulas, written the other way round: an OR is what is left of an AND of misses."""
    if isinstance(node, Truth):
        return (Fraction(node.value),) * 3
    if isinstance(node, Predicate):
        return (shares[str(node)],) * 3
    parts = [exact(part, shares) for part in node.parts]
    average = Fraction(1)
    if isinstance(node, And):
        for part in parts:
            average *= part[1]
        least = 1 - sum((1 - part[0] for part in parts), Fraction(0))
        return max(Fraction(0), least), average, min(part[2] for part in parts)
    for part in parts:
        average *= 1 - part[1]
    most = sum((part[2] for part in parts), Fraction(0))
    return max(part[0] for part in parts), 1 - average, min(Fraction(1), most)


def test_estimates_of_random_trees_equal_the_formulas_in_fractions() -> None:
    world = WORLDS["uniform"]()
    rng = random.Random("fractions")
    for _ in range(200 * SCALE):
        f = parse(world.tree(rng), world.schema)
        shares: dict[str, Fraction] = {}

        def share(predicate: Predicate, shares: dict[str, Fraction] = shares) -> float:
            return float(shares.setdefault(str(predicate), Fraction(rng.randrange(65), 64)))

        found = estimate(f, share)
        wanted = [float(each) for each in exact(f.tree, shares)]
        assert components(found) == pytest.approx(wanted, abs=1e-12), str(f)

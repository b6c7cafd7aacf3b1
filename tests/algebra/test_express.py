"""What `express` writes allows exactly the set it was given."""

import random
from collections.abc import Sequence

import pytest

from tests.algebra import worlds
from tests.algebra.enumeration import NAMES
from tests.algebra.weighted import SCALE, SETTINGS
from tidegate import Attribute, Schema, parse
from tidegate.algebra.express import constants, enclosing, express, union_of
from tidegate.filters.evaluate import matches
from tidegate.filters.expression import Or, Predicate, Truth, predicates
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.valueset import NOTHING, ValueSet

INTEGER = Schema({"x": "bigint"})
LIMITED = Schema({"x": Attribute("bigint", low=0, high=9, nullable=False)}, checked=True)


def leaves(text: str, schema: Schema | None = None) -> list[Predicate]:
    return list(predicates(parse(text, schema).tree))


def united(given: Sequence[Predicate], schema: Schema | None = None) -> ValueSet:
    whole = union_of([allowed(predicate, schema) for predicate in given])
    assert whole is not None
    return whole


@pytest.mark.parametrize(
    ("given", "schema", "written"),
    [
        ("x < 5 OR x = 5", None, "x <= 5"),
        ("x > 5 OR x = 5", None, "x >= 5"),
        ("x < 5 OR x > 5", None, "x != 5"),
        ("x = 1 OR x = 2", None, "x IN (1, 2)"),
        ("x = 1 OR x IN (2, 3)", None, "x IN (1, 2, 3)"),
        ("x = 1 OR x IN (2, 3)", INTEGER, "x >= 1 AND x <= 3"),
        ("x = 1 OR x = 3", INTEGER, "x IN (1, 3)"),
        ("x > 150 OR x = 145", None, "x > 150 OR x = 145"),
        ("x < 5 OR x IS NULL", None, "x < 5 OR x IS NULL"),
        ("x <=> NULL OR x IS NOT NULL", None, "TRUE"),
        ("x < 3 OR x >= 3", None, "x < 3 OR x >= 3"),  # no other family may pass
        ("x < 3 OR x >= 3", LIMITED, "TRUE"),
        ("x < 3 OR x >= 3", INTEGER, "x < 3 OR x >= 3"),  # events are not checked
        ("x NOT IN (1, 2) OR x = 1", INTEGER, "x != 2"),
        ("x < 0 OR x = 0.5", INTEGER, "x < 0"),
        ("x = 'a' OR x > 'a'", None, "x >= 'a'"),
        (
            "startswith(x, 'a') OR startswith(x, 'b')",
            None,
            "startswith(x, 'a') OR startswith(x, 'b')",
        ),
        ("x = 'abc' OR startswith(x, 'a')", None, "startswith(x, 'a')"),
        ("x = 1 OR x = TRUE", None, "x = TRUE OR x = 1"),
        ("x LIKE '%b' OR x = 1", None, "x LIKE '%b' OR x = 1"),
    ],
)
def test_a_union_is_written_shortly(given: str, schema: Schema | None, written: str) -> None:
    parts = leaves(given, schema)
    node = express("x", united(parts, schema), parts, schema)
    assert node is not None
    assert sorted(str(node).split(" OR ")) == sorted(written.split(" OR "))


def test_nothing_is_false_and_everything_is_true() -> None:
    assert express("x", NOTHING, [], None) == Truth(False)
    assert express("x", universe("x", INTEGER), [], INTEGER) == Truth(True)


def test_what_the_constants_cannot_say_is_not_said() -> None:
    given = leaves("x < 5")
    assert express("x", allowed(leaves("x < 6")[0], None), given, None) is None


def test_a_gap_between_ranges_takes_an_or_of_ands() -> None:
    given = leaves("x >= 1 AND x <= 3 OR x >= 6 AND x <= 8")
    one, two, three, four = (allowed(predicate, None) for predicate in given)
    target = (one & two).union(three & four)
    assert target is not None
    node = express("x", target, given, None)
    assert str(node) == "(x >= 1 AND x <= 3) OR (x >= 6 AND x <= 8)"


@pytest.mark.parametrize(
    ("given", "schema", "written"),
    [
        ("x < 5 OR x > 9", None, "x IS NOT NULL"),  # Table 1, row 1
        ("x < 5 OR x = 9", None, "x <= 9"),  # row 2
        ("x > 150 OR x = 145", None, "x >= 145"),  # row 3
        ("x > 150 OR x = 145 OR x = 147 OR x = 148", None, "x >= 145"),
        ("x <= 5 OR x < 9", None, "x < 9"),
        ("x = 3 OR x = 7", None, "x >= 3 AND x <= 7"),
        ("x < 5 OR x = 'a'", None, "x IS NOT NULL"),
        ("x < 5 OR x IS NULL", None, "None"),
        ("x = 2 OR x > 5", LIMITED, "x >= 2"),
    ],
)
def test_the_narrowest_range_around(given: str, schema: Schema | None, written: str) -> None:
    parts = leaves(given, schema)
    sets = [allowed(predicate, schema) for predicate in parts]
    assert str(enclosing("x", sets, parts, schema)) == written


def test_of_several_ranges_around_the_narrowest_is_taken() -> None:
    given = leaves("x > 0 OR x < 99 OR x = 7 OR x = 9")
    sets = [allowed(predicate, None) for predicate in given[2:]]
    assert str(enclosing("x", sets, given, None)) == "x >= 7 AND x <= 9"


def test_size_counts_what_there_is_to_compare_with() -> None:
    for text, size in (("x = 1", 1), ("x IN (1, 2) OR x IS NULL", 3), ("TRUE", 1)):
        assert constants(parse(text).tree) == size


@pytest.mark.parametrize("name", SETTINGS)
def test_unions_of_intersections_are_always_written_and_exactly(name: str) -> None:
    place = SETTINGS[name]()
    schema = place.world.schema
    rng = random.Random(f"express {name}")
    kinds_of_node = set()
    for _ in range(150 * SCALE):
        axis = rng.randrange(3)
        texts = [text for kind in place.kinds[NAMES[axis]] for text in (leaf.text for leaf in kind)]
        groups = [
            [leaves(text, schema)[0] for text in rng.sample(texts, rng.randint(1, 2))]
            for _ in range(rng.randint(1, 3))
        ]
        target = NOTHING
        for group in groups:
            met = allowed(group[0], schema)
            for predicate in group[1:]:
                met = met & allowed(predicate, schema)
            joined = target.union(met)
            assert joined is not None
            target = joined
        given = [predicate for group in groups for predicate in group]
        node = express(NAMES[axis], target, given, schema)
        assert node is not None, [str(predicate) for predicate in given]
        kinds_of_node.add(type(node))
        for value in place.world.values[axis]:
            event = {NAMES[axis]: value}
            wanted = any(all(matches(p, event, schema) for p in group) for group in groups)
            assert matches(node, event, schema) is wanted, (str(node), value)
    assert kinds_of_node >= {Predicate, Or, Truth}


def test_conditions_on_text_are_written_exactly_or_not_at_all() -> None:
    place = worlds.texts()
    rng = random.Random("express texts")
    texts = [leaf.text for kind in place.kinds["x"] for leaf in kind]
    written = 0
    for _ in range(150 * SCALE):
        given = [leaves(text)[0] for text in rng.sample(texts, 3)]
        target = (allowed(given[0], None) & allowed(given[1], None)).union(allowed(given[2], None))
        node = None if target is None else express("x", target, given, None)
        if node is None:
            continue
        written += 1
        for value in place.world.values[0]:
            held = [matches(predicate, {"x": value}, None) for predicate in given]
            assert matches(node, {"x": value}, None) is ((held[0] and held[1]) or held[2])
    assert written > 50

"""A `Union` answers what subtracting box by box answers, however it was filled."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidegate as tg
from tidegate.algebra.axis import Axis
from tidegate.filters.lines import BIGINT, OTHER_LINE, STRING
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.valueset import ValueSet

SCHEMAS = {
    "none": None,
    "typed": tg.Schema({"x": "bigint", "y": "double", "s": "string"}),
    "checked": tg.Schema(
        {
            "x": tg.Attribute("bigint", low=0, high=9, nullable=False),
            "y": tg.Attribute("double", low=0.0, high=9.0),
            "s": tg.Attribute("string", values=["", "a", "ab", "b", "c"]),
        },
        checked=True,
    ),
}
EXACT = (
    *("x < {n}", "x >= {n}", "x = {n}", "x <> {n}", "x BETWEEN {n} AND {m}", "x IN ({n}, {m})"),
    *("y < {n}.5D", "y >= {n}D", "y <=> {n}D", "y IS NULL", "y IS NOT NULL", "x IS NOT NULL"),
    *("s < '{t}'", "s >= '{t}'", "s = '{t}'", "startswith(s, '{t}')", "(s = '{t}') IS NOT TRUE"),
)
TEXTS = ("endswith(s, '{t}')", "NOT contains(s, '{t}')", "s LIKE '_{t}%'")


def some_filter(
    rng: random.Random, schema: tg.Schema | None, predicates: tuple[str, ...]
) -> tg.Filter:
    def part() -> str:
        n = rng.randrange(9)
        return rng.choice(predicates).format(n=n, m=n + rng.randrange(4), t=rng.choice("abc"))

    boxes = [
        " AND ".join(part() for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 2))
    ]
    return tg.parse(" OR ".join(f"({box})" for box in boxes), schema)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
@given(seed=st.integers(0, 2**32))
def test_it_agrees_with_subtraction_under_insertion_and_removal(
    schema: tg.Schema | None, seed: int
) -> None:
    rng = random.Random(seed)
    union = tg.Union(schema)
    kept: dict[int, tg.Filter] = {}
    for _ in range(12):
        if kept and rng.random() < 0.3:
            handle = rng.choice(list(kept))
            union.remove(handle)
            del kept[handle]
        else:
            f = some_filter(rng, schema, EXACT)
            kept[union.add(f)] = f
        g = some_filter(rng, schema, EXACT)
        assert tg.subsumed(g, union) == tg.subsumed(g, list(kept.values())), str(g)
    assert len(union) == len(kept)
    assert union.exhausted == 0


@given(seed=st.integers(0, 2**32))
def test_conditions_on_text_never_make_it_say_more_than_subtraction(seed: int) -> None:
    rng = random.Random(seed)
    union = tg.Union()
    filters = [some_filter(rng, None, EXACT + TEXTS * 3) for _ in range(10)]
    for f in filters:
        union.add(f)
    for _ in range(10):
        g = some_filter(rng, None, EXACT + TEXTS * 3)
        assert tg.subsumed(g, union) == tg.subsumed(g, filters), str(g)
    for f in filters:
        assert union.subsumes(f)


def test_the_empty_union_takes_in_only_the_impossible() -> None:
    union = tg.Union()
    assert not union.subsumes(tg.parse("x = 1"))
    assert not union.subsumes(tg.parse("TRUE"))
    assert union.subsumes(tg.parse("x < 1 AND x > 1"))


def test_everything_is_taken_in_by_a_union_with_true() -> None:
    union = tg.Union()
    handle = union.add(tg.parse("TRUE"))
    assert union.subsumes(tg.parse("x = 1 OR s LIKE '%a_'"))
    assert union.subsumes(tg.parse("TRUE"))
    union.remove(handle)
    assert not union.subsumes(tg.parse("TRUE"))


def test_the_two_halves_of_an_attribute_take_in_everything() -> None:
    union = tg.Union()
    union.add(tg.parse("x IS NULL"))
    union.add(tg.parse("x IS NOT NULL"))
    assert union.subsumes(tg.parse("TRUE"))
    assert union.subsumes(tg.parse("y = 5"))


@pytest.mark.slow
def test_a_filter_beyond_the_normal_form_subsumes_itself_and_nothing_else() -> None:
    wide = " AND ".join(f"(a{i} = 1 OR b{i} = 2)" for i in range(12))
    union = tg.Union()
    union.add(tg.parse(wide))
    assert union.subsumes(tg.parse(wide))
    assert not union.subsumes(tg.parse(f"{wide} AND c = 1"))


def test_a_used_up_budget_says_no_and_is_counted() -> None:
    schema = tg.Schema({"x": "bigint", "y": "bigint"})
    union = tg.Union(schema, budget=0)
    union.add(tg.parse("x < 5", schema))
    union.add(tg.parse("x >= 5", schema))
    assert not union.subsumes(tg.parse("x IS NOT NULL AND x BETWEEN 0 AND 9", schema))
    assert union.exhausted == 1


def test_filters_of_another_schema_are_refused() -> None:
    with pytest.raises(tg.SchemaError):
        tg.Union().add(tg.parse("x = 1", SCHEMAS["typed"]))


def test_removing_twice_is_an_error() -> None:
    union = tg.Union()
    handle = union.add(tg.parse("x = 1"))
    union.remove(handle)
    with pytest.raises(KeyError):
        union.remove(handle)


@pytest.mark.parametrize("order", ["rising", "falling", "inwards"])
def test_labels_keep_the_order_of_cuts_when_they_run_out_of_room(order: str) -> None:
    """Thousands of cuts next to each other use up the room between two labels many times over."""
    keys = {
        "rising": list(range(2000)),
        "falling": list(range(2000, 0, -1)),
        "inwards": [k for i in range(1000) for k in (i, 4000 - i)],
    }[order]
    axis = Axis((BIGINT, OTHER_LINE))
    given_out: dict[int, int] = {}
    moves = 0
    for key in keys:
        ((low, _),) = axis.runs(ValueSet(False, {"bigint": (key, BIGINT.high)}))
        if axis.moved is not None:
            moves += 1
            step = dict(zip(*axis.moved, strict=True))
            given_out = {k: step[label] for k, label in given_out.items()}
            axis.moved = None
        given_out[key] = low
    labels = [given_out[key] for key in sorted(given_out)]
    assert all(a < b for a, b in pairwise(labels))
    if order == "inwards":
        assert moves > 0


@pytest.mark.parametrize("limit", range(1, 400, 57))
def test_a_union_survives_labels_that_move(limit: int) -> None:
    """Ever narrower ranges around one point: their cuts crowd, and all labels move now and then."""
    schema = tg.Schema({"x": "double"})
    union = tg.Union(schema)
    filters = []
    for i in range(limit):
        f = tg.parse(f"x > {1 - 2.0**-i!r}D AND x < {1 + 2.0 ** -(i + 1)!r}D", schema)
        filters.append(f)
        union.add(f)
    for g in ("x = 1D", "x = 2D", "x BETWEEN 0.6D AND 1.1D", "x BETWEEN 0.6D AND 1.6D"):
        asked = tg.parse(g, schema)
        assert union.subsumes(asked) == tg.subsumed(asked, filters)


def test_a_set_on_several_lines_is_one_run_where_they_touch() -> None:
    schema = tg.Schema({"s": "string"})
    axis = Axis((STRING, OTHER_LINE))
    present = tg.parse("s IS NOT NULL", schema)
    (predicate,) = [present.tree]
    assert len(axis.runs(allowed(predicate, schema))) == 1  # type: ignore[arg-type]
    assert len(axis.runs(universe("s", schema))) == 1

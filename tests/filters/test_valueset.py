"""Value sets behave as sets of values do; where texts leave doubt, they say so."""

import datetime as dt
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate import parse
from tidegate.filters.canonical import Constraint
from tidegate.filters.expression import Mode, Operator, Predicate
from tidegate.filters.lines import ALL_LINES, DECIMAL, TOP, days, microseconds, value_at
from tidegate.filters.meaning import ABSENT, ANYTHING, PRESENT, allowed
from tidegate.filters.patterns import containing, like
from tidegate.filters.values import OTHER, Constant, Value
from tidegate.filters.valueset import (
    NOTHING,
    Text,
    ValueSet,
    intersection,
    line_of,
    prefix_bounds,
    union,
    whole,
)

TEXTS = ["".join(letters) for n in range(5) for letters in product("ab", repeat=n)]
DAY, MOMENT = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12)
MOMENTS: list[Value] = [DAY, dt.date(2024, 3, 1), MOMENT, dt.datetime(2024, 2, 29)]
INTEGERS: list[Value] = [0, 1, 2, 3, 2**53, 2**53 + 1]
DOUBLES: list[Value] = [-0.0, 0.5, 1.0, 2.0**53, math.inf, math.nan]
DECIMALS: list[Value] = [Decimal("0.5"), Decimal(1), Decimal("1.5")]
POOL: list[Value] = [None, OTHER, True, False, *MOMENTS, *INTEGERS, *DOUBLES, *DECIMALS]
POOL += [*TEXTS, "a\0", "\ud7ff", "\ue000", "\U0010ffff"]
CONSTANTS: list[Constant] = [
    *(None, True, False, DAY, MOMENT, 0, 1, 2, 2**53 + 1, 0.5, 1.0, 2.0**53, math.nan),
    *(Decimal("0.5"), Decimal("1.5"), "", "a", "ab", "b", "ba", "bb"),
]
plain_operators = [
    *(Operator.EQUAL, Operator.LESS, Operator.AT_MOST, Operator.GREATER, Operator.AT_LEAST),
    Operator.SAME,
]
modes = st.sampled_from(Mode)
plain_predicates = st.one_of(
    st.builds(
        lambda operator, constant, mode: Predicate("x", operator, (constant,), mode),
        st.sampled_from(plain_operators),
        st.sampled_from(CONSTANTS),
        modes,
    ),
    st.builds(lambda mode: Predicate("x", Operator.NULL, (), mode), modes),
    st.builds(
        lambda text, mode: Predicate("x", Operator.STARTS, (text,), mode),
        st.text("ab", max_size=2),
        modes,
    ),
)
text_predicates = st.builds(
    lambda pattern, mode: Predicate("x", Operator.LIKE, (pattern, "\\"), mode),
    st.text("ab%_", max_size=4),
    modes,
)


OPERATIONS: list[Callable[[ValueSet, ValueSet], ValueSet]] = [
    lambda one, other: one & other,
    lambda one, other: one.union(other) or one,
    lambda one, other: next(iter(one.minus(other)), NOTHING),
]


@st.composite
def combined(draw: st.DrawFn, predicates: st.SearchStrategy[Predicate]) -> ValueSet:
    """Sets made from predicates by all operations that give sets."""
    held = allowed(draw(predicates), None)
    for operation in draw(st.lists(st.sampled_from(OPERATIONS), max_size=3)):
        held = operation(held, allowed(draw(predicates), None))
    return held


plain_sets = combined(plain_predicates)
any_sets = combined(plain_predicates | text_predicates)


def values_in(held: ValueSet) -> set[int]:
    return {i for i, value in enumerate(POOL) if held.has(value)}


def witnesses(*sets: ValueSet) -> list[Value]:
    """The pool and the ends of the sets: if two plain sets differ, they differ here."""
    found = list(POOL)
    names = {line.name: line for line in ALL_LINES}
    for held in sets:
        for name, bounds in held.spans.items():
            for bound in bounds:
                if name == "string":
                    found += ["\U0010ffff" * 9] if bound is TOP else [bound, bound + "\0"]
                elif name == "other":
                    found.append(OTHER)
                else:
                    line = names[name]
                    steps = (-(10**38), -1, 0, 10**38) if line is DECIMAL else (-1, 0)
                    found += [
                        value_at(line, bound + step)
                        for step in steps
                        if line.low <= bound + step < line.high
                        and _is_in_python(name, bound + step)
                    ]
    return found


def _is_in_python(name: str, key: Any) -> bool:
    """Python's dates end before Spark's do."""
    if name == "date":
        return days(dt.date.min) <= int(key) <= days(dt.date.max)
    return name != "timestamp" or abs(key) <= microseconds(dt.datetime(3900, 1, 1))


@given(any_sets, any_sets)
def test_what_is_in_both_is_in_each(one: ValueSet, other: ValueSet) -> None:
    assert values_in(one & other) == values_in(one) & values_in(other)
    assert one & other == other & one


@given(any_sets, any_sets)
def test_what_is_in_one_of_them_is_in_their_union(one: ValueSet, other: ValueSet) -> None:
    united = one.union(other)
    if united is None:
        assert one.texts or other.texts
    else:
        assert values_in(united) == values_in(one) | values_in(other)


@given(any_sets, any_sets)
def test_what_is_left_is_in_disjoint_pieces_and_nothing_is_lost(
    one: ValueSet, other: ValueSet
) -> None:
    pieces = one.minus(other)
    assert all(piece.is_empty() is not True for piece in pieces)
    left = [values_in(piece) for piece in pieces]
    assert len(set().union(*left)) == sum(map(len, left))
    assert values_in(one) - values_in(other) <= set().union(*left) <= values_in(one)
    if not (one.texts or other.texts):
        assert set().union(*left) == values_in(one) - values_in(other)


@given(any_sets)
def test_is_empty_is_right_or_says_that_it_does_not_know(held: ValueSet) -> None:
    answer = held.is_empty()
    if answer is None:
        assert held.texts
    elif answer:
        assert not values_in(held)
    else:
        assert any(held.has(value) for value in witnesses(held))


@given(any_sets, any_sets)
def test_within_is_right_or_says_that_it_does_not_know(one: ValueSet, other: ValueSet) -> None:
    answer = one.within(other)
    if answer is None:
        assert one.texts or other.texts
    elif answer:
        assert values_in(one) <= values_in(other)
    else:
        tried = witnesses(one, other)
        assert any(one.has(value) and not other.has(value) for value in tried)


@given(any_sets, any_sets)
def test_meets_is_right_or_says_that_it_does_not_know(one: ValueSet, other: ValueSet) -> None:
    answer = one.meets(other)
    if answer is None:
        assert one.texts or other.texts
    elif answer:
        assert any(one.has(value) and other.has(value) for value in witnesses(one, other))
    else:
        assert not values_in(one) & values_in(other)


@given(plain_sets, plain_sets)
def test_plain_sets_are_equal_if_and_only_if_they_hold_the_same_values(
    one: ValueSet, other: ValueSet
) -> None:
    same = all(one.has(value) == other.has(value) for value in witnesses(one, other))
    assert (one == other) is same
    assert (one.within(other) is True and other.within(one) is True) is same
    if same:
        assert hash(one) == hash(other)


@given(plain_sets, plain_sets, plain_sets)
def test_plain_sets_made_differently_are_equal_and_hash_equal(
    one: ValueSet, two: ValueSet, three: ValueSet
) -> None:
    def outside(held: ValueSet) -> ValueSet:
        return next(iter(ANYTHING.minus(held)), NOTHING)

    def united(left: ValueSet, right: ValueSet) -> ValueSet:
        found = left.union(right)
        assert found is not None
        return found

    for left, right in (
        (one & united(two, three), united(one & two, one & three)),
        (outside(united(one, two)), outside(one) & outside(two)),
        (outside(outside(one)), one),
        (next(iter(one.minus(two)), NOTHING), one & outside(two)),
    ):
        assert left == right
        assert hash(left) == hash(right)


@given(st.lists(any_sets, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_many_sets_combine_in_any_order_to_the_same(sets: list[ValueSet], random: Any) -> None:
    shuffled = random.sample(sets, len(sets))
    inside = set.intersection(*map(values_in, sets))
    assert values_in(intersection(sets)) == inside
    assert intersection(shuffled) == intersection(sets)
    together = union(sets)
    assert set().union(*map(values_in, together)) == set().union(*map(values_in, sets))
    assert set(union(shuffled)) == set(together)
    if not any(each.texts for each in sets):
        assert len(together) <= 1


@given(st.lists(text_predicates, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_conditions_on_text_are_one_set_in_whatever_order_they_come(
    predicates: list[Predicate], random: Any
) -> None:
    one = ANYTHING
    for predicate in predicates:
        one &= allowed(predicate, None)
    other = ANYTHING
    for predicate in random.sample(predicates, len(predicates)):
        other &= allowed(predicate, None)
    assert one == other
    assert hash(one) == hash(other)
    assert one == intersection([ANYTHING, *(allowed(predicate, None) for predicate in predicates)])


def test_too_many_conditions_on_text_are_kept_but_not_compared() -> None:
    sets = [
        ValueSet(False, {"string": ("", TOP)}, [Text(containing(f"{i},"), False)])
        for i in range(99)
    ]
    every = intersection(sets)
    assert len(every.texts) == 99
    assert every.has(",".join(map(str, range(99))) + ",")
    assert not every.has(",".join(map(str, range(98))) + ",")
    assert len(union(sets)) == 99


def strings(*bounds: Any, texts: tuple[Text, ...] = ()) -> ValueSet:
    return ValueSet(False, {"string": bounds}, texts)


def test_conclusions_are_drawn_from_texts() -> None:
    ends_b = Text(like("%b"), False)
    assert strings("a", "a\0", "ab", "ab\0", texts=(ends_b,)) == strings("ab", "ab\0")
    assert strings("a", "a\0", texts=(ends_b,)) == NOTHING
    assert strings("", TOP, texts=(ends_b, ends_b.opposite())) == NOTHING
    assert strings("", TOP, texts=(ends_b, Text(like("%a"), False))) == NOTHING
    assert strings("", TOP, texts=(ends_b, Text(like("%ab"), False))).texts == {
        Text(like("%ab"), False)
    }
    assert strings("", TOP, texts=(Text(like("a%b"), False),)).spans == {"string": ("a", "b")}
    assert strings("c", TOP, texts=(Text(like("a%b"), False),)) == NOTHING


@given(st.text("ab\ud7ff\U0010ffff", max_size=3), st.text("ab\ud7ff\ue000\U0010ffff", max_size=5))
def test_the_bounds_of_a_prefix_hold_what_starts_with_it(prefix: str, text: str) -> None:
    held = strings(*prefix_bounds(prefix))
    for tried in (text, prefix + text, prefix, prefix[:-1]):
        assert held.has(tried) == tried.startswith(prefix)


def test_the_whole_is_everything_and_nothing_is_nothing() -> None:
    for value in POOL:
        assert ANYTHING.has(value)
        assert not NOTHING.has(value)
        assert PRESENT.has(value) is (value is not None)
        assert ABSENT.has(value) is (value is None)
    assert NOTHING.is_empty() is True
    assert ABSENT.is_empty() is False
    assert PRESENT.union(ABSENT) == ANYTHING
    assert NOTHING.within(ABSENT) is True
    assert whole(ALL_LINES, absent=True) == ANYTHING


def test_every_kind_of_value_lies_on_its_own_line() -> None:
    lines = {line_of(value, ALL_LINES).name for value in POOL if value is not None}
    assert lines == {line.name for line in ALL_LINES}


@given(any_sets)
def test_a_set_survives_pickling(held: ValueSet) -> None:
    hash(held)
    copy = pickle.loads(pickle.dumps(held))
    assert copy == held
    assert hash(copy) == hash(held)


@pytest.mark.parametrize("text", ["x = 1", "x IN ('a', 'b')", "x NOT LIKE '%a'", "x IS NULL"])
def test_a_filter_on_one_attribute_is_one_set(text: str) -> None:
    form = parse(text).form
    assert isinstance(form, Constraint)
    for value in POOL:
        if value is not OTHER:
            assert form.allowed.has(value) == parse(text).matches({"x": value})

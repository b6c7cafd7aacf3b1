"""A variable moves all subscriptions that follow it, at once, and where they are."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests.papers.poset_checks import flaws, links, misplaced
from tidegate.papers.poset import Poset, Variables
from tidegate.papers.poset.change import Bound

LIMITED = "firm = 'IBM' AND price < :limit"


def two_traders() -> Variables:
    """One who follows his last buy, and one who asks for everything below 10."""
    variables = Variables(Poset())
    variables.add(1, tg.parse(LIMITED), limit=20)
    variables.add(2, tg.parse("price < :most"), most=10)
    return variables


def bound(variables: Variables) -> Bound:
    """What the last change did to the least upper bound."""
    return variables.poset.change.bound


def test_a_variable_moves_the_subscription_that_follows_it() -> None:
    variables = two_traders()
    variables.bind("last buy", 1, "limit")
    assert variables.value("last buy") == 20
    home = variables.poset._homes[1]
    assert links(variables.poset) == {(1,): set(), (2,): set()}
    assert variables.set("last buy", 20) == []  # as before
    assert variables.set("last buy", 8) == [1]
    assert variables.poset._homes[1] is home
    assert links(variables.poset) == {(2,): {(1,)}, (1,): set()}
    assert variables.poset.match({"firm": "IBM", "price": 9}) == [2]
    assert bound(variables) is Bound.STRUCTURE  # two roots were one OR


def test_several_follow_one_variable() -> None:
    variables = two_traders()
    variables.bind("last buy", 1, "limit")
    variables.bind("last buy", 2, "most")
    assert bound(variables) is Bound.STRUCTURE
    assert str(variables.poset.lub()) == "price < 20"  # the second one got the variable's value
    assert variables.set("last buy", 7.5) == [1, 2]
    assert bound(variables) is Bound.CONSTANTS
    assert [str(f) for f in variables.poset.change.gone] == ["price < 20"]
    assert [str(f) for f in variables.poset.change.come] == ["price < 7.5D"]


def test_a_variable_may_stand_for_several_parameters() -> None:
    variables = Variables(Poset())
    variables.add(1, tg.parse("x BETWEEN :low AND :high"), low=1, high=5)
    variables.bind("at", 1, "low")
    variables.bind("at", 1, "high")
    assert str(variables.poset.lub()) == "x >= 1 AND x <= 1"
    assert variables.set("at", 4) == [1]
    assert variables.poset.match({"x": 4}) == [1]


def test_subscriptions_with_one_filter_move_as_one_node() -> None:
    variables = Variables(Poset())
    pattern = tg.parse("x < :n")
    for number in range(100):
        variables.add(number, pattern, n=10)
        variables.bind("n", number, "n")
    (home,) = variables.poset.nodes
    before = variables.poset.compared
    assert variables.set("n", 12) == list(range(100))
    assert variables.poset.nodes == [home]
    assert variables.poset.compared - before <= 2
    assert bound(variables) is Bound.CONSTANTS


def test_a_parameter_follows_the_last_variable_it_was_bound_to() -> None:
    variables = two_traders()
    variables.bind("a", 1, "limit")
    variables.bind("b", 2, "most")
    variables.bind("b", 1, "limit")
    with pytest.raises(KeyError):
        variables.set("a", 3)  # nothing follows it any more
    assert variables.set("b", 3) == [2, 1]


def test_a_subscription_that_goes_lets_its_variables_go() -> None:
    variables = two_traders()
    variables.bind("a", 1, "limit")
    variables.bind("b", 1, "limit")
    variables.bind("b", 2, "most")
    variables.remove(1)
    assert len(variables) == len(variables.poset) == 1
    assert variables.set("b", 3) == [2]
    with pytest.raises(KeyError):
        variables.value("a")
    variables.remove(2)
    assert not any((variables._lookup, variables._variables, variables._followed))


def test_a_value_that_one_of_them_refuses_changes_none() -> None:
    schema = tg.Schema({"price": "double", "day": "date"})
    variables = Variables(Poset(schema))
    variables.add(1, tg.parse("price < :p", schema), p=1.0)
    variables.add(2, tg.parse("day = :d", schema), d="2024-02-29")
    variables.bind("v", 1, "p")
    with pytest.raises(tg.FilterError):
        variables.bind("v", 2, "d")
    variables.bind("w", 2, "d")
    with pytest.raises(tg.FilterError):
        variables.set("w", "no day")
    assert (variables.value("v"), variables.value("w")) == (1.0, "2024-02-29")
    assert variables.poset.match({"price": 0.5}) == [1]
    with pytest.raises(tg.ParameterError):
        variables.bind("v", 1, "q")
    with pytest.raises(KeyError):
        variables.bind("v", 7, "p")
    with pytest.raises(KeyError):
        variables.set("nobody", 7)
    with pytest.raises(tg.ParameterError):
        variables.add(3, tg.parse("price < :p", schema))
    assert len(variables) == len(variables.poset) == 2


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_moved_by_variables_a_poset_is_what_it_would_be_if_made_anew(seed: int) -> None:
    rng = Random(seed)
    texts = ("x < :a", "x BETWEEN :a AND :b", "x > :a AND y = 1", "x <= :b OR y < :a", "y = :a")
    variables = Variables(Poset())
    values = {name: rng.randrange(10) for name in "pqr"}
    followed: dict[int, tuple[tg.Filter, dict[str, str]]] = {}
    for number in range(25):
        f = tg.parse(rng.choice(texts))
        follows = {parameter: rng.choice("pqr") for parameter in f.parameters}
        variables.add(number, f, **{p: values[v] for p, v in follows.items()})
        for parameter, variable in follows.items():
            variables.bind(variable, number, parameter)
        followed[number] = f, follows
    for _ in range(15):
        variable = rng.choice("pqr")
        values[variable] = rng.randrange(10)
        before = {number: variables.poset.get(number) for number in followed}
        moved = variables.set(variable, values[variable])
        anew = Poset()
        for number, (f, follows) in followed.items():
            anew.add(number, f.bind(**{p: values[v] for p, v in follows.items()}))
            assert (number in moved) is (anew.get(number) != before[number])
        assert links(variables.poset) == links(anew)
        assert flaws(variables.poset) == []
        assert misplaced(variables.poset) == []

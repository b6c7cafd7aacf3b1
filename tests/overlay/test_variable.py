"""Variables of a client: what one `set` says, and what it does not."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tidegate.errors import FilterTypeError, ParameterError, SubscriptionError, TidegateError
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.client import Client
from tidegate.overlay.conversation import Told
from tidegate.overlay.messages import Acknowledge, Change, Refuse
from tidegate.overlay.strategy import STRATEGIES
from tidegate.overlay.trail import Trail

KIND = Attributes()


class Broker:
    """Writes down what it is told, and says yes when asked to."""

    def __init__(self) -> None:
        self.heard: list[Change] = []
        self.has: dict[int, str] = {}

    def send(self, message: Told, /) -> None:
        assert isinstance(message, Change)
        self.heard.append(message)
        self.has.update({x.id: str(x.filter) for x in (*message.add, *message.update)})
        for own in message.remove:
            del self.has[own]

    def answer(self, client: Client) -> None:
        client.hear(Acknowledge(self.heard[-1].seq))


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def ann(broker: Broker) -> Client:
    return Client("ann", broker, KIND)


def updates(message: Change) -> dict[int, str]:
    assert not message.add
    assert not message.remove
    return {entry.id: str(entry.filter) for entry in message.update}


def test_all_that_a_set_changes_is_one_message(ann: Client, broker: Broker) -> None:
    limit = ann.variable(5)
    for text in ("price < :limit", "symbol = 'IBM' AND cost >= :limit", "NOT (x = :limit)"):
        ann.subscribe(text, limit=limit)
    ann.subscribe("price < :limit", limit=5)
    limit.set(7)
    assert len(broker.heard) == 5
    assert updates(broker.heard[-1]) == {
        1: "price < 7",
        2: "symbol = 'IBM' AND cost >= 7",
        3: "x != 7",
    }
    assert limit.value == 7
    assert {own: str(f) for own, f in ann.wanted.items()} == broker.has


def test_what_is_done_together_is_one_message(ann: Client, broker: Broker) -> None:
    low, high = ann.variable(1), ann.variable(2)
    own = ann.subscribe("x BETWEEN :low AND :high", low=low, high=high)
    gone = ann.subscribe("y < 1")
    with ann.together():
        low.set(3)
        high.set(9)
        with ann.together():
            low.set(4)
            ann.cancel(gone)
        new = ann.subscribe("z < :high", high=high)
        ann.cancel(ann.subscribe("never told = 1".replace(" told", "")))
        high.set(8)
    assert len(broker.heard) == 3
    last = broker.heard[-1]
    assert [(x.id, str(x.filter)) for x in last.update] == [(own, "x >= 4 AND x <= 8")]
    assert [(x.id, str(x.filter)) for x in last.add] == [(new, "z < 8")]
    assert last.remove == (gone,)


def test_what_was_done_before_an_error_is_told(ann: Client, broker: Broker) -> None:
    low = ann.variable(1)
    ann.subscribe("x > :low", low=low)

    def move() -> None:
        with ann.together():
            low.set(3)
            low.set("three")

    with pytest.raises(FilterTypeError):
        move()
    assert updates(broker.heard[-1]) == {1: "x > 3"}
    assert low.value == 3


def test_a_set_that_changes_nothing_says_nothing(ann: Client, broker: Broker) -> None:
    limit, unused = ann.variable(5), ann.variable(1)
    ann.subscribe("price < :limit", limit=limit)
    limit.set(5)
    unused.set(9)
    assert len(broker.heard) == 1
    with ann.together():
        limit.set(6)
        limit.set(5)
    assert len(broker.heard) == 1


@pytest.mark.parametrize(
    ("value", "bad"),
    [
        *((5.0, bad) for bad in (None, math.nan, "5", True, b"5", [5], dt.date(2026, 1, 1))),
        *(("IBM", bad) for bad in (None, 5, "\ud800")),
        *((True, bad) for bad in (1, "true")),
        *((dt.date(2026, 1, 1), bad) for bad in (dt.datetime(2026, 1, 1), "2026-01-01")),
        (Decimal(5), Decimal("NaN")),
    ],
)
def test_a_value_of_a_wrong_type_is_an_error_and_changes_nothing(
    ann: Client, broker: Broker, value: Any, bad: Any
) -> None:
    variable = ann.variable(value)
    ann.subscribe("x = :v", v=variable)
    with pytest.raises(FilterTypeError):
        variable.set(bad)
    assert variable.value == value
    assert len(broker.heard) == 1
    assert ann.wanted == {1: KIND.parse("x = :v", v=value)}


def test_a_value_that_one_filter_cannot_have_changes_none() -> None:
    kind = Attributes(tg.Schema({"x": "bigint", "day": "date"}))
    broker = Broker()
    ann = Client("ann", broker, kind)
    day = ann.variable("2026-01-01")
    first = ann.subscribe("day < :day", day=day)
    ann.subscribe("day > :day", day=day)
    with pytest.raises(TidegateError):
        day.set("someday")
    assert day.value == "2026-01-01"
    assert len(broker.heard) == 2
    day.set("2026-02-01")
    assert ann.wanted[first] == kind.parse("day < '2026-02-01'")


@pytest.mark.parametrize("bad", [None, math.nan, b"x", {}])
def test_a_variable_starts_with_a_value(ann: Client, bad: Any) -> None:
    with pytest.raises(FilterTypeError):
        ann.variable(bad)


def test_a_cancelled_subscription_is_forgotten(ann: Client, broker: Broker) -> None:
    limit = ann.variable(5)
    first, second = (ann.subscribe("price < :limit", limit=limit) for _ in range(2))
    ann.cancel(first)
    limit.set(6)
    assert updates(broker.heard[-1]) == {second: "price < 6"}
    ann.cancel(second)
    limit.set(7)
    assert len(broker.heard) == 5
    assert not limit.users


def test_parameters_are_values_or_variables_of_the_client(ann: Client, broker: Broker) -> None:
    other = Client("bob", Broker(), KIND)
    with pytest.raises(SubscriptionError, match="another client"):
        ann.subscribe("x < :v", v=other.variable(1))
    with pytest.raises(ParameterError, match="no parameter :w"):
        ann.subscribe("x < :v", v=1, w=2)
    with pytest.raises(ParameterError, match="unbound"):
        ann.subscribe("x < :v")
    with pytest.raises(SubscriptionError, match="give its text"):
        ann.subscribe(KIND.parse("x < 1"), v=2)
    with pytest.raises(SubscriptionError, match="reads no texts"):
        Client("bob", Broker()).subscribe("x < 1")
    with pytest.raises(TidegateError, match="no strategy 'often'"):
        Client("bob", Broker(), KIND, updates="often")
    assert not broker.heard


def test_another_structure_takes_the_place_of_a_filter_in_one_message(
    ann: Client, broker: Broker
) -> None:
    limit = ann.variable(5)
    own = ann.subscribe("price < :limit", limit=limit)
    ann.change(own, "price < :limit AND symbol = 'IBM'", limit=limit)
    last = broker.heard[-1]
    assert len(last.add) == len(last.remove) == 1
    assert last.remove == (own,)
    limit.set(6)
    assert broker.has == {last.add[0].id: "price < 6 AND symbol = 'IBM'"}
    ann.change(own, KIND.parse("price < 9"))
    assert not limit.users, "the filter does not refer to it any more"
    ann.update(own, "price < :p", p=limit)
    assert ann.receive({"price": 5}, tuple(broker.has)) == (own,)
    ann.cancel(own)
    assert not broker.has


def test_until_the_broker_has_answered_the_client_looks_at_events(
    ann: Client, broker: Broker
) -> None:
    limit = ann.variable(5)
    own = ann.subscribe("price < :limit", limit=limit)
    broker.answer(ann)
    limit.set(3)
    assert ann.receive({"price": 4}, (own,)) == ()
    assert ann.receive({"price": 2}, (own,)) == (own,)
    assert ann.spurious == 1
    broker.answer(ann)
    # Now the broker's word is taken for it: it matches exactly.
    assert ann.receive({"price": 4}, (own,)) == (own,)
    ann.cancel(own)
    assert ann.receive({"price": 2}, (own,)) == ()
    assert ann.spurious == 2


def test_a_refused_change_leaves_what_the_broker_has(ann: Client, broker: Broker) -> None:
    limit = ann.variable(5)
    own = ann.subscribe("price < :limit", limit=limit)
    broker.answer(ann)
    limit.set(7)
    ann.hear(Refuse(broker.heard[-1].seq, None, "not today"))
    broker.answer(ann)
    assert ann.wanted == {own: KIND.parse("price < 5")}
    assert ann.receive({"price": 6}, (own,)) == (own,), "it is the broker that matches"
    limit.set(8)
    assert updates(broker.heard[-1]) == {own: "price < 8"}


def told(strategy: str, *values: int, text: str = "price < :limit") -> list[Change]:
    broker = Broker()
    ann = Client("ann", broker, KIND, updates=strategy)
    limit = ann.variable(5)
    ann.subscribe(text, limit=limit)
    for value in values:
        limit.set(value)
    return broker.heard


def spelled(message: Change) -> str:
    entries = [f"+{x.id} {x.filter}" for x in message.add]
    entries += [f"~{x.id} {x.filter}" for x in message.update]
    return ", ".join([*entries, *(f"-{own}" for own in message.remove)])


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("parametric", ["+1 price < 5", "~1 price < 7", "~1 price < 6"]),
        ("cancel first", ["+1 price < 5", "-1", "+2 price < 7", "-2", "+3 price < 6"]),
        ("subscribe first", ["+1 price < 5", "+2 price < 7", "-1", "+3 price < 6", "-2"]),
        ("cancel later", ["+1 price < 5", "+2 price < 7", "+3 price < 6, -2"]),
        ("wildcard", ["+1 TRUE"]),
    ],
)
def test_each_strategy_says_it_in_its_own_way(strategy: str, expected: list[str]) -> None:
    assert [spelled(message) for message in told(strategy, 7, 6)] == expected


def test_a_wildcard_keeps_the_predicates_without_variables() -> None:
    text = "symbol = 'IBM' AND price < :limit AND (cost > :limit OR volume > 9)"
    assert [spelled(message) for message in told("wildcard", 7, text=text)] == ["+1 symbol = 'IBM'"]


def test_cancel_later_waits_for_an_event_that_the_old_one_rejects() -> None:
    broker = Broker()
    ann = Client("ann", broker, KIND, updates="cancel later")
    limit = ann.variable(5)
    own = ann.subscribe("price < :limit", limit=limit)
    limit.set(7)
    limit.set(9)
    assert ann.receive({"price": 4}, (1, 2, 3)) == (own,)
    assert (ann.twice, ann.spurious) == (2, 0)
    assert len(broker.has) == 3
    assert ann.receive({"price": 6}, (2, 3)) == (own,)
    assert list(broker.has) == [2, 3], "the first one rejects it"
    assert ann.receive({"price": 8}, (3,)) == (own,)
    assert list(broker.has) == [3]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_cancelling_removes_every_entry(strategy: str) -> None:
    broker = Broker()
    ann = Client("ann", broker, KIND, updates=strategy)
    limit = ann.variable(5)
    own = ann.subscribe("price < :limit", limit=limit)
    for value in (7, 9, 3):
        limit.set(value)
    ann.cancel(own)
    assert not broker.has
    broker.answer(ann)
    assert not ann._owners


# -- damping and prediction


def test_a_damped_variable_that_goes_back_and_forth_is_told_once(
    ann: Client, broker: Broker
) -> None:
    limit = ann.variable(5, damping=3)
    own = ann.subscribe("price < :limit", limit=limit)
    for _ in range(4):
        limit.set(7)
        limit.set(5)
        ann.tick()
    assert [spelled(message) for message in broker.heard] == ["+1 price < 5", "~1 price < 7"]
    assert ann.receive({"price": 6}, (own,)) == ()
    for _ in range(3):
        ann.tick()
    assert spelled(broker.heard[-1]) == "~1 price < 5"
    assert len(broker.heard) == 3


def test_a_predicted_variable_is_told_less_often_than_it_moves(ann: Client, broker: Broker) -> None:
    limit = ann.variable(0, predict=8)
    ann.subscribe("price < :limit", limit=limit)
    for value in range(1, 41):
        limit.set(value)
    assert len(broker.heard) == 1 + 1 + 5  # the first move, and every ninth
    assert broker.has == {1: "price < 46"}
    limit.set(39)
    ann.tick()
    assert broker.has == {1: "price < 39"}, "it has turned"


def test_an_equality_is_told_as_a_range_when_damped(ann: Client, broker: Broker) -> None:
    cell = ann.variable(4, damping=2)
    own = ann.subscribe("cell = :cell AND lane = 1", cell=cell)
    cell.set(6)
    assert broker.has == {own: "cell >= 4 AND cell <= 6 AND lane = 1"}
    assert [ann.receive({"cell": c, "lane": 1}, (own,)) for c in (4, 5, 6)] == [(), (), (own,)]
    assert ann.wanted == {own: KIND.parse("cell = 6 AND lane = 1")}
    ann.tick()
    ann.tick()
    assert broker.has == {own: "cell >= 6 AND cell <= 6 AND lane = 1"}


def test_what_has_no_hull_in_its_shape_is_not_damped(ann: Client, broker: Broker) -> None:
    symbol = ann.variable("IBM", damping=5)
    ann.subscribe("symbol = :symbol", symbol=symbol)
    symbol.set("SAP")
    assert broker.has == {1: "symbol = 'SAP'"}


@pytest.mark.parametrize(
    ("value", "options"),
    [
        (Decimal("1.5"), {"damping": 1}),
        ("IBM", {"predict": 1}),
        (dt.date(2026, 1, 1), {"predict": 2}),
        (5, {"damping": -1}),
        (5, {"predict": 1.5}),
    ],
)
def test_what_cannot_be_damped_or_predicted_is_an_error(
    ann: Client, value: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(TidegateError):
        ann.variable(value, **options)


def test_a_damped_number_does_not_become_a_decimal(ann: Client) -> None:
    limit = ann.variable(5, damping=1)
    with pytest.raises(FilterTypeError, match="decimal"):
        limit.set(Decimal("5.5"))


@settings(max_examples=100)
@given(
    text=st.sampled_from(
        [
            "x < :v",
            "x >= :v AND y < :v",
            "x = :v",
            "x != :v",
            "x IN (:v, 3)",
            "NOT (x BETWEEN :v AND 6) OR y = :v",
            "(x < :v) IS NOT TRUE",
            "x <=> :v",
        ]
    ),
    steps=st.lists(st.integers(-3, 12), max_size=25),
    damping=st.integers(0, 3),
    predict=st.integers(0, 3),
)
def test_what_is_told_always_covers_what_is_wanted(
    text: str, steps: list[int], damping: int, predict: int
) -> None:
    """And in the end, when nothing has moved for long, it is the same."""
    broker = Broker()
    ann = Client("ann", broker, KIND)
    variable = ann.variable(4, damping=damping, predict=predict)
    own = ann.subscribe(text, v=variable)
    for step in steps:
        if step > 9:
            ann.tick()
        else:
            variable.set(step)
        [f] = ann.told.values()
        wanted = KIND.parse(text, v=variable.value)
        assert ann.wanted == {own: wanted}
        assert f.covers(wanted)
        events = [{"x": x, "y": y} for x in (None, *range(-4, 12)) for y in (0, 5)]
        assert all(f.matches(event) for event in events if wanted.matches(event))
    for _ in range(4):
        ann.tick()
    [f] = ann.told.values()
    assert f == ann.wanted[own]


def test_a_prediction_does_not_leave_the_numbers() -> None:
    trail = Trail(2**63 - 9, 0, 8)
    for value in (2**63 - 6, 2**63 - 3):
        trail.move(value)
    assert trail.others() == []
    trail = Trail(0.0, 0, 8)
    for number in (8e307, 1.6e308):
        trail.move(number)
    assert trail.others() == []

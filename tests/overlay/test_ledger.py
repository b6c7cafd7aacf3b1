"""A snapshot has each filter once, filters of one shape are read together, and a broker that was
restored from many does what the other one does.
"""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidegate as tg
from tests import generate
from tests.overlay.histories import POOLS, pool
from tidegate.errors import TidegateError
from tidegate.lab.workloads.trade import trade
from tidegate.overlay import attribute_index
from tidegate.overlay.attribute_filter import AttributeFilter
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.filter import Filter, Kind
from tidegate.overlay.ledger import Ledger, read_ledger
from tidegate.overlay.messages import Batch, Change, Entry, Hello, LinkUp, Publish
from tidegate.overlay.policy import Choice
from tidegate.overlay.rows import by_row

EITHER = pytest.mark.parametrize("typed", [True, False], ids=["schema", "no schema"])
SEEDS = st.integers(0, 2**32)


def again(filters: list[Filter], kind: Kind) -> tuple[list[int], list[Filter]]:
    """The places of filters in a ledger, and what that gives back."""
    ledger = Ledger(kind)
    places = [ledger.place(f) for f in filters]
    return places, read_ledger(json.loads(json.dumps(ledger.state())), kind)


@pytest.mark.parametrize("kind", POOLS)
def test_what_a_ledger_gives_back_is_written_as_what_was_put_in(kind: str) -> None:
    own = pool(kind)
    filters = [f for family in own.families for f in family] * 2
    Random(1).shuffle(filters)
    places, found = again(filters, own.kind)
    assert len(found) == len({json.dumps(own.kind.plain(f)) for f in filters})
    for f, place in zip(filters, places, strict=True):
        read = found[place]
        assert own.kind.plain(read) == own.kind.plain(f)
        assert (read, hash(read), read.shape, read.values) == (f, hash(f), f.shape, f.values)
        assert [read.matches(e) for e in own.events] == [f.matches(e) for e in own.events]


@EITHER
@settings(max_examples=40)
@given(seed=SEEDS)
def test_many_filters_of_a_shape_are_read_as_one_by_one(typed: bool, seed: int) -> None:
    kind = Attributes(tg.Schema(generate.TYPES) if typed else None)
    rng = Random(seed)
    conditions = generate.filters(rng, 10, typed)
    for f in [kind.parse(str(condition)) for condition in conditions]:
        words = [word for other in conditions for word in kind.parse(str(other)).values]
        drawn = [
            [rng.choice((value, rng.choice(f.values), rng.choice(words))) for value in f.values]
            for _ in range(4)
        ]
        fitting = [values for values in drawn if _one(kind, f, values) is not None]
        found = kind.reshaped_many(f, fitting)
        assert len(found) == len(fitting)
        for read, values in zip(found, fitting, strict=True):
            one = _one(kind, f, values)
            assert one is not None
            assert kind.plain(read) == kind.plain(one)
            assert (read, read.shape, read.size) == (one, one.shape, one.size)
        if len(fitting) < len(drawn):
            with pytest.raises(TidegateError):
                kind.reshaped_many(f, drawn)


def _one(kind: Attributes, f: AttributeFilter, values: Any) -> AttributeFilter | None:
    try:
        return kind.reshaped(f, values)
    except TidegateError:
        return None


@EITHER
@settings(max_examples=25)
@given(seed=SEEDS)
def test_the_parameters_of_what_was_read_together_make_the_same_filter(
    typed: bool, seed: int
) -> None:
    schema = tg.Schema(generate.TYPES) if typed else None
    kind = Attributes(schema)
    for condition in generate.filters(Random(seed), 10, typed):
        f = kind.parse(str(condition))
        [read] = kind.reshaped_many(f, [f.values])
        if read.origin is not None:
            text, given = str(read.origin[0]), read.origin[1]
            assert kind.plain(kind.parse(text, **given)) == kind.plain(f)


def test_filters_that_compare_with_constants_are_read_with_their_parameters() -> None:
    kind = Attributes()
    f = kind.parse("symbol = 'A' AND price BETWEEN 1 AND 2 AND NOT (venue = 'x')")
    one, other = kind.reshaped_many(f, [["'B'", "3", "4", "'y'"], ["'C'", "5", "6.5D", "'z'"]])
    assert one.origin is not None
    assert other.origin is not None
    assert one.origin[0] is other.origin[0]
    assert dict(other.origin[1]) == {"p0": "C", "p1": 5, "p2": 6.5, "p3": "z"}


@pytest.mark.parametrize("values", [None, [["1"]], [["1", "2", "3"]], [["1", "?"]], [[1, 2]], [7]])
def test_constants_that_do_not_fit_are_refused(values: Any) -> None:
    kind = Attributes(tg.Schema({"price": "double"}))
    with pytest.raises((TidegateError, TypeError)):
        kind.reshaped_many(kind.parse("price BETWEEN 1 AND 2"), values)


@pytest.mark.parametrize("places", [[1], [0, 2], [0, 0]])
def test_a_ledger_with_other_places_is_refused(places: list[int]) -> None:
    kind = Attributes()
    values = [["7"]] * (len(places) - 1)
    with pytest.raises(TidegateError, match="numbered from 0"):
        read_ledger([[["is true", "x", "<", "5"], places, values]], kind)


# -- a broker with many


def registered(policy: str) -> tuple[Broker, list[dict[str, Any]]]:
    """A broker that knows trade rules, of texts with parameters and without; and events."""
    workload = trade(200, seed=5)
    kind = Attributes(workload.schema)
    broker = Broker("a", kind, Choice(policy))
    for link in ("ann", "bob", "eve"):
        broker.handle(link, LinkUp(client=True))
    for link in ("n", "m"):
        broker.handle(link, LinkUp(client=False))
        broker.handle(link, Hello(1, 0, 0))
    rows = workload.table().to_pylist()
    for number, row in enumerate(rows):
        text = row.pop("filter")
        given = {name: row[name] for name in tg.parse(text).parameters}
        f = kind.parse(text, **given)
        if number % 3 == 0:
            f = kind.parse(str(f))
        broker.handle(("ann", "bob")[number % 2], Change(number // 2 + 1, (Entry(number, f),)))
    broker.handle("ann", Change(101, (), (), (0, 2, 4)))
    events = workload.events(40).to_pylist()
    for event, row in zip(events, rows, strict=False):
        event |= {"symbol": row["symbol"], "price": row["low"]}
    return broker, events


@pytest.mark.parametrize("policy", ["covering", "simple", "xroute"])
def test_a_broker_restored_from_many_does_what_the_other_does(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attribute_index, "MANY_FILTERS", 50)
    monkeypatch.setattr(attribute_index, "MANY_EVENTS", 2)
    one, events = registered(policy)
    snapshot = json.loads(json.dumps(one.snapshot()))
    assert isinstance(one.kind, Attributes)
    kind = Attributes(one.kind.schema)
    other = Broker.restore(snapshot, kind, one.policy)
    assert json.loads(json.dumps(other.snapshot())) == snapshot
    delivered = 0
    for number, event in enumerate(events, start=1):
        found = one.handle("eve", Publish(number, event))
        assert other.handle("eve", Publish(number, event)) == found
        delivered += len(found)
    assert delivered >= 20
    batch = Batch(list(range(100, 140)), events)
    assert by_row(one.handle("eve", batch)) == by_row(other.handle("eve", batch))
    for number, text in enumerate(("symbol = 'S1'", "price < 5", "symbol = 'S1' AND price < 3")):
        added = Entry(1000 + number, kind.parse(text))
        change = Change(102 + number, (added,), (), (6 + number * 2,))
        assert other.handle("ann", change) == one.handle("ann", change)
    assert json.loads(json.dumps(other.snapshot())) == json.loads(json.dumps(one.snapshot()))


def known(broker: Broker) -> list[bool]:
    """Of which filters a broker knows what they mean."""
    filters = broker.routing.wanted.of("ann").values()
    return [f.filter.known_form is not None for f in filters if isinstance(f, AttributeFilter)]


def test_what_filters_mean_can_be_worked_out_little_by_little_and_changes_nothing() -> None:
    kind, text = Attributes(), "symbol = :s AND price < :p"
    broker = Broker("a", kind)
    for link, client in (("ann", True), ("b", False)):
        broker.handle(link, LinkUp(client))
    wanted = kind.parse_many(text, {"s": ["A", "B"] * 10, "p": [*range(20)]})
    broker.handle("ann", Change(1, tuple(Entry(own, f) for own, f in enumerate(wanted))))
    snapshot = json.loads(json.dumps(broker.snapshot()))
    restored = Broker.restore(snapshot, kind)
    assert not any(known(restored))
    steps = restored.ripening()
    for _ in range(3):
        next(steps)
    assert sum(known(restored)) == 3
    restored.handle("ann", Change(2, remove=(5,)))
    assert sum(1 for _ in steps) == 17
    assert all(known(restored))
    broker.handle("ann", Change(2, remove=(5,)))
    more = Change(3, (Entry(99, kind.parse(text, s="B", p=50)),))
    assert restored.handle("ann", more) == broker.handle("ann", more)
    assert restored.snapshot() == broker.snapshot()


@pytest.mark.parametrize("policy", ["simple", "flood"])
def test_a_broker_that_compares_nothing_has_nothing_to_work_out(policy: str) -> None:
    kind = Attributes()
    broker = Broker("a", kind, Choice(policy))
    broker.handle("ann", LinkUp(client=True))
    broker.handle("ann", Change(1, (Entry(1, kind.parse("price < 5")),)))
    assert not list(Broker.restore(broker.snapshot(), kind, Choice(policy)).ripening())

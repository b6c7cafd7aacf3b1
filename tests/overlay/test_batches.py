"""Events in batches: the same is done with each as if it had come alone, however they are cut."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.conftest import LONG
from tests.overlay.batched import Beside
from tests.overlay.histories import (
    ACTIONS,
    CHOICES,
    PARENTS,
    POOLS,
    Action,
    Pool,
    examples,
    pool,
    run,
    words,
)
from tidegate.overlay import attribute_index, events
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker
from tidegate.overlay.events import Events
from tidegate.overlay.fan_out import Found, in_order
from tidegate.overlay.link import Link
from tidegate.overlay.messages import (
    Batch,
    Change,
    DeliverRows,
    Effect,
    Entry,
    LinkUp,
    Publish,
    Refuse,
    RefuseRows,
    Send,
    SendRows,
)
from tidegate.overlay.pairs import Rows
from tidegate.overlay.rows import by_row, handed
from tidegate.overlay.table import Table

CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=4)


@pytest.fixture
def always_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no batch be too small to be routed, and matched, as one."""
    monkeypatch.setattr(events, "FEW_EVENTS", 0)
    monkeypatch.setattr(attribute_index, "MANY_EVENTS", 0)
    monkeypatch.setattr(attribute_index, "MANY_FILTERS", 2)


def publishing(actions: list[Action]) -> list[Action]:
    """The same history, in which whoever publishes goes on to publish."""
    found: list[Action] = []
    for action in actions:
        what, a, b, c = action
        found += [(what, a, b, c + i) for i in range(5)] if what == "publish" else [action]
    return found


def histories(
    source: Pool,
    policy: str,
    count: int,
    *,
    advertisements: bool,
    shadow: Any = Broker,
    together: bool = False,
) -> None:
    @settings(max_examples=count, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(parents=PARENTS, actions=ACTIONS, cuts=CUTS)
    def compare(parents: list[int], actions: list[Action], cuts: list[int]) -> None:
        make = partial(Beside, cuts=cuts, shadow=shadow, together=together)
        choice, told = CHOICES[policy], publishing(actions)
        world = run(source, choice, parents, told, advertisements=advertisements, make=make)
        for each in world.brokers.values():
            assert isinstance(each, Beside)
            each.check()

    compare()


@pytest.mark.usefixtures("always_together")
@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", POOLS)
@pytest.mark.parametrize("policy", CHOICES)
def test_every_history_has_the_same_effects(policy: str, kind: str, advertisements: bool) -> None:
    count = examples(kind, 500) if LONG else 1
    histories(pool(kind), policy, count, advertisements=advertisements)


@pytest.mark.usefixtures("always_together")
@pytest.mark.parametrize("advertisements", [False, True], ids=["open", "advertised"])
@pytest.mark.parametrize("kind", ["words", "attributes"])
def test_events_of_all_clients_together_have_the_same_effects(
    kind: str, advertisements: bool
) -> None:
    count = 200 if LONG else 3
    histories(pool(kind), "covering", count, advertisements=advertisements, together=True)


def test_batches_of_a_few_events_have_the_same_effects() -> None:
    histories(pool("attributes"), "covering", 20 if LONG else 2, advertisements=True)


class SendsBack(Events):
    """Sends events where they came from, too."""

    def _route_many(self, origin: Link, batch: Batch, rows: Rows) -> list[Effect]:
        effects = super()._route_many(origin, batch, rows)
        back = SendRows(origin.name, batch, np.array(rows, np.int32))
        return effects if origin.client else [*effects, back]


class SkipsTheLast(Events):
    """Does not route the last event of a batch."""

    def _route_many(self, origin: Link, batch: Batch, rows: Rows) -> list[Effect]:
        return super()._route_many(origin, batch, rows[:-1] if len(rows) > 1 else rows)


class Renumbers(Events):
    """Takes the rows of what was not refused for those of the batch."""

    def _route_many(self, origin: Link, batch: Batch, rows: Rows) -> list[Effect]:
        return super()._route_many(origin, batch, np.arange(len(rows), dtype=np.int32))


class KeepsNumbers(Events):
    """Looks up what was seen before it takes a batch, not between its events."""

    def _take(self, link: Link, publisher: str, number: int, *rest: Any) -> str | None:
        found = super()._take(link, publisher, number, *rest)
        if found is None:
            del self._seen[publisher]
        return found


class TakesAllForTheFirst(Events):
    """Takes the events of all clients for those of the first one."""

    def published_by(self, came: Batch) -> list[Effect]:
        return super().published_by(replace(came, links=[came.links[0]] * len(came.numbers)))


@pytest.mark.usefixtures("always_together")
def test_a_broker_that_is_wrong_about_whose_events_are_is_caught() -> None:
    class Wrong(Broker):
        _events_of = TakesAllForTheFirst

    with pytest.raises(AssertionError):
        histories(words(), "covering", 60, advertisements=False, shadow=Wrong, together=True)


@pytest.mark.usefixtures("always_together")
@pytest.mark.parametrize("mutant", [SendsBack, SkipsTheLast, Renumbers, KeepsNumbers])
def test_a_broker_that_is_wrong_about_batches_is_caught(mutant: type[Events]) -> None:
    class Wrong(Broker):
        _events_of = mutant

    with pytest.raises(AssertionError):
        histories(words(), "covering", 60, advertisements=mutant is Renumbers, shadow=Wrong)


@pytest.mark.usefixtures("always_together")
def test_a_table_that_forgets_who_asked_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number of the engine's stands for another entry than the one it was made for."""
    real = Table._columns

    def stale(self: Table, numbering: Any) -> Any:
        links, owns = real(self, numbering)
        return links, np.roll(owns, 1)

    monkeypatch.setattr(Table, "_columns", stale)
    with pytest.raises(AssertionError):
        histories(pool("attributes"), "covering", 60, advertisements=False)


def test_without_a_mutant_nothing_is_caught() -> None:
    histories(words(), "covering", 12, advertisements=True)


# -- by hand


def two(kind: Attributes) -> Broker:
    made = Broker("a", kind)
    for client in ("ann", "bob"):
        made.handle(client, LinkUp(client=True))
    entries = tuple(Entry(n, kind.parse(f"price < {10 * n}")) for n in (1, 2, 3))
    made.handle("ann", Change(1, add=entries))
    return made


def test_effects_name_rows_and_no_copies() -> None:
    made = two(Attributes())
    events = [{"price": price} for price in (5, 15, 99, 25)]
    (delivered,) = made.handle("bob", Batch([1, 2, 3, 4], events))
    assert isinstance(delivered, DeliverRows)
    assert delivered.rows.tolist() == [0, 1, 3]
    assert delivered.batch.events is events
    assert set(delivered.batch.publishers) == {"a/bob"}
    starts = delivered.starts.tolist()
    owns = [delivered.subscriptions[i:j].tolist() for i, j in pairwise(starts)]
    assert owns == [[1, 2, 3], [2, 3], [3]]


def test_what_is_refused_is_refused_by_row() -> None:
    made = two(Attributes())
    batch = Batch([1, 1, 2, 3], [{"price": 5}] * 3 + [{"price": object()}])
    refused, delivered = made.handle("bob", batch)
    assert isinstance(refused, RefuseRows)
    assert list(refused.reasons) == [1, 3]
    assert refused.reasons[1] == "the number was used"
    assert isinstance(delivered, DeliverRows)
    assert delivered.rows.tolist() == [0, 2]


def test_sizes_that_are_known_are_not_measured() -> None:
    made = two(Attributes())
    (refused,) = made.handle("bob", Batch([1], [{"price": 5}], sizes=[2**20 + 1]))
    assert isinstance(refused, RefuseRows)
    assert "1,048,577 bytes" in refused.reasons[0]


@pytest.mark.parametrize(
    "batch",
    [
        Batch([1, 2], [{}]),
        Batch([1], [{}], sizes=[1, 2]),
        Batch([1], [{}], publishers=["a", "b"]),
        Batch([True], [{}]),
        Batch([-1], [{}]),
        Batch([1], [{}], publishers=[5]),  # type: ignore[list-item]
    ],
)
def test_a_batch_that_is_not_formed_as_one_is_refused(batch: Batch) -> None:
    (answer,) = two(Attributes()).handle("bob", batch)
    assert isinstance(answer, Send)
    assert not by_row([])


def test_a_batch_of_clients_is_of_those_that_are_up() -> None:
    made = two(Attributes())
    made.handle("b", LinkUp(client=False))
    events = [{"price": 5}, {"price": 15}]
    for links in (["bob", "eve"], ["bob", "b"], ["bob"]):
        (answer,) = made.handle("", Batch([1, 2], events, links=links))
        assert isinstance(answer, Send)
        assert isinstance(answer.message, Refuse)
    refused, delivered = made.handle(
        "", Batch([1, 1, 1], [*events, {"price": 25}], links=["bob", "ann", "bob"])
    )
    assert isinstance(refused, RefuseRows)
    assert (refused.link, refused.reasons) == ("bob", {2: "the number was used"})
    assert isinstance(delivered, DeliverRows)
    assert list(delivered.batch.publishers) == ["a/bob", "a/ann", "a/bob"]
    assert list(handed(delivered)) == [("ann", 0, (1, 2, 3)), ("ann", 1, (2, 3))]


def test_a_batch_of_a_neighbour_has_publishers() -> None:
    made = two(Attributes())
    made.handle("b", LinkUp(client=False))
    (answer,) = made.handle("b", Batch([1], [{"price": 5}]))
    assert isinstance(answer, Send)
    assert made.handle("b", Publish(1, {"price": 5}, "b/eve"))


@given(
    pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 400))),
    many=st.booleans(),
)
def test_goals_are_in_order(pairs: list[tuple[int, int, int]], many: bool) -> None:
    """Against sorting; with more than a few entries of one event and link, too."""
    drawn = {(0, 0, n) for n in range(80)} if many else set()
    chosen = list({*pairs, *drawn})
    links, rows, numbers = np.array(chosen or np.empty((0, 3)), np.int64).T
    found = Found(rows.astype(np.int32), links.astype(np.int32), numbers, numbers + 7)
    places = np.arange(10, 16, dtype=np.int32)
    goals = in_order(found, places, 4)
    bounds, starts, rows = goals.bounds.tolist(), goals.starts.tolist(), goals.rows.tolist()
    flat = [
        (link, rows[k], own)
        for link, first, last in zip(goals.links.tolist(), bounds, bounds[1:], strict=False)
        for k in range(first, last)
        for own in goals.owns[starts[k] : starts[k + 1]].tolist()
    ]
    assert flat == [(link, row + 10, number + 7) for link, row, number in sorted(chosen)]

"""Workloads of subscriptions that move, in a network: what is handed on is what is wanted."""

import importlib
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidegate.lab import reaction
from tidegate.lab.reaction import Run, react
from tidegate.lab.workloads.highway import Highway
from tidegate.lab.workloads.movement import Columns, Movement, columns
from tidegate.lab.workloads.trading import Trading
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.client import Client
from tidegate.overlay.strategy import STRATEGIES
from tidegate.simulate.cost import FREE, CostModel

MARKET = Trading(subscribers=30, portfolio=2, types=6)
REGION = Highway(across=3, down=2, sensors=4, cars=24)
SMALL: list[Movement] = [MARKET, REGION]


def path(edges: list[tuple[str, str]], start: str, end: str) -> list[str]:
    """The brokers between two, both included."""
    found = {start: [start]}
    while end not in found:
        for one, other in [*edges, *((b, a) for a, b in edges)]:
            if one in found and other not in found:
                found[other] = [*found[one], other]
    return found[end]


def test_the_market_is_that_of_the_paper() -> None:
    market = Trading()
    assert len(market.topology.names) == 20
    assert len(market.publishers) == 5
    assert len({mover.client for mover in market.movers}) == 150
    assert market.types == 200
    edges = [(edge.first, edge.second) for edge in market.topology.edges]
    for publisher in market.publishers:
        for broker in {mover.broker for mover in market.movers}:
            assert len(path(edges, publisher.broker, broker)) >= 3
    operators = Counter(mover.text.split()[-2] for mover in market.movers)
    for operator, share in {"<=": 0.35, ">=": 0.33, "=": 0.32}.items():
        assert operators[operator] / len(market.movers) == pytest.approx(share, abs=0.04)


def test_the_highway_is_that_of_the_paper() -> None:
    region = Highway()
    assert len(region.topology.names) == 20
    assert len(region.publishers) == 200
    assert Counter(each.broker for each in region.publishers) == dict.fromkeys(
        region.topology.names, 10
    )
    words = region.movers[0].text.split()
    assert Counter(x for x in words if x in (">=", "<=", "=")) == {">=": 2, "<=": 2, "=": 1}


@pytest.mark.parametrize("work", SMALL, ids=lambda work: work.name)
def test_arrays_say_what_filters_say(work: Movement) -> None:
    kind = Attributes(work.schema)
    published = work.events(100, 1)
    events = columns(published, work.schema)
    matched = 0
    for move in work.moves(20, 2):
        own = work.movers[move.mover]
        f = kind.parse(own.text, **own.fixed, **move.values)
        expected = [f.matches(each.event) for each in published]
        assert work.wanted(move.mover, move.values, events).tolist() == expected
        matched += sum(expected)
    assert matched


@pytest.mark.parametrize("work", SMALL, ids=lambda work: work.name)
def test_publishers_advertise_what_they_publish(work: Movement) -> None:
    kind = Attributes(work.schema)
    own = [kind.parse(publisher.advertises) for publisher in work.publishers]
    assert all(own[each.publisher].matches(each.event) for each in work.events(200, 1))


@pytest.mark.parametrize("work", [MARKET, REGION], ids=lambda work: work.name)
def test_a_workload_is_drawn_from_its_seed(work: Any) -> None:
    other = replace(work, seed=2)
    assert replace(work).moves(50, 1) == work.moves(50, 1)
    assert work.moves(50, 1) != other.moves(50, 1)
    assert [each.event for each in work.events(50, 1)] != [x.event for x in other.events(50, 1)]
    assert list(work.movers) != list(other.movers)


@pytest.mark.parametrize("index", ["boxes", "poset"])
@pytest.mark.parametrize("work", SMALL, ids=lambda work: work.name)
def test_every_strategy_hands_on_what_is_wanted(work: Movement, index: str) -> None:
    found = {
        strategy: react(work, strategy, index=index, rate=100, events=100, seconds=0.5)
        for strategy in STRATEGIES
    }
    assert {outcome.moves for outcome in found.values()} == {50}
    ours = found["parametric"]
    assert ours.answered > 0
    assert ours.delay >= 2 * reaction.LINK, "news of a move, or an event, takes a link at least"
    assert ours.messages <= found["subscribe first"].messages
    assert found["wildcard"].messages == 0
    assert found["wildcard"].spurious > found["cancel later"].spurious >= ours.spurious


def test_brokers_that_take_longer_carry_less() -> None:
    free = react(MARKET, rate=50, events=50, seconds=0.5, costs=FREE)
    assert free.throughput == free.control == 0  # nothing takes any time, so nothing is known
    slow, usual = (
        react(MARKET, rate=50, events=50, seconds=0.5, costs=CostModel(bytes=cost))
        for cost in (1_400, 140)
    )
    assert 0 < slow.throughput < usual.throughput
    assert slow.control > usual.control > 0


class Lax(Client):
    """Hands on what its broker delivers, whatever is wanted by now."""

    def receive(self, event: Any, entries: tuple[int, ...]) -> tuple[int, ...]:
        super().receive(event, entries)
        return tuple(dict.fromkeys(self._owners[entry] for entry in entries))


class Deaf(Client):
    """Does not tell of moves."""

    def _tell(self) -> None:
        if not self._subscriptions or any(x.entries == [] for x in self._subscriptions.values()):
            super()._tell()
        self._touched.clear()


@pytest.mark.parametrize("mutant", [Lax, Deaf])
def test_a_client_that_does_not_keep_to_it_is_found_out(
    mutant: type[Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegate.simulate.seat.Client", mutant)
    with pytest.raises(AssertionError):
        react(REGION, rate=200, events=200, seconds=0.5)


def test_an_event_that_is_lost_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Run._hand

    def forgets(run: Run, client: str, event: Any, owns: tuple[int, ...]) -> None:
        if event["number"] != 7:
            kept(run, client, event, owns)

    monkeypatch.setattr(Run, "_hand", forgets)
    with pytest.raises(AssertionError, match="has lost events"):
        react(MARKET, rate=10, events=50, seconds=0.5)


def test_cancelling_first_loses_events_that_were_always_wanted() -> None:
    found = react(MARKET, "cancel first", rate=400, events=400, seconds=0.5)
    assert found.lost > 0


@pytest.mark.slow
def test_the_benchmark_runs_and_checks_what_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    bench = importlib.import_module("bench.parametric")
    for index in ("boxes", "poset"):
        monkeypatch.setattr(bench, "EACH", 100)
        names = [figure.name for figure in bench.one_update(index, 600)]
        assert [name.rsplit(" that ")[-1] for name in names] == [
            "stands for others and becomes wider",
            "stands for others and becomes narrower",
            "is covered",
        ]
    figures = list(bench.network(REGION, "boxes", 10, 100.0, 0.3))
    assert [figure.name.rsplit(": ")[-1] for figure in figures] == [
        "delay",
        "spurious",
        "throughput",
    ]
    assert figures[-1].ours > 0
    assert sys.modules["bench.parametric"] is bench


def test_columns_are_the_events_in_order() -> None:
    events: Columns = columns(MARKET.events(10, 1), MARKET.schema)
    assert np.array_equal(events["number"], np.arange(10))

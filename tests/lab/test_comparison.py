"""Comparing policies: numbers beside those worked out by hand, probes, and losses that are seen."""

import tomllib
from collections.abc import Callable, Iterator
from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tidegate as tg
from tidegate.errors import ScenarioError, TidegateError
from tidegate.filters.filter import parse
from tidegate.lab.comparison import measures
from tidegate.lab.comparison.contestants import CONTESTANTS, PLAIN, Contestant, chosen
from tidegate.lab.comparison.measures import Comparison, compare
from tidegate.lab.comparison.probes import CLASSES, SCHEMA, handled, probes
from tidegate.lab.comparison.trial import Progress, Trial, trial
from tidegate.lab.workloads.rectangles import Rectangles, rectangles
from tidegate.lab.workloads.sources import DIMENSIONS, SOURCES
from tidegate.overlay.filter import Event
from tidegate.overlay.policy import Choice
from tidegate.overlay.policy.covering import Covering
from tidegate.overlay.policy.sources import Source
from tidegate.overlay.table import Table
from tidegate.simulate.scenario import Scenario, read

pytestmark = pytest.mark.slow

NOTHING = parse("price < 5 AND price > 9", SCHEMA)
SEED, SUBSCRIPTIONS, BROKERS = 3, 120, 4
SMALL = f"""
name = "small"
seed = {SEED}
[topology]
shape = "line"
brokers = {BROKERS}
[workload]
like = "rectangles"
subscribers = 8
subscriptions = {SUBSCRIPTIONS}
publishers = 2
rate = 20
warmup = 10
duration = 3
"""


def small(**changes: Any) -> Scenario:
    table = tomllib.loads(SMALL)
    for name, section in changes.items():
        table[name] = {**table.get(name, {}), **section} if isinstance(section, dict) else section
    return read(table, SOURCES)


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compare(small, chosen(["covering", "flood"]))


class Reckoned:
    """The same scenario worked out from arrays, without brokers or policies.

    The line is cut at each of its links: what stands on one side is told to the other one.
    """

    def __init__(self) -> None:
        network = small().run()
        published = sum(node.done.published for node in network.nodes.values())
        work = Rectangles(*rectangles(2 * SUBSCRIPTIONS, DIMENSIONS, seed=SEED))
        self.lows, self.highs = work.lows[:SUBSCRIPTIONS], work.highs[:SUBSCRIPTIONS]
        rows = {str(f): i for i, f in enumerate(work.filters()) if i < SUBSCRIPTIONS}
        self.at = np.zeros(SUBSCRIPTIONS, int)
        places: dict[str, int] = {}
        for node in network.nodes.values():
            for name, seat in node.seats.items():
                places[name] = node.number
                for f in seat.client.wanted.values():
                    self.at[rows[str(f)]] = node.number
        events = work.events(5_000, SEED).slice(published, published).to_pandas().to_numpy()
        self.held = ((self.lows[:, None] <= events) & (events <= self.highs[:, None])).all(
            axis=2
        )  # subscriptions, events
        parts = [(published + part) // 5 for part in range(5)]
        publishers = np.concatenate([np.arange(size) % 2 for size in parts])
        self.start = np.array([places["p0"], places["p1"]])[publishers]

    def sides(self) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """For each direction of each link: who is behind it, and which events come from before."""
        for cut in range(1, BROKERS):
            yield self.at < cut, self.start >= cut
            yield self.at >= cut, self.start < cut

    def covered(self, own: NDArray[np.bool_]) -> int:
        lows, highs = self.lows[own], self.highs[own]
        within = (lows[:, None] <= lows) & (highs[:, None] >= highs)
        inside = np.asarray(within.all(axis=2))  # whether the first covers the second
        np.fill_diagonal(inside, False)
        return int(inside.any(axis=0).sum())


@pytest.fixture(scope="module")
def reckoned() -> Reckoned:
    return Reckoned()


def test_tables_are_as_reckoned(compared: Comparison, reckoned: Reckoned) -> None:
    plain, covering, flood = compared.policies
    told = sum(int(behind.sum()) for behind, _ in reckoned.sides())
    left = told - sum(reckoned.covered(behind) for behind, _ in reckoned.sides())
    assert (plain.entries, plain.associations) == (told, told * 2 * DIMENSIONS)
    assert told == SUBSCRIPTIONS * (BROKERS - 1)
    assert (covering.entries, covering.associations) == (left, left * 2 * DIMENSIONS)
    assert left < told
    assert covering.applicability == pytest.approx(1 - left / told)
    assert (plain.applicability, flood.applicability) == (0, 1)
    assert (flood.entries, flood.associations, flood.bytes) == (0, 0, 0)


def test_events_travel_as_reckoned(compared: Comparison, reckoned: Reckoned) -> None:
    plain, covering, flood = compared.policies
    notifications = int(reckoned.held.sum())
    published = reckoned.held.shape[1]
    crossed = sum(
        int((reckoned.held[behind].any(axis=0) & before).sum())
        for behind, before in reckoned.sides()
    )
    assert notifications > 100
    assert compared.published == published
    assert [each.notifications for each in compared.policies] == [notifications] * 3
    assert plain.events == covering.events == pytest.approx(crossed / notifications)
    assert flood.events == pytest.approx(published * (BROKERS - 1) / notifications)
    assert (plain.vain, covering.vain) == (0, 0)
    # A broker matches what is published at it or forwarded to it.
    assert plain.matchings == pytest.approx(1 + crossed / published)
    assert flood.matchings == BROKERS
    assert flood.found == pytest.approx(notifications / published)


def test_a_cancellation_goes_as_far_as_reckoned(compared: Comparison) -> None:
    plain, covering, flood = compared.policies
    assert compared.cancellations == SUBSCRIPTIONS // 4
    # To each other broker once, and each answers.
    assert plain.deregistration.messages == 2 * (BROKERS - 1)
    assert 0 < covering.deregistration.messages < plain.deregistration.messages
    assert (flood.deregistration.messages, flood.deregistration.bytes) == (0, 0)


def test_counts_are_the_same_again_and_times_are_there(compared: Comparison) -> None:
    again = compare(small, chosen(["covering", "flood"]))
    assert counted(again) == counted(compared)
    for one in compared.policies:
        assert one.event_cpu > 0
        assert one.deregistration.cpu > 0


def counted(found: Comparison) -> list[list[Any]]:
    """What is no time of this machine, by policy."""
    names = ("applicability", "bytes", "state", "events", "event_bytes", "work")
    return [[getattr(each, name) for name in names] for each in found.policies]


def test_plain_forwarding_that_is_known_is_not_tried_again(
    compared: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = trial(small(), PLAIN)
    tried: list[str] = []

    def noted(scenario: Scenario, each: Contestant, progress: Progress) -> Trial:
        tried.append(each.name)
        return trial(scenario, each, progress)

    monkeypatch.setattr(measures, "trial", noted)
    again = compare(small, chosen(["covering", "flood"]), known=plain)
    assert tried == ["covering", "flood"]
    assert counted(again) == counted(compared)


def test_policies_are_compared_on_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the parts of patterns; what is pruned has fewer, and lets more documents travel."""
    monkeypatch.setattr(measures, "handled", lambda *_: None)  # which is about attributes
    news = {"like": "news", "subscribers": 4, "subscriptions": 24, "warmup": 1, "duration": 1}
    own = {"kind": "xml", "settings": {"learn": 5}, "policy": {"period": 1}, "workload": news}
    found = compare(lambda: small(**own), chosen(["covering", "covering + pruning"]))
    assert not found.losers
    plain, covering, pruned = found.policies
    assert plain.entries > covering.entries
    assert plain.associations > covering.associations > pruned.associations
    assert plain.events <= pruned.events


def test_progress_goes_from_policy_to_policy() -> None:
    told: list[tuple[str, float]] = []
    compare(small, chosen(["flood"]), lambda name, share: told.append((name, share)))
    assert list(dict.fromkeys(name for name, _ in told)) == ["simple", "flood"]
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] > 0.9


def _losing(self: Covering, change: Any, real: Callable[..., Any] = Covering.step) -> Any:
    """Forget every other filter."""
    change.add = {number: f for number, f in change.add.items() if number % 2}
    change.remove = [number for number in change.remove if number % 2]
    return real(self, change)


def _inventing(
    self: Table, event: Event, real: Callable[..., list[Source]] = Table.match
) -> list[Source]:
    """Everything that comes from clients matches."""
    found = real(self, event)
    return [*found, *(s for s, _ in self.by_age() if s[0].startswith("c") and s not in found)]


def test_a_policy_that_loses_events_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Covering, "step", _losing)
    found = compare(small, chosen(["covering"]))
    assert [each.policy for each in found.losers] == ["covering"]
    assert found.losers[0].losses.missed > 0


def test_a_policy_that_invents_deliveries_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "match", _inventing)
    assert trial(small(), PLAIN).losses.unwanted > 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"faults": [{"at": 1, "crash": "b1"}]}, "faults: events are lost"),
        ({"brokers": {"queue": 9}}, "brokers.queue: a full queue"),
        ({"brokers": {"check": "off"}}, "brokers.check: deliveries"),
        ({"costs": {"measured": True}}, "costs.measured: no two runs"),
        ({"workload": {"subscriptions": 0}}, "workload.subscriptions: there are none"),
        ({"workload": {"rate": 0}}, "workload.rate, workload.duration: there are no events"),
    ],
)
def test_scenarios_that_are_not_for_comparing_are_refused(
    changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ScenarioError, match=f"small is not for comparing. {said}"):
        compare(lambda: small(**changes), CONTESTANTS)


def test_a_policy_that_is_not_there_is_refused() -> None:
    with pytest.raises(TidegateError, match="there is no policy 'covers' to compare, but simple"):
        chosen(["covering", "covers"])


def test_contestants_have_names_of_their_own_and_are_asked_what_they_are_made_for() -> None:
    names = [each.name for each in CONTESTANTS]
    assert len(set(names)) == len(names)
    assert CONTESTANTS[0] is PLAIN
    assert all(each.relations for each in CONTESTANTS[1:])


@pytest.mark.parametrize("name", CLASSES)
def test_probes_stand_in_their_relation(name: str) -> None:
    """By the algebra, which has been tried by enumeration."""

    def read_all(relation: str) -> list[list[tg.Filter]]:
        return [[parse(text, SCHEMA) for text in each] for each in probes(name, relation)]

    for first, second in read_all("equal"):
        assert first == second
    for first, second in read_all("covered"):
        assert tg.covers(first, second)
        assert not tg.covers(second, first)
    for first, second, third in read_all("subsumed"):
        assert tg.subsumed(third, [first, second])
        assert not tg.covers(first, third)
        assert not tg.covers(second, third)
    for relation in ("adjacent", "near", "implied", "alike", "unrelated"):
        for filters in read_all(relation):
            assert not any(tg.covers(NOTHING, f) for f in filters)
            pairs = permutations(filters, 2)
            assert relation == "unrelated" or not any(tg.covers(f, g) for f, g in pairs)


def test_what_policies_can_do_something_with() -> None:
    everything = dict.fromkeys(CLASSES, 1.0)
    assert handled(Choice("covering"), ["covered"]) == everything
    assert handled(Choice("covering"), ["adjacent"]) == dict.fromkeys(CLASSES, 0.0)
    assert handled(Choice("simple"), ["equal", "covered"]) == dict.fromkeys(CLASSES, 0.0)
    assert handled(Choice("merging"), ["adjacent"]) == {**everything, "trees": 0.0}
    assert handled(Choice("simple"), []) is None


@pytest.mark.parametrize("name", SOURCES)
def test_sources_begin_anew_whenever_they_are_opened(name: str) -> None:
    source = SOURCES[name](5, 10)
    assert source.kind is not None
    first, second = source.open(source.kind), source.open(source.kind)
    random = Random(1)
    for _ in range(25):  # more than there are: they come again
        wish = first.wish(random)
        assert wish.filter == second.wish(random).filter
        event = first.event(random)
        assert event == second.event(random)
        assert source.kind.event_refusal(event) is None
        assert source.kind.filter_refusal(wish.filter) is None


def test_a_scenario_has_the_schema_of_its_source_and_none_beside_it() -> None:
    with pytest.raises(ScenarioError, match="the workload that is named has its own"):
        small(schema={"x0": "bigint"})
    with pytest.raises(ScenarioError, match=r"workload\.events: the workload rectangles"):
        small(workload={"events": {"x": 1}})

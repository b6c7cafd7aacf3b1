"""Scenarios: what a file may say, and that a run depends on nothing else."""

import copy
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests import ROOT
from tests.simulate.networks import check_quiet
from tidegate.errors import ScenarioError
from tidegate.simulate.counters import count
from tidegate.simulate.draws import draw_all, read_draws
from tidegate.simulate.scenario import load, read
from tidegate.simulate.section import Section

SCENARIOS = (ROOT / "docs" / "scenarios").glob("*.toml")
EXAMPLES = sorted(path for path in SCENARIOS if not path.stem.startswith(("compare", "peers")))
SMALL: dict[str, Any] = tomllib.loads(
    """
    name = "small"
    seed = 5
    [topology]
    shape = "random"
    brokers = 4
    [policy]
    name = "covering"
    [workload]
    like = "trade"
    subscribers = 6
    subscriptions = 30
    publishers = 2
    rate = 30
    updates = 10
    churn = 10
    warmup = 0.5
    duration = 1
    [[faults]]
    at = 0.8
    crash = "b1"
    [[faults]]
    at = 1.0
    restart = "b1"
    memory = false
    """
)


def changed(*changes: tuple[str, Any]) -> dict[str, Any]:
    """The small scenario with other values; None takes a key away."""
    table = copy.deepcopy(SMALL)
    for path, value in changes:
        *outer, key = path.split(".")
        inner = table
        for name in outer:
            inner = inner.setdefault(name, {})
        if value is None:
            del inner[key]
        else:
            inner[key] = value
    return table


def result(table: dict[str, Any]) -> str:
    scenario = read(table)
    return count(scenario.run(), scenario.name, scenario.seed).json()


def test_the_same_scenario_gives_the_same_bytes() -> None:
    assert result(SMALL) == result(copy.deepcopy(SMALL))


def test_another_seed_gives_another_result() -> None:
    assert result(SMALL) != result(changed(("seed", 6)))


def test_progress_is_told_and_changes_nothing() -> None:
    shares: list[float] = []
    scenario = read(SMALL)
    network = scenario.run(shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert count(network, scenario.name, scenario.seed).json() == result(SMALL)


def test_more_updates_do_not_make_other_events() -> None:
    few, many = (read(changed(("workload.updates", rate))).run() for rate in (0, 50))
    assert count(few).totals["published"] == count(many).totals["published"]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_and_end_quiet(path: Path) -> None:
    network = load(path).run()
    check_quiet(network)
    totals = count(network).totals
    assert totals["notifications"] > 100
    assert totals["duplicated"] == 0
    assert (totals["missed"] == 0) == (path.stem not in ("crash", "planetlab"))


@pytest.mark.parametrize(
    "changes",
    [
        [("topology", {"shape": "line", "brokers": 3})],
        [("topology", {"shape": "star", "brokers": 3})],
        [("topology", {"shape": "balanced", "depth": 1})],
        [
            (
                "topology",
                {"shape": "transit-stub", "domains": 1, "transits": 2, "stubs": 1, "size": 1},
            ),
            ("faults", []),
        ],
        [("workload.like", "quotes"), ("policy", {"name": "identity"})],
        [("settings.advertisements", True), ("workload.advertise", ["price > 0"])],
        [("links", {"delay": 0.001, "bandwidth": 1e5}), ("brokers", {"tick": 0, "check": "scan"})],
        [("costs", {"events": 5, "inserts": 0}), ("workload.place", "leaves")],
        [("faults", [{"at": 1, "cut": ["b0", "b1"]}, {"at": 1.1, "mend": ["b1", "b0"]}])],
        [("schema", {"price": "double", "symbol": "string", "venue": "string", "side": "string",
                     "volume": {"type": "bigint", "low": 0}})],
    ],
)  # fmt: skip
def test_what_a_scenario_may_say(changes: list[tuple[str, Any]]) -> None:
    network = read(changed(*changes)).run()
    assert count(network).totals["published"] > 0
    check_quiet(network)


def test_measured_costs_are_marked() -> None:
    scenario = read(changed(("costs", {"measured": True})))
    assert not count(scenario.run()).reproducible


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("topology.shape", "ring")], "topology.shape is 'ring'; one of line, star, balanced"),
        ([("topology.brokers", 0)], "topology.brokers is 0; a whole number of at least 1"),
        ([("topology.brokers", None)], "topology.brokers is missing"),
        ([("topology.broker", 3)], "there is no topology.broker, .*topology.brokers is meant"),
        ([("policy.name", "covers")], "policy.name is 'covers'; one of simple, identity"),
        ([("policy.imt", 0.5)], "policy: covering has no IMT"),
        ([("policy.size", 0)], "policy.size is 0; a whole number of at least 1"),
        ([("settings.advertisements", 1)], "settings.advertisements is 1; true or false"),
        ([("settings.advertisements", True)], "workload.advertise is missing"),
        ([("links.delay", "fast")], "links.delay is 'fast'; a number of at least 0"),
        ([("links.delay", float("nan"))], "links.delay is nan"),
        ([("brokers.check", "maybe")], "brokers.check is 'maybe'; one of scan, index, off"),
        ([("costs.events", -1)], "costs.events is -1"),
        ([("costs.thoughts", 1)], "there is no costs.thoughts, but measured, inserts"),
        ([("workload.rate", None)], "workload.rate is missing"),
        ([("workload.rate", True)], "workload.rate is True; a number"),
        ([("workload.like", "nothing")], "workload.like is 'nothing'; one of trade, quotes"),
        ([("workload.like", None)], "workload.filters is missing"),
        ([("workload.filters", [{"text": "a ="}])], r"workload.filters\[0\]: "),
        ([("workload.filters", [{"text": "a = :b"}])], r"workload.filters\[0\]: .*b"),
        ([("workload.filters", [{}])], r"workload.filters\[0\].text is missing"),
        ([("workload.filters", {"text": "a = 1"})], "workload.filters is .*a list of tables"),
        (
            [("workload.filters", [{"text": "a = 1", "moves": ["b"]}])],
            r"workload.filters\[0\].moves: b is no parameter",
        ),
        ([("workload.advertise", ["a = "])], "workload.advertise: "),
        ([("workload.advertise", "a = 1")], "workload.advertise is .*a list of strings"),
        ([("workload.events", 5)], "workload.events is 5; a table"),
        ([("workload.events", {"x": {}})], "workload.events.x is {}; a table with one of choice"),
        ([("workload.events", {"x": {"uniform": [1]}})], "x.uniform is .1.; two numbers"),
        ([("workload.events", {"x": {"choice": []}})], "x.choice is ..; a list of values"),
        ([("workload.events", {"x": {"integer": [2, 1]}})], "x.integer is .*two whole numbers"),
        ([("schema", {"x": "varint"})], "schema.x: "),
        ([("faults", [{"at": 1}])], r"faults\[0\] says one of crash, restart, die, cut, mend"),
        ([("faults", [{"at": 1, "crash": "b9"}])], "names the broker 'b9'; there are b0"),
        ([("faults", [{"at": 1, "cut": ["b0"]}])], r"faults\[0\].cut is .*two brokers"),
        ([("faults", [{"at": 1, "crash": "b1", "memory": True}])], r"no faults\[0\].memory"),
        ([("name", 7)], "name is 7; a string"),
        ([("topologie", {})], "there is no topologie, but .*topology is meant"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(changes: list[tuple[str, Any]], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        read(changed(*changes)).start()


def test_a_fault_at_a_link_that_is_none_is_named() -> None:
    line = ("topology", {"shape": "line", "brokers": 4})
    with pytest.raises(ScenarioError, match="between b0 and b2"):
        read(changed(line, ("faults", [{"at": 1, "cut": ["b0", "b2"]}]))).start()


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"a = ", "is not TOML"), (b"\xff", "is not UTF-8"), (None, "cannot be read")],
)
def test_files_that_cannot_be_read_are_named(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ScenarioError, match=said):
        load(path)


def test_another_policy_keeps_what_it_can() -> None:
    table = changed(("policy", {"name": "merging", "imt": 0.1, "size": 9}))
    scenario = read(table)
    other = scenario.with_policy("covering").policy
    assert (other.name, other.imt, other.size) == ("covering", 0.0, 9)


DRAWS: list[tuple[Any, Callable[[Any], bool]]] = [
    ("STOCK", lambda value: value == "STOCK"),
    ({"choice": ["a", "b"]}, lambda value: value in ("a", "b")),
    ({"name": "S", "count": 3, "skew": 1}, lambda value: value in ("S0", "S1", "S2")),
    ({"integer": [3, 5]}, lambda value: type(value) is int and 3 <= value <= 5),
    ({"uniform": [3, 5], "decimals": 1}, lambda value: 3 <= value == round(value, 1) <= 5),
    ({"normal": [100, 1]}, lambda value: 90 < value < 110),
    ({"integer": [1, 2], "above": "first"}, lambda value: value in (11, 12)),
]


@pytest.mark.parametrize(("spec", "holds"), DRAWS, ids=[str(spec) for spec, _ in DRAWS])
def test_what_is_drawn_is_what_was_said(spec: Any, holds: Callable[[Any], bool]) -> None:
    draws = read_draws(Section({"first": 10, "x": spec}))
    random = Random(1)
    drawn = [draw_all(draws, random)["x"] for _ in range(200)]
    assert all(map(holds, drawn))
    assert len(set(drawn)) > 1 or spec == "STOCK"


def test_a_skew_makes_the_first_the_most_frequent() -> None:
    draws = read_draws(Section({"x": {"name": "S", "count": 10, "skew": 1.5}}))
    random = Random(1)
    drawn = [draw_all(draws, random)["x"] for _ in range(1_000)]
    counts = [drawn.count(f"S{i}") for i in range(10)]
    assert counts[0] > counts[1] > counts[3] > counts[9]


def test_above_something_that_is_not_drawn_before_is_refused() -> None:
    draws = read_draws(Section({"x": {"integer": [1, 2], "above": "y"}}))
    with pytest.raises(ScenarioError, match=r"x\.above is 'y'; a name that stands before it"):
        draw_all(draws, Random(1))

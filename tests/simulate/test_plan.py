"""Scenarios that name every broker: parents and backups, or several paths; and how brokers fail."""

from pathlib import Path
from typing import Any

import pytest

from tests.simulate.parents import parents
from tidegate.errors import ScenarioError
from tidegate.overlay.upstream import Parents, Paths
from tidegate.simulate.counters import count
from tidegate.simulate.scenario import load, read

EXAMPLES = Path(__file__).parents[2] / "docs" / "scenarios"


def scenario(brokers: dict[str, Any], **more: Any) -> Any:
    workload = {"like": "quotes", "subscriptions": 4, "subscribers": 2, "rate": 1, "duration": 1}
    topology = {"shape": "given", "brokers": brokers}
    return read({"topology": topology, "workload": workload, **more})


def test_parents_and_backups() -> None:
    found = scenario(
        {
            "r": {},
            "a": {"parent": "r", "delay": 0.5},
            "b": {"parent": "r"},
            "c": {"parent": "a", "backups": ["b", "r"], "delays": {"b": 0.25}},
        }
    ).topology
    assert found.upstream["c"] == Parents("a", ("b", "r"))
    assert [edge.delay for edge in found.edges] == [0.5, None, None]
    assert [(x.first, x.second, x.delay) for x in found.spare] == [("b", "c", 0.25)]


def test_paths_to_one_root_and_to_several() -> None:
    one = scenario({"r": {}, "a": {"paths": ["r"]}, "b": {"paths": ["r", "a"]}}).topology
    assert one.upstream["b"] == Paths({"r": ("r", "a")}, {"r": ()})
    several = scenario(
        {"r": {}, "s": {}, "a": {"paths": {"r": ["r"], "s": ["s"]}, "delays": {"s": 0.125}}}
    ).topology
    assert several.upstream["s"] == Paths({"s": ()}, {"s": ("a",)})
    assert [edge.delay for edge in several.edges] == [None, 0.125]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "topology.brokers names no broker"),
    ({"a": {}, "b": {}}, "one broker has no parent, the root, not 2"),
    ({"a": {"parent": "b"}, "b": {"parent": "a"}}, "not 0"),
    ({"r": {}, "a": {"parent": "b"}, "b": {"parent": "a"}}, "the links form a circle"),
    ({"r": {}, "a": {"parent": "z"}}, "a link ends at 'z'"),
    ({"r": {}, "a": {"parent": "r", "backups": ["z"]}}, "there is no broker 'z'"),
    ({"r": {}, "a": {"parent": "r", "backup": ["r"]}}, "topology.brokers.a.backups is meant"),
    ({"r": {}, "a": {"paths": ["b"]}, "b": {"paths": ["a"]}}, "ways to r form a circle"),
    ({"r": {}, "s": {}, "a": {"paths": ["r"]}}, "a list for each of the roots, r, s, is allowed"),
]


@pytest.mark.parametrize(("brokers", "reason"), REFUSED)
def test_what_makes_no_sense_is_refused(brokers: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        scenario(brokers)


@pytest.mark.slow
def test_a_router_that_dies_is_replaced_by_backups() -> None:
    found = load(EXAMPLES / "planetlab.toml")
    net, end = found.start()
    net.run(end + 20)
    net.run()
    assert (parents(net)["b18"], parents(net)["b19"]) == ("b7", "b2")
    assert not net.nodes["b3"].broker.routing.wanted.of("b8")
    assert count(net).totals["duplicated"] == 0


@pytest.mark.parametrize("name", ["paths", "kept"])
def test_nothing_is_missed_where_failures_are_masked_or_events_kept(name: str) -> None:
    totals = count(load(EXAMPLES / f"{name}.toml").run()).totals
    assert (totals["missed"], totals["duplicated"]) == (0, 0)
    assert totals["owed"] > 300
    assert totals["lost"] > 0

"""Scenarios whose events are documents: named by their kind, charged by their size."""

from dataclasses import replace
from typing import Any

import pytest

from tidegate.errors import ScenarioError
from tidegate.lab.workloads.sources import SOURCES
from tidegate.simulate.cost import DOCUMENT, CostModel
from tidegate.simulate.counters import count
from tidegate.simulate.scenario import Scenario, read

NEWS: dict[str, Any] = {
    "kind": "xml",
    "topology": {"shape": "balanced", "depth": 2},
    "workload": {
        "subscribers": 6,
        "subscriptions": 40,
        "rate": 30,
        "duration": 1,
        "churn": 5,
        "like": "news",
    },
}
ROOMS: dict[str, Any] = {
    "kind": "xml",
    "topology": {"shape": "line", "brokers": 3},
    "namespaces": {"s": "urn:sensors"},
    "workload": {
        "subscribers": 4,
        "subscriptions": 20,
        "rate": 40,
        "duration": 1,
        "updates": 5,
        "filters": [
            {
                "text": "/s:room[@name = $name][degrees > $limit]",
                "moves": ["limit"],
                "parameters": {
                    "name": {"name": "room<", "count": 3},
                    "limit": {"integer": [20, 25]},
                },
            }
        ],
        "events": {
            "document": '<room xmlns="urn:sensors" name="{name}">'
            '<degrees xmlns="">{degrees}</degrees></room>',
            "name": {"name": "room<", "count": 3},
            "degrees": {"normal": [22, 4]},
        },
    },
}


def totals(scenario: Scenario) -> dict[str, Any]:
    return count(scenario.run(), scenario.name, scenario.seed).totals


@pytest.mark.parametrize("table", [NEWS, ROOMS], ids=["news", "rooms"])
@pytest.mark.parametrize("policy", ["simple", "covering", "subsumption", "flood"])
def test_nothing_is_missed_and_nothing_comes_twice(table: dict[str, Any], policy: str) -> None:
    found = totals(read({**table, "policy": {"name": policy}}, SOURCES))
    assert (found["missed"], found["duplicated"]) == (0, 0)
    assert found["notifications"] > 20


def test_a_document_is_charged_by_its_size() -> None:
    scenario = read(NEWS, SOURCES)
    assert scenario.costs.content == DOCUMENT
    assert read({**NEWS, "costs": {"content": 7}}, SOURCES).costs.content == 7
    dear = replace(scenario, costs=CostModel(content=100_000))
    busy = [sum(node.done.busy for node in s.run().nodes.values()) for s in (scenario, dear)]
    assert busy[1] > 2 * busy[0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "words"}, "kind"),
        ({"schema": {"price": "double"}}, "patterns on documents have none"),
        ({"kind": "attributes"}, "namespaces are for patterns"),
        ({"workload": {**ROOMS["workload"], "events": {}}}, "document"),
        ({"workload": {**ROOMS["workload"], "events": {"document": "<a>{b}</a>"}}}, "names b"),
        ({"workload": {**ROOMS["workload"], "filters": [{"text": "a/b"}]}}, "begins nowhere"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason):
        read({**ROOMS, **change}, SOURCES).start()


def test_a_workload_of_another_kind_is_refused() -> None:
    with pytest.raises(ScenarioError, match='kind = "xml"'):
        read({**NEWS, "kind": "attributes"}, SOURCES)


@pytest.mark.slow
@pytest.mark.parametrize("table", [NEWS, ROOMS], ids=["news", "rooms"])
@pytest.mark.parametrize(
    "policy",
    [
        {"name": "covering", "prune": "both", "share": 0.5, "period": 1},
        {"name": "simple", "prune": "after", "agreed": True, "period": 2},
        {"name": "merging", "by": "pruning", "imt": 0.3, "size": 1, "period": 1},
        {"name": "replacement", "share": 1.0, "period": 1},
    ],
    ids=lambda policy: policy["name"],
)
def test_patterns_are_pruned_by_the_documents_that_came(
    table: dict[str, Any], policy: dict[str, Any]
) -> None:
    """Nothing is missed; and where no neighbour keeps pruning back, more documents travel."""
    workload = {**table["workload"], "duration": 3}
    table = {**table, "workload": workload, "settings": {"learn": 10}, "brokers": {"tick": 0.2}}
    found = totals(read({**table, "policy": policy}, SOURCES))
    assert (found["missed"], found["duplicated"]) == (0, 0)
    exact = totals(read({**table, "policy": {"name": policy["name"]}}, SOURCES))
    if "prune" in policy and "agreed" not in policy:
        assert found["vain"] > exact["vain"]
    assert found["vain"] >= exact["vain"]

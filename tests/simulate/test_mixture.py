"""Records and documents in one network: drawn by weight, and nothing of either is lost."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from tests.simulate.networks import check_quiet
from tests.simulate.test_documents import NEWS, ROOMS, totals
from tidegate.errors import ScenarioError
from tidegate.lab.workloads.sources import SOURCES
from tidegate.overlay.policy import NAMES
from tidegate.overlay.several import KindFilter, Several
from tidegate.simulate.cost import DOCUMENT, CostModel
from tidegate.simulate.scenario import read

PARTS = [
    {"kind": "attributes", "weight": 3, "like": "trade"},
    {"kind": "xml", **{key: ROOMS["workload"][key] for key in ("filters", "events")}},
]
BOTH: dict[str, Any] = {
    "kind": "attributes+xml",
    "topology": {"shape": "balanced", "depth": 2},
    "namespaces": {"s": "urn:sensors"},
    "workload": {
        **{key: value for key, value in NEWS["workload"].items() if key != "like"},
        "subscriptions": 80,
        "rate": 60,
        "updates": 20,
        "parts": PARTS,
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    table = copy.deepcopy(BOTH)
    *outer, key = path.split(".")
    inner: Any = table
    for name in outer:
        inner = inner[int(name)] if name.isdecimal() else inner.setdefault(name, {})
    inner[key] = value
    return table


@pytest.mark.parametrize("policy", [name for name in NAMES if name != "replacement"])
def test_nothing_is_missed_and_nothing_comes_twice(policy: str) -> None:
    scenario = read(changed("policy.name", policy), SOURCES)
    network = scenario.run()
    check_quiet(network)
    found = totals(scenario)
    assert (found["missed"], found["duplicated"]) == (0, 0)
    assert found["notifications"] > 50


def test_parts_are_drawn_by_their_weights_and_keep_their_kind() -> None:
    scenario = read(BOTH, SOURCES)
    assert isinstance(scenario.kind, Several)
    network = scenario.run()
    wanted = [f for client in network.clients.values() for f in client.wanted.values()]
    kinds = [f.kind for f in wanted if isinstance(f, KindFilter)]
    assert len(kinds) == 80
    assert 0.6 < kinds.count("attributes") / len(kinds) < 0.9


@pytest.mark.parametrize("like", ["exchange", "news"])
def test_a_part_may_be_a_workload_of_the_lab_and_changes_its_mind(like: str) -> None:
    kind = "xml" if like == "news" else "attributes"
    table = changed("workload.parts", [{"kind": kind, "like": like}, PARTS[kind == "attributes"]])
    if like == "news":
        del table["namespaces"]
    found = totals(read(table, SOURCES))
    assert (found["missed"], found["duplicated"]) == (0, 0)


def test_documents_are_charged_by_their_size_and_records_are_not() -> None:
    scenario = read(BOTH, SOURCES)
    assert scenario.costs.content == DOCUMENT
    only = {
        kind: read(changed("workload.parts", [part]), SOURCES)
        for kind, part in zip(("records", "documents"), PARTS, strict=True)
    }
    for kind, one in only.items():
        free, dear = (
            sum(
                node.done.busy
                for node in replace(one, costs=CostModel(content=content)).run().nodes.values()
            )
            for content in (0, 100_000)
        )
        assert (free < dear) == (kind == "documents")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("kind", "attributes+json", "one of attributes, xml, attributes.xml is allowed"),
        ("workload.parts", [], "workload.parts is missing"),
        ("workload.parts.0.weight", -1, r"workload.parts\[0\].weight is -1"),
        ("workload.parts", [{**PARTS[0], "weight": 0}], "has no weight"),
        ("workload.parts.1.kind", "attributes+xml", "one of attributes, xml is allowed"),
        ("workload.parts.0.kind", "xml", "document is missing"),
        ("workload.parts.0.colour", 1, r"there is no workload.parts\[0\].colour"),
        ("workload.like", "trade", "there is no workload.like"),
        (
            "workload.parts",
            [PARTS[0], {"kind": "xml", "like": "news"}],
            "there is namespaces; a part of the workload has its own",
        ),
        (
            "workload.parts",
            [{"kind": "attributes", "like": "exchange"}, {"kind": "attributes", "like": "books"}],
            "two are of the kind attributes",
        ),
        ("workload.parts", [{"kind": "xml", "like": "books"}], "is of another kind: kind = .attr"),
    ],
)
def test_what_is_wrong_is_named(path: str, value: Any, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        read(changed(path, value), SOURCES).start()

"""Scenarios of peers: what is read, what is refused, what comes of them."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from tests import ROOT
from tidegate.cli import app
from tidegate.errors import ScenarioError
from tidegate.lab.workloads.sources import SOURCES
from tidegate.peers.scenario import load, read

FOLDER = ROOT / "docs" / "scenarios"
ANN = {"name": "ann", "filter": "x < 9"}


def test_the_same_scenario_comes_out_the_same_and_nothing_is_missed() -> None:
    first, second = (load(FOLDER / "peers-quotes.toml").run() for _ in range(2))
    assert first.json() == second.json()
    assert (first.peers, first.missed, first.delivered) == (6, 0, first.wanted)


def test_peers_and_events_may_be_drawn_and_some_may_go() -> None:
    table = {
        "kind": "attributes",
        "together": True,
        "links": {"delay": 0.5, "loss": 0.05},
        "tree": {"join": "adaptive", "adaptive_rate": 0.5},
        "workload": {"like": "rectangles", "peers": 24, "events": 6},
        "churn": {"leaves": 2, "full_leaves": 2, "failures": 2},
    }
    outcome = read(table, SOURCES).run()
    assert outcome.peers == 18
    assert outcome.events == 6
    assert outcome.missed == 0
    assert outcome.delivered == outcome.wanted


def test_peers_may_choose_those_that_are_nearest() -> None:
    table = {
        "overlay": "similarity",
        "measure": "shared",
        "near": {"near": 2, "random": 1, "rho": 0.5},
        "workload": {"like": "rectangles", "peers": 16, "events": 6},
        "churn": {"leaves": 1, "full_leaves": 1, "failures": 1},
    }
    outcome = read(table, SOURCES).run()
    assert outcome.peers == 13
    assert (outcome.tops, outcome.depth) == (0, 0)
    assert outcome.delivered + outcome.missed == outcome.wanted
    assert outcome.mean_degree >= 3
    assert len(list(ElementTree.fromstring(outcome.picture()))) > 2 * 13


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "there are no peers"),
        ({"overlay": "ring", "peers": [ANN]}, "overlay is 'ring'; one of"),
        ({"peers": [ANN, ANN]}, "peers.1.: there is a peer 'ann' already"),
        ({"peers": [{"name": "ann", "filter": "x <"}]}, "peers.0..filter"),
        ({"peers": [ANN], "workload": {"like": "news"}}, "write down one of them"),
        ({"peers": [ANN], "tree": {"join": "slow"}}, "tree.join is 'slow'; one of full"),
        ({"peers": [ANN], "tree": {"degree": 1, "root_share": 2}}, "tree: the root of an"),
        ({"peers": [ANN], "tree": {"depth": 1}}, "there is no tree.depth"),
        ({"peers": [ANN], "overlay": "similarity", "near": {"near": 0, "random": 0}}, "near: a p"),
        ({"peers": [ANN], "measure": "far"}, "measure is 'far'; one of given"),
        ({"peers": [ANN], "links": {"loss": 1}}, "links.loss is 1"),
        ({"peers": [ANN], "events": [{"event": 7}]}, "events.0."),
        ({"peers": [ANN], "events": [{"publisher": "bob", "event": {}}]}, "publisher is 'bob'"),
        ({"peers": [ANN], "churn": {"leaves": -1}}, "churn.leaves is -1"),
        ({"peers": [ANN], "peer": 1}, "there is no peer, but"),
    ],
)
def test_what_is_wrong_is_refused_by_name(table: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        read(table, SOURCES)


def test_the_command_prints_writes_and_draws(tmp_path: Path) -> None:
    counters, drawing = tmp_path / "counters.json", tmp_path / "tree.svg"
    scenario = str(FOLDER / "peers-quotes.toml")
    said = CliRunner().invoke(
        app, ["peers", scenario, "--out", str(counters), "--picture", str(drawing)]
    )
    assert said.exit_code == 0
    assert "deliveries" in said.output
    assert json.loads(counters.read_text())["peers"] == 6
    texts = [each.text for each in ElementTree.parse(drawing).iter() if each.text]
    assert {"root", "all", "cheap", "ibm10"} <= set(texts)


def test_the_command_refuses_what_cannot_be_read(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("= 1")
    for path in (bad, tmp_path / "none.toml"):
        assert CliRunner().invoke(app, ["peers", str(path)]).exit_code == 2

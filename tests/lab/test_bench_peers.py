"""The benchmark of peers, at a size that says nothing: it runs, and judges as it says."""

import pytest

from bench import peers, peers_beside_brokers
from bench.peers_claims import Results, claims


def test_it_measures_trees_graphs_and_brokers_and_judges_each_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"TREES": (30, 60), "GRAPHS": (30, 60), "DOCUMENTS": 12, "HISTORY": 30,
                        "PROBES": 8, "PATTERNS": 4, "NEAR": (5, 10)}.items():  # fmt: skip
        monkeypatch.setattr(peers, name, value)
    monkeypatch.setattr(peers_beside_brokers, "PEERS", 40)
    monkeypatch.setattr(peers, "definitions", dict)
    figures = {figure.name: figure for figure in peers.run()}
    assert figures["peers: full tree of 60: false positives, T=22"].baseline is not None
    assert figures["peers: messages beside brokers"].ours > 0
    judged = [figure for name, figure in figures.items() if name.startswith("claim ")]
    assert len(judged) == 23
    assert all(figure.note.split(" ")[0] in ("held", "partly", "not") for figure in judged)


def test_a_claim_is_held_partly_held_or_not() -> None:
    results = Results()
    for join in ("full", "adaptive", "basic"):
        for size in (1, 2):
            for tags, vain in ((22, 0.05), (108, 0.06)):
                results.tree_vain[join, size, tags] = vain
                results.uninterested[join, size, tags] = 0.75 if tags == 22 else 0.9
            results.tree_mean[join, size] = 20.0
            results.tree_largest[join, size] = 50
            results.joining[join, size] = results.leaving[join, size] = 0.1
        results.after_leaves[join, 0.5] = results.mended[join] = 0.05
    for near in (5, 10):
        for size in (1, 2):
            for what in ("mean", "largest", "standard deviation of"):
                results.degrees[near, size, what] = 10.0, 10.0
            for tags in (22, 58):
                for rho in (0.0, 0.5, 1.0):
                    results.graph[near, size, tags, rho] = 0.2, 0.01
    notes = {f.name.split(":")[0]: f.note.split(" ")[0] for f in claims(results)}
    assert notes["claim fig9.1"] == "held"
    assert notes["claim fig9.2"] == "held"
    assert notes["claim p2p-3"] == "partly"
    assert notes["claim fig9.5"] == "not"
    assert notes["claim tab9.4"] == "held"

"""The benchmark of peers, at a size that says nothing: it runs, and judges as the lab does."""

import dataclasses

import pytest

from bench import peers, peers_beside_brokers
from tidegate.lab.experiments.experiment import Experiment, Size, grid
from tidegate.lab.experiments.xnet_graphs import GRAPHS
from tidegate.lab.experiments.xnet_trees import JOINS, LEAVES, TREES


def reduced(experiment: Experiment, size: Size) -> Experiment:
    return dataclasses.replace(experiment, sizes={"small": size})


@pytest.mark.slow
def test_it_measures_trees_graphs_and_brokers_and_judges_each_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    experiments = (
        reduced(TREES, Size(grid(documents=[12], probes=[8], join=JOINS, peers=[30, 60]))),
        reduced(LEAVES, Size(grid(documents=[12], join=JOINS, peers=[60]))),
        reduced(GRAPHS, Size(grid(documents=[12], peers=[30, 1_000], near=[5, 10]))),
    )
    monkeypatch.setattr(peers, "SCALE", "small")
    monkeypatch.setattr(peers, "EXPERIMENTS", experiments)
    monkeypatch.setattr(peers_beside_brokers, "PEERS", 40)
    monkeypatch.setattr(peers, "definitions", dict)
    figures = {figure.name: figure for figure in peers.run()}
    assert figures["xnet-trees at join full, peers 60: vain_22"].ours > 0
    assert figures["xnet-graphs at peers 1000, near 10: mean"].baseline == 17.49
    assert figures["xnet-graphs at peers 30, near 10: mean"].baseline is None
    assert figures["peers: messages beside brokers"].ours > 0
    judged = [figure for name, figure in figures.items() if name.startswith("claim ")]
    assert len(judged) == 23
    for figure in judged:
        assert figure.note.split(":")[0] in ("held", "partly", "not", "open")
        assert (figure.ours == 1) == figure.note.startswith("held")
    sixteen = next(figure for figure in judged if "16% at 20,000 peers" in figure.name)
    assert sixteen.note == "open: such a size was not run"

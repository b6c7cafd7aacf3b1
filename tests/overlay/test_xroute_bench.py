"""The benchmark of tables that count, on a small scale."""

import pytest

from bench import xroute, xroute_failures
from tests import ROOT
from tidegate.lab.experiments import planetlab
from tidegate.lab.experiments.xroute_overlay import Consumers, Overlay, fits_the_thesis
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.simulate.scenario import load


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("/a/b/c", True),
        ("//b/c", True),
        ("/a//c", True),
        ("/a/*/c", True),
        ("/a[b/c]/d/e", True),
        ("/a/b", False),
        ("//b", False),
        ("/a/b/*", False),
        ("/a[b]/c/d", False),
        ("/a[b/*]/c/d", False),
        ("/a/b/c[d/*]", False),
    ],
)
def test_patterns_end_in_a_name_that_is_deep_enough(text: str, fits: bool) -> None:
    assert fits_the_thesis(text) == fits


def test_a_small_run_counts_everyone_and_forwards_what_covering_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it asserts itself is in `messages`."""
    monkeypatch.setattr(xroute, "MESSAGES", 40)
    changes, size = xroute.messages()
    assert changes.baseline is not None
    assert changes.ours > changes.baseline > 0 < size.ours


def test_the_network_is_as_before_when_what_was_registered_is_cancelled() -> None:
    overlay, consumers = Overlay("xroute"), Consumers(seed=5)
    for _ in range(30):
        overlay.register(*consumers.draw())
    before, counted = overlay.tables(), overlay.counted()
    own, told = overlay.register_timed(0, consumers.draw()[1])
    assert told.seconds > 0
    assert (overlay.counted(), counted) == (31, 30)
    overlay.cancel(0, own)
    assert (overlay.tables(), overlay.counted()) == (before, counted)


def test_consumer_nodes_stand_beside_64_routers() -> None:
    overlay = Overlay("xroute")
    assert len(overlay.brokers) == 64 + len(overlay.homes) == 64 + 24
    for home in overlay.homes:
        assert len(overlay.brokers[home].routing.neighbours) == 1


def test_every_kind_of_registration_occurs_on_the_way() -> None:
    """Of one pattern: at a consumer node, at its neighbour at the same router, and again there."""
    overlay, f = Overlay("xroute"), Consumers(seed=5).draw()[1]
    routers = [overlay.brokers[home].routing.neighbours[0].name for home in overlay.homes]
    shared = next(router for router in routers if routers.count(router) > 1)
    one, other, *_ = (i for i, router in enumerate(routers) if router == shared)
    kinds = [
        [kind for kind, _ in overlay.register_timed(consumer, f)[1].kinds]
        for consumer in (one, other, other)
    ]
    assert set(kinds[0]) == {"new"}
    assert kinds[1] == ["new", "supplementary", *["duplicate"] * (len(kinds[0]) - 2)]
    assert kinds[2] == ["duplicate"] * len(kinds[0])


def test_failures_on_a_small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xroute_failures, "POPULATIONS", (20,))
    monkeypatch.setattr(xroute_failures, "CRASHES", (5,))
    monkeypatch.setattr(xroute_failures, "RECORDS", 3)
    monkeypatch.setattr(xroute_failures, "BURST", 2)
    monkeypatch.setattr(xroute_failures, "REGISTERED", 2)
    found = list(xroute_failures.run(Consumers(seed=6)))
    assert len(found) == 12
    assert all(figure.ours > 0 for figure in found)
    assert found[-1].baseline is not None


def test_the_tree_is_that_of_the_scenario_and_like_that_of_the_thesis() -> None:
    shape = planetlab.tree()
    scenario = load(ROOT / "docs" / "scenarios" / "planetlab.toml").topology
    ours, theirs = (
        {(edge.first, edge.second): round(edge.delay or 0, 6) for edge in each.edges}
        for each in (shape, scenario)
    )
    assert ours == theirs
    delays = [edge.delay or 0 for edge in shape.edges if (edge.first, edge.second) != planetlab.LAN]
    mean = sum(delays) / len(delays)
    deviation = (sum((x - mean) ** 2 for x in delays) / len(delays)) ** 0.5
    assert (round(mean, 4), round(deviation, 4)) == (0.0541, 0.0282)
    assert (max(delays), min(delays)) == (0.12367, 0.00847)
    assert len(shape.names) == 22
    assert len(planetlab.homes()) == 12
    assert planetlab.way("b21") == 178.93


def test_a_deployment_tells_how_long_links_and_brokers_take() -> None:
    deployed = planetlab.Deployment(Consumers(seed=6), 30)
    for took, links in (deployed.register(), deployed.cancel()):
        assert links < took < links + 20
    source = DocumentSource(news(), DocumentChoices(), seed=1)
    reached = [each for _ in range(5) for each in deployed.publish(source.draw())]
    assert reached
    assert all(links < took < links + 20 for took, links in reached)
    assert deployed.busiest() > 0

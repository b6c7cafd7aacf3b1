"""The figures about the papers' workloads are printed, at a small size."""

import pytest

from bench import papers_workloads


def test_every_workload_has_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers_workloads, "SUBSCRIPTIONS", 2_000)
    monkeypatch.setattr(papers_workloads, "FEWER", 1_000)
    monkeypatch.setattr(papers_workloads, "RECTANGLES", 100)
    monkeypatch.setattr(papers_workloads, "EVENTS", 50)
    found = list(papers_workloads.figures())
    assert len({figure.name for figure in found}) == len(found) == 4 + 2 * 3 + 2 * 3
    assert all(0 <= figure.ours < 1 for figure in found if figure.name.startswith("covered"))
    assert all(figure.ours > 0 for figure in found if figure.name.startswith("negative"))

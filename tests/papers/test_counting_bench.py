"""The benchmark of the counting table, too small for figures that mean anything."""

import gc

import pytest

from bench import papers_counting
from tidegate.papers.counting.counting_table import CountingTable


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # a tenth of a second for each figure
    sizes = {"SUBSCRIPTIONS": 200, "LEARNED": 50, "EVENTS": 30, "RELATED": 300, "ASKED": 30}
    for name, size in (sizes | {"CHECKED": 20}).items():
        monkeypatch.setattr(papers_counting, name, size)
    monkeypatch.setattr(papers_counting, "SHARES", (0.0, 0.5, 1.0))


def test_every_figure_is_measured() -> None:
    figures = list(papers_counting.figures())
    names = [figure.name for figure in figures]
    assert len(set(names)) == len(names) == 4 * (2 + len(papers_counting.SHARES)) + 3
    assert all(figure.ours > 0 for figure in figures)
    for name in ("class 1", "class 2", "class 3", "classes 1-3"):
        [whole] = [f for f in figures if f.name == f"counting, {name}: event, 100% pruned"]
        assert "100% of the relief" in whole.note


def test_a_table_that_loses_matches_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CountingTable.matching
    monkeypatch.setattr(CountingTable, "matching", lambda table, event: whole(table, event)[1:])
    with pytest.raises(AssertionError):
        list(papers_counting.figures())

"""The benchmark of decision diagrams, too small for figures that mean anything: it runs, and it
checks."""

import gc

import numpy as np
import pytest

from bench import papers_mbd, papers_merging, papers_missed
from tidegate.papers.mbd import MBD

SIZES = {"SUBSCRIPTIONS": 300, "FEWER": 200, "EVENTS": 20, "ASKED": 20, "ADVERTISED": 100}
FEW = {"FILTERS": 60, "SIMPLE": 200, "ASKED": 10}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # a tenth of a second for each figure
    monkeypatch.setattr(papers_merging, "FEW_THRESHOLDS", (0.0, 0.002))
    for part, sizes in ((papers_mbd, SIZES), (papers_merging, SIZES), (papers_missed, FEW)):
        for name in vars(part).keys() & sizes.keys():
            monkeypatch.setattr(part, name, sizes[name])


@pytest.mark.slow
def test_every_figure_is_measured() -> None:
    figures = list(papers_mbd.figures())
    names = [each.name for each in figures]
    assert len(set(names)) == len(names)
    for own in ("A", "B"):
        for stage in ("as they are", "covered", "merged perfectly", "merged imperfectly"):
            assert f"diagrams, set {own} {stage}: route" in names
        for left in ("by covering", "when merged perfectly", "when merged imperfectly"):
            assert f"diagrams, set {own}: left {left}" in names
        assert sum("in the order" in name and f"set {own}" in name for name in names) == 6
    assert sum("advertisements known" in name for name in names) == 2
    assert all(each.ours > 0 and each.note for each in figures)


def test_a_table_that_finds_too_much_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MBD, "match_numbers", lambda table, event: np.zeros(1, np.int64))
    with pytest.raises(AssertionError):
        list(papers_mbd.figures())


@pytest.mark.slow
def test_what_is_missed_is_counted() -> None:
    figures = {each.name: each for each in papers_missed.figures()}
    assert len(figures) == 9
    assert all(figures[f"{name}, set A: covers missed"].ours == 0 for name in ("diagrams", "poset"))
    assert figures["counting, texts: covers missed"].ours > 0


def test_a_cover_that_is_claimed_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MBD, "containing", lambda table, f: list(table))
    with pytest.raises(AssertionError):
        list(papers_missed.figures())

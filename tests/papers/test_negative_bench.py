"""The benchmark of the negative space, too small for figures that mean anything."""

import gc

import pytest

from bench import papers_negative
from tidegate.papers.negative import ApproximateNegativeSpace


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # a tenth of a second for each figure
    for name, size in {"SUBSCRIPTIONS": 80, "CANCELLING": 40, "WARMING": 50}.items():
        monkeypatch.setattr(papers_negative, name, size)


@pytest.mark.slow
def test_every_figure_is_measured() -> None:
    figures = list(papers_negative.figures())
    names = [each.name for each in figures]
    assert len(set(names)) == len(names)
    for dimensions in (2, 3, 4, 5):
        [exact] = [f for f in figures if f.name == f"negative space, {dimensions}D: boxes at the "
                   "end, exact"]  # fmt: skip
        assert exact.ours > 0
        assert "exact up to" not in exact.note
        for k in ("k = 10", "k = 50", "k = 100", "ζ(i) with k = 10", "k = 10 by benefit"):
            assert f"negative space, {dimensions}D: found beyond covering, {k}" in names
    assert sum("beside the box store's overlap query" in name for name in names) == 3


@pytest.mark.slow
def test_where_an_exact_space_stops_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers_negative, "LIMIT", 100_000)
    monkeypatch.setattr(papers_negative, "DIMENSIONS", (5,))
    with pytest.warns(match="has met its limit"):
        figures = list(papers_negative.figures())
    assert "exact up to" in figures[0].note


def test_a_space_that_is_too_small_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApproximateNegativeSpace, "subsumes", lambda space, f: True)
    with pytest.raises(AssertionError):
        list(papers_negative.figures())


def test_a_box_lost_in_the_store_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    add = papers_negative.StoredBoxes._add

    def forgetful(boxes: papers_negative.StoredBoxes, box: list[int]) -> None:
        if boxes.count != 3:
            add(boxes, box)

    monkeypatch.setattr(papers_negative.StoredBoxes, "_add", forgetful)
    with pytest.raises(AssertionError):
        list(papers_negative.figures())

"""The benchmark of the poset, too small to say anything about speed: it runs, and it checks."""

import gc

import pytest

from bench import papers_poset
from tidegate.papers.poset import Poset


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda: 0)  # a tenth of a second for each figure
    for name, size in {"SIZES": (90,), "SAMPLE": 30, "EVENTS": 5}.items():
        monkeypatch.setattr(papers_poset, name, size)


def test_every_figure_is_measured() -> None:
    figures = list(papers_poset.figures())
    assert [each.name for each in figures] == [
        *(f"poset, trade, 90: {what}" for what in ("insert", "remove", "update", "match")),
        *(f"poset, nested, 90: {what}" for what in ("insert", "remove", "update", "match")),
    ]
    assert all(each.ours >= 0 and each.note for each in figures)


def test_a_poset_that_misses_a_filter_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Poset, "contained", lambda self, f: [])
    with pytest.raises(AssertionError):
        list(papers_poset.figures())

"""The benchmark of the poset, too small to say anything about speed: it runs, and it checks."""

import pytest

from bench import papers_poset
from tidegate.papers.poset import Poset


def test_every_figure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {"SIZES": (90,), "SAMPLE": 30, "EVENTS": 5, "TEXTS": 20}.items():
        monkeypatch.setattr(papers_poset, name, size)
    figures = list(papers_poset.figures())
    assert [each.name for each in figures] == [
        *(f"poset, trade, 90: {what}" for what in ("insert", "remove", "update", "match")),
        *(f"poset, nested, 90: {what}" for what in ("insert", "remove", "update", "match")),
        "poset, texts: covers missed",
    ]
    assert all(each.ours >= 0 and each.note for each in figures)


def test_a_poset_that_misses_a_filter_fails_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {"SIZES": (90,), "SAMPLE": 30, "EVENTS": 5, "TEXTS": 20}.items():
        monkeypatch.setattr(papers_poset, name, size)
    monkeypatch.setattr(Poset, "contained", lambda self, f: [])
    with pytest.raises(AssertionError):
        list(papers_poset.figures())

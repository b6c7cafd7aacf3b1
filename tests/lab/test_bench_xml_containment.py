"""The benchmark of containment runs, and compares its answers, at sizes that say nothing."""

import pytest

from bench import xml_containment
from tidegate.documents.meaning import pattern_of
from tidegate.documents.pattern import ANY
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.experiments.pattern_sets import unfolded


def test_every_figure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_containment, "SIZES", (50, 100))
    monkeypatch.setattr(xml_containment, "VARIED", 60)
    monkeypatch.setattr(xml_containment, "QUESTIONS", 10)
    figures = list(xml_containment.figures())
    assert len(figures) == 2 + 2 * 2 + 4
    assert all(figure.ours > 0 for figure in figures)
    assert figures[0].baseline is not None
    assert figures[0].ours < figures[0].baseline  # nodes are shared


def test_patterns_are_counted_as_in_the_thesis() -> None:
    raw = pattern_of(parse_xpath("/a//*[b]/c").expression)
    assert raw is not None
    node = unfolded(raw)
    (first,) = node.branches
    (ellipsis,) = first.node.branches
    (anything,) = ellipsis.node.branches
    assert (first.node.label, ellipsis.node.label, anything.node.label) == ("a", "//", ANY)
    assert node.size - 1 == 5

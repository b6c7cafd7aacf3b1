"""The benchmark of documents gives figures that were checked, at sizes that say nothing."""

from random import Random

import pytest

from bench import xml
from tidegate.documents.dtd import DTD
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.workloads.dtds import made_up
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_paths import PathChoices, PathSource


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> DTD:
    dtd = made_up(Random(6), 12)
    monkeypatch.setattr(xml, "news", lambda: dtd)
    for name, size in {"ROUNDS": 2, "FRESH": 1, "MANY": 1, "BESIDE": 30, "CHECKED": 20}.items():
        monkeypatch.setattr(xml, name, size)
    monkeypatch.setattr(xml, "CHECKED_DOCUMENTS", 4)
    monkeypatch.setattr(xml, "paths_500", lambda: xml.drawn(400))
    return dtd


def documents() -> list[bytes]:
    source = DocumentSource(made_up(Random(6), 12), DocumentChoices(tags=20), 3)
    return [source.draw().encode() for _ in range(12)]


def test_a_set_of_patterns_gives_its_multiple_of_a_bare_parse() -> None:
    drawn = xml.Workload("some", 1e9, lambda: xml.drawn(100, predicates=1, branches=1, within=1))
    seen, unseen = xml.matched(drawn, documents()[:6], documents()[6:])
    assert seen.met
    assert seen.ours > 1
    assert unseen.ours > 1


def test_an_aim_that_is_not_reached_is_missed() -> None:
    never = xml.Workload("some", 0.1, lambda: xml.drawn(10))
    assert not next(xml.matched(never, documents()[:6], documents()[6:])).met


def test_the_others_are_measured_on_the_same_answers() -> None:
    figures = [*xml.beside(documents()), *xml.changing(documents()), *xml.loading()]
    assert [figure.ours > 0 for figure in figures] == [True] * 6


def test_a_wrong_answer_is_noticed() -> None:
    texts = xml.drawn(50)
    index = xml.loaded(texts)
    texts[:] = ["/*"] * 50
    with pytest.raises(AssertionError):
        xml.check(index, texts, documents())


def test_paths_have_what_was_asked_for(small: DTD) -> None:
    for choices, predicates in ((PathChoices(), 0), (PathChoices(predicates=2, branches=1), 3)):
        source, again = PathSource(small, choices, 5), PathSource(small, choices, 5)
        texts = [source.draw() for _ in range(200)]
        assert texts == [again.draw() for _ in range(200)]
        assert max(text.count("[") for text in texts) == predicates
        for text in texts:
            parse_xpath(text)

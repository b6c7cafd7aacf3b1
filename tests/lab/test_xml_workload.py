"""Patterns and documents of XNet's experiments: fitted to what was printed, and seeded."""

from itertools import islice
from random import Random
from statistics import mean

from lxml import etree

from tidegate.lab.workloads.dtds import NITF, data_folder, made_up, news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource

AT_HAND = (data_folder() / NITF).exists()


def test_the_definition_of_nitf_has_as_many_elements_and_attributes_as_the_thesis_says() -> None:
    dtd = news()
    assert len(dtd.elements) == 123
    if AT_HAND:
        assert dtd.attribute_count == 513


def test_patterns_are_as_large_and_as_different_as_printed() -> None:
    dtd = news()
    source = PatternSource(dtd, PatternChoices(ellipsis=0.05), 1)
    drawn = list(islice(source.distinct(), 2_000))
    others = PatternSource(dtd, PatternChoices(), 2)
    texts = [others.draw().text for _ in range(10_000)]
    growth = len(set(texts)) / len(set(texts[:1_000]))
    assert len({each.text for each in drawn}) == 2_000
    if AT_HAND:
        assert abs(mean(each.nodes for each in drawn[:1_000]) / 7.6 - 1) < 0.1
        assert abs(mean(each.nodes for each in drawn) / 7.9 - 1) < 0.1
        assert abs(growth / (408 / 58) - 1) < 0.1
    assert growth > 2


def test_a_quarter_of_the_patterns_wants_a_document() -> None:
    dtd = news()
    patterns = PatternSource(dtd, PatternChoices(), 3)
    wanted = [etree.XPath(patterns.draw().text) for _ in range(400)]
    for tags in (22, 58, 108):
        source = DocumentSource(dtd, DocumentChoices(tags=tags), 4)
        documents = [etree.ElementTree(etree.fromstring(source.draw())) for _ in range(60)]
        share = mean(bool(each(document)) for document in documents for each in wanted)
        sizes = [sum(1 for _ in document.iter()) for document in documents]
        assert 0 < share < 1
        if AT_HAND:
            assert 0.2 < share < 0.3
            assert 0.5 * tags < mean(sizes) < 1.1 * tags


def test_documents_follow_their_definition_and_seeds_tell_them_apart() -> None:
    dtd = made_up(Random(8), 15)
    first = [DocumentSource(dtd, DocumentChoices(), seed).draw() for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]
    for seed in range(20):
        root = etree.fromstring(DocumentSource(dtd, DocumentChoices(), seed).draw())
        for element in root.iter():
            allowed = dtd.elements[element.tag].children
            assert all(child.tag in allowed for child in element)

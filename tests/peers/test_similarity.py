"""Expansions and Sim: the thesis's examples, the limits that are exact, and planted errors."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.documents.dtd import parse_dtd
from tidegate.documents.synopsis import Synopsis
from tidegate.documents.xpath import parse_xpath
from tidegate.errors import TidegateError
from tidegate.lab.experiments.thesis_texts import (
    CONFLICT,
    MEDIA,
    POSSIBLE,
    SIMILAR,
    expansion,
)
from tidegate.lab.workloads.dtds import made_up
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.patterns import Patterns
from tidegate.peers.expansion import Bounds, Possible, expand, size
from tidegate.peers.guide import Guide
from tidegate.peers.history import History
from tidegate.peers.opposition import Opposition
from tidegate.peers.proximity import Measure, Proximity
from tidegate.peers.similarity import Similarity, Weights

KIND = Patterns()


@pytest.mark.parametrize(("text", "expected"), SIMILAR.values(), ids=SIMILAR)
def test_the_examples_of_the_thesis(text: str, expected: float) -> None:
    guide = Guide(MEDIA, opposition=Opposition(MEDIA))
    similarity = Similarity(guide, weights=Weights(CONFLICT, POSSIBLE, unmatched=0.0))
    [pattern] = parse_xpath(text).patterns
    assert similarity.laid(pattern.root, expansion()) == pytest.approx(expected)


def test_without_opposition_the_last_example_is_as_the_one_before() -> None:
    similarity = Similarity(Guide(MEDIA), weights=Weights(CONFLICT, POSSIBLE, unmatched=0.0))
    [pattern] = parse_xpath("/media/DVD[Producer]/*/First").patterns
    assert similarity.laid(pattern.root, expansion()) == pytest.approx(1 / 4)


def labels(node: Possible) -> list[list[str]]:
    return [[each.label for each in alternatives] for alternatives in node.classes]


def test_an_expansion_has_what_may_be_there_and_leaves_out_what_excludes_it() -> None:
    guide = Guide(MEDIA, opposition=Opposition(MEDIA))
    root = expand(parse_xpath("/media/CD[Producer]/*/First").patterns[0], guide)
    assert root is not None
    cd = root.classes[0][0].classes[0][0]
    assert sorted(labels(cd)) == [["Author"], ["Producer"]]
    assert expand(parse_xpath("/media/DVD[Producer][Director]").patterns[0], guide) is None
    assert expand(parse_xpath("/media/DVD/Author").patterns[0], guide) is None
    twice = expand(parse_xpath("/media/DVD[Title = 'x'][Title = 'y']").patterns[0], guide)
    assert twice is not None  # the same element as far as names go


def test_an_ellipsis_is_one_class_and_ends_at_the_bounds() -> None:
    circle = parse_dtd("<!ELEMENT a (a*, b?)><!ELEMENT b EMPTY>")
    [pattern] = parse_xpath("//b").patterns
    for depth in (2, 5):
        root = expand(pattern, Guide(circle), Bounds(depth=depth, least=0))
        assert root is not None
        assert size(root) == 2 * (depth - 1)
        assert len(root.classes) == 1
        alternatives = root.classes[0][0].classes[0]
        assert sum(each.probability for each in alternatives) == pytest.approx(1)
    few = expand(pattern, Guide(circle), Bounds(depth=50, least=0.1))
    assert few is not None
    assert size(few) < 20


def test_by_a_synopsis_what_was_frequent_is_likely_and_what_was_not_seen_is_not_there() -> None:
    seen = Synopsis()
    for name in ("CD", "CD", "CD", "DVD"):
        seen.add(f"<media><{name}/></media>")
    for guide in (Guide(synopsis=seen), Guide(MEDIA, seen)):
        root = expand(parse_xpath("/media/*").patterns[0], guide)
        # a `*` without conditions below the root says nothing but that something is there
        similarity = Similarity(guide, weights=Weights(unmatched=0.0))
        assert root is not None
        given = similarity.given(KIND.parse("/media/*[. != 'x']"), KIND.parse("/media/CD"))
        assert given == pytest.approx(0.75)
        assert expand(parse_xpath("/media/Book").patterns[0], guide) is None


SEEDS = st.integers(0, 10**6)


@given(SEEDS)
def test_it_is_1_where_one_covers_the_other_0_where_they_exclude_each_other_and_between(
    seed: int,
) -> None:
    dtd = made_up(Random(seed), 12)
    patterns = PatternSource(dtd, PatternChoices(deepest=5), seed)
    documents = DocumentSource(dtd, DocumentChoices(), seed)
    seen = Synopsis()
    for _ in range(10):
        seen.add(documents.draw())
    filters = [KIND.parse(patterns.draw().text) for _ in range(6)]
    for guide in (Guide(dtd, seen, Opposition(dtd)), Guide(dtd), Guide(synopsis=seen)):
        similarity = Similarity(guide)
        for f in filters:
            assert similarity.of(f, f) == 1
            for g in filters:
                given = similarity.given(f, g)
                assert 0 <= given <= 1 + 1e-9
                if g.covers(f):
                    assert given == 1
                if not g.overlaps(f):
                    assert given == 0


def test_two_children_that_exclude_each_other_are_never_both_there() -> None:
    guide = Guide(MEDIA, opposition=Opposition(MEDIA))
    similarity = Similarity(guide)
    one, other = KIND.parse("/media/DVD/Producer"), KIND.parse("/media/DVD[Director][Producer]")
    assert similarity.given(one, other) == 0
    assert Similarity(Guide(MEDIA)).given(one, other) > 0


def test_the_measures_are_those_that_are_counted() -> None:
    """Where a synopsis knows all, estimates and counts agree."""
    documents = ["<m><cd/></m>", "<m><cd/></m>", "<m><cd/></m>", "<m><dvd/></m>"]
    seen, history = Synopsis(), History(KIND)
    for document in documents:
        seen.add(document)
        history.add(document)
    guide = Guide(synopsis=seen)
    any_medium, cd = KIND.parse("/m/*[. != 'x']"), KIND.parse("/m/cd[. != 'x']")
    for measure in Measure:
        estimated = Similarity(guide, measure, Weights(unmatched=0.0)).of(any_medium, cd)
        assert estimated == pytest.approx(Proximity(history, measure).of(any_medium, cd))


def test_what_does_not_make_sense_is_refused() -> None:
    with pytest.raises(TidegateError, match="from 0 to 1"):
        Weights(conflict=2)
    with pytest.raises(TidegateError, match="a guide knows"):
        Guide()
    price = Attributes().parse("price < 10")
    with pytest.raises(TidegateError, match="patterns on documents"):
        Similarity(Guide(MEDIA)).of(price, price)


def test_documents_that_break_the_dtd_and_filters_it_does_not_allow_do_no_harm() -> None:
    broken = Synopsis()
    broken.add("<media><vinyl><side/></vinyl><CD><CD/><Producer/><Interpreter/></CD></media>")
    broken.add("<other/>")
    filters = [
        KIND.parse(text)
        for text in (
            "/media/vinyl/side",
            "//CD[Producer][Interpreter]",
            "/other",
            "//x/@y",
            "/media",
        )
    ]
    for guide in (Guide(MEDIA, broken, Opposition(MEDIA)), Guide(synopsis=broken)):
        similarity = Similarity(guide)
        for f in filters:
            for g in filters:
                assert 0 <= similarity.of(f, g) <= 1
    seen = Similarity(Guide(synopsis=broken), weights=Weights(unmatched=0.0))
    assert seen.given(KIND.parse("/media"), KIND.parse("/media/vinyl")) == 1

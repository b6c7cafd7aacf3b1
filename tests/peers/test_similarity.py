"""Expansions and Sim: the thesis's examples, the limits that are exact, and planted errors."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.documents.dtd import parse_dtd
from tidegate.documents.pattern import ValueTest
from tidegate.documents.synopsis import Synopsis
from tidegate.documents.xpath import parse_xpath
from tidegate.errors import TidegateError
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

MEDIA = parse_dtd("""
    <!ELEMENT media ((Book,CD,DVD)*) >
    <!ELEMENT Book ((Author|Title)+) >
    <!ELEMENT Author ((First|Last)+) >
    <!ELEMENT CD (Author+,(Producer | Interpreter)?) >
    <!ELEMENT Interpreter ( (First|Last)+ , Instrument*) >
    <!ELEMENT DVD (Title?, Actor+ , (Producer | Director)?) >
    <!ELEMENT Actor ((First|Last)+,Role?) >
    <!ELEMENT Director ((First|Last)+) >
    <!ELEMENT First (#PCDATA)> <!ELEMENT Last (#PCDATA)> <!ELEMENT Title (#PCDATA)>
    <!ELEMENT Producer (#PCDATA)> <!ELEMENT Role (#PCDATA)> <!ELEMENT Instrument (#PCDATA)>
""")
KIND = Patterns()
GAMMA, EPSILON = 0.3, 0.2


def possible(
    path: str, probability: float, *classes: list[Possible], test: ValueTest | None = None
) -> Possible:
    names = tuple(path.strip("/").split("/"))
    return Possible(names[-1], names, probability, (test,) if test else (), list(classes))


def thesis_expansion() -> Possible:
    """Figure 8.3, by hand: it leaves out Book among the first `*`, which its own DTD allows."""
    bob, ab = ValueTest("=", "Bob"), ValueTest("starts-with", "AB")
    last = possible("/media/Book/Author/Last", 1.0, test=ValueTest("=", "Baudelaire"))
    book = possible("/media/Book", 1.0, [possible("/media/Book/Author", 1.0, [last])])

    def named(path: str, probability: float) -> Possible:
        return possible(path, probability, [possible(path + "/First", 1.0, test=bob)])

    cd = possible(
        "/media/CD",
        0.5,
        [possible("/media/CD/Producer", 1.0, test=ab)],
        [named("/media/CD/Author", 1.0)],
    )
    dvd = possible(
        "/media/DVD",
        0.5,
        [
            possible("/media/DVD/Producer", 0.5, test=ab),
            possible("/media/DVD/Title", 0.5, test=ab),
        ],
        [named("/media/DVD/Actor", 0.5), named("/media/DVD/Director", 0.5)],
    )
    media = possible("/media", 1.0, [book], [cd, dvd])
    return Possible("", (), 1.0, (), [[media]])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/media/DVD/Actor/First[starts-with(., 'B')]", 1 / 4),
        ("/media/DVD/Actor/First[. = 'Charles']", 0),
        ("/media[Book]/CD", 1 / 2),
        ("/media/*/Author", 1),
        ("/media/CD/Producer[. = 'AB Productions']", EPSILON / 2),
        ("/media[CD]/DVD", GAMMA / 4),
        ("/media/DVD[Title]/Director", 1 / 8),
        ("/media/DVD[Producer]/Director", 0),
        ("/media/DVD[Title]/*/First", 1 / 4),
        ("/media/DVD[Producer]/*/First", 1 / 8),
    ],
)
def test_the_examples_of_the_thesis(text: str, expected: float) -> None:
    guide = Guide(MEDIA, opposition=Opposition(MEDIA))
    similarity = Similarity(guide, weights=Weights(GAMMA, EPSILON, unmatched=0.0))
    [pattern] = parse_xpath(text).patterns
    assert similarity.laid(pattern.root, thesis_expansion()) == pytest.approx(expected)


def test_without_opposition_the_last_example_is_as_the_one_before() -> None:
    similarity = Similarity(Guide(MEDIA), weights=Weights(GAMMA, EPSILON, unmatched=0.0))
    [pattern] = parse_xpath("/media/DVD[Producer]/*/First").patterns
    assert similarity.laid(pattern.root, thesis_expansion()) == pytest.approx(1 / 4)


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

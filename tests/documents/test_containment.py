"""Containment is sound, and misses hardly anything: documents and canonical models decide."""

import os
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.documents.generate import NAMESPACES, Writer
from tests.documents.models import made_from
from tidegate.documents.containment import covers, overlaps
from tidegate.documents.evaluate import matches
from tidegate.documents.models import covers_exactly
from tidegate.documents.pattern import Pattern
from tidegate.documents.tree import read
from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.lab.workloads.dtds import made_up
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource

LONG = os.environ.get("TIDEGATE_LONG") == "1"


@given(st.integers(0, 2**32))
def test_what_covers_matches_all_documents_made_from_what_is_covered(seed: int) -> None:
    random = Random(seed)
    texts = [Writer(random, values=random.random() < 0.5).expression() for _ in range(14)]
    found = [parse_xpath(text, namespaces=NAMESPACES) for text in texts]
    for narrow in found:
        documents = [
            text
            for pattern in narrow.patterns
            for text in (made_from(pattern, random) for _ in range(4))
            if text is not None and narrow.matches(text)
        ]
        theirs = [etree.ElementTree(etree.fromstring(text)) for text in documents]
        for wide, text in zip(found, texts, strict=True):
            if wide.covers(narrow):
                for document in theirs:
                    assert document.xpath(f"boolean({text})", namespaces=NAMESPACES)
            if not wide.overlaps(narrow):
                assert not any(wide.matches(document) for document in documents)


@given(st.integers(0, 2**32))
def test_an_exact_yes_is_right_and_never_missing_where_the_quick_one_says_yes(seed: int) -> None:
    random = Random(seed)
    found = [
        pattern
        for _ in range(12)
        for pattern in parse_xpath(Writer(random).expression(), namespaces=NAMESPACES).patterns
    ]
    for narrow in found:
        made = [text for text in (made_from(narrow, random) for _ in range(4)) if text is not None]
        documents = [root for root in map(read, made) if matches(narrow, root)]
        for wide in found:
            exact = covers_exactly(wide, narrow, 500)
            assert not (covers(wide, narrow) and exact is False)
            if exact:
                assert all(matches(wide, document) for document in documents)


def missed(chance: float, rounds: int) -> tuple[int, int]:
    """How many true containments there are between small patterns, and how many are missed."""
    true = gone = 0
    for seed in range(rounds):
        choices = PatternChoices(
            deepest=5,
            least=2,
            ellipsis=chance,
            wildcard=chance,
            branching=chance,
            ellipsis_depth=5,
            stop=0.3,
        )
        source = PatternSource(made_up(Random(seed), 6), choices, seed)
        drawn = {each for _ in range(40) for each in parse_xpath(source.draw().text).patterns}
        for wide in drawn:
            for narrow in drawn - {wide}:
                quick = covers(wide, narrow)
                exact = quick or covers_exactly(wide, narrow, 20_000)
                true += exact is True  # some are too large to be decided
                gone += exact is True and not quick
    return true, gone


def test_less_than_one_containment_in_a_thousand_is_missed() -> None:
    true, gone = missed(0.1, 400 if LONG else 25)
    assert true > 1_000
    assert gone * 1_000 < true


def test_with_many_wildcards_and_branches_a_few_are_missed() -> None:
    true, gone = missed(0.4, 100 if LONG else 15)
    assert 0 < gone < true / 50


def one(text: str) -> Pattern:
    (pattern,) = parse_xpath(text).patterns
    return pattern


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("//a", "/b/a"),
        ("/*", "//a"),
        ("/b//a", "/b[*]//a"),
        ("//*/a", "/*//a"),
        ("/a/*", "/a//b"),
        ("/a[*]", "/a/b/@k"),
        ("/a/*[b]", "/a/c/b"),
        ("/a/*[.//d][.//e]", "/a/*/c[d]/e"),
        ("/a[.//b]//c", "/a/b/c"),
        ("/a//b/c", "/a//*/b/c"),
        ("/a[@k > 1]", "/a[@k = 5]"),
        ("/a[@k > 1]", "/a[@k = '5']"),
        ("/a[@k != 3]", "/a[@k > 3]"),
        ("/a[starts-with(@k, 'a')]", "/a[@k = 'abc']"),
        ("/a[contains(@k, 'b')]", "/a[starts-with(@k, 'abc')]"),
        ("/a/b", "/a/b[2]"),
        ("/a/b[2]", "/a/b[2][c]"),
        ("/a[text() = 'x']", "/a[text() = 'x'][text() = 'y']"),
        ("/a[b] | /a[c]", "/a[b or c]"),
        ("/a//@k", "/a/@k"),
        ("/a//@k", "/a/b/@k"),
        ("/a//text()", "/a/text()"),
    ],
)
def test_it_covers(wide: str, narrow: str) -> None:
    assert parse_xpath(wide).covers(parse_xpath(narrow))


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("/b/a", "//a"),
        ("/a/*", "/a/@k"),
        ("/a/*", "/a/text()"),
        ("/a/b[c][d]", "/a[b/c][b/d]"),
        ("/a[@k = '5']", "/a[@k = 5]"),
        ("/a[b > 1]", "/a[b > 0]"),
        ("/a[text() = 'x']", "/a[. = 'x']"),
        ("/a/b[1][c]", "/a/b[c]"),
        ("/a/b[2]", "/a/b[3]"),
        ("/a/*/b", "/a//b"),
        ("/a[b][c]", "/a[b or c]"),
        ("/a/*/@k", "/a//@k"),
    ],
)
def test_it_does_not_cover(wide: str, narrow: str) -> None:
    assert not parse_xpath(wide).covers(parse_xpath(narrow))


def test_the_known_case_that_only_the_models_decide() -> None:
    wide = one("/a[.//b[c/*//d][b/c]]")
    narrow = one("/a[.//b[c/*/d][b[c/*//d][b/c]]]")
    assert covers_exactly(wide, narrow) is True
    assert covers_exactly(one("/a[.//b[c/*/d][b/c]]"), one("/a//b[c//d][b/c]")) is False
    assert covers_exactly(one("/a//b"), one("//a" * 9), budget=100) is None


@pytest.mark.parametrize(
    ("one_text", "other_text", "expected"),
    [
        ("/a", "/b", False),
        ("/a", "//b", True),
        ("/a", "/*/b", True),
        ("/a[@k = 1]", "/a[@k = 2]", False),
        ("/a[@k = 1]", "/*[@k > 1]", False),
        ("/a[@k = 1]", "/a[@m = 2]", True),
        ("/a/b[@k = 1]", "/a/b[@k = 2]", True),
        ("/a[. = 'x']", "/a[. = 'y']", False),
        ("/a | /b", "/b | /c", True),
        ("/a | /b", "/c", False),
    ],
)
def test_overlaps(one_text: str, other_text: str, expected: bool) -> None:
    first, second = parse_xpath(one_text), parse_xpath(other_text)
    assert first.overlaps(second) == second.overlaps(first) == expected


def test_nothing_overlaps_nothing() -> None:
    nothing: XPath = parse_xpath("/a/@k[2]")
    assert nothing.patterns == ()
    assert not nothing.overlaps(nothing)
    assert not overlaps(one("/a"), one("/b"))

"""What is not in the language is refused at its place, with what to write instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import ROOT
from tests.documents.generate import NAMESPACES
from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.errors import FilterError, FilterSyntaxError


def refused() -> list[tuple[str, int, str]]:
    """The texts of the fixture, with the place and the reason."""
    lines = (ROOT / "tests" / "fixtures" / "xpath_refusals.txt").read_text("utf-8").splitlines()
    kept = [line for line in lines if line and not line.startswith("#")]
    found = []
    for text, mark in zip(kept[::2], kept[1::2], strict=True):
        place, _, reason = mark.partition("^ ")
        assert not place.strip(), mark
        found.append((text, len(place), reason))
    return found


@pytest.mark.parametrize(("text", "place", "reason"), refused())
def test_it_is_refused_with_place_and_reason(text: str, place: int, reason: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_xpath(text)
    assert reason in caught.value.reason
    assert caught.value.position == place
    assert caught.value.instead


def test_an_empty_expression_is_refused() -> None:
    for text in ("", " \n"):
        with pytest.raises(FilterSyntaxError, match="empty"):
            parse_xpath(text)


def test_a_refusal_shows_the_place() -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_xpath("//quote[price < 1e3]")
    assert str(caught.value).splitlines()[1:] == [
        "  //quote[price < 1e3]",
        "                  ^",
        "  write instead: 1000",
    ]


@pytest.mark.parametrize(
    ("number", "instead"),
    [("1e3", "1000"), ("1.5E2", "150"), ("1e-3", "0.001"), ("2nd", "2, and a space before what")],
)
def test_a_number_of_another_notation_is_written_out(number: str, instead: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_xpath(f"//quote[price < {number}]")
    assert str(caught.value.instead).startswith(instead)


@pytest.mark.parametrize(
    ("text", "place"),
    [("/" + "a" * 2**20, 2**20), ("/a | " * 9_000, 16_667), ("/a" + "[b]" * 2_000, 3_000)],
    ids=["characters", "words", "steps"],
)
def test_what_is_too_long_is_refused_where_it_becomes_so(text: str, place: int) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_xpath(text)
    assert caught.value.position is not None
    assert abs(caught.value.position - place) < 10
    assert caught.value.instead == "several subscriptions"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("/or/and[or and and or div]", "/or/and[or and and or div]"),
        (" / a [ b ] / @ k ", "/a[b]/@k"),
        ("/a['x'=b][2>@k]", "/a[b = 'x'][@k < 2]"),
        ("/a[./b][.//c][.]", "/a[b][.//c][.]"),
        ("/a[2][last()]", "/a[position() = 2][position() = last()]"),
        ("/a[2>position()]", "/a[position() < 2]"),
        ("/a[(b or c) and (d)]", "/a[(b or c) and d]"),
        ("/a[b or (c and d)]", "/a[b or c and d]"),
        ('/a[b="it\'s"]', '/a[b = "it\'s"]'),
        ("/a[b=-3][c=.5][d=5.]", "/a[b = -3][c = 0.5][d = 5]"),
        ("/body.content/a-b/_c/é", "/body.content/a-b/_c/é"),
        ("/text/text()", "/text/text()"),
        ("/ | /a", "/ | /a"),
        ("/a[contains(b/@c,'x')]", "/a[contains(b/@c, 'x')]"),
        ("/a[b=$x]", "/a[b = $x]"),
        ("/a[text()='x']", "/a[text() = 'x']"),
        ("/p:a/@p:k", "/p:a/@p:k"),
        (" ordered : /a[b][c] | //d", "ordered: /a[b][c] | //d"),
        ("ordered:/ordered[ordered]", "ordered: /ordered[ordered]"),
    ],
)
def test_it_is_read_and_printed(text: str, printed: str) -> None:
    f = parse_xpath(text, namespaces=NAMESPACES)
    assert str(f) == printed
    assert str(parse_xpath(printed, namespaces=NAMESPACES)) == printed


PIECES = ["/", "//", "a", "*", "@", "k", "[", "]", "(", ")", "and", "or", "=", "<", "1", "'x'", "."]
PIECES += ["text()", "position()", "last()", "|", "$x", "starts-with(", ",", " ", "-", "p:a", "::"]
PIECES += ["not(", "\x00", "é", '"', "'", "1e3", "!=", "..", "\ud800", "contains(", "]]", "{"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    f, error = attempt("/" + text)
    if f is not None:
        assert parse_xpath(str(f)).expression == f.expression
    else:
        assert error is not None
        assert str(error)
        assert error.position is not None
        assert 0 <= error.position <= len(text) + 1
        assert error.instead


@given(st.text())
def test_any_characters_are_read_or_refused(text: str) -> None:
    f, error = attempt(text)
    assert f is not None or str(error)


def attempt(text: str) -> tuple[XPath | None, FilterError | None]:
    try:
        return parse_xpath(text), None
    except FilterError as error:
        return None, error

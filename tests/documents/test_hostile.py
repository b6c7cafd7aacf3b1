"""Expressions that are meant to do harm are refused, or cost little."""

import pytest

from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.errors import DocumentError, FilterSyntaxError


@pytest.mark.parametrize(
    "text",
    [
        "/a" + "[b" * 10_000 + "]" * 10_000,
        "/a" + "[b" * 101 + "]" * 101,
        "/a" + "[(" * 10_000,
        "/a[" + "(" * 200 + "b" + ")" * 200 + "]",
        "//*" * 333_333,
        "//*" * 1_001,
        "/a" * 101,
        "/a[" + " or ".join(["b"] * 9_000) + "]",
        "/a" + "[b]" * 5_000,
        "/a | " * 1_001 + "/a",
        "x" * 2_000_000,
        "/a[b = '" + "x" * 2_000_000,
        "/a" + "[1]" * 200,
        "/a" + "[b[1]" * 60 + "]" * 60 + "[1]" * 30,
        "/a" + "[starts-with(b" * 40 + ", 'x')]" * 40,
        "/a[starts-with(" + "/".join(["b"] * 99) + ", 'x')]" + "[1]" * 50,
        "/" + "-" * 100_000,
        "/a[" + "-" * 100_000 + "1 = b]",
        "\x00",
        "/a[b='\x0b']",
        "/a[b='\ud800']",
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_it_is_refused(text: str) -> None:
    with pytest.raises(FilterSyntaxError):
        parse_xpath(text).patterns  # noqa: B018


@pytest.mark.parametrize(
    "text",
    [
        "/a" + "[b" * 99 + "]" * 99,
        "/a" * 100,
        "//a" * 100,
        "//*" * 100,
        "/a[" + "(" * 90 + "b" + ")" * 90 + "]",
        "/a" + "".join(f"[b{n}]" for n in range(990)),
        "/a" + "[b]" * 990,
        "/a" + "".join(f"[b/c{n}]" for n in range(490)),
        "/a[" + " or ".join(f"b{n}" for n in range(900)) + "]",
        "/a" + "".join(f"[b{n} or c{n}]" for n in range(400)),
        "/a" + "".join(f"[b{n} or c{n}]" for n in range(6)) + "/d" * 90,
        " | ".join("/a//b[c]/d" for _ in range(200)),
        "//a[.//b]" * 45 + "[1][2][3][4]",
        "/a[b = '" + "x" * 1_000_000 + "']",
        "/a" + "".join(f"[@k != {n}]" for n in range(900)),
        "/a" + "".join(f"[contains(@k, '{n}')]" for n in range(900)),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_it_is_taken_and_everything_can_be_asked_about_it(text: str) -> None:
    f = parse_xpath(text)
    others = [f, parse_xpath("//a//b"), parse_xpath("/a"), parse_xpath("//*[.//b][.//c]")]
    for other in others:
        f.covers(other)
        other.covers(f)
        f.overlaps(other)
    assert f.covers(f)
    assert hash(f) == hash(parse_xpath(text))
    assert isinstance(repr(f), str)
    f.matches("<a><b><c/></b></a>")
    again: XPath = parse_xpath("/a").__class__(f.expression)
    assert again == f


def test_a_pattern_against_a_deep_document() -> None:
    deep = "<a>" * 256 + "</a>" * 256
    assert parse_xpath("//a[.//a[.//a[.//a]]]").matches(deep)
    assert not parse_xpath("//a" * 9 + "/b").matches(deep)
    with pytest.raises(DocumentError, match="levels deep"):
        parse_xpath("//a").matches("<a>" * 100_000)


@pytest.mark.parametrize(
    "document",
    [
        "",
        "<a",
        "<a></b>",
        "<a/><a/>",
        "<p:a/>",
        "<a>\x00</a>",
        b"<a>\xff</a>",
        "<a b='1' b='2'/>",
        "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
        "<!DOCTYPE a SYSTEM 'http://example.org/a.dtd'><a>&nbsp;</a>",
        "<!DOCTYPE a [<!ENTITY % x SYSTEM 'file:///etc/passwd'> %x;]><a/>",
        "<a>\ud800</a>",
    ],
)
def test_documents_that_cannot_be_read_are_refused(document: str | bytes) -> None:
    with pytest.raises(DocumentError):
        parse_xpath("//a").matches(document)

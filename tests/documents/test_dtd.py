"""Definitions of document types: what they say, and which are refused."""

from random import Random

import pytest

from tidegate.documents.dtd import Attribute, Group, Named, parse_dtd
from tidegate.errors import DocumentError
from tidegate.lab.workloads.dtds import made_up


def test_content_models_and_attributes_are_read() -> None:
    dtd = parse_dtd(
        """<?xml version="1.0"?><!-- a > b -->
        <!ENTITY % text "#PCDATA | i">
        <!ENTITY % both 'id ID #IMPLIED
                         side (left | right) "left"'>
        <!ELEMENT a ((b, c?)+ | (%text;)*)>
        <!ELEMENT b EMPTY> <!ELEMENT c ANY> <!ELEMENT i (%text;)*>
        <!ATTLIST b %both; k CDATA #REQUIRED v CDATA #FIXED "x > y">
        <!ATTLIST b k NMTOKEN #IMPLIED>
        <!ENTITY general "of no interest"> <!NOTATION n SYSTEM "n">"""
    )
    assert dtd.root == "a"
    model = dtd.elements["a"].content
    assert model == Group(
        "|",
        (
            Group(",", (Named("b"), Named("c", "?")), "+"),
            Group("|", (Named("i"),), "*"),
        ),
    )
    assert [dtd.elements[name].text for name in "abci"] == [True, False, True, True]
    assert dtd.elements["b"].attributes == (
        Attribute("id", "ID"),
        Attribute("side", "LIST", ("left", "right"), default="left"),
        Attribute("k", "CDATA", required=True),
        Attribute("v", "CDATA", default="x > y"),
    )
    assert dtd.elements["i"].children == ("i",)


def test_the_first_declaration_of_an_entity_counts_and_entities_may_be_whole_declarations() -> None:
    dtd = parse_dtd(
        "<!ENTITY % x 'b'><!ENTITY % x 'c'><!ENTITY % all '<!ELEMENT a (%x;)>'>"
        "%all;<!ELEMENT b ANY>"
    )
    assert dtd.elements["a"].children == ("b",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no element"),
        ("<!ELEMENT a (b", "no declaration"),
        ("<!ELEMENT a (b,c|d)>", "content of the element a"),
        ("<!ELEMENT a (b))>", "content of the element a"),
        ("<!ELEMENT a b>", "content of the element a"),
        ("<!ELEMENT a ()>", "content of the element a"),
        ("<!ELEMENT a ANY><!ELEMENT a ANY>", "twice"),
        ("<!ELEMENT a (%b;)>", "%b; is not declared"),
        ("<!ENTITY % b SYSTEM 'http://example.org/b'>%b;", "not fetched"),
        ("<!ENTITY % a '%b;'><!ENTITY % b '%a;'><!ELEMENT c (%a;)>", "made of itself: a -> b -> a"),
        ("<!ENTITY % a '%a;'>%a;", "made of itself"),
        ("<!ATTLIST a k STRANGE>", "no attribute of a"),
        ("<![INCLUDE[<!ELEMENT a ANY>]]>", "conditional"),
        ("<!ELEMENT a " + "(" * 10_000, "no declaration"),
        ("<!ELEMENT a " + "(" * 10_000 + ">", "nested too deeply"),
        ("<!DOCTYPE a>", "DOCTYPE"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        parse_dtd(text)


def test_entities_that_grow_are_refused() -> None:
    lines = ["<!ENTITY % e0 'b,b'>"]
    lines += [f"<!ENTITY % e{n} '%e{n - 1};,%e{n - 1};'>" for n in range(1, 40)]
    with pytest.raises(DocumentError, match="longer than"):
        parse_dtd("".join(lines) + "<!ELEMENT a (%e39;)>")


def test_long_chains_of_entities_are_refused() -> None:
    lines = ["<!ENTITY % e0 'b'>"]
    lines += [f"<!ENTITY % e{n} '%e{n - 1};'>" for n in range(1, 10_000)]
    with pytest.raises(DocumentError, match="nested too deeply"):
        parse_dtd("".join(lines) + "<!ELEMENT a (%e9999;)>")


def test_made_up_definitions_can_be_read_and_differ() -> None:
    found = [made_up(Random(seed), 12) for seed in range(20)]
    assert all(len(dtd.elements) == 12 for dtd in found)
    assert len({str(dtd.elements) for dtd in found}) == 20

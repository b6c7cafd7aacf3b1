"""Definitions of document types: what they say, and which are refused."""

from io import StringIO
from random import Random

import pytest
from lxml import etree

from tidegate.documents.dtd import Attribute, Group, Named, parse_dtd
from tidegate.errors import DocumentError
from tidegate.lab.workloads.dtds import NITF, data_folder, made_up, made_up_text


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


def test_conditional_sections_are_included_or_not() -> None:
    dtd = parse_dtd(
        """<!ENTITY % yes "INCLUDE"><!ENTITY % no 'IGNORE'>
        <![%yes;[ <!ELEMENT a (b)> <![ INCLUDE [<!ELEMENT b EMPTY>]]> ]]>
        <![%no;[ <!ELEMENT a ANY> <![INCLUDE[ <!ELEMENT z ANY> ]]> it's nothing ]]>
        <![IGNORE[]]><![INCLUDE[]]>
        <!ATTLIST b k CDATA "]]>">"""
    )
    assert list(dtd.elements) == ["a", "b"]
    assert dtd.elements["a"].children == ("b",)
    assert dtd.elements["b"].attributes[0].default == "]]>"


def test_entities_that_lie_elsewhere_may_be_given() -> None:
    text = """<!ENTITY % block PUBLIC "-//A//B" 'block.ent'>%block;
        <!ENTITY % more SYSTEM "more.ent"> %more; <!ELEMENT a (%inner;)>"""
    parts = {
        "block.ent": "\ufeff<?xml encoding='utf-8'?>\r\n<!ENTITY % inner 'b | c'>",
        "more.ent": "<!ELEMENT b EMPTY><!ELEMENT c EMPTY>",
    }
    assert parse_dtd(text, parts).elements["a"].children == ("b", "c")
    del parts["more.ent"]
    with pytest.raises(DocumentError, match="%more; lies elsewhere"):
        parse_dtd(text, parts)


def test_characters_that_are_written_by_number_may_begin_an_entity() -> None:
    # the example of appendix D of XML 1.0
    dtd = parse_dtd(
        """<!ELEMENT test (#PCDATA) ><!ENTITY % xx '&#37;zz;'>
        <!ENTITY % zz '&#60;!ATTLIST test k CDATA "error-prone" >' >%xx;"""
    )
    assert dtd.elements["test"].attributes == (Attribute("k", "CDATA", default="error-prone"),)


LXML_TYPES = {"enumeration": "LIST", "notation": "NOTATION"}


def as_lxml_has_it(text: str) -> dict[str, object]:
    """Of each element whether there may be text, its children, its attributes."""
    found: dict[str, object] = {}
    for element in etree.DTD(StringIO(text)).elements():
        names: list[str] = []
        stack = [element.content]
        while stack:
            part = stack.pop()
            if part is None:
                continue
            if part.type == "element":
                names.append(part.name)
            stack += [part.right, part.left]
        attributes = {
            each.name: (
                LXML_TYPES.get(each.type, each.type.upper()),
                tuple(each.values()),
                each.default == "required",
                each.default_value,
            )
            for each in element.attributes()
        }
        has_text = element.type in ("mixed", "any")
        found[element.name] = has_text, tuple(dict.fromkeys(names)), attributes
    return found


def as_we_have_it(text: str) -> dict[str, object]:
    return {
        name: (
            each.text,
            each.children,
            {a.name: (a.type, a.values, a.required, a.default) for a in each.attributes},
        )
        for name, each in parse_dtd(text).elements.items()
    }


def test_definitions_say_what_lxml_says() -> None:
    texts = [made_up_text(Random(seed), 15) for seed in range(10)]
    if (data_folder() / NITF).exists():
        texts.append((data_folder() / NITF).read_text("utf-8"))
    for text in texts:
        assert as_we_have_it(text) == as_lxml_has_it(text)


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
        ("<![INCLUDE[<!ELEMENT a ANY>", "section does not end"),
        ("<![IGNORE[<!ELEMENT a ANY> <![ ]]>", "section does not end"),
        ("<![ODD[<!ELEMENT a ANY>]]>", "INCLUDE or IGNORE"),
        ("<![%odd;[<!ELEMENT a ANY>]]>", "%odd; is not declared"),
        ("<![<!ELEMENT a ANY>]]>", "INCLUDE or IGNORE"),
        ("<!ENTITY % a '<![INCLUDE['>%a;<!ELEMENT a ANY>]]>", "section does not end"),
        ("<!ELEMENT a ANY>]]>", "none has begun"),
        ("<!ENTITY % a '&#x110000;'><!ELEMENT a ANY>", "no character"),
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

"""Values are compared as XPath 1.0 says, also where libxml2 does otherwise."""

import math
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tidegate.documents.pattern import ValueTest
from tidegate.documents.values import exclude, implies, meets, number, reduced, spelled
from tidegate.documents.xpath import parse_xpath

TEXTS = ["", "1", "1.0", " 1 ", "2", "2.5", "-3", "x", "xy", "yx", "NaN", "+3", "1e3", "3", "10"]
NUMBERS = (1.0, 2.0, 2.5, -3.0, 10.0)
STRINGS = ("x", "xy", "1", "", "y")
TESTS = [
    *(ValueTest(operator, n) for operator in ("=", "!=", "<", "<=", ">", ">=") for n in NUMBERS),
    *(ValueTest(o, s) for o in ("=", "!=", "starts-with", "contains", "<") for s in STRINGS),
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (" \t\r\n-1.50 ", -1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5", -0.5),
        ("1.118", 1.118),
        ("1.14", 1.14),
        ("12345678901234567", 12345678901234567.0),
        ("9" * 400, math.inf),
        ("-0", 0.0),
    ],
)
def test_numbers_are_the_nearest_doubles(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "+3",
        "1e3",
        "5e",
        "0x10",
        "Infinity",
        "NaN",
        "- 1",
        "--1",
        "1 2",
        ".",
        "1,5",
        "\xa01",
        "١",
        "1\x0b",
        "-",
    ],
)
def test_what_is_no_number_is_unequal_to_all(text: str) -> None:
    assert math.isnan(number(text))
    assert meets(text, ValueTest("!=", 1.0))
    assert not any(meets(text, ValueTest(o, 1.0)) for o in ("=", "<", "<=", ">", ">="))


def test_a_string_sees_the_white_space_that_a_number_does_not() -> None:
    document = '<a k=" 1.0 ">\n5\n</a>'
    assert parse_xpath("/a[@k = 1][. = 5][text() = 5]").matches(document)
    assert not parse_xpath("/a[@k = '1.0']").matches(document)
    assert not parse_xpath("/a[. = '5']").matches(document)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_spelled_so_that_it_is_read_again(value: float) -> None:
    assert number(spelled(value)) == value
    assert "e" not in spelled(value)


@pytest.mark.parametrize("constant", [1.0, 0.5, -3.0, 1e21, 1e-7, 12345678.9])
def test_a_number_is_searched_for_as_xpath_writes_it(constant: float) -> None:
    text = spelled(constant)
    root = etree.fromstring("<a/>")
    if abs(constant) < 1e9 and abs(constant) > 1e-4:
        assert root.xpath(f"string({text})") == text
    assert parse_xpath("/a[contains(., $n)]").bind(n=constant).matches(f"<a>x{text}y</a>")


def test_reduced_tests_say_the_same() -> None:
    for several in [*combinations(TESTS, 1), *combinations(TESTS, 2)]:
        form = reduced(several)
        for text in TEXTS:
            expected = all(meets(text, test) for test in several)
            found = form is not None and all(meets(text, test) for test in form)
            assert found == expected, (several, form, text)
        assert form is None or reduced(form) == form


def test_what_is_implied_holds_and_what_excludes_does() -> None:
    forms = {reduced(several) for several in combinations(TESTS, 2)} - {None}
    implied = excluded = 0
    for given_tests, test in product(sorted(forms, key=str), TESTS):
        assert given_tests is not None
        meeting = [text for text in TEXTS if all(meets(text, each) for each in given_tests)]
        single = reduced([test])
        if single is not None and all(implies(given_tests, each) for each in single):
            implied += 1
            assert all(meets(text, test) for text in meeting)
        if single is None or exclude(given_tests, single):
            excluded += 1
            assert not any(meets(text, test) for text in meeting)
    assert implied > 500
    assert excluded > 500

"""Figures 3.1 to 3.4 of Chand's thesis: a message, its expressions, and a message with two stocks.

(Figure 3.5, the table of XTrie, is in the tests of XTrie.)
"""

import pytest

from tidegate.documents.xpath import parse_xpath
from tidegate.lab.experiments.thesis_texts import EXPRESSIONS, NAMESPACES, QUOTES, REQUEST


@pytest.mark.parametrize("number", EXPRESSIONS)
def test_an_expression_matches_the_messages_that_the_thesis_says(number: str) -> None:
    text, request, quotes = EXPRESSIONS[number]
    f = parse_xpath(text, namespaces=NAMESPACES)
    assert f.matches(REQUEST) == request
    assert f.matches(QUOTES) == quotes


def test_a_number_is_met_by_another_way_of_writing_it_and_a_string_is_not() -> None:
    text, _, _ = EXPRESSIONS["v"]
    other = REQUEST.replace('mustUnderstand="1"', 'mustUnderstand="1.0"')
    assert parse_xpath(text, namespaces=NAMESPACES).matches(other)
    as_string = text.replace("=1", "='1'")
    assert not parse_xpath(as_string, namespaces=NAMESPACES).matches(other)
    transaction = "//t:Transaction[. = 5][. != '5']"
    assert parse_xpath(transaction, namespaces=NAMESPACES).matches(REQUEST)


def test_which_expressions_contain_which() -> None:
    read = {
        number: parse_xpath(text, namespaces=NAMESPACES)
        for number, (text, _, _) in EXPRESSIONS.items()
    }
    found = {(a, b) for a in read for b in read if a != b and read[a].covers(read[b])}
    assert found == {("i", "ii"), ("iv", "v"), ("vi", "viii"), ("vii", "viii")}

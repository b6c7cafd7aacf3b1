"""Trees as text: readable where they can be, and never deeper than what they were read from."""

import pytest

from tidegate import covers, parse
from tidegate.filters.expression import MAX_DEPTH, attribute_name, attribute_path


def nested(levels: int, core: str = "a = 1") -> str:
    for i in range(levels):
        core = f"a{i} = 1 OR b{i} = 2 AND ({core})"
    return core


def test_an_and_inside_an_or_stands_in_parentheses_for_the_reader() -> None:
    assert str(parse("a = 1 OR b = 2 AND c = 3")) == "a = 1 OR (b = 2 AND c = 3)"


@pytest.mark.parametrize("levels", [1, MAX_DEPTH // 2, MAX_DEPTH // 2 + 1, MAX_DEPTH])
def test_a_deep_tree_prints_no_deeper_than_it_was_read(levels: int) -> None:
    f = parse(nested(levels))
    assert parse(str(f)) == f


def test_a_deep_tree_under_is_not_true_prints_so_that_it_is_read_back() -> None:
    f = parse(f"({nested(MAX_DEPTH - 2, '(a > 1)')}) IS NOT TRUE")
    assert parse(str(f)) == f


def test_a_deep_tree_of_nots_prints_so_that_it_is_read_back() -> None:
    text = "a = 1"
    for i in range(MAX_DEPTH // 2):
        text = f"b{i} = 1 AND NOT ({text})"
    f = parse(text)
    assert parse(str(f)) == f


@pytest.mark.parametrize("path", [("a",), ("a", "b c"), ("a.b", "c`d"), ("and", "1st"), ("größe",)])
def test_the_name_of_an_attribute_leads_back_to_its_path(path: tuple[str, ...]) -> None:
    assert attribute_path(attribute_name(path)) == path


def test_half_a_character_is_no_text() -> None:
    half = {"s": "a\ud800"}
    assert not parse("s >= ''").matches(half)
    assert not parse("NOT s >= ''").matches(half)
    assert parse("s IS NOT NULL").matches(half)


def test_single_strings_are_tried_against_conditions_on_text() -> None:
    suffix = parse("endswith(s, 'b')")
    assert covers(suffix, parse("s IN ('ab', 'b')"))
    assert not covers(suffix, parse("s IN ('ab', 'a')"))

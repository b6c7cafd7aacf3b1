"""Patterns match as regular expressions do, and say only certain things about each other."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.filters.patterns import (
    Pattern,
    PatternError,
    containing,
    disjoint,
    ending,
    implies,
    like,
    starting,
)

SHORT_TEXTS = ["".join(letters) for n in range(6) for letters in product("ab", repeat=n)]


def expression(pattern: str, escape: str) -> re.Pattern[str] | None:
    """The regular expression that Spark makes of a pattern; None where it refuses the pattern."""
    parts = []
    rest = pattern
    while rest:
        character, rest = rest[0], rest[1:]
        if character == escape:
            if not rest or rest[0] not in ("%", "_", escape):
                return None
            character, rest = re.escape(rest[0]), rest[1:]
        else:
            character = {"%": ".*", "_": "."}.get(character, re.escape(character))
        parts.append(character)
    return re.compile("".join(parts), re.DOTALL)


written = st.text("ab%_!\n😀", max_size=9)
escapes = st.sampled_from(["\\", "!", "%", "_", "a"])
texts = st.text("ab%_!\n😀", max_size=12)


@given(written, escapes, st.lists(texts, min_size=1))
def test_like_matches_what_the_regular_expression_matches(
    pattern: str, escape: str, tried: list[str]
) -> None:
    oracle = expression(pattern, escape)
    if oracle is None:
        with pytest.raises(PatternError):
            like(pattern, escape)
        return
    own = like(pattern, escape)
    for text in [*tried, *SHORT_TEXTS]:
        assert own.matches(text) == (oracle.fullmatch(text) is not None)


def test_all_short_patterns_match_what_the_regular_expression_matches() -> None:
    for n in range(6):
        for letters in product("ab%_", repeat=n):
            pattern = "".join(letters)
            oracle, own = expression(pattern, "\\"), like(pattern)
            assert oracle is not None
            for text in SHORT_TEXTS[:31]:
                assert own.matches(text) == (oracle.fullmatch(text) is not None), (pattern, text)


@given(texts, texts, texts)
def test_the_functions_are_pythons(head: str, part: str, tail: str) -> None:
    for text in (head + part + tail, head + part, part + tail, head, part, tail):
        assert starting(part).matches(text) == text.startswith(part)
        assert ending(part).matches(text) == text.endswith(part)
        assert containing(part).matches(text) == (part in text)


@given(written.filter(lambda text: "!" not in text))
def test_what_a_pattern_says_about_itself_is_true_of_all_it_matches(pattern: str) -> None:
    own = like(pattern)
    for text in [*SHORT_TEXTS, own.prefix + own.suffix, own.prefix + "b" + own.suffix]:
        if own.literal is not None:
            assert own.matches(text) == (text == own.literal)
        if own.is_prefix:
            assert own.matches(text) == text.startswith(own.prefix)
        if own.matches(text):
            assert text.startswith(own.prefix)
            assert text.endswith(own.suffix)


@pytest.mark.parametrize(
    ("one", "other"),
    [("%%", "%"), ("a%%b", "a%b"), ("%_", "_%"), ("%_%_%", "__%"), ("a%_b", "a_%b"), ("", "")],
)
def test_patterns_that_differ_only_in_the_order_of_wild_cards_are_equal(
    one: str, other: str
) -> None:
    assert like(one) == like(other)
    assert hash(like(one)) == hash(like(other))


def test_everything_starts_and_ends_with_nothing_and_contains_it() -> None:
    assert starting("") == ending("") == containing("") == like("%")


small_patterns = st.one_of(
    st.text("ab%_", max_size=5).map(like),
    st.text("ab", max_size=3).map(starting),
    st.text("ab", max_size=3).map(ending),
    st.text("ab", max_size=3).map(containing),
)


@given(small_patterns, small_patterns)
def test_implies_and_disjoint_are_never_wrong(one: Pattern, other: Pattern) -> None:
    in_one = {text for text in SHORT_TEXTS if one.matches(text)}
    in_other = {text for text in SHORT_TEXTS if other.matches(text)}
    if implies(one, other):
        assert in_one <= in_other
    if disjoint(one, other):
        assert not in_one & in_other


@given(small_patterns)
def test_a_pattern_implies_itself_and_the_pattern_of_everything(one: Pattern) -> None:
    assert implies(one, one)
    assert implies(one, like("%"))
    assert implies(one, starting(one.prefix))
    assert implies(one, ending(one.suffix))


def test_what_people_write_is_understood() -> None:
    assert implies(ending("abc"), containing("bc"))
    assert implies(starting("ab"), containing("b"))
    assert implies(like("a%b%c"), like("a%c"))
    assert implies(like("a_c"), like("a%c"))
    assert implies(like("abc"), ending("c"))
    assert not implies(containing("bc"), ending("abc"))
    assert disjoint(ending("a"), ending("b"))
    assert disjoint(starting("a"), like("b%"))
    assert disjoint(like("abc"), ending("b"))
    assert not disjoint(ending("a"), containing("b"))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("%a" * 2_000, "a" * 100_000, True),
        ("%a" * 2_000 + "b", "a" * 100_000, False),
        ("%" + "a_" * 1_000 + "b%", "a" * 100_000, False),
        ("%" + "_" * 1_000 + "b%", "a" * 100_000, False),
        ("%" + "a" * 5_000 + "b%", "a" * 100_000, False),
        ("%_a" * 500 + "%b%", "ab" * 50_000, True),
        ("_" * 100_000, "a" * 100_000, True),
        ("%" * 100_000, "a" * 100_000, True),
        ("%ab" * 30_000, "ab" * 30_000, True),
        ("%ab" * 30_001, "ab" * 30_000, False),
    ],
    ids=lambda value: f"{len(value)} characters" if isinstance(value, str) else str(value),
)
def test_hostile_patterns_are_answered(pattern: str, text: str, expected: bool) -> None:
    assert like(pattern).matches(text) is expected


def test_hostile_patterns_are_compared() -> None:
    many = [like("%a" * n + suffix) for n in (1, 50, 99, 5_000) for suffix in ("", "b", "_b")]
    for one, other in product(many, repeat=2):
        if implies(one, other):
            assert not disjoint(one, other)
    assert implies(like("%a" * 99), like("%a" * 50))
    assert disjoint(like("%a" * 5_000), like("%a" * 5_000 + "b"))

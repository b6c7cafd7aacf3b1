"""Opposition in DTDs: against enumerated words, against regular expressions, and bad input."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.documents.dtd import DTD, Declared, Group, Named, parse_dtd
from tidegate.documents.tree import Element, read
from tidegate.errors import DocumentError
from tidegate.lab.workloads.dtds import made_up, news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.peers.opposition import Opposition

TIMES = ("", "?", "*", "+")


def models(names: str, leaves: int) -> st.SearchStrategy[Named | Group]:
    times = st.sampled_from(TIMES)
    named = st.builds(Named, st.sampled_from(names), times)

    def grouped(parts: st.SearchStrategy[Named | Group]) -> st.SearchStrategy[Named | Group]:
        several = st.lists(parts, min_size=1, max_size=3).map(tuple)
        return st.builds(Group, st.sampled_from(",|"), several, times)

    return st.recursive(named, grouped, max_leaves=leaves)


def words(model: Named | Group) -> set[tuple[str, ...]]:
    """All words of a model with at most two repetitions, letters sorted, each at most twice.

    Whether a word has two letters, or one of them twice, is seen in these already.
    """
    once: set[tuple[str, ...]]
    if isinstance(model, Named):
        once = {(model.name,)}
    elif model.sign == "|":
        once = set().union(*(words(part) for part in model.parts))
    else:
        once = {()}
        for part in model.parts:
            once = {joined(left, right) for left in once for right in words(part)}
    found = set(once)
    if model.times in ("*", "+"):
        found |= {joined(left, right) for left in once for right in once}
    if model.times in ("*", "?"):
        found.add(())
    return found


def joined(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    counted = Counter(left + right)
    return tuple(name for name in sorted(counted) for _ in range(min(counted[name], 2)))


def together(word: tuple[str, ...], name: str, other: str) -> bool:
    return word.count(name) > 1 if name == other else name in word and other in word


def opposition(model: Named | Group) -> Opposition:
    return Opposition(DTD({"top": Declared("top", model, text=False)}))


@settings(max_examples=400)
@given(models("abcd", 7))
def test_what_no_enumerated_word_has_is_in_opposition(model: Named | Group) -> None:
    found = opposition(model)
    enumerated = words(model)
    for name, other in product("abcd", repeat=2):
        assert found.opposed("top", name, other) is not any(
            together(word, name, other) for word in enumerated
        )


def pattern(model: Named | Group) -> str:
    if isinstance(model, Named):
        return f"(?:{model.name}){model.times}"
    sign = "" if model.sign == "," else "|"
    return f"(?:{sign.join(map(pattern, model.parts))}){model.times}"


@settings(max_examples=60)
@given(models("abc", 3))
def test_what_no_word_of_the_regular_expression_has_is_in_opposition(model: Named | Group) -> None:
    found = opposition(model)
    known = re.compile(pattern(model))
    every = [word for length in range(7) for word in product("abc", repeat=length)]
    accepted = [word for word in every if known.fullmatch("".join(word))]
    for name, other in product("abc", repeat=2):
        assert found.opposed("top", name, other) is not any(
            together(word, name, other) for word in accepted
        )


@pytest.mark.parametrize(
    ("content", "pairs"),
    [
        ("((a,b)|c)", "aa bb cc ac bc"),
        ("(a|b|c)", "aa bb cc ab ac bc"),
        ("(a?,b,c*)", "aa bb"),
        ("(a|b)*", "cc ac bc"),
        ("(a|b)+", "cc ac bc"),
        ("(a|b)?", "aa bb cc ab ac bc"),
        ("(a+)?", "bb cc ab ac bc"),
        ("(a?)+", "bb cc ab ac bc"),
        ("(a,(b|c),a)", "bb cc bc"),
        ("((a|b),(b|c))", "aa cc"),
        ("(#PCDATA|a|b)*", "cc ac bc"),
        ("(#PCDATA)", "aa bb cc ab ac bc"),
        ("EMPTY", "aa bb cc ab ac bc"),
        ("ANY", ""),
    ],
)
def test_each_operator(content: str, pairs: str) -> None:
    declared = "".join(f"<!ELEMENT {name} EMPTY>" for name in "abc")
    found = Opposition(parse_dtd(f"<!ELEMENT top {content}>{declared}"))
    opposed = [
        name + other
        for name, other in product("abc", repeat=2)
        if name <= other and found.opposed("top", name, other)
    ]
    assert sorted(opposed) == sorted(pairs.split())


def test_anything_means_every_declared_element_and_text_none() -> None:
    found = Opposition(parse_dtd("<!ELEMENT a ANY><!ELEMENT b (#PCDATA)>"))
    assert found.children("a") == ("a", "b")
    assert found.children("b") == ()
    assert found.opposed("a", "b", "unheard")
    assert found.opposed("a", "unheard", "unheard")


def test_of_what_is_not_declared_nothing_is_claimed() -> None:
    found = Opposition(parse_dtd("<!ELEMENT a (b|c)>"))
    assert found.children("b") == ()
    assert not found.opposed("b", "x", "x")
    assert not found.opposed("b", "x", "y")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<!ENTITY % a '%b;'><!ENTITY % b '%a;'><!ELEMENT c (%a;)>", "made of itself"),
        (f"<!ELEMENT a {'(' * 100_000}b{')' * 100_000}>", "nested too deeply"),
        ("<!ELEMENT a (b|c)><!ELEMENT a (b,c)>", "declared twice"),
    ],
)
def test_hostile_definitions_are_refused_before_anything_is_asked(text: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        parse_dtd(text)


def test_a_hundred_thousand_groups_built_by_hand_one_in_the_other() -> None:
    model: Named | Group = Named("a")
    for number in range(100_000):
        model = Group("," if number % 2 else "|", (model,))
    assert opposition(model).opposed("top", "a", "a")
    assert not opposition(Group(",", (model, Named("a")))).opposed("top", "a", "a")


def test_wide_models_are_asked_for_one_name_in_one_pass() -> None:
    model = Group(",", tuple(Named(f"e{number}") for number in range(50_000)))
    found = opposition(model)
    assert len(found.company("top", "e7")) == 49_999
    assert found.opposed("top", "e7", "e7")
    many = opposition(Group(",", tuple(Named("ab"[number % 2]) for number in range(50_000))))
    assert many.company("top", "a") == {"a", "b"}


def siblings(document: str) -> Iterator[tuple[str, list[str]]]:
    stack: list[Element] = [read(document)]
    while stack:
        element = stack.pop()
        stack += element.elements
        yield element.name, [child.name for child in element.elements]


@pytest.mark.parametrize("dtd", [news(), made_up(Random(3), 30)], ids=["news", "made up"])
def test_documents_of_a_type_have_no_opposed_siblings_and_others_may(dtd: DTD) -> None:
    found = Opposition(dtd)
    source = DocumentSource(dtd, DocumentChoices(tags=108), seed=5)

    def broken(document: str) -> bool:
        return any(
            found.opposed(parent, *pair)
            for parent, children in siblings(document)
            for pair in (
                (a, b)
                for a, b in product(set(children), repeat=2)
                if a != b or children.count(a) > 1
            )
        )

    assert not any(broken(source.draw()) for _ in range(60))
    assert broken(f"<{dtd.root}><no/><such/></{dtd.root}>")

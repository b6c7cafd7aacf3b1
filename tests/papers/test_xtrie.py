"""XTrie as the paper has it: its table, and the documents that it finds."""

import os
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.embedding import embeds
from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents.index import DocumentIndex
from tidegate.documents.tree import read
from tidegate.documents.xpath import XPath, parse_xpath
from tidegate.errors import TidegateError
from tidegate.lab.experiments.thesis_texts import EXPRESSIONS, QUOTES, REQUEST, TABLE
from tidegate.lab.experiments.thesis_texts import NAMESPACES as SOAP
from tidegate.papers.xtrie import decomposition, matching, substring_trie
from tidegate.papers.xtrie.decomposition import Substring
from tidegate.papers.xtrie.matching import Opened, Run
from tidegate.papers.xtrie.table import Row, Table
from tidegate.papers.xtrie.xtrie import XTrie

LONG = os.environ.get("TIDEGATE_LONG") == "1"
Mutation = Callable[[pytest.MonkeyPatch], None]


def thesis() -> XTrie:
    index = XTrie()
    for number, (text, _, _) in enumerate(EXPRESSIONS.values(), 1):
        # `= 1` also holds for 1.0, which no name can say: the figure has it as a string
        index.add(number, parse_xpath(text.replace("=1]", "='1']"), namespaces=SOAP))
    return index


def test_the_table_is_that_of_the_figure() -> None:
    table = Table()
    for number, (text, _, _) in enumerate(EXPRESSIONS.values()):
        (pattern,) = parse_xpath(text.replace("=1]", "='1']"), namespaces=SOAP).patterns
        root = decomposition.decompose(pattern)
        for stock in root.below:
            if (
                len(stock.below) == 2
            ):  # in our normal form, prices come first: in (viii) they do not
                stock.below.reverse()
                stock.below[0].rank, stock.below[1].rank = 1, 2
        table.add(number, root)
    rows = [table.row(number) for number in range(1, len(table.rows))]
    shown = [(r.above, r.least, r.most, r.rank, r.children, r.next) for r in rows]
    assert shown == TABLE
    assert [bool(row.predicates) for row in rows] == [number in (8, 11) for number in range(1, 12)]


def test_alpha_leads_to_rows_and_beta_to_suffixes() -> None:
    index = thesis()
    trie = index.table.trie
    for names in (("Stock",), ("Stock", "Price")):
        node = trie.node(names)
        assert all(index.table.row(row).names == names for row in index.table.same(node))
        assert index.table.same(node)
    other = XTrie()
    for number, text in enumerate(["/a/b/c", "//b/c", "//c/d"]):
        other.add(number, parse_xpath(text))
    whole, part = other.table.trie.node(("a", "b", "c")), other.table.trie.node(("b", "c"))
    assert other.table.trie.beta[whole] == part
    assert other.table.trie.beta[part] == other.table.trie.node(("c",))


def test_the_messages_of_the_thesis_match_what_it_says() -> None:
    index = thesis()
    for message in (REQUEST, QUOTES):
        assert index.match(message) == [
            number
            for number, (text, _, _) in enumerate(EXPRESSIONS.values(), 1)
            if parse_xpath(text, namespaces=SOAP).matches(message)
        ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("//Stock[Symbol/text()='GHI'][Price]", {"Stock", "Stock/Price", 'Stock/Symbol/"GHI'}),
        ("/a/b/c", {"a/b/c"}),
        ("/a//b/c", {"a", "b/c"}),
        ("/a/*/b", {"a", "b"}),
        ("/a/b[@c='1']/d", {"a/b", "a/b/@c/=1", "a/b/d"}),
        ("/a[text()>1]/b", {"a", "a/b"}),
    ],
)
def test_the_simple_decomposition_has_the_fewest_and_longest_substrings(
    text: str, names: set[str]
) -> None:
    found: list[str] = []
    (pattern,) = parse_xpath(text).patterns
    stack: list[Substring] = list(decomposition.decompose(pattern).below)
    while stack:
        each = stack.pop()
        found.append("/".join(each.names))
        stack += each.below
    assert sorted(found) == sorted(names)


def test_positions_are_refused() -> None:
    with pytest.raises(TidegateError, match="neither positions nor choices"):
        XTrie().add(1, parse_xpath("//a[2]"))


def filters(random: Random, count: int, *, ordered: bool, most: int = 99) -> dict[int, XPath]:
    """Filters of what XTrie has, with so many nodes at most."""
    writer = Writer(random, positions=False)
    found: dict[int, XPath] = {}
    while len(found) < count:
        f = parse_xpath(writer.expression(), namespaces=NAMESPACES, ordered=ordered)
        try:
            XTrie().add(0, f)
        except TidegateError:
            continue
        if any(pattern.size > most for pattern in f.patterns):
            continue
        found[len(found)] = f
    return found


def disagreement(seed: int, *, ordered: bool) -> str:
    """Where XTrie and the definition differ, if they do."""
    random = Random(seed)
    wanted = filters(random, 25, ordered=ordered)
    index = XTrie()
    for number, f in wanted.items():
        index.add(number, f)
    for _ in range(10):
        text = document(random, 16)
        root = read(text)
        expected = [number for number, f in wanted.items() if f.matches(root)]
        if index.match(root) != expected:
            return f"{text}: {index.match(root)} for {expected}"
    return ""


@given(st.integers(0, 2**32), st.booleans())
@settings(max_examples=1_000 if LONG else 40)
def test_xtrie_finds_what_the_definition_says(seed: int, ordered: bool) -> None:
    assert not disagreement(seed, ordered=ordered)


@given(st.integers(0, 2**32))
@settings(max_examples=200 if LONG else 6)
def test_xtrie_the_engine_and_all_embeddings_agree(seed: int) -> None:
    random = Random(seed)
    wanted = filters(random, 30, ordered=False, most=3)
    slow, fast = XTrie(), DocumentIndex(namespaces=NAMESPACES)
    for number, f in wanted.items():
        slow.add(number, f)
    texts = [str(f) for f in wanted.values()]
    fast.add_many(pa.table({"id": pa.array(list(wanted)), "filter": texts}))
    for _ in range(8):
        text = document(random, 9)
        expected = [
            number
            for number, f in wanted.items()
            if any(embeds(pattern, text) for pattern in f.patterns)
        ]
        assert slow.match(text) == expected
        assert sorted(fast.match(text)) == expected


# -- mutants: each a mistake that is easy to make


def never_closes(patch: pytest.MonkeyPatch) -> None:
    def end(self: Run) -> None:
        self._clock += 1
        self._waiting.pop()
        self._at_level.pop()
        self._began.pop()

    patch.setattr(Run, "_end", end)


def forgets_suffixes(patch: pytest.MonkeyPatch) -> None:
    def beta(self: substring_trie.SubstringTrie) -> list[int]:
        return [substring_trie.ROOT] * len(self)

    patch.setattr(substring_trie.SubstringTrie, "beta", property(beta))


def ignores_levels(patch: pytest.MonkeyPatch) -> None:
    def above(self: Run, row: Row, level: int) -> list[Opened]:
        if not row.above:
            return [self._top[row.pattern]]
        return list(self._open.get(row.above, ()))

    patch.setattr(Run, "_above", above)


def reads_the_figure_as_printed(patch: pytest.MonkeyPatch) -> None:
    cut = decomposition._follow

    def follow(way: Any, prefix: Any) -> Any:
        distance, part, names = cut(way, prefix)
        if prefix:  # Rel Level of what begins within the row above is too large by one there
            distance += decomposition._NEXT
        return distance, part, names

    patch.setattr(decomposition, "_follow", follow)


def lets_branches_meet_anywhere(patch: pytest.MonkeyPatch) -> None:
    complete = Run._is_complete

    def is_complete(self: Run, row: Row, opened: Opened) -> bool:
        others = [each for each in self._open.get(row.above, ()) if each is not opened]
        for other in others:
            opened.met |= other.met
        return complete(self, row, opened)

    patch.setattr(Run, "_is_complete", is_complete)


def takes_one_branch_for_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Run, "_is_complete", lambda self, row, opened: True)


def forgets_predicates(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(matching, "_holds", lambda predicate, element, value: True)


def takes_attributes_for_elements(patch: pytest.MonkeyPatch) -> None:
    probe = Run._probe

    def probed(self: Run, place: int, element: Any, value: str) -> None:
        probe(self, place, element or read("<a/>").elements[0], value)

    patch.setattr(Run, "_probe", probed)


def takes_any_order(patch: pytest.MonkeyPatch) -> None:
    def count(self: Run, row: Row, opened: Opened, level: int) -> None:
        opened.ranks = max(opened.ranks, row.rank)

    patch.setattr(Run, "_count_in_order", count)


def lets_branches_overlap(patch: pytest.MonkeyPatch) -> None:
    def count(self: Run, row: Row, opened: Opened, level: int) -> None:
        if opened.ranks == row.rank - 1:
            opened.ranks = row.rank

    patch.setattr(Run, "_count_in_order", count)


MUTANTS: list[Mutation] = [
    never_closes,
    forgets_suffixes,
    ignores_levels,
    reads_the_figure_as_printed,
    lets_branches_meet_anywhere,
    takes_one_branch_for_all,
    forgets_predicates,
    takes_attributes_for_elements,
    takes_any_order,
    lets_branches_overlap,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_is_noticed(mutant: Mutation, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    for seed in range(60):
        for ordered in (False, True):
            try:
                if disagreement(seed, ordered=ordered):
                    return
            except (IndexError, KeyError):
                return
    pytest.fail("nothing was noticed")

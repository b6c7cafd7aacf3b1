"""What is left of a pattern matches whatever it matched: by lxml, one by one, and by `covers`."""

import os
from random import Random

import pytest
from lxml import etree

import tidegate as tg
from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents import sample as sample_module
from tidegate.documents.prune import (
    best_pruning,
    comparisons,
    gives_way,
    merged,
    parts,
    prunings,
    with_others,
)
from tidegate.documents.sample import BARREN, DocumentSample
from tidegate.documents.tree import read
from tidegate.documents.xpath import XPath, of_shape

LONG = os.environ.get("TIDEGATE_LONG") == "1"
SEEDS = range(2_000 if LONG else 12)


def drawn(random: Random, count: int, *, ordered: float = 0.2) -> list[XPath]:
    return [
        tg.parse_xpath(
            Writer(random).expression(),
            namespaces=NAMESPACES,
            ordered=random.random() < ordered,
        )
        for _ in range(count)
    ]


def matching(xpath: XPath, documents: list[str]) -> int:
    """The documents that match, by trying them one by one."""
    return sum(1 << place for place, each in enumerate(documents) if xpath.matches(each))


def lxml_matching(xpath: XPath, documents: list[str]) -> int:
    """The documents in which lxml finds something."""
    ask = etree.XPath(str(xpath), namespaces=NAMESPACES)
    trees = [etree.fromstring(each) for each in documents]
    return sum(1 << place for place, tree in enumerate(trees) if ask(tree))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sample_says_what_one_document_after_the_other_says(seed: int) -> None:
    random = Random(seed)
    documents = [document(random) for _ in range(12)]
    sample = DocumentSample(
        [each.encode() if random.random() < 0.3 else each for each in documents]
    )
    assert len(sample) == len(documents)
    for xpath in drawn(random, 12):
        assert sample.met(xpath.expression, ordered=xpath.ordered) == matching(xpath, documents)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pruning_covers_what_it_was_made_from(seed: int) -> None:
    """By documents, and by the algebra; and what is written of it is read as the same again."""
    random = Random(seed)
    documents = [document(random) for _ in range(8)]
    for xpath in drawn(random, 5):
        met = matching(xpath, documents)
        for pruned in prunings(xpath):
            assert not met & ~matching(pruned, documents), f"{xpath} -> {pruned}"
            assert pruned.covers(xpath), f"{xpath} -> {pruned}"
            assert parts(pruned) < parts(xpath)
            assert of_shape(pruned.shape, pruned.values).expression == pruned.expression


@pytest.mark.parametrize("seed", SEEDS)
def test_lxml_finds_no_less_in_what_is_left(seed: int) -> None:
    random = Random(seed)
    documents = [document(random) for _ in range(8)]
    for xpath in drawn(random, 6, ordered=0):
        met = lxml_matching(xpath, documents)
        for pruned in prunings(xpath):
            assert not met & ~lxml_matching(pruned, documents), f"{xpath} -> {pruned}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_course_grows_to_its_end_and_never_matches_everything(seed: int) -> None:
    random = Random(seed)
    documents = [document(random) for _ in range(8)]
    sample, every = DocumentSample(documents), (1 << len(documents)) - 1
    for xpath in drawn(random, 4):
        best = best_pruning(xpath, sample, every)
        met = matching(xpath, documents)
        while best is not None:
            assert best.met == matching(best.xpath, documents)
            assert not met & ~best.met
            assert not all(map(best.xpath.matches, BARREN))
            assert (best.met & ~met).bit_count() == min(
                (matching(each, documents) & ~met).bit_count()
                for each in prunings(xpath)
                if not all(map(each.matches, BARREN))
            )
            xpath, met = best.xpath, best.met
            best = best_pruning(xpath, sample, every)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_condition_gives_way_only_to_what_it_implies(seed: int) -> None:
    random = Random(seed)
    documents = [document(random) for _ in range(30)]
    expressions = drawn(random, 40)
    known = dict.fromkeys(about for xpath in expressions for about in comparisons(xpath))
    pairs = [
        (old, new)
        for old in known
        for new in known
        if old[0] == new[0] and gives_way(old[1], new[1]) and old != new
    ]
    for old, new in random.sample(pairs, min(len(pairs), 20)):
        for xpath in expressions:
            if old not in comparisons(xpath):
                continue
            changed = with_others(xpath, {old: new[1]})
            assert not matching(xpath, documents) & ~matching(changed, documents), (xpath, changed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_merger_covers_its_members_within_its_price_and_length(seed: int) -> None:
    random = Random(seed)
    documents = [document(random) for _ in range(10)]
    sample = DocumentSample(documents)
    for limit in (0.0, 0.3, 1.0):
        members = drawn(random, 3, ordered=0)
        merger = merged(members, sample, limit)
        if merger is None:
            continue
        together = 0
        for each in members:
            together |= matching(each, documents)
            assert not matching(each, documents) & ~matching(merger, documents)
        assert (matching(merger, documents) & ~together).bit_count() <= limit * len(documents)
        assert len(str(merger)) <= max(len(str(each)) for each in members)


def texts(text: str, *, ordered: bool = False) -> list[str]:
    return [str(each) for each in prunings(tg.parse_xpath(text, ordered=ordered))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", []),
        ("/*", []),
        ("/a", []),
        ("/a/@k", ["//@k", "/a"]),
        ("/*/b", ["//b", "/*"]),
        ("/a[x]/b[y]/c", ["/a/b[y]/c", "/a[x]/b/c", "/a[x]/b[y]"]),
        ("/a/b/c", ["//b/c", "/a//c", "/a/b"]),
        ("/a[b = 1]", ["/a", "/a[b]"]),
        ("/a[b/c = 1]", ["/a", "/a[b/c]", "/a[.//c = 1]"]),
        ("/a[b/b]", ["/a", "/a[.//b]", "/a[b]"]),
        ("/a[. = 1]", ["/a"]),
        ("/a[b and c]", ["/a", "/a[c]", "/a[b]"]),
        ("/a[b/c or d]", ["/a", "/a[.//c or d]", "/a[b or d]"]),
        ("/a | /b[c]", ["/a | /b"]),
        # what is counted stays until what counts it has gone
        ("/a[b][2]", ["/a[b]"]),
        ("/a[2][b]", ["/a[b]", "/a[position() = 2]"]),
        ("/a[2][3]", ["/a[position() = 2]"]),
        ("/a[contains(b/c, 'x')]", ["/a", "/a[b/c]"]),
        ("/a[contains(b, '')]", ["/a"]),
    ],
)
def test_which_parts_are_left_out(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_of_equal_prunings_the_one_that_leaves_least_is_taken() -> None:
    sample = DocumentSample(["<a><b>1</b></a>", "<b/>"])
    best = best_pruning(tg.parse_xpath("/a[b = 1]"), sample, 0b11)
    assert str(best and best.xpath) == "/a"
    best = best_pruning(tg.parse_xpath("/a[b]/b[. = 2]"), sample, 0b10)
    assert str(best and best.xpath) == "/a[b]"


def test_documents_that_nobody_asks_for_keep_a_tautology_away() -> None:
    """The algebra does not see that these match everything; nobody is to forward them."""
    sample = DocumentSample(["<a/>", "<b>x</b>"])
    for text in ("/", "//*", "/*[. = ''] | /*[. != '']", "/*[position() != 2]"):
        xpath = tg.parse_xpath(text)
        assert sample.may_be_all(xpath.expression)
    xpath = tg.parse_xpath("/*[. = ''][a] | /*[. != '']")
    pruned = [xpath]
    while (best := best_pruning(pruned[-1], sample, 0b11)) is not None:
        pruned.append(best.xpath)
    assert not any(sample.may_be_all(each.expression) for each in pruned)


def test_what_is_remembered_is_bounded_and_changes_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(5)
    documents = [document(random) for _ in range(10)]
    expressions = drawn(random, 30)
    plain = DocumentSample(documents)
    before = [plain.met(each.expression, ordered=each.ordered) for each in expressions]
    monkeypatch.setattr(sample_module, "_REMEMBERED", 40)
    monkeypatch.setattr(sample_module, "_PATHS", 3)
    small = DocumentSample(documents)
    for _ in range(2):
        assert [small.met(x.expression, ordered=x.ordered) for x in expressions] == before
    assert len(small._paths) <= 3
    assert sum(len(own) + 1 for own in small._known.values()) <= 40 + len(small._parents) + 1


def test_a_sample_without_documents_has_no_bits() -> None:
    sample = DocumentSample([])
    assert sample.met(tg.parse_xpath("/").expression) == 0
    assert sample.may_be_all(tg.parse_xpath("/*").expression)
    assert read(BARREN[1]).value == "_"

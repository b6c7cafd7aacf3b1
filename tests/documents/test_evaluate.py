"""A pattern matches a document if some map of its nodes fits; in order, as siblings follow."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.documents.embedding import embeds
from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents.evaluate import matches
from tidegate.documents.tree import read
from tidegate.documents.xpath import parse_xpath


@given(st.integers(0, 2**32), st.booleans())
def test_matching_is_embedding(seed: int, ordered: bool) -> None:
    random = Random(seed)
    text = Writer(random, positions=False).expression()
    f = parse_xpath(text, namespaces=NAMESPACES, ordered=ordered)
    small = [
        p for p in f.patterns if p.size <= 4 and "position" not in str(p) and not p.has_choices
    ]
    for pattern in small:
        for _ in range(6):
            given_document = document(random, 7)
            found = matches(pattern, read(given_document))
            assert found == embeds(pattern, given_document), (str(pattern), given_document)


def tree(random: Random, depth: int) -> tuple[str, str]:
    """A node with children in order: as predicates, and by following-sibling."""
    name = random.choice(("a", "b", "c", "*"))
    count = random.choice((0, 1, 2, 2, 3)) if depth else 0
    children = [tree(random, depth - 1) for _ in range(count)]
    if not children:
        if depth < 2 and random.random() < 0.2:
            return "text()", "text()"
        return name, name
    plain = "".join(f"[{each}]" for each, _ in children)
    chain = "/following-sibling::".join(other for _, other in children)
    return name + plain, f"{name}[{chain}]"


@given(st.integers(0, 2**32))
def test_in_order_means_by_following_siblings(seed: int) -> None:
    random = Random(seed)
    documents = [document(random, 25) for _ in range(12)]
    roots = [(read(text), etree.ElementTree(etree.fromstring(text))) for text in documents]
    for _ in range(12):
        slash = random.choice(("/", "//"))
        plain, chained = tree(random, 2)
        f = parse_xpath(f"ordered: {slash}{plain}")
        assert f == parse_xpath(slash + plain, ordered=True)
        for mine, theirs in roots:
            expected = theirs.xpath(f"boolean({slash}{chained})")
            assert f.matches(mine) == expected, (plain, chained)


def test_branches_in_order_may_be_deep() -> None:
    f = parse_xpath("/a[.//b][.//c]", ordered=True)
    assert f.matches("<a><x><b/></x><x><c/></x></a>")
    assert f.matches("<a><x><b/><c/></x></a>")
    assert not f.matches("<a><c/><b/></a>")
    assert not f.matches("<a><b><c/></b></a>")
    assert parse_xpath("/a[.//b][.//c]").matches("<a><b><c/></b></a>")

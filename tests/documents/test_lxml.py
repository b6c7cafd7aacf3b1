"""An expression means what lxml says, on all documents; so do its normal form and what binds it."""

import os
import pickle
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents.index import DocumentIndex
from tidegate.documents.tree import read
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.workloads.dtds import made_up
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource

LONG = os.environ.get("TIDEGATE_LONG") == "1"
SIZE = 40 if not LONG else 32


def says(text: str, root: "etree._ElementTree") -> bool:
    return bool(root.xpath(f"boolean({text})", namespaces=NAMESPACES))


@given(st.integers(0, 2**32))
def test_an_expression_matches_where_lxml_finds_something(seed: int) -> None:
    random = Random(seed)
    texts = [document(random) for _ in range(SIZE)]
    ours = [read(text) for text in texts]
    theirs = [etree.ElementTree(etree.fromstring(text)) for text in texts]
    for _ in range(SIZE):
        text = Writer(random).expression()
        f = parse_xpath(text, namespaces=NAMESPACES)
        again = pickle.loads(pickle.dumps(f))
        assert again == f
        assert hash(again) == hash(f)
        for mine, other, source in zip(ours, theirs, texts, strict=True):
            assert f.matches(mine) == says(text, other), (text, source, f.patterns)


@given(st.integers(0, 2**32))
@settings(max_examples=100 if LONG else 8)
def test_so_it_is_for_documents_of_any_type(seed: int) -> None:
    random = Random(seed)
    dtd = made_up(random, random.randint(4, 12))
    attributes = {each.name for element in dtd.elements.values() for each in element.attributes}
    source = DocumentSource(dtd, DocumentChoices(tags=20, optional=0.6, values=3), seed)
    writer = Writer(random, names=list(dtd.elements), attributes=sorted(attributes) or ["a0"])
    drawn = PatternSource(dtd, PatternChoices(least=1, branching=0.3, wildcard=0.2, stop=0.3), seed)
    texts = [writer.expression() for _ in range(40)] + [drawn.draw().text for _ in range(20)]
    index = DocumentIndex()
    for number, text in enumerate(texts):
        index.add(number, text)
    read_texts = [parse_xpath(text) for text in texts]
    for _ in range(12):
        document = source.draw()
        root = etree.ElementTree(etree.fromstring(document))
        expected = [number for number, text in enumerate(texts) if says(text, root)]
        assert sorted(index.match(document)) == expected, (texts, document)
        assert [n for n, f in enumerate(read_texts) if f.matches(document)] == expected

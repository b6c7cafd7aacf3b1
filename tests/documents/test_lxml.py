"""An expression means what lxml says, on all documents; so do its normal form and what binds it."""

import os
import pickle
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.documents.generate import NAMESPACES, Writer, document
from tidegate.documents.tree import read
from tidegate.documents.xpath import parse_xpath

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

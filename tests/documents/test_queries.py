"""The query sets and documents of YFilter, if they are at hand, else made up ones of their shape.

They are looked for in the folder that TIDEGATE_DATA names, or in `shared/data` beside the project.
"""

import gzip
import os
import tarfile
from random import Random

import pytest
from lxml import etree

from tidegate.documents.tree import read
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.workloads.dtds import data_folder, news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource

LONG = os.environ.get("TIDEGATE_LONG") == "1"
FOLDER = data_folder() / "xml"


def queries(name: str, most: int) -> list[str]:
    """Some of the different lines of a query set."""
    file = FOLDER / name
    if not file.exists():
        return made_up(most)
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    lines = list(dict.fromkeys(text.decode().splitlines()))
    return lines if LONG or len(lines) <= most else Random(1).sample(lines, most)


def made_up(most: int) -> list[str]:
    source = PatternSource(news(), PatternChoices(branching=0.2), 1)
    return [source.draw().text for _ in range(most)]


def documents(most: int) -> list[bytes]:
    file = FOLDER / "nitf-documents.tar.gz"
    if not file.exists():
        source = DocumentSource(news(), DocumentChoices(tags=58), 1)
        return [source.draw().encode() for _ in range(most)]
    with tarfile.open(file) as archive:
        found = [archive.extractfile(each) for each in archive if each.isfile()]
        return [each.read() for each in found if each is not None][: None if LONG else most]


def check(texts: list[str], sources: list[bytes]) -> int:
    """Compare with lxml; how many pairs match."""
    ours = [read(source) for source in sources]
    theirs = [etree.ElementTree(etree.fromstring(source)) for source in sources]
    count = 0
    for text in texts:
        f, path = parse_xpath(text), etree.XPath(text)
        for mine, other in zip(ours, theirs, strict=True):
            expected = bool(path(other))
            assert f.matches(mine) == expected, text
            count += expected
    return count


@pytest.mark.slow
def test_every_query_set_means_what_lxml_says() -> None:
    sources = documents(8)
    for name, most in (
        ("queries-simple-paths.txt", 200),
        ("queries-predicates.txt", 999),
        ("queries-500000.txt.gz", 400),
        ("queries-153928-d.txt.gz", 400),
    ):
        assert check(queries(name, most), sources) > 0


def test_queries_are_read_again_from_what_is_printed() -> None:
    for text in queries("queries-predicates.txt", 300):
        f = parse_xpath(text)
        assert parse_xpath(str(f)) == f

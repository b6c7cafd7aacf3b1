"""How fast do documents find the patterns they match?

Documents of 3.7 KB of the News Industry Text Format are read and matched with sets of patterns, on
one core. Costs are **multiples of a bare parse**: what expat takes to read the same documents, in
the same run, without telling anybody. Documents and paths are those of the field, if they are at
hand, else made up from a DTD of the same shape; patterns with predicates (`[@a=7]`), with a branch,
and with both and a predicate in the branch, are drawn by `tidegate.lab.workloads.xml_paths`.

*Seen* documents have been matched before, so the automata know their states; *unseen* ones come
when half of all documents have been. The ids of some patterns are compared with what lxml says of
each pair. Beside it: lxml, asked one expression after the other on a tree that it has parsed; XTrie
(in plain Python); what it costs that an index is changed while it is used; and how long it takes to
load 500,000 expressions. At the end, what it is on Spark (`xml_spark`), and how containment is
searched (`xml_containment`).
"""

from __future__ import annotations

import gzip
import tarfile
from dataclasses import dataclass
from functools import cache
from random import Random
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from lxml import etree

from bench import xml_containment, xml_spark
from bench.figure import Figure, timed
from tidegate.documents.index import DocumentIndex
from tidegate.documents.reading import expat
from tidegate.documents.reading.parse_kernels import parse_bare
from tidegate.documents.reading.reader import Reader
from tidegate.documents.reading.rows import rows_of
from tidegate.documents.tree import read
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.workloads.dtds import data_folder, news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_paths import PathChoices, PathSource
from tidegate.papers.xtrie.xtrie import XTrie

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DOCUMENTS = 150
ROUNDS = 9
FRESH = 3  # times that the automata are begun anew
MANY = 4  # times that the seen documents are in a batch, if they have few matches
FEW_PAIRS = 5_000
CHECKED = 150  # expressions of each set that lxml is asked about
CHECKED_DOCUMENTS = 15
BESIDE = 1_000  # expressions that lxml and XTrie are given
LOADED = 500_000
LOADED_WITHIN = 30.0  # seconds
CHANGES = 50  # between two batches, half of them additions


@dataclass(frozen=True)
class Workload:
    """A set of expressions, and the multiple of a bare parse that is aimed at."""

    name: str
    aim: float
    texts: Callable[[], list[str]]


def run() -> Iterator[Figure]:
    """All figures."""
    documents = news_documents()
    half = len(documents) // 2
    seen, unseen = documents[:half], documents[half:]
    for workload in WORKLOADS:
        yield from matched(workload, seen, unseen)
    yield from beside(seen)
    yield from changing(seen)
    yield from loading()
    yield from xml_spark.figures(documents, paths_500())
    yield from xml_containment.figures()


def matched(workload: Workload, seen: list[bytes], unseen: list[bytes]) -> Iterator[Figure]:
    """What one set of expressions costs."""
    texts = workload.texts()
    index = loaded(texts)
    check(index, texts, seen)
    pairs = index.match_batch(seen).num_rows / len(seen)
    many = seen * (MANY if pairs < FEW_PAIRS else 1)
    column, other = pa.array(many), pa.array(unseen)
    times = [ratio(lambda: index.match_batch(column), many) for _ in range(ROUNDS)]
    fresh = []
    for _ in range(FRESH):
        for live in index._content.lives:
            live.segment._free.clear()  # type: ignore[attr-defined]
        index.count_batch(seen)
        fresh.append(ratio(lambda: index.count_batch(other), unseen))
    multiple = median(times)
    distinct = len(set(texts))
    note = f"{pairs:,.0f} matches a document; {distinct:,} different texts"
    yield Figure(
        f"xml: {workload.name}",
        round(multiple, 2),
        None,
        None,
        "bare parses",
        note,
        f"at most {workload.aim:g}",
        multiple <= workload.aim,
    )
    yield Figure(
        f"xml: {workload.name}, documents not seen before",
        round(median(fresh), 2),
        None,
        None,
        "bare parses",
        "counted only; the second half of the documents, after the first",
    )


def ratio(work: Callable[[], object], documents: list[bytes]) -> float:
    """How many bare parses some work takes."""
    with timed() as watch:
        work()
    return watch.seconds / bare_seconds(documents)


def bare_seconds(documents: Sequence[bytes]) -> float:
    """What expat alone takes for documents: the median of a few times."""
    rows, functions = rows_of(list(documents)), Reader()._functions
    assert parse_bare(rows.addresses, rows.lengths, functions, expat.SALT) == len(documents)
    found = []
    for _ in range(3):
        with timed() as watch:
            parse_bare(rows.addresses, rows.lengths, functions, expat.SALT)
        found.append(watch.seconds)
    return median(found)


def beside(documents: list[bytes]) -> Iterator[Figure]:
    """The index beside lxml one by one, and beside XTrie."""
    few = documents[:CHECKED_DOCUMENTS]
    for name, texts in (
        ("paths", paths_500()[:BESIDE]),
        ("with both", drawn(BESIDE, predicates=1, branches=1, within=1)),
    ):
        index = loaded(texts)
        index.match_batch(few)
        with timed() as watch:
            for _ in range(ROUNDS):
                index.match_batch(few)
        ours = watch.seconds / ROUNDS / len(few) * 1e6
        asked = [etree.XPath(f"boolean({text})") for text in texts]
        with timed() as watch:
            trees = [etree.fromstring(document) for document in few]
            found = [[ask(tree) for ask in asked] for tree in trees]
        theirs = watch.seconds / len(few) * 1e6
        assert index.count_batch(few).tolist() == [sum(row) for row in found]
        yield Figure(
            f"xml: {BESIDE:,} {name}, beside lxml one by one", ours, theirs, theirs / ours, "µs"
        )
        xtrie = XTrie()
        for number, text in enumerate(texts):
            xtrie.add(number, parse_xpath(text))
        with timed() as watch:
            matches = [len(xtrie.match(read(document))) for document in few]
        theirs = watch.seconds / len(few) * 1e6
        assert matches == index.count_batch(few).tolist()
        note = "XTrie is in plain Python"
        yield Figure(
            f"xml: {BESIDE:,} {name}, beside XTrie", ours, theirs, theirs / ours, "µs", note
        )


def changing(documents: list[bytes]) -> Iterator[Figure]:
    """What an index costs that is changed between batches."""
    texts = paths_500()[:100_000]
    index = loaded(texts)
    index.match_batch(documents)
    quiet = median(ratio(lambda: index.count_batch(documents), documents) for _ in range(ROUNDS))
    random, new = Random(1), drawn(ROUNDS * CHANGES, branches=1)
    moved, changes = [], []
    for start in range(0, len(new), CHANGES):
        with timed() as watch:
            for offset, text in enumerate(new[start : start + CHANGES // 2]):
                index.add(len(texts) + start + offset, text)
            for id in random.sample(range(100_000), CHANGES // 2):
                if id in index:
                    index.remove(id)
        changes.append(watch.seconds / CHANGES * 1e6)
        moved.append(ratio(lambda: index.count_batch(documents), documents))
    yield Figure(
        f"xml: 100,000 paths, {CHANGES} changes before each batch of {len(documents)}",
        round(median(moved), 2),
        round(quiet, 2),
        quiet / median(moved),
        "bare parses",
        f"counted only; a change takes {median(changes):,.0f} µs",
    )


def loading() -> Iterator[Figure]:
    """How long it takes to load many expressions."""
    texts = paths_500()
    with timed() as watch:
        index = loaded(texts)
    yield Figure(
        f"xml: loading {len(texts):,} expressions",
        watch.seconds,
        None,
        None,
        "s",
        f"{index.describe().bytes / len(texts):.1f} bytes each",
        f"at most {LOADED_WITHIN:g} s",
        watch.seconds <= LOADED_WITHIN,
    )


def loaded(texts: list[str]) -> DocumentIndex:
    """An index of expressions, numbered."""
    index = DocumentIndex()
    index.add_many(pa.table({"id": pa.array(np.arange(len(texts))), "filter": texts}))
    return index


def check(index: DocumentIndex, texts: list[str], documents: list[bytes]) -> None:
    """Compare what some expressions match with what lxml says; the documents are seen then."""
    found = index.match_batch(documents)
    random = Random(5)
    some = sorted(random.sample(range(len(texts)), min(CHECKED, len(texts))))
    few = sorted(random.sample(range(len(documents)), CHECKED_DOCUMENTS))
    rows, ids = (found[name].to_numpy() for name in ("event", "subscription"))
    kept = np.isin(rows, few) & np.isin(ids, some)
    ours = set(zip(rows[kept].tolist(), ids[kept].tolist(), strict=True))
    asked = {id: etree.XPath(f"boolean({texts[id]})") for id in some}
    trees = {row: etree.fromstring(documents[row]) for row in few}
    assert ours == {(r, i) for r, tree in trees.items() for i, ask in asked.items() if ask(tree)}


@cache
def news_documents() -> list[bytes]:
    """Documents of the news format."""
    file = data_folder() / "xml" / "nitf-documents.tar.gz"
    if file.exists():
        with tarfile.open(file) as archive:
            members = sorted(archive.getmembers(), key=lambda member: member.name)
            files = [archive.extractfile(member) for member in members]
            return [each.read() for each in files if each is not None]
    source = DocumentSource(news(), DocumentChoices(tags=72, attributes=0.6), 1)
    return [source.draw().encode() for _ in range(DOCUMENTS)]


@cache
def paths_500() -> list[str]:
    """500,000 paths, of which one in twelve is different."""
    file = data_folder() / "xml" / "queries-500000.txt.gz"
    if file.exists():
        with gzip.open(file, "rt") as lines:
            return [line.strip() for line in lines]
    some = drawn(LOADED // 12)
    return Random(2).choices(some, k=LOADED)


@cache
def paths_154() -> list[str]:
    """154,000 paths, all different."""
    file = data_folder() / "xml" / "queries-153928-d.txt.gz"
    if file.exists():
        with gzip.open(file, "rt") as lines:
            return [line.strip() for line in lines]
    return list(dict.fromkeys(drawn(400_000)))[:154_000]


def drawn(count: int, *, predicates: int = 0, branches: int = 0, within: int = 0) -> list[str]:
    """Expressions from the news format's DTD."""
    choices = PathChoices(predicates=predicates, branches=branches, within=within)
    source = PathSource(news(), choices, 7)
    return [source.draw() for _ in range(count)]


WORKLOADS = (
    Workload("1,000 paths", 1.5, lambda: paths_500()[:1_000]),
    Workload("10,000 paths", 1.6, lambda: paths_500()[:10_000]),
    Workload("100,000 paths", 3, lambda: paths_500()[:100_000]),
    Workload("500,000 paths", 9, paths_500),
    Workload("154,000 paths, all different", 4, paths_154),
    Workload("100,000 with predicates", 6, lambda: drawn(100_000, predicates=1)),
    Workload("100,000 with branches", 8, lambda: drawn(100_000, branches=1)),
    Workload("100,000 with both", 26, lambda: drawn(100_000, predicates=1, branches=1, within=1)),
)

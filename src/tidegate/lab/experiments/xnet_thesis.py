"""Do the thesis's examples come out, and do its properties hold?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), chapters 3 to 8,
where nothing is measured, and much is said that a run can decide.

- **xnet-examples**: what it works out by hand (`thesis_texts`, `trials`).
- **xnet-properties**: what it says holds always: tried on histories that are drawn (`trials`,
  `peer_trials`). One exception is enough to refute it.
- **xnet-filtering**: how the time to filter a document grows with the number of patterns, by XTrie
  and by our index.

Two examples cannot be run: the patterns of Figs. 5.2 and 5.3 are in a picture, and no patterns have
both traces. In the one, node 6 of the factorization tree stands for pattern 6, in the other for
patterns 3 and 4.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from math import isclose, log
from random import Random
from typing import Final

import pyarrow as pa

from tidegate.documents.index import DocumentIndex
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.experiments import peer_trials, thesis_texts, trials
from tidegate.lab.experiments.experiment import (
    BAND,
    Claim,
    Experiment,
    Plot,
    Point,
    Row,
    Size,
    Verdict,
    grid,
)
from tidegate.lab.experiments.rows import Rows
from tidegate.lab.experiments.trials import Found, Trial
from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads.dtds import news, which_news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.papers.xtrie.decomposition import Substring, decompose, quoted
from tidegate.papers.xtrie.table import Table
from tidegate.papers.xtrie.xtrie import XTrie
from tidegate.peers.guide import Guide
from tidegate.peers.opposition import Opposition
from tidegate.peers.similarity import Similarity, Weights

LEAST: Final = 3  # trials that say something
RARE: Final = 0.01  # of all containments, that may be missed


# -- examples


def _message(draw: Random) -> Found:
    right = [
        parse_xpath(text, namespaces=thesis_texts.NAMESPACES).matches(thesis_texts.REQUEST) == says
        for text, says, _ in thesis_texts.EXPRESSIONS.values()
    ]
    return len(right), right.count(False)


def _quotes(draw: Random) -> Found:
    right = [
        parse_xpath(text, namespaces=thesis_texts.NAMESPACES).matches(thesis_texts.QUOTES) == says
        for text, _, says in thesis_texts.EXPRESSIONS.values()
    ]
    return len(right), right.count(False)


def _normalized(draw: Random) -> Found:
    written = parse_xpath("//Stock[./Symbol[text()='GHI']][./Price]")
    short = parse_xpath("//Stock[Symbol/text()='GHI'][Price]")
    return 1, int(written.patterns != short.patterns)


def _decomposed(draw: Random) -> Found:
    [pattern] = parse_xpath("//Stock[Symbol/text()='GHI'][Price]").patterns
    found = {each.names for each in _all(decompose(pattern)) if each.names}
    symbol = "Stock", "Symbol", quoted("GHI", of_attribute=False)
    wanted = {("Stock",), symbol, ("Stock", "Price")}
    return 1, int(found != wanted)


def _all(root: Substring) -> list[Substring]:
    return [each for below in root.below for each in (below, *_all(below))]


def _xtrie_table(draw: Random) -> Found:
    table = Table()
    for number, (text, _, _) in enumerate(thesis_texts.EXPRESSIONS.values()):
        as_text = text.replace("=1]", "='1']")  # no name can say a number
        (pattern,) = parse_xpath(as_text, namespaces=thesis_texts.NAMESPACES).patterns
        root = decompose(pattern)
        for stock in root.below:
            if len(stock.below) > 1:  # our normal form has prices first; (viii) has them last
                stock.below.reverse()
                stock.below[0].rank, stock.below[1].rank = 1, 2
        table.add(number, root)
    rows = [table.row(number) for number in range(1, len(table.rows))]
    shown = [(r.above, r.least, r.most, r.rank, r.children, r.next) for r in rows]
    pairs = list(zip(shown, thesis_texts.TABLE, strict=True))
    return len(pairs), sum(ours != theirs for ours, theirs in pairs)


def _similar(name: str, *, opposition: bool = True) -> float:
    known = Opposition(thesis_texts.MEDIA) if opposition else None
    guide = Guide(thesis_texts.MEDIA, opposition=known)
    weights = Weights(thesis_texts.CONFLICT, thesis_texts.POSSIBLE, unmatched=0.0)
    [pattern] = parse_xpath(thesis_texts.SIMILAR[name][0]).patterns
    return Similarity(guide, weights=weights).laid(pattern.root, thesis_texts.expansion())


def _similarity(draw: Random) -> Found:
    right = [isclose(_similar(name), says) for name, (_, says) in thesis_texts.SIMILAR.items()]
    return len(right), right.count(False)


def _correlations(draw: Random) -> Found:
    without = _similar("S10", opposition=False), _similar("S9", opposition=False)
    right = [isclose(*without), _similar("S10") < _similar("S9")]
    return len(right), right.count(False)


EXAMPLES: Final[Mapping[str, Trial]] = {
    "language-message": _message,
    "language-quotes": _quotes,
    "xtrie-normal-form": _normalized,
    "xtrie-decomposition": _decomposed,
    "xtrie-table": _xtrie_table,
    "xroute-one-producer": trials.one_producer,
    "xroute-two-producers": trials.two_producers,
    "xsearch-pathological": trials.pathological,
    "metric-examples": _similarity,
    "metric-correlations": _correlations,
}
PROPERTIES: Final[Mapping[str, Trial]] = {
    "routing-perfect": trials.perfect,
    "routing-optimal": trials.optimal,
    "cancelling": trials.cancelled,
    "largest-filters": trials.largest,
    "counts": trials.counted,
    "duplicates-above": trials.duplicates,
    "crash-recover": trials.recovered,
    "nested-failures": trials.nested,
    "failover-right": trials.failed_over,
    "wrong-suspicion": trials.suspected,
    "redundant-paths": trials.redundant,
    "either-order": trials.either_order,
    "search-sound": trials.sound,
    "search-complete": trials.complete,
    "search-pairs": trials.pairs_once,
    "tree-spanning": peer_trials.spanning,
    "tree-leaves": peer_trials.leaves,
    "tree-nobody-missed": peer_trials.nobody_missed,
    "tree-anywhere": peer_trials.anywhere,
    "tree-no-deeper": peer_trials.no_deeper,
    "graph-like-tree": peer_trials.like_the_tree,
    "metric-covered": peer_trials.one_if_covered,
    "opposition-transitive": peer_trials.transitive,
}


def example(point: Point, seed: int) -> Row:
    """An example, worked out."""
    tried, wrong = EXAMPLES[str(point["example"])](Random(seed))
    return {"parts": tried, "wrong": wrong}


def held(point: Point, seed: int) -> Row:
    """A property, tried on so many histories."""
    trial = PROPERTIES[str(point["property"])]
    name, tried, wrong = point["property"], 0, 0
    for number in range(int(point["histories"])):
        own, bad = trial(Random(f"{seed} {name} {number}"))
        tried, wrong = tried + own, wrong + bad
    return {"tried": tried, "wrong": wrong}


def filtering(point: Point, seed: int) -> Row:
    """What a document takes."""
    source = PatternSource(news(), PatternChoices(), seed)
    texts = [each.text for each in islice(source.distinct(), int(point["patterns"]))]
    xtrie, index = XTrie(), DocumentIndex()
    for number, text in enumerate(texts):
        xtrie.add(number, parse_xpath(text))
    index.add_many(pa.table({"id": list(range(len(texts))), "filter": texts}))
    drawn = DocumentSource(news(), DocumentChoices(), seed)
    documents = [drawn.draw() for _ in range(int(point["documents"]))]
    row, found = {}, {}
    for name, match in (("xtrie", xtrie.match), ("index", index.match)):
        if name == "index":
            for document in documents:
                match(document)  # automata come to know new states
        with timed() as watch:
            found[name] = [match(document) for document in documents]
        row[name] = watch.seconds / len(documents) * 1e3
    same = [one == sorted(other) for one, other in zip(*found.values(), strict=True)]
    assert all(same), "the index finds something else"
    return row


# -- claims


def _example(name: str) -> Callable[[Rows], Verdict]:
    def rule(rows: Rows) -> Verdict:
        own = rows.where(example=name)
        parts, wrong = round(own.mean("parts")), round(own.mean("wrong"))
        return Verdict.of(
            [True] * (parts - wrong) + [False] * wrong, f"{parts - wrong} of {parts} as it says"
        )

    return rule


def _property(name: str, rare: float = 0.0) -> Callable[[Rows], Verdict]:
    def rule(rows: Rows) -> Verdict:
        own = rows.where(property=name)
        tried = sum(row["tried"] for row in own)
        wrong = sum(row["wrong"] for row in own)
        if tried < LEAST:
            raise LookupError("too few trials")
        told = f"{wrong:,} exceptions in {tried:,} trials"
        return Verdict("held" if wrong <= rare * tried else "not", told)

    return rule


def _grows_linearly(rows: Rows) -> Verdict:
    met, told = [], []
    for name in ("xtrie", "index"):
        curve = rows.curve("patterns", name)
        power = log(curve[-1].mean / curve[0].mean) / log(float(curve[-1].x) / float(curve[0].x))
        met.append(abs(power - 1) <= 2 * BAND)
        told.append(f"{name} N^{power:.2f}")
    return Verdict.of(met, ", ".join(told))


EXAMPLE = Experiment(
    "xnet-examples",
    "xnet",
    "The thesis's examples, worked out.",
    ("Figs. 3.1 to 3.5, 4.7 to 4.13, 5.4, 8.2 and 8.3",),
    example,
    {scale: Size(grid(example=EXAMPLES)) for scale in ("small", "paper")},
    claims=tuple(Claim(f"xnet-{name}", _example(name)) for name in EXAMPLES),
)

PROPERTY = Experiment(
    "xnet-properties",
    "xnet",
    "What the thesis says holds always, tried on histories that are drawn.",
    ("Properties 1 to 11, and what sections 4 to 8 say",),
    held,
    {
        "small": Size(grid(histories=[10], property=PROPERTIES)),
        "paper": Size(grid(histories=[200], property=PROPERTIES)),
    },
    claims=tuple(
        Claim(
            f"xnet-{name}",
            _property(name, RARE if name == "search-complete" else 0.0),
            "A content model of either a and b, or c, refutes it."
            if name == "opposition-transitive"
            else "",
        )
        for name in PROPERTIES
    ),
    data=which_news,
)

FILTERING = Experiment(
    "xnet-filtering",
    "xnet",
    "The time to filter a document by the number of patterns, by XTrie and by our index.",
    ("sections 5.1 and 6.2.1",),
    filtering,
    {
        "small": Size(grid(documents=[10], patterns=[200, 1_000, 4_000])),
        "paper": Size(grid(documents=[100], patterns=[1_000, 10_000, 100_000])),
    },
    frozenset({"xtrie", "index"}),
    (
        Plot(
            "Time of a document",
            "patterns",
            ("xtrie", "index"),
            "patterns",
            "CPU ms",
            log_x=True,
            log_y=True,
        ),
    ),
    (
        Claim(
            "xnet-filtering-linear",
            _grows_linearly,
            "What patterns have in common is looked at once.",
        ),
    ),
    data=which_news,
)

EXPERIMENTS = (EXAMPLE, PROPERTY, FILTERING)

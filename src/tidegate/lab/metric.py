"""How well is it estimated how near two patterns are?

Chand (2005) announces an evaluation of its metric and does not have it. Here Sim is estimated from
a DTD, from a synopsis of past documents, or from both, with elements that exclude each other or
without, and with a synopsis compressed to a tenth; and is held against what is counted over other
documents of the same sort: the mean error, and the rank correlation (Spearman's), which is what
matters for finding the nearest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tidegate.documents.dtd import DTD, parse_dtd
from tidegate.documents.synopsis import Synopsis
from tidegate.lab.workloads.dtds import made_up, news
from tidegate.lab.workloads.xml_documents import DocumentChoices, DocumentSource
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.overlay.pattern_filter import PatternFilter
from tidegate.overlay.patterns import Patterns
from tidegate.peers.guide import Guide
from tidegate.peers.history import History
from tidegate.peers.opposition import Opposition
from tidegate.peers.proximity import Measure, Proximity
from tidegate.peers.similarity import Similarity

MEDIA: Final = """
<!ELEMENT media ((Book, CD, DVD)*)> <!ELEMENT Book ((Author | Title)+)>
<!ELEMENT Author ((First | Last)+)> <!ELEMENT CD (Author+, (Producer | Interpreter)?)>
<!ELEMENT Interpreter ((First | Last)+, Instrument*)> <!ELEMENT Actor ((First | Last)+, Role?)>
<!ELEMENT DVD (Title?, Actor+, (Producer | Director)?)> <!ELEMENT Director ((First | Last)+)>
<!ELEMENT First (#PCDATA)> <!ELEMENT Last (#PCDATA)> <!ELEMENT Title (#PCDATA)>
<!ELEMENT Producer (#PCDATA)> <!ELEMENT Role (#PCDATA)> <!ELEMENT Instrument (#PCDATA)>
"""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How near an estimate of Sim comes to what is counted, over pairs of patterns."""

    dtd: str
    guide: str
    pairs: int
    error: float
    """The mean of the absolute difference."""
    correlation: float
    """Spearman's, of the ranks of both."""


def definitions() -> dict[str, DTD]:
    """The types of documents: the news industry's (or one of its shape), media, and a made-up."""
    return {"news": news(), "media": parse_dtd(MEDIA), "made up": made_up(Random(6), 40)}


def accuracies(
    name: str, dtd: DTD, *, filters: int, documents: int, seed: int = 1
) -> Iterator[Accuracy]:
    """How well each guide does for patterns on one type of documents."""
    kind = Patterns()
    patterns = PatternSource(dtd, PatternChoices(deepest=6), seed)
    source = DocumentSource(dtd, DocumentChoices(), seed)
    synopsis, history = Synopsis(), History(kind, limit=documents)
    for _ in range(documents):
        synopsis.add(source.draw())
        history.add(source.draw())
    chosen = _occurring(kind, patterns, history, filters)
    counted = Proximity(history, Measure.GIVEN)
    pairs = [(f, g) for f in chosen for g in chosen if f is not g]
    truth = np.array([counted.of(f, g) for f, g in pairs])
    for label, guide in guides(dtd, synopsis).items():
        similarity = Similarity(guide, Measure.GIVEN)
        estimate = np.array([similarity.of(f, g) for f, g in pairs])
        error = float(np.abs(estimate - truth).mean())
        yield Accuracy(name, label, len(pairs), error, rank_correlation(estimate, truth))


def guides(dtd: DTD, synopsis: Synopsis) -> dict[str, Guide]:
    """What may be known of documents."""
    opposition = Opposition(dtd)
    small = Synopsis.read(synopsis.plain())
    small.compress(max(len(synopsis) // 10, 20))
    return {
        "DTD": Guide(dtd),
        "DTD, opposition": Guide(dtd, opposition=opposition),
        "synopsis": Guide(synopsis=synopsis),
        "both": Guide(dtd, synopsis),
        "both, opposition": Guide(dtd, synopsis, opposition),
        "both, opposition, a tenth": Guide(dtd, small, opposition),
    }


def rank_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Spearman's rank correlation; equal values have the mean of their ranks.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 9.0]))
    1.0
    """
    ranks = [_ranks(each) for each in (one, other)]
    if any(each.std() == 0 for each in ranks):
        return 0.0
    return float(round(np.corrcoef(ranks[0], ranks[1])[0, 1], 12))


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, places, counts = np.unique(values.round(12), return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    return np.asarray((ends - (counts - 1) / 2)[places], dtype=np.float64)


def _occurring(
    kind: Patterns, patterns: PatternSource, history: History, wanted: int
) -> list[PatternFilter]:
    """Patterns that differ and that some, but not all, documents match."""
    found: list[PatternFilter] = []
    for drawn in patterns.distinct():
        f = kind.parse(drawn.text)
        if f not in found and 0 < history.matched(f) < len(history):
            found.append(f)
        if len(found) == wanted:
            return found
    raise AssertionError("patterns do not end")

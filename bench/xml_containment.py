"""What does it cost to find, among many patterns, those that contain one or are contained by it?

The search sets of Chand's thesis ("Large scale diffusion of information in Publish/Subscribe
systems", 2005, section 6.2.4): patterns that differ, by the parameters of Table 6.6. XSearch is
asked what covers a new pattern (contain mode, ⊆ in the thesis) and what it covers (contained mode,
⊇); the baseline asks `documents.containment.covers` of every pattern, one by one. Answers are
compared. What the thesis claims, and where it is printed:

- Table 6.8: how many nodes the patterns have, and how many the factorization tree. Counted as
  there: each `//` and each `*` is a node of its own.
- Figs. 6.12 and 6.13: less than 50 ms for large sets; one by one takes over 100 times as long; ⊆ is
  slower than ⊇.
- Figs. 6.14 and 6.15: more `//` make one mode slower and the other one faster (which is which, the
  text says both ways); fewer branches make both faster.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from bench.figure import Figure
from tidegate.documents.meaning import pattern_of
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.experiments.pattern_sets import (
    MODES,
    choices,
    drawn,
    filled,
    mean_ms,
    one_by_one_ms,
    unfolded,
)
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_patterns import PatternSource
from tidegate.papers.xsearch.factorization import FactorizationTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.documents.dtd import DTD

SIZES = (1_000, 10_000, 100_000)
PRINTED = {1_000: (7.6, 1.9), 10_000: (88.1, 15.1), 100_000: (998.6, 112.6)}
VARIED = 20_000  # patterns of each set in which a parameter varies
QUESTIONS = 200
ONE_BY_ONE = 3  # questions that are put to every pattern, at least
PAIRS = 100_000  # of a question and a pattern that are tried so, at least
TIMES = 100


def figures() -> Iterator[Figure]:
    """Space, time against one by one, and the influence of two parameters."""
    dtd = news()
    yield from space(dtd)
    for size in SIZES:
        yield from searches(dtd, size)
    yield from influence(dtd)


# -- Table 6.8


def space(dtd: DTD) -> Iterator[Figure]:
    """How many nodes there are, in thousands."""
    tree, nodes = FactorizationTree(), 0
    for number, each in enumerate(
        islice(PatternSource(dtd, choices(), 1).distinct(), max(SIZES)), 1
    ):
        nodes += each.nodes
        raw = pattern_of(parse_xpath(each.text).expression)
        assert raw is not None
        tree.add(number, unfolded(raw))
        if number in SIZES:
            shared = tree.size / 1_000
            patterns, printed = PRINTED.get(number, (0.0, 0.0))
            note = f"printed: {printed} of {patterns} in Table 6.8"
            yield Figure(
                f"xml containment: nodes of the tree, {number:,} patterns",
                shared,
                nodes / 1_000,
                nodes / 1_000 / shared,
                "thousand",
                note,
            )


# -- Figs. 6.12 and 6.13


def searches(dtd: DTD, size: int) -> Iterator[Figure]:
    """Both modes beside one question after the other."""
    patterns = drawn(dtd, choices(), size, 1)
    asked = drawn(dtd, choices(), QUESTIONS, 2)
    search = filled(patterns)
    for mode in MODES:
        ours = mean_ms(search, mode, asked)
        theirs = one_by_one_ms(search, mode, asked, patterns, max(ONE_BY_ONE, PAIRS // size))
        ratio = theirs / ours
        yield Figure(
            f"xml containment: {mode}, {size:,} patterns",
            ours,
            theirs,
            ratio,
            "ms",
            "Figs. 6.12, 6.13: < 50 ms, over 100 times as fast as one by one",
            f"{TIMES} times one by one",
            ratio >= TIMES,
        )


# -- Figs. 6.14 and 6.15


def influence(dtd: DTD) -> Iterator[Figure]:
    """How long both modes take where there are more `//`, and where there are more branches."""
    for name, sets in (
        ("p//", {p: choices(ellipsis=p) for p in (0.0, 0.05, 0.1, 0.15, 0.2)}),
        ("pλ", {p: choices(branching=p) for p in (0.0, 0.05, 0.1, 0.15, 0.2)}),
    ):
        times: dict[str, dict[float, float]] = {mode: {} for mode in MODES}
        for value, given in sets.items():
            search = filled(drawn(dtd, given, VARIED, 1))
            asked = drawn(dtd, given, QUESTIONS, 2)
            for mode in MODES:
                times[mode][value] = mean_ms(search, mode, asked)
        for mode in MODES:
            most, least = times[mode][0.2], times[mode][0.0]
            note = ", ".join(f"{value}: {ms:.3g} ms" for value, ms in times[mode].items())
            yield Figure(
                f"xml containment: {mode}, {name} 0.2 beside 0, {VARIED:,} patterns",
                most,
                least,
                least / most,
                "ms",
                note,
            )

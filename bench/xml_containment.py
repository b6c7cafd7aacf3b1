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

from bench.figure import Figure, timed
from tidegate.documents.containment import covers
from tidegate.documents.meaning import pattern_of
from tidegate.documents.parser import parse
from tidegate.documents.pattern import Branch, Distance, Node
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.workloads.dtds import news
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.papers.xsearch.factorization import FactorizationTree
from tidegate.papers.xsearch.xsearch import XSearch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidegate.documents.dtd import DTD
    from tidegate.documents.pattern import Pattern

SIZES = (1_000, 10_000, 100_000)
PRINTED = {1_000: (7.6, 1.9), 10_000: (88.1, 15.1), 100_000: (998.6, 112.6)}
VARIED = 20_000  # patterns of each set in which a parameter varies
QUESTIONS = 200
ONE_BY_ONE = 3  # questions that are put to every pattern
TIMES = 100
MODES = ("containing", "contained")
ELLIPSIS = 0.05
BRANCHING = 0.1


def figures() -> Iterator[Figure]:
    """Space, time against one by one, and the influence of two parameters."""
    dtd = news()
    yield from space(dtd)
    for size in SIZES:
        yield from searches(dtd, size)
    yield from influence(dtd)


def choices(ellipsis: float = ELLIPSIS, branching: float = BRANCHING) -> PatternChoices:
    return PatternChoices(ellipsis=ellipsis, branching=branching)


def drawn(dtd: DTD, given: PatternChoices, size: int, seed: int) -> list[Pattern]:
    """Patterns that differ in their normal form."""
    found: dict[Pattern, None] = {}
    for each in PatternSource(dtd, given, seed).distinct():
        found.update(dict.fromkeys(parse_xpath(each.text).patterns))
        if len(found) >= size:
            break
    return list(found)


# -- Table 6.8


def space(dtd: DTD) -> Iterator[Figure]:
    """How many nodes there are, in thousands."""
    tree, nodes = FactorizationTree(), 0
    for number, each in enumerate(
        islice(PatternSource(dtd, choices(), 1).distinct(), max(SIZES)), 1
    ):
        nodes += each.nodes
        raw = pattern_of(parse(each.text))
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


def unfolded(node: Node) -> Node:
    """A pattern as the thesis has it: each `//` is a node of its own, labelled so."""
    below = []
    for branch in node.branches:
        each = Branch(Distance(1), unfolded(branch.node))
        if not branch.distance.exact:
            each = Branch(Distance(1), Node("//", branches=(each,)))
        below.append(each)
    return Node(node.label, branches=tuple(below))


# -- Figs. 6.12 and 6.13


def searches(dtd: DTD, size: int) -> Iterator[Figure]:
    """Both modes beside one question after the other."""
    patterns = drawn(dtd, choices(), size, 1)
    asked = drawn(dtd, choices(), QUESTIONS, 2)
    search = filled(patterns)
    for mode in MODES:
        ours = mean_ms(search, mode, asked)
        theirs = one_by_one_ms(search, mode, asked, patterns)
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


def filled(patterns: list[Pattern]) -> XSearch:
    search = XSearch()
    for number, pattern in enumerate(patterns):
        search.add(number, pattern)
    return search


def mean_ms(search: XSearch, mode: str, asked: list[Pattern]) -> float:
    ask = getattr(search, mode)
    with timed() as watch:
        for pattern in asked:
            ask(pattern)
    return 1_000 * watch.seconds / len(asked)


def one_by_one_ms(
    search: XSearch, mode: str, asked: list[Pattern], patterns: list[Pattern]
) -> float:
    """The baseline on a few questions; its answers must be XSearch's."""
    few = asked[:ONE_BY_ONE]
    with timed() as watch:
        if mode == "containing":
            found = [{n for n, p in enumerate(patterns) if covers(p, each)} for each in few]
        else:
            found = [{n for n, p in enumerate(patterns) if covers(each, p)} for each in few]
    ask = getattr(search, mode)
    assert found == [ask(each) for each in few]
    return 1_000 * watch.seconds / len(few)


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

"""What does it take to find, among many patterns, those that contain one or are contained by it?

The search sets of Chand's thesis (2005, section 6.2.4): patterns that differ, by the parameters of
its Table 6.6, asked in both modes of XSearch and one by one; and the nodes of their factorization
tree, counted as there: each `//` and each `*` is a node of its own.
"""

from typing import Final

from tidegate.documents.containment import covers
from tidegate.documents.dtd import DTD
from tidegate.documents.pattern import Branch, Distance, Node, Pattern
from tidegate.documents.xpath import parse_xpath
from tidegate.lab.stopwatch import timed
from tidegate.lab.workloads.xml_patterns import PatternChoices, PatternSource
from tidegate.papers.xsearch.xsearch import XSearch

MODES: Final = ("containing", "contained")
ELLIPSIS: Final = 0.05
BRANCHING: Final = 0.1


def choices(ellipsis: float = ELLIPSIS, branching: float = BRANCHING) -> PatternChoices:
    """The parameters of Table 6.6."""
    return PatternChoices(ellipsis=ellipsis, branching=branching)


def drawn(dtd: DTD, given: PatternChoices, size: int, seed: int) -> list[Pattern]:
    """Patterns that differ in their normal form."""
    found: dict[Pattern, None] = {}
    for each in PatternSource(dtd, given, seed).distinct():
        found.update(dict.fromkeys(parse_xpath(each.text).patterns))
        if len(found) >= size:
            break
    return list(found)


def unfolded(node: Node) -> Node:
    """A pattern as the thesis has it: each `//` is a node of its own, labelled so."""
    below = []
    for branch in node.branches:
        each = Branch(Distance(1), unfolded(branch.node))
        if not branch.distance.exact:
            each = Branch(Distance(1), Node("//", branches=(each,)))
        below.append(each)
    return Node(node.label, branches=tuple(below))


def filled(patterns: list[Pattern]) -> XSearch:
    """A search with all of them, by their places."""
    search = XSearch()
    for number, pattern in enumerate(patterns):
        search.add(number, pattern)
    return search


def mean_ms(search: XSearch, mode: str, asked: list[Pattern]) -> float:
    """What a question takes."""
    ask = getattr(search, mode)
    with timed() as watch:
        for pattern in asked:
            ask(pattern)
    return 1_000 * watch.seconds / len(asked)


def one_by_one_ms(
    search: XSearch, mode: str, asked: list[Pattern], patterns: list[Pattern], count: int
) -> float:
    """The baseline on the first few questions; its answers must be XSearch's."""
    few = asked[:count]
    with timed() as watch:
        if mode == "containing":
            found = [{n for n, p in enumerate(patterns) if covers(p, each)} for each in few]
        else:
            found = [{n for n, p in enumerate(patterns) if covers(each, p)} for each in few]
    ask = getattr(search, mode)
    assert found == [ask(each) for each in few]
    return 1_000 * watch.seconds / len(few)

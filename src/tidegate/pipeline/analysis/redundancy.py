"""Which filters of a cell do others make redundant?

The filters that touch a cell (`cells`), each with a name, are compared: which are covered by
another one, and which mean the same though their canonical forms differ (`covering`)? Of those that
nobody covers it is then asked whether the others of them together cover what of it lies in the cell
(`subsumption`); a filter is subsumed if that is so in every cell that it touches.

Invariant: a filter is found to be covered exactly if `covers` says so of one of the others that
there was room for. It is never found to be subsumed if `subsumed` would not say so, given a budget
large enough.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidegate.algebra.normal import boxes
from tidegate.filters.filter import Filter
from tidegate.pipeline.analysis.cells import Cells
from tidegate.pipeline.analysis.covering import Covering, rank
from tidegate.pipeline.analysis.subsumption import Subsumption


@dataclass(slots=True)
class Finding:
    """What was found about one filter in one cell."""

    coverer: str | None = None  # another filter that covers it, and is not equal
    same: str | None = None  # the first name of those that mean the same, if that is another's
    subsumed: bool | None = False  # by the others, in this cell; None if that is not known
    by: tuple[str, ...] = ()  # some that subsume it together, if that is known
    compared: bool = True  # whether others were compared with it, and not only it with others


@dataclass(slots=True)
class Found:
    """What was found about the filters of a cell, in their order."""

    findings: list[Finding]


def examine(names: Sequence[str], filters: Sequence[Filter], cells: Cells, cell: int) -> Found:
    """Compare the filters that touch a cell; all of them have boxes, and no two are equal.

    >>> from tidegate import parse
    >>> texts = ("x < 5", "x < 3", "x >= 5", "x BETWEEN 2 AND 8")
    >>> found = examine("abcd", [parse(text) for text in texts], Cells(None), 0)
    >>> [(each.coverer, each.subsumed) for each in found.findings]
    [(None, False), ('a', False), (None, False), (None, True)]
    >>> found.findings[3].by
    ('a', 'c')
    """
    order = sorted(range(len(names)), key=lambda i: rank(filters[i]))
    ordered = compare([names[i] for i in order], (filters[i] for i in order), cells)
    findings = [Finding()] * len(names)
    for i, finding in zip(order, ordered, strict=True):
        findings[i] = finding
    left = {
        i: filters[i]
        for i, finding in enumerate(findings)
        if finding.coverer is None and finding.same is None
    }
    others = {i: f for i, f in left.items() if findings[i].compared}
    for number, answer, by in subsume(left, others, cells, cell):
        findings[number].subsumed = answer
        findings[number].by = tuple(names[i] for i in by)
    return Found(findings)


def compare(names: Sequence[str], filters: Iterable[Filter], cells: Cells) -> list[Finding]:
    """Find who is covered, and who means the same, of filters in the order of their ranks.

    Filters are looked at as they come, and only those that nobody covers stay in memory; names need
    not be there before all have come.
    """
    compared = Covering(cells.schema)
    compared.compare(filters)
    findings = [Finding(compared=i not in compared.outside) for i in range(len(names))]
    for number, coverer in compared.coverers.items():
        findings[number].coverer = names[coverer]
    for group in compared.groups():
        first = min(names[i] for i in group)
        for number in group:
            if names[number] != first:
                findings[number].same = first
    return findings


def subsume(
    asked: Mapping[int, Filter], others: Mapping[int, Filter], cells: Cells, cell: int
) -> Iterator[tuple[int, bool | None, tuple[int, ...]]]:
    """Of each filter that is asked about, whether others subsume what of it lies in a cell.

    None if that is not known; and by which, if that is.
    """
    among = Subsumption(others, cells.schema)
    for number, f in asked.items():
        mine = len(cells.touched(boxes(f) or ())) == 1
        part = f if mine else cells.clipped(f, cell)
        answer = among.ask(number, part)
        yield number, answer, among.subsumers(number, part) if answer else ()

"""What becomes of a document, tag by tag?

Each node of the document, an element, an attribute, a value, is taken along an edge of the trie.
Every substring that ends there is looked up: for each of its rows, the row above must be **open**
at a level within Rel Level, and the predicates must hold. A row with rows below it is open then,
until the node ends; one without is **complete**, and so is one all of whose rows below are: it
counts for the rows above that are open at a fitting level. A pattern matches when its root rows are
complete. Three kinds of patterns are told apart, as in the paper:

- *single paths*, where no row has two below it: the last row of the path is enough, since those
  above could only open one after the other;
- *trees*, of which each open row notes which of those below it are complete;
- *ordered trees*, of which it notes how many are, in the order of their ranks. Each must begin
  after the end of the one before, so a row is counted when the branch that it is on has ended.

The rows above come before those below where both end at one node, so that they are open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tidegate.documents.pattern import TEXT
from tidegate.documents.tree import Element
from tidegate.documents.values import meets
from tidegate.papers.xtrie.decomposition import Predicate, quoted
from tidegate.papers.xtrie.substring_trie import ROOT
from tidegate.papers.xtrie.table import Row, Table

PATH: Final = "path"
TREE: Final = "tree"
ORDERED: Final = "ordered"


@dataclass(slots=True)
class Opened:
    """A row that is open at a level."""

    row: int
    level: int
    met: set[int] = field(default_factory=set)
    """The rows below that are complete: their numbers."""
    ranks: int = 0
    """How many of those that have a rank are, in order."""
    since: int = 0
    """When the last of them had ended."""


class Run:
    """One document."""

    def __init__(self, table: Table, roots: Sequence[tuple[str, list[int]]]) -> None:
        self._table = table
        self._kinds = [kind for kind, _ in roots]
        self._wanted = [set(rows) for _, rows in roots]
        self._top = [Opened(0, 0) for _ in roots]
        """For each pattern the document itself, above its first rows."""
        self._open: dict[int, list[Opened]] = {}
        self._at_level: list[list[Opened]] = [[]]
        self._waiting: list[list[tuple[Opened, int]]] = [[]]
        self._began: list[int] = [0]
        self._clock = 0
        self.matched = {number for number, rows in enumerate(self._wanted) if not rows}

    def document(self, root: Element) -> set[int]:
        """The numbers of the patterns that a document matches."""
        stack: list[tuple[Element | str | None, int]] = [
            (child, ROOT) for child in reversed(root.children)
        ]
        while stack:
            node, place = stack.pop()
            if node is None:
                self._end()
            elif isinstance(node, str):
                self._leaf(place, (quoted(node, of_attribute=False), TEXT), node)
            else:
                place = self._start(node, place)
                stack.append((None, ROOT))
                stack += [(child, place) for child in reversed(node.children)]
        return self.matched

    def _start(self, element: Element, place: int) -> int:
        """An element begins below a node of the trie; the node it leads to."""
        place = self._table.trie.step(place, element.name)
        self._begin()
        self._probe(place, element, element.value)
        for name, value in element.attributes.items():
            self._begin()
            below = self._table.trie.step(place, "@" + name)
            self._probe(below, None, value)
            self._leaf(below, (quoted(value, of_attribute=True),), value)
            self._end()
        return place

    def _leaf(self, place: int, names: tuple[str, ...], value: str) -> None:
        """A value, which begins and ends, under each of its names."""
        self._begin()
        for name in names:
            self._probe(self._table.trie.step(place, name), None, value)
        self._end()

    def _begin(self) -> None:
        self._clock += 1
        self._at_level.append([])
        self._waiting.append([])
        self._began.append(self._clock)

    def _end(self) -> None:
        """The node ends that began last: what is open at its level is out of scope."""
        self._clock += 1
        for opened, rank in self._waiting.pop():
            if opened.ranks == rank - 1:
                opened.ranks, opened.since = rank, self._clock
        for opened in self._at_level.pop():
            self._open[opened.row].pop()
        self._began.pop()

    def _probe(self, place: int, element: Element | None, value: str) -> None:
        """Look up the rows of all substrings that end here."""
        rows: list[int] = []
        beta = self._table.trie.beta
        while place != ROOT:
            rows += self._table.same(place)
            place = beta[place]
        if element is not None:
            rows += self._table.same(ROOT)  # of substrings without names
        for number in sorted(rows):
            row = self._table.row(number)
            if row.pattern not in self.matched and self._fits(row, element, value):
                self._found(number, row)

    def _fits(self, row: Row, element: Element | None, value: str) -> bool:
        if not self._above(row, len(self._at_level) - 1):
            return False
        return all(_holds(predicate, element, value) for predicate in row.predicates)

    def _above(self, row: Row, level: int) -> list[Opened]:
        """Where the row above is open, so that this one may be at a level."""
        if not row.above:
            return [self._top[row.pattern]] if row.least <= level <= row.most else []
        return [
            opened
            for opened in self._open.get(row.above, ())
            if row.least <= level - opened.level <= row.most
        ]

    def _found(self, number: int, row: Row) -> None:
        level = len(self._at_level) - 1
        if not row.children:
            if self._kinds[row.pattern] == PATH:
                self.matched.add(row.pattern)
            else:
                self._complete(number, row, level)
            return
        opened = Opened(number, level, since=self._clock)
        self._open.setdefault(number, []).append(opened)
        self._at_level[-1].append(opened)

    def _complete(self, number: int, row: Row, level: int) -> None:
        """A row is complete at a level: it counts for those above."""
        for opened in self._above(row, level):
            if self._kinds[row.pattern] == ORDERED and row.rank:
                self._count_in_order(row, opened, level)
            else:
                opened.met.add(number)
            if self._is_complete(row, opened):
                if not row.above:
                    self.matched.add(row.pattern)
                    return
                self._complete(row.above, self._table.row(row.above), opened.level)

    def _count_in_order(self, row: Row, opened: Opened, level: int) -> None:
        """Count a row if it is the next one; when its branch ends, or at once if it is the last."""
        if opened.ranks != row.rank - 1:
            return
        begins = opened.level + row.begins if row.begins > 0 else level + row.begins + 1
        if self._began[begins] <= opened.since:
            return
        if row.rank == self._ranked(row):
            opened.ranks = row.rank
        else:
            self._waiting[begins].append((opened, row.rank))

    def _ranked(self, row: Row) -> int:
        """How many rows with a rank are below the one above."""
        if row.above:
            return self._table.row(row.above).ordered_children
        return sum(self._table.row(number).rank > 0 for number in self._wanted[row.pattern])

    def _is_complete(self, row: Row, opened: Opened) -> bool:
        """Whether all rows below the one above are complete."""
        if row.above:
            wanted = self._table.row(row.above).children
        else:
            wanted = len(self._wanted[row.pattern])
        if self._kinds[row.pattern] != ORDERED:
            return len(opened.met) == wanted
        ranked = self._ranked(row)
        return opened.ranks == ranked and len(opened.met) == wanted - ranked


def _holds(predicate: Predicate, element: Element | None, value: str) -> bool:
    """Whether a predicate holds for a node of the document."""
    if not predicate.of_text:
        return all(meets(value, test) for test in predicate.tests)
    if element is None:
        return False
    return any(
        all(meets(text, test) for test in predicate.tests)
        for text in element.children
        if isinstance(text, str)
    )

"""Which of many tree patterns does a document match? XTrie, with subscriptions by number."""

from tidegate.documents.tree import Element, read
from tidegate.documents.xpath import XPath
from tidegate.papers.xtrie.decomposition import decompose
from tidegate.papers.xtrie.matching import ORDERED, PATH, TREE, Run
from tidegate.papers.xtrie.table import Table


class XTrie:
    """An index of patterns.

    >>> index = XTrie()
    >>> from tidegate.documents.xpath import parse_xpath
    >>> index.add(1, parse_xpath("//Stock[Symbol = 'GHI'][Price > 15]"))
    >>> index.match("<Stock><Symbol>GHI</Symbol><Price>20</Price></Stock>")
    [1]
    """

    def __init__(self) -> None:
        self.table = Table()
        self._roots: list[tuple[str, list[int]]] = []
        self._numbers: list[int] = []

    def add(self, number: int, filter: XPath) -> None:
        """Add an expression, that is one pattern or several; positions and choices are refused."""
        trees = [(pattern, decompose(pattern)) for pattern in filter.patterns]
        for pattern, root in trees:
            rows = self.table.add(len(self._roots), root)
            first = [row for row in rows if not self.table.row(row).above]
            single = len(first) < 2 and all(self.table.row(row).children < 2 for row in rows)
            kind = ORDERED if pattern.ordered else PATH if single else TREE
            self._roots.append((kind, first))
            self._numbers.append(number)

    def match(self, document: bytes | str | Element) -> list[int]:
        """The numbers of the expressions that a document matches, in order."""
        root = document if isinstance(document, Element) else read(document)
        found = Run(self.table, self._roots).document(root)
        return sorted({self._numbers[pattern] for pattern in found})

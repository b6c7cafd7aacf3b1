"""What is known of each substring of each pattern?

A **row**: the row of the substring above it (0 if there is none), how many levels its end is below
that one's end (*Rel Level*: at least and at most), its rank among those with the same row above,
how many rows are below it, the next row with the same names, and the predicates that hang on it.
Rows are numbered from 1; those of one pattern follow each other, the ones above first.
"""

from dataclasses import dataclass

from tidegate.papers.xtrie.decomposition import Names, Predicate, Substring
from tidegate.papers.xtrie.substring_trie import SubstringTrie


@dataclass(slots=True)
class Row:
    """A row of the table."""

    pattern: int
    names: Names
    above: int
    least: int
    most: float
    rank: int
    children: int
    ordered_children: int
    """Those of them that have a rank."""
    begins: int
    predicates: tuple[Predicate, ...]
    next: int = 0


class Table:
    """All rows, and the trie that leads to them."""

    def __init__(self) -> None:
        self.trie = SubstringTrie()
        self.rows: list[Row | None] = [None]
        self._last: dict[int, int] = {}  # the last row of each node's list

    def row(self, number: int) -> Row:
        """A row by its number."""
        found = self.rows[number]
        assert found is not None
        return found

    def add(self, pattern: int, root: Substring) -> list[int]:
        """Add the substrings of a pattern; the numbers of their rows."""
        first = len(self.rows)
        stack = [(substring, 0) for substring in reversed(root.below)]
        while stack:
            substring, above = stack.pop()
            number = len(self.rows)
            self.rows.append(
                Row(
                    pattern,
                    substring.names,
                    above,
                    substring.least,
                    substring.most,
                    substring.rank,
                    len(substring.below),
                    sum(below.rank > 0 for below in substring.below),
                    substring.begins,
                    substring.predicates,
                )
            )
            self._chain(number)
            stack += [(below, number) for below in reversed(substring.below)]
        return list(range(first, len(self.rows)))

    def _chain(self, number: int) -> None:
        """Put a row at the end of the list of those with the same names."""
        node = self.trie.node(self.row(number).names)
        last = self._last.get(node)
        if last is None:
            self.trie.alpha[node] = number
        else:
            self.row(last).next = number
        self._last[node] = number

    def same(self, node: int) -> list[int]:
        """The rows whose substring is the label of a node."""
        found, number = [], self.trie.alpha[node]
        while number:
            found.append(number)
            number = self.row(number).next
        return found

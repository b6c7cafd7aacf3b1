"""Patterns under numbers, and both questions about them.

Patterns with choices, and those whose branches come in order, are not in the tree; they are few,
and are asked one by one.
"""

from tidegate.documents.containment import covers
from tidegate.documents.pattern import Pattern
from tidegate.papers.xsearch.contained import Contained
from tidegate.papers.xsearch.containing import Containing
from tidegate.papers.xsearch.factorization import FactorizationTree


class XSearch:
    """Many patterns, each under a number that the caller chose. One thread at a time."""

    def __init__(self) -> None:
        self.tree = FactorizationTree()
        self._patterns: dict[int, Pattern] = {}
        self._odd: set[int] = set()

    def __len__(self) -> int:
        return len(self._patterns)

    def add(self, number: int, pattern: Pattern) -> None:
        """Take in a pattern under a number that is free."""
        if number in self._patterns:
            raise KeyError(f"there is a pattern {number}")
        self._patterns[number] = pattern
        if _is_odd(pattern):
            self._odd.add(number)
        else:
            self.tree.add(number, pattern.root)

    def remove(self, number: int) -> None:
        """Forget the pattern with this number."""
        pattern = self._patterns.pop(number)
        if number in self._odd:
            self._odd.discard(number)
        else:
            self.tree.remove(number, pattern.root)

    def containing(self, pattern: Pattern) -> set[int]:
        """The patterns that cover this one."""
        odd = {number for number in self._odd if covers(self._patterns[number], pattern)}
        return odd | Containing(self.tree).search(pattern.root)

    def contained(self, pattern: Pattern) -> set[int]:
        """The patterns that this one covers."""
        if _is_odd(pattern):
            return {n for n, each in self._patterns.items() if covers(pattern, each)}
        odd = {number for number in self._odd if covers(pattern, self._patterns[number])}
        return odd | Contained(self.tree).search(pattern.root)


def _is_odd(pattern: Pattern) -> bool:
    return pattern.ordered or pattern.has_choices

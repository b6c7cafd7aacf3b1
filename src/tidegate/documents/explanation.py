"""Why does a document match a pattern, or not?

A pattern is shown path by path, from the document to each of its leaves, with what is asked on the
way. Where every path holds by itself and the pattern does not, its branches do not meet at one
element, or not in the order that was asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidegate.documents.evaluate import matches
from tidegate.documents.pattern import Branch, Node, Pattern, spell
from tidegate.documents.tree import Element
from tidegate.documents.xpath import XPath


@dataclass(frozen=True, slots=True)
class PatternExplanation:
    """A pattern: whether the document matches it, and each of its paths."""

    pattern: str
    matches: bool
    paths: tuple[tuple[str, bool], ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class DocumentExplanation:
    """Why a subscription wants a document, or does not. `str()` of it is for people."""

    matches: bool
    patterns: tuple[PatternExplanation, ...]

    def __bool__(self) -> bool:
        return self.matches

    def __str__(self) -> str:
        if not self.patterns:
            return "no: nothing can match"
        lines = []
        for each in self.patterns:
            lines.append(f"{_said(each.matches)}: {each.pattern}")
            if len(each.paths) > 1:
                lines += [f"  {_said(holds)}: {path}" for path, holds in each.paths]
                if not each.matches and all(holds for _, holds in each.paths):
                    order = " in this order" if each.ordered else ""
                    lines.append(f"  all of them hold, but not for the same element{order}")
        return "\n".join(lines)


def explain(xpath: XPath, document: Element) -> DocumentExplanation:
    """Why an expression, all of it bound, matches a document or not.

    >>> from tidegate.documents.tree import read
    >>> from tidegate.documents.xpath import parse_xpath
    >>> print(explain(parse_xpath("//a[b][c]"), read("<r><a><b/></a><a><c/></a></r>")))
    no: //a[b][c]
      yes: //a[b]
      yes: //a[c]
      all of them hold, but not for the same element
    """
    patterns = tuple(
        PatternExplanation(
            str(pattern),
            matches(pattern, document),
            tuple((spell(path.root), matches(path, document)) for path in _paths(pattern)),
            pattern.ordered,
        )
        for pattern in xpath.patterns
    )
    return DocumentExplanation(any(each.matches for each in patterns), patterns)


def _paths(pattern: Pattern) -> Iterator[Pattern]:
    """The patterns of which each has one leaf only."""
    for root in _lines(pattern.root):
        yield Pattern(root, pattern.ordered)


def _lines(node: Node) -> Iterator[Node]:
    if not node.branches:
        yield node
    for branch in node.branches:
        for below in _lines(branch.node):
            yield replace(node, branches=(Branch(branch.distance, below),))


def _said(holds: bool) -> str:
    return "yes" if holds else "no"

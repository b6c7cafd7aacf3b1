"""A tree pattern on documents, as brokers and policies see it.

An XPath expression (`documents.xpath`) with all parameters bound, related to others by laying one
pattern over the other. Its shape is the expression without its constants.
"""

from functools import lru_cache
from typing import Final

from tidegate.documents.tree import Element, read
from tidegate.documents.xpath import XPath
from tidegate.overlay.filter import Event, Filter

_READ: Final = 64  # documents that are kept as trees


@lru_cache(maxsize=_READ)
def tree(document: bytes | str) -> Element:
    """A document as a tree; the last few are kept, as more than one filter is tried on them."""
    return read(document)


class PatternFilter:
    """An XPath expression, all parameters bound.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> f = PatternFilter(parse_xpath("//quote[price < $limit]").bind(limit=10))
    >>> f.covers(PatternFilter(parse_xpath("/quote[price = 5][symbol]")))
    True
    >>> f.values
    ['10.0']
    """

    __slots__ = ("_size", "xpath")

    def __init__(self, xpath: XPath) -> None:
        xpath.require_bound()
        self.xpath: Final = xpath
        self._size: int | None = None

    @property
    def size(self) -> int:
        """How much there is to it, about as many as the bytes it takes to write it down."""
        if self._size is None:
            self._size = len(str(self.xpath))
        return self._size

    @property
    def shape(self) -> object:
        """The expression without its constants."""
        return self.xpath.shape

    @property
    def values(self) -> list[str | None]:
        """The constants in the order of the expression."""
        return self.xpath.values

    def matches(self, event: Event, /) -> bool:
        """Whether the document passes."""
        return self.xpath.matches(tree(event))

    def covers(self, other: Filter, /) -> bool:
        """Whether every document that matches the other is certain to match this one."""
        return self.xpath.covers(expression_of(other))

    def overlaps(self, other: Filter, /) -> bool:
        """Whether some document may match both."""
        return self.xpath.overlaps(expression_of(other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternFilter) and self.xpath == other.xpath

    def __hash__(self) -> int:
        return hash(self.xpath)

    def __str__(self) -> str:
        return str(self.xpath)

    def __repr__(self) -> str:
        return f"<PatternFilter {self}>"


def expression_of(f: Filter) -> XPath:
    """The expression of a filter. A broker has refused those of another kind, which have none."""
    if not isinstance(f, PatternFilter):
        raise TypeError(f"{f!r} is not a pattern on documents")
    return f.xpath

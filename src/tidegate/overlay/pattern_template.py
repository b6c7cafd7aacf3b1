"""A tree pattern with parameters, which are given values again and again."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tidegate.documents.widen import around, ranged, without
from tidegate.documents.xpath import XPath
from tidegate.overlay.pattern_filter import PatternFilter


class PatternTemplate:
    """An XPath expression with parameters: a `Template`.

    >>> from tidegate.documents.xpath import parse_xpath
    >>> template = PatternTemplate(parse_xpath("//quote[price < $limit]"))
    >>> template.bind({"limit": 5}), template.around({"limit": 5}, [{"limit": 7}])
    (<PatternFilter //quote[price < 5]>, <PatternFilter //quote[price < 7]>)
    """

    def __init__(self, xpath: XPath) -> None:
        self._open = xpath

    @property
    def parameters(self) -> tuple[str, ...]:
        """Their names."""
        return self._open.parameters

    def bind(self, values: Mapping[str, Any], /) -> PatternFilter:
        """The filter with a value for each parameter."""
        return PatternFilter(self._open.bind(**values))

    def around(
        self, now: Mapping[str, Any], others: Sequence[Mapping[str, Any]], /
    ) -> PatternFilter:
        """A filter wide enough for the values of now, and as far as possible for others."""
        return PatternFilter(around(self._open, now, others))

    def ranged(self, names: Collection[str], /) -> "PatternTemplate":
        """One in which equalities with these parameters are ranges."""
        return PatternTemplate(ranged(self._open, names))

    def without(self, names: Collection[str], /) -> "PatternTemplate":
        """One without the conditions that have these parameters."""
        return PatternTemplate(without(self._open, names))

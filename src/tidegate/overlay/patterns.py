"""The kind of tree patterns on documents: how they are read, written, kept and pruned.

A filter is an XPath expression, and an event an XML document, as text or bytes.

Patterns are merged by pruning only, where documents were seen: what a wider one would add cannot be
priced without knowing documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tidegate.documents.reading.reader import read_documents
from tidegate.documents.xpath import XPath, of_shape, parse_xpath
from tidegate.errors import DocumentError, FilterError, TidegateError
from tidegate.overlay.filter import Event, Filter, Merger, Plain
from tidegate.overlay.pattern_events import PatternEvents
from tidegate.overlay.pattern_filter import PatternFilter, expression_of, tree
from tidegate.overlay.pattern_index import (
    MANY_DOCUMENTS,
    PatternIndex,
    PatternUnion,
    by_type,
)
from tidegate.overlay.pattern_pruner import PatternPruner
from tidegate.overlay.pattern_template import PatternTemplate


class Patterns(PatternEvents):
    """The kind of tree patterns; `namespaces` gives the URIs of prefixes in texts that are read."""

    name: Final = "xml"

    def __init__(self, namespaces: Mapping[str, str] | None = None) -> None:
        self._namespaces = dict(namespaces or {})

    def parse(self, text: str, /, *, ordered: bool = False, **parameters: Any) -> PatternFilter:
        """A filter from its text."""
        found = parse_xpath(text, namespaces=self._namespaces, ordered=ordered)
        return PatternFilter(found.bind(**parameters) if parameters else found)

    def template(self, text: str, /) -> PatternTemplate:
        """Read a filter whose parameters are bound later."""
        return PatternTemplate(parse_xpath(text, namespaces=self._namespaces))

    def keeping(self, index: str | None, union: str | None) -> "Patterns":
        """The same kind: there is one structure for its filters."""
        for name in (index, union):
            if name is not None:
                raise TidegateError(f"patterns are not kept in a structure called {name}")
        return self

    def index(self) -> PatternIndex:
        """An empty index."""
        return PatternIndex()

    def union(self) -> PatternUnion:
        """An empty union."""
        return PatternUnion()

    def mergers(
        self, filters: Mapping[int, Filter], imt: float, advertised: Sequence[Filter] | None
    ) -> list[Merger]:
        """None."""
        return []

    def cost(
        self, merger: Filter, members: Iterable[Filter], advertised: Sequence[Filter] | None
    ) -> float:
        """Nothing, if one of the members covers the merger; else it cannot be told."""
        return 0.0 if any(member.covers(merger) for member in members) else float("inf")

    def pruner(self) -> PatternPruner:
        """Something that keeps documents, and tries what can be left out."""
        return PatternPruner()

    def plain(self, f: Filter) -> Plain:
        """A filter as plain data: its expression, namespaces, whether it is ordered, constants."""
        expression = expression_of(f)
        text, uris, ordered = expression.shape
        return [text, list(uris), ordered, expression.values]

    def read(self, plain: Plain) -> PatternFilter:
        """The filter that was written so."""
        match plain:
            case [str(text), [*uris], bool(ordered), [*values]] if all(
                isinstance(uri, str) for uri in uris
            ):
                return _bound(of_shape((text, uris, ordered), values))
        raise FilterError("this is no pattern: it is a text, namespaces, an order and constants")

    def reshaped(self, f: Filter, values: Plain) -> PatternFilter:
        """The filter of the same shape with other constants."""
        if not isinstance(values, list):
            raise FilterError("the constants of a pattern are a list")
        return _bound(expression_of(f).with_values(values))

    def reshaped_many(self, f: Filter, values: Sequence[Plain]) -> list[PatternFilter]:
        """The same for the constants of many."""
        return [self.reshaped(f, each) for each in values]

    def filter_refusal(self, f: object) -> str | None:
        """Why this cannot be taken as a filter, if it cannot."""
        return None if isinstance(f, PatternFilter) else "it is not a pattern on documents"

    def takes_all(self, events: Sequence[Event]) -> bool:
        """Whether all can be read, as those that read many at once say; of few, nobody knows."""
        if len(events) < MANY_DOCUMENTS or not all(type(x) in (bytes, str) for x in events):
            return False
        return not any(
            read_documents([events[row] for row in rows]).refused for rows in by_type(events)
        )

    def event_refusal(self, event: object) -> str | None:
        """Why this cannot be taken as an event, if it cannot: it is no readable document."""
        if not isinstance(event, bytes | str):
            return "an event is a document, as text or bytes"
        try:
            tree(event)
        except DocumentError as error:
            return str(error)
        return None


def _bound(expression: XPath) -> PatternFilter:
    """A filter that came from elsewhere."""
    if expression.parameters:
        raise FilterError("this is no filter: a parameter of it is open")
    expression.patterns  # noqa: B018  # what grows too large is refused here
    return PatternFilter(expression)

"""The kind of tree patterns on documents: how they are read, written, kept and pruned.

A filter is an XPath expression, and an event an XML document, as text or bytes.

Patterns are merged by pruning only, where documents were seen: what a wider one would add cannot be
priced without knowing documents.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tidegate.documents.xpath import XPath, of_shape, parse_xpath
from tidegate.errors import DocumentError, FilterError, TidegateError
from tidegate.overlay.filter import Event, Filter, Merger, Plain
from tidegate.overlay.pattern_filter import PatternFilter, expression_of, tree
from tidegate.overlay.pattern_index import PatternIndex, PatternUnion
from tidegate.overlay.pattern_template import PatternTemplate

_SHOWN: Final = 40


class Patterns:
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

    def pruner(self) -> None:
        """Patterns are not pruned."""

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

    def filter_refusal(self, f: object) -> str | None:
        """Why this cannot be taken as a filter, if it cannot."""
        return None if isinstance(f, PatternFilter) else "it is not a pattern on documents"

    def event_refusal(self, event: object) -> str | None:
        """Why this cannot be taken as an event, if it cannot: it is no readable document."""
        if not isinstance(event, bytes | str):
            return "an event is a document, as text or bytes"
        try:
            tree(event)
        except DocumentError as error:
            return str(error)
        return None

    def plain_event(self, event: Event) -> Plain:
        """A document as text; in base 64, in a list, if its bytes say something else than UTF-8."""
        if isinstance(event, str):
            return event
        if not isinstance(event, bytes):
            raise TidegateError("an event is a document, as text or bytes")
        text = _as_text(event)
        return [base64.b64encode(event).decode()] if text is None else text

    def read_event(self, plain: Plain) -> bytes | str:
        """The document that was written so."""
        match plain:
            case str():
                return plain
            case [str(spelled)]:
                return base64.b64decode(spelled, validate=True)
        raise ValueError("an event is a document, as text or in base 64")

    def event_size(self, event: Event) -> int:
        """The bytes that a document takes in a message."""
        return len(json.dumps(self.plain_event(event), separators=(",", ":")))

    def show_event(self, event: Event) -> str:
        """The beginning of a document."""
        text = event if isinstance(event, str) else bytes(event).decode("utf-8", "replace")
        short = " ".join(text.split())
        return short if len(short) <= _SHOWN else short[: _SHOWN - 1] + "…"


def _bound(expression: XPath) -> PatternFilter:
    """A filter that came from elsewhere."""
    if expression.parameters:
        raise FilterError("this is no filter: a parameter of it is open")
    expression.patterns  # noqa: B018  # what grows too large is refused here
    return PatternFilter(expression)


def _as_text(document: bytes) -> str | None:
    """A document as text, if nothing in its bytes says that they are not UTF-8."""
    if b"encoding" in document[:200].partition(b"?>")[0]:
        return None
    try:
        text = document.decode()
    except UnicodeDecodeError:
        return None
    return None if text.startswith("\ufeff") else text

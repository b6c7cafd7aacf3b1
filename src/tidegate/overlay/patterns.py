"""Tree patterns on documents, as brokers and policies see them.

A filter is an XPath expression (`documents.xpath`), and an event an XML document, as text or bytes.
Who covers whom is found by XSearch, which says what the pairwise test says; what overlaps, by the
names of outermost elements first; what a document matches, by trying all while there are few, and
else by the index of documents.

Patterns are not merged: what a wider one would add cannot be priced without knowing documents. A
union subsumes what one of its patterns covers. Both err outward.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from tidegate.documents.index import DocumentIndex
from tidegate.documents.pattern import ANY, Distance, Pattern
from tidegate.documents.tree import Element, read
from tidegate.documents.xpath import XPath, of_shape, parse_xpath
from tidegate.errors import DocumentError, FilterError, TidegateError
from tidegate.overlay.filter import Event, Filter, Merger, Plain
from tidegate.overlay.pairs import Pairs, one_by_one
from tidegate.papers.xsearch.xsearch import XSearch

_FEW: Final = 100
"""Filters that are tried one by one."""
_CHILD: Final = Distance(1)
_SHOWN: Final = 40
_READ: Final = 64  # documents that are kept as trees, because more than one filter is tried on them


@lru_cache(maxsize=_READ)
def _tree(document: bytes | str) -> Element:
    return read(document)


class PatternFilter:
    """An XPath expression, all parameters bound.

    >>> f = Patterns().parse("//quote[price < $limit]", limit=10)
    >>> f.covers(Patterns().parse("/quote[price = 5][symbol]"))
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
        return self.xpath.matches(_tree(event))

    def covers(self, other: Filter, /) -> bool:
        """Whether every document that matches the other is certain to match this one."""
        return self.xpath.covers(_expression(other))

    def overlaps(self, other: Filter, /) -> bool:
        """Whether some document may match both."""
        return self.xpath.overlaps(_expression(other))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternFilter) and self.xpath == other.xpath

    def __hash__(self) -> int:
        return hash(self.xpath)

    def __str__(self) -> str:
        return str(self.xpath)

    def __repr__(self) -> str:
        return f"<PatternFilter {self}>"


class _Containment:
    """Expressions under numbers, and who covers whom: all patterns of all of them in one XSearch.

    An expression covers another one if each pattern of that is covered by one of its own.
    """

    def __init__(self) -> None:
        self.expressions: dict[int, XPath] = {}
        self._search = XSearch()
        self._slots: dict[int, list[int]] = {}
        self._numbers: dict[int, int] = {}
        self._next = 0

    def add(self, number: int, expression: XPath) -> None:
        self.expressions[number] = expression
        self._slots[number] = []
        for pattern in expression.patterns:
            self._search.add(self._next, pattern)
            self._slots[number].append(self._next)
            self._numbers[self._next] = number
            self._next += 1

    def remove(self, number: int) -> None:
        del self.expressions[number]
        for slot in self._slots.pop(number):
            self._search.remove(slot)
            del self._numbers[slot]

    def containing(self, expression: XPath) -> list[int]:
        """Those that cover an expression."""
        found = set(self.expressions)
        for pattern in expression.patterns:
            found &= self._covering(pattern)
        return sorted(found)

    def contained(self, expression: XPath) -> list[int]:
        """Those that an expression covers."""
        slots: set[int] = set()
        for pattern in expression.patterns:
            slots |= self._search.contained(pattern)
        candidates = {self._numbers[slot] for slot in slots}
        found = [n for n in candidates if all(slot in slots for slot in self._slots[n])]
        return sorted(found + [n for n, own in self._slots.items() if not own])

    def covers_each(self, expression: XPath) -> bool:
        """Whether each pattern of an expression is covered by one of some expression here."""
        return all(self._search.containing(pattern) for pattern in expression.patterns)

    def _covering(self, pattern: Pattern) -> set[int]:
        return {self._numbers[slot] for slot in self._search.containing(pattern)}


class PatternIndex:
    """A `FilterIndex` of patterns."""

    def __init__(self) -> None:
        self._containment = _Containment()
        self._outermost: dict[str, set[int]] = {}
        self._documents: DocumentIndex | None = None

    def __len__(self) -> int:
        return len(self._containment.expressions)

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        expression = _expression(f)
        self._containment.add(number, expression)
        for name in _outermost(expression):
            self._outermost.setdefault(name, set()).add(number)
        if self._documents is not None:
            self._documents.add(number, expression)
        elif len(self) > _FEW:
            self._documents = DocumentIndex()
            for each, own in self._containment.expressions.items():
                self._documents.add(each, own)

    def update(self, number: int, f: Filter, /) -> None:
        """Put another filter in the place of the one with this number."""
        self.remove(number)
        self.add(number, f)

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        for name in _outermost(self._containment.expressions[number]):
            self._outermost[name].discard(number)
            if not self._outermost[name]:
                del self._outermost[name]
        self._containment.remove(number)
        if self._documents is not None:
            self._documents.remove(number)

    def match(self, event: Event, /) -> list[int]:
        """The filters that match a document."""
        if self._documents is not None:
            try:
                return [int(number) for number in self._documents.match(event)]
            except DocumentError:
                pass  # larger than the index reads at once
        root = _tree(event)
        return [n for n, own in self._containment.expressions.items() if own.matches(root)]

    def match_batch(self, events: Sequence[Event], /) -> list[Pairs]:
        """The filters that match each of many events."""
        return one_by_one(self.match, events)

    def containing(self, f: Filter, /) -> list[int]:
        """The filters that cover this one."""
        return self._containment.containing(_expression(f))

    def contained(self, f: Filter, /) -> list[int]:
        """The filters that this one covers."""
        return self._containment.contained(_expression(f))

    def overlapping(self, f: Filter, /) -> list[int]:
        """The filters that overlap this one."""
        expression = _expression(f)
        names = _outermost(expression)
        if ANY in names:
            near = set(self._containment.expressions)
        else:
            near = set().union(*(self._outermost.get(name, ()) for name in (*names, ANY)))
        known = self._containment.expressions
        return sorted(number for number in near if known[number].overlaps(expression))


class PatternUnion:
    """A `FilterUnion` of patterns: they subsume what one of them covers, pattern by pattern."""

    def __init__(self) -> None:
        self._containment = _Containment()

    def add(self, number: int, f: Filter, /) -> None:
        """Take in a filter under a number that is free."""
        self._containment.add(number, _expression(f))

    def remove(self, number: int, /) -> None:
        """Forget the filter with this number."""
        self._containment.remove(number)

    def subsumes(self, f: Filter, /) -> bool:
        """Whether every document that matches f is certain to match one of the filters."""
        return self._containment.covers_each(_expression(f))

    def state(self) -> None:
        """Nothing but the filters that are there."""

    def restore(self, filters: Mapping[int, Filter], state: Plain, /) -> None:
        """Take in filters."""
        for number, f in filters.items():
            self.add(number, f)


class Patterns:
    """The kind of tree patterns; `namespaces` gives the URIs of prefixes in texts that are read."""

    name: Final = "xml"

    def __init__(self, namespaces: Mapping[str, str] | None = None) -> None:
        self._namespaces = dict(namespaces or {})

    def parse(self, text: str, /, *, ordered: bool = False, **parameters: Any) -> PatternFilter:
        """A filter from its text."""
        found = parse_xpath(text, namespaces=self._namespaces, ordered=ordered)
        return PatternFilter(found.bind(**parameters) if parameters else found)

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
        expression = _expression(f)
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
        return _bound(_expression(f).with_values(values))

    def filter_refusal(self, f: object) -> str | None:
        """Why this cannot be taken as a filter, if it cannot."""
        return None if isinstance(f, PatternFilter) else "it is not a pattern on documents"

    def event_refusal(self, event: object) -> str | None:
        """Why this cannot be taken as an event, if it cannot: it is no readable document."""
        if not isinstance(event, bytes | str):
            return "an event is a document, as text or bytes"
        try:
            _tree(event)
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


def _expression(f: Filter) -> XPath:
    """The expression of a filter. A broker has refused those of another kind, which have none."""
    if not isinstance(f, PatternFilter):
        raise TypeError(f"{f!r} is not a pattern on documents")
    return f.xpath


def _bound(expression: XPath) -> PatternFilter:
    """A filter that came from elsewhere."""
    if expression.parameters:
        raise FilterError("this is no filter: a parameter of it is open")
    expression.patterns  # noqa: B018  # what grows too large is refused here
    return PatternFilter(expression)


def _outermost(expression: XPath) -> set[str]:
    """What the outermost element of a matching document may be called; `*` for anything."""
    return {
        branch.node.label if branch.distance == _CHILD else ANY
        for pattern in expression.patterns
        for branch in pattern.root.branches[:1]
    } | {ANY for pattern in expression.patterns if not pattern.root.branches}


def _as_text(document: bytes) -> str | None:
    """A document as text, if nothing in its bytes says that they are not UTF-8."""
    if b"encoding" in document[:200].partition(b"?>")[0]:
        return None
    try:
        text = document.decode()
    except UnicodeDecodeError:
        return None
    return None if text.startswith("\ufeff") else text

"""What do people wait for at online book auctions?

The subscriptions of Bittner and Hinze, "Subscription Tree Pruning: A Structure-Independent Routing
Optimization for General-Purpose Publish/Subscribe Systems" (2006), section 5.2, and the events of
`lab.workloads.books` that they are about. There are three classes. Within a class, attributes and
operators are always the same, and values are random. The first has 6 predicates and 4 operators,
one of them an OR; the second 12 predicates and 10 operators, two of them ORs; the third 7
predicates and 6 operators, three of them ORs.

The paper prints no more than that, and refers to an earlier one. The numbers say that operators
have two operands, but for one of three in class 1 and one in class 2. What they are about is our
choice: a bargain hunter waits for a title (1), a collector for what one author wrote (2), a reader
for either of two authors (3). Operators are `=`, `<` and `>`, all that the paper's prototype has.
The value of an equality is that of a random event, so what is offered often is wanted often. A
limit is a quantile of the values of events, whose level is drawn evenly from a span; the quantile
itself is within the limit, so no predicate is empty.

Invariant: `holds` says of arrays what the filters say of events.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.filters.expression import (
    And,
    Node,
    Operator,
    Or,
    Parameter,
    Predicate,
    Slot,
    predicates,
)
from tidegate.filters.filter import Filter
from tidegate.filters.schema import Schema
from tidegate.filters.template import Template
from tidegate.lab.workloads.books import ATTRIBUTES, Books, Columns, Market
from tidegate.lab.workloads.matching import Points

CLASSES: Final = (1, 2, 3)
SUBSCRIPTIONS: Final = 200_000  # of one class, or of all
EVENTS: Final = 100_000
_SEEN: Final = 50_000  # events whose quantiles are taken for those of all


@dataclass(frozen=True)
class Wish:
    """A value of the first, or of the second, random event that a subscriber has in mind."""

    attribute: str
    event: int = 0


@dataclass(frozen=True)
class Limit:
    """A quantile of an attribute's values, its level drawn evenly from a span.

    What is asked is to be below the value after it, or above the value before it.
    """

    attribute: str
    low: float
    high: float


@dataclass(frozen=True)
class Pattern:
    """A class of subscriptions: a tree with parameters, and how their values are drawn."""

    tree: Node
    draws: Mapping[str, Wish | Limit]

    def operator(self, parameter: str) -> Operator:
        """That of the predicate with this parameter."""
        [found] = [
            p.operator for p in predicates(self.tree) if p.constants[0] == Parameter(parameter)
        ]
        return found


def _is(attribute: str, value: str | int) -> Predicate:
    return _predicate(attribute, Operator.EQUAL, value)


def _below(attribute: str, value: str | int) -> Predicate:
    return _predicate(attribute, Operator.LESS, value)


def _above(attribute: str, value: str | int) -> Predicate:
    return _predicate(attribute, Operator.GREATER, value)


def _predicate(attribute: str, operator: Operator, value: str | int) -> Predicate:
    operand = Parameter(value) if isinstance(value, str) else value
    return Predicate(attribute, operator, (operand,))


def _all(*parts: Node) -> Node:
    return And(parts)


def _any(*parts: Node) -> Node:
    return Or(parts)


BARGAIN: Final = Pattern(
    _all(
        _is("title", "title"),
        _is("format", "format"),
        _any(
            _all(_below("price", "cheap"), _below("bids", "few")),
            _all(_below("price", "fair"), _below("ending", "soon")),
        ),
    ),
    {
        "title": Wish("title"),
        "format": Wish("format"),
        "cheap": Limit("price", 0.05, 0.3),
        "few": Limit("bids", 0.6, 0.95),
        "fair": Limit("price", 0.3, 0.7),
        "soon": Limit("ending", 0.01, 0.2),
    },
)
"""Class 1: a title in a format, either cheap with few bids so far or at a fair price soon."""

COLLECTOR: Final = Pattern(
    _all(
        _all(_is("author", "author"), _is("category", "category")),
        _all(_is("format", "format"), _above("condition", "worn")),
        _all(
            _any(
                _all(_above("special", 0), _all(_above("price", "fake"), _below("price", "dear"))),
                _all(_is("special", 0), _below("price", "cheap")),
            ),
            _any(_is("buy_now", 1), _all(_below("ending", "soon"), _below("bids", "few"))),
        ),
    ),
    {
        "author": Wish("author"),
        "category": Wish("category"),
        "format": Wish("format"),
        "worn": Limit("condition", 0.0, 0.7),
        "fake": Limit("price", 0.2, 0.5),
        "dear": Limit("price", 0.8, 0.99),
        "cheap": Limit("price", 0.05, 0.4),
        "soon": Limit("ending", 0.05, 0.5),
        "few": Limit("bids", 0.6, 0.95),
    },
)
"""Class 2: an author's books of a kind, in shape: special ones, or cheap ones, to be had soon."""

READER: Final = Pattern(
    _all(
        _any(_is("author", "author"), _is("author", "other")),
        _all(
            _any(_below("price", "cheap"), _all(_is("buy_now", 1), _below("price", "fair"))),
            _any(_is("format", "format"), _above("condition", "worn")),
        ),
    ),
    {
        "author": Wish("author"),
        "other": Wish("author", event=1),
        "cheap": Limit("price", 0.05, 0.3),
        "fair": Limit("price", 0.3, 0.7),
        "format": Wish("format"),
        "worn": Limit("condition", 0.0, 0.7),
    },
)
"""Class 3: either of two authors, cheap or at a fair fixed price, in a format or in shape."""

PATTERNS: Final = {1: BARGAIN, 2: COLLECTOR, 3: READER}
_Values: TypeAlias = Mapping[str, NDArray[np.int32]]


@dataclass(frozen=True)
class Auctions:
    """Subscriptions of the classes: row i is one of class `classes[i]`.

    `values` has for each class the values of its parameters, one row for each of its subscriptions,
    in their order.
    """

    schema: Schema
    books: Books
    classes: NDArray[np.int8]
    values: Mapping[int, _Values]
    seed: int

    def __len__(self) -> int:
        return len(self.classes)

    def filters(self) -> Iterator[Filter]:
        """The subscriptions, as filters that share the trees of their classes."""
        templates = {k: _template(PATTERNS[k]) for k in self.values}
        rows = {
            k: iter(np.column_stack(list(values.values())).tolist())
            for k, values in self.values.items()
        }
        for k in self.classes.tolist():
            yield Filter(templates[k], next(rows[k]), self.schema)

    def table(self) -> pa.Table:
        """The subscriptions as `add_many` reads them: a text for each class, and its parameters."""
        texts = [str(PATTERNS[k].tree) for k in CLASSES]
        columns = {
            "id": pa.array(np.arange(len(self))),
            "filter": pa.DictionaryArray.from_arrays(pa.array(self.classes - 1), texts),
        }
        for name in dict.fromkeys(name for values in self.values.values() for name in values):
            column, asked = np.zeros(len(self), np.int64), np.zeros(len(self), np.bool_)
            for k, values in self.values.items():
                if name in values:
                    own = self.classes == k
                    column[own], asked[own] = values[name], True
            columns[name] = pa.array(column, mask=~asked)
        return pa.table(columns)

    def events(self, count: int = EVENTS, seed: int = 0) -> pa.Table:
        """Events that carry every attribute."""
        offers = self.books.offers(np.random.default_rng([self.seed, 1, seed]), count)
        return pa.table({name: pa.array(v.astype(np.int64)) for name, v in offers.items()})

    def points(self, events: pa.Table) -> Points:
        """The values of events, in the type of the subscriptions' values."""
        return {name: events[name].to_numpy().astype(np.int32) for name in ATTRIBUTES}

    def part(self, start: int, stop: int) -> "Auctions":
        """Some of the subscriptions, one after the other."""
        own = self.classes[start:stop]
        values = {}
        for k, columns in self.values.items():
            before = int(np.count_nonzero(self.classes[:start] == k))
            rows = slice(before, before + int(np.count_nonzero(own == k)))
            values[k] = {name: column[rows] for name, column in columns.items()}
        return replace(self, classes=own, values=values)

    def holds(self, points: Points) -> NDArray[np.bool_]:
        """Which subscriptions match: one row for each, one column for each event."""
        held = np.empty((len(self), len(points["title"])), np.bool_)
        for k, values in self.values.items():
            held[self.classes == k] = _holds(PATTERNS[k].tree, values, points)
        return held


def auctions(
    count: int = SUBSCRIPTIONS,
    seed: int = 1,
    classes: Sequence[int] = CLASSES,
    market: Market | None = None,
    part: int = 0,
) -> Auctions:
    """Subscriptions of these classes, each as likely as the others.

    An event matches 0.028% of the subscriptions of class 1, 0.015% of class 2 and 0.24% of class 3.
    Of 200,000 subscriptions of one class, at least one matches 30%, 26% and 44% of the events.
    Each `part` has others on the same market.

    >>> workload = auctions(1_000, seed=1, classes=[1])
    >>> print(next(workload.filters()))
    title = ... AND format = ... AND ((price < ... AND bids < ...) OR (price < ... AND ...))
    """
    books = Books(market or Market(), seed)
    random = np.random.default_rng([seed, 2, part] if part else [seed, 2])
    chosen = random.choice(np.array(classes, np.int8), count)
    seen = {name: np.sort(column) for name, column in books.offers(random, _SEEN).items()}
    values = {}
    for k in sorted(set(classes)):
        size = int(np.count_nonzero(chosen == k))
        wishes = [books.offers(random, size) for _ in range(2)]
        values[k] = {
            name: wishes[draw.event][draw.attribute]
            if isinstance(draw, Wish)
            else _limits(random, draw, PATTERNS[k].operator(name), size, seen)
            for name, draw in PATTERNS[k].draws.items()
        }
    schema = Schema(dict.fromkeys(ATTRIBUTES, "bigint"))
    return Auctions(schema, books, chosen, values, seed)


def _limits(
    random: np.random.Generator, draw: Limit, operator: Operator, count: int, seen: Columns
) -> NDArray[np.int32]:
    """So many limits; `seen` are sorted values of events."""
    levels = draw.low + (draw.high - draw.low) * random.random(count)
    quantiles = seen[draw.attribute][(levels * _SEEN).astype(np.int64)]
    return quantiles + np.int32(1 if operator is Operator.LESS else -1)


def _template(pattern: Pattern) -> Template:
    """The tree with slots where its parameters are, in the order of their draws."""
    slots = {name: Slot(i) for i, name in enumerate(pattern.draws)}

    def slotted(node: Node) -> Node:
        if isinstance(node, And | Or):
            return type(node)(tuple([slotted(part) for part in node.parts]))
        assert isinstance(node, Predicate)
        operand = node.constants[0]
        if isinstance(operand, Parameter):
            return Predicate(node.attribute, node.operator, (slots[operand.name],))
        return node

    return Template(slotted(pattern.tree), slots=len(slots))


def _holds(node: Node, values: _Values, points: Points) -> NDArray[np.bool_]:
    """Where the tree holds: one row for each subscription, one column for each event."""
    if isinstance(node, And | Or):
        parts = [_holds(part, values, points) for part in node.parts]
        combine = np.logical_and if isinstance(node, And) else np.logical_or
        held: NDArray[np.bool_] = combine.reduce(parts)
        return held
    assert isinstance(node, Predicate)
    operand, column = node.constants[0], points[node.attribute][None, :]
    if isinstance(operand, Parameter):
        asked = values[operand.name][:, None]
    else:
        count = len(next(iter(values.values())))
        asked = np.full((count, 1), operand, np.int32)
    compare = {Operator.EQUAL: np.equal, Operator.LESS: np.less, Operator.GREATER: np.greater}
    result: NDArray[np.bool_] = compare[node.operator](column, asked)
    return result

"""Which filter holds for several values of its parameters, and keeps its shape?

For values that change often, it may pay to ask for a little more than what is wanted now: for all
that was wanted of late, or will be soon. `around` gives such a filter, predicate by predicate.
Negations stand in the predicates, so what widens a predicate widens the whole. Of the predicates
that the different values make of one, that is taken which all others imply: `price < 7`, if there
are `price < 5` and `price < 7`. Where there is none (`symbol = 'IBM'` and `symbol = 'SAP'`, or
`price != 5` and `price != 7`), it is the predicate as it is now. So all that `around` makes of one
filter has one shape, with constants that were given, and can be told by updates.

An equality has no such hull, but a range has: `ranged` writes `price = :now` as `price >= :now AND
price <= :now`, which means the same, and of which the two ends move apart. These are the ranges
that Jayaram, Jayalath and Eugster, "Parametric Subscriptions for Content-Based Publish/Subscribe
Networks" (Middleware 2010), consider in section 6 for all predicates.

Invariant: every filter returned here covers the one it was made from, bound to the values of now.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tidegate.filters.expression import (
    And,
    Mode,
    Node,
    Operator,
    Parameter,
    Predicate,
    Truth,
    conjunction,
    disjunction,
    map_predicates,
)
from tidegate.filters.filter import Filter, bind, constant
from tidegate.filters.meaning import allowed
from tidegate.filters.values import Constant


def around(f: Filter, now: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Filter:
    """The filter bound to the values of `now`, and as far as possible wide enough for others.

    Each of `now` and `others` gives all parameters a value.

    >>> from tidegate.filters.filter import parse
    >>> f = parse("price BETWEEN :low AND :high AND symbol = :symbol")
    >>> now = {"low": 2, "high": 4, "symbol": "IBM"}
    >>> print(around(f, now, [{"low": 1, "high": 3, "symbol": "SAP"}]))
    price >= 1 AND price <= 4 AND symbol = 'IBM'
    """
    bindings = [{name: constant(name, x) for name, x in each.items()} for each in (now, *others)]

    def widest(predicate: Predicate) -> Predicate:
        return _widest(f, list(_bound(f, predicate, bindings))) if predicate.is_open else predicate

    return Filter.of(map_predicates(f.tree, widest), f.schema)


def _bound(
    f: Filter, predicate: Predicate, bindings: Sequence[Mapping[str, Constant]]
) -> Iterator[Predicate]:
    """What the bindings make of a predicate, each but once."""
    names = [x.name for x in predicate.constants if isinstance(x, Parameter)]
    seen: set[tuple[str, ...]] = set()
    for each in bindings:
        own = tuple(repr(each[name]) for name in names)
        if own not in seen:
            seen.add(own)
            yield bind(predicate, each, f.schema)


def _widest(f: Filter, bound: list[Predicate]) -> Predicate:
    """The predicate that all others imply; the first if there is none."""
    if len(bound) == 1:
        return bound[0]
    sets = [allowed(each, f.schema) for each in bound]
    for each, own in zip(bound, sets, strict=True):
        if all(other.within(own) is True for other in sets):
            return each
    return bound[0]


def ranged(f: Filter, names: Collection[str]) -> Filter:
    """The filter with equalities on these parameters written as ranges.

    That means the same as long as they are bound to integers, doubles, dates or timestamps. (A
    decimal may be rounded before it is compared, in an equality otherwise than in a range.)

    >>> from tidegate.filters.filter import parse
    >>> print(ranged(parse("cell = :cell AND lane = :lane"), {"cell"}))
    cell >= :cell AND cell <= :cell AND lane = :lane
    """

    def written(node: Node) -> Node:
        if isinstance(node, Predicate):
            return _range(node) if _is_equality(node, names) else node
        if isinstance(node, Truth):
            return node
        parts = [written(part) for part in node.parts]
        return conjunction(parts) if isinstance(node, And) else disjunction(parts)

    return Filter.of(written(f.tree), f.schema)


def _is_equality(predicate: Predicate, names: Collection[str]) -> bool:
    [operand] = predicate.constants if len(predicate.constants) == 1 else [None]
    return (
        predicate.operator is Operator.EQUAL
        and predicate.mode is Mode.TRUE
        and isinstance(operand, Parameter)
        and operand.name in names
    )


def _range(predicate: Predicate) -> Node:
    name, constants = predicate.attribute, predicate.constants
    ends = (Operator.AT_LEAST, Operator.AT_MOST)
    return And(tuple(Predicate(name, operator, constants) for operator in ends))


def without(f: Filter, names: Collection[str]) -> Filter:
    """The filter without the predicates that have one of these parameters.

    Each of them is taken to hold: it goes from an AND, and an OR that has it holds as a whole.

    >>> from tidegate.filters.filter import parse
    >>> print(without(parse("symbol = 'IBM' AND price < :limit"), {"limit"}))
    symbol = 'IBM'
    >>> print(without(parse("price < :limit OR volume > 9"), {"limit"}))
    TRUE
    """

    def left(node: Node) -> Node:
        if isinstance(node, Truth):
            return node
        if isinstance(node, Predicate):
            named = {x.name for x in node.constants if isinstance(x, Parameter)}
            return Truth(True) if named & set(names) else node
        parts = [left(part) for part in node.parts]
        if isinstance(node, And):
            return conjunction([part for part in parts if part != Truth(True)])
        return Truth(True) if Truth(True) in parts else disjunction(parts)

    return Filter.of(left(f.tree), f.schema)

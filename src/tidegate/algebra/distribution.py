"""How likely is an event to match a filter?

A **distribution** says how likely each value of each attribute is; attributes are taken to be
independent, so a box weighs the product of what its value sets weigh, and a union of boxes is cut
into disjoint boxes first (`subtract`). The measures are exact for the stated distribution. They
are what mergers are weighed with in Li, Hou, Jacobsen, "A Unified Approach to Routing, Covering and
Merging in Publish/Subscribe Systems based on Modified Binary Decision Diagrams" (ICDCS 2005,
sections 5.3 and 5.4).

`Uniform` spreads each attribute evenly over the domain its schema declares; `histogram.Histogram`
counts a sample. Where a distribution knows nothing the answer is None, never a guess.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, prod
from typing import Any, Final, Protocol

from tidegate.algebra.normal import Box, boxes
from tidegate.algebra.relate import entangled, universe_of
from tidegate.algebra.subtract import DEFAULT_BUDGET, Budget, Universe, subtract
from tidegate.errors import MeasureError, SchemaError
from tidegate.filters import bounds as b
from tidegate.filters.filter import Filter
from tidegate.filters.lines import Line, double_at, float_at
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet


class Distribution(Protocol):
    """How likely the values of each attribute are; `schema` is that of the filters it measures."""

    @property
    def schema(self) -> Schema | None:
        """The schema that a filter must have been read under to be measured."""

    def probability(self, attribute: str, allowed: ValueSet) -> float | None:
        """How likely the attribute's value is in the set; None if that is not known."""


class Uniform:
    """Every value of an attribute's declared domain is equally likely.

    Integers, decimals, dates, timestamps and booleans (which need no declared domain) are counted;
    so are the members of a domain given as a set of values. A double or float from `low` to `high`
    is spread over the *length* of the interval, so that a single point weighs nothing. There is no
    answer for an attribute without a domain, for an infinite one, and for strings between two ends.
    `absent` is the mass of NULL: one number for all attributes that can be NULL, or one for each.

    >>> from tidegate import Attribute
    >>> schema = Schema({"price": Attribute("double", low=0, high=200), "note": "string"})
    >>> from tidegate.filters.filter import parse
    >>> probability(parse("price < 50", schema), Uniform(schema))
    0.25
    >>> probability(parse("price < 50 AND note = 'x'", schema), Uniform(schema)) is None
    True
    """

    def __init__(self, schema: Schema, *, absent: float | Mapping[str, float] = 0.0) -> None:
        self.schema = schema
        masses = dict(absent) if isinstance(absent, Mapping) else {}
        if not isinstance(absent, Mapping):
            masses = {name: absent for name in schema if schema[name].nullable}
        for name, mass in masses.items():
            if not 0 <= mass <= 1 or (mass and not schema[name].nullable):
                raise MeasureError(f"{name} cannot be absent with probability {mass}")
        self._absent = masses

    def probability(self, attribute: str, allowed: ValueSet) -> float | None:
        """How likely the attribute's value is in the set; None if it has no domain."""
        if attribute not in self.schema:
            return None
        own = self.schema[attribute]
        line = own.type.line
        if line is None:
            return None
        if own.domain is not None:
            domain = own.domain.spans[line.name]
        elif line.name == "boolean":
            domain = line.full
        else:
            return None
        found = share(line, allowed, domain)
        if found is None:
            return None
        absent = self._absent.get(attribute, 0.0)
        return (absent if allowed.absent else 0.0) + (1 - absent) * found


def measure_box(box: Box, distribution: Distribution) -> float | None:
    """How likely an event is in the box."""
    factors = [distribution.probability(name, allowed) for name, allowed in box.sets.items()]
    if 0.0 in factors:
        return 0.0
    known = [factor for factor in factors if factor is not None]
    return prod(known, start=1.0) if len(known) == len(factors) else None


def measure_boxes(
    union: Sequence[Box],
    distribution: Distribution,
    universe: Universe,
    budget: Budget = DEFAULT_BUDGET,
) -> float | None:
    """How likely an event is in one of the boxes; None also if the budget runs out."""
    pieces = disjoint(union, universe, budget)
    return None if pieces is None else measure_disjoint(pieces, distribution)


def measure_disjoint(pieces: Iterable[Box], distribution: Distribution) -> float | None:
    """How likely an event is in one of the boxes, no two of which overlap."""
    total = 0.0
    for piece in pieces:
        mass = measure_box(piece, distribution)
        if mass is None:
            return None
        total += mass
    return min(1.0, total)


def disjoint(
    union: Sequence[Box], universe: Universe, budget: Budget = DEFAULT_BUDGET
) -> list[Box] | None:
    """The same union, in boxes that do not overlap; None if the budget runs out."""
    pieces: list[Box] = []
    for i, box in enumerate(union):
        more = outside(box, union[:i], universe, budget)
        if more is None:
            return None
        pieces += more
    return pieces


def outside(
    box: Box, union: Iterable[Box], universe: Universe, budget: Budget = DEFAULT_BUDGET
) -> list[Box] | None:
    """What is in the box and in none of the union's, disjoint; None if the budget runs out."""
    pieces, left = [box], budget.pieces
    for other in union:
        kept: list[Box] = []
        for piece in pieces:
            if piece.meets(other) is False:
                kept.append(piece)
                continue
            for part in subtract(piece, other, universe):
                left -= 1
                if left < 0:
                    budget.exhausted += 1
                    return None
                kept.append(part)
        pieces = kept
    return pieces


def probability(
    f: Filter, distribution: Distribution, budget: Budget = DEFAULT_BUDGET
) -> float | None:
    """How likely an event is to match the filter; None if that is not known.

    A field and the struct it lies in are not independent, so a filter with both has no answer.

    >>> from tidegate.filters.filter import parse
    >>> from tidegate import Attribute
    >>> schema = Schema({"a": Attribute("bigint", low=1, high=10), "b": "boolean"})
    >>> probability(parse("a <= 5 OR b", schema), Uniform(schema))
    0.75
    """
    check_schema(f, distribution)
    if entangled(f, f):
        return None
    union = boxes(f)
    return (
        None if union is None else measure_boxes(union, distribution, universe_of(f.schema), budget)
    )


def check_schema(f: Filter, distribution: Distribution) -> None:
    """A filter's value sets lie on the lines of its schema: the distribution must know the same."""
    if f.schema is not distribution.schema and f.schema != distribution.schema:
        raise SchemaError(
            "the filter was read under another schema than the distribution's; use one for both"
        )


CONTINUOUS: Final = ("double", "float")


def share(line: Line, allowed: ValueSet, domain: b.Bounds) -> float | None:
    """Which part of the domain, some keys of a line, is allowed, all of it being equally likely."""
    if line.name == "string" or line.name in CONTINUOUS:
        keys = _listed(line, domain)
        if keys is not None:
            return sum(holds(allowed, line.name, key) for key in keys) / len(keys)
        if line.name == "string":
            return None
    part = b.meet(allowed.spans.get(line.name, ()), domain)
    if line.name in CONTINUOUS:
        end = _real(line, domain[-1] - 1)
        whole = _length(line, domain, end)
        return _length(line, part, end) / whole if isfinite(whole) else None
    return _count(part) / _count(domain)


def _count(bounds: b.Bounds) -> int:
    return sum(bounds[1::2]) - sum(bounds[0::2])


def _length(line: Line, bounds: b.Bounds, end: float) -> float:
    """The length of the reals that the keys stand for; a single key stands for a point."""
    spans = zip(bounds[0::2], bounds[1::2], strict=True)
    return sum(
        min(_real(line, high), end) - _real(line, low) for low, high in spans if high - low > 1
    )


def _real(line: Line, key: int) -> float:
    return double_at(key) if line.name == "double" else float_at(key)


def _listed(line: Line, domain: b.Bounds) -> list[Any] | None:
    """The keys of a domain that was given value by value; None for one from low to high."""
    step: Any = "\0" if line.name == "string" else 1
    if len(domain) == 2 and domain[0] + step != domain[1]:
        return None
    keys = []
    for low, high in zip(domain[0::2], domain[1::2], strict=True):
        key = low
        while key != high:
            keys.append(key)
            key += step
    return keys


def holds(allowed: ValueSet, line: str, key: Any) -> bool:
    """Whether the key of a line is allowed."""
    if not b.has(allowed.spans.get(line, ()), key):
        return False
    return line != "string" or all(text.holds(key) for text in allowed.texts)

"""How often does each value occur?

A `Histogram` gives every attribute weights: of single values, of ranges of values, of NULL (absent)
and of values that no filter compares with. It is made by hand or by counting a sample of events,
and is one of the distributions that filters are measured under (see `distribution`).

Inside a range values are spread evenly, in the sense of `distribution.Uniform`. Nothing is spread
evenly between two strings, so strings are always listed one by one, and conditions on text are
tried on them.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import isfinite
from typing import Any, TypeAlias

from tidegate.algebra.distribution import CONTINUOUS, holds, share
from tidegate.errors import MeasureError
from tidegate.filters import bounds as b
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import attribute_name
from tidegate.filters.lines import ALL_LINES, OTHER_LINE, Line, key_of, value_at
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant, Value, normal
from tidegate.filters.valueset import ValueSet, line_of


@dataclass(frozen=True, slots=True)
class Range:
    """The values from `low` to `high`, both included, spread as `Uniform` spreads a domain."""

    low: Constant
    high: Constant


Entry: TypeAlias = tuple[Value | Range, float]


class Histogram:
    """For each attribute, weights of single values and of ranges of values.

    The weight of NULL (absent) is that of None, the weight of values that no filter compares with
    that of `values.OTHER`; without a schema an attribute may have values of several families.
    Weights are divided by their sum.

    >>> from tidegate.algebra.distribution import probability
    >>> from tidegate.filters.filter import parse
    >>> h = Histogram({"price": [(5, 1), (Range(10, 19), 2), (None, 1)]})
    >>> probability(parse("price < 15"), h), probability(parse("price IS NULL"), h)
    (0.5, 0.25)
    """

    def __init__(
        self, entries: Mapping[str, Iterable[Entry]], schema: Schema | None = None
    ) -> None:
        self.schema = schema
        self._columns = {
            attribute: _column(attribute, _placed(attribute, listed, schema))
            for attribute, listed in entries.items()
        }

    @classmethod
    def from_events(
        cls,
        events: Iterable[Mapping[str, Any]],
        schema: Schema | None = None,
        buckets: int = 64,
    ) -> "Histogram":
        """Count a sample of events.

        Up to `buckets` different values of a type are listed one by one; more of them (but for
        strings) are put into that many ranges with about equally many events each.

        >>> from tidegate.algebra.distribution import probability
        >>> from tidegate.filters.filter import parse
        >>> h = Histogram.from_events([{"s": "IBM"}, {"s": "INTC"}, {"s": "SUN"}, {}])
        >>> probability(parse("s LIKE '%B%' OR s >= 'J'"), h)
        0.5
        """
        sample = list(events)
        found = cls({}, schema)
        names = (
            list(schema) if schema is not None else sorted({n for e in sample for n in _names(e)})
        )
        for name in names:
            lines = ALL_LINES if schema is None else schema[name].lines
            counts: dict[Line | None, Counter[Any]] = {}
            for event in sample:
                value = value_of(event, name, schema)
                line = None if value is None else line_of(value, lines)
                key = None if line is None else key_of(line, value)
                counts.setdefault(line, Counter())[key] += 1
            cells = [c for line, keys in counts.items() for c in _bucketed(line, keys, buckets)]
            found._columns[name] = _column(name, cells)
        return found

    def probability(self, attribute: str, allowed: ValueSet) -> float | None:
        """How likely the attribute's value is in the set; None if the attribute is not known."""
        column = self._columns.get(attribute)
        if column is None:
            return None
        held = column.absent if allowed.absent else Fraction(0)
        for name, points in column.points.items():
            held += points.weight(name, allowed)
        spread = 0.0
        for line, bounds, weight in column.ranges:
            part = share(line, allowed, bounds)
            if part is None:
                return None
            spread += float(weight) * part
        return min(1.0, (float(held) + spread) / float(column.total))


class _Points:
    """Single keys of one line with their weights, summed up in order."""

    def __init__(self, weights: Mapping[Any, Fraction]) -> None:
        self.keys = sorted(weights)
        self.sums = [Fraction(0), *accumulate(weights[key] for key in self.keys)]

    def weight(self, line: str, allowed: ValueSet) -> Fraction:
        """The weight of the keys that are allowed."""
        bounds = allowed.spans.get(line, ())
        cuts = [bisect_left(self.keys, bound) for bound in bounds]
        spans = list(zip(cuts[0::2], cuts[1::2], strict=True))
        if line == "string" and allowed.texts:
            return sum(
                (
                    self.sums[i + 1] - self.sums[i]
                    for first, after in spans
                    for i in range(first, after)
                    if holds(allowed, line, self.keys[i])
                ),
                Fraction(0),
            )
        return sum((self.sums[after] - self.sums[first] for first, after in spans), Fraction(0))


@dataclass(frozen=True, slots=True)
class _Column:
    """What a histogram knows of one attribute."""

    points: dict[str, _Points]
    ranges: list[tuple[Line, b.Bounds, Fraction]]
    absent: Fraction
    total: Fraction


_Cell: TypeAlias = tuple[Line | None, b.Bounds, Fraction]  # no line: absent


def _column(attribute: str, cells: Iterable[_Cell]) -> _Column:
    points: dict[str, dict[Any, Fraction]] = {}
    ranges: list[tuple[Line, b.Bounds, Fraction]] = []
    absent = total = Fraction(0)
    for line, bounds, weight in cells:
        if weight < 0:
            raise MeasureError(f"the histogram of {attribute} has a negative weight")
        total += weight
        if line is None:
            absent += weight
        elif len(bounds) == 1:
            keys = points.setdefault(line.name, {})
            keys[bounds[0]] = keys.get(bounds[0], Fraction(0)) + weight
        else:
            ranges.append((line, bounds, weight))
    if total == 0:
        raise MeasureError(f"the histogram of {attribute} has no weight at all")
    return _Column({name: _Points(keys) for name, keys in points.items()}, ranges, absent, total)


def _placed(attribute: str, listed: Iterable[Entry], schema: Schema | None) -> Iterator[_Cell]:
    """Entries made by hand, on the lines of their values."""
    lines = ALL_LINES if schema is None else schema[attribute].lines

    def place(value: Any) -> tuple[Line | None, Any]:
        plain = normal(value) if schema is None else schema[attribute].type.conform(value)
        if plain is None:
            return None, None
        line = line_of(plain, lines)
        return line, key_of(line, plain)

    for entry, weight in listed:
        if not isinstance(entry, Range):
            line, key = place(entry)
            yield line, (key,), Fraction(weight)
            continue
        line, low = place(entry.low)
        other, high = place(entry.high)
        if line is None or line != other or line.name in ("string", OTHER_LINE.name) or low > high:
            raise MeasureError(
                f"{attribute} has no range from {entry.low!r} to {entry.high!r}: write two ends of "
                "one type, the lower one first; strings are listed one by one"
            )
        bounds = (low,) if low == high else (low, high + 1)
        yield line, bounds, Fraction(weight)


def _bucketed(line: Line | None, counts: Counter[Any], buckets: int) -> Iterator[_Cell]:
    """Counted keys of one line as cells: one by one, or in ranges of about equal weight."""
    if line is None or line.name == "string" or len(counts) <= buckets:
        for key, count in counts.items():
            yield line, (key,), Fraction(count)
        return
    run: list[Any] = []
    weight = 0
    share = -(-sum(counts.values()) // buckets)
    for key in sorted(counts):
        alone = line.name in CONTINUOUS and not isfinite(value_at(line, key))  # type: ignore[arg-type]
        if run and (alone or weight + counts[key] > share):
            yield line, _bounds_of(run), Fraction(weight)
            run, weight = [], 0
        if alone:
            yield line, (key,), Fraction(counts[key])
            continue
        run.append(key)
        weight += counts[key]
    if run:
        yield line, _bounds_of(run), Fraction(weight)


def _bounds_of(run: Sequence[Any]) -> b.Bounds:
    return (run[0],) if len(run) == 1 else (run[0], run[-1] + 1)


def _names(event: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """The attributes of an event, fields of structs included."""
    for name, value in event.items():
        yield attribute_name((*path, name))
        if isinstance(value, Mapping):
            yield from _names(value, (*path, name))

"""How often did events have each value, as far as a broker can remember?

Every event is counted, by its values, one attribute after the other. As a predicate is about one
attribute, what it is fulfilled by is then counted, too, whether it was known before the events came
or not: the **selectivity table** of Bittner and Hinze, "Subscription Tree Pruning" (OTM 2006,
section 4.4), without a counter for each predicate.

Memory is bounded. Of an attribute with too many different values, the most frequent ones stay, and
the others are taken to be spread evenly from the least to the greatest; strings that are dropped
are only known to be there. When many events have been counted, all counts are halved: what happened
long ago weighs less.

Invariant: as long as nothing was dropped or halved, the share of a predicate is that of the events
counted that fulfil it.
"""

import datetime as dt
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias

from tidegate.algebra.histogram import Entry, Histogram, Range
from tidegate.errors import MeasureError
from tidegate.filters.evaluate import mapped
from tidegate.filters.expression import Predicate, attribute_name, attribute_path, function_of
from tidegate.filters.literals import decode, spell
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.filters.values import OTHER, Constant, is_constant, normal

MOST_VALUES: Final = 4_096  # of an attribute, that stay when there are twice as many
MOST_EVENTS: Final = 2**17  # until counts are halved

_Key: TypeAlias = tuple[type, Constant]
_named = lru_cache(maxsize=8_192)(attribute_name)
_SPREAD: Final = {kind.__name__: kind for kind in (int, float, Decimal, dt.date, dt.datetime)}


class _Column:
    """The counts of one attribute."""

    def __init__(self) -> None:
        self.values: dict[_Key, int] = {}
        self.other = 0  # values that were dropped, or that no predicate compares with
        self.spread: dict[str, tuple[Constant, Constant, int]] = {}  # by type: from, to, how many

    def count(self, value: Any) -> None:
        """Count a value that is there."""
        plain = value if type(value) in (int, str) else normal(value)
        if not is_constant(plain):
            self.other += 1
            return
        if isinstance(plain, float) and plain != plain:
            plain = math.nan  # the one that is equal to itself as a key
        key = type(plain), plain
        known = self.values.get(key)
        if known is None and len(self.values) >= 2 * MOST_VALUES:
            self._drop()
        self.values[key] = (known or 0) + 1

    def discount(self, value: Any) -> None:
        """Count a value once less, if it was counted: by itself, or among those dropped."""
        plain = normal(value)
        if isinstance(plain, float) and plain != plain:
            plain = math.nan
        key = type(plain), plain
        name = type(plain).__name__
        if is_constant(plain) and key in self.values:
            self.values[key] -= 1
            if not self.values[key]:
                del self.values[key]
        elif name in self.spread and self.spread[name][2] > 1:
            low, high, weight = self.spread[name]
            self.spread[name] = low, high, weight - 1
        else:
            self.other = max(0, self.other - 1)

    def _drop(self) -> None:
        kept = sorted(self.values, key=lambda key: -self.values[key])[:MOST_VALUES]
        for key in self.values.keys() - set(kept):
            self._spread(*key, self.values[key])
        self.values = {key: self.values[key] for key in kept}

    def _spread(self, kind: type, value: Any, count: int) -> None:
        if kind.__name__ not in _SPREAD or (kind is float and not math.isfinite(value)):
            self.other += count
            return
        low, high, weight = self.spread.get(kind.__name__, (value, value, 0))
        self.spread[kind.__name__] = min(low, value), max(high, value), weight + count

    def halve(self) -> None:
        """Let all that was counted weigh half as much."""
        self.values = {key: count // 2 for key, count in self.values.items() if count > 1}
        self.other //= 2
        self.spread = {kind: (a, b, n // 2) for kind, (a, b, n) in self.spread.items() if n > 1}

    def state(self) -> list[Any]:
        values = [[spell(value), count] for (_, value), count in self.values.items()]
        spread = [[kind, spell(a), spell(b), n] for kind, (a, b, n) in self.spread.items()]
        return [values, self.other, spread]

    def restore(self, state: list[Any]) -> None:
        values, self.other, spread = state
        for spelled, count in values:
            value = decode(spelled)
            plain = math.nan if isinstance(value, float) and value != value else value
            self.values[type(plain), plain] = count
        self.spread = {kind: (decode(a), decode(b), n) for kind, a, b, n in spread}

    def entries(self, seen: int) -> list[tuple[Any, float]]:
        """What a histogram is made of."""
        found: list[tuple[Any, float]] = [(v, n) for (_, v), n in self.values.items()]
        found += [(Range(a, b), n) for a, b, n in self.spread.values()]
        present = sum(self.values.values()) + self.other + sum(n for *_, n in self.spread.values())
        return [*found, (OTHER, self.other), (None, max(0, seen - present))]


class ValueCounts:
    """How often events had each value; it says how many of them fulfil a predicate.

    >>> from tidegate import parse
    >>> counts = ValueCounts()
    >>> for price in (4, 10, 15, 30):
    ...     counts.count({"price": price})
    >>> [counts.share(parse(text).tree) for text in ("price < 20", "price < 7", "bids = 1")]
    [0.75, 0.25, 0.0]
    """

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema: Final = schema
        self.seen = 0
        self._columns: dict[str, _Column] = {}
        self._histograms: dict[str, Histogram] = {}

    def count(self, event: Mapping[str, Any]) -> None:
        """Count an event."""
        self._histograms.clear()
        self.seen += 1
        for name, value in _values(event, ()):
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = _Column()
            column.count(value)
        if self.seen >= MOST_EVENTS:
            self.seen //= 2
            for column in self._columns.values():
                column.halve()

    def discount(self, event: Mapping[str, Any]) -> None:
        """Be as if an event had not been counted, as far as values are remembered.

        Of counts that were halved since, that takes away a little too much.
        """
        self._histograms.clear()
        self.seen -= 1
        for name, value in _values(event, ()):
            if name in self._columns:
                self._columns[name].discount(value)

    def share(self, predicate: Predicate) -> float:
        """The share of events that fulfil a predicate, none if no event was counted."""
        if not self.seen:
            return 0.0
        attribute = predicate.attribute
        histogram = self._histograms.get(attribute)
        if histogram is None:
            histogram = self._histograms[attribute] = self._histogram(attribute)
        found = histogram.probability(attribute, allowed(predicate, self.schema))
        return 0.0 if found is None else found

    def _histogram(self, attribute: str) -> Histogram:
        base, function = attribute_name(attribute_path(attribute)), function_of(attribute)
        column = self._columns.get(base, _Column())
        entries: list[Entry] = []
        for value, weight in column.entries(self.seen):
            fits = self._fitting(attribute, value)
            entries.append((fits if function is None else mapped(function, fits), weight))
        return Histogram({attribute: entries}, self.schema)

    def _fitting(self, attribute: str, value: Any) -> Any:
        """A value, or a range of them, as one of the attribute's type, if it is one."""
        if not isinstance(value, Range):
            return value if self.schema is None else self.schema[attribute].type.conform(value)
        try:
            Histogram({attribute: [(value, 1)]}, self.schema)
        except MeasureError:
            return OTHER
        return value

    def state(self) -> list[Any]:
        """All of it as plain data."""
        return [self.seen, {name: column.state() for name, column in self._columns.items()}]

    def restore(self, state: list[Any]) -> None:
        """Be as another one was, which had this state."""
        self.seen, columns = state
        self._histograms.clear()
        self._columns = {}
        for name, own in columns.items():
            self._columns[name] = _Column()
            self._columns[name].restore(own)


def _values(event: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The attributes that have values, fields of structs included."""
    for name, value in event.items():
        if value is None:
            continue
        yield _named((*path, name)), value
        if isinstance(value, Mapping):
            yield from _values(value, (*path, name))

"""Which events of a sample fulfil a predicate?

A set of events is a number with a bit for each, so that filters are evaluated on all of them at
once, by AND and OR. For each attribute and each line of values, the keys that occur stand in their
order, each with the events that have it or a smaller one: what lies between two cuts is then one
difference of two sets.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tidegate.algebra.distribution import holds
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import And, Node, Predicate, Truth
from tidegate.filters.lines import ALL_LINES, key_of
from tidegate.filters.meaning import allowed
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet, line_of


class EventSample:
    """Some events, and which of them match.

    >>> from tidegate import parse
    >>> sample = EventSample([{"price": 4}, {"price": 10}, {}])
    >>> f"{sample.met(parse('price < 7 OR price IS NULL').tree):03b}"
    '101'
    """

    def __init__(self, events: Sequence[Mapping[str, Any]], schema: Schema | None = None) -> None:
        self._events = events
        self._schema = schema
        self._columns: dict[str, _Column] = {}
        self._met: dict[object, int] = {}

    def __len__(self) -> int:
        return len(self._events)

    def met(self, node: Node) -> int:
        """The events that match a tree, the first one the lowest bit."""
        if isinstance(node, Predicate):
            return self._fulfilled(node)
        if isinstance(node, Truth):
            return (1 << len(self._events)) - 1 if node.value else 0
        found = self.met(node.parts[0])
        for part in node.parts[1:]:
            found = found & self.met(part) if isinstance(node, And) else found | self.met(part)
        return found

    def forget(self) -> None:
        """Free the memory of what predicates were asked about; that is worked out again."""
        self._met.clear()

    def _fulfilled(self, predicate: Predicate) -> int:
        key = told_apart(predicate)
        found = self._met.get(key)
        if found is None:
            name = predicate.attribute
            if name not in self._columns:
                self._columns[name] = _Column(self._events, name, self._schema)
            found = self._met[key] = self._columns[name].within(allowed(predicate, self._schema))
        return found


class _Column:
    """The values that an attribute has in the events."""

    def __init__(
        self, events: Sequence[Mapping[str, Any]], attribute: str, schema: Schema | None
    ) -> None:
        lines = ALL_LINES if schema is None else schema[attribute].lines
        self._absent = 0
        placed: dict[str, dict[Any, int]] = {}
        for place, event in enumerate(events):
            value = value_of(event, attribute, schema)
            if value is None:
                self._absent |= 1 << place
                continue
            line = line_of(value, lines)
            own = placed.setdefault(line.name, {})
            key = key_of(line, value)
            own[key] = own.get(key, 0) | 1 << place
        self._lines: Final = {name: _stacked(own) for name, own in placed.items()}

    def within(self, values: ValueSet) -> int:
        """The events whose value is in a set."""
        found = self._absent if values.absent else 0
        for name, (keys, upto) in self._lines.items():
            bounds = values.spans.get(name, ())
            cuts = [bisect_left(keys, bound) for bound in bounds]
            for start, end in zip(cuts[0::2], cuts[1::2], strict=True):
                if name == "string" and values.texts:
                    for i in range(start, end):
                        if holds(values, name, keys[i]):
                            found |= upto[i + 1] ^ upto[i]
                else:
                    found |= upto[end] ^ upto[start]
        return found


def _stacked(events: Mapping[Any, int]) -> tuple[list[Any], list[int]]:
    """Keys in their order, and the events before each of them, and before the end."""
    keys = sorted(events)
    upto = [0]
    for key in keys:
        upto.append(upto[-1] | events[key])
    return keys, upto


def told_apart(predicate: Predicate) -> object:
    """What tells predicates apart: 1, 1.0 and TRUE are different constants.

    >>> from tidegate import parse
    >>> one, other = parse("x = 1").tree, parse("x = 1D").tree
    >>> one == other, told_apart(one) == told_apart(other)
    (True, False)
    """
    constants = predicate.constants
    kinds = tuple([type(constant) for constant in constants])
    # the parts of the predicate, as to hash its operator and mode takes as long as all the rest
    return predicate.attribute, predicate.operator._name_, predicate.mode._name_, constants, kinds

"""What is a condition?

An attribute, and the set of its values that are allowed (`filters.valueset`). Predicates that say
the same, and all predicates on one attribute that must hold together, are one condition.
"""

import sys
from enum import Enum
from typing import Any, TypeAlias

from tidegate.filters.expression import Node
from tidegate.filters.lines import Line, first_decimal
from tidegate.filters.valueset import ValueSet

Value: TypeAlias = tuple[str, str, Any]
"""An attribute, the name of a line, and a key on it."""


class Condition:
    """An attribute, its values that are `allowed`, and a tree that says the same; immutable.

    The tree is a predicate or an AND of predicates, for printing and for keeping in a file.
    Conditions are equal if they allow the same values of the same attribute.
    """

    __slots__ = ("_hash", "_values", "allowed", "attribute", "node")

    def __init__(self, attribute: str, allowed: ValueSet, node: Node) -> None:
        self.attribute = attribute
        self.allowed = allowed
        self.node = node
        self._hash = hash((attribute, allowed))
        self._values: tuple[Value, ...] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Condition):
            return NotImplemented
        return self.attribute == other.attribute and self.allowed == other.allowed

    def __hash__(self) -> int:
        return self._hash

    @property
    def values(self) -> tuple[Value, ...]:
        """The value that it allows on each line, if it allows one at most; otherwise nothing."""
        if self._values is None:
            self._values = self._single_values()
        return self._values

    def _single_values(self) -> tuple[Value, ...]:
        if self.allowed.absent or self.allowed.texts:
            return ()
        found = []
        for name, bounds in self.allowed.spans.items():
            if len(bounds) != 2 or bounds[1] != _after(name, bounds[0]):
                return ()
            found.append((self.attribute, name, bounds[0]))
        return tuple(found)

    def footprint(self, seen: set[int]) -> int:
        """Its bytes, and those of what it refers to, as far as nobody counted them yet."""
        return _footprint(self, seen)


def _after(name: str, key: Any) -> Any:
    """The next key of the line with that name at which there is a value."""
    if name == "string":
        return key + "\0"
    return first_decimal(key + 1) if name == "decimal" else key + 1


def _footprint(thing: object, seen: set[int]) -> int:
    if id(thing) in seen or thing is None or isinstance(thing, type | Enum | Line):
        return 0
    seen.add(id(thing))
    size = sys.getsizeof(thing)
    if isinstance(thing, dict):
        return size + sum(_footprint(part, seen) for pair in thing.items() for part in pair)
    if isinstance(thing, tuple | list | frozenset):
        return size + sum(_footprint(part, seen) for part in thing)
    slots = getattr(type(thing), "__slots__", ())
    return size + sum(_footprint(getattr(thing, name, None), seen) for name in slots)

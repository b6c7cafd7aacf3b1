"""Which conditions on one attribute do the filters have in common?

Filters are built from few distinct conditions, each of which is worked out once per event however
many filters have it. A **condition** is an attribute and the set of its values that are allowed
(`filters.valueset`); predicates that say the same, and all predicates on one attribute that must
hold together, are one condition. `Conditions` gives each a number.
"""

from decimal import Decimal
from typing import Any, Final

from tidegate.filters.expression import And, Node, Predicate
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet

NEVER: Final = -1
"""The number of a condition that no value meets."""
ALWAYS: Final = -2
"""The number of a condition that every value meets, absent included."""


class Conditions:
    """Conditions, numbered from 0 in the order they came up; equal ones have one number.

    `nodes` are trees that say the same as the set, for printing and for keeping in a file.
    """

    def __init__(self, schema: Schema | None) -> None:
        self.schema = schema
        self.attributes: list[str] = []
        self.sets: list[ValueSet] = []
        self.nodes: list[Node] = []
        self._numbers: dict[tuple[str, ValueSet], int] = {}
        self._read: dict[tuple[Any, ...], int] = {}
        self._met: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.sets)

    def of(self, predicate: Predicate) -> int:
        """The number of the condition that the predicate states."""
        constants = predicate.constants
        key = (
            predicate.attribute,
            predicate.operator._value_,
            predicate.mode._value_,
            constants,
            *[str(c) if type(c) is Decimal else type(c) for c in constants],  # 1 is not 1.0
        )
        number = self._read.get(key)
        if number is None:
            found = allowed(predicate, self.schema)
            number = self._read[key] = self.number(predicate.attribute, found, predicate)
        return number

    def both(self, one: int, other: int) -> int:
        """The number of the condition that two on the same attribute state together."""
        if one < 0 or other < 0:
            if NEVER in (one, other):
                return NEVER
            return other if one == ALWAYS else one
        key = (one, other) if one < other else (other, one)
        number = self._met.get(key)
        if number is None:
            node = And((*_parts(self.nodes[key[0]]), *_parts(self.nodes[key[1]])))
            met = self.sets[one] & self.sets[other]
            number = self._met[key] = self.number(self.attributes[one], met, node)
        return number

    def number(self, attribute: str, held: ValueSet, node: Node) -> int:
        """The number of the condition with that set."""
        number = self._numbers.get((attribute, held))
        if number is not None:
            return number
        if held.is_empty():
            number = NEVER
        elif universe(attribute, self.schema).within(held):
            number = ALWAYS
        else:
            number = len(self.sets)
            self.attributes.append(attribute)
            self.sets.append(held)
            self.nodes.append(node)
        self._numbers[attribute, held] = number
        return number


def _parts(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, And) else (node,)

"""Which conditions on one attribute do the filters have in common?

Filters are built from few distinct conditions, each of which is worked out once per event however
many filters have it. A **condition** is an attribute and the set of its values that are allowed
(`filters.valueset`); predicates that say the same, and all predicates on one attribute that must
hold together, are one condition. `Conditions` gives each a number.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any, Final, TypeAlias

from tidegate.engine.points import PointTable
from tidegate.filters.admission import admit
from tidegate.filters.expression import And, Node, Predicate
from tidegate.filters.lines import Line
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.filters.valueset import ValueSet

NEVER: Final = -1
"""The number of a condition that no value meets."""
ALWAYS: Final = -2
"""The number of a condition that every value meets, absent included."""

Listed: TypeAlias = tuple[list[str], list[ValueSet], list[Node]]
_Kind: TypeAlias = tuple[str, str, str]  # an attribute, an operator, and when it holds
_Key: TypeAlias = tuple[Any, ...]  # the constants of a predicate, and of which types they are
_Meaning: TypeAlias = tuple[Predicate, ValueSet, int | None]
"""A predicate, its set, and its number if that is NEVER or ALWAYS."""

_SAMPLE: Final = 64  # conditions whose memory is measured
_REMEMBERED: Final = 100_000  # predicates whose sets are kept from segment to segment


class Meanings:
    """What predicates mean, by what they say; so many of them are kept from segment to segment."""

    def __init__(self) -> None:
        self._by_kind: dict[_Kind, dict[_Key, _Meaning]] = {}
        self._count = 0

    def of_kind(self, kind: _Kind) -> dict[_Key, _Meaning]:
        """What is known of predicates that differ in constants only."""
        return self._by_kind.get(kind, {})

    def keep(self, kind: _Kind, key: _Key, meaning: _Meaning) -> None:
        """Know one more, and if there are too many, nothing else."""
        if self._count >= _REMEMBERED:
            self._by_kind.clear()
            self._count = 0
        self._by_kind.setdefault(kind, {})[key] = meaning
        self._count += 1


class Conditions:
    """Conditions, numbered from 0 in the order they came up; equal ones have one number.

    `nodes` are trees that say the same as the set, for printing and for keeping in a file. Those of
    a file are read, by `load`, when the first of them is needed. `meanings` remembers the sets of
    predicates for conditions to come.
    """

    def __init__(
        self,
        schema: Schema | None,
        load: Callable[[], Listed] | None = None,
        meanings: Meanings | None = None,
    ) -> None:
        self.schema = schema
        self._load = load
        self._meanings = Meanings() if meanings is None else meanings
        self.points = PointTable(self)
        self._numbers: dict[tuple[str, ValueSet], int] = {}
        self._read: dict[_Kind, dict[_Key, int]] = {}
        self._met: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.sets)

    @cached_property
    def _listed(self) -> Listed:
        """The only one that is cached: in Python 3.11, threads wait for each other at each."""
        return ([], [], []) if self._load is None else self._load()

    @property
    def attributes(self) -> list[str]:
        """The attribute of each."""
        return self._listed[0]

    @property
    def sets(self) -> list[ValueSet]:
        """The values that each allows."""
        return self._listed[1]

    @property
    def nodes(self) -> list[Node]:
        """Each as a tree: a predicate, or an AND of predicates."""
        return self._listed[2]

    def of(self, predicate: Predicate) -> int:
        """The number of the condition that the predicate states."""
        return self._numbered(predicate, (predicate.constants,), bound=True)[0]

    def of_each(self, predicate: Predicate, given: Iterable[tuple[Constant, ...]]) -> list[int]:
        """The same, with each of these constants in the place of its own.

        They are still to be admitted.
        """
        return self._numbered(predicate, given, bound=False)

    def _numbered(
        self, predicate: Predicate, given: Iterable[tuple[Any, ...]], bound: bool
    ) -> list[int]:
        kind = (predicate.attribute, predicate.operator._value_, predicate.mode._value_)
        read = self._read.setdefault(kind, {})
        known = self._meanings.of_kind(kind)
        numbers = []
        for constants in given:
            key = _key(constants)
            number = read.get(key)
            if number is None:
                meaning = known.get(key)
                if meaning is None:
                    meaning = self._meaning(predicate, None if bound else constants)
                    self._meanings.keep(kind, key, meaning)
                node, held, number = meaning
                if number is None:
                    number = self.adopted(node.attribute, held, node)
                read[key] = number
            numbers.append(number)
        return numbers

    def _meaning(self, predicate: Predicate, given: tuple[Any, ...] | None) -> _Meaning:
        if given is not None:
            predicate = replace(predicate, constants=given)
            predicate = replace(predicate, constants=admit(predicate, self.schema))
        held = allowed(predicate, self.schema)
        return predicate, held, self._extreme(predicate.attribute, held)

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
        if number is None:
            number = self._extreme(attribute, held)
        return self.adopted(attribute, held, node) if number is None else number

    def _extreme(self, attribute: str, held: ValueSet) -> int | None:
        """`NEVER` or `ALWAYS`, if that is what a set means."""
        if held.is_empty():
            return NEVER
        return ALWAYS if universe(attribute, self.schema).within(held) else None

    def adopted(self, attribute: str, held: ValueSet, node: Node) -> int:
        """The number of a condition that is neither; a new one, if it has none.

        As are those that have a number elsewhere, under the same schema.
        """
        attributes, sets, nodes = self._listed
        number = self._numbers.setdefault((attribute, held), len(sets))
        if number == len(sets):
            attributes.append(attribute)
            sets.append(held)
            nodes.append(node)
        return number

    @property
    def nbytes(self) -> int:
        """About the memory of all of them, which are Python objects: measured on some."""
        if "_listed" in self.__dict__ or self._load is None:
            some = range(0, len(self), max(len(self) // _SAMPLE, 1))
            seen: set[int] = set()
            total = sum(
                _footprint(each, seen) for i in some for each in (self.sets[i], self.nodes[i])
            )
            return total * len(self) // max(len(some), 1)
        return 0  # not read yet


def _key(constants: tuple[Any, ...]) -> _Key:
    """What tells the constants of predicates apart: 1 is not 1.0."""
    if len(constants) == 1:
        (constant,) = constants
        return constant, str(constant) if type(constant) is Decimal else type(constant)
    return constants, *[str(c) if type(c) is Decimal else type(c) for c in constants]


def _footprint(thing: object, seen: set[int]) -> int:
    """The bytes of an object and of what only it refers to, as far as nobody counted them yet."""
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


def _parts(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, And) else (node,)

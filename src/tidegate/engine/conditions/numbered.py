"""Which conditions on one attribute do the filters have in common?

Filters are built from few distinct conditions (`condition`), each of which is worked out once per
event however many filters have it. `Conditions` gives each a number.
"""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from tidegate.engine.conditions.condition import Condition
from tidegate.engine.conditions.meaning_cache import Key, Kind, Meaning, Meanings
from tidegate.engine.conditions.point_table import PointTable
from tidegate.filters.admission import admit
from tidegate.filters.expression import And, Predicate, conjuncts
from tidegate.filters.meaning import allowed, universe
from tidegate.filters.schema import Schema
from tidegate.filters.values import Constant
from tidegate.filters.valueset import ValueSet

NEVER: Final = -1
"""The number of a condition that no value meets."""
ALWAYS: Final = -2
"""The number of a condition that every value meets, absent included."""

_SAMPLE: Final = 64  # conditions whose memory is measured


class Conditions:
    """Conditions, numbered from 0 in the order they came up; equal ones have one number.

    Those of a file are read, by `load`, when the first of them is needed. `meanings` remembers what
    predicates mean for conditions to come.
    """

    def __init__(
        self,
        schema: Schema | None,
        load: Callable[[], list[Condition]] | None = None,
        meanings: Meanings | None = None,
    ) -> None:
        self.schema = schema
        self._load = load
        self._meanings = Meanings() if meanings is None else meanings
        self.points = PointTable(self)
        self._numbers: dict[Condition, int] | None = {}
        self._read: dict[Kind, dict[Key, int]] = {}
        self._met: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[Condition]:
        return iter(self._listed)

    def __getitem__(self, number: int) -> Condition:
        return self._listed[number]

    @cached_property
    def _listed(self) -> list[Condition]:
        return [] if self._load is None else self._load()

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
        numbers = []
        for constants in given:
            key = _key(constants)
            number = read.get(key)
            if number is None:
                meaning = self._meanings.get(kind, key)
                if meaning is None:
                    meaning = self._meaning(predicate, None if bound else constants)
                    self._meanings.keep(kind, key, meaning)
                number = meaning if isinstance(meaning, int) else self.adopted(meaning)
                read[key] = number
            numbers.append(number)
        return numbers

    def _meaning(self, predicate: Predicate, given: tuple[Any, ...] | None) -> Meaning:
        if given is not None:
            attribute, operator, mode = predicate.attribute, predicate.operator, predicate.mode
            constants = admit(Predicate(attribute, operator, given, mode), self.schema)
            predicate = Predicate(attribute, operator, constants, mode)
        held = allowed(predicate, self.schema)
        extreme = self._extreme(predicate.attribute, held)
        return Condition(predicate.attribute, held, predicate) if extreme is None else extreme

    def both(self, one: int, other: int) -> int:
        """The number of the condition that two on the same attribute state together."""
        if one < 0 or other < 0:
            if NEVER in (one, other):
                return NEVER
            return other if one == ALWAYS else one
        key = (one, other) if one < other else (other, one)
        number = self._met.get(key)
        if number is None:
            first, second = self[key[0]], self[key[1]]
            met = first.allowed & second.allowed
            number = self._extreme(first.attribute, met)
            if number is None:
                node = And((*conjuncts(first.node), *conjuncts(second.node)))
                number = self.adopted(Condition(first.attribute, met, node))
            self._met[key] = number
        return number

    def _extreme(self, attribute: str, held: ValueSet) -> int | None:
        """`NEVER` or `ALWAYS`, if that is what a set means."""
        if held.is_empty():
            return NEVER
        return ALWAYS if universe(attribute, self.schema).within(held) else None

    def adopted(self, condition: Condition) -> int:
        """The number of a condition that is neither; a new one, if it has none.

        As are those that have a number elsewhere, under the same schema.
        """
        listed = self._listed
        if self._numbers is None:
            self._numbers = {each: number for number, each in enumerate(listed)}
        number = self._numbers.setdefault(condition, len(listed))
        if number == len(listed):
            listed.append(condition)
        return number

    def settle(self) -> None:
        """Forget how conditions are found: all that need one have its number."""
        self._numbers = None
        self._read = {}
        self._met = {}

    @property
    def nbytes(self) -> int:
        """About the memory of all of them, which are Python objects: measured on some."""
        if "_listed" in self.__dict__ or self._load is None:
            some = self._listed[:: max(len(self) // _SAMPLE, 1)]
            seen: set[int] = set()
            return sum(each.footprint(seen) for each in some) * len(self) // max(len(some), 1)
        return 0  # not read yet


def _key(constants: tuple[Any, ...]) -> Key:
    """What tells the constants of predicates apart: 1 is not 1.0."""
    if len(constants) == 1:
        (constant,) = constants
        if type(constant) is str:
            return constant
        return constant, str(constant) if type(constant) is Decimal else type(constant)
    return constants, *[str(c) if type(c) is Decimal else type(c) for c in constants]

"""Which predicates do the filters of a table have, and which of them hold for an event?

Filters share predicates. The index keeps each distinct one once, under a small integer, its Boolean
**variable**, and counts how many uses it has; a variable whose last use is gone is given to the
next new predicate. Predicates are the same if they have the same attribute and the same meaning:
`x > 4` and `x >= 5` are one on integers. They are organised by attribute, by the line of their
type, by operator and by value (`predicate_lines`), so that an event finds all that hold by a
bisection for each of its values, and a predicate those that cover it, that it covers, or that it
excludes.

This is the global predicate index of Li, Hou and Jacobsen, "A Unified Approach to Routing, Covering
and Merging in Publish/Subscribe Systems based on Modified Binary Decision Diagrams" (2005), and the
first phase of every algorithm that counts predicates.

Invariant: `holding(event)` are the variables whose predicates hold by `evaluate.holds`. Under a
checked schema, predicates that differ only on events that break it are different variables, so this
is so for every event; relations between them use what the schema says.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tidegate.algebra.event_sample import told_apart
from tidegate.filters.evaluate import value_of
from tidegate.filters.expression import Predicate
from tidegate.filters.lines import ALL_LINES, Line, key_of
from tidegate.filters.meaning import allowed as meaning
from tidegate.filters.meaning import universe
from tidegate.filters.schema import Schema
from tidegate.filters.valueset import ValueSet, line_of
from tidegate.papers.predicate_lines import NONE, Bag, OnLine, Variables

_ENTRY: Final = 900  # bytes of a predicate's objects, about: itself, its set, its places
_BOUND: Final = 80  # bytes of each bound of a set, its place among others included, about


class Predicates:
    """The distinct predicates of a table, each a Boolean variable.

    >>> from tidegate import parse
    >>> index = Predicates(None)
    >>> [index.take(p) for p in parse("price < 150 AND to = 'Ottawa' AND price < 150").tree.parts]
    [0, 1, 0]
    >>> index.take(parse("price < 200").tree)
    2
    >>> index.holding({"price": 170}).tolist()
    [2]
    >>> index.covering(index.allowed(0), "price")
    [0, 2]
    """

    def __init__(self, schema: Schema | None) -> None:
        self.schema: Final = schema
        self._checked = schema is not None and schema.checked
        self._raw = schema  # the same attributes, of events that need not obey it
        if schema is not None and self._checked:
            self._raw = Schema({name: schema[name] for name in schema})
        self._known: dict[tuple[str, ValueSet], int] = {}
        self._written: dict[object, int] = {}  # the same, by how predicates were first written
        self._predicates: list[Predicate | None] = []
        self._sets: list[ValueSet | None] = []
        self._raw_sets: list[ValueSet | None] = []
        self._uses: list[int] = []
        self._free: list[int] = []
        self._columns: dict[str, _Column] = {}
        self._raw_columns = {} if self._checked else self._columns
        self._bytes = 0
        self.always = Bag()
        """The variables that surely hold for every event that the schema permits."""
        self.never = Bag()
        """The variables that surely hold for none."""

    def __len__(self) -> int:
        return len(self._known)

    @property
    def width(self) -> int:
        """One more than the largest variable, those that are free included."""
        return len(self._predicates)

    @property
    def nbytes(self) -> int:
        """The memory of the index, about."""
        return self._bytes

    def __getitem__(self, variable: int) -> Predicate:
        """The predicate of a variable, as it was first written."""
        found = self._predicates[variable]
        if found is None:
            raise KeyError(f"the variable {variable} is free")
        return found

    def attribute(self, variable: int) -> str:
        """The attribute of a variable's predicate."""
        return self[variable].attribute

    def allowed(self, variable: int) -> ValueSet:
        """The values for which a variable's predicate holds, of those the schema permits."""
        found = self._sets[variable]
        if found is None:
            raise KeyError(f"the variable {variable} is free")
        return found

    def uses(self, variable: int) -> int:
        """How many uses a variable has."""
        return self._uses[variable]

    def of(self, attribute: str) -> list[int]:
        """The variables of an attribute."""
        column = self._columns.get(attribute)
        return [] if column is None else list(column.all.members)

    @property
    def attributes(self) -> list[str]:
        """The attributes that have predicates."""
        return list(self._columns)

    # -- which there are

    def find(self, predicate: Predicate) -> int | None:
        """The variable of a predicate, if it has one."""
        return self._known.get((predicate.attribute, meaning(predicate, self._raw)))

    def look_up(self, predicate: Predicate) -> tuple[ValueSet, int | None]:
        """The values for which a predicate holds, of those the schema permits; and its variable."""
        raw = meaning(predicate, self._raw)
        own = meaning(predicate, self.schema) if self._checked else raw
        return own, self._known.get((predicate.attribute, raw))

    def take(self, predicate: Predicate) -> int:
        """The variable of a predicate, a new one if the predicate is new; it has one use more."""
        written = told_apart(predicate)
        variable = self._written.get(written)
        if variable is not None:  # what it means is not looked at, which takes most of the time
            self._uses[variable] += 1
            return variable
        attribute = predicate.attribute
        raw = meaning(predicate, self._raw)
        variable = self._known.get((attribute, raw))
        if variable is not None:
            self._uses[variable] += 1
            return variable
        own = meaning(predicate, self.schema) if self._checked else raw
        if self._free:
            variable = self._free.pop()
            self._predicates[variable] = predicate
            self._sets[variable], self._raw_sets[variable] = own, raw
            self._uses[variable] = 1
        else:
            variable = len(self._predicates)
            self._predicates.append(predicate)
            self._sets.append(own)
            self._raw_sets.append(raw)
            self._uses.append(1)
        self._known[attribute, raw] = variable
        self._written[written] = variable
        self._column(attribute, self._columns, self.schema).put(variable, own)
        if self._checked:
            self._column(attribute, self._raw_columns, self._raw).put(variable, raw)
        if universe(attribute, self.schema).within(own):
            self.always.put(variable)
        elif own.is_empty():
            self.never.put(variable)
        self._bytes += _weight(raw)
        return variable

    def use(self, variable: int) -> None:
        """Give a variable that is there one use more."""
        self[variable]
        self._uses[variable] += 1

    def release(self, variable: int) -> None:
        """Take one use from a variable; with the last one, the predicate is forgotten."""
        predicate = self[variable]
        self._uses[variable] -= 1
        if self._uses[variable]:
            return
        attribute = predicate.attribute
        own, raw = self._sets[variable], self._raw_sets[variable]
        assert own is not None
        assert raw is not None
        del self._known[attribute, raw], self._written[told_apart(predicate)]
        self._drop(attribute, self._columns, variable, own)
        if self._checked:
            self._drop(attribute, self._raw_columns, variable, raw)
        self._predicates[variable] = self._sets[variable] = self._raw_sets[variable] = None
        self._free.append(variable)
        for bag in (self.always, self.never):
            if variable in bag.members:
                bag.drop(variable)
        self._bytes -= _weight(raw)

    @staticmethod
    def _column(attribute: str, columns: "dict[str, _Column]", schema: Schema | None) -> "_Column":
        found = columns.get(attribute)
        if found is None:
            found = columns[attribute] = _Column(attribute, schema)
        return found

    @staticmethod
    def _drop(attribute: str, columns: "dict[str, _Column]", variable: int, own: ValueSet) -> None:
        columns[attribute].drop(variable, own)
        if not columns[attribute].all:
            del columns[attribute]

    # -- questions

    def holding(self, event: Mapping[str, Any]) -> NDArray[np.int32]:
        """The variables that hold for an event, each once."""
        parts = [NONE]
        schema = self._raw
        for attribute, column in self._raw_columns.items():
            column.holding(value_of(event, attribute, schema), parts)
        return np.concatenate(parts)

    def covering(self, allowed: ValueSet, attribute: str) -> list[int]:
        """The variables of an attribute whose sets surely hold all of this one."""
        column = self._columns.get(attribute)
        return [] if column is None else list(column.covering(allowed).tolist())

    def covered(self, allowed: ValueSet, attribute: str) -> list[int]:
        """The variables of an attribute whose sets surely lie in this one."""
        column = self._columns.get(attribute)
        return [] if column is None else list(column.covered(allowed, self.allowed).tolist())

    def disjoint(self, allowed: ValueSet, attribute: str) -> list[int]:
        """The variables of an attribute whose sets surely share no value with this one."""
        column = self._columns.get(attribute)
        return [] if column is None else list(column.disjoint(allowed, self.allowed).tolist())


class _Column:
    """The variables of one attribute."""

    def __init__(self, attribute: str, schema: Schema | None) -> None:
        self._lines: tuple[Line, ...] = ALL_LINES if schema is None else schema[attribute].lines
        self._universe = universe(attribute, schema)
        self._on: dict[str, OnLine] = {}
        self._absent = Bag()
        self._spread: dict[int, int] = {}  # on how many lines a variable has values; absent is one
        self._empty = Bag()  # the variables that have none
        self.all = Bag()

    def put(self, variable: int, own: ValueSet) -> None:
        self.all.put(variable)
        self._spread[variable] = len(own.spans) + own.absent
        if not self._spread[variable]:
            self._empty.put(variable)
        if own.absent:
            self._absent.put(variable)
        for line in own.spans:
            if line not in self._on:
                self._on[line] = self._line(line)
            self._on[line].put(variable, own)

    def _line(self, name: str) -> OnLine:
        line = next(line for line in self._lines if line.name == name)
        bounds = self._universe.spans.get(name, line.full)
        return OnLine(line, bounds[0], bounds[-1])

    def drop(self, variable: int, own: ValueSet) -> None:
        self.all.drop(variable)
        if not self._spread.pop(variable):
            self._empty.drop(variable)
        if own.absent:
            self._absent.drop(variable)
        for line in own.spans:
            self._on[line].drop(variable, own)

    def holding(self, value: Any, parts: list[Variables]) -> None:
        if value is None:
            if self._absent:
                parts.append(self._absent.array)
            return
        line = line_of(value, self._lines)
        on = self._on.get(line.name)
        if on is not None:
            parts.append(on.holding(key_of(line, value)))

    def covering(self, allowed: ValueSet) -> Variables:
        if any(line not in self._on for line in allowed.spans):
            return NONE
        parts = [self._on[line].containing(allowed) for line in allowed.spans]
        if allowed.absent:
            parts.append(self._absent.array)
        if not parts:
            return self.all.array
        if len(parts) == 1:
            return parts[0]
        variables, counts = np.unique(np.concatenate(parts), return_counts=True)
        found: Variables = variables[counts == len(parts)]
        return found

    def covered(self, allowed: ValueSet, allowed_of: Callable[[int], ValueSet]) -> Variables:
        parts = [NONE]
        parts += [
            self._on[line].contained(allowed, allowed_of)
            for line in allowed.spans
            if line in self._on
        ]
        if allowed.absent:
            parts.append(self._absent.array)
        variables, counts = np.unique(np.concatenate(parts), return_counts=True)
        spread = [self._spread[variable] for variable in variables.tolist()]
        found: Variables = variables[counts == spread]
        return np.concatenate([self._empty.array, found]) if self._empty else found

    def disjoint(self, allowed: ValueSet, allowed_of: Callable[[int], ValueSet]) -> Variables:
        parts = [NONE]
        parts += [
            self._on[line].meeting(allowed, allowed_of)
            for line in allowed.spans
            if line in self._on
        ]
        if allowed.absent:
            parts.append(self._absent.array)
        return np.setdiff1d(self.all.array, np.concatenate(parts))


def _weight(own: ValueSet) -> int:
    return _ENTRY + _BOUND * sum(map(len, own.spans.values()))

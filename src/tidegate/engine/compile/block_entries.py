"""What do the subscriptions of a block ask for?

They have one filter, and their constants are in columns; so they become entries of a draft a column
at a time. Each distinct constant is looked at once, and those of ranges not even that.

Which attributes have ranges that entries keep for themselves is decided when all subscriptions are
known. A `BlockReader` therefore says first what could be ranges, and makes entries only when asked.

Invariant: an entry asks for the same as its subscription with its constants bound.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidegate.engine.conditions.numbered import ALWAYS, NEVER, Conditions
from tidegate.engine.conditions.ranges import Ranges, can_be_range, concatenate, from_columns
from tidegate.engine.partition.programs import NO_PROGRAM, Programs
from tidegate.engine.primitives.distinct import firsts, numbered
from tidegate.engine.subscriptions.subscription import Block
from tidegate.filters.expression import And, Node, Parameter, Predicate, conjuncts
from tidegate.filters.filter import bind, constant
from tidegate.filters.schema import Schema

Integers: TypeAlias = NDArray[np.int64]


@dataclass(slots=True)
class BlockPart:
    """Some subscriptions, each an entry for the time being."""

    ref_count: NDArray[Any]
    refs: NDArray[Any]
    range_count: NDArray[Any]
    range_attribute: NDArray[Any]
    ranges: Ranges
    program: NDArray[Any]
    never: NDArray[np.bool_]


class BlockReader:
    """How the subscriptions of one block become entries, a column at a time."""

    def __init__(
        self, block: Block, schema: Schema | None, conditions: Conditions, programs: Programs
    ) -> None:
        self._block = block
        self._schema = schema
        self._conditions = conditions
        self._programs = programs
        self._codes: dict[str, tuple[NDArray[np.int64], pa.Array]] = {}
        self._by_attribute: dict[str, list[Predicate]] = {}
        self._rest: list[Node] = []
        for node in conjuncts(block.filter.tree):
            if isinstance(node, Predicate):
                self._by_attribute.setdefault(node.attribute, []).append(node)
            else:
                self._rest.append(node)
        self._ranges: dict[str, Ranges] = {}  # what could be ranges, by attribute
        for attribute, predicates in self._by_attribute.items():
            found = self._range(attribute, predicates)
            if found is not None:
                self._ranges[attribute] = found

    def possible_ranges(self) -> Iterable[tuple[str, Ranges]]:
        """What could be ranges, by attribute."""
        return self._ranges.items()

    def part(self, own: Container[str], attribute_number: Callable[[str], int]) -> BlockPart:
        """The entries, with ranges of their own on these attributes, which have these numbers."""
        size = len(self._block)
        columns: list[NDArray[np.int32]] = []
        ranges: list[tuple[int, Ranges]] = []
        for attribute, predicates in self._by_attribute.items():
            if attribute in own and attribute in self._ranges:
                ranges.append((attribute_number(attribute), self._ranges[attribute]))
            else:
                columns.append(self._condition(predicates))
        program = self._program(self._rest)
        never = program == NEVER
        for column in columns:
            never |= column == NEVER
        refs, ref_count = _rows(columns, never, size)
        keep = np.flatnonzero(~never)
        numbers = np.tile(np.array([number for number, _ in ranges], np.uint16), len(keep))
        order = np.arange(len(ranges) * len(keep)).reshape(len(ranges), len(keep)).T.ravel()
        return BlockPart(
            ref_count,
            refs,
            np.where(never, 0, len(ranges)),
            numbers,
            concatenate([each.take(keep) for _, each in ranges]).take(order),
            np.where(never | (program == ALWAYS), NO_PROGRAM, program),
            never,
        )

    def _range(self, attribute: str, predicates: list[Predicate]) -> Ranges | None:
        """What the predicates on an attribute ask for, as ranges, if they can be such."""
        if not can_be_range(predicates):
            return None
        ends: list[tuple[Any, pa.Array]] = []
        for predicate in predicates:
            operand = predicate.constants[0]
            if not isinstance(operand, Parameter):
                return None
            column = self._block.columns[operand.name]
            if column.null_count or pa.types.is_string(column.type):
                return None
            ends.append((predicate.operator, column))
        schema = self._schema
        return from_columns(ends, None if schema is None else schema[attribute])

    def _condition(self, predicates: list[Predicate]) -> NDArray[np.int32]:
        """The number of the condition that the predicates state, for each row."""
        conditions = self._conditions
        codes, constants = self._distinct(predicates)
        stated = [self._stated(predicate, constants) for predicate in predicates]
        numbers = stated[0]
        for others in stated[1:]:
            numbers = list(map(conditions.both, others, numbers))
        return np.array(numbers, np.int32)[codes]

    def _stated(self, predicate: Predicate, constants: "_Constants") -> list[int]:
        """The numbers of what a predicate states, with its parameters bound in each way."""
        if not predicate.is_open:
            return [self._conditions.of(predicate)] * len(constants)
        columns: list[Iterable[Any]] = [
            constants.columns[c.name] if isinstance(c, Parameter) else repeat(c, len(constants))
            for c in predicate.constants
        ]
        return self._conditions.of_each(predicate, zip(*columns, strict=True))

    def _program(self, rest: list[Node]) -> NDArray[np.int32]:
        size = len(self._block)
        if not rest:
            return np.full(size, ALWAYS, np.int32)
        whole = And(tuple(rest))
        leaves = self._programs.leaves(whole)
        codes, constants = self._distinct(leaves)
        numbers = []
        for given in constants.rows():
            bound = [bind(leaf, given, self._schema) for leaf in leaves]
            numbers.append(self._programs.of(whole, bound))
        return np.array(numbers, np.int32)[codes]

    def _distinct(self, predicates: list[Predicate]) -> tuple[Integers, "_Constants"]:
        """Which rows have the same constants: a code for each row, and the constants by code."""
        names = _names(predicates)
        for name in names:
            if name not in self._codes:
                encoded = self._block.columns[name].dictionary_encode(null_encoding="encode")
                numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
                self._codes[name] = (numbers, encoded.dictionary)
        if len(names) == 1:
            codes, dictionary = self._codes[names[0]]
            return codes, _Constants({names[0]: _plain(names[0], dictionary)}, len(dictionary))
        codes = np.zeros(len(self._block), np.int64)
        for name in names:
            own, dictionary = self._codes[name]
            codes = numbered(codes * max(len(dictionary), 1) + own)  # small: nothing overflows
        taken = pa.array(firsts(codes))
        columns = {name: _plain(name, self._block.columns[name].take(taken)) for name in names}
        return codes, _Constants(columns, len(taken))


class _Constants:
    """What the parameters of some predicates are bound to, by name, in different ways."""

    def __init__(self, columns: dict[str, list[Any]], size: int) -> None:
        self.columns = columns
        self._size = size

    def __len__(self) -> int:
        return self._size

    def rows(self) -> Iterator[dict[str, Any]]:
        """The ways, one by one."""
        for i in range(self._size):
            yield {name: column[i] for name, column in self.columns.items()}


def _plain(name: str, column: pa.Array) -> list[Any]:
    return [constant(name, each) for each in column.to_pylist()]


def _names(predicates: list[Predicate]) -> list[str]:
    return list(
        dict.fromkeys(c.name for p in predicates for c in p.constants if isinstance(c, Parameter))
    )


def _rows(
    columns: list[NDArray[np.int32]], never: NDArray[np.bool_], size: int
) -> tuple[NDArray[np.int32], Integers]:
    """Columns of numbers as rows of different lengths: ascending, without ALWAYS."""
    if not columns:
        return np.empty(0, np.int32), np.zeros(size, np.int64)
    table = np.sort(np.stack(columns, axis=1), axis=1)
    kept = (table >= 0) & ~never[:, None]
    return table[kept], kept.sum(axis=1)
